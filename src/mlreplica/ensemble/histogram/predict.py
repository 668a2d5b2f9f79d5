r"""Prediction of boosted trees: all tests of a tree at once (goes on from `grow.py`)

Walking down a tree is a chain of loads, each waiting for the one before. For trees of up to 64
leaves there is another way. Number the leaves from left to right and keep one bit for each, all
set at first. A test that sends a row right rules out the leaves of its left subtree:

    b ← b AND mask_t      for every test t that x fails                                      (10)

The lowest bit that is left is the row's leaf, whatever the order of the tests. So every test of
the tree is made, for many rows side by side and without any branch. The rows fill vector registers,
and a test costs less than a step of a walk although there are five times as many. Few rows fill a
part of the registers and leave out the others.

To fill them well, everything is a byte. Rows are binned by the thresholds that occur in the model
(`binning.py`), and b is kept as bytes of eight leaves each; most masks change only one of them.
Codes are kept twice, with a missing value as the least and as the greatest of all, so that a test
is one comparison wherever it sends such a row. Two tests are made at a time and four trees of a
class added to its scores: b, or the score, is loaded and stored once for them.

Eight rows or fewer, and those of trees with more leaves, walk. So do the rows that a fit scores
after each round, on the codes of its own bins.

Lucchese et al., QuickScorer (2015); Ye et al., RapidScorer (2018).
"""

from typing import NamedTuple

import numpy as np

from mlreplica.core.compile.intrinsics import bit_and, bit_or, choose, lowest_bit, smaller
from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import n_threads, run, split

from .binning import CODES, LANES, bins_of, rank

LEAVES = 64  # the most of a tree whose tests are made at once
BYTES = LEAVES // 8
NONE, ALL = np.uint8(0), np.uint8(255)
FEW = 8  # rows: as many as these walk
VECTOR = 32  # bytes: the rows that are there are rounded up to it
WIDEST = 1024  # rows that are tested side by side: the more, the less a test costs besides them;
CACHED = 1 << 16  # but their codes, of both kinds, stay in a cache
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
        """How many leaves the tree has."""
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
    kept: np.ndarray  # which codes are tested: 2·column, and 1 more if a missing one goes right
    most: np.ndarray  # uint8: codes up to it go left
    table: np.ndarray  # or those that a table says
    mask: np.ndarray  # uint8
    start: np.ndarray  # first test of byte q of tree t, at 8t + q
    words: np.ndarray  # 32 leaves each, of every tree
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
    place, words = tree % K * each + tree // K, np.ones(K * each, np.int64)
    words[place] += leaves_of > LEAVES // 2
    tree = np.repeat(place, np.diff(forest.start))  # of every node
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
    by_table = forest.table[node] >= 0
    right = np.where(by_table, 0, 1 - forest.missing_left[node])  # a missing value goes right
    return Masks(
        *bins_of(columns)[:5],
        used,
        2 * forest.column[node] + right,
        np.where(by_table, 0, code[node] - right).astype(np.uint8),
        forest.table[node],
        changed[node, byte].astype(np.uint8),
        np.searchsorted(place[order], np.arange(BYTES * len(leaves) + 1)),
        words,
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


@kernel(borrow=True)
def walk_codes(codes, at, step, code, left, missing_left, table, tables, value, start, out):
    """Add trees to out (n, K), from codes; tree t belongs to column t mod K.

    A node tests codes[at + i·step] of row i; the step of a leaf is 0.
    """
    n, K = out.shape
    for t in range(len(start) - 1):
        for i in range(n):
            node = start[t]
            while step[node] > 0:
                c = np.int64(codes[at[node] + i * step[node]])
                if table[node] >= 0:
                    goes = np.int64(tables[table[node], c])
                else:
                    goes = np.int64(c <= code[node]) if c > 0 else missing_left[node]
                node = left[node] + 1 - goes
            out[i, t % K] += value[node]


def room(p, K, n):
    """What `test_all` works in; as wide as the rows that it takes side by side."""
    width = min(-(-n // VECTOR) * VECTOR, WIDEST, max(LANES, CACHED // p // VECTOR * VECTOR))
    return (
        # rows of x are no power of two apart, or all would fall into the same lines of the cache
        np.zeros((p, min(width, LANES) + 8)),
        np.empty(min(width, LANES), np.int32),
        np.empty((2 * p + 2, width), np.uint8),
        np.empty((BYTES, width), np.uint8),
        np.empty((GROUP, width), np.uint8),
        np.empty((K, width)),
    )


@kernel(borrow=True)
def test_all(
    X, edges, low, scale, earlier, half, used, kept, most, table, mask, start, words, leaves,
    tables, x, k, c, b, leaf, total, out,
):  # fmt: skip
    """(10) for all trees, as many rows at a time as there is room for, added to out (n, K)."""
    n, p = X.shape
    K, width = total.shape
    each = len(leaves) // K
    for first in range(0, n, width):
        m = smaller(width, n - first)
        for at in range(0, m, LANES):
            for i in range(smaller(LANES, m - at)):
                for j in range(p):
                    x[j, i] = X[first + at + i, j]
            for j in used:
                codes, less = c[2 * j, at : at + LANES], c[2 * j + 1, at : at + LANES]
                rank(x[j], edges[j], low[j], scale[j], earlier[j], half[j], k, codes)
                for i in range(len(codes)):
                    less[i] = np.uint8((np.int64(codes[i]) - 1) & 255)  # 255 if it is missing
        for q in range(K):
            for i in range(width):
                total[q, i] = 0.0
        for group in range(0, len(leaves), GROUP):
            for t in range(group, group + GROUP):
                for q in range(4 * words[t]):
                    b_q = b[q]
                    for i in range(width):
                        b_q[i] = ALL
                    stop = start[BYTES * t + q + 1]
                    for s in range(start[BYTES * t + q], stop, 2):
                        r = smaller(s + 1, stop - 1)  # a test without another is made twice
                        c_s = c[tested(c, kept[s], table[s], tables, 2 * p)]
                        c_r = c[tested(c, kept[r], table[r], tables, 2 * p + 1)]
                        strike(b_q, c_s, most[s], mask[s], c_r, most[r], mask[r])
                lowest_bits(b, words[t], leaf[t - group])
            row, v = total[group // each], leaves[group : group + GROUP]
            for i in range(width):
                two = row[i] + v[0, leaf[0, i]] + v[1, leaf[1, i]]
                row[i] = two + v[2, leaf[2, i]] + v[3, leaf[3, i]]
        for i in range(m):
            for q in range(K):
                out[first + i, q] += total[q, i]


@kernel(part=True, borrow=True)
def tested(c, kept, table, tables, spare):
    """Which row of c a test looks at; what a table says is written down there first."""
    if table < 0:
        return kept
    for i in range(c.shape[1]):
        c[spare, i] = np.uint8(1 - tables[table, c[kept, i]])
    return spare


@kernel(part=True, borrow=True)
def strike(b, c_s, most_s, mask_s, c_r, most_r, mask_r):
    """(10) of two tests, on a byte of b of all rows."""
    for i in range(len(b)):
        after_s = choose(c_s[i] <= most_s, ALL, mask_s)
        after_r = choose(c_r[i] <= most_r, ALL, mask_r)
        b[i] = bit_and(b[i], bit_and(after_s, after_r))


@kernel(part=True, borrow=True)
def lowest_bits(b, words, leaf):
    """The place of the lowest bit of b in every lane; only bytes, of which a register has most."""
    b0, b1, b2, b3, b4, b5, b6, b7 = b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]
    if words > 1:  # the second four take the place of the first, where these have no bit
        for i in range(len(leaf)):
            none = bit_or(bit_or(b0[i], b1[i]), bit_or(b2[i], b3[i])) == NONE
            b0[i], b1[i] = choose(none, b4[i], b0[i]), choose(none, b5[i], b1[i])
            b2[i], b3[i] = choose(none, b6[i], b2[i]), choose(none, b7[i], b3[i])
            b4[i] = choose(none, np.uint8(32), NONE)
    for i in range(len(leaf)):
        byte, place = b3[i], np.uint8(24)
        byte, place = choose(b2[i] == NONE, byte, b2[i]), choose(b2[i] == NONE, place, np.uint8(16))
        byte, place = choose(b1[i] == NONE, byte, b1[i]), choose(b1[i] == NONE, place, np.uint8(8))
        byte, place = choose(b0[i] == NONE, byte, b0[i]), choose(b0[i] == NONE, place, NONE)
        bit = lowest_bit(byte)
        one = choose(bit_and(bit, np.uint8(0b10101010)) == NONE, NONE, np.uint8(1))
        two = choose(bit_and(bit, np.uint8(0b11001100)) == NONE, NONE, np.uint8(2))
        four = choose(bit_and(bit, np.uint8(0b11110000)) == NONE, NONE, np.uint8(4))
        leaf[i] = bit_or(bit_or(place, one), bit_or(two, four))
    if words > 1:
        for i in range(len(leaf)):
            leaf[i] = bit_or(leaf[i], b4[i])


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

        if len(X) < 2 * WIDEST:
            test(slice(0, len(X)))
        else:
            run(test, split(len(X), n_threads(), least=WIDEST))


def add_coded(codes, trees, out):
    """out (n, K) ← out + trees of a fit, for rows with the codes of its bins."""
    forest, code = forest_of(trees), np.concatenate([tree.code for tree in trees], dtype=np.int64)
    first, wide, shift = codes.place[forest.column].T
    at, step = 4 * first + shift // 8, np.where(forest.column < 0, 0, 4 * wide)
    given = (
        code, forest.left, forest.missing_left, forest.table, forest.tables, forest.value,
        forest.start,
    )  # fmt: skip
    words = codes.words.view(np.uint8)

    def part(rows):
        walk_codes(words, at + rows.start * step, step, *given, out[rows])

    run(part, split(len(out), n_threads(), least=LANES))
