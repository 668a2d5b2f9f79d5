r"""Silhouettes: is each row nearer to its own cluster than to the next one?

A sample's silhouette compares its mean distance a to its own cluster with that to the nearest
other one, b:

    s = (b − a) / max(a, b)                                                    (1)

Rousseeuw (1987), Silhouettes: a graphical aid to the interpretation and validation of cluster
analysis, J. Comput. Appl. Math. 20.
"""

from __future__ import annotations

from numbers import Integral

import numpy as np
from scipy.sparse import issparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import pairwise_distances_chunked
from sklearn.utils import check_random_state, check_X_y

from mlreplica.core.compat import (
    _VALID_METRICS,
    Interval,
    StrOptions,
    _unsupervised,
)
from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import n_threads, run, split

from ._inputs import checked, is_finite, is_plain

CLOSE = 1e-9  # a squared distance this small against the lengths has seven digits or fewer


@kernel
def sum_distances(X, rows, starts, sums):
    """Σ of Euclidean distances from the samples `rows` to each cluster.

    X (p, n) has the samples of a cluster side by side, cluster c from starts[c] to starts[c + 1].
    """
    p, block = len(X), np.empty(256)
    for r in range(len(rows)):
        for c in range(len(starts) - 1):
            total = 0.0
            for start in range(starts[c], starts[c + 1], 256):
                m = min(256, starts[c + 1] - start)
                block[:] = 0.0
                for d in range(p):
                    x, side = X[d, rows[r]], X[d, start : start + m]
                    for q in range(m):
                        block[q] += (side[q] - x) ** 2
                for q in range(m):
                    total += np.sqrt(block[q])
            sums[r, c] = total


def lengths(X):
    """‖x_i‖², (n,)"""
    return np.einsum("ij,ij->i", X, X)


def squared_distances(X, rows, norms):
    """‖x_i − x_j‖² of some rows i and all j as ‖x_i‖² + ‖x_j‖² − 2 x_iᵀx_j, a product.

    Rows so close that the difference has lost their distance are subtracted themselves.
    """
    D = X[rows] @ X.T
    D *= -2.0
    D += norms
    D += norms[rows, None]
    i, j = np.nonzero(CLOSE * norms + CLOSE * norms[rows, None] > D)
    for s in split(len(i), len(i) * X.shape[1] // (1 << 20) + 1):
        D[i[s], j[s]] = lengths(X[rows][i[s]] - X[j[s]])
    return D


def cluster_distances(X, code, sizes):
    """(n, k): Σ of Euclidean distances from each sample to each cluster."""
    n, k = len(X), len(sizes)
    if n * n * X.shape[1] < 10**6:
        return cdist(X, X) @ np.eye(k)[code]
    order = np.argsort(code, kind="stable")
    starts, sums = np.append(0, np.cumsum(sizes)), np.empty((n, k))
    if X.shape[1] <= 32:
        columns = np.ascontiguousarray(X[order].T)
        parts = split(n, 8 * n_threads())
        run(lambda s: sum_distances(columns, np.arange(n)[s], starts, sums[s]), parts)
    else:
        X = X[order] - X.mean(axis=0)
        norms = lengths(X)
        for s in split(n, n // 256 + 1):
            D = squared_distances(X, s, norms)
            sums[s] = np.add.reduceat(np.sqrt(D, out=D), starts[:-1], axis=1)
    result = np.empty_like(sums)
    result[order] = sums
    return result


def clusters_of(labels):
    """(code, sizes): labels as 0 … k − 1, and how often each occurs."""
    if labels.dtype.kind in "iu" and labels.min() >= 0 and labels.max() < len(labels):
        sizes = np.bincount(labels)
        if sizes.all():
            return labels, sizes
    _, code, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    return code, sizes


def silhouettes(sums, code, sizes):
    """Equation (1) for each sample; 0 where it is alone in its cluster."""
    at = np.arange(len(code)), code
    own = sums[at]
    sums[at] = np.inf
    b = (sums / sizes).min(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        a = own / (sizes - 1)[code]
        s = (b - a) / np.maximum(a, b)
    s[np.isnan(s)] = 0.0
    return s


SILHOUETTE = {
    "X": ["array-like", "sparse matrix"],
    "labels": ["array-like"],
    "metric": [StrOptions(set(_VALID_METRICS) | {"precomputed"}), callable],
}


@checked(SILHOUETTE)
def silhouette_samples(X, labels, *, metric="euclidean", **kwds):
    """Silhouette of each sample: near 1 well inside its cluster, below 0 in the wrong one.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or distances if `metric="precomputed"`
    labels : array-like of shape (n_samples,)
        The cluster of each sample.
    metric : str or callable, default="euclidean"
    **kwds
        Passed to the metric.

    Returns
    -------
    silhouette : ndarray of shape (n_samples,)

    Examples
    --------
    >>> from mlreplica.metrics import silhouette_samples
    >>> silhouette_samples([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1]).round(3)
    array([0.818, 0.778, 0.778, 0.818])
    """
    plain = type(X) is np.ndarray and X.ndim == 2 and X.dtype == np.float64 and min(X.shape) > 0
    if not (plain and is_plain(labels) and len(labels) == len(X) and is_finite(X, labels)):
        X, labels = check_X_y(X, labels, accept_sparse=["csr"])
    code, sizes = clusters_of(labels)
    if metric == "precomputed":
        slack = np.finfo(X.dtype).eps * 100 if X.dtype.kind == "f" else 0
        if np.any(np.abs(X.diagonal()) > slack):
            raise ValueError(
                "The precomputed distance matrix contains non-zero elements on the diagonal. "
                "Use np.fill_diagonal(X, 0)."
            )
    _unsupervised.check_number_of_labels(len(sizes), len(code))
    if metric == "euclidean" and not kwds and not issparse(X) and X.dtype == np.float64:
        return silhouettes(cluster_distances(X, code, sizes), code, sizes)
    member = np.eye(len(sizes))[code]
    chunks = pairwise_distances_chunked(
        X, reduce_func=lambda D, start: D @ member.astype(D.dtype), metric=metric, **kwds
    )
    return silhouettes(np.concatenate(list(chunks)), code, sizes)


@checked(
    SILHOUETTE
    | {
        "sample_size": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
    }
)
def silhouette_score(X, labels, *, metric="euclidean", sample_size=None, random_state=None, **kwds):
    """Mean silhouette of the samples, or of a random part of them.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or distances if `metric="precomputed"`
    labels : array-like of shape (n_samples,)
    metric : str or callable, default="euclidean"
    sample_size : int, default=None
        How many samples to take; all by default.
    random_state : int, RandomState or None, default=None
    **kwds
        Passed to the metric.

    Returns
    -------
    silhouette : float

    Examples
    --------
    >>> from mlreplica.metrics import silhouette_score
    >>> round(silhouette_score([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1]), 3)
    0.798
    """
    if sample_size is not None:
        X, labels = check_X_y(X, labels, accept_sparse=["csc", "csr"])
        part = check_random_state(random_state).permutation(X.shape[0])[:sample_size]
        labels = labels[part]
        X = X[part].T[part].T if metric == "precomputed" else X[part]
    return float(np.mean(silhouette_samples(X, labels, metric=metric, **kwds)))
