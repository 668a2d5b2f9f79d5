"""Grid and random search: cross-validate every setting, keep the best

    S(θ) = 1/K Σ_k s(f_θ trained without fold k, fold k),                                        (1)

    θ̂ = argmax over the settings of S(θ)                                                         (2)

    for every fold: cut its rows once, fit all settings, score each at once

Fits of one fold share what they have in common (`_settings.py`). Everything else is scikit-learn's:
parameters, `cv_results_`, refit, methods. What the loop does not know (callbacks, verbosity,
metadata routing, Gram matrices as input, a fit that fails with a number for `error_score`) is left
to scikit-learn's own loop.
"""

import time
from copy import copy
from numbers import Integral, Number
from typing import Any

import numpy as np
import sklearn.metrics
from sklearn.base import ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.model_selection import ParameterGrid, ParameterSampler, check_cv
from sklearn.utils import assert_all_finite, get_tags, indexable
from sklearn.utils.validation import has_fit_parameter

from mlreplica import metrics
from mlreplica.core.card import Card
from mlreplica.core.compat import (
    BaseSearchCV,
    Interval,
    _check_method_params,
    _fit_context,
    _routing_enabled,
)
from mlreplica.core.compile.threads import run
from mlreplica.core.validation import FLOATS

from ._settings import Fold, fit_settings


def small_model():
    """A model for the warm-up."""
    from mlreplica.linear_model import LogisticRegression

    return LogisticRegression()


CARD = Card(
    page="searching-settings",
    checks="search",
    task="classification",
    input="members",
    cheap=lambda: {"estimator": small_model(), "param_grid": {"C": [0.1, 1.0]}, "cv": 2},
    use="the settings of a model, by cross-validation",
    good="every setting is scored alike; models of this package share work among settings",
    bad="the winning score is too good: part of it is luck",
    time="settings times folds, less what is shared",
    memory="one fold and its models",
    rescaling="as the model needs; put the scaling into a pipeline",
    missing="as the model does",
    instead="RidgeCV, LassoCV, LogisticRegressionCV; nested_cross_validate for an honest score",
)
SHARED = """scoring : str, callable, list, tuple or dict, default=None
        How models are scored; None for their `score`.
    n_jobs : int, default=None
        Folds at once, on threads; None for one.
    refit : bool, str or callable, default=True
        Fit the best setting to all rows in the end; the score that decides, if there are several.
    cv : int, cross-validation generator or iterable, default=None
        The folds; None for five.
    verbose : int, default=0
        Above 0, scikit-learn's own loop runs and prints.
    pre_dispatch : int or str, default="2*n_jobs"
        Of scikit-learn's own loop.
    {more}error_score : "raise" or number, default=np.nan
        The score of a setting whose fit fails.
    return_train_score : bool, default=False
        Score the training rows too.

    Attributes
    ----------
    cv_results_ : dict of arrays
        A row for each setting; `fit_time` is what a setting added to the work that is shared.
    best_estimator_ : estimator
        The best setting, fitted to all rows.
    best_score_, best_params_, best_index_
        Its mean score, its parameters, its row in `cv_results_`.
    scorer_ : callable or dict
        The scorer.
    n_splits_ : int
        Number of folds.
    refit_time_ : float
        Seconds of the last fit.
    multimetric_ : bool
        Whether there are several scores."""


class SharedSearch(BaseSearchCV):
    """Base of both searches: a loop over folds in place of scikit-learn's over all fits.

    A subclass has `_candidates()`.
    """

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, **params):
        """Score all settings and fit the best one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets.
        **params : dict
            `sample_weight`, `groups`, and what else `fit` takes; arrays are cut like X.

        Returns
        -------
        self : object
            The fitted search.
        """
        scorer, refit_metric = self._get_scorers()
        if y is None and get_tags(self).target_tags.required:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )
        if y is None or not self._usual(params):
            return super().fit(X, y, **params)
        X, y = indexable(X, y)
        if is_classifier(self.estimator) and getattr(y, "dtype", None) in FLOATS:
            assert_all_finite(y, input_name="y")
        params = _check_method_params(X, params=params)
        routed = self._get_routed_params_for_fit(params)
        splitter = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        folds = list(splitter.split(X, y, **routed.splitter.split))
        if len(folds) != (n := splitter.get_n_splits(X, y, **routed.splitter.split)):
            raise ValueError(
                "cv.split and cv.get_n_splits return inconsistent results. "
                f"Expected {n} splits, got {len(folds)}"
            )
        settings = list(self._candidates())
        told = routed.estimator.fit, routed.scorer.score
        try:
            out = self._evaluate(X, y, folds, settings, scorer, *told)
        except Exception:
            if self.error_score == "raise":
                raise
            out = None
        if not out:  # scikit-learn words the warning, or the error
            self.cv, cv = folds, self.cv
            try:
                return super().fit(X, y, **params)
            finally:
                self.cv = cv
        self.n_splits_, self.scorer_ = len(folds), self._scorer_again()
        self.multimetric_ = isinstance(out[0]["test_scores"], dict)
        if self.multimetric_ and callable(self.scoring):
            self._check_refit_for_multimetric(out[0]["test_scores"])
            refit_metric = self.refit
        self.cv_results_ = results = self._format_results(settings, len(folds), out)
        if self.refit or not self.multimetric_:
            self.best_index_ = self._select_best_index(self.refit, refit_metric, results)  # (2)
            if not callable(self.refit):
                self.best_score_ = results[f"mean_test_{refit_metric}"][self.best_index_]
            self.best_params_ = settings[self.best_index_]
        if self.refit:
            self._refit(X, y, told[0])
        return self

    def _scorer_again(self):
        """The scorer, or scorers by name; a saved file holds `scoring` only."""
        scorer = self._get_scorers()[0]
        return getattr(scorer, "_scorers", scorer)

    def _usual(self, params):
        """Whether the loop below can do it."""
        callbacks = [getattr(m, "_skl_callbacks", None) for m in (self, self.estimator)]
        folds = self.cv is None or isinstance(self.cv, Integral) or hasattr(self.cv, "split")
        return (
            folds
            and not self.verbose
            and not any(callbacks)
            and not _routing_enabled()
            and set(params) <= {"groups", "sample_weight"}
            and (params.get("sample_weight") is None or self._takes_weights())
            and hasattr(self.estimator, "fit")
            and not get_tags(self.estimator).input_tags.pairwise
        )

    def _takes_weights(self):
        return has_fit_parameter(self.estimator, "sample_weight")

    def _evaluate(self, X, y, folds, settings, scorer, fit_params, score_params):
        """What scikit-learn's loop returns for each setting and fold, folds in the inner loop."""
        out, shared = [[None] * len(folds) for _ in settings], {}
        scorer = with_own_metric(scorer, self.scoring)

        def scored(model, X, y, told):
            """The score; of several, numbers by name."""
            found = scorer(model, X, y, **told)
            if isinstance(found, dict):
                return {name: number(value) for name, value in found.items()}
            return number(found)

        def evaluate(f, rows):  # the terms of (1) for fold f
            fold = Fold.of(X, y, *rows, fit_params, score_params, shared)
            start = time.perf_counter()
            for k, model, seen in fit_settings(self.estimator, fold, settings):
                fitted = time.perf_counter()
                row = {"test_scores": scored(model, seen.X_test, fold.y_test, fold.score_test)}
                row |= {"score_time": time.perf_counter() - fitted, "fit_time": fitted - start}
                if self.return_train_score:
                    row["train_scores"] = scored(
                        model, seen.X_train, fold.y_train, fold.score_train
                    )
                out[k][f] = row | {"fit_error": None, "n_test_samples": len(rows[1])}
                start = time.perf_counter()

        run(evaluate, range(len(folds)), folds, n_jobs=self.n_jobs or 1)
        return [row for of_setting in out for row in of_setting]

    def _refit(self, X, y, fit_params):
        """The best setting on all rows."""
        best = clone(self.estimator).set_params(**clone(self.best_params_, safe=False))
        start = time.perf_counter()
        best.fit(X, y, **fit_params)
        self.best_estimator_ = best
        self.refit_time_ = time.perf_counter() - start
        if hasattr(best, "feature_names_in_"):
            self.feature_names_in_ = best.feature_names_in_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags = get_tags(self.estimator).target_tags
        return tags

    def _run_search(self, evaluate_candidates, *, callback_ctx=None):
        """Scikit-learn's own loop over the settings."""
        settings = list(self._candidates())
        search = callback_ctx.subcontext(
            task_name="search",
            max_subtasks=len(settings) * self.n_splits_,
            sequential_subtasks=False,
        ).call_on_fit_task_begin(estimator=self)
        evaluate_candidates(settings, callback_ctx=search)
        search.call_on_fit_task_end(estimator=self)


def with_own_metric(scorer, scoring):
    """The same scorer by the metric of the same name in this package, which is faster."""
    if scoring is None:
        return default_score
    known = getattr(scorer, "_score_func", None)
    name = getattr(known, "__name__", "")
    theirs = getattr(sklearn.metrics, name, None)
    if isinstance(scoring, str) and name in metrics.__all__ and known is theirs:
        scorer = copy(scorer)
        scorer._score_func = getattr(metrics, name)
    return scorer


def default_score(model, X, y, **told):
    """`model.score`; where that is scikit-learn's, our metric of its name."""
    score = getattr(type(model), "score", None)
    if score is RegressorMixin.score:
        return metrics.r2_score(y, model.predict(X), **told)
    if score is ClassifierMixin.score:
        return metrics.accuracy_score(y, model.predict(X), **told)
    return model.score(X, y, **told)


def number(value):
    """The score as a number; ValueError if it is none."""
    value = value.item() if hasattr(value, "item") else value
    if not isinstance(value, Number):
        raise ValueError(f"scoring must return a number, got {value!r} ({type(value)}).")
    return value


class GridSearchCV(SharedSearch):
    __doc__ = f"""Cross-validate every combination of settings and keep the best.

    Parameters
    ----------
    estimator : estimator
        What to fit. Those of this package share work among settings, alone or behind a pipeline's
        other steps: `Ridge` among alphas, `LogisticRegression` among C, `SVC` among C (each from
        the last solution with `warm_start=True`), histogram boosting among all settings.
    param_grid : dict or list of dicts
        The values to try of each parameter.
    {SHARED.format(more="")}

    Examples
    --------
    >>> from mlreplica.datasets import load_breast_cancer
    >>> from mlreplica.model_selection import GridSearchCV
    >>> from mlreplica.pipeline import make_pipeline
    >>> from mlreplica.svm import SVC
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> grid = {{"svc__C": [0.1, 1.0, 10.0], "svc__gamma": [0.001, 0.01, 0.1]}}
    >>> search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid).fit(X, y)
    >>> search.best_params_, round(float(search.best_score_), 3)
    ({{'svc__C': 10.0, 'svc__gamma': 0.01}}, 0.979)
    """

    card = CARD

    _parameter_constraints: dict = {
        **BaseSearchCV._parameter_constraints,
        "param_grid": [dict, list],
    }

    def __init__(
        self,
        estimator,
        param_grid,
        *,
        scoring=None,
        n_jobs=None,
        refit: Any = True,
        cv=None,
        verbose=0,
        pre_dispatch: int | str = "2*n_jobs",
        error_score: float | str = np.nan,
        return_train_score=False,
    ):
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.param_grid = param_grid

    def _candidates(self):
        return ParameterGrid(self.param_grid)


class RandomizedSearchCV(SharedSearch):
    __doc__ = f"""Cross-validate settings drawn at random and keep the best.

    Parameters
    ----------
    estimator : estimator
        What to fit; see `GridSearchCV` for those that share work.
    param_distributions : dict or list of dicts
        Lists to draw from, or distributions with a method `rvs`.
    n_iter : int, default=10
        How many settings to draw.
    {
        SHARED.format(
            more='''random_state : int, RandomState instance or None, default=None
        The draws.
    '''
        )
    }

    Examples
    --------
    >>> from scipy.stats import loguniform
    >>> from mlreplica.datasets import load_diabetes
    >>> from mlreplica.linear_model import Ridge
    >>> from mlreplica.model_selection import RandomizedSearchCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> search = RandomizedSearchCV(Ridge(), {{"alpha": loguniform(1e-4, 1e2)}}, random_state=0)
    >>> round(float(search.fit(X, y).best_params_["alpha"]), 2)
    0.02
    """

    card = CARD.but(
        cheap=lambda: {
            "estimator": small_model(),
            "param_distributions": {"C": [0.1, 1.0]},
            "n_iter": 2,
            "cv": 2,
        },
        good="many parameters at the cost of few settings; models share work among settings",
    )

    _parameter_constraints: dict = {
        **BaseSearchCV._parameter_constraints,
        "param_distributions": [dict, list],
        "n_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator,
        param_distributions,
        *,
        n_iter=10,
        scoring=None,
        n_jobs=None,
        refit: Any = True,
        cv=None,
        verbose=0,
        pre_dispatch: int | str = "2*n_jobs",
        random_state=None,
        error_score: float | str = np.nan,
        return_train_score=False,
    ):
        self.param_distributions = param_distributions
        self.n_iter = n_iter
        self.random_state = random_state
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )

    def _candidates(self):
        return ParameterSampler(
            self.param_distributions, self.n_iter, random_state=self.random_state
        )
