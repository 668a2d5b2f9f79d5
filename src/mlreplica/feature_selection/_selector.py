"""Selectors: keep some columns of X, and put them back in their places"""

import warnings
from abc import ABCMeta, abstractmethod
from operator import attrgetter

import numpy as np
import scipy.sparse as sp
from sklearn.base import TransformerMixin
from sklearn.utils import check_array, get_tags, safe_sqr
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.compat import (
    _check_feature_names_in,
    _get_output_config,
    _safe_indexing,
)
from mlreplica.core.validation import FLOATS, is_finite, validate_data


class SelectorMixin(TransformerMixin, metaclass=ABCMeta):
    """What every selector does once it knows its columns; a subclass has `_get_support_mask`."""

    @abstractmethod
    def _get_support_mask(self):
        """Return a bool for each column: whether it is kept."""

    def get_support(self, indices=False):
        """Return which columns are kept.

        Parameters
        ----------
        indices : bool, default=False
            Return the numbers of the columns instead of a bool for each.

        Returns
        -------
        support : ndarray
            Bools for all columns, or the numbers of those that are kept.
        """
        mask = self._get_support_mask()
        return np.nonzero(mask)[0] if indices else mask

    def transform(self, X):
        """Keep the selected columns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        X : array of shape (n_samples, n_selected_features)
            The selected columns.
        """
        plain = (
            type(X) is np.ndarray
            and X.ndim == 2
            and X.dtype in FLOATS
            and len(X) > 0
            and X.shape[1] == getattr(self, "n_features_in_", None)
            and not hasattr(self, "feature_names_in_")
            and is_finite(X)
        )
        if not plain:
            X = self._validated(X)
        mask = self._get_support_mask()
        if not mask.any():
            warnings.warn(
                "No features were selected: either the data is too noisy or the selection test too "
                "strict.",
                UserWarning,
                stacklevel=2,
            )
        if plain:
            return X.compress(mask, axis=1)
        return _safe_indexing(X, np.flatnonzero(mask), axis=1)

    def _validated(self, X):
        """X as it is, if it has the columns of `fit` and is finite where it must be."""
        kept_as_frame = _get_output_config("transform", estimator=self)[
            "dense"
        ] != "default" and hasattr(X, "iloc")
        return validate_data(
            self,
            X,
            dtype=None,
            accept_sparse="csr",
            ensure_all_finite=not get_tags(self).input_tags.allow_nan,
            skip_check_array=kept_as_frame,
            reset=False,
        )

    def inverse_transform(self, X):
        """Put columns back in their places, with zeros where others were removed.

        Parameters
        ----------
        X : array of shape (n_samples, n_selected_features)
            Rows with the selected columns.

        Returns
        -------
        X_original : array of shape (n_samples, n_original_features)
            The rows with all columns.
        """
        mask = self.get_support()
        sparse = sp.issparse(X)
        sparse_kinds = ["csc"] if sparse else False
        X = check_array(X, dtype=None, accept_sparse=sparse_kinds, ensure_min_features=0)
        if X.shape[1] != mask.sum():
            raise ValueError(
                f"X has {X.shape[1]} columns, but {mask.sum()} were selected: X has a different "
                "shape than during fitting."
            )
        if sparse:
            counts = np.zeros(len(mask) + 1, dtype=X.indptr.dtype)
            counts[1:][mask] = np.diff(X.indptr)
            shape = X.shape[0], len(mask)
            return type(X)((X.data, X.indices, np.cumsum(counts)), shape=shape, dtype=X.dtype)
        whole = np.zeros((len(X), len(mask)), dtype=X.dtype)
        whole[:, mask] = X
        return whole

    def get_feature_names_out(self, input_features=None):
        """Return the names of the selected columns.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the columns of X.

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self)
        return _check_feature_names_in(self, input_features)[self.get_support()]


def importances_of(estimator, getter, combine, norm_order=1):
    """A number for each column, by the estimator's attribute or by a function of the estimator.

    Several rows of weights are combined to a "norm", or to a sum of squares if combine is "square".
    """
    if callable(getter):
        found = getter(estimator)
    elif getter != "auto":
        found = attrgetter(getter)(estimator)
    elif hasattr(estimator, "coef_"):
        found = estimator.coef_
    elif hasattr(estimator, "feature_importances_"):
        found = estimator.feature_importances_
    else:
        raise ValueError(
            f"when `importance_getter=='auto'`, the underlying estimator "
            f"{type(estimator).__name__} should have `coef_` or `feature_importances_` attribute. "
            "Either pass a fitted estimator to feature selector or call fit before calling "
            "transform."
        )
    if combine == "square":
        squares = safe_sqr(found)
        return squares if squares.ndim == 1 else np.asarray(squares.sum(axis=0)).ravel()
    found = found.toarray() if sp.issparse(found) else np.asarray(found)
    return np.abs(found) if found.ndim == 1 else np.linalg.norm(found, axis=0, ord=norm_order)
