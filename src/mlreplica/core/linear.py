"""What linear models share: rows and weights in, X w + b out"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.compat import _check_sample_weight
from mlreplica.core.validation import FLOATS, is_plain, is_plain_array, new_rows, validate_data

SPARSE = ["csr", "csc", "coo"]


def training_rows(estimator: Any, X: Any, y: Any, accept_sparse: Any) -> tuple[Any, Any]:
    """X as it is or as floats, y as float64, both checked once.

    Plain arrays of floats need no more than two sums, which are finite unless an entry is not.
    """
    if is_plain(X, y, "f", contiguous=False):
        forget_names(estimator, X)
        return X, y.astype(np.float64, copy=False)
    X, y = validate_data(estimator, X, y, accept_sparse=accept_sparse, dtype=FLOATS, y_numeric=True)
    return X, y.astype(np.float64, copy=False)


def checked_rows(estimator: Any, X: Any, *, least: int = 1, **options: Any) -> Any:
    """X as it is if it is a plain array of floats with `least` columns, else by scikit-learn.

    `options` are those of `validate_data`, of which a plain array needs none.
    """
    if is_plain_array(X, contiguous=False) and X.shape[1] >= least:
        forget_names(estimator, X)
        return X
    return validate_data(estimator, X, dtype=FLOATS, ensure_min_features=least, **options)


def weighted_rows(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """X, y and weights s > 0: without the rows of weight 0; s is all ones if none is given."""
    if sample_weight is None:
        return X, y, np.ones(len(y))
    s = checked_weights(sample_weight, X)
    return (X, y, s) if s.all() else (X[s > 0], y[s > 0], s[s > 0])


def checked_weights(sample_weight: Any, X: Any) -> Any:
    """One weight ≥ 0 per row, float64."""
    return _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)


def forget_names(estimator: Any, X: Any) -> None:
    """What `validate_data` leaves on the estimator for a plain array."""
    estimator.n_features_in_ = X.shape[1]
    estimator.__dict__.pop("feature_names_in_", None)


class LinearPrediction:
    """Regressors: `predict` gives X w + b."""

    coef_: Any
    intercept_: Any

    def predict(self, X: Any) -> Any:
        """Predict X w + b.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            One prediction per row (and target).
        """
        X = new_rows(self, X, accept_sparse=SPARSE)
        return X @ self.coef_.T + self.intercept_


class SparseWeights:
    """`sparsify` and `densify`: keep `coef_` as a sparse matrix, or not."""

    coef_: Any

    def sparsify(self) -> Self:
        """Keep `coef_` as a sparse matrix, which pays when an L1 penalty left few weights."""
        check_is_fitted(self)
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Undo `sparsify`."""
        check_is_fitted(self)
        self.coef_ = self.coef_.toarray() if hasattr(self.coef_, "toarray") else self.coef_
        return self


class LinearScores(SparseWeights):
    """Classifiers: `coef_` (1 or n_classes, n_features) gives scores, the best score the class."""

    intercept_: Any
    classes_: Any

    def decision_function(self, X: Any) -> Any:
        """Score wᵀx + b of each row, one column per class; of two classes, > 0 means the second.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        X = new_rows(self, X, accept_sparse="csr")
        scores = safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> Any:
        """The class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        scores = self.decision_function(X)
        best = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best]
