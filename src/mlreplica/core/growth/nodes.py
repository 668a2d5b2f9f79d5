"""Nodes: the loop that grows a tree, node by node

A node is a row of three tables: whole numbers (its range LO:HI of `rows`, its depth, …), floats
(its weight, its impurity, …) and the statistics of its targets. Children stand side by side, LEFT
and LEFT + 1. A column that is constant in a node is so in all its descendants, and not looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlreplica.core.compile.intrinsics import larger
from mlreplica.core.formulas.draws import (
    FOUND,
    KNOWN,
    begin_draws,
    draw,
    draw_between,
    draw_column,
    keep_constants,
    put_column,
)
from mlreplica.core.formulas.sorting import sort_keys

from .categories import weigh_categories
from .columns import RANK, ROW
from .medians import center, weigh_medians, weigh_parts
from .partition import middle, partition_keys, partition_rows, sift_down, sift_up
from .splits import (
    CONSTANT,
    CRITERION,
    DEPTH,
    EPSILON,
    FEATURE,
    FINAL,
    GAIN,
    GINI,
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
    OUTPUTS,
    PLACE,
    SQUARED,
    THRESHOLD,
    TOTAL,
    WEIGHT,
    allowed,
    gained,
    impurity,
    lean,
    move,
    piece,
    weigh,
    worth,
)

# More of what is passed on, beside what `core/growth/splits.py` tells; whatever can be None may be:
# columns    = (X, levels, has_missing), as `Columns` has them
# presorted  = (keys, buffers) or None: the sorted columns, and memory for the keys of nodes at even
#              and at odd depths
# sorting    = (ranks, own_keys, other_keys, count, own_y, own_codes, own_w) or None: the columns'
#              ranks; the keys and targets of a node's rows, side by side
# at_random  = True or None. One of these three is not None
# best_first = True or None: the node that gains most is split next
# signs      = monotonic constraints, table = x·log(x) of whole numbers; or empty
# work       = (features, constant, state, best, L, R, drawing): the columns, and those known to be
#              constant; the state of the random numbers; the best split so far; statistics; how far
#              the draws of columns have come (`core/formulas/draws.py`)
# room       = (stack, spare, go): nodes to come, rows that go right, the side of every row
# medians, categories: of `core/growth/medians.py` and `core/growth/categories.py`, or None


@lean
def describe(
    k: Any, rows: Any, y: Any, codes: Any, w: Any, every: Any, limits: Any, node: Any, medians: Any
) -> None:
    """Weight, statistics and impurity of node k, and whether it must be a leaf."""
    whole, real, V = node[0][k], node[1][k], node[2][k]
    lo, hi, outputs, criterion = whole[LO], whole[HI], limits[OUTPUTS], limits[CRITERION]
    W, S, second, w_row = 0.0, 0.0, 0.0, 1.0
    if medians is not None:
        W, real[IMPURITY] = center(lo, hi, rows, y, w, V, medians)
    else:
        for c in range(len(V)):
            V[c] = 0.0
        for i in range(lo, hi):
            row = np.int64(rows[i])
            if len(w) > 0:
                w_row = w[row]
            W += w_row
            if every is not None:
                move(V, row, y, codes, w_row, limits)
                if y is not None:
                    second += second_moment(row, y, w_row, limits)
            elif y is not None:  # one number, or two classes
                wy = w_row * y[row]
                S += wy
                second += wy * y[row]
            elif codes is not None:
                V[codes[row]] += w_row
        if every is None and y is not None:
            V[len(V) - 1] = S
            if criterion == GINI:
                V[0] = W - S
        real[IMPURITY] = impurity(criterion, V, W, second, outputs)
    real[WEIGHT], real[THRESHOLD], real[GAIN] = W, -2.0, 0.0
    final = whole[DEPTH] >= limits[MAX_DEPTH] or hi - lo < limits[MIN_SPLIT]
    final = final or hi - lo < 2 * limits[MIN_LEAF] or limits[MIN_WEIGHT] + limits[MIN_WEIGHT] > W
    whole[FINAL] = final or real[IMPURITY] <= EPSILON
    whole[LEFT] = whole[FEATURE] = -1
    whole[MISSING_LEFT] = 0


@lean
def second_moment(row: Any, y: Any, w_row: Any, limits: Any) -> Any:
    """What a row adds to Σ w y², or to Σ w y log y."""
    total = 0.0
    for o in range(limits[OUTPUTS]):
        v = y[row * limits[OUTPUTS] + o]
        if limits[CRITERION] == SQUARED:
            total += w_row * v * v
        elif v > 0.0:
            total += w_row * v * np.log(v)
    return total


@piece
def weigh_random(
    x: Any, lo: Any, hi: Any, rows: Any, y: Any, codes: Any, w: Any, S: Any, T: Any,
    limits: Any, bounds: Any, work: Any, medians: Any,
) -> Any:  # fmt: skip
    """One random threshold on column x: (constant, better, threshold, missing go left)."""
    least, most, missing, m = np.inf, -np.inf, 0, hi - lo
    _, _, state, best, L, R, _ = work
    for i in range(lo, hi):
        v = x[rows[i]]
        if np.isnan(v):
            missing += 1
        elif v < least:
            least = v
        most = larger(most, v)
    if missing == m or (least == most and missing == 0):
        return True, False, 0.0, 0
    threshold: Any = draw_between(state, least, most)
    side = draw(state) % 2 if missing else 0
    for k in range(len(S)):
        L[k] = 0.0
    t, n_left, w_row = 0.0, 0, 1.0
    for i in range(lo, hi):
        row = np.int64(rows[i])
        v = x[row]
        if v <= threshold or (side == 1 and np.isnan(v)):
            if len(w) > 0:
                w_row = w[row]
            t += w_row
            n_left += 1
            if medians is None:
                move(L, row, y, codes, w_row, limits)
    for k in range(len(S)):
        R[k] = S[k] - L[k]
    better = n_left >= limits[MIN_LEAF] and m - n_left >= limits[MIN_LEAF]
    better = better and t >= limits[MIN_WEIGHT] and T - t >= limits[MIN_WEIGHT]
    value = -np.inf
    if medians is not None:
        if better:
            value = weigh_parts(x, threshold, side, lo, hi, rows, y, w, T, L, R, medians)
            if bounds[0] != 0:
                better = allowed(bounds, L[0], R[0])
    else:
        if better and bounds[0] != 0:
            better = allowed(bounds, L[0] / t, R[0] / (T - t))
        if better:
            value = worth(limits[CRITERION], L, R, t, T - t, limits[OUTPUTS])
    if missing == 0:
        side = 1 if n_left > m - n_left else 0
    better = better and value > best[0]
    if better:
        best[0] = value
    return False, better, threshold, side


@lean
def gather(
    lo: Any, m: Any, rows: Any, y: Any, codes: Any, w: Any, outputs: Any,
    own_y: Any, own_codes: Any, own_w: Any,
) -> None:  # fmt: skip
    """Targets of a node's rows side by side, so that sorted keys find them in the cache."""
    for i in range(m):
        row = np.int64(rows[lo + i])
        if len(w) > 0:
            own_w[i] = w[row]
        for o in range(outputs):
            if codes is not None:
                own_codes[i * outputs + o] = codes[row * outputs + o]
            if y is not None:
                own_y[i * outputs + o] = y[row * outputs + o]


@piece
def weigh_sorted(
    f: Any, seg: Any, m: Any, columns: Any, y: Any, codes: Any, w: Any, every: Any, S: Any, T: Any,
    limits: Any, bounds: Any, work: Any, table: Any, medians: Any,
) -> Any:  # fmt: skip
    """The best split along a sorted column: (constant, rows left, those valid, missing go left)."""
    _, levels, has_missing = columns
    best, L, R = work[3], work[4], work[5]
    missing = 0
    if has_missing[f]:
        while missing < m and seg[m - 1 - missing] >> RANK == levels[f]:
            missing += 1
    valid = m - missing
    if valid == 0 or (missing == 0 and seg[0] >> RANK == seg[m - 1] >> RANK):
        return True, 0, valid, 0
    if medians is None:
        n_left, side = weigh(
            seg, valid, missing, y, codes, w, every, S, T, limits, bounds, L, R, table, best
        )
    else:
        n_left, side = weigh_medians(seg, valid, missing, y, w, T, limits, bounds, medians, best)
    if missing == 0:
        side = 1 if n_left > m - n_left else 0
    return False, n_left, valid, side


@piece
def search(
    k: Any, columns: Any, presorted: Any, sorting: Any, at_random: Any, signs: Any, table: Any,
    rows: Any, y: Any, codes: Any, w: Any, every: Any, limits: Any, node: Any, work: Any,
    medians: Any, categories: Any,
) -> None:  # fmt: skip
    """Find the best split of node k, or none: then it is final."""
    X, levels, _ = columns
    whole, real, S = node[0][k], node[1][k], node[2][k]
    features, constant, state, best, _, _, drawing = work
    lo, depth = whole[LO], whole[DEPTH]
    m, T = whole[HI] - lo, real[WEIGHT]
    best[0], best[1] = -np.inf, 0.0
    if sorting is not None:
        ranks, own_keys, other_keys, count, own_y, own_codes, own_w = sorting
        gather(lo, m, rows, y, codes, w, limits[OUTPUTS], own_y, own_codes, own_w)
    if medians is not None:
        center(lo, lo + m, rows, y, w, S, medians)  # puts its targets in order
    begin_draws(drawing, whole[CONSTANT], len(features))
    while True:
        j = draw_column(features, drawing, limits[MAX_FEATURES], state)
        if j < 0:
            break
        f = features[j]
        sign: Any = np.int64(0)
        if len(signs) > 0:
            sign += signs[f]
        bounds = (sign, real[LOW], real[HIGH])
        is_constant, better, threshold, side = True, False, np.inf, 0
        if categories is not None and categories[0][f] > 0:
            is_constant, better, side = weigh_categories(
                k, f, X[f], at_random, rows, y, codes, w, limits, node, work, categories
            )
            threshold = np.nan
        elif presorted is not None:
            keys, buffers = presorted
            seg = keys[f] if depth == 0 and m == X.shape[1] else buffers[depth & 1, f, lo : lo + m]
            is_constant, n_left, valid, side = weigh_sorted(
                f, seg, m, columns, y, codes, w, every, S, T,
                limits, bounds, work, table, medians,
            )  # fmt: skip
            better = n_left > 0
            if 0 < n_left < valid:
                threshold = middle(X[f, seg[n_left - 1] & ROW], X[f, seg[n_left] & ROW])
        elif sorting is not None:
            for i in range(m):
                own_keys[i] = (np.int64(ranks[f, rows[lo + i]]) << RANK) | i
            in_other = sort_keys(own_keys, other_keys, m, levels[f], count)
            seg = other_keys if in_other else own_keys
            is_constant, n_left, valid, side = weigh_sorted(
                f, seg, m, columns, own_y, own_codes, own_w, every, S, T,
                limits, bounds, work, table, medians,
            )  # fmt: skip
            better = n_left > 0
            if 0 < n_left < valid:
                a, b = rows[lo + (seg[n_left - 1] & ROW)], rows[lo + (seg[n_left] & ROW)]
                threshold = middle(X[f, a], X[f, b])
        elif at_random is not None:
            is_constant, better, threshold, side = weigh_random(
                X[f], lo, lo + m, rows, y, codes, w, S, T, limits, bounds, work, medians
            )
        put_column(features, drawing, j, is_constant)
        if better:
            whole[FEATURE], whole[MISSING_LEFT], real[THRESHOLD] = f, side, threshold
    if limits[MAX_LEAVES] > 0:  # nodes come in another order: nothing can be handed down
        drawing[KNOWN] = drawing[FOUND] = 0
    whole[CONSTANT] = keep_constants(features, constant, drawing)
    gain = gained(limits[CRITERION], best[0], S, T, real[IMPURITY], limits[OUTPUTS])
    real[GAIN] = gain / limits[TOTAL]
    if whole[FEATURE] < 0 or real[GAIN] + EPSILON < limits[MIN_GAIN]:
        whole[FINAL] = 1
        real[GAIN] = 0.0


@piece
def split_node(
    k: Any, born: Any, X: Any, presorted: Any, signs: Any, rows: Any, y: Any, codes: Any, w: Any,
    every: Any, limits: Any, node: Any, work: Any, room: Any, medians: Any, categories: Any,
) -> None:  # fmt: skip
    """Make the children `born` and `born` + 1 of node k, and part its rows and keys."""
    node_i, node_f, node_v = node
    whole, real, features = node_i[k], node_f[k], work[0]
    lo, hi, depth = whole[LO], whole[HI], whole[DEPTH]
    middle = partition_rows(k, X, rows, room, node, categories)
    whole[LEFT] = born
    for child in range(born, born + 2):
        its_whole, its_real = node_i[child], node_f[child]
        its_whole[LO], its_whole[HI] = (lo, middle) if child == born else (middle, hi)
        its_whole[DEPTH], its_whole[CONSTANT] = depth + 1, whole[CONSTANT]
        its_real[LOW], its_real[HIGH] = real[LOW], real[HIGH]
        describe(child, rows, y, codes, w, every, limits, node, medians)
    sign = signs[whole[FEATURE]] if len(signs) > 0 else 0
    if sign != 0:  # values stay on their sides of the middle
        left, right = node_v[born, 0], node_v[born + 1, 0]
        if medians is None:
            left /= node_f[born, WEIGHT]
            right /= node_f[born + 1, WEIGHT]
        lower = born if sign > 0 else born + 1
        node_f[lower, HIGH] = (left + right) / 2.0
        node_f[2 * born + 1 - lower, LOW] = (left + right) / 2.0
    keep_left, keep_right = node_i[born, FINAL] == 0, node_i[born + 1, FINAL] == 0
    if presorted is not None and (keep_left or keep_right):
        keys, buffers = presorted
        is_root = depth == 0 and hi - lo == X.shape[1]
        for j in range(whole[CONSTANT], len(features)):
            c = features[j]
            source = keys[c] if is_root else buffers[depth & 1, c, lo:hi]
            goal = buffers[(depth + 1) & 1, c]
            partition_keys(source, goal, room[2], lo, middle, keep_left, keep_right)


@lean
def grow_nodes(
    columns: Any, presorted: Any, sorting: Any, at_random: Any, signs: Any, table: Any, rows: Any,
    y: Any, codes: Any, w: Any, every: Any, limits: Any, node: Any, work: Any, room: Any,
    best_first: Any, medians: Any, categories: Any,
) -> Any:  # fmt: skip
    """Grow a tree: fill the tables, in order of birth; returns how many nodes there are."""
    X, (node_i, node_f, _), (stack, _, go) = columns[0], node, room
    n, n_all, waiting, visited = len(rows), X.shape[1], 0, 0
    splits_left = limits[MAX_LEAVES] - 1
    first: Any = np.int64(0)
    if presorted is not None and n < n_all:  # keys of the rows that count
        keys, buffers = presorted
        for row in range(n_all):
            go[row] = w[row] != 0.0
        for f in range(len(X)):
            partition_keys(keys[f], buffers[0, f], go, first, first, n > 0, n < 0)
    node_i[0, LO], node_i[0, HI], node_i[0, DEPTH], node_i[0, CONSTANT] = 0, n, 0, 0
    node_f[0, LOW], node_f[0, HIGH] = -np.inf, np.inf
    born, end = first + 1, first + 1  # nodes first:end are searched next
    describe(first, rows, y, codes, w, every, limits, node, medians)
    while True:
        for k in range(first, end):
            if not node_i[k, FINAL]:
                search(
                    k, columns, presorted, sorting, at_random, signs, table, rows, y, codes, w,
                    every, limits, node, work, medians, categories,
                )  # fmt: skip
            if best_first is not None:
                stack[waiting] = k
                waiting += 1
                sift_up(stack, waiting, node_f)
        k = first
        if best_first is not None:
            if waiting == 0:
                break
            k = stack[0]
            waiting -= 1
            stack[0] = stack[waiting]
            sift_down(stack, waiting, node_f)
            node_i[k, PLACE] = k
        else:
            node_i[k, PLACE] = visited
            visited += 1
        if node_i[k, FINAL] or splits_left == 0:
            node_i[k, FEATURE], node_f[k, THRESHOLD] = -2, -2.0
            first = end = np.int64(0)
            if best_first is None:
                if waiting == 0:
                    break
                waiting -= 1
                first = stack[waiting]
                end = first + 1
            continue
        splits_left -= 1
        split_node(
            k, born, X, presorted, signs, rows, y, codes, w, every, limits, node, work, room,
            medians, categories,
        )  # fmt: skip
        first, end = born, born + 2
        if best_first is None:  # left next, right later
            stack[waiting] = born + 1
            waiting += 1
            end -= 1
        born += 2
    return born
