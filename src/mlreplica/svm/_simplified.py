r"""Simplified sequential minimal optimisation: the second multiplier is drawn at random

Equations (1) to (15) are in `_pair.py` and `_platt.py`. Visit the points in turn. If point i
violates (12) by more than τ, draw

    j  uniformly from the other points                                                      (16)

and take the step (3) to (9) if the pair is worth it by (13). A pass without a step proves nothing,
because its partners were drawn; a counter of such passes in a row tells when to look at (14),
which decides. There is no search for the best partner, and so many more steps.
"""

from __future__ import annotations

import numpy as np

from mlreplica.core.jit import kernel

from ._pair import PairState, can_fall, can_rise, errors, measure, pair_step, threshold
from ._platt import violator, worth_a_step


@kernel
def drawn_pair(y, c, alpha, E, tau, partners, i):
    """The first point from i on that is worth a step with its drawn partner; n if there is none."""
    n = len(y)
    i = violator(y, c, alpha, E, tau, True, i)
    while i < n and not worth_a_step(y, c, alpha, E, tau, i, partners[i]):
        i = violator(y, c, alpha, E, tau, True, i + 1)
    return i


@kernel
def violation(y, c, alpha, E):
    """The left side of (14)."""
    least, most = np.inf, -np.inf
    for i in range(len(y)):
        if can_rise(y, c, alpha, i):
            least = min(least, E[i])
        if can_fall(y, c, alpha, i):
            most = max(most, E[i])
    return most - least


def simplified(K, y, c, tol, rng, alpha=None, passes=5):
    """Yield a `PairState` after every pair step, until (14) holds with 2τ < tol.

    It is looked at after so many `passes` in a row without a step. After 20n of them chance has
    tried every pair, and rounding is in the way of the rest.
    """
    n = len(y)
    alpha, b = np.zeros(n) if alpha is None else alpha.copy(), 0.0
    E, tau, quiet = errors(K, y, alpha, b), threshold(K, alpha, tol), passes
    while quiet < passes or (violation(y, c, alpha, E) > 2.0 * tau and quiet < passes + 20 * n):
        others = rng.integers(n - 1, size=n)
        partners = others + (others >= np.arange(n))  # (16): any point but i itself
        i, quiet = -1, quiet + 1
        while (i := drawn_pair(y, c, alpha, E, tau, partners, i + 1)) < n:
            j = int(partners[i])
            before = alpha[i], alpha[j]
            *step, b = pair_step(K, y, c, alpha, E, b, i, j)
            if before != (alpha[i], alpha[j]):  # else rounding has swallowed the step
                quiet = 0
                yield PairState(i, j, *step, *measure(y, c, alpha, E), b, True, alpha)
        tau = threshold(K, alpha, tol)
        if quiet == passes:
            E = errors(K, y, alpha, b)  # so that rounding in (9) does not add up
