"""Rare categories joined into one, the others as they are"""

from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.compat import Interval, _check_sample_weight, _fit_context

from ._categories import Coded, Finder, categories_of, is_nan
from ._one_hot import CARD
from ._read import read_columns


class RareCategories(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Replace categories that few rows have by one name, and keep the others.

    A category whose share of the rows, or of their weight, is less than `min_share` is rare. So is
    one that `fit` has not seen. Missing values stay missing.

    Parameters
    ----------
    min_share : float, default=0.01
        The least share of a category that is kept.
    rare : str, number or None, default=None
        What stands for all rare categories; None means "rare", and NaN in a column of numbers.

    Attributes
    ----------
    categories_ : list of ndarray
        The categories of each column that are kept.
    rare_categories_ : list of ndarray
        Those that are joined.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.

    Examples
    --------
    >>> from mlreplica.preprocessing import RareCategories
    >>> towns = [["Rome"]] * 6 + [["Paris"]] * 3 + [["Ulm"]]
    >>> RareCategories(min_share=0.2).fit(towns).transform([["Paris"], ["Ulm"], ["Oslo"]])
    array([['Paris'],
           ['rare'],
           ['rare']], dtype=object)
    """

    card = CARD.but(
        checks="kept_categories",
        cheap=lambda: {"rare": -1.0},  # numbers have no name for what is rare but NaN
        use="categories that few rows have, before any other encoder",
        good="keeps values readable; weights; unknown categories have a place",
        bad="forgets what rare categories differ in",
        memory="O(n p)",
        missing="accepted: kept as they are",
        instead="min_frequency of OneHotEncoder and OrdinalEncoder",
    )
    _parameter_constraints: dict = {
        "min_share": [Interval(Real, 0, 1, closed="both")],
        "rare": [str, Real, None],
    }

    def __init__(self, min_share=0.01, *, rare=None):
        self.min_share = min_share
        self.rare = rare

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Count the categories of each column.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, texts, any objects; frames, too.
        y : Ignored
            Not used, present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight 2 is a row twice, 0 no row.

        Returns
        -------
        self : RareCategories
        """
        columns, n = read_columns(self, X, reset=True)
        w = None
        if sample_weight is not None:
            w = _check_sample_weight(
                sample_weight, np.empty((n, 1)), dtype=np.float64, ensure_non_negative=True
            )
            w = w / max(w.max(), 1e-300)
        self.categories_, self.rare_categories_ = [], []
        for column in columns:
            categories, codes = categories_of(column)
            weight = np.bincount(codes, w, len(categories))
            gap = np.array([value is None or is_nan(value) for value in categories[-2:]])
            kept = (weight >= self.min_share * weight.sum()) & (weight > 0)
            kept[-2:] &= ~gap
            self.categories_.append(categories[kept])
            rare = ~kept
            rare[-2:] &= ~gap
            self.rare_categories_.append(categories[rare & (weight > 0)])
        return self

    def transform(self, X):
        """Replace rare categories.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns seen in `fit`.

        Returns
        -------
        X_out : ndarray of shape (n_samples, n_features)
            Objects, or numbers if all columns hold numbers and `rare` is no text.
        """
        check_is_fitted(self)
        columns, _ = read_columns(self, X, reset=False)
        found = [
            self._replaced(column, kept)
            for column, kept in zip(columns, self.categories_, strict=True)
        ]
        out = np.empty((len(found[0]), len(found)), common_dtype(found))
        for j, column in enumerate(found):
            out[:, j] = column
        return out

    def _replaced(self, column, kept):
        """A column with `rare` for what is neither kept nor missing."""
        codes = Finder(kept)(column)
        values = column.values[column.codes] if isinstance(column, Coded) else column
        rows = np.flatnonzero(codes < 0)
        if values.dtype.kind in "OfmM":
            rest = values[rows]
            if values.dtype == object:
                gap = np.array([v is None or is_nan(v) for v in rest.tolist()], bool)
            else:
                gap = np.isnan(rest)
            rows = rows[~gap]
        is_number = values.dtype.kind in "biuf"
        rare = self.rare if self.rare is not None else np.nan if is_number else "rare"
        if not len(rows):
            return values.astype(object) if values.dtype.kind in "US" else values.copy()
        if is_number and not isinstance(rare, str):
            values = values.astype(np.result_type(values.dtype, np.min_scalar_type(rare)))
        else:
            values = values.astype(object)
        values[rows] = rare
        return values

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        return tags


def common_dtype(columns):
    """A dtype that holds all columns as they are."""
    dtypes = {column.dtype for column in columns}
    if all(dtype.kind in "biuf" for dtype in dtypes):
        return np.result_type(*dtypes)
    return dtypes.pop() if len(dtypes) == 1 else np.dtype(object)
