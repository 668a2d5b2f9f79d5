"""Models: a tree, and what features matter"""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mlreplica.inspection import permutation_importance
from mlreplica.tree import plot_tree

from ._style import PALETTE, axes, pyplot, style


class TreeDisplay:
    """A decision tree as boxes and lines.

    Parameters
    ----------
    tree : fitted tree
        What to draw.
    options : dict, default=None
        Of :func:`mlreplica.tree.plot_tree`: `feature_names`, `class_names`, `max_depth`, `filled` …

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

    Examples
    --------
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.ensemble import RandomForestClassifier
    >>> from mlreplica.plotting import TreeDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, y)
    >>> display = TreeDisplay.from_estimator(forest, member=2)
    >>> display.tree is forest.estimators_[2]
    True
    """

    def __init__(self, tree, options=None):
        self.tree, self.options = tree, options or {}

    @classmethod
    def from_estimator(cls, estimator, *, member=0, ax=None, **options):
        """Draw a tree, or one of an ensemble's.

        Parameters
        ----------
        estimator : estimator
            A tree, or an ensemble with `estimators_`.
        member : int, default=0
            Which tree of an ensemble.
        ax : matplotlib Axes, default=None
            Where to draw; new ones, as large as the tree needs, by default.
        **options
            `feature_names`, `class_names`, `max_depth`, `filled`, `impurity`, `proportion`,
            `precision`, `fontsize` …, as in :func:`mlreplica.tree.plot_tree`.

        Returns
        -------
        TreeDisplay
        """
        check_is_fitted(estimator)
        tree = estimator
        if not hasattr(tree, "tree_"):
            members = np.ravel(getattr(estimator, "estimators_", []))
            if not len(members) or not hasattr(members[0], "tree_"):
                raise TypeError(f"{type(estimator).__name__} is no tree and has none.")
            tree = members[member]
        names = getattr(estimator, "feature_names_in_", None)
        if names is not None:
            options = {"feature_names": list(names), **options}
        return cls(tree, options).plot(ax=ax)

    def plot(self, *, ax=None):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to; new ones, as large as the tree needs, by default.

        Returns
        -------
        TreeDisplay
            Itself.
        """
        plt = pyplot()
        if ax is None:
            depths, limit = self.tree.tree_.depths, self.options.get("max_depth")
            shown = depths if limit is None else np.minimum(depths, limit + 1)
            size = max(5.0, 1.7 * np.bincount(shown).max()), max(3.0, 1.25 * (shown.max() + 1))
            with plt.rc_context(style()):
                ax = plt.figure(figsize=size, layout="constrained").gca()
        plot_tree(self.tree, ax=ax, **self.options)
        self.ax_, self.figure_ = ax, ax.figure
        return self


class ImportanceDisplay:
    """Features by their importance, the largest on top.

    Parameters
    ----------
    importances : ndarray of shape (n_features,)
        One number a feature.
    errors : ndarray of shape (n_features,), default=None
        Standard deviations.
    feature_names : list of str, default=None
        Names; "x₁", "x₂" … by default.
    measure : str, default="importance"
        What the numbers are.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

    Examples
    --------
    >>> from mlreplica.datasets import load_diabetes
    >>> from mlreplica.ensemble import RandomForestRegressor
    >>> from mlreplica.plotting import ImportanceDisplay
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RandomForestRegressor(20, random_state=0).fit(X, y)
    >>> display = ImportanceDisplay.from_estimator(model)
    >>> display.measure
    'fall of impurity, as a share'
    """

    def __init__(self, importances, errors=None, feature_names=None, measure="importance"):
        self.importances = np.asarray(importances, dtype=float)
        self.errors, self.feature_names, self.measure = errors, feature_names, measure

    @classmethod
    def from_estimator(
        cls, estimator, X=None, y=None, *, feature_names=None, n_repeats=10, random_state=None,
        scoring=None, ax=None, most=20,
    ):  # fmt: skip
        """Measure and draw.

        Parameters
        ----------
        estimator : estimator
            Fitted.
        X, y : array-like, default=None
            Rows and targets, better such as the model has not seen: then importance is how much
            the score falls when a column is shuffled. Without them it is what the model itself
            says: `feature_importances_`, or the sizes of `coef_`.
        feature_names : list of str, default=None
            Names; those that the model has seen by default.
        n_repeats : int, default=10
            How often a column is shuffled.
        random_state : int, RandomState instance or None, default=None
            Shuffles.
        scoring : str or callable, default=None
            The score; the model's own by default.
        ax : matplotlib Axes, default=None
            Where to draw; new ones by default.
        most : int, default=20
            How many features to show.

        Returns
        -------
        ImportanceDisplay
        """
        check_is_fitted(estimator)
        if feature_names is None:
            feature_names = getattr(estimator, "feature_names_in_", None)
        if feature_names is None and hasattr(X, "columns"):
            feature_names = X.columns
        errors = None
        if X is not None:
            options = {"n_repeats": n_repeats, "random_state": random_state, "scoring": scoring}
            found = permutation_importance(estimator, X, y, **options)
            values, errors = found.importances_mean, found.importances_std
            measure = "fall of the score when shuffled"
        elif hasattr(estimator, "feature_importances_"):
            values, measure = estimator.feature_importances_, "fall of impurity, as a share"
        elif hasattr(estimator, "coef_"):
            weights = np.atleast_2d(np.abs(estimator.coef_))
            values, measure = weights.mean(axis=0), "size of the weight"
        else:
            raise TypeError(f"{type(estimator).__name__} has no importances: give X and y.")
        names = None if feature_names is None else [str(name) for name in feature_names]
        return cls(values, errors, names, measure).plot(ax=ax, most=most)

    @classmethod
    def from_values(cls, importances, *, errors=None, feature_names=None, ax=None, most=20):
        """Draw importances that are there already.

        Parameters
        ----------
        importances : array-like of shape (n_features,)
            Numbers.
        errors : array-like of shape (n_features,), default=None
            Standard deviations.
        feature_names : list of str, default=None
            Names.
        ax : matplotlib Axes, default=None
            Where to draw; new ones by default.
        most : int, default=20
            How many features to show.

        Returns
        -------
        ImportanceDisplay
        """
        return cls(importances, errors, feature_names).plot(ax=ax, most=most)

    def plot(self, *, ax=None, most=20):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to; new ones by default.
        most : int, default=20
            How many features to show.

        Returns
        -------
        ImportanceDisplay
            Itself.
        """
        order = np.argsort(-self.importances, kind="stable")[:most]
        ax = self.ax_ = axes(ax, figsize=(6.4, 1.2 + 0.32 * len(order)))
        self.figure_ = ax.figure
        names = self.feature_names or [f"$x_{{{j + 1}}}$" for j in range(len(self.importances))]
        errors = None if self.errors is None else np.asarray(self.errors)[order]
        look = {"color": PALETTE["blue"], "ecolor": PALETTE["ink"], "capsize": 2.5}
        ax.barh(range(len(order)), self.importances[order], xerr=errors, **look)
        ax.set_yticks(range(len(order)), [names[j] for j in order])
        ax.invert_yaxis()
        ax.grid(axis="y", visible=False)
        left_out = len(self.importances) - len(order)
        ax.set_xlabel(self.measure + (f" ({left_out} more not shown)" if left_out else ""))
        return self
