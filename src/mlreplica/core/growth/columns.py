"""Columns: X sorted once, for all the trees that will be grown on it

A threshold only asks which rows come before it in the order of a column, so a tree needs no number
of X but their order. `columns(X)` finds it once; every tree of an ensemble, and every round of
boosting, reads the same arrays:

    columns.X        (p, n) float64: one column of X after the other; NaN where a value is missing
    columns.keys     (p, n) int64: rank << 32 | row, in ascending order of the column
    columns.ranks    (p, n) int32: rank of the value of every row, by row
    columns.levels   (p,) int64: how many distinct values; also the rank of a missing value

Ranks are dense: equal values have one rank, the least has rank 0. Sorting is by digits (radix sort)
of the ordered bits of the numbers: three passes of 11 bits put the highest 31 bits and the row in
one integer in order, O(n); what still collides is put right by insertion.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mlreplica.core.compile.intrinsics import LARGEST_INT64, bits
from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import n_threads, run, split

DIGIT = 11
ROW = np.int64(0xFFFFFFFF)  # the bits of a key that hold the row
RANK = np.int64(32)  # and how far above them the rank stands
BLOCK = 64  # rows that are turned to columns at a time
FEW = 1024  # rows that are not worth a kernel


class Columns:
    """The columns of X in order, computed when first asked for.

    Parameters
    ----------
    X : ndarray (n, p) of floats
        Missing values are NaN; infinity is not allowed.
    categorical : ndarray (p,) of bool, optional
        Columns whose values are names, not sizes: 0, 1, … with none left out.
    n_jobs : int, optional
        Threads that sort.
    """

    def __init__(self, X: Any, categorical: Any = None, n_jobs: int | None = None) -> None:
        self.n, self.p = X.shape
        self.n_jobs = n_jobs
        self.X = turned(X, n_jobs)
        self.categorical = np.zeros(self.p, bool) if categorical is None else categorical
        self.levels = np.zeros(self.p, np.int64)
        self.spare: list[Any] = []  # memory for the keys of nodes, one a thread

    @functools.cached_property
    def keys(self) -> Any:
        keys = np.empty((self.p, self.n), np.int64)
        if self.n <= FEW:
            for f, order in enumerate(np.argsort(self.X, axis=1, kind="stable")):
                self.levels[f] = rank_sorted(self.X[f], order, keys[f])
            return keys

        def sort(part: slice) -> None:
            memory = np.empty((2, self.n), np.int64), np.empty((3, 1 << DIGIT), np.int64)
            done = np.empty(len(keys[part]), np.bool_)
            sort_columns(self.X[part], keys[part], self.levels[part], *memory, done)
            for f in np.arange(self.p)[part][~done]:
                order = np.argsort(self.X[f], kind="stable")
                self.levels[f] = rank_sorted(self.X[f], order, keys[f])

        run(sort, self._parts(1 << 14), n_jobs=self.n_jobs)
        return keys

    @functools.cached_property
    def ranks(self) -> Any:
        ranks, keys = np.empty((self.p, self.n), np.int32), self.keys
        parts = self._parts(1 << 16)

        def scatter(part: slice) -> None:
            for rank, key in zip(ranks[part], keys[part], strict=True):
                rank[key & ROW] = key >> RANK

        run(scatter, parts, n_jobs=self.n_jobs)
        return ranks

    @functools.cached_property
    def missing(self) -> Any:
        """Whether a column has missing values, (p,) uint8: they are last in its order."""
        last = (self.keys[:, -1] & ROW).astype(np.intp)
        return np.isnan(self.X[np.arange(self.p), last]).view(np.uint8)

    @functools.cached_property
    def n_categories(self) -> Any:
        """How many categories a column has, (p,) int64: 0 if its values are numbers."""
        most = np.where(np.isnan(self.X[self.categorical]), -1.0, self.X[self.categorical])
        levels = np.zeros(self.p, np.int64)
        levels[self.categorical] = most.max(axis=1) + 1.0
        return np.maximum(levels, self.categorical)

    def buffers(self, needed: bool) -> Any:
        """(2, p, n + 1) int64: keys of nodes at even and odd depths, for one tree at a time."""
        if not needed:
            return np.empty((2, self.p, 0), np.int64)
        try:
            return self.spare.pop()
        except IndexError:
            return np.empty((2, self.p, self.n + 1), np.int64)

    def give_back(self, buffers: Any) -> None:
        """Keep memory for the next tree."""
        if buffers.shape[2]:
            self.spare.append(buffers)

    def _parts(self, least: int) -> list[slice]:
        return split(self.p, n_threads(self.n_jobs), least=1 + least // self.n)


def turned(X: Any, n_jobs: int | None) -> Any:
    """Xᵀ in C order as float64, on threads."""
    if X.dtype == np.float64 and X.flags.f_contiguous:
        return X.T
    n, p = X.shape
    out = np.empty((p, n))

    def turn(rows: slice) -> None:
        for i in range(rows.start, rows.stop, BLOCK):
            block = slice(i, min(i + BLOCK, rows.stop))
            out[:, block] = X[block].T

    if X.size < 1 << 15:
        out[:] = X.T
    else:
        run(turn, split(n, n_threads(n_jobs), least=1 + (1 << 16) // p), n_jobs=n_jobs)
    return out


@kernel(part=True, borrow=True)
def scatter(a: Any, b: Any, m: int, shift: Any, mask: Any, count: Any) -> None:
    """b[:m] = a[:m], stably in the order of the digit at `shift`; count: how often each occurs."""
    total = 0
    for k in range(mask + 1):
        c = count[k]
        count[k] = total
        total += c
    for i in range(m):
        k = (a[i] >> shift) & mask
        b[count[k]] = a[i]
        count[k] += 1


@kernel(fastmath=frozenset(), borrow=True)  # x + 0.0 must not be taken for x
def sort_columns(X: Any, keys: Any, levels: Any, spare: Any, count: Any, done: Any) -> None:
    """Fill keys, levels and done: False for a column that numbers close together make slow."""
    p, n = X.shape
    a, b = spare[0], spare[1]
    mask = (1 << DIGIT) - 1
    for f in range(p):
        x = X[f]
        for k in range(count.shape[1]):
            count[0, k] = count[1, k] = count[2, k] = 0
        for i in range(n):
            v = bits(x[i] + 0.0)  # −0 is 0
            high = ((v ^ ((v >> 63) & LARGEST_INT64)) >> 33) + (1 << 30)
            if x[i] != x[i]:
                high = (1 << 31) - 1
            a[i] = (high << RANK) | i
            count[0, high & mask] += 1
            count[1, (high >> DIGIT) & mask] += 1
            count[2, high >> (2 * DIGIT)] += 1
        for digit in range(3):
            shift = RANK + digit * DIGIT
            if count[digit, (a[0] >> shift) & mask] == n:  # the same digit in all
                continue
            scatter(a, b, n, shift, mask, count[digit])
            a, b = b, a
        moves = 8 * n
        for i in range(1, n):  # insertion among those with the same highest 31 bits
            key = a[i]
            v, j = x[key & ROW], i - 1
            while j >= 0 and a[j] >> RANK == key >> RANK and x[a[j] & ROW] > v and moves > 0:
                a[j + 1] = a[j]
                j, moves = j - 1, moves - 1
            a[j + 1] = key
        done[f] = moves > 0
        if moves == 0:
            continue
        rank, row = 0, a[0] & ROW
        keys[f, 0] = row
        for i in range(1, n):
            other = a[i] & ROW
            if a[i] >> RANK != a[i - 1] >> RANK or x[other] > x[row]:
                rank += 1
            row = other
            keys[f, i] = (rank << RANK) | row
        levels[f] = rank + (x[row] == x[row])


def rank_sorted(x: Any, order: Any, keys: Any) -> Any:
    """The keys of a column whose rows are already in order; returns its levels."""
    v = x[order]
    rank = np.zeros(len(v), np.int64)
    np.cumsum((v[1:] != v[:-1]) & ~np.isnan(v[:-1]), out=rank[1:])
    keys[:] = (rank << RANK) | order
    return rank[-1] + (not np.isnan(v[-1]))
