"""Scores of class labels: scikit-learn's functions, each a few lines on the confusion matrix"""

from __future__ import annotations

import warnings
from numbers import Integral, Real

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
    Counts,
    Indicator,
    average_of,
    look,
    precision_recall_fscore,
    ratio,
)
from ._inputs import checked, integers, is_plain, is_weight, mean

ARRAY, SPARSE, WEIGHT = ["array-like"], ["array-like", "sparse matrix"], ["array-like", None]
PAIR = {"y_true": SPARSE, "y_pred": SPARSE, "sample_weight": WEIGHT}
SET_WISE = PAIR | {
    "labels": ["array-like", None],
    "pos_label": [Real, str, "boolean", None],
    "average": [StrOptions({"micro", "macro", "samples", "weighted", "binary"}), None],
    "zero_division": [Options(Real, {0.0, 1.0}), "nan", StrOptions({"warn"})],
}
BETA = {"beta": [Interval(Real, 0.0, None, closed="both")]}


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


def warn_if_single(k):
    """One class in all: the matrix is a mere number."""
    if k == 1:
        warnings.warn(
            "A single label was found in 'y_true' and 'y_pred'. For the confusion matrix to have "
            "the correct shape, use the 'labels' parameter to pass all known labels.",
            UserWarning,
            stacklevel=4,
        )


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
