"""Neighbours: queries with the rows that answer them, and the cells of prototypes"""

import numpy as np
from scipy.spatial import Voronoi
from sklearn.utils.validation import check_is_fitted

from ._style import PALETTE, Display, dots


class NeighboursDisplay(Display):
    """Rows of two columns, queries joined to their neighbours, and the cells of prototypes.

    Parameters
    ----------
    points : ndarray of shape (n_samples, 2)
        Rows.
    y : ndarray of shape (n_samples,), default=None
        The number of the class of each.
    queries : ndarray of shape (n_queries, 2), default=None
        Queries.
    neighbours : list of ndarray, default=None
        The indices of the rows that answer each query.
    prototypes : ndarray of shape (n_prototypes, 2), default=None
        Prototypes, whose Voronoi cells are drawn: where each is the nearest.
    prototype_classes : ndarray of shape (n_prototypes,), default=None
        The number of the class of each.
    omega : ndarray of shape (2, 2), default=None
        "Near" means near after this map, as GMLVQ learns it; None for the plane as it is.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

    Examples
    --------
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.neighbors import KNeighborsClassifier
    >>> from mlreplica.plotting import NeighboursDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KNeighborsClassifier(3).fit(X[:, 2:], y)
    >>> display = NeighboursDisplay.from_estimator(model, X[:, 2:], y, queries=[[5.0, 1.7]])
    >>> len(display.neighbours[0])
    3
    """

    def __init__(
        self,
        points,
        y=None,
        queries=None,
        neighbours=None,
        prototypes=None,
        prototype_classes=None,
        omega=None,
    ):
        self.points, self.y, self.queries, self.neighbours = points, y, queries, neighbours
        self.prototypes, self.prototype_classes = prototypes, prototype_classes
        self.omega = np.eye(2) if omega is None else omega

    @classmethod
    def from_estimator(cls, estimator, X, y=None, *, queries=None, ax=None):
        """Ask a fitted model for neighbours, or for its prototypes, and draw them.

        Parameters
        ----------
        estimator : estimator
            With `kneighbors` or `radius_neighbors`, fitted on X; or with `prototypes_` or
            `centroids_`.
        X : array-like of shape (n_samples, 2)
            Rows.
        y : array-like of shape (n_samples,), default=None
            Their classes.
        queries : array-like of shape (n_queries, 2), default=None
            Rows to ask for.
        ax : matplotlib Axes, default=None
            Where to draw; new ones by default.

        Returns
        -------
        NeighboursDisplay
        """
        check_is_fitted(estimator)
        points = np.asarray(X, dtype=float)
        if points.ndim != 2 or points.shape[1] != 2:
            raise ValueError(f"X must have two columns to be drawn, got shape {points.shape}.")
        classes = np.unique(y) if y is not None else None
        codes = None if y is None else np.searchsorted(classes, y)
        found = {}
        if queries is not None:
            queries = np.asarray(queries, dtype=float)
            by_count = hasattr(estimator, "kneighbors")
            ask = estimator.kneighbors if by_count else estimator.radius_neighbors
            found = {"queries": queries, "neighbours": list(ask(queries, return_distance=False))}
        for name, labels in (("prototypes_", "prototypes_labels_"), ("centroids_", "classes_")):
            if hasattr(estimator, name):
                found["prototypes"] = getattr(estimator, name)
                own = np.unique(getattr(estimator, "classes_", [0]))
                found["prototype_classes"] = np.searchsorted(own, getattr(estimator, labels))
        return cls(points, codes, omega=getattr(estimator, "omega_", None), **found).plot(ax=ax)

    def _draw(self, ax):
        codes = np.zeros(len(self.points), int) if self.y is None else self.y
        for c in np.unique(codes):
            ax.scatter(*self.points[codes == c].T, zorder=2, **dots(int(c)))
        if self.queries is not None:
            for q, near in zip(self.queries, self.neighbours, strict=True):
                for i in near:
                    ax.plot(*np.c_[q, self.points[i]], color=PALETTE["muted"], lw=0.9, zorder=1)
            ax.plot(*self.queries.T, "X", color=PALETTE["ink"], ms=9, zorder=4)
        if self.prototypes is not None:
            self._draw_cells(ax)
        ax.grid(visible=False)
        ax.set(xlabel="$x_{1}$", ylabel="$x_{2}$")

    def _draw_cells(self, ax):
        """The borders of the Voronoi cells, and the prototypes."""
        every = np.r_[self.points, self.prototypes]
        low, high = every.min(axis=0), every.max(axis=0)
        reach = 10.0 * np.where(high > low, high - low, 1.0)
        # four far points close every cell of a prototype; their own lie outside of the picture
        frame = (low + high) / 2 + reach * np.array([[-1, 0], [1, 0], [0, -1], [0, 1]])
        cells = Voronoi(np.r_[self.prototypes, frame] @ self.omega.T)
        corners = np.linalg.solve(self.omega, cells.vertices.T)
        for edge in cells.ridge_vertices:
            if -1 not in edge:
                ax.plot(*corners[:, edge], color=PALETTE["ink"], lw=1.0, zorder=3)
        kinds = self.prototype_classes
        kinds = np.zeros(len(self.prototypes), int) if kinds is None else kinds
        for c in np.unique(kinds):
            look = dots(int(c)) | {"s": 130, "edgecolors": PALETTE["ink"], "linewidths": 1.6}
            ax.scatter(*self.prototypes[kinds == c].T, zorder=5, **look)
        room = 0.05 * (high - low)
        ax.set(
            xlim=(low[0] - room[0], high[0] + room[0]), ylim=(low[1] - room[1], high[1] + room[1])
        )
