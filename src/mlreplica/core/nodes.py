"""Nodes: the loop that grows a tree, node by node

A node is a row of three tables: whole numbers (its range LO:HI of `rows`, its depth, …), floats
(its weight, its impurity, …) and the statistics of its targets. Children stand side by side, LEFT
and LEFT + 1. Columns are drawn as scikit-learn draws them, by a Fisher–Yates shuffle that remembers
which columns are constant in a node: they are so in all its descendants.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .columns import RANK, ROW
from .jit import kernel
from .splits import (
    ENTROPY,
    EPSILON,
    GINI,
    SQUARED,
    allowed,
    gained,
    impurity,
    scan_any,
    scan_classes,
    scan_sums,
    worth,
)

PRESORTED, SORTING, RANDOM = range(3)
LO, HI, DEPTH, CONSTANT, LEFT, FEATURE, MISSING_LEFT, FINAL = range(8)
WEIGHT, IMPURITY, THRESHOLD, GAIN, LOW, HIGH = range(6)
SMALL = 24  # rows that insertion sorts faster than digits

strict = kernel(fastmath=frozenset())  # sums in the order written: one tree on every machine


class Limits(NamedTuple):
    """When to stop, and how to search."""

    mode: int
    criterion: int
    outputs: int
    max_features: int
    max_depth: int
    min_split: int
    min_leaf: int
    min_weight: float
    max_leaves: int  # −1: depth first, no limit
    min_gain: float
    total: float  # weight of all rows


@strict
def draw(state: Any) -> Any:
    """The next of 2³¹ whole numbers by Marsaglia's xorshift of 32 bits."""
    s = max(state[0], 1)
    s ^= (s << 13) & 0xFFFFFFFF
    s ^= s >> 17
    s ^= (s << 5) & 0xFFFFFFFF
    state[0] = s
    return s & 0x7FFFFFFF


@strict
def sort_keys(a: Any, b: Any, m: int, bits: int, count: Any) -> Any:
    """a[:m] sorted by rank (of so many bits); the result is a or b."""
    if m <= SMALL:
        for i in range(1, m):
            key, j = a[i], i - 1
            while j >= 0 and a[j] > key:
                a[j + 1] = a[j]
                j -= 1
            a[j + 1] = key
        return a
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
def add(V: Any, row: int, targets: Any, codes: Any, w_row: float, limits: Any, sign: float) -> None:
    """Move a row into (+1) or out of (−1) the statistics V."""
    outputs = limits.outputs
    K = len(V) // outputs
    for o in range(outputs):
        if limits.criterion <= ENTROPY:
            V[o * K + codes[row * outputs + o]] += sign * w_row
        else:
            V[o] += sign * (w_row * targets[row * outputs + o])


@strict
def describe(
    k: int,
    rows: Any,
    targets: Any,
    codes: Any,
    w: Any,
    limits: Any,
    node_i: Any,
    node_f: Any,
    V: Any,
) -> None:
    """Weight, statistics and impurity of node k, and whether it must be a leaf."""
    lo, hi = node_i[k, LO], node_i[k, HI]
    outputs, criterion = limits.outputs, limits.criterion
    W, second = 0.0, 0.0
    V[:] = 0.0
    if criterion == SQUARED and outputs == 1:
        S = 0.0
        if len(w) == 0:
            for i in range(lo, hi):
                v = targets[rows[i]]
                S += v
                second += v * v
            W = np.float64(hi - lo)
        else:
            for i in range(lo, hi):
                v, w_row = targets[rows[i]], w[rows[i]]
                W += w_row
                S += w_row * v
                second += w_row * v * v
        V[0] = S
    else:
        for i in range(lo, hi):
            row = rows[i]
            w_row = 1.0 if len(w) == 0 else w[row]
            W += w_row
            add(V, row, targets, codes, w_row, limits, 1.0)
            if criterion > ENTROPY:
                for o in range(outputs):
                    v = targets[row * outputs + o]
                    if criterion == SQUARED:
                        second += w_row * v * v
                    elif v > 0.0:
                        second += w_row * v * np.log(v)
    node_f[k, WEIGHT] = W
    node_f[k, IMPURITY] = impurity(criterion, V, W, second, outputs)
    m = hi - lo
    node_i[k, FINAL] = (
        node_i[k, DEPTH] >= limits.max_depth
        or m < limits.min_split
        or m < 2 * limits.min_leaf
        or limits.min_weight + limits.min_weight > W
        or node_f[k, IMPURITY] <= EPSILON
    )
    node_i[k, LEFT] = node_i[k, FEATURE] = -1
    node_f[k, THRESHOLD] = -2.0
    node_f[k, GAIN] = 0.0


@strict
def weigh(
    seg: Any,
    m: Any,
    missing: Any,
    targets: Any,
    codes: Any,
    w: Any,
    S: Any,
    T: Any,
    sign: Any,
    low: Any,
    high: Any,
    limits: Any,
    L: Any,
    R: Any,
    table: Any,
    best: Any,
) -> Any:
    """The best split along one sorted column, the missing right, then left: (rows left, side)."""
    found, missing_left = 0, 0
    criterion, outputs = limits.criterion, limits.outputs
    pair = len(S) == 2 and criterion == GINI and outputs == 1
    for side in range(2 if missing else 1):
        t, n_left = 0.0, 0
        L[:] = 0.0
        R[:] = S
        if side == 1:
            n_left = missing
            for i in range(m, m + missing):
                row = seg[i] & ROW
                w_row = 1.0 if len(w) == 0 else w[row]
                t += w_row
                add(L, row, targets, codes, w_row, limits, 1.0)
                add(R, row, targets, codes, w_row, limits, -1.0)
        if pair or (criterion == SQUARED and outputs == 1):
            one = 1 if pair else 0
            got = scan_sums(
                seg, m, missing, targets, w, S[one], T, n_left, L[one], t,
                limits.min_leaf, limits.min_weight, sign, low, high, criterion, L, R, best,
            )  # fmt: skip
        elif criterion <= ENTROPY and outputs == 1 and sign == 0:
            got = scan_classes(
                seg, m, missing, codes, w, T, n_left, t,
                limits.min_leaf, limits.min_weight, criterion, L, R, table, best,
            )  # fmt: skip
        else:
            got = scan_any(
                seg, m, missing, codes, targets, w, T, n_left, t, limits.min_leaf,
                limits.min_weight, sign, low, high, criterion, outputs, L, R, best,
            )  # fmt: skip
        if got > 0:
            found, missing_left = got, side
    return found, missing_left


@strict
def weigh_random(
    x: Any,
    lo: Any,
    hi: Any,
    rows: Any,
    targets: Any,
    codes: Any,
    w: Any,
    S: Any,
    T: Any,
    sign: Any,
    low: Any,
    high: Any,
    limits: Any,
    L: Any,
    R: Any,
    state: Any,
    best: Any,
) -> Any:
    """One random threshold on column x: (constant, better, threshold, missing go left)."""
    least: Any = np.inf
    most: Any = -np.inf
    missing, m = 0, hi - lo
    for i in range(lo, hi):
        v = x[rows[i]]
        if np.isnan(v):
            missing += 1
        else:
            least, most = min(least, v), max(most, v)
    if missing == m or (least == most and missing == 0):
        return True, False, 0.0, 0
    threshold = (most - least) * np.float64(draw(state)) / 2147483647.0 + least
    side = draw(state) % 2 if missing else 0
    if threshold == most:
        threshold = least
    L[:] = 0.0
    t, n_left = 0.0, 0
    for i in range(lo, hi):
        row = rows[i]
        v = x[row]
        if v <= threshold or (side and np.isnan(v)):
            w_row = 1.0 if len(w) == 0 else w[row]
            t += w_row
            n_left += 1
            add(L, row, targets, codes, w_row, limits, 1.0)
    R[:] = S - L
    if n_left < limits.min_leaf or m - n_left < limits.min_leaf:
        return False, False, 0.0, 0
    if t < limits.min_weight or T - t < limits.min_weight:
        return False, False, 0.0, 0
    if sign != 0 and not allowed(sign, low, high, L[0] / t, R[0] / (T - t)):
        return False, False, 0.0, 0
    value = worth(limits.criterion, L, R, t, T - t, limits.outputs)
    if value > best[0]:
        best[0] = value
        return False, True, threshold, side if missing else np.int64(n_left > m - n_left)
    return False, False, 0.0, 0


@strict
def search(
    k: Any,
    X: Any,
    keys: Any,
    ranks: Any,
    levels: Any,
    has_missing: Any,
    buffers: Any,
    rows: Any,
    targets: Any,
    codes: Any,
    w: Any,
    table: Any,
    limits: Any,
    signs: Any,
    node_i: Any,
    node_f: Any,
    node_v: Any,
    features: Any,
    constant: Any,
    state: Any,
    work: Any,
) -> Any:
    """Find the best split of node k, or none (FEATURE stays −1)."""
    own_keys, other_keys, count, own_targets, own_codes, own_w, L, R = work
    lo, hi, known = node_i[k, LO], node_i[k, HI], node_i[k, CONSTANT]
    m, p, T, S = hi - lo, len(features), node_f[k, WEIGHT], node_v[k]
    low, high, outputs = node_f[k, LOW], node_f[k, HIGH], limits.outputs
    if limits.mode == SORTING:
        for i in range(m):
            row = rows[lo + i]
            if len(w) > 0:
                own_w[i] = w[row]
            for o in range(outputs):
                if len(codes) > 0:
                    own_codes[i * outputs + o] = codes[row * outputs + o]
                if len(targets) > 0:
                    own_targets[i * outputs + o] = targets[row * outputs + o]
    best = np.array([-np.inf, 0.0])
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
        sign = signs[f] if len(signs) > 0 else 0
        side: Any = 0
        better, is_constant, threshold = False, False, 0.0
        if limits.mode == RANDOM:
            is_constant, better, threshold, side = weigh_random(
                X[f], lo, hi, rows, targets, codes, w, S, T, sign, low, high, limits, L, R, state,
                best,
            )  # fmt: skip
        else:
            if limits.mode == PRESORTED:
                depth = node_i[k, DEPTH]
                whole = depth == 0 and m == keys.shape[1]
                seg = keys[f] if whole else buffers[depth & 1, f, lo:hi]
            else:
                ranks_f = ranks[f]
                for i in range(m):
                    own_keys[i] = (np.int64(ranks_f[rows[lo + i]]) << RANK) | i
                bits = 1
                while levels[f] >> bits:
                    bits += 1
                seg = sort_keys(own_keys, other_keys, m, bits, count)
            missing = 0
            if has_missing[f]:
                while missing < m and seg[m - 1 - missing] >> RANK == levels[f]:
                    missing += 1
            valid = m - missing
            is_constant = valid == 0 or (missing == 0 and seg[0] >> RANK == seg[m - 1] >> RANK)
            if not is_constant:
                if limits.mode == PRESORTED:
                    n_left, side = weigh(
                        seg, valid, missing, targets, codes, w, S, T, sign, low, high, limits, L, R,
                        table, best,
                    )  # fmt: skip
                else:
                    n_left, side = weigh(
                        seg, valid, missing, own_targets, own_codes, own_w, S, T, sign, low, high,
                        limits, L, R, table, best,
                    )  # fmt: skip
                better = n_left > 0
                if better:
                    threshold = np.inf
                    if n_left < valid:
                        a, b = seg[n_left - 1] & ROW, seg[n_left] & ROW
                        if limits.mode == SORTING:
                            a, b = np.int64(rows[lo + a]), np.int64(rows[lo + b])
                        threshold = X[f, a] / 2.0 + X[f, b] / 2.0
                        if threshold >= X[f, b]:  # neighbours among floats
                            threshold = X[f, a]
                    if missing == 0:
                        side = np.int64(n_left > m - n_left)
        if is_constant:
            features[j], features[known + found] = features[known + found], f
            found += 1
            continue
        end -= 1
        features[end], features[j] = features[j], features[end]
        if better:
            node_i[k, FEATURE], node_i[k, MISSING_LEFT] = f, side
            node_f[k, THRESHOLD] = threshold
    if limits.max_leaves > 0:  # nodes come in another order: nothing can be handed down
        known = found = 0
    features[:known] = constant[:known]
    constant[known : known + found] = features[known : known + found]
    node_i[k, CONSTANT] = known + found
    node_f[k, GAIN] = gained(
        limits.criterion, best[0], S, T, node_f[k, IMPURITY], outputs
    ) / limits.total  # fmt: skip
    if node_i[k, FEATURE] < 0 or node_f[k, GAIN] + EPSILON < limits.min_gain:
        node_i[k, FINAL] = 1


@strict
def partition_rows(k: int, X: Any, rows: Any, spare: Any, go: Any, node_i: Any, node_f: Any) -> Any:
    """Order the rows of node k, left ones first; go[row] tells the side. Returns the middle."""
    lo, hi = node_i[k, LO], node_i[k, HI]
    x, threshold, side = X[node_i[k, FEATURE]], node_f[k, THRESHOLD], node_i[k, MISSING_LEFT]
    a, b = lo, 0
    for i in range(lo, hi):
        row = rows[i]
        v = x[row]
        left = v <= threshold or (side == 1 and np.isnan(v))
        go[row] = left
        rows[a] = row
        spare[b] = row
        a += left
        b += not left
    rows[a:hi] = spare[:b]
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
def longer(a: Any) -> Any:
    """Twice the rows."""
    out = np.empty((2 * a.shape[0], a.shape[1]), a.dtype)
    out[: a.shape[0]] = a
    return out


@strict
def grow_nodes(
    X: Any,
    keys: Any,
    ranks: Any,
    levels: Any,
    has_missing: Any,
    buffers: Any,
    rows: Any,
    targets: Any,
    codes: Any,
    w: Any,
    table: Any,
    limits: Any,
    K: Any,
    signs: Any,
    state: Any,
) -> Any:
    """Grow a tree: (numbers, floats, statistics, how many nodes) in order of their birth."""
    n, p = len(rows), len(X)
    capacity, width = 64, limits.outputs * K
    node_i = np.empty((capacity, 8), np.int64)
    node_f = np.empty((capacity, 6))
    node_v = np.empty((capacity, width))
    frontier = np.empty(capacity, np.int64)
    features, constant = np.arange(p), np.zeros(p, np.int64)
    spare, go = np.empty(n, np.int32), np.empty(X.shape[1], np.uint8)
    own = n if limits.mode == SORTING else 0
    work = (
        np.empty(own, np.int64),
        np.empty(own, np.int64),
        np.empty(512 if own else 0, np.int64),
        np.empty(own * limits.outputs if len(targets) else 0),
        np.empty(own * limits.outputs if len(codes) else 0, np.int32),
        np.empty(own if len(w) else 0),
        np.empty(width),
        np.empty(width),
    )
    best_first, splits_left = limits.max_leaves > 0, limits.max_leaves - 1
    if limits.mode == PRESORTED and n < X.shape[1]:  # keys of the rows that count
        go[:] = 0
        for i in range(n):
            go[rows[i]] = 1
        for f in range(p):
            partition_keys(keys[f], buffers[0, f], go, 0, 0, True, False)
    node_i[0, LO], node_i[0, HI], node_i[0, DEPTH], node_i[0, CONSTANT] = 0, n, 0, 0
    node_f[0, LOW], node_f[0, HIGH] = -np.inf, np.inf
    describe(0, rows, targets, codes, w, limits, node_i, node_f, node_v[0])
    if best_first and not node_i[0, FINAL]:
        search(
            0, X, keys, ranks, levels, has_missing, buffers, rows, targets, codes, w, table, limits,
            signs, node_i, node_f, node_v, features, constant, state, work,
        )  # fmt: skip
    frontier[0] = 0
    waiting, born = 1, 1
    while waiting > 0:
        if best_first:
            k = frontier[0]
            waiting -= 1
            frontier[0] = frontier[waiting]
            sift_down(frontier, waiting, node_f)
        else:
            waiting -= 1
            k = frontier[waiting]
            if not node_i[k, FINAL]:
                search(
                    k, X, keys, ranks, levels, has_missing, buffers, rows, targets, codes, w, table,
                    limits, signs, node_i, node_f, node_v, features, constant, state, work,
                )  # fmt: skip
        if node_i[k, FINAL] or (best_first and splits_left <= 0):
            node_i[k, FEATURE], node_f[k, THRESHOLD] = -2, -2.0
            continue
        splits_left -= 1
        if born + 2 > len(node_i):
            node_i, node_f, node_v = longer(node_i), longer(node_f), longer(node_v)
            more = np.empty(2 * len(frontier), np.int64)
            more[:waiting] = frontier[:waiting]
            frontier = more
        lo, hi, depth, f = node_i[k, LO], node_i[k, HI], node_i[k, DEPTH], node_i[k, FEATURE]
        middle = partition_rows(k, X, rows, spare, go, node_i, node_f)
        node_i[k, LEFT] = born
        for child in range(born, born + 2):
            node_i[child, LO] = lo if child == born else middle
            node_i[child, HI] = middle if child == born else hi
            node_i[child, DEPTH], node_i[child, CONSTANT] = depth + 1, node_i[k, CONSTANT]
            node_f[child, LOW], node_f[child, HIGH] = node_f[k, LOW], node_f[k, HIGH]
            describe(child, rows, targets, codes, w, limits, node_i, node_f, node_v[child])
        if len(signs) > 0 and signs[f] != 0:  # the children's values stay on their sides of this
            between = (
                node_v[born, 0] / node_f[born, WEIGHT]
                + node_v[born + 1, 0] / node_f[born + 1, WEIGHT]
            ) / 2.0
            upper = born if signs[f] > 0 else born + 1
            node_f[upper, HIGH] = between
            node_f[2 * born + 1 - upper, LOW] = between
        keep_left, keep_right = not node_i[born, FINAL], not node_i[born + 1, FINAL]
        if limits.mode == PRESORTED and (keep_left or keep_right):
            parity = (depth + 1) & 1
            for j in range(node_i[k, CONSTANT], p):
                c = features[j]
                whole = depth == 0 and n == X.shape[1]
                source = keys[c] if whole else buffers[depth & 1, c, lo:hi]
                partition_keys(source, buffers[parity, c], go, lo, middle, keep_left, keep_right)
        for step in range(2):
            child = born + step if best_first else born + 1 - step  # left comes next: on top
            if best_first and not node_i[child, FINAL]:
                search(
                    child, X, keys, ranks, levels, has_missing, buffers, rows, targets, codes, w,
                    table, limits, signs, node_i, node_f, node_v, features, constant, state, work,
                )  # fmt: skip
            frontier[waiting] = child
            waiting += 1
            if best_first:
                sift_up(frontier, waiting, node_f)
        born += 2
    return node_i, node_f, node_v, born
