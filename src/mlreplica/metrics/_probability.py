r"""Losses of predicted probabilities and margins: a mean over samples, each seen once

With p the probability given to the class that came true, and margins m = ±f, or the score of
the true class minus the best of the others,

    log loss = ⟨−log p⟩      Brier = ⟨Σ_c ([y = c] − p_c)²⟩      hinge = ⟨max(0, 1 − m)⟩    (1)

The first two are proper: no other probabilities than the true ones do better on average. D² is
the share of the loss of a constant prediction, the classes' frequencies q, that is taken away:

    D² = 1 − loss(p) / loss(q)                                                              (2)
    log loss(q) = −Σ_c q_c log q_c      Brier(q) = Σ_c q_c (1 − q_c)
"""

from __future__ import annotations

import warnings
from numbers import Real

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import check_array, check_consistent_length

from mlreplica.core.compat import (
    Hidden,
    StrOptions,
    _num_samples,
)
from mlreplica.core.compat import _classification as reference
from mlreplica.core.compile.jit import kernel
from mlreplica.core.validation import distinct

from ._deviance import TOO_FEW
from ._inputs import LARGE, checked, integers, is_plain, is_weight, mean
from ._ranking import binary

FLOATS = [np.float64, np.float32]
PROBABLE = {
    "y_true": ["array-like"],
    "sample_weight": ["array-like", None],
    "labels": ["array-like", None],
}


def two_columns(y_true, p, w):
    """Where the larger of two classes is, if y is that plain and p are plain probabilities."""
    if is_plain(y_true, p) and p.dtype == np.float64 and is_weight(w, len(p)):
        found = binary(y_true)
        if found is not None and found[0] != found[1]:
            return found[2]
    return None


def column_of(y_true, P, w):
    """The column of each true class, if y are plain whole numbers and P has one for each."""
    if type(P) is not np.ndarray or P.ndim != 2 or P.dtype != np.float64 or P.shape[1] < 2:
        return None
    if not (
        P.flags.c_contiguous and is_plain(y_true) and len(y_true) == len(P) and is_weight(w, len(P))
    ):
        return None
    t, k = integers(y_true), P.shape[1]
    if t is None or t.max() - t.min() != k - 1:
        return None
    t = t - t.min()
    return t if np.bincount(t, minlength=k).all() else None


@kernel
def rows_are_probabilities(P):
    """All in [0, 1], and rows that sum to one; in one pass."""
    for i in range(len(P)):
        total, fine = 0.0, True
        for c in range(P.shape[1]):
            total += P[i, c]
            fine = fine and 0.0 <= P[i, c] <= 1.0
        if not (fine and abs(total - 1.0) <= 1e-8):
            return False
    return True


@kernel
def brier_rows(P, t, out):
    """out_i = Σ_c ([t_i = c] − P_ic)²"""
    for i in range(len(P)):
        s = 0.0
        for c in range(P.shape[1]):
            s += (P[i, c] - (1.0 if c == t[i] else 0.0)) ** 2
        out[i] = s


@kernel
def margins(f, t, out):
    """out_i = score of the true class − best score of the others."""
    for i in range(len(f)):
        best = -np.inf
        for c in range(f.shape[1]):
            if c != t[i] and not f[i, c] <= best:
                best = f[i, c]
        out[i] = f[i, t[i]] - best


def are_probabilities(P):
    """All in [0, 1], and rows that sum to one."""
    if P.ndim == 2 and len(P) >= LARGE:
        return rows_are_probabilities(np.ascontiguousarray(P))
    if not (P.min() >= 0 and P.max() <= 1):  # false for NaN as well
        return False
    return P.ndim == 1 or bool(np.all(np.abs(P @ np.ones(P.shape[1]) - 1) <= 1e-8))


def renamed(y_proba, y_pred):
    """The probabilities, by their new or by their former name."""
    if isinstance(y_pred, str) and y_pred == "deprecated":
        return y_proba
    if y_proba is not None:
        raise ValueError(
            "Cannot use both `y_pred` and `y_proba`. `y_pred` is deprecated, use `y_proba` instead."
        )
    warnings.warn(
        "`y_pred` was renamed to `y_proba` in version 1.9 and will be removed in 1.11. Use "
        "`y_proba` instead.",
        FutureWarning,
        stacklevel=4,
    )
    return y_pred


@checked(
    PROBABLE
    | {
        "y_proba": ["array-like", Hidden(None)],
        "normalize": ["boolean"],
        "y_pred": ["array-like", str],
    }
)
def log_loss(
    y_true, y_proba=None, *, normalize=True, sample_weight=None, labels=None, y_pred="deprecated"
):
    """Mean negative log-likelihood of the labels: the loss of logistic regression.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or label indicator
    y_proba : array-like of shape (n_samples, n_classes) or (n_samples,)
        Probabilities of the classes in sorted order, or of the larger of two.
    normalize : bool, default=True
        Return the mean; otherwise the sum.
    sample_weight : array-like of shape (n_samples,), default=None
    labels : array-like, default=None
        The classes, where y_true does not hold them all.
    y_pred : array-like
        Former name of `y_proba`.

    Returns
    -------
    loss : float

    Examples
    --------
    >>> from mlreplica.metrics import log_loss
    >>> round(log_loss([1, 0, 0, 1], [[0.1, 0.9], [0.9, 0.1], [0.8, 0.2], [0.35, 0.65]]), 4)
    0.2162
    """
    y_proba = renamed(y_proba, y_pred)
    w, p = sample_weight, None
    if labels is None:
        if (top := two_columns(y_true, y_proba, w)) is not None:
            if are_probabilities(y_proba):
                p = np.where(top, y_proba, 1 - y_proba)
        elif (t := column_of(y_true, y_proba, w)) is not None and are_probabilities(y_proba):
            p = y_proba[np.arange(len(t)), t]
    if p is None:
        P = check_array(y_proba, ensure_2d=False, dtype=FLOATS)
        Y, P = reference._validate_multiclass_probabilistic_prediction(y_true, P, w, labels)
        tiny = np.finfo(P.dtype).eps
        loss = -(Y * np.log(np.clip(P, tiny, 1 - tiny))).sum(axis=1)
        return mean(loss, None if w is None else np.asarray(w), normalize)
    tiny = np.finfo(p.dtype).eps
    np.clip(p, tiny, 1 - tiny, out=p)
    return -mean(np.log(p, out=p), w, normalize)


@checked(
    PROBABLE
    | {
        "y_proba": ["array-like"],
        "pos_label": [Real, str, "boolean", None],
        "scale_by_half": ["boolean", StrOptions({"auto"})],
    }
)
def brier_score_loss(
    y_true, y_proba, *, sample_weight=None, pos_label=None, labels=None, scale_by_half="auto"
):
    """Mean squared error of the probabilities.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or label indicator
    y_proba : array-like of shape (n_samples,) or (n_samples, n_classes)
    sample_weight : array-like of shape (n_samples,), default=None
    pos_label : int, float, bool or str, default=None
        The class that a vector of probabilities is about.
    labels : array-like, default=None
        The classes, where y_true does not hold them all.
    scale_by_half : bool or "auto", default="auto"
        Halve the sum over classes, so that it lies in [0, 1]; "auto" does so for two classes.

    Returns
    -------
    score : float

    Examples
    --------
    >>> from mlreplica.metrics import brier_score_loss
    >>> round(brier_score_loss([0, 1, 1, 0], [0.1, 0.9, 0.8, 0.3]), 4)
    0.0375
    """
    w, errors, classes = sample_weight, None, 2
    if labels is None and pos_label is None:
        if (top := two_columns(y_true, y_proba, w)) is not None:
            if are_probabilities(y_proba):
                errors = 2 * (top - y_proba) ** 2
        elif (t := column_of(y_true, y_proba, w)) is not None and are_probabilities(y_proba):
            classes = y_proba.shape[1]
            if len(t) < LARGE:
                errors = ((y_proba - (t[:, None] == np.arange(classes))) ** 2).sum(axis=1)
            else:
                errors = np.empty(len(t))
                brier_rows(np.ascontiguousarray(y_proba), t, errors)
    if errors is None:
        P = check_array(y_proba, ensure_2d=False, dtype=FLOATS)
        if P.ndim == 1 or P.shape[1] == 1:
            Y, P = reference._validate_binary_probabilistic_prediction(y_true, P, w, pos_label)
        else:
            Y, P = reference._validate_multiclass_probabilistic_prediction(y_true, P, w, labels)
        errors, classes = ((Y.astype(P.dtype) - P) ** 2).sum(axis=1), P.shape[1]
    half = classes < 3 if isinstance(scale_by_half, str) else scale_by_half
    return mean(errors, None if w is None else np.asarray(w)) * (0.5 if half else 1.0)


def frequencies(y_true, w):
    """The share of each class, or of each label of an indicator."""
    y = np.asarray(y_true)
    if y.ndim == 2 and y.shape[1] > 1:
        return np.average(y, axis=0, weights=w)
    q = np.bincount(distinct(y.ravel())[1], w)
    return q / q.sum()


def explained(loss, of_frequencies):
    """Equation (2)."""
    with np.errstate(divide="ignore", invalid="ignore"):  # a single class
        return float(1.0 - np.float64(loss) / of_frequencies)


def enough(y_true, y_proba, w):
    """Whether there are two samples to compare."""
    check_consistent_length(y_proba, y_true, w)
    if _num_samples(y_proba) < 2:
        warnings.warn(TOO_FEW, UndefinedMetricWarning, stacklevel=4)
        return False
    return True


@checked(
    PROBABLE | {"y_proba": ["array-like"], "pos_label": [Real, str, "boolean", None]},
)
def d2_brier_score(y_true, y_proba, *, sample_weight=None, pos_label=None, labels=None):
    """Share of the Brier score of the classes' frequencies that the probabilities take away.

    1 − Brier(p) / Brier(frequencies): 1 at best, 0 for a model that knows the frequencies only.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or label indicator
    y_proba : array-like of shape (n_samples,) or (n_samples, n_classes)
    sample_weight : array-like of shape (n_samples,), default=None
    pos_label : int, float, bool or str, default=None
        The class that a vector of probabilities is about.
    labels : array-like, default=None
        The classes, where y_true does not hold them all.

    Returns
    -------
    score : float

    Examples
    --------
    >>> from mlreplica.metrics import d2_brier_score
    >>> round(d2_brier_score([0, 1, 1, 0], [0.1, 0.9, 0.8, 0.3]), 4)
    0.85
    """
    if not enough(y_true, y_proba, sample_weight):
        return float("nan")
    loss = brier_score_loss(
        y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label, labels=labels,
        scale_by_half=False,
    )  # fmt: skip
    q = frequencies(y_true, sample_weight)
    return explained(loss, q @ (1.0 - q))


@checked(PROBABLE | {"y_proba": ["array-like", Hidden(None)], "y_pred": ["array-like", str]})
def d2_log_loss_score(
    y_true, y_proba=None, *, sample_weight=None, labels=None, y_pred="deprecated"
):
    """Share of the log loss of the classes' frequencies that the probabilities take away.

    Parameters as for `log_loss`.

    Examples
    --------
    >>> from mlreplica.metrics import d2_log_loss_score
    >>> round(d2_log_loss_score([0, 1, 1, 0], [0.1, 0.9, 0.8, 0.3]), 4)
    0.7149
    """
    y_proba = renamed(y_proba, y_pred)
    if not enough(y_true, y_proba, sample_weight):
        return float("nan")
    loss = log_loss(y_true, y_proba, sample_weight=sample_weight, labels=labels)
    q = frequencies(y_true, sample_weight)
    tiny = np.finfo(np.float64).eps
    return explained(loss, -(q @ np.log(np.clip(q, tiny, 1 - tiny))))


@checked(PROBABLE | {"pred_decision": ["array-like"]})
def hinge_loss(y_true, pred_decision, *, labels=None, sample_weight=None):
    """Mean of max(0, 1 − margin): the loss of the support vector machine.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
    pred_decision : array-like of shape (n_samples,) or (n_samples, n_classes)
        Decision values; for several classes (Crammer & Singer) one column a class.
    labels : array-like, default=None
        The classes, where y_true does not hold them all.
    sample_weight : array-like of shape (n_samples,), default=None

    Returns
    -------
    loss : float

    Examples
    --------
    >>> from mlreplica.metrics import hinge_loss
    >>> round(hinge_loss([-1, 1, 1], [-2.0, 2.5, 0.25]), 4)
    0.25
    """
    w = sample_weight
    if labels is None:
        f = pred_decision
        if (top := two_columns(y_true, f, w)) is not None:
            margin = np.where(top, f, -f)
        elif (t := column_of(y_true, f, w)) is not None and f.shape[1] > 2:
            margin = np.empty(len(t))
            if len(t) < LARGE:
                others = np.where(t[:, None] == np.arange(f.shape[1]), -np.inf, f)
                np.subtract(f[np.arange(len(t)), t], others.max(axis=1), out=margin)
            else:
                margins(np.ascontiguousarray(f), t, margin)
        else:
            margin = None
        if margin is not None and np.isfinite(margin.sum()):
            return mean(np.maximum(1 - margin, 0.0), w)
    return reference.hinge_loss(y_true, pred_decision, labels=labels, sample_weight=w)
