r"""DBSCAN: clusters are dense regions, of any shape, and what lies in none of them is noise

With a radius ε, a number m and weights w (1 unless given), a row x has the neighbourhood

    N(x) = { y : d(x, y) ≤ ε },     x ∈ N(x)                                                 (1)

and is a **core** row if there is enough in it,

    Σ_{y ∈ N(x)} w_y  ≥  m                                                                   (2)

A cluster holds a core row x, all that is near it, all that is near the core rows among those, …:

    x → y   if x is core and y ∈ N(x);      a cluster = all that → reaches from a core row    (3)

Two core rows that are at most ε apart reach each other, so the core rows of the clusters are the
components of a graph, whatever row one begins with. A row that is not core and near a core row lies
on the **border** of its cluster; if it is near several, it belongs to the one that has the first
core row. A row that is near no core row is **noise**, with the label −1.                     (4)

References
----------
Ester, Kriegel, Sander, Xu: A density-based algorithm for discovering clusters in large spatial
databases with noise. KDD (1996), 226–231.
Schubert, Sander, Ester, Kriegel, Xu: DBSCAN revisited, revisited. ACM TODS 42 (2017), 19.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.compat import (
    _VALID_METRICS,
    Interval,
    StrOptions,
    _check_sample_weight,
    _fit_context,
)
from mlreplica.core.compile.jit import kernel
from mlreplica.core.formulas.distances import NORMS, TREE_NORMS, distance_named
from mlreplica.core.formulas.row_distances import ROW_FUNCTIONS
from mlreplica.core.space import NeighbourIndex
from mlreplica.core.validation import new_rows, validate_data

from .regions import NOISE, dense_regions


@kernel
def spread(start, near, core, stack, labels):
    """Label clusters by (3), one after the other, from lists of neighbours."""
    label = -1
    for seed in range(len(core)):
        if labels[seed] >= 0 or not core[seed]:
            continue
        label += 1
        stack[0], top, labels[seed] = seed, 1, label
        while top > 0:
            top -= 1
            i = stack[top]
            if not core[i]:
                continue
            for t in range(start[i], start[i + 1]):
                j = near[t]
                if labels[j] < 0:
                    labels[j] = label
                    stack[top] = j
                    top += 1


def listed_regions(neighbours, w, min_samples):
    """Labels and core rows from an array of neighbours for each row."""
    size = np.array([len(rows) for rows in neighbours], dtype=np.int64)
    start = np.concatenate([[0], np.cumsum(size)])
    near = np.concatenate([*neighbours, np.empty(0, np.int64)]).astype(np.int64)
    total = size
    if w is not None:
        total = np.bincount(np.repeat(np.arange(len(size)), size), w[near], minlength=len(size))
    core, labels = total >= min_samples, np.full(len(size), NOISE)
    spread(start, near, core, np.empty(len(size), np.int64), labels)
    return labels, core


class DBSCAN(ClusterMixin, BaseEstimator):
    """Clusters as dense regions of any shape, and noise between them: (1)–(4).

    Parameters
    ----------
    eps : float, default=0.5
        ε, the radius of a neighbourhood. The parameter that matters: it has the unit of distances.
    min_samples : int, default=5
        m, how many rows (or how much weight) make a row core, itself included.
    metric : str or callable, default="euclidean"
        A distance, a function of two rows, or "precomputed": X holds distances.
    metric_params : dict, default=None
        Further arguments of the metric.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        How neighbours are found; all find the same.
    leaf_size : int, default=30
        About so many rows in a leaf of a tree.
    p : float, default=None
        The power of the metric "minkowski"; 2 if None.
    n_jobs : int, default=None
        Threads; None for all.

    Attributes
    ----------
    core_sample_indices_ : ndarray of shape (n_core_samples,)
    components_ : ndarray of shape (n_core_samples, n_features)
        The core rows.
    labels_ : ndarray of shape (n_samples,)
        The cluster of each row, −1 for noise.

    See Also
    --------
    HDBSCAN : Clusters of different densities, without ε.

    References
    ----------
    Ester, Kriegel, Sander, Xu: A density-based algorithm for discovering clusters in large spatial
    databases with noise. KDD (1996), 226–231.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1, 2], [2, 2], [2, 3], [8, 7], [8, 8], [25, 80]])
    >>> model = DBSCAN(eps=3, min_samples=2).fit(X)
    >>> model.labels_
    array([ 0,  0,  0,  1,  1, -1])
    >>> model.predict([[1, 1], [50, 50]])
    array([ 0, -1])
    """

    card = Card(
        page="dbscan",
        checks="core_rows",
        input="rows",
        use="clusters of any shape, and rows that belong to none",
        good="finds the number of clusters; says what is noise; deterministic",
        bad="one density for all clusters; ε must be chosen; blind in many dimensions",
        time="O(n log n) in few dimensions, O(n² p) in many",
        memory="O(n p)",
        rescaling="needed: ε is a distance",
        instead="HDBSCAN where densities differ, KMeans for round groups",
    )

    _parameter_constraints = {
        "eps": [Interval(Real, 0.0, None, closed="neither")],
        "min_samples": [Interval(Integral, 1, None, closed="left")],
        "metric": [StrOptions(set(_VALID_METRICS) | {"precomputed"}), callable],
        "metric_params": [dict, None],
        "algorithm": [StrOptions({"auto", "ball_tree", "kd_tree", "brute"})],
        "leaf_size": [Interval(Integral, 1, None, closed="left")],
        "p": [Interval(Real, 0.0, None, closed="left"), None],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        eps=0.5,
        *,
        min_samples=5,
        metric: Any = "euclidean",
        metric_params=None,
        algorithm="auto",
        leaf_size=30,
        p=None,
        n_jobs=None,
    ):
        self.eps = eps
        self.min_samples = min_samples
        self.metric = metric
        self.metric_params = metric_params
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, sample_weight=None):
        """Find the core rows, their components, and the border.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            Rows, or distances if metric="precomputed".
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of 2 is a row twice; a negative one keeps its neighbours from being core. A row
            of weight 0 counts for nothing, yet may be core if enough lies near it.

        Returns
        -------
        self : DBSCAN
        """
        X = validate_data(self, X, accept_sparse="csr")
        w = None if sample_weight is None else _check_sample_weight(sample_weight, X)
        if self._by_leaves(X):
            if self.p is not None and "p" in (self.metric_params or {}):
                warnings.warn(
                    "Parameter p is found in metric_params. The corresponding parameter from "
                    "__init__ is ignored.",
                    SyntaxWarning,
                    stacklevel=2,
                )
            distance = distance_named(self.metric, self.p, self.metric_params, X)
            index = NeighbourIndex(
                X, distance, self.algorithm, leaf_size=self.leaf_size, n_jobs=self.n_jobs
            )
            labels, core = dense_regions(index, self.eps, w, self.min_samples, self.n_jobs)
        else:
            labels, core = listed_regions(self._lists(X), w, self.min_samples)
        self.labels_, self.core_sample_indices_ = labels, np.flatnonzero(core)
        self.components_ = X[self.core_sample_indices_].copy()
        if not len(self.core_sample_indices_):
            self.components_ = np.empty((0, X.shape[1]))
        return self

    def _by_leaves(self, X):
        """Whether the rows can stand in a tree that kernels walk."""
        if sp.issparse(X) or not isinstance(self.metric, str):
            return False
        if self.algorithm in ("kd_tree", "ball_tree"):
            return self.metric in TREE_NORMS
        return self.metric in NORMS or self.metric in ROW_FUNCTIONS

    def _search(self, **options):
        """Neighbours by this model's metric."""
        from mlreplica.neighbors import NearestNeighbors

        return NearestNeighbors(
            algorithm=self.algorithm,
            leaf_size=self.leaf_size,
            metric=self.metric,
            metric_params=self.metric_params,
            p=self.p,
            n_jobs=self.n_jobs,
            **options,
        )

    def _lists(self, X):
        """The neighbourhoods (1) of all rows."""
        if self.metric == "precomputed" and sp.issparse(X):
            from mlreplica.neighbors import sort_graph_by_row_values

            here = sp.csr_array(X)
            row = np.repeat(np.arange(X.shape[0]), np.diff(here.indptr))
            off = row != here.indices  # a row is its own neighbour, stored or not
            row, column = row[off], here.indices[off]
            own, value = np.arange(X.shape[0]), here.data[off]
            row, column = np.concatenate([row, own]), np.concatenate([column, own])
            value = np.concatenate([value, X.diagonal()])
            graph = sp.csr_array((value, (row, column)), X.shape)
            X = sort_graph_by_row_values(graph, warn_when_not_sorted=False)
        search = self._search(radius=self.eps).fit(X)
        return search.radius_neighbors(X, return_distance=False)

    def fit_predict(self, X, y=None, sample_weight=None):
        """Fit, and return the label of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return self.fit(X, sample_weight=sample_weight).labels_

    def predict(self, X):
        """The cluster of the nearest core row if it is within ε, else −1.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        X = new_rows(self, X, accept_sparse="csr")
        check_is_fitted(self)
        if self.metric == "precomputed":
            raise ValueError("predict needs rows; metric='precomputed' has distances only.")
        labels = np.full(X.shape[0], NOISE)
        if len(self.core_sample_indices_):
            search = self._search(n_neighbors=1).fit(self.components_)
            d, nearest = (found[:, 0] for found in search.kneighbors(X))
            near, doubt = d <= self.eps, np.flatnonzero(np.abs(d - self.eps) <= 1e-9 * self.eps)
            if len(doubt):  # fit compares reduced distances, as searches within a radius do
                found = search.radius_neighbors(X[doubt], self.eps, return_distance=False)
                near[doubt] = [len(rows) > 0 for rows in found]
            labels[near] = self.labels_[self.core_sample_indices_[nearest[near]]]
        return labels

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.sparse = True
        return tags


def dbscan(
    X,
    eps=0.5,
    *,
    min_samples=5,
    metric="minkowski",
    metric_params=None,
    algorithm="auto",
    leaf_size=30,
    p=2,
    sample_weight=None,
    n_jobs=None,
):
    """Core rows and labels by `DBSCAN`.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
    eps, min_samples, metric, metric_params, algorithm, leaf_size, p, n_jobs
        As in `DBSCAN`.
    sample_weight : array-like of shape (n_samples,), default=None

    Returns
    -------
    core_samples : ndarray of shape (n_core_samples,)
        Their indices.
    labels : ndarray of shape (n_samples,)
        −1 for noise.

    Examples
    --------
    >>> dbscan([[1, 2], [2, 2], [2, 3], [8, 7], [8, 8], [25, 80]], eps=3, min_samples=2)
    (array([0, 1, 2, 3, 4]), array([ 0,  0,  0,  1,  1, -1]))
    """
    model = DBSCAN(
        eps=eps,
        min_samples=min_samples,
        metric=metric,
        metric_params=metric_params,
        algorithm=algorithm,
        leaf_size=leaf_size,
        p=p,
        n_jobs=n_jobs,
    ).fit(X, sample_weight=sample_weight)
    return model.core_sample_indices_, model.labels_
