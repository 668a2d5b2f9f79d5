r"""Moments of classes: counts, means and spreads of the rows of each class, from one pass

Row i belongs to class k(i) and counts s_i times. About an origin o_k, the first row of the class,

    n_k = Σ s_i,    m_k = o_k + Σ s_i (x_i − o_k) / n_k                                      (1)
    q_k = Σ s_i (x_i − o_k)² − n_k (m_k − o_k)²                   squares, for each column   (2)
    S = Σ_i s_i (x_i − o_k)(x_i − o_k)ᵀ − Σ_k n_k (m_k − o_k)(m_k − o_k)ᵀ      within        (3)

A row of the class is about as far from its mean as any other, so (2) and (3) lose a bit or two and
no more, wherever the classes lie. The moments of two sets of rows add up as in `moments.py`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import n_threads, one_blas_thread, run, split
from mlreplica.core.linalg import Array

from .walk import steps

CHUNK = 1 << 16  # entries of a block: half a megabyte


@kernel
def add_rows(X: Any, code: Any, s: Any, origin: Any, n: Any, sums: Any, squares: Any) -> None:
    """Add the sums of (1) and (2) for these rows."""
    p = X.shape[1]
    for i in range(len(X)):
        k, w = code[i], s[i]
        n[k] += w
        x, o, t, q = X[i], origin[k], sums[k], squares[k]
        for j in range(p):
            d = x[j] - o[j]
            t[j] += w * d
            q[j] += w * d * d


@kernel
def centre_rows(X: Any, code: Any, s: Any, origin: Any, n: Any, sums: Any, Z: Any) -> None:
    """Z_i ← √s_i (x_i − o_k), and the sums of (1)."""
    p = X.shape[1]
    for i in range(len(X)):
        k, w = code[i], s[i]
        n[k] += w
        x, o, t, z, root = X[i], origin[k], sums[k], Z[i], np.sqrt(w)
        for j in range(p):
            d = x[j] - o[j]
            t[j] += w * d
            z[j] = root * d


class ClassMoments(NamedTuple):
    """n (K,), means and squares (K, p) of the classes, S (p, p) within if it was asked for."""

    n: Array
    mean: Array
    squares: Array
    S: Array | None = None

    @classmethod
    @np.errstate(over="ignore", invalid="ignore")  # callers look at what is not finite
    def of(cls, X: Any, code: Any, K: int, s: Any = None, *, scatter: bool = False) -> ClassMoments:
        """Of rows X with classes code ∈ {0 … K − 1}, in blocks on threads."""
        n_rows, p = X.shape
        origin = first_rows(X, code, K)
        weight = np.ones(n_rows) if s is None else s
        size = max(16, CHUNK // max(1, p))

        def part(rows: slice) -> Any:
            n, sums, squares = np.zeros(K), np.zeros((K, p)), np.zeros((K, p))
            S = np.zeros((p, p)) if scatter else None
            Z = np.empty((min(size, rows.stop - rows.start), p) if scatter else (0, p))
            for b in steps(rows, size):
                x = np.ascontiguousarray(X[b], dtype=np.float64)
                if S is None:
                    add_rows(x, code[b], weight[b], origin, n, sums, squares)
                else:
                    z = Z[: len(x)]
                    centre_rows(x, code[b], weight[b], origin, n, sums, z)
                    S += z.T @ z
            return n, sums, squares, S

        parts = split(n_rows, 4 * n_threads(), size)
        if len(parts) == 1:
            found = [part(parts[0])]
        else:
            with one_blas_thread():
                found = run(part, parts)
        n, sums, squares = (sum(f[i] for f in found) for i in range(3))
        d = np.divide(sums, n[:, None], out=np.zeros_like(sums), where=n[:, None] > 0)
        if not scatter:
            return cls(n, origin + d, np.maximum(squares - sums * d, 0.0))
        S = sum(f[3] for f in found) - (sums.T @ d)
        return cls(n, origin + d, squares, (S + S.T) / 2.0)

    def __add__(self, other: Any) -> ClassMoments:
        """Both sets of rows together."""
        n = self.n + other.n
        share = np.divide(other.n, n, out=np.zeros_like(n), where=n > 0)[:, None]
        d = other.mean - self.mean
        between = d * d * (self.n[:, None] * share)
        return ClassMoments(n, self.mean + d * share, self.squares + other.squares + between)

    def variance(self) -> Array:
        """The variance of each column over all classes, (p,)."""
        n = self.n.sum()
        m = self.n @ self.mean / n
        d = self.mean - m
        return np.asarray((self.squares.sum(axis=0) + self.n @ (d * d)) / n)


def first_rows(X: Any, code: Any, K: int) -> Array:
    """One row of each class; 0 for a class without rows."""
    for some in (code[: 64 * K], code):
        where = np.full(K, -1)
        where[some[::-1]] = np.arange(len(some) - 1, -1, -1)  # of several, the last one stays
        if where.min() >= 0:
            return np.asarray(X[where], dtype=np.float64)
    return np.asarray(np.where(where[:, None] >= 0, X[where], 0.0), dtype=np.float64)
