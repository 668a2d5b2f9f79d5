r"""Prediction of boosted trees: all tests of a tree at once (goes on from `_hist_grow.py`)

Walking down a tree is a chain of loads, each waiting for the one before. For trees of up to 64
leaves there is another way. Number the leaves from left to right and keep one bit for each, all
set at first. A test that sends a row right rules out the leaves of its left subtree:

    b ← b AND mask_t      for every test t that x fails                                      (10)

The lowest bit that is left is the row's leaf, whatever the order of the tests. So every test of
the tree is made, for 256 rows side by side, without any branch: the rows fill vector registers, and
a test costs less than a step of a walk although there are five times as many. Few rows fill a part
of the registers and leave out the others.

To fill them well, everything is a byte. Rows are binned by the thresholds that occur in the model
(`_binning.py`), and b is kept as bytes of eight leaves each; most masks change only one of them.
Four trees of a class are added to its scores at a time: a score is loaded and stored once for them.

Eight rows or fewer, and those of trees with more leaves, walk.

Lucchese et al., QuickScorer (2015); Ye et al., RapidScorer (2018).
"""

from typing import NamedTuple

import numpy as np

from mlreplica.core.jit import kernel
from mlreplica.core.parallel import n_threads, run, split
from mlreplica.core.scalars import bits, smaller

from ._binning import CODES, LANES, bins_of, rank

LEAVES = 64  # the most of a tree whose tests are made at once
BYTES = LEAVES // 8
ALL = np.uint8(255)
FEW = 8  # rows: as many as these walk
VECTOR = 32  # bytes: the rows that are there are rounded up to it
GROUP = 4  # trees that are added to the scores together


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
    """The tests of all trees, for (10): one for every byte of b that a test changes."""

    edges: np.ndarray  # of `Bins`, and so on
    low: np.ndarray
    scale: np.ndarray
    earlier: np.ndarray
    half: np.ndarray
    used: np.ndarray  # columns that are tested
    column: np.ndarray
    least: np.ndarray  # uint8: codes from `least` to `most` go left
    most: np.ndarray
    table: np.ndarray  # or those that a table says
    mask: np.ndarray  # uint8
    start: np.ndarray  # first test of byte q of tree t, at 8t + q
    leaves: np.ndarray  # (trees, 64) values: class after class, empty trees fill the last groups


def forest_of(trees):
    """The `Forest` of a list of `HistTree`."""
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
    return Forest(
        join("column", np.int64),
        join("threshold", np.float64),
        left,
        join("missing_left", np.int64),
        join("value", np.float64),
        table,
        np.concatenate([t.tables for t in trees] + [np.zeros((1, 256), np.uint8)]),
        start.astype(np.int64),
    )


def masks_of(forest, K):
    """The `Masks` of a `Forest` with K trees a round; None if one has more than 64 leaves."""
    leaves_of = np.add.reduceat(forest.column < 0, forest.start[:-1], dtype=np.int64)
    if leaves_of.max() > LEAVES:
        return None
    mask, first = leaf_masks(forest)
    tree, ends = np.arange(len(leaves_of)), forest.column < 0
    each = -(-len(tree) // (GROUP * K)) * GROUP  # trees of a class, rounded up to groups
    tree = np.repeat(tree % K * each + tree // K, np.diff(forest.start))  # of every node
    leaves = np.zeros((K * each, LEAVES))
    leaves[tree[ends], first[ends]] = forest.value[ends]
    used = np.unique(forest.column[forest.column >= 0])
    columns, code = [np.empty(0)] * (max(used, default=-1) + 1), np.zeros(len(mask), np.int64)
    for j in used:
        at = forest.column == j
        numbers = forest.table[at][0] < 0
        columns[j] = np.unique(forest.threshold[at]) if numbers else np.arange(CODES - 2) + 0.5
        code[at] = np.searchsorted(columns[j], forest.threshold[at]) + 1
    changed = mask[:, None] >> 8 * np.arange(BYTES) & 255
    node, byte = np.nonzero(changed != ALL)
    place = BYTES * tree[node] + byte
    order = np.argsort(place, kind="stable")
    node, byte = node[order], byte[order]
    return Masks(
        *bins_of(columns)[:5],
        used,
        forest.column[node],
        (1 - forest.missing_left[node]).astype(np.uint8),
        code[node].astype(np.uint8),
        forest.table[node],
        changed[node, byte].astype(np.uint8),
        np.searchsorted(place[order], np.arange(BYTES * len(leaves) + 1)),
        leaves,
    )


def leaf_masks(forest):
    """All bits but those of the leaves in its left subtree, for every node; numbers of leaves."""
    column, left = forest.column, forest.left
    levels, nodes = [], forest.start[:-1]
    while len(nodes):
        levels.append(nodes[column[nodes] >= 0])
        nodes = np.concatenate([left[levels[-1]], left[levels[-1]] + 1])
    count, first = np.ones(len(column), np.int64), np.zeros(len(column), np.int64)
    for inner in reversed(levels):
        count[inner] = count[left[inner]] + count[left[inner] + 1]
    for inner in levels:
        first[left[inner]] = first[inner]
        first[left[inner] + 1] = first[inner] + count[left[inner]]
    below = count[left] * (column >= 0)  # leaves of the left subtree
    return ~(((np.int64(1) << below) - 1) << first), first


@kernel(part=True, borrow=True)
def code_of(x):
    """The code of a category that is kept as a number; 0 if it is missing."""
    return np.int64(x) + 1 if 0.0 <= x <= 254.0 else 0


@kernel(borrow=True)
def walk(X, column, threshold, left, missing_left, value, table, tables, start, out):
    """Add all trees to out (n, K); tree t belongs to column t mod K."""
    n, K = out.shape
    for t in range(len(start) - 1):
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


def room(p, K, n):
    """What `test_all` works in; as wide as the rows that it takes side by side."""
    width = min(LANES, -(-n // VECTOR) * VECTOR)
    return (
        # rows of x are no power of two apart, or all would fall into the same lines of the cache
        np.zeros((p, width + 8)),
        np.empty(width, np.int32),
        np.empty((p, width), np.uint8),
        np.empty((BYTES, width), np.uint8),
        np.empty((GROUP, width), np.uint8),
        np.empty((K, width)),
    )


@kernel(borrow=True)
def test_all(
    X, edges, low, scale, earlier, half, used, column, least, most, table, mask, start, leaves,
    tables, x, k, c, b, leaf, total, out,
):  # fmt: skip
    """(10) for all trees, as many rows at a time as there is room for, added to out (n, K)."""
    n, p = X.shape
    K, width = total.shape
    each = len(leaves) // K
    for first in range(0, n, width):
        m = smaller(width, n - first)
        for i in range(m):
            for j in range(p):
                x[j, i] = X[first + i, j]
        for j in used:
            rank(x[j], edges[j], low[j], scale[j], earlier[j], half[j], k, c[j])
        for q in range(K):
            for i in range(width):
                total[q, i] = 0.0
        for group in range(0, len(leaves), GROUP):
            for t in range(group, group + GROUP):
                words = 1 if start[BYTES * t + 4] == start[BYTES * (t + 1)] else 2
                for q in range(4 * words):
                    b_q = b[q]
                    for i in range(width):
                        b_q[i] = ALL
                    for s in range(start[BYTES * t + q], start[BYTES * t + q + 1]):
                        strike(b_q, c[column[s]], least[s], most[s], table[s], tables, mask[s])
                lowest_bits(b, words, leaf[t - group])
            row, v = total[group // each], leaves[group : group + GROUP]
            for i in range(width):
                two = row[i] + v[0, leaf[0, i]] + v[1, leaf[1, i]]
                row[i] = two + v[2, leaf[2, i]] + v[3, leaf[3, i]]
        for i in range(m):
            for q in range(K):
                out[first + i, q] += total[q, i]


@kernel(part=True, borrow=True)
def strike(b, c, least, most, table, tables, mask):
    """(10) of one test, on a byte of b of all rows."""
    if table < 0:
        span = np.uint8(most - least)
        for i in range(len(b)):
            b[i] &= ALL if np.uint8(c[i] - least) <= span else mask
    else:
        for i in range(len(b)):
            b[i] &= ALL if tables[table, c[i]] else mask


@kernel(part=True, borrow=True)
def lowest_bits(b, words, leaf):
    """The place of the lowest bit of b in every lane: the exponent of a power of two."""
    for h in range(words - 1, -1, -1):
        for i in range(len(leaf)):
            w = np.uint32(b[4 * h, i]) | np.uint32(b[4 * h + 1, i]) << np.uint32(8)
            w |= np.uint32(b[4 * h + 2, i]) << np.uint32(16)
            w |= np.uint32(b[4 * h + 3, i]) << np.uint32(24)
            lowest = np.float32(np.int32(w & (~w + np.uint32(1))))
            place = (bits(lowest) >> 23 & 255) - 127
            leaf[i] = 32 * h + place if w != 0 or h == words - 1 else leaf[i]


def add_trees(X, forest, masks, out):
    """out (n, K) ← out + all trees; without masks, walking."""
    if len(X) <= FEW:
        walk(X, *forest, out)
    elif masks is None:
        parts = split(len(X), n_threads(), least=256)
        run(lambda rows: walk(X[rows], *forest, out[rows]), parts)
    else:
        given = *masks, forest.tables

        def test(rows):
            space = room(X.shape[1], out.shape[1], rows.stop - rows.start)
            test_all(X[rows], *given, *space, out[rows])

        run(test, split(len(X), n_threads(), least=4 * LANES))
