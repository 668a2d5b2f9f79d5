"""Metrics of labelled sequences: of items, of whole sequences, and of the entities they spell

Labels such as B-PER, I-PER, O mark where an entity begins and goes on; with E and S also where
it ends and that it is one item long. An entity is found if its type and both its ends are right.
"""

from collections import Counter
from itertools import chain

import numpy as np

from ._classification import accuracy_score
from ._set_wise import (
    classification_report,
    f1_score,
    fbeta_score,
    precision_score,
    recall_score,
)

OUTSIDE = ("O", "")


def check_sequences(y_true, y_pred):
    """Raise ValueError unless both are lists of as many sequences."""
    for name, y in (("y_true", y_true), ("y_pred", y_pred)):
        if any(isinstance(labels, str) or not hasattr(labels, "__len__") for labels in y):
            raise ValueError(f"{name} must be a list of sequences of labels; pass one as [{name}].")
    if len(y_true) != len(y_pred):
        raise ValueError(f"y_true has {len(y_true)} sequences, y_pred has {len(y_pred)}.")


def flattened(y_true, y_pred):
    """Labels of all items, after a look at the lengths."""
    check_sequences(y_true, y_pred)
    for s, (a, b) in enumerate(zip(y_true, y_pred, strict=True)):
        if len(a) != len(b):
            raise ValueError(f"Sequence {s} has {len(a)} true labels and {len(b)} predicted ones.")
    return list(chain.from_iterable(y_true)), list(chain.from_iterable(y_pred))


def flat_accuracy_score(y_true, y_pred):
    """Share of items whose label is right.

    Parameters
    ----------
    y_true, y_pred : list of lists of labels

    Returns
    -------
    accuracy : float

    Examples
    --------
    >>> flat_accuracy_score([["a", "b"], ["a"]], [["a", "a"], ["a"]])
    0.6666666666666666
    """
    return accuracy_score(*flattened(y_true, y_pred))


def flat_precision_score(y_true, y_pred, **options):
    """`precision_score` of all items.

    Parameters
    ----------
    y_true, y_pred : list of lists of labels
    **options
        Of `precision_score`.

    Returns
    -------
    precision : float or ndarray
    """
    return precision_score(*flattened(y_true, y_pred), **options)


def flat_recall_score(y_true, y_pred, **options):
    """`recall_score` of all items.

    Parameters
    ----------
    y_true, y_pred : list of lists of labels
    **options
        Of `recall_score`.

    Returns
    -------
    recall : float or ndarray
    """
    return recall_score(*flattened(y_true, y_pred), **options)


def flat_f1_score(y_true, y_pred, **options):
    """`f1_score` of all items.

    Parameters
    ----------
    y_true, y_pred : list of lists of labels
    **options
        Of `f1_score`.

    Returns
    -------
    f1 : float or ndarray
    """
    return f1_score(*flattened(y_true, y_pred), **options)


def flat_fbeta_score(y_true, y_pred, beta, **options):
    """`fbeta_score` of all items.

    Parameters
    ----------
    y_true, y_pred : list of lists of labels
    beta : float
        How much recall counts beside precision.
    **options
        Of `fbeta_score`.

    Returns
    -------
    fbeta : float or ndarray
    """
    return fbeta_score(*flattened(y_true, y_pred), beta=beta, **options)


def flat_classification_report(y_true, y_pred, labels=None, **options):
    """`classification_report` of all items.

    Parameters
    ----------
    y_true, y_pred : list of lists of labels
    labels : list, default=None
        Which labels to report.
    **options
        Of `classification_report`.

    Returns
    -------
    report : str or dict
    """
    return classification_report(*flattened(y_true, y_pred), labels=labels, **options)


def sequence_accuracy_score(y_true, y_pred):
    """Share of sequences whose labels are all right.

    Parameters
    ----------
    y_true, y_pred : list of lists of labels

    Returns
    -------
    accuracy : float

    Examples
    --------
    >>> sequence_accuracy_score([["a", "b"], ["a"]], [["a", "a"], ["a"]])
    0.5
    """
    check_sequences(y_true, y_pred)
    right = [list(a) == list(b) for a, b in zip(y_true, y_pred, strict=True)]
    return sum(right) / len(right) if right else 0


def entity_spans(labels, scheme="lenient"):
    """Entities that the labels of one sequence spell.

    Parameters
    ----------
    labels : list of str
        As "B-PER", "I-PER", "O".
    scheme : {"lenient", "BIO", "BIOES"}, default="lenient"
        Take every run of one type as an entity, as the CoNLL script does; or only those that are
        spelt as the scheme demands.

    Returns
    -------
    spans : list of (type, first, last)

    Examples
    --------
    >>> entity_spans(["B-PER", "I-PER", "O", "I-LOC"])
    [('PER', 0, 1), ('LOC', 3, 3)]
    >>> entity_spans(["B-PER", "I-PER", "O", "I-LOC"], scheme="BIO")
    [('PER', 0, 1)]
    """
    if scheme not in ("lenient", "BIO", "BIOES"):
        raise ValueError(f"scheme must be 'lenient', 'BIO' or 'BIOES', got {scheme!r}.")
    if not all(isinstance(tag, str) for tag in labels):
        raise ValueError("labels must be strings such as 'B-PER', 'I-PER' and 'O'.")
    parts = [
        ("O", "") if tag in OUTSIDE else (tag[0], tag[1:].lstrip("-") or "_") for tag in labels
    ]
    spans, start = [], None
    for t, (mark, kind) in enumerate([*parts, ("O", "")]):
        before, kind_before = parts[t - 1] if t else ("O", "")
        goes_on = (
            start is not None and mark in "IEM" and kind == kind_before and before not in "ESLU"
        )
        if scheme == "BIO":
            goes_on = goes_on and mark == "I"
        if start is not None and not goes_on:
            whole = before in "ES" if scheme == "BIOES" else True
            if whole:
                spans.append((kind_before, start, t - 1))
            start = None
        if start is None and mark != "O":
            begins = {"lenient": True, "BIO": mark == "B", "BIOES": mark in "BS"}[scheme]
            start = t if begins else None
    return spans


def entity_counts(y_true, y_pred, scheme):
    """Entities of each type: right, predicted, true."""
    flattened(y_true, y_pred)
    right, guessed, true = Counter(), Counter(), Counter()
    for a, b in zip(y_true, y_pred, strict=True):
        found, wanted = set(entity_spans(b, scheme)), set(entity_spans(a, scheme))
        guessed.update(kind for kind, *_ in found)
        true.update(kind for kind, *_ in wanted)
        right.update(kind for kind, *_ in found & wanted)
    kinds = sorted(set(guessed) | set(true))
    return kinds, *(np.array([c[kind] for kind in kinds]) for c in (right, guessed, true))


def entity_precision_recall_f1(y_true, y_pred, *, average="micro", scheme="lenient"):
    """Precision, recall and F1 of entities.

    Parameters
    ----------
    y_true, y_pred : list of lists of str
    average : {"micro", "macro", "weighted"} or None, default="micro"
        Over all entities, over types, over types weighted by how often they occur; None: per type,
        in alphabetical order.
    scheme : {"lenient", "BIO", "BIOES"}, default="lenient"
        As of `entity_spans`.

    Returns
    -------
    precision, recall, f1 : float or ndarray
        Zero where there is nothing to divide by.

    Examples
    --------
    >>> entity_precision_recall_f1([["B-PER", "I-PER", "O"]], [["B-PER", "O", "O"]])
    (0.0, 0.0, 0.0)
    """
    _, right, guessed, true = entity_counts(y_true, y_pred, scheme)
    if average == "micro":
        right, guessed, true = right.sum(), guessed.sum(), true.sum()
    precision = np.divide(right, guessed, out=np.zeros(np.shape(right)), where=guessed > 0)
    recall = np.divide(right, true, out=np.zeros(np.shape(right)), where=true > 0)
    both = np.asarray(precision + recall)
    f1 = np.divide(2 * precision * recall, both, out=np.zeros(np.shape(right)), where=both > 0)
    if average is None:
        return precision, recall, f1
    if average == "micro":
        return float(precision), float(recall), float(f1)
    if average not in ("macro", "weighted"):
        raise ValueError(f"average must be 'micro', 'macro', 'weighted' or None, got {average!r}.")
    weights = true if average == "weighted" else np.ones(len(right))
    total = weights.sum()
    return tuple(float(v @ weights / total) if total else 0.0 for v in (precision, recall, f1))


def entity_f1_score(y_true, y_pred, *, average="micro", scheme="lenient"):
    """F1 of entities: the harmonic mean of their precision and recall.

    Parameters
    ----------
    y_true, y_pred : list of lists of str
    average, scheme
        As of `entity_precision_recall_f1`.

    Returns
    -------
    f1 : float or ndarray

    Examples
    --------
    >>> entity_f1_score([["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "I-PER", "O", "O"]])
    0.6666666666666666
    """
    return entity_precision_recall_f1(y_true, y_pred, average=average, scheme=scheme)[2]
