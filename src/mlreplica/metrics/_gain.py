r"""Rankings judged from their top: discounted gains, and classes among the first k

Row by row, documents of relevance y_j are ranked by their scores; the document on place r counts

    DCG = Σ_r y_{j(r)} / log_b(1 + r)            (only r ≤ k, if k is given)                 (1)

Documents of equal score share their places, so each counts with the mean of their discounts. The
normalised gain divides by that of the best order:

    NDCG = DCG(scores) / DCG(y),      0 if no document is relevant                            (2)

Järvelin, Kekäläinen, Cumulated gain-based evaluation of IR techniques (2002); McSherry, Najork,
Computing information retrieval performance measures efficiently in the presence of tied scores
(2008).
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import type_of_target

from mlreplica.core.compat import Interval

from ._inputs import checked, mean

FIRST = [Interval(Integral, 1, None, closed="left")]
GAIN = {
    "y_true": ["array-like"],
    "y_score": ["array-like"],
    "k": [*FIRST, None],
    "log_base": [Interval(Real, 0.0, None, closed="neither")],
    "sample_weight": ["array-like", None],
    "ignore_ties": ["boolean"],
}
FORMATS = ("multilabel-indicator", "continuous-multioutput", "multiclass-multioutput")


def gains(y, score, k=None, log_base=2, ignore_ties=False):
    """DCG of each row, by (1)."""
    m = y.shape[1]
    discount = np.log(log_base) / np.log(np.arange(m) + 2.0)
    discount[k if k is not None else m :] = 0.0
    order = np.argsort(score, axis=1)[:, ::-1]
    ranked = np.take_along_axis(y, order, axis=1)
    if not ignore_ties:
        s = np.take_along_axis(score, order, axis=1)
        new = np.ones(s.shape, dtype=bool)  # where a group of equal scores begins
        new[:, 1:] = s[:, 1:] != s[:, :-1]
        if not new.all():
            group = np.cumsum(new) - 1  # no group spans two rows
            size = np.bincount(group)
            sums = np.bincount(group, weights=np.broadcast_to(discount, s.shape).ravel())
            return (ranked * (sums / size)[group].reshape(s.shape)).sum(axis=1)
    return ranked @ discount


def ranked_rows(y_true, y_score, w):
    """y and the scores as arrays, checked."""
    y, score = check_array(y_true, ensure_2d=False), check_array(y_score, ensure_2d=False)
    check_consistent_length(y, score, w)
    return y, score


def check_format(y):
    """Raise unless y has a row of several documents for each query."""
    kind = type_of_target(y, input_name="y_true")
    if kind not in FORMATS:
        raise ValueError(f"Only {FORMATS} formats are supported. Got {kind} instead")


@checked(GAIN)
def dcg_score(y_true, y_score, *, k=None, log_base=2, sample_weight=None, ignore_ties=False):
    """Discounted cumulative gain (1), averaged over rows.

    Parameters
    ----------
    y_true : array-like of shape (n_samples, n_labels)
        How relevant each document is to each query.
    y_score : array-like of shape (n_samples, n_labels)
        Scores that rank the documents.
    k : int, default=None
        Count only the k best places.
    log_base : float, default=2
        Base of the logarithm in the discount.
    sample_weight : array-like of shape (n_samples,), default=None
    ignore_ties : bool, default=False
        Take ties in any order, which is faster.

    Returns
    -------
    score : float

    Examples
    --------
    >>> from mlreplica.metrics import dcg_score
    >>> round(dcg_score([[10, 0, 0, 1, 5]], [[0.1, 0.2, 0.3, 4, 70]]), 2)
    9.5
    """
    y, score = ranked_rows(y_true, y_score, sample_weight)
    check_format(y)
    return mean(gains(y, score, k, log_base, ignore_ties), sample_weight)


@checked({name: rule for name, rule in GAIN.items() if name != "log_base"})
def ndcg_score(y_true, y_score, *, k=None, sample_weight=None, ignore_ties=False):
    """Normalised discounted cumulative gain (2), averaged over rows: 1 for the best order.

    Parameters as for `dcg_score`; y_true ≥ 0.

    Examples
    --------
    >>> from mlreplica.metrics import ndcg_score
    >>> round(ndcg_score([[10, 0, 0, 1, 5]], [[0.1, 0.2, 0.3, 4, 70]]), 2)
    0.7
    """
    y, score = ranked_rows(y_true, y_score, sample_weight)
    if y.min() < 0:
        raise ValueError("ndcg_score should not be used on negative y_true values.")
    if y.ndim > 1 and y.shape[1] <= 1:
        raise ValueError(
            "Computing NDCG is only meaningful when there is more than 1 document. "
            f"Got {y.shape[1]} instead."
        )
    check_format(y)
    gain, best = gains(y, score, k, 2, ignore_ties), gains(y, y, k, 2, ignore_ties=True)
    return mean(np.divide(gain, best, out=np.zeros(len(gain)), where=best != 0), sample_weight)


def classes_of(y, labels, n):
    """The sorted classes, of which there must be n."""
    if labels is None:
        classes = np.unique(y)
        if len(classes) != n:
            raise ValueError(
                f"Number of classes in 'y_true' ({len(classes)}) not equal to the number of "
                f"classes in 'y_score' ({n}).You can provide a list of all known classes by "
                "assigning it to the `labels` parameter."
            )
        return classes
    labels = column_or_1d(labels)
    classes = np.unique(labels)
    if len(classes) != len(labels):
        raise ValueError("Parameter 'labels' must be unique.")
    if not np.array_equal(classes, labels):
        raise ValueError("Parameter 'labels' must be ordered.")
    if len(classes) != n:
        raise ValueError(
            f"Number of given labels ({len(classes)}) not equal to the number of classes in "
            f"'y_score' ({n})."
        )
    if len(np.setdiff1d(y, classes)):
        raise ValueError("'y_true' contains labels not in parameter 'labels'.")
    return classes


@checked(
    {
        "y_true": ["array-like"],
        "y_score": ["array-like"],
        "k": FIRST,
        "normalize": ["boolean"],
        "sample_weight": ["array-like", None],
        "labels": ["array-like", None],
    }
)
def top_k_accuracy_score(y_true, y_score, *, k=2, normalize=True, sample_weight=None, labels=None):
    """Share of the rows whose true class is among the k of highest score.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
    y_score : array-like of shape (n_samples,) or (n_samples, n_classes)
        Scores of the classes in sorted order; of two equal scores the later class counts as higher.
    k : int, default=2
    normalize : bool, default=True
        Else the number of such rows.
    sample_weight : array-like of shape (n_samples,), default=None
    labels : array-like of shape (n_classes,), default=None
        All classes, if some do not occur in y_true.

    Returns
    -------
    score : float

    Examples
    --------
    >>> from mlreplica.metrics import top_k_accuracy_score
    >>> scores = [[0.5, 0.2, 0.2], [0.3, 0.4, 0.2], [0.2, 0.4, 0.3], [0.7, 0.2, 0.1]]
    >>> top_k_accuracy_score([0, 1, 2, 2], scores, k=2)
    0.75
    """
    y = column_or_1d(check_array(y_true, ensure_2d=False, dtype=None))
    kind = type_of_target(y, input_name="y_true")
    if kind == "binary" and labels is not None and len(labels) > 2:
        kind = "multiclass"
    if kind not in ("binary", "multiclass"):
        raise ValueError(f"y type must be 'binary' or 'multiclass', got '{kind}' instead.")
    score = check_array(y_score, ensure_2d=False)
    if kind == "binary":
        if score.ndim == 2 and score.shape[1] != 1:
            raise ValueError(
                f"`y_true` is binary while y_score is 2d with {score.shape[1]} classes. If "
                "`y_true` does not contain all the labels, `labels` must be provided."
            )
        score = column_or_1d(score)
    elif score.ndim != 2:
        raise ValueError(
            "`y_score` needs to be of shape `(n_samples, n_classes)`, since `y_true` contains "
            f"multiple classes. Got `y_score.shape={score.shape}`."
        )
    check_consistent_length(y, score, sample_weight)
    n = score.shape[1] if score.ndim == 2 else 2
    classes = classes_of(y, labels, n)
    if k >= n:
        warnings.warn(
            f"'k' ({k}) greater than or equal to 'n_classes' ({n}) will result in a perfect score "
            "and is therefore meaningless.",
            UndefinedMetricWarning,
            stacklevel=3,
        )
    code = np.searchsorted(classes, y)
    if k >= n:
        hits = np.ones(len(y), dtype=bool)
    elif kind == "binary":
        middle = 0.5 if score.min() >= 0 and score.max() <= 1 else 0.0
        hits = (score > middle) == code
    else:
        own = score[np.arange(len(y)), code][:, None]
        before = (score > own) | ((score == own) & (np.arange(n) > code[:, None]))
        hits = before.sum(axis=1) < k
    return mean(hits, sample_weight, normalize)
