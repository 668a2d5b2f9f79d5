r"""Blocks of rows: the products that a Newton step needs, in one walk over X

A model f_i = z_iᵀv with z_i = [1, x_i − x₀] and v = (b + x₀ᵀw, w) has, for any loss of f,

    gradient  Zᵀg,      curvature  Zᵀ diag(h) Z,      g_i = ∂L_i/∂f_i,   h_i = ∂²L_i/∂f_i².

The rows z_i are made a block at a time, in a buffer that stays in the cache, and the parts of X are
shared out to threads: X itself is never copied, and it may be sparse or in single precision. An
origin x₀ near the mean keeps the digits that columns far from zero would cost.

Where X has more columns than rows, w = Qu for an orthonormal basis Q of the span of the rows: what
w had beside that span would change no f_i and only make ‖w‖ longer.
"""

from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh, qr
from sklearn.utils.validation import validate_data

from mlreplica.core.parallel import n_threads, one_blas_thread, run, split
from mlreplica.core.validation import FLOATS, is_plain

from ._least_squares import EPS, SMALL, cholesky

BLOCK = 1 << 16  # entries: half a megabyte, half of a second-level cache
SAMPLE = 1024  # rows that the origin is estimated from
DIRECT = 1500  # columns up to which the matrix of curvatures is made
SPARSE = 256  # the same for sparse X, whose blocks are filled


class Design(NamedTuple):
    """The rows z_i of X; the column of ones is there only with an intercept."""

    X: np.ndarray  # (n, p), dense or CSR
    x0: np.ndarray  # (p,)
    intercept: bool
    basis: np.ndarray | None = None  # Q (columns of the user's X, p)
    n_jobs: int | None = None

    @classmethod
    def of(cls, X, intercept, n_jobs=None, *, turn=True):
        """With x₀ the mean of some rows spread evenly; zero for sparse X, which stays sparse.

        `turn`: rotate a wide X into the span of its rows.
        """
        n, p = X.shape
        if sp.issparse(X):
            return cls(sp.csr_array(X), np.zeros(p), intercept, None, n_jobs)
        x0 = np.zeros(p)
        if intercept:
            some = X[:: max(1, n // SAMPLE)]
            constant = (some == some[0]).all(axis=0)  # exactly zero about its value
            x0 = np.where(constant, some[0], some.mean(axis=0, dtype=np.float64))
        if turn and n < p and n <= DIRECT:
            Q, R, pivot = qr((X - x0).T, mode="economic", pivoting=True, check_finite=False)
            size = np.abs(R.diagonal())
            rank = max(1, int((size > p * EPS * size[0]).sum()))
            turned = np.empty((n, rank))
            turned[pivot] = R[:rank].T
            return cls(turned, x0, intercept, Q[:, :rank], n_jobs)
        return cls(X, x0, intercept, None, n_jobs)

    @property
    def width(self):
        """Columns of Z."""
        return self.intercept + self.X.shape[1]

    @property
    def direct(self):
        """Is the matrix of curvatures small enough to be made?"""
        return self.X.shape[1] <= (SPARSE if sp.issparse(self.X) else DIRECT)

    @property
    def origin(self):
        """x₀ of the columns that Z is made from; a rotated X is about its origin already."""
        return self.x0 if self.basis is None else 0.0

    def thinned(self, step):
        """Every `step`-th row only."""
        return self._replace(X=self.X[::step])

    def block(self, rows, buffer):
        """Z for a slice of rows, written over the buffer; columns beyond Z stay as they are."""
        Z, i = buffer[: rows.stop - rows.start], int(self.intercept)
        if i:
            Z[:, 0] = 1.0
        inner = Z[:, i : self.width]
        if sp.issparse(self.X):
            inner[:] = self.X[rows].toarray()
        elif i:
            np.subtract(self.X[rows], self.origin, out=inner)
        else:
            inner[:] = self.X[rows]
        return Z

    def map(self, work, extra=0):
        """[work(blocks of one part)] for every part of the rows, one part a thread.

        `work` takes an iterable of (slice, Z), Z having `extra` columns more, to be filled.
        """
        n, k = self.X.shape[0], self.width + extra
        size = max(BLOCK // k, 2 * k, 16)
        if n <= size:
            return [work([(slice(0, n), self.block(slice(0, n), np.empty((n, k))))])]

        def part(rows):
            buffer = np.empty((min(size, rows.stop - rows.start), k))
            cuts = range(rows.start, rows.stop, size)
            blocks = (slice(i, min(i + size, rows.stop)) for i in cuts)
            return work((b, self.block(b, buffer)) for b in blocks)

        if k > 512:  # one product keeps BLAS's own threads busy
            return [part(slice(0, n))]
        return run(part, split(n, n_threads(self.n_jobs), size), n_jobs=self.n_jobs)

    def parts(self):
        """Slices of rows, one a thread; one alone where X is small."""
        n = self.X.shape[0]
        least = max(1, BLOCK // self.width)
        return split(n, n_threads(self.n_jobs) if n > 2 * least else 1, least)

    def scores(self, v):
        """f = Z v."""
        i = int(self.intercept)
        if sp.issparse(self.X):  # a slice would be a copy
            f = self.X @ v[i:]
        else:
            parts = run(lambda rows: self.X[rows] @ v[i:], self.parts(), n_jobs=self.n_jobs)
            f = np.concatenate(parts) if len(parts) > 1 else parts[0]
        if i:
            f = f + (v[0] - np.sum(self.origin * v[1:]))
        return np.asarray(f, dtype=float)

    def back(self, g):
        """Zᵀg."""
        if sp.issparse(self.X):
            total = self.X.T @ g
        else:
            total = sum(run(lambda rows: g[rows] @ self.X[rows], self.parts(), n_jobs=self.n_jobs))
        if not self.intercept:
            return np.asarray(total, dtype=float)
        one = g.sum()
        return np.append(one, total - one * self.origin)

    def threads(self):
        """A context for the fit: BLAS on one thread beside ours.

        Large products are left to its threads; small ones it does on one thread anyway.
        """
        small = self.X.shape[0] * self.width <= SMALL
        return nullcontext() if small or self.width > 512 else one_blas_thread()

    def gram(self, h):
        """Zᵀ diag(h) Z for h ≥ 0."""
        root = np.sqrt(h)

        def work(blocks):
            M = 0.0
            for rows, Z in blocks:
                R = np.multiply(Z, root[rows, None], out=Z)
                M += R.T @ R
            return M

        return sum(self.map(work))

    def plain(self, v):
        """(w, b) of v."""
        w = v[int(self.intercept) :]
        w = w.copy() if self.basis is None else self.basis @ w
        return w, float(v[0] - self.x0 @ w) if self.intercept else 0.0

    def shifted(self, w, b):
        """The v of (w, b)."""
        u = np.asarray(w, dtype=float) if self.basis is None else self.basis.T @ w
        return np.append(b + self.x0 @ w, u) if self.intercept else u.copy()


def training_rows(estimator, X, y, accept_sparse):
    """X as it is or as floats, y as float64, both checked once.

    Plain arrays of floats need no more than two sums, which are finite unless an entry is not.
    """
    if is_plain(X, y, "f", contiguous=False):
        estimator.n_features_in_ = X.shape[1]
        estimator.__dict__.pop("feature_names_in_", None)
        return X, y.astype(np.float64, copy=False)
    X, y = validate_data(estimator, X, y, accept_sparse=accept_sparse, dtype=FLOATS, y_numeric=True)
    return X, y.astype(np.float64, copy=False)


def solve(H, B):
    """H⁻¹B for a symmetric H ⪰ 0, by Cholesky; of least norm, columns scaled, where it has no H⁻¹.

    Least norm means that directions of no curvature are left alone.
    """
    if factor := cholesky(H):
        return factor.solve(B)
    sq = H.diagonal()
    d = np.where(sq > 0, 1.0 / np.sqrt(np.where(sq > 0, sq, 1.0)), 0.0)
    values, V = eigh(H * d * d[:, None])
    keep = values > 10 * len(values) * EPS * max(values[-1], 0.0)
    V = V[:, keep] * d[:, None]
    return V @ ((V.T @ B) / values[keep, None])
