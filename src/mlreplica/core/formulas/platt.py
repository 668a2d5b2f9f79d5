r"""Platt's sigmoid: the probability that belongs to a score

For scores d_i of rows with labels ±1 and weights w_i, n₊ and n₋ the weights of the two kinds,

    p(d) = 1/(1 + exp(A d + B)),      minimise −Σ_i w_i [t_i log p(d_i) + (1 − t_i) log(1 − p(d_i))]  (1)

with t = (n₊ + 1)/(n₊ + 2) for a positive row and 1/(n₋ + 2) for a negative one. These targets lie
inside (0, 1), so that A stays finite when a threshold separates the classes. Newton's method with
a line search finds A and B.

Platt, Probabilistic outputs for support vector machines (1999); Lin, Lin, Weng, A note on Platt's
probabilistic outputs (2007).
"""  # noqa: E501

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

MAX_STEPS = 100


def sigmoid(d: Any, A: float, B: float) -> Any:
    """p of (1)."""
    return expit(-(A * d + B))


def negative_log_likelihood(z: Any, t: Any, w: Any = None) -> float:
    """The objective of (1), at z = A d + B."""
    losses = np.logaddexp(0.0, z) - (1.0 - t) * z
    return float(losses.sum() if w is None else w @ losses)


def fit_sigmoid(d: Any, s: Any, w: Any = None, tol: float = 1e-5) -> tuple[float, float]:
    """A and B of (1) for scores d of rows with labels s = ±1 and weights w."""
    positive = s > 0.0
    if w is None:
        plus, minus = np.count_nonzero(positive), np.count_nonzero(~positive)
    else:
        plus, minus = w[positive].sum(), w[~positive].sum()
    t = np.where(positive, (plus + 1.0) / (plus + 2.0), 1.0 / (minus + 2.0))
    A, B = 0.0, float(np.log((minus + 1.0) / (plus + 1.0)))
    value = negative_log_likelihood(A * d + B, t, w)
    for _ in range(MAX_STEPS):
        p = sigmoid(d, A, B)
        h, g = p * (1.0 - p), t - p
        if w is not None:
            h, g = w * h, w * g
        gradient = np.array([d @ g, g.sum()])
        if np.abs(gradient).max() < tol:
            break
        H = np.array([[d @ (h * d), d @ h], [d @ h, h.sum()]]) + 1e-12 * np.eye(2)
        step, size = -np.linalg.solve(H, gradient), 1.0
        while size > 1e-10:
            new = negative_log_likelihood((A + size * step[0]) * d + B + size * step[1], t, w)
            if new < value + 1e-4 * size * (gradient @ step):
                break
            size *= 0.5
        else:
            break
        A, B, value = A + size * step[0], B + size * step[1], new
    return A, B
