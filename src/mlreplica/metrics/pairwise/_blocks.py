"""Distances between all rows of which only some are held at a time, and the nearest rows"""

from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import check_pairwise_arrays
from sklearn.utils import gen_batches

from mlreplica.core.compat import Options, _num_samples, get_chunk_n_rows
from mlreplica.core.formulas.distances import distance_named
from mlreplica.core.space import NeighbourIndex
from mlreplica.core.space.matrix import distance_matrix

from ._distances import given_parameters, pairwise_distances
from ._rows import ANY, METRIC, as_given, of_rows


@of_rows(
    reduce_func=[callable, None],
    metric=METRIC,
    n_jobs=[Integral, None],
    working_memory="no_validation",
)
def pairwise_distances_chunked(
    X, Y=None, *, reduce_func=None, metric="euclidean", n_jobs=None, working_memory=None, **kwds
):
    """Yield the distances between all rows, some rows of X at a time.

    Parameters
    ----------
    {rows}
    reduce_func : callable, default=None
        Makes of (distances of some rows, number of the first of them) what is yielded.
    {metric}
    working_memory : float, default=None
        Megabytes that a part of the matrix may take.
    **kwds
        Parameters of the metric.

    Yields
    ------
    D_chunk : ndarray or what `reduce_func` returned

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.metrics.pairwise import pairwise_distances_chunked
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> [len(part) for part in pairwise_distances_chunked(X, working_memory=48 / 2**20)]
    [2, 1]
    """
    n = _num_samples(X)
    if metric == "precomputed":
        parts = (slice(0, n),)
    else:
        Y = X if Y is None else Y
        row = 8 * _num_samples(Y)
        size = get_chunk_n_rows(row_bytes=row, max_n_rows=n, working_memory=working_memory)
        parts = gen_batches(n, size)
    if metric in ("seuclidean", "mahalanobis"):
        given_parameters(metric, X, Y, kwds)
        if metric == "seuclidean" and kwds.get("V") is None:
            kwds["V"] = np.var(np.asarray(X, dtype=float), axis=0, ddof=1)
        elif metric == "mahalanobis" and kwds.get("V") is kwds.get("VI") is None:
            kwds["VI"] = np.linalg.inv(np.cov(np.asarray(X, dtype=float).T))
    for rows in parts:
        whole = rows.start == 0 and rows.stop == n
        part = pairwise_distances(X if whole else X[rows], Y, metric=metric, n_jobs=n_jobs, **kwds)
        if X is Y and metric in ("euclidean", "l2"):
            part.flat[rows.start :: n + 1] = 0.0
        if reduce_func is not None:
            m = part.shape[0]
            part = reduce_func(part, rows.start)
            check_reduced(part, m)
        yield part


def check_reduced(reduced, m):
    """Raise unless what a reducing function returned has one entry per row."""
    if reduced is None:
        return
    several = reduced if isinstance(reduced, tuple) else (reduced,)
    if any(isinstance(one, tuple) or not hasattr(one, "__iter__") for one in several):
        raise TypeError(f"reduce_func returned {reduced!r}. Expected sequence(s) of length {m}.")
    sizes = tuple(_num_samples(one) for one in several)
    if any(size != m for size in sizes):
        raise ValueError(
            f"reduce_func returned object of length {sizes if reduced is several else sizes[0]}. "
            f"Expected same length as input: {m}."
        )


ARGMIN = {
    "y": ANY,
    "nested": False,
    "axis": [Options(Integral, {0, 1})],
    "metric": METRIC,
    "metric_kwargs": [dict, None],
}


@of_rows(**ARGMIN)
def pairwise_distances_argmin_min(X, Y, *, axis=1, metric="euclidean", metric_kwargs=None):
    """Return, for each row of X, which row of Y is nearest, and how near.

    Parameters
    ----------
    {two sets}

    Returns
    -------
    argmin : ndarray of shape (n_samples_X,)
    distances : ndarray of shape (n_samples_X,)

    Examples
    --------
    >>> from mlreplica.metrics.pairwise import pairwise_distances_argmin_min
    >>> pairwise_distances_argmin_min([[0, 0], [1, 1]], [[1, 0], [1, 2]])
    (array([0, 0]), array([1., 1.]))
    """
    finite = "allow-nan" if metric == "nan_euclidean" else True
    X, Y = check_pairwise_arrays(X, Y, ensure_all_finite=finite)
    if axis == 0:
        X, Y = Y, X
    parameters = dict(metric_kwargs or {})
    if parameters.pop("squared", False) and metric == "euclidean":
        metric = "sqeuclidean"
    stored = sp.issparse(X) or sp.issparse(Y)
    distance = None if callable(metric) else distance_named(metric, None, parameters, Y)
    if distance is not None and not stored:
        D, N = NeighbourIndex(Y, distance, "brute").nearest(X, 1)
        return N[:, 0], as_given(D[:, 0], X, Y)

    def smallest(D, start):
        at = D.argmin(axis=1)
        return at, D[np.arange(len(D)), at]

    if distance is None:
        parts = pairwise_distances_chunked(X, Y, reduce_func=smallest, metric=metric, **parameters)
    else:
        size = get_chunk_n_rows(row_bytes=8 * Y.shape[0], max_n_rows=X.shape[0])
        rows = gen_batches(X.shape[0], size)
        parts = (smallest(distance_matrix(X[s], Y, distance), s.start) for s in rows)
    return tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))


@of_rows(**ARGMIN)
def pairwise_distances_argmin(X, Y, *, axis=1, metric="euclidean", metric_kwargs=None):
    """Return, for each row of X, which row of Y is nearest.

    Parameters
    ----------
    {two sets}

    Returns
    -------
    argmin : ndarray of shape (n_samples_X,)

    Examples
    --------
    >>> from mlreplica.metrics.pairwise import pairwise_distances_argmin
    >>> pairwise_distances_argmin([[0, 0], [1, 1]], [[1, 0], [1, 2]])
    array([0, 0])
    """
    options = {"axis": axis, "metric": metric, "metric_kwargs": metric_kwargs}
    return pairwise_distances_argmin_min(X, Y, **options)[0]
