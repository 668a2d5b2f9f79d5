r"""New rows: where they would join a tree that stays as it is

A new row x has a core distance too, c(x), to its m-th nearest row of the tree. It hangs on the row
y that it reaches first,

    y = argmin d_m(x, y) = argmin max( c(x), c(y), d(x, y)/α ),      λ = 1/d_m(x, y),           (8)

the nearest of them where several are reached at once, and stays with y as long as both last:
it is lost at min(λ, λ_y) by the cluster of y or, if that is born later, by the nearest ancestor

    that is born before min(λ, λ_y).                                                            (9)

From there on it is labelled as the other rows are. A row of the tree, given again, is its own y:
it gets the label and the probability that it has.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlreplica.core.formulas.distances import Array

from .condensed import TIE, CondensedTree, births, last_levels, members


def nearest_reachable(
    search: Any, X: Any, core: Array, m: int, alpha: float
) -> tuple[Array, Array]:
    """(8): y and d_m(x, y) for each row of X; `core` are the core distances of the rows searched.

    Rows beyond the k nearest are at least as far as the k-th, so k grows until that is enough.
    """
    found, reach = np.empty(X.shape[0], np.int64), np.empty(X.shape[0])
    open_rows, k, n = np.arange(X.shape[0]), 2 * m, len(core)
    while len(open_rows):
        k = min(k, n)
        D, N = search.kneighbors(X[open_rows], k)
        R = np.maximum(np.maximum(D / alpha, core[N]), D[:, m - 1 : m])
        least = R.min(axis=1, keepdims=True) * (1.0 + TIE)
        best = (least >= R).argmax(axis=1)[:, None]
        found[open_rows] = np.take_along_axis(N, best, axis=1)[:, 0]
        reach[open_rows] = np.take_along_axis(R, best, axis=1)[:, 0]
        open_rows = open_rows[(reach[open_rows] > D[:, -1] / alpha) & (k < n)]
        k *= 2
    return found, reach


def join_rows(
    tree: CondensedTree, label_of: Array, eps: float, y: Array, reach: Array
) -> tuple[Array, Array]:
    """(9): labels and probabilities of new rows that hang on the rows y of the tree."""
    n = int(tree.parent[0])  # the root
    up, birth, _ = births(tree, n)
    row = tree.child < n
    owner, leaves = np.empty(n, np.int64), np.empty(n)
    owner[tree.child[row]], leaves[tree.child[row]] = tree.parent[row] - n, tree.level[row]
    with np.errstate(divide="ignore"):
        level = np.minimum(1.0 / reach, leaves[y])
    cluster = owner[y]
    while (late := (cluster > 0) & (birth[cluster] >= level)).any():
        cluster[late] = up[cluster[late]]
    return members(cluster, level, label_of, last_levels(tree, n), eps)
