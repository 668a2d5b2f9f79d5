"""Least squares on a sparse X: the same normal equations, centred without losing the zeros

Subtracting a mean would fill X, so here x₀ = 0 in equation (2) of `_least_squares` and the column
of ones does the centring: it is one more unknown in the normal equations. What a large mean costs
in digits is part of their condition number, so the same test decides whether they may be used.

Where a (p, p) matrix is too large, solvers that ask for products only take `Products`: one pass
over the rows x_i gives

    Σ_i s_i (x_i − x̄) (c_i − (x_i − x̄)ᵀv),                                                  (1)

the gradient at v, or (with c = 0) the product of −AᵀA and v: half the traffic of two products.
"""

import warnings
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, lsqr
from sklearn.exceptions import ConvergenceWarning

from mlreplica.core.jit import kernel
from mlreplica.core.parallel import n_threads, run, split

from ._least_squares import BLOCK, Normal, Solution

MOST = 4096  # columns up to which a dense (p, p) matrix is made
DENSE = 1 << 20  # entries up to which X itself is made dense, if its normal equations cannot serve
SHARE = 1 << 16  # entries of X that are worth a thread


class SparseRows(NamedTuple):
    """The rows of a sparse X, with what `by_cholesky` asks of `Rows`."""

    X: sp.csr_array | sp.csc_array
    y: np.ndarray
    s: np.ndarray | None
    intercept: bool
    x0: np.ndarray  # zeros
    y0: np.ndarray
    free: bool = True
    uneven = False  # without rows to transform there is nothing better to turn to

    @property
    def design(self):
        """[1 X], sparse; X alone without an intercept."""
        if not self.intercept:
            return self.X
        return sp.hstack([np.ones((self.X.shape[0], 1)), self.X], format="csr")

    def weighted(self, r):
        """s·r"""
        return r if self.s is None else self.s[:, None] * r

    def normal(self):
        """The two sides of the normal equations."""
        A, c = self.design, self.y - self.y0
        sA, sc = A if self.s is None else sp.diags_array(self.s) @ A, self.weighted(c)
        return Normal((A.T @ sA).toarray(), A.T @ sc, np.einsum("iq,iq->q", c, sc))

    def map(self, work):
        """[work(blocks)] of the rows √s [X − x₀, y − y₀], filled one block at a time."""
        n, k = self.X.shape[0], self.X.shape[1] + self.y.shape[1]
        X = sp.csr_array(self.X)

        def blocks():
            for b in split(n, -(-n * k // BLOCK)):
                Z = np.hstack([X[b].toarray() - self.x0, self.y[b] - self.y0])
                yield b, (Z if self.s is None else np.sqrt(self.s[b])[:, None] * Z)

        return [work(blocks())]

    def gradient(self, v):
        """Aᵀ S (c − A v)"""
        A = self.design
        return A.T @ self.weighted(self.y - self.y0 - A @ v)


@kernel
def one_pass(data, indices, indptr, s, c, shift, v, start, stop, out):
    """(1) for some rows without the part in x̄, added to `out`, with shift = x̄ᵀv; Σ s r, Σ s r²."""
    total = total_sq = 0.0
    for i in range(start, stop):
        r = c[i] + shift
        for k in range(indptr[i], indptr[i + 1]):
            r -= data[k] * v[indices[k]]
        sr = s[i] * r
        total += sr
        total_sq += sr * r
        for k in range(indptr[i], indptr[i + 1]):
            out[indices[k]] += sr * data[k]
    return total, total_sq


class Products:
    """The products (1) with the centred rows of a sparse X, on several threads."""

    def __init__(self, X, s, x_mean):
        X = sp.csr_array(X)
        self.shape, self.x_mean = X.shape, x_mean
        self.data = np.ascontiguousarray(X.data, dtype=np.float64)
        # unsigned, so that a kernel need not ask whether an index counts from the end
        self.indices = np.ascontiguousarray(X.indices, dtype=np.int32).view(np.uint32)
        self.indptr = np.ascontiguousarray(X.indptr, dtype=np.int64)
        self.s = np.ones(X.shape[0]) if s is None else s
        self.zero = np.zeros(X.shape[0])
        parts = max(1, min(n_threads(), X.nnz // SHARE))
        cuts = np.searchsorted(self.indptr, np.linspace(0, X.nnz, parts + 1)[1:-1])
        self.cuts = [0, *cuts.tolist(), X.shape[0]]

    def gradient(self, c, w):
        """(1) for c (n, q), w (p, q), and Σ s r² (q,)."""
        found = [
            self._one(np.ascontiguousarray(c_k), w_k.copy())
            for c_k, w_k in zip(c.T, w.T, strict=True)
        ]
        return np.array([g for g, _ in found]).T, np.array([size for _, size in found])

    def diagonal(self):
        """The diagonal of AᵀS A: Σ s x² − S x̄² of every column."""
        by_row = np.repeat(self.s, np.diff(self.indptr))
        sums = np.bincount(self.indices, by_row * self.data**2, self.shape[1])
        return np.maximum(sums - self.s.sum() * self.x_mean**2, 0.0)

    def normal(self, v):
        """AᵀS A v for v (p, q)."""
        return np.array([self._one(self.zero, -v_k)[0] for v_k in v.T]).T

    def _one(self, c, v):
        """The same for one target."""
        shift = float(self.x_mean @ v)

        def work(start, stop):
            out = np.zeros(len(v))
            sums = one_pass(
                self.data, self.indices, self.indptr, self.s, c, shift, v, start, stop, out
            )
            return out, *sums

        out, total, total_sq = zip(*run(work, self.cuts[:-1], self.cuts[1:]), strict=True)
        return sum(out) - self.x_mean * sum(total), sum(total_sq)


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
    return Solution(w, y_mean - x_mean @ w, None, None, "lsqr")
