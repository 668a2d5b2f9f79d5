"""RANSAC: the estimator; the search is in `ransac.py`"""

import math
import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import (
    BaseEstimator,
    MetaEstimatorMixin,
    MultiOutputMixin,
    RegressorMixin,
    clone,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_consistent_length, check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from mlreplica.core.card import Card
from mlreplica.core.compat import (
    HasMethods,
    Interval,
    Options,
    RealNotInt,
    StrOptions,
    _fit_context,
    _raise_for_params,
    _routing_enabled,
    route_by_hand,
)
from mlreplica.core.compile.threads import one_blas_thread
from mlreplica.core.iterate import CallbackSupport, iterate
from mlreplica.core.linear import LinearPrediction, checked_weights
from mlreplica.core.validation import FLOATS, refuse_overflow, validate_data

from ..least_squares.linear_regression import LinearRegression
from .ransac import LOSSES, Consensus, RansacProblem, ransac

COUNTS = (
    "n_trials_", "n_skips_no_inliers_", "n_skips_invalid_data_", "n_skips_invalid_model_",
)  # fmt: skip


class RANSACRegressor(
    CallbackSupport, MetaEstimatorMixin, MultiOutputMixin, RegressorMixin, BaseEstimator
):
    """Regression by random sample consensus: the model that most rows agree with, (8).

    Parameters
    ----------
    estimator : estimator, default=None
        What is fitted; None for `LinearRegression`.
    min_samples : int or float, default=None
        Rows drawn for a trial, m; a float for a share of all. None for as many as determine a
        linear model, n_features + 1.
    residual_threshold : float, default=None
        The largest loss of an inlier, θ. None for the median absolute deviation of y from its
        median.
    is_data_valid : callable, default=None
        Function of the rows and targets drawn; if it returns False, the trial is skipped.
    is_model_valid : callable, default=None
        Function of the model, and the rows and targets it was fitted to; as `is_data_valid`.
    max_trials : int or inf, default=100
        The most trials. There are fewer if (9) asks for fewer.
    max_skips : int or inf, default=inf
        The most trials that may be skipped, for too few inliers or as invalid.
    stop_n_inliers : int or inf, default=inf
        Stop when so many rows (so much weight) agree.
    stop_score : float, default=inf
        Stop when the score on the inliers is as high.
    stop_probability : float, default=0.99
        The probability 1 − η of (9).
    loss : {"absolute_error", "squared_error"} or callable, default="absolute_error"
        The loss of each row, summed over targets; or a function of targets and predictions.
    random_state : int, RandomState instance or None, default=None
        Draws the rows.

    Attributes
    ----------
    estimator_ : estimator
        The model, fitted to the inliers.
    inlier_mask_ : ndarray of shape (n_samples,) of bool
        The rows that agree with the model of the best trial.
    n_trials_, n_iter_ : int
        Trials made.
    n_skips_no_inliers_ : int
        Trials skipped because fewer rows agreed than with the best model before.
    n_skips_invalid_data_, n_skips_invalid_model_ : int
        Trials skipped because `is_data_valid` or `is_model_valid` said so.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.linear_model import RANSACRegressor
    >>> x = np.arange(20.0)
    >>> y = 2 * x + 1
    >>> y[:9] = 40  # nearly half of the rows
    >>> model = RANSACRegressor(residual_threshold=0.5, random_state=0).fit(x[:, None], y)
    >>> model.estimator_.coef_.round(6), int(model.inlier_mask_.sum())
    (array([2.]), 11)
    """

    card = Card(
        page="huber-regression",
        checks="consensus",
        onnx="consensus",
        use="a number, where many rows are wrong, in X or in the target",
        good="up to half of the rows may be outliers, and more; any model; names the inliers",
        bad="random; needs a threshold; many columns need many trials",
        time="one fit to few rows and one prediction of all rows per trial",
        memory="O(n) beside the data",
        rescaling="as the model needs; the threshold is in the units of the target",
        instead="HuberRegressor if outliers are few or only in the target",
    )

    _parameter_constraints = {
        "estimator": [HasMethods(["fit", "score", "predict"]), None],
        "min_samples": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="both"),
            None,
        ],
        "residual_threshold": [Interval(Real, 0, None, closed="left"), None],
        "is_data_valid": [callable, None],
        "is_model_valid": [callable, None],
        "max_trials": [Interval(Integral, 0, None, closed="left"), Options(Real, {np.inf})],
        "max_skips": [Interval(Integral, 0, None, closed="left"), Options(Real, {np.inf})],
        "stop_n_inliers": [Interval(Integral, 0, None, closed="left"), Options(Real, {np.inf})],
        "stop_score": [Interval(Real, None, None, closed="both")],
        "stop_probability": [Interval(Real, 0, 1, closed="both")],
        "loss": [StrOptions({"absolute_error", "squared_error"}), callable],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator=None,
        *,
        min_samples=None,
        residual_threshold=None,
        is_data_valid=None,
        is_model_valid=None,
        max_trials: float = 100,
        max_skips=np.inf,
        stop_n_inliers=np.inf,
        stop_score=np.inf,
        stop_probability=0.99,
        loss: Any = "absolute_error",
        random_state=None,
    ):
        self.estimator = estimator
        self.min_samples = min_samples
        self.residual_threshold = residual_threshold
        self.is_data_valid = is_data_valid
        self.is_model_valid = is_model_valid
        self.max_trials = max_trials
        self.max_skips = max_skips
        self.stop_n_inliers = stop_n_inliers
        self.stop_score = stop_score
        self.stop_probability = stop_probability
        self.random_state = random_state
        self.loss = loss

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None, **fit_params):
        """Find the largest consensus, and fit the model to it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights s ≥ 0 of the consensus and of the fits; a row of weight 0 is never drawn.
        **fit_params : dict
            With metadata routing, what the model's `fit` and `score` ask for.

        Returns
        -------
        self : RANSACRegressor
            The fitted estimator.
        """
        _raise_for_params(fit_params, self, "fit")
        model, rng = self._model(), check_random_state(self.random_state)
        if self.estimator is not None and "random_state" in model.get_params(deep=False):
            model.set_params(random_state=self.random_state)
        linear = isinstance(model, LinearPrediction)
        of_X = {"accept_sparse": "csr", "ensure_all_finite": linear}
        of_y = {"ensure_2d": False}
        if linear:  # what every trial would convert
            of_X["dtype"] = of_y["dtype"] = FLOATS
        X, y = validate_data(self, X, y, validate_separately=(of_X, of_y))
        check_consistent_length(X, y)
        s, routed = self._weights(model, X, sample_weight, fit_params)
        candidates = np.arange(X.shape[0]) if s is None else np.flatnonzero(s)
        m, t = self._rows_per_trial(model, X.shape[1], len(candidates)), self.residual_threshold
        if t is None:
            t = np.median(np.abs(y[candidates] - np.median(y[candidates])))
        problem = RansacProblem(
            model, X, y, s, candidates, LOSSES.get(self.loss, self.loss), t,
            routed.estimator.fit, routed.estimator.score, self.is_data_valid, self.is_model_valid,
        )  # fmt: skip

        def publish(state):
            counts = dict(zip(COUNTS, state[3:], strict=True))
            if state.inliers is None:
                return counts
            problem.fit(problem.chosen(state.inliers))
            return {"estimator_": model, "inlier_mask_": state.inliers, **counts}

        with one_blas_thread():  # fits of few rows, by the hundred
            best = iterate(
                self,
                ransac(
                    problem, rng, m, max_trials=self.max_trials, max_skips=self.max_skips,
                    stop_weight=self.stop_n_inliers, stop_score=self.stop_score,
                    eta=1.0 - self.stop_probability,
                ),
                max_iter=self.max_trials,
                unit="trials",
                advice=None,
                publish=publish,
                X=X,
                y=y,
            )  # fmt: skip
        best = best or Consensus()
        vars(self).update(publish(best))
        self._judge(best)
        if linear:
            refuse_overflow(self, predictions=problem.predictions())
        return self

    def _model(self):
        """A new model, as given or the default."""
        return LinearRegression() if self.estimator is None else clone(self.estimator)

    def _weights(self, model, X, sample_weight, fit_params):
        """The weights, and what the model's methods are given."""
        s = None
        if sample_weight is not None:
            if not has_fit_parameter(model, "sample_weight"):
                raise ValueError(
                    f"{type(model).__name__} does not support sample_weight. Fit without weights, "
                    "or choose an estimator whose fit takes them."
                )
            s = checked_weights(sample_weight, X)
            fit_params = fit_params | {"sample_weight": s}
        if _routing_enabled():
            return s, process_routing(self, "fit", **fit_params)
        return s, route_by_hand(estimator={"fit": fit_params, "score": {}})

    def _rows_per_trial(self, model, p, n):
        """m"""
        m = self.min_samples
        if m is None:
            if type(model).__name__ != "LinearRegression":
                raise ValueError(
                    "`min_samples` needs to be explicitly set when estimator is not a "
                    f"LinearRegression, got {type(model).__name__}; it is the number of rows that "
                    "determine the model."
                )
            m = p + 1
        elif 0 < m < 1:
            m = math.ceil(m * n)
        if m > n:
            raise ValueError(
                f"`min_samples` may not be larger than number of samples: n_samples = {n}, "
                f"min_samples = {m}."
            )
        return int(m)

    def _judge(self, best):
        """Say so if there is no consensus, or if the search ended early."""
        exhausted = best.skipped > self.max_skips
        if best.inliers is not None and exhausted:
            warnings.warn(
                "RANSAC found a valid consensus set but exited early due to skipping more "
                "iterations than `max_skips`. See estimator attributes for diagnostics "
                f"(n_skips*): {best.skipped} of {self.n_trials_} trials were skipped.",
                ConvergenceWarning,
                stacklevel=4,
            )
        elif best.inliers is None:
            why = (
                "RANSAC skipped more iterations than `max_skips` without finding a valid consensus "
                "set."
                if exhausted
                else f"RANSAC could not find a valid consensus set in {self.n_trials_} trials."
            )
            raise ValueError(
                f"{why} Every subset drawn was invalid or had no inliers (n_skips_*_ count them); "
                "raise residual_threshold or max_trials."
            )

    def predict(self, X, **params):
        """Predict by the model fitted to the inliers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        **params : dict
            With metadata routing, what the model's `predict` asks for.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            One prediction per row (and target).
        """
        X, params = self._asked("predict", X, params)
        return self.estimator_.predict(X, **params)

    def score(self, X, y, **params):
        """The score of the model fitted to the inliers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        **params : dict
            With metadata routing, what the model's `score` asks for.

        Returns
        -------
        score : float
            R² for regressors.
        """
        X, params = self._asked("score", X, params)
        return self.estimator_.score(X, y, **params)

    def _asked(self, method, X, params):
        """X as the model's method takes it, and what it is given beside."""
        check_is_fitted(self)
        _raise_for_params(params, self, method)
        X = validate_data(self, X, ensure_all_finite=False, accept_sparse=True, reset=False)
        routed = process_routing(self, method, **params) if _routing_enabled() else None
        return X, routed.estimator[method] if routed else {}

    def get_metadata_routing(self):
        """Which parameters go to the model.

        Returns
        -------
        MetadataRouter
            The routes.
        """
        mapping = MethodMapping().add(caller="fit", callee="fit").add(caller="fit", callee="score")
        mapping.add(caller="score", callee="score").add(caller="predict", callee="predict")
        return MetadataRouter(owner=self).add(estimator=self._model(), method_mapping=mapping)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self._model()).input_tags.sparse
        return tags
