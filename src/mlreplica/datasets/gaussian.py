r"""Gaussian classes with a known Bayes error

    x | y = k  ~  N(μ_k, Σ_k),     P(y = k) = π_k

No classifier errs less often than

    1 − E max_k P(y = k | x)                                                     (1)

With two classes of equal Σ and Δ² = (μ_1 − μ_0)ᵀ Σ⁻¹ (μ_1 − μ_0), t = log(π_0/π_1)/Δ, (1) is

    π_0 Φ(−Δ/2 − t) + π_1 Φ(−Δ/2 + t)                                            (2)
"""

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real

import numpy as np
from scipy.special import ndtr, softmax
from sklearn.utils import check_random_state

from mlreplica.core.compat import (
    Interval,
    StrOptions,
    validate_params,
)

from .sample import Sample, normal_points


@dataclass(frozen=True, eq=False)
class GaussianTruth:
    """What `make_gaussian_classes` drew; the fields are described there."""

    means: np.ndarray
    covariances: np.ndarray
    priors: np.ndarray

    def log_joint(self, X):
        """log P(y = k) p(x | y = k) of every row and class."""
        columns = []
        for mu, L, prior in zip(
            self.means, np.linalg.cholesky(self.covariances), self.priors, strict=True
        ):
            z = np.linalg.solve(L, (X - mu).T)  # whitened: ‖z‖ is the Mahalanobis distance
            log_norm = np.log(np.diag(L)).sum() + len(mu) / 2 * np.log(2 * np.pi)
            columns.append(np.log(prior) - log_norm - np.einsum("ij,ij->j", z, z) / 2)
        return np.stack(columns, axis=1)

    def predict_proba(self, X):
        """P(y = k | x) of every row and class."""
        return softmax(self.log_joint(X), axis=1)

    @cached_property
    def bayes_error(self):
        """The least possible error rate: (2), else (1) summed over 2^14 even points a class."""
        (mu0, *_), (S0, *_), priors = self.means, self.covariances, self.priors
        if len(priors) == 2 and np.array_equal(S0, self.covariances[1]):
            d = self.means[1] - mu0
            delta = np.sqrt(d @ np.linalg.solve(S0, d))
            if delta == 0:
                return float(priors.min())
            t = np.log(priors[0] / priors[1]) / delta
            return float(priors @ ndtr([-delta / 2 - t, -delta / 2 + t]))
        Z, error = normal_points(14, len(mu0)), 0.0
        for mu, L, prior in zip(
            self.means, np.linalg.cholesky(self.covariances), priors, strict=True
        ):
            error += prior * np.mean(1 - self.predict_proba(mu + Z @ L.T).max(axis=1))
        return float(error)


@validate_params(
    {
        "n_samples": [Interval(Integral, 1, None, closed="left")],
        "n_features": [Interval(Integral, 1, None, closed="left")],
        "n_classes": [Interval(Integral, 2, None, closed="left")],
        "separation": [Interval(Real, 0, None, closed="left")],
        "means": ["array-like", None],
        "covariance": [StrOptions({"identity", "shared", "full"}), "array-like"],
        "priors": ["array-like", None],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_gaussian_classes(
    n_samples=100,
    n_features=2,
    n_classes=2,
    *,
    separation=2.0,
    means=None,
    covariance="identity",
    priors=None,
    random_state=None,
):
    """Draw classes that are Gaussian each, with a known Bayes error.

    Parameters
    ----------
    n_samples, n_features, n_classes : int
        Rows, columns p and classes K; p and K follow `means` if it is given.
    separation : float
        Distance between any two means, which then form a random regular simplex (K ≤ p + 1).
    means : array-like of shape (n_classes, n_features), optional
        The means μ_k; `separation` is then unused.
    covariance : {"identity", "shared", "full"} or array-like
        The Σ_k: the identity, one random matrix for all, a random matrix for each, or given with
        shape (p, p) or (K, p, p). Random matrices have determinant 1 and axes from 1/2 to 2.
    priors : array-like of shape (n_classes,), optional
        The π_k; equal by default.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    Sample
        `X`, `y` (0 … K − 1) and `truth` with `means`, `covariances`, `priors`, `bayes_error`
        (exact for two classes of equal covariance, else to about three digits), `log_joint` and
        `predict_proba`, whose largest entry is the Bayes classifier.

    Examples
    --------
    >>> from mlreplica.datasets import make_gaussian_classes
    >>> X, y, truth = make_gaussian_classes(100, separation=2.0, random_state=0)
    >>> round(truth.bayes_error, 4)  # Φ(−1)
    0.1587
    """
    rng = check_random_state(random_state)
    if means is None:
        means = simplex(n_classes, n_features, separation, rng)
    means = np.array(means, dtype=np.float64, ndmin=2)
    K, p = means.shape
    if isinstance(covariance, str):
        draws = {"identity": 0, "shared": 1, "full": K}[covariance]
        covariance = [random_covariance(p, rng) for _ in range(draws)] or np.eye(p)
        covariance = covariance[0] if draws == 1 else covariance
    covariances = np.broadcast_to(np.asarray(covariance, dtype=np.float64), (K, p, p)).copy()
    priors = np.full(K, 1 / K) if priors is None else np.array(priors, dtype=np.float64)
    if priors.shape != (K,) or np.any(priors <= 0) or not np.isclose(priors.sum(), 1):
        raise ValueError(f"priors must be {K} positive numbers that add up to 1, got {priors}.")
    y = rng.choice(K, n_samples, p=priors / priors.sum())
    Z = rng.standard_normal((n_samples, p))
    X = means[y] + np.einsum("nij,nj->ni", np.linalg.cholesky(covariances)[y], Z)
    return Sample(X, y, GaussianTruth(means, covariances, priors))


def simplex(K, p, distance, rng):
    """K points of R^p, every two of them `distance` apart, randomly turned, centred at 0."""
    if p + 1 < K:
        raise ValueError(f"{K} equidistant means need n_features >= {K - 1}, got {p}; give means.")
    corners = np.eye(K) - 1 / K  # rank K − 1
    U, s, _ = np.linalg.svd(corners)
    turn = np.linalg.qr(rng.standard_normal((p, p)))[0][: K - 1]
    return distance / np.sqrt(2) * (U * s)[:, : K - 1] @ turn


def random_covariance(p, rng):
    """A random rotation of random axes between 1/2 and 2, with determinant 1."""
    Q = np.linalg.qr(rng.standard_normal((p, p)))[0]
    log_axes = rng.uniform(-np.log(2), np.log(2), p) / 2
    return (Q * np.exp(2 * (log_axes - log_axes.mean()))) @ Q.T
