"""Curves: how scores and errors change with rows, parameters and complexity"""

import numpy as np
from joblib import parallel_config
from sklearn import model_selection

from mlreplica.inspection import bias_variance

from ._style import MARKERS, PALETTE, Display, axes, band, line


class Scored:
    """Two curves, told apart by dash and marker: what scikit-learn's displays lack."""

    @classmethod
    def from_estimator(cls, estimator, X, y, *, n_jobs=None, **options):
        """Fit, score and draw.

        Parameters
        ----------
        estimator : estimator
            What to fit on parts of the rows.
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Targets.
        n_jobs : int, default=None
            Threads.
        **options
            As in scikit-learn: `train_sizes` or `param_name` and `param_range`, `cv`, `scoring`,
            `score_type`, `ax` and so on.

        Returns
        -------
        display
        """
        with parallel_config(prefer="threads"):
            return super().from_estimator(estimator, X, y, n_jobs=n_jobs, **options)

    def plot(self, ax=None, **options):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to; new ones by default.
        **options
            As in scikit-learn.

        Returns
        -------
        display
            Itself.
        """
        super().plot(axes(ax), **options)
        for k, curve in enumerate(self.lines_ or []):
            look = ["Train", "Test"].index(curve.get_label())
            curve.set(**line(look), marker=MARKERS[look])
            if self.fill_between_:
                self.fill_between_[k].set(**band(look))
        self.ax_.legend(frameon=False)
        return self


class LearningCurveDisplay(Scored, model_selection.LearningCurveDisplay):
    """Scores on the rows trained on and on others, by the number of rows.

    scikit-learn's display in the house style, fitted on threads.

    Examples
    --------
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.linear_model import LogisticRegression
    >>> from mlreplica.plotting import LearningCurveDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = LearningCurveDisplay.from_estimator(
    ...     LogisticRegression(), X, y, shuffle=True, random_state=0
    ... )
    >>> display.test_scores.shape
    (5, 5)
    """


class ValidationCurveDisplay(Scored, model_selection.ValidationCurveDisplay):
    """Scores on the rows trained on and on others, by the value of a parameter.

    scikit-learn's display in the house style, fitted on threads.

    Examples
    --------
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.plotting import ValidationCurveDisplay
    >>> from mlreplica.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> display = ValidationCurveDisplay.from_estimator(
    ...     DecisionTreeClassifier(), X, y, param_name="max_depth", param_range=[1, 2, 3]
    ... )
    >>> display.test_scores.shape
    (3, 5)
    """


class BiasVarianceDisplay(Display):
    """Noise, bias² and variance: curves over a parameter, or one bar each.

    Parameters
    ----------
    result : BiasVariance
        What :func:`mlreplica.inspection.bias_variance` returns.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

    Examples
    --------
    >>> from mlreplica.datasets import load_diabetes
    >>> from mlreplica.plotting import BiasVarianceDisplay
    >>> from mlreplica.tree import DecisionTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> display = BiasVarianceDisplay.from_estimator(
    ...     DecisionTreeRegressor(),
    ...     X,
    ...     y,
    ...     param_name="max_depth",
    ...     param_range=[1, 3],
    ...     n_draws=30,
    ...     random_state=0,
    ... )
    >>> display.ax_.get_xlabel()
    'max_depth'
    """

    def __init__(self, result):
        self.result = result

    @classmethod
    def from_estimator(cls, estimator, source, y=None, *, ax=None, **options):
        """Measure and draw.

        Parameters
        ----------
        estimator : regressor
            What to fit on many training sets.
        source : callable or array-like
            A generator of training sets, or X.
        y : array-like of shape (n_samples,), default=None
            Targets, with X.
        ax : matplotlib Axes, default=None
            Where to draw; new ones by default.
        **options
            As :func:`mlreplica.inspection.bias_variance` takes them: `param_name`, `param_range`,
            `n_draws`, `random_state` and so on.

        Returns
        -------
        BiasVarianceDisplay
        """
        return cls(bias_variance(estimator, source, y, **options)).plot(ax=ax)

    def _draw(self, ax):
        found = self.result
        errors = found.standard_errors
        terms = {
            "error": (found.error, errors.error),
            "variance": (found.variance, errors.variance),
        }
        if np.all(np.isnan(found.bias2)):
            terms["noise + bias²"] = found.noise_and_bias2, errors.bias2
        else:
            terms |= {"bias²": (found.bias2, errors.bias2), "noise": (found.noise, errors.noise)}
        if found.param_range is None:
            names, numbers = list(terms), np.array(list(terms.values()))
            look = {"color": PALETTE["blue"], "ecolor": PALETTE["ink"], "capsize": 3}
            ax.barh(names, numbers[:, 0], xerr=2 * numbers[:, 1], **look)
            ax.invert_yaxis()
            ax.set_xlabel("squared error")
            return
        numeric = all(isinstance(value, int | float) for value in found.param_range)
        x = found.param_range if numeric else [str(value) for value in found.param_range]
        for k, (name, (term, se)) in enumerate(terms.items()):
            ax.plot(x, term, label=name, marker=MARKERS[k] if name != "noise" else None, **line(k))
            ax.fill_between(x, term - 2 * se, term + 2 * se, **band(k))
        ax.set(xlabel=found.param_name, ylabel="squared error")
        ax.legend(frameon=False)
