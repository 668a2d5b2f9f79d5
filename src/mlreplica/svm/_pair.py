r"""The pair step of sequential minimal optimisation (Platt 1998)

    maximise over α:   D(α) = Σᵢ αᵢ − ½ Σᵢ Σₖ αᵢαₖ yᵢyₖ K(xᵢ, xₖ)                            (1)
    subject to         0 ≤ αᵢ ≤ cᵢ,   Σᵢ yᵢαᵢ = 0,      yᵢ ∈ {−1, +1}

With the score of point i, its error is

    fᵢ = Σₖ αₖyₖ K(xᵢ, xₖ) + b,      Eᵢ = fᵢ − yᵢ                                           (2)

The sum Σ yᵢαᵢ = 0 does not let one multiplier move alone. Let two move, i and j, to αᵢ′ and αⱼ′:

    αᵢ′ = αᵢ + yᵢyⱼ (αⱼ − αⱼ′)                                                              (3)

and D becomes a parabola in αⱼ′, of curvature −η:

    D′ − D = yⱼ(Eᵢ − Eⱼ)(αⱼ′ − αⱼ) − ½η (αⱼ′ − αⱼ)²,      η = Kᵢᵢ + Kⱼⱼ − 2Kᵢⱼ             (4)

If η > 0 its top is at

    a = αⱼ + yⱼ(Eᵢ − Eⱼ) / η                                                                (5)

or it rises without end along its slope yⱼ(Eᵢ − Eⱼ). Both multipliers stay between
their bounds exactly if L ≤ αⱼ′ ≤ H, where

    L = max(0, αⱼ − αᵢ),         H = min(cⱼ, αⱼ − αᵢ + cᵢ)       if yᵢ ≠ yⱼ                 (6)
    L = max(0, αᵢ + αⱼ − cᵢ),    H = min(cⱼ, αᵢ + αⱼ)            if yᵢ = yⱼ

so the best value is the top, or the end of the box that is nearest to it:

    αⱼ′ = min(max(a, L), H)                                                                 (7)

A multiplier strictly between its bounds belongs to a point on the margin, where f = y. This asks
for b′ = bᵢ if it is αᵢ′ and b′ = bⱼ if it is αⱼ′ (they agree at the top), else half-way:

    bᵢ = b − Eᵢ − yᵢ(αᵢ′ − αᵢ)Kᵢᵢ − yⱼ(αⱼ′ − αⱼ)Kᵢⱼ                                          (8)
    bⱼ = b − Eⱼ − yᵢ(αᵢ′ − αᵢ)Kᵢⱼ − yⱼ(αⱼ′ − αⱼ)Kⱼⱼ

All errors follow the step at the cost of two rows of K:

    Eₖ ← Eₖ + yᵢ(αᵢ′ − αᵢ)Kᵢₖ + yⱼ(αⱼ′ − αⱼ)Kⱼₖ + b′ − b                                     (9)

and the errors alone say how good α is. By Σ yᵢαᵢ = 0 and yᵢfᵢ = 1 + yᵢEᵢ,

    D(α) = ½ Σᵢ αᵢ (1 − yᵢEᵢ)                                                               (10)
    P(w, b) − D(α) = Σᵢ (cᵢ − αᵢ) max(0, −yᵢEᵢ) + αᵢ max(0, yᵢEᵢ)                           (11)

where P = ½‖w‖² + Σᵢ cᵢ max(0, 1 − yᵢfᵢ) is the primal objective. Every term of the gap (11) is ≥ 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mlreplica.core.compile.jit import kernel

ROUNDING = 1e-14  # relative; a multiplier so close to a bound has met it


class PairState(NamedTuple):
    """What a pair step was, and what it made of the model."""

    i: int
    j: int
    eta: float  # curvature (4)
    low: float  # L and H: the box (6) of αⱼ′
    high: float
    unclipped: float  # a of (5); ±∞ if η ≤ 0
    clipped: float  # αⱼ′ of (7)
    objective: float  # D of (10)
    gap: float  # (11): a bound on P(w, b) − P* and on D* − D
    offset: float  # b
    full: bool  # whether the sweep visits all points, or only those with 0 < αᵢ < cᵢ
    alpha: np.ndarray


def errors(K, y, alpha, b):
    """E of (2), anew."""
    return K @ (alpha * y) + b - y


def threshold(longest, alpha, tol):
    """τ: a little less than tol/2, and never so small that it measures the rounding of (2).

    `longest` is the largest |Kᵢᵢ|.
    """
    return max(0.49 * tol, ROUNDING * longest * float(alpha.sum()))


@kernel
def pair_step(K, y, c, alpha, E, b, i, j):
    """Step (3) to (9) with i and j; alpha and E change in place. Returns η, L, H, a, αⱼ′ and b′."""
    eta = K[i, i] + K[j, j] - 2.0 * K[i, j]
    slope = y[j] * (E[i] - E[j])
    top = alpha[j] + slope / eta if eta > 0.0 else np.copysign(np.inf, slope)
    if y[i] != y[j]:
        low = max(0.0, alpha[j] - alpha[i])
        high = min(c[j], alpha[j] - alpha[i] + c[i])
    else:
        low = max(0.0, alpha[i] + alpha[j] - c[i])
        high = min(c[j], alpha[i] + alpha[j])
    size = alpha[i] + alpha[j]
    low, high = on_bound(low, c[j], size), on_bound(high, c[j], size)
    new_j = min(max(top, low), high)
    new_i = on_bound(alpha[i] + y[i] * y[j] * (alpha[j] - new_j), c[i], size)

    step_i, step_j = y[i] * (new_i - alpha[i]), y[j] * (new_j - alpha[j])
    b_i = b - E[i] - step_i * K[i, i] - step_j * K[i, j]
    b_j = b - E[j] - step_i * K[i, j] - step_j * K[j, j]
    if 0.0 < new_i < c[i]:
        b_new = b_i
    elif 0.0 < new_j < c[j]:
        b_new = b_j
    else:
        b_new = 0.5 * (b_i + b_j)
    for k in range(len(E)):
        E[k] += step_i * K[i, k] + step_j * K[j, k] + (b_new - b)
    alpha[i], alpha[j] = new_i, new_j
    return eta, low, high, top, new_j, b_new


@kernel
def on_bound(a, c, size):
    """a, or the bound that only rounding keeps it from; `size` is what it was computed from."""
    if a <= ROUNDING * min(size, c):
        return 0.0
    return c if a >= c * (1.0 - ROUNDING) else a


@kernel
def measure(y, c, alpha, E):
    """D(α) and the gap: (10) and (11)."""
    D, gap = 0.0, 0.0
    for i in range(len(y)):
        z = y[i] * E[i]  # yᵢfᵢ − 1
        D += 0.5 * alpha[i] * (1.0 - z)
        if z < 0.0:
            gap -= (c[i] - alpha[i]) * z
        else:
            gap += alpha[i] * z
    return D, gap


# A step t along yᵢαᵢ → yᵢαᵢ + t, yⱼαⱼ → yⱼαⱼ − t keeps the sum and needs room on both sides.


@kernel
def can_rise(y, c, alpha, i):
    """Whether yᵢαᵢ may grow."""
    return alpha[i] < c[i] if y[i] > 0.0 else alpha[i] > 0.0


@kernel
def can_fall(y, c, alpha, i):
    """Whether yᵢαᵢ may shrink."""
    return alpha[i] > 0.0 if y[i] > 0.0 else alpha[i] < c[i]
