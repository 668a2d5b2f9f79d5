r"""Selection by a model: keep the columns to which one fit gives weight

A model that has weights w (K, p) or importances gives every column the importance ‖w_·j‖. Columns
are kept whose importance is at least a threshold, and of those at most a number of the best.
"""

from copy import deepcopy
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import Bunch, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, check_scalar

from mlreplica.core.card import Card
from mlreplica.core.compat import (
    HasMethods,
    Interval,
    Options,
    _check_feature_names,
    _fit_context,
    _num_features,
    _routing_enabled,
)
from mlreplica.core.validation import validate_data

from ._selector import SelectorMixin, importances_of


def example_estimator():
    """A model for the warm-up."""
    from mlreplica.linear_model import Ridge

    return {"estimator": Ridge()}


def has_method(name):
    """A condition for `available_if`: the model, fitted or not, has the method."""

    def check(selector):
        fitted = getattr(selector, "estimator_", None)
        getattr(selector.estimator if fitted is None else fitted, name)
        return True

    return check


def selects_by_zeros(estimator):
    """Whether a model sets weights to exactly zero, by an L1 penalty."""
    name = type(estimator).__name__
    ratio = getattr(estimator, "l1_ratio_", getattr(estimator, "l1_ratio", None))
    return (
        getattr(estimator, "penalty", None) == "l1"
        or "Lasso" in name
        or ("ElasticNet" in name and np.isclose(ratio, 1.0))
        or ("LogisticRegression" in name and np.isscalar(ratio) and ratio == 1)
    )


def threshold_of(estimator, importances, threshold):
    """The threshold as a number; "1.25*mean" is a multiple of the mean importance."""
    if threshold is None:
        threshold = 1e-5 if selects_by_zeros(estimator) else "mean"
    if not isinstance(threshold, str):
        return float(threshold)
    factor, name = 1.0, threshold
    if "*" in threshold:
        first, name = threshold.split("*")
        factor, name = float(first.strip()), name.strip()
        if name not in ("mean", "median"):
            raise ValueError(f"Unknown reference: {name}")
    if name not in ("mean", "median"):
        raise ValueError(
            f"Expected threshold='mean' or threshold='median' got {threshold}, or a multiple of "
            "one of them, as '1.25*mean'."
        )
    return factor * (np.mean if name == "mean" else np.median)(importances)


class SelectFromModel(MetaEstimatorMixin, SelectorMixin, BaseEstimator):
    """Keep the columns to which a model gives importance.

    Parameters
    ----------
    estimator : object
        A model with `coef_` or `feature_importances_` once it is fitted.
    threshold : str or float, default=None
        Columns with at least this importance are kept: a number, "mean", "median" or a multiple as
        "1.25*mean". None: 1e-5 for models with an L1 penalty, otherwise "mean".
    prefit : bool, default=False
        Whether the model is already fitted.
    norm_order : non-zero int, inf, -inf, default=1
        Norm over the rows of `coef_`, if there are several.
    max_features : int, callable or None, default=None
        Keep at most so many columns; a function of X returns the number. For the best only by rank,
        set `threshold=-np.inf`.
    importance_getter : str or callable, default="auto"
        Attribute of the model, or a function of it, that has the importances.

    Attributes
    ----------
    estimator_ : estimator
        The fitted model.
    n_features_in_ : int
        Columns of X.
    max_features_ : int
        The most columns to keep.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.
    threshold_ : float
        The threshold as a number.

    Examples
    --------
    >>> from mlreplica.datasets import load_diabetes
    >>> from mlreplica.feature_selection import SelectFromModel
    >>> from mlreplica.linear_model import Lasso
    >>> X, y = load_diabetes(return_X_y=True)
    >>> SelectFromModel(Lasso(alpha=1.0)).fit(X, y).get_support(indices=True)
    array([2, 3, 8])
    """

    card = Card(
        page="feature-selection",
        checks="selected",
        input="members",
        task="transformation",
        cheap=example_estimator,
        use="the columns that one model finds important",
        good="one fit; sees columns together",
        bad="importances are shared among correlated columns; no error rate is known",
        time="one fit of the model",
        memory="the model",
        rescaling="as the model needs; weights are compared only if the columns share a scale",
        missing="as the model does",
        instead="StabilitySelection and KnockoffSelector, which bound the number of errors",
    )
    _parameter_constraints: dict = {
        "estimator": [HasMethods("fit")],
        "threshold": [Interval(Real, None, None, closed="both"), str, None],
        "prefit": ["boolean"],
        "norm_order": [
            Interval(Integral, None, -1, closed="right"),
            Interval(Integral, 1, None, closed="left"),
            Options(Real, {np.inf, -np.inf}),
        ],
        "max_features": [Interval(Integral, 0, None, closed="left"), callable, None],
        "importance_getter": [str, callable],
    }

    def __init__(
        self,
        estimator,
        *,
        threshold=None,
        prefit=False,
        norm_order: float = 1,
        max_features=None,
        importance_getter: Any = "auto",
    ):
        self.estimator = estimator
        self.threshold = threshold
        self.prefit = prefit
        self.importance_getter = importance_getter
        self.norm_order = norm_order
        self.max_features = max_features

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags

    def _importances(self):
        """The model that decides, and its importances."""
        model = getattr(self, "estimator_", self.estimator)
        if self.prefit:
            try:
                check_is_fitted(self.estimator)
            except NotFittedError as error:
                raise NotFittedError(
                    "When `prefit=True`, `estimator` is expected to be a fitted estimator."
                ) from error
        elif not hasattr(self, "estimator_"):
            raise ValueError(
                "Either fit the model before transform or set `prefit=True` while passing the "
                "fitted estimator to the constructor."
            )
        return model, importances_of(model, self.importance_getter, "norm", self.norm_order)

    def _get_support_mask(self):
        model, importances = self._importances()
        threshold = threshold_of(model, importances, self.threshold)
        mask = np.ones(len(importances), dtype=bool)
        if self.max_features is not None:
            most = getattr(self, "max_features_", self.max_features)
            if callable(most):
                raise NotFittedError(
                    "When `prefit=True` and `max_features` is a callable, call `fit` before "
                    "calling `transform`."
                )
            if not isinstance(most, Integral):
                raise ValueError(f"`max_features` must be an integer. Got {most!r} instead.")
            mask[:] = False
            mask[np.argsort(-importances, kind="stable")[:most]] = True
        mask[importances < threshold] = False
        return mask

    def _learn_max_features(self, X):
        """Set max_features_."""
        if self.max_features is None:
            return
        p = _num_features(X)
        most = self.max_features(X) if callable(self.max_features) else self.max_features
        check_scalar(most, "max_features", Integral, min_val=0, max_val=p)
        self.max_features_ = most

    @_fit_context(prefer_skip_nested_validation=False)  # the model may be any
    def fit(self, X, y=None, **fit_params):
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), default=None
            The target, if the model needs one.
        **fit_params : dict
            What else the model's `fit` takes.

        Returns
        -------
        self : SelectFromModel
        """
        self._learn_max_features(X)
        if self.prefit:
            try:
                check_is_fitted(self.estimator)
            except NotFittedError as error:
                raise NotFittedError(
                    "When `prefit=True`, `estimator` is expected to be a fitted estimator."
                ) from error
            self.estimator_ = deepcopy(self.estimator)
        else:
            routed = self._routed("fit", fit_params)
            self.estimator_ = clone(self.estimator)
            self.estimator_.fit(X, y, **routed.estimator.fit)
        self._learn_names(X)
        return self

    def _routed(self, method, params):
        """The parameters for the model's method."""
        if _routing_enabled():
            return process_routing(self, method, **params)
        return Bunch(estimator=Bunch(**{method: params}))

    def _learn_names(self, X):
        """Take the names of the columns from the model or from X."""
        if hasattr(self.estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.estimator_.feature_names_in_
        else:
            _check_feature_names(self, X, reset=True)

    @property
    def threshold_(self):
        """The threshold as a number."""
        model, importances = self._importances()
        return threshold_of(model, importances, self.threshold)

    @available_if(has_method("partial_fit"))
    @_fit_context(prefer_skip_nested_validation=False)
    def partial_fit(self, X, y=None, **partial_fit_params):
        """Fit the model to more rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), default=None
            The target, if the model needs one.
        **partial_fit_params : dict
            What else the model's `partial_fit` takes.

        Returns
        -------
        self : SelectFromModel
        """
        first = not hasattr(self, "estimator_")
        if first:
            self._learn_max_features(X)
        if self.prefit:
            if first:
                return self.fit(X, y)
            return self
        if first:
            self.estimator_ = clone(self.estimator)
        if _routing_enabled():
            params = self._routed("partial_fit", partial_fit_params).estimator.partial_fit
        else:
            params = partial_fit_params
        self.estimator_.partial_fit(X, y, **params)
        if first:
            self._learn_names(X)
        else:
            validate_data(self, X, skip_check_array=True, reset=False)
        return self

    @property
    def n_features_in_(self):
        """Columns seen by the model."""
        try:
            check_is_fitted(self)
        except NotFittedError as error:
            raise AttributeError(
                f"{type(self).__name__} object has no n_features_in_ attribute."
            ) from error
        return self.estimator_.n_features_in_

    def get_metadata_routing(self):
        """Return how metadata reach the model.

        Returns
        -------
        routing : MetadataRouter
        """
        mapping = MethodMapping().add(caller="partial_fit", callee="partial_fit")
        mapping = mapping.add(caller="fit", callee="fit")
        router = MetadataRouter(owner=self)
        return router.add(estimator=self.estimator, method_mapping=mapping)
