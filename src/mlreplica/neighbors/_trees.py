"""KDTree and BallTree: trees of space as objects, for queries by hand

The tree is that of `core/space/tree.py`, and the walk that of `core/space/walk.py`.
"""

from numbers import Integral

import numpy as np
from sklearn.utils import check_array

from mlreplica.core.formulas.distances import TREE_NORMS, distance_named
from mlreplica.core.space import NeighbourIndex
from mlreplica.core.space.density import KERNELS, count_within, log_normaliser, log_sums

BALL_METRICS = {
    *TREE_NORMS, "seuclidean", "mahalanobis", "hamming", "canberra", "braycurtis", "jaccard",
    "dice", "rogerstanimoto", "russellrao", "sokalmichener", "sokalsneath", "haversine",
    "pyfunc",
}  # fmt: skip


class SpaceTreeBase:
    """What the two trees share: building, queries, sums over all points."""

    kind = "kd_tree"
    valid_metrics: list[str] = []

    def __init__(self, X, leaf_size=40, metric="minkowski", sample_weight=None, **kwargs):
        X = check_array(X, dtype=np.float64, order="C")
        if not isinstance(leaf_size, Integral) or leaf_size < 1:
            raise ValueError("leaf_size must be greater than or equal to 1")
        name = getattr(metric, "__name__", None) if callable(metric) else metric
        if callable(metric):
            if self.kind == "kd_tree":
                raise ValueError(f"metric {name} is not valid for KDTree: boxes need a norm.")
        elif metric == "pyfunc":
            metric = kwargs.pop("func")
        elif metric not in self.valid_metrics:
            raise ValueError(f"metric {metric} is not valid for {type(self).__name__}")
        self.leaf_size, self.metric, self.metric_params = leaf_size, metric, dict(kwargs)
        self.data = X
        self.sample_weight = None
        if sample_weight is not None:
            self.sample_weight = np.asarray(sample_weight, dtype=np.float64)
            if self.sample_weight.shape != (len(X),):
                raise ValueError("sample_weight must be one number per row of X.")
        self._build()

    def _build(self):
        distance = distance_named(self.metric, parameters=self.metric_params, X=self.data)
        self.index = NeighbourIndex(self.data, distance, self.kind, leaf_size=self.leaf_size)
        self._calls = 0

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "index"}

    def __setstate__(self, state):
        vars(self).update(state)
        self._build()

    def _queries(self, X):
        X = check_array(X, dtype=np.float64, ensure_2d=False, allow_nd=True)
        X = X.reshape(1, -1) if X.ndim == 1 else X
        if X.shape[-1] != self.data.shape[1]:
            raise ValueError("query data dimension must match training data dimension")
        return X.reshape(-1, X.shape[-1]), X.shape[:-1]

    def query(
        self,
        X,
        k=1,
        return_distance=True,
        dualtree=False,
        breadth_first=False,
        sort_results=True,
    ):
        """Find the k nearest points.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
        k : int, default=1
        return_distance : bool, default=True
        dualtree, breadth_first, sort_results : bool
            Accepted for compatibility: results are always sorted, and the walk is the same.

        Returns
        -------
        d : ndarray of shape (n_queries, k)
            Only with `return_distance`.
        i : ndarray of shape (n_queries, k)
        """
        X, shape = self._queries(X)
        if k < 1:
            raise ValueError(f"k must be >= 1, got {k}.")
        if k > len(self.data):
            raise ValueError("k must be less than or equal to the number of training points")
        D, N = self.index.nearest(X, k)
        self._calls += self.index.measured * self.index.block
        D, N = D.reshape(*shape, k), N.reshape(*shape, k)
        return (D, N) if return_distance else N

    def query_radius(self, X, r, return_distance=False, count_only=False, sort_results=False):
        """Find all points within a radius.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
        r : float or array-like of shape (n_queries,)
        return_distance : bool, default=False
        count_only : bool, default=False
            Return the number of points only.
        sort_results : bool, default=False
            Sort by distance; needs `return_distance`.

        Returns
        -------
        count, or ind, or (ind, dist)
            Of shape (n_queries,): numbers, or arrays.
        """
        if count_only and return_distance:
            raise ValueError("count_only and return_distance cannot both be true")
        if sort_results and not return_distance:
            raise ValueError("return_distance must be True if sort_results is True")
        X, shape = self._queries(X)
        r = np.asarray(r, dtype=float)
        if r.ndim > 0 and r.shape != shape:
            raise ValueError(f"r must be a number, or of shape {shape}; got {r.shape}.")
        r = np.broadcast_to(r, shape).ravel()
        if count_only:
            return count_within(self.index, X, r).reshape(shape)
        start, D, N = self.index.within(X, r)
        if sort_results:
            order = np.lexsort((N, D, np.repeat(np.arange(len(X)), np.diff(start))))
            D, N = D[order], N[order]
        found = np.empty(len(X), dtype=object), np.empty(len(X), dtype=object)
        for i in range(len(X)):
            found[0][i], found[1][i] = N[start[i] : start[i + 1]], D[start[i] : start[i + 1]]
        indices, distances = (a.reshape(shape) for a in found)
        return (indices, distances) if return_distance else indices

    def kernel_density(
        self, X, h, kernel="gaussian", atol=0, rtol=1e-8, breadth_first=True, return_log=False
    ):
        """Sum a kernel over all points, with its normaliser and without division by their number.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
        h : float
            The bandwidth.
        kernel : {"gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"}
        atol, rtol : float
            The error is at most atol + rtol times the result.
        breadth_first : bool
            Accepted for compatibility.
        return_log : bool, default=False
            Return logarithms.

        Returns
        -------
        density : ndarray of shape (n_queries,)
        """
        if kernel not in KERNELS:
            raise ValueError(f"kernel = {kernel!r} is not recognized")
        X, shape = self._queries(X)
        constant = log_normaliser(kernel, h, self.data.shape[1])
        atol = atol * np.exp(-constant)
        found = log_sums(self.index, X, kernel, h, self.sample_weight, atol, rtol) + constant
        return (found if return_log else np.exp(found)).reshape(shape)

    def two_point_correlation(self, X, r, dualtree=False):
        """Count the pairs of a query and a point within each of some distances.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
        r : float or array-like
        dualtree : bool
            Accepted for compatibility.

        Returns
        -------
        counts : ndarray of the shape of r
        """
        X, _ = self._queries(X)
        r = np.atleast_1d(np.asarray(r, dtype=float))
        counts = [count_within(self.index, X, one).sum() for one in r.ravel()]
        return np.array(counts, dtype=np.int64).reshape(r.shape)

    @classmethod
    def small_runs(cls):
        """Calls of what no estimator does with a tree, for the warm-up."""
        X = np.arange(60.0).reshape(20, 3)
        yield lambda: cls(X).two_point_correlation(X, [1.0, 9.0])

    def get_arrays(self):
        """Return (data, indices of the points in the leaves, first and last leaf, bounds)."""
        tree = self.index.tree(self.kind)
        number = tree.number[: tree.n]
        return self.data, number, np.stack([tree.first, tree.last], axis=1), tree.bounds

    def get_n_calls(self):
        """Return how many distances queries have measured since the last reset."""
        return self._calls

    def reset_n_calls(self):
        """Set the number of distances measured to 0."""
        self._calls = 0

    def get_tree_stats(self):
        """Return the numbers of branches, of leaves and of points in a leaf."""
        tree = self.index.tree(self.kind)
        return len(tree.first), tree.leaves, tree.block


DOC = """Points in a tree of {what}, for fast queries of neighbours.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The points.
    leaf_size : int, default=40
        About so many points in a leaf; results do not depend on it.
    metric : str{function}, default="minkowski"
        One of `valid_metrics`{or_function}.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the points in `kernel_density`.
    **kwargs
        Parameters of the metric, as p, w, V or VI.

    Attributes
    ----------
    data : ndarray of shape (n_samples, n_features)
        The points.

    Examples
    --------
    >>> from mlreplica.neighbors import {name}
    >>> tree = {name}([[0.0, 0.0], [1.0, 1.0], [3.0, 1.0]])
    >>> distances, indices = tree.query([[0.9, 0.8]], k=2)
    >>> indices
    array([[1, 0]])
    >>> tree.query_radius([[0.0, 0.0]], r=1.5, count_only=True)
    array([2])
    """


class KDTree(SpaceTreeBase):
    __doc__ = DOC.format(what="boxes", name="KDTree", function="", or_function="")
    kind = "kd_tree"
    valid_metrics = sorted(TREE_NORMS)


class BallTree(SpaceTreeBase):
    __doc__ = DOC.format(
        what="balls",
        name="BallTree",
        function=" or callable",
        or_function=", or a function of two rows",
    )
    kind = "ball_tree"
    valid_metrics = sorted(BALL_METRICS)
