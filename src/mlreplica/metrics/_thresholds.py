"""A score turned into a call at each of its thresholds: every count, or any metric"""

from __future__ import annotations

import numpy as np
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d

from mlreplica.core.compat import _check_sample_weight

from ._inputs import checked
from ._ranking import CURVE, SCORES, scored
from ._sweep import sweep


@checked({name: rule for name, rule in CURVE.items() if name != "drop_intermediate"})
def confusion_matrix_at_thresholds(y_true, y_score, *, pos_label=None, sample_weight=None):
    """True and false negatives and positives at each threshold.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Two classes; -1/1 or 0/1 unless `pos_label` is given.
    y_score : array-like of shape (n_samples,)
        The higher, the more positive; a sample at or above the threshold is called positive.
    pos_label : int, float, bool or str, default=None
    sample_weight : array-like of shape (n_samples,), default=None

    Returns
    -------
    tns, fps, fns, tps, thresholds : ndarrays of shape (n_thresholds,)
        From the highest threshold downwards.

    Examples
    --------
    >>> from mlreplica.metrics import confusion_matrix_at_thresholds
    >>> confusion_matrix_at_thresholds([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])[3]
    array([1., 1., 2., 2.])
    """
    fps, tps, thresholds = sweep(*scored(y_true, y_score, pos_label, sample_weight))
    return fps[-1] - fps, fps, tps[-1] - tps, tps, thresholds


@checked(SCORES | {"metric_func": [callable], "metric_params": [dict, None]})
def metric_at_thresholds(y_true, y_score, metric_func, *, sample_weight=None, metric_params=None):
    """Any metric of calls, at each threshold.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
    y_score : array-like of shape (n_samples,)
        A sample at or above the threshold is called 1, others 0.
    metric_func : callable
        metric_func(y_true, y_pred, **metric_params) returns a number or an array.
    sample_weight : array-like of shape (n_samples,), default=None
        Passed on to `metric_func`; samples of weight 0 are left out.
    metric_params : dict, default=None
        More arguments of `metric_func`.

    Returns
    -------
    values : ndarray of shape (n_thresholds, *shape of one value)
    thresholds : ndarray of shape (n_thresholds,)
        The distinct scores, from the highest downwards.

    Examples
    --------
    >>> from mlreplica.metrics import accuracy_score, metric_at_thresholds
    >>> metric_at_thresholds([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], accuracy_score)[0]
    array([0.75, 0.5 , 0.75, 0.5 ])
    """
    check_consistent_length(y_true, y_score, sample_weight)
    y, s, given = column_or_1d(y_true), column_or_1d(y_score), dict(metric_params or {})
    assert_all_finite(y)
    assert_all_finite(s)
    if sample_weight is not None:
        w = _check_sample_weight(column_or_1d(sample_weight), y)
        y, s, given["sample_weight"] = y[w != 0], s[w != 0], w[w != 0]
    thresholds = np.unique(s)[::-1]
    values = [metric_func(y, (s >= at).astype(np.int32), **given) for at in thresholds]
    return np.asarray(values), thresholds
