r"""Probabilities from scores (Platt): a sigmoid for two classes, coupled pairs for several

Of n₊ rows with s = +1 and n₋ with s = −1, targets t₊ = (n₊ + 1)/(n₊ + 2), t₋ = 1/(n₋ + 2) keep the
maximum of the likelihood of

    p(x) = 1/(1 + exp(A d(x) + B))                                                           (1)

finite; Newton's method finds it. For k classes, r_ij being the probability of class i among i and
j, the p that agree best with all pairs solve

    minimise over p:   Σ_i Σ_{j ≠ i} (r_ji p_i − r_ij p_j)²,      Σ_i p_i = 1                (2)

a linear system: with M_ii = Σ_{j ≠ i} r_ji², M_ij = −r_ji r_ij, Mp is a multiple of 1.

Platt, Probabilistic outputs for support vector machines (1999); Lin, Lin, Weng, A note on Platt's
probabilistic outputs (2007); Wu, Lin, Weng, Probability estimates for multi-class classification by
pairwise coupling (2004).
"""

import numpy as np
from scipy.special import expit

from ._scores import pairs_of

LEAST = 1e-7  # a pair's probability is kept this far from 0 and 1


def sigmoid(d, A, B):
    """(1)"""
    return expit(-(A * d + B))


def negative_log_likelihood(z, t):
    """−Σ t log p + (1 − t) log(1 − p) with p = 1/(1 + e^z)"""
    return float(np.sum(np.logaddexp(0.0, z) - (1.0 - t) * z))


def fit_sigmoid(d, s, max_iter=100):
    """A and B of (1) for scores d of rows with labels s = ±1"""
    plus, minus = np.count_nonzero(s > 0.0), np.count_nonzero(s <= 0.0)
    t = np.where(s > 0.0, (plus + 1.0) / (plus + 2.0), 1.0 / (minus + 2.0))
    A, B = 0.0, np.log((minus + 1.0) / (plus + 1.0))
    value = negative_log_likelihood(A * d + B, t)
    for _ in range(max_iter):
        p = sigmoid(d, A, B)
        h, g = p * (1.0 - p), t - p
        gradient = np.array([d @ g, g.sum()])
        if np.abs(gradient).max() < 1e-5:
            break
        H = np.array([[d @ (h * d), d @ h], [d @ h, h.sum()]]) + 1e-12 * np.eye(2)
        step, size = -np.linalg.solve(H, gradient), 1.0
        while size > 1e-10:
            new = negative_log_likelihood((A + size * step[0]) * d + B + size * step[1], t)
            if new < value + 1e-4 * size * (gradient @ step):
                break
            size *= 0.5
        else:
            break
        A, B, value = A + size * step[0], B + size * step[1], new
    return A, B


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
