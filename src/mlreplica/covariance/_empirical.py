r"""The empirical covariance: the Gaussian of largest likelihood

Of rows x_1, …, x_n with weights s_i, n = Σ s_i, the Gaussian N(m, C) of largest likelihood has

    m = 1/n Σ s_i x_i,    C = 1/n Σ s_i (x_i − m)(x_i − m)ᵀ                                (1)

C is a sum over rows: one pass gives it (`core/rows/moments.py`). Its inverse is the *precision*,
and the distance of a point from the mean in units of the spread in its direction is Mahalanobis's,

    d²(x) = (x − m)ᵀ C⁻¹ (x − m)                                                           (2)

For Gaussian rows d² is χ² with p degrees of freedom.
"""

import warnings

import numpy as np
from scipy import linalg
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.compat import _fit_context, validate_params
from mlreplica.core.linear import checked_rows, checked_weights
from mlreplica.core.rows.moments import Moments
from mlreplica.core.rows.walk import SMALL, Rows
from mlreplica.core.validation import FLOATS, ValidatedOnce, new_rows, refuse_overflow


def moments(X, s=None, centred=False):
    """The moments of the rows, about 0 if they are centred already."""
    if s is None and len(X) <= SMALL and 0 < X.size <= 4 * SMALL:
        m = Moments.of_few(X, X[:, :0], not centred)
        return m._replace(S=mirrored(m.S), mean=0.0 * m.mean if centred else m.mean)
    if s is None:
        return Moments.of(Rows.of(X, intercept=not centred))
    keep = s > 0
    return Moments.of(Rows.of(X[keep], s=s[keep], intercept=not centred))


def mirrored(S):
    """The whole of a symmetric matrix, of which all below the diagonal is zero."""
    whole = S + S.T
    whole.flat[:: len(S) + 1] *= 0.5
    return whole


def log_likelihood(emp_cov, precision):
    """The mean log-likelihood of Gaussian rows whose covariance is `emp_cov`.

    Parameters
    ----------
    emp_cov : ndarray of shape (n_features, n_features)
        Empirical covariance of the rows.
    precision : ndarray of shape (n_features, n_features)
        Precision of the Gaussian.

    Returns
    -------
    log_likelihood : float

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.covariance import log_likelihood
    >>> round(float(log_likelihood(np.eye(2), np.eye(2))), 4)
    -2.8379
    """
    p = precision.shape[0]
    sign, log_det = np.linalg.slogdet(precision)
    log_det = log_det if sign > 0 else -np.inf
    return (-(emp_cov * precision).sum() + log_det - p * np.log(2.0 * np.pi)) / 2.0


@validate_params(
    {"X": ["array-like"], "assume_centered": ["boolean"]}, prefer_skip_nested_validation=True
)
def empirical_covariance(X, *, assume_centered=False):
    """The covariance matrix of largest likelihood: (1).

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Rows.
    assume_centered : bool, default=False
        Whether the mean is known to be zero.

    Returns
    -------
    covariance : ndarray of shape (n_features, n_features)

    Examples
    --------
    >>> from mlreplica.covariance import empirical_covariance
    >>> empirical_covariance([[1, 1], [2, 3], [3, 5]]).round(3)
    array([[0.667, 1.333],
           [1.333, 2.667]])
    """
    X = check_array(X, ensure_2d=False, dtype=FLOATS)
    X = X[None, :] if X.ndim == 1 else X
    warn_if_single(X)
    return moments(X, centred=assume_centered).covariance(0.0)


def warn_if_single(X):
    """Warn if there is only one row."""
    if X.shape[0] == 1:
        warnings.warn(
            "Only one sample available. You may want to reshape your data array", stacklevel=3
        )


class EmpiricalCovariance(ValidatedOnce, BaseEstimator):
    """The covariance of largest likelihood, and distances measured by it.

    Parameters
    ----------
    store_precision : bool, default=True
        Keep the (pseudo-)inverse as well.
    assume_centered : bool, default=False
        Whether the mean is known to be zero.

    Attributes
    ----------
    location_ : ndarray of shape (n_features,)
        m of (1).
    covariance_ : ndarray of shape (n_features, n_features)
        C of (1).
    precision_ : ndarray of shape (n_features, n_features)
        Its inverse, or pseudo-inverse if it has none.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> from mlreplica.covariance import EmpiricalCovariance
    >>> from mlreplica.datasets import load_iris
    >>> X, _ = load_iris(return_X_y=True)
    >>> EmpiricalCovariance().fit(X).covariance_.diagonal().round(3)
    array([0.681, 0.189, 3.096, 0.577])
    """

    card = Card(
        page="covariance",
        checks="covariance",
        input="rows",
        task="density",
        use="how columns vary together, from many rows without outliers",
        good="one pass over the rows; exact; keeps the digits of columns far from zero",
        bad="singular for fewer rows than columns; one outlier can move it anywhere",
        time="O(n p²)",
        memory="O(p²)",
        rescaling="not needed: distances do not change with the units of columns",
        instead="LedoitWolf for few rows, MinCovDet with outliers",
    )

    _parameter_constraints = {"store_precision": ["boolean"], "assume_centered": ["boolean"]}

    def __init__(self, *, store_precision=True, assume_centered=False):
        self.store_precision = store_precision
        self.assume_centered = assume_centered

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Estimate mean and covariance.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            How many times each row counts.

        Returns
        -------
        self : EmpiricalCovariance
        """
        X, s = self._rows(X, sample_weight)
        m = moments(X, s, self.assume_centered)
        self.location_ = m.mean
        self._set_covariance(m.covariance(0.0))
        return self

    def _rows(self, X, sample_weight):
        """Rows and weights, checked."""
        X = checked_rows(self, X)
        warn_if_single(X)
        s = None if sample_weight is None else checked_weights(sample_weight, X)
        if s is not None and not s.any():
            raise ValueError("all sample_weight are zero; give some row a positive weight.")
        return X, s

    def _set_covariance(self, covariance):
        """Keep C, and its inverse if that was asked for."""
        refuse_overflow(self, covariance_=covariance)
        self.covariance_ = covariance
        self.precision_ = inverse(covariance) if self.store_precision else None

    def get_precision(self):
        """The inverse of the covariance.

        Returns
        -------
        precision : ndarray of shape (n_features, n_features)
        """
        check_is_fitted(self)
        return self.precision_ if self.store_precision else inverse(self.covariance_)

    def score(self, X_test, y=None):
        """The mean log-likelihood of rows under the Gaussian.

        Parameters
        ----------
        X_test : array-like of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        log_likelihood : float
        """
        X = new_rows(self, X_test)
        return log_likelihood(moments(X - self.location_, None, True).covariance(0.0),
                              self.get_precision())  # fmt: skip

    def error_norm(self, comp_cov, norm="frobenius", scaling=True, squared=True):
        """How far another covariance matrix is from this one.

        Parameters
        ----------
        comp_cov : array-like of shape (n_features, n_features)
            The other matrix.
        norm : {"frobenius", "spectral"}, default="frobenius"
            Root of the sum of squares, or the largest singular value.
        scaling : bool, default=True
            Divide the squared norm by the number of columns.
        squared : bool, default=True
            Return the square of the norm.

        Returns
        -------
        error : float
        """
        error = comp_cov - self.covariance_
        if norm == "frobenius":
            size = (error**2).sum()
        elif norm == "spectral":
            size = linalg.svdvals(error)[0] ** 2
        else:
            raise NotImplementedError("Only spectral and frobenius norms are implemented")
        size = size / error.shape[0] if scaling else size
        return size if squared else np.sqrt(size)

    def mahalanobis(self, X):
        """The squared distances (2) of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        distance : ndarray of shape (n_samples,)
        """
        X = new_rows(self, X)
        return squared_distances(X, self.location_, self.get_precision())


def inverse(C):
    """C⁻¹ by Cholesky; the pseudo-inverse of a singular matrix."""
    R, failed = linalg.lapack.dpotrf(np.asarray(C, dtype=np.float64), clean=1)
    if not failed:
        size = R.diagonal()
        if size.min() > 1e-7 * size.max():
            return mirrored(linalg.lapack.dpotri(R)[0])
    return linalg.pinvh(C, check_finite=False)


def squared_distances(X, location, precision):
    """(2) for every row"""
    Z = X - location
    return np.einsum("ij,ij->i", Z @ precision, Z)
