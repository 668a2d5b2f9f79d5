r"""Ranges: columns between fixed limits

`MinMaxScaler` maps the smallest value of column j to l and the largest to h, `MaxAbsScaler` the
largest modulus to 1, so that 0 stays 0 and sparse rows stay sparse:

    z = x·b_j + a_j,      b_j = (h − l) / (max_j − min_j),      a_j = l − b_j min_j
    z = x / max_i |x_ij|

The extremes of two batches are those of both, so `partial_fit` is exact.
"""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.compat import Options, _fit_context, validate_params
from mlreplica.core.compile.threads import n_threads, run, split
from mlreplica.core.rows.walk import is_sparse
from mlreplica.core.validation import ValidatedOnce

from ._columns import (
    SMALL,
    THREAD,
    WIDE,
    mapped,
    multiply_add,
    nonzero,
    rows_to_fit,
    scaled_function,
    scaled_sparse,
    subtract_divide,
    through,
)
from ._standard import rows_to_map_back


def extremes(X):
    """Smallest and largest value of every column, missing ones left out; NaN if all are."""
    if is_sparse(X):
        return sparse_extremes(X)
    n, p = X.shape
    if X.size <= SMALL or not X.flags.c_contiguous:
        return np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
    k = max(1, WIDE // p)
    head = X[: n // k * k].reshape(-1, k * p)
    rows = split(len(head), n_threads(), least=1 + THREAD // (k * p))
    found = run(lambda s: (np.fmin.reduce(head[s]), np.fmax.reduce(head[s])), rows)
    low, high = (np.array(these).reshape(-1, p) for these in zip(*found, strict=True))
    low, high = np.vstack([low, X[n // k * k :]]), np.vstack([high, X[n // k * k :]])
    return np.fmin.reduce(low, axis=0), np.fmax.reduce(high, axis=0)


def sparse_extremes(X):
    """The same for sparse rows, with the zeros that are not stored."""
    X = X.tocsc()
    p, stored = X.shape[1], np.diff(X.indptr)
    low, high = np.full((2, p), np.nan, dtype=X.dtype)
    some = np.flatnonzero(stored)
    if len(some):
        starts = X.indptr[some]
        low[some] = np.fmin.reduceat(X.data, starts)
        high[some] = np.fmax.reduceat(X.data, starts)
    zeros = stored < X.shape[0]
    low[zeros], high[zeros] = np.fmin(low[zeros], 0), np.fmax(high[zeros], 0)
    return low, high


class MinMaxScaler(ValidatedOnce, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Columns between two limits.

    Parameters
    ----------
    feature_range : tuple (min, max), default=(0, 1)
        The limits.
    copy : bool, default=True
        Leave X as it is; otherwise work in place where possible.
    clip : bool, default=False
        Cut what new rows have beyond the limits.

    Attributes
    ----------
    min_, scale_ : ndarray of shape (n_features,)
        a_j and b_j of z = x·b_j + a_j.
    data_min_, data_max_, data_range_ : ndarray of shape (n_features,)
        Extremes of the data and their distance.
    n_samples_seen_ : int
        Rows.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.

    Examples
    --------
    >>> from mlreplica.preprocessing import MinMaxScaler
    >>> MinMaxScaler().fit_transform([[-1.0, 2.0], [-0.5, 6.0], [0.0, 10.0], [1.0, 18.0]])
    array([[0.  , 0.  ],
           [0.25, 0.25],
           [0.5 , 0.5 ],
           [1.  , 1.  ]])
    """

    card = Card(
        page="scaling",
        checks="scaler",
        input="rows",
        use="columns that a model or a picture expects in a fixed range",
        good="keeps the shape of every distribution; batches merge exactly",
        bad="one outlier squeezes all other values together",
        time="O(n p)",
        memory="O(p) beside the result",
        rescaling="this is it",
        missing="left out of the statistics, and kept",
        instead="StandardScaler, RobustScaler with outliers, MaxAbsScaler for sparse rows",
    )
    _parameter_constraints: dict = {
        "feature_range": [tuple],
        "copy": ["boolean"],
        "clip": ["boolean"],
    }

    def __init__(self, feature_range: Any = (0, 1), *, copy=True, clip=False):
        self.feature_range = feature_range
        self.copy = copy
        self.clip = clip

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X, y=None):
        """Learn the extremes of every column.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        self : MinMaxScaler
        """
        vars(self).pop("n_samples_seen_", None)
        return self.partial_fit(X, y)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None):
        """Add rows to what was learned.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        self : MinMaxScaler
        """
        low, high = self.feature_range
        if low >= high:
            raise ValueError(
                "Minimum of desired feature range must be smaller than maximum. Got "
                f"{self.feature_range}."
            )
        if is_sparse(X):
            raise TypeError(
                "MinMaxScaler does not support sparse input. Consider using MaxAbsScaler instead."
            )
        first = not hasattr(self, "n_samples_seen_")
        X = rows_to_fit(self, X, reset=first)
        smallest, largest = extremes(X)
        n = len(X)
        if not first:
            smallest = np.fmin(self.data_min_, smallest)
            largest = np.fmax(self.data_max_, largest)
            n += self.n_samples_seen_
        self.n_samples_seen_ = n
        self.data_min_, self.data_max_ = smallest, largest
        self.data_range_ = largest - smallest
        self.scale_ = (high - low) / nonzero(self.data_range_)
        self.min_ = low - smallest * self.scale_
        return self

    def transform(self, X):
        """Scale rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_features)
        """
        b, a = getattr(self, "scale_", None), getattr(self, "min_", None)
        Z = mapped(self, X, multiply_add, b, a, self.copy)
        return np.clip(Z, *self.feature_range, out=Z) if self.clip else Z

    def inverse_transform(self, X):
        """Return to the units of the data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Scaled rows.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = rows_to_map_back(self, X)
        out = X if not self.copy and X.flags.writeable else np.empty_like(X)
        through(subtract_divide, X, self.min_, self.scale_, out)
        return out


class MaxAbsScaler(ValidatedOnce, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Columns whose largest modulus is 1; zeros stay zeros.

    Parameters
    ----------
    copy : bool, default=True
        Leave X as it is; otherwise work in place where possible.
    clip : bool, default=False
        Cut what new rows have beyond −1 and 1.

    Attributes
    ----------
    scale_, max_abs_ : ndarray of shape (n_features,)
        The divisor of each column, and its largest modulus.
    n_samples_seen_ : int
        Rows.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.

    Examples
    --------
    >>> from mlreplica.preprocessing import MaxAbsScaler
    >>> MaxAbsScaler().fit_transform([[1.0, -1.0, 2.0], [2.0, 0.0, 0.0], [0.0, 1.0, -1.0]])
    array([[ 0.5, -1. ,  1. ],
           [ 1. ,  0. ,  0. ],
           [ 0. ,  1. , -0.5]])
    """

    card = MinMaxScaler.card.but(
        use="sparse columns in different units",
        good="zeros stay zeros; batches merge exactly",
        instead="StandardScaler(with_mean=False), or any scaler for dense rows",
    )
    _parameter_constraints: dict = {"copy": ["boolean"], "clip": ["boolean"]}

    def __init__(self, *, copy=True, clip=False):
        self.copy = copy
        self.clip = clip

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X, y=None):
        """Learn the largest modulus of every column.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        self : MaxAbsScaler
        """
        vars(self).pop("n_samples_seen_", None)
        return self.partial_fit(X, y)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None):
        """Add rows to what was learned.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        self : MaxAbsScaler
        """
        first = not hasattr(self, "n_samples_seen_")
        X = rows_to_fit(self, X, reset=first, accept_sparse=("csr", "csc"))
        low, high = extremes(X)
        largest, n = np.maximum(np.abs(low), np.abs(high)), X.shape[0]
        if not first:
            largest, n = np.fmax(self.max_abs_, largest), n + self.n_samples_seen_
        self.max_abs_, self.n_samples_seen_ = largest, n
        self.scale_ = nonzero(largest)
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
        scale, sparse = getattr(self, "scale_", None), {"accept_sparse": ("csr", "csc")}
        Z = mapped(self, X, subtract_divide, None, scale, self.copy, **sparse)
        if is_sparse(Z):
            Z = scaled_sparse(Z, 1.0 / scale, self.copy)
        if self.clip:
            values = Z.data if is_sparse(Z) else Z
            np.clip(values, -1.0, 1.0, out=values)
        return Z

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
            return scaled_sparse(X, self.scale_, self.copy)
        out = X if not self.copy and X.flags.writeable else np.empty_like(X)
        through(multiply_add, X, self.scale_, None, out)
        return out


@validate_params(
    {"X": ["array-like"], "axis": [Options(int, {0, 1})]}, prefer_skip_nested_validation=False
)
def minmax_scale(X, feature_range=(0, 1), *, axis=0, copy=True):
    """Scale the columns or the rows of X to a range, without a model to use on other rows.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The data.
    feature_range : tuple (min, max), default=(0, 1)
        The limits.
    axis : {0, 1}, default=0
        0 for columns, 1 for rows.
    copy : bool, default=True
        Leave X as it is.

    Returns
    -------
    Z : ndarray of shape (n_samples, n_features)

    Examples
    --------
    >>> from mlreplica.preprocessing import minmax_scale
    >>> minmax_scale([[-2.0, 1.0, 2.0], [-1.0, 0.0, 1.0]], axis=0)
    array([[0., 1., 1.],
           [1., 0., 0.]])
    """
    return scaled_function(MinMaxScaler(feature_range, copy=copy), X, axis)


@validate_params(
    {"X": ["array-like", "sparse matrix"], "axis": [Options(int, {0, 1})]},
    prefer_skip_nested_validation=False,
)
def maxabs_scale(X, *, axis=0, copy=True):
    """Divide the columns or the rows of X by their largest modulus.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The data.
    axis : {0, 1}, default=0
        0 for columns, 1 for rows.
    copy : bool, default=True
        Leave X as it is.

    Returns
    -------
    Z : {ndarray, sparse matrix} of shape (n_samples, n_features)

    Examples
    --------
    >>> from mlreplica.preprocessing import maxabs_scale
    >>> maxabs_scale([[-2.0, 1.0, 2.0], [-1.0, 0.0, 1.0]], axis=0)
    array([[-1. ,  1. ,  1. ],
           [-0.5,  0. ,  0.5]])
    """
    return scaled_function(MaxAbsScaler(copy=copy), X, axis, accept_sparse=("csr", "csc"))
