r"""A tree in its shortest form: one recursion, one pass along each sorted column

Targets are vectors: e_k for class k, one number in regression. A node of rows i with weights w_i
has the weight W = Σ w_i and the statistics S = Σ w_i y_i, answers S/W, and has the impurity

    squared      Σ_i w_i ‖y_i‖² / W − ‖S/W‖²                                                    (1)
    Gini         1 − Σ_k (S_k/W)²              (1) for vectors e_k                              (5)
    entropy      −Σ_k (S_k/W) log₂(S_k/W)                                                       (6)

Each node takes the split that leaves the least W_L·impurity(L) + W_R·impurity(R), and its children
do the same with their rows. The engine (`core/growth`) sorts the columns once instead of at every
node, updates the sums in place and grows the same tree.

Breiman, Friedman, Olshen, Stone, Classification and Regression Trees (1984).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Node(NamedTuple):
    """A leaf that answers `value`, or the question x_j ≤ t with a child for either answer."""

    value: Any  # S/W, (K,)
    rows: Any  # of the training data that came here
    column: int = -1
    threshold: float = np.nan
    left: Node | None = None
    right: Node | None = None


def impurity(criterion: str, S: Any, W: Any, squares: Any) -> Any:
    """(1), (5) or (6) from sums over rows; `squares` is Σ w ‖y‖², which is W for classes."""
    share = S / W[..., None]
    if criterion == "entropy":
        return -np.sum(share * np.log2(np.where(share > 0, share, 1.0)), axis=-1)
    return squares / W - np.sum(share**2, axis=-1)


def best_split(
    x: Any, Y: Any, w: Any, criterion: str = "squared_error", min_samples_leaf: int = 1
) -> tuple[float, float]:
    """The least cost W_L·impurity(L) + W_R·impurity(R) on one column, and its threshold."""
    order = np.argsort(x, kind="stable")
    x, Y, w = x[order], Y[order], w[order]
    sums = [np.cumsum(part, axis=0) for part in (w, w[:, None] * Y, w * np.sum(Y**2, axis=1))]
    (W_L, S_L, squares_L), (W, S, squares) = ((part[:-1] for part in sums), (p[-1] for p in sums))
    cost = W_L * impurity(criterion, S_L, W_L, squares_L)
    cost += (W - W_L) * impurity(criterion, S - S_L, W - W_L, squares - squares_L)
    n_left = np.arange(1, len(x))
    allowed = (x[1:] > x[:-1]) & (np.minimum(n_left, len(x) - n_left) >= min_samples_leaf)
    if not allowed.any():
        return np.inf, np.nan
    k = np.argmin(np.where(allowed, cost, np.inf))
    return cost[k], (x[k] + x[k + 1]) / 2


def grow_tree(
    X: Any,
    Y: Any,
    w: Any,
    *,
    criterion: str = "squared_error",
    max_depth: float = np.inf,
    min_samples_split: int = 2,
    min_samples_leaf: int = 1,
    columns: Callable[[], Any] | None = None,
    rows: Any = None,
) -> Node:
    """Grow a tree on the rows of positive weight.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    Y : ndarray of shape (n, K)
        One column of numbers, or a one in the column of each row's class.
    w : ndarray of shape (n,)
        Weights; rows of weight 0 are absent.
    criterion : {"squared_error", "gini", "entropy"}
    max_depth, min_samples_split, min_samples_leaf : limits
    columns : callable, optional
        Returns the columns to try at a node; default: all of them.
    rows : ndarray of int, optional
        Those of the node; default: all of positive weight.

    Returns
    -------
    Node
        The root.

    Examples
    --------
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([[5.0], [5.0], [9.0], [9.0]])
    >>> root = grow_tree(X, y, np.ones(4))
    >>> print(root.column, root.threshold, predict(root, X).ravel())
    0 1.5 [5. 5. 9. 9.]
    """
    rows = np.flatnonzero(w) if rows is None else rows
    W, S, squares = w[rows].sum(), w[rows] @ Y[rows], w[rows] @ np.sum(Y[rows] ** 2, axis=1)
    node = Node(S / W, rows)
    pure = impurity(criterion, S, W, squares) <= np.finfo(float).eps
    if pure or max_depth <= 0 or len(rows) < max(min_samples_split, 2 * min_samples_leaf):
        return node
    best, column, threshold = np.inf, -1, np.nan
    for j in range(X.shape[1]) if columns is None else columns():
        cost, t = best_split(X[rows, j], Y[rows], w[rows], criterion, min_samples_leaf)
        if cost < best:
            best, column, threshold = cost, j, t
    if column < 0:
        return node
    left = X[rows, column] <= threshold
    limits: dict[str, Any] = {
        "criterion": criterion,
        "max_depth": max_depth - 1,
        "min_samples_split": min_samples_split,
        "min_samples_leaf": min_samples_leaf,
        "columns": columns,
    }
    children = (grow_tree(X, Y, w, rows=part, **limits) for part in (rows[left], rows[~left]))
    return Node(node.value, rows, column, threshold, *children)


def predict(root: Node, X: Any) -> Any:
    """The value of the leaf that each row comes to, (n, K)."""
    if root.left is None or root.right is None:
        return np.tile(root.value, (len(X), 1))
    left = X[:, root.column] <= root.threshold
    found = np.empty((len(X), len(root.value)))
    found[left], found[~left] = predict(root.left, X[left]), predict(root.right, X[~left])
    return found
