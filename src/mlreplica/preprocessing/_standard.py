r"""Standardisation: mean 0 and variance 1

    z = (x − m_j) / s_j,    m_j = Σ w_i x_ij / n,    s_j² = Σ w_i (x_ij − m_j)² / n,    n = Σ w_i

over the rows whose x_ij is not missing. s_j is 1 where the variance is no larger than the rounding
of its own computation, n ε s_j² + (n ε m_j)²: the column is constant and stays 0.
"""

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.compat import Options, _align_api_if_sparse, _fit_context, validate_params
from mlreplica.core.linalg import EPS
from mlreplica.core.linear import forget_names
from mlreplica.core.rows.walk import is_sparse
from mlreplica.core.validation import ValidatedOnce, is_finite

from ._columns import (
    HALF,
    ColumnMoments,
    finite_variance,
    is_plain_matrix,
    mapped,
    multiply_add,
    nonzero,
    plain_moments,
    rows_to_fit,
    scaled_sparse,
    subtract_divide,
    through,
    weights_of,
)

CENTRE = (
    "Cannot center sparse matrices: pass `with_mean=False` instead. The result would be dense; if "
    "it fits in memory, use X.toarray()."
)


class StandardScaler(ValidatedOnce, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Columns with mean 0 and variance 1.

    Parameters
    ----------
    copy : bool, default=True
        Leave X as it is; otherwise work in place where possible.
    with_mean : bool, default=True
        Subtract the mean. Sparse rows need False, because they would not stay sparse.
    with_std : bool, default=True
        Divide by the standard deviation.

    Attributes
    ----------
    scale_ : ndarray of shape (n_features,) or None
        The divisor of each column: its standard deviation, or 1 for a constant column.
    mean_, var_ : ndarray of shape (n_features,) or None
        Mean and variance (divided by n) of each column.
    n_samples_seen_ : int, float or ndarray of shape (n_features,)
        Rows or their weight; an array if values are missing.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.

    Examples
    --------
    >>> from mlreplica.preprocessing import StandardScaler
    >>> scaler = StandardScaler().fit([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0], [1.0, 1.0]])
    >>> scaler.mean_, scaler.transform([[2.0, 2.0]])
    (array([0.5, 0.5]), array([[3., 3.]]))
    """

    card = Card(
        page="scaling",
        checks="scaler",
        input="rows",
        use="columns in different units, before a model with distances, penalties or gradients",
        good="one pass; batches merge exactly; weights; sparse and missing values",
        bad="mean and deviation follow outliers",
        time="O(n p)",
        memory="O(p) beside the result",
        rescaling="this is it",
        missing="left out of the statistics, and kept",
        instead="RobustScaler with outliers, MinMaxScaler for a fixed range",
    )
    _parameter_constraints: dict = {
        "copy": ["boolean"],
        "with_mean": ["boolean"],
        "with_std": ["boolean"],
    }

    def __init__(self, *, copy=True, with_mean=True, with_std=True):
        self.with_mean = with_mean
        self.with_std = with_std
        self.copy = copy

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = not self.with_mean
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X, y=None, sample_weight=None):
        """Learn mean and deviation of every column.

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
        self : StandardScaler
        """
        vars(self).pop("n_samples_seen_", None)
        return self.partial_fit(X, y, sample_weight)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, sample_weight=None):
        """Add rows to what was learned; the order and the sizes of batches do not matter.

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
        self : StandardScaler
        """
        first = not hasattr(self, "n_samples_seen_")
        moments = None
        if first and sample_weight is None and is_plain_matrix(X):
            moments = plain_moments(X)  # not finite if a value is not
            moments = moments if np.isfinite(moments.mean.sum()) else None
        if moments is not None:
            forget_names(self, X)
        else:
            X = rows_to_fit(self, X, accept_sparse=("csr", "csc"), reset=first)
            if is_sparse(X) and self.with_mean:
                raise ValueError(CENTRE)
            moments = ColumnMoments.of(X, weights_of(sample_weight, X))
        if not first:
            n, p = self.n_samples_seen_, X.shape[1]
            mean = np.zeros(p) if self.mean_ is None else self.mean_
            var = np.zeros(p) if self.var_ is None else self.var_
            before = ColumnMoments(n, mean, np.where(np.isnan(var), 0.0, var * n))
            moments = before + moments
        self._publish(moments, sample_weight is None)
        return self

    def _publish(self, moments, counted):
        """Set the attributes; n counts rows unless there are weights."""
        n = moments.n
        if counted and np.all(np.equal(np.mod(n, 1), 0)):
            n = n.astype(np.int64) if np.ndim(n) else int(n)
        elif np.ndim(n) == 0:
            n = float(n)
        self.n_samples_seen_ = n
        used = self.with_mean or self.with_std
        self.mean_ = moments.mean if used else None
        self.var_ = self.scale_ = None
        if self.with_std:
            self.var_ = var = finite_variance(self, moments)
            self.scale_ = nonzero(np.sqrt(var), is_constant(var, moments.mean, n))

    def transform(self, X, copy=None):
        """Standardise rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        copy : bool or None, default=None
            Instead of the parameter of the constructor.

        Returns
        -------
        Z : {ndarray, sparse matrix} of shape (n_samples, n_features)
        """
        copy = self.copy if copy is None else copy
        mean = self.mean_ if self.with_mean and hasattr(self, "mean_") else None
        scale = getattr(self, "scale_", None)
        sparse = {"accept_sparse": "csr"}
        Z = mapped(self, X, subtract_divide, mean, scale, copy, **sparse)
        if not is_sparse(Z):
            return Z
        if self.with_mean:
            raise ValueError(CENTRE)
        return Z if scale is None else scaled_sparse(Z, 1.0 / scale, copy)

    def inverse_transform(self, X, copy=None):
        """Return to the units of the data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Standardised rows.
        copy : bool or None, default=None
            Instead of the parameter of the constructor.

        Returns
        -------
        X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        copy = self.copy if copy is None else copy
        X = rows_to_map_back(self, X, accept_sparse="csr")
        if is_sparse(X):
            if self.with_mean:
                raise ValueError(CENTRE.replace("center", "uncenter"))
            return X if self.scale_ is None else scaled_sparse(X, self.scale_, copy)
        out = X if not copy and X.flags.writeable else np.empty_like(X)
        through(multiply_add, X, self.scale_, self.mean_ if self.with_mean else None, out)
        return out


def is_constant(var, mean, n):
    """Whether a variance is no more than rounding leaves of 0."""
    return var <= n * EPS * var + (n * mean * EPS) ** 2


def rows_to_map_back(model, X, **options):
    """Rows for `inverse_transform`: names of columns are not compared."""
    if is_plain_matrix(X) and is_finite(X):
        return checked_width(model, X)
    given = {"dtype": HALF, "ensure_all_finite": "allow-nan", **options}
    return checked_width(model, check_array(X, **given))


def checked_width(model, X):
    """X if it has the columns of `fit`."""
    if X.shape[1] != model.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input."
        )
    return X


@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "axis": [Options(int, {0, 1})],
        "with_mean": ["boolean"],
        "with_std": ["boolean"],
        "copy": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def scale(X, *, axis=0, with_mean=True, with_std=True, copy=True):
    """Standardise the columns or the rows of X, without a model to use on other rows.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The data.
    axis : {0, 1}, default=0
        0 for columns, 1 for rows.
    with_mean, with_std : bool, default=True
        Subtract the mean; divide by the standard deviation.
    copy : bool, default=True
        Leave X as it is.

    Returns
    -------
    Z : {ndarray, sparse matrix} of shape (n_samples, n_features)

    Examples
    --------
    >>> from mlreplica.preprocessing import scale
    >>> scale([[-2.0, 1.0, 2.0], [-1.0, 0.0, 1.0]], axis=0)
    array([[-1.,  1.,  1.],
           [ 1., -1., -1.]])
    """
    X = check_array(
        X,
        accept_sparse="csc",
        copy=copy,
        ensure_2d=False,
        estimator="the scale function",
        dtype=HALF,
        ensure_all_finite="allow-nan",
        input_name="X",
    )
    model = StandardScaler(with_mean=with_mean, with_std=with_std, copy=False)
    if is_sparse(X):
        if with_mean:
            raise ValueError(CENTRE)
        if axis != 0:
            raise ValueError(f"Can only scale sparse matrix on axis=0,  got axis={axis}")
        moments = ColumnMoments.of(X)
        model._publish(moments, True)
        return _align_api_if_sparse(scaled_sparse(X, 1.0 / model.scale_, False) if with_std else X)
    Z = X.T if axis == 1 and X.ndim == 2 else X
    Z = Z.reshape(-1, 1) if X.ndim == 1 else Z
    model._publish(ColumnMoments.of(Z), True)
    through(subtract_divide, Z, model.mean_ if with_mean else None, model.scale_, Z)
    return X
