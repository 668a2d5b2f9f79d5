"""HDBSCAN: DBSCAN for every ε at once, and the clusters that last longest

`reachability.py` has the spanning tree, (1)–(3); `condensed.py` the choice of clusters, (4)–(7);
`new_rows.py` the clusters that new rows join, (8)–(9).

References
----------
Campello, Moulavi, Sander: Density-based clustering based on hierarchical density estimates. PAKDD
(2013), 160–172.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from mlreplica.cluster.hierarchy.chain import in_order
from mlreplica.core.compat import _VALID_METRICS, Interval, StrOptions, _fit_context
from mlreplica.core.formulas.distances import NORMS, distance_named
from mlreplica.core.formulas.row_distances import ROW_FUNCTIONS
from mlreplica.core.space import NeighbourIndex
from mlreplica.core.validation import validate_data

from .condensed import CondensedTree, choose_clusters, condense, labels_at, sizes_of
from .dbscan import DBSCAN
from .new_rows import join_rows, nearest_reachable
from .reachability import matrix_tree, spanning_tree, stored_tree

INFINITE, MISSING = -2, -3  # labels of rows that hold such numbers


class HDBSCAN(ClusterMixin, BaseEstimator):
    """Clusters of any shape and density: those branches of a tree of densities that last, (1)–(7).

    Parameters
    ----------
    min_cluster_size : int, default=5
        s, the least number of rows that is a cluster. The parameter that matters.
    min_samples : int, default=None
        m of the core distance, the row itself included; None means `min_cluster_size`.
    cluster_selection_epsilon : float, default=0.0
        Clusters that are born at a smaller distance than this are not told apart.
    max_cluster_size : int, default=None
        Clusters of more rows are divided.
    metric : str or callable, default="euclidean"
        A distance, a function of two rows, or "precomputed": X holds distances.
    metric_params : dict, default=None
        Further arguments of the metric; for sparse distances, `max_distance` stands for those that
        are missing.
    alpha : float, default=1.0
        α of (1).
    algorithm : {"auto", "brute", "kd_tree", "ball_tree"}, default="auto"
        How near rows are found.
    leaf_size : int, default=40
        About so many rows in a leaf of a tree.
    n_jobs : int, default=None
        Threads; None for all.
    cluster_selection_method : {"eom", "leaf"}, default="eom"
        Choose by the excess of mass (6), or the clusters that have no clusters in them.
    allow_single_cluster : bool, default=False
        Whether all rows may be one cluster.
    store_centers : {"centroid", "medoid", "both"}, default=None
        Which centres of the clusters to publish.
    copy : bool, default=True
        Accepted for scikit-learn's sake; X is never changed.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each row; −1 for noise, −2 for rows with infinite numbers, −3 for rows with
        missing ones.
    probabilities_ : ndarray of shape (n_samples,)
        How firmly a row belongs to its cluster, from 0 to 1.
    outlier_scores_ : ndarray of shape (n_samples,)
        (7), from 0 (inside) to 1 (far outside).
    cluster_persistence_ : ndarray of shape (n_clusters,)
        The stability (5) of each cluster.
    single_linkage_tree_ : ndarray of shape (n_samples - 1, 4)
        The tree of joins as SciPy writes it: two nodes, distance, rows.
    condensed_tree_ : ndarray of shape (n_lines, 4)
        Parent, child, λ and rows of the child; children below n_samples are rows.
    centroids_, medoids_ : ndarray of shape (n_clusters, n_features)
        Where `store_centers` asks for them.

    Notes
    -----
    Equal distances are the rule, not the exception: every pair of rows within the core distance of
    a sparse row is joined at that same distance. As in the paper (algorithm 1, step 4), all joins
    at one distance are undone at the same time, so labels do not depend on the order of the rows.
    Implementations that undo them one by one, in an arbitrary order, can create short-lived
    clusters that end others, and may return another number of clusters when rows are permuted.
    Without equal distances all implementations agree.

    References
    ----------
    Campello, Moulavi, Sander: Density-based clustering based on hierarchical density estimates.
    PAKDD (2013).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) / 9 + 5, [[99, 9]]])
    >>> model = HDBSCAN(min_cluster_size=10).fit(X)
    >>> model.labels_.max(), int(model.labels_[-1])
    (np.int64(1), -1)
    """

    card = DBSCAN.card.but(
        page="hdbscan",
        checks="density_tree",
        use="clusters of different densities, noise, and how sure both are",
        good="no ε; probabilities, outlier scores and a tree of clusters",
        bad="more work than DBSCAN; blind in many dimensions",
        time="O(n log² n) in few dimensions, O(n² p) in many",
        rescaling="needed: distances depend on the units of the columns",
        memory="O(n (p + m))",
        missing="set apart, with the label −3",
        instead="DBSCAN where the density is known, GaussianMixture for overlapping groups",
    )

    _parameter_constraints = {
        "min_cluster_size": [Interval(Integral, 2, None, closed="left")],
        "min_samples": [Interval(Integral, 1, None, closed="left"), None],
        "cluster_selection_epsilon": [Interval(Real, 0, None, closed="left")],
        "max_cluster_size": [None, Interval(Integral, 1, None, closed="left")],
        "metric": [
            StrOptions(set(NORMS) | set(ROW_FUNCTIONS) | set(_VALID_METRICS) | {"precomputed"}),
            callable,
        ],
        "metric_params": [dict, None],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "algorithm": [StrOptions({"auto", "brute", "kd_tree", "ball_tree"})],
        "leaf_size": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "cluster_selection_method": [StrOptions({"eom", "leaf"})],
        "allow_single_cluster": ["boolean"],
        "store_centers": [None, StrOptions({"centroid", "medoid", "both"})],
        "copy": ["boolean"],
    }

    def __init__(
        self,
        min_cluster_size=5,
        min_samples=None,
        cluster_selection_epsilon=0.0,
        max_cluster_size=None,
        metric: Any = "euclidean",
        metric_params=None,
        alpha=1.0,
        algorithm="auto",
        leaf_size=40,
        n_jobs=None,
        cluster_selection_method="eom",
        allow_single_cluster=False,
        store_centers=None,
        copy=True,
    ):
        self.min_cluster_size = min_cluster_size
        self.min_samples = min_samples
        self.cluster_selection_epsilon = cluster_selection_epsilon
        self.max_cluster_size = max_cluster_size
        self.metric = metric
        self.metric_params = metric_params
        self.alpha = alpha
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.n_jobs = n_jobs
        self.cluster_selection_method = cluster_selection_method
        self.allow_single_cluster = allow_single_cluster
        self.store_centers = store_centers
        self.copy = copy

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None):
        """Grow the tree of densities, and choose clusters in it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            Rows, or distances if metric="precomputed". Rows may hold NaN and infinite numbers: they
            are labelled, and otherwise left out.
        y : Ignored

        Returns
        -------
        self : HDBSCAN
        """
        if self.metric == "precomputed" and self.store_centers is not None:
            raise ValueError("Cannot store centers when using a precomputed distance matrix.")
        X, odd = self._rows(X)
        rows = np.flatnonzero(odd == 0)
        finite = X[rows] if len(rows) < len(odd) else X
        n, m = len(rows), self.min_cluster_size if self.min_samples is None else self.min_samples
        if n == 1:
            raise ValueError("n_samples=1 while HDBSCAN requires more than one sample")
        if m > n:
            raise ValueError(f"min_samples ({m}) must be at most the number of samples in X ({n})")
        edges, lengths, self._core_distances = self._tree(finite, m)
        children, heights = in_order(np.ascontiguousarray(edges), lengths)
        tree = condense(children, heights, self.min_cluster_size)
        found = choose_clusters(
            tree,
            n,
            self.cluster_selection_method,
            self.allow_single_cluster,
            self.cluster_selection_epsilon,
            self.max_cluster_size,
        )
        self.cluster_persistence_, self.condensed_tree_ = found.stability, tree.matrix()
        self.labels_, self.probabilities_ = odd.copy(), np.where(odd == MISSING, np.nan, 0.0)
        self.outlier_scores_ = np.where(odd == MISSING, np.nan, 1.0)
        self.labels_[rows], self.probabilities_[rows] = found.labels, found.probabilities
        self._fit_X = None if self.metric == "precomputed" else finite
        self._label_of = found.label_of
        self.outlier_scores_[rows] = found.outlier_scores
        self._keep_tree(children, heights, rows, np.flatnonzero(odd))
        if self.store_centers:
            self._keep_centers(finite, found)
        return self

    def _rows(self, X, *, reset=True):
        """X, and for each row 0 or the label that says what is odd in it."""
        precomputed, sparse = self.metric == "precomputed", sp.issparse(X)
        X = validate_data(
            self,
            X,
            accept_sparse=["csr", "lil"],
            ensure_all_finite=precomputed and sparse,
            dtype=np.float64,
            reset=reset,
        )
        odd = np.zeros(X.shape[0], np.int64)
        if precomputed:
            if not sparse and np.isnan(X).any():
                raise ValueError("np.nan values found in precomputed-dense")
            return X, odd
        with np.errstate(invalid="ignore"):
            sums = np.asarray(X.sum(axis=1)).ravel()
        if not np.isfinite(sums).all():
            X = X.tocsr() if sparse else X
            for i in np.flatnonzero(~np.isfinite(sums)):
                row = X[[i]].data if sparse else X[i]
                if np.isnan(row).any():
                    odd[i] = MISSING
                elif np.isinf(row).any():
                    odd[i] = INFINITE
        return X, odd

    def _tree(self, X, m):
        """Edges, lengths and core distances of the spanning tree."""
        kind = {"kd_tree": "KDTree", "ball_tree": "BallTree"}.get(self.algorithm)
        if kind is not None:
            from mlreplica.neighbors import VALID_METRICS

            if self.metric not in VALID_METRICS[self.algorithm]:
                raise ValueError(
                    f"{self.metric} is not a valid metric for a {kind}-based algorithm. Please "
                    "select a different metric."
                )
        parameters = dict(self.metric_params or {})
        if self.metric == "precomputed":
            return self._tree_of_distances(X, m, parameters)
        if sp.issparse(X) and self.algorithm in ("kd_tree", "ball_tree"):
            raise ValueError("Sparse data matrices only support algorithm `brute`.")
        named = self.metric in NORMS or self.metric in ROW_FUNCTIONS
        if named and not sp.issparse(X) and self.algorithm != "brute":
            distance = distance_named(self.metric, parameters.pop("p", None), parameters, X)
            index = NeighbourIndex(
                X, distance, self.algorithm, leaf_size=self.leaf_size, n_jobs=self.n_jobs
            )
            if index.distance.triangle and (index.algorithm != "brute" or distance.euclidean):
                return spanning_tree(index, m, self.alpha, self.n_jobs)
        return matrix_tree(self._distances(X), m, self.alpha)

    def _search(self):
        """Neighbours by this model's metric."""
        from mlreplica.neighbors import NearestNeighbors

        return NearestNeighbors(
            algorithm=self.algorithm,
            leaf_size=self.leaf_size,
            metric=self.metric,
            metric_params=self.metric_params,
            p=None,
            n_jobs=self.n_jobs,
        )

    def _distances(self, X):
        """All distances between rows."""
        from mlreplica.metrics import pairwise_distances

        return pairwise_distances(X, metric=self.metric, **(self.metric_params or {}))

    def _tree_of_distances(self, X, m, parameters):
        """The same where distances are given."""
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                "The precomputed distance matrix is expected to be symmetric, however it has shape "
                f"{X.shape}. Please verify that the distance matrix was constructed correctly."
            )
        if sp.issparse(X):
            apart = abs(sp.csr_array(X) - sp.csr_array(X).T).max() > 1e-8 * (1 + abs(X).max())
        else:
            apart = not np.allclose(X, X.T)
        if apart:
            raise ValueError(
                "The precomputed distance matrix is expected to be symmetric, however its values "
                "appear to be asymmetric. Please verify that the distance matrix was constructed "
                "correctly."
            )
        if sp.issparse(X):
            return stored_tree(X, m, self.alpha, parameters.get("max_distance", 0.0))
        return matrix_tree(X, m, self.alpha)

    def _keep_tree(self, children, heights, rows, odd):
        """Publish the tree of joins; rows that are not finite are joined last, at infinity."""
        n, more = len(rows), len(odd)
        size = np.empty(n - 1, np.int64)
        sizes_of(children, size)
        if more:
            name = np.concatenate([rows, np.arange(n - 1) + n + more])
            late = np.arange(more)
            above = np.column_stack([odd, 2 * n - 2 + more + late])
            children = np.concatenate([name[children], above])
            heights = np.concatenate([heights, np.full(more, np.inf)])
            size = np.concatenate([size, n + 1 + late])
        self.single_linkage_tree_ = np.column_stack([children, heights, size]).astype(float)

    def _keep_centers(self, X, found):
        """Publish centres of the clusters, weighted by the probabilities of their rows."""
        labels, K = found.labels, len(found.stability)
        members = [np.flatnonzero(labels == c) for c in range(K)]
        if self.store_centers in ("centroid", "both"):
            means = [np.average(X[i], weights=found.probabilities[i], axis=0) for i in members]
            self.centroids_ = np.array(means).reshape(K, X.shape[1])
        if self.store_centers in ("medoid", "both"):
            inner = [(self._distances(X[i]) @ found.probabilities[i]).argmin() for i in members]
            self.medoids_ = np.array(
                [X[i[k]] for i, k in zip(members, inner, strict=True)]
            ).reshape(K, X.shape[1])  # fmt: skip

    def fit_predict(self, X, y=None):
        """Fit, and return the label of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
        y : Ignored

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return self.fit(X).labels_

    def predict(self, X):
        """The clusters that new rows would join; no cluster changes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            As in `labels_`.
        """
        return self.approximate_predict(X)[0]

    def approximate_predict(self, X):
        """The clusters that new rows would join, and how firmly; no cluster changes.

        Approximate: to cluster all rows again, new ones among them, may find other clusters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            As in `labels_`.
        probabilities : ndarray of shape (n_samples,)
            As in `probabilities_`.
        """
        check_is_fitted(self)
        if self._fit_X is None:
            raise ValueError("predict needs rows; metric='precomputed' has distances only.")
        X, odd = self._rows(X, reset=False)
        rows, m = np.flatnonzero(odd == 0), self.min_samples or self.min_cluster_size
        labels, probabilities = odd, np.where(odd == MISSING, np.nan, 0.0)
        if len(rows):
            near = nearest_reachable(
                self._search().fit(self._fit_X), X[rows], self._core_distances, m, self.alpha
            )
            parent, child, level, size = self.condensed_tree_.T
            tree = CondensedTree(parent.astype(np.int64), child.astype(np.int64), level, size)
            eps = self.cluster_selection_epsilon
            labels[rows], probabilities[rows] = join_rows(tree, self._label_of, eps, *near)
        return labels, probabilities

    def dbscan_clustering(self, cut_distance, min_cluster_size=5):
        """The clusters of DBSCAN without border rows, at one ε, from the tree that is there.

        Parameters
        ----------
        cut_distance : float
            ε.
        min_cluster_size : int, default=5
            Smaller groups are noise.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        tree = self.single_linkage_tree_
        labels = labels_at(tree[:, :2].astype(np.int64), tree[:, 2], cut_distance, min_cluster_size)
        return np.where(self.labels_ < -1, self.labels_, labels)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.allow_nan = self.metric != "precomputed"
        return tags
