"""Boosting by weights: what AdaBoost for classes and for numbers share

A learner that is one of our decision trees is grown on columns that were sorted once; any other
is cloned and fitted as it is.
"""

from numbers import Integral, Real

import numpy as np
from sklearn.base import (
    is_classifier,
    is_regressor,
)
from sklearn.ensemble import BaseEnsemble
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.compat import (
    HasMethods,
    Interval,
    _check_sample_weight,
    _fit_context,
    _raise_for_unsupported_routing,
)
from mlreplica.core.iterate import CallbackSupport, iterate
from mlreplica.core.validation import validate_data
from mlreplica.ensemble._prepared import prepare
from mlreplica.metrics import accuracy_score, r2_score

SEEDS = 2**31 - 1  # learners are seeded by numbers below this


class WeightBoosting(CallbackSupport, BaseEnsemble):
    """Base of both: reading the input, the rounds, importances and staged scores."""

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def _rows(self, X):
        """New rows, as the learners take them."""
        check_is_fitted(self)
        return validate_data(
            self, X, accept_sparse=["csr", "csc"], allow_nd=True, dtype=None, reset=False
        )

    @_fit_context(prefer_skip_nested_validation=False)  # the learner checks its own parameters
    def fit(self, X, y, sample_weight=None):
        """Boost.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows before the first round; all the same by default.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        _raise_for_unsupported_routing(self, "fit", sample_weight=sample_weight)
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse=["csr", "csc"],
            allow_nd=True,
            dtype=None,
            y_numeric=is_regressor(self),
        )
        w = _check_sample_weight(
            sample_weight, X, dtype=np.float64, copy=True, ensure_non_negative=True
        )
        w /= w.sum()
        self._validate_estimator()
        self.estimators_ = []
        self.estimator_weights_ = np.zeros(self.n_estimators)
        self.estimator_errors_ = np.ones(self.n_estimators)
        self._packed = None
        prepared = prepare(self.estimator_, X)
        rounds = self._rounds(X, y, w, check_random_state(self.random_state), prepared)
        iterate(
            self,
            self._kept(rounds),
            max_iter=self.n_estimators,
            advice=None,
            unit="rounds",
            publish=self._published,
            X=X,
            y=y,
        )
        if prepared is not None:
            self._packed = self._pack(self.estimators_)
        return self

    def _kept(self, rounds):
        """The rounds as they come, written down; a learner too bad for a round is dropped."""
        t = 0
        try:
            for state in rounds:
                self.estimator_weights_[t], self.estimator_errors_[t] = state.weight, state.error
                t += 1
                yield state
        finally:  # also after an interrupt: its round is not complete
            del self.estimators_[max(t, self._fewest) :]

    def _published(self, state):
        """The fitted attributes after the rounds so far."""
        names = ("estimators_", "estimator_weights_", "estimator_errors_", "estimator_")
        names += ("classes_", "n_classes_") if is_classifier(self) else ()
        return {name: getattr(self, name) for name in names}

    def staged_score(self, X, y, sample_weight=None):
        """Accuracy or R² after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None

        Yields
        ------
        score : float
        """
        score = accuracy_score if is_classifier(self) else r2_score
        for y_pred in self.staged_predict(X):
            yield score(y, y_pred, sample_weight=sample_weight)

    @property
    def feature_importances_(self):
        """Importances of the learners, weighted by their votes."""
        if not getattr(self, "estimators_", None):
            raise ValueError("Estimator not fitted, call `fit` before `feature_importances_`.")
        try:
            rows = [learner.feature_importances_ for learner in self.estimators_]
        except AttributeError as error:
            raise AttributeError(
                "Unable to compute feature importances since estimator does not have a "
                "feature_importances_ attribute"
            ) from error
        return self.estimator_weights_[: len(rows)] @ rows / self.estimator_weights_.sum()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
