r"""The two-dimensional sets that the book draws

Every class k is a shape in the plane, from which a point s is drawn, and x = s + ε. So

    p(x | y = k) = E_s N(x; s, noise² I)                                        (5)

is an average of Gaussians over the shape, and the Bayes classifier and its error are known for
curves and areas as well as for blobs.
"""

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import ndtr, softmax
from sklearn.utils import check_random_state, gen_batches

from mlreplica.core.compat import (
    Interval,
    StrOptions,
    validate_params,
)

from .sample import Sample, normal_points


def blobs(k, a, b):
    """Three points."""
    angle = np.full_like(a, np.pi / 2 + 2 * np.pi * k / 3)
    return np.cos(angle), np.sin(angle)


def circles(k, a, b):
    """A circle inside another."""
    r = (1.0, 0.5)[k]
    return r * np.cos(2 * np.pi * a), r * np.sin(2 * np.pi * a)


def line(k, a, b):
    """Two sides of a slanting line, a gap of 0.3 between them."""
    along, across = 2 * a - 1, (2 * k - 1) * (0.15 + 0.85 * b)
    c, s = np.cos(np.pi / 6), np.sin(np.pi / 6)
    return c * along - s * across, s * along + c * across


def moons(k, a, b):
    """Two half circles that reach into each other."""
    c, s = np.cos(np.pi * a), np.sin(np.pi * a)
    return ((c - 0.5, s - 0.25), (0.5 - c, 0.25 - s))[k]


def spirals(k, a, b):
    """Two arms of one and a half turns."""
    r = np.sqrt(0.02 + 0.98 * a)  # about as many points an inch everywhere
    angle = 3 * np.pi * r + np.pi * k
    return r * np.cos(angle), r * np.sin(angle)


def stripes(k, a, b):
    """Four upright stripes, a gap of 0.1 between them, of alternating classes."""
    second, within = np.divmod(2 * a, 1.0)
    return -1.0 + second + 0.5 * k + 0.05 + 0.4 * within, 2 * b - 1


def xor(k, a, b):
    """Four squares, a gap of 0.2 between them, opposite ones of the same class."""
    second, within = np.divmod(2 * a, 1.0)
    side = 1 - 2 * second
    return side * (0.1 + 0.9 * within), side * (1 - 2 * k) * (0.1 + 0.9 * b)


# Shape, number of classes, the noise of the book's pictures, and points along a and b for (5).
SHAPES = {
    "blobs": (blobs, 3, 0.35, (1, 1)),
    "circles": (circles, 2, 0.1, (512, 1)),
    "line": (line, 2, 0.05, (48, 24)),
    "moons": (moons, 2, 0.15, (512, 1)),
    "spirals": (spirals, 2, 0.04, (1024, 1)),
    "stripes": (stripes, 2, 0.05, (48, 48)),
    "xor": (xor, 2, 0.1, (64, 32)),
}
TOYS = tuple(SHAPES)


@dataclass(frozen=True, eq=False)
class PlaneTruth:
    """What `toy` drew; the fields are described there."""

    shapes: np.ndarray  # (K, m, 2): points spread evenly over the shape of each class
    noise: float

    def log_density(self, X):
        """log p(x | y = k) of every row and class, up to one constant: equation (5)."""
        X, K = np.asarray(X, dtype=np.float64), len(self.shapes)
        scale = max(self.noise, 1e-3)  # without noise the nearest shape wins
        log_p = np.empty((len(X), K))
        for rows in gen_batches(len(X), 1024):
            for k in range(K):
                half = cdist(X[rows], self.shapes[k], "sqeuclidean") / (2 * scale**2)
                least = half.min(axis=1, keepdims=True)  # taken out, so that exp cannot underflow
                log_p[rows, k] = np.log(np.exp(least - half).sum(axis=1)) - least[:, 0]
        return log_p

    def predict_proba(self, X):
        """P(y = k | x) of every row and class; all classes are equally likely."""
        return softmax(self.log_density(X), axis=1)

    @cached_property
    def bayes_error(self):
        """The least possible error rate, 1 − E max_k P(y = k | x), by 2^11 even points a class."""
        Z, m = normal_points(11, 3), self.shapes.shape[1]
        s = self.shapes[:, (ndtr(Z[:, 2]) * m).astype(int)]
        X = (s + self.noise * Z[:, :2]).reshape(-1, 2)
        return float(np.mean(1 - self.predict_proba(X).max(axis=1)))


@validate_params(
    {
        "name": [StrOptions(set(TOYS))],
        "n_samples": [Interval(Integral, 1, None, closed="left")],
        "noise": [Interval(Real, 0, None, closed="left"), None],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def toy(name, n_samples=200, noise=None, random_state=None):
    """Draw one of the plane sets of the book, classes equally large.

    Parameters
    ----------
    name : {"blobs", "circles", "line", "moons", "spirals", "stripes", "xor"}
        Which set; `TOYS` lists the names.
    n_samples : int
        Number of points.
    noise : float, optional
        Standard deviation by which points stray from their shape, each coordinate; by default
        what the book's pictures use. 0 makes every set separable.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    Sample
        `X` (n, 2), around the origin and about as large as [−1, 1]², `y` (0 … K − 1) and `truth`
        with `noise`, `shapes` (points spread over each class's shape), `bayes_error` (to about
        two digits) and the methods `log_density` and `predict_proba`.

    Examples
    --------
    >>> from mlreplica.datasets import toy
    >>> X, y, truth = toy("moons", 300, noise=0.2, random_state=0)
    >>> X.shape, round(truth.bayes_error, 2)
    ((300, 2), 0.03)
    """
    shape, K, default_noise, (m_a, m_b) = SHAPES[name]
    rng, noise = check_random_state(random_state), default_noise if noise is None else noise
    y = rng.permutation(n_samples) % K
    a, b = rng.uniform(size=(2, n_samples))
    X = np.empty((n_samples, 2))
    for k in range(K):
        X[y == k] = np.stack(shape(k, a[y == k], b[y == k]), axis=1)
    X += noise * rng.standard_normal((n_samples, 2))

    a, b = (g.ravel() for g in np.meshgrid(midpoints(m_a), midpoints(m_b)))
    shapes = np.stack([np.stack(shape(k, a, b), axis=1) for k in range(K)])
    return Sample(X, y, PlaneTruth(shapes, float(noise)))


def midpoints(m):
    """The middles of m equal parts of [0, 1]."""
    return (np.arange(m) + 0.5) / m
