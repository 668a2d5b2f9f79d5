r"""The ROC curve and its area, from the counts at every threshold

With tp and fp at the thresholds (5), from `_sweep.py`, and their totals P and N, the curve is

    ROC: (fp/N, tp/P)                                                          (6)

and its area, by trapezoids over the distinct thresholds,

    AUC = (1/PN) Σ_θ Δfp (tp + tp_before)/2 = P(s⁺ > s⁻) + ½ P(s⁺ = s⁻)        (7)

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
from mlreplica.core.compile.threads import run

from ._inputs import LARGE, checked, is_finite, is_plain, is_weight
from ._sweep import classes_apart, sweep, twice_area, twice_area_of_few

SCORES = {
    "y_true": ["array-like"],
    "y_score": ["array-like"],
    "sample_weight": ["array-like", None],
}
CURVE = SCORES | {
    "pos_label": [Real, str, "boolean", None],
    "drop_intermediate": ["boolean"],
}


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
