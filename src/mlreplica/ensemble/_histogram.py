r"""Histograms: the sums that decide a split

A tree that lowers the loss Σ L(y_i, f_i) is grown on its second-order expansion. With g_i and h_i
the slope and curvature of row i, and λ, γ ≥ 0 prices of large values and of leaves, a tree whose
leaves hold the sets of rows I_1, I_2 … and the values v_1, v_2 … changes the objective by

    Σ_l [ G_l v_l + ½ (H_l + λ) v_l² + γ ],      G_l = Σ_{i ∈ I_l} g_i,   H_l = Σ_{i ∈ I_l} h_i  (1)

so that the best value of a leaf, and what it is worth, are

    v = − G / (H + λ),      − ½ G² / (H + λ) = ½ G v                                            (2)

A split of a node into left and right is worth taking if it lowers (1):

    gain = G v − G_L v_L − G_R v_R  >  2γ                                                       (3)

(twice the objective, as libraries print it). All splits of a node on one column need no more than
G and H of each of its 256 codes: one pass over the rows makes the histogram, another over the
codes adds up from the left and finds the best (3). Two things make the pass cheap.

One addition for both sums. g and h are rounded to whole numbers and share 64 bits:

    q_i = ⌊s_g g_i + ½⌋ · 2³² + ⌊s_h h_i + ½⌋                                                   (4)

The powers of two s_g, s_h are as large as Σ|q| < 2³¹ allows, so that no sum of rows overflows.
Whole numbers add up to the same sum in any order: the tree does not depend on the number of
threads, and columns that divide the rows alike gain exactly alike (the first is taken). The values
of leaves are computed from g and h as they are.

Rows are not counted. A side of a split has min_samples_leaf rows only if its H is at least that
many times the smallest h: splits that fail this are left out, and of the others the best is tried.
Sorting the rows by it counts them. If a side has too few, the columns are counted one after the
other, the most promising first (`recount` of `_hist_grow.py`). A gain found without counting is a
bound of the true one, hence the split is the one that counting everything would find.

The larger of two siblings is had by subtraction: its histogram is the parent's less the smaller's.

Chen, Guestrin, XGBoost (2016); Ke et al., LightGBM (2017); Shi et al., Quantized training of
gradient boosting decision trees (2022).
"""

import numpy as np

from mlreplica.core.jit import kernel
from mlreplica.core.prefetch import hint

part = kernel(part=True, borrow=True)  # of `grow` in `_hist_grow.py`, compiled with it
LOW = 0xFFFFFFFF
# arguments of kernels: Numba compiles a kernel anew for every plain whole number in a call
ZERO, ONE = np.int64(0), np.int64(1)
AHEAD = 24  # rows: how early memory is asked for
NOISE = 1e-10  # a gain that is a smaller part of the node's worth is none
SUPPORT = 10.0  # rows a category must have to be told apart, and the smoothing of its mean
GAIN, COLUMN, CODE, MISSING_LEFT, G_LEFT, H_LEFT, BACKWARD = range(7)  # of a split
SPLIT = 7
ORDER = 4  # row of the scratch memory: codes of categories by their mean
# of a column: codes in use, has missing values, is categorical, monotone direction; and where its
# codes stand: first word, words from row to row, bits to the right of the code
N_BINS, HAS_MISSING, CATEGORICAL, MONOTONE, AT, STEP, SHIFT = range(7)
# of `rules`: λ, limits of a leaf, 2γ, what a whole number stands for, η, share of columns tried
LAMBDA, LEAST_ROWS, LEAST_H, LEAST_GAIN, UNIT_G, UNIT_H, RATE, SHARE = range(8)


@kernel(borrow=True)
def magnitudes(g, h):
    """Σ|g| and Σ h, by which the scales of (4) are chosen, and the smallest h."""
    a, b, low = 0.0, 0.0, np.inf
    for i in range(len(g)):
        a += abs(g[i])
        b += h[i]
        low = h[i] if h[i] < low else low  # noqa: FURB136
    return a, b, low


@kernel(borrow=True)
def pack(g, h, repeats, K, k, first, stop, s_g, s_h, q):
    """(4) for the rows first … stop − 1; g and h have K columns, of which this is k.

    repeats: how often each row counts; or nothing. A row is rounded, then repeated.
    """
    for i in range(first, stop):
        times = repeats[i] if len(repeats) else 1.0
        once = 1.0 / max(times, 1.0)
        a = np.int64(times * np.floor(g[i * K + k] * once * s_g + 0.5))
        q[i] = (a << 32) + np.int64(times * np.floor(h[i * K + k] * once * s_h + 0.5))


@part
def add4(H, at, word, v):
    """Add v at the four codes of a word: columns `at`/256 and the three after it."""
    H[at + (word & 255)] += v
    H[at + 256 + ((word >> 8) & 255)] += v
    H[at + 512 + ((word >> 16) & 255)] += v
    H[at + 768 + (word >> 24)] += v


@part
def accumulate(words, start, wide, q, rows, lo, hi, H):
    """H (wide·4·256,) ← the histograms (7) of a block over rows[lo:hi]."""
    for j in range(wide * 1024):
        H[j] = 0
    last = hi - 1
    for i in range(lo, hi):
        ahead = np.int64(rows[min(i + AHEAD, last)])
        hint(words, start + ahead * wide)
        hint(q, ahead)
        r = np.int64(rows[i])
        v, at = q[r], start + r * wide
        if wide == 4:  # a loop of known length is unrolled
            for k in range(4):
                add4(H, 1024 * k, np.int64(words[at + k]), v)
        else:
            for k in range(wide):
                add4(H, 1024 * k, np.int64(words[at + k]), v)


@part
def count_codes(words, column, rows, lo, hi, C):
    """C (256,) ← how many of rows[lo:hi] have each code of a column."""
    at, step, shift = column[AT], column[STEP], column[SHIFT]
    for code in range(256):
        C[code] = 0
    for i in range(lo, hi):
        C[(np.int64(words[at + np.int64(rows[i]) * step]) >> shift) & 255] += 1


@part
def value_of(G, H, penalty, lower, upper):
    """(2) within bounds; the tiny number keeps a leaf without curvature at 0."""
    v = -G / (H + penalty + 1e-15)
    return min(max(v, lower), upper)


@part
def candidates(sums, end, g0, h0, c0, exact, node, rules, monotone, gains):
    """gains[k] ← (3) of "code ≤ k + 1 goes left", 0 where it is not allowed; the largest.

    sums: G, H and, if exact, rows up to each code; g0, h0, c0: of missing values sent left.
    node: G, H, rows, value, lower and upper bound of the node.
    """
    G, H, n, v, lower, upper = node[0], node[1], node[2], node[3], node[4], node[5]
    penalty, least_rows = rules[LAMBDA] + 1e-15, rules[LEAST_ROWS] if exact else -np.inf
    least_H = rules[LEAST_H]
    GL, HL, CL = sums[0], sums[1], sums[2]
    worth = G * v
    least_gain = max(rules[LEAST_GAIN], -NOISE * worth)
    for k in range(end):
        gl, hl, cl = GL[k] + g0, HL[k] + h0, CL[k] + c0
        gr, hr, cr = G - gl, H - hl, n - cl
        vl, vr = -gl / (hl + penalty), -gr / (hr + penalty)
        vl = lower if vl < lower else vl  # noqa: FURB136
        vl = upper if vl > upper else vl  # noqa: FURB136
        vr = lower if vr < lower else vr  # noqa: FURB136
        vr = upper if vr > upper else vr  # noqa: FURB136
        gain = worth - gl * vl - gr * vr
        allowed = (cl >= least_rows) & (cr >= least_rows) & (hl >= least_H) & (hr >= least_H)
        allowed &= (monotone * (vr - vl) >= 0.0) & (gain > least_gain)
        gains[k] = gain if allowed else 0.0
    bits = gains.view(np.int64)  # numbers ≥ 0 are ordered as their bits
    top = 0
    for k in range(end):
        top = max(top, bits[k])
    return top


@part
def best_of_column(H, C, exact, j, column, node, rules, scratch, note, best):
    """Write the best split on column j over `best` if it gains more; all gains in `note`."""
    sums, gains = scratch[:3], scratch[3]
    m, unit_g, unit_h = column[N_BINS], rules[UNIT_G], rules[UNIT_H]
    for k in range(len(note)):
        note[k] = 0.0
    acc = np.int64(0)
    for k in range(m):
        acc += H[k + 1]
        sums[0, k] = np.float64(acc >> 32)
        sums[1, k] = np.float64(acc & LOW)
    for k in range(m):
        sums[0, k] *= unit_g
        sums[1, k] *= unit_h
    if exact:
        rows = np.int64(0)
        for k in range(m):
            rows += C[k + 1]
            sums[2, k] = rows
    g0 = h0 = c0 = 0.0
    for missing_left in range(1 + column[HAS_MISSING]):
        end = m if column[HAS_MISSING] > missing_left else m - 1  # last: missing against the rest
        if missing_left:
            g0, h0 = unit_g * np.float64(H[0] >> 32), unit_h * np.float64(H[0] & LOW)
            c0 = np.float64(C[0])
        top = candidates(sums, end, g0, h0, c0, exact, node, rules, column[MONOTONE], gains)
        for k in range(min(end, len(note))):
            note[k + 1] = max(note[k + 1], gains[k])
        if top == 0:
            continue
        bits = gains.view(np.int64)
        k = end - 1 if missing_left else 0  # equal gains: as if from the right
        while bits[k] != top:
            k += -1 if missing_left else 1
        if gains[k] > best[GAIN]:
            best[GAIN], best[COLUMN], best[CODE] = gains[k], j, k + 1
            best[MISSING_LEFT], best[BACKWARD] = missing_left, 0
            best[G_LEFT], best[H_LEFT] = sums[0, k] + g0, sums[1, k] + h0


@part
def order_categories(H, column, node, rules, scratch):
    """The codes with enough rows in the order of (9), means smoothed; how many there are."""
    rows_a_unit = node[2] / node[1] if node[1] > 0.0 else 0.0
    means, order, used = scratch[0], scratch[ORDER], 0
    for code in range(column[N_BINS] + 1):
        h = rules[UNIT_H] * np.float64(H[code] & LOW)
        if h * rows_a_unit < SUPPORT:
            continue
        mean = rules[UNIT_G] * np.float64(H[code] >> 32) / (h + SUPPORT)
        k = used
        while k > 0 and means[k - 1] > mean:
            means[k], order[k] = means[k - 1], order[k - 1]
            k -= 1
        means[k], order[k] = mean, code
        used += 1
    return used


@part
def best_of_categories(H, C, exact, j, column, node, rules, scratch, note, best):
    """The same where codes have no order: by the mean, as if it were one, from both ends.

    Rare categories always go right, with at least half of the others; so does an unknown one.
    """
    used = order_categories(H, column, node, rules, scratch)
    if used < 2:
        return
    sums, gains, order = scratch[:3], scratch[3], scratch[ORDER]
    for backward in range(2):
        end = (used + 1) // 2 - backward
        G, h, rows = 0.0, 0.0, 0.0
        for k in range(end):
            code = np.int64(order[used - 1 - k] if backward else order[k])
            G += rules[UNIT_G] * np.float64(H[code] >> 32)
            h += rules[UNIT_H] * np.float64(H[code] & LOW)
            rows += C[code]
            sums[0, k], sums[1, k], sums[2, k] = G, h, rows
        top = candidates(sums, end, 0.0, 0.0, 0.0, exact, node, rules, ZERO, gains)
        for k in range(min(end, len(note))):
            note[np.int64(order[used - 1 - k] if backward else order[k])] = gains[k]
        if top == 0:
            continue
        bits = gains.view(np.int64)
        k = 0
        while bits[k] != top:
            k += 1
        if gains[k] > best[GAIN]:
            best[GAIN], best[COLUMN], best[CODE] = gains[k], j, k + 1
            best[MISSING_LEFT], best[BACKWARD] = 0, backward
            best[G_LEFT], best[H_LEFT] = sums[0, k], sums[1, k]


@part
def left_codes(split, H, column, node, rules, scratch, table):
    """table[code] ← whether a split sends the code left; missing codes it never met go right."""
    k = np.int64(split[CODE])
    if column[CATEGORICAL]:
        for code in range(256):
            table[code] = 0
        used = order_categories(H, column, node, rules, scratch)
        for i in range(k):
            place = used - 1 - i if split[BACKWARD] > 0.0 else i
            table[np.int64(scratch[ORDER, place])] = 1
        return
    for code in range(256):
        table[code] = code <= k
    table[0] = split[MISSING_LEFT] > 0.0
