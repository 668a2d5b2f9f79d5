r"""Ordinal encoding: the number of a category among the categories

Column j has the categories v_0 < … < v_(m−1). The entry x_ij becomes                         (2)

    t   if x_ij = v_t

The order is that of the values, or the one given: a model that adds up columns takes it
seriously, a tree needs it only to split. Infrequent categories share the last number.
"""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin
from sklearn.utils.validation import check_array, check_is_fitted

from mlreplica.core.compat import StrOptions, _fit_context, is_scalar_nan

from ._categories import is_nan
from ._encoder import INFREQUENT, CategoryEncoder
from ._one_hot import CARD


class OrdinalEncoder(OneToOneFeatureMixin, CategoryEncoder):
    """Encode each category as its number: (2).

    Parameters
    ----------
    categories : "auto" or list of array-like, default="auto"
        The categories of each column, in the order of their numbers; "auto" learns and sorts them.
    dtype : dtype, default=np.float64
        Of the result.
    handle_unknown : {"error", "use_encoded_value"}, default="error"
        A value that `fit` has not seen is an error, or becomes `unknown_value`.
    unknown_value : int or np.nan, default=None
        The number of values that `fit` has not seen.
    encoded_missing_value : int or np.nan, default=np.nan
        The number of missing values.
    min_frequency : int, float or None, default=None
        Categories with fewer rows, or a smaller share of all rows, are infrequent.
    max_categories : int or None, default=None
        The most numbers a column may have, missing and unknown ones not counted.

    Attributes
    ----------
    categories_ : list of ndarray
        The categories of each column.
    infrequent_categories_ : list of ndarray or None
        Those that share a number; only if `min_frequency` or `max_categories` is set.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.

    Examples
    --------
    >>> from mlreplica.preprocessing import OrdinalEncoder
    >>> sizes = OrdinalEncoder(categories=[["small", "medium", "large"]])
    >>> sizes.fit_transform([["large"], ["small"]])
    array([[2.],
           [0.]])
    >>> sizes.inverse_transform([[1]])
    array([['medium']], dtype=object)
    """

    card = CARD.but(
        use="categories as numbers, for trees or where they have an order",
        good="as many columns as before; rare, unknown and missing values have a number",
        bad="a model that adds up columns takes the order for a fact",
        memory="O(n p)",
        instead="OneHotEncoder for models that add up columns",
    )
    _parameter_constraints: dict = CategoryEncoder._parameter_constraints | {
        "encoded_missing_value": [Integral, float],
        "handle_unknown": [StrOptions({"error", "use_encoded_value"})],
        "unknown_value": [Integral, float, None],
    }

    def __init__(
        self,
        *,
        categories: Any = "auto",
        dtype=np.float64,
        handle_unknown="error",
        unknown_value=None,
        encoded_missing_value: Any = np.nan,
        min_frequency=None,
        max_categories=None,
    ):
        self.categories = categories
        self.dtype = dtype
        self.handle_unknown = handle_unknown
        self.unknown_value = unknown_value
        self.encoded_missing_value = encoded_missing_value
        self.min_frequency = min_frequency
        self.max_categories = max_categories

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Learn the categories of each column.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, texts, any objects; frames, too.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        self : OrdinalEncoder
        """
        self._fit(X)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X, y=None):
        """Learn the categories and encode X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, texts, any objects; frames, too.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        X_out : ndarray of shape (n_samples, n_features)
        """
        return self._encode(self._fit(X))

    def _fit(self, X):
        """Learn; return the number of every entry, by column."""
        self._check_values()
        self._missing_indices = {}
        codes = self._learn(X, refuse_unknown=self.handle_unknown == "error", count_gaps=False)
        self._missing_indices = {
            j: len(categories) - 1
            for j, categories in enumerate(self.categories_)
            if len(categories) and is_nan(categories[-1])
        }
        for j in range(len(codes)):
            size = self._groups(j)[1]
            if self.handle_unknown == "use_encoded_value" and 0 <= self.unknown_value < size:
                raise ValueError(
                    f"The used value for unknown_value {self.unknown_value} is one of the values "
                    "already used for encoding the seen categories."
                )
        self._check_missing()
        return codes

    def _check_values(self):
        """Raise if `unknown_value` does not go with the other parameters."""
        if self.handle_unknown != "use_encoded_value":
            if self.unknown_value is not None:
                raise TypeError(
                    "unknown_value should only be set when handle_unknown is 'use_encoded_value', "
                    f"got {self.unknown_value}."
                )
        elif is_scalar_nan(self.unknown_value):
            if np.dtype(self.dtype).kind != "f":
                raise ValueError(
                    "When unknown_value is np.nan, the dtype parameter should be a float dtype. "
                    f"Got {self.dtype}."
                )
        elif not isinstance(self.unknown_value, Integral):
            raise TypeError(
                "unknown_value should be an integer or np.nan when handle_unknown is "
                f"'use_encoded_value', got {self.unknown_value}."
            )

    def _check_missing(self):
        """Raise if missing values cannot be encoded."""
        if not self._missing_indices:
            return
        if np.dtype(self.dtype).kind != "f" and is_scalar_nan(self.encoded_missing_value):
            raise ValueError(
                f"There are missing values in features {list(self._missing_indices)}. For "
                f"OrdinalEncoder to encode missing values with dtype: {self.dtype}, set "
                "encoded_missing_value to a non-nan value, or set dtype to a float"
            )
        used = [
            j for j in self._missing_indices
            if 0 <= self.encoded_missing_value < self._groups(j)[1]
        ]  # fmt: skip
        if used:
            names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
            raise ValueError(
                f"encoded_missing_value ({self.encoded_missing_value}) is already used to encode "
                f"a known category in features: {names[used].tolist()}"
            )

    def transform(self, X):
        """Encode rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns seen in `fit`.

        Returns
        -------
        X_out : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        return self._encode(self._number(X, refuse_unknown=self.handle_unknown == "error"))

    def _values(self, j):
        """What each category of column j becomes, and at the end an unknown one."""
        values = np.append(self._groups(j)[0], 0).astype(self.dtype)
        if j in self._missing_indices:
            values[self._missing_indices[j]] = self.encoded_missing_value
        if self.handle_unknown == "use_encoded_value":
            values[-1] = self.unknown_value
        return values

    def _encode(self, codes):
        """Numbers (2) of numbers of categories, by column."""
        out = np.empty((len(codes[0]), len(codes)), self.dtype)
        for j, numbers in enumerate(codes):
            out[:, j] = self._values(j)[numbers]
        return out

    def inverse_transform(self, X):
        """Return the categories of encoded rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Encoded rows.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            None for unknown values.
        """
        check_is_fitted(self)
        X = check_array(X, ensure_all_finite="allow-nan")
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                "Shape of the passed X data is not correct. "
                f"Expected {self.n_features_in_} columns, got {X.shape[1]}."
            )
        names = [self._names(j) for j in range(X.shape[1])]
        out = np.empty(X.shape, np.result_type(*(c.dtype for c in names)))
        for j in range(X.shape[1]):
            x = X[:, j]
            is_gap = np.zeros(len(x), bool)
            if j in self._missing_indices:
                is_gap = equals(x, self.encoded_missing_value)
            is_unknown = np.zeros(len(x), bool)
            if self.handle_unknown == "use_encoded_value":
                is_unknown = equals(x, self.unknown_value) & ~is_gap
            code = np.where(is_gap | is_unknown, 0, x).astype(np.int64)
            known = names[j] if len(names[j]) else self.categories_[j]  # only missing values
            column = known[code]
            if is_gap.any():
                column[is_gap] = self.categories_[j][self._missing_indices[j]]
            if is_unknown.any():
                out, column = out.astype(object), column.astype(object)
                column[is_unknown] = None
            out[:, j] = column
        return out

    def _names(self, j):
        """The categories by number; of the infrequent ones, a name for all."""
        categories = self.categories_[j]
        if j in self._missing_indices:
            categories = categories[:-1]
        rare = self._rare(j)
        if rare is None:
            return categories
        frequent = np.delete(categories, rare).astype(object)
        return np.append(frequent, np.array([INFREQUENT], dtype=object))


def equals(x, value):
    """Where x has a value, which may be NaN."""
    return np.isnan(x) if is_scalar_nan(value) else x == value
