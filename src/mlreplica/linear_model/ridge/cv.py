"""Ridge regression that chooses its α; leaving one out is in `leave_one_out.py`"""

import warnings
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MultiOutputMixin,
    RegressorMixin,
    is_classifier,
)
from sklearn.metrics import check_scoring, get_scorer, get_scorer_names
from sklearn.model_selection import GridSearchCV
from sklearn.utils import check_scalar
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)

from mlreplica.core.compat import (
    Interval,
    StrOptions,
    _raise_for_params,
    _routing_enabled,
)
from mlreplica.core.linear import LinearPrediction
from mlreplica.linear_model.least_squares.linear_regression import training_set

from . import leave_one_out as loo
from .regressor import SPARSE, Ridge


class AsPredicted(RegressorMixin, BaseEstimator):
    """Predicts what it is given: scorers judge predictions that were made elsewhere."""

    def predict(self, y):
        """y"""
        return y

    decision_function = predict


class AsScored(ClassifierMixin, BaseEstimator):
    """The same for the scores of classes, one column a class, or one for two classes."""

    def __init__(self, classes):
        self.classes_ = classes

    def decision_function(self, scores):
        """The scores."""
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, scores):
        """The class of the best score."""
        one = scores.shape[1] == 1
        return self.classes_[(scores[:, 0] > 0).astype(int) if one else scores.argmax(axis=1)]


class PenaltySearch:
    """`fit` of `RidgeCV` and `RidgeClassifierCV`: the α of the best score, then the fit with it."""

    _parameter_constraints = {
        "alphas": ["array-like", Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "cv": ["cv_object"],
        "gcv_mode": [StrOptions({"auto", "svd", "eigen"}), None],
        "store_cv_results": ["boolean"],
        "alpha_per_target": ["boolean"],
    }

    def _penalties(self):
        """The α to try, checked; 0 would need all residuals to be left out in vain."""
        alphas = self.alphas
        closed = "neither" if self.cv is None else "left"
        check = partial(check_scalar, target_type=Real, min_val=0.0, include_boundaries=closed)
        if np.ndim(alphas) == 0:
            return np.array([float(alphas)])
        names = ["alphas"] if len(alphas) == 1 else [f"alphas[{k}]" for k in range(len(alphas))]
        return np.array([float(check(a, name)) for a, name in zip(alphas, names, strict=True)])

    def _search(self, X, Y, sample_weight, score_params):
        """Leave one out: set alpha_, best_score_, cv_results_, coef_ (q, p) and intercept_ (q,)."""
        alphas, (n, p) = self._penalties(), X.shape
        if n == 1:
            raise ValueError("Leaving one row out needs two rows at least, got n_samples = 1.")
        mode = self.gcv_mode
        if mode == "svd" and sp.issparse(X):
            warnings.warn(
                "The 'svd' mode is not supported for sparse X, we fallback to `gcv_mode='eigen'`. "
                "Passing `gcv_mode='svd'` on sparse X will raise an error in 1.11, use the default "
                "or pass `gcv_mode='eigen'` to suppress this warning.",
                FutureWarning,
                stacklevel=3,
            )
        model = Ridge(fit_intercept=self.fit_intercept)
        model.n_iter_ = 1
        with np.errstate(over="ignore", invalid="ignore"):
            rows = model._rows(X, Y, sample_weight)
            model._finite(rows)
        keep = self.scoring is not None or self.store_cv_results
        total, each, fit = (loo.tall if n > p else loo.wide)(rows, alphas, keep, mode == "svd")
        if self.scoring is None:
            score = -total / n if self.alpha_per_target else -total.mean(axis=0, keepdims=True) / n
            values = None if each is None else each**2
        else:
            values = self._predictions(rows, each, alphas)
            score = self._scores(values, Y, score_params)
        best = score.argmax(axis=1)  # (q,), or (1,) for all targets together
        self.alpha_, self.best_score_ = alphas[best], score[np.arange(len(best)), best]
        if self.store_cv_results:
            self.cv_results_ = values.astype(X.dtype, copy=False)
        model.alpha = np.broadcast_to(self.alpha_, Y.shape[1])
        found = fit(model.alpha, np.broadcast_to(best, Y.shape[1]))
        model._publish(found or model._solve(X, Y, sample_weight), X.dtype)
        self.coef_, self.intercept_ = model.coef_, model.intercept_
        self.certificate_ = model.certificate_

    def _predictions(self, rows, each, alphas):
        """What each row is predicted by the others, (n, q, m); `each` is overwritten."""
        y = rows.y[:, :, None]
        if rows.s is None:
            return np.subtract(y, each, out=each)
        out = rows.s == 0.0  # a row of no weight is left out by every fit
        with np.errstate(divide="ignore", invalid="ignore"):
            each /= np.sqrt(rows.s)[:, None, None]
        np.subtract(y, each, out=each)
        if out.any():
            for k, a in enumerate(alphas):
                fit = Ridge(float(a), fit_intercept=self.fit_intercept).fit(rows.X, rows.y, rows.s)
                each[out, :, k] = fit.predict(rows.X[out]).reshape(-1, rows.y.shape[1])
        return each

    def _scores(self, predictions, Y, score_params):
        """The scorer's word on every α, (1 or q, m)."""
        scorer, m = self._scorer(), predictions.shape[2]
        if is_classifier(self):
            judged = AsScored(np.arange(max(Y.shape[1], 2)))
            truth = (Y[:, 0] > 0).astype(int) if Y.shape[1] == 1 else Y.argmax(axis=1)
            pairs = [(truth, predictions)]
        else:
            judged, one = AsPredicted(), Y.shape[1] == 1
            pairs = [(Y, predictions)]
            if one or self.alpha_per_target:
                pairs = [(Y[:, k], predictions[:, k]) for k in range(Y.shape[1])]
        try:
            return np.array(
                [
                    [scorer(judged, found[..., k], truth, **score_params) for k in range(m)]
                    for truth, found in pairs
                ]
            )
        except AttributeError as error:
            if "predict_proba" not in str(error):  # a mistake inside of the user's scorer
                raise
            raise ValueError(
                f"scoring={self.scoring!r} asks for more than ridge regression has: "
                "predictions and scores, no probabilities."
            ) from error

    def _fit_folds(self, model, X, y, params):
        """Choose by a grid search over folds."""
        for name in ("store_cv_results", "alpha_per_target"):
            if getattr(self, name, False):
                raise ValueError(f"cv!=None and {name}=True are incompatible")
        if _routing_enabled():
            model.set_fit_request(sample_weight=True)
        grid = {"alpha": self._penalties()}
        search = GridSearchCV(model, grid, cv=self.cv, scoring=self._scorer()).fit(X, y, **params)
        found = search.best_estimator_
        self.alpha_, self.best_score_ = found.alpha, search.best_score_
        for name in ("coef_", "intercept_", "certificate_", "n_features_in_", "feature_names_in_"):
            if hasattr(found, name):
                setattr(self, name, getattr(found, name))
        return found

    def _score_params(self, params):
        """What the scorer gets beside the predictions."""
        if _routing_enabled():
            return process_routing(self, "fit", **params).scorer.score
        return params

    def _scorer(self):
        """The scorer; the default one of routing wants the weights."""
        if _routing_enabled() and self.scoring is None:
            return get_scorer(self._default_scoring).set_score_request(sample_weight=True)
        return check_scoring(estimator=self, scoring=self.scoring, allow_none=True)

    def get_metadata_routing(self):
        """Who gets which metadata.

        Returns
        -------
        routing : MetadataRouter
        """
        to = partial(MethodMapping().add, caller="fit")
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(scorer=self._scorer(), method_mapping=to(callee="score"))
            .add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class RidgeCV(PenaltySearch, LinearPrediction, MultiOutputMixin, RegressorMixin, BaseEstimator):
    r"""Ridge regression whose penalty is chosen by cross-validation.

    By default each row is left out once, in closed form: residuals of all n fits for all penalties
    cost little more than one fit.

    Parameters
    ----------
    alphas : float or array-like of shape (n_alphas,), default=(0.1, 1.0, 10.0)
        The penalties to try, > 0 (≥ 0 if `cv` is given).
    fit_intercept : bool, default=True
        Fit b; otherwise b = 0.
    scoring : str or callable, default=None
        The score to maximise; None: the negative mean squared error if `cv` is None, otherwise R².
    cv : int, splitter or iterable, default=None
        None: leave one out. Otherwise the folds of a grid search.
    gcv_mode : {"auto", "svd", "eigen"}, default=None
        How to leave one out: by the eigenvectors of XᵀX or XXᵀ, whichever is smaller, or by the
        singular vectors of X. "auto" and None take the first, and of a dense tall X the second
        where a penalty is too small for the first.
    store_cv_results : bool, default=False
        Keep `cv_results_` (`cv` None).
    alpha_per_target : bool, default=False
        Choose a penalty for each target (`cv` None).

    Attributes
    ----------
    cv_results_ : ndarray of shape (n_samples, n_alphas) or (n_samples, n_targets, n_alphas)
        Squared errors of the rows left out if `scoring` is None (times the weight of the row),
        otherwise their predictions.
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        w.
    intercept_ : float or ndarray of shape (n_targets,)
        b.
    alpha_ : float or ndarray of shape (n_targets,)
        The chosen penalty.
    best_score_ : float or ndarray of shape (n_targets,)
        Its score.
    certificate_ : float
        As in `Ridge`.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from mlreplica.linear_model import RidgeCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RidgeCV(alphas=[1e-3, 1e-2, 1e-1, 1]).fit(X, y)
    >>> model.alpha_, round(model.score(X, y), 4)
    (0.01, 0.5166)
    """

    card = Ridge.card.but(
        good="chooses alpha by exact leave-one-out errors at the cost of one fit",
        bad="keeps all columns",
        instead="LassoCV to select columns, KernelRidge for curves",
    )

    _default_scoring = "r2"

    def __init__(
        self,
        alphas: Any = (0.1, 1.0, 10.0),
        *,
        fit_intercept=True,
        scoring=None,
        cv=None,
        gcv_mode=None,
        store_cv_results=False,
        alpha_per_target=False,
    ):
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.scoring = scoring
        self.cv = cv
        self.gcv_mode = gcv_mode
        self.store_cv_results = store_cv_results
        self.alpha_per_target = alpha_per_target

    def fit(self, X, y, sample_weight=None, **params):
        """Choose α, then fit w and b with it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights s ≥ 0.
        **params : dict
            For the scorer, where metadata routing is enabled.

        Returns
        -------
        self : RidgeCV
            The fitted estimator.
        """
        self._validate_params()
        _raise_for_params(params, self, "fit")
        self.__dict__.pop("cv_results_", None)
        if sample_weight is not None:
            params["sample_weight"] = sample_weight
        if self.cv is not None:
            self._fit_folds(Ridge(fit_intercept=self.fit_intercept), X, y, params)
            return self
        X, Y, one_target = training_set(self, X, y, SPARSE)
        self._search(X, Y, sample_weight, self._score_params(params))
        if not (self.alpha_per_target and Y.shape[1] > 1):
            self.alpha_, self.best_score_ = float(self.alpha_[0]), self.best_score_[0]
        if Y.shape[1] == 1:
            self.coef_ = self.coef_[0]
        if one_target:
            self.intercept_ = self.intercept_[0] if self.fit_intercept else 0.0
            if self.store_cv_results:
                self.cv_results_ = self.cv_results_[:, 0]
        return self
