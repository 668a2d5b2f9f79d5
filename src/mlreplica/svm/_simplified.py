r"""Simplified sequential minimal optimisation: the second multiplier is drawn at random

Equations (1) to (15) are in `_pair.py` and `_platt.py`. Visit the points in turn. If point i
violates (12) by more than τ, draw

    j  uniformly from the other points                                                      (16)

and take the step (3) to (9) if the pair is worth it by (13). A pass without a step proves nothing,
because its partners were drawn. A counter of such passes in a row tells when to look at (14); if
that does not hold either, the two points that it is about are partners in the next pass. There is
no search for the best partner, and so more steps.
"""

from __future__ import annotations

import numpy as np

from mlreplica.core.compile.jit import kernel

from ._pair import PairState, errors, measure, pair_step, threshold
from ._platt import violator, worst_pair, worth_a_step


@kernel
def drawn_pair(y, c, alpha, E, tau, partners, i):
    """The first point from i on that is worth a step with its drawn partner; n if there is none."""
    n = len(y)
    i = violator(y, c, alpha, E, tau, True, i)
    while i < n and not worth_a_step(y, c, alpha, E, tau, i, partners[i]):
        i = violator(y, c, alpha, E, tau, True, i + 1)
    return i


def simplified(K, y, c, tol, rng, alpha=None, passes=5):
    """Yield a `PairState` after every pair step, until (14) holds with 2τ < tol.

    It is looked at after so many `passes` in a row without a step.
    """
    n, longest = len(y), float(np.abs(np.diag(K)).max())
    alpha, b = np.zeros(n) if alpha is None else alpha.copy(), 0.0
    E, quiet = errors(K, y, alpha, b), passes
    while True:
        tau = threshold(longest, alpha, tol)
        others = rng.integers(n - 1, size=n)
        partners = others + (others >= np.arange(n))  # (16): any point but i itself
        if quiet >= passes:
            worst, i, j = worst_pair(y, c, alpha, E)
            if worst <= 2.0 * tau:
                E = errors(K, y, alpha, b)  # the rounding of many (9) must not decide
                worst, i, j = worst_pair(y, c, alpha, E)
            if worst <= 2.0 * tau or quiet > passes:  # the last pass had the worst pair, in vain
                return
            partners[i], partners[j] = j, i
        i, quiet = -1, quiet + 1
        while (i := drawn_pair(y, c, alpha, E, tau, partners, i + 1)) < n:
            j = int(partners[i])
            before = alpha[i], alpha[j]
            *step, b = pair_step(K, y, c, alpha, E, b, i, j)
            if before != (alpha[i], alpha[j]):  # else rounding has swallowed the step
                quiet = 0
                yield PairState(i, j, *step, *measure(y, c, alpha, E), b, True, alpha)
