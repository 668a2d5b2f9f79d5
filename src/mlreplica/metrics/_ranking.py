r"""Curves and areas of a score: one sort, one walk

(Equations (1) to (4) are those of the confusion matrix, in `_confusion.py`.)

A score s calls positive what lies at or above a threshold. Let the threshold fall: each sample it
passes adds its weight to the true or to the false positives,

    tp(θ) = Σ_{y=1, s≥θ} w,      fp(θ) = Σ_{y=0, s≥θ} w                        (5)

so one sort and one walk give the confusion matrix at every threshold, hence both curves:

    ROC: (fp/N, tp/P),           precision–recall: (tp/P, tp/(tp + fp))        (6)

with P, N the totals. The area under the ROC curve, by trapezoids over the distinct thresholds, is

    AUC = (1/PN) Σ_θ Δfp (tp + tp_before)/2 = P(s⁺ > s⁻) + ½ P(s⁺ = s⁻)        (7)

and average precision is AP = Σ_θ Δrecall · precision.                         (8)

Without weights nothing but the two sorted lists of scores enters (5), so the classes are sorted
apart, without any payload and on two threads, and merged in the walk.

Hanley & McNeil (1982), The meaning and use of the area under a ROC curve, Radiology 143.
"""

from __future__ import annotations

import warnings
from itertools import combinations
from numbers import Real

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.preprocessing import label_binarize
from sklearn.utils import assert_all_finite, check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import type_of_target

from mlreplica.core.compat import (
    Interval,
    StrOptions,
    _average_binary_score,
    _check_pos_label_consistency,
    _check_sample_weight,
)
from mlreplica.core.compat import _ranking as reference
from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import run

from ._inputs import LARGE, checked, is_finite, is_plain, is_weight

SCORES = {
    "y_true": ["array-like"],
    "y_score": ["array-like"],
    "sample_weight": ["array-like", None],
}
CURVE = SCORES | {
    "pos_label": [Real, str, "boolean", None],
    "drop_intermediate": ["boolean"],
}


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


def binary(y_true):
    """Of a plain array with at most two values: (smaller, larger, where the larger is), or None."""
    if y_true.dtype.kind == "b":
        return False, bool(y_true.any()), y_true
    low, high = y_true.min(), y_true.max()
    top = y_true == high
    if high - low != 1 or y_true.dtype.kind == "f":
        if np.count_nonzero(top) + (high != low) * np.count_nonzero(y_true == low) < len(y_true):
            return None
        if y_true.dtype.kind == "f" and not (low.is_integer() and high.is_integer()):
            return None
    return low, high, top


def scored(y_true, y_score, pos_label, w):
    """(is positive, score, weight) of a curve's arguments."""
    plain = pos_label is None and is_plain(y_true, y_score)
    if plain and is_finite(y_score) and is_weight(w, len(y_true)):
        low, high, top = binary(y_true) or (None, None, None)
        if high == 1 and low in (0, -1, 1):
            return top, y_score, w
    kind = type_of_target(y_true, input_name="y_true")
    if not (kind == "binary" or (kind == "multiclass" and pos_label is not None)):
        raise ValueError(f"{kind} format is not supported")
    pos_label = _check_pos_label_consistency(pos_label, y_true)
    y = np.asarray(y_true) == pos_label
    check_consistent_length(y, y_score, w)
    y, s = column_or_1d(y), column_or_1d(y_score)
    assert_all_finite(s)
    if w is not None:
        w = _check_sample_weight(column_or_1d(w), y)
    return y, s, w


@checked({"x": ["array-like"], "y": ["array-like"]})
def auc(x, y):
    """Area under a curve by the trapezoidal rule.

    Parameters
    ----------
    x : array-like of shape (n,)
        Increasing or decreasing abscissae.
    y : array-like of shape (n,)

    Returns
    -------
    area : float

    Examples
    --------
    >>> from mlreplica.metrics import auc
    >>> auc([0, 0, 0.5, 1], [0, 0.5, 1, 1])
    0.875
    """
    if not is_plain(x, y):
        check_consistent_length(x, y)
        x, y = column_or_1d(x), column_or_1d(y)
    if len(x) < 2:
        raise ValueError(
            f"At least 2 points are needed to compute area under curve, but x.shape = {len(x)}"
        )
    dx = np.diff(x)
    falls = dx < 0
    if falls.any() and (dx > 0).any():
        raise ValueError(f"x is neither increasing nor decreasing : {x}.")
    area = float(np.sum(dx * (y[1:] + y[:-1]))) / 2
    return -area if falls.any() else area


def share(counts, which):
    """Counts over their total; undefined where the class is absent."""
    if counts[-1] > 0:
        return counts / counts[-1]
    warnings.warn(
        f"No {which} samples in y_true, {'true' if which == 'positive' else 'false'} positive "
        "value should be meaningless",
        UndefinedMetricWarning,
        stacklevel=4,
    )
    return np.full(len(counts), np.nan)


@checked(CURVE)
def roc_curve(y_true, y_score, *, pos_label=None, sample_weight=None, drop_intermediate=True):
    """False and true positive rate at each threshold.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Two classes; -1/1 or 0/1 unless `pos_label` is given.
    y_score : array-like of shape (n_samples,)
        The higher, the more positive.
    pos_label : int, float, bool or str, default=None
    sample_weight : array-like of shape (n_samples,), default=None
    drop_intermediate : bool, default=True
        Leave out points on a straight piece of the curve.

    Returns
    -------
    fpr, tpr, thresholds : ndarrays of shape (n_thresholds,)
        From the threshold inf, above which nothing lies, downwards.

    Examples
    --------
    >>> from mlreplica.metrics import roc_curve
    >>> roc_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])[1]
    array([0. , 0.5, 0.5, 1. , 1. ])
    """
    y, s, w = scored(y_true, y_score, pos_label, sample_weight)
    fps, tps, thresholds = sweep(y, s, w, corners=drop_intermediate)
    first = np.zeros(1)
    fpr = share(np.concatenate([first, fps]), "negative")
    tpr = share(np.concatenate([first, tps]), "positive")
    return fpr, tpr, np.concatenate([first + np.inf, thresholds])


def precision_recall(y, s, w=None, drop_intermediate=False):
    """(precision, recall, thresholds) from above, without the end point: equation (6)."""
    fps, tps, thresholds = sweep(y, s, w)
    if drop_intermediate and len(fps) > 2:
        keep = np.ones(len(fps), bool)
        keep[1:-1] = (np.diff(tps[:-1]) != 0) | (np.diff(tps[1:]) != 0)
        fps, tps, thresholds = fps[keep], tps[keep], thresholds[keep]
    called = tps + fps
    if called.all():
        precision = tps / called
    else:
        precision = np.divide(tps, called, out=np.zeros(len(tps)), where=called != 0)
    if tps[-1] == 0:
        warnings.warn(
            "No positive class found in y_true, recall is set to one for all thresholds.",
            stacklevel=4,
        )
        return precision, np.ones(len(tps)), thresholds
    return precision, tps / tps[-1], thresholds


@checked(CURVE)
def precision_recall_curve(
    y_true, y_score, *, pos_label=None, sample_weight=None, drop_intermediate=False
):
    """Precision and recall at each threshold.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Two classes; -1/1 or 0/1 unless `pos_label` is given.
    y_score : array-like of shape (n_samples,)
        The higher, the more positive.
    pos_label : int, float, bool or str, default=None
    sample_weight : array-like of shape (n_samples,), default=None
    drop_intermediate : bool, default=False
        Leave out points between others of the same recall.

    Returns
    -------
    precision, recall : ndarrays of shape (n_thresholds + 1,)
        The last point is precision 1 at recall 0, which no threshold reaches.
    thresholds : ndarray of shape (n_thresholds,)
        Increasing.

    Examples
    --------
    >>> from mlreplica.metrics import precision_recall_curve
    >>> precision_recall_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])[1]
    array([1. , 1. , 0.5, 0.5, 0. ])
    """
    y, s, w = scored(y_true, y_score, pos_label, sample_weight)
    precision, recall, thresholds = precision_recall(y, s, w, drop_intermediate)
    return (
        np.concatenate([precision[::-1], [1.0]]),
        np.concatenate([recall[::-1], [0.0]]),
        thresholds[::-1],
    )


def average_precision(y, s, w=None):
    """Equation (8)."""
    precision, recall, _ = precision_recall(y, s, w)
    return max(0.0, float(recall[0] * precision[0] + np.sum(np.diff(recall) * precision[1:])))


@checked(
    SCORES
    | {
        "average": [StrOptions({"micro", "samples", "weighted", "macro"}), None],
        "pos_label": [Real, str, "boolean"],
    }
)
def average_precision_score(y_true, y_score, *, average="macro", pos_label=1, sample_weight=None):
    """Mean precision over the positives: the area under the precision–recall steps.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        Two classes, several classes or a label indicator.
    y_score : array-like of shape (n_samples,) or (n_samples, n_classes)
    average : {"micro", "samples", "weighted", "macro"} or None, default="macro"
        How to average over several classes.
    pos_label : int, float, bool or str, default=1
    sample_weight : array-like of shape (n_samples,), default=None

    Returns
    -------
    average_precision : float or ndarray of shape (n_classes,)

    Examples
    --------
    >>> from mlreplica.metrics import average_precision_score
    >>> round(average_precision_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), 4)
    0.8333
    """
    w = sample_weight
    plain = type(pos_label) is int and pos_label == 1 and is_plain(y_true, y_score)
    if plain and is_finite(y_score) and is_weight(w, len(y_true)):
        _, high, top = binary(y_true) or (None, None, None)
        if high == 1:
            return average_precision(top, y_score, w)
    if w is not None:
        w = column_or_1d(w)
    kind = type_of_target(y_true, input_name="y_true")
    present = np.unique(np.asarray(y_true))
    if kind == "binary" and len(present) == 2 and pos_label not in present:
        raise ValueError(
            f"pos_label={pos_label} is not a valid label. It should be one of {present}"
        )
    if kind in ("multilabel-indicator", "multiclass") and pos_label != 1:
        raise ValueError(
            f"Parameter pos_label is fixed to 1 for {kind} y_true. Do not set pos_label or set "
            "pos_label to 1."
        )
    if kind == "multiclass":
        y_true = label_binarize(y_true, classes=present)
        if y_score.shape != y_true.shape:
            raise ValueError(
                "`y_score` needs to be of shape `(n_samples, n_classes)`, since `y_true` contains "
                f"multiple classes. Got `y_score.shape={y_score.shape}`."
            )

    def one(y, s, sample_weight=None):
        return average_precision(*scored(y, s, pos_label, sample_weight))

    return _average_binary_score(one, y_true, y_score, average, sample_weight=w)


def area(y, s, sample_weight=None, max_fpr=None):
    """Equation (7) of a boolean y; McClish's rescaled partial area up to max_fpr."""
    P = np.count_nonzero(y)
    if P == 0 or len(y) == P:
        warnings.warn(
            "Only one class is present in y_true. ROC AUC score is not defined in that case.",
            UndefinedMetricWarning,
            stacklevel=3,
        )
        return np.nan
    whole = max_fpr is None or max_fpr == 1
    if whole and sample_weight is None and len(y) >= LARGE:
        return twice_area(*classes_apart(y, s)) / (2 * P * (len(y) - P))
    fps, tps, _ = sweep(y, s, sample_weight)
    first = np.zeros(1)
    fpr = share(np.concatenate([first, fps]), "negative")
    tpr = share(np.concatenate([first, tps]), "positive")
    if whole:
        return auc(fpr, tpr)
    stop = np.searchsorted(fpr, max_fpr, "right")
    end = np.interp(max_fpr, fpr[stop - 1 : stop + 1], tpr[stop - 1 : stop + 1])
    some = auc(np.append(fpr[:stop], max_fpr), np.append(tpr[:stop], end))
    least = max_fpr**2 / 2
    return 0.5 * (1 + (some - least) / (max_fpr - least))


def one_vs_rest(code, P, average, w):
    """AUC of each class against all others, averaged."""
    k = P.shape[1]
    if average == "micro":
        w = None if w is None else np.repeat(w, k)
        return area((code[:, None] == np.arange(k)).ravel(), P.ravel(), w)
    scores = np.array([area(code == c, np.ascontiguousarray(P[:, c]), w) for c in range(k)])
    if average is None:
        return scores
    prevalence = np.bincount(code, w, k) if average == "weighted" else None
    if prevalence is not None:
        scores[prevalence == 0] = 0
    return float(np.average(scores, weights=prevalence))


def one_vs_one(code, P, average):
    """Mean over pairs of classes of the AUC by either class's column (Hand & Till, 2001).

    The scores of each class by each column are sorted once; a pair is then a merge of two lists.
    """
    present = np.unique(code)
    ascending = [np.array(P[code == c].T, np.float64, order="C") for c in present]  # (k, n_c)
    large = len(code) >= LARGE
    if large:
        run(lambda rows: rows.sort(axis=1), ascending)
    else:
        for rows in ascending:
            rows.sort(axis=1)
    twice = twice_area if large else twice_area_of_few
    scores, size = [], []
    for a, b in combinations(range(len(present)), 2):
        A, B = ascending[a], ascending[b]
        by_a, by_b = (
            twice(own[c], other[c]) for own, other, c in ((A, B, present[a]), (B, A, present[b]))
        )
        scores.append((by_a + by_b) / (4 * A.shape[1] * B.shape[1]))
        size.append(A.shape[1] + B.shape[1])
    return np.average(scores, weights=size if average == "weighted" else None)


@checked(
    SCORES
    | {
        "average": [StrOptions({"micro", "macro", "samples", "weighted"}), None],
        "max_fpr": [Interval(Real, 0.0, 1, closed="right"), None],
        "multi_class": [StrOptions({"raise", "ovr", "ovo"})],
        "labels": ["array-like", None],
    }
)
def roc_auc_score(
    y_true, y_score, *, average="macro", sample_weight=None, max_fpr=None, multi_class="raise",
    labels=None,
):  # fmt: skip
    """Probability that a positive scores above a negative, ties counting half.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        Two classes, several classes or a label indicator.
    y_score : array-like of shape (n_samples,) or (n_samples, n_classes)
        Scores; for several classes probabilities that sum to 1.
    average : {"micro", "macro", "samples", "weighted"} or None, default="macro"
        How to average over several classes.
    sample_weight : array-like of shape (n_samples,), default=None
    max_fpr : float in (0, 1], default=None
        Area up to this false positive rate only, rescaled to [0.5, 1].
    multi_class : {"raise", "ovr", "ovo"}, default="raise"
        One class against the rest, or pairs of classes.
    labels : array-like of shape (n_classes,), default=None
        The classes of the columns of y_score, sorted.

    Returns
    -------
    auc : float or ndarray of shape (n_classes,)

    Examples
    --------
    >>> from mlreplica.metrics import roc_auc_score
    >>> roc_auc_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    w = sample_weight
    plain = is_plain(y_true, y_score) and is_finite(y_score) and is_weight(w, len(y_true))
    if plain and (found := binary(y_true)) is not None and found[0] != found[1]:
        return area(found[2], y_score, w, max_fpr)
    kind = type_of_target(y_true, input_name="y_true")
    y_true = check_array(y_true, ensure_2d=False, dtype=None)
    y_score = check_array(y_score, ensure_2d=False)
    if w is not None:
        w = column_or_1d(w)
    if kind == "multiclass" or (kind == "binary" and y_score.ndim == 2 and y_score.shape[1] > 2):
        classes = np.unique(y_true) if labels is None else column_or_1d(labels)
        if (
            y_score.ndim != 2
            or y_score.shape != (len(y_true), len(classes))
            or (max_fpr is not None and max_fpr != 1)
            or average not in {"ovr": ("macro", "weighted", "micro", None),
                               "ovo": ("macro", "weighted")}.get(multi_class, ())
            or (multi_class == "ovo" and w is not None)
            or not np.allclose(1, y_score.sum(axis=1))
            or np.any(classes[1:] <= classes[:-1])
            or not np.isin(y_true, classes).all()
        ):  # fmt: skip
            return reference.roc_auc_score(
                y_true, y_score, average=average, sample_weight=w, max_fpr=max_fpr,
                multi_class=multi_class, labels=labels,
            )  # fmt: skip
        check_consistent_length(y_true, y_score, w)
        code = np.searchsorted(classes, y_true.ravel())
        if multi_class == "ovo":
            return one_vs_one(code, y_score, average)
        return one_vs_rest(code, y_score, average, w)
    if kind == "binary":
        y_true = label_binarize(y_true, classes=np.unique(y_true))[:, 0]

    def one(y, s, sample_weight=None):
        y, s, sample_weight = scored(y, s, 1, sample_weight)
        return area(y, s, sample_weight, max_fpr)

    return _average_binary_score(one, y_true, y_score, average, sample_weight=w)
