"""Given distances: matrices and sorted sparse graphs in the place of rows"""

import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import EfficiencyWarning
from sklearn.utils import check_array

from mlreplica.core.compat import validate_params


def nearest_of_matrix(D, k, own=None):
    """The k smallest of every row, those of equal size by index."""
    D = np.where(np.isnan(D), np.inf, D)
    if own is not None:
        D[np.arange(len(D)), own] = np.inf
    N = np.argsort(D, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(D, N, axis=1), N


def nearest_of_graph(graph, k, own):
    """The first k entries of every row of a sorted graph, in which a row counts as its own."""
    counts, need = np.diff(graph.indptr), k + (own is not None)
    if counts.min() < need:
        raise ValueError(
            f"{need} neighbors per samples are required, but some samples have only {counts.min()} "
            "neighbors in precomputed graph matrix. Decrease number of neighbors used or recompute "
            "the graph with more neighbors."
        )
    rows = np.repeat(np.arange(graph.shape[0]), counts)
    keep = np.ones(len(rows), dtype=bool) if own is None else graph.indices != own[rows]
    counts = np.bincount(rows[keep], minlength=graph.shape[0])
    at = np.append(0, np.cumsum(counts))[:-1, None] + np.arange(k)
    return graph.data[keep][at], graph.indices[keep][at].astype(np.int64)


def check_precomputed(X):
    """A matrix of distances, none negative; of a sparse one, rows sorted by distance."""
    if not sp.issparse(X):
        return check_array(X, ensure_non_negative=True, input_name="X")
    if X.format not in ("csr", "csc", "coo", "lil"):
        raise TypeError(
            f"Sparse matrix in {X.format!r} format is not supported due to its handling of "
            "explicit zeros"
        )
    copied = X.format != "csr"
    X = check_array(
        X, accept_sparse="csr", ensure_non_negative=True, input_name="precomputed distance matrix"
    )
    return sort_graph_by_row_values(X, copy=not copied, warn_when_not_sorted=True)


@validate_params(
    {"graph": ["sparse matrix"], "copy": ["boolean"], "warn_when_not_sorted": ["boolean"]},
    prefer_skip_nested_validation=True,
)
def sort_graph_by_row_values(graph, copy=False, warn_when_not_sorted=True):
    """Sort the entries of each row of a sparse graph by value.

    Parameters
    ----------
    graph : sparse matrix of shape (n_samples, n_samples)
        Distances, of which only stored entries count.
    copy : bool, default=False
        Sort a copy; needed unless the graph is in CSR format.
    warn_when_not_sorted : bool, default=True
        Warn if the graph was not sorted.

    Returns
    -------
    graph : sparse matrix of shape (n_samples, n_samples)
        In CSR format.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from mlreplica.neighbors import sort_graph_by_row_values
    >>> X = csr_array([[0.0, 3.0, 1.0], [3.0, 0.0, 2.0]])
    >>> sort_graph_by_row_values(X, warn_when_not_sorted=False).data
    array([1., 3., 2., 3.])
    """
    rows = (
        np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr)) if graph.format == "csr" else []
    )
    if graph.format == "csr" and not ((np.diff(graph.data) < 0) & (np.diff(rows) == 0)).any():
        return graph
    if warn_when_not_sorted:
        warnings.warn(
            "Precomputed sparse input was not sorted by row values. Use the function "
            "mlreplica.neighbors.sort_graph_by_row_values to sort the input by row values, with "
            "warn_when_not_sorted=False to remove this warning.",
            EfficiencyWarning,
            stacklevel=2,
        )
    if graph.format not in ("csr", "csc", "coo", "lil"):
        raise TypeError(
            f"Sparse matrix in {graph.format!r} format is not supported due to its handling of "
            "explicit zeros"
        )
    if graph.format != "csr":
        if not copy:
            raise ValueError(
                "The input graph is not in CSR format. Use copy=True to allow the conversion to "
                "CSR format."
            )
        graph = graph.asformat("csr")
    elif copy:
        graph = graph.copy()
    order = np.lexsort((graph.data, np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))))
    graph.data[:], graph.indices[:] = graph.data[order], graph.indices[order]
    return graph
