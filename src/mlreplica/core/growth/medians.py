"""Medians: growth by the mean absolute error, whose best constant is the median

Along a sorted column every prefix of m rows has its median and its sum of absolute errors. A
Fenwick tree over the order of the targets holds the weights and the sums of w·y that have come so
far, so one more row costs O(log m); the suffixes are the prefixes from the other end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlreplica.core.formulas.sorting import sort_keys

from .columns import RANK, ROW
from .splits import MIN_LEAF, MIN_WEIGHT, allowed, lean

# What the kernels share is packed in a plain tuple:
# medians = (ranks, levels, a, b, count, order, place, tree, error, value): ranks of the targets of
#           every output and how many there are; memory to sort them; by output, the node's rows in
#           the order of their targets, and by row its place there; then weights and moments of the
#           Fenwick tree, and for prefixes and suffixes their errors and medians


@lean
def deviation(order: Any, m: Any, y: Any, w: Any, o: Any, outputs: Any, W: Any) -> Any:
    """(median, Σ w|y − median|) of m rows of weight W, in the order of their targets."""
    upto, low, high, w_row = 0.0, -1, -1, 1.0
    for i in range(m):
        if len(w) > 0:
            w_row = w[order[i]]
        upto += w_row
        if low < 0 and upto >= 0.5 * W:
            low = i
        if high < 0 and upto > 0.5 * W:
            high = i
    if high < 0:
        high = m - 1
    median = 0.5 * (y[order[low] * outputs + o] + y[order[high] * outputs + o])
    error = 0.0
    for i in range(m):
        if len(w) > 0:
            w_row = w[order[i]]
        error += w_row * abs(y[order[i] * outputs + o] - median)
    return median, error


@lean
def center(lo: Any, hi: Any, rows: Any, y: Any, w: Any, V: Any, medians: Any) -> Any:
    """Put the targets of a node in order, their medians in V; return its weight and impurity."""
    ranks, levels, a, b, count, order, place, _, _, _ = medians
    m, outputs, W, error, w_row = hi - lo, len(V), 0.0, 0.0, 1.0
    for i in range(lo, hi):
        if len(w) > 0:
            w_row = w[rows[i]]
        W += w_row
    for o in range(outputs):
        for i in range(m):
            row = np.int64(rows[lo + i])
            a[i] = (np.int64(ranks[o, row]) << RANK) | row
        keys = b if sort_keys(a, b, m, levels[o], count) else a
        for i in range(m):
            order[o, i] = keys[i] & ROW
            place[o, order[o, i]] = i
        V[o], here = deviation(order[o], m, y, w, o, outputs, W)
        error += here
    return W, error / outputs / W


@lean
def add_errors(
    seg: Any, first: Any, step: Any, y: Any, w: Any, o: Any, medians: Any, end: Any
) -> None:
    """Along the rows of seg from `first`, by `step`, round its end: errors and medians so far."""
    order, place, tree = medians[5][o], medians[6][o], medians[7]
    outputs, error, value = len(medians[5]), medians[8][end], medians[9][end]
    m, top, at, w_row = len(seg), 1, first, 1.0
    for k in range(m + 1):
        tree[k, 0] = tree[k, 1] = 0.0
    while 2 * top <= m:
        top *= 2
    W, S = 0.0, 0.0
    for i in range(m):
        row = seg[at] & ROW
        at += step
        if at == m:
            at = 0
        elif at < 0:
            at = m - 1
        y_i = y[row * outputs + o]
        if len(w) > 0:
            w_row = w[row]
        W += w_row
        S += w_row * y_i
        k = place[row] + 1
        while k <= m:
            tree[k, 0] += w_row
            tree[k, 1] += w_row * y_i
            k += k & -k
        low, below, s_below = 0, 0.0, 0.0  # the first row with half of the weight up to it
        high, upto = 0, 0.0  # and the first with more than half
        jump = top
        while jump > 0:
            if low + jump <= m and below + tree[low + jump, 0] < 0.5 * W:
                low += jump
                below += tree[low, 0]
                s_below += tree[low, 1]
            if high + jump <= m and upto + tree[high + jump, 0] <= 0.5 * W:
                high += jump
                upto += tree[high, 0]
            jump >>= 1
        if high == m:
            high = m - 1
        v = y[order[low] * outputs + o]
        error[i] += v * below - s_below + (S - s_below) - v * (W - below)
        value[i] = 0.5 * (v + y[order[high] * outputs + o])


@lean
def weigh_medians(
    seg: Any, m: Any, missing: Any, y: Any, w: Any, T: Any, limits: Any, bounds: Any,
    medians: Any, best: Any,
) -> Any:  # fmt: skip
    """As `weigh`: the best split along one sorted column, the missing right, then left."""
    outputs, error, value = len(medians[5]), medians[8], medians[9]
    total, found, missing_left, least = m + missing, 0, 0, limits[MIN_LEAF]
    for side in range(2 if missing else 1):
        first = m if side else 0  # where the rows that go left begin, round the end of seg
        for i in range(total):
            error[0, i] = error[1, i] = 0.0
        for o in range(outputs):
            for end in range(2):
                start = (first + total - 1) % total if end else first
                add_errors(seg, start, 1 - 2 * end, y, w, o, medians, end)
        t, w_row = 0.0, 1.0
        for i in range(total - 1):
            at = (first + i) % total
            if len(w) > 0:
                w_row = w[seg[at] & ROW]
            t += w_row
            n_left, following = i + 1, (at + 1) % total
            if at >= m and following != 0:  # a part of the missing
                continue
            if (side == 1 and n_left <= missing) or (side == 0 and n_left > m):
                continue
            if n_left < least or total - n_left < least:
                continue
            if following < m and seg[at] >> RANK == seg[following] >> RANK:
                continue
            if t < limits[MIN_WEIGHT] or T - t < limits[MIN_WEIGHT]:
                continue
            j = total - n_left - 1
            if bounds[0] != 0 and not allowed(bounds, value[0, i], value[1, j]):
                continue
            W_L, W_R = t * outputs, (T - t) * outputs
            here = -(T - t) * (error[1, j] / W_R) - t * (error[0, i] / W_L)
            if here > best[0]:
                best[0], found, missing_left = here, n_left - side * missing, side
    return found, missing_left


@lean
def weigh_parts(
    x: Any, threshold: Any, side: Any, lo: Any, hi: Any, rows: Any, y: Any, w: Any, T: Any,
    L: Any, R: Any, medians: Any,
) -> Any:  # fmt: skip
    """What a random threshold is worth; the medians left and right in L and R."""
    order, a, b = medians[5], medians[2], medians[3]
    outputs, left, right, W, w_row = len(order), 0.0, 0.0, 0.0, 1.0
    for o in range(outputs):
        n_left, n_right, W = 0, 0, 0.0
        for i in range(hi - lo):
            row = order[o, i]
            v = x[row]
            if v <= threshold or (side == 1 and np.isnan(v)):
                a[n_left] = row
                n_left += 1
                if len(w) > 0:
                    w_row = w[row]
                W += w_row
            else:
                b[n_right] = row
                n_right += 1
        L[o], error = deviation(a, n_left, y, w, o, outputs, W)
        left += error
        R[o], error = deviation(b, n_right, y, w, o, outputs, T - W)
        right += error
    return -(T - W) * (right / ((T - W) * outputs)) - W * (left / (W * outputs))
