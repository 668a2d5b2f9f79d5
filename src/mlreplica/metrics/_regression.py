r"""Errors of predicted numbers

With e_i = y_i − f_i, weights w_i (1 by default) and the mean ⟨x⟩ = Σ w_i x_i / Σ w_i,

    MSE = ⟨e²⟩    RMSE = √MSE    MAE = ⟨|e|⟩    MAPE = ⟨|e| / max(|y|, ε)⟩     (1)

    R² = 1 − ⟨e²⟩ / ⟨(y − ⟨y⟩)²⟩                                               (2)

    explained variance = 1 − ⟨(e − ⟨e⟩)²⟩ / ⟨(y − ⟨y⟩)²⟩                       (3)

(2) and (3) differ by the squared bias ⟨e⟩² over the variance of y. `_residual_sums.py` takes the
sums of large inputs in one pass.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from mlreplica.core.compat import StrOptions, _weighted_percentile
from mlreplica.core.compat import _regression as reference

from ._inputs import LARGE, checked, in_parts, is_plain, is_weight
from ._residual_sums import (
    INFINITE,
    TINY,
    gather,
    histogram,
    is_large,
    on_parts,
    spreads,
    sum_absolute,
    sum_relative,
    sum_squares,
)

ERRORS = {
    "y_true": ["array-like"],
    "y_pred": ["array-like"],
    "sample_weight": ["array-like", None],
    "multioutput": [StrOptions({"raw_values", "uniform_average"}), "array-like"],
}


def plain(y, f, w, multioutput):
    """Two plain float64 vectors and plain weights: what the short way takes."""
    return (
        type(multioutput) is str
        and multioutput == "uniform_average"
        and is_plain(y, f, kinds="f")
        and y.dtype == f.dtype == np.float64
        and (w is None or (is_weight(w, len(y)) and w.dtype == np.float64))
    )


def mean_of(e, w):
    """⟨e⟩ of errors by sample, or NaN and infinity where there is no such thing."""
    return float(e.mean() if w is None else np.multiply(e, w).sum() / w.sum())


def column_means(y_true, y_pred, w, multioutput, error):
    """The long way: any array-likes, several outputs; `error` of two arrays, averaged."""
    _, y, f, w, multioutput = reference._check_reg_targets_with_floating_dtype(
        y_true, y_pred, w, multioutput, xp=np
    )
    return combine(np.average(error(y, f), weights=w, axis=0), multioutput)


def combine(scores, multioutput):
    """One number of the outputs' scores, as `multioutput` says."""
    if isinstance(multioutput, str):
        if multioutput == "raw_values":
            return scores
        multioutput = None
    return float(np.average(scores, weights=multioutput))


def square(y, f):
    """e²"""
    e = y - f
    return np.square(e, out=e)


def absolute(y, f):
    """|e|"""
    e = y - f
    return np.abs(e, out=e)


def relative(y, f):
    """|e| / max(|y|, ε)"""
    return np.abs(f - y) / np.maximum(np.abs(y), np.asarray(TINY, y.dtype))


def mean_error(y, f, w, multioutput, error, summed):
    """Equation (1): by NumPy if small, by the kernel `summed` if large, else the long way."""
    if plain(y, f, w, multioutput):
        with np.errstate(over="ignore", invalid="ignore"):
            if is_large(y, w):
                score, weight = on_parts(summed, y, f, w).sum(axis=0)
                score = float(score / weight)
            else:
                score = mean_of(error(y, f), w)
        if np.isfinite(score):
            return score
    return column_means(y, f, w, multioutput, error)


@checked(ERRORS)
def mean_squared_error(y_true, y_pred, *, sample_weight=None, multioutput="uniform_average"):
    """Mean of the squared errors.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,) or (n_samples, n_outputs)
        True and predicted numbers.
    sample_weight : array-like of shape (n_samples,), default=None
    multioutput : {"raw_values", "uniform_average"} or array-like of shape (n_outputs,)
        One score an output, their mean, or their mean by these weights.

    Returns
    -------
    loss : float or ndarray of shape (n_outputs,)

    Examples
    --------
    >>> from mlreplica.metrics import mean_squared_error
    >>> mean_squared_error([3, -0.5, 2, 7], [2.5, 0.0, 2, 8])
    0.375
    """
    return mean_error(y_true, y_pred, sample_weight, multioutput, square, sum_squares)


@checked(ERRORS)
def root_mean_squared_error(y_true, y_pred, *, sample_weight=None, multioutput="uniform_average"):
    """Root of the mean of the squared errors, in the units of y.

    Parameters as for `mean_squared_error`.

    Examples
    --------
    >>> from mlreplica.metrics import root_mean_squared_error
    >>> root_mean_squared_error([3, -0.5, 2, 7], [2.5, 0.0, 2, 8])
    0.6123724356957945
    """
    if plain(y_true, y_pred, sample_weight, multioutput):
        return float(np.sqrt(mean_squared_error(y_true, y_pred, sample_weight=sample_weight)))
    raw = column_means(y_true, y_pred, sample_weight, "raw_values", square)
    return combine(np.sqrt(raw), multioutput)


@checked(ERRORS)
def mean_absolute_error(y_true, y_pred, *, sample_weight=None, multioutput="uniform_average"):
    """Mean of the absolute errors.

    Parameters as for `mean_squared_error`.

    Examples
    --------
    >>> from mlreplica.metrics import mean_absolute_error
    >>> mean_absolute_error([3, -0.5, 2, 7], [2.5, 0.0, 2, 8])
    0.5
    """
    return mean_error(y_true, y_pred, sample_weight, multioutput, absolute, sum_absolute)


@checked(ERRORS)
def mean_absolute_percentage_error(
    y_true, y_pred, *, sample_weight=None, multioutput="uniform_average"
):
    """Mean of the absolute errors relative to |y| (0.1 means ten per cent).

    Parameters as for `mean_squared_error`.

    Examples
    --------
    >>> from mlreplica.metrics import mean_absolute_percentage_error
    >>> mean_absolute_percentage_error([1.0, 2.0, 4.0], [1.5, 2.0, 3.0])
    0.25
    """
    return mean_error(y_true, y_pred, sample_weight, multioutput, relative, sum_relative)


def median_of(y, f):
    """Exact median of |e|, or None if an error is not finite.

    Of many, a histogram finds the bins of the middle, and a partition of those few the rest.
    """
    n = len(y)
    ends = (n - 1) // 2, n // 2
    if n < LARGE:
        e = absolute(y, f)
        return middle(e, *ends) if np.isfinite(e.sum()) else None
    y, f = np.ascontiguousarray(y), np.ascontiguousarray(f)
    count = sum(in_parts(lambda s: histogram(y[s], f[s]), n))
    if count[INFINITE:].any():
        return None
    below = np.cumsum(count)
    low, high = np.searchsorted(below, ends, side="right")
    start = below[low - 1] if low else 0
    between = np.empty(below[high] - start)
    gather(y, f, low, high, between)
    return middle(between, *(int(end - start) for end in ends))


def middle(e, low, high):
    """Mean of the order statistics low and high; e is reordered."""
    e.partition((low, high))
    return float((e[low] + e[high]) / 2)


@checked(ERRORS)
def median_absolute_error(y_true, y_pred, *, multioutput="uniform_average", sample_weight=None):
    """Median of the absolute errors: outliers do not matter.

    Parameters as for `mean_squared_error`.

    Examples
    --------
    >>> from mlreplica.metrics import median_absolute_error
    >>> median_absolute_error([3, -0.5, 2, 7], [2.5, 0.0, 2, 8])
    0.5
    """
    w = sample_weight
    if w is None and plain(y_true, y_pred, w, multioutput):
        with np.errstate(over="ignore", invalid="ignore"):
            median = median_of(y_true, y_pred)
        if median is not None:
            return median
    _, y, f, w, multioutput = reference._check_reg_targets(y_true, y_pred, w, multioutput)
    if w is None:
        return combine(np.median(np.abs(f - y), axis=0), multioutput)
    return combine(_weighted_percentile(np.abs(f - y), w, average=True), multioutput)


@checked({"y_true": ["array-like"], "y_pred": ["array-like"]})
def max_error(y_true, y_pred):
    """The largest absolute error.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)

    Returns
    -------
    error : float

    Examples
    --------
    >>> from mlreplica.metrics import max_error
    >>> max_error([3, 2, 7, 1], [4, 2, 7, 1])
    1.0
    """
    if is_plain(y_true, y_pred, kinds="f"):
        with np.errstate(over="ignore", invalid="ignore"):
            starts = range(0, len(y_true), 16384)  # blocks that stay in cache
            worst = [np.abs(y_true[s : s + 16384] - y_pred[s : s + 16384]).max() for s in starts]
            if np.isfinite(sum(worst)):
                return float(max(worst))
    kind, y, f, _, _ = reference._check_reg_targets(y_true, y_pred, None, None)
    if kind == "continuous-multioutput":
        raise ValueError("Multioutput not supported in max_error")
    return float(np.max(np.abs(y - f)))


def explained(top, bottom, multioutput, force_finite):
    """1 − top/bottom for each output, averaged; a constant y scores 1 if matched, else 0."""
    if not force_finite:
        scores = 1 - top / bottom
    else:
        scores = np.ones(len(top), top.dtype)
        valid = (bottom != 0) & (top != 0)
        scores[valid] = 1 - top[valid] / bottom[valid]
        scores[(top != 0) & (bottom == 0)] = 0.0
    if isinstance(multioutput, str) and multioutput == "variance_weighted":
        multioutput = bottom if np.any(bottom) else "uniform_average"
    if multioutput is None:
        multioutput = "uniform_average"
    return combine(scores, multioutput)


def moments(y, f, w):
    """(⟨y⟩, Σw(y − ⟨y⟩)², ⟨e⟩, Σw(e − ⟨e⟩)², Σw) of two plain vectors."""
    n = len(y)
    if is_large(y, w):
        sizes, m_y, S_y, m_e, S_e = on_parts(spreads, y, f, w).T
        n = sizes.sum()
        mean_y, mean_e = sizes @ m_y / n, sizes @ m_e / n
        S_y = S_y.sum() + sizes @ (m_y - mean_y) ** 2
        return mean_y, S_y, mean_e, S_e.sum() + sizes @ (m_e - mean_e) ** 2, n
    e = y - f
    mean_y, mean_e, sum_w = mean_of(y, w), mean_of(e, w), n if w is None else w.sum()
    S_y, S_e = (y - mean_y) ** 2, (e - mean_e) ** 2
    if w is not None:
        S_y, S_e = S_y * w, S_e * w
    return mean_y, S_y.sum(), mean_e, S_e.sum(), sum_w


VARIANCE = ERRORS | {
    "multioutput": [
        StrOptions({"raw_values", "uniform_average", "variance_weighted"}),
        "array-like",
        None,
    ],
    "force_finite": ["boolean"],
}


@checked(VARIANCE)
def r2_score(
    y_true, y_pred, *, sample_weight=None, multioutput="uniform_average", force_finite=True
):
    """Coefficient of determination: 1 − squared error / variance.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,) or (n_samples, n_outputs)
    sample_weight : array-like of shape (n_samples,), default=None
    multioutput : {"raw_values", "uniform_average", "variance_weighted"}, array-like or None
        One score an output, their mean, their mean by variance, or by these weights.
    force_finite : bool, default=True
        For constant y: 1.0 if the predictions are perfect, else 0.0, instead of NaN and -inf.

    Returns
    -------
    score : float or ndarray of shape (n_outputs,)

    Examples
    --------
    >>> from mlreplica.metrics import r2_score
    >>> round(r2_score([3, -0.5, 2, 7], [2.5, 0.0, 2, 8]), 4)
    0.9486
    """
    w = sample_weight
    if plain(y_true, y_pred, w, multioutput) and len(y_true) > 1:
        with np.errstate(over="ignore", invalid="ignore"):
            _, S_y, m_e, S_e, n = moments(y_true, y_pred, w)
            error = S_e + n * m_e * m_e  # Σ e², by the shift of the mean
        if np.isfinite(error + S_y) and S_y > 0 and error > 0:
            return float(1 - error / S_y)
    _, y, f, w, multioutput = reference._check_reg_targets_with_floating_dtype(
        y_true, y_pred, w, multioutput, xp=np
    )
    if len(f) < 2:
        warnings.warn(
            "R^2 score is not well-defined with less than two samples.",
            UndefinedMetricWarning,
            stacklevel=3,
        )
        return float("nan")
    weight = 1.0 if w is None else w[:, None]
    top = np.sum(weight * (y - f) ** 2, axis=0)
    bottom = np.sum(weight * (y - np.average(y, axis=0, weights=w)) ** 2, axis=0)
    return explained(top, bottom, multioutput, force_finite)


@checked(VARIANCE | {"multioutput": VARIANCE["multioutput"][:2]})
def explained_variance_score(
    y_true, y_pred, *, sample_weight=None, multioutput="uniform_average", force_finite=True
):
    """1 − variance of the error / variance of y: like R², but blind to a constant bias.

    Parameters as for `r2_score`.

    Examples
    --------
    >>> from mlreplica.metrics import explained_variance_score
    >>> explained_variance_score([1.0, 2.0, 3.0], [2.0, 3.0, 4.0])
    1.0
    """
    w = sample_weight
    if plain(y_true, y_pred, w, multioutput):
        with np.errstate(over="ignore", invalid="ignore"):
            _, S_y, _, S_e, _ = moments(y_true, y_pred, w)
        if np.isfinite(S_e + S_y) and S_y > 0 and S_e > 0:
            return float(1 - S_e / S_y)
    _, y, f, w, multioutput = reference._check_reg_targets_with_floating_dtype(
        y_true, y_pred, w, multioutput, xp=np
    )
    bias = np.average(y - f, weights=w, axis=0)
    top = np.average((y - f - bias) ** 2, weights=w, axis=0)
    bottom = np.average((y - np.average(y, weights=w, axis=0)) ** 2, weights=w, axis=0)
    return explained(top, bottom, multioutput, force_finite)
