r"""Trees of a forest: the grower for the plain case, made for deep trees and few columns a node

A forest's tree is deep, and most of its nodes are small, so what it waits for is memory. Here

    targets and weights     move with their rows when a node is split: a node reads them in a line;
                            a class and its weight, drawn so many times, are one byte of a key
    ranks and values        are read by columns in large nodes, where neighbours lie side by side,
                            and by rows in small ones, whose few rows then stay in the cache for all
                            their descendants (depth first) whatever columns those draw
    a few keys              are sorted by counting, for each, how many are less: m² comparisons in
                            SIMD, without the wrong guesses that any sort makes
    many keys of two classes are not sorted: they are counted in buckets, and only buckets that may
                            hold the best split are looked into (`promising`)
    indices                 are unsigned, as each would else be asked whether it counts from the end

Splits, their worth and the draws are those of `core/grow.py`, which grows all other trees: with
missing values, several targets, entropy, constraints, or the best leaves first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mlreplica.core.draws import draw, draw_between
from mlreplica.core.splits import CLOSE, EPSILON, GINI, SQUARED, impurity, strict, worth
from mlreplica.core.tree import Tree

LARGE = 4096  # rows from which a node reads columns
SMALL, FEW = 24, 256  # keys that are compared two by two, or sorted by short digits
FEATURE, LEFT, RIGHT, ROWS = range(4)  # whole numbers of a node
THRESHOLD, WEIGHT, IMPURITY = range(3)  # its other numbers, before the weights of classes or a sum
LO, HI, DEPTH, CONSTANT, PARENT, SIDE = range(6)  # what waits on the stack
LOAD, PLACE = 8, 32  # bits of a key below the rank
LOADS, PLACES = (1 << LOAD) - 1, (1 << PLACE) - 1
MANY, EACH, BUCKETS = 256, 4, 2048  # keys counted in buckets; of so many each; the most buckets
HALF, LOW = 32, (1 << 32) - 1  # of a bucket's word: weight, and below it the weight of class 1
U = np.uint64


class Data(NamedTuple):
    """X and the ranks of its values, by columns and by rows; random thresholds need no ranks."""

    X: Any  # (p, n)
    X_rows: Any  # (n, p)
    ranks: Any  # (p, n)
    ranks_rows: Any  # (n, p)
    levels: Any  # (p,)


class Given(NamedTuple):
    """Rows in the order of the nodes, with what is theirs."""

    rows: Any  # uint32
    load: Any  # classes: weight << class_bits | class, uint8
    w: Any  # regression: weights
    y: Any  # and targets


class Limits(NamedTuple):
    """What to search, and when to stop."""

    classes: int  # 0: regression
    class_bits: int
    random: bool
    max_features: int
    max_depth: int
    min_split: int
    min_leaf: int
    min_weight: float
    min_gain: float
    total: float  # weight of all rows


class Work(NamedTuple):
    """Memory of one tree's growth."""

    features: Any
    constant: Any
    state: Any  # of the random numbers
    best: Any
    L: Any
    R: Any
    ranks: Any
    loaded: Any  # two rows of keys rank << 8 | load, uint32
    placed: Any  # two rows of keys rank << 32 | place, uint64
    x: Any
    count: Any
    buckets: Any  # int64
    open: Any  # of each bucket, uint8: whether the best split may be in it


@strict
def place(a: Any, b: Any) -> None:
    """Put the few keys of a in order into b: each goes where so many are before it."""
    for i in range(len(a)):
        v, before = a[i], 0
        for j in range(i):
            before += a[j] <= v
        for j in range(i + 1, len(a)):
            before += a[j] < v
        b[U(before)] = v


@strict
def digits(m: int, levels: int) -> Any:
    """How m ranks up to `levels` are sorted: (passes, bits a pass)."""
    bits = 1
    while levels >> bits:
        bits += 1
    digit = 9 if m > FEW else 6
    passes = (bits + digit - 1) // digit
    return passes, (bits + passes - 1) // passes


@strict
def spread(a: Any, b: Any, low: int, passes: int, digit: int, count: Any) -> Any:
    """Sort the keys of a by the digits above bit `low`, counted already; the result is a or b."""
    size, mask = 1 << digit, U((1 << digit) - 1)
    for step in range(passes):
        here, shift = count[step * size : (step + 1) * size], U(low + step * digit)
        total = 0
        for k in range(size):
            c = here[k]
            here[k] = total
            total += c
        for i in range(len(a)):
            v = a[i]
            k = (U(v) >> shift) & mask
            b[U(here[k])] = v
            here[k] += 1
        a, b = b, a
    return a


@strict
def gather_ranks(data: Any, f: int, rows: Any, ranks: Any) -> Any:
    """The ranks of some rows in column f: the least and the largest."""
    least, most = np.int32(2147483647), np.int32(-1)
    if len(rows) >= LARGE:
        whole = data.ranks[f]
        for i in range(len(rows)):
            ranks[i] = whole[rows[i]]
    else:
        column = U(f)
        for i in range(len(rows)):
            ranks[i] = data.ranks_rows[rows[i], column]
    for i in range(len(rows)):
        least, most = min(least, ranks[i]), max(most, ranks[i])
    return least, most


@strict
def order(ranks: Any, low: int, levels: int, a: Any, b: Any, count: Any) -> Any:
    """The keys a, with ranks above bit `low`, in order; in a or b."""
    m = len(ranks)
    if m <= SMALL:
        place(a, b)
        return b
    passes, digit = digits(m, levels)
    size, mask = U(1 << digit), U((1 << digit) - 1)
    for k in range(passes << digit):
        count[k] = 0
    if passes == 2:
        for i in range(m):
            rank = U(ranks[i])
            count[rank & mask] += 1
            count[size + (rank >> U(digit))] += 1
    else:
        for i in range(m):
            rank = U(ranks[i])
            for step in range(passes):
                count[U(step) * size + (rank & mask)] += 1
                rank >>= U(digit)
    return spread(a, b, low, passes, digit, count)


@strict
def better_pair(t: int, s: int, a: float, S: float, T: float, limits: Any, work: Any) -> Any:
    """Weigh a split of two classes exactly, with weights t and s (class 1) left; keep the best."""
    L, R, best = work.L, work.R, work.best
    left, right = np.float64(t), T - np.float64(t)
    if left < limits.min_weight or right < limits.min_weight:
        return False
    L[1], R[1] = np.float64(s), S - np.float64(s)
    L[0], R[0] = left - L[1], right - R[1]
    value = worth(GINI, L, R, left, right, 1)
    if value <= best[0]:
        return False
    best[0], best[1] = value, a * a / (T * (left * right))
    return True


@strict
def scan_pair(seg: Any, S: float, T: float, limits: Any, work: Any) -> int:
    """The best split along sorted keys of two classes by (2) of `splits`: rows left, or 0."""
    m, best = len(seg), work.best
    found, s, t, total, ones = 0, 0, 0, np.int64(T), np.int64(S)
    bound = best[1] * T - CLOSE * T * abs(best[0])
    for i in range(m - 1):
        key = np.int64(seg[i])
        w_i = (key & LOADS) >> 1
        t += w_i
        s += w_i & -(key & 1)
        a = np.float64(s * total - ones * t)
        if a * a >= bound * np.float64(t * (total - t)):
            if np.int64(seg[i + 1]) >> LOAD == key >> LOAD or i + 1 < limits.min_leaf:
                continue
            if m - i - 1 >= limits.min_leaf and better_pair(t, s, a, S, T, limits, work):
                found, bound = i + 1, best[1] * T - CLOSE * T * abs(best[0])
    return found


@strict
def promising(ranks: Any, load: Any, least: int, shift: int, S: float, T: float, work: Any) -> None:
    """Count two classes in buckets of ranks, and open those that may hold the best split.

    With z and s the weights of the classes on the left, what a split is worth by (2) of `splits`,
    a²/(t(T − t)) with t = z + s and a = sT − St, is convex in (z, s). Within a bucket both only
    grow, from (z₀, s₀) to (z₁, s₁), hence it is largest in a corner of that rectangle. A bucket
    stays closed if all corners are below the best split between two buckets, or of other columns.
    """
    buckets, opened = work.buckets, work.open
    count = ((np.int64(np.max(ranks)) - least) >> shift) + 1
    for b in range(count):
        buckets[b] = 0
    for i in range(len(ranks)):
        one = np.int64(load[i])
        w_i = one >> 1
        buckets[U((ranks[i] - least) >> shift)] += (w_i << HALF) + (w_i & -(one & 1))
    before, top = np.int64(0), work.best[1] * T
    for b in range(count):  # the weights before each bucket, and the best split between two
        inside = buckets[b]
        buckets[b] = before
        before += inside
        t, s = np.float64(before >> HALF), np.float64(before & LOW)
        a, width = s * T - S * t, t * (T - t)
        if a * a > top * width:
            top = a * a / width if width > 0.0 else top
    buckets[count] = before
    floor = top - 2.0 * CLOSE * T * T
    for b in range(count):
        t, s = np.float64(buckets[b] >> HALF), np.float64(buckets[b] & LOW)
        t_end, s_end = np.float64(buckets[b + 1] >> HALF), np.float64(buckets[b + 1] & LOW)
        t_1, t_0 = t + (s_end - s), t_end - (s_end - s)  # one class only
        a, a_end = s * T - S * t, s_end * T - S * t_end
        a_1, a_0 = s_end * T - S * t_1, s * T - S * t_0
        opened[b] = (
            (a * a >= floor * (t * (T - t)))
            | (a_end * a_end >= floor * (t_end * (T - t_end)))
            | (a_1 * a_1 >= floor * (t_1 * (T - t_1)))
            | (a_0 * a_0 >= floor * (t_0 * (T - t_0)))
        )


@strict
def scan_buckets(
    seg: Any, least: int, shift: int, S: float, T: float, limits: Any, work: Any
) -> int:
    """`scan_pair` along the sorted keys of the open buckets: keys before the best split, or 0.

    The best split of all is not below the floor, so that the buckets on both sides are open.
    """
    buckets, best = work.buckets, work.best
    found, s, t, total, ones, last = 0, 0, 0, np.int64(T), np.int64(S), -1
    bound = best[1] * T - CLOSE * T * abs(best[0])
    for i in range(len(seg) - 1):
        key = np.int64(seg[i])
        b = ((key >> LOAD) - least) >> shift
        if b != last:
            t, s, last = buckets[U(b)] >> HALF, buckets[U(b)] & LOW, b
        w_i = (key & LOADS) >> 1
        t += w_i
        s += w_i & -(key & 1)
        a = np.float64(s * total - ones * t)
        if a * a >= bound * np.float64(t * (total - t)):
            if np.int64(seg[i + 1]) >> LOAD == key >> LOAD:
                continue
            if better_pair(t, s, a, S, T, limits, work):
                found, bound = i + 1, best[1] * T - CLOSE * T * abs(best[0])
    return found


@strict
def scan_classes(seg: Any, S: Any, T: float, limits: Any, work: Any) -> int:
    """The same by Gini's impurity of several classes, O(1) a row."""
    m, best, L, R = len(seg), work.best, work.L, work.R
    left, right, found, t = 0.0, 0.0, 0, 0.0  # Σ L², Σ R²
    for k in range(len(L)):
        L[k], R[k] = 0.0, S[k]
        right += S[k] * S[k]
    slack = CLOSE * T * (1.0 + abs(np.log(T)))
    bound = best[0] + T - slack
    shift, mask = U(limits.class_bits), U((1 << limits.class_bits) - 1)
    for i in range(m - 1):
        key = U(seg[i])
        c, w_i = key & mask, np.float64((key & U(LOADS)) >> shift)
        l, r = L[c], R[c]
        L[c], R[c] = l + w_i, r - w_i
        t += w_i
        left += w_i * (l + l + w_i)
        right -= w_i * (r + r - w_i)
        if left * (T - t) + right * t >= bound * (t * (T - t)):
            if U(seg[i + 1]) >> U(LOAD) == key >> U(LOAD) or i + 1 < limits.min_leaf:
                continue
            if m - i - 1 < limits.min_leaf or t < limits.min_weight or T - t < limits.min_weight:
                continue
            value = worth(GINI, L, R, t, T - t, 1)
            if value > best[0]:
                best[0], found = value, i + 1
                bound = value + T - slack
    return found


@strict
def scan_sums(seg: Any, w: Any, y: Any, S: float, T: float, limits: Any, work: Any) -> int:
    """The same along keys that end in the place of a row, for numbers y with weights w."""
    m, best, L, R = len(seg), work.best, work.L, work.R
    found, s, t = 0, 0.0, 0.0
    bound = best[1] * T - CLOSE * T * abs(best[0])
    for i in range(m - 1):
        key = seg[i]
        k = key & U(PLACES)
        s += w[k] * y[k]
        t += w[k]
        a = s * T - S * t
        if a * a >= bound * (t * (T - t)):
            if seg[i + 1] >> U(PLACE) == key >> U(PLACE) or i + 1 < limits.min_leaf:
                continue
            if m - i - 1 < limits.min_leaf or t < limits.min_weight or T - t < limits.min_weight:
                continue
            L[0], R[0] = s, S - s
            value = worth(SQUARED, L, R, t, T - t, 1)
            if value > best[0]:
                best[0], best[1], found = value, a * a / (T * t * (T - t)), i + 1
                bound = best[1] * T - CLOSE * T * abs(value)
    return found


@strict
def try_random(x: Any, given: Any, S: Any, T: float, limits: Any, work: Any) -> Any:
    """One random threshold on the values x: (constant, better, threshold)."""
    least, most = x[0], x[0]
    for i in range(len(x)):
        least, most = min(least, x[i]), max(most, x[i])
    if least == most:
        return True, False, 0.0
    threshold = draw_between(work.state, least, most)
    L, R = work.L, work.R
    t, n_left = 0.0, 0
    for k in range(len(S)):
        L[k] = 0.0
    if limits.classes:
        bits, mask = limits.class_bits, (1 << limits.class_bits) - 1
        for i in range(len(x)):
            left = x[i] <= threshold
            side = np.float64(left) * np.float64(given.load[i] >> bits)
            n_left += left
            t += side
            L[U(given.load[i] & mask)] += side
    else:
        s = 0.0
        for i in range(len(x)):
            left = x[i] <= threshold
            side = np.float64(left) * given.w[i]
            n_left += left
            t += side
            s += side * given.y[i]
        L[0] = s
    for k in range(len(S)):
        R[k] = S[k] - L[k]
    if n_left < limits.min_leaf or len(x) - n_left < limits.min_leaf:
        return False, False, 0.0
    if t < limits.min_weight or T - t < limits.min_weight:
        return False, False, 0.0
    value = worth(GINI if limits.classes else SQUARED, L, R, t, T - t, 1)
    better = value > work.best[0]
    if better:
        work.best[0] = value
    return False, better, threshold


@strict
def try_best(data: Any, f: int, given: Any, S: Any, T: float, limits: Any, work: Any) -> Any:
    """The best threshold on column f, between two ranks: (constant, better, rank, next rank)."""
    rows, m = given.rows, len(given.rows)
    ranks = work.ranks[:m]
    least, most = gather_ranks(data, f, rows, ranks)
    if least == most:
        return True, False, 0, 0
    if limits.classes:
        a, b = work.loaded[0, :m], work.loaded[1, :m]
        if limits.classes == 2 and m >= MANY and limits.min_leaf <= 1 and limits.min_weight <= 0.0:
            shift = 0
            while (most - least) >> shift >= min(BUCKETS, m // EACH):
                shift += 1
            promising(ranks, given.load, least, shift, S[1], T, work)
            k = 0
            for i in range(m):
                rank = ranks[i]
                a[k] = (np.uint32(rank) << np.uint32(LOAD)) | np.uint32(given.load[i])
                ranks[k] = rank
                k += work.open[U((rank - least) >> shift)]
            seg = order(ranks[:k], LOAD, most, a[:k], b[:k], work.count)
            n_left = scan_buckets(seg, least, shift, S[1], T, limits, work)
            if n_left == 0:
                return False, False, 0, 0
            return False, True, np.int64(seg[n_left - 1]) >> LOAD, np.int64(seg[n_left]) >> LOAD
        for i in range(m):
            a[i] = (np.uint32(ranks[i]) << np.uint32(LOAD)) | np.uint32(given.load[i])
        seg = order(ranks, LOAD, most, a, b, work.count)
        if limits.classes == 2:
            n_left = scan_pair(seg, S[1], T, limits, work)
        else:
            n_left = scan_classes(seg, S, T, limits, work)
        if n_left == 0:
            return False, False, 0, 0
        return False, True, np.int64(seg[n_left - 1]) >> LOAD, np.int64(seg[n_left]) >> LOAD
    a_place, b_place = work.placed[0, :m], work.placed[1, :m]
    for i in range(m):
        a_place[i] = (U(ranks[i]) << U(PLACE)) | U(i)
    found = order(ranks, PLACE, most, a_place, b_place, work.count)
    n_left = scan_sums(found, given.w, given.y, S[0], T, limits, work)
    if n_left == 0:
        return False, False, 0, 0
    return False, True, np.int64(found[n_left - 1] >> U(PLACE)), np.int64(found[n_left] >> U(PLACE))


@strict
def between(data: Any, f: int, rows: Any, low: int, high: int) -> float:
    """The middle between the values of column f that have these ranks in some of the rows."""
    column, i, j = U(f), U(0), U(0)
    ranks = data.ranks_rows
    while ranks[rows[i], column] != low:
        i += U(1)
    while ranks[rows[j], column] != high:
        j += U(1)
    a, b = data.X_rows[rows[i], column], data.X_rows[rows[j], column]
    threshold = a / 2.0 + b / 2.0
    return a if threshold >= b else threshold  # neighbours among floats


@strict
def partition(x: Any, threshold: float, given: Any, spare: Any) -> int:
    """Rows with x ≤ threshold to the front, with all that is theirs; return how many."""
    a, b = U(0), U(0)
    rows, load, w, y = given.rows, given.load, given.w, given.y
    if len(load):
        for i in range(len(x)):
            left, row, one = U(x[i] <= threshold), rows[i], load[i]
            rows[a], load[a] = row, one
            spare.rows[b], spare.load[b] = row, one
            a += left
            b += U(1) - left
    else:
        for i in range(len(x)):
            left, row, w_i, y_i = U(x[i] <= threshold), rows[i], w[i], y[i]
            rows[a], w[a], y[a] = row, w_i, y_i
            spare.rows[b], spare.w[b], spare.y[b] = row, w_i, y_i
            a += left
            b += U(1) - left
    middle = np.int64(a)
    for i in range(len(x) - middle):
        rows[middle + i] = spare.rows[i]
    for i in range(middle, len(load)):
        load[i] = spare.load[i - middle]
    for i in range(middle, len(y)):
        w[i], y[i] = spare.w[i - middle], spare.y[i - middle]
    return middle


@strict
def part(given: Any, lo: int, hi: int) -> Any:
    """The rows lo:hi and what is theirs."""
    return Given(given.rows[lo:hi], given.load[lo:hi], given.w[lo:hi], given.y[lo:hi])


@strict
def values_of(data: Any, f: int, rows: Any, x: Any) -> None:
    """x_i ← X[rows_i, f]"""
    column = U(f)
    if len(rows) >= LARGE:
        whole = data.X[f]
        for i in range(len(rows)):
            x[i] = whole[rows[i]]
    else:
        for i in range(len(rows)):
            x[i] = data.X_rows[rows[i], column]


@strict
def describe(given: Any, limits: Any, S: Any) -> Any:
    """Statistics S of a node; its weight and Σ w y²."""
    W, second, s = 0.0, 0.0, 0.0
    for c in range(len(S)):
        S[c] = 0.0
    if limits.classes:
        bits, mask = limits.class_bits, (1 << limits.class_bits) - 1
        if limits.classes == 2:
            both, ones = 0, 0
            for i in range(len(given.load)):
                one = np.int64(given.load[i])
                both += one >> 1
                ones += (one >> 1) & -(one & 1)
            S[0], S[1] = np.float64(both - ones), np.float64(ones)
        else:
            for i in range(len(given.load)):
                S[U(given.load[i] & mask)] += np.float64(given.load[i] >> bits)
        for c in range(len(S)):
            W += S[c]
    else:
        for i in range(len(given.y)):
            wy = given.w[i] * given.y[i]
            W += given.w[i]
            s += wy
            second += wy * given.y[i]
        S[0] = s
    return W, second


@strict
def grow_plain(data: Any, whole: Any, spare: Any, limits: Any, state: Any) -> Any:
    """Grow a tree depth first: (whole numbers, other numbers) of its nodes, in that order."""
    n, p = len(whole.rows), len(data.X)
    K = max(limits.classes, 1)
    node_i, node_f = np.empty((64, 4), np.int64), np.empty((64, 3 + K))
    stack = np.empty((64, 6), np.int64)
    sorting = 0 if limits.random else n
    work = Work(
        np.arange(p), np.zeros(p, np.int64), state, np.empty(2), np.empty(K), np.empty(K),
        np.empty(sorting, np.int32), np.empty((2, sorting if limits.classes else 0), np.uint32),
        np.empty((2, 0 if limits.classes else sorting), np.uint64), np.empty(n),
        np.empty(6 * 512, np.int64), np.empty(BUCKETS + 1, np.int64), np.empty(BUCKETS, np.uint8),
    )  # fmt: skip
    features, constant, best = work.features, work.constant, work.best
    criterion = GINI if limits.classes else SQUARED
    stack[0, LO], stack[0, HI], stack[0, DEPTH] = 0, n, 0
    stack[0, CONSTANT], stack[0, PARENT], stack[0, SIDE] = 0, -1, 0
    waiting, born = 1, 0
    while waiting > 0:
        waiting -= 1
        lo, hi, depth = stack[waiting, LO], stack[waiting, HI], stack[waiting, DEPTH]
        known, parent, side = stack[waiting, CONSTANT], stack[waiting, PARENT], stack[waiting, SIDE]
        if born == len(node_i):
            node_i, node_f = longer(node_i), longer(node_f)
        k = born
        born += 1
        if parent >= 0:
            node_i[parent, side] = k
        m, S, given, x = hi - lo, node_f[k, 3:], part(whole, lo, hi), work.x[: hi - lo]
        W, second = describe(given, limits, S)
        node_i[k, FEATURE], node_i[k, LEFT], node_i[k, RIGHT], node_i[k, ROWS] = -2, -1, -1, m
        node_f[k, WEIGHT], node_f[k, THRESHOLD] = W, -2.0
        node_f[k, IMPURITY] = impurity(criterion, S, W, second, 1)
        final = depth >= limits.max_depth or m < limits.min_split or m < 2 * limits.min_leaf
        if final or limits.min_weight + limits.min_weight > W or node_f[k, IMPURITY] <= EPSILON:
            continue

        best[0], best[1], feature, cut = -np.inf, 0.0, -1, 0.0
        low, high = 0, 0  # ranks that the best threshold is between
        drawn, found, seen, end = 0, 0, 0, p  # constants drawn, found now; columns looked at
        while end > known + found and (seen < limits.max_features or seen <= found + drawn):
            seen += 1
            j = drawn + draw(state) % (end - found - drawn)
            if j < known:
                features[drawn], features[j] = features[j], features[drawn]
                drawn += 1
                continue
            j += found
            f = features[j]
            threshold, a, b = 0.0, 0, 0
            if limits.random:
                values_of(data, f, given.rows, x)
                is_constant, better, threshold = try_random(x, given, S, W, limits, work)
            else:
                is_constant, better, a, b = try_best(data, f, given, S, W, limits, work)
            if is_constant:
                features[j], features[known + found] = features[known + found], f
                found += 1
                continue
            end -= 1
            features[end], features[j] = features[j], features[end]
            if better:
                feature, cut, low, high = f, threshold, a, b
        for j in range(known):
            features[j] = constant[j]
        for j in range(known, known + found):
            constant[j] = features[j]
        gain = W * node_f[k, IMPURITY] + best[0] if limits.classes else best[0] - S[0] * S[0] / W
        if feature < 0 or gain / limits.total + EPSILON < limits.min_gain:
            continue
        if not limits.random:
            cut = between(data, feature, given.rows, low, high)
        values_of(data, feature, given.rows, x)
        middle = lo + partition(x, cut, given, spare)
        node_i[k, FEATURE], node_f[k, THRESHOLD] = feature, cut
        if waiting + 2 > len(stack):
            stack = longer(stack)
        for step in range(2):  # left comes next: on top
            right = step == 0
            stack[waiting, LO] = middle if right else lo
            stack[waiting, HI] = hi if right else middle
            stack[waiting, DEPTH], stack[waiting, CONSTANT] = depth + 1, known + found
            stack[waiting, PARENT], stack[waiting, SIDE] = k, RIGHT if right else LEFT
            waiting += 1
    return node_i[:born], node_f[:born]


@strict
def longer(a: Any) -> Any:
    """The same with room for as many rows again."""
    out = np.empty((2 * a.shape[0], a.shape[1]), a.dtype)
    out[: a.shape[0]] = a
    return out


def plain_data(columns: Any, X: Any, random: bool) -> Data:
    """What all trees of a forest read."""
    none = np.empty((0, 0), np.int32)
    ranks = none if random else columns.ranks
    by_rows = none if random else np.ascontiguousarray(ranks.T)
    X_rows = np.ascontiguousarray(X, dtype=np.float64)
    return Data(columns.X, X_rows, ranks, by_rows, columns.levels)


def packable(y: Any, weights: Any, n_classes: int, levels: Any) -> bool:
    """Whether every class with its weight fits a byte, and every rank the rest of a key."""
    bits = (n_classes - 1).bit_length()
    most = 1.0 if weights is None else weights.max()
    whole = weights is None or bool((weights == np.floor(weights)).all())
    return whole and most * (1 << bits) + n_classes <= LOADS and int(levels.max()) < 1 << 24


def plain_tree(data: Data, y: Any, weight: Any, n_classes: int, random: bool, options: Any) -> Tree:
    """Grow one tree; y: float64 numbers or uint8 classes; options as those of `core.grow.grow`."""
    rows = np.arange(len(y)) if weight is None else np.flatnonzero(weight)
    w = np.ones(len(y)) if weight is None else weight[rows]
    bits, none, total = (max(n_classes, 1) - 1).bit_length(), np.empty(0), float(w.sum())
    y, load = y[rows], np.empty(0, np.uint8)
    if n_classes:
        load, w, y = (w.astype(np.uint8) << bits) | y, none, none
    given = Given(rows.astype(np.uint32), load, w, y)
    max_depth = options["max_depth"]
    limits = Limits(
        n_classes,
        bits,
        random,
        options["max_features"],
        np.iinfo(np.int64).max if max_depth is None else max_depth,
        options["min_samples_split"],
        options["min_samples_leaf"],
        float(options["min_weight_leaf"]),
        float(options["min_impurity_decrease"]),
        total,
    )
    spare = Given(*(np.empty_like(a) for a in given))
    state = np.array([options["seed"]], np.int64)
    node_i, node_f = grow_plain(data, given, spare, limits, state)
    left, right = node_i[:, LEFT].copy(), node_i[:, RIGHT].copy()
    size, feature, inner = node_i[:, ROWS].copy(), node_i[:, FEATURE].copy(), left >= 0
    missing_left = np.zeros(len(left), np.uint8)
    missing_left[inner] = size[left[inner]] > size[right[inner]]
    value = node_f[:, 3:] / node_f[:, WEIGHT, None]
    return Tree(
        len(data.X),
        max(n_classes, 1),
        left,
        right,
        feature,
        node_f[:, THRESHOLD].copy(),
        node_f[:, IMPURITY].copy(),
        size,
        node_f[:, WEIGHT].copy(),
        missing_left,
        value.reshape(len(left), 1, -1),
    )
