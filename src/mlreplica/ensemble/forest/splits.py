r"""Splits of a forest's nodes: the best threshold of a column, or a random one

    a few keys              are sorted by counting, for each, how many are less: m² comparisons in
                            SIMD, without the wrong guesses that any sort makes
    many keys of two classes are not sorted: they are counted in buckets, and only buckets that may
                            hold the best split are looked into (`promising`)
    many keys, few ranks    of more classes are counted, rank by class, and a rank is passed at once
    indices                 are unsigned, as each would else be asked whether it counts from the end

A key is a rank, and below it what its row brings: a class with its weight, one byte (LOAD), or the
place of its target (PLACE). What a split is worth is told by `core/growth/splits.py`, what `given`,
`limits` and `work` are by `trees.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlreplica.core.compile.intrinsics import larger, smaller
from mlreplica.core.compile.jit import kernel
from mlreplica.core.formulas.draws import draw_between
from mlreplica.core.growth.splits import CLOSE, GINI, SQUARED, lean, worth

LARGE = 4096  # rows from which a node reads columns
SMALL, FEW = 8, 256  # keys compared two by two (for each digit they have); sorted by short digits
LANES = 8  # comparisons at a time
LOAD, PLACE = 8, 32  # bits of a key below the rank
LOADS, PLACES = (1 << LOAD) - 1, (1 << PLACE) - 1
MANY, EACH, BUCKETS = 256, 4, 2048  # keys counted in buckets; of so many each; the most buckets
HALF, LOW = 32, (1 << 32) - 1  # of a bucket's word: weight, and below it the weight of class 1
CELLS = 8  # counts of a class in a rank that are passed in the time that a key takes
U = np.uint64


@lean
def place(a: Any, b: Any, m: int) -> None:
    """Put the first m keys of a in order into b: each goes where so many are less.

    Equal keys go to the same place; the places after it, which stay 0, are then theirs.
    """
    end = (m + LANES - 1) // LANES * LANES
    for i in range(m, end):
        a[U(i)] = a[0] | ~a[0]  # the largest of all
    for i in range(m):
        b[U(i)] = 0
    for i in range(m):
        v, before = a[U(i)], np.uint32(0)
        for j in range(0, end, LANES):
            for k in range(LANES):
                before = np.uint32(before + np.uint32(a[U(j + k)] < v))
        b[U(before)] = v
    last = b[0]
    for i in range(1, m):
        last = b[U(i)] if b[U(i)] != 0 else last
        b[U(i)] = last


@lean
def digits(m: int, levels: int) -> Any:
    """How m ranks up to `levels` are sorted: (passes, bits a pass)."""
    bits = 1
    while levels >> bits:
        bits += 1
    digit = 9 if m > FEW else 6
    passes = (bits + digit - 1) // digit
    return passes, (bits + passes - 1) // passes


@lean
def spread(a: Any, b: Any, m: int, low: int, passes: int, digit: int, count: Any) -> Any:
    """Sort m keys of a by the digits above bit `low`, counted already: in b if that is True."""
    size, mask = 1 << digit, U((1 << digit) - 1)
    for step in range(passes):
        here, shift = count[step * size : (step + 1) * size], U(low + step * digit)
        total = 0
        for k in range(size):
            c = here[k]
            here[k] = total
            total += c
        for i in range(m):
            v = a[i]
            k = (U(v) >> shift) & mask
            b[U(here[k])] = v
            here[k] += 1
        a, b = b, a
    return passes & 1 == 1


@lean
def gather(columns: Any, by_rows: Any, f: int, rows: Any, out: Any) -> None:
    """out_i ← entry f of row i, by columns in large nodes, by rows in small ones."""
    if len(rows) >= LARGE:
        whole = columns[f]
        for i in range(len(rows)):
            out[i] = whole[rows[i]]
    else:
        column = U(f)
        for i in range(len(rows)):
            out[i] = by_rows[rows[i], column]


@lean
def gather_ranks(data: Any, f: int, rows: Any, ranks: Any) -> Any:
    """The ranks of some rows in column f: the least and the largest."""
    least, most = np.int32(2147483647), np.int32(-1)
    gather(data.ranks, data.ranks_rows, f, rows, ranks)
    for i in range(len(rows)):
        least, most = smaller(least, ranks[i]), larger(most, ranks[i])
    return least, most


@lean
def order(ranks: Any, low: int, levels: int, a: Any, b: Any, count: Any) -> Any:
    """Put the keys a of `ranks`, above bit `low`, in order: in b if that is True, else in a."""
    m = len(ranks)
    passes, digit = digits(m, levels)
    if m <= SMALL * passes:
        place(a, b, m)
        return True
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
    return spread(a, b, m, low, passes, digit, count)


@lean
def worth_of_squares(left: float, right: float, W_L: float, W_R: float) -> float:
    """`worth` by Gini's impurity from Σ L² and Σ R², which are exact: weights are whole numbers."""
    return -W_R * (1.0 - right / (W_R * W_R)) - W_L * (1.0 - left / (W_L * W_L))


@lean
def better_pair(t: int, s: int, a: float, S: float, T: float, limits: Any, work: Any) -> Any:
    """Weigh a split of two classes exactly, with weights t and s (class 1) left; keep the best."""
    best, W_L, W_R = work.best, np.float64(t), T - np.float64(t)
    if smaller(W_L, W_R) < work.weight[1]:
        return False
    l, r = np.float64(s), S - np.float64(s)
    left, right = (W_L - l) * (W_L - l) + l * l, (W_R - r) * (W_R - r) + r * r
    value = worth_of_squares(left, right, W_L, W_R)
    if value <= best[0]:
        return False
    best[0], best[1] = value, a * a / (T * (W_L * W_R))
    return True


@lean
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


@lean
def promising(
    ranks: Any, load: Any, least: int, most: int, shift: int, S: float, T: float, work: Any
) -> None:
    """Count two classes in buckets of ranks, and open those that may hold the best split.

    With z and s the weights of the classes on the left, what a split is worth by (2) of `splits`,
    a²/(t(T − t)) with t = z + s and a = sT − St, is convex in (z, s). Within a bucket both only
    grow, from (z₀, s₀) to (z₁, s₁), hence it is largest in a corner of that rectangle. A bucket
    stays closed if all corners are below the best split between two buckets, or of other columns.
    """
    buckets, opened = work.buckets, work.open
    count = ((most - least) >> shift) + 1
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


@lean
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


@lean
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
            if m - i - 1 < limits.min_leaf or t < work.weight[1] or T - t < work.weight[1]:
                continue
            value = worth_of_squares(left, right, t, T - t)
            if value > best[0]:
                best[0], found = value, i + 1
                bound = value + T - slack
    return found


@kernel(part=True, borrow=True)  # sums of whole numbers are exact in any order
def scan_ranks(
    ranks: Any, load: Any, least: int, most: int, S: Any, T: float, limits: Any, work: Any
) -> Any:
    """The same where many rows have few ranks: the ranks that the split is between, or −1, −1.

    Weights are counted by rank and class, then added up rank by rank. Σ R² is Σ S² − 2 Σ SL + Σ L².
    """
    cells, best = work.cells, work.best
    K, low, high, squares, before = len(S), -1, most, 0.0, 0.0
    shift, mask = U(limits.class_bits), U((1 << limits.class_bits) - 1)
    for cell in range((most - least + 1) * K):
        cells[cell] = 0.0
    for i in range(len(ranks)):
        one = U(load[i])
        cells[U((ranks[i] - least) * K) + (one & mask)] += np.float64(one >> shift)
    for k in range(K):
        squares += S[k] * S[k]
    slack = CLOSE * T * (1.0 + abs(np.log(T)))
    bound = best[0] + T - slack
    for rank in range(most - least):
        left, both, t = 0.0, 0.0, 0.0
        here, following = U(rank * K), U(rank * K + K)
        for k in range(K):
            l = cells[here + U(k)]
            left += l * l
            both += l * S[k]
            t += l
            cells[following + U(k)] += l
        right = squares - both - both + left
        if t > before and left * (T - t) + right * t >= bound * (t * (T - t)):
            value = worth_of_squares(left, right, t, T - t)
            if value > best[0]:
                best[0], low = value, least + rank
                bound = value + T - slack
        before = t
    for i in range(len(ranks) if low >= 0 else 0):
        high = ranks[i] if low < ranks[i] < high else high
    return low, high


@lean
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
            if m - i - 1 < limits.min_leaf or t < work.weight[1] or T - t < work.weight[1]:
                continue
            L[0], R[0] = s, S - s
            value = worth(SQUARED, L, R, t, T - t, 1)
            if value > best[0]:
                best[0], best[1], found = value, a * a / (T * t * (T - t)), i + 1
                bound = best[1] * T - CLOSE * T * abs(value)
    return found


@lean
def try_random(x: Any, given: Any, S: Any, T: float, limits: Any, work: Any) -> Any:
    """One random threshold on the values x: (constant, better, threshold)."""
    least, most = x[0], x[0]
    for i in range(len(x)):
        least, most = smaller(least, x[i]), larger(most, x[i])
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
    if t < work.weight[1] or T - t < work.weight[1]:
        return False, False, 0.0
    value = worth(GINI if limits.classes else SQUARED, L, R, t, T - t, 1)
    better = value > work.best[0]
    if better:
        work.best[0] = value
    return False, better, threshold


@lean
def try_best(data: Any, f: int, given: Any, S: Any, T: float, limits: Any, work: Any) -> Any:
    """The best threshold on column f, between two ranks: (constant, better, rank, next rank)."""
    rows, m = given.rows, len(given.rows)
    ranks = work.ranks[:m]
    least, most = gather_ranks(data, f, rows, ranks)
    if least == most:
        return True, False, 0, 0
    if limits.classes:
        a, b = work.loaded[0], work.loaded[1]
        any_cut = limits.min_leaf <= 1 and work.weight[1] <= 0.0  # no child is too small
        cells = (np.int64(most) - least + 1) * limits.classes
        if limits.classes > 2 and any_cut and cells <= smaller(CELLS * m, len(work.cells)):
            low, high = scan_ranks(ranks, given.load, least, most, S, T, limits, work)
            return False, low >= 0, low, high
        if limits.classes == 2 and any_cut and m >= MANY:
            shift = 0
            while (most - least) >> shift >= smaller(BUCKETS, m // EACH):
                shift += 1
            promising(ranks, given.load, least, most, shift, S[1], T, work)
            k = 0
            for i in range(m):
                rank = ranks[i]
                a[k] = (np.uint32(rank) << np.uint32(LOAD)) | np.uint32(given.load[i])
                ranks[k] = rank
                k += work.open[U((rank - least) >> shift)]
            seg = b[:k] if order(ranks[:k], LOAD, most, a, b, work.count) else a[:k]
            n_left = scan_buckets(seg, least, shift, S[1], T, limits, work)
            if n_left == 0:
                return False, False, 0, 0
            return False, True, np.int64(seg[n_left - 1]) >> LOAD, np.int64(seg[n_left]) >> LOAD
        for i in range(m):
            a[i] = (np.uint32(ranks[i]) << np.uint32(LOAD)) | np.uint32(given.load[i])
        seg = b[:m] if order(ranks, LOAD, most, a, b, work.count) else a[:m]
        if limits.classes == 2:
            n_left = scan_pair(seg, S[1], T, limits, work)
        else:
            n_left = scan_classes(seg, S, T, limits, work)
        if n_left == 0:
            return False, False, 0, 0
        return False, True, np.int64(seg[n_left - 1]) >> LOAD, np.int64(seg[n_left]) >> LOAD
    a_place, b_place = work.placed[0], work.placed[1]
    for i in range(m):
        a_place[i] = (U(ranks[i]) << U(PLACE)) | U(i)
    in_b = order(ranks, PLACE, most, a_place, b_place, work.count)
    found = b_place[:m] if in_b else a_place[:m]
    n_left = scan_sums(found, given.w, given.y, S[0], T, limits, work)
    if n_left == 0:
        return False, False, 0, 0
    return False, True, np.int64(found[n_left - 1] >> U(PLACE)), np.int64(found[n_left] >> U(PLACE))
