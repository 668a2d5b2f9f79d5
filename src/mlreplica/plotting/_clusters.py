"""Clusters: rows by group in a plane, trees of joins, and what speaks for each number of groups"""

import numpy as np

from ._style import MARKERS, PALETTE, Display, dots, line

DEVIATIONS = 1.0, 2.0  # of the ellipses of a mixture
TITLES = {
    "silhouette": "silhouette (high)",
    "bic": "BIC (low)",
    "gap": "gap (high)",
    "stability": "stability (high)",
}


class ClusterDisplay(Display):
    """Rows in a plane, by cluster; noise in grey, centres as stars, components as ellipses.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, 2)
        Where the rows are drawn.
    labels : ndarray of shape (n_samples,)
        Clusters; negative for noise.
    centers : ndarray of shape (n_clusters, 2), default=None
    covariances : ndarray of shape (n_clusters, 2, 2), default=None
        Of the components of a mixture, in the plane.
    names : tuple of str, default=("x₁", "x₂")
        Names of the axes.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

    Examples
    --------
    >>> from mlreplica.cluster import KMeans
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.plotting import ClusterDisplay
    >>> X = load_iris().data
    >>> ClusterDisplay.from_estimator(KMeans(3, random_state=0).fit(X), X).centers.shape
    (3, 2)
    """

    def __init__(self, Z, labels, centers=None, covariances=None, names=("x₁", "x₂")):
        self.Z, self.labels, self.names = np.asarray(Z), np.asarray(labels), names
        self.centers, self.covariances = centers, covariances

    @classmethod
    def from_estimator(cls, estimator, X, *, ax=None):
        """Draw the clusters of a fitted model, by the first two principal components if p > 2.

        Parameters
        ----------
        estimator : clusterer or mixture
            Fitted to X, or able to predict.
        X : array-like of shape (n_samples, n_features)
        ax : matplotlib Axes, default=None

        Returns
        -------
        ClusterDisplay
        """
        X = np.asarray(X, dtype=float)
        fitted = getattr(estimator, "labels_", None)
        labels = fitted if fitted is not None and len(fitted) == len(X) else estimator.predict(X)
        mean, axes, names = np.zeros(X.shape[1]), np.eye(X.shape[1])[:2], ("x₁", "x₂")
        if X.shape[1] > 2:
            mean, names = X.mean(axis=0), ("first component", "second component")
            axes = np.linalg.svd(X - mean, full_matrices=False)[2][:2]
        elif X.shape[1] == 1:
            axes = np.array([[1.0], [0.0]])
        plane = lambda rows: (np.asarray(rows, dtype=float) - mean) @ axes.T
        centers = getattr(estimator, "cluster_centers_", getattr(estimator, "means_", None))
        spread = None
        if hasattr(estimator, "covariances_"):
            spread = axes @ full_covariances(estimator, X.shape[1]) @ axes.T
        found = cls(plane(X), labels, None if centers is None else plane(centers), spread, names)
        return found.plot(ax=ax)

    def _draw(self, ax):
        noise = self.labels < 0
        if noise.any():
            ax.plot(*self.Z[noise].T, "x", ms=3, color=PALETTE["muted"], label="noise")
        for c in np.unique(self.labels[~noise]):
            ax.scatter(*self.Z[self.labels == c].T, label=str(c), **dots(c) | {"s": 16})
        if self.covariances is not None:
            turn = np.linspace(0, 2 * np.pi, 73)
            circle = np.array([np.cos(turn), np.sin(turn)])
            for mean, S in zip(self.centers, self.covariances, strict=True):
                values, U = np.linalg.eigh(S)
                for r in DEVIATIONS:
                    oval = mean[:, None] + r * (U * np.sqrt(np.maximum(values, 0.0))) @ circle
                    ax.plot(*oval, color=PALETTE["ink"], lw=0.9)
        if self.centers is not None:
            ax.plot(*np.asarray(self.centers).T, "*", ms=12, color=PALETTE["ink"])
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        if len(np.unique(self.labels)) <= 10:
            ax.legend(title="cluster")


def full_covariances(mixture, p):
    """The covariance matrices of a mixture, whatever their kind."""
    S, kind, K = mixture.covariances_, mixture.covariance_type, len(mixture.means_)
    if kind == "tied":
        return np.broadcast_to(S, (K, p, p))
    return S if kind == "full" else np.array([np.diag(np.broadcast_to(s, p)) for s in S])


class DendrogramDisplay(Display):
    """A tree of joins: every bracket joins two clusters, at the height of their distance.

    Parameters
    ----------
    children : ndarray of shape (n_samples - 1, 2)
        The two nodes of each join; join k makes node n_samples + k.
    heights : ndarray of shape (n_samples - 1,)
    n_shown : int, default=30
        The last joins that are drawn; what is below them is drawn as one leaf.
    cut : float, default=None
        A height at which a line cuts the tree.
    names : list of str, default=None
        Names of the rows.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

    Examples
    --------
    >>> from mlreplica.cluster import AgglomerativeClustering
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.plotting import DendrogramDisplay
    >>> model = AgglomerativeClustering(3, compute_distances=True).fit(load_iris().data)
    >>> DendrogramDisplay.from_estimator(model).heights.shape
    (149,)
    """

    def __init__(self, children, heights, *, n_shown=30, cut=None, names=None):
        self.children, self.heights = np.asarray(children, dtype=int), np.asarray(heights)
        self.n_shown, self.cut, self.names = n_shown, cut, names

    @classmethod
    def from_estimator(cls, estimator, *, n_shown=30, names=None, ax=None):
        """Draw the tree of a fitted AgglomerativeClustering or HDBSCAN.

        Parameters
        ----------
        estimator : AgglomerativeClustering or HDBSCAN
            The former with `distances_`: compute_distances=True or a distance_threshold.
        n_shown : int, default=30
        names : list of str, default=None
        ax : matplotlib Axes, default=None

        Returns
        -------
        DendrogramDisplay
        """
        cut = None
        if hasattr(estimator, "single_linkage_tree_"):
            children, heights = np.split(estimator.single_linkage_tree_[:, :3], [2], axis=1)
            heights = heights[:, 0]
        elif hasattr(estimator, "distances_"):
            children, heights = estimator.children_, estimator.distances_
            k = estimator.n_clusters_
            if 1 < k <= len(heights):
                cut = (heights[-k] + heights[1 - k]) / 2
        else:
            raise ValueError("No heights: fit with compute_distances=True.")
        return cls(children, heights, n_shown=n_shown, cut=cut, names=names).plot(ax=ax)

    def _draw(self, ax):
        n = len(self.children) + 1
        first = max(0, n - 1 - self.n_shown)  # joins before this one are hidden
        leaves, todo = [], [2 * n - 2]
        while todo:
            node = todo.pop()
            if node < n + first:
                leaves.append(node)
            else:
                todo += [*self.children[node - n][::-1]]
        across = dict(zip(leaves, range(len(leaves)), strict=True))
        top = {leaf: 0.0 if leaf < n else self.heights[leaf - n] for leaf in leaves}
        for k in range(first, n - 1):
            a, b = self.children[k]
            x, h = (across[a], across[b]), self.heights[k]
            above = self.cut is not None and h > self.cut
            ax.plot(
                [x[0], x[0], x[1], x[1]], [top[a], h, h, top[b]],
                color=PALETTE["muted" if above else "blue"], lw=1.2,
            )  # fmt: skip
            across[n + k], top[n + k] = sum(x) / 2, h
        if self.cut is not None:
            ax.axhline(self.cut, color=PALETTE["orange"], ls="--")
        size = self._sizes()
        said = [self._name(leaf) if leaf < n else f"({size[leaf - n]})" for leaf in leaves]
        ax.set_xticks(range(len(leaves)), said, rotation=90, fontsize=7)
        ax.set(ylabel="height", ylim=(0, None))

    def _name(self, row):
        return str(row) if self.names is None else str(self.names[row])

    def _sizes(self):
        """How many rows are below each join."""
        n, size = len(self.children) + 1, []
        for pair in self.children:
            size.append(sum(1 if node < n else size[node - n] for node in pair))
        return size


class ChooseKDisplay(Display):
    """What each criterion of `choose_k` says of each number of clusters.

    Parameters
    ----------
    found : ChosenK
        The result of `mlreplica.cluster.choose_k`.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

    Examples
    --------
    >>> from mlreplica.cluster import choose_k
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.plotting import ChooseKDisplay
    >>> found = choose_k(load_iris().data, ks=range(1, 5), random_state=0)
    >>> ChooseKDisplay(found).plot().found.ks
    array([1, 2, 3, 4])
    """

    def __init__(self, found):
        self.found = found

    def _draw(self, ax):
        ks = self.found.ks
        for t, (name, score) in enumerate(self.found.scores.items()):
            low, high = np.nanmin(score), np.nanmax(score)
            y = (score - low) / (high - low) if high > low else np.zeros(len(ks))
            look = line(t)
            ax.plot(ks, y, marker=MARKERS[t % len(MARKERS)], label=TITLES[name], **look)
            k = self.found.votes[name]
            if k in ks and np.isfinite(y[ks == k]).all():
                ax.plot([k], y[ks == k], "o", ms=13, mfc="none", color=look["color"])
        ax.axvline(self.found.k, color=PALETTE["muted"], ls="--")
        ax.set(xlabel="number of clusters", ylabel="from least to most", xticks=ks)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncol=2)
