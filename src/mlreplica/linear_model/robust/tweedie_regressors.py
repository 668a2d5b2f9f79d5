"""Regressors of amounts: `GammaRegressor` and `TweedieRegressor`; `tweedie.py` has the solver"""

import logging
from contextlib import suppress
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_array

from mlreplica.core.card import Card
from mlreplica.core.compat import Interval, StrOptions, _check_sample_weight, _fit_context
from mlreplica.core.formulas.deviance import deviances
from mlreplica.core.iterate import CallbackSupport, iterate
from mlreplica.core.linear import SPARSE, training_rows, weighted_rows
from mlreplica.core.rows.walk import Rows
from mlreplica.core.validation import new_rows

from .poisson import TINY, PoissonState, newton, thinned_start
from .tweedie import Amounts

logger = logging.getLogger("mlreplica")


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


class TweedieFit(CallbackSupport, RegressorMixin, BaseEstimator):
    """What the regressors of amounts share: everything but the power and the link."""

    def _family(self):
        """(p, whether the link is the logarithm)."""
        raise NotImplementedError

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit w and b.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Amounts: positive, or not negative if the power is below 2.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights s ≥ 0: how often a row counts.

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
        if log and mean == 0.0 and self.fit_intercept and power >= 1.0:  # the best b is −∞
            return self._publish(X, np.zeros(X.shape[1]), np.log(TINY), TINY ** (2.0 - power), 0)
        if mean <= 0.0 and self.fit_intercept and (log or power != 0.0):
            raise ValueError(
                f"Predictions are positive, so that the mean of y must be too, got {mean:g}; use "
                "power=0 with link='identity'."
            )
        # amounts in units of their mean: (7) is unit^(2−p) times itself, but for a constant
        unit = mean if log and self.fit_intercept else 1.0
        scale, shift = unit ** (2.0 - power), np.log(unit)
        constant = shift * {1.0: -mean, 2.0: 1.0}.get(power, 0.0)
        rows = Rows.of(X, intercept=self.fit_intercept, n_jobs=self.n_jobs, rotate=True)
        problem = Amounts.of(rows, y / unit, s, self.alpha / scale, power, log)

        def attributes(state):
            return {"coef_": state.w, "intercept_": state.b, "certificate_": state.gap}

        def in_units(states):
            for w, b, objective, gap, decrement, t in states:
                P = scale * objective + constant
                yield PoissonState(w, b + shift, P, scale * gap, scale * decrement, t)

        certified = problem.convex and (self.alpha > 0 or rows.direct)
        with rows.threads():
            if self.warm_start and hasattr(self, "coef_"):
                v = rows.shifted(self.coef_, self.intercept_ - shift)
            else:
                v = thinned_start(problem)
            state = iterate(
                self,
                in_units(newton(problem, v)),
                max_iter=self.max_iter + 1,
                tol=self.tol**2 * (scale if log else max(1.0, mean * mean)),
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
        if self.verbose:
            logger.info("%d steps, objective within %.1e of its minimum", steps, gap)
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
        X = new_rows(self, X, accept_sparse=SPARSE)
        f = X @ self.coef_ + self.intercept_
        return np.exp(f) if self._family()[1] else f

    def score(self, X, y, sample_weight=None):
        """D², the share of the deviance that the model explains: 1 at best, 0 for a constant.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their amounts.
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


SHARED = {
    "alpha": [Interval(Real, 0.0, None, closed="left")],
    "fit_intercept": ["boolean"],
    "solver": [StrOptions({"lbfgs", "newton-cholesky"})],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0.0, None, closed="neither")],
    "warm_start": ["boolean"],
    "verbose": ["verbose"],
    "n_jobs": [None, Integral],
}


class GammaRegressor(TweedieFit):
    r"""Regression of positive amounts whose standard deviation grows with the mean.

    Minimises :math:`\frac{1}{S}\sum_i s_i (f_i + y_i e^{-f_i}) + \frac{\alpha}{2}\lVert w\rVert^2`
    over w and b, where :math:`f_i = x_i^\top w + b` is the logarithm of the mean, :math:`s_i` is
    the weight of row i (1 by default) and S the sum of the weights.

    Parameters
    ----------
    alpha : float, default=1
        Strength of the penalty; 0 for plain maximum likelihood.
    fit_intercept : bool, default=True
        Fit b; otherwise b = 0.
    solver : {"lbfgs", "newton-cholesky"}, default="lbfgs"
        Both names of scikit-learn are taken and give Newton's method, which ends at the same
        minimum.
    max_iter : int, default=100
        The most steps.
    tol : float, default=1e-4
        Stop when `certificate_` is at most tol².
    warm_start : bool, default=False
        Start from the answer of the last fit.
    verbose : int, default=0
        Positive: report to the logger "mlreplica" how the fit went.
    n_jobs : int, default=None
        Threads; None means all.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        w.
    intercept_ : float
        b.
    certificate_ : float
        An upper bound on the distance of the objective from its minimum; infinite if none is known.
    n_iter_ : int
        Steps taken over all rows.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> from mlreplica.linear_model import GammaRegressor
    >>> X = [[1, 2], [2, 3], [3, 4], [4, 3]]
    >>> y = [19, 26, 33, 30]
    >>> model = GammaRegressor().fit(X, y)
    >>> round(model.score(X, y), 3)
    0.773
    """

    card = Card(
        page="poisson-regression",
        checks="linear",
        onnx="log_linear",
        by_name=True,  # one zero in y, and it refuses
        use="a positive amount with errors in per cent: claims, durations, rainfall",
        good="predictions are positive; effects multiply; a certificate bounds its error",
        bad="refuses zeros; assumes a standard deviation in proportion to the mean",
        time="O(n p²) per Newton step, some 5 steps",
        memory="O(n p)",
        instead="TweedieRegressor(power=1.5) if there are zeros; HuberRegressor on log y",
    )

    _parameter_constraints = SHARED

    def __init__(
        self,
        *,
        alpha=1.0,
        fit_intercept=True,
        solver="lbfgs",
        max_iter=100,
        tol=1e-4,
        warm_start=False,
        verbose=0,
        n_jobs=None,
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.n_jobs = n_jobs

    def _family(self):
        """Gamma: p = 2 and the logarithm."""
        return 2.0, True


class TweedieRegressor(TweedieFit):
    r"""Regression for variances that grow like a power of the mean.

    Minimises half the mean deviance of y from its mean :math:`\mu`, and
    :math:`\frac{\alpha}{2}\lVert w\rVert^2`, where :math:`x^\top w + b` is :math:`\log\mu` or
    :math:`\mu`, as the link says.

    Parameters
    ----------
    power : float, default=0
        p: the variance grows like the mean to the power p. 0: normal, 1: Poisson, between 1 and 2:
        amounts with zeros (compound Poisson), 2: gamma, 3: inverse Gaussian.
    alpha : float, default=1
        Strength of the penalty; 0 for plain maximum likelihood.
    fit_intercept : bool, default=True
        Fit b; otherwise b = 0.
    link : {"auto", "identity", "log"}, default="auto"
        What the linear function is: the mean or its logarithm; "auto" is "identity" for a power of
        at most 0, else "log".
    solver : {"lbfgs", "newton-cholesky"}, default="lbfgs"
        Both names of scikit-learn are taken and give Newton's method.
    max_iter : int, default=100
        The most steps.
    tol : float, default=1e-4
        Stop when `certificate_` is at most tol², in units of the mean of y to the power 2 − p; when
        the Newton decrement is, if the problem is not convex.
    warm_start : bool, default=False
        Start from the answer of the last fit.
    verbose : int, default=0
        Positive: report to the logger "mlreplica" how the fit went.
    n_jobs : int, default=None
        Threads; None means all.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        w.
    intercept_ : float
        b.
    certificate_ : float
        An upper bound on the distance of the objective from its minimum; infinite if none is known,
        as outside 1 ≤ p ≤ 2, where the objective is not convex in w (but for p = 0 and the link
        "identity").
    n_iter_ : int
        Steps taken over all rows.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> from mlreplica.linear_model import TweedieRegressor
    >>> X = [[1, 2], [2, 3], [3, 4], [4, 3]]
    >>> y = [2, 3.5, 5, 5.5]
    >>> model = TweedieRegressor().fit(X, y)
    >>> round(model.score(X, y), 3)
    0.84
    """

    card = Card(
        page="poisson-regression",
        checks="linear",
        by_name=True,  # its default is Ridge
        use="amounts with many exact zeros, as insurance claims per policy (1 < power < 2)",
        good="one model for zeros and sizes; a certificate bounds its error for 1 ≤ power ≤ 2",
        bad="the power must be chosen; not convex for powers below 1 and above 2",
        time="O(n p²) per Newton step, some 5 steps",
        memory="O(n p)",
        instead="PoissonRegressor for counts; GammaRegressor for positive amounts",
    )

    _parameter_constraints = {
        "power": [Interval(Real, None, None, closed="neither")],
        **SHARED,
        "link": [StrOptions({"auto", "identity", "log"})],
    }

    def __init__(
        self,
        *,
        power=0.0,
        alpha=1.0,
        fit_intercept=True,
        link="auto",
        solver="lbfgs",
        max_iter=100,
        tol=1e-4,
        warm_start=False,
        verbose=0,
        n_jobs=None,
    ):
        self.power = power
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.link = link
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.n_jobs = n_jobs

    def _family(self):
        """(p, whether the link is the logarithm)."""
        return float(self.power), self.power > 0 if self.link == "auto" else self.link == "log"
