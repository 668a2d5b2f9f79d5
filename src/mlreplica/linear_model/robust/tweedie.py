r"""Regression of amounts: Newton's method for Tweedie deviances

Amounts scatter more where they are large: Var y = φ μᵖ. Half the deviance of y from the mean μ_i,
without what does not depend on μ, and a penalty are to be small; f_i = x_iᵀw + b, weights s_i have
the sum S:

    minimise over w, b:
    P(w, b) = 1/S Σ_i s_i ( μ_i^{2−p}/(2−p) − y_i μ_i^{1−p}/(1−p) ) + α/2 ‖w‖²               (7)

(p = 1: μ − y log μ; p = 2: log μ + y/μ). With the link log μ = f, a_i = μ_i^{2−p} and
d_i = y_i μ_i^{1−p},

    ∂/∂f_i = a_i − d_i,      ∂²/∂f_i² = (2−p) a_i + (p−1) d_i                                (8)

which is never negative for 1 ≤ p ≤ 2: then P is convex. As in Poisson regression (p = 1) the best
intercept for a given w has a closed form,

    b ← b + log c,      c = Σ s_i d_i / Σ s_i a_i                                             (9)

(8) is a sum of exponentials of f with rates between −1 and 1, hence its derivative is at most as
large as itself, and both bounds of Poisson regression, (5) and (6), hold word for word. Outside
1 ≤ p ≤ 2 P is not convex: where (8) is negative, its expected value a_i stands for it, so that each
step goes downhill, and nothing bounds the distance from the least minimum.

With the link μ = f, P is a parabola for p = 0, and otherwise asks for f_i > 0:

    ∂/∂f_i = f_i^{1−p} − y_i f_i^{−p},      ∂²/∂f_i² = (1−p) f_i^{−p} + p y_i f_i^{−p−1}     (10)

Jørgensen, The theory of dispersion models (1997).
"""

from typing import NamedTuple

import numpy as np

from mlreplica.core.compile.jit import kernel
from mlreplica.core.formulas.exp import exp64
from mlreplica.core.linalg import solve_symmetric
from mlreplica.core.rows.walk import Rows

from .poisson import newton_direction


class AmountsPoint(NamedTuple):
    """All that is known about v."""

    v: np.ndarray
    f: np.ndarray  # (n,)
    value: float  # P
    gradient: np.ndarray
    h: np.ndarray  # (n,): s_i/S times (8) or (10)
    H: np.ndarray | None  # None where it would be too large
    least: float  # min_i h_i


@kernel
def log_terms(y, s, f, p, a, d):
    """Σ s a and Σ s d; writes s a and s d of (8)."""
    for i in range(len(f)):
        a[i] = (2.0 - p) * f[i]
        d[i] = (1.0 - p) * f[i]
    exp64(a)
    exp64(d)
    A, D = 0.0, 0.0
    for i in range(len(f)):
        a[i] *= s[i]
        d[i] *= s[i] * y[i]
        A += a[i]
        D += d[i]
    return A, D


class Amounts(NamedTuple):
    """Problem (7): rows, amounts, shares s_i/S that add up to one, α, p, and the link."""

    rows: Rows
    y: np.ndarray
    s: np.ndarray
    alpha: float
    power: float
    log: bool  # the link: log μ = f, else μ = f

    @classmethod
    def of(cls, rows, y, s, alpha, power, log):
        """With s scaled to shares."""
        return cls(rows, y, s / s.sum(), alpha, float(power), log)

    @property
    def penalty(self):
        """α for every entry of v, 0 for the intercept."""
        return self.rows.penalty(self.alpha)

    def toward(self):
        """Nothing: only for counts does the gradient move with b by a sum known beforehand."""

    def scores(self, v):
        """f = Z v, in the form that `along` takes."""
        return self.rows.scores(v)

    @property
    def convex(self):
        """Whether P is convex, and more: whether (6) holds."""
        return 1.0 <= self.power <= 2.0 if self.log else self.power == 0.0

    def only(self, few):
        """The problem of some of the rows."""
        rows, y, s = self.rows.only(few), self.y[few].copy(), self.s[few].copy()
        return Amounts.of(rows, y, s, self.alpha, self.power, self.log)

    def start(self):
        """w = 0 and the best b for it; without a b, scores near the mean if those must be > 0."""
        rows, mean = self.rows, self.s @ self.y
        v = np.zeros(rows.k)
        if rows.intercept:
            v[0] = np.log(mean) if self.log else mean
        elif not self.log and self.power != 0.0:
            v = solve_symmetric(rows.gram(self.s), rows.back(self.s * mean))
            if not rows.scores(v).min() > 0:
                raise ValueError(
                    "No start with positive predictions was found, as power != 0 asks for; use "
                    "link='log', or fit_intercept=True."
                )
        return v

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def terms(self, f):
        """(Σ s loss, s a − s d, s × second derivative) at the scores f."""
        y, s, p = self.y, self.s, self.power
        if self.log:
            a, d = np.empty_like(f), np.empty_like(f)
            A, D = log_terms(y, s, f, p, a, d)
            first = s @ f if p == 2.0 else A / (2.0 - p)
            second = s @ (y * f) if p == 1.0 else D / (1.0 - p)
            h = (2.0 - p) * a + (p - 1.0) * d  # (8)
            return first - second, a - d, h if self.convex else np.where(h > 0, h, a)
        if p == 0.0:
            return 0.5 * (s @ (f * f)) - s @ (y * f), s * (f - y), s
        if not f.min() > 0:
            return np.inf, f, f
        first = s @ np.log(f) if p == 2.0 else s @ f ** (2.0 - p) / (2.0 - p)
        second = s @ (y * np.log(f)) if p == 1.0 else s @ (y * f ** (1.0 - p)) / (1.0 - p)
        g = f ** (1.0 - p) - y * f**-p
        h = (1.0 - p) * f**-p + p * y * f ** (-p - 1.0)  # (10)
        return first - second, s * g, s * np.where(h > 0, h, f**-p)

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def best_shift(self, f):
        """What (9) adds to the intercept; 0 if there is no closed form."""
        if self.log:
            A, D = log_terms(self.y, self.s, f, self.power, np.empty_like(f), np.empty_like(f))
            return np.log(D / A) if 0.0 < D < np.inf and 0.0 < A < np.inf else 0.0
        return self.s @ (self.y - f) if self.power == 0.0 else 0.0

    def at(self, v, _toward=None):
        """The AmountsPoint at v, with the intercept moved to its best (9)."""
        rows, f, exact = self.rows, self.rows.scores(v), False
        if rows.intercept:
            shift = self.best_shift(f)
            exact = self.log or self.power == 0.0
            v, f = v.copy(), f + shift
            v[0] += shift
        value, g, h = self.terms(f)
        if not np.isfinite(value):
            return AmountsPoint(v, f, np.inf, np.zeros(rows.k), h, None, 0.0)
        alpha, gradient = self.penalty, rows.back(g) + self.penalty * v
        if exact:
            gradient[0] = 0.0
        H = None
        if rows.direct:
            H = rows.gram(h)
            H[np.diag_indices(rows.k)] += alpha
            value = value if np.isfinite(H.sum()) else np.inf
        value = float(value + 0.5 * (alpha @ v**2))
        return AmountsPoint(v, f, value, gradient, h, H, float(h.min()))

    def along(self, f, q, v, step, t):
        """P at v − t·step, where f becomes f + t q: no walk over X."""
        u = v - t * step
        return self.terms(f + t * q)[0] + 0.5 * (self.penalty @ u**2)

    def direction(self, point):
        """H⁻¹∇P: by Cholesky, or by conjugate gradients where H would be too large."""
        if point.H is not None:
            return solve_symmetric(point.H, point.gradient)
        return newton_direction(self, point.h, point.gradient)

    def gap(self, point, decrement):
        """The better of the bounds (5) and (6); infinite if P is not convex."""
        if not self.convex:
            return np.inf
        bound = np.inf
        if self.alpha > 0 and (not self.rows.intercept or point.gradient[0] == 0.0):
            bound = point.gradient @ point.gradient / (2 * self.alpha)
        if point.H is not None and not self.log:  # a parabola: its Newton step tells all
            return float(min(bound, 0.5 * decrement))
        z = np.sqrt(decrement / point.least) if point.least > 0 else np.inf
        if point.H is not None and z <= 0.5:
            bound = min(bound, 0.5 * decrement * (1 + z))
        return float(bound)
