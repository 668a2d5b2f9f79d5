r"""Products of blocks of vectors with all rows: dense, or sparse with an implied centring

Solvers that know a matrix A only by its products ask for A V and AᵀU. A has the rows √s_i (x_i −
m). A dense A is made once, on threads; a sparse one stays sparse, and the mean is taken off the
product:

    A V = √s (X V − 1 mᵀV),    AᵀU = (√s X)ᵀU − m (√sᵀU)                                      (1)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import n_threads, run, split
from mlreplica.core.linalg import Array

from .stored import columns_of
from .walk import is_sparse, steps

LEAST = 1 << 15  # stored values times vectors that are worth a thread
DENSE = 1 << 20  # entries times vectors that are worth a thread
CHUNK = 1 << 16


@kernel
def rows_times(
    start: Any, columns: Any, data: Any, V: Any, out: Any, first: Any, last: Any
) -> None:
    """out_i ← Σ_j x_ij V_j for the rows first … last − 1, eight vectors at a time in registers.

    V and out have a row for each column and row of X, and a multiple of eight columns.
    """
    for i in range(first, last):
        for q in range(0, out.shape[1], 8):
            a = b = c = d = e = f = g = h = 0.0
            for k in range(start[i], start[i + 1]):
                j, x = columns[k], data[k]
                a += x * V[j, q]
                b += x * V[j, q + 1]
                c += x * V[j, q + 2]
                d += x * V[j, q + 3]
                e += x * V[j, q + 4]
                f += x * V[j, q + 5]
                g += x * V[j, q + 6]
                h += x * V[j, q + 7]
            o = out[i]
            o[q], o[q + 1], o[q + 2], o[q + 3] = a, b, c, d
            o[q + 4], o[q + 5], o[q + 6], o[q + 7] = e, f, g, h


def whole_lines(n: int, m: int) -> Array:
    """Zeros (n, m), m a multiple of eight, whose rows begin where a line of the cache begins."""
    room = np.zeros(n * m + 8)
    first = -(room.ctypes.data // 8) % 8
    return room[first : first + n * m].reshape(n, m)


class SparseTimes:
    """X V for a CSR matrix X, rows shared by threads."""

    def __init__(self, X: Any) -> None:
        self.n = X.shape[0]
        self.triple = (
            X.indptr.astype(np.uint64),
            X.indices.astype(np.int32, copy=False).view(np.uint32),
            X.data.astype(np.float64, copy=False),
        )
        self.indptr, self.nnz = X.indptr, X.nnz

    def __call__(self, V: Any) -> Array:
        many = V.shape[1]
        padded = whole_lines(len(V), -(-many // 8) * 8)
        padded[:, :many] = V
        V, out = padded, np.empty((self.n, padded.shape[1]))
        parts = split(self.nnz, 2 * n_threads(), least=max(1, LEAST // max(1, V.shape[1])))
        ends = np.searchsorted(self.indptr, [part.stop for part in parts[:-1]])
        first = np.array([0, *ends], dtype=np.uint64)
        last = np.array([*ends, self.n], dtype=np.uint64)
        run(lambda a, b: rows_times(*self.triple, V, out, a, b), first, last)
        return out[:, :many]


class Products:
    """A V, AᵀU and ‖A‖² of (1), for X (n, p) about `mean` (None: not centred), with weights s."""

    def __init__(self, X: Any, mean: Any = None, s: Any = None, scale: Any = None) -> None:
        self.shape = X.shape
        self.mean, self.root = mean, None if s is None else np.sqrt(s)
        self.sparse = is_sparse(X)
        if self.sparse:
            X = sp.csr_array(X).astype(np.float64, copy=False)
            if scale is not None:
                X = (X @ sp.diags_array(1.0 / scale)).tocsr()
                self.mean = None if mean is None else mean / scale
            if self.root is not None:
                X = sp.csr_array(sp.diags_array(self.root) @ X)
            self.forward = SparseTimes(X)
            self.backward = SparseTimes(columns_of(X).T)
            self.norm_sq = float(X.data @ X.data)
            if self.mean is not None:
                n = X.shape[0] if s is None else s.sum()
                self.norm_sq -= float(n * (self.mean @ self.mean))
        else:
            self.A = centred(X, mean, self.root, scale)
            self.norm_sq = squared_length(self.A)

    def times(self, V: Any) -> Array:
        """A V"""
        if not self.sparse:
            return dense_times(self.A, V)
        W = self.forward(V)
        if self.mean is not None:
            shift = self.mean @ V
            W -= shift if self.root is None else self.root[:, None] * shift
        return W

    def back(self, U: Any) -> Array:
        """AᵀU"""
        if not self.sparse:
            return dense_back(self.A, U)
        W = self.backward(U)
        if self.mean is not None:
            total = U.sum(axis=0) if self.root is None else self.root @ U
            W -= self.mean[:, None] * total
        return W


def shares(A: Any, vectors: int) -> list[slice]:
    """Rows of A, a part for each thread. Threads of BLAS would go on spinning after a product, in
    the way of what a solver does next."""
    least = 1 + DENSE // max(1, A.shape[1] * vectors)
    return split(len(A), n_threads() if len(A) >= 2 * least else 1, least)


def dense_times(A: Any, V: Any) -> Array:
    """A V, rows shared by threads."""
    out = np.empty((len(A), V.shape[1]))
    run(lambda rows: np.matmul(A[rows], V, out=out[rows]), shares(A, V.shape[1]))
    return out


def dense_back(A: Any, U: Any) -> Array:
    """AᵀU, added up over rows shared by threads."""
    return np.asarray(sum(run(lambda rows: A[rows].T @ U[rows], shares(A, U.shape[1]))))


def centred(X: Any, mean: Any, root: Any = None, scale: Any = None) -> Array:
    """√s (X − mean) / scale, on threads; X itself if nothing is to be done and it is float64."""
    if mean is None and root is None and scale is None:
        return np.asarray(X, dtype=np.float64)
    A = np.empty(X.shape, order="F" if X.flags.f_contiguous else "C")

    def work(rows: slice) -> None:
        a = A[rows]
        np.subtract(X[rows], 0.0 if mean is None else mean, out=a)
        if scale is not None:
            a /= scale
        if root is not None:
            a *= root[rows, None]

    run(work, split(len(X), n_threads(), least=1 + CHUNK // max(1, X.shape[1])))
    return A


def squared_length(A: Any) -> float:
    """‖A‖² of Frobenius"""
    size = max(1, CHUNK // max(1, A.shape[1]))
    if len(A) <= size:
        return float(np.vdot(A, A)) if A.flags.c_contiguous else float((A * A).sum())
    return float(sum((A[rows] ** 2).sum() for rows in steps(slice(0, len(A)), size)))
