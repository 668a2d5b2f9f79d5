r"""Regression problems with a known truth

    y_i = w·x_i + b + ε_i,     ε_i ~ N(0, σ_i²),     E σ_i² = σ²               (3)

Least squares weighted by σ²/σ_i² is the best linear unbiased estimate of w. The R² of the true
function on new rows, which no model can beat on average, is

    R² = Var(w·x) / (Var(w·x) + σ²)                                             (4)
"""

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from scipy.linalg import eigvalsh_tridiagonal
from sklearn.utils import check_random_state

from mlreplica.core.compat import (
    Interval,
    validate_params,
)

from .sample import Sample


@dataclass(frozen=True, eq=False)
class LinearTruth:
    """What `make_linear_regression` drew; the fields are described there."""

    coef: np.ndarray
    intercept: float
    noise: float
    sample_weight: np.ndarray
    support: np.ndarray
    outliers: np.ndarray
    condition_number: float
    best_r2: float

    def predict(self, X):
        """The mean of y given X."""
        return X @ self.coef + self.intercept


@dataclass(frozen=True, eq=False)
class PolynomialTruth:
    """What `make_polynomial_regression` drew; the fields are described there."""

    coef: np.ndarray
    noise: float
    best_r2: float

    def predict(self, X):
        """The mean of y given the single column of X."""
        return np.polynomial.polynomial.polyval(np.ravel(X), self.coef)


@validate_params(
    {
        "n_samples": [Interval(Integral, 1, None, closed="left")],
        "n_features": [Interval(Integral, 1, None, closed="left")],
        "noise": [Interval(Real, 0, None, closed="left")],
        "intercept": [Real],
        "coef": ["array-like", None],
        "n_informative": [Interval(Integral, 0, None, closed="left"), None],
        "correlation": [Interval(Real, -1, 1, closed="neither")],
        "condition_number": [Interval(Real, 1, None, closed="left"), None],
        "noise_spread": [Interval(Real, 0, None, closed="left")],
        "outliers": [Interval(Real, 0, 1, closed="left")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_linear_regression(
    n_samples=100,
    n_features=10,
    *,
    noise=1.0,
    intercept=0.0,
    coef=None,
    n_informative=None,
    correlation=0.0,
    condition_number=None,
    noise_spread=0.0,
    outliers=0.0,
    random_state=None,
):
    """Draw a linear regression problem (3) and return it with its truth.

    Parameters
    ----------
    n_samples, n_features : int
        Rows n and columns p of X.
    noise : float
        Standard deviation σ of the noise.
    intercept : float
        The offset b.
    coef : array-like of shape (n_features,), optional
        The weights w. By default each is drawn from ±[1, 2], so that none is close to zero.
    n_informative : int, optional
        Number of weights that are not zero, at random places; all by default.
    correlation : float
        Neighbouring columns correlate by this much, columns j and k by correlation^|j − k|.
    condition_number : float, optional
        Give X exactly this condition number. Its columns then have mean zero, so that centring
        changes nothing, and singular values from √n downwards in a geometric sequence.
    noise_spread : float
        Standard deviation of log σ_i; 0 gives all rows the same noise.
    outliers : float
        Fraction of rows whose y is moved by ten standard deviations of y, up or down.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    Sample
        `X` (n, p), `y` (n,) and `truth` with `coef`, `intercept`, `noise`, `sample_weight`
        (σ²/σ_i² per row), `support` (columns with w_j ≠ 0), `outliers` (mask of the moved rows),
        `condition_number` (of X if it was asked for, else of a design with infinitely many rows),
        `best_r2` (4), without outliers, and the method `predict`, the mean of y given X.

    Examples
    --------
    >>> from mlreplica.datasets import make_linear_regression
    >>> X, y, truth = make_linear_regression(200, 5, n_informative=2, random_state=0)
    >>> truth.support
    array([0, 4])
    """
    n, p, rng = n_samples, n_features, check_random_state(random_state)
    if condition_number is None:
        X = correlated_rows(n, p, correlation, rng)
        kappa = population_condition_number(p, correlation)
    elif correlation:
        raise ValueError("correlation and condition_number exclude each other: give one of them.")
    else:
        X, kappa = conditioned_rows(n, p, condition_number, rng), float(condition_number)

    if coef is None:
        w = rng.uniform(1.0, 2.0, p) * rng.choice([-1.0, 1.0], p)
    elif (w := np.array(coef, dtype=np.float64)).shape != (p,):
        raise ValueError(f"coef must have shape ({p},), one weight a column; got {w.shape}.")
    if n_informative is not None:
        if n_informative > p:
            raise ValueError(f"n_informative must be <= n_features = {p}, got {n_informative}.")
        w[rng.permutation(p)[n_informative:]] = 0.0

    if condition_number is None:
        signal = w @ correlated_rows_covariance_times(w, correlation)
    else:
        signal = np.mean((X @ w) ** 2)
    sigma = noise * np.exp(noise_spread * rng.standard_normal(n) - noise_spread**2)  # E σ_i² = σ²
    y = X @ w + intercept + sigma * rng.standard_normal(n)

    moved = np.zeros(n, dtype=bool)
    moved[rng.permutation(n)[: round(outliers * n)]] = True
    jump = 10.0 * np.sqrt(signal + noise**2)
    y[moved] += jump * rng.choice([-1.0, 1.0], np.count_nonzero(moved))

    truth = LinearTruth(
        coef=w,
        intercept=float(intercept),
        noise=float(noise),
        sample_weight=(noise / sigma) ** 2 if noise else np.ones(n),
        support=np.flatnonzero(w),
        outliers=moved,
        condition_number=kappa,
        best_r2=r_squared(signal, noise),
    )
    return Sample(X, y, truth)


@validate_params(
    {
        "n_samples": [Interval(Integral, 1, None, closed="left")],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "coef": ["array-like", None],
        "noise": [Interval(Real, 0, None, closed="left")],
        "low": [Real],
        "high": [Real],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_polynomial_regression(
    n_samples=100, degree=3, *, coef=None, noise=0.3, low=-1.0, high=1.0, random_state=None
):
    """Draw y = c_0 + c_1 x + … + c_d x^d + ε with x uniform on [low, high].

    Parameters
    ----------
    n_samples : int
        Number of rows.
    degree : int
        The degree d; ignored if `coef` is given.
    coef : array-like, optional
        The coefficients c_0 … c_d. By default a curve whose Legendre components 1 … d
        are ± equally strong and add up to unit variance, so that every degree matters.
    noise : float
        Standard deviation σ of ε.
    low, high : float
        Range of x.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    Sample
        `X` (n, 1), `y` (n,) and `truth` with `coef` (c_0 … c_d), `noise`, `best_r2` (4)
        and the method `predict`, the true curve.

    Examples
    --------
    >>> from mlreplica.datasets import make_polynomial_regression
    >>> X, y, truth = make_polynomial_regression(50, coef=[1, 0, -2], noise=0, random_state=0)
    >>> bool((abs(y - (1 - 2 * X[:, 0] ** 2)) < 1e-15).all())
    True
    """
    if not low < high:
        raise ValueError(f"low must be < high, got low={low} and high={high}.")
    rng, legendre = check_random_state(random_state), np.polynomial.Legendre
    if coef is None:
        k = np.arange(degree + 1)  # ∫ P_k² over the uniform law is 1 / (2k + 1)
        c = rng.choice([-1.0, 1.0], degree + 1) * np.sqrt((2 * k + 1) / max(degree, 1)) * (k > 0)
        curve = legendre(c, domain=[low, high])
        c = curve.convert(kind=np.polynomial.Polynomial).coef
    else:
        c = np.array(coef, dtype=np.float64)
        curve = legendre.cast(np.polynomial.Polynomial(c), domain=[low, high], window=[-1, 1])
    X = rng.uniform(low, high, (n_samples, 1))
    y = np.polynomial.polynomial.polyval(X[:, 0], c) + noise * rng.standard_normal(n_samples)
    signal = np.sum(curve.coef[1:] ** 2 / (2 * np.arange(1, len(curve.coef)) + 1))
    return Sample(X, y, PolynomialTruth(c, float(noise), r_squared(signal, noise)))


def correlated_rows(n, p, rho, rng):
    """Rows of N(0, Σ), Σ_jk = rho^|j − k|: each column follows from the one before."""
    X = rng.standard_normal((n, p))
    for j in range(1, p if rho else 0):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    return X


def correlated_rows_covariance_times(w, rho):
    """Σ w in O(p): the terms left of j and those right of j are two geometric recursions."""
    left, right = w.copy(), w.copy()
    for j in range(1, len(w) if rho else 0):
        left[j] += rho * left[j - 1]
        right[-j - 1] += rho * right[-j]
    return left + right - w


def population_condition_number(p, rho):
    """√(λ_max / λ_min) of Σ, from its inverse, which is tridiagonal."""
    if p == 1 or rho == 0:
        return 1.0
    diagonal = np.full(p, 1 + rho**2)
    diagonal[[0, -1]] = 1.0
    eigenvalues = eigvalsh_tridiagonal(diagonal, np.full(p - 1, -rho))
    return float(np.sqrt(eigenvalues[-1] / eigenvalues[0]))


def conditioned_rows(n, p, kappa, rng):
    """√n U S Vᵀ with random U ⊥ 1 and V, and S from 1 down to 1/kappa."""
    if n <= p:
        raise ValueError(f"condition_number needs n_samples > n_features, got {n} <= {p}.")
    if p == 1 and kappa != 1:
        raise ValueError("one column has condition number 1; raise n_features.")
    Z = rng.standard_normal((n, p + 1))
    Z[:, 0] = 1.0
    U = np.linalg.qr(Z)[0][:, 1:]
    V = np.linalg.qr(rng.standard_normal((p, p)))[0]
    return np.sqrt(n) * (U * np.geomspace(1.0, 1.0 / kappa, p)) @ V.T


def r_squared(signal, noise):
    """Equation (4); 0 where there is nothing to explain."""
    return float(signal / (signal + noise**2)) if signal > 0 else 0.0
