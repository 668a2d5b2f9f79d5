r"""Categories: the best split of a node by the categories of a column

C categories can be parted in 2^(C−1) − 1 ways, but for one statistic not all need be looked at. Let
W_c be the weight of category c in the node and s_c the mean of its targets (the share of the second
of two classes). Squares, Gini, entropy and Poisson deviance are all of the form

    W_L φ(s_L) + W_R φ(s_R),    φ concave,                                                      (1)

and the least of it is found among the C − 1 cuts of the categories in the order of s_c: were c in L
and d in R with s_L < s_R but s_c > s_d, to swap some of their weight would move s_L and s_R apart,
and (1) would fall (Fisher 1958; Breiman et al. 1984, §4.2.2). A missing value is one category more.

With several statistics (classes, outputs) no single order will do. Up to EXHAUSTIVE categories all
partitions are tried, each one category away from the one before (Gray code); beyond, the orders of
every statistic in turn: for classes this is one against the rest.

The heavier child is right: there go the categories that no training row of the node has.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlreplica.core.formulas.draws import draw

from .splits import (
    CRITERION,
    HI,
    LO,
    MIN_LEAF,
    MIN_WEIGHT,
    OUTPUTS,
    WEIGHT,
    lean,
    move,
    worth,
)

EXHAUSTIVE = 10
WORD, BIT = np.int64(6), np.int64(63)  # bit c & 63 of word c >> 6 stands for category c

# What the kernels know of categories is packed in a plain tuple:
# categories = (levels, sets, sums, weights, counts, used): how many categories a column has, 0 for
#              numbers; (node, word) the categories that go left; then, for one column of one node,
#              statistics, weight and rows of each category, the last one for missing values, and
#              the categories in use


@lean
def goes_left(x: Any, words: Any, missing_left: Any) -> Any:
    """1 if a row of category x goes left: it is in the set, or missing and those go left."""
    if np.isnan(x):
        return np.int64(missing_left)
    c = np.int64(x)
    if c < 0 or c >> WORD >= len(words):  # unknown
        return np.int64(0)
    return np.int64((words[c >> WORD] >> np.uint64(c & BIT)) & np.uint64(1))


@lean
def sort_by_mean(used: Any, n_used: Any, sums: Any, weights: Any, s: Any) -> None:
    """Put categories in the order of the means of statistic s: Shell's sort."""
    gap = 1
    while gap < n_used:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n_used):
            c, j = used[i], i - gap
            mean = sums[c, s] / weights[c]
            while j >= 0 and sums[used[j], s] / weights[used[j]] > mean:
                used[j + gap] = used[j]
                j -= gap
            used[j + gap] = c
        gap //= 3


@lean
def is_better(k: Any, n_left: Any, t: Any, limits: Any, node: Any, work: Any) -> Any:
    """Whether the children of statistics L and R beat the best so far, which they then become."""
    node_i, node_f, node_v = node
    best, L, R = work[3], work[4], work[5]
    m, T, S = node_i[k, HI] - node_i[k, LO], node_f[k, WEIGHT], node_v[k]
    if n_left < limits[MIN_LEAF] or m - n_left < limits[MIN_LEAF] or n_left in (0, m):
        return False
    if t < limits[MIN_WEIGHT] or T - t < limits[MIN_WEIGHT]:
        return False
    for s in range(len(S)):
        R[s] = S[s] - L[s]
    value = worth(limits[CRITERION], L, R, t, T - t, limits[OUTPUTS])
    if value <= best[0]:
        return False
    a = L[len(S) - 1] * T - S[len(S) - 1] * t
    best[0], best[1] = value, a * a / (T * t * (T - t))
    return True


@lean
def scan_order(k: Any, n_used: Any, limits: Any, node: Any, work: Any, categories: Any) -> Any:
    """The best cut of the categories in their order: how many go left, or 0."""
    _, _, sums, weights, counts, used = categories
    L, t, n_left, found = work[4], 0.0, 0, 0
    for s in range(len(L)):
        L[s] = 0.0
    for j in range(n_used - 1):
        c = used[j]
        for s in range(len(L)):
            L[s] += sums[c, s]
        t += weights[c]
        n_left += counts[c]
        if is_better(k, n_left, t, limits, node, work):
            found = j + 1
    return found


@lean
def scan_all(k: Any, n_used: Any, limits: Any, node: Any, work: Any, categories: Any) -> Any:
    """The best of all partitions, the last category right: bits of those that go left, or 0."""
    _, _, sums, weights, counts, used = categories
    L, t, n_left, found, here = work[4], 0.0, 0, 0, 0
    for s in range(len(L)):
        L[s] = 0.0
    for i in range(1, 1 << (n_used - 1)):
        j = 0
        while not (i >> j) & 1:  # the bit in which Gray's code of i differs from that of i − 1
            j += 1
        here ^= 1 << j
        c, sign = used[j], 1 if (here >> j) & 1 else -1
        for s in range(len(L)):
            L[s] += sign * sums[c, s]
        t += sign * weights[c]
        n_left += sign * counts[c]
        if is_better(k, n_left, t, limits, node, work):
            found = here
    return found


@lean
def draw_set(k: Any, n_used: Any, limits: Any, node: Any, work: Any, categories: Any) -> Any:
    """Toss a coin for every category, those left first: how many, or 0 if not better."""
    _, _, sums, weights, counts, used = categories
    L, state, t, n_left, left = work[4], work[2], 0.0, 0, 0
    for s in range(len(L)):
        L[s] = 0.0
    for j in range(n_used):
        if draw(state) % 2:
            used[left], used[j] = used[j], used[left]
            left += 1
    if left in (0, n_used):  # one at least on each side
        j = draw(state) % n_used
        used[0], used[j] = used[j], used[0]
        left = 1
    for j in range(left):
        c = used[j]
        for s in range(len(L)):
            L[s] += sums[c, s]
        t += weights[c]
        n_left += counts[c]
    return left if is_better(k, n_left, t, limits, node, work) else 0


@lean
def write_set(k: Any, left: Any, n_used: Any, node: Any, categories: Any) -> Any:
    """Keep the smaller child's categories, of which `left` come first; 1 if the missing go left."""
    node_i = node[0]
    _, sets, _, _, counts, used = categories
    rows, missing = 0, len(counts) - 1
    for j in range(left):
        rows += counts[used[j]]
    first, last = 0, left
    if 2 * rows > node_i[k, HI] - node_i[k, LO]:
        first, last = left, n_used
    side = 0
    for word in range(sets.shape[1]):
        sets[k, word] = np.uint64(0)
    for j in range(first, last):
        c = used[j]
        if c == missing:
            side = 1
        else:
            sets[k, c >> WORD] |= np.uint64(1) << np.uint64(c & BIT)
    return side


@lean
def weigh_categories(
    k: Any, f: Any, x: Any, at_random: Any, rows: Any, y: Any, codes: Any, w: Any, limits: Any,
    node: Any, work: Any, categories: Any,
) -> Any:  # fmt: skip
    """The best split of node k by the categories x: (constant, better, missing go left)."""
    levels, _, sums, weights, counts, used = categories
    node_i, _, node_v = node
    missing, width, w_row = len(counts) - 1, node_v.shape[1], 1.0
    for level in range(missing + 1):
        if level < levels[f] or level == missing:
            weights[level], counts[level] = 0.0, 0
            for s in range(width):
                sums[level, s] = 0.0
    for i in range(node_i[k, LO], node_i[k, HI]):
        row = np.int64(rows[i])
        c: Any = missing if np.isnan(x[row]) else np.int64(x[row])
        if len(w) > 0:
            w_row = w[row]
        weights[c] += w_row
        counts[c] += 1
        move(sums[c], row, y, codes, w_row, limits)
    n_used, side = 0, 0
    for level in range(missing + 1):
        if (level < levels[f] or level == missing) and counts[level] > 0:
            used[n_used] = level
            n_used += 1
    if n_used == 1:
        return True, False, 0
    if at_random is not None:
        left = draw_set(k, n_used, limits, node, work, categories)
        if left > 0:
            side = write_set(k, left, n_used, node, categories)
        return False, left > 0, side
    one = width == 1 or (width == 2 and limits[OUTPUTS] == 1)
    better = False
    if not one and n_used <= EXHAUSTIVE:
        found = scan_all(k, n_used, limits, node, work, categories)
        if found > 0:
            left = 0
            for j in range(n_used):
                if (found >> j) & 1:
                    used[left], used[j] = used[j], used[left]
                    left += 1
            side, better = write_set(k, left, n_used, node, categories), True
        return False, better, side
    for s in range(width - 1 if one else 0, width):
        sort_by_mean(used, n_used, sums, weights, s)
        left = scan_order(k, n_used, limits, node, work, categories)
        if left > 0:
            side, better = write_set(k, left, n_used, node, categories), True
    return False, better, side
