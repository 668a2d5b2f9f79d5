"""Recursive feature elimination that chooses the number of columns by cross-validation

Each fold eliminates columns on its training rows and scores every round on its test rows, so that
the choice of columns is part of what is validated. Then all rows are used once more, down to the
number of columns with the best mean score; of several, the smallest.
"""

import warnings
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring, get_scorer
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch, metadata_routing
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.compat import (
    Interval,
    _check_method_params,
    _fit_context,
    _raise_for_params,
    _routing_enabled,
    _safe_indexing,
    _safe_split,
)
from mlreplica.core.validation import validate_data

from ._rfe import RFE, eliminate


def scores_of_rounds(selector, X, y, train, test, scorer, routed):
    """Scores, supports, rankings and numbers of columns of all rounds of one fold."""
    X_train, y_train = _safe_split(selector.estimator, X, y, train)
    X_test, y_test = _safe_split(selector.estimator, X, y, test, train)
    fit_params = _check_method_params(X, params=routed.estimator.fit, indices=train)
    score_params = _check_method_params(X, params=routed.scorer.score, indices=test)
    scores, rounds = [], []
    for state in eliminate(selector, X_train, y_train, selector.min_features_to_select, fit_params):
        rows = _safe_indexing(X_test, state.columns, axis=1)
        scores.append(scorer(state.model, rows, y_test, **score_params))
        rounds.append(state._replace(model=None))
    return (
        scores,
        [state.support for state in rounds],
        [state.ranking for state in rounds],
        [len(state.columns) for state in rounds],
    )


class RFECV(RFE):
    """Recursive feature elimination with the number of columns chosen by cross-validation.

    Parameters
    ----------
    estimator : object
        A model with `coef_` or `feature_importances_` once it is fitted.
    step : int or float, default=1
        How many columns to drop in a round, or which share of all.
    min_features_to_select : int, default=1
        The fewest columns to keep.
    cv : int, splitter, iterable or None, default=None
        Folds; None for five.
    scoring : str, callable or None, default=None
        What is best; None for the model's `score`.
    verbose : int, default=0
        Above 0, rounds are reported.
    n_jobs : int or None, default=None
        How many folds run at once.
    importance_getter : str or callable, default="auto"
        Attribute of the model, or a function of it, that has the importances.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, if the model is a classifier.
    estimator_ : estimator
        The model, fitted to the columns that are kept.
    cv_results_ : dict
        For each number of columns, ascending: `n_features`, `mean_test_score`, `std_test_score`,
        and of fold k `splitk_test_score`, `splitk_support`, `splitk_ranking`.
    n_features_ : int
        How many are kept.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.
    ranking_ : ndarray of shape (n_features,)
        1 for columns that are kept; the larger, the earlier a column was dropped.
    support_ : ndarray of shape (n_features,)
        Whether a column is kept.

    Examples
    --------
    >>> from mlreplica.datasets import load_diabetes
    >>> from mlreplica.feature_selection import RFECV
    >>> from mlreplica.linear_model import LinearRegression
    >>> X, y = load_diabetes(return_X_y=True)
    >>> RFECV(LinearRegression()).fit(X, y).n_features_
    6
    """

    card = RFE.card.but(
        use="few columns, their number chosen by cross-validation",
        time="p / step fits of the model per fold, and once more",
    )
    _parameter_constraints: dict = {
        **{n: c for n, c in RFE._parameter_constraints.items() if n != "n_features_to_select"},
        "min_features_to_select": [Interval(Integral, 0, None, closed="neither")],
        "cv": ["cv_object"],
        "scoring": [None, str, callable],
        "n_jobs": [None, Integral],
    }
    __metadata_request__fit = {"groups": metadata_routing.UNUSED}

    def __init__(
        self,
        estimator,
        *,
        step: float = 1,
        min_features_to_select=1,
        cv=None,
        scoring=None,
        verbose=0,
        n_jobs=None,
        importance_getter: Any = "auto",
    ):
        self.estimator = estimator
        self.step = step
        self.importance_getter = importance_getter
        self.cv = cv
        self.scoring = scoring
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.min_features_to_select = min_features_to_select

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, **params):
        """Choose the number of columns, eliminate the others, and fit the model to the rest.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            The target.
        **params : dict
            `groups` for the splitter; others, if metadata are routed.

        Returns
        -------
        self : RFECV
        """
        _raise_for_params(params, self, "fit", allow=["groups"])
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            ensure_min_features=2,
            ensure_all_finite=False,
            multi_output=True,
        )
        if _routing_enabled():
            given = {name: value for name, value in params.items() if value is not None}
            routed = process_routing(self, "fit", **given)
        else:
            routed = Bunch(
                estimator=Bunch(fit={}),
                splitter=Bunch(split={"groups": params.pop("groups", None)}),
                scorer=Bunch(score={}),
            )
        if self.min_features_to_select > X.shape[1]:
            warnings.warn(
                f"Found min_features_to_select={self.min_features_to_select} > "
                f"n_features={X.shape[1]}. There will be no feature selection and all features "
                "will be kept.",
                UserWarning,
                stacklevel=3,
            )
        cv = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        scorer = self._scorer()
        folds = Parallel(n_jobs=self.n_jobs)(
            delayed(scores_of_rounds)(self, X, y, train, test, scorer, routed)
            for train, test in cv.split(X, y, **routed.splitter.split)
        )
        self._publish_results(folds)
        best = int(np.argmax(self.cv_results_["mean_test_score"]))
        rfe = RFE(
            self.estimator,
            n_features_to_select=int(self.cv_results_["n_features"][best]),
            step=self.step,
            importance_getter=self.importance_getter,
            verbose=self.verbose,
        )
        rfe._eliminate(X, y, **routed.estimator.fit)
        self.support_, self.ranking_ = rfe.support_, rfe.ranking_
        self.n_features_, self.estimator_ = rfe.n_features_, rfe.estimator_
        return self

    def _publish_results(self, folds):
        """Set cv_results_; rounds are turned to ascending numbers of columns."""
        scores, supports, rankings, counts = (
            np.array([fold[k][::-1] for fold in folds]) for k in range(4)
        )
        found = {"mean_test_score": scores.mean(axis=0), "std_test_score": scores.std(axis=0)}
        for kind, values in (("test_score", scores), ("ranking", rankings), ("support", supports)):
            found |= {f"split{k}_{kind}": fold for k, fold in enumerate(values)}
        self.cv_results_ = {"n_features": counts[0], **found}

    def _scorer(self):
        """The scorer that was asked for, or the model's own."""
        if self.scoring is None and not hasattr(self.estimator, "score"):
            kind = "accuracy" if is_classifier(self.estimator) else "r2"
            return get_scorer(kind)
        return check_scoring(self.estimator, scoring=self.scoring)

    def score(self, X, y, **score_params):
        """Return the score that `scoring` asks for, from the columns that are kept.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows.
        y : array of shape (n_samples,)
            The target.
        **score_params : dict
            What else the scorer takes, if metadata are routed.

        Returns
        -------
        score : float
        """
        _raise_for_params(score_params, self, "score")
        check_is_fitted(self)
        routed = {}
        if _routing_enabled():
            routed = process_routing(self, "score", **score_params).scorer.score
        return self._scorer()(self.estimator_, self.transform(X), y, **routed)

    def get_metadata_routing(self):
        """Return how metadata reach the model, the splitter and the scorer.

        Returns
        -------
        routing : MetadataRouter
        """
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        to_split = MethodMapping().add(caller="fit", callee="split")
        to_score = MethodMapping().add(caller="fit", callee="score")
        to_score = to_score.add(caller="score", callee="score")
        router = MetadataRouter(owner=self).add(estimator=self.estimator, method_mapping=to_fit)
        router = router.add(splitter=check_cv(self.cv), method_mapping=to_split)
        return router.add(scorer=self._scorer(), method_mapping=to_score)
