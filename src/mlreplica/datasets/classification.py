r"""Linear classification problems with a known truth

Separable by a unit vector w with margin γ, labels ±1:

    y_i (w·x_i + b) ≥ γ  for all i,  and  ‖x_i‖ ≤ ρ                             (6)

so a perceptron through the origin (b = 0) errs at most (ρ/γ)² times; with an offset, learned as
the weight of a constant 1, x becomes (x, 1) and w becomes (w, b)/√(1 + b²), which gives

    mistakes ≤ (ρ² + 1)(1 + b²) / γ²                                             (7)

Not separable, a logistic model whose labels are flipped with probability q:

    P(y = +1 | x) = q + (1 − 2q) / (1 + e^{−(w·x + b)})                          (8)
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from numbers import Integral, Real

import numpy as np
from scipy.integrate import quad
from scipy.special import betaincc, betainccinv, expit, xlogy
from sklearn.utils import check_random_state

from mlreplica.core.compat import (
    Interval,
    validate_params,
)

from .sample import Sample


@dataclass(frozen=True, eq=False)
class SeparableTruth:
    """What `make_separable` drew; the fields are described there."""

    coef: np.ndarray
    intercept: float
    margin: float
    radius: float
    support: np.ndarray

    def mistake_bound(self, fit_intercept=True):
        """The most updates that a perceptron makes on this sample: (7), or (ρ/γ)²."""
        if fit_intercept:
            return (self.radius**2 + 1) * (1 + self.intercept**2) / self.margin**2
        return (self.radius / self.margin) ** 2 if self.intercept == 0 else np.inf


@dataclass(frozen=True, eq=False)
class LogisticTruth:
    """What `make_linear_classification` drew; the fields are described there."""

    coef: np.ndarray
    intercept: float
    flip: float

    def predict_proba(self, X):
        """P(y = −1 | x) and P(y = +1 | x) of every row: equation (8)."""
        p = self.p_positive(X @ self.coef + self.intercept)
        return np.stack([1 - p, p], axis=1)

    def p_positive(self, f):
        """Equation (8) as a function of f = w·x + b."""
        return self.flip + (1 - 2 * self.flip) * expit(f)

    def expected(self, g):
        """E g(P(y = +1 | x)): one integral, since f = w·x + b is N(b, ‖w‖²)."""
        s, b = np.linalg.norm(self.coef), self.intercept
        if s == 0:
            return float(g(self.p_positive(b)))
        kink = -b / s  # where f = 0; the density beyond ±9 is below 1e-18
        points = sorted({-9.0, min(max(kink, -9.0), 9.0), 9.0})
        pdf = lambda z: np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
        integrand = lambda z: g(self.p_positive(b + s * z)) * pdf(z)
        return sum(quad(integrand, a, c)[0] for a, c in pairwise(points))

    @cached_property
    def bayes_error(self):
        """The least possible error rate: E min(P, 1 − P)."""
        return self.expected(lambda p: min(p, 1 - p))

    @cached_property
    def best_log_loss(self):
        """The least possible expected log-loss, in nats: the conditional entropy of y."""
        return self.expected(lambda p: -xlogy(p, p) - xlogy(1 - p, 1 - p))


@validate_params(
    {
        "n_samples": [Interval(Integral, 2, None, closed="left")],
        "n_features": [Interval(Integral, 1, None, closed="left")],
        "margin": [Interval(Real, 0, None, closed="neither")],
        "radius": [Interval(Real, 0, None, closed="neither")],
        "intercept": [Real],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_separable(
    n_samples=100, n_features=2, *, margin=0.1, radius=1.0, intercept=0.0, random_state=None
):
    """Draw points of a ball that a hyperplane separates with exactly the given margin.

    Points are uniform in the ball, without a band of width 2γ around the hyperplane, except for one
    pair: a point of each class on either edge of the band, opposite each other. They lie
    2γ apart, so no hyperplane has a larger margin, and (w, b) is the one of largest margin.

    Parameters
    ----------
    n_samples, n_features : int
        Shape of X.
    margin : float
        The margin γ > 0.
    radius : float
        Radius of the ball around the origin, > margin + |intercept|.
    intercept : float
        The offset b of the hyperplane w·x + b = 0.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    Sample
        `X`, `y` (−1 or +1) and `truth` with `coef` (the unit vector w), `intercept`, `margin`,
        `radius` (ρ = max ‖x_i‖ of this sample), `support` (rows of the closest pair) and the
        method `mistake_bound(fit_intercept=True)`.

    Examples
    --------
    >>> from mlreplica.datasets import make_separable
    >>> X, y, truth = make_separable(100, 3, margin=0.25, random_state=0)
    >>> round(float((y * (X @ truth.coef + truth.intercept)).min()), 12)
    0.25
    """
    n, p, b, rng = n_samples, n_features, intercept, check_random_state(random_state)
    if radius <= margin + abs(b):
        raise ValueError(
            f"radius must be > margin + |intercept| = {margin + abs(b)}, got {radius}: "
            "one class would have no room."
        )
    w = unit_vectors(1, p, rng)[0]
    y = np.where(rng.permutation(n) % 2, 1, -1)

    # x = t w + u: the height t along w has density ∝ (ρ² − t²)^{(p − 1)/2} outside the band.
    t, half = np.empty(n), (p + 1) / 2
    for label in (-1, 1):
        lowest = (margin - label * b) / radius  # of label · t / ρ
        share = betaincc(half, half, (1 + lowest) / 2)
        if share < 1e-200:
            raise ValueError(
                f"in {p} dimensions practically all of the ball is in the band; lower the margin."
            )
        tail = rng.uniform(0, share, np.count_nonzero(y == label))
        t[y == label] = label * radius * (2 * betainccinv(half, half, tail) - 1)
    support = np.array([np.flatnonzero(y == -1)[0], np.flatnonzero(y == 1)[0]])
    t[support] = [-margin - b, margin - b]

    # u is uniform in the ball of radius √(ρ² − t²) orthogonal to w; the pair shares one u.
    u = unit_vectors(n, p - 1, rng) * rng.uniform(size=(n, 1)) ** (1 / max(p - 1, 1))
    u *= np.sqrt(radius**2 - t**2)[:, None]
    u[support] = u[support[np.argmax(np.abs(t[support]))]]
    X = np.column_stack([t, u]) @ rotation_to(w)
    radius = float(np.sqrt(np.einsum("ij,ij->i", X, X).max()))
    return Sample(X, y, SeparableTruth(w, float(b), float(margin), radius, support))


@validate_params(
    {
        "n_samples": [Interval(Integral, 1, None, closed="left")],
        "n_features": [Interval(Integral, 1, None, closed="left")],
        "steepness": [Interval(Real, 0, None, closed="left")],
        "intercept": [Real],
        "flip": [Interval(Real, 0, 0.5, closed="both")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_linear_classification(
    n_samples=100, n_features=2, *, steepness=3.0, intercept=0.0, flip=0.0, random_state=None
):
    """Draw labels from a logistic model (8) over standard normal X: linear, not separable.

    Parameters
    ----------
    n_samples, n_features : int
        Shape of X.
    steepness : float
        The length ‖w‖: at 0 labels are a coin, at infinity they are separable.
    intercept : float
        The offset b.
    flip : float
        Probability q, up to one half, that a label is flipped afterwards.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    Sample
        `X`, `y` (−1 or +1) and `truth` with `coef`, `intercept`, `flip`, `bayes_error`,
        `best_log_loss` and the method `predict_proba`.

    Examples
    --------
    >>> from mlreplica.datasets import make_linear_classification
    >>> X, y, truth = make_linear_classification(100, 5, flip=0.1, random_state=0)
    >>> round(truth.bayes_error, 3)
    0.231
    """
    rng = check_random_state(random_state)
    w = steepness * unit_vectors(1, n_features, rng)[0]
    X = rng.standard_normal((n_samples, n_features))
    truth = LogisticTruth(w, float(intercept), float(flip))
    y = np.where(rng.uniform(size=n_samples) < truth.predict_proba(X)[:, 1], 1, -1)
    return Sample(X, y, truth)


def unit_vectors(n, p, rng):
    """Directions, uniform on the sphere of R^p."""
    Z = rng.standard_normal((n, p))
    return Z / np.linalg.norm(Z, axis=1, keepdims=True) if p else Z


def rotation_to(w):
    """An orthogonal matrix whose first row is the unit vector w (a Householder reflection)."""
    v = w.copy()
    v[0] += 1.0 if v[0] >= 0 else -1.0  # the sign that does not cancel
    H = np.eye(len(w)) - 2 * np.outer(v, v) / (v @ v)
    H[0] = w
    return H
