r"""Shrunk covariance: between the empirical matrix and a multiple of the identity

With p columns and few rows the small eigenvalues of C are too small and the large ones too large.
Pull all of them towards their mean μ = tr C / p:

    C(δ) = (1 − δ) C + δ μ I,    0 ≤ δ ≤ 1                                                 (3)

Ledoit and Wolf (2004) estimate the δ of least expected ‖C(δ) − Σ‖², where Σ is the truth: the share
that the scatter β² of C has in its distance γ² from μI,

    δ = min(β², γ²) / γ²,    γ² = ‖C − μI‖²,    β² = 1/n² Σ_i ‖z_i z_iᵀ − C‖²              (4)

with centred rows z_i. The sum is Σ ‖z_i‖⁴ − n‖C‖², so it costs no more than the lengths of the
rows. Chen, Wiesel, Eldar and Hero (2010) iterate the δ that is best for Gaussian rows to its limit
(OAS):

    δ = min(1, (a + μ²) / ((n + 1)(a − μ²/p))),    a = ‖C‖²/p²                             (5)
"""

from numbers import Real

import numpy as np
from sklearn.utils import check_array

from mlreplica.core.compat import Interval, _fit_context, validate_params
from mlreplica.core.validation import FLOATS

from ._empirical import EmpiricalCovariance, moments, warn_if_single

CARD = EmpiricalCovariance.card.but(
    use="how columns vary together, from few rows",
    good="never singular; one formula, as fast as the empirical matrix",
    bad="pulls towards equal variances: scale the columns; not robust to outliers",
    rescaling="needed: the target is one variance for all columns",
    instead="EmpiricalCovariance for many rows, MinCovDet with outliers",
)


def shrunk(C, delta):
    """(3), for one matrix or a stack of them"""
    p = C.shape[-1]
    mu = np.trace(C, axis1=-2, axis2=-1) / p
    return (1.0 - delta) * C + delta * mu[..., None, None] * np.eye(p)


@validate_params(
    {"emp_cov": ["array-like"], "shrinkage": [Interval(Real, 0, 1, closed="both")]},
    prefer_skip_nested_validation=True,
)
def shrunk_covariance(emp_cov, shrinkage=0.1):
    """Shrink covariance matrices by (3).

    Parameters
    ----------
    emp_cov : array-like of shape (..., n_features, n_features)
        One matrix or more.
    shrinkage : float, default=0.1
        δ.

    Returns
    -------
    covariance : ndarray of shape (..., n_features, n_features)

    Examples
    --------
    >>> from mlreplica.covariance import shrunk_covariance
    >>> shrunk_covariance([[2.0, 1.0], [1.0, 4.0]], 0.5)
    array([[2.5, 0.5],
           [0.5, 3.5]])
    """
    return shrunk(check_array(emp_cov, allow_nd=True), shrinkage)


def centred_rows(X, assume_centered, s=None):
    """n, C of (1), Σ ‖z_i‖⁴, and the mean, of rows that count s_i times."""
    m = moments(X, s, assume_centered)
    lengths = np.zeros(len(X))
    for start in range(0, len(X), 4096):
        Z = X[start : start + 4096] - m.mean
        lengths[start : start + 4096] = np.einsum("ij,ij->i", Z, Z)
    fourth = lengths @ lengths if s is None else s @ lengths**2
    return m.n, m.covariance(0.0), float(fourth), m.mean


def ledoit_wolf_delta(C, fourth, n):
    """(4)"""
    p = len(C)
    mu = np.trace(C) / p
    size = (C * C).sum()
    gamma = (size - 2.0 * mu * np.trace(C) + p * mu**2) / p
    beta = min((fourth / n - size) / (p * n), gamma)
    return 0.0 if beta <= 0 else float(beta / gamma)


def oas_delta(C, n):
    """(5)"""
    p = len(C)
    a, mu = (C * C).mean(), np.trace(C) / p
    below = (n + 1.0) * (a - mu**2 / p)
    return 1.0 if below == 0 else float(min((a + mu**2) / below, 1.0))


@validate_params(
    {"X": ["array-like"], "assume_centered": ["boolean"], "block_size": [object]},
    prefer_skip_nested_validation=True,
)
def ledoit_wolf_shrinkage(X, assume_centered=False, block_size=1000):
    """δ of Ledoit and Wolf: (4).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    assume_centered : bool, default=False
        Whether the mean is known to be zero.
    block_size : int, default=1000
        Kept for scikit-learn: rows are always treated in blocks.

    Returns
    -------
    shrinkage : float

    Examples
    --------
    >>> from mlreplica.covariance import ledoit_wolf_shrinkage
    >>> from mlreplica.datasets import load_iris
    >>> round(ledoit_wolf_shrinkage(load_iris().data), 4)
    0.0076
    """
    X = check_array(X, dtype=FLOATS)
    if X.shape[1] == 1:
        return 0.0
    warn_if_single(X)
    n, C, fourth, _ = centred_rows(X, assume_centered)
    return ledoit_wolf_delta(C, fourth, n)


@validate_params({"X": ["array-like"]}, prefer_skip_nested_validation=False)
def ledoit_wolf(X, *, assume_centered=False, block_size=1000, sample_weight=None):
    """The covariance matrix of Ledoit and Wolf: (3) with (4).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    assume_centered : bool, default=False
        Whether the mean is known to be zero.
    block_size : int, default=1000
        Kept for scikit-learn: rows are always treated in blocks.
    sample_weight : array-like of shape (n_samples,), default=None
        How many times each row counts.

    Returns
    -------
    covariance : ndarray of shape (n_features, n_features)
    shrinkage : float
    """
    model = LedoitWolf(
        assume_centered=assume_centered, block_size=block_size, store_precision=False
    ).fit(X, sample_weight=sample_weight)
    return model.covariance_, model.shrinkage_


@validate_params({"X": ["array-like"]}, prefer_skip_nested_validation=False)
def oas(X, *, assume_centered=False):
    """The covariance matrix of Chen, Wiesel, Eldar and Hero: (3) with (5).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    assume_centered : bool, default=False
        Whether the mean is known to be zero.

    Returns
    -------
    covariance : ndarray of shape (n_features, n_features)
    shrinkage : float
    """
    model = OAS(assume_centered=assume_centered, store_precision=False).fit(X)
    return model.covariance_, model.shrinkage_


class ShrunkCovariance(EmpiricalCovariance):
    """Covariance pulled towards equal variances by a fixed share: (3).

    Parameters
    ----------
    store_precision : bool, default=True
        Keep the inverse as well.
    assume_centered : bool, default=False
        Whether the mean is known to be zero.
    shrinkage : float, default=0.1
        δ.

    Attributes
    ----------
    location_, covariance_, precision_
        As in :class:`EmpiricalCovariance`, of the shrunk matrix.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> from mlreplica.covariance import ShrunkCovariance
    >>> ShrunkCovariance(shrinkage=0.5).fit([[0.0, 0.0], [2.0, 4.0]]).covariance_
    array([[1.75, 1.  ],
           [1.  , 3.25]])
    """

    card = CARD
    _parameter_constraints = EmpiricalCovariance._parameter_constraints | {
        "shrinkage": [Interval(Real, 0, 1, closed="both")]
    }

    def __init__(self, *, store_precision=True, assume_centered=False, shrinkage=0.1):
        super().__init__(store_precision=store_precision, assume_centered=assume_centered)
        self.shrinkage = shrinkage

    def _set_covariance(self, covariance):
        super()._set_covariance(shrunk(covariance, self.shrinkage))


class LedoitWolf(EmpiricalCovariance):
    """Covariance shrunk by the share of Ledoit and Wolf: (3) with (4).

    Parameters
    ----------
    store_precision : bool, default=True
        Keep the inverse as well.
    assume_centered : bool, default=False
        Whether the mean is known to be zero.
    block_size : int, default=1000
        Kept for scikit-learn: rows are always treated in blocks.

    Attributes
    ----------
    location_, covariance_, precision_
        As in :class:`EmpiricalCovariance`, of the shrunk matrix.
    shrinkage_ : float
        δ of (4).
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> from mlreplica.covariance import LedoitWolf
    >>> from mlreplica.datasets import load_iris
    >>> X, _ = load_iris(return_X_y=True)
    >>> round(LedoitWolf().fit(X[:10]).shrinkage_, 3)
    0.344
    """

    card = CARD
    _parameter_constraints = EmpiricalCovariance._parameter_constraints | {"block_size": [Real]}

    def __init__(self, *, store_precision=True, assume_centered=False, block_size: float = 1000):
        super().__init__(store_precision=store_precision, assume_centered=assume_centered)
        self.block_size = block_size

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
        self : LedoitWolf
        """
        X, s = self._rows(X, sample_weight)
        n, C, fourth, self.location_ = centred_rows(X, self.assume_centered, s)
        self.shrinkage_ = self._delta(C, fourth, n) if X.shape[1] > 1 else 0.0
        self._set_covariance(shrunk(C, self.shrinkage_))
        return self

    def _delta(self, C, fourth, n):
        """δ"""
        return ledoit_wolf_delta(C, fourth, n)


class OAS(LedoitWolf):
    """Covariance shrunk by the share that is best for Gaussian rows: (3) with (5).

    Parameters
    ----------
    store_precision : bool, default=True
        Keep the inverse as well.
    assume_centered : bool, default=False
        Whether the mean is known to be zero.

    Attributes
    ----------
    location_, covariance_, precision_
        As in :class:`EmpiricalCovariance`, of the shrunk matrix.
    shrinkage_ : float
        δ of (5).
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> from mlreplica.covariance import OAS
    >>> from mlreplica.datasets import load_iris
    >>> X, _ = load_iris(return_X_y=True)
    >>> round(OAS().fit(X[:10]).shrinkage_, 3)
    0.329
    """

    card = CARD
    _parameter_constraints = EmpiricalCovariance._parameter_constraints

    def __init__(self, *, store_precision=True, assume_centered=False):
        self.store_precision = store_precision
        self.assume_centered = assume_centered

    def _delta(self, C, fourth, n):
        return oas_delta(C, n)
