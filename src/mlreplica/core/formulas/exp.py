"""Exp: the exponential of a whole array, many lanes at a time

`math.exp` handles one number in 4 ns and keeps the loop around it scalar. Written out, the loop
vectorises and an element costs a fifth of that, or less. With k the integer nearest to x/log 2,

    e^x = 2^k · e^r,      r = x − k·log 2,      |r| ≤ log(2)/2                         (1)

e^r is 1 + r + r²g(r), where g of degree 9 (4 in single precision) interpolates at Chebyshev's
points, and times 2^k means adding k to the exponent bits. Adding 1.5·2^52 to x/log 2 rounds it and
leaves k in the lowest bits, so no conversion between floats and integers is needed. The polynomial
is summed in pairs, for a chain of eleven operations would make each wait for the one before.

Within 1.1 units in the last place of e^x; below −708 (−87) it stays at
3e-308 (2e-38), above 709 (88) at 8e307 (2e38). NaN gives NaN, which `min` and `max` may lose.

Where x = z·log 2 is a product anyway, its other factor can take 1/log 2 in, and 2^z is cheaper:
z − k has no rounding error and needs no second part of log 2. From kernels only z ≤ 0 comes, but
for rounding, and so what is computed is 2^−|z|.

    2^z = 2^k · (1 + f·g(f)),      f = z − k,      |f| ≤ ½                             (2)
"""

import numpy as np
import numpy.typing as npt

from mlreplica.core.compile.intrinsics import bits, bits32, from_bits, from_bits32
from mlreplica.core.compile.jit import kernel

STRICT = frozenset({"contract"})  # (x + 1.5·2^52) − 1.5·2^52 must not be simplified


@kernel(fastmath=STRICT)
def exp64(a: npt.NDArray[np.float64]) -> None:
    """a ← e^a in place; `a` is one-dimensional and contiguous."""
    for j in range(len(a)):
        a[j] = exp_of(a[j])


@kernel(fastmath=STRICT)
def exp32(a: npt.NDArray[np.float32]) -> None:
    """The same in single precision."""
    for j in range(len(a)):
        a[j] = exp32_of(a[j])


@kernel(fastmath=STRICT)
def exp_of(x: float) -> float:
    """e^x, for loops over float64"""
    x = -708.0 if x < -708.0 else x  # noqa: FURB136
    x = 709.0 if x > 709.0 else x  # noqa: FURB136
    t = x * 1.4426950408889634 + 6755399441055744.0
    k = t - 6755399441055744.0
    r = x - k * 0.6931471803691238  # the upper bits of log 2: k times them is exact
    r = r - k * 1.9082149292705877e-10
    s = r * r
    p = r * 2.5100375832561234e-08 + 2.7620075879983367e-07
    p = p * s + (r * 2.7557268480310024e-06 + 2.4801521322368692e-05)
    q = r * 0.00019841269863040545 + 0.0013888888917196719
    q = q * s + (r * 0.008333333333330065 + 0.041666666666624164)
    p = (p * (s * s) + q) * s + (r * 0.16666666666666669 + 0.5000000000000001)
    return float(from_bits(bits(1.0 + (p * s + r)) + (bits(t) << 52)))


@kernel(fastmath=STRICT)
def exp32_of(x: np.float32) -> np.float32:
    """e^x, for loops over float32"""
    x = np.float32(-87.0) if x < np.float32(-87.0) else x  # noqa: FURB136
    x = np.float32(88.0) if x > np.float32(88.0) else x  # noqa: FURB136
    t = x * np.float32(1.44269504) + np.float32(12582912.0)
    k = t - np.float32(12582912.0)
    r = x - k * np.float32(0.693145752)
    r = r - k * np.float32(1.42860677e-06)
    s = r * r
    p = r * np.float32(0.0013926175888627768) + np.float32(0.008363173343241215)
    p = p * s + (r * np.float32(0.041666556149721146) + np.float32(0.16666577756404877))
    p = (p * r + np.float32(0.5)) * s + r
    return np.float32(from_bits32(bits32(np.float32(1.0) + p) + (bits32(t) << np.int32(23))))


@kernel(fastmath=STRICT)
def power_of_two(z: float) -> float:
    """2^−|z| by (2), in loops over float64; below 2^−1022, and of NaN, 2e-308"""
    z = -abs(z)
    z = z if z > -1022.0 else -1022.0  # noqa: FURB136
    t = z + 6755399441055744.0
    f = z - (t - 6755399441055744.0)
    s = f * f
    g = s * 4.454960598443769e-10 + (f * 7.072585949269223e-09 + 1.0178062445844005e-07)
    h = f * 1.321544258792169e-06 + 1.5252733829836123e-05
    h = h * s + (f * 0.0001540353044173605 + 0.0013333558146416936)
    g = (g * (s * s) + h) * s + (f * 0.009618129107606888 + 0.0555041086648216)
    g = g * s + (f * 0.24022650695910097 + 0.6931471805599453)
    return float(from_bits(bits(1.0 + g * f) + (bits(t) << 52)))


@kernel(fastmath=STRICT)
def power_of_two32(z: np.float32) -> np.float32:
    """2^−|z|, in loops over float32; below 2^−126, and of NaN, 1e-38"""
    z = -abs(z)
    z = z if z > np.float32(-126.0) else np.float32(-126.0)  # noqa: FURB136
    t = z + np.float32(12582912.0)
    f = z - (t - np.float32(12582912.0))
    s = f * f
    g = f * np.float32(0.0001545316294512069) + np.float32(0.0013390863364671234)
    g = g * s + (f * np.float32(0.009618082557277852) + np.float32(0.05550357114219078))
    g = g * s + (f * np.float32(0.24022650760568126) + np.float32(0.6931471880262288))
    return np.float32(from_bits32(bits32(np.float32(1.0) + g * f) + (bits32(t) << np.int32(23))))
