"""Stored columns: products with some columns of a sparse matrix, on threads and without a copy"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import n_threads, run, split

SMALL = 1 << 17  # stored values that one thread goes through before another has started
Array: TypeAlias = npt.NDArray[Any]


@kernel
def dots(start: Array, rows: Array, data: Array, which: Array, v: Array, out: Array) -> None:
    """out[a] = x_jᵀv for j = which[a]."""
    for a in range(len(which)):
        j, z = which[a], 0.0
        for k in range(start[j], start[j + 1]):
            z += data[k] * v[rows[k]]
        out[a] = z


@kernel
def total(start: Array, rows: Array, data: Array, which: Array, w: Array, out: Array) -> None:
    """out = Σ_a w_a x_j, j = which[a]."""
    out[:] = 0.0
    for a in range(len(which)):
        j, w_j = which[a], w[a]
        for k in range(start[j], start[j + 1]):
            out[rows[k]] += w_j * data[k]


@kernel
def count(columns: Array, out: Array) -> None:
    """How often each column occurs."""
    out[:] = 0
    for k in range(len(columns)):
        out[columns[k]] += 1


@kernel
def place(
    start: Array, columns: Array, data: Array, first: int, last: int, put: Array, rows: Array,
    values: Array,
) -> None:  # fmt: skip
    """Put the entries of the rows first … last − 1 where their columns go on, at put[j]."""
    for i in range(first, last):
        for k in range(start[i], start[i + 1]):
            j = columns[k]
            rows[put[j]], values[put[j]] = i, data[k]
            put[j] += 1


def columns_of(X: Any, n_jobs: int | None = None) -> Any:
    """X in CSC; from CSR on threads, each with some rows and its own place in every column."""
    if X.format != "csr" or X.nnz <= SMALL or X.data.dtype != np.float64:
        return X.tocsc()
    (n, p), parts = X.shape, split(X.nnz, n_threads(n_jobs), least=SMALL)
    start, columns = X.indptr.astype(np.uint64), X.indices.astype(np.int32, copy=False)
    columns = columns.view(np.uint32)
    ends = [0, *np.searchsorted(X.indptr, [part.stop for part in parts[:-1]]).tolist(), n]
    found = np.empty((len(parts), p), dtype=np.uint64)
    firsts, lasts = ends[:-1], ends[1:]
    shares = [columns[X.indptr[a] : X.indptr[b]] for a, b in zip(firsts, lasts, strict=True)]
    run(count, shares, found, n_jobs=n_jobs)
    bounds = np.concatenate([[0], np.cumsum(found.sum(axis=0))]).astype(np.uint64)
    put = bounds[:-1] + np.cumsum(found, axis=0) - found
    rows, values = np.empty(X.nnz, dtype=np.uint32), np.empty(X.nnz)

    def work(first: int, last: int, mine: Array) -> None:
        place(start, columns, X.data, first, last, mine, rows, values)

    run(work, firsts, lasts, put, n_jobs=n_jobs)
    return sp.csc_array((values, rows.view(np.int32), bounds.astype(X.indptr.dtype)), shape=(n, p))


class StoredColumns:
    """Some columns of a CSC matrix; unsigned indices, as a sign would have to be looked at."""

    def __init__(
        self, triple: tuple[Array, Array, Array], which: Array, n: int, n_jobs: int | None
    ) -> None:
        self.triple, self.which, self.n, self.n_jobs = triple, which, n, n_jobs
        start = triple[0]
        upto = np.append(0, np.cumsum(start[which + 1] - start[which]))
        ends = np.linspace(0, upto[-1], n_threads(n_jobs) + 1 if upto[-1] > SMALL else 2)
        cuts = np.searchsorted(upto, ends[1:-1]).tolist()  # as many values for every thread
        self.shares = [slice(*cut) for cut in pairwise([0, *cuts, len(which)])]

    def only(self, which: Array) -> StoredColumns:
        """Some of all columns."""
        return StoredColumns(self.triple, which, self.n, self.n_jobs)

    def dots(self, V: Array) -> Array:
        """x_jᵀv for every column, and every row v of V."""
        out = np.empty((len(V), len(self.which)))

        def work(part: slice) -> None:
            for v, z in zip(V, out, strict=True):
                dots(*self.triple, self.which[part], v, z[part])

        run(work, self.shares, n_jobs=self.n_jobs)
        return out

    def total(self, W: Array) -> Any:
        """Σ_j w_j x_j for every row w of W."""
        out = np.empty((len(self.shares), len(W), self.n))

        def work(part: slice, sums: Array) -> None:
            for w, f in zip(W, sums, strict=True):
                total(*self.triple, self.which[part], w[part], f)

        run(work, self.shares, out, n_jobs=self.n_jobs)
        return out.sum(axis=0)
