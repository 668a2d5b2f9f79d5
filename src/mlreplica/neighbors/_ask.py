"""Ask: the k nearest rows or all within a radius, as arrays and as graphs"""

from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.compat import _align_api_if_sparse


class KNeighboursMixin:
    """The k nearest rows, and the graph they make."""

    def kneighbors(self, X=None, n_neighbors=None, return_distance=True):
        """Find the k nearest rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features), default=None
            The queries; distances to the training rows if `metric="precomputed"`. None for the
            training rows, of which none is its own neighbour.
        n_neighbors : int, default=None
            How many; by default as in the constructor.
        return_distance : bool, default=True
            Whether to return distances.

        Returns
        -------
        neigh_dist : ndarray of shape (n_queries, n_neighbors)
            Distances, nearest first; only with `return_distance`.
        neigh_ind : ndarray of shape (n_queries, n_neighbors)
            Indices of the rows.
        """
        require_fit(self)
        if n_neighbors is None:
            n_neighbors = self.n_neighbors
        elif not isinstance(n_neighbors, Integral):
            raise TypeError(
                f"n_neighbors does not take {type(n_neighbors)} value, enter integer value"
            )
        elif n_neighbors <= 0:
            raise ValueError(f"Expected n_neighbors > 0. Got {n_neighbors}")
        if X is not None:
            X = self._rows(X)
        most = self.n_samples_fit_ - (X is None)
        if n_neighbors > most:
            sign, m = ("<", self.n_samples_fit_) if X is None else ("<=", X.shape[0])
            raise ValueError(
                f"Expected n_neighbors {sign} n_samples_fit, but n_neighbors = {n_neighbors}, "
                f"n_samples_fit = {self.n_samples_fit_}, n_samples = {m}"
            )
        D, N = self._nearest(X, n_neighbors)
        return (D, N) if return_distance else N

    def kneighbors_graph(self, X=None, n_neighbors=None, mode="connectivity"):
        """Return the graph of the k nearest rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features), default=None
            The queries; None for the training rows.
        n_neighbors : int, default=None
            How many; by default as in the constructor.
        mode : {"connectivity", "distance"}, default="connectivity"
            Ones, or distances.

        Returns
        -------
        A : sparse matrix of shape (n_queries, n_samples_fit)
            In CSR format, each row's entries by distance.
        """
        check_is_fitted(self)
        check_mode(mode)
        D, N = self.kneighbors(X, n_neighbors)
        start = np.arange(0, N.size + 1, N.shape[1])
        return graph_of(start, D.ravel(), N.ravel(), self.n_samples_fit_, mode)


class RadiusNeighboursMixin:
    """All rows within a radius, and the graph they make."""

    def radius_neighbors(self, X=None, radius=None, return_distance=True, sort_results=False):
        """Find all rows within a radius; those at exactly that distance belong to them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features), default=None
            The queries; None for the training rows, of which none is its own neighbour.
        radius : float, default=None
            By default as in the constructor.
        return_distance : bool, default=True
            Whether to return distances.
        sort_results : bool, default=False
            Whether to sort by distance.

        Returns
        -------
        neigh_dist : ndarray of shape (n_queries,) of arrays
            Distances; only with `return_distance`.
        neigh_ind : ndarray of shape (n_queries,) of arrays
            Indices of the rows.
        """
        if sort_results and not return_distance:
            raise ValueError("return_distance must be True if sort_results is True.")
        start, D, N = self._radius_search(X, radius, sort_results)
        distances, indices = views(start, D), views(start, N)
        return (distances, indices) if return_distance else indices

    def _radius_search(self, X, radius, sort_results):
        """The rows within a radius as (start, distances, indices)."""
        require_fit(self)
        radius = self.radius if radius is None else radius
        start, D, N = self._within(None if X is None else self._rows(X), radius)
        if sort_results:
            order = np.lexsort((N, D, np.repeat(np.arange(len(start) - 1), np.diff(start))))
            D, N = D[order], N[order]
        return start, D, N

    def radius_neighbors_graph(self, X=None, radius=None, mode="connectivity", sort_results=False):
        """Return the graph of all rows within a radius.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features), default=None
            The queries; None for the training rows.
        radius : float, default=None
            By default as in the constructor.
        mode : {"connectivity", "distance"}, default="connectivity"
            Ones, or distances.
        sort_results : bool, default=False
            Whether each row's entries are sorted by distance.

        Returns
        -------
        A : sparse matrix of shape (n_queries, n_samples_fit)
            In CSR format.
        """
        check_is_fitted(self)
        check_mode(mode)
        start, D, N = self._radius_search(X, radius, sort_results)
        return graph_of(start, D, N, self.n_samples_fit_, mode)


def require_fit(model):
    """Raise unless the model is fitted; scikit-learn's own check takes 10 µs."""
    if "n_samples_fit_" not in vars(model):
        check_is_fitted(model)


def check_mode(mode):
    """Raise unless a graph holds ones or distances."""
    if mode not in ("connectivity", "distance"):
        raise ValueError(
            'Unsupported mode, must be one of "connectivity", or "distance" but got '
            f'"{mode}" instead'
        )


def graph_of(start, D, N, n, mode):
    """A CSR matrix of neighbours."""
    data = D if mode == "distance" else np.ones(len(N))
    return _align_api_if_sparse(sp.csr_array((data, N, start), shape=(len(start) - 1, n)))


def views(start, values):
    """An array of arrays, one per query."""
    found = np.empty(len(start) - 1, dtype=object)
    ends = start.tolist()
    for i in range(len(found)):
        found[i] = values[ends[i] : ends[i + 1]]
    return found
