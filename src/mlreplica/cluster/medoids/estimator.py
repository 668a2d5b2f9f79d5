"""KMedoids: the estimator over `pam.py`"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils import check_random_state

from mlreplica.cluster.kmeans.centres import in_range
from mlreplica.core.card import Card
from mlreplica.core.compat import Interval, StrOptions, _check_sample_weight, _fit_context
from mlreplica.core.formulas.distances import NAMES, distance_named
from mlreplica.core.iterate import CallbackSupport, iterate
from mlreplica.core.space.matrix import distance_matrix
from mlreplica.core.validation import ValidatedOnce, new_rows, validate_data

from .pam import SOLVERS, Exchanges, build, spread_out

ESTIMATED = {
    "seuclidean": lambda X: np.var(X, axis=0, ddof=1),
    "mahalanobis": lambda X: np.cov(X, rowvar=False),
}  # V of a metric, where it is not given


def measured(X, Y, distance, n_jobs):
    """All distances; rows that are very large or small are scaled, so that squares are in range."""
    scale = in_range(X) if distance.homogeneous else 1.0
    if scale == 1.0:
        return distance_matrix(X, Y, distance, n_jobs)
    return distance_matrix(X * scale, Y * scale, distance, n_jobs) / scale


class KMedoids(
    CallbackSupport,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    ValidatedOnce,
    BaseEstimator,
):
    """Clusters around k of the rows, for any distance: objective (1).

    Parameters
    ----------
    n_clusters : int, default=8
        k.
    metric : str or callable, default="euclidean"
        A distance, a function of two rows, or "precomputed": X holds the distances of all rows.
    metric_params : dict, default=None
        Further arguments of the metric.
    method : {"fasterpam", "pam", "alternate"}, default="fasterpam"
        "pam" makes the best exchange of all, "fasterpam" the first that helps, and both end where
        none helps. "alternate" chooses medoids within clusters, as k-means does: quick and worse.
    init : {"k-medoids++", "build", "random"} or array-like of shape (n_clusters,), \
default="k-medoids++"
        First medoids: spread out, chosen one by one so that each lowers (1) most, at random, or
        the rows themselves.
    n_init : int, default=1
        Starts, of which the best is kept.
    max_iter : int, default=300
        The most passes, exchanges or rounds.
    random_state : int, RandomState instance or None, default=None
        Seed of the start, and of the order of candidates.
    n_jobs : int, default=None
        Threads for the distances; None for all.

    Attributes
    ----------
    medoid_indices_ : ndarray of shape (n_clusters,)
    cluster_centers_ : ndarray of shape (n_clusters, n_features) or None
        The medoids; None where distances were given.
    labels_ : ndarray of shape (n_samples,)
    inertia_ : float
        J of (1).
    n_iter_ : int
    effective_metric_params_ : dict
        `metric_params`, with what the metric estimated from X.

    References
    ----------
    Schubert, Rousseeuw: Fast and eager k-medoids clustering. Information Systems 101 (2021).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [4, 2], [4, 4], [4, 0]])
    >>> model = KMedoids(n_clusters=2, random_state=0).fit(X)
    >>> model.cluster_centers_
    array([[4, 2],
           [1, 2]])
    >>> model.predict([[0, 0], [4, 4]])
    array([1, 0])
    """

    card = Card(
        page="k-medoids",
        checks="medoids",
        input="rows",
        cheap=lambda: {"n_clusters": 2, "max_iter": 3},
        use="compact groups by any distance, each described by one of its rows",
        good="any distance; hardly moved by outliers; centres are real rows",
        bad="n² distances; k must be chosen",
        time="O(n²) per pass, for any k; distances O(n² p)",
        memory="O(n²)",
        rescaling="needed: distances depend on the units of the columns",
        instead="KMeans for many rows, HDBSCAN for any shape",
    )

    _parameter_constraints = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "metric": [StrOptions(set(NAMES) | {"precomputed"}), callable],
        "metric_params": [dict, None],
        "method": [StrOptions(set(SOLVERS))],
        "init": [StrOptions({"k-medoids++", "build", "random"}), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        metric: Any = "euclidean",
        metric_params=None,
        method="fasterpam",
        init: Any = "k-medoids++",
        n_init=1,
        max_iter=300,
        random_state=None,
        n_jobs=None,
    ):
        self.n_clusters = n_clusters
        self.metric = metric
        self.metric_params = metric_params
        self.method = method
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Minimise (1) by exchanges.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of 2 is a row twice, 0 is no row.

        Returns
        -------
        self : KMedoids
        """
        X = validate_data(self, X, accept_sparse="csr")
        w = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        rows, k = np.flatnonzero(w), self.n_clusters
        if len(rows) < k:
            raise ValueError(f"n_samples={len(rows)} should be >= n_clusters={k}.")
        self.effective_metric_params_ = dict(self.metric_params or {})
        if self.metric in ESTIMATED and not self.effective_metric_params_:
            if sp.issparse(X):
                raise ValueError(
                    f"metric={self.metric!r} estimates V from dense rows only; "
                    'pass metric_params={"V": ...}, or X.toarray().'
                )
            self.effective_metric_params_["V"] = ESTIMATED[self.metric](X)
        D = self._distances(X if len(rows) == X.shape[0] else X[rows], rows)
        random, w, best = check_random_state(self.random_state), w[rows], None
        for _ in range(self.n_init):
            medoids = self._first(D, w, rows, random)
            state = iterate(
                self,
                self._solver(D, w, medoids, random),
                max_iter=self.max_iter,
                unit="passes",
                advice=None if self.method == "alternate" else "raise max_iter",
                publish=lambda state: self._published(state, X, rows),
            )
            if best is None or state.inertia < best[0].inertia:
                best = state, self.n_iter_
        vars(self).update(self._published(best[0], X, rows))
        self.n_iter_ = best[1]
        return self

    def _solver(self, D, w, medoids, random):
        """The generator of states that `method` names; one medoid needs no search."""
        if len(medoids) == 1:
            only = Exchanges(D, w, [int((D @ w).argmin())])
            return iter([only.state(1)])
        return SOLVERS[self.method](D, w, medoids, random)

    def _distances(self, X, rows):
        """All distances between rows that have a weight."""
        if self.metric == "precomputed":
            if X.shape[1] != self.n_features_in_ or self.n_features_in_ < len(rows):
                raise ValueError(f"Distances must be square, got the shape {X.shape}.")
            X = X.toarray() if sp.issparse(X) else X
            if len(X) < X.shape[1]:
                X = X[:, rows]
            if X.shape[0] != X.shape[1]:
                raise ValueError(f"Distances must be square, got the shape {X.shape}.")
            D = np.ascontiguousarray(X, dtype=np.float64)
            if D.min() < 0 or not (np.array_equal(D, D.T) or np.allclose(D, D.T)):
                raise ValueError("Distances must be symmetric and not negative.")
            return D
        distance = distance_named(self.metric, None, self.effective_metric_params_, X)
        D = measured(X, X, distance, self.n_jobs)
        if not np.isfinite(D).all():
            raise ValueError("Some distances are not finite; scale X, or use another metric.")
        return D

    def _first(self, D, w, rows, random):
        """The first medoids."""
        k = self.n_clusters
        if not isinstance(self.init, str):
            medoids = np.searchsorted(rows, np.asarray(self.init))
            right = medoids.shape == (k,) and (medoids < len(rows)).all()
            if not (right and np.array_equal(rows[medoids], self.init)):
                raise ValueError(f"init must name {k} rows of positive weight, got {self.init}.")
            return medoids
        if self.init == "build":
            return build(D, w, k)
        if self.init == "random":
            return random.choice(len(D), size=k, replace=False)
        return spread_out(D, w, k, random)

    def _published(self, state, X, rows):
        """The attributes of a state."""
        medoids = rows[state.medoids]
        given = self.metric == "precomputed"
        found = {
            "medoid_indices_": medoids,
            "cluster_centers_": None if given else X[medoids],
            "inertia_": state.inertia,
            "_n_features_out": len(medoids),
        }
        labels = state.labels
        if len(rows) < X.shape[0]:
            labels = self._to_medoids(X, found).argmin(axis=1)
            labels[rows] = state.labels
        return found | {"labels_": labels}

    def _to_medoids(self, X, found):
        """Distances from rows to the medoids."""
        if self.metric == "precomputed":
            near = X[:, found["medoid_indices_"]]
            return near.toarray() if sp.issparse(near) else near
        C = found["cluster_centers_"]
        return measured(
            X, C, distance_named(self.metric, None, self.effective_metric_params_), self.n_jobs
        )

    def transform(self, X):
        """Distances from each row to each medoid.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_fitted)
            Rows, or their distances to the rows of `fit` if metric="precomputed".

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
        """
        return self._to_medoids(new_rows(self, X, accept_sparse="csr"), vars(self))

    def predict(self, X):
        """The nearest medoid of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_fitted)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return self.transform(X).argmin(axis=1)

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

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags
