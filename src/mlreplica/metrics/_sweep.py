r"""One sort, one walk: the counts of true and false positives at every threshold

(Equations (1) to (4) are those of the confusion matrix, in `_confusion.py`.)

A score s calls positive what lies at or above a threshold. Let the threshold fall: each sample it
passes adds its weight to the true or to the false positives,

    tp(θ) = Σ_{y=1, s≥θ} w,      fp(θ) = Σ_{y=0, s≥θ} w                        (5)

so one sort and one walk give the confusion matrix at every threshold.

Without weights nothing but the two sorted lists of scores enters (5), so the classes are sorted
apart, without any payload and on two threads, and merged in the walk.
"""

from __future__ import annotations

import numpy as np

from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import run

from ._inputs import LARGE


@kernel
def part(y, s, positive, negative):
    """Scores of the two classes apart, free of branches: both lists have a place to spare."""
    a = b = 0
    for i in range(len(s)):
        positive[a] = negative[b] = s[i]
        up = np.int64(y[i])
        a += up
        b += 1 - up
    return a


@kernel
def walk(positive, negative, corners, fps, tps, thresholds):
    """Equation (5) at each distinct score, from above, of two ascending lists.

    With `corners`, a point in line with its neighbours (equal steps before and after) is dropped.
    Returns the number of points.
    """
    P, N, m = len(positive), len(negative), 0
    a, b, step_a, step_b = P, N, -1, -1
    while a + b > 0:
        if b == 0 or (a > 0 and positive[a - 1] > negative[b - 1]):
            score = positive[a - 1]
        else:
            score = negative[b - 1]
        a_old, b_old = a, b
        while a > 0 and positive[a - 1] == score:
            a -= 1
        while b > 0 and negative[b - 1] == score:
            b -= 1
        if corners and m > 1 and a_old - a == step_a and b_old - b == step_b:
            m -= 1
        step_a, step_b = a_old - a, b_old - b
        fps[m], tps[m], thresholds[m] = N - b, P - a, score
        m += 1
    return m


@kernel
def twice_area(positive, negative):
    """2·P·N·AUC, exactly: equation (7) in whole numbers, of two ascending lists."""
    a, b, area = 0, 0, 0
    while a < len(positive):
        score, a_old = positive[a], a
        while a < len(positive) and positive[a] == score:
            a += 1
        while b < len(negative) and negative[b] < score:
            b += 1
        tied = b
        while tied < len(negative) and negative[tied] == score:
            tied += 1
        area += (a - a_old) * (b + tied)
    return area


@kernel
def radix_order(bits, order, key, order_too, key_too):
    """Indices that sort float64 `bits` from above: stable passes over 11 bits of an ordered key.

    The key's order is the floats' order reversed. A pass over bits that are all alike is left out.
    Returns how many passes moved the data: the result is in `order` if that is even.
    """
    n, moves = len(bits), 0
    count = np.zeros((6, 2048), np.int64)
    for i in range(n):
        u = np.uint64(bits[i])
        if bits[i] >= 0:
            u = ~(u | np.uint64(1 << 63))
        key[i], order[i] = u, i
        for d in range(6):
            count[d, (u >> np.uint64(11 * d)) & np.uint64(2047)] += 1
    for d in range(6):
        shift, start = np.uint64(11 * d), 0
        if count[d, (key[0] >> shift) & np.uint64(2047)] == n:
            continue
        for digit in range(2048):
            count[d, digit], start = start, start + count[d, digit]
        for i in range(n):
            digit = (key[i] >> shift) & np.uint64(2047)
            to = count[d, digit]
            key_too[to], order_too[to] = key[i], order[i]
            count[d, digit] = to + 1
        key, key_too, order, order_too = key_too, key, order_too, order
        moves += 1
    return moves


@kernel
def walk_in_order(order, y, s, w, fps, tps, thresholds):
    """Equation (5) with weights at each distinct score, in the order given."""
    fp, tp, m = 0.0, 0.0, 0
    for i in range(len(order)):
        j = order[i]
        if y[j]:
            tp += w[j]
        else:
            fp += w[j]
        if i + 1 == len(order) or s[order[i + 1]] != s[j]:
            fps[m], tps[m], thresholds[m] = fp, tp, s[j]
            m += 1
    return m


def twice_area_of_few(positive, negative):
    """The same without a compiler."""
    below, upto = (np.searchsorted(negative, positive, side).sum() for side in ("left", "right"))
    return int(below + upto)


def weighted_sweep(y, s, w):
    """(fps, tps, thresholds) of many weighted samples: a radix sort and a walk."""
    n, y = len(s), np.ascontiguousarray(y)
    s, w = np.ascontiguousarray(s, np.float64), np.ascontiguousarray(w, np.float64)
    order, key, points = np.empty((2, n), np.int64), np.empty((2, n), np.uint64), np.empty((3, n))
    moves = radix_order(s.view(np.int64), order[0], key[0], order[1], key[1])
    return points[:, : walk_in_order(order[moves % 2], y, s, w, *points)]


def classes_apart(y, s):
    """Ascending scores of the positives and of the negatives."""
    if len(s) < LARGE:
        return np.sort(s[y]), np.sort(s[~y])
    positive, negative = np.empty((2, len(s) + 1))
    y, s = np.ascontiguousarray(y), np.ascontiguousarray(s, np.float64)
    P = part(y.view(np.uint8), s, positive, negative)
    lists = positive[:P], negative[: len(s) - P]
    run(np.ndarray.sort, lists)
    return lists


def sweep(y, s, w=None, corners=False):
    """(fps, tps, thresholds): equation (5) at each distinct score, from above."""
    n = len(s)
    if w is None and n >= LARGE:
        points = np.empty((3, n))
        m = walk(*classes_apart(y, s), corners, *points)
        fps, tps, thresholds = points[:, :m]
        return fps, tps, thresholds.astype(s.dtype, copy=False)
    if w is not None and not w.all():  # weight 0 is absence
        y, s, w = y[w != 0], s[w != 0], w[w != 0]
    if len(s) >= LARGE:
        fps, tps, thresholds = weighted_sweep(y, s, w)
        thresholds = thresholds.astype(s.dtype, copy=False)
    else:
        order = np.argsort(s)[::-1]
        s, y = s[order], y[order]
        last = np.append(np.flatnonzero(np.diff(s)), len(s) - 1)
        if w is None:
            tps = np.cumsum(y, dtype=np.float64)[last]
            fps = 1.0 + last - tps
        else:
            w = w[order]
            tps, fps = (np.cumsum(w * side, dtype=np.float64)[last] for side in (y, ~y))
        thresholds = s[last]
    if corners and len(fps) > 2:
        keep = np.ones(len(fps), bool)
        keep[1:-1] = (np.diff(fps, 2) != 0) | (np.diff(tps, 2) != 0)
        return fps[keep], tps[keep], thresholds[keep]
    return fps, tps, thresholds
