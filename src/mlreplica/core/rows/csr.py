r"""Sparse rows: products with a CSR matrix that read each row once, on threads

Solvers for many columns ask for products only. With weights h_i and r_i = c_i − (x_i − x̄)ᵀd,

    Σ_i h_i (x_i − x̄) r_i                                                                    (1)

is the gradient of a weighted sum of squares at d or, with c = 0, minus its curvature times d. The
row x_i is in cache when it is needed again: half the memory traffic of two products. Each thread
adds up rows of its own, so the last digits depend on how many threads there are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import n_threads, run, split
from mlreplica.core.linalg import Array

SHARE = 1 << 16  # entries of X that are worth a thread


@kernel
def forward(start: Any, columns: Any, data: Any, w: Any, f: Any, first: Any, last: Any) -> None:
    """f_i ← x_iᵀw for the rows first … last − 1."""
    for i in range(first, last):
        t = 0.0
        for k in range(start[i], start[i + 1]):
            t += data[k] * w[columns[k]]
        f[i] = t


@kernel
def backward(start: Any, columns: Any, data: Any, u: Any, out: Any, first: Any, last: Any) -> None:
    """out ← Σ u_i x_i over these rows."""
    out[:] = 0.0
    for i in range(first, last):
        for k in range(start[i], start[i + 1]):
            out[columns[k]] += u[i] * data[k]


@kernel
def there_and_back(
    start: Any, columns: Any, data: Any, h: Any, d: Any, out: Any, first: Any, last: Any
) -> None:
    """out ← Σ x_i h_i x_iᵀd over these rows, each read once from memory."""
    out[:] = 0.0
    for i in range(first, last):
        t = 0.0
        for k in range(start[i], start[i + 1]):
            t += data[k] * d[columns[k]]
        t *= h[i]
        for k in range(start[i], start[i + 1]):
            out[columns[k]] += t * data[k]


@kernel
def residual_and_back(
    start: Any,
    columns: Any,
    data: Any,
    h: Any,
    c: Any,
    shift: Any,
    d: Any,
    out: Any,
    first: Any,
    last: Any,
) -> Any:
    """out ← (1) for these rows without its part in x̄, where shift = x̄ᵀd; Σ h r and Σ h r²."""
    out[:] = 0.0
    total = total_sq = 0.0
    for i in range(first, last):
        r = c[i] + shift
        for k in range(start[i], start[i + 1]):
            r -= data[k] * d[columns[k]]
        hr = h[i] * r
        total += hr
        total_sq += hr * r
        for k in range(start[i], start[i + 1]):
            out[columns[k]] += hr * data[k]
    return total, total_sq


class RowProducts:
    """The products of a CSR matrix with vectors, on threads."""

    def __init__(self, X: Any, n_jobs: int | None = None, least: int = 1 << 18) -> None:
        self.shape, self.n_jobs = X.shape, n_jobs
        # unsigned, so that a kernel need not ask whether an index counts from the end
        self.triple = X.indptr.astype(np.uint64), X.indices.astype(np.uint32), X.data
        shares = [part.stop for part in split(X.nnz, n_threads(n_jobs), least=least)]
        ends = np.searchsorted(X.indptr, shares[:-1])
        self.first = np.array([0, *ends], dtype=np.uint64)
        self.last = np.array([*ends, X.shape[0]], dtype=np.uint64)
        self.parts = np.empty((len(self.first), X.shape[1]))

    def forward(self, W: Any) -> Array:
        """W Xᵀ, (K, n)"""
        F = np.empty((len(W), self.shape[0]))

        def work(first: Any, last: Any) -> None:
            for w, f in zip(W, F, strict=True):
                forward(*self.triple, w, f, first, last)

        run(work, self.first, self.last, n_jobs=self.n_jobs)
        return F

    def backward(self, U: Any) -> Array:
        """U X, (K, p)"""
        return np.array([self.added(backward, u) for u in U])

    def squares(self, s: Any) -> Array:
        """Σ s_i x_ij² for every j."""
        start, columns, data = self.triple
        return self.added(backward, s, triple=(start, columns, data * data))

    def added(self, function: Callable[..., Any], *vectors: Any, triple: Any = None) -> Array:
        """function(…, out, first, last) on every thread's rows, added up."""
        return self.both(function, *vectors, triple=triple)[0]

    def both(
        self, function: Callable[..., Any], *vectors: Any, triple: Any = None
    ) -> tuple[Array, Any]:
        """The same, and what the function returned, one for each thread."""

        def work(out: Any, first: Any, last: Any) -> Any:
            return function(*(triple or self.triple), *vectors, out, first, last)

        found = run(work, self.parts, self.first, self.last, n_jobs=self.n_jobs)
        return self.parts.sum(axis=0), found


class CentredProducts(RowProducts):
    """The products (1) with the rows √s_i (x_i − x̄) of a sparse X."""

    def __init__(self, X: Any, s: Any, x_mean: Any) -> None:
        super().__init__(sp.csr_array(X).astype(float, copy=False), least=SHARE)
        self.s = np.ones(self.shape[0]) if s is None else s
        self.x_mean, self.zero = x_mean, np.zeros(self.shape[0])

    def gradient(self, c: Any, w: Any) -> tuple[Array, Array]:
        """(1) for c (n, q), w (p, q), and Σ s r² (q,)."""
        found = [
            self._one(np.ascontiguousarray(c_k), w_k.copy())
            for c_k, w_k in zip(c.T, w.T, strict=True)
        ]
        return np.array([g for g, _ in found]).T, np.array([size for _, size in found])

    def diagonal(self) -> Array:
        """The diagonal of AᵀA: Σ s x² − S x̄² of every column."""
        return np.asarray(np.maximum(self.squares(self.s) - self.s.sum() * self.x_mean**2, 0.0))

    def normal(self, v: Any) -> Array:
        """AᵀA v for v (p, q)."""
        return np.array([self._one(self.zero, -v_k)[0] for v_k in v.T]).T

    def _one(self, c: Any, v: Any) -> tuple[Array, float]:
        """(1) and Σ s r² for one target."""
        out, sums = self.both(residual_and_back, self.s, c, float(self.x_mean @ v), v)
        total, total_sq = np.sum(sums, axis=0)
        return out - self.x_mean * total, total_sq
