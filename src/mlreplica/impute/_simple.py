r"""Simple imputation: a gap is filled by one number for its column

    m_j = Σ_i w_i x_ij / Σ_i w_i  over the rows that have column j,                            (1)

or the median, the most frequent value, a constant. A weight w_i counts as w_i copies of row i. The
mean of a column stays what it was; its variance falls by the share of gaps, and so does every
correlation: see the page.
"""

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.compat import (
    StrOptions,
    _check_sample_weight,
    _fit_context,
    is_scalar_nan,
)
from mlreplica.core.validation import FLOATS, validate_data

from ._gaps import gaps_of, is_plain_with_nan, may_be_nan, refuse_other_types
from ._imputer import Imputer
from ._middle import column_means, fill_nan, middle_of, most_frequent, weighted_median

BY_VALUE = ("most_frequent", "constant")  # strategies for any kind of values
SAME_KIND = (
    "If fill_value is a Python scalar, instead pass a numpy scalar (e.g. fill_value=np.uint8(0) if "
    "your data is of type np.uint8). Make sure that both dtypes are of the same kind."
)


class SimpleImputer(Imputer):
    """Fill gaps with the mean, the median or the most frequent value of the column, or a constant.

    Parameters
    ----------
    missing_values : number, str, None, NaN or pandas.NA, default=nan
        What marks a gap.
    strategy : {"mean", "median", "most_frequent", "constant"} or callable, default="mean"
        What fills it; a function makes a number of the values that a column has.
    fill_value : str or number, default=None
        The constant; None for 0, or "missing_value" for strings and objects.
    copy : bool, default=True
        Leave X as it is.
    add_indicator : bool, default=False
        Add columns that say where gaps were.
    keep_empty_features : bool, default=False
        Keep columns that had no value in `fit`, as 0 or as `fill_value`.

    Attributes
    ----------
    statistics_ : ndarray of shape (n_features,)
        What fills each column; NaN for a column that is dropped.
    indicator_ : MissingIndicator or None
        Says where gaps were.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.impute import SimpleImputer
    >>> SimpleImputer().fit([[7, 2, 3], [4, np.nan, 6], [10, 5, 9]]).transform([[np.nan, 2, 3]])
    array([[7., 2., 3.]])
    """

    card = Card(
        page="imputation",
        checks="filled",
        input="rows",
        use="gaps in a table, before a model that takes none",
        good="one pass; weights; any kind of values",
        bad="weakens relations between columns; standard errors become too small",
        time="O(n p)",
        memory="O(n p), for the result",
        rescaling="not needed",
        missing="filled",
        instead="IterativeImputer, which uses the other columns",
    )
    _parameter_constraints: dict = {
        **Imputer._parameter_constraints,
        "strategy": [StrOptions({"mean", "median", *BY_VALUE}), callable],
        "fill_value": "no_validation",
        "copy": ["boolean"],
    }

    def __init__(
        self,
        *,
        missing_values: Any = np.nan,
        strategy: Any = "mean",
        fill_value=None,
        copy=True,
        add_indicator=False,
        keep_empty_features=False,
    ):
        self.missing_values = missing_values
        self.add_indicator = add_indicator
        self.keep_empty_features = keep_empty_features
        self.strategy = strategy
        self.fill_value = fill_value
        self.copy = copy

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.string = self.strategy in BY_VALUE
        return tags

    def _rows(self, X, *, reset):
        """X of a type that the strategy can work with."""
        dtype = FLOATS
        if self.strategy in BY_VALUE:
            words = isinstance(X, list) and any(isinstance(v, str) for row in X for v in row)
            dtype = object if words or (not reset and self._fit_dtype.kind == "O") else None
        try:
            X = validate_data(
                self,
                X,
                reset=reset,
                accept_sparse="csc",
                dtype=dtype,
                force_writeable=True if not reset else None,
                ensure_all_finite=may_be_nan(self.missing_values),
                copy=self.copy and not reset,
            )
        except ValueError as error:
            if "could not convert" not in str(error):
                raise
            raise ValueError(
                f"Cannot use {self.strategy} strategy with non-numeric data:\n{error}"
            ) from None
        refuse_other_types(X, self.missing_values)
        if X.dtype.kind not in "iufO":
            raise ValueError(
                f"SimpleImputer does not support data with dtype {X.dtype}. Please provide either "
                "a numeric array (with a floating point or integer dtype) or categorical data "
                "represented either as an array with integer dtype or an array of string values "
                "with an object dtype."
            )
        if sp.issparse(X) and self.missing_values == 0:
            raise ValueError(
                "Imputation not possible when missing_values == 0 and input is sparse. Provide a "
                "dense array instead."
            )
        self._refuse_cast(X, reset)
        return X

    def _refuse_cast(self, X, reset):
        """Raise if the constant does not fit among the values of X."""
        if self.strategy != "constant":
            return
        if reset and self.fill_value is not None:
            kind = type(self.fill_value)
            what = f"fill_value={self.fill_value!r} (of type {kind!r})"
        elif not reset:
            kind = self._fill_dtype
            what = f"The dtype of the filling value (i.e. {kind!r})"
        else:
            return
        if not np.can_cast(kind, X.dtype, casting="same_kind"):
            raise ValueError(
                f"{what} cannot be cast to the input data that is {X.dtype!r}. {SAME_KIND}"
            )

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Learn what fills the gaps of each column.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows with gaps.
        y : Ignored
            Not used, present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts.

        Returns
        -------
        self : SimpleImputer
        """
        if sample_weight is None and self._fit_plain(X):
            return self
        X = self._rows(X, reset=True)
        self._fit_dtype = X.dtype
        w = sample_weight
        if w is not None:
            w = _check_sample_weight(w, X, dtype=np.float64, ensure_non_negative=True)
            if callable(self.strategy):
                raise ValueError("a function as strategy takes no sample_weight; repeat rows.")
        if sp.issparse(X):
            statistics, gaps = self._of_sparse(X, w)
        else:
            gaps = gaps_of(X, self.missing_values)
            statistics = self._of_dense(X, gaps, w)
        self._learn_marks(X, gaps)
        self.statistics_ = statistics
        self._fill_dtype = X.dtype if self.strategy == "constant" else statistics.dtype
        return self

    def _fit_plain(self, X):
        """Fit without validation, if X is an array of float64 and the strategy a short one."""
        if self.strategy not in ("mean", "median") or not is_plain_with_nan(self, X, reset=True):
            return False
        if self.strategy == "mean":
            values = column_means(X, None)
        else:
            there = len(X) - np.count_nonzero(np.isnan(X), axis=0)
            if np.isinf(X).any() or not there.all():
                return False
            values = np.array([middle_of(v, m) for v, m in zip(X.T.copy(), there, strict=True)])
        if not np.isfinite(values).all():  # an empty column, or infinity
            return False
        self._fit_dtype = self._fill_dtype = X.dtype
        self._learn_marks(X, np.isnan(X) if self.add_indicator else None)
        self.statistics_ = values
        return True

    def _constant(self, X):
        """What fills gaps with strategy "constant", and empty columns that are kept."""
        if self.strategy == "constant" and self.fill_value is not None:
            return self.fill_value
        return 0 if X.dtype.kind in "iuf" else "missing_value"

    def _of_dense(self, X, gaps, w):
        """statistics_ of an array."""
        p = X.shape[1]
        here = ~gaps if w is None else ~gaps & (w[:, None] > 0)
        empty = ~here.any(axis=0)
        if self.strategy == "constant":
            values = np.full(p, self._constant(X), dtype=X.dtype)
        elif self.strategy == "mean":
            blank = X if is_scalar_nan(self.missing_values) else np.where(gaps, np.nan, X)
            values = column_means(blank, w)
        else:
            values = np.empty(p, dtype=object if X.dtype == object else np.float64)
            for j in np.flatnonzero(~empty):
                known = here[:, j]
                values[j] = self._of_values(X[known, j], None if w is None else w[known])
        if empty.any():
            if self.keep_empty_features:
                values[empty] = self._constant(X) if self.strategy == "constant" else 0
            else:
                values = values.astype(object if values.dtype == object else np.float64)
                values[empty] = np.nan
        return values

    def _of_values(self, v, w):
        """The statistic of the values that a column has."""
        if self.strategy == "median":
            return weighted_median(v, w)
        return most_frequent(v, w) if self.strategy == "most_frequent" else self.strategy(v)

    def _of_sparse(self, X, w):
        """statistics_ and gaps of a sparse matrix, whose zeros are values."""
        n, p = X.shape
        missing = gaps_of(X.data, self.missing_values)
        gaps = sp.csc_array((missing.copy(), X.indices.copy(), X.indptr.copy()), shape=X.shape)
        gaps.eliminate_zeros()
        values = np.full(p, np.nan)
        weights = np.ones(n) if w is None else w
        for j in range(p):
            at = slice(X.indptr[j], X.indptr[j + 1])
            known, rows = ~missing[at], X.indices[at]
            v = X.data[at][known].astype(np.float64)
            v_w = weights[rows[known]]
            zeros = weights.sum() - weights[rows].sum()
            total = v_w.sum() + zeros
            if total <= 0:
                values[j] = self._constant(X) if self.keep_empty_features else np.nan
            elif self.strategy == "constant":
                values[j] = self._constant(X)
            elif self.strategy == "mean":
                values[j] = v @ v_w / total
            elif callable(self.strategy):
                values[j] = self.strategy(np.append(v, np.zeros(round(zeros))))
            else:
                v_w = np.append(v_w, zeros)
                values[j] = self._of_values(np.append(v, 0.0)[v_w > 0], v_w[v_w > 0])
        return values, gaps

    def transform(self, X):
        """Fill the gaps.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows with gaps.

        Returns
        -------
        X : {ndarray, sparse matrix} of shape (n_samples, n_output_features)
            Without the columns that had no value in `fit`.
        """
        if "statistics_" not in vars(self):
            check_is_fitted(self)
        if (filled := self._transform_plain(X)) is not None:
            return filled
        X = self._rows(X, reset=False)
        kept = self._kept()
        if not kept.all():
            self._warn_of_empty(kept)
        values = self.statistics_
        if sp.issparse(X):
            missing = gaps_of(X.data, self.missing_values)
            gaps = sp.csc_array((missing.copy(), X.indices.copy(), X.indptr.copy()), shape=X.shape)
            column = np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))[missing]
            X.data[missing] = values[column].astype(X.dtype, copy=False)
            gaps.eliminate_zeros()
            return self._with_marks(X if kept.all() else X[:, np.flatnonzero(kept)], X, gaps)
        gaps = gaps_of(X, self.missing_values)
        filled = X if kept.all() else X[:, kept]
        holes = gaps[:, kept]
        filled[holes] = np.take(values[kept], np.nonzero(holes)[1]).astype(X.dtype, copy=False)
        return self._with_marks(filled, X, gaps)

    def _transform_plain(self, X):
        """X filled, if it is an array of float64 and no column is left out; else None."""
        values = self.statistics_
        if (
            self.copy
            and values.dtype == np.float64
            and is_plain_with_nan(self, X, reset=False)
            and np.isfinite(values).all()
        ):
            filled = np.empty_like(X)
            if not fill_nan(X, values, filled):
                return self._with_marks(filled, X, np.isnan(X) if self.add_indicator else None)
        return None

    def _kept(self):
        """Whether each column is in the result."""
        if self.keep_empty_features:
            return np.ones(len(self.statistics_), dtype=bool)
        return ~gaps_of(self.statistics_, np.nan)

    def _warn_of_empty(self, kept):
        names = getattr(self, "feature_names_in_", np.arange(len(kept)))[~kept]
        warnings.warn(
            f"Skipping features without any observed values: {names}. At least one non-missing "
            f"value is needed for imputation with strategy='{self.strategy}'.",
            stacklevel=3,
        )

    def inverse_transform(self, X):
        """Put the gaps back, where marks say that they were.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features + n_marks)
            What `transform` returned, with `add_indicator=True`.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            The rows with their gaps.
        """
        check_is_fitted(self)
        if not self.add_indicator:
            raise ValueError(
                "'inverse_transform' works only when 'SimpleImputer' is instantiated with "
                f"'add_indicator=True'. Got 'add_indicator={self.add_indicator}' instead."
            )
        kept, marked = self._kept(), self.indicator_.features_
        filled, marks = X[:, : kept.sum()], X[:, kept.sum() :].astype(bool)
        whole = np.zeros((X.shape[0], len(kept)), dtype=X.dtype)
        whole[:, kept] = filled
        gaps = np.zeros(whole.shape, dtype=bool)
        gaps[:, marked] = marks
        whole[gaps] = self.missing_values
        return whole
