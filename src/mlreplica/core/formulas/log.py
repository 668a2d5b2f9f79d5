r"""Log: the logarithm of a whole array, many lanes at a time, and what is made of it

With x = 2^k · m, √½ ≤ m < √2, f = m − 1 and s = f/(2 + f), so that m = (1 + s)/(1 − s),

    log x = k log 2 + log m,      log m = f − ½f² + s (½f² + R(s²)),      |s| ≤ 0.172      (1)

where R(z) = 2z/3 + 2z²/5 + … is a polynomial of degree 7 that interpolates at Chebyshev's points.
The bits of x, less those of √½, hold k and m. With u = 1 + x as it is rounded,

    log(1 + x) = log u + (x − (u − 1)) / u                                                 (2)

makes good what the rounding lost.
"""

import math

from mlreplica.core.compile.intrinsics import bits, from_bits
from mlreplica.core.compile.jit import kernel

from .exp import STRICT, exp_of

ROOT_HALF = 4604544271217802189  # the bits of √½
MAGIC, MAGIC_BITS = 6755399441055744.0, 4843621399236968448  # 1.5·2^52: adding k to its bits adds k


@kernel(part=True, inline=True, fastmath=STRICT)
def log_of(x: float) -> float:
    """log x by (1), in loops over float64: −∞ at 0, NaN below."""
    tiny = x < 2.2250738585072014e-308
    word: int = bits(x * 18014398509481984.0 if tiny else x) - ROOT_HALF
    k: float = from_bits((word >> 52) + MAGIC_BITS) - MAGIC
    k = k - 54.0 if tiny else k
    f: float = from_bits((word & 4503599627370495) + ROOT_HALF) - 1.0
    s = f / (2.0 + f)
    z = s * s
    z2 = z * z
    p = z * 0.14616449685043406 + 0.15331721600556042
    p = p * z2 + (z * 0.18182889125261723 + 0.2222221113479508)
    p = p * z2 + (z * 0.28571428625975487 + 0.39999999999899505)
    p = z * (p * z + 0.666666666666667)
    half = 0.5 * f * f
    low = s * (half + p) + k * 1.9082149292705877e-10
    y = k * 0.6931471803691238 - ((half - low) - f)
    y = x if x == math.inf else y
    y = -math.inf if x == 0.0 else y
    return y if x >= 0.0 else math.nan


@kernel(part=True, inline=True, fastmath=STRICT)
def log1p_of(x: float) -> float:
    """log(1 + x) by (2), in loops over float64."""
    u = 1.0 + x
    y: float = log_of(u)
    lost = (x - (u - 1.0)) / u  # not a number at 0 and ∞
    return y + lost if abs(y) < math.inf else y


@kernel(part=True, inline=True, fastmath=STRICT)
def exp_to_zero(x: float) -> float:
    """e^x, in loops over float64: 0 below −708, ∞ above 709."""
    y = exp_of(x)
    y = 0.0 if x < -708.0 else y
    return math.inf if x > 709.0 else y


@kernel(part=True, inline=True, fastmath=STRICT)
def log_sum_of(a: float, b: float) -> float:
    """log(e^a + e^b), in loops over float64."""
    high = a if a > b else b  # noqa: FURB136
    y = high + log1p_of(exp_to_zero(-abs(a - b)))
    return high if a == b and abs(a) == math.inf else y
