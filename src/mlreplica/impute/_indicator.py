"""Missing indicator: that a value is missing may say more than the value would have said"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.compat import (
    MissingValues,
    StrOptions,
    _check_feature_names_in,
    _fit_context,
)
from mlreplica.core.validation import ValidatedOnce, validate_data

from ._gaps import gaps_of, is_plain_with_nan, may_be_nan, refuse_other_types


class MissingIndicator(TransformerMixin, ValidatedOnce, BaseEstimator):
    """Columns that say where gaps are.

    Parameters
    ----------
    missing_values : number, str, None, NaN or pandas.NA, default=nan
        What marks a gap.
    features : {"missing-only", "all"}, default="missing-only"
        Make a column for those with gaps in `fit`, or for all.
    sparse : bool or "auto", default="auto"
        Whether the result is sparse; "auto": if X is.
    error_on_new : bool, default=True
        Raise if a column without gaps in `fit` has some in `transform`.

    Attributes
    ----------
    features_ : ndarray of int
        The columns of X that have a column of their own in the result.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.impute import MissingIndicator
    >>> MissingIndicator().fit_transform([[np.nan, 1, 3], [4, 0, np.nan], [8, 1, 0]])
    array([[ True, False],
           [False,  True],
           [False, False]])
    """

    card = Card(
        page="imputation",
        checks="marks",
        input="rows",
        use="gaps that mean something, beside an imputer",
        good="keeps what imputing forgets",
        bad="a column for each column with gaps",
        time="O(n p)",
        memory="O(n p)",
        rescaling="not needed: only the place of gaps matters",
        missing="accepted: they are what it looks for",
        instead="trees that take gaps as they are, as HistGradientBoostingClassifier",
    )
    _parameter_constraints: dict = {
        "missing_values": [MissingValues()],
        "features": [StrOptions({"missing-only", "all"})],
        "sparse": ["boolean", StrOptions({"auto"})],
        "error_on_new": ["boolean"],
    }

    def __init__(
        self,
        *,
        missing_values: Any = np.nan,
        features="missing-only",
        sparse: bool | str = "auto",
        error_on_new=True,
    ):
        self.missing_values = missing_values
        self.features = features
        self.sparse = sparse
        self.error_on_new = error_on_new

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _rows(self, X, *, reset):
        """X, and its gaps."""
        if is_plain_with_nan(self, X, reset=reset) and not np.isinf(X).any():
            return X, np.isnan(X)
        X = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse=("csc", "csr"),
            dtype=None,
            ensure_all_finite=may_be_nan(self.missing_values),
        )
        refuse_other_types(X, self.missing_values)
        if X.dtype.kind not in "iufO":
            raise ValueError(
                f"MissingIndicator does not support data with dtype {X.dtype}. Please provide "
                "either a numeric array (with a floating point or integer dtype) or categorical "
                "data represented either as an array with integer dtype or an array of string "
                "values with an object dtype."
            )
        if not sp.issparse(X):
            return X, gaps_of(X, self.missing_values)
        if self.missing_values == 0:
            raise ValueError(
                "Sparse input with missing_values=0 is not supported. Provide a dense array "
                "instead."
            )
        found = gaps_of(X.data, self.missing_values)
        gaps = type(X)((found, X.indices.copy(), X.indptr.copy()), shape=X.shape, dtype=bool)
        gaps.eliminate_zeros()
        return X, gaps

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Find the columns with gaps.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows with gaps.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        self : MissingIndicator
        """
        self.learn(*self._rows(X, reset=True))
        return self

    def learn(self, X, gaps):
        """Set the attributes from rows whose gaps are known."""
        self.n_features_in_ = p = X.shape[1]
        if self.features == "all":
            self.features_ = np.arange(p)
        else:
            self.features_ = np.flatnonzero(np.asarray(gaps.sum(axis=0)).ravel())

    def transform(self, X):
        """Say where gaps are.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows with gaps.

        Returns
        -------
        marks : {ndarray, sparse matrix} of shape (n_samples, n_marked_features)
            True where there is a gap.
        """
        check_is_fitted(self)
        X, gaps = self._rows(X, reset=False)
        if self.features == "missing-only" and self.error_on_new:
            new = np.setdiff1d(np.flatnonzero(np.asarray(gaps.sum(axis=0)).ravel()), self.features_)
            if len(new):
                raise ValueError(
                    f"The features {new} have missing values in transform but have no missing "
                    "values in fit."
                )
        return self.marks(X, gaps)

    def marks(self, X, gaps):
        """The gaps of the marked columns, in the form that is wanted."""
        if len(self.features_) < self.n_features_in_:
            gaps = gaps[:, self.features_]
        sparse = sp.issparse(X) if self.sparse == "auto" else self.sparse
        if sparse:
            return gaps.tocsc() if sp.issparse(gaps) else sp.csc_matrix(gaps)
        return gaps.toarray() if sp.issparse(gaps) else gaps

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X, y=None):
        """Find the columns with gaps, and say where they are.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows with gaps.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        marks : {ndarray, sparse matrix} of shape (n_samples, n_marked_features)
            True where there is a gap.
        """
        X, gaps = self._rows(X, reset=True)
        self.learn(X, gaps)
        return self.marks(X, gaps)

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
        names = _check_feature_names_in(self, input_features)[self.features_]
        return np.asarray([f"{type(self).__name__.lower()}_{name}" for name in names], dtype=object)
