"""PoissonRegressor: Poisson regression with a logarithmic link; the problem is in `poisson.py`"""

import logging
from numbers import Integral, Real

import numpy as np
from scipy.special import xlogy
from sklearn.base import (
    BaseEstimator,
    RegressorMixin,
)
from sklearn.utils.validation import check_array

from mlreplica.core.card import Card
from mlreplica.core.compat import (
    Interval,
    StrOptions,
    _check_sample_weight,
    _fit_context,
)
from mlreplica.core.iterate import CallbackSupport, iterate
from mlreplica.core.linear import SPARSE, training_rows, weighted_rows
from mlreplica.core.rows.walk import Rows
from mlreplica.core.validation import new_rows

from .poisson import TINY, Counts, PoissonState, check_counts, newton, thinned_start

logger = logging.getLogger("mlreplica")


class PoissonRegressor(CallbackSupport, RegressorMixin, BaseEstimator):
    r"""Regression of counts: the logarithm of the mean is linear.

    Minimises :math:`\frac{1}{S}\sum_i s_i (e^{f_i} - y_i f_i) + \frac{\alpha}{2}\lVert w\rVert^2`
    over w and b, where :math:`f_i = x_i^\top w + b`, :math:`s_i` is the weight of row i (1 by
    default) and S the sum of the weights.

    Parameters
    ----------
    alpha : float, default=1
        Strength of the penalty; 0 for plain maximum likelihood. If columns are dependent and there
        is no penalty, of all best w the one of least norm is found.
    fit_intercept : bool, default=True
        Fit b; otherwise b = 0.
    solver : {"lbfgs", "newton-cholesky"}, default="lbfgs"
        Both names of scikit-learn are taken and give Newton's method, which ends at the same
        minimum: by Cholesky, or by conjugate gradients where there are more than 1500 columns and
        rows (256 columns if X is sparse).
    max_iter : int, default=100
        The most steps.
    tol : float, default=1e-4
        Stop when `certificate_` is at most tol² times the mean of y. For a problem of unit
        curvature that is a gradient of length `tol`.
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
        b. If y is zero in every row, the logarithm of 2⁻⁵², as that of 0 is not finite.
    certificate_ : float
        An upper bound on the distance of the objective from its minimum; infinite if none is
        known (no penalty and far from the minimum, or no penalty and conjugate gradients).
    n_iter_ : int
        Steps taken over all rows.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> from mlreplica.linear_model import PoissonRegressor
    >>> X = [[1, 2], [2, 3], [3, 4], [4, 3]]
    >>> y = [12, 17, 22, 21]
    >>> model = PoissonRegressor().fit(X, y)
    >>> model.coef_.round(3), round(float(model.intercept_), 3)
    (array([0.121, 0.158]), 2.089)
    >>> round(model.score(X, y), 3)
    0.99
    """

    card = Card(
        page="poisson-regression",
        checks="linear",
        onnx="log_linear",
        use="a count, or a rate with exposures as weights",
        good="predictions are positive; effects multiply; a certificate bounds its error",
        bad="assumes a variance equal to the mean",
        time="O(n p) per iteration of L-BFGS, O(n p²) per Newton step",
        memory="O(n p)",
        instead="HistGradientBoostingRegressor(loss='poisson') for curves and interactions",
    )

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

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit w and b.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Counts, or any other values ≥ 0, as rates.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights s ≥ 0: exposures, if y are counts divided by them.

        Returns
        -------
        self : PoissonRegressor
            The fitted estimator.
        """
        X, y = training_rows(self, X, y, accept_sparse=["csc", "csr"])
        check_counts(y)
        X, y, s = weighted_rows(X, y, sample_weight)
        mean = float(s @ y / s.sum())
        if mean == 0.0 and self.fit_intercept:
            return self._publish(X, np.zeros(X.shape[1]), np.log(TINY), TINY, 0)
        # counts in units of their mean: P is `unit` times (1) with y/unit, α/unit, plus a constant
        unit = mean if self.fit_intercept else 1.0
        rows = Rows.of(X, intercept=self.fit_intercept, n_jobs=self.n_jobs, rotate=True)
        with rows.threads():
            return self._solve(Counts.of(rows, y / unit, s, self.alpha / unit), mean, unit, X, y)

    def _solve(self, problem, mean, unit, X, y=None):
        """Minimise, from zero or from the last answer, and publish."""
        rows = problem.rows

        def attributes(state):
            return {"coef_": state.w, "intercept_": state.b, "certificate_": state.gap}

        def in_units(states):
            for state in states:
                w, b, objective, gap, decrement, t = state
                objective = unit * objective - (mean * np.log(unit) if self.fit_intercept else 0.0)
                yield PoissonState(w, b + np.log(unit), objective, unit * gap, unit * decrement, t)

        if self.warm_start and hasattr(self, "coef_"):
            v = rows.shifted(self.coef_, self.intercept_ - np.log(unit))
        else:
            v = thinned_start(problem)
        state = iterate(
            self,
            in_units(newton(problem, v)),
            max_iter=self.max_iter + 1,
            tol=self.tol**2 * (mean or 1.0),
            watch="gap" if self.alpha > 0 or rows.direct else "decrement",
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
        """Predict the mean e^(X w + b).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            One mean a row.
        """
        X = new_rows(self, X, accept_sparse=SPARSE)
        return np.exp(X @ self.coef_ + self.intercept_)

    def score(self, X, y, sample_weight=None):
        """D², the share of the deviance that the model explains: 1 at best, 0 for a constant.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their counts.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.

        Returns
        -------
        score : float
        """
        mean = self.predict(X)
        y = check_array(y, dtype=np.float64, order="C", ensure_2d=False, input_name="y")
        check_counts(y)
        s = np.ones(len(y))
        if sample_weight is not None:
            s = _check_sample_weight(sample_weight, X, dtype=np.float64)

        def deviance(mean):
            return s @ (xlogy(y, y / mean) - y + mean)

        return float(1.0 - deviance(mean) / deviance(np.average(y, weights=s)))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.positive_only = True
        return tags
