r"""Precision against recall at every threshold, and average precision

With tp and fp at the thresholds (5), from `_sweep.py`, and the total P of positives,

    recall = tp/P,    precision = tp/(tp + fp),    AP = Σ_θ Δrecall · precision     (8)
"""

from __future__ import annotations

import warnings
from numbers import Real

import numpy as np
from sklearn.preprocessing import label_binarize
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import type_of_target

from mlreplica.core.compat import (
    StrOptions,
    _average_binary_score,
)

from ._inputs import checked, is_finite, is_plain, is_weight
from ._ranking import CURVE, SCORES, binary, scored
from ._sweep import sweep


def precision_recall(y, s, w=None, drop_intermediate=False):
    """(precision, recall, thresholds) from above, without the end point: equation (8)."""
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
