r"""Robust scaling: the median to 0, the distance of two quantiles to 1

    z = (x − median_j) / (q_j(h) − q_j(l)),       quartiles l = 25 %, h = 75 % by default

A share of up to l of all rows may be arbitrarily far away without moving either number far. For a
normal distribution the distance of its quartiles is 1.349 deviations: `unit_variance` divides by
that number, so that z has variance 1.
"""

from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.compat import Options, _fit_context, validate_params
from mlreplica.core.rows.walk import is_sparse
from mlreplica.core.validation import ValidatedOnce, refuse_overflow

from ._columns import (
    mapped,
    multiply_add,
    nonzero,
    rows_to_fit,
    scaled_function,
    scaled_sparse,
    subtract_divide,
    through,
    weights_of,
)
from ._order import column_quantiles
from ._standard import rows_to_map_back

CENTRE = (
    "Cannot center sparse matrices: use `with_centering=False` instead. The result would be dense; "
    "if it fits in memory, use X.toarray()."
)


class RobustScaler(ValidatedOnce, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Columns with median 0 and distance 1 between two quantiles.

    Parameters
    ----------
    with_centering : bool, default=True
        Subtract the median. Sparse rows need False.
    with_scaling : bool, default=True
        Divide by the distance of the quantiles.
    quantile_range : tuple (q_min, q_max), default=(25.0, 75.0)
        The quantiles in percent.
    copy : bool, default=True
        Leave X as it is; otherwise work in place where possible.
    unit_variance : bool, default=False
        Scale so that a normal column gets variance 1.

    Attributes
    ----------
    center_ : ndarray of shape (n_features,) or None
        Medians.
    scale_ : ndarray of shape (n_features,) or None
        Divisors; 1 for a column whose quantiles are equal.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.

    Examples
    --------
    >>> from mlreplica.preprocessing import RobustScaler
    >>> RobustScaler().fit_transform([[1.0, -2.0, 2.0], [-2.0, 1.0, 3.0], [4.0, 1.0, -2.0]])
    array([[ 0. , -2. ,  0. ],
           [-1. ,  0. ,  0.4],
           [ 1. ,  0. , -1.6]])
    """

    card = Card(
        page="scaling",
        checks="scaler",
        input="rows",
        use="columns with outliers",
        good="outliers do not move the scale; weights; missing values",
        bad="outliers stay outliers; not for columns that are mostly one value",
        time="O(n p)",
        memory="O(n p), for a copy of X by columns",
        rescaling="this is it",
        missing="left out of the statistics, and kept",
        instead="StandardScaler, Winsorizer to cut outliers, QuantileTransformer",
    )
    _parameter_constraints: dict = {
        "with_centering": ["boolean"],
        "with_scaling": ["boolean"],
        "quantile_range": [tuple],
        "copy": ["boolean"],
        "unit_variance": ["boolean"],
    }

    def __init__(
        self,
        *,
        with_centering=True,
        with_scaling=True,
        quantile_range: Any = (25.0, 75.0),
        copy=True,
        unit_variance=False,
    ):
        self.with_centering = with_centering
        self.with_scaling = with_scaling
        self.quantile_range = quantile_range
        self.unit_variance = unit_variance
        self.copy = copy

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = not self.with_centering
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Learn the quantiles of every column.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            How often each row counts.

        Returns
        -------
        self : RobustScaler
        """
        X = rows_to_fit(self, X, accept_sparse="csc")
        low, high = self._checked_range()
        if is_sparse(X) and self.with_centering:
            raise ValueError(CENTRE)
        weight = weights_of(sample_weight, X)
        if not (self.with_centering or self.with_scaling):
            self.center_ = self.scale_ = None
            return self
        self._publish(*column_quantiles(X, [low / 100, 0.5, high / 100], weight))
        self._refuse_infinite_scaled(X)
        return self

    def _refuse_infinite_scaled(self, X):
        """Raise if rows of the largest floats are scaled beyond them."""
        x = X.data if is_sparse(X) else X
        top, bottom = (f.reduce(x, axis=None, initial=0.0) for f in (np.fmax, np.fmin))
        if max(top, -bottom) < 1e-7 * np.finfo(X.dtype).max:
            return
        if is_sparse(X):
            ends = np.vstack([X.nanmax(axis=0).toarray(), X.nanmin(axis=0).toarray()])
        else:
            ends = np.vstack([np.fmax.reduce(X), np.fmin.reduce(X)])
        Z = np.empty_like(ends)
        through(subtract_divide, ends, self.center_, self.scale_, Z)
        some = ~np.isnan(ends[0])  # columns with a value
        scale = 1.0 if self.scale_ is None else self.scale_[some]
        refuse_overflow(self, scale_=scale, scaled=Z[:, some])

    def _checked_range(self):
        """The parameter quantile_range."""
        low, high = self.quantile_range
        if not 0 <= low <= high <= 100:
            raise ValueError(f"Invalid quantile range: {self.quantile_range}")
        return low, high

    def _publish(self, bottom, middle, top):
        """Set the attributes from three quantiles of every column."""
        self.center_ = middle if self.with_centering else None
        self.scale_ = nonzero(top - bottom) if self.with_scaling else None
        if self.with_scaling and self.unit_variance:
            low, high = self.quantile_range
            self.scale_ /= ndtri(high / 100) - ndtri(low / 100)
        return self

    def transform(self, X):
        """Scale rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        Z : {ndarray, sparse matrix} of shape (n_samples, n_features)
        """
        center, scale = getattr(self, "center_", None), getattr(self, "scale_", None)
        sparse = {"accept_sparse": ("csr", "csc")}
        Z = mapped(self, X, subtract_divide, center, scale, self.copy, **sparse)
        if not is_sparse(Z):
            return Z
        if self.with_centering:
            raise ValueError(CENTRE)
        return Z if scale is None else scaled_sparse(Z, 1.0 / scale, self.copy)

    def inverse_transform(self, X):
        """Return to the units of the data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Scaled rows.

        Returns
        -------
        X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = rows_to_map_back(self, X, accept_sparse=("csr", "csc"))
        if is_sparse(X):
            return X if self.scale_ is None else scaled_sparse(X, self.scale_, self.copy)
        out = X if not self.copy and X.flags.writeable else np.empty_like(X)
        through(multiply_add, X, self.scale_, self.center_, out)
        return out


@validate_params(
    {"X": ["array-like", "sparse matrix"], "axis": [Options(int, {0, 1})]},
    prefer_skip_nested_validation=False,
)
def robust_scale(
    X,
    *,
    axis=0,
    with_centering=True,
    with_scaling=True,
    quantile_range=(25.0, 75.0),
    copy=True,
    unit_variance=False,
):
    """Scale the columns or the rows of X by quantiles, without a model to use on other rows.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The data.
    axis : {0, 1}, default=0
        0 for columns, 1 for rows.
    with_centering, with_scaling : bool, default=True
        Subtract the median; divide by the distance of the quantiles.
    quantile_range : tuple (q_min, q_max), default=(25.0, 75.0)
        The quantiles in percent.
    copy : bool, default=True
        Leave X as it is.
    unit_variance : bool, default=False
        Scale so that a normal column gets variance 1.

    Returns
    -------
    Z : {ndarray, sparse matrix} of shape (n_samples, n_features)

    Examples
    --------
    >>> from mlreplica.preprocessing import robust_scale
    >>> robust_scale([[-2.0, 1.0, 2.0], [-1.0, 0.0, 1.0]], axis=0)
    array([[-1.,  1.,  1.],
           [ 1., -1., -1.]])
    """
    model = RobustScaler(
        with_centering=with_centering,
        with_scaling=with_scaling,
        quantile_range=quantile_range,
        unit_variance=unit_variance,
        copy=copy,
    )
    return scaled_function(model, X, axis, accept_sparse=("csr", "csc"))
