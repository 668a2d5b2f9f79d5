r"""Minimal cost-complexity pruning

Let r(t) = W_t/W · impurity(t) be what node t would cost as a leaf and R(T) = Σ r over the leaves of
a tree. Pruning looks for the subtree with the least

    R_α(T) = R(T) + α·|leaves of T|                                                            (1)

A branch T_t with root t is worth keeping as long as R(T_t) + α|T_t| < r(t) + α, that is, up to

    α(t) = (r(t) − R(T_t)) / (|T_t| − 1)                                                       (2)

so the node with the least α(t) is the first to become a leaf, the weakest link; then the next. As
α grows, the subtrees are nested and finite in number. Breiman, Friedman, Olshen and Stone (1984).
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

from .tree import LEAF, Tree


def weakest_links(tree: Tree) -> Iterator[tuple[float, float, int]]:
    """Yield (α, R(T) after, node that becomes a leaf), from the whole tree (node −1) to its root.

    Nodes wait in a heap with a lower bound of their (2): a cut below a node never lowers it. One
    that has grown meanwhile waits again. m nodes of depth D: O(m (D + log m)).
    """
    left, right = tree.children_left.tolist(), tree.children_right.tolist()
    r = (tree.weighted_n_node_samples * tree.impurity / tree.weighted_n_node_samples[0]).tolist()
    R, leaves, parent = r.copy(), [1] * len(r), [-1] * len(r)
    inner = np.flatnonzero(tree.children_left != LEAF)
    for t in inner[np.argsort(-tree.depths[inner], kind="stable")].tolist():
        R[t] = R[left[t]] + R[right[t]]
        leaves[t] = leaves[left[t]] + leaves[right[t]]
        parent[left[t]] = parent[right[t]] = t
    waiting = [((r[t] - R[t]) / (leaves[t] - 1), t) for t in inner.tolist()]
    heapify(waiting)
    yield 0.0, R[0], -1
    while leaves[0] > 1:
        bound, t = heappop(waiting)
        if leaves[t] == 1:  # went with a branch
            continue
        alpha = (r[t] - R[t]) / (leaves[t] - 1)
        if alpha > bound:
            heappush(waiting, (alpha, t))
            continue
        less, fewer, below, node = r[t] - R[t], leaves[t] - 1, [left[t], right[t]], t
        while t != -1:
            R[t] += less
            leaves[t] -= fewer
            t = parent[t]
        while below:
            s = below.pop()
            if leaves[s] > 1:
                leaves[s] = 1
                below += [left[s], right[s]]
        yield alpha, R[0], node


def pruning_path(tree: Tree) -> tuple[Any, Any]:
    """All α at which a branch goes, and R(T) after each; the first is 0, for the whole tree."""
    steps = [(alpha, R) for alpha, R, _ in weakest_links(tree)]
    alphas, impurities = map(np.array, zip(*steps, strict=True))
    return alphas, impurities


def prune(tree: Tree, ccp_alpha: float) -> Tree:
    """The subtree with the least (1) for this α."""
    is_leaf = tree.children_left == LEAF
    for alpha, _, node in weakest_links(tree):
        if alpha > ccp_alpha:
            break
        if node >= 0:
            is_leaf[node] = True
    return cut(tree, is_leaf)


def cut(tree: Tree, is_leaf: Any) -> Tree:
    """The tree above the nodes `is_leaf`, numbered anew, depth first."""
    visited, stack = [], [0]
    while stack:
        t = stack.pop()
        visited.append(t)
        if not is_leaf[t]:
            stack += [tree.children_right[t], tree.children_left[t]]
    kept = np.array(visited)
    number = np.full(tree.node_count, LEAF)
    number[kept] = np.arange(len(kept))
    leaf = is_leaf[kept]

    def children(old: Any) -> Any:
        return np.where(leaf, LEAF, number[old[kept]])

    return Tree(
        tree.n_features,
        tree.n_classes,
        children(tree.children_left),
        children(tree.children_right),
        np.where(leaf, -2, tree.feature[kept]),
        np.where(leaf, -2.0, tree.threshold[kept]),
        tree.impurity[kept],
        tree.n_node_samples[kept],
        tree.weighted_n_node_samples[kept],
        np.where(leaf, 0, tree.missing_go_to_left[kept]).astype(np.uint8),
        tree.value[kept],
        None if tree.categories is None else tree.categories[kept] * ~leaf[:, None],
    )
