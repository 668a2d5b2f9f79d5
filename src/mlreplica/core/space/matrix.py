r"""Matrix: all distances between two sets of rows, for those who need them all

Euclidean distances come from one product, ‖x − y‖² = ‖x‖² + ‖y‖² − 2xᵀy, and lose digits where x
and y are close: the error is some ε(‖x‖² + ‖y‖²) while the result is small. So

    ‖x − y‖² < (‖x‖² + ‖y‖²) / 16   is computed again from the differences                   (2)

and every entry is right to some 14 digits. Rows of CSR matrices are never filled for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import n_threads, run, split
from mlreplica.core.formulas.distances import L2, Array, Distance
from mlreplica.core.formulas.kernel_loops import pairwise
from mlreplica.core.rows.walk import is_sparse, steps

from .tree import BLOCK, grow_tree, norm_between
from .walk import leaf_distances

SMALL = 1 << 16  # entries that need no threads
FILLED = 1 << 21  # entries of a block of sparse rows that is filled


@kernel(borrow=True)
def mend_close(X: Array, Y: Array, x_sq: Array, y_sq: Array, K: Array) -> None:
    """K = XYᵀ becomes the squared distances, by (2)."""
    for i in range(len(K)):
        for j in range(K.shape[1]):
            sizes = x_sq[i] + y_sq[j]
            r = sizes - 2.0 * K[i, j]
            if not r > sizes / 16.0:
                r = norm_between(L2, 2.0, X[i], Y[j])
            K[i, j] = r


@kernel(borrow=True)
def mend_close_stored(
    x_at: Array, x_who: Array, x: Array, y_at: Array, y_who: Array, y: Array, first: int,
    x_sq: Array, y_sq: Array, K: Array,
) -> None:  # fmt: skip
    """The same for CSR rows, sorted by column; the rows of K begin with row `first` of x."""
    for i in range(len(K)):
        for j in range(K.shape[1]):
            sizes = x_sq[first + i] + y_sq[j]
            r = sizes - 2.0 * K[i, j]
            if not r > sizes / 16.0:
                r = 0.0
                a, a_end, b, b_end = x_at[first + i], x_at[first + i + 1], y_at[j], y_at[j + 1]
                while a < a_end or b < b_end:
                    if b == b_end or (a < a_end and x_who[a] < y_who[b]):
                        t = x[a]
                        a += 1
                    elif a == a_end or x_who[a] > y_who[b]:
                        t = y[b]
                        b += 1
                    else:
                        t = x[a] - y[b]
                        a += 1
                        b += 1
                    r += t * t
            K[i, j] = r


@kernel
def norm_matrix(code: int, power: float, X: Array, points: Array, block: int, K: Array) -> None:
    """Reduced distances of the rows of X to points in leaves."""
    m, r = K.shape[1], np.empty(block)
    for leaf in range((m + block - 1) // block):
        lo = leaf * block
        for i in range(len(X)):
            leaf_distances(code, power, X[i], points, leaf, r)
            for k in range(min(block, m - lo)):
                K[i, lo + k] = r[k]


def distance_matrix(
    X: Any, Y: Any, distance: Distance, n_jobs: int | None = None, *, reduced: bool = False
) -> Array:
    """d(x_i, y_j) for all rows, or reduced distances; X and Y dense, or both CSR."""
    n, m = X.shape[0], Y.shape[0]
    K = np.empty((n, m))
    plain = distance.euclidean and distance.scale is None and distance.turn is None
    if plain and is_sparse(X) and is_sparse(Y):
        stored_matrix(X, Y, K)
        return K if reduced else distance.finish(K)
    if is_sparse(X) or is_sparse(Y):
        size = max(1, FILLED // max(1, X.shape[1]))
        for rows in steps(slice(0, n), size):
            x = X[rows].toarray() if is_sparse(X) else X[rows]
            for columns in steps(slice(0, m), size):
                y = Y[columns].toarray() if is_sparse(Y) else Y[columns]
                K[rows, columns] = distance_matrix(x, y, distance, n_jobs, reduced=reduced)
        return K
    x = distance.prepare(X)
    y = x if X is Y else distance.prepare(Y)
    parts = split(n, 4 * n_threads(n_jobs) if n * m > SMALL else 1)
    if distance.python:
        for i, row in enumerate(x):
            K[i] = [distance.f(row, other) for other in y]
        return K
    if distance.f is not None:
        f = distance.address
        run(lambda rows: pairwise(f, x[rows], y, K[rows]), parts, n_jobs=n_jobs)
    elif distance.euclidean and safe(x) and safe(y):
        x_sq, y_sq = (np.einsum("ij,ij->i", a, a) for a in (x, y))

        def part(rows: slice) -> None:
            np.matmul(x[rows], y.T, out=K[rows])
            mend_close(x[rows], y, x_sq[rows], y_sq, K[rows])

        run(part, parts, n_jobs=n_jobs)
    else:
        points = grow_tree(y, distance, "brute").points
        rest = points, BLOCK
        run(
            lambda rows: norm_matrix(distance.code, distance.p, x[rows], *rest, K[rows]),
            parts,
            n_jobs=n_jobs,
        )
    return K if reduced else distance.finish(K)


def safe(X: Array) -> bool:
    """Whether no square overflows or vanishes."""
    most = np.abs(X).max(initial=0.0)
    return bool(1e-100 < most < 1e100)


def stored_matrix(X: Any, Y: Any, K: Array) -> None:
    """Squared distances between CSR rows."""
    X, Y = (a.astype(np.float64).sorted_indices() for a in (X.tocsr(), Y.tocsr()))
    x_sq, y_sq = (np.asarray(a.multiply(a).sum(axis=1), dtype=float).ravel() for a in (X, Y))
    stored = [a.astype(np.int64) for a in (X.indptr, X.indices)] + [X.data]
    stored += [a.astype(np.int64) for a in (Y.indptr, Y.indices)] + [Y.data]

    def part(rows: slice) -> None:
        K[rows] = (X[rows] @ Y.T).toarray()
        mend_close_stored(*stored, rows.start, x_sq, y_sq, K[rows])

    run(part, split(X.shape[0], 4 * n_threads() if K.size > SMALL else 1))
