"""What histogram boosting takes: rows with categories and gaps, constraints between columns"""

import itertools
from numbers import Integral

import numpy as np
from sklearn.preprocessing import OrdinalEncoder
from sklearn.utils import _safe_indexing
from sklearn.utils._missing import is_scalar_nan
from sklearn.utils.validation import (
    _check_categorical_features,
    _check_feature_names,
    _check_n_features,
    check_array,
    validate_data,
)

from mlreplica.core.validation import FLOATS


class Inputs:
    """Rows as floats: a category by its number among those of the training set, a gap as NaN."""

    def __init__(self, estimator, X, max_bins):
        self.categorical = _check_categorical_features(X, estimator.categorical_features)
        if self.categorical is None:
            return
        _check_n_features(estimator, X, reset=True)
        _check_feature_names(estimator, X, reset=True)
        self.encoder = OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan
        ).fit(self._part(X, self.categorical))
        self.levels = np.zeros(len(self.categorical), dtype=np.int64)
        for j, known in zip(
            np.flatnonzero(self.categorical), self.encoder.categories_, strict=True
        ):
            count = len(known) - bool(len(known) and is_scalar_nan(known[-1]))
            if count > max_bins:
                names = getattr(estimator, "feature_names_in_", None)
                name = f"at index {j}" if names is None else repr(names[j])
                raise ValueError(
                    f"Categorical feature {name} is expected to have a cardinality <= {max_bins} "
                    f"but actually has a cardinality of {count}."
                )
            self.levels[j] = max(count, 1)

    @staticmethod
    def _part(X, mask):
        """Some columns; a list of rows is an array already."""
        return _safe_indexing(X, np.flatnonzero(mask), axis=1)

    def rows(self, estimator, X, *, reset):
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

    def n_levels(self, p):
        """Categories of each column, 0 for a number."""
        return np.zeros(p, dtype=np.int64) if self.categorical is None else self.levels


def interaction_groups(given, p):
    """The sets of columns that may meet in a branch, or None; the rest is a set of its own."""
    if given is None:
        return None
    if isinstance(given, str):
        size = 1 if given == "no_interactions" else 2
        groups = [set(pair) for pair in itertools.combinations(range(p), size)]
    else:
        try:
            groups = [set(group) for group in given]
        except TypeError as error:
            raise ValueError(
                f"Interaction constraints must be a sequence of tuples or lists, got: {given!r}."
            ) from error
    for column in set().union(*groups):
        if not (isinstance(column, Integral) and 0 <= column < p):
            raise ValueError(
                "Interaction constraints must consist of integer indices in [0, n_features - 1] = "
                f"[0, {p - 1}], specifying the position of features, got invalid indices: "
                f"{next(g for g in groups if column in g)!r}"
            )
    rest = set(range(p)) - set().union(*groups)
    return [*groups, rest] if rest else groups


def group_matrix(groups, p):
    """One row a group, one where a column belongs to it."""
    matrix = np.zeros((len(groups or ()), p), dtype=np.uint8)
    for k, group in enumerate(groups or ()):
        matrix[k, list(group)] = 1
    return matrix
