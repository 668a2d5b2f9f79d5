r"""Ridge regression in its shortest form (equations of `direct.py`)

Centre, solve the smaller of the two systems (2) and (3), and bound the error by (6). The engine
(`direct.py`, `solvers.py`) finds the same w without copying X, proves that no digits were lost,
and turns to orthogonal transformations (4) where they were.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class RidgeFit(NamedTuple):
    """w, b, and the bound (6) on P(w, b) − P*."""

    w: np.ndarray  # (p,)
    b: float
    gap: float


def fit_ridge(X, y, alpha=1.0, s=None) -> RidgeFit:
    """Minimise Σ s_i (y_i − x_iᵀw − b)² + α ‖w‖².

    Parameters
    ----------
    X : ndarray of shape (n, p)
    y : ndarray of shape (n,)
    alpha : float
        Positive.
    s : ndarray of shape (n,), optional
        Weights of the rows; default: 1.

    Returns
    -------
    RidgeFit
        NamedTuple ``(w, b, gap)``.

    Examples
    --------
    >>> w, b, gap = fit_ridge(np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 2.0]))
    >>> w.round(4), round(b, 4), gap < 1e-20
    (array([0.6667]), 0.3333, True)
    """
    n, p = X.shape
    s = np.ones(n) if s is None else s
    x_mean, y_mean = s @ X / s.sum(), s @ y / s.sum()
    A, c = np.sqrt(s)[:, None] * (X - x_mean), np.sqrt(s) * (y - y_mean)
    if n >= p:
        w = np.linalg.solve(A.T @ A + alpha * np.eye(p), A.T @ c)  # (2)
    else:
        w = A.T @ np.linalg.solve(A @ A.T + alpha * np.eye(n), c)  # (3)
    g = A.T @ (c - A @ w) - alpha * w
    return RidgeFit(w, float(y_mean - x_mean @ w), float(g @ g) / alpha)  # (6)
