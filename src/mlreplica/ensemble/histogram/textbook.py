r"""Boosting on histograms in its shortest form (equations of the other files of this folder)

Every number becomes its code (6). A round computes the slopes g and h of the loss, grows a tree on
them leaf by leaf, and adds it to the scores (5). A leaf knows the sums (7) of its rows by column
and code; they give its value (2) and the gain (3) of every split. The smaller child's sums come
from its rows, the larger child's by subtraction (8).

The engine (`rounds.py`, `grow.py`, `histograms.py`) does the same with g and h in one whole number
(4), on threads, for missing values, categories and constraints.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mlreplica.core.formulas import losses

from .binning import thresholds

LEAST_H = 1e-3  # of a leaf


class Leaf(NamedTuple):
    """Rows that share a value, with what is known of their splits."""

    rows: np.ndarray
    sums: np.ndarray  # (3, p, codes): G_c, H_c of (7) and the number of rows
    gain: float  # of the best split, which sends codes ≤ `code` of `column` left
    column: int
    code: int


class Boosted(NamedTuple):
    """What `boost` returns: the scores of the training rows and what predicts new ones."""

    scores: np.ndarray
    start: float
    edges: list  # thresholds of each column
    trees: list  # lists of (column, code, left, right) or a leaf's value, root first

    def predict(self, X):
        """The scores of new rows."""
        codes = encode(X, self.edges)
        return self.start + sum(walk(tree, codes) for tree in self.trees)


def encode(X, edges):
    """The codes (6), here from 0 on, as nothing is missing."""
    columns = [np.searchsorted(t, x, side="left") for t, x in zip(edges, X.T, strict=True)]
    return np.stack(columns, axis=1)


def histograms(codes, rows, g, h, n_codes):
    """G_c and H_c of (7) and the number of rows, for every column: (3, p, codes)."""
    columns = codes[rows].T
    return np.array(
        [[np.bincount(x, v[rows], n_codes) for x in columns] for v in (g, h, np.ones(len(g)))]
    )


def value(G, H, penalty):
    """The best value (2) of a leaf."""
    return -G / (H + penalty)


def new_leaf(rows, sums, penalty, min_samples_leaf):
    """A leaf with its best split: the largest gain (3) over all columns and codes."""
    G_L, H_L, n_L = np.cumsum(sums, axis=2)[:, :, :-1]
    G, H, n = sums[:, 0].sum(axis=1)
    G_R, H_R, n_R = G - G_L, H - H_L, n - n_L
    enough = (np.minimum(n_L, n_R) >= min_samples_leaf) & (np.minimum(H_L, H_R) >= LEAST_H)
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = G * value(G, H, penalty)
        gain = gain - G_L * value(G_L, H_L, penalty) - G_R * value(G_R, H_R, penalty)  # (3)
    gain = np.where(enough, gain, 0.0)
    column, code = np.unravel_index(gain.argmax(), gain.shape)
    return Leaf(rows, sums, gain[column, code], int(column), int(code))


def grow(codes, g, h, *, max_leaf_nodes, min_samples_leaf, penalty, rate):
    """A tree, leaf by leaf, and the rows of its leaves: [(node, rows)]."""
    n_codes, everything = int(codes.max()) + 1, np.arange(len(g))
    sums = histograms(codes, everything, g, h, n_codes)
    leaves, tree = {0: new_leaf(everything, sums, penalty, min_samples_leaf)}, [None]
    while len(leaves) < max_leaf_nodes:
        node = max(leaves, key=lambda k: leaves[k].gain)
        leaf = leaves[node]
        if leaf.gain <= 1e-10 * g.sum() ** 2 / h.sum():
            break
        left = codes[leaf.rows, leaf.column] <= leaf.code
        parts = [leaf.rows[left], leaf.rows[~left]]
        small = int(len(parts[0]) > len(parts[1]))
        sums = [None, None]
        sums[small] = histograms(codes, parts[small], g, h, n_codes)
        sums[1 - small] = leaf.sums - sums[small]  # (8)
        tree[node] = leaf.column, leaf.code, len(tree), len(tree) + 1
        for rows, its_sums in zip(parts, sums, strict=True):
            leaves[len(tree)] = new_leaf(rows, its_sums, penalty, min_samples_leaf)
            tree.append(None)
        del leaves[node]
    for node, leaf in leaves.items():
        G, H = g[leaf.rows].sum(), h[leaf.rows].sum()
        tree[node] = rate * value(G, H, penalty) if node else 0.0
    return tree, [(node, leaf.rows) for node, leaf in leaves.items()]


def walk(tree, codes):
    """The value of the leaf that each row comes to."""
    found = np.empty(len(codes))
    waiting = [(0, np.arange(len(codes)))]
    while waiting:
        node, rows = waiting.pop()
        if not isinstance(tree[node], tuple):
            found[rows] = tree[node]
            continue
        column, code, *children = tree[node]
        left = codes[rows, column] <= code
        waiting += zip(children, (rows[left], rows[~left]), strict=True)
    return found


def boost(
    X,
    y,
    loss=losses.squared,
    w=None,
    *,
    max_iter=100,
    learning_rate=0.1,
    max_leaf_nodes=31,
    min_samples_leaf=20,
    l2_regularization=0.0,
    max_bins=255,
) -> Boosted:
    """Second-order boosting of trees on binned columns.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Finite numbers.
    y : ndarray of shape (n,)
        What the loss wants: numbers, or −1 and +1.
    loss : Loss
        Of `mlreplica.losses`, with a second derivative.
    w : ndarray of shape (n,), optional
        Weights of the rows; default: 1.
    max_iter : int
        Trees.
    learning_rate, max_leaf_nodes, min_samples_leaf, l2_regularization, max_bins
        As those of `HistGradientBoostingRegressor`.

    Returns
    -------
    Boosted
        NamedTuple ``(scores, start, edges, trees)`` with the method ``predict(X)``.

    Examples
    --------
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> found = boost(X, np.sin(6 * X[:, 0]))
    >>> bool(np.mean(abs(found.scores - np.sin(6 * X[:, 0]))) < 0.1)
    True
    """
    w = np.ones(len(y)) if w is None else w
    edges = [thresholds(x, max_bins, w) for x in X.T]
    codes, start, trees = encode(X, edges), float(loss.best_constant(y, w)), []
    f = np.full(len(y), start)
    for _ in range(max_iter):
        g, h = w * loss.gradient(y, f), w * loss.hessian(y, f)  # (5)
        tree, leaves = grow(
            codes,
            g,
            h,
            max_leaf_nodes=max_leaf_nodes,
            min_samples_leaf=min_samples_leaf,
            penalty=l2_regularization,
            rate=learning_rate,
        )
        for node, rows in leaves:
            f[rows] += tree[node]
        trees.append(tree)
    return Boosted(f, start, edges, trees)
