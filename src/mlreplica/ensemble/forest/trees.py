r"""Trees of a forest: the grower for the plain case, made for deep trees and few columns a node

A forest's tree is deep, and most of its nodes are small, so what it waits for is memory. Here

    targets and weights     move with their rows when a node is split: a node reads them in a line;
                            a class and its weight, drawn so many times, are one byte of a key
    ranks and values        are read by columns in large nodes, where neighbours lie side by side,
                            and by rows in small ones, whose few rows then stay in the cache for all
                            their descendants (depth first) whatever columns those draw
    splits                  are looked for without sorting all keys (`splits.py`)
    small trees             grow one after the other in one call: to make it takes as long as one

The trees and their draws are those of `core/growth/grow.py`, which grows all others: with missing
values, several targets, entropy, constraints, or the best leaves first.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from mlreplica.core.compile.jit import kernel
from mlreplica.core.formulas.draws import (
    begin_draws,
    draw_column,
    keep_constants,
    put_column,
)
from mlreplica.core.growth.partition import middle
from mlreplica.core.growth.splits import EPSILON, GINI, SQUARED, impurity, lean
from mlreplica.core.growth.tree import Tree

from .splits import (
    BUCKETS,
    LANES,
    LOADS,
    U,
    gather,
    try_best,
    try_random,
)

FEATURE, LEFT, RIGHT, ROWS, MISSING_LEFT = range(5)  # whole numbers of a node
THRESHOLD, WEIGHT, IMPURITY = range(3)  # its other numbers, before the weights of classes or a sum
LO, HI, DEPTH, CONSTANT, PARENT, SIDE = range(6)  # what waits on the stack


class Data(NamedTuple):
    """X and the ranks of its values, by columns and by rows."""

    X: Any  # (p, n)
    X_rows: Any  # (n, p) for random thresholds
    ranks: Any  # (p, n) for the best
    ranks_rows: Any  # (n, p)


class Given(NamedTuple):
    """Rows in the order of the nodes, with what is theirs."""

    rows: Any  # uint32
    load: Any  # classes: weight << class_bits | class, uint8
    w: Any  # regression: weights
    y: Any  # and targets


class Limits(NamedTuple):
    """What to search, and when to stop."""

    classes: int  # 0: regression
    class_bits: int
    random: bool
    max_features: int
    max_depth: int
    min_split: int
    min_leaf: int
    min_share: float  # of a child, of the weight of all rows
    min_gain: float


class Work(NamedTuple):
    """Memory of one tree's growth."""

    weight: Any  # (2,): of all rows, and the least of a child
    features: Any
    constant: Any
    drawing: Any  # how far the draws of columns have come
    state: Any  # of the random numbers
    best: Any
    L: Any
    R: Any
    ranks: Any
    loaded: Any  # two rows of keys rank << 8 | load, uint32
    placed: Any  # two rows of keys rank << 32 | place, uint64
    x: Any
    count: Any
    buckets: Any  # int64
    open: Any  # of each bucket, uint8: whether the best split may be in it
    cells: Any  # float64: the weight of a class in a rank


@lean
def partition(x: Any, threshold: float, given: Any, spare: Any) -> int:
    """Rows with x ≤ threshold to the front, with all that is theirs; return how many."""
    a, b = U(0), U(0)
    rows, load, w, y = given.rows, given.load, given.w, given.y
    if len(load):
        for i in range(len(x)):
            left, row, one = U(x[i] <= threshold), rows[i], load[i]
            rows[a], load[a] = row, one
            spare.rows[b], spare.load[b] = row, one
            a += left
            b += U(1) - left
    else:
        for i in range(len(x)):
            left, row, w_i, y_i = U(x[i] <= threshold), rows[i], w[i], y[i]
            rows[a], w[a], y[a] = row, w_i, y_i
            spare.rows[b], spare.w[b], spare.y[b] = row, w_i, y_i
            a += left
            b += U(1) - left
    middle = np.int64(a)
    for i in range(len(x) - middle):
        rows[middle + i] = spare.rows[i]
    for i in range(middle, len(load)):
        load[i] = spare.load[i - middle]
    for i in range(middle, len(y)):
        w[i], y[i] = spare.w[i - middle], spare.y[i - middle]
    return middle


@lean
def settle(data: Any, f: int, low: int, high: int, rows: Any, ranks: Any, x: Any) -> Any:
    """x_i ← rank of row i in column f; the threshold between the values of two ranks."""
    gather(data.ranks, data.ranks_rows, f, rows, ranks)
    for i in range(len(rows)):
        x[i] = ranks[i]
    i, j, column = U(0), U(0), data.X[f]
    while ranks[i] != low:
        i += U(1)
    while ranks[j] != high:
        j += U(1)
    return middle(column[rows[i]], column[rows[j]])


@lean
def describe(given: Any, limits: Any, S: Any) -> Any:
    """Statistics S of a node; its weight and Σ w y²."""
    W, second, s = 0.0, 0.0, 0.0
    for c in range(len(S)):
        S[c] = 0.0
    if limits.classes:
        bits, mask = limits.class_bits, (1 << limits.class_bits) - 1
        if limits.classes == 2:
            both, ones = 0, 0
            for i in range(len(given.load)):
                one = np.int64(given.load[i])
                both += one >> 1
                ones += (one >> 1) & -(one & 1)
            S[0], S[1] = np.float64(both - ones), np.float64(ones)
        else:
            for i in range(len(given.load)):
                S[U(given.load[i] & mask)] += np.float64(given.load[i] >> bits)
        for c in range(len(S)):
            W += S[c]
    else:
        for i in range(len(given.y)):
            wy = given.w[i] * given.y[i]
            W += given.w[i]
            s += wy
            second += wy * given.y[i]
        S[0] = s
    return W, second


@lean
def begin(y: Any, w: Any, seed: int, whole: Any, limits: Any, work: Any) -> Any:
    """The rows with a weight, and what is theirs, at the front of `whole`: how many there are."""
    m, total, bits = U(0), 0.0, limits.class_bits
    for i in range(len(w)):
        whole.rows[m] = i
        if limits.classes:
            whole.load[m] = (np.int64(w[i]) << bits) | np.int64(y[i])
        else:
            whole.w[m], whole.y[m] = w[i], y[i]
        total += w[i]
        m += U(w[i] != 0.0)
    for j in range(len(work.features)):
        work.features[j], work.constant[j] = j, 0
    work.state[0] = seed
    work.weight[0], work.weight[1] = total, limits.min_share * total
    return np.int64(m)


@lean
def grow_one(
    data: Any, n: int, whole: Any, spare: Any, limits: Any, work: Any, node_i: Any, node_f: Any,
    stack: Any,
) -> Any:  # fmt: skip
    """Grow a tree of n rows depth first: how many nodes it has."""
    total, min_weight = work.weight[0], work.weight[1]
    features, drawing, best = work.features, work.drawing, work.best
    criterion = GINI if limits.classes else SQUARED
    stack[0, LO], stack[0, HI], stack[0, DEPTH] = 0, n, 0
    stack[0, CONSTANT], stack[0, PARENT], stack[0, SIDE] = 0, -1, 0
    waiting, born = 1, 0
    while waiting > 0:
        waiting -= 1
        lo, hi, depth = stack[waiting, LO], stack[waiting, HI], stack[waiting, DEPTH]
        known, parent, side = stack[waiting, CONSTANT], stack[waiting, PARENT], stack[waiting, SIDE]
        k = born
        born += 1
        if parent >= 0:
            node_i[parent, side] = k
        m, S, x, rows = hi - lo, node_f[k, 3:], work.x[: hi - lo], whole.rows[lo:hi]
        given = Given(rows, whole.load[lo:hi], whole.w[lo:hi], whole.y[lo:hi])
        W, second = describe(given, limits, S)
        node_i[k, FEATURE], node_i[k, LEFT], node_i[k, RIGHT], node_i[k, ROWS] = -2, -1, -1, m
        node_i[k, MISSING_LEFT] = 0
        node_f[k, WEIGHT], node_f[k, THRESHOLD] = W, -2.0
        node_f[k, IMPURITY] = impurity(criterion, S, W, second, 1)
        final = depth >= limits.max_depth or m < limits.min_split or m < 2 * limits.min_leaf
        if final or min_weight + min_weight > W or node_f[k, IMPURITY] <= EPSILON:
            continue

        best[0], best[1], feature, cut = -np.inf, 0.0, -1, 0.0
        low, high = 0, 0  # ranks that the best threshold is between
        begin_draws(drawing, known, len(features))
        while True:
            j = draw_column(features, drawing, limits.max_features, work.state)
            if j < 0:
                break
            f = features[j]
            threshold, a, b = 0.0, 0, 0
            if limits.random:
                gather(data.X, data.X_rows, f, rows, x)
                is_constant, better, threshold = try_random(x, given, S, W, limits, work)
            else:
                is_constant, better, a, b = try_best(data, f, given, S, W, limits, work)
            put_column(features, drawing, j, is_constant)
            if better:
                feature, cut, low, high = f, threshold, a, b
        known = keep_constants(features, work.constant, drawing)
        gain = W * node_f[k, IMPURITY] + best[0] if limits.classes else best[0] - S[0] * S[0] / W
        if feature < 0 or gain / total + EPSILON < limits.min_gain:
            continue
        node_i[k, FEATURE], node_f[k, THRESHOLD] = feature, cut
        if limits.random:
            gather(data.X, data.X_rows, feature, rows, x)
        else:
            node_f[k, THRESHOLD] = settle(data, feature, low, high, rows, work.ranks[:m], x)
            cut = np.float64(low)
        mid = lo + partition(x, cut, given, spare)
        node_i[k, MISSING_LEFT] = mid - lo > hi - mid
        for step in range(2):  # left comes next: on top
            right = step == 0
            stack[waiting, LO] = mid if right else lo
            stack[waiting, HI] = hi if right else mid
            stack[waiting, DEPTH], stack[waiting, CONSTANT] = depth + 1, known
            stack[waiting, PARENT], stack[waiting, SIDE] = k, RIGHT if right else LEFT
            waiting += 1
    return born


@kernel(fastmath=frozenset(), borrow=True)
def grow_plain(
    data: Any, y: Any, weights: Any, seeds: Any, whole: Any, spare: Any, limits: Any, work: Any,
    nodes: Any, stack: Any, starts: Any,
) -> None:  # fmt: skip
    """Grow a tree from every seed; nodes = (whole numbers, other numbers) of all, from `starts`."""
    node_i, node_f = nodes
    for t in range(len(seeds)):
        n = begin(y, weights[t], seeds[t], whole, limits, work)
        k = starts[t]
        starts[t + 1] = k + grow_one(
            data, n, whole, spare, limits, work, node_i[k:], node_f[k:], stack
        )


def plain_data(columns: Any, X: Any, random: bool) -> Data:
    """What all trees of a forest read."""
    ranks, X_rows = np.empty((0, 0), np.int32), np.empty((0, 0))
    if random:
        X_rows = np.ascontiguousarray(X, dtype=np.float64)
    else:
        ranks = columns.ranks
    return Data(columns.X, X_rows, ranks, np.ascontiguousarray(ranks.T))


def packable(weights: Any, n_classes: int, levels: Any) -> bool:
    """Whether every class with its weight fits a byte, and every rank the rest of a key."""
    bits, most = (n_classes - 1).bit_length(), 1.0 if weights is None else weights.max()
    whole = weights is None or bool((weights == np.floor(weights)).all())
    return whole and most * (1 << bits) + n_classes <= LOADS and int(levels.max()) < 1 << 24


def plain_trees(
    data: Data, y: Any, weights: Any, seeds: Any, n_classes: int, random: bool,
    min_share: float, options: Any,
) -> list[Tree]:  # fmt: skip
    """Grow one tree a seed.

    y: float64 numbers or classes; weights: (trees, n); options as those of `core.grow.grow`.
    """
    n, p, K = len(y), len(data.X), max(n_classes, 1)
    weights = np.ones((len(seeds), n)) if weights is None else weights
    max_depth = options["max_depth"]
    limits = Limits(
        n_classes,
        (K - 1).bit_length(),
        random,
        options["max_features"],
        np.iinfo(np.int64).max if max_depth is None else max_depth,
        options["min_samples_split"],
        options["min_samples_leaf"],
        float(min_share),
        float(options["min_impurity_decrease"]),
    )
    loads, numbers = (n, 0) if n_classes else (0, n)
    whole, spare = (
        Given(
            np.empty(n, np.uint32), np.empty(loads, np.uint8), np.empty(numbers), np.empty(numbers)
        )
        for _ in range(2)
    )
    sorting = 0 if random else n + LANES
    work = Work(
        np.empty(2), np.empty(p, np.int64), np.empty(p, np.int64), np.empty(5, np.int64),
        np.empty(1, np.int64), np.empty(2), np.empty(K), np.empty(K), np.empty(sorting, np.int32),
        np.empty((2, sorting if K > 1 else 0), np.uint32),
        np.empty((2, 0 if K > 1 else sorting), np.uint64), np.empty(n),
        np.empty(6 * 512, np.int64), np.empty(BUCKETS + 1, np.int64), np.empty(BUCKETS, np.uint8),
        np.empty(BUCKETS if K > 2 else 0),
    )  # fmt: skip
    most = 2 * n * len(seeds)  # memory is touched where there are nodes
    nodes = np.empty((most, 5), np.int64), np.empty((most, 3 + K))
    starts, stack = np.zeros(len(seeds) + 1, np.int64), np.empty((n + 2, 6), np.int64)
    grow_plain(data, y, weights, seeds, whole, spare, limits, work, nodes, stack, starts)
    node_i, node_f = (table[: starts[-1]] for table in nodes)
    feature, left, right, size, missing_left = np.ascontiguousarray(node_i.T)
    threshold, weight, impurity = np.ascontiguousarray(node_f[:, :3].T)
    value = (node_f[:, 3:] / weight[:, None]).reshape(-1, 1, K)
    fields = (
        left,
        right,
        feature,
        threshold,
        impurity,
        size,
        weight,
        missing_left.astype(np.uint8),
        value,
    )
    return [Tree(p, K, *(a[i:j] for a in fields)) for i, j in pairwise(starts)]
