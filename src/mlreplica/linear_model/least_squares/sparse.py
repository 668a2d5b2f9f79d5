"""Least squares on a sparse X: the same normal equations, centred without losing the zeros

Subtracting a mean would fill X, so here x₀ = 0 in equation (2) of `direct.py` and the column
of ones does the centring: it is one more unknown in the normal equations. What a large mean costs
in digits is part of their condition number, so the same test decides whether they may be used.

Where a (p, p) matrix is too large, solvers ask for products only: `core/rows/csr.py`.
"""

import warnings

import numpy as np
from scipy.sparse.linalg import LinearOperator, lsqr
from sklearn.exceptions import ConvergenceWarning

from .direct import LeastSquaresSolution

MOST = 4096  # columns up to which a dense (p, p) matrix is made
DENSE = 1 << 20  # entries up to which X itself is made dense, if its normal equations cannot serve


def means(X, y, s):
    """Weighted means of the columns of a sparse X and of y."""
    share = np.full(X.shape[0], 1.0 / X.shape[0]) if s is None else s / s.sum()
    return share @ X, share @ y


def by_lsqr(rows, tol):
    """Solve by LSQR (Paige and Saunders, 1982) on the centred operator; of minimum norm too."""
    X, y = rows.X, rows.y
    root = np.ones(X.shape[0]) if rows.s is None else np.sqrt(rows.s)
    x_mean, y_mean = means(X, y, rows.s) if rows.intercept else (rows.x0, rows.y0)
    A = LinearOperator(
        X.shape,
        matvec=lambda w: root * (X @ w - x_mean @ w),
        rmatvec=lambda r: X.T @ (root * r) - x_mean * (root @ r),
        dtype=float,
    )
    w = np.empty((X.shape[1], y.shape[1]))
    for k in range(y.shape[1]):
        w[:, k], why, steps, _, _, _, condition, size, *_ = lsqr(
            A, root * (y[:, k] - y_mean[k]), atol=tol, btol=tol
        )
        if why in (3, 6, 7):  # condition too large, or too many steps
            warnings.warn(
                f"LSQR did not reach tol = {tol:.1e} in {steps} steps (gradient {size:.1e}, "
                f"condition number {condition:.1e}); scale the columns of X, "
                "raise tol, or pass a dense X.",
                ConvergenceWarning,
                stacklevel=4,
            )
    return LeastSquaresSolution(w, y_mean - x_mean @ w, None, None, "lsqr")
