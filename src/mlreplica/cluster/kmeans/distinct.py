r"""Distinct rows: what random starts are drawn from, so that a weight is a repetition

A row of weight 2 and the same row twice are the same data, and must lead to the same centres. So
rows are drawn among the distinct ones, each with the sum W of its weights: with u uniform in
[0, 1), row number

    min { i : W_1 + … + W_i > u (W_1 + W_2 + …) }

is drawn. If all W are equal, rows stand in the order of the data, and a seed draws what it draws in
scikit-learn. Otherwise they stand in an order of their contents, whatever order they came in: that
of a number of 64 bits that every row hashes to, for which the zeros of a row count nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import run, split
from mlreplica.core.rows.walk import steps

ODD = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB], np.uint64)
BLOCK = 1 << 14  # entries that are hashed together


def hash_entries(x: Any, column: Any) -> Any:
    """64 bits that depend on every bit of an entry and on its column (from 1 on); 0 for 0."""
    zero = x == 0.0  # and −0
    h = np.array(x, dtype=np.float64, order="C").view(np.uint64)
    h ^= column.astype(np.uint64) * ODD[0]
    for factor, bits in zip(ODD[1:], (32, 29), strict=True):
        h *= factor
        h ^= h >> np.uint64(bits)
    h[zero] = 0
    return h


def row_keys(X: Any) -> Any:
    """A number for each row, the sum of its hashed entries.

    Equal rows have the same; different ones share it by chance, once in 2⁶⁴ pairs.
    """
    n, p = X.shape
    if sp.issparse(X):
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        running = np.zeros(X.nnz + 1, np.uint64)
        np.cumsum(hash_entries(X.data, X.indices + 1), out=running[1:])
        return running[X.indptr[1:]] - running[X.indptr[:-1]]
    keys, columns = np.empty(n, np.uint64), np.arange(1, p + 1)

    def fill(rows: slice) -> None:
        for some in steps(rows, max(1, BLOCK // p)):
            hash_entries(X[some], columns).sum(axis=1, out=keys[some])

    run(fill, split(n, 32, least=max(1024, (1 << 17) // p)))
    return keys


def distinct_rows(X: Any, w: Any) -> Any:
    """Distinct rows of positive weight and their weights W, in the order of draws.

    None if all rows are distinct and weigh the same: they are drawn as they stand.
    """
    if w.min() == w.max() and not sp.issparse(X) and not has_ties(row_keys(X[:, :1])):
        return None  # the first column alone tells the rows apart
    keys = row_keys(X)
    if w.min() == w.max() and not has_ties(keys):
        return None
    rows = np.flatnonzero(w) if w.any() else np.arange(len(w))
    _, first, group = np.unique(keys[rows], return_index=True, return_inverse=True)
    W, rows = np.bincount(group, w[rows]), rows[first]
    if np.ptp(W) <= 1e-12 * W.max():
        order = np.argsort(rows)
        W, rows = W[order], rows[order]
    return rows, W


@kernel
def any_twice(words, table):
    """Whether a word stands twice; `table` has 2^m places, more than there are words, all 0."""
    last, zeros = len(table) - 1, 0
    for r in range(len(words)):
        word = words[r]
        if word == 0:  # marks a free place
            zeros += 1
            continue
        i = word & last
        while table[i] != 0:
            if table[i] == word:
                return True
            i = (i + 1) & last
        table[i] = word
    return zeros > 1


def has_ties(keys: Any) -> bool:
    """Whether two keys are equal, in a fifth of the time that sorting takes."""
    table = np.zeros(2 << len(keys).bit_length(), np.int64)
    return bool(any_twice(keys.view(np.int64), table))
