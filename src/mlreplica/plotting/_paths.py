"""Paths: weights against the penalty, and objectives against the steps of a fit"""

import numpy as np
from sklearn.base import clone

from mlreplica.callbacks import Trace

from ._style import PALETTE, Display, line

NAMED = 6  # curves that get a colour, a dash and a name
FEW = 40  # steps that are marked each


class CoefficientPathDisplay(Display):
    """The weights of a linear model, one curve each, as the penalty goes from strong to weak.

    The six largest have names, the others are grey.

    Parameters
    ----------
    values : ndarray of shape (m,)
        The values of the parameter.
    coefs : ndarray of shape (n_features, m)
        The weights at each of them.
    param_name : str, default="alpha"
        Its name; alpha falls from left to right, C rises.
    feature_names : list of str, default=None
        Names of the weights; "w₁", "w₂" … by default.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

    Examples
    --------
    >>> from mlreplica.datasets import load_diabetes
    >>> from mlreplica.linear_model import Lasso
    >>> from mlreplica.plotting import CoefficientPathDisplay
    >>> X, y = load_diabetes(return_X_y=True)
    >>> display = CoefficientPathDisplay.from_estimator(Lasso(), X, y)
    >>> display.coefs.shape
    (10, 60)
    """

    def __init__(self, values, coefs, param_name="alpha", feature_names=None):
        self.values, self.coefs, self.param_name = np.asarray(values), np.asarray(coefs), param_name
        self.feature_names = feature_names

    @classmethod
    def from_estimator(
        cls, estimator, X, y, *, param_name=None, param_range=None, feature_names=None, ax=None
    ):
        """Fit a model for every value of a parameter, and draw its weights.

        Parameters
        ----------
        estimator : estimator
            A linear model; two classes, if it is a classifier.
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Targets.
        param_name : str, default=None
            The parameter; alpha or else C by default.
        param_range : array-like, default=None
            Its values. By default 60 of them: for an L1 penalty from the least alpha at which all
            weights are zero to a thousandth of it, else from 10⁻⁴ to 10⁴.
        feature_names : list of str, default=None
            Names of the weights; the columns of a data frame by default.
        ax : matplotlib Axes, default=None
            Where to draw; new ones by default.

        Returns
        -------
        CoefficientPathDisplay
        """
        if param_name is None:
            param_name = "alpha" if "alpha" in estimator.get_params() else "C"
        if param_range is None:
            param_range = default_range(estimator, X, y)
        param_range = np.sort(np.asarray(param_range, dtype=float))
        models = [
            clone(estimator).set_params(**{param_name: value}).fit(X, y) for value in param_range
        ]
        coefs = np.array([np.ravel(model.coef_) for model in models]).T
        if feature_names is None and hasattr(X, "columns"):
            feature_names = [str(name) for name in X.columns]
        return cls(param_range, coefs, param_name, feature_names).plot(ax=ax)

    @classmethod
    def from_path(cls, alphas, coefs, *, param_name="alpha", feature_names=None, ax=None):
        """Draw a path that is there already, as `lasso_path` and `enet_path` return it.

        Parameters
        ----------
        alphas : array-like of shape (m,)
            Values of the parameter.
        coefs : array-like of shape (n_features, m)
            Weights at each of them.
        param_name : str, default="alpha"
            Its name.
        feature_names : list of str, default=None
            Names of the weights.
        ax : matplotlib Axes, default=None
            Where to draw; new ones by default.

        Returns
        -------
        CoefficientPathDisplay
        """
        return cls(alphas, coefs, param_name, feature_names).plot(ax=ax)

    def _draw(self, ax):
        p = len(self.coefs)
        names = self.feature_names or [f"$w_{{{j + 1}}}$" for j in range(p)]
        largest = np.argsort(-np.abs(self.coefs).max(axis=1), kind="stable")
        for j in largest[NAMED:]:
            ax.plot(self.values, self.coefs[j], color=PALETTE["muted"], lw=0.8, alpha=0.6)
        for k, j in enumerate(largest[:NAMED]):
            ax.plot(self.values, self.coefs[j], label=names[j], **line(k))
        if (self.values > 0).all():
            ax.set_xscale("log")
        if self.param_name == "alpha":
            ax.set_xlim(self.values.max(), self.values.min())
        ax.axhline(0.0, color=PALETTE["ink"], lw=0.6)
        ax.set(xlabel=self.param_name, ylabel="weight")
        rest = f"and {p - NAMED} more in grey" if p > NAMED else None
        ax.legend(title=rest, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)


def default_range(estimator, X, y):
    """Values of a penalty from so strong that nothing is left to so weak that little changes."""
    share = getattr(estimator, "l1_ratio", None)
    if "alpha" not in estimator.get_params() or not share or not hasattr(estimator, "path"):
        return np.geomspace(1e-4, 1e4, 60)
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    X, y = X - X.mean(axis=0), y - y.mean()
    top = np.abs(X.T @ y).max() / (len(y) * share)  # all weights are zero from here on
    return np.geomspace(1e-3 * top, top, 60)


class ConvergenceDisplay(Display):
    """How a fit came to its end: the objective above its best value, and the certificate.

    Both are in the units of the objective. The gap is what the solver knows: the objective is not
    further above the minimum than that, so its curve lies above the other one.

    Parameters
    ----------
    curves : dict of str to array-like
        `step` and the fields of a trace that are one number a step.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

    Examples
    --------
    >>> from mlreplica.datasets import load_diabetes
    >>> from mlreplica.plotting import ConvergenceDisplay
    >>> from mlreplica.svm import LinearSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> display = ConvergenceDisplay.from_estimator(LinearSVR(random_state=0), X, y)
    >>> sorted(display.curves)
    ['error', 'gap', 'objective', 'step']
    """

    def __init__(self, curves):
        self.curves = {name: np.asarray(values, dtype=float) for name, values in curves.items()}
        if len(self.curves.get("step", ())) == 0:
            raise ValueError("the trace is empty: this solver has no steps, or nothing was fitted.")

    @classmethod
    def from_estimator(cls, estimator, X, y=None, *, ax=None):
        """Fit a copy of a model, watched, and draw.

        Parameters
        ----------
        estimator : estimator
            One that takes callbacks.
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), default=None
            Targets.
        ax : matplotlib Axes, default=None
            Where to draw; new ones by default.

        Returns
        -------
        ConvergenceDisplay
        """
        if not hasattr(estimator, "set_callbacks"):
            raise TypeError(f"{type(estimator).__name__} is fitted in one step: no callbacks.")
        trace = Trace()
        clone(estimator).set_callbacks(trace).fit(X, y)
        return cls.from_trace(trace, ax=ax)

    @classmethod
    def from_trace(cls, trace, *, ax=None):
        """Draw what a `Trace` has recorded.

        Parameters
        ----------
        trace : Trace
            After a fit.
        ax : matplotlib Axes, default=None
            Where to draw; new ones by default.

        Returns
        -------
        ConvergenceDisplay
        """
        return cls(trace.scalars()).plot(ax=ax)

    def _draw(self, ax):
        step = self.curves["step"]
        name = next((n for n in ("objective", "loss", "train_loss") if n in self.curves), None)
        gap = self.curves.get("gap")
        if gap is None:
            shown = [name, "validation_loss"] if name else [n for n in self.curves if n != "step"]
            shown = [n for n in shown if np.isfinite(self.curves.get(n, np.nan)).any()]
            for k, n in enumerate(shown):
                ax.plot(step, self.curves[n], label=n, **line(k))
            ax.set(xlabel="step", ylabel=(name or "value"))
            ax.legend(frameon=False)
            return
        positive, few = gap > 0, len(step) <= FEW
        ax.plot(
            step[positive],
            gap[positive],
            marker="o" if few else None,
            label="duality gap",
            **line(1),
        )
        if name:
            above = self.curves[name] - self.curves[name].min()
            seen = above > 0
            label = "objective above its last value"
            ax.plot(step[seen], above[seen], marker="s" if few else None, label=label, **line(0))
        if positive.any():
            ax.set_yscale("log")
        ax.set(xlabel="step", ylabel="units of the objective")
        ax.legend(frameon=False)
