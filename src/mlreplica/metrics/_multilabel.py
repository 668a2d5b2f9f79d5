r"""Rankings of several labels per sample: how far down the relevant ones lie

The labels of a sample are ranked by their scores s_j, ties at the worst of their places. Let

    rank_j = #{k : s_k ≥ s_j},      found_j = #{k relevant : s_k ≥ s_j}                      (1)

for each relevant label j of a sample that has P relevant labels and N others. Then

    precision = ⟨found_j / rank_j⟩_j      loss = Σ_j (rank_j − found_j) / PN                 (2)
    coverage = max_j rank_j

Where P or N is 0, there is nothing to rank: precision 1, loss 0; and without relevant labels
coverage 0.

Tsoumakas, Katakis, Vlahavas, Mining multi-label data (2010).
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.multiclass import type_of_target

from ._inputs import checked, mean

DENSE = {
    "y_true": ["array-like"],
    "y_score": ["array-like"],
    "sample_weight": ["array-like", None],
}
RANKED = DENSE | {"y_true": ["array-like", "sparse matrix"]}


def labelled(y_true, y_score, w, one_label=False):
    """Which labels are relevant, and the scores, both (n_samples, n_labels), checked."""
    check_consistent_length(y_true, y_score, w)
    y = check_array(y_true, ensure_2d=False, accept_sparse="csr")
    s = check_array(y_score, ensure_2d=False)
    if not is_indicator(y):
        kind = type_of_target(y_true, input_name="y_true")
        if kind != "multilabel-indicator" and not (one_label and kind == "binary" and y.ndim == 2):
            raise ValueError(f"{kind} format is not supported")
    if y.shape != s.shape:
        raise ValueError("y_true and y_score have different shape")
    return (y.toarray() if issparse(y) else y) != 0, s


def is_indicator(y):
    """Whether this is a plain array of zeros and ones for several labels."""
    plain = type(y) is np.ndarray and y.ndim == 2 and y.shape[1] > 1 and y.dtype.kind in "biu"
    return plain and y.min() >= 0 and y.max() <= 1


def ranked(y, s):
    """(relevant, rank, found) of (1), in the order of the scores."""
    order = np.argsort(-s, axis=1)
    s, m = np.take_along_axis(s, order, axis=1), s.shape[1]
    last = np.full(s.shape, m - 1)  # the last place of equal scores
    last[:, :-1] = np.where(s[:, 1:] != s[:, :-1], np.arange(m - 1), m - 1)
    last = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
    y = np.take_along_axis(y, order, axis=1)
    return y, last + 1, np.take_along_axis(np.cumsum(y, axis=1), last, axis=1)


@checked(DENSE)
def coverage_error(y_true, y_score, *, sample_weight=None):
    """How many labels one must go through, best first, to meet all relevant ones; a mean.

    Parameters
    ----------
    y_true : array-like of shape (n_samples, n_labels)
        1 for the relevant labels of each sample, else 0.
    y_score : array-like of shape (n_samples, n_labels)
        Scores that rank the labels.
    sample_weight : array-like of shape (n_samples,), default=None

    Returns
    -------
    coverage : float

    Examples
    --------
    >>> from mlreplica.metrics import coverage_error
    >>> coverage_error([[1, 0, 0], [0, 1, 1]], [[1, 0, 0], [0, 1, 1]])
    1.5
    """
    for rows in (y_true, y_score):
        if np.ndim(rows) != 2:
            check_array(rows)  # raises
    y, s = labelled(y_true, y_score, sample_weight)
    least = np.where(y, s, np.inf).min(axis=1, keepdims=True)
    return mean(np.count_nonzero(s >= least, axis=1), sample_weight)


@checked(RANKED)
def label_ranking_average_precision_score(y_true, y_score, *, sample_weight=None):
    """Share of relevant labels among those ranked at least as high as a relevant one; a mean.

    Parameters as for `coverage_error`; y_true may be sparse.

    Examples
    --------
    >>> from mlreplica.metrics import label_ranking_average_precision_score
    >>> round(label_ranking_average_precision_score([[1, 0, 1]], [[0.9, 0.5, 0.1]]), 4)
    0.8333
    """
    y, rank, found = ranked(*labelled(y_true, y_score, sample_weight, one_label=True))
    P = y.sum(axis=1)
    precision = np.sum(found / rank * y, axis=1) / np.maximum(P, 1)
    return mean(np.where((P == 0) | (y.shape[1] == P), 1.0, precision), sample_weight)


@checked(RANKED)
def label_ranking_loss(y_true, y_score, *, sample_weight=None):
    """Share of pairs, of a relevant label and another, that are ranked the wrong way; a mean.

    Parameters as for `coverage_error`; y_true may be sparse. Equal scores count as wrong.

    Examples
    --------
    >>> from mlreplica.metrics import label_ranking_loss
    >>> label_ranking_loss([[1, 0, 1]], [[0.9, 0.5, 0.1]])
    0.5
    """
    y, rank, found = ranked(*labelled(y_true, y_score, sample_weight))
    P = y.sum(axis=1)
    pairs = np.maximum(P * (y.shape[1] - P), 1)
    return mean(np.sum((rank - found) * y, axis=1) / pairs, sample_weight)
