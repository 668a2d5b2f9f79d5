"""Medians: growth by the mean absolute error, whose best constant is the median

The nodes are those of `core/nodes.py`, in Python, because only the errors take time. Along a sorted
column every prefix of m rows has its median and its sum of absolute errors. A Fenwick tree over the
order of the targets holds the weights and the sums of w·y that have come so far, so one more row
costs O(log m); the suffixes are the prefixes from the other end.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from .draws import draw, draw_between
from .jit import kernel
from .splits import (
    CONSTANT,
    DEPTH,
    EPSILON,
    FEATURE,
    FINAL,
    GAIN,
    HI,
    HIGH,
    IMPURITY,
    LEFT,
    LO,
    LOW,
    MISSING_LEFT,
    THRESHOLD,
    WEIGHT,
)


@kernel
def prefix_errors(place: Any, sorted_y: Any, w: Any, error: Any, median: Any) -> None:
    """error[i] += Σ w|y − median| of the first i + 1 rows; place: their place among sorted_y."""
    m = len(place)
    weight, moment = np.zeros(m + 1), np.zeros(m + 1)
    top = 1
    while 2 * top <= m:
        top *= 2
    W, S = 0.0, 0.0
    for i in range(m):
        y_i = sorted_y[place[i]]
        W += w[i]
        S += w[i] * y_i
        k = place[i] + 1
        while k <= m:
            weight[k] += w[i]
            moment[k] += w[i] * y_i
            k += k & -k
        low, below, s_below = 0, 0.0, 0.0  # the first row with half of the weight up to it
        high, upto = 0, 0.0  # and the first with more than half
        step = top
        while step > 0:
            if low + step <= m and below + weight[low + step] < 0.5 * W:
                low += step
                below += weight[low]
                s_below += moment[low]
            if high + step <= m and upto + weight[high + step] <= 0.5 * W:
                high += step
                upto += weight[high]
            step //= 2
        v = sorted_y[low]
        error[i] += v * below - s_below + (S - s_below) - v * (W - below)
        median[i] = 0.5 * (v + sorted_y[min(high, m - 1)])


class Grower:
    """The state of a growth: tables of nodes as in `core/nodes.py`."""

    def __init__(
        self, columns: Any, y: Any, w: Any, rows: Any, signs: Any, options: dict[str, Any]
    ) -> None:
        self.X, self.y = columns.X, y.reshape(columns.n, -1)
        self.w = w if len(w) else np.ones(columns.n)
        self.rows = rows
        self.options, self.signs = options, signs
        self.state = np.array([options["seed"]], np.int64)
        self.features = np.arange(columns.p)
        self.total = float(self.w[rows].sum())
        self.i: list[Any] = []
        self.f: list[Any] = []
        self.v: list[Any] = []

    def add(self, lo: int, hi: int, depth: int, low: float, high: float) -> int:
        """A node, described."""
        rows, o = self.rows[lo:hi], self.options
        w, m = self.w[rows], hi - lo
        medians, error = self.center(rows)
        W = float(w.sum())
        whole, other = np.zeros(8, np.int64), np.zeros(6)
        whole[[LO, HI, DEPTH, LEFT, FEATURE]] = lo, hi, depth, -1, -2
        other[[WEIGHT, IMPURITY, THRESHOLD, LOW, HIGH]] = W, error / W, -2.0, low, high
        whole[FINAL] = (
            depth >= o["max_depth"]
            or m < max(o["min_split"], 2 * o["min_leaf"])
            or 2.0 * o["min_weight"] > W
            or error / W <= EPSILON
        )
        self.i.append(whole)
        self.f.append(other)
        self.v.append(medians)
        return len(self.i) - 1

    def center(self, rows: Any) -> tuple[Any, float]:
        """The medians of all outputs, and the mean of their sums of absolute errors."""
        w, q = self.w[rows], self.y.shape[1]
        medians, error = np.empty(q), 0.0
        for o in range(q):
            y = self.y[rows, o]
            order = np.argsort(y, kind="stable")
            upto = np.cumsum(w[order])
            half = 0.5 * upto[-1]
            k, j = np.searchsorted(upto, half, "left"), np.searchsorted(upto, half, "right")
            medians[o] = 0.5 * (y[order[k]] + y[order[min(j, len(y) - 1)]])
            error += float((w * np.abs(y - medians[o])).sum())
        return medians, error / q

    def search(self, k: int) -> None:
        """The best split of node k, by columns drawn as `core/nodes.py` draws them."""
        whole, other, o = self.i[k], self.f[k], self.options
        rows = self.rows[whole[LO] : whole[HI]]
        known, found, drawn, seen, end = whole[CONSTANT], 0, 0, 0, len(self.features)
        features, kept = self.features, self.features[: whole[CONSTANT]].copy()
        best = -np.inf
        while end > known + found and (seen < o["max_features"] or seen <= found + drawn):
            seen += 1
            j = drawn + draw(self.state) % (end - found - drawn)
            if j < known:
                features[[drawn, j]] = features[[j, drawn]]
                drawn += 1
                continue
            j += found
            f = features[j]
            split = self.weigh(f, rows, other, best)
            if split is None:
                features[[j, known + found]] = features[[known + found, j]]
                found += 1
                continue
            end -= 1
            features[[end, j]] = features[[j, end]]
            if split[0] > best:
                best = split[0]
                whole[FEATURE], whole[MISSING_LEFT], other[THRESHOLD] = f, split[2], split[1]
        features[:known] = kept
        whole[CONSTANT] = 0 if o["max_leaves"] > 0 else known + found
        other[GAIN] = (other[WEIGHT] * other[IMPURITY] + best) / self.total
        if best == -np.inf or other[GAIN] + EPSILON < o["min_gain"]:
            whole[FINAL], other[GAIN] = 1, 0.0

    def weigh(self, f: int, rows: Any, other: Any, best: float) -> tuple[float, float, int] | None:
        """(worth, threshold, missing left) of the best split of column f; None if constant."""
        o, x = self.options, self.X[f, rows]
        order = np.argsort(x, kind="stable")
        missing = int(np.isnan(x).sum())
        m, valid = len(x), len(x) - missing
        if valid == 0 or (missing == 0 and x[order[0]] == x[order[-1]]):
            return None
        found = (-np.inf, 0.0, 0)
        if o["random"]:
            least, most = x[order[0]], x[order[valid - 1]]
            threshold = draw_between(self.state, least, most)
            sides = [draw(self.state) % 2 if missing else 0]
        else:
            sides = [0, 1] if missing else [0]
        for side in sides:
            if side == 1:
                order = np.concatenate([order[valid:], order[:valid]])
            v = x[order]
            ends = np.flatnonzero(v[1:] != v[:-1]) + 1  # rows left; NaN differs from NaN
            first, last = (missing + 1, m - 1) if side else (1, valid if missing else m - 1)
            ends = ends[
                (ends >= max(first, o["min_leaf"])) & (ends <= min(last, m - o["min_leaf"]))
            ]
            if o["random"]:
                cut = int((v <= threshold).sum()) + side * missing
                ends = np.array([cut]) if o["min_leaf"] <= cut <= m - o["min_leaf"] else ends[:0]
            worth, weights = self.errors(f, rows[order], ends, other)
            good = (weights >= o["min_weight"]) & (other[WEIGHT] - weights >= o["min_weight"])
            if not (good & (worth > max(found[0], best))).any():
                continue
            j = np.where(good, worth, -np.inf).argmax()
            n_left = int(ends[j])
            if not o["random"]:
                threshold = np.inf
                if not np.isnan(v[n_left]):
                    a, b = v[n_left - 1], v[n_left]
                    threshold = a / 2.0 + b / 2.0
                    threshold = a if threshold >= b else threshold
            left = side if missing else int(n_left > m - n_left)
            found = (float(worth[j]), float(threshold), left)
        return found

    def errors(self, f: int, rows: Any, ends: Any, other: Any) -> tuple[Any, Any]:
        """−(errors left + errors right) and the weight left, if `ends` rows go left."""
        w, q, m = self.w[rows], self.y.shape[1], len(rows)
        left, right, a, b = np.zeros(m), np.zeros(m), np.empty(m), np.empty(m)
        for o in range(q):
            y = self.y[rows, o]
            order = np.argsort(y, kind="stable")
            place = np.empty(m, np.int64)
            place[order] = np.arange(m)
            prefix_errors(place, y[order], w, left, a)
            prefix_errors(place[::-1].copy(), y[order], w[::-1].copy(), right, b)
        W_L = np.cumsum(w)[ends - 1]
        W_R = other[WEIGHT] - W_L
        worth = -W_R * (right[m - ends - 1] / (W_R * q)) - W_L * (left[ends - 1] / (W_L * q))
        sign = 0 if self.signs is None else self.signs[f]
        if sign != 0:
            lower, upper = a[ends - 1], b[m - ends - 1]
            inside = (np.minimum(lower, upper) >= other[LOW]) & (
                np.maximum(lower, upper) <= other[HIGH]
            )
            worth[~inside | ((lower - upper) * sign > 0.0)] = -np.inf
        return worth, W_L

    def split(self, k: int) -> tuple[int, int]:
        """Part the rows of node k and add its children."""
        whole, other = self.i[k], self.f[k]
        lo, hi, f = whole[LO], whole[HI], whole[FEATURE]
        rows = self.rows[lo:hi].copy()
        x = self.X[f, rows]
        left = (x <= other[THRESHOLD]) | (np.isnan(x) & bool(whole[MISSING_LEFT]))
        self.rows[lo:hi] = np.concatenate([rows[left], rows[~left]])
        middle = lo + int(left.sum())
        low, high = other[LOW], other[HIGH]
        bounds = [(low, high), (low, high)]
        sign = 0 if self.signs is None else self.signs[f]
        if sign != 0:
            medians = [self.center(part)[0][0] for part in (rows[left], rows[~left])]
            between = sum(medians) / 2.0
            bounds = [(low, between), (between, high)]
            bounds = bounds if sign > 0 else bounds[::-1]
        children = [
            self.add(a, b, whole[DEPTH] + 1, *bound)
            for (a, b), bound in zip([(lo, middle), (middle, hi)], bounds, strict=True)
        ]
        whole[LEFT] = children[0]
        for child in children:
            self.i[child][CONSTANT] = whole[CONSTANT]
        return children[0], children[1]


def grow_by_medians(
    columns: Any, y: Any, w: Any, rows: Any, signs: Any, options: dict[str, Any]
) -> Any:
    """Grow a tree: the tables of `grow_nodes`."""
    g = Grower(columns, y, w, rows, signs, options)
    fresh = [g.add(0, len(rows), 0, -np.inf, np.inf)]
    heap: list[Any] = []
    left_over, best_first = options["max_leaves"] - 1, options["max_leaves"] > 0
    while fresh or heap:
        if best_first:
            for k in fresh:
                if not g.i[k][FINAL]:
                    g.search(k)
                heapq.heappush(heap, (-g.f[k][GAIN], k))
            k, fresh = heapq.heappop(heap)[1], []
        else:
            k = fresh.pop()
            if not g.i[k][FINAL]:
                g.search(k)
        if g.i[k][FINAL] or (best_first and left_over <= 0):
            g.i[k][FEATURE], g.f[k][THRESHOLD] = -2, -2.0
            continue
        left_over -= 1
        left, right = g.split(k)
        fresh += [left, right] if best_first else [right, left]
    return np.array(g.i), np.array(g.f), np.array(g.v), None, len(g.i)
