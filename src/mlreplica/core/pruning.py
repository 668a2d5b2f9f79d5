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
from typing import Any

import numpy as np

from .tree import LEAF, Tree


def weakest_links(tree: Tree) -> Iterator[tuple[float, float, Any]]:
    """Yield (α, R(T), mask of nodes that are now leaves) from the whole tree to its root alone."""
    left, right = tree.children_left, tree.children_right
    r = tree.weighted_n_node_samples * tree.impurity / tree.weighted_n_node_samples[0]
    n = tree.node_count
    parent = np.full(n, -1)
    inner = np.flatnonzero(left != LEAF)
    parent[left[inner]] = parent[right[inner]] = inner
    R, leaves = r.copy(), np.ones(n)
    for t in inner[np.argsort(-tree.depths[inner], kind="stable")]:
        R[t] = R[left[t]] + R[right[t]]
        leaves[t] = leaves[left[t]] + leaves[right[t]]
    alive = left != LEAF  # inner nodes of the subtree
    is_leaf = ~alive
    yield 0.0, R[0], is_leaf
    while alive[0]:
        t, alpha = weakest(r, R, leaves, alive)
        below = [t]
        while below:
            s = below.pop()
            is_leaf[s] = False
            if alive[s]:
                alive[s] = False
                below += [left[s], right[s]]
        is_leaf[t] = True
        less, fewer = r[t] - R[t], leaves[t] - 1.0
        while t != -1:
            R[t] += less
            leaves[t] -= fewer
            t = parent[t]
        yield alpha, R[0], is_leaf


def weakest(r: Any, R: Any, leaves: Any, alive: Any) -> tuple[int, float]:
    """The first node with the least (2), and it."""
    nodes = np.flatnonzero(alive)
    alphas = (r[nodes] - R[nodes]) / (leaves[nodes] - 1.0)
    k = np.argmin(alphas)
    return nodes[k], alphas[k]


def pruning_path(tree: Tree) -> tuple[Any, Any]:
    """All α at which a branch goes, and R(T) after each; the first is 0, for the whole tree."""
    steps = [(alpha, R) for alpha, R, _ in weakest_links(tree)]
    alphas, impurities = map(np.array, zip(*steps, strict=True))
    return alphas, impurities


def prune(tree: Tree, ccp_alpha: float) -> Tree:
    """The subtree with the least (1) for this α."""
    is_leaf = tree.children_left == LEAF
    for alpha, _, now in weakest_links(tree):
        if alpha > ccp_alpha:
            break
        is_leaf = now.copy()
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
