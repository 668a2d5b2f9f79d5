r"""Splits: what a split of a node is worth, and the best one along a column

A node holds rows i with weights w_i. A split sends some of them to the left child L, the others to
the right child R. With W the sum of weights of a node and S_k the statistics of its targets (weight
of class k, or sum of w_i·y_i of output k), the impurity of a regression tree is the variance

    squared      Σ_i w_i y_i² / W − (S/W)²                                                      (1)

and the best split leaves the least W_L·impurity(L) + W_R·impurity(R). This is the one with the most
S_L²/W_L + S_R²/W_R, and less S²/W, which every split has in common, it is one fraction:

    gain = (S_L W − S W_L)² / (W · W_L · W_R)                                                   (2)

The same loop serves other impurities, of numbers and of classes:

    absolute     Σ_i w_i |y_i − median| / W                                                     (3)
    Poisson      half the mean deviance, Σ_i w_i (y_i log(y_i W/S)) / W                         (4)
    Gini         1 − Σ_k (S_k/W)²                                                               (5)
    entropy      −Σ_k (S_k/W) log₂(S_k/W)                                                       (6)

For two classes, coded 0 and 1, (5) is twice (1), so that (2) finds their best split, too.
Whether a candidate beats the best so far is asked without division: numerator against best times
denominator, with a little tolerance. Only candidates that pass (a few per column, as records are
rare in any sequence) are weighed exactly, by `worth`, whose rounding decides ties.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlreplica.core.compile.jit import kernel

from .columns import RANK, ROW

GINI, ENTROPY, SQUARED, POISSON, ABSOLUTE = range(5)
CLOSE = 1e-11  # candidates this close to the best are weighed exactly
LN2 = np.log(2.0)
EPSILON = np.finfo(np.float64).eps
ROUNDING = 1e-12  # of a sum of many numbers


# What the kernels pass on. Where an argument is None, what stands behind `if y is not None` is not
# compiled: Numba cuts such branches off before it looks at them.
# y, codes = float64 numbers (or 0 and 1 for two classes) or int32 classes, by row, outputs side by
#          side; one of the two is None
# w      = weights by row; empty if all are 1
# every  = True or None: one statistic and its square will not do (several outputs, (4))
# bounds = (sign, low, high): what a monotonic constraint asks of the children's values
# limits = how to search, and when to stop: its fields are
CRITERION, OUTPUTS, MAX_FEATURES, MAX_DEPTH, MIN_SPLIT, MIN_LEAF = range(6)
MIN_WEIGHT, MAX_LEAVES, MIN_GAIN, TOTAL = range(6, 10)  # leaves −1: depth first; weight of all rows
# node   = (node_i, node_f, node_v): a row a node, its whole numbers, floats and statistics:
LO, HI, DEPTH, CONSTANT, LEFT, FEATURE, MISSING_LEFT, FINAL, PLACE = range(9)
WEIGHT, IMPURITY, THRESHOLD, GAIN, LOW, HIGH = range(6)

# Sums in the order written: the same tree on every machine.
strict = kernel(fastmath=frozenset(), part=True)
lean = kernel(fastmath=frozenset(), part=True, borrow=True)
piece = kernel(fastmath=frozenset(), part=True, borrow=True, inline=True)  # for one place only


@lean
def impurity(criterion: int, S: Any, W: float, second: float, outputs: int) -> Any:
    """(1), (4)–(6) from the sums of a node; `second` is Σ w y² for (1), Σ w y log y for (4)."""
    K = len(S) // outputs
    if criterion == GINI:
        total = 0.0
        for o in range(outputs):
            square = 0.0
            for k in range(o * K, (o + 1) * K):
                square += S[k] * S[k]
            total += 1.0 - square / (W * W)
        return total / outputs
    if criterion == ENTROPY:
        total = 0.0
        for k in range(len(S)):
            if S[k] > 0.0:
                share = S[k] / W
                total -= share * (np.log(share) / LN2)
        return total / outputs
    total = second / W
    for k in range(len(S)):
        if criterion == SQUARED:
            total -= (S[k] / W) * (S[k] / W)
        elif S[k] > 0.0:
            total -= S[k] * np.log(S[k] / W) / W
    return total / outputs


@lean
def worth(criterion: int, L: Any, R: Any, W_L: float, W_R: float, outputs: int) -> Any:
    """The larger, the better the split, whatever the node: −W_L·impurity(L) − W_R·impurity(R)."""
    if criterion <= ENTROPY:
        return -W_R * impurity(criterion, R, W_R, 0.0, outputs) - W_L * impurity(
            criterion, L, W_L, 0.0, outputs
        )
    left, right = 0.0, 0.0
    for k in range(len(L)):
        if criterion == SQUARED:
            left += L[k] * L[k]
            right += R[k] * R[k]
        else:
            least = ROUNDING * (L[k] + R[k])
            if L[k] <= least or R[k] <= least:  # a leaf that predicts 0: infinite deviance
                return -np.inf
            left += L[k] * np.log(L[k] / W_L)
            right += R[k] * np.log(R[k] / W_R)
    return left / W_L + right / W_R if criterion == SQUARED else left + right


@lean
def gained(criterion: int, best: float, S: Any, W: float, before: float, outputs: int) -> Any:
    """How much W·impurity falls by the split that is worth `best`."""
    if criterion <= ENTROPY or criterion == ABSOLUTE:
        return W * before + best
    for k in range(len(S)):
        if criterion == SQUARED:
            best -= S[k] * S[k] / W
        else:
            best -= S[k] * np.log(S[k] / W)
    return best / outputs


@lean
def allowed(bounds: Any, left: Any, right: Any) -> Any:
    """Whether the children's values keep the bounds of their ancestors and the order asked for."""
    sign, low, high = bounds
    inside = left >= low and right >= low and left <= high and right <= high
    return inside and (left - right) * sign <= 0.0


@piece
def scan_sums(
    seg: Any, m: Any, missing: Any, y: Any, w: Any, S: Any, T: Any, n_left: Any, t: Any,
    limits: Any, bounds: Any, L: Any, R: Any, best: Any,
) -> Any:  # fmt: skip
    """The best split of m sorted rows by (6): squares of one output, or Gini of two classes.

    seg: rank << 32 | row, then `missing` rows without a value. n_left rows of weight t and
    statistics L are left from the start: none, or those missing. best = [worth, gain] is to beat,
    and changes in place. Returns how many of the m rows go left, or 0 if no split beats it.
    """
    criterion, least = limits[CRITERION], limits[MIN_LEAF]
    found, unit, total, s = 0, len(w) == 0, m + missing, L[len(L) - 1]
    bound = best[1] * T - CLOSE * T * abs(best[0])
    for i in range(m if missing and n_left == 0 else m - 1):  # m: only those missing are right
        key = seg[i]
        row = key & ROW
        if unit:
            s += y[row]
            t += 1.0
        else:
            s += w[row] * y[row]
            t += w[row]
        a = s * T - S * t
        if a * a >= bound * (t * (T - t)):
            k = n_left + i + 1
            if (i + 1 < m and seg[i + 1] >> RANK == key >> RANK) or k < least or total - k < least:
                continue
            if t < limits[MIN_WEIGHT] or T - t < limits[MIN_WEIGHT]:
                continue
            if criterion == SQUARED:
                L[0], R[0] = s, S - s
            else:
                L[0], L[1] = t - s, s
                R[0], R[1] = T - t - (S - s), S - s
            if bounds[0] != 0 and not allowed(bounds, L[0] / t, R[0] / (T - t)):
                continue
            value = worth(criterion, L, R, t, T - t, limits[OUTPUTS])
            if value > best[0]:
                best[0], best[1], found = value, a * a / (T * t * (T - t)), i + 1
                bound = best[1] * T - CLOSE * T * abs(value)
    return found


@lean
def x_log_x(x: Any, table: Any) -> Any:
    """x·log(x), from the table where there is one: whole numbers only."""
    if len(table) > 0:
        return table[np.int64(x)]
    return x * np.log(x) if x > 0.0 else 0.0


@piece
def scan_classes(
    seg: Any, m: Any, missing: Any, codes: Any, w: Any, T: Any, n_left: Any, t: Any,
    limits: Any, L: Any, R: Any, table: Any, best: Any,
) -> Any:  # fmt: skip
    """The best split of m sorted rows by Gini or entropy: O(1) a row for any number of classes.

    L, R: weights of the classes left and right at the start; table: x·log(x), or empty.
    Otherwise as `scan_sums`.
    """
    gini, least = limits[CRITERION] == GINI, limits[MIN_LEAF]
    found, unit, total, w_row = 0, len(w) == 0, m + missing, 1.0
    left, right = 0.0, 0.0  # Σ L², Σ R², or Σ L log L, Σ R log R
    for k in range(len(L)):
        if gini:
            left += L[k] * L[k]
            right += R[k] * R[k]
        else:
            left += x_log_x(L[k], table)
            right += x_log_x(R[k], table)
    slack = CLOSE * T * (1.0 + abs(np.log(T)))
    bound = best[0] + T - slack if gini else best[0] * LN2 - slack
    for i in range(m if missing and n_left == 0 else m - 1):
        key = seg[i]
        row = key & ROW
        c = codes[row]
        if not unit:
            w_row = w[row]
        l, r = L[c], R[c]
        L[c], R[c] = l + w_row, r - w_row
        t += w_row
        if gini:
            left += w_row * (l + l + w_row)
            right -= w_row * (r + r - w_row)
            if left * (T - t) + right * t < bound * (t * (T - t)):
                continue
        else:
            left += x_log_x(l + w_row, table) - x_log_x(l, table)
            right += x_log_x(r - w_row, table) - x_log_x(r, table)
            if left + right - x_log_x(t, table) - x_log_x(T - t, table) < bound:
                continue
        k = n_left + i + 1
        if (i + 1 < m and seg[i + 1] >> RANK == key >> RANK) or k < least or total - k < least:
            continue
        if t < limits[MIN_WEIGHT] or T - t < limits[MIN_WEIGHT]:
            continue
        value = worth(limits[CRITERION], L, R, t, T - t, limits[OUTPUTS])
        if value > best[0]:
            best[0], found = value, i + 1
            bound = value + T - slack if gini else value * LN2 - slack
    return found


@lean
def move(V: Any, row: Any, y: Any, codes: Any, w_row: Any, limits: Any) -> None:
    """Add a row of this weight (negative: take one away) to the statistics V."""
    outputs = limits[OUTPUTS]
    K = len(V) // outputs
    if codes is not None:
        for o in range(outputs):
            V[o * K + codes[row * outputs + o]] += w_row
    elif y is not None:
        for o in range(outputs):
            V[(o + 1) * K - 1] += w_row * y[row * outputs + o]
        if limits[CRITERION] == GINI:  # of two classes
            V[0] += w_row * (1.0 - y[row])


@piece
def scan_any(
    seg: Any, m: Any, missing: Any, y: Any, codes: Any, w: Any, T: Any, n_left: Any, t: Any,
    limits: Any, bounds: Any, L: Any, R: Any, best: Any,
) -> Any:  # fmt: skip
    """The best split of m sorted rows, several outputs or (4): weighs every candidate exactly."""
    least = limits[MIN_LEAF]
    found, total, w_row = 0, m + missing, 1.0
    for i in range(m if missing and n_left == 0 else m - 1):
        key = seg[i]
        row = key & ROW
        if len(w) > 0:
            w_row = w[row]
        t += w_row
        move(L, row, y, codes, w_row, limits)
        move(R, row, y, codes, -w_row, limits)
        k = n_left + i + 1
        if (i + 1 < m and seg[i + 1] >> RANK == key >> RANK) or k < least or total - k < least:
            continue
        if t < limits[MIN_WEIGHT] or T - t < limits[MIN_WEIGHT]:
            continue
        if bounds[0] != 0 and not allowed(bounds, L[0] / t, R[0] / (T - t)):
            continue
        value = worth(limits[CRITERION], L, R, t, T - t, limits[OUTPUTS])
        if value > best[0]:
            best[0], found = value, i + 1
    return found


@piece
def weigh(
    seg: Any, m: Any, missing: Any, y: Any, codes: Any, w: Any, every: Any, S: Any, T: Any,
    limits: Any, bounds: Any, L: Any, R: Any, table: Any, best: Any,
) -> Any:  # fmt: skip
    """The best split along one sorted column, the missing right, then left: (rows left, side)."""
    found, missing_left = 0, 0
    for side in range(2 if missing else 1):
        t, n_left, w_row, got = 0.0, 0, 1.0, 0
        for k in range(len(S)):
            L[k], R[k] = 0.0, S[k]
        if side == 1:
            n_left = missing
            for i in range(m, m + missing):
                row = seg[i] & ROW
                if len(w) > 0:
                    w_row = w[row]
                t += w_row
                move(L, row, y, codes, w_row, limits)
                move(R, row, y, codes, -w_row, limits)
        if every is not None:
            got = scan_any(seg, m, missing, y, codes, w, T, n_left, t, limits, bounds, L, R, best)
        elif y is not None:
            last = S[len(S) - 1]
            got = scan_sums(seg, m, missing, y, w, last, T, n_left, t, limits, bounds, L, R, best)
        elif codes is not None:
            got = scan_classes(seg, m, missing, codes, w, T, n_left, t, limits, L, R, table, best)
        if got > 0:
            found, missing_left = got, side
    return found, missing_left
