r"""Scores of a clustering: the table of classes against clusters

Let n_ij samples be of class i and in cluster j, with sums a_i over rows and b_j over columns.
Two labellings agree on a pair of samples if both put it together or both put it apart:

    rand = (pairs together in both + pairs apart in both) / all pairs          (1)
    adjusted = (rand − E rand) / (1 − E rand)

and in bits of information (p = n_ij/n, and H the entropy of a labelling)

    MI = Σ_ij n_ij/n · log( n · n_ij / (a_i b_j) )                             (2)
    NMI = MI / mean(H_true, H_pred)     AMI = (MI − E MI) / (mean(H_true, H_pred) − E MI)

The expectations are over all tables with the same sums. There n_ij is hypergeometric, so

    E MI = Σ_ij Σ_m  m/n · log( n·m / (a_i b_j) ) · P(m; a_i, b_j, n)          (3)
    P(m + 1)/P(m) = (a − m)(b − m) / ((m + 1)(n − a − b + m + 1))

Hoeffding: P(|m − ab/n| ≥ t) ≤ 2 exp(−2t²/min(a, b)), so with t = 6.5 √min(a, b) all that is left
out weighs less than 1e-36; P is made from its ratios and scaled to sum 1, which needs no
gamma function and keeps more digits than one.

Hubert & Arabie (1985); Vinh, Epps & Bailey (2010).
"""

from __future__ import annotations

from numbers import Real

import numpy as np
from scipy.sparse import coo_array, find, issparse
from sklearn.utils import check_array

from mlreplica.core.compat import (
    Interval,
    StrOptions,
)
from mlreplica.core.compat import _supervised as reference

from ._confusion import cells
from ._inputs import checked, integers, is_plain

PAIR = {"labels_true": ["array-like"], "labels_pred": ["array-like"]}
MEAN = {"average_method": [StrOptions({"arithmetic", "max", "min", "geometric"})]}
MEANS = {
    "min": min,
    "max": max,
    "geometric": lambda u, v: np.sqrt(u * v),
    "arithmetic": lambda u, v: (u + v) / 2,
}
EPS = np.finfo(np.float64).eps


def table(labels_true, labels_pred):
    """The cells (i, j, n_ij) that occur; numbers of classes and clusters may have gaps."""
    if is_plain(labels_true, labels_pred):
        t, p = integers(labels_true), integers(labels_pred)
        if t is not None and p is not None:
            low, high = int(min(t.min(), p.min())), int(max(t.max(), p.max()))
            if high - low < 64 or (high - low) ** 2 < len(t):
                return cells(t, p, low, high - low + 1, high - low + 1)
    labels_true, labels_pred = reference.check_clusterings(labels_true, labels_pred)
    classes, t = np.unique(labels_true, return_inverse=True)
    clusters, p = np.unique(labels_pred, return_inverse=True)
    return cells(t, p, 0, max(len(clusters), 1), max(len(classes), 1))


def margins(i, j, v):
    """The sums a_i and b_j that occur."""
    a, b = np.bincount(i, v), np.bincount(j, v)
    return a[a > 0], b[b > 0]


def entropy(a):
    """Entropy of a labelling with these sizes."""
    if len(a) == 0:
        return 1.0
    n = a.sum()
    return 0.0 if len(a) == 1 else float(-np.sum(a / n * (np.log(a) - np.log(n))))


def information(i, j, v):
    """Equation (2)."""
    a, b, n = np.bincount(i, v), np.bincount(j, v), v.sum()
    if np.count_nonzero(a) <= 1 or np.count_nonzero(b) <= 1:
        return 0.0
    joint, apart = np.log(v) - np.log(n), np.log(n) + np.log(n) - np.log(a[i] * b[j])
    terms = v / n * joint + v / n * apart
    terms[np.abs(terms) < EPS] = 0.0
    return max(float(terms.sum()), 0.0)


def expected_information(a, b):
    """Equation (3)."""
    n = float(a.sum())
    (a, times_a), (b, times_b) = (np.unique(x, return_counts=True) for x in (a, b))
    times = np.outer(times_a, times_b).ravel()
    a, b = (x.ravel() for x in np.meshgrid(a, b, indexing="ij"))
    reach = 6.5 * np.sqrt(np.minimum(a, b)) + 1
    first = np.maximum(np.maximum(a + b - n, 0), np.floor(a * b / n - reach))
    last = np.minimum(np.minimum(a, b), np.ceil(a * b / n + reach))
    total, rows = 0.0, max(1, int(1e6 / (np.max(last - first) + 1)))
    for s in range(0, len(a), rows):
        part = slice(s, s + rows)
        total += times[part] @ expected_cells(a[part], b[part], n, first[part], last[part])
    return float(total)


def expected_cells(a, b, n, first, last):
    """The inner sum of (3) for pairs of margins (a, b), each over m = first … last."""
    a, b, last = a[:, None], b[:, None], last[:, None]
    m = first[:, None] + np.arange(np.max(last[:, 0] - first) + 1)
    before = m[:, :-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.log((a - before) * (b - before) / ((before + 1) * (n - a - b + before + 1)))
        log_p = np.zeros(m.shape)
        np.cumsum(steps, axis=1, out=log_p[:, 1:])
        log_p[m > last] = -np.inf
        P = np.exp(log_p - log_p.max(axis=1, keepdims=True))
        gain = m / n * np.log(n * m / (a * b))
    gain[(m == 0) | (m > last)] = 0.0
    return (gain * P).sum(axis=1) / P.sum(axis=1)


@checked(
    {
        "labels_true": ["array-like", None],
        "labels_pred": ["array-like", None],
        "eps": [Interval(Real, 0, None, closed="left"), None],
        "sparse": ["boolean"],
        "dtype": "no_validation",
    }
)
def contingency_matrix(labels_true, labels_pred, *, eps=None, sparse=False, dtype=np.int64):
    """n_ij: how many samples of class i are in cluster j.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
    eps : float, default=None
        Added to every cell.
    sparse : bool, default=False
        Return a CSR matrix.
    dtype : numeric type, default=np.int64

    Returns
    -------
    contingency : ndarray or CSR of shape (n_classes, n_clusters)

    Examples
    --------
    >>> from mlreplica.metrics.cluster import contingency_matrix
    >>> contingency_matrix([0, 0, 1, 1, 2, 2], [1, 0, 2, 1, 0, 2])
    array([[1, 1, 0],
           [0, 1, 1],
           [1, 0, 1]])
    """
    if eps is not None and sparse:
        raise ValueError("Cannot set 'eps' when sparse=True")
    classes, t = np.unique(labels_true, return_inverse=True)
    clusters, p = np.unique(labels_pred, return_inverse=True)
    shape = len(classes), len(clusters)
    i, j, v = cells(t, p, 0, max(shape[1], 1), max(shape[0], 1))
    table = coo_array((v.astype(dtype), (i, j)), shape=shape)
    if sparse:
        return reference._align_api_if_sparse(table).tocsr()
    return table.toarray() if eps is None else table.toarray() + eps


@checked(PAIR)
def pair_confusion_matrix(labels_true, labels_pred):
    """Ordered pairs of samples, by whether each labelling puts them together.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)

    Returns
    -------
    C : ndarray of shape (2, 2)
        Rows: apart, together in labels_true; columns: the same in labels_pred.

    Examples
    --------
    >>> from mlreplica.metrics import pair_confusion_matrix
    >>> pair_confusion_matrix([0, 0, 1, 1], [0, 0, 1, 2])
    array([[8, 0],
           [2, 2]])
    """
    i, j, v = table(labels_true, labels_pred)
    if len(v) == 0:
        return np.zeros((2, 2), np.int64)
    a, b = (np.bincount(x, v).astype(np.int64) for x in (i, j))
    n, same, rows, columns = int(v.sum()), int(v @ v), int(a @ a), int(b @ b)
    return np.array([[n * n - rows - columns + same, columns - same], [rows - same, same - n]])


@checked(PAIR)
def rand_score(labels_true, labels_pred):
    """Share of the pairs of samples on which two labellings agree.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)

    Returns
    -------
    score : float

    Examples
    --------
    >>> from mlreplica.metrics import rand_score
    >>> round(rand_score([0, 0, 1, 2], [0, 0, 1, 1]), 4)
    0.8333
    """
    C = pair_confusion_matrix(labels_true, labels_pred)
    agree, pairs = int(C[0, 0] + C[1, 1]), int(C.sum())
    return 1.0 if agree == pairs else agree / pairs


@checked(PAIR)
def adjusted_rand_score(labels_true, labels_pred):
    """Rand index corrected for chance: 0 for random labellings, 1 for equal ones.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)

    Returns
    -------
    score : float

    Examples
    --------
    >>> from mlreplica.metrics import adjusted_rand_score
    >>> round(adjusted_rand_score([0, 0, 1, 2], [0, 0, 1, 1]), 4)
    0.5714
    """
    (tn, fp), (fn, tp) = pair_confusion_matrix(labels_true, labels_pred).tolist()
    if fn == 0 and fp == 0:
        return 1.0
    return 2.0 * (tp * tn - fn * fp) / ((tp + fn) * (fn + tn) + (tp + fp) * (fp + tn))


@checked(PAIR)
def fowlkes_mallows_score(labels_true, labels_pred):
    """Geometric mean of precision and recall over the pairs of samples put together.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)

    Returns
    -------
    score : float

    Examples
    --------
    >>> from mlreplica.metrics import fowlkes_mallows_score
    >>> round(fowlkes_mallows_score([0, 0, 1, 1], [0, 0, 1, 2]), 4)
    0.7071
    """
    (_, fp), (fn, tp) = pair_confusion_matrix(labels_true, labels_pred).tolist()
    return float(np.sqrt(tp / (tp + fp)) * np.sqrt(tp / (tp + fn))) if tp else 0.0


@checked(PAIR | {"beta": [Interval(Real, 0, None, closed="left")]})
def homogeneity_completeness_v_measure(labels_true, labels_pred, *, beta=1.0):
    """Homogeneity MI/H_true, completeness MI/H_pred and their weighted harmonic mean.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
    beta : float, default=1.0
        How much more completeness counts.

    Returns
    -------
    homogeneity, completeness, v_measure : float

    Examples
    --------
    >>> from mlreplica.metrics import homogeneity_completeness_v_measure
    >>> homogeneity_completeness_v_measure([0, 0, 1, 1], [1, 1, 0, 0])
    (1.0, 1.0, 1.0)
    """
    return v_measure(labels_true, labels_pred, beta)


def v_measure(labels_true, labels_pred, beta=1.0):
    """Homogeneity, completeness, and their weighted harmonic mean."""
    i, j, v = table(labels_true, labels_pred)
    if len(v) == 0:
        return 1.0, 1.0, 1.0
    mi = information(i, j, v)
    h_true, h_pred = map(entropy, margins(i, j, v))
    h, c = mi / h_true if h_true else 1.0, mi / h_pred if h_pred else 1.0
    return h, c, 0.0 if h + c == 0.0 else float((1 + beta) * h * c / (beta * h + c))


@checked(PAIR)
def homogeneity_score(labels_true, labels_pred):
    """1 if each cluster holds one class only: MI / H_true.

    Parameters as for `homogeneity_completeness_v_measure`.

    Examples
    --------
    >>> from mlreplica.metrics import homogeneity_score
    >>> round(homogeneity_score([0, 0, 1, 1], [0, 1, 2, 3]), 4)
    1.0
    """
    return v_measure(labels_true, labels_pred)[0]


@checked(PAIR)
def completeness_score(labels_true, labels_pred):
    """1 if each class lies in one cluster only: MI / H_pred.

    Parameters as for `homogeneity_completeness_v_measure`.

    Examples
    --------
    >>> from mlreplica.metrics import completeness_score
    >>> round(completeness_score([0, 0, 1, 1], [0, 1, 2, 3]), 4)
    0.5
    """
    return v_measure(labels_true, labels_pred)[1]


@checked(PAIR | {"beta": [Interval(Real, 0, None, closed="left")]})
def v_measure_score(labels_true, labels_pred, *, beta=1.0):
    """Harmonic mean of homogeneity and completeness.

    Parameters as for `homogeneity_completeness_v_measure`.

    Examples
    --------
    >>> from mlreplica.metrics import v_measure_score
    >>> round(v_measure_score([0, 0, 1, 1], [0, 1, 2, 3]), 4)
    0.6667
    """
    return v_measure(labels_true, labels_pred, beta)[2]


@checked(
    {
        "labels_true": ["array-like", None],
        "labels_pred": ["array-like", None],
        "contingency": ["array-like", "sparse matrix", None],
    }
)
def mutual_info_score(labels_true, labels_pred, *, contingency=None):
    """Information, in nats, that one labelling gives about the other: equation (2).

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
    contingency : array-like or sparse of shape (n_classes, n_clusters), default=None
        Their table, if known already.

    Returns
    -------
    mi : float

    Examples
    --------
    >>> from mlreplica.metrics import mutual_info_score
    >>> round(mutual_info_score([0, 1, 1, 0], [0, 1, 0, 0]), 4)
    0.2158
    """
    if contingency is None:
        return information(*table(labels_true, labels_pred))
    contingency = check_array(
        contingency, accept_sparse=["csr", "csc", "coo"], dtype=[int, np.int32, np.int64]
    )
    i, j, v = find(contingency) if issparse(contingency) else find(coo_array(contingency))
    return 0.0 if 1 in contingency.shape else information(i, j, v)


@checked(PAIR | MEAN)
def normalized_mutual_info_score(labels_true, labels_pred, *, average_method="arithmetic"):
    """Mutual information over the mean entropy: between 0 and 1, not corrected for chance.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
    average_method : {"arithmetic", "geometric", "min", "max"}, default="arithmetic"

    Returns
    -------
    nmi : float

    Examples
    --------
    >>> from mlreplica.metrics import normalized_mutual_info_score
    >>> normalized_mutual_info_score([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    i, j, v = table(labels_true, labels_pred)
    a, b = margins(i, j, v)
    if len(a) == len(b) <= 1:
        return 1.0
    mi = information(i, j, v)
    return 0.0 if mi == 0 else float(mi / MEANS[average_method](entropy(a), entropy(b)))


def away_from_zero(x):
    """x, or ±ε if it is smaller: 0/0 means perfect agreement here."""
    return min(x, -EPS) if x < 0 else max(x, EPS)


@checked(PAIR | MEAN)
def adjusted_mutual_info_score(labels_true, labels_pred, *, average_method="arithmetic"):
    """Mutual information corrected for chance: 0 for random labellings, 1 for equal ones.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
    average_method : {"arithmetic", "geometric", "min", "max"}, default="arithmetic"

    Returns
    -------
    ami : float

    Examples
    --------
    >>> from mlreplica.metrics import adjusted_mutual_info_score
    >>> round(adjusted_mutual_info_score([0, 0, 1, 1, 2, 2], [0, 0, 1, 2, 2, 2]), 4)
    0.5024
    """
    i, j, v = table(labels_true, labels_pred)
    a, b = margins(i, j, v)
    if len(a) == len(b) <= 1:
        return 1.0
    if len(a) == 1 or len(b) == 1:
        return 0.0
    mi, emi = information(i, j, v), expected_information(a, b)
    top, bottom = mi - emi, MEANS[average_method](entropy(a), entropy(b)) - emi
    return float(away_from_zero(top) / away_from_zero(bottom))
