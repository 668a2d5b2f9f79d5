"""Isolation trees as `core.tree.Tree`, for those who want to look at them one by one"""

import numpy as np

from mlreplica.core.growth.tree import LEAF, UNDEFINED, Tree

from .trees import FEATURE


def as_trees(forest, columns, chosen):
    """Some trees as `Tree`: a node's value is the mean path of its rows, its impurity the variance.

    Features are counted among the columns drawn for a tree.
    """
    trees, ends = [], np.cumsum(forest.size)
    for t in range(len(ends))[chosen]:
        nodes = slice(ends[t] - forest.size[t], ends[t])
        link, count = forest.link[nodes], forest.count[nodes].astype(np.float64)
        left = link >> 32
        leaf = left == np.arange(len(left))
        place = np.zeros(columns[t].max() + 1, np.int64)
        place[columns[t]] = np.arange(len(columns[t]))
        h = np.where(leaf, forest.path[nodes], 0.0)
        moments = np.stack([h, h * h], axis=1)
        for k in np.flatnonzero(~leaf)[::-1]:  # children come after their parents
            both = slice(left[k], left[k] + 2)
            moments[k] = count[both] @ moments[both] / count[k]
        tree = Tree(
            columns.shape[1],
            1,
            np.where(leaf, LEAF, left),
            np.where(leaf, LEAF, left + 1),
            np.where(leaf, UNDEFINED, place[np.where(leaf, columns[t][0], link & FEATURE)]),
            np.where(leaf, UNDEFINED, forest.threshold[nodes]),
            np.maximum(moments[:, 1] - moments[:, 0] ** 2, 0.0),
            count.astype(np.int64),
            count,
            (~leaf & (link >> 31 & 1 == 0)).astype(np.uint8),
            moments[:, :1, None].copy(),
        )
        trees.append(tree)
    return trees
