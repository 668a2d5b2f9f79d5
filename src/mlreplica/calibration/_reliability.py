"""Reliability curves: the observed share against the predicted probability"""

from numbers import Integral, Real

import numpy as np
from sklearn.utils import (
    check_consistent_length,
    column_or_1d,
)

from mlreplica.core.compat import (
    Interval,
    StrOptions,
    _check_pos_label_consistency,
    validate_params,
)


@validate_params(
    {
        "y_true": ["array-like"],
        "y_prob": ["array-like"],
        "pos_label": [Real, str, "boolean", None],
        "n_bins": [Interval(Integral, 1, None, closed="left")],
        "strategy": [StrOptions({"uniform", "quantile"})],
    },
    prefer_skip_nested_validation=True,
)
def calibration_curve(y_true, y_prob, *, pos_label=None, n_bins=5, strategy="uniform"):
    """Observed shares and predicted probabilities of bins of rows: the reliability curve.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels, of at most two classes.
    y_prob : array-like of shape (n_samples,)
        Predicted probabilities of the positive class.
    pos_label : int, float, bool or str, default=None
        The positive class; None for 1.
    n_bins : int, default=5
        Number of bins. Those that hold no row are left out.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of the same width, or of the same number of rows.

    Returns
    -------
    prob_true : ndarray of shape (n_bins,) or smaller
        The share of positives in each bin.
    prob_pred : ndarray of shape (n_bins,) or smaller
        The mean predicted probability in each bin.

    Examples
    --------
    >>> from mlreplica.calibration import calibration_curve
    >>> share, mean = calibration_curve([0, 0, 1, 1], [0.1, 0.3, 0.6, 0.9], n_bins=2)
    >>> share, mean
    (array([0., 1.]), array([0.2 , 0.75]))
    """
    y, p = column_or_1d(y_true), column_or_1d(y_prob)
    check_consistent_length(y, p)
    positive = _check_pos_label_consistency(pos_label, y)
    classes = np.unique(y)
    if len(classes) > 2:
        raise ValueError(f"Only binary classification is supported. Provided labels {classes}.")
    if not (p.min() >= 0 and p.max() <= 1):
        raise ValueError("y_prob has values outside [0, 1].")
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    if strategy == "quantile":
        edges = np.quantile(p, edges)
    bins = np.searchsorted(edges[1:-1], p)  # a probability on an edge belongs below it
    size = np.bincount(bins, minlength=n_bins)
    some = size > 0
    positives = np.bincount(bins, weights=y == positive, minlength=n_bins)
    total = np.bincount(bins, weights=p, minlength=n_bins)
    return positives[some] / size[some], total[some] / size[some]
