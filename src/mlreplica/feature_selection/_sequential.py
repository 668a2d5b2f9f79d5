r"""Sequential selection: add the column that helps most, or remove the one that helps least

    forward     S ← S ∪ {j},  j = argmax over j ∉ S of score(S ∪ {j})                         (11)
    backward    S ← S \ {j},  j = argmax over j ∈ S of score(S \ {j})

The score is the mean over folds of cross-validation, so any model will do; it needs no weights. All
candidates are scored on the same folds. The search is greedy: it never undoes a step.
"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import check_cv, cross_val_score
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.compat import (
    HasMethods,
    Interval,
    RealNotInt,
    StrOptions,
    _fit_context,
    _raise_for_params,
    _safe_indexing,
    _safe_split,
)
from mlreplica.core.validation import validate_data

from ._from_model import example_estimator
from ._selector import SelectorMixin


class Candidates:
    """Scores sets of columns on folds that are cut once."""

    def __init__(self, estimator, X, y, cv, scoring, params):
        self.estimator, self.params, self.data = estimator, params, (X, y, cv, scoring)
        self.scorer = check_scoring(estimator, scoring=scoring)
        self.folds = []
        if not params:
            for train, test in cv.split(X, y):
                fit = _safe_split(estimator, X, y, train)
                self.folds.append((*fit, *_safe_split(estimator, X, y, test, train)))

    def score(self, columns):
        """The mean score of the model on some columns."""
        if self.params:
            X, y, cv, scoring = self.data
            rows = _safe_indexing(X, columns, axis=1)
            found = cross_val_score(
                self.estimator, rows, y, cv=cv, scoring=scoring, params=self.params
            )
            return found.mean()
        scores = []
        for X, y, X_test, y_test in self.folds:
            model = clone(self.estimator)
            model.fit(_safe_indexing(X, columns, axis=1), y)
            scores.append(self.scorer(model, _safe_indexing(X_test, columns, axis=1), y_test))
        return np.mean(scores)


class SequentialFeatureSelector(SelectorMixin, MetaEstimatorMixin, BaseEstimator):
    """Add or remove columns one at a time (11), by the score of cross-validation.

    Parameters
    ----------
    estimator : estimator
        Any model.
    n_features_to_select : "auto", int or float, default="auto"
        How many columns, or which share. "auto": as long as the score rises by `tol`, or half if
        `tol` is None.
    tol : float or None, default=None
        With "auto", stop when the score rises by less; may be negative when columns are removed.
    direction : {"forward", "backward"}, default="forward"
        Add to none, or remove from all.
    scoring : str, callable or None, default=None
        What is best; None for the model's `score`.
    cv : int, splitter, iterable or None, default=5
        Folds.
    n_jobs : int or None, default=None
        How many candidates run at once.

    Attributes
    ----------
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.
    n_features_to_select_ : int
        How many columns were selected.
    support_ : ndarray of shape (n_features,)
        Whether a column is kept.

    Examples
    --------
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.feature_selection import SequentialFeatureSelector
    >>> from mlreplica.neighbors import KNeighborsClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> SequentialFeatureSelector(KNeighborsClassifier(3)).fit(X, y).get_support()
    array([ True, False, False,  True])
    """

    card = Card(
        page="feature-selection",
        checks="selected",
        input="members",
        task="transformation",
        cheap=lambda: {**example_estimator(), "cv": 2},
        use="few columns for any model, by its own score",
        good="needs no weights; sees columns together",
        bad="very many fits; greedy; the best score found is too good",
        time="O(p k) fits of the model per fold, for k columns",
        memory="a copy of the folds",
        rescaling="as the model needs",
        missing="as the model does",
        instead="RFE, or SelectFromModel with Lasso",
    )
    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit"])],
        "n_features_to_select": [
            StrOptions({"auto"}),
            Interval(RealNotInt, 0, 1, closed="right"),
            Interval(Integral, 0, None, closed="neither"),
        ],
        "tol": [None, Interval(Real, None, None, closed="neither")],
        "direction": [StrOptions({"forward", "backward"})],
        "scoring": [None, StrOptions(set(get_scorer_names())), callable],
        "cv": ["cv_object"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        estimator,
        *,
        n_features_to_select: float | str = "auto",
        tol=None,
        direction="forward",
        scoring=None,
        cv: Any = 5,
        n_jobs=None,
    ):
        self.estimator = estimator
        self.n_features_to_select = n_features_to_select
        self.tol = tol
        self.direction = direction
        self.scoring = scoring
        self.cv = cv
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.allow_nan, tags.input_tags.sparse = inner.allow_nan, inner.sparse
        return tags

    @_fit_context(prefer_skip_nested_validation=False)  # the model may be any
    def fit(self, X, y=None, **params):
        """Select columns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), default=None
            The target, if the model needs one.
        **params : dict
            What else the model, the scorer and the splitter take, if metadata are routed.

        Returns
        -------
        self : SequentialFeatureSelector
        """
        _raise_for_params(params, self, "fit")
        options = {
            "accept_sparse": "csc",
            "ensure_min_features": 2,
            "ensure_all_finite": not self.__sklearn_tags__().input_tags.allow_nan,
        }
        if y is None:
            X = validate_data(self, X, **options)
        else:
            X, y = validate_data(self, X, y, multi_output=True, **options)
        p = X.shape[1]
        wanted = self._wanted(p)
        forward = self.direction == "forward"
        if forward and self.tol is not None and self.tol < 0:
            raise ValueError("tol must be strictly positive when doing forward selection")
        if params:
            process_routing(self, "fit", **params)
        cv = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        candidates = Candidates(clone(self.estimator), X, y, cv, self.scoring, params)
        until_tol = self.tol is not None and self.n_features_to_select == "auto"
        moved, best = np.zeros(p, dtype=bool), -np.inf  # added, or removed
        for _ in range(wanted if forward or until_tol else p - wanted):
            j, score = self._best_step(candidates, moved, forward)
            if until_tol and score - best < self.tol:
                break
            moved[j], best = True, score
        self.support_ = moved if forward else ~moved
        self.n_features_to_select_ = int(self.support_.sum())
        return self

    def _wanted(self, p):
        """How many columns to select."""
        given = self.n_features_to_select
        if given == "auto":
            return p // 2 if self.tol is None else p - 1
        if isinstance(given, Integral):
            if given >= p:
                raise ValueError("n_features_to_select must be < n_features.")
            return given
        return int(p * given)

    def _best_step(self, candidates, moved, forward):
        """The column to add or to remove next, and the score it gives."""
        left = np.flatnonzero(~moved)

        def columns(j):
            after = moved.copy()
            after[j] = True
            return np.flatnonzero(after if forward else ~after)

        scores = Parallel(n_jobs=self.n_jobs)(delayed(candidates.score)(columns(j)) for j in left)
        best = int(np.argmax(scores))
        return left[best], scores[best]

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.support_

    def get_metadata_routing(self):
        """Return how metadata reach the model, the splitter and the scorer.

        Returns
        -------
        routing : MetadataRouter
        """
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        to_split = MethodMapping().add(caller="fit", callee="split")
        to_score = MethodMapping().add(caller="fit", callee="score")
        router = MetadataRouter(owner=self).add(estimator=self.estimator, method_mapping=to_fit)
        splitter = check_cv(self.cv, classifier=is_classifier(self.estimator))
        router = router.add(splitter=splitter, method_mapping=to_split)
        scorer = check_scoring(self.estimator, scoring=self.scoring)
        return router.add(scorer=scorer, method_mapping=to_score)
