r"""Prediction of boosted trees: all tests of a tree at once

Walking down a tree is a chain of loads, each waiting for the one before. For trees of up to 64
leaves there is another way. Number the leaves from left to right and keep one bit for each, all
set at first. A test that sends a row right rules out the leaves of its left subtree:

    b ← b AND mask_t      for every test t that x fails                                       (1)

The lowest bit that is left is the row's leaf, whatever the order of the tests. So every test of
the tree is made, for 64 rows side by side, without any branch: the rows fill vector registers, and
a test costs less than a step of a walk although there are five times as many.

One row, or a tree with more leaves, walks.

Lucchese et al., QuickScorer (2015).
"""

from typing import NamedTuple

import numpy as np

from mlreplica.core.jit import kernel
from mlreplica.core.parallel import n_threads, run, split

LANES = 64  # rows side by side, and the most leaves of a tree whose tests are made at once
FEW = 8  # rows: as many as these walk
UP, RIGHT_IF_MISSING, CATEGORY = range(3)  # kinds of tests


class HistTree(NamedTuple):
    """One tree; its right children stand behind the left ones."""

    column: np.ndarray  # int32, −1 for a leaf
    threshold: np.ndarray  # x ≤ threshold goes left
    code: np.ndarray  # uint8: the same for binned rows
    left: np.ndarray  # int32
    missing_left: np.ndarray  # uint8
    value: np.ndarray  # of a leaf, the learning rate included
    gain: np.ndarray
    count: np.ndarray  # rows of the training set
    depth: np.ndarray
    table: np.ndarray  # int32: which of the tables decides, −1 for a threshold
    tables: np.ndarray  # (·, 256) uint8: which codes go left

    @property
    def n_leaves(self):
        return int((self.column < 0).sum())


class Forest(NamedTuple):
    """All trees of a model behind each other, for walking; `start[t]` is the root of tree t."""

    column: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    missing_left: np.ndarray
    value: np.ndarray
    table: np.ndarray
    tables: np.ndarray
    start: np.ndarray


class Masks(NamedTuple):
    """The tests of all trees, for (1)."""

    column: np.ndarray
    threshold: np.ndarray
    kind: np.ndarray
    mask: np.ndarray
    table: np.ndarray
    start: np.ndarray  # first test of a tree
    leaves: np.ndarray  # (trees, 64) values


def forest_of(trees):
    """`Forest` and, if no tree has more than 64 leaves, `Masks` of a list of `HistTree`."""
    sizes = [len(tree.column) for tree in trees]
    start = np.concatenate([[0], np.cumsum(sizes)])
    first_table = np.concatenate([[0], np.cumsum([len(tree.tables) for tree in trees])])

    def join(name, dtype):
        return np.concatenate([getattr(tree, name) for tree in trees], dtype=dtype)

    left = np.concatenate([t.left + s for t, s in zip(trees, start, strict=False)], dtype=np.int64)
    table = np.concatenate(
        [np.where(t.table < 0, -1, t.table + s) for t, s in zip(trees, first_table, strict=False)],
        dtype=np.int64,
    )
    forest = Forest(
        join("column", np.int64),
        join("threshold", np.float64),
        left,
        join("missing_left", np.int64),
        join("value", np.float64),
        table,
        np.concatenate([t.tables for t in trees] + [np.zeros((1, 256), np.uint8)]),
        start.astype(np.int64),
    )
    if max(tree.n_leaves for tree in trees) > LANES:
        return forest, None
    inner = forest.column >= 0
    mask = np.full(len(inner), -1, dtype=np.int64)
    leaves = np.zeros((len(trees), LANES))
    leaf_masks(*forest, mask, leaves)
    kind = np.where(table >= 0, CATEGORY, np.where(forest.missing_left, UP, RIGHT_IF_MISSING))
    tests = np.concatenate([[0], np.cumsum(inner)])[forest.start]
    masks = Masks(
        forest.column[inner], forest.threshold[inner], kind[inner], mask[inner], table[inner],
        tests.astype(np.int64), leaves,
    )  # fmt: skip
    return forest, masks


@kernel
def leaf_masks(column, threshold, left, missing_left, value, table, tables, start, mask, leaves):
    """mask[node] ← all bits but those of the leaves in its left subtree; values of leaves."""
    for t in range(len(start) - 1):
        lo, hi = start[t], start[t + 1]
        count, first = np.ones(hi - lo, np.int64), np.zeros(hi - lo, np.int64)
        for i in range(hi - 1, lo - 1, -1):
            if column[i] >= 0:
                count[i - lo] = count[left[i] - lo] + count[left[i] + 1 - lo]
        for i in range(lo, hi):
            if column[i] < 0:
                leaves[t, first[i - lo]] = value[i]
                continue
            a = left[i] - lo
            first[a] = first[i - lo]
            first[a + 1] = first[i - lo] + count[a]
            mask[i] = ~(((np.int64(1) << count[a]) - 1) << first[a])


@kernel
def code_of(x):
    """The code of a category that is kept as a number; 0 if it is missing."""
    return np.int64(x) + 1 if 0.0 <= x <= 254.0 else 0


@kernel
def walk(X, column, threshold, left, missing_left, value, table, tables, start, first, out):
    """Add the trees first, first + 1 … to out (n, K); tree t belongs to column t mod K."""
    n, K = out.shape
    for t in range(first, len(start) - 1):
        for i in range(n):
            node = start[t]
            while column[node] >= 0:
                x = X[i, column[node]]
                if table[node] >= 0:
                    goes = np.int64(tables[table[node], code_of(x)])
                elif x == x:  # noqa: PLR0124
                    goes = np.int64(x <= threshold[node])
                else:
                    goes = missing_left[node]
                node = left[node] + 1 - goes
            out[i, t % K] += value[node]


@kernel
def test_all(X, column, threshold, kind, mask, table, start, leaves, tables, out):
    """(1) for all trees, 64 rows at a time, added to out (n, K)."""
    n, p = X.shape
    K = out.shape[1]
    x, b = np.zeros((p, LANES)), np.empty(LANES, np.int64)
    total = np.empty((K, LANES))
    for first in range(0, n, LANES):
        m = min(LANES, n - first)
        for i in range(m):
            for j in range(p):
                x[j, i] = X[first + i, j]
        total[:] = 0.0
        for t in range(len(start) - 1):
            for i in range(LANES):
                b[i] = -1
            for k in range(start[t], start[t + 1]):
                x_j, v, w = x[column[k]], threshold[k], mask[k]
                if kind[k] == UP:
                    for i in range(LANES):
                        b[i] &= w if x_j[i] > v else -1
                elif kind[k] == RIGHT_IF_MISSING:
                    for i in range(LANES):
                        b[i] &= -1 if x_j[i] <= v else w
                else:
                    goes = tables[table[k]]
                    for i in range(LANES):
                        b[i] &= -1 if goes[code_of(x_j[i])] else w
            row, values = total[t % K], leaves[t]
            for i in range(LANES):
                lowest = np.float64(np.uint64(b[i] & -b[i]))
                row[i] += values[(np.float64(lowest).view(np.int64) >> 52) - 1023]
        for i in range(m):
            for k in range(K):
                out[first + i, k] += total[k, i]


def add_trees(X, forest, masks, out, first=0):
    """out (n, K) ← out + all trees from `first` on."""
    if masks is None or first > 0 or len(X) <= FEW:
        if len(X) <= FEW:
            walk(X, *forest, first, out)
            return
        parts = split(len(X), n_threads(), least=256)
        run(lambda rows: walk(X[rows], *forest, first, out[rows]), parts)
        return
    parts = split(len(X), n_threads(), least=4 * LANES)
    run(lambda rows: test_all(X[rows], *masks, forest.tables, out[rows]), parts)
