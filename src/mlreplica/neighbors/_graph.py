"""Neighbours as such: the search as an estimator, as a transformer, and as a graph"""

from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.compat import Interval, StrOptions, _fit_context, validate_params
from mlreplica.core.validation import refuse_overflow

from ._ask import KNeighboursMixin, RadiusNeighboursMixin
from ._search import CONSTRAINTS, NeighboursBase, constraints
from ._vote import ATTRIBUTES, CARD, PARAMETERS

MODE = [StrOptions({"distance", "connectivity"})]
SEARCH = CARD.but(
    task="transformation",
    input="rows",
    use="which rows are near, for any method that is built on neighbours",
    good="exact; one query in microseconds; any metric, even your own function",
    bad="in many dimensions a query looks at every row",
    instead="an approximate index for millions of rows in hundreds of dimensions",
)


class NearestNeighbors(KNeighboursMixin, RadiusNeighboursMixin, NeighboursBase):
    __doc__ = f"""Search for the nearest rows, exactly.

    Parameters
    ----------
    n_neighbors : int, default=5
        How many `kneighbors` finds.
    radius : float, default=1.0
        How far `radius_neighbors` goes.
    {PARAMETERS}

    Attributes
    ----------
    {ATTRIBUTES}

    Examples
    --------
    >>> from mlreplica.neighbors import NearestNeighbors
    >>> search = NearestNeighbors(n_neighbors=1).fit([[0, 0, 0], [0, 0.5, 0], [1, 1, 0.5]])
    >>> search.kneighbors([[1, 1, 1]])
    (array([[0.5]]), array([[2]]))
    """

    card = SEARCH
    _parameter_constraints: dict = CONSTRAINTS

    def __init__(
        self,
        *,
        n_neighbors: int | None = 5,
        radius: float | None = 1.0,
        algorithm="auto",
        leaf_size=30,
        metric: Any = "minkowski",
        p: float | None = 2,
        metric_params=None,
        n_jobs=None,
    ):
        super().__init__(
            n_neighbors=n_neighbors,
            radius=radius,
            algorithm=algorithm,
            leaf_size=leaf_size,
            metric=metric,
            p=p,
            metric_params=metric_params,
            n_jobs=n_jobs,
        )

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None):
        """Keep the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, or distances if `metric="precomputed"`.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        self : NearestNeighbors
        """
        return self._fit(X)


class GraphTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Rows in, a graph of their neighbours out."""

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None):
        """Keep the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        self : estimator
        """
        self._fit(X)
        self._refuse_infinite_distances(self._fit_X)
        self._n_features_out = self.n_samples_fit_
        return self

    def _refuse_infinite_distances(self, X):
        """Raise if distances (their squares, of sparse rows) may be beyond all floats."""
        if self.metric == "precomputed" or self.mode == "connectivity":
            return
        if sp.issparse(X):
            wide = float(X.max()) - float(X.min())
            wide *= wide
        else:
            wide = float(np.fmax.reduce(X, axis=None)) - float(np.fmin.reduce(X, axis=None))
        refuse_overflow(self, distances=wide * X.shape[1])

    def fit_transform(self, X, y=None):
        """Keep the rows and return their graph; every row is among its own neighbours.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        Xt : sparse matrix of shape (n_samples, n_samples)
        """
        return self.fit(X).transform(X)

    def transform(self, X):
        """Return the graph of the neighbours among the training rows.

        Parameters
        ----------
        X : array-like of shape (n_samples_transform, n_features)
            Rows.

        Returns
        -------
        Xt : sparse matrix of shape (n_samples_transform, n_samples_fit)
        """
        check_is_fitted(self)
        return self._graph(X)


class KNeighborsTransformer(GraphTransformer, KNeighboursMixin, NeighboursBase):
    __doc__ = f"""The graph of the k nearest rows.

    With `mode="distance"` a row has k + 1 entries, itself being one, so that graphs can be used as
    precomputed distances.

    Parameters
    ----------
    mode : {{"distance", "connectivity"}}, default="distance"
        Distances, or ones.
    n_neighbors : int, default=5
        k.
    {PARAMETERS}

    Attributes
    ----------
    {ATTRIBUTES}

    Examples
    --------
    >>> from mlreplica.neighbors import KNeighborsTransformer
    >>> KNeighborsTransformer(n_neighbors=1).fit_transform([[0.0], [1.0], [3.0]]).toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 2., 0.]])
    """

    card = SEARCH
    _parameter_constraints: dict = constraints("radius", mode=MODE)

    def __init__(
        self,
        *,
        mode="distance",
        n_neighbors: int | None = 5,
        algorithm="auto",
        leaf_size=30,
        metric: Any = "minkowski",
        p: float | None = 2,
        metric_params=None,
        n_jobs=None,
    ):
        super().__init__(
            n_neighbors=n_neighbors,
            algorithm=algorithm,
            leaf_size=leaf_size,
            metric=metric,
            p=p,
            metric_params=metric_params,
            n_jobs=n_jobs,
        )
        self.mode = mode

    def _graph(self, X):
        """Of the k nearest."""
        k = self.n_neighbors + (self.mode == "distance")
        return self.kneighbors_graph(X, mode=self.mode, n_neighbors=k)


class RadiusNeighborsTransformer(GraphTransformer, RadiusNeighboursMixin, NeighboursBase):
    __doc__ = f"""The graph of all rows within a radius.

    Parameters
    ----------
    mode : {{"distance", "connectivity"}}, default="distance"
        Distances, or ones.
    radius : float, default=1.0
        How far neighbours are away at most.
    {PARAMETERS}

    Attributes
    ----------
    {ATTRIBUTES}

    Examples
    --------
    >>> from mlreplica.neighbors import RadiusNeighborsTransformer
    >>> RadiusNeighborsTransformer(radius=1.5).fit_transform([[0.0], [1.0], [3.0]]).toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 0.]])
    """

    card = SEARCH
    _parameter_constraints: dict = constraints("n_neighbors", mode=MODE)

    def __init__(
        self,
        *,
        mode="distance",
        radius: float | None = 1.0,
        algorithm="auto",
        leaf_size=30,
        metric: Any = "minkowski",
        p: float | None = 2,
        metric_params=None,
        n_jobs=None,
    ):
        super().__init__(
            radius=radius,
            algorithm=algorithm,
            leaf_size=leaf_size,
            metric=metric,
            p=p,
            metric_params=metric_params,
            n_jobs=n_jobs,
        )
        self.mode = mode

    def _graph(self, X):
        """Of all within the radius."""
        return self.radius_neighbors_graph(X, mode=self.mode, sort_results=True)


# ---------------------------------------------------------------------------------------- functions

SHARED = {
    "mode": [StrOptions({"connectivity", "distance"})],
    "metric": CONSTRAINTS["metric"],
    "p": CONSTRAINTS["p"],
    "metric_params": [dict, None],
    "include_self": ["boolean", StrOptions({"auto"})],
    "n_jobs": [Integral, None],
}


def searched(X, metric, p, metric_params, options):
    """X if it is a search with these parameters, else a search among the rows X."""
    if not isinstance(X, NeighboursBase):
        options |= {"metric": metric, "p": p, "metric_params": metric_params}
        return NearestNeighbors(**options).fit(X)
    for name, value in {"metric": metric, "p": p, "metric_params": metric_params}.items():
        if getattr(X, name) != value:
            raise ValueError(
                f"Got {value} for {name}, while the estimator has {getattr(X, name)} for the same "
                "parameter."
            )
    return X


def query_of(search, include_self, mode):
    """The rows themselves, or None if no row is its own neighbour."""
    include = mode == "connectivity" if include_self == "auto" else include_self
    return search._fit_X if include else None


@validate_params(
    {
        "X": ["array-like", "sparse matrix", NeighboursBase],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        **SHARED,
    },
    prefer_skip_nested_validation=False,
)
def kneighbors_graph(
    X,
    n_neighbors,
    *,
    mode="connectivity",
    metric="minkowski",
    p=2,
    metric_params=None,
    include_self=False,
    n_jobs=None,
):
    """Return the graph of the k nearest rows.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or a fitted search
        Rows.
    n_neighbors : int
        k.
    mode : {"connectivity", "distance"}, default="connectivity"
        Ones, or distances.
    metric, p, metric_params
        As in `NearestNeighbors`.
    include_self : bool or "auto", default=False
        Whether a row is its own nearest neighbour; "auto": in mode "connectivity".
    n_jobs : int, default=None
        Threads; None for all.

    Returns
    -------
    A : sparse matrix of shape (n_samples, n_samples)

    Examples
    --------
    >>> from mlreplica.neighbors import kneighbors_graph
    >>> kneighbors_graph([[0.0], [3.0], [1.0]], 2, include_self=True).toarray()
    array([[1., 0., 1.],
           [0., 1., 1.],
           [1., 0., 1.]])
    """
    search = searched(X, metric, p, metric_params, {"n_neighbors": n_neighbors, "n_jobs": n_jobs})
    query = query_of(search, include_self, mode)
    return search.kneighbors_graph(X=query, n_neighbors=n_neighbors, mode=mode)


@validate_params(
    {
        "X": ["array-like", "sparse matrix", NeighboursBase],
        "radius": [Interval(Real, 0, None, closed="both")],
        **SHARED,
    },
    prefer_skip_nested_validation=False,
)
def radius_neighbors_graph(
    X,
    radius,
    *,
    mode="connectivity",
    metric="minkowski",
    p=2,
    metric_params=None,
    include_self=False,
    n_jobs=None,
):
    """Return the graph of all rows within a radius.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or a fitted search
        Rows.
    radius : float
        How far neighbours are away at most.
    mode : {"connectivity", "distance"}, default="connectivity"
        Ones, or distances.
    metric, p, metric_params
        As in `NearestNeighbors`.
    include_self : bool or "auto", default=False
        Whether a row is its own neighbour; "auto": in mode "connectivity".
    n_jobs : int, default=None
        Threads; None for all.

    Returns
    -------
    A : sparse matrix of shape (n_samples, n_samples)

    Examples
    --------
    >>> from mlreplica.neighbors import radius_neighbors_graph
    >>> radius_neighbors_graph([[0.0], [3.0], [1.0]], 1.5, include_self=True).toarray()
    array([[1., 0., 1.],
           [0., 1., 0.],
           [1., 0., 1.]])
    """
    search = searched(X, metric, p, metric_params, {"radius": radius, "n_jobs": n_jobs})
    return search.radius_neighbors_graph(query_of(search, include_self, mode), radius, mode)
