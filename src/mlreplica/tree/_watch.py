"""Watch a tree grow: every candidate split of every node with its gain, for a `Trace`

The growth itself keeps only the best split. Who wants to see the others pays for it here: the rows
of each node are taken up again, in the order of the nodes, and all thresholds are weighed from the
definitions of the impurities, (1), (3) to (6) of `core/growth/splits.py`, by sums over prefixes.
"""

from typing import Any, NamedTuple

import numpy as np

from mlreplica.core.growth.tree import LEAF


class WatchedNode(NamedTuple):
    """What a `Trace` records of a node."""

    node: int
    depth: int
    rows: int
    impurity: float
    value: Any
    feature: int  # of the split that was chosen; −2 at a leaf
    threshold: float
    gain: float
    candidate_feature: Any  # one entry a candidate, as the next three
    candidate_threshold: Any  # ∞: all values left, those missing right; categories: how many left
    candidate_missing_left: Any
    candidate_gain: Any  # how much the impurity of the whole tree would fall


def watch(tree, X, y, w, criterion, categorical=None):
    """Yield every node of a grown tree, by number; X as in fit, y (n, outputs)."""
    categorical = np.zeros(X.shape[1], bool) if categorical is None else categorical
    w = np.ones(len(X)) if w is None else w
    path = tree.decision_path(X).tocsc()
    total = w.sum()
    weighted = tree.weighted_n_node_samples * tree.impurity
    for k in range(tree.node_count):
        rows = path.indices[path.indptr[k] : path.indptr[k + 1]]
        rows = rows[w[rows] > 0]
        a, b = tree.children_left[k], tree.children_right[k]
        gain = 0.0 if a == LEAF else (weighted[k] - weighted[a] - weighted[b]) / total
        found = candidates(X[rows], y[rows], w[rows], criterion, tree.n_classes, categorical)
        f, threshold, side, after = (np.concatenate(part) for part in zip(*found, strict=True))
        yield WatchedNode(
            k,
            int(tree.depths[k]),
            len(rows),
            tree.impurity[k],
            tree.value[k],
            int(tree.feature[k]),
            tree.threshold[k],
            gain,
            f.astype(int),
            threshold,
            side.astype(int),
            (weighted[k] - after) / total,
        )


def candidates(X, y, w, criterion, n_classes, categorical):
    """For every column: features, thresholds, sides of the missing and W_L·i(L) + W_R·i(R)."""
    yield np.empty(0), np.empty(0), np.empty(0), np.empty(0)
    for f in range(X.shape[1]):
        x = by_mean(X[:, f], y[:, 0], w) if categorical[f] else X[:, f]
        order = np.argsort(x, kind="stable")  # NaN last
        missing = int(np.isnan(x).sum())
        for side in range(2 if missing else 1):
            if side == 1:
                order = np.roll(order, missing)
            v = x[order]
            ends = np.flatnonzero(v[1:] != v[:-1]) + 1
            first, last = (missing + 1, len(x) - 1) if side else (1, len(x) - max(missing, 1))
            ends = ends[(ends >= first) & (ends <= last)]
            left = weighted_impurities(y[order], w[order], criterion, n_classes)
            right = weighted_impurities(y[order][::-1], w[order][::-1], criterion, n_classes)
            a, b = v[ends - 1], v[ends]
            threshold = np.where(np.isnan(b), np.inf, a / 2.0 + b / 2.0)
            after = left[ends - 1] + right[len(x) - ends - 1]
            yield np.full(len(ends), f), threshold, np.full(len(ends), side), after


def by_mean(x, y, w):
    """Categories as the numbers ½, 1½, … in the order of their mean targets; NaN is one of them."""
    codes = np.unique(x, return_inverse=True)[1]
    mean = np.bincount(codes, w * y) / np.bincount(codes, w)
    place = np.empty(len(mean))
    place[np.argsort(mean, kind="stable")] = np.arange(len(mean)) + 0.5
    return place[codes]


def weighted_impurities(y, w, criterion, n_classes):
    """W·impurity of the first 1, 2, … rows, the mean over outputs."""
    W, total = np.cumsum(w), np.zeros(len(w))
    for k in range(y.shape[1]):
        v = y[:, k]
        if criterion in ("gini", "entropy", "log_loss"):
            S = np.cumsum(w[:, None] * (v[:, None] == np.arange(n_classes[k])), axis=0)
            share = S / W[:, None]
            with np.errstate(divide="ignore", invalid="ignore"):
                logs = np.where(share > 0, share * np.log2(share), 0.0)
            total += W * (1 - (share**2).sum(axis=1) if criterion == "gini" else -logs.sum(axis=1))
        elif criterion == "absolute_error":
            total += [absolute(v[: i + 1], w[: i + 1]) for i in range(len(v))]
        else:
            S = np.cumsum(w * v)
            with np.errstate(divide="ignore", invalid="ignore"):
                if criterion == "squared_error":
                    total += np.cumsum(w * v * v) - S * S / W
                else:
                    own = np.where(v > 0, v * np.log(v), 0.0)
                    total += np.cumsum(w * own) - np.where(S > 0, S * np.log(S / W), 0.0)
    return total / y.shape[1]


def absolute(v, w):
    """Σ w|v − median|"""
    order = np.argsort(v)
    upto = np.cumsum(w[order])
    return w @ np.abs(v - v[order[np.searchsorted(upto, upto[-1] / 2.0)]])
