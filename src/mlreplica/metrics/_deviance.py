r"""Deviances, pinball losses and logarithmic errors, and the shares of them that a model explains

With weights w_i (1 by default), the mean ⟨x⟩ = Σ w_i x_i / Σ w_i and e = y − f,

    pinball = ⟨max(τ e, (τ − 1) e)⟩      MSLE = ⟨(log(1 + y) − log(1 + f))²⟩                 (1)

The Tweedie deviance ⟨d(y, f)⟩ is that of `core/formulas/deviance.py`. A D² compares a loss L with
that of the best constant c: the mean for deviances, the τ-quantile for the pinball loss.

    D² = 1 − L(y, f) / L(y, c)                                                               (2)

Koenker, Machado, Goodness of fit and related inference processes for quantile regression (1999).
"""

from __future__ import annotations

import warnings
from numbers import Real

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from mlreplica.core.compat import Interval, _weighted_percentile
from mlreplica.core.compat import _regression as reference
from mlreplica.core.formulas.deviance import deviances

from ._inputs import checked, is_plain, is_weight
from ._regression import (
    ERRORS,
    column_means,
    combine,
    explained,
    mean_of,
    mean_squared_error,
    plain,
)

LEVEL = {**ERRORS, "alpha": [Interval(Real, 0, 1, closed="both")]}
DEVIANCE = {
    "y_true": ["array-like"],
    "y_pred": ["array-like"],
    "sample_weight": ["array-like", None],
    "power": [Interval(Real, None, 0, closed="right"), Interval(Real, 1, None, closed="left")],
}
TOO_FEW = "D^2 score is not well-defined with less than two samples."


def pinball(alpha):
    """The loss (1) of two arrays, entry by entry."""

    def loss(y, f):
        e = y - f
        return np.maximum(alpha * e, (alpha - 1.0) * e)

    return loss


@checked(LEVEL)
def mean_pinball_loss(
    y_true, y_pred, *, sample_weight=None, alpha=0.5, multioutput="uniform_average"
):
    """Mean pinball loss: least for the alpha-quantile of y.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,) or (n_samples, n_outputs)
        True numbers and predicted quantiles.
    sample_weight : array-like of shape (n_samples,), default=None
    alpha : float in [0, 1], default=0.5
        Which quantile; 0.5 gives half the mean absolute error.
    multioutput : {"raw_values", "uniform_average"} or array-like of shape (n_outputs,)
        One loss per output, their mean, or their mean by these weights.

    Returns
    -------
    loss : float or ndarray of shape (n_outputs,)

    Examples
    --------
    >>> from mlreplica.metrics import mean_pinball_loss
    >>> round(mean_pinball_loss([1, 2, 3], [0, 2, 3], alpha=0.9), 4)
    0.3
    """
    loss = pinball(alpha)
    if plain(y_true, y_pred, sample_weight, multioutput):
        with np.errstate(over="ignore", invalid="ignore"):
            found = mean_of(loss(y_true, y_pred), sample_weight)
        if np.isfinite(found):
            return found
    return column_means(y_true, y_pred, sample_weight, multioutput, loss)


def logarithms(y_true, y_pred, w, multioutput):
    """log(1 + y), log(1 + f), the weights and `multioutput`, checked."""
    _, y, f, w, multioutput = reference._check_reg_targets_with_floating_dtype(
        y_true, y_pred, w, multioutput, xp=np
    )
    if y.min() <= -1 or f.min() <= -1:
        raise ValueError(
            "Mean Squared Logarithmic Error cannot be used when "
            "targets contain values less than or equal to -1."
        )
    return np.log1p(y), np.log1p(f), w, multioutput


@checked(ERRORS)
def mean_squared_log_error(y_true, y_pred, *, sample_weight=None, multioutput="uniform_average"):
    """Mean of the squared errors of log(1 + y): errors in per cent, for values of many sizes.

    Parameters as for `mean_squared_error`.

    Examples
    --------
    >>> from mlreplica.metrics import mean_squared_log_error
    >>> round(mean_squared_log_error([3, 5, 2.5, 7], [2.5, 5, 4, 8]), 4)
    0.0397
    """
    y, f, w, multioutput = logarithms(y_true, y_pred, sample_weight, multioutput)
    return mean_squared_error(y, f, sample_weight=w, multioutput=multioutput_of(multioutput))


def multioutput_of(value):
    """`multioutput` as given; the checks of one output return None for the mean."""
    return "uniform_average" if value is None else value


@checked(ERRORS)
def root_mean_squared_log_error(
    y_true, y_pred, *, sample_weight=None, multioutput="uniform_average"
):
    """Root of the mean of the squared errors of log(1 + y).

    Parameters as for `mean_squared_error`.

    Examples
    --------
    >>> from mlreplica.metrics import root_mean_squared_log_error
    >>> round(root_mean_squared_log_error([3, 5, 2.5, 7], [2.5, 5, 4, 8]), 4)
    0.1993
    """
    y, f, w, multioutput = logarithms(y_true, y_pred, sample_weight, multioutput)
    raw = mean_squared_error(y, f, sample_weight=w, multioutput="raw_values")
    return combine(np.sqrt(raw), multioutput_of(multioutput))


def one_output(y_true, y_pred, w, name):
    """(y, f, w) as vectors of floats, checked."""
    if (
        is_plain(y_true, y_pred, kinds="f")
        and is_weight(w, len(y_true))
        and np.isfinite(y_true.sum() + y_pred.sum())
    ):
        return y_true, y_pred, w
    kind, y, f, w, _ = reference._check_reg_targets_with_floating_dtype(
        y_true, y_pred, w, multioutput=None, xp=np
    )
    if kind == "continuous-multioutput":
        raise ValueError(f"Multioutput not supported in {name}")
    return y[:, 0], f[:, 0], w


def check_range(y, f, power):
    """Raise where the deviance of this power is not defined."""
    message = f"Mean Tweedie deviance error with power={power} can only be used on "
    if power < 0 and f.min() <= 0:
        raise ValueError(message + "strictly positive y_pred.")
    if 1 <= power < 2 and (y.min() < 0 or f.min() <= 0):
        raise ValueError(message + "non-negative y and strictly positive y_pred.")
    if power >= 2 and (y.min() <= 0 or f.min() <= 0):
        raise ValueError(message + "strictly positive y and y_pred.")


def mean_deviance(y, f, w, power):
    """⟨d(y, f)⟩"""
    return float(np.average(deviances(y, f, power), weights=w))


@checked(DEVIANCE)
def mean_tweedie_deviance(y_true, y_pred, *, sample_weight=None, power=0):
    """Mean Tweedie deviance: the loss for a variance that grows like a power of the mean.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        True numbers and predicted means.
    sample_weight : array-like of shape (n_samples,), default=None
    power : float, default=0
        At most 0, or at least 1. 0: squared error, 1: Poisson, 2: gamma, 3: inverse Gaussian; the
        higher, the less large values weigh.

    Returns
    -------
    loss : float

    Examples
    --------
    >>> from mlreplica.metrics import mean_tweedie_deviance
    >>> round(mean_tweedie_deviance([2, 0, 1, 4], [0.5, 0.5, 2.0, 2.0], power=1), 4)
    1.426
    """
    y, f, w = one_output(y_true, y_pred, sample_weight, "mean_tweedie_deviance")
    check_range(y, f, power)
    return mean_deviance(y, f, w, power)


PLAIN_DEVIANCE = {name: rule for name, rule in DEVIANCE.items() if name != "power"}


@checked(PLAIN_DEVIANCE)
def mean_poisson_deviance(y_true, y_pred, *, sample_weight=None):
    """Mean Poisson deviance, the Tweedie deviance of power 1.

    Parameters as for `mean_tweedie_deviance`.

    Examples
    --------
    >>> from mlreplica.metrics import mean_poisson_deviance
    >>> round(mean_poisson_deviance([2, 0, 1, 4], [0.5, 0.5, 2.0, 2.0]), 4)
    1.426
    """
    return mean_tweedie_deviance(y_true, y_pred, sample_weight=sample_weight, power=1)


@checked(PLAIN_DEVIANCE)
def mean_gamma_deviance(y_true, y_pred, *, sample_weight=None):
    """Mean gamma deviance, the Tweedie deviance of power 2: the unit of y does not matter.

    Parameters as for `mean_tweedie_deviance`.

    Examples
    --------
    >>> from mlreplica.metrics import mean_gamma_deviance
    >>> round(mean_gamma_deviance([2, 0.5, 1, 4], [0.5, 0.5, 2.0, 2.0]), 4)
    1.0569
    """
    return mean_tweedie_deviance(y_true, y_pred, sample_weight=sample_weight, power=2)


@checked(DEVIANCE)
def d2_tweedie_score(y_true, y_pred, *, sample_weight=None, power=0):
    """Share of the Tweedie deviance that the predictions explain, (2): 1 at best.

    Parameters as for `mean_tweedie_deviance`.

    Examples
    --------
    >>> from mlreplica.metrics import d2_tweedie_score
    >>> round(d2_tweedie_score([0.5, 1, 2.5, 7], [1, 1, 5, 3.5], power=1), 4)
    0.4879
    """
    y, f, w = one_output(y_true, y_pred, sample_weight, "d2_tweedie_score")
    if len(f) < 2:
        warnings.warn(TOO_FEW, UndefinedMetricWarning, stacklevel=3)
        return float("nan")
    check_range(y, f, power)
    constant = np.average(y, weights=w)
    with np.errstate(divide="ignore", invalid="ignore"):
        top, bottom = mean_deviance(y, f, w, power), mean_deviance(y, constant, w, power)
        return float(1 - np.float64(top) / bottom)


@checked(LEVEL)
def d2_pinball_score(
    y_true, y_pred, *, sample_weight=None, alpha=0.5, multioutput="uniform_average"
):
    """Share of the pinball loss that the predictions explain, (2): 1 at best.

    Parameters as for `mean_pinball_loss`.

    Examples
    --------
    >>> from mlreplica.metrics import d2_pinball_score
    >>> round(d2_pinball_score([1, 2, 3], [1, 3, 3], alpha=0.9), 4)
    0.6667
    """
    _, y, f, w, multioutput = reference._check_reg_targets_with_floating_dtype(
        y_true, y_pred, sample_weight, multioutput, xp=np
    )
    if len(f) < 2:
        warnings.warn(TOO_FEW, UndefinedMetricWarning, stacklevel=3)
        return float("nan")
    s = np.ones(len(y), y.dtype) if w is None else w
    quantile = _weighted_percentile(y, s, percentile_rank=alpha * 100, average=True)
    loss = pinball(alpha)
    top = np.average(loss(y, f), weights=w, axis=0)
    bottom = np.average(loss(y, quantile), weights=w, axis=0)
    return explained(top, bottom, multioutput, force_finite=True)


@checked(ERRORS)
def d2_absolute_error_score(y_true, y_pred, *, sample_weight=None, multioutput="uniform_average"):
    """Share of the absolute error about the median that the predictions explain: 1 at best.

    Parameters as for `mean_squared_error`.

    Examples
    --------
    >>> from mlreplica.metrics import d2_absolute_error_score
    >>> round(d2_absolute_error_score([3, -0.5, 2, 7], [2.5, 0.0, 2, 8]), 4)
    0.7647
    """
    return d2_pinball_score(
        y_true, y_pred, sample_weight=sample_weight, alpha=0.5, multioutput=multioutput
    )
