"""AgglomerativeClustering and FeatureAgglomeration: the estimators over `trees.py`"""

from __future__ import annotations

from heapq import heappush, heappushpop
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, check_memory

from mlreplica.cluster.kmeans.centres import in_range
from mlreplica.core.card import Card
from mlreplica.core.compat import (
    _VALID_METRICS,
    HasMethods,
    Interval,
    StrOptions,
    _fit_context,
)
from mlreplica.core.compile.jit import kernel
from mlreplica.core.validation import validate_data

from .trees import linkage_tree, ward_tree

LENGTHS = "euclidean", "l2", "l1", "manhattan", "cityblock"  # they grow as the rows do


@kernel
def hand_down(children, labels):
    """Give every node the label of the node above it, where that has one."""
    n = len(children) + 1
    for k in range(n - 2, -1, -1):
        if labels[n + k] >= 0:
            labels[children[k, 0]] = labels[children[k, 1]] = labels[n + k]


def cut(children, n, n_clusters):
    """Labels of rows when the last joins are undone until there are `n_clusters`."""
    if n_clusters > n:
        raise ValueError(
            f"Cannot extract more clusters than samples: {n_clusters} clusters were given for a "
            f"tree with {n} leaves."
        )
    nodes = [-(int(children[-1].max()) + 1)]
    for _ in range(n_clusters - 1):
        below = children[-nodes[0] - n]
        heappush(nodes, -int(below[0]))
        heappushpop(nodes, -int(below[1]))
    labels = np.full(2 * n - 1, -1)
    labels[-np.array(nodes)] = np.arange(n_clusters)
    hand_down(np.ascontiguousarray(children), labels)
    return labels[:n]


class AgglomerativeClustering(ClusterMixin, BaseEstimator):
    """A tree of clusters, made by joining the two nearest, (1), until few are left.

    Parameters
    ----------
    n_clusters : int or None, default=2
        How many clusters to return; None if `distance_threshold` says.
    metric : str or callable, default="euclidean"
        A distance of scikit-learn, "precomputed", a function of two rows, or one of X that returns
        the matrix of their distances.
    memory : str or object with the joblib.Memory interface, default=None
        Where to keep the tree between fits.
    connectivity : array-like, sparse matrix, or callable, default=None
        Which rows are neighbours: only they may be joined.
    compute_full_tree : "auto" or bool, default="auto"
        Whether to go on to a single cluster where a graph would allow to stop.
    linkage : {"ward", "complete", "average", "single"}, default="ward"
    distance_threshold : float, default=None
        Joins at or above this distance are undone.
    compute_distances : bool, default=False
        Whether to publish `distances_` when nothing else asks for them.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    n_clusters_ : int
    n_leaves_ : int
    n_connected_components_ : int
    children_ : array of shape (n_samples - 1, 2)
        The two nodes of each join; join k makes node n_samples + k.
    distances_ : array of shape (n_samples - 1,)
        The height of each join.

    References
    ----------
    Müllner: Modern hierarchical, agglomerative clustering algorithms. arXiv:1109.2378 (2011).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [4, 2], [4, 4], [4, 0]])
    >>> AgglomerativeClustering().fit(X).labels_
    array([1, 1, 1, 0, 0, 0])
    """

    card = Card(
        page="hierarchical-clustering",
        checks="tree_of_joins",
        input="rows",
        use="nested groups, and a picture of how rows hang together",
        good="no k needed beforehand; any distance; deterministic",
        bad="a join is never undone; n² distances",
        time="O(n² p)",
        memory="O(n p) for ward and single; O(n²) for complete and average",
        rescaling="needed: distances depend on the units of the columns",
        instead="KMeans for many rows, HDBSCAN for noise",
    )

    _parameter_constraints = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "metric": [StrOptions(set(_VALID_METRICS) | {"precomputed"}), callable],
        "memory": [str, HasMethods("cache"), None],
        "connectivity": ["array-like", "sparse matrix", callable, None],
        "compute_full_tree": [StrOptions({"auto"}), "boolean"],
        "linkage": [StrOptions({"ward", "complete", "average", "single"})],
        "distance_threshold": [Interval(Real, 0, None, closed="left"), None],
        "compute_distances": ["boolean"],
    }

    def __init__(
        self,
        n_clusters: int | None = 2,
        *,
        metric: Any = "euclidean",
        memory=None,
        connectivity=None,
        compute_full_tree: bool | str = "auto",
        linkage="ward",
        distance_threshold=None,
        compute_distances=False,
    ):
        self.n_clusters = n_clusters
        self.metric = metric
        self.memory = memory
        self.connectivity = connectivity
        self.compute_full_tree = compute_full_tree
        self.linkage = linkage
        self.distance_threshold = distance_threshold
        self.compute_distances = compute_distances

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Join all rows, and cut the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
        y : Ignored

        Returns
        -------
        self : AgglomerativeClustering
        """
        return self._join(validate_data(self, X, ensure_min_samples=2))

    def _join(self, X):
        if not (self.n_clusters is None) ^ (self.distance_threshold is None):
            raise ValueError(
                "Exactly one of n_clusters and distance_threshold has to be set, and the other "
                "needs to be None."
            )
        if self.distance_threshold is not None and not self.compute_full_tree:
            raise ValueError("compute_full_tree must be True if distance_threshold is set.")
        if self.linkage == "ward" and self.metric not in ("euclidean", "l2"):
            raise ValueError(
                f"{self.metric} was provided as metric. Ward can only work with euclidean "
                "distances (i.e. 'euclidean' and 'l2')."
            )
        connectivity = self.connectivity
        if connectivity is not None:
            connectivity = connectivity(X) if callable(connectivity) else connectivity
            connectivity = check_array(connectivity, accept_sparse=["csr", "coo", "lil"])
        n, whole = len(X), self.compute_full_tree
        if connectivity is None:
            whole = True
        elif whole == "auto":
            many = max(100, 0.02 * n)
            whole = self.distance_threshold is not None or self.n_clusters < many
        build, options = ward_tree, {}
        if self.linkage != "ward":
            build, options = linkage_tree, {"linkage": self.linkage, "affinity": self.metric}
        scale = in_range(X) if self.linkage == "ward" or self.metric in LENGTHS else 1.0
        heights = self.distance_threshold is not None or self.compute_distances
        found = check_memory(self.memory).cache(build)(
            X if scale == 1.0 else X * scale,
            connectivity=connectivity,
            n_clusters=None if whole else self.n_clusters,
            return_distance=heights,
            **options,
        )
        self.children_, self.n_connected_components_, self.n_leaves_, parent = found[:4]
        if heights:
            self.distances_ = found[4] / scale
        self.n_clusters_ = self.n_clusters
        if self.distance_threshold is not None:
            self.n_clusters_ = np.count_nonzero(self.distances_ >= self.distance_threshold) + 1
        if whole:
            self.labels_ = cut(self.children_, self.n_leaves_, self.n_clusters_)
        else:
            for node in range(len(parent) - 1, -1, -1):  # parents come after their children
                parent[node] = parent[parent[node]]
            self.labels_ = np.unique(parent[:n], return_inverse=True)[1]
        return self

    def fit_predict(self, X, y=None):
        """Fit, and return the label of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
        y : Ignored

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return super().fit_predict(X, y)


class FeatureAgglomeration(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, AgglomerativeClustering
):
    """Columns joined into groups by `AgglomerativeClustering`, and pooled.

    Parameters
    ----------
    n_clusters, metric, memory, connectivity, compute_full_tree, linkage, distance_threshold, \
compute_distances
        As in `AgglomerativeClustering`, for columns.
    pooling_func : callable, default=np.mean
        Combines the columns of a group; takes an array and `axis`.

    Attributes
    ----------
    labels_ : ndarray of shape (n_features,)
        The group of each column.
    n_clusters_, n_leaves_, n_connected_components_, children_, distances_
        As in `AgglomerativeClustering`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.1, 5.0], [1.0, 1.1, 6.0]])
    >>> FeatureAgglomeration(n_clusters=2).fit_transform(X).shape
    (2, 2)
    """

    card = AgglomerativeClustering.card.but(
        task="transformation",
        checks="tree_of_joins",
        use="many columns that say the same, such as neighbouring pixels",
        good="fewer columns, each a mean of old ones",
        bad="blurs what differs within a group",
        time="O(p² n)",
        memory="O(n p)",
        instead="PCA",
    )

    _parameter_constraints = {
        **AgglomerativeClustering._parameter_constraints,
        "pooling_func": [callable],
    }

    def __init__(
        self,
        n_clusters: int | None = 2,
        *,
        metric: Any = "euclidean",
        memory=None,
        connectivity=None,
        compute_full_tree: bool | str = "auto",
        linkage="ward",
        pooling_func: Any = np.mean,
        distance_threshold=None,
        compute_distances=False,
    ):
        super().__init__(
            n_clusters,
            metric=metric,
            memory=memory,
            connectivity=connectivity,
            compute_full_tree=compute_full_tree,
            linkage=linkage,
            distance_threshold=distance_threshold,
            compute_distances=compute_distances,
        )
        self.pooling_func = pooling_func

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Join columns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : Ignored

        Returns
        -------
        self : FeatureAgglomeration
        """
        self._join(validate_data(self, X, ensure_min_features=2).T)
        self._n_features_out = self.n_clusters_
        return self

    @property
    def fit_predict(self):
        """Not there: labels are of columns."""
        raise AttributeError("FeatureAgglomeration has no fit_predict; see labels_.")

    def transform(self, X):
        """Pool the columns of each group.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        Y : ndarray of shape (n_samples, n_clusters)
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        groups = range(len(np.unique(self.labels_)))
        if self.pooling_func is np.mean:
            ones = sp.csr_array(
                (np.ones(len(self.labels_)), (np.arange(len(self.labels_)), self.labels_))
            )
            return np.asarray(X @ ones / np.bincount(self.labels_))
        return np.array([self.pooling_func(X[:, self.labels_ == g], axis=1) for g in groups]).T

    def inverse_transform(self, X):
        """Give every column the value of its group.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_clusters) or (n_clusters,)

        Returns
        -------
        X : ndarray of shape (n_samples, n_features) or (n_features,)
        """
        check_is_fitted(self)
        return np.asarray(X)[..., np.unique(self.labels_, return_inverse=True)[1]]
