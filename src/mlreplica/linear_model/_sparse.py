"""Least squares on a sparse X: the same normal equations, centred without losing the zeros

Subtracting a mean would fill X, so here x₀ = 0 in equation (2) of `_least_squares` and the column
of ones does the centring: it is one more unknown in the normal equations. What a large mean costs
in digits is part of their condition number, so the same test decides whether they may be used.
"""

import warnings
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, lsqr
from sklearn.exceptions import ConvergenceWarning

from ._least_squares import Solution

MOST = 4096  # columns up to which a dense (p, p) matrix is made
DENSE = 1 << 20  # entries up to which X itself is made dense, if its normal equations cannot serve


class SparseRows(NamedTuple):
    """The rows of a sparse X, with what `by_cholesky` asks of `Rows`."""

    X: sp.csr_array | sp.csc_array
    y: np.ndarray
    s: np.ndarray | None
    intercept: bool
    x0: np.ndarray  # zeros
    y0: np.ndarray

    @property
    def design(self):
        """[1 X], sparse; X alone without an intercept."""
        if not self.intercept:
            return self.X
        return sp.hstack([np.ones((self.X.shape[0], 1)), self.X], format="csr")

    def weighted(self, r):
        """s·r"""
        return r if self.s is None else self.s[:, None] * r

    def gram(self):
        """M of (4), c included."""
        A, c = self.design, self.y - self.y0
        sA = A if self.s is None else sp.diags_array(self.s) @ A
        G, b, q = (A.T @ sA).toarray(), A.T @ self.weighted(c), c.T @ self.weighted(c)
        return np.block([[G, b], [b.T, q]])

    def gradient(self, v):
        """Aᵀ S (c − A v)"""
        A = self.design
        return A.T @ self.weighted(self.y - self.y0 - A @ v)


def by_lsqr(rows, tol):
    """Solve by LSQR (Paige and Saunders, 1982) on the centred operator; of minimum norm too."""
    X, y = rows.X, rows.y
    s = np.ones(X.shape[0]) if rows.s is None else rows.s
    root, share = np.sqrt(s), s / s.sum()
    x_mean, y_mean = (share @ X, share @ y) if rows.intercept else (rows.x0, rows.y0)
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
    return Solution(w, y_mean - x_mean @ w, None, None, "lsqr")
