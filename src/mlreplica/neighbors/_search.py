r"""Search: what every estimator of this chapter does, to keep rows and to find the nearest

    fit       rows → a `NeighbourIndex`, or the matrix of distances itself ("precomputed")
    ask       k nearest, or all within a radius; of new rows, or of the training rows without each
              row itself, which is leave-one-out at the cost of one search

Neighbours are ordered by distance and then by index, whatever the algorithm.
"""

import itertools
import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, MultiOutputMixin, is_classifier
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import DistanceMetric
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.compat import Interval, StrOptions
from mlreplica.core.formulas.distances import NAMES, check_sphere, distance_named
from mlreplica.core.rows.walk import steps
from mlreplica.core.space import NeighbourIndex
from mlreplica.core.space.matrix import distance_matrix
from mlreplica.core.validation import new_rows, validate_data
from mlreplica.metrics import pairwise_distances

from ._given import check_precomputed, nearest_of_graph, nearest_of_matrix
from ._trees import BallTree, KDTree

VALID_METRICS = {
    "ball_tree": sorted(BallTree.valid_metrics),
    "kd_tree": sorted(KDTree.valid_metrics),
    "brute": sorted({*NAMES, "precomputed"} - {"p", "infinity", "matching", "sokalmichener"}),
}
SPARSE_METRICS = {
    "cityblock", "cosine", "euclidean", "l1", "l2", "manhattan", "precomputed", "minkowski",
    "sqeuclidean", "chebyshev", "correlation",
}  # fmt: skip
VALID_METRICS_SPARSE = {"ball_tree": [], "kd_tree": [], "brute": sorted(SPARSE_METRICS)}
WITH_PARAMETERS = {"minkowski", "p", "seuclidean", "mahalanobis"}
BLOCK = 1 << 22  # distances that are held at a time
CONSTRAINTS = {
    "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
    "radius": [Interval(Real, 0, None, closed="both"), None],
    "algorithm": [StrOptions({"auto", "ball_tree", "kd_tree", "brute"})],
    "leaf_size": [Interval(Integral, 1, None, closed="left")],
    "p": [Interval(Real, 0, None, closed="right"), None],
    "metric": [
        StrOptions(set(itertools.chain(*VALID_METRICS.values()))), callable, DistanceMetric
    ],
    "metric_params": [dict, None],
    "n_jobs": [Integral, None],
}  # fmt: skip


def constraints(*without, **more):
    """The declared parameters of an estimator of this chapter."""
    return {name: list(v) for name, v in CONSTRAINTS.items() if name not in without} | more


class NeighboursBase(MultiOutputMixin, BaseEstimator):
    """Rows that can be searched: parameters, fit, and the two kinds of search."""

    _parameter_constraints: dict = CONSTRAINTS

    def __init__(
        self,
        n_neighbors=None,
        radius=None,
        algorithm="auto",
        leaf_size=30,
        metric: Any = "minkowski",
        p: float | None = 2,
        metric_params=None,
        n_jobs=None,
    ):
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.metric = metric
        self.metric_params = metric_params
        self.p = p
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.positive_only = tags.input_tags.pairwise
        tags.input_tags.allow_nan = self.metric == "nan_euclidean"
        return tags

    # ------------------------------------------------------------------------------------- fitting

    def _fit(self, X, y=None):
        """Keep the rows, and the target where there is one."""
        given = X if isinstance(X, KDTree | BallTree | NeighboursBase) else None
        finite = "allow-nan" if self.metric == "nan_euclidean" else True
        options = {"accept_sparse": "csr", "order": "C", "ensure_all_finite": finite}
        if self.__sklearn_tags__().target_tags.required:
            if given is None:
                X, y = validate_data(self, X, y, multi_output=True, **options)
            self._keep_target(y)
        elif given is None:
            X = validate_data(self, X, **options)
        self._check_metric()
        parameters = dict(self.metric_params or {})
        self.effective_metric_, self.effective_metric_params_ = self.metric, parameters
        if self.metric == "minkowski":
            p, w = parameters.pop("p", self.p), parameters.pop("w", None)
            plain = {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}
            if w is None and p in plain:
                self.effective_metric_ = plain[p]
            else:
                parameters |= {"p": p, "w": w}
        if given is not None:
            return self._share(given)
        if self.metric == "precomputed":
            X = check_precomputed(X)
            if X.shape[0] != X.shape[1]:
                raise ValueError(
                    "Precomputed matrix must be square."
                    f" Input is a {X.shape[0]}x{X.shape[1]} matrix."
                )
            self.n_features_in_ = X.shape[1]
        self.n_samples_fit_ = X.shape[0]
        self._fit_X, self._made = X, {}
        self._fit_method = "brute" if sp.issparse(X) else self.algorithm
        if self.metric == "precomputed":
            self._fit_method = "brute"
            return self
        if sp.issparse(X):
            self._check_sparse_metric()
        self._check_power()
        if self._index is not None:
            self._fit_method = self._index.algorithm
        return self

    @property
    def _distance(self):
        """The `Distance` that the parameters name."""
        made = vars(self).setdefault("_made", {})  # not in files, but made from what is
        if "distance" not in made:
            X = None if sp.issparse(self._fit_X) else self._fit_X
            metric, parameters = self.effective_metric_, self.effective_metric_params_
            if isinstance(metric, DistanceMetric):
                metric = name_of(metric) or one_pair_of(metric)
            made["distance"] = distance_named(metric, None, parameters, X)
        return made["distance"]

    @property
    def _index(self):
        """The rows, ready to be searched; None where all distances are given or rows are sparse."""
        made = vars(self).setdefault("_made", {})
        if "index" not in made:
            made["index"] = None
            if not sp.issparse(self._fit_X) and self.metric != "precomputed":
                made["index"] = NeighbourIndex(
                    self._fit_X,
                    self._distance,
                    self._fit_method,
                    leaf_size=self.leaf_size,
                    n_jobs=self.n_jobs,
                )
        return made["index"]

    def __getstate__(self):
        return {name: v for name, v in super().__getstate__().items() if name != "_made"}

    def _share(self, given):
        """Take over the rows of a tree or of another estimator."""
        if isinstance(given, NeighboursBase):
            names = ("_fit_X", "_fit_method", "n_samples_fit_", "_made")
            vars(self).update({name: getattr(given, name) for name in names})
            if hasattr(given, "n_features_in_"):
                self.n_features_in_ = given.n_features_in_
        else:
            self._fit_X, self._fit_method = np.asarray(given.data), given.index.algorithm
            self._made = {"index": given.index, "distance": given.index.distance}
            self.effective_metric_ = given.metric
            self.effective_metric_params_ = dict(given.metric_params)
            self.n_samples_fit_, self.n_features_in_ = self._fit_X.shape
        return self

    def _keep_target(self, y):
        """Classes by number, or the numbers themselves."""
        if not is_classifier(self):
            self._y = np.ascontiguousarray(y, dtype=np.float64)
            return
        self.outputs_2d_ = y.ndim == 2 and y.shape[1] > 1
        if y.ndim == 2 and not self.outputs_2d_:
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected. Please change the "
                "shape of y to (n_samples,), for example using ravel().",
                DataConversionWarning,
                stacklevel=4,
            )
        check_classification_targets(y)
        columns = np.asarray(y).reshape(len(y), -1).T
        found = [np.unique(column, return_inverse=True) for column in columns]
        codes = np.stack([k.ravel() for _, k in found]).astype(np.int64).T  # columns in one piece
        if self.outputs_2d_:
            self.classes_, self._y = [classes for classes, _ in found], codes
        else:
            self.classes_, self._y = found[0][0], codes[:, 0]

    def _check_metric(self):
        """Raise if the algorithm cannot use the metric."""
        name, kind = self.metric, self.algorithm
        if kind == "auto":
            known = callable(name) or name in VALID_METRICS["ball_tree"]
            kind = "ball_tree" if known and name != "precomputed" else "brute"
        if callable(name) or isinstance(name, DistanceMetric):
            if self.algorithm == "kd_tree" and name_of(name) not in KDTree.valid_metrics:
                raise ValueError(
                    f"kd_tree does not support callable metric '{name}': boxes need a norm. Use "
                    "algorithm='ball_tree' or 'brute'."
                )
        elif name not in VALID_METRICS[kind]:
            raise ValueError(
                f"Metric '{name}' not valid. Use "
                f"sorted(mlreplica.neighbors.VALID_METRICS['{kind}']) to get valid options. "
                "Metric can also be a callable function."
            )
        if self.metric_params is not None and "p" in self.metric_params and self.p is not None:
            warnings.warn(
                "Parameter p is found in metric_params. The corresponding parameter from __init__ "
                "is ignored.",
                SyntaxWarning,
                stacklevel=4,
            )

    def _check_sparse_metric(self):
        """Raise if rows must be dense for the metric."""
        if self.algorithm not in ("auto", "brute"):
            warnings.warn("cannot use tree with sparse input: using brute force", stacklevel=4)
        name = self.effective_metric_
        if not callable(name) and name not in VALID_METRICS_SPARSE["brute"]:
            raise ValueError(
                f"Metric '{name}' not valid for sparse input. Use "
                "sorted(mlreplica.neighbors.VALID_METRICS_SPARSE['brute']) to get valid options. "
                "Metric can also be a callable function."
            )

    def _check_power(self):
        """Warn, or raise, where Minkowski's p makes no metric."""
        parameters = self.effective_metric_params_
        if self.effective_metric_ != "minkowski":
            return
        if parameters["p"] < 1:
            if self._fit_method not in ("brute", "auto"):
                raise ValueError(
                    f'algorithm="{self._fit_method}" does not support 0 < p < 1 for the Minkowski '
                    'metric. To resolve this problem either set p >= 1 or algorithm="brute".'
                )
            self._fit_method = "brute"
            warnings.warn(
                "Mind that for 0 < p < 1, Minkowski metrics are not distance metrics. Continuing "
                "the execution with `algorithm='brute'`.",
                stacklevel=4,
            )
        if parameters.get("w") is not None and self._fit_method == "kd_tree":
            raise ValueError(
                "algorithm='kd_tree' is not valid for metric='minkowski' with a weight parameter "
                "'w': try algorithm='ball_tree' or algorithm='brute' instead."
            )

    # -------------------------------------------------------------------------------------- asking

    def _rows(self, X):
        """New rows, checked once."""
        if self.metric == "precomputed":
            check_is_fitted(self)
            X, n = check_precomputed(X), self.n_samples_fit_
            if X.shape[1] != n:
                raise ValueError(
                    "Precomputed metric requires shape (n_queries, n_indexed). Got "
                    f"({X.shape[0]}, {X.shape[1]}) for {n} indexed."
                )
            return X
        if self.metric == "nan_euclidean":
            check_is_fitted(self)
            return validate_data(self, X, reset=False, ensure_all_finite="allow-nan", order="C")
        X = new_rows(self, X, accept_sparse="csr")
        if sp.issparse(X) and self._index is not None:
            if self._fit_method != "brute":
                raise ValueError(
                    f"{self._fit_method} does not work with sparse matrices. Densify the data, "
                    "or set algorithm='brute'"
                )
            self._check_sparse_metric()
        return X

    def _nearest(self, X, k):
        """Distances and indices of the k nearest; X = None: of the training rows."""
        if self.effective_metric_ == "haversine":
            check_sphere(self.n_features_in_)
        own = np.arange(self.n_samples_fit_) if X is None else None
        X = self._fit_X if X is None else X
        if self._index is not None and not sp.issparse(X):
            return self._index.nearest(X, k, own, self.n_jobs)
        if sp.issparse(X) and self.metric == "precomputed":
            return nearest_of_graph(X, k, own)
        D, N = np.empty((X.shape[0], k)), np.empty((X.shape[0], k), np.int64)
        for rows, block in self._blocks(X):
            D[rows], N[rows] = nearest_of_matrix(block, k, None if own is None else own[rows])
        return D, N

    def _blocks(self, X):
        """Distances of some rows to all training rows at a time."""
        size = max(1, BLOCK // max(1, self.n_samples_fit_))
        for rows in steps(slice(0, X.shape[0]), size):
            if self.metric == "precomputed":
                yield rows, np.array(X[rows], dtype=float)
            elif callable(self.metric):  # a function of two sparse rows
                options = self.effective_metric_params_
                yield rows, pairwise_distances(X[rows], self._fit_X, metric=self.metric, **options)
            else:
                yield rows, distance_matrix(X[rows], self._fit_X, self._distance, self.n_jobs)

    def _within(self, X, radius):
        """(start, distances, indices) of all within a radius; X = None: of the training rows."""
        if self.effective_metric_ == "haversine":
            check_sphere(self.n_features_in_)
        own = np.arange(self.n_samples_fit_) if X is None else None
        X = self._fit_X if X is None else X
        if self._index is not None and not sp.issparse(X):
            return self._index.within(X, radius, own, self.n_jobs)
        if sp.issparse(X) and self.metric == "precomputed":
            near = X.data <= radius
            if own is not None:
                near &= X.indices != np.repeat(own, np.diff(X.indptr))
            start = np.append(0, np.cumsum(near))[X.indptr]
            return start, X.data[near], X.indices[near].astype(np.int64)
        counts, found = [], [(np.empty(0), np.empty(0, np.int64))]
        for rows, block in self._blocks(X):
            near = block <= np.reshape(np.broadcast_to(radius, X.shape[0])[rows], (-1, 1))
            if own is not None:
                near[np.arange(len(near)), own[rows]] = False
            counts.append(near.sum(axis=1))
            found.append((block[near], np.nonzero(near)[1]))
        D, N = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        return np.append(0, np.cumsum(np.concatenate(counts))), D, N


def name_of(metric):
    """The name of an object of scikit-learn's for a distance without parameters, or None."""
    name = type(metric).__name__.removesuffix("64").removesuffix("32").removesuffix("Distance")
    return name.lower() if name.lower() in set(NAMES) - WITH_PARAMETERS else None


def one_pair_of(metric):
    """A function of two rows that asks an object for matrices."""
    return lambda x, y: metric.pairwise(x[None], y[None])[0, 0]
