"""Cos: the cosine of a whole array, many lanes at a time

As `exp` does it; (1) to (4) are in `kernel_approximation.py`. With k the integer nearest to x/π,

    cos x = (−1)^k · cos r,      r = x − kπ,      |r| ≤ π/2                            (5)

cos r is its Taylor polynomial of degree 22, π is subtracted in three parts of which k times the
first two is exact, and the sign is the lowest bit of k, moved to the top. Within 4e-16 of cos x
for |x| ≤ 1e6 (farther out NumPy takes more bits of π); NaN gives NaN.
"""

import numpy as np
import numpy.typing as npt

from mlreplica.core.compile.intrinsics import bits, from_bits
from mlreplica.core.compile.jit import kernel

from .exp import STRICT

FAR = 1e6


def cos_in_place(a: npt.NDArray[np.floating]) -> None:
    """a ← cos a; `a` is contiguous. NumPy's single precision is already in lanes."""
    if a.dtype != np.float64 or not (a.max(initial=0.0) < FAR and a.min(initial=0.0) > -FAR):
        np.cos(a, out=a)
    else:
        cos64(a.reshape(-1))


@kernel(fastmath=STRICT)
def cos64(a: npt.NDArray[np.float64]) -> None:
    """a ← cos a in place; `a` is one-dimensional and contiguous, and |a| ≤ 1e6."""
    for j in range(len(a)):
        x = a[j]
        t = x * 0.3183098861837907 + 6755399441055744.0
        k = t - 6755399441055744.0
        r = x - k * 3.1415926534682512
        r = r - k * 1.2154201012607932e-10
        r = r - k * 4.044532497591901e-21
        s = r * r
        p = -8.896791392450574e-22  # −1/22!
        p = p * s + 4.110317623312165e-19
        p = p * s - 1.5619206968586225e-16
        p = p * s + 4.779477332387385e-14
        p = p * s - 1.1470745597729725e-11
        p = p * s + 2.08767569878681e-09
        p = p * s - 2.755731922398589e-07
        p = p * s + 2.48015873015873e-05
        p = p * s - 0.001388888888888889
        p = p * s + 0.041666666666666664
        p = p * s - 0.5
        a[j] = from_bits(bits(p * s + 1.0) ^ (bits(t) << 63))
