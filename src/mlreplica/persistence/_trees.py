"""Trees: what makes arrays from a file a tree that can be walked

Compiled loops follow a tree without looking whether a child or a column exists. So arrays are a
tree only if they are as long as each other and of the types that trees are grown with, every node
but the root is the child of exactly one earlier node, and the columns tested are there: then every
walk stays within the arrays and ends at a leaf.
"""

import numpy as np

from mlreplica.core.growth.tree import LEAF, Tree
from mlreplica.ensemble.histogram.predict import HistTree
from mlreplica.ensemble.isolation.trees import FEATURE, Forest

from ._container import require

TREE = {
    "children_left": "<i8",
    "children_right": "<i8",
    "feature": "<i8",
    "threshold": "<f8",
    "impurity": "<f8",
    "n_node_samples": "<i8",
    "weighted_n_node_samples": "<f8",
    "missing_go_to_left": "|u1",
}
HIST = {
    "column": "<i4",
    "threshold": "<f8",
    "code": "|u1",
    "left": "<i4",
    "missing_left": "|u1",
    "value": "<f8",
    "gain": "<f8",
    "count": "<i8",
    "depth": "<i4",
    "table": "<i4",
}
ISOLATION = {"threshold": "<f8", "link": "<i8", "path": "<f8", "count": "<i4"}


def tree(parts):
    """A `Tree`."""
    n, p = len(parts["feature"]), parts["n_features"]
    for name, dtype in TREE.items():
        typed(parts[name], dtype, (n,))
    classes, value, sets = parts["n_classes"], parts["value"], parts["categories"]
    require(classes.ndim == 1 and len(classes) > 0 and classes.min() > 0, "the classes of a tree")
    typed(value, "<f8", (n, len(classes), int(classes.max())))
    if sets is not None:
        typed(sets, "<u8", (n, *sets.shape[1:]))
        require(sets.ndim == 2 and sets.shape[1] > 0, "the categories of a tree")
    left, right = parts["children_left"], parts["children_right"]
    inner = left != LEAF
    require(np.array_equal(inner, right != LEAF), "the leaves of a tree")
    linked(np.flatnonzero(inner), left[inner], right[inner], n)
    within(parts["feature"][inner], p)
    return Tree(**parts)


def hist_tree(parts):
    """A `HistTree`; that its columns are there is seen to by the model."""
    n = len(parts["column"])
    for name, dtype in HIST.items():
        typed(parts[name], dtype, (n,))
    tables = parts["tables"]
    typed(tables, "|u1", (len(tables), 256))
    inner = parts["column"] >= 0
    left = parts["left"][inner].astype(np.int64)
    linked(np.flatnonzero(inner), left, left + 1, n)
    table = parts["table"][inner]
    within(table[table >= 0], len(tables))
    require(np.isfinite(parts["threshold"][inner][table < 0]).all(), "the threshold of a tree")
    require((parts["depth"] >= 0).all(), "the depth of a tree")
    return HistTree(**parts)


def isolation_trees(parts):
    """The `Forest` of an isolation forest; columns as above."""
    n, size, depth = len(parts["link"]), parts["size"], parts["depth"]
    for name, dtype in ISOLATION.items():
        typed(parts[name], dtype, (n,))
    typed(size, "<i8", (len(size),))
    typed(depth, "<i8", (len(size),))
    require((size > 0).all() and size.sum() == n and (depth < size).all(), "the size of a tree")
    require((depth >= 0).all(), "the depth of a tree")
    end = np.cumsum(size)
    first = np.repeat(end - size, size)
    node, child = np.arange(n) - first, parts["link"] >> 32
    leaf = child == node
    require((parts["link"][leaf] == node[leaf] << 32).all(), "a leaf")
    require((parts["threshold"][leaf] == np.inf).all(), "a leaf")
    linked((node + first)[~leaf], (child + first)[~leaf], (child + first)[~leaf] + 1, n, end - size)
    require((child[~leaf] + 1 < np.repeat(size, size)[~leaf]).all(), "a child of a tree")
    return Forest(**parts)


def isolation_columns(forest):
    """The columns that an isolation forest tests."""
    return forest.link & FEATURE


def typed(a, dtype, shape):
    """An array of this dtype and shape, by rows."""
    right = isinstance(a, np.ndarray) and a.dtype == dtype and a.shape == shape
    require(right and a.flags.c_contiguous, "an array of a tree")


def linked(parent, left, right, n, roots=(0,)):
    """Children come after their parents, and every node but the roots is a child once."""
    children = np.concatenate([left, right])
    require((left > parent).all() and (right > parent).all(), "a child of a tree")
    within(children, n)
    times = np.bincount(children, minlength=n)
    times[np.asarray(roots, dtype=np.int64)] += 1
    require(n > 0 and (times == 1).all(), "a child of a tree")


def within(a, n):
    """Whole numbers from 0 to n − 1."""
    require(type(n) is int and (a >= 0).all() and (a < n).all(), "a position in a tree")


TREES = {
    "Tree": (Tree, tree),
    "HistTree": (HistTree, hist_tree),
    "IsolationTrees": (Forest, isolation_trees),
}
