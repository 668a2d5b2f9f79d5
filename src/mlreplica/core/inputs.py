"""Inputs: rows whose columns are numbers or categories, as an array of floats"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from sklearn.preprocessing import OrdinalEncoder
from sklearn.utils.validation import check_array

from mlreplica.core.compat import (
    _check_categorical_features,
    _check_feature_names,
    _check_n_features,
    _safe_indexing,
    is_scalar_nan,
)

from .validation import FLOATS, validate_data


class Inputs:
    """Rows as floats: a category by its number among those of the training set, a gap as NaN.

    Parameters
    ----------
    estimator : estimator
        With `categorical_features`.
    X : array-like (n, p)
        The training rows.
    unknown : float
        The number of a category that they have not.
    most : int, optional
        How many categories a column may have.
    """

    def __init__(
        self, estimator: Any, X: Any, unknown: float = np.nan, most: int | None = None
    ) -> None:
        self.categorical = _check_categorical_features(X, estimator.categorical_features)
        if self.categorical is None:
            return
        _check_n_features(estimator, X, reset=True)
        _check_feature_names(estimator, X, reset=True)
        self.encoder = OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=unknown, encoded_missing_value=np.nan
        ).fit(self._part(X, self.categorical))
        self.levels = np.zeros(len(self.categorical), dtype=np.int64)
        for j, known in self.names().items():
            if most is not None and len(known) > most:
                names = getattr(estimator, "feature_names_in_", None)
                name = f"at index {j}" if names is None else repr(names[j])
                raise ValueError(
                    f"Categorical feature {name} is expected to have a cardinality <= {most} "
                    f"but actually has a cardinality of {len(known)}."
                )
            self.levels[j] = max(len(known), 1)

    def names(self) -> dict[int, Any]:
        """The categories of every categorical column, in the order of their numbers."""
        if self.categorical is None:
            return {}
        columns = zip(np.flatnonzero(self.categorical), self.encoder.categories_, strict=True)
        return {
            int(j): known[:-1] if len(known) and is_scalar_nan(known[-1]) else known
            for j, known in columns
        }

    def named(self, names: Any) -> Inputs:
        """The same for frames with these names of columns; None: for arrays."""
        if self.categorical is None:
            return self
        other = copy(self)
        other.encoder = copy(self.encoder)
        vars(other.encoder).pop("feature_names_in_", None)
        if names is not None:
            other.encoder.feature_names_in_ = np.asarray(names, dtype=object)[self.categorical]
        return other

    @staticmethod
    def _part(X: Any, mask: Any) -> Any:
        """Some columns; a list of rows is an array already."""
        return _safe_indexing(X, np.flatnonzero(mask), axis=1)

    def rows(self, estimator: Any, X: Any, *, reset: bool) -> Any:
        """X as an array of floats, checked once."""
        if self.categorical is None:
            return validate_data(
                estimator, X, reset=reset, dtype=FLOATS, order="C", ensure_all_finite=False
            )
        if not reset:
            _check_feature_names(estimator, X, reset=False)
            _check_n_features(estimator, X, reset=False)
        out = np.empty((len(X) if hasattr(X, "__len__") else X.shape[0], len(self.categorical)))
        out[:, self.categorical] = self.encoder.transform(self._part(X, self.categorical))
        if not self.categorical.all():
            numbers = self._part(X, ~self.categorical)
            out[:, ~self.categorical] = check_array(numbers, dtype=FLOATS, ensure_all_finite=False)
        return out

    def n_levels(self, p: int) -> Any:
        """Categories of each column, 0 for a number."""
        return np.zeros(p, dtype=np.int64) if self.categorical is None else self.levels
