"""What every imputer shares: columns that mark gaps, beside those that were filled"""

from abc import ABCMeta, abstractmethod

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.compat import (
    MissingValues,
    _check_feature_names_in,
    is_pandas_na,
    is_scalar_nan,
)
from mlreplica.core.validation import ValidatedOnce

from ._indicator import MissingIndicator


class Imputer(TransformerMixin, ValidatedOnce, BaseEstimator, metaclass=ABCMeta):
    """Marks where gaps were, beside the filled columns; a subclass fills them."""

    _parameter_constraints: dict = {
        "missing_values": [MissingValues()],
        "add_indicator": ["boolean"],
        "keep_empty_features": ["boolean"],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        missing = self.missing_values
        tags.input_tags.allow_nan = is_pandas_na(missing) or is_scalar_nan(missing)
        return tags

    def _learn_marks(self, X, gaps):
        """Set indicator_."""
        self.indicator_ = None
        if self.add_indicator:
            self.indicator_ = MissingIndicator(
                missing_values=self.missing_values, error_on_new=False
            )
            self.indicator_.learn(X, gaps)

    def _with_marks(self, filled, X, gaps):
        """The filled columns, with those that mark gaps beside them if they are wanted."""
        if not self.add_indicator:
            return filled
        marks = self.indicator_.marks(X, gaps)
        if sp.issparse(filled):
            return sp.hstack([filled, marks], format=filled.format)
        return np.hstack([filled, marks.toarray() if sp.issparse(marks) else marks])

    @abstractmethod
    def _kept(self):
        """Return a bool for each column of X: whether it is in the result."""

    def get_feature_names_out(self, input_features=None):
        """Return the names of the columns that `transform` returns.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the columns of X.

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self, "n_features_in_")
        given = _check_feature_names_in(self, input_features)
        kept = given[self._kept()]
        if not self.add_indicator:
            return kept
        return np.concatenate([kept, self.indicator_.get_feature_names_out(given)])
