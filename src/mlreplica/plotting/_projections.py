"""Projections: variances of components, rows and columns in one picture, ellipses of covariance"""

import numpy as np

from ._style import MARKERS, PALETTE, SERIES, Display

NAMED = 15  # arrows that get a name


class ScreeDisplay(Display):
    """Variances of principal components as bars, and their running share as a line.

    Parameters
    ----------
    variance, share : ndarray of shape (n_components,)
        λ_j, and their shares of the total variance.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

    Examples
    --------
    >>> from mlreplica.datasets import load_wine
    >>> from mlreplica.decomposition import PCA
    >>> from mlreplica.plotting import ScreeDisplay
    >>> model = PCA(standardize=True).fit(load_wine().data)
    >>> ScreeDisplay.from_estimator(model).variance.shape
    (13,)
    """

    def __init__(self, variance, share):
        self.variance, self.share = np.asarray(variance), np.asarray(share)

    @classmethod
    def from_estimator(cls, estimator, *, ax=None):
        """Draw the variances of a fitted PCA, TruncatedSVD or IncrementalPCA.

        Parameters
        ----------
        estimator : estimator
            With `explained_variance_` and `explained_variance_ratio_`.
        ax : matplotlib Axes, default=None
            Where to draw; new ones by default.

        Returns
        -------
        ScreeDisplay
        """
        found = cls(estimator.explained_variance_, estimator.explained_variance_ratio_)
        return found.plot(ax=ax)

    def _draw(self, ax):
        j = np.arange(1, len(self.share) + 1)
        ax.bar(j, self.share, color=PALETTE["sky"], label="share")
        ax.plot(j, np.cumsum(self.share), color=PALETTE["orange"], marker="o", label="so far")
        ax.set(xlabel="component", ylabel="share of the variance", ylim=(0, 1.02))
        ax.legend()


class BiplotDisplay(Display):
    """Rows as points and columns as arrows, by two components.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, 2)
        Components of the rows.
    loadings : ndarray of shape (n_features, 2)
        Directions of the columns.
    names : list of str
        Names of the columns.
    y : array-like of shape (n_samples,), default=None
        Classes, shown by colour and marker.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

    Examples
    --------
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.decomposition import PCA
    >>> from mlreplica.plotting import BiplotDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> BiplotDisplay.from_estimator(PCA(2).fit(X), X, y).loadings.shape
    (4, 2)
    """

    def __init__(self, scores, loadings, names, y=None):
        self.scores, self.loadings = np.asarray(scores), np.asarray(loadings)
        self.names, self.y = list(names), None if y is None else np.asarray(y)

    @classmethod
    def from_estimator(cls, estimator, X, y=None, *, feature_names=None, ax=None):
        """Draw rows by the first two components of a fitted PCA.

        Parameters
        ----------
        estimator : PCA
            Fitted, with two components or more.
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), default=None
            Classes.
        feature_names : list of str, default=None
            Names of the columns.
        ax : matplotlib Axes, default=None
            Where to draw; new ones by default.

        Returns
        -------
        BiplotDisplay
        """
        table = estimator.explain(feature_names)
        if table.loadings.shape[1] < 2:
            raise ValueError("a biplot needs two components; fit with n_components >= 2.")
        scores = np.asarray(estimator.transform(X))[:, :2]
        return cls(scores, table.loadings[:, :2], table.names, y).plot(ax=ax)

    def _draw(self, ax):
        scatter_classes(ax, self.scores, self.y)
        longest = np.abs(self.loadings).max()
        size = 0.85 * np.abs(self.scores).max() / longest if longest > 0 else 1.0
        for name, (a, b) in list(zip(self.names, size * self.loadings, strict=True))[:NAMED]:
            arrow = {"arrowstyle": "->", "color": PALETTE["ink"]}
            ax.annotate("", (a, b), (0, 0), arrowprops=arrow)
            ax.text(1.04 * a, 1.04 * b, name, fontsize=8, color=PALETTE["ink"])
        ax.set(xlabel="first component", ylabel="second component")


class CovarianceEllipseDisplay(Display):
    """Points, and the ellipses of equal Mahalanobis distance of one or more covariances.

    Parameters
    ----------
    means : list of ndarray of shape (2,)
        Centres.
    covariances : list of ndarray of shape (2, 2)
        Shapes.
    names : list of str, default=None
        What each is.
    X, y : array-like of shape (n_samples, 2), (n_samples,), default=None
        Points and their classes.
    levels : tuple of float, default=(1.0, 2.0)
        Distances that are drawn.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.covariance import EmpiricalCovariance
    >>> from mlreplica.plotting import CovarianceEllipseDisplay
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> display = CovarianceEllipseDisplay.from_estimator(EmpiricalCovariance().fit(X), X)
    >>> len(display.means)
    1
    """

    def __init__(self, means, covariances, names=None, X=None, y=None, levels=(1.0, 2.0)):
        self.means, self.covariances = list(means), list(covariances)
        self.names, self.X, self.y, self.levels = names, X, y, levels

    @classmethod
    def from_estimator(cls, estimator, X=None, y=None, *, levels=(1.0, 2.0), ax=None):
        """Draw the ellipses of a covariance estimator, or of the classes of a discriminant.

        Parameters
        ----------
        estimator : estimator
            Fitted on two columns: of :mod:`mlreplica.covariance`, or a discriminant analysis with
            `store_covariance=True`.
        X, y : array-like of shape (n_samples, 2), (n_samples,), default=None
            Points and their classes.
        levels : tuple of float, default=(1.0, 2.0)
            Distances that are drawn.
        ax : matplotlib Axes, default=None
            Where to draw; new ones by default.

        Returns
        -------
        CovarianceEllipseDisplay
        """
        C = getattr(estimator, "covariance_", None)
        if C is None:
            raise ValueError("the model has no covariance_; fit it with store_covariance=True.")
        if np.shape(C)[-1] != 2:
            raise ValueError(
                f"ellipses need a model of two columns, got {np.shape(C)[-1]}; fit it on two of X."
            )
        if hasattr(estimator, "location_"):
            return cls([estimator.location_], [C], None, X, y, levels).plot(ax=ax)
        means = estimator.means_
        C = C if isinstance(C, list) else [C] * len(means)
        names = [str(name) for name in estimator.classes_]
        return cls(means, C, names, X, y, levels).plot(ax=ax)

    def _draw(self, ax):
        if self.X is not None:
            scatter_classes(ax, np.asarray(self.X), self.y)
        t = np.linspace(0, 2 * np.pi, 120)
        circle = np.array([np.cos(t), np.sin(t)])
        for k, (m, C) in enumerate(zip(self.means, self.covariances, strict=True)):
            values, V = np.linalg.eigh(np.asarray(C))
            A = V * np.sqrt(np.maximum(values, 0.0))
            for level in self.levels:
                line = np.asarray(m)[:, None] + level * (A @ circle)
                ax.plot(*line, color=PALETTE[SERIES[k % len(SERIES)]], lw=1.4)


def scatter_classes(ax, points, y):
    """Points, by colour and marker of their class."""
    if y is None:
        ax.scatter(*points.T[:2], s=12, color=PALETTE["sky"])
        return
    y = np.asarray(y)
    for k, name in enumerate(np.unique(y)):
        colour, marker = PALETTE[SERIES[k % len(SERIES)]], MARKERS[k % len(MARKERS)]
        ax.scatter(*points[y == name].T[:2], s=14, color=colour, marker=marker, label=str(name))
    ax.legend(fontsize=8)
