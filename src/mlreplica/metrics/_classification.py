"""Scores of class labels: scikit-learn's functions, each a few lines on the confusion matrix"""

from __future__ import annotations

import warnings
from numbers import Real

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils.sparsefuncs import count_nonzero

from mlreplica.core.compat import (
    Interval,
    Options,
    StrOptions,
    _num_samples,
)
from mlreplica.core.compat import _classification as reference

from ._confusion import (
    Confusion,
    Indicator,
    look,
)
from ._inputs import checked, integers, is_plain, is_weight, mean

ARRAY, SPARSE, WEIGHT = ["array-like"], ["array-like", "sparse matrix"], ["array-like", None]
PAIR = {"y_true": SPARSE, "y_pred": SPARSE, "sample_weight": WEIGHT}


def correct(y_true, y_pred, sample_weight):
    """(hits, weight): for each sample, whether its label (or its whole set of labels) is right."""
    plain = is_plain(y_true, y_pred, kinds="U") or (
        is_plain(y_true, y_pred) and integers(y_true) is not None and integers(y_pred) is not None
    )
    if plain and is_weight(sample_weight, len(y_true)):
        return y_true == y_pred, sample_weight
    kind, _, y_true, y_pred, w = reference._check_targets(y_true, y_pred, sample_weight)
    if kind == "multilabel-indicator":
        return count_nonzero(y_true - y_pred, 1) == 0, w
    return y_true == y_pred, w


@checked(PAIR | {"normalize": ["boolean"]})
def accuracy_score(y_true, y_pred, *, normalize=True, sample_weight=None):
    """Share (or number) of samples whose label is right.

    Parameters
    ----------
    y_true, y_pred : array-like or sparse label indicator
        True and predicted labels. Of several labels a sample, all must be right.
    normalize : bool, default=True
        Return the share; otherwise the number (or weight).
    sample_weight : array-like of shape (n_samples,), default=None

    Returns
    -------
    score : float

    Examples
    --------
    >>> from mlreplica.metrics import accuracy_score
    >>> accuracy_score([0, 1, 2, 3], [0, 2, 1, 3])
    0.5
    """
    hits, w = correct(y_true, y_pred, sample_weight)
    if w is None:
        right = int(np.count_nonzero(hits))
        return right / len(hits) if normalize else float(right)
    return mean(hits, w, normalize)


@checked(PAIR | {"normalize": ["boolean"]})
def zero_one_loss(y_true, y_pred, *, normalize=True, sample_weight=None):
    """Share (or number) of samples whose label is wrong: 1 − accuracy.

    Parameters and examples as for `accuracy_score`.

    Examples
    --------
    >>> from mlreplica.metrics import zero_one_loss
    >>> zero_one_loss([0, 1, 2, 3], [0, 2, 1, 3], normalize=False)
    2.0
    """
    score = accuracy_score(y_true, y_pred, normalize=normalize, sample_weight=sample_weight)
    if normalize:
        return 1 - score
    return (_num_samples(y_true) if sample_weight is None else np.sum(sample_weight)) - score


@checked(PAIR)
def hamming_loss(y_true, y_pred, *, sample_weight=None):
    """Share of labels that are wrong; with one label a sample, the same as `zero_one_loss`.

    Parameters
    ----------
    y_true, y_pred : array-like or sparse label indicator
    sample_weight : array-like of shape (n_samples,), default=None

    Returns
    -------
    loss : float

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.metrics import hamming_loss
    >>> hamming_loss(np.array([[0, 1], [1, 1]]), np.zeros((2, 2)))
    0.75
    """
    if getattr(y_true, "ndim", 2) == 2:
        seen, w = look(y_true, y_pred, sample_weight)
        if isinstance(seen, Indicator):
            wrong = count_nonzero((seen.true - seen.pred).tocsr(), None, w)
            weight = 1.0 if w is None else w.mean()
            return float(wrong / (np.prod(seen.true.shape) * weight))
    hits, w = correct(y_true, y_pred, sample_weight)
    return mean(~hits, w)


def warn_if_single(k):
    """One class in all: the matrix is a mere number."""
    if k == 1:
        warnings.warn(
            "A single label was found in 'y_true' and 'y_pred'. For the confusion matrix to have "
            "the correct shape, use the 'labels' parameter to pass all known labels.",
            UserWarning,
            stacklevel=4,
        )


@checked(
    PAIR
    | {
        "y_true": ARRAY,
        "y_pred": ARRAY,
        "labels": ["array-like", None],
        "normalize": [StrOptions({"true", "pred", "all"}), None],
    }
)
def confusion_matrix(y_true, y_pred, *, labels=None, sample_weight=None, normalize=None):
    """C_ij: how many samples of class i were called j.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
    labels : array-like, default=None
        The classes to show, in this order; all that occur, sorted, by default.
    sample_weight : array-like of shape (n_samples,), default=None
    normalize : {"true", "pred", "all"}, default=None
        Divide by the sums of the rows, of the columns, or by the total.

    Returns
    -------
    C : ndarray of shape (n_classes, n_classes)

    Examples
    --------
    >>> from mlreplica.metrics import confusion_matrix
    >>> confusion_matrix([2, 0, 2, 2, 0, 1], [0, 0, 2, 2, 0, 2])
    array([[2, 0, 0],
           [0, 0, 1],
           [1, 0, 2]])
    """
    confusion = Confusion.of(y_true, y_pred, sample_weight)
    if labels is None:
        C = confusion.matrix
    else:
        labels = np.asarray(labels)
        if labels.size == 0:
            raise ValueError("'labels' should contain at least one label.")
        if not set(confusion.labels[confusion.i].tolist()) & set(labels.tolist()):
            raise ValueError("At least one label specified must be in y_true")
        C = confusion.at(labels)
    if normalize is not None:
        with np.errstate(all="ignore"):
            C = np.nan_to_num(C / C.sum(axis={"true": 1, "pred": 0, "all": None}[normalize],
                                        keepdims=True))  # fmt: skip
    warn_if_single(len(C))
    return C


@checked(PAIR | {"y_true": ARRAY, "y_pred": ARRAY, "adjusted": ["boolean"]})
def balanced_accuracy_score(y_true, y_pred, *, sample_weight=None, adjusted=False):
    """Mean over the classes of their recall, so that a rare class counts like a frequent one.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
    sample_weight : array-like of shape (n_samples,), default=None
    adjusted : bool, default=False
        Rescale so that guessing scores 0.

    Returns
    -------
    score : float

    Examples
    --------
    >>> from mlreplica.metrics import balanced_accuracy_score
    >>> balanced_accuracy_score([0, 1, 0, 0, 1, 0], [0, 1, 0, 0, 0, 1])
    0.625
    """
    confusion = Confusion.of(y_true, y_pred, sample_weight)
    warn_if_single(len(confusion.labels))
    tp, _, true, _ = confusion.counts()
    seen = true != 0
    if not seen.all():
        warnings.warn("y_pred contains classes not in y_true", stacklevel=3)
    score = (tp[seen] / true[seen]).mean()
    if adjusted:
        chance = 1 / np.count_nonzero(seen)
        score = (score - chance) / (1 - chance)
    return float(score)


def replacements(given):
    """What to return for LR+ and for LR− where they are not defined."""
    if not isinstance(given, dict):
        return given, given
    above, below = given.get("LR+"), given.get("LR-")
    if not (isinstance(above, Real) and isinstance(below, Real)) or above < 1 or not (
        np.isnan(below) or 0 <= below <= 1
    ):  # fmt: skip
        raise ValueError(
            "The dictionary passed as `replace_undefined_by` needs to be in the form "
            "{'LR+': at least 1 or nan, 'LR-': from 0 to 1 or nan}; got "
            f"{given}."
        )
    return above, below


def undefined(what, value):
    """Warn that a ratio has no denominator."""
    warnings.warn(
        f"{what} set to `{'np.nan' if np.isnan(value) else value}`. Use the "
        "`replace_undefined_by` param to control this.",
        UndefinedMetricWarning,
        stacklevel=4,
    )


@checked(PAIR | {"labels": ["array-like", None],
                 "replace_undefined_by": [Options(Real, {1.0, np.nan}), dict]})  # fmt: skip
def class_likelihood_ratios(
    y_true, y_pred, *, labels=None, sample_weight=None, replace_undefined_by=np.nan
):
    """How much a positive and a negative call change the odds of the positive class.

    LR+ = (tp/P) / (fp/N) and LR− = (fn/P) / (tn/N): whatever the share of positives, the odds after
    a call are those before times this factor.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Two classes, of which the second is positive.
    labels : array-like, default=None
        The negative and the positive class.
    sample_weight : array-like of shape (n_samples,), default=None
    replace_undefined_by : {1.0, np.nan} or dict {"LR+": …, "LR-": …}, default=np.nan
        What to return where fp or tn is 0.

    Returns
    -------
    ratios : tuple (LR+, LR−) of floats

    Examples
    --------
    >>> from mlreplica.metrics import class_likelihood_ratios
    >>> class_likelihood_ratios([0, 1, 0, 1, 0], [1, 1, 0, 0, 0])
    (1.5, 0.75)
    """
    above, below = replacements(replace_undefined_by)
    seen, _ = look(y_true, y_pred, sample_weight)
    kind = "multilabel-indicator" if isinstance(seen, Indicator) else seen.kind
    if kind != "binary":
        raise ValueError(
            "class_likelihood_ratios only supports binary classification problems, got targets of "
            f"type: {kind}"
        )
    both = seen.labels if labels is None else labels
    if len(both) != 2:
        raise ValueError(f"Likelihood ratios need two classes, got {both}; name them by `labels`.")
    C = confusion_matrix(y_true, y_pred, labels=both, sample_weight=sample_weight)
    tn, fp, fn, tp = C.ravel().tolist()
    P, N = tp + fn, tn + fp
    if P == 0:
        undefined("No samples of the positive class are present in `y_true`. Ratios are", np.nan)
    plus = minus = np.nan
    if fp == 0:
        why = "`positive_likelihood_ratio` is " + ("ill-defined and" if tp else "")
        none = "" if tp else "No samples were predicted for the positive class and "
        undefined(none + why.strip(), plus := above)
    elif P:
        plus = (tp * N) / (fp * P)
    if tn == 0:
        undefined("`negative_likelihood_ratio` is ill-defined and", minus := below)
    elif P:
        minus = (fn * N) / (tn * P)
    return float(plus), float(minus)


@checked(PAIR | {"y_true": ARRAY, "y_pred": ARRAY})
def matthews_corrcoef(y_true, y_pred, *, sample_weight=None):
    """Correlation of the true with the predicted classes, each as indicator vectors.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
    sample_weight : array-like of shape (n_samples,), default=None

    Returns
    -------
    mcc : float

    Examples
    --------
    >>> from mlreplica.metrics import matthews_corrcoef
    >>> round(matthews_corrcoef([1, 1, 1, 0], [1, 0, 1, 1]), 4)
    -0.3333
    """
    confusion = Confusion.of(y_true, y_pred, sample_weight)
    warn_if_single(len(confusion.labels))
    tp, pred, true = (x.astype(np.float64) for x in confusion.counts()[:3])
    n = pred.sum()
    spread = (n**2 - pred @ pred) * (n**2 - true @ true)
    return 0.0 if spread == 0 else float((tp.sum() * n - true @ pred) / np.sqrt(spread))


@checked(
    {
        "y1": ARRAY,
        "y2": ARRAY,
        "labels": ["array-like", None],
        "weights": [StrOptions({"linear", "quadratic"}), None],
        "sample_weight": WEIGHT,
        "replace_undefined_by": [Interval(Real, -1.0, 1.0, closed="both"), np.nan],
    }
)
def cohen_kappa_score(
    y1, y2, *, labels=None, weights=None, sample_weight=None, replace_undefined_by=np.nan
):
    """Agreement of two annotators beyond chance: 1 − (disagreement seen / expected).

    Parameters
    ----------
    y1, y2 : array-like of shape (n_samples,)
        Labels given by the first and by the second annotator.
    labels : array-like, default=None
        The classes to consider; all by default.
    weights : {"linear", "quadratic"}, default=None
        What it costs to disagree by so many classes.
    sample_weight : array-like of shape (n_samples,), default=None
    replace_undefined_by : float, default=np.nan
        The value where no disagreement is expected.

    Returns
    -------
    kappa : float

    Examples
    --------
    >>> from mlreplica.metrics import cohen_kappa_score
    >>> cohen_kappa_score(["a", "b", "a", "b"], ["a", "b", "b", "b"])
    0.5
    """
    confusion = Confusion.of(y1, y2, sample_weight)
    if labels is None:
        C = confusion.matrix
    else:
        labels = np.asarray(labels)
        if not set(confusion.labels[confusion.i].tolist()) & set(labels.tolist()):
            raise ValueError(
                "At least one label in `labels` must be present in `y1` (even though "
                "`cohen_kappa_score` is otherwise agnostic to the order of `y1` and `y2`)."
            )
        C = confusion.at(labels)
    warn_if_single(len(C))
    C = C.astype(np.float64)
    total, k = C.sum(), np.arange(len(C))
    distance = np.abs(k[:, None] - k)
    cost = {None: distance != 0, "linear": distance, "quadratic": distance**2}[weights]
    expected = 0.0
    if total != 0:
        expected = np.sum(cost * np.outer(C.sum(axis=0), C.sum(axis=1)) / total)
    if expected == 0:
        why = (
            "`y2` contains no labels that are present in both `y1` and `labels`."
            if total == 0
            else "`y1`, `y2` and `labels` have only one label in common. "
        )
        warnings.warn(
            f"{why}`cohen_kappa_score` is undefined and set to the value defined by the "
            f"`replace_undefined_by` param, which is set to {replace_undefined_by}.",
            UndefinedMetricWarning,
            stacklevel=3,
        )
        return replace_undefined_by
    return float(1 - np.sum(cost * C) / expected)
