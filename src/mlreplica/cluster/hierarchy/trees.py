"""ward_tree and linkage_tree: joins of all rows, with or without a graph of neighbours"""

from __future__ import annotations

import warnings
from inspect import signature
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics.pairwise import paired_distances

from mlreplica.core.compat import Interval, _fix_connected_components, validate_params
from mlreplica.core.formulas.distances import distance_named
from mlreplica.core.space.matrix import distance_matrix as row_distances

from .chain import by_matrix, in_order, single, ward
from .structured import graph_tree

PARTIAL = (
    "Partial build of the tree is implemented only for structured clustering (i.e. with explicit "
    "connectivity). The algorithm will build the full tree and only retain the lower branches "
    "required for the specified number of clusters"
)
NAMES = {"l2": "euclidean", "l1": "cityblock", "manhattan": "cityblock"}
TINY = np.finfo(float).tiny


def whole_graph(X, connectivity, metric):
    """A symmetric graph in one piece, without its diagonal, and in how many pieces it was."""
    n = X.shape[0]
    if connectivity.shape != (n, n):
        raise ValueError(
            f"Wrong shape for connectivity matrix: {connectivity.shape} when X is {X.shape}"
        )
    graph = sp.lil_array(connectivity + connectivity.T)
    pieces, labels = connected_components(graph)
    if pieces > 1:
        warnings.warn(
            f"the number of connected components of the connectivity matrix is {pieces} > 1. "
            "Completing it to avoid stopping the tree early.",
            stacklevel=4,
        )
        graph = _fix_connected_components(
            X=X, graph=graph, n_connected_components=pieces, component_labels=labels,
            metric=metric, mode="connectivity",
        )  # fmt: skip
    graph = sp.coo_array(graph)
    off = graph.row != graph.col
    return sp.coo_array(
        (graph.data[off].astype(float), (graph.row[off], graph.col[off])), (n, n)
    ), pieces


def node_count(n, n_clusters):
    """Nodes of a tree that stops at `n_clusters`."""
    if n_clusters is None:
        return 2 * n - 1
    if n_clusters > n:
        raise ValueError(
            f"Cannot provide more clusters than samples. {n_clusters} n_clusters was asked, and "
            f"there are {n} samples."
        )
    return 2 * n - n_clusters


def rows_of(X):
    """X with two axes."""
    X = np.asarray(X)
    return X.reshape(-1, 1) if X.ndim == 1 else X


@validate_params(
    {
        "X": ["array-like"],
        "connectivity": ["array-like", "sparse matrix", None],
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "return_distance": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def ward_tree(X, *, connectivity=None, n_clusters=None, return_distance=False):
    """The tree of Ward's linkage.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    connectivity : {array-like, sparse matrix}, default=None
        Which rows are neighbours; None: all.
    n_clusters : int, default=None
        Stop early, if there is a graph.
    return_distance : bool, default=False

    Returns
    -------
    children, n_connected_components, n_leaves, parents, and distances if asked for

    Examples
    --------
    >>> children, *_ = ward_tree([[1.0], [1.5], [5.0], [5.6]])
    >>> children
    array([[0, 1],
           [2, 3],
           [4, 5]])
    """
    X = rows_of(X)
    n = len(X)
    if connectivity is None:
        if n_clusters is not None:
            warnings.warn(PARTIAL, stacklevel=2)
        children, heights = ward(X)
        return (children, 1, n, None, heights) if return_distance else (children, 1, n, None)
    graph, pieces = whole_graph(X, connectivity, "euclidean")
    children, parent, heights = graph_tree(
        graph, np.asarray(X, dtype=np.float64), "ward", node_count(n, n_clusters)
    )
    found = children, pieces, n, parent
    return (*found, np.sqrt(2.0 * heights)) if return_distance else found


def takes_two(affinity: Any) -> bool:
    """Whether a function cannot be called with X alone: it is a distance of two rows."""
    try:
        signature(affinity).bind(None)
    except TypeError:
        return True
    except ValueError:  # it tells nothing
        return False
    return False


def distance_matrix(X: Any, affinity: Any) -> Any:
    """All distances, as a matrix that may be overwritten."""
    if affinity == "precomputed":
        if X.shape[0] != X.shape[1]:
            raise ValueError(f"Distance matrix should be square, got matrix of shape {X.shape}")
        D = np.triu(np.asarray(X, dtype=np.float64), 1)  # the upper half counts, as in SciPy
        return D + D.T
    if callable(affinity):
        if takes_two(affinity):
            return row_distances(X, X, distance_named(affinity))
        D = np.triu(np.asarray(affinity(X), dtype=np.float64), 1)
        return D + D.T
    return squareform(pdist(np.asarray(X, dtype=np.float64), NAMES.get(affinity, affinity)))


def linkage_tree(
    X,
    connectivity=None,
    n_clusters=None,
    linkage="complete",
    affinity="euclidean",
    return_distance=False,
):
    """The tree of complete, average or single linkage.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
    connectivity : {array-like, sparse matrix}, default=None
    n_clusters : int, default=None
    linkage : {"complete", "average", "single"}, default="complete"
    affinity : str or callable, default="euclidean"
        A distance of SciPy, "precomputed", a function of two rows, or one of X that returns the
        matrix.
    return_distance : bool, default=False

    Returns
    -------
    children, n_connected_components, n_leaves, parents, and distances if asked for
    """
    X = rows_of(X)
    n = len(X)
    if linkage not in ("complete", "average", "single"):
        raise ValueError(
            "Unknown linkage option, linkage should be one of complete, average, single, but "
            f"{linkage} was given"
        )
    if isinstance(affinity, str) and affinity == "cosine" and not X.any(axis=1).all():
        raise ValueError("Cosine affinity cannot be used when X contains zero vectors")
    if connectivity is None:
        if n_clusters is not None:
            warnings.warn(PARTIAL, stacklevel=2)
        if linkage == "single" and affinity in ("euclidean", "l2"):
            children, heights = single(X)
        else:
            children, heights = by_matrix(distance_matrix(X, affinity), linkage)
        return (children, 1, n, None, heights) if return_distance else (children, 1, n, None)
    graph, pieces = whole_graph(X, connectivity, affinity)
    if isinstance(affinity, str) and affinity == "precomputed":
        graph.data = X[graph.row, graph.col].astype(np.float64)
    else:
        graph.data = paired_distances(X[graph.row], X[graph.col], metric=affinity)
    nodes = node_count(n, n_clusters)
    if linkage == "single":
        children, parent, heights = spanning_tree(graph, nodes)
    else:
        children, parent, heights = graph_tree(graph, X, linkage, nodes)
    found = children, pieces, n, parent
    return (*found, heights) if return_distance else found


def spanning_tree(graph, nodes):
    """Single linkage along a graph: the edges of its minimum spanning tree, by length."""
    data = np.where(graph.data == 0, TINY, graph.data)  # 0 would be no edge
    tree = minimum_spanning_tree(sp.csr_array((data, (graph.row, graph.col)), graph.shape)).tocoo()
    merges = np.stack([tree.row, tree.col], axis=1).astype(np.int64)
    children, heights = in_order(merges, np.where(tree.data == TINY, 0.0, tree.data))
    n = graph.shape[0]
    parent = np.arange(nodes)
    for k, (a, b) in enumerate(children[: nodes - n]):
        parent[a] = parent[b] = n + k
    return children, parent, heights
