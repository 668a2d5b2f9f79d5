r"""Histograms: the sums that decide a split

A tree that lowers the loss Σ L(y_i, f_i) is grown on its second-order expansion. With g_i and h_i
the slope and curvature of row i, and λ, γ ≥ 0 penalties on large values and on leaves, a tree whose
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
other, the most promising first (`recount` of `grow.py`). A gain found without counting is a
bound of the true one, hence the split is the one that counting everything would find.

The larger of two siblings is had by subtraction: its histogram is the parent's less the smaller's.

Chen, Guestrin, XGBoost (2016); Ke et al., LightGBM (2017); Shi et al., Quantized training of
gradient boosting decision trees (2022).
"""

import numpy as np

from mlreplica.core.compile.intrinsics import bits, larger, prefetch_item, smaller
from mlreplica.core.compile.jit import kernel

part = kernel(part=True, borrow=True)  # of `grow` in `grow.py`, compiled with it
LOW = 0xFFFFFFFF
# arguments of kernels: Numba compiles a kernel anew for every plain whole number in a call
ZERO, ONE = np.int64(0), np.int64(1)
AHEAD = 24  # rows: how early memory is asked for
NOISE = 1e-10  # a gain that is a smaller part of the node's worth is none
SUPPORT = 10.0  # rows a category must have to be told apart, and the smoothing of its mean
G, H, ROWS, VALUE, LOWER, UPPER, WORTH = range(7)  # of a node: bounds are of the children's values
GAIN, COLUMN, CODE, MISSING_LEFT, G_LEFT, H_LEFT, BACKWARD = range(7)  # of a split
SPLIT = 7
BEST = 7  # of a node, from here on: its best split
GAINS, ORDER = 3, 4  # rows of the scratch memory, after three of sums: codes of categories by mean
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
        once = 1.0 / larger(times, 1.0)
        a = np.int64(times * np.floor(g[i * K + k] * once * s_g + 0.5))
        q[i] = (a << 32) + np.int64(times * np.floor(h[i * K + k] * once * s_h + 0.5))


@part
def add4(hist, at, word, v):
    """Add v at the four codes of a word: columns `at`/256 and the three after it."""
    hist[at + (word & 255)] += v
    hist[at + 256 + ((word >> 8) & 255)] += v
    hist[at + 512 + ((word >> 16) & 255)] += v
    hist[at + 768 + (word >> 24)] += v


@part
def accumulate(words, start, wide, q, rows, lo, hi, hist):
    """hist (wide·4·256,) ← the histograms (7) of a block over rows[lo:hi]."""
    for k in range(wide * 1024):
        hist[k] = 0
    last = hi - 1
    for i in range(lo, hi):
        ahead = np.int64(rows[smaller(i + AHEAD, last)])
        prefetch_item(words, start + ahead * wide)
        prefetch_item(q, ahead)
        r = np.int64(rows[i])
        v, at = q[r], start + r * wide
        if wide == 4:  # a loop of known length is unrolled
            for k in range(4):
                add4(hist, 1024 * k, np.int64(words[at + k]), v)
        else:
            for k in range(wide):
                add4(hist, 1024 * k, np.int64(words[at + k]), v)


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
    return smaller(larger(v, lower), upper)


@part
def candidates(scratch, end, g0, h0, c0, exact, node, rules, monotone):
    """scratch[GAINS, k] ← (3) of "code ≤ k + 1 goes left", 0 where not allowed; the largest's bits.

    scratch: G and H, in whole numbers, and, if exact, rows up to each code; g0, h0, c0: G, H and
    rows that are missing and go left.
    """
    unit_g, unit_h, g, h, n = rules[UNIT_G], rules[UNIT_H], node[G], node[H], node[ROWS]
    worth, lower, upper = g * node[VALUE], node[LOWER], node[UPPER]
    penalty, least_H, least_rows = rules[LAMBDA] + 1e-15, rules[LEAST_H], -np.inf
    if exact:
        least_rows = rules[LEAST_ROWS]
    least_gain = larger(rules[LEAST_GAIN], -NOISE * worth)
    GL, HL, CL, gains = scratch[0], scratch[1], scratch[2], scratch[GAINS]
    for k in range(end):
        gl, hl, cl = unit_g * GL[k] + g0, unit_h * HL[k] + h0, CL[k] + c0
        gr, hr, cr = g - gl, h - hl, n - cl
        vl = smaller(larger(-gl / (hl + penalty), lower), upper)
        vr = smaller(larger(-gr / (hr + penalty), lower), upper)
        gain = worth - gl * vl - gr * vr
        allowed = (cl >= least_rows) & (cr >= least_rows) & (hl >= least_H) & (hr >= least_H)
        allowed &= (monotone * (vr - vl) >= 0.0) & (gain > least_gain)
        gains[k] = gain if allowed else 0.0
    top = ZERO
    for k in range(end):
        top = larger(top, bits(gains[k]))  # numbers ≥ 0 are ordered as their bits
    return top


@part
def order_categories(hist, column, node, rules, scratch):
    """The codes with enough rows in the order of (9), means smoothed; how many, 0 if only one."""
    rows_a_unit = node[ROWS] / node[H] if node[H] > 0.0 else 0.0
    means, order, used = scratch[0], scratch[ORDER], 0
    for code in range(column[N_BINS] + 1):
        h = rules[UNIT_H] * np.float64(hist[code] & LOW)
        if h * rows_a_unit < SUPPORT:
            continue
        mean = rules[UNIT_G] * np.float64(hist[code] >> 32) / (h + SUPPORT)
        k = used
        while k > 0 and means[k - 1] > mean:
            means[k], order[k] = means[k - 1], order[k - 1]
            k -= 1
        means[k], order[k] = mean, code
        used += 1
    return used if used > 1 else 0


@part
def scan(hists, counts, exact, node, j, columns, nodes, rules, notes, scratch, best):
    """Write the best split of a node on column j over `best` if it gains more; gains in `notes`.

    Numbers are tried two ways if some are missing: these go right, or left. Categories have no
    order; they are taken by their mean, as if it were one, from either end. Rare ones always go
    right, with at least half of the others, and so does an unknown one.
    """
    column, this, hist = columns[j], nodes[node], hists[256 * j : 256 * j + 256]
    GL, HL, CL, gains, order = scratch[0], scratch[1], scratch[2], scratch[GAINS], scratch[ORDER]
    m, unordered, g0, h0, c0 = column[N_BINS], column[CATEGORICAL], 0.0, 0.0, 0.0
    if unordered:
        m = order_categories(hist, column, this, rules, scratch)
    if len(notes):
        for code in range(256):
            notes[node, j, code] = 0.0
    for way in range(1 + (column[HAS_MISSING] | unordered)):
        missing_left, backward = way * (1 - unordered), way * unordered
        first, step = backward * (m - 1), 1 - 2 * backward  # of the categories, in their order
        end = m if column[HAS_MISSING] > way else m - 1  # last: missing against the rest
        total, rows = ZERO, ZERO
        if unordered:
            end = (m + 1) // 2 - way
            for k in range(end):
                code = np.int64(order[first + step * k])
                total += hist[code]
                rows += counts[code]
                GL[k], HL[k], CL[k] = np.float64(total >> 32), np.float64(total & LOW), rows
        elif missing_left:
            g0 = rules[UNIT_G] * np.float64(hist[0] >> 32)
            h0 = rules[UNIT_H] * np.float64(hist[0] & LOW)
            c0 = np.float64(counts[0])
        else:
            for k in range(m):
                total += hist[k + 1]
                GL[k], HL[k] = np.float64(total >> 32), np.float64(total & LOW)
            if exact:
                for k in range(m):
                    rows += counts[k + 1]
                    CL[k] = rows
        top = candidates(scratch, end, g0, h0, c0, exact, this, rules, column[MONOTONE])
        if len(notes):
            for k in range(end):
                code = np.int64(order[first + step * k]) if unordered else k + 1
                notes[node, j, code] = larger(notes[node, j, code], gains[k])
        if top == 0:
            continue
        # equal gains: as if from the right
        k, step = missing_left * (end - 1), 1 - 2 * missing_left
        while bits(gains[k]) != top:
            k += step
        if gains[k] > best[GAIN]:
            best[GAIN], best[COLUMN], best[CODE] = gains[k], j, k + 1
            best[MISSING_LEFT], best[BACKWARD] = missing_left, backward
            best[G_LEFT], best[H_LEFT] = rules[UNIT_G] * GL[k] + g0, rules[UNIT_H] * HL[k] + h0


@part
def left_codes(hists, j, columns, this, rules, scratch, table):
    """table[code] ← whether a node's split sends it left; missing codes it never met go right."""
    k = np.int64(this[BEST + CODE])
    for code in range(256):
        table[code] = code <= k
    table[0] = this[BEST + MISSING_LEFT] > 0.0
    if columns[j, CATEGORICAL]:
        for code in range(256):
            table[code] = 0
        hist = hists[256 * j : 256 * j + 256]
        used = order_categories(hist, columns[j], this, rules, scratch)
        for i in range(k):
            place = used - 1 - i if this[BEST + BACKWARD] > 0.0 else i
            table[np.int64(scratch[ORDER, place])] = 1
