r"""Grow: a tree by recursive partition of the rows (Breiman, Friedman, Olshen, Stone 1984)

    columns = Columns(X)                                   # once; shared by all trees, by threads
    tree, leaf = grow(columns, y, criterion="squared_error", max_depth=3)      # leaf of every row

y holds numbers, or classes 0, 1, … (with `n_classes`). `weight` 0 leaves a row out (its leaf is
−1); whole numbers stand for repetitions, as a bootstrap draws them. Same seed, same tree, whatever
the threads; the seed is used as scikit-learn uses it, so that its tree is ours even in a tie.

A node is a range of rows. Depth first, the node on top of the stack looks for its best split
(`core/splits.py`), its rows are partitioned, its children go on the stack; with
`max_leaf_nodes` the node that gains most comes next. There are three ways to look:

    presorted   the keys of every column stay sorted within every node: a split partitions all p of
                them, stably and without a branch, and nothing is ever sorted again. O(p·m) a node
                of m rows. The root reads the shared keys, so boosting with stumps moves nothing.
    sorting     only the columns drawn are put in order: their ranks are gathered and sorted by
                digits. For forests, where few of many columns are drawn at a node.
    random      a threshold is drawn between the least and the largest value: nothing is sorted.

Columns of categories are searched in a way of their own (`core/categories.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .columns import Columns
from .jit import kernel
from .medians import grow_by_medians
from .nodes import PRESORTED, RANDOM, SORTING, grow_nodes
from .splits import (
    ABSOLUTE,
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
    MAX_LEAVES,
    MIN_LEAF,
    MISSING_LEFT,
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
WORDS = ("max_depth", "min_split", "min_leaf", "min_weight", "max_leaves", "min_gain")


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
    codes = y.astype(np.int32, copy=False) if n_classes is not None else NOTHING.astype(np.int32)
    targets = y.astype(np.float64, copy=False) if n_classes is None or K == 2 else NOTHING
    rows, w, total, table = weights(weight, columns.n, CRITERIA[criterion])
    max_features = p if max_features is None else max_features
    mode = RANDOM
    if splitter == "best":
        few = 6 * max_features < p or columns.n * p > 1 << 26  # columns drawn, or bytes to spare
        mode = SORTING if few else PRESORTED
    limits = (
        mode,
        CRITERIA[criterion],
        outputs,
        max_features,
        UNLIMITED if max_depth is None else max_depth,
        min_samples_split,
        min_samples_leaf,
        float(min_weight_leaf),
        -1 if max_leaf_nodes is None else max_leaf_nodes,
        float(min_impurity_decrease),
        total,
    )
    if criterion == "absolute_error":
        if columns.categorical.any():
            raise ValueError(
                "criterion='absolute_error' cannot split by categories; use 'squared_error' or "
                "'poisson', or one column for each category."
            )
        options = dict(zip(WORDS, limits[4:10], strict=True))
        options |= {"max_features": max_features, "random": mode == RANDOM, "seed": seed}
        grown = grow_by_medians(columns, targets, w, rows, monotonic_cst, options)
    else:
        signs = np.empty(0, np.int8) if monotonic_cst is None else monotonic_cst
        grown = grow_by_sums(columns, (targets, codes, w), rows, limits, signs, table, K, seed)
    node_i, node_f, node_v, sets, count = grown
    node_i, node_f, node_v = node_i[:count], node_f[:count], node_v[:count]
    leaf = np.full(columns.n, -1, np.int64)
    left, right = np.empty(count, np.int64), np.empty(count, np.int64)
    birth = np.empty(count, np.int64)
    number(node_i, rows, max_leaf_nodes is None, birth, left, right, leaf)
    node_i, node_f = node_i[birth], node_f[birth]
    value = node_v[birth]
    if criterion != "absolute_error":
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


def grow_by_sums(
    columns: Columns, given: Any, rows: Any, limits: Any, signs: Any, table: Any, K: int, seed: int
) -> Any:
    """All criteria whose statistics are sums over rows: the tables of `core/nodes.py`."""
    mode, _, outputs, _, max_depth, *_ = limits
    width, most = outputs * K, most_nodes(len(rows), limits)
    fewer = len(rows) < columns.n  # then the keys of the root are parted too
    buffers = columns.buffers(mode == PRESORTED and (max_depth > 1 or fewer))
    order = (
        columns.X,
        columns.keys if mode == PRESORTED else np.empty((0, 0), np.int64),
        columns.ranks if mode == SORTING else np.empty((0, 0), np.int32),
        columns.levels,
        columns.missing if mode != RANDOM else np.empty(0, np.uint8),
        buffers,
        signs,
        table,
    )
    own = len(rows) if mode == SORTING else 0
    work = (
        np.arange(columns.p),
        np.zeros(columns.p, np.int64),
        np.array([seed], np.int64),
        np.zeros(2),
        np.empty(width),
        np.empty(width),
        np.empty(own, np.int64),
        np.empty(own, np.int64),
        np.empty(512, np.int64),
        tuple(np.empty(own * outputs if len(t) else 0, t.dtype) for t in given),
    )
    node = np.empty((most, 8), np.int64), np.empty((most, 6)), np.empty((most, width))
    room = np.empty(most, np.int64), np.empty(len(rows), np.int32), np.empty(columns.n, np.uint8)
    sets, categories = None, None
    if columns.categorical.any():
        levels = columns.n_categories
        C = levels.max()
        sets = np.zeros((most, (C + 63) // 64), np.uint64)
        whole = np.empty(C + 1, np.int64), np.empty(C + 1, np.int64)
        categories = (levels, sets, np.empty((C + 1, width)), np.empty(C + 1), *whole)
    count = grow_nodes(order, rows, given, limits, *node, work, room, categories)
    columns.give_back(buffers)
    return *node, sets, count


def most_nodes(n: int, limits: Any) -> int:
    """How many nodes a tree of n rows can have; memory that is not used is never touched."""
    leaves: int = n // max(limits[MIN_LEAF], 1)
    if limits[MAX_LEAVES] > 0:
        leaves = min(leaves, limits[MAX_LEAVES])
    if limits[MAX_DEPTH] < 40:
        leaves = min(leaves, 1 << limits[MAX_DEPTH])
    return max(2 * leaves - 1, 1)


def weights(weight: Any, n: int, criterion: int) -> tuple[Any, Any, float, Any]:
    """Rows that count, weights (empty: all 1), their sum, x·log(x) of whole numbers if they are."""
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


@kernel
def number(
    node_i: Any, rows: Any, depth_first: bool, birth: Any, left: Any, right: Any, leaf: Any
) -> None:
    """Number the nodes, depth first or in order of birth; and tell every row its leaf."""
    count = len(node_i)
    place, stack = np.arange(count), np.empty(count + 1, np.int64)
    stack[0], height, k = 0, 1, 0
    while height > 0 and depth_first:
        height -= 1
        node = stack[height]
        place[node] = k
        k += 1
        if node_i[node, LEFT] >= 0:
            stack[height], stack[height + 1] = node_i[node, LEFT] + 1, node_i[node, LEFT]
            height += 2
    for node in range(count):
        k, child = place[node], node_i[node, LEFT]
        birth[k] = node
        left[k] = right[k] = -1
        if child >= 0:
            left[k], right[k] = place[child], place[child + 1]
        else:
            for i in range(node_i[node, LO], node_i[node, HI]):
                leaf[rows[i]] = k
