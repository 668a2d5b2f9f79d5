"""Regression of positive means: what the Poisson, gamma and Tweedie regressors share

`poisson.py` and `tweedie.py` have the problems, which Newton's method solves.
"""

from contextlib import suppress
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_array

from mlreplica.core.compat import Interval, StrOptions, _check_sample_weight, _fit_context
from mlreplica.core.formulas.deviance import deviances
from mlreplica.core.iterate import CallbackSupport, iterate
from mlreplica.core.linear import SPARSE, training_rows, weighted_rows
from mlreplica.core.rows.walk import Rows
from mlreplica.core.validation import new_rows, refuse_overflow

from .poisson import TINY, PoissonState, newton, thinned_start

LARGE = 1e30  # targets beyond it may have means beyond all floats, of single precision too


def check_amounts(y, power, log):
    """Raise unless the density of a power is positive at every y."""
    low = y.min()
    if power <= 0.0 or (low > 0.0 if power >= 2.0 else low >= 0.0):
        return
    known = {0.0: "HalfSquaredError", 1.0: "HalfPoissonLoss", 2.0: "HalfGammaLoss"}
    loss = known.get(power, "HalfTweedieLoss") if log else "HalfTweedieLossIdentity"
    raise ValueError(
        f"Some value(s) of y are out of the valid range of the loss '{loss}': "
        f"y must be {'>' if power >= 2.0 else '>='} 0, got {low:g}."
    )


class MeanRegressor(CallbackSupport, RegressorMixin, BaseEstimator):
    """Everything but the power, the link and the problem."""

    _parameter_constraints = {
        "alpha": [Interval(Real, 0.0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "solver": [StrOptions({"lbfgs", "newton-cholesky"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
        "n_jobs": [None, Integral],
    }

    def _family(self):
        """(p, whether the link is the logarithm)."""
        raise NotImplementedError

    def _problem(self, rows, y, s, alpha):
        """The problem that `newton` solves."""
        raise NotImplementedError

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit w and b.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Counts, rates or amounts: positive, or not negative if the power is below 2.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights s ≥ 0: how often a row counts; exposures, if y are rates.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        X, y = training_rows(self, X, y, accept_sparse=["csc", "csr"])
        power, log = self._family()
        check_amounts(y, power, log)
        X, y, s = weighted_rows(X, y, sample_weight)
        mean = float(s @ y / s.sum())
        refuse_overflow(self, **{"the mean of y": mean})
        if log and mean == 0.0 and self.fit_intercept and power >= 1.0:  # the best b is −∞
            return self._publish(X, np.zeros(X.shape[1]), np.log(TINY), TINY ** (2.0 - power), 0)
        if mean <= 0.0 and self.fit_intercept and (log or power != 0.0):
            raise ValueError(
                f"Predictions are positive, so that the mean of y must be too, got {mean:g}; use "
                "power=0 with link='identity'."
            )
        # in units of their mean: P is unit^(2−p) times itself, but for a constant
        unit = mean if log and self.fit_intercept else 1.0
        rows = Rows.of(X, intercept=self.fit_intercept, n_jobs=self.n_jobs, rotate=True)
        with rows.threads():
            problem = self._problem(rows, y / unit, s, self.alpha / unit ** (2.0 - power))
            self._solve(problem, mean, unit, X, y)
        if max(y.max(), -y.min()) > LARGE:
            refuse_overflow(self, predictions=self._means(X))
        return self

    def _solve(self, problem, mean, unit, X, y=None):
        """Minimise, from zero or from the last answer, and publish."""
        rows, (power, log) = problem.rows, self._family()
        scale, shift = unit ** (2.0 - power), np.log(unit)
        constant = shift * {1.0: -mean, 2.0: 1.0}.get(power, 0.0)
        certified = problem.convex and (self.alpha > 0 or rows.direct)

        def attributes(state):
            return {"coef_": state.w, "intercept_": state.b, "certificate_": state.gap}

        def in_units(states):
            for w, b, objective, gap, decrement, t in states:
                P = scale * objective + constant
                yield PoissonState(w, b + shift, P, scale * gap, scale * decrement, t)

        if self.warm_start and hasattr(self, "coef_"):
            v = rows.shifted(self.coef_, self.intercept_ - shift)
        else:
            v = thinned_start(problem)
        state = iterate(
            self,
            in_units(newton(problem, v)),
            max_iter=self.max_iter + 1,
            tol=self.tol**2 * (abs(mean or 1.0) ** (2.0 - power) if log else max(1.0, mean * mean)),
            watch="gap" if certified else "decrement",
            unit="steps",
            advice="raise max_iter, alpha or tol, or scale X",
            publish=attributes,
            X=X,
            y=y,
        )
        return self._publish(X, state.w, state.b, state.gap, self.n_iter_ - 1)

    def _publish(self, X, w, b, gap, steps):
        """Set the fitted attributes."""
        self.coef_ = w.astype(X.dtype, copy=False)
        self.intercept_ = X.dtype.type(b) if self.fit_intercept else 0.0
        self.certificate_, self.n_iter_ = gap, steps
        return self

    def predict(self, X):
        """Predict the mean: e^(X w + b), or X w + b with the link "identity".

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            One mean per row.
        """
        return self._means(new_rows(self, X, accept_sparse=SPARSE))

    def _means(self, X):
        """The mean of every checked row."""
        f = X @ self.coef_ + self.intercept_
        return np.exp(f) if self._family()[1] else f

    def score(self, X, y, sample_weight=None):
        """D², the share of the deviance that the model explains: 1 at best, 0 for a constant.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.

        Returns
        -------
        score : float
        """
        mean, (power, log) = self.predict(X), self._family()
        y = check_array(y, dtype=np.float64, order="C", ensure_2d=False, input_name="y")
        check_amounts(y, power, log)
        s = np.ones(len(y))
        if sample_weight is not None:
            s = _check_sample_weight(sample_weight, X, dtype=np.float64)
        constant = np.average(y, weights=s)
        return float(1.0 - (s @ deviances(y, mean, power)) / (s @ deviances(y, constant, power)))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        with suppress(TypeError, ValueError):  # a power that `fit` will refuse
            tags.target_tags.positive_only = bool(self._family()[0] > 0.0)
        return tags
