"""Boundaries: where in a plane a model changes its mind"""

import numpy as np
from sklearn.base import is_outlier_detector, is_regressor
from sklearn.utils.validation import check_is_fitted

from ._style import HATCHES, PALETTE, SERIES, Display, dots, line


class Plane:
    """A grid over two columns of X; the other columns stay at their medians.

    X may be an array or a data frame; columns are numbers or names.
    """

    def __init__(self, X, columns, resolution, margin):
        names = list(getattr(X, "columns", range(np.shape(X)[1])))
        self.columns = [names.index(c) if c in names else c for c in columns]
        if len(self.columns) != 2:
            raise ValueError(f"columns must be two columns of X, got {columns!r}.")
        self.frame = type(X) if hasattr(X, "columns") else None
        self.names = names
        self.values = np.asarray(X)
        pair = self.values[:, self.columns].astype(float)
        low, high = pair.min(axis=0), pair.max(axis=0)
        room = margin * np.where(high > low, high - low, 1.0)
        edges = zip(low - room, high + room, strict=True)
        self.points = pair
        self.xx0, self.xx1 = np.meshgrid(*(np.linspace(a, b, resolution) for a, b in edges))

    def labels(self):
        """Names of the two axes."""
        return [str(self.names[j]) if self.frame else f"$x_{{{j + 1}}}$" for j in self.columns]

    def answers(self, method):
        """What a method of a model says at every point of the grid."""
        fixed = np.median(self.values.astype(float), axis=0)
        rows = np.tile(fixed, (self.xx0.size, 1))
        rows[:, self.columns[0]], rows[:, self.columns[1]] = self.xx0.ravel(), self.xx1.ravel()
        if self.frame is not None:
            rows = self.frame(dict(zip(self.names, rows.T, strict=True)))
        return np.asarray(method(rows)).reshape(self.xx0.shape)


class DecisionBoundaryDisplay(Display):
    """What a model predicts over a plane: regions of classes, or level lines of numbers.

    Regions differ by hatch, points by marker, so that both are told apart without colour.

    Parameters
    ----------
    xx0, xx1 : ndarray of shape (m, m)
        The grid.
    response : ndarray of shape (m, m)
        The prediction at each point of it: the number of a class, or a number.
    classes : list or None, default=None
        Names of the classes; None for a regression.
    points : ndarray of shape (n_samples, 2), default=None
        Points to draw.
    y : ndarray of shape (n_samples,), default=None
        The number of the class of each, or its target.
    labels : list of str, default=("", "")
        Names of the axes.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

    Examples
    --------
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.plotting import DecisionBoundaryDisplay
    >>> from mlreplica.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DecisionTreeClassifier(max_depth=2).fit(X[:, 2:], y)
    >>> display = DecisionBoundaryDisplay.from_estimator(model, X[:, 2:], y)
    >>> display.ax_.get_xlabel()
    '$x_{1}$'
    """

    def __init__(self, xx0, xx1, response, classes=None, points=None, y=None, labels=("", "")):
        self.xx0, self.xx1, self.response = xx0, xx1, response
        self.classes, self.points, self.y, self.labels = classes, points, y, labels

    @classmethod
    def from_estimator(
        cls, estimator, X, y=None, *, columns=(0, 1), grid_resolution=200, margin=0.1, ax=None
    ):
        """Ask a model for its predictions on a grid, and draw them.

        Parameters
        ----------
        estimator : estimator
            Fitted.
        X : array-like or data frame of shape (n_samples, n_features)
            Rows: the grid lies round them, and they are drawn as points.
        y : array-like of shape (n_samples,), default=None
            Their targets; without them, points show what is predicted.
        columns : pair of int or str, default=(0, 1)
            The columns of the plane; the others stay at their medians.
        grid_resolution : int, default=200
            Points of the grid along each axis.
        margin : float, default=0.1
            Room round the rows, as a share of their range.
        ax : matplotlib Axes, default=None
            Where to draw; new ones by default.

        Returns
        -------
        DecisionBoundaryDisplay
        """
        check_is_fitted(estimator)
        plane = Plane(X, columns, grid_resolution, margin)
        response = plane.answers(estimator.predict)
        y = np.asarray(estimator.predict(X) if y is None else y)
        names = None
        if is_outlier_detector(estimator):
            names, values = ["outlier", "inlier"], np.array([-1, 1])
        elif not is_regressor(estimator):
            values = np.asarray(getattr(estimator, "classes_", np.unique(response)))
            names = [str(value) for value in values]
        if names is not None:
            response = np.searchsorted(values, response)
            y = np.searchsorted(values, y)
        display = cls(plane.xx0, plane.xx1, response, names, plane.points, y, plane.labels())
        return display.plot(ax=ax)

    @classmethod
    def from_predictions(cls, xx0, xx1, response, *, classes=None, points=None, y=None, ax=None):
        """Draw predictions that are there already.

        Parameters
        ----------
        xx0, xx1, response, classes, points, y
            As of the class itself.
        ax : matplotlib Axes, default=None
            Where to draw; new ones by default.

        Returns
        -------
        DecisionBoundaryDisplay
        """
        return cls(xx0, xx1, response, classes, points, y).plot(ax=ax)

    def _draw(self, ax):
        if self.classes is None:
            self._draw_levels(ax)
        else:
            self._draw_regions(ax)
        ax.grid(visible=False)
        ax.set(xlabel=self.labels[0], ylabel=self.labels[1])

    def _draw_regions(self, ax):
        """A tint and a hatch for each class, a line between them."""
        k = len(self.classes)
        grid, levels = (self.xx0, self.xx1, self.response), np.arange(k + 1) - 0.5
        tints = [PALETTE[SERIES[c % len(SERIES)]] for c in range(k)]
        ax.contourf(*grid, levels=levels, colors=tints, alpha=0.16)
        hatches = [HATCHES[c % len(HATCHES)] for c in range(k)]
        hatched = ax.contourf(*grid, levels=levels, colors="none", hatches=hatches)
        hatched.set(edgecolor=PALETTE["grid"], linewidth=0.0)
        for c in range(k):  # a line round every class, so that none is drawn between far numbers
            inside = (self.response == c).astype(float)
            if inside.any() and not inside.all():
                ax.contour(self.xx0, self.xx1, inside, levels=[0.5], colors=PALETTE["ink"])
        if self.points is not None:
            for c, name in enumerate(self.classes):
                ax.scatter(*self.points[self.y == c].T, label=name, zorder=3, **dots(c))
            ax.legend(
                loc="best",
                frameon=True,
                framealpha=0.9,
                facecolor=PALETTE["paper"],
                fontsize="small",
            )

    def _draw_levels(self, ax):
        """Level lines with their numbers, darker where higher."""
        filled = ax.contourf(self.xx0, self.xx1, self.response, levels=6, cmap="Blues", alpha=0.7)
        lines = ax.contour(
            self.xx0, self.xx1, self.response, levels=filled.levels, colors=PALETTE["ink"],
            linewidths=0.7,
        )  # fmt: skip
        ax.clabel(lines, fontsize=8)
        if self.points is not None:
            marks = {"c": self.y, "cmap": "Blues", "edgecolors": PALETTE["ink"], "linewidths": 0.6}
            ends = {"vmin": filled.levels[0], "vmax": filled.levels[-1]}
            ax.scatter(*self.points.T, s=22, zorder=3, **marks, **ends)


class MarginDisplay(Display):
    """A machine's margin: the lines f = −1, 0, +1, and the support vectors.

    Parameters
    ----------
    xx0, xx1, score : ndarray of shape (m, m)
        The grid, and f at each point of it.
    points : ndarray of shape (n_samples, 2)
        Rows.
    y : ndarray of shape (n_samples,)
        0 or 1: the class of each.
    support : ndarray of shape (n_support, 2)
        Support vectors.
    classes : list of str, default=("−", "+")
        Their names.
    levels : tuple of float, default=(-1.0, 0.0, 1.0)
        The values of f whose lines are drawn.
    labels : list of str, default=("", "")
        Names of the axes.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

    Examples
    --------
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.plotting import MarginDisplay
    >>> from mlreplica.svm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> X, y = X[:100, 2:], y[:100]
    >>> display = MarginDisplay.from_estimator(SVC(kernel="linear").fit(X, y), X, y)
    >>> len(display.support)
    2
    """

    def __init__(
        self, xx0, xx1, score, points, y, support, classes=("−", "+"), levels=(-1.0, 0.0, 1.0),
        labels=("", ""),
    ):  # fmt: skip
        self.xx0, self.xx1, self.score, self.points, self.y = xx0, xx1, score, points, y
        self.support, self.classes, self.levels = support, classes, levels
        self.labels = labels

    @classmethod
    def from_estimator(cls, estimator, X, y=None, *, grid_resolution=200, margin=0.1, ax=None):
        """Ask a machine of two classes, or one for outliers, for its scores on a grid.

        Parameters
        ----------
        estimator : estimator
            Fitted on two columns, with a `decision_function`: SVC, NuSVC, LinearSVC, OneClassSVM,
            or any other linear classifier.
        X : array-like or data frame of shape (n_samples, 2)
            The rows that it was fitted on.
        y : array-like of shape (n_samples,), default=None
            Their classes; not needed for OneClassSVM.
        grid_resolution : int, default=200
            Points of the grid along each axis.
        margin : float, default=0.1
            Room round the rows, as a share of their range.
        ax : matplotlib Axes, default=None
            Where to draw; new ones by default.

        Returns
        -------
        MarginDisplay
        """
        check_is_fitted(estimator)
        if np.shape(X)[1] != 2:
            raise ValueError(f"a margin is drawn over two columns, got {np.shape(X)[1]}.")
        outliers = is_outlier_detector(estimator)
        if not outliers and (y is None or len(estimator.classes_) != 2):
            raise ValueError("a margin is drawn between two classes: give y with two of them.")
        plane = Plane(X, (0, 1), grid_resolution, margin)
        score = plane.answers(estimator.decision_function)
        labels = plane.labels()
        if outliers:
            inside = (estimator.decision_function(X) >= 0).astype(int)
            support, names = np.asarray(estimator.support_vectors_), ["outlier", "inlier"]
            found = plane.points, inside, support, names, (0.0,), labels
            return cls(plane.xx0, plane.xx1, score, *found).plot(ax=ax)
        side = np.searchsorted(estimator.classes_, np.asarray(y))
        if hasattr(estimator, "support_vectors_"):
            support = np.asarray(estimator.support_vectors_)
        else:  # rows that have a part in the hinge loss
            z = (2 * side - 1) * estimator.decision_function(X)
            support = plane.points[z <= 1.0 + 1e-6]
        names = [str(c) for c in estimator.classes_]
        found = plane.points, side, support, names
        return cls(plane.xx0, plane.xx1, score, *found, labels=labels).plot(ax=ax)

    def _draw(self, ax):
        grid = self.xx0, self.xx1, self.score
        for level in self.levels:
            dash, width = ("solid", 1.8) if level == 0.0 else ("dashed", 1.2)
            ax.contour(
                *grid, levels=[level], colors=PALETTE["ink"], linestyles=dash, linewidths=width
            )
        for c, name in enumerate(self.classes):
            ax.scatter(*self.points[self.y == c].T, label=name, zorder=3, **dots(c))
        ring = {"facecolors": "none", "edgecolors": PALETTE["ink"], "linewidths": 1.1, "s": 110}
        count = len(self.support)
        ax.scatter(*self.support.T, label=f"support vectors ({count})", zorder=4, **ring)
        ax.plot([], [], **{**line(0), "color": PALETTE["ink"]}, label="f = 0")
        if len(self.levels) > 1:
            ax.plot([], [], "--", color=PALETTE["ink"], lw=1.2, label="f = ±1")
        ax.grid(visible=False)
        ax.set(xlabel=self.labels[0], ylabel=self.labels[1])
        ax.legend(
            loc="best", frameon=True, framealpha=0.9, facecolor=PALETTE["paper"], fontsize="small"
        )
