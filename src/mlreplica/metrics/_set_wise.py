"""Precision, recall, F and Jaccard scores, and their report, from the confusion matrix"""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np

from mlreplica.core.compat import (
    Interval,
    Options,
    StrOptions,
)
from mlreplica.core.compat import _classification as reference

from ._classification import PAIR
from ._confusion import (
    Confusion,
    Counts,
    Indicator,
    average_of,
    look,
    precision_recall_fscore,
    ratio,
)
from ._inputs import checked

SET_WISE = PAIR | {
    "labels": ["array-like", None],
    "pos_label": [Real, str, "boolean", None],
    "average": [StrOptions({"micro", "macro", "samples", "weighted", "binary"}), None],
    "zero_division": [Options(Real, {0.0, 1.0}), "nan", StrOptions({"warn"})],
}


BETA = {"beta": [Interval(Real, 0.0, None, closed="both")]}


def counts_of(y_true, y_pred, labels, w, average, pos_label, choose=True):
    """(counts, weight) of the labels to score, whether a sample has one label or several."""
    seen, w = look(y_true, y_pred, w)
    if isinstance(seen, Indicator):
        if choose:
            labels = reference._check_set_wise_labels(y_true, y_pred, average, labels, pos_label)
        _, true, pred = seen if labels is None else columns(seen, labels)
        return Counts.of_indicator(true, pred, w, axis=int(average == "samples")), w
    if choose:
        labels = seen.chosen(average, labels, pos_label)
    if average == "samples":
        raise ValueError(
            "Samplewise metrics are not available outside of multilabel classification."
        )
    return seen.counts(labels, None if w is None else float), w


def columns(seen, labels):
    """The indicator of these labels only, which are column numbers."""
    labels, last = np.asarray(labels), seen.labels[-1]
    wrong = f"{labels.max()} > {last}" if labels.max() > last else f"{labels.min()} < 0"
    if labels.max() > last or labels.min() < 0:
        raise ValueError(f"All labels must be in [0, n labels) for multilabel targets. Got {wrong}")
    return Indicator(labels, seen.true[:, labels], seen.pred[:, labels])


@checked(PAIR | {"labels": ["array-like", None], "samplewise": ["boolean"]})
def multilabel_confusion_matrix(
    y_true, y_pred, *, sample_weight=None, labels=None, samplewise=False
):
    """A 2×2 matrix [[tn, fp], [fn, tp]] for each label, or for each sample.

    Parameters
    ----------
    y_true, y_pred : array-like or sparse label indicator
    sample_weight : array-like of shape (n_samples,), default=None
    labels : array-like, default=None
        The classes (or column numbers) to show.
    samplewise : bool, default=False
        One matrix a sample; for label indicators only.

    Returns
    -------
    matrices : ndarray of shape (n_labels or n_samples, 2, 2)

    Examples
    --------
    >>> from mlreplica.metrics import multilabel_confusion_matrix
    >>> multilabel_confusion_matrix([0, 1, 1], [0, 1, 0])[1]
    array([[1, 0],
           [1, 1]])
    """
    average = "samples" if samplewise else None
    counts, _ = counts_of(y_true, y_pred, labels, sample_weight, average, 1, choose=False)
    tp, pred, true, total = counts
    fp, fn = pred - tp, true - tp
    return np.stack([total - tp - fp - fn, fp, fn, tp], axis=-1).reshape(-1, 2, 2)


@checked(SET_WISE | BETA | {"warn_for": [list, tuple, set]})
def precision_recall_fscore_support(
    y_true, y_pred, *, beta=1.0, labels=None, pos_label=1, average=None,
    warn_for=("precision", "recall", "f-score"), sample_weight=None, zero_division="warn",
):  # fmt: skip
    """Precision, recall, F_β and support, for each class or averaged, from one matrix.

    Parameters
    ----------
    y_true, y_pred : array-like or sparse label indicator
    beta : float, default=1.0
        How much more recall counts than precision.
    labels : array-like, default=None
        The classes to score; all by default.
    pos_label : int, float, bool or str, default=1
        The class to score where `average="binary"`.
    average : {"binary", "micro", "macro", "samples", "weighted"} or None, default=None
        None: one score a class. "micro" sums the counts first; "macro" is the plain mean of the
        classes' scores, "weighted" their mean by support; "samples" the mean over samples.
    warn_for : list, tuple or set
        Of which scores to warn if undefined.
    sample_weight : array-like of shape (n_samples,), default=None
    zero_division : {"warn", 0.0, 1.0, np.nan}, default="warn"
        The value of 0/0; "warn" is 0 and a warning.

    Returns
    -------
    precision, recall, fbeta_score : float or ndarray of shape (n_labels,)
    support : None or ndarray of shape (n_labels,)

    Examples
    --------
    >>> from mlreplica.metrics import precision_recall_fscore_support
    >>> precision_recall_fscore_support([0, 1, 1, 0], [0, 1, 0, 0], average="macro")
    (0.8333333333333333, 0.75, 0.7333333333333334, None)
    """
    counts, w = counts_of(y_true, y_pred, labels, sample_weight, average, pos_label)
    return precision_recall_fscore(counts, beta, average, warn_for, zero_division, w)


@checked(SET_WISE)
def precision_score(
    y_true, y_pred, *, labels=None, pos_label=1, average="binary", sample_weight=None,
    zero_division="warn",
):  # fmt: skip
    """Of the samples called c, the share that is c: tp / (tp + fp).

    Parameters as for `precision_recall_fscore_support`.

    Examples
    --------
    >>> from mlreplica.metrics import precision_score
    >>> precision_score([0, 1, 1, 0], [0, 1, 0, 1])
    0.5
    """
    counts, w = counts_of(y_true, y_pred, labels, sample_weight, average, pos_label)
    return precision_recall_fscore(counts, 1.0, average, ("precision",), zero_division, w)[0]


@checked(SET_WISE)
def recall_score(
    y_true, y_pred, *, labels=None, pos_label=1, average="binary", sample_weight=None,
    zero_division="warn",
):  # fmt: skip
    """Of the samples of class c, the share that was called c: tp / (tp + fn).

    Parameters as for `precision_recall_fscore_support`.

    Examples
    --------
    >>> from mlreplica.metrics import recall_score
    >>> recall_score([0, 1, 1, 1], [0, 1, 0, 0])
    0.3333333333333333
    """
    counts, w = counts_of(y_true, y_pred, labels, sample_weight, average, pos_label)
    return precision_recall_fscore(counts, 1.0, average, ("recall",), zero_division, w)[1]


@checked(SET_WISE | BETA)
def fbeta_score(
    y_true, y_pred, *, beta, labels=None, pos_label=1, average="binary", sample_weight=None,
    zero_division="warn",
):  # fmt: skip
    """Harmonic mean of precision and recall, recall counting β² times.

    Parameters as for `precision_recall_fscore_support`.

    Examples
    --------
    >>> from mlreplica.metrics import fbeta_score
    >>> fbeta_score([0, 1, 1, 1], [0, 1, 0, 1], beta=2.0)
    0.7142857142857143
    """
    counts, w = counts_of(y_true, y_pred, labels, sample_weight, average, pos_label)
    return precision_recall_fscore(counts, beta, average, ("f-score",), zero_division, w)[2]


@checked(SET_WISE)
def f1_score(
    y_true, y_pred, *, labels=None, pos_label=1, average="binary", sample_weight=None,
    zero_division="warn",
):  # fmt: skip
    """Harmonic mean of precision and recall: 2 tp / (2 tp + fp + fn).

    Parameters as for `precision_recall_fscore_support`.

    Examples
    --------
    >>> from mlreplica.metrics import f1_score
    >>> f1_score([0, 1, 1, 1], [0, 1, 0, 1])
    0.8
    """
    counts, w = counts_of(y_true, y_pred, labels, sample_weight, average, pos_label)
    return precision_recall_fscore(counts, 1.0, average, ("f-score",), zero_division, w)[2]


@checked(SET_WISE | {"zero_division": [Options(Real, {0, 1}), StrOptions({"warn"})]})
def jaccard_score(
    y_true, y_pred, *, labels=None, pos_label=1, average="binary", sample_weight=None,
    zero_division="warn",
):  # fmt: skip
    """Size of the intersection over size of the union: tp / (tp + fp + fn).

    Parameters as for `precision_recall_fscore_support`.

    Examples
    --------
    >>> from mlreplica.metrics import jaccard_score
    >>> jaccard_score([0, 1, 1, 1], [1, 1, 0, 1])
    0.5
    """
    counts, w = counts_of(y_true, y_pred, labels, sample_weight, average, pos_label)
    tp, pred, true, _ = counts.pooled() if average == "micro" else counts
    rule = average, ("jaccard",), zero_division
    scores = ratio(tp, true + pred - tp, "jaccard", "true or predicted", *rule)
    if average is None:
        return scores
    weight = {"weighted": true if np.any(true) else None, "samples": w}.get(average)
    return average_of(scores, weight)


@checked(
    PAIR
    | {
        "labels": ["array-like", None],
        "target_names": ["array-like", None],
        "digits": [Interval(Integral, 0, None, closed="left")],
        "output_dict": ["boolean"],
        "zero_division": SET_WISE["zero_division"],
    }
)
def classification_report(
    y_true, y_pred, *, labels=None, target_names=None, sample_weight=None, digits=2,
    output_dict=False, zero_division="warn",
):  # fmt: skip
    """A table of precision, recall, F1 and support for each class and their averages.

    Parameters
    ----------
    y_true, y_pred : array-like or sparse label indicator
    labels : array-like, default=None
        The classes to show; all by default.
    target_names : array-like, default=None
        Names to show for them.
    sample_weight : array-like of shape (n_samples,), default=None
    digits : int, default=2
    output_dict : bool, default=False
        Return nested dictionaries instead of text.
    zero_division : {"warn", 0.0, 1.0, np.nan}, default="warn"
        The value of 0/0.

    Returns
    -------
    report : str or dict

    Examples
    --------
    >>> from mlreplica.metrics import classification_report
    >>> print(classification_report(["a", "b", "b"], ["a", "b", "a"]))
                  precision    recall  f1-score   support
    <BLANKLINE>
               a       0.50      1.00      0.67         1
               b       1.00      0.50      0.67         2
    <BLANKLINE>
        accuracy                           0.67         3
       macro avg       0.75      0.75      0.67         3
    weighted avg       0.83      0.67      0.67         3
    <BLANKLINE>
    """
    given = labels
    seen, w = look(y_true, y_pred, sample_weight)
    single, present = isinstance(seen, Confusion), seen.labels
    labels = present if given is None else np.asarray(given)
    if target_names is not None and len(labels) != len(target_names):
        if given is None:
            raise ValueError(
                f"Number of classes, {len(labels)}, does not match size of target_names, "
                f"{len(target_names)}. Try specifying the labels parameter"
            )
        warnings.warn(
            f"labels size, {len(labels)}, does not match size of target_names, {len(target_names)}",
            stacklevel=3,
        )
    averages = ["micro", "macro", "weighted"]
    if single:
        counts = seen.counts(given, None if w is None else float)
    else:
        averages.append("samples")
        _, true, pred = columns(seen, labels)
        counts = Counts.of_indicator(true, pred, w)
    heads = ("precision", "recall", "f1-score", "support")
    warn_for = ("precision", "recall", "f-score")
    scores = precision_recall_fscore(counts, 1.0, None, warn_for, zero_division)
    names = [f"{label}" for label in labels] if target_names is None else target_names
    rows = dict(zip(names, zip(*scores, strict=True), strict=False))
    is_accuracy = single and (given is None or set(labels.tolist()) >= set(present.tolist()))
    for average in averages:
        per = Counts.of_indicator(true, pred, w, axis=1) if average == "samples" else counts
        *row, _ = precision_recall_fscore(per, 1.0, average, warn_for, zero_division, w)
        name = "accuracy" if average == "micro" and is_accuracy else f"{average} avg"
        rows[name] = (*row, np.sum(scores[3]))
    if output_dict:
        report = {
            name: dict(zip(heads, map(float, row), strict=True)) for name, row in rows.items()
        }
        if "accuracy" in report:
            report["accuracy"] = report["accuracy"]["precision"]
        return report
    return table(names, rows, heads, digits)


def table(names, rows, heads, digits):
    """The report as text, in scikit-learn's layout."""
    width = max(*map(len, names), len("weighted avg"), digits)
    lines = [f"{'':>{width}s} " + "".join(f" {head:>9}" for head in heads), ""]
    for k, (name, (*scores, support)) in enumerate(rows.items()):
        if k == len(names):
            lines.append("")
        text = [f" {score:>9.{digits}f}" for score in scores]
        if name == "accuracy":
            text[:2] = [" " * 10] * 2
        lines.append(f"{name:>{width}s} " + "".join(text) + f" {support:>9}")
    return "\n".join(lines) + "\n"
