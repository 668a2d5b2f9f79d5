r"""Recursive feature elimination: fit, drop the least important columns, fit again

    repeat   fit the model to the columns S;   S ← S without the `step` smallest importances   (10)

until as many are left as wanted. The importance of a column is the square of its weight, or what
the model says. A column that was hidden behind another rises once the other is gone, which one fit
cannot show.

References
----------
Guyon, Weston, Barnhill, Vapnik: Gene selection for cancer classification using support vector
machines. Machine Learning 46 (2002), 389–422.
"""

import sys
import warnings
from copy import deepcopy
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import Bunch, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.compat import (
    HasMethods,
    Interval,
    RealNotInt,
    _check_method_params,
    _fit_context,
    _raise_for_params,
    _routing_enabled,
    _safe_indexing,
)
from mlreplica.core.validation import validate_data

from ._from_model import example_estimator, has_method
from ._selector import SelectorMixin, importances_of


class Elimination(NamedTuple):
    """One round of (10)."""

    columns: np.ndarray  # that are left
    support: np.ndarray  # a bool for each column
    ranking: np.ndarray  # 1 for those that are left, and 2, 3, … in the order of going, backwards
    model: Any  # fitted to the columns


def eliminate(selector, X, y, least, fit_params):
    """Yield an Elimination per round of (10), until `least` columns are left."""
    p, step = X.shape[1], selector.step
    step = int(step) if step >= 1.0 else int(max(1, step * p))
    support, ranking = np.ones(p, dtype=bool), np.ones(p, dtype=int)
    while True:
        columns = np.flatnonzero(support)
        if selector.verbose > 0:
            sys.stdout.write(f"Fitting estimator with {len(columns)} features.\n")
        model = clone(selector.estimator)
        model.fit(_safe_indexing(X, columns, axis=1), y, **fit_params)
        yield Elimination(columns, support.copy(), ranking.copy(), model)
        if len(columns) <= least:
            return
        importances = importances_of(model, selector.importance_getter, "square")
        order = np.argsort(np.ravel(importances), kind="stable")
        support[columns[order[: min(step, len(columns) - least)]]] = False
        ranking[~support] += 1


class RFE(SelectorMixin, MetaEstimatorMixin, BaseEstimator):
    """Drop the columns with the smallest weights, round by round (10).

    Parameters
    ----------
    estimator : object
        A model with `coef_` or `feature_importances_` once it is fitted.
    n_features_to_select : int, float or None, default=None
        How many columns to keep, or which share; None for half.
    step : int or float, default=1
        How many columns to drop in a round, or which share of all.
    verbose : int, default=0
        Above 0, rounds are reported.
    importance_getter : str or callable, default="auto"
        Attribute of the model, or a function of it, that has the importances.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, if the model is a classifier.
    estimator_ : estimator
        The model, fitted to the columns that are kept.
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
    >>> from mlreplica.feature_selection import RFE
    >>> from mlreplica.linear_model import LinearRegression
    >>> X, y = load_diabetes(return_X_y=True)
    >>> RFE(LinearRegression(), n_features_to_select=4).fit(X, y).ranking_
    array([7, 3, 1, 2, 1, 1, 5, 4, 1, 6])
    """

    card = Card(
        page="feature-selection",
        checks="selected",
        input="members",
        task="transformation",
        cheap=example_estimator,
        use="few columns for a linear model or a forest, chosen together",
        good="columns hidden behind others get a second chance",
        bad="as many fits as rounds; the p-values of the last model are too small",
        time="p / step fits of the model",
        memory="the model and a copy of the columns that are left",
        rescaling="needed: weights are compared",
        missing="as the model does",
        instead="SelectFromModel with Lasso: one fit",
    )
    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit"])],
        "n_features_to_select": [
            None,
            Interval(RealNotInt, 0, 1, closed="right"),
            Interval(Integral, 0, None, closed="neither"),
        ],
        "step": [
            Interval(Integral, 0, None, closed="neither"),
            Interval(RealNotInt, 0, 1, closed="neither"),
        ],
        "verbose": ["verbose"],
        "importance_getter": [str, callable],
    }

    def __init__(
        self,
        estimator,
        *,
        n_features_to_select=None,
        step: float = 1,
        verbose=0,
        importance_getter: Any = "auto",
    ):
        self.estimator = estimator
        self.n_features_to_select = n_features_to_select
        self.step = step
        self.importance_getter = importance_getter
        self.verbose = verbose

    @property
    def classes_(self):
        """The classes, if the model is a classifier."""
        return self.estimator_.classes_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = deepcopy(inner.classifier_tags)
        tags.regressor_tags = deepcopy(inner.regressor_tags)
        if tags.classifier_tags is not None:
            tags.classifier_tags.poor_score = True
        if tags.regressor_tags is not None:
            tags.regressor_tags.poor_score = True
        tags.target_tags.required = True
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        return tags

    @_fit_context(prefer_skip_nested_validation=False)  # the model may be any
    def fit(self, X, y, **fit_params):
        """Eliminate columns, and fit the model to those that are left.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            The target.
        **fit_params : dict
            What else the model's `fit` takes.

        Returns
        -------
        self : RFE
        """
        if _routing_enabled():
            routed = process_routing(self, "fit", **fit_params)
        else:
            routed = Bunch(estimator=Bunch(fit=fit_params))
        return self._eliminate(X, y, **routed.estimator.fit)

    def _eliminate(self, X, y, **fit_params):
        """Fit, with the parameters that belong to the model."""
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csc",
            ensure_min_features=2,
            ensure_all_finite=False,
            multi_output=True,
        )
        p, wanted = X.shape[1], self.n_features_to_select
        if wanted is None:
            wanted = p // 2
        elif isinstance(wanted, Integral):
            if wanted > p:
                warnings.warn(
                    f"Found n_features_to_select={wanted} > n_features={p}. There will be no "
                    "feature selection and all features will be kept.",
                    UserWarning,
                    stacklevel=4,
                )
        else:
            wanted = int(p * wanted)
        fit_params = _check_method_params(X, fit_params)
        *_, last = eliminate(self, X, y, wanted, fit_params)
        self.estimator_, self.n_features_ = last.model, len(last.columns)
        self.support_, self.ranking_ = last.support, last.ranking
        return self

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.support_

    @available_if(has_method("predict"))
    def predict(self, X, **predict_params):
        """Predict by the model, from the columns that are kept.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows.
        **predict_params : dict
            What else the model's `predict` takes, if metadata are routed.

        Returns
        -------
        y : array of shape (n_samples,)
        """
        _raise_for_params(predict_params, self, "predict")
        check_is_fitted(self)
        routed = {}
        if _routing_enabled():
            routed = process_routing(self, "predict", **predict_params).estimator.predict
        return self.estimator_.predict(self.transform(X), **routed)

    @available_if(has_method("score"))
    def score(self, X, y, **score_params):
        """Return the model's score, from the columns that are kept.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows.
        y : array of shape (n_samples,)
            The target.
        **score_params : dict
            What else the model's `score` takes.

        Returns
        -------
        score : float
        """
        check_is_fitted(self)
        if _routing_enabled():
            score_params = process_routing(self, "score", **score_params).estimator.score
        return self.estimator_.score(self.transform(X), y, **score_params)

    @available_if(has_method("decision_function"))
    def decision_function(self, X):
        """Return the model's scores, from the columns that are kept.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        scores : array of shape (n_samples,) or (n_samples, n_classes)
        """
        check_is_fitted(self)
        return self.estimator_.decision_function(self.transform(X))

    @available_if(has_method("predict_proba"))
    def predict_proba(self, X):
        """Return the model's probabilities, from the columns that are kept.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        probabilities : array of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        return self.estimator_.predict_proba(self.transform(X))

    @available_if(has_method("predict_log_proba"))
    def predict_log_proba(self, X):
        """Return logarithms of the model's probabilities, from the columns that are kept.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        log_probabilities : array of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        return self.estimator_.predict_log_proba(self.transform(X))

    def get_metadata_routing(self):
        """Return how metadata reach the model.

        Returns
        -------
        routing : MetadataRouter
        """
        mapping = MethodMapping()
        for method in ("fit", "predict", "score"):
            mapping = mapping.add(caller=method, callee=method)
        return MetadataRouter(owner=self).add(estimator=self.estimator, method_mapping=mapping)
