"""Answers of a forest: the mean (1) of `base.py` as classes, probabilities or numbers"""

from warnings import warn

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.class_weight import compute_class_weight, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

PRESET_AND_WARM = (
    "class_weight={!r} counts the classes of this call's rows alone, while the trees kept by "
    "warm_start saw others; give a dictionary of weights, from compute_class_weight on all rows."
)


class Made:
    """What a forest makes of its trees when first asked: estimators, and all trees packed."""

    def __init__(self):
        self.estimators, self.packed = [], None

    def __reduce__(self):
        return Made, ()


class Classifies(ClassifierMixin):
    """Targets and answers of a forest of classification trees."""

    def _encoded(self, y, sample_weight):
        """The targets (n, outputs) as numbers of classes, and the weights that these bring."""
        check_classification_targets(y)
        found = [np.unique(column, return_inverse=True) for column in y.T]
        self.classes_ = [classes for classes, _ in found]
        self.n_classes_ = [len(classes) for classes in self.classes_]
        codes = np.stack([codes for _, codes in found], axis=1)
        weights = self.class_weight
        if isinstance(weights, str):
            if self.warm_start:
                warn(PRESET_AND_WARM.format(weights), stacklevel=3)
            if weights == "balanced_subsample" and self.bootstrap:
                return codes, None  # each draw has its own
            weights = [
                dict(zip(classes, self._balanced(classes, column, sample_weight), strict=True))
                for classes, column in zip(self.classes_, y.T, strict=True)
            ]
            weights = weights if len(weights) > 1 else weights[0]
        return codes, None if weights is None else compute_sample_weight(weights, y)

    @staticmethod
    def _balanced(classes, y, sample_weight):
        """Weights with which all classes count the same."""
        return compute_class_weight("balanced", classes=classes, y=y, sample_weight=sample_weight)

    def predict_proba(self, X):
        """Mean (1) of the shares of the classes in the leaves.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or a list of such arrays
            Probabilities in the order of `classes_`; one array an output if there are several.
        """
        check_is_fitted(self)
        means = self._means(X)
        if self.n_outputs_ > 1:
            K = max(self.n_classes_)
            blocks = means.reshape(len(means), self.n_outputs_, K)
            return [
                np.ascontiguousarray(blocks[:, k, :size]) for k, size in enumerate(self.n_classes_)
            ]
        if self.n_classes_ != 2:
            return means
        return np.concatenate([1.0 - means, means], axis=1)

    def predict(self, X):
        """Predict the class of the largest probability.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Classes.
        """
        shares = self.predict_proba(X)
        if self.n_outputs_ == 1:
            return self.classes_[shares.argmax(axis=1)]
        return np.stack(
            [c[s.argmax(axis=1)] for c, s in zip(self.classes_, shares, strict=True)], axis=1
        )

    def predict_log_proba(self, X):
        """The logarithm of the probabilities; −∞ where no tree has a share.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or a list of such arrays
            One array an output if there are several.
        """
        shares = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return [np.log(s) for s in shares] if self.n_outputs_ > 1 else np.log(shares)

    def _publish_oob(self, shares, y, score):
        """Keep (3) and its score; of several targets as (n, classes, outputs)."""
        self.oob_decision_function_ = shares[:, :, 0] if shares.shape[-1] == 1 else shares
        self.oob_score_ = (score or accuracy_score)(y, self.oob_decision_function_.argmax(axis=1))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class Averages(RegressorMixin):
    """Targets and answers of a forest of regression trees."""

    def _encoded(self, y, _):
        """The targets as they are, and no weights."""
        return y.astype(np.float64, copy=False), None

    def _publish_oob(self, found, y, score):
        """Keep (3) and its score."""
        found = found[:, 0]
        self.oob_prediction_ = found[:, 0] if found.shape[-1] == 1 else found
        self.oob_score_ = (score or r2_score)(y, self.oob_prediction_)

    def predict(self, X):
        """Predict the mean (1) of the leaves.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Numbers.
        """
        check_is_fitted(self)
        means = self._means(X)
        return means[:, 0] if self.n_outputs_ == 1 else means
