r"""Probabilities from scores (Platt): a sigmoid for two classes, coupled pairs for several

For two classes, with A and B from `core/formulas/platt.py`,

    p(x) = 1/(1 + exp(A d(x) + B))                                                           (1)

For k classes, r_ij being the probability of class i among i and j, the p that agree best with all
pairs solve

    minimise over p:   Σ_i Σ_{j ≠ i} (r_ji p_i − r_ij p_j)²,      Σ_i p_i = 1                (2)

a linear system: with M_ii = Σ_{j ≠ i} r_ji², M_ij = −r_ji r_ij, Mp is a multiple of 1.

Platt, Probabilistic outputs for support vector machines (1999); Lin, Lin, Weng, A note on Platt's
probabilistic outputs (2007); Wu, Lin, Weng, Probability estimates for multi-class classification by
pairwise coupling (2004).
"""

import numpy as np

from ._scores import pairs_of

LEAST = 1e-7  # a pair's probability is kept this far from 0 and 1


def coupled(r, k):
    """The p of (2) for every row; column m of r is the probability within the m-th pair."""
    r = np.clip(r, LEAST, 1.0 - LEAST)
    M = np.zeros((len(r), k, k))
    for m, (i, j) in enumerate(pairs_of(k)):
        M[:, i, i] += (1.0 - r[:, m]) ** 2
        M[:, j, j] += r[:, m] ** 2
        M[:, i, j] = M[:, j, i] = -r[:, m] * (1.0 - r[:, m])
    p = np.linalg.solve(M + 1e-12 * np.eye(k), np.ones((len(r), k, 1)))[:, :, 0]
    p = np.maximum(p, 0.0)
    return p / p.sum(axis=1, keepdims=True)
