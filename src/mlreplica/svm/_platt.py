r"""Platt's sequential minimal optimisation (1998): which two multipliers to move

Equations (1) to (11), the dual and the step of one pair, are in `_pair.py`. The conditions of
Karush, Kuhn and Tucker, with up = {i: yᵢαᵢ may grow} and down = {i: yᵢαᵢ may shrink}, are

    Eᵢ ≥ 0  for i in up,      Eᵢ ≤ 0  for i in down                                         (12)

The offset moves all Eᵢ alike. A pair (i, j) is worth a step if it violates (12) whatever b is:

    Eⱼ − Eᵢ > τ   with i in up and j in down                                                (13)

By (4) D then rises, by at least ½τ|αⱼ′ − αⱼ|. However the pairs are chosen, as long as (13) holds
there is an end to them (Keerthi & Gilbert 2002).

First choice: sweep over all points, then over those with 0 < αᵢ < cᵢ until they are quiet, then
over all again; take i if it violates (12) by more than τ. If Eⱼ − Eᵢ > 2τ in (13), one of the two
points does. So a sweep over all points that finds no pair proves

    max over down of Eⱼ  −  min over up of Eᵢ  ≤  2τ                                        (14)

Second choice: of the partners that make (13) true, the j with 0 < αⱼ < cⱼ and

    |Eᵢ − Eⱼ| largest                                                                       (15)

since the step (5) is proportional to it; if there is none, any partner, from a random place on.
"""

from __future__ import annotations

import numpy as np

from mlreplica.core.compile.jit import kernel

from ._pair import PairState, can_fall, can_rise, errors, measure, pair_step, threshold


@kernel
def violator(y, c, alpha, E, tau, full, i):
    """The first point from i on that violates (12) by more than τ; n if there is none."""
    for k in range(i, len(y)):
        if full or 0.0 < alpha[k] < c[k]:
            if E[k] < -tau and can_rise(y, c, alpha, k):
                return k
            if E[k] > tau and can_fall(y, c, alpha, k):
                return k
    return len(y)


@kernel
def worst_pair(y, c, alpha, E):
    """The left side of (14), and the i and j that it is about."""
    i, j, least, most = 0, 0, np.inf, -np.inf
    for k in range(len(y)):
        if E[k] < least and can_rise(y, c, alpha, k):
            i, least = k, E[k]
        if E[k] > most and can_fall(y, c, alpha, k):
            j, most = k, E[k]
    return most - least, i, j


@kernel
def worth_a_step(y, c, alpha, E, tau, i, j):
    """Whether (13) holds for i and j, in one order or the other."""
    if E[j] > E[i]:
        return E[j] - E[i] > tau and can_rise(y, c, alpha, i) and can_fall(y, c, alpha, j)
    return E[i] - E[j] > tau and can_rise(y, c, alpha, j) and can_fall(y, c, alpha, i)


@kernel
def partner(y, c, alpha, E, tau, i, start):
    """The second choice (15) for i; −1 if no partner is worth a step."""
    n, best, most = len(y), -1, 0.0
    for k in range(n):
        size = abs(E[i] - E[k]) if 0.0 < alpha[k] < c[k] else 0.0
        if size > most and worth_a_step(y, c, alpha, E, tau, i, k):
            best, most = k, size
    if best < 0:
        for m in range(start, start + n):
            if worth_a_step(y, c, alpha, E, tau, i, m % n):
                return m % n
    return best


def platt(K, y, c, tol, rng, alpha=None):
    """Yield a `PairState` after every pair step, until (14) holds with 2τ < tol."""
    n, longest = len(y), float(np.abs(np.diag(K)).max())
    alpha = np.zeros(n) if alpha is None else alpha.copy()
    E = errors(K, y, alpha, 0.0)
    _, i, j = worst_pair(y, c, alpha, E)
    b = -0.5 * (E[i] + E[j])  # half-way: if (14) holds, nobody violates (12)
    full, steps = True, 0
    while full or steps:
        tau = threshold(longest, alpha, tol)
        if full:
            E = errors(K, y, alpha, b)  # so that rounding in (9) does not add up
        steps, i = 0, -1
        while (i := violator(y, c, alpha, E, tau, full, i + 1)) < n:
            j = partner(y, c, alpha, E, tau, i, rng.integers(n))
            if j >= 0:
                before = alpha[i], alpha[j]
                *step, b = pair_step(K, y, c, alpha, E, b, i, j)
                if before != (alpha[i], alpha[j]):  # else rounding has swallowed the step
                    steps += 1
                    yield PairState(i, j, *step, *measure(y, c, alpha, E), b, full, alpha)
        full = not full and steps == 0
