"""Predict: what every linear model does with its w and b"""

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.validation import new_rows

SPARSE = ["csr", "csc", "coo"]


class LinearPrediction:
    """Regressors: `predict` gives X w + b."""

    def predict(self, X):
        """Predict X w + b.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            One prediction a row (and target).
        """
        X = new_rows(self, X, accept_sparse=SPARSE)
        return X @ self.coef_.T + self.intercept_


class SparseWeights:
    """`sparsify` and `densify`: keep `coef_` as a sparse matrix, or not."""

    def sparsify(self):
        """Keep `coef_` as a sparse matrix, worth it when an L1 penalty left few weights."""
        check_is_fitted(self)
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self):
        """Undo `sparsify`."""
        check_is_fitted(self)
        if sp.issparse(self.coef_):
            self.coef_ = self.coef_.toarray()
        return self


class LinearScores(SparseWeights):
    """Classifiers: `coef_` (1 or n_classes, n_features) gives scores, the best score the class."""

    def decision_function(self, X):
        """Score wᵀx + b of each row, with a column a class; of two classes > 0 is the second.

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

    def predict(self, X):
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
