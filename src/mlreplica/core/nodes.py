"""Nodes: the loop that grows a tree, node by node

A node is a row of three tables: whole numbers (its range LO:HI of `rows`, its depth, …), floats
(its weight, its impurity, …) and the statistics of its targets. Children stand side by side, LEFT
and LEFT + 1. Columns are drawn as scikit-learn draws them, by a Fisher–Yates shuffle that remembers
which columns are constant in a node: they are so in all its descendants.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .categories import goes_left, weigh_categories
from .columns import RANK, ROW
from .draws import draw, draw_between
from .splits import (
    CONSTANT,
    CRITERION,
    DEPTH,
    ENTROPY,
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
    MAX_DEPTH,
    MAX_FEATURES,
    MAX_LEAVES,
    MIN_GAIN,
    MIN_LEAF,
    MIN_SPLIT,
    MIN_WEIGHT,
    MISSING_LEFT,
    MODE,
    OUTPUTS,
    SQUARED,
    THRESHOLD,
    TOTAL,
    WEIGHT,
    allowed,
    gained,
    impurity,
    move,
    strict,
    weigh,
    worth,
)

PRESORTED, SORTING, RANDOM, NAMES = range(4)  # how a column is searched
SMALL = 24  # rows that insertion sorts faster than digits


# Two more tuples, beside those of `core/splits.py`:
# order = (X, keys, ranks, levels, has_missing, buffers, signs, table): the columns as `Columns` has
#         them, memory for the keys of nodes at even and odd depths, monotonic constraints, x·log(x)
# work  = (features, constant, state, best, L, R, own_keys, other_keys, count, own): the columns,
#         those known to be constant first; the random numbers' state; statistics; the keys and
#         targets of the node's rows, when sorting
# and `categories` of `core/categories.py`, or None: what asks for them is then not compiled


@strict
def sort_keys(a: Any, b: Any, m: int, levels: int, count: Any) -> Any:
    """a[:m] sorted by rank, which is at most `levels`; the result is a or b."""
    if m <= SMALL:
        for i in range(1, m):
            key, j = a[i], i - 1
            while j >= 0 and a[j] > key:
                a[j + 1] = a[j]
                j -= 1
            a[j + 1] = key
        return a
    bits = 1
    while levels >> bits:
        bits += 1
    digit = 9 if m > 1500 else 6
    passes = (bits + digit - 1) // digit
    digit = (bits + passes - 1) // passes
    size, mask = 1 << digit, (1 << digit) - 1
    for step in range(passes):
        shift = RANK + step * digit
        for k in range(size):
            count[k] = 0
        for i in range(m):
            count[(a[i] >> shift) & mask] += 1
        total = 0
        for k in range(size):
            c = count[k]
            count[k] = total
            total += c
        for i in range(m):
            k = (a[i] >> shift) & mask
            b[count[k]] = a[i]
            count[k] += 1
        a, b = b, a
    return a


@strict
def describe(
    k: Any, rows: Any, given: Any, limits: Any, node_i: Any, node_f: Any, node_v: Any
) -> None:
    """Weight, statistics and impurity of node k, and whether it must be a leaf."""
    y, _, w = given
    lo, hi, V = node_i[k, LO], node_i[k, HI], node_v[k]
    outputs, criterion = limits[OUTPUTS], limits[CRITERION]
    W, second, S = 0.0, 0.0, 0.0
    for c in range(len(V)):
        V[c] = 0.0
    for i in range(lo, hi):
        row = rows[i]
        w_row = 1.0 if len(w) == 0 else w[row]
        W += w_row
        if criterion == SQUARED and outputs == 1:
            wy = w_row * y[row]
            S += wy
            second += wy * y[row]
            continue
        move(V, row, given, w_row, limits)
        if criterion > ENTROPY:
            for o in range(outputs):
                v = y[row * outputs + o]
                if criterion == SQUARED:
                    second += w_row * v * v
                elif v > 0.0:
                    second += w_row * v * np.log(v)
    if criterion == SQUARED and outputs == 1:
        V[0] = S
    node_f[k, WEIGHT] = W
    node_f[k, IMPURITY] = impurity(criterion, V, W, second, outputs)
    m = hi - lo
    final = node_i[k, DEPTH] >= limits[MAX_DEPTH] or m < limits[MIN_SPLIT]
    final = final or m < 2 * limits[MIN_LEAF] or limits[MIN_WEIGHT] + limits[MIN_WEIGHT] > W
    node_i[k, FINAL] = final or node_f[k, IMPURITY] <= EPSILON
    node_i[k, LEFT] = node_i[k, FEATURE] = -1
    node_i[k, MISSING_LEFT] = 0
    node_f[k, THRESHOLD], node_f[k, GAIN] = -2.0, 0.0


@strict
def weigh_random(
    x: Any, lo: Any, hi: Any, rows: Any, given: Any, S: Any, T: Any,
    limits: Any, bounds: Any, work: Any,
) -> Any:  # fmt: skip
    """One random threshold on column x: (constant, better, threshold, missing go left)."""
    least, most, missing, m = np.inf, -np.inf, 0, hi - lo
    _, _, state, best, L, R, _, _, _, _ = work
    for i in range(lo, hi):
        v = x[rows[i]]
        if np.isnan(v):
            missing += 1
        elif v < least:
            least = v
        most = max(most, v)
    if missing == m or (least == most and missing == 0):
        return True, False, 0.0, 0
    threshold: Any = draw_between(state, least, most)
    side = draw(state) % 2 if missing else 0
    for k in range(len(S)):
        L[k] = 0.0
    t, n_left = 0.0, 0
    for i in range(lo, hi):
        row = rows[i]
        v = x[row]
        if v <= threshold or (side == 1 and np.isnan(v)):
            w_row = 1.0 if len(given[2]) == 0 else given[2][row]
            t += w_row
            n_left += 1
            move(L, row, given, w_row, limits)
    for k in range(len(S)):
        R[k] = S[k] - L[k]
    if missing == 0:
        side = 1 if n_left > m - n_left else 0
    better = n_left >= limits[MIN_LEAF] and m - n_left >= limits[MIN_LEAF]
    better = better and t >= limits[MIN_WEIGHT] and T - t >= limits[MIN_WEIGHT]
    if better and bounds[0] != 0:
        better = allowed(bounds, L[0] / t, R[0] / (T - t))
    if better:
        value = worth(limits[CRITERION], L, R, t, T - t, limits[OUTPUTS])
        better = value > best[0]
        if better:
            best[0] = value
    return False, better, threshold, side


@strict
def gather(lo: Any, m: Any, rows: Any, given: Any, outputs: Any, own: Any) -> None:
    """Targets of a node's rows side by side, so that sorted keys find them in the cache."""
    y, codes, w = given
    own_y, own_codes, own_w = own
    for i in range(m):
        row = rows[lo + i]
        if len(w) > 0:
            own_w[i] = w[row]
        for o in range(outputs):
            if len(codes) > 0:
                own_codes[i * outputs + o] = codes[row * outputs + o]
            if len(y) > 0:
                own_y[i * outputs + o] = y[row * outputs + o]


@strict
def search(
    k: Any, order: Any, rows: Any, given: Any, limits: Any, node_i: Any, node_f: Any, node_v: Any,
    work: Any, categories: Any,
) -> None:  # fmt: skip
    """Find the best split of node k, or none: then it is final."""
    X, keys, ranks, levels, has_missing, buffers, signs, table = order
    features, constant, state, best, L, R, own_keys, other_keys, count, own = work
    lo, known, depth = node_i[k, LO], node_i[k, CONSTANT], node_i[k, DEPTH]
    m, p, T, S = node_i[k, HI] - lo, len(features), node_f[k, WEIGHT], node_v[k]
    best[0], best[1] = -np.inf, 0.0
    if limits[MODE] == SORTING:
        gather(lo, m, rows, given, limits[OUTPUTS], own)
    drawn, found, seen, end = 0, 0, 0, p  # constants drawn, found now; columns looked at
    while end > known + found and (seen < limits[MAX_FEATURES] or seen <= found + drawn):
        seen += 1
        j = drawn + draw(state) % (end - found - drawn)
        if j < known:
            features[drawn], features[j] = features[j], features[drawn]
            drawn += 1
            continue
        j += found
        f = features[j]
        sign: Any = np.int64(signs[f]) if len(signs) > 0 else np.int64(0)
        bounds = (sign, node_f[k, LOW], node_f[k, HIGH])
        mode = limits[MODE]
        is_constant, better, threshold, side = True, False, np.inf, 0
        if categories is not None and categories[0][f] > 0:
            is_constant, better, side = weigh_categories(
                k, f, X[f], mode == RANDOM, rows, given, limits, (node_i, node_f, node_v),
                work, categories,
            )  # fmt: skip
            mode, threshold = NAMES, np.nan
        if mode == RANDOM:
            is_constant, better, threshold, side = weigh_random(
                X[f], lo, lo + m, rows, given, S, T, limits, bounds, work
            )
        elif mode != NAMES:
            if mode == SORTING:
                for i in range(m):
                    rank = np.int64(ranks[f, rows[lo + i]])
                    own_keys[i] = (rank << RANK) | i
                seg = sort_keys(own_keys, other_keys, m, levels[f], count)
            elif depth == 0 and m == X.shape[1]:
                seg = keys[f]
            else:
                seg = buffers[depth & 1, f, lo : lo + m]
            missing = 0
            if has_missing[f]:
                while missing < m and seg[m - 1 - missing] >> RANK == levels[f]:
                    missing += 1
            valid = m - missing
            is_constant = valid == 0 or (missing == 0 and seg[0] >> RANK == seg[m - 1] >> RANK)
            if not is_constant:
                mine = own if mode == SORTING else given
                n_left, side = weigh(
                    seg, valid, missing, mine, S, T,
                    limits, bounds, L, R, table, best,
                )  # fmt: skip
                better = n_left > 0
                if 0 < n_left < valid:
                    a, b = seg[n_left - 1] & ROW, seg[n_left] & ROW
                    if mode == SORTING:
                        a, b = np.int64(rows[lo + a]), np.int64(rows[lo + b])
                    threshold = X[f, a] / 2.0 + X[f, b] / 2.0
                    if threshold >= X[f, b]:  # neighbours among floats
                        threshold = X[f, a]
                if missing == 0:
                    side = 1 if n_left > m - n_left else 0
        if is_constant:
            features[j], features[known + found] = features[known + found], f
            found += 1
            continue
        end -= 1
        features[end], features[j] = features[j], features[end]
        if better:
            node_i[k, FEATURE], node_i[k, MISSING_LEFT] = f, side
            node_f[k, THRESHOLD] = threshold
    if limits[MAX_LEAVES] > 0:  # nodes come in another order: nothing can be handed down
        known = found = 0
    for j in range(known):
        features[j] = constant[j]
    for j in range(known, known + found):
        constant[j] = features[j]
    node_i[k, CONSTANT] = known + found
    gain = gained(limits[CRITERION], best[0], S, T, node_f[k, IMPURITY], limits[OUTPUTS])
    node_f[k, GAIN] = gain / limits[TOTAL]
    if node_i[k, FEATURE] < 0 or node_f[k, GAIN] + EPSILON < limits[MIN_GAIN]:
        node_i[k, FINAL] = 1
        node_f[k, GAIN] = 0.0


@strict
def partition_rows(
    k: Any, X: Any, rows: Any, spare: Any, go: Any, node_i: Any, node_f: Any, categories: Any
) -> Any:
    """Order the rows of node k, left ones first; go[row] tells the side. Returns the middle."""
    lo, hi = node_i[k, LO], node_i[k, HI]
    x, threshold, side = X[node_i[k, FEATURE]], node_f[k, THRESHOLD], node_i[k, MISSING_LEFT]
    a, b = lo, lo - lo
    for i in range(lo, hi):
        row = rows[i]
        v = x[row]
        left: Any = np.int64(v <= threshold or (side == 1 and np.isnan(v)))
        if categories is not None and np.isnan(threshold):
            left = goes_left(v, categories[1][k], side)
        go[row] = left
        rows[a] = row
        spare[b] = row
        a += left
        b += 1 - left
    for i in range(b):
        rows[a + i] = spare[i]
    return a


@strict
def partition_keys(
    source: Any, goal: Any, go: Any, lo: Any, middle: Any, keep_left: bool, keep_right: bool
) -> None:
    """Split one column's keys, stably and without a branch; a child that is a leaf needs none."""
    a, b = lo, middle
    if keep_left and keep_right:
        for i in range(len(source)):
            key = source[i]
            left: Any = np.int64(go[key & ROW])
            goal[b + (a - b) * left] = key
            a += left
            b += 1 - left
    elif keep_left:  # what is not kept is overwritten by the next, or lies beyond the last
        for i in range(len(source)):
            key = source[i]
            goal[a] = key
            a += np.int64(go[key & ROW])
    else:
        b = lo + len(source) - 1
        for i in range(len(source) - 1, -1, -1):
            key = source[i]
            goal[b] = key
            b -= 1 - np.int64(go[key & ROW])


@strict
def sift_up(heap: Any, size: int, node_f: Any) -> None:
    """Restore the heap after its last entry was added: the node that gains most is first."""
    i = size - 1
    while i > 0 and node_f[heap[(i - 1) // 2], GAIN] < node_f[heap[i], GAIN]:
        heap[i], heap[(i - 1) // 2] = heap[(i - 1) // 2], heap[i]
        i = (i - 1) // 2


@strict
def sift_down(heap: Any, size: int, node_f: Any) -> None:
    """Restore the heap after its first entry was replaced by its last."""
    i = 0
    while 2 * i + 1 < size:
        j = 2 * i + 1
        if j + 1 < size and node_f[heap[j + 1], GAIN] > node_f[heap[j], GAIN]:
            j += 1
        if node_f[heap[i], GAIN] >= node_f[heap[j], GAIN]:
            return
        heap[i], heap[j] = heap[j], heap[i]
        i = j


@strict
def split_node(
    k: Any, born: Any, order: Any, rows: Any, given: Any, limits: Any,
    node_i: Any, node_f: Any, node_v: Any, work: Any, spare: Any, go: Any, categories: Any,
) -> None:  # fmt: skip
    """Make the children `born` and `born` + 1 of node k, and part its rows and keys."""
    X, keys, _, _, _, buffers, signs, _ = order
    features = work[0]
    lo, hi, depth, f = node_i[k, LO], node_i[k, HI], node_i[k, DEPTH], node_i[k, FEATURE]
    middle = partition_rows(k, X, rows, spare, go, node_i, node_f, categories)
    node_i[k, LEFT] = born
    for child in range(born, born + 2):
        node_i[child, LO] = lo if child == born else middle
        node_i[child, HI] = middle if child == born else hi
        node_i[child, DEPTH], node_i[child, CONSTANT] = depth + 1, node_i[k, CONSTANT]
        node_f[child, LOW], node_f[child, HIGH] = node_f[k, LOW], node_f[k, HIGH]
        describe(child, rows, given, limits, node_i, node_f, node_v)
    if len(signs) > 0 and signs[f] != 0:  # values stay on their sides of the middle
        left, right = node_v[born, 0] / node_f[born, WEIGHT], node_v[born + 1, 0]
        between = (left + right / node_f[born + 1, WEIGHT]) / 2.0
        lower = born if signs[f] > 0 else born + 1
        node_f[lower, HIGH] = between
        node_f[2 * born + 1 - lower, LOW] = between
    keep_left, keep_right = node_i[born, FINAL] == 0, node_i[born + 1, FINAL] == 0
    if limits[MODE] == PRESORTED and (keep_left or keep_right):
        for j in range(node_i[k, CONSTANT], len(features)):
            c = features[j]
            whole = depth == 0 and hi - lo == X.shape[1]
            source = keys[c] if whole else buffers[depth & 1, c, lo:hi]
            goal = buffers[(depth + 1) & 1, c]
            partition_keys(source, goal, go, lo, middle, keep_left, keep_right)


@strict
def grow_nodes(
    order: Any, rows: Any, given: Any, limits: Any, node_i: Any, node_f: Any, node_v: Any,
    work: Any, room: Any, categories: Any,
) -> Any:  # fmt: skip
    """Grow a tree: fill the tables, in order of birth; returns how many nodes there are."""
    X, keys, _, _, _, buffers, _, _ = order
    frontier, spare, go = room
    n, n_all, waiting = len(rows), X.shape[1], 0
    best_first, splits_left = limits[MAX_LEAVES] > 0, limits[MAX_LEAVES] - 1
    if limits[MODE] == PRESORTED and n < n_all:  # keys of the rows that count
        for row in range(n_all):
            go[row] = given[2][row] != 0.0
        for f in range(len(X)):
            partition_keys(keys[f], buffers[0, f], go, 0, 0, True, False)
    node_i[0, LO], node_i[0, HI], node_i[0, DEPTH], node_i[0, CONSTANT] = 0, n, 0, 0
    node_f[0, LOW], node_f[0, HIGH] = -np.inf, np.inf
    first: Any = np.int64(0)
    born, end = first + 1, first + 1  # nodes first:end are searched next
    describe(first, rows, given, limits, node_i, node_f, node_v)
    while True:
        for k in range(first, end):
            if not node_i[k, FINAL]:
                search(k, order, rows, given, limits, node_i, node_f, node_v, work, categories)
            if best_first:
                frontier[waiting] = k
                waiting += 1
                sift_up(frontier, waiting, node_f)
        k = first
        if best_first:
            if waiting == 0:
                break
            k = frontier[0]
            waiting -= 1
            frontier[0] = frontier[waiting]
            sift_down(frontier, waiting, node_f)
        if node_i[k, FINAL] or (best_first and splits_left <= 0):
            node_i[k, FEATURE], node_f[k, THRESHOLD] = -2, -2.0
            first = end = np.int64(0)
            if not best_first:
                if waiting == 0:
                    break
                waiting -= 1
                first = frontier[waiting]
                end = first + 1
            continue
        splits_left -= 1
        split_node(
            k, born, order, rows, given, limits, node_i, node_f, node_v, work, spare, go, categories
        )
        first, end = born, born + 2
        if not best_first:  # left next, right later
            frontier[waiting] = born + 1
            waiting += 1
            end -= 1
        born += 2
    return born
