r"""Bayes's rule with independent columns

Class k has the prior π_k. If the columns are independent *within* each class, the joint probability
of a row and a class is a product, and its logarithm a sum of p one-dimensional terms,

    J_k(x) = log π_k + Σ_j log p(x_j | k)                                                  (1)

The class of x is the one of largest J_k, and its probability is

    P(k | x) = exp(J_k(x)) / Σ_l exp(J_l(x))                                               (2)

Each p(x_j | k) is estimated from one column and one class: a mean and a variance, or counts. These
add up over rows, so `partial_fit` gives exactly what `fit` gives on all rows at once.
"""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.compat import _fit_context
from mlreplica.core.linear import checked_weights, forget_names
from mlreplica.core.validation import (
    FLOATS,
    ValidatedOnce,
    distinct,
    is_plain,
    is_plain_csr,
    new_rows,
    validate_data,
)

CARD = Card(
    page="naive-bayes",
    checks="naive_bayes",
    use="a first classifier for text or many columns; data that come in batches",
    good="one pass over the rows; exact updates by batches; needs few rows; ranks classes well",
    bad="columns that repeat each other count twice, so its probabilities are too sure",
    time="O(n p)",
    memory="O(K p)",
    rescaling="not needed",
    instead="LogisticRegression, which needs no independence, once there are enough rows",
)


class NaiveBayes(ValidatedOnce, ClassifierMixin, BaseEstimator):
    """Bayes's rule (1) and (2); children count in `_count` and give J in `_scores`."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Count, or estimate means and variances.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; sparse ones of counts only.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            How many times each row counts.

        Returns
        -------
        self : object
        """
        X, y, s = self._training(X, y, sample_weight, True)
        return self._learn(X, y, None, s, True)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Add a batch of rows; after all batches, the model is that of one fit.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; sparse ones of counts only.
        y : array-like of shape (n_samples,)
            Their classes.
        classes : array-like of shape (n_classes,), default=None
            All classes that will occur; needed for the first batch.
        sample_weight : array-like of shape (n_samples,), default=None
            How many times each row counts.

        Returns
        -------
        self : object
        """
        first = not hasattr(self, "classes_")
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        X, y, s = self._training(X, y, sample_weight, first)
        return self._learn(X, y, classes, s, first)

    def _joint_log_likelihood(self, X):
        """J of (1), for rows as the user gives them."""
        if "classes_" not in vars(self):
            check_is_fitted(self)
        return self._scores(self._rows(X))

    def _rows(self, X):
        """New rows, checked."""
        return new_rows(self, X, accept_sparse="csr")

    def _training(self, X, y, sample_weight, first):
        """Rows, targets and weights, checked once."""
        if first and (
            is_plain(X, y, "iu", contiguous=False)
            or (
                self.__sklearn_tags__().input_tags.sparse and is_plain_csr(X, y, "iu", finite=False)
            )
        ):
            forget_names(self, X)
        else:
            X, y = self._checked(X, y, first)
            check_classification_targets(y)
        s = None if sample_weight is None else checked_weights(sample_weight, X)
        return X, y, s

    def _checked(self, X, y, first):
        """X and y as scikit-learn checks them."""
        return validate_data(self, X, y, accept_sparse="csr", dtype=FLOATS, reset=first)

    def _learn(self, X, y, classes, s, first):
        """Add the rows to the counts; `first`: forget all others."""
        if first and classes is None:
            self.classes_, code = distinct(y)
        else:
            if first:
                self.classes_ = np.unique(classes)
            elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
                raise ValueError(
                    f"`classes={classes!r}` is not the same as on last call to partial_fit, was: "
                    f"{self.classes_!r}"
                )
            code = np.searchsorted(self.classes_, y)
            known = code < len(self.classes_)
            known[known] = self.classes_[code[known]] == y[known]
            if not known.all():
                raise ValueError(
                    f"The target label(s) {np.unique(y[~known])} in y do not exist in the initial "
                    f"classes {self.classes_}"
                )
        self._count(X, np.asarray(code, dtype=np.int64), s, first)
        return self

    def predict_joint_log_proba(self, X):
        """The logarithm of the joint probability of each row and class: (1).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        J : ndarray of shape (n_samples, n_classes)
        """
        return self._joint_log_likelihood(X)

    def predict(self, X):
        """The class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        best = self._joint_log_likelihood(X).argmax(axis=1)
        return self.classes_[best]

    def predict_log_proba(self, X):
        """The logarithm of the probability of each class: (2).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        log_P : ndarray of shape (n_samples, n_classes)
        """
        J = self._joint_log_likelihood(X)
        top = J.max(axis=1, keepdims=True)
        J = np.where(top == -np.inf, 0.0, J)  # impossible in every class: all are as likely
        top = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(divide="ignore"):
            return J - (top + np.log(np.exp(J - top).sum(axis=1, keepdims=True)))

    def predict_proba(self, X):
        """The probability of each class: (2).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        P : ndarray of shape (n_samples, n_classes)
        """
        return np.exp(self.predict_log_proba(X))
