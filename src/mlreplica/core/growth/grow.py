r"""Grow: a tree by recursive partition of the rows (Breiman, Friedman, Olshen, Stone 1984)

    columns = Columns(X)                                   # once; shared by all trees, by threads
    tree, leaf = grow(columns, y, criterion="squared_error", max_depth=3)      # leaf of every row

y holds numbers, or classes 0, 1, … (with `n_classes`). `weight` 0 leaves a row out (its leaf is
−1); whole numbers stand for repetitions, as a bootstrap draws them. Same seed, same tree, whatever
the threads; the seed is used as scikit-learn uses it, so that its tree is ours even in a tie.

A node is a range of rows. Depth first, the node on top of the stack looks for its best split
(`core/growth/splits.py`), its rows are partitioned, its children go on the stack; with
`max_leaf_nodes` the node that gains most comes next. There are three ways to look:

    presorted   the keys of every column stay sorted within every node: a split partitions all p of
                them, stably and without a branch, and nothing is ever sorted again. O(p·m) a node
                of m rows. The root reads the shared keys, so boosting with stumps moves nothing.
    sorting     only the columns drawn are put in order: their ranks are gathered and sorted by
                digits. For forests, where few of many columns are drawn at a node.
    random      a threshold is drawn between the least and the largest value: nothing is sorted.

Columns of categories are searched in a way of their own (`core/growth/categories.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .columns import Columns
from .nodes import grow_nodes
from .splits import (
    ABSOLUTE,
    CRITERION,
    ENTROPY,
    FEATURE,
    GINI,
    HI,
    HIGH,
    IMPURITY,
    LEFT,
    LO,
    LOW,
    MAX_DEPTH,
    MAX_FEATURES,
    MAX_LEAVES,
    MIN_LEAF,
    MISSING_LEFT,
    OUTPUTS,
    PLACE,
    POISSON,
    SQUARED,
    THRESHOLD,
    WEIGHT,
)
from .tree import Tree

__all__ = ["CRITERIA", "Columns", "Tree", "grow"]

CRITERIA = {
    "gini": GINI,
    "entropy": ENTROPY,
    "log_loss": ENTROPY,
    "squared_error": SQUARED,
    "friedman_mse": SQUARED,
    "poisson": POISSON,
    "absolute_error": ABSOLUTE,
}
NOTHING = np.empty(0)
UNLIMITED = 1 << 40


def grow(
    columns: Columns,
    y: Any,
    weight: Any = None,
    *,
    criterion: str = "squared_error",
    n_classes: Any = None,
    splitter: str = "best",
    max_depth: int | None = None,
    min_samples_split: int = 2,
    min_samples_leaf: int = 1,
    min_weight_leaf: float = 0.0,
    max_features: int | None = None,
    max_leaf_nodes: int | None = None,
    min_impurity_decrease: float = 0.0,
    monotonic_cst: Any = None,
    seed: int = 1,
) -> tuple[Tree, Any]:
    """Grow one tree; return it and the leaf of every row (−1: of weight 0).

    Parameters
    ----------
    columns : Columns
        X, prepared once.
    y : ndarray (n,) or (n, outputs)
        float64 numbers, or classes 0 … K−1 of any integer type.
    weight : ndarray (n,), optional
        Not negative; 0 leaves a row out.
    criterion : str
        "gini", "entropy" ("log_loss"), "squared_error", "poisson" or "absolute_error".
    n_classes : int or list of int, optional
        Of every output; what makes it a classification tree.
    monotonic_cst : ndarray (p,) of int8, optional
        +1: the value (share of class 0 in classification) must grow with the column, −1: fall.
    seed : int
        0 … 2³¹ − 1: draws columns and random thresholds.
    """
    p = columns.p
    y = np.ascontiguousarray(y)
    outputs = 1 if y.ndim == 1 else y.shape[1]
    classes = np.atleast_1d(1 if n_classes is None else n_classes).astype(np.intp)
    K, y = int(classes.max()), y.ravel()
    kind = CRITERIA[criterion]
    codes = None if n_classes is None else y.astype(np.int32, copy=False)
    every = True if outputs > 1 or kind == POISSON else None
    if kind == GINI and K == 2 and outputs == 1:  # as a sum of zeros and ones
        codes = None
    elif n_classes is not None and monotonic_cst is not None:
        every = True
    targets = y.astype(np.float64, copy=False) if codes is None else None
    if kind == ABSOLUTE and columns.categorical.any():
        raise ValueError(
            "criterion='absolute_error' cannot split by categories; use 'squared_error' or "
            "'poisson', or one column for each category."
        )
    rows, w, total, table = weights(weight, columns.n, kind)
    limits = (
        kind,
        outputs,
        p if max_features is None else max_features,
        UNLIMITED if max_depth is None else max_depth,
        min_samples_split,
        min_samples_leaf,
        float(min_weight_leaf),
        -1 if max_leaf_nodes is None else max_leaf_nodes,
        float(min_impurity_decrease),
        total,
    )
    given = targets, codes, w, every
    best = splitter == "best"
    grown = fill_tables(columns, given, rows, limits, monotonic_cst, table, best, K, seed)
    node_i, node_f, node_v, sets = grown
    count = len(node_i)
    birth, left, right = number(node_i)
    node_i, node_f, value = (table.take(birth, axis=0) for table in (node_i, node_f, node_v))
    leaf = leaf_of_rows(node_i, left, rows, columns.n)
    if kind != ABSOLUTE:
        value /= node_f[:, WEIGHT, None]
    if monotonic_cst is not None:
        value[:, 0] = np.clip(value[:, 0], node_f[:, LOW], node_f[:, HIGH])
        if K == 2:
            value[:, 1] = 1.0 - value[:, 0]
    tree = Tree(
        p,
        classes if n_classes is not None else np.ones(outputs, np.intp),
        left,
        right,
        node_i[:, FEATURE].copy(),
        node_f[:, THRESHOLD].copy(),
        node_f[:, IMPURITY].copy(),
        node_i[:, HI] - node_i[:, LO],
        node_f[:, WEIGHT].copy(),
        (node_i[:, MISSING_LEFT] * (left >= 0)).astype(np.uint8),
        value.reshape(count, outputs, K),
        None if sets is None else sets[birth] * np.isnan(node_f[:, THRESHOLD, None]),
    )
    return tree, leaf


def fill_tables(
    columns: Columns, given: Any, rows: Any, limits: Any, signs: Any, table: Any, best: bool,
    K: int, seed: int,
) -> Any:  # fmt: skip
    """Grow the nodes: their tables as `nodes.py` has them, and their sets of categories."""
    p, n, m, outputs = columns.p, columns.n, len(rows), limits[OUTPUTS]
    width, most = outputs * K, most_nodes(m, limits)
    presorted, sorting = None, None
    few = 6 * limits[MAX_FEATURES] < p or n * p > 1 << 26  # columns drawn, or bytes to spare
    medians = order_of_targets(given[0], n, m, outputs) if limits[CRITERION] == ABSOLUTE else None
    if best and (medians is not None or not few):
        below = limits[MAX_DEPTH] > 1 or m < n  # then keys are parted
        presorted = columns.keys, columns.buffers(below)
    elif best:
        own = [
            None if t is None else np.empty(m * outputs if len(t) else 0, t.dtype)
            for t in given[:3]
        ]
        memory = np.empty(m, np.int64), np.empty(m, np.int64), np.empty(512, np.int64)
        sorting = columns.ranks, *memory, *own
    node = np.empty((most, 9), np.int64), np.empty((most, 6)), np.empty((most, width))
    features = np.arange(p), np.zeros(p, np.int64)
    statistics = np.zeros(2), np.empty(width), np.empty(width)
    work = *features, np.array([seed], np.int64), *statistics, np.empty(5, np.int64)
    count = grow_nodes(
        (columns.X, columns.levels, columns.missing if best else np.empty(0, np.uint8)),
        presorted,
        sorting,
        None if best else True,
        np.empty(0, np.int8) if signs is None else signs,
        table,
        rows,
        *given,
        limits,
        node,
        work,
        (np.empty(most, np.int64), np.empty(m, np.int32), np.empty(n, np.uint8)),
        True if limits[MAX_LEAVES] > 0 else None,
        medians,
        categories := category_tables(columns, most, width),
    )
    if presorted is not None:
        columns.give_back(presorted[1])
    return *(a[:count] for a in node), None if categories is None else categories[1][:count]


def category_tables(columns: Columns, most: int, width: int) -> Any:
    """`categories` of `core/growth/categories.py`."""
    if not columns.categorical.any():
        return None
    levels = columns.n_categories
    C = int(levels.max())
    sets = np.zeros((most, (C + 63) // 64), np.uint64)
    whole = np.empty(C + 1, np.int64), np.empty(C + 1, np.int64)
    return levels, sets, np.empty((C + 1, width)), np.empty(C + 1), *whole


def order_of_targets(y: Any, n: int, m: int, outputs: int) -> Any:
    """`medians` of `core/growth/medians.py`."""
    targets = Columns(y.reshape(n, outputs))
    memory = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(512, np.int64)
    order, place = np.empty((outputs, m), np.int64), np.empty((outputs, n), np.int64)
    sums = np.empty((m + 1, 2)), np.empty((2, m)), np.empty((2, m))
    return targets.ranks, targets.levels, *memory, order, place, *sums


def most_nodes(n: int, limits: Any) -> int:
    """How many nodes a tree of n rows can have; memory that is not used is never touched."""
    leaves: int = n // max(limits[MIN_LEAF], 1)
    if limits[MAX_LEAVES] > 0:
        leaves = min(leaves, limits[MAX_LEAVES])
    if limits[MAX_DEPTH] < 40:
        leaves = min(leaves, 1 << limits[MAX_DEPTH])
    return max(2 * leaves - 1, 1)


def weights(weight: Any, n: int, criterion: int) -> tuple[Any, Any, float, Any]:
    """Rows that count, weights (empty: all 1), their sum, for entropy x·log(x) of whole numbers."""
    rows, w, total, whole = np.arange(n, dtype=np.int32), NOTHING, float(n), True
    if weight is not None:
        w = np.ascontiguousarray(weight, dtype=np.float64)
        total = float(w.sum())
        if not w.all():
            rows = np.flatnonzero(w).astype(np.int32)
        whole = criterion == ENTROPY and total < 1e7 and bool((w == np.floor(w)).all())
    if criterion != ENTROPY or not whole:
        return rows, w, total, NOTHING
    x = np.arange(total + 2.0)
    return rows, w, total, x * np.log(np.maximum(x, 1.0))


def number(node_i: Any) -> tuple[Any, Any, Any]:
    """Nodes in the order of their PLACE, and their children there; −1: none."""
    place = node_i[:, PLACE]
    birth = np.empty(len(place), np.int64)
    birth[place] = np.arange(len(place))
    first = node_i[:, LEFT].take(birth)
    inner = first >= 0
    return birth, np.where(inner, place.take(first), -1), np.where(inner, place.take(first + 1), -1)


def leaf_of_rows(node_i: Any, left: Any, rows: Any, n: int) -> Any:
    """The leaf of each of n rows, −1 for those that do not count."""
    leaves = np.flatnonzero(left < 0)
    start = node_i[:, LO].take(leaves)
    if (start[1:] < start[:-1]).any():  # depth did not come first
        leaves = leaves[np.argsort(start, kind="stable")]
    size = (node_i[:, HI] - node_i[:, LO]).take(leaves)
    leaf = np.full(n, -1, np.int64)
    leaf[rows] = np.repeat(leaves, size)
    return leaf
