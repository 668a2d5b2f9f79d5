"""Ridge regression on labels −1 and +1 as a classifier, with a given penalty or a chosen one"""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import column_or_1d, compute_sample_weight
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.compat import StrOptions, _check_sample_weight, _raise_for_params
from mlreplica.core.iterate import CallbackSupport
from mlreplica.core.linear import LinearScores
from mlreplica.core.validation import FLOATS, new_rows, validate_data
from mlreplica.preprocessing import LabelBinarizer

from .cv import PenaltySearch
from .regressor import SPARSE, Ridge
from .solvers import DENSE_ONLY, RidgeSolvers


class SignedLabels(LinearScores, ClassifierMixin, BaseEstimator):
    """Labels as targets ±1, one column a class (one for two classes, one a label of several)."""

    def _targets(self, X, y, sample_weight):
        """X, targets (n, q), weights (None if all are 1)."""
        X, y = validate_data(self, X, y, accept_sparse=SPARSE, dtype=FLOATS, multi_output=True)
        self._label_binarizer = LabelBinarizer(pos_label=1, neg_label=-1)
        Y = self._label_binarizer.fit_transform(y).astype(X.dtype)
        self.classes_ = self._label_binarizer.classes_
        if not self._multilabel:
            y = column_or_1d(y, warn=True)
        if self.class_weight is not None:
            s = _check_sample_weight(sample_weight, X, dtype=np.float64)
            sample_weight = s * compute_sample_weight(self.class_weight, y)
        return X, Y, sample_weight

    @property
    def _multilabel(self):
        """Whether a row may have several labels."""
        return self._label_binarizer.y_type_.startswith("multilabel")

    def _one_dimensional(self, Y):
        """Two classes: `coef_` as of one target."""
        if Y.shape[1] == 1:
            self.coef_ = self.coef_[0]

    def decision_function(self, X):
        """Score wᵀx + b of each row, with a column a class; of two classes > 0 is the second.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        X = new_rows(self, X, accept_sparse=SPARSE)
        scores = X @ self.coef_.T + self.intercept_
        return scores.ravel() if scores.shape[1:] == (1,) else scores

    def predict(self, X):
        """The class of each row, or its labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_labels)
        """
        check_is_fitted(self, attributes=["_label_binarizer"])
        if not self._multilabel:
            return super().predict(X)
        sign = np.where(self.decision_function(X) > 0, 1, -1)
        return self._label_binarizer.inverse_transform(sign)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class RidgeClassifier(RidgeSolvers, CallbackSupport, SignedLabels):
    r"""Classification by ridge regression on the labels −1 and +1.

    With several classes there is a regression for each, and the largest score wins.

    Parameters
    ----------
    alpha : float, default=1.0
        The cost of a unit of :math:`\lVert w \rVert^2`.
    fit_intercept, copy_X, max_iter, tol
        As in `Ridge`.
    class_weight : dict or "balanced", default=None
        Weights of the classes; "balanced": n / (number of classes · size of the class).
    solver, positive, random_state, penalize_intercept
        As in `Ridge`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_classes, n_features)
        w.
    intercept_ : float or ndarray of shape (n_targets,)
        b.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_iter_, solver_, certificate_, n_features_in_, feature_names_in_
        As in `Ridge`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mlreplica.linear_model import RidgeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> round(RidgeClassifier().fit(X, y).score(X, y), 4)
    0.9596
    """

    card = Ridge.card.but(
        use="a class from many columns, when speed matters more than probabilities",
        good="one linear system for any number of classes",
        bad="no probabilities; rows far on the right side still pull the border",
        instead="LogisticRegression for probabilities, LinearSVC for a margin",
    )

    _parameter_constraints = Ridge._parameter_constraints | {
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        fit_intercept=True,
        copy_X=True,
        max_iter=None,
        tol=1e-4,
        class_weight=None,
        solver="auto",
        positive=False,
        random_state=None,
        penalize_intercept=False,
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.class_weight = class_weight
        self.solver = solver
        self.positive = positive
        self.random_state = random_state
        self.penalize_intercept = penalize_intercept

    def fit(self, X, y, sample_weight=None):
        """Fit w and b.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Labels.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights s ≥ 0.

        Returns
        -------
        self : RidgeClassifier
            The fitted estimator.
        """
        self._validate_params()
        X, Y, s = self._targets(X, y, sample_weight)
        self._publish(self._solve(X, Y, s), X.dtype)
        self._one_dimensional(Y)
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        offset = self.fit_intercept and self.solver in ("cholesky", "saga")
        tags.input_tags.sparse = self.solver not in DENSE_ONLY and not offset
        return tags


class RidgeClassifierCV(PenaltySearch, SignedLabels):
    r"""`RidgeClassifier` whose penalty is chosen by cross-validation, by default leaving one out.

    Parameters
    ----------
    alphas, fit_intercept, scoring, cv
        As in `RidgeCV`; with `cv` and no `scoring` the accuracy decides.
    class_weight : dict or "balanced", default=None
        As in `RidgeClassifier`.
    store_cv_results : bool, default=False
        Keep `cv_results_` (`cv` None).

    Attributes
    ----------
    cv_results_ : ndarray of shape (n_samples, n_targets, n_alphas)
        As in `RidgeCV`.
    coef_, intercept_, classes_
        As in `RidgeClassifier`.
    alpha_ : float
        The chosen penalty.
    best_score_ : float
        Its score.
    certificate_, n_features_in_, feature_names_in_
        As in `Ridge`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mlreplica.linear_model import RidgeClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RidgeClassifierCV(alphas=[1e-3, 1e-2, 1e-1, 1]).fit(X, y)
    >>> model.alpha_, round(model.score(X, y), 4)
    (0.01, 0.9631)
    """

    card = RidgeClassifier.card.but(
        good="one linear system for any number of classes; chooses alpha by leave-one-out errors",
    )

    gcv_mode, alpha_per_target, _default_scoring = None, False, "accuracy"
    _parameter_constraints = {
        name: rule
        for name, rule in PenaltySearch._parameter_constraints.items()
        if name not in ("gcv_mode", "alpha_per_target")
    } | {"class_weight": [dict, StrOptions({"balanced"}), None]}

    def __init__(
        self,
        alphas: Any = (0.1, 1.0, 10.0),
        *,
        fit_intercept=True,
        scoring=None,
        cv=None,
        class_weight=None,
        store_cv_results=False,
    ):
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.scoring = scoring
        self.cv = cv
        self.class_weight = class_weight
        self.store_cv_results = store_cv_results

    def fit(self, X, y, sample_weight=None, **params):
        """Choose α, then fit w and b with it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Labels.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights s ≥ 0.
        **params : dict
            For the scorer, where metadata routing is enabled.

        Returns
        -------
        self : RidgeClassifierCV
            The fitted estimator.
        """
        self._validate_params()
        _raise_for_params(params, self, "fit")
        self.__dict__.pop("cv_results_", None)
        if self.cv is not None:
            _, _, s = self._targets(X, y, sample_weight)
            params |= {} if s is None else {"sample_weight": s}
            self._fit_folds(RidgeClassifier(fit_intercept=self.fit_intercept), X, y, params)
            return self
        params |= {} if sample_weight is None else {"sample_weight": sample_weight}
        score_params = self._score_params(params)
        X, Y, s = self._targets(X, y, sample_weight)
        self._search(X, Y, s, score_params)
        self._one_dimensional(Y)
        self.alpha_, self.best_score_ = float(self.alpha_[0]), self.best_score_[0]
        return self
