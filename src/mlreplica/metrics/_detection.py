"""Detection error tradeoff: which share of each class is missed, at each threshold"""

from __future__ import annotations

import numpy as np

from ._inputs import checked
from ._ranking import CURVE, scored
from ._sweep import sweep


@checked(CURVE)
def det_curve(y_true, y_score, pos_label=None, sample_weight=None, drop_intermediate=False):
    """False positive and false negative rate at each threshold.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Two classes; -1/1 or 0/1 unless `pos_label` is given.
    y_score : array-like of shape (n_samples,)
        The higher, the more positive.
    pos_label : int, float, bool or str, default=None
    sample_weight : array-like of shape (n_samples,), default=None
    drop_intermediate : bool, default=False
        Leave out points between two of the same true positives.

    Returns
    -------
    fpr, fnr, thresholds : ndarrays of shape (n_thresholds,)
        From the lowest threshold upwards, between the last with no false negative and the first
        with no false positive.

    Examples
    --------
    >>> from mlreplica.metrics import det_curve
    >>> fpr, fnr, thresholds = det_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> fpr, fnr, thresholds
    (array([0.5, 0.5, 0. ]), array([0. , 0.5, 0.5]), array([0.35, 0.4 , 0.8 ]))
    """
    y, s, w = scored(y_true, y_score, pos_label, sample_weight)
    fps, tps, thresholds = sweep(y, s, w)
    fps, tps = np.append(0.0, fps), np.append(0.0, tps)
    thresholds = np.append(np.inf, thresholds.astype(np.float64))
    if drop_intermediate and len(fps) > 2:
        keep = np.ones(len(fps), dtype=bool)
        keep[1:-1] = (np.diff(tps[:-1]) != 0) | (np.diff(tps[1:]) != 0)
        fps, tps, thresholds = fps[keep], tps[keep], thresholds[keep]
    if y.all() or not y.any():
        raise ValueError(
            "Only one class is present in y_true. Detection error "
            "tradeoff curve is not defined in that case."
        )
    first = np.searchsorted(fps, fps[0], side="right") - 1
    curve = slice(first, np.searchsorted(tps, tps[-1]) + 1)
    fpr, fnr = fps[curve] / fps[-1], (tps[-1] - tps[curve]) / tps[-1]
    return fpr[::-1], fnr[::-1], thresholds[curve][::-1]
