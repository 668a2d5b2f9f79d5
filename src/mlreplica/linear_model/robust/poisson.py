r"""Poisson regression by Newton's method

Counts y_i ≥ 0 with mean e^f_i, f_i = x_iᵀw + b, and weights s_i with sum S:

    minimise over w, b:   P(w, b) = 1/S Σ_i s_i (e^f_i − y_i f_i) + α/2 ‖w‖²                (1)

With rows z_i = [1, x_i] and v = (b, w), gradient and curvature are

    ∇P = 1/S Σ_i s_i (e^f_i − y_i) z_i + α (0, w),      H = 1/S Σ_i s_i e^f_i z_i z_iᵀ + α I₀  (2)

(I₀: the identity without the intercept's entry). Newton's step goes to the minimum of the parabola
that has the same value, gradient and curvature, or part of the way,

    v ← v − t H⁻¹∇P,      λ² = ∇Pᵀ H⁻¹ ∇P,                                                  (3)

with t the first of 1, 1/2, 1/4, … that makes P fall by 10⁻⁴ t λ² or more.

The best intercept for a given w has a closed form, so that b is always exact:

    b ← b + log c,      c = Σ s_i y_i / Σ s_i e^f_i        (every e^f_i is multiplied by c)   (4)

How far is the minimum? P is α-strongly convex in w and b is the best, hence the first bound; it is
the duality gap. The second needs no penalty: e^f is its own second and third derivative, so that H
cannot shrink by more than the factor e^−|change of f| on the way to the minimum.

    P(v) − P(v*)  ≤  ‖∇P‖² / 2α                                                                (5)
    P(v) − P(v*)  ≤  λ²/2 · (1 + ρλ)   if ρλ ≤ 1/2,     ρ² = S / min_i s_i e^f_i               (6)

A large set starts from the answer of every sixteenth row, which costs a sixteenth a step and is as
close as sixteen times fewer rows can tell; two or three steps over all rows do the rest.

Nelder, Wedderburn, Generalized linear models (1972); Bach, Self-concordant analysis for logistic
regression (2010).
"""

from typing import NamedTuple

import numpy as np

from mlreplica.core.compile.jit import kernel
from mlreplica.core.conjugate_gradients import conjugate_gradients
from mlreplica.core.formulas.exp import exp64
from mlreplica.core.linalg import solve_symmetric
from mlreplica.core.rows.csr import RowProducts, backward, there_and_back
from mlreplica.core.rows.walk import Rows, Sums

TINY = 2.0**-52  # the mean that stands for 0, whose logarithm is not finite


class PoissonState(NamedTuple):
    """Where Newton's method is: weights, intercept, P, and the bound on P(v) − P(v*)."""

    w: np.ndarray
    b: float
    objective: float
    gap: float
    decrement: float  # λ² of (3)
    step: float  # t of (3), 0 at the start


class PoissonPoint(NamedTuple):
    """All that one walk over the rows tells about v."""

    v: np.ndarray
    f: np.ndarray  # (n,)
    value: float  # P
    gradient: np.ndarray
    H: np.ndarray | None  # None where it would be too large
    least: float  # min_i s_i e^f_i / S


class PoissonSums(NamedTuple):
    """The sums of (1) and (2) without the penalty; those of two sets of rows add up."""

    mean: float  # Σ s e^f
    cross: float  # Σ s y f
    gradient: np.ndarray
    H: np.ndarray | None
    least: float  # min s e^f
    f: np.ndarray | None = None  # the scores, where the rows lie in memory

    def __add__(self, other):
        both = (a + b for a, b in zip(self[:4], other[:4], strict=True))
        return PoissonSums(*both, min(self.least, other.least))


@kernel
def derivatives(y, s, f, g, h):
    """Σ s e^f and Σ s y f; writes g = s (e^f − y) and h = s e^f."""
    for i in range(len(f)):
        h[i] = f[i]
    exp64(h)
    total, cross = 0.0, 0.0
    for i in range(len(f)):
        mean = s[i] * h[i]
        total += mean
        cross += s[i] * y[i] * f[i]
        g[i] = mean - s[i] * y[i]
        h[i] = mean
    return total, cross


class Counts(NamedTuple):
    """Problem (1): rows, counts and shares s_i/S that add up to one."""

    rows: Rows
    y: np.ndarray
    s: np.ndarray
    alpha: float

    convex = True

    @classmethod
    def of(cls, rows, y, s, alpha):
        """With s scaled to shares."""
        return cls(rows, y, s / s.sum(), alpha)

    @property
    def penalty(self):
        """α for every entry of v, 0 for the intercept."""
        return self.rows.penalty(self.alpha)

    def toward(self):
        """Σ s_i y_i z_i"""
        return self.rows.back(self.s * self.y)

    def scores(self, v):
        """f = Z v, in the form that `along` takes."""
        return self.rows.scores(v)

    def start(self):
        """w = 0 and the best b for it."""
        v = np.zeros(self.rows.k)
        if self.rows.intercept:
            v[0] = np.log(self.s @ self.y)
        return v

    def sums(self, v):
        """The PoissonSums at v."""
        rows, y, s, _ = self
        n = len(y)
        f, g, h = np.empty(n), np.empty(n), np.empty(n)

        def of(block):
            i, Z = block.rows, block.Z
            np.matmul(Z, v, out=f[i])
            sums = derivatives(y[i], s[i], f[i], g[i], h[i])
            gradient = g[i] @ Z
            R = np.multiply(Z, np.sqrt(h[i])[:, None], out=Z)
            return Sums((*sums, gradient, R.T @ R))

        if rows.direct:
            mean, cross, gradient, H = rows.sum(of)
        else:
            f = rows.scores(v)
            (mean, cross), gradient, H = derivatives(y, s, f, g, h), rows.back(g), None
        return PoissonSums(mean, cross, gradient, H, h.min(), f)

    @np.errstate(over="ignore", invalid="ignore")
    def at(self, v, toward):
        """The PoissonPoint at v, with the intercept moved to its best (4)."""
        mean, cross, gradient, H, least, f = self.sums(v)
        if self.rows.intercept and 0.0 < mean < np.inf:  # (4); `toward` is Σ s_i y_i z_i
            c = toward[0] / mean
            v, f = v.copy(), None if f is None else f + np.log(c)
            v[0] += np.log(c)
            mean, cross = toward[0], cross + np.log(c) * toward[0]
            gradient = c * (gradient + toward) - toward
            gradient[0] = 0.0
            H, least = None if H is None else c * H, c * least
        alpha = self.penalty
        value = mean - cross + 0.5 * (alpha @ v**2)
        gradient = gradient + alpha * v
        if H is not None:
            H[np.diag_indices(len(v))] += alpha
            value = value if np.isfinite(H.sum()) else np.inf
        return PoissonPoint(v, f, float(value), gradient, H, float(least))

    def along(self, f, q, v, step, t):
        """P at v − t·step, where f becomes f + t q: no walk over X."""
        u = v - t * step
        g, h = np.empty_like(f), np.empty_like(f)
        mean, cross = derivatives(self.y, self.s, f + t * q, g, h)
        return mean - cross + 0.5 * (self.penalty @ u**2)

    def direction(self, point):
        """H⁻¹∇P: by Cholesky, or by conjugate gradients where H would be too large."""
        if point.H is not None:
            return solve_symmetric(point.H, point.gradient)
        return newton_direction(self, self.s * np.exp(point.f), point.gradient)

    def gap(self, point, decrement):
        """The better of the bounds (5) and (6)."""
        bound = np.inf
        if self.alpha > 0 and (not self.rows.intercept or point.gradient[0] == 0.0):
            bound = point.gradient @ point.gradient / (2 * self.alpha)
        z = np.sqrt(decrement / point.least) if point.least > 0 else np.inf
        if point.H is not None and z <= 0.5:
            bound = min(bound, 0.5 * decrement * (1 + z))
        return float(bound)

    def only(self, few):
        """The problem of some of the rows."""
        return Counts.of(self.rows.only(few), self.y[few].copy(), self.s[few].copy(), self.alpha)


def newton_direction(problem, h, gradient):
    """(Zᵀ diag(h) Z + αI₀)⁻¹ ∇P by conjugate gradients, for an H that would be too large."""
    rows, alpha = problem.rows, problem.penalty
    diagonal, times = (sparse_curvature if rows.sparse else curvature)(rows, h)
    diagonal += alpha
    diagonal[diagonal <= 0] = 1.0
    return conjugate_gradients(lambda x: times(x) + alpha * x, gradient, 1.0 / diagonal)


def curvature(rows, h):
    """The diagonal of Zᵀ diag(h) Z, and its product with a vector."""
    diagonal = np.einsum("i,ij,ij->j", h, rows.X, rows.X)
    if rows.intercept:  # Σ h (x − x₀)² from Σ h x² and Σ h x
        shift = rows.origin * (2 * (h @ rows.X) - h.sum() * rows.origin)
        diagonal = np.append(h.sum(), diagonal - shift)
    return diagonal, lambda x: rows.back(h * rows.scores(x))


def sparse_curvature(rows, h):
    """The same for a sparse X, which has no x₀, with one walk over the rows for a product."""
    X, i = RowProducts(rows.X.tocsr().astype(float, copy=False), rows.n_jobs), int(rows.intercept)
    diagonal, cross, total = X.squares(h), X.added(backward, h), h.sum()

    def times(x):
        inner = X.added(there_and_back, h, x[i:])
        return np.append(total * x[0] + cross @ x[1:], inner + x[0] * cross) if i else inner

    return np.append(total, diagonal) if i else diagonal, times


def newton(problem, v):
    """Yield a PoissonState after each step (3); end when rounding leaves nothing to gain."""
    toward = problem.toward()
    point = problem.at(v, toward)
    if not np.isfinite(point.value):  # a warm start of another world
        point = problem.at(problem.start(), toward)
    slack = 1e-14 * (1 + abs(point.value))  # rounding of P
    before, t = np.inf, 0.0
    while True:
        step = problem.direction(point)
        decrement = max(float(point.gradient @ step), 0.0)
        gap = problem.gap(point, decrement)
        yield PoissonState(*problem.rows.plain(point.v), point.value, gap, decrement, t)
        if before <= slack and decrement > 0.25 * before:
            return
        before, t = decrement, 1.0
        new = problem.at(point.v - step, toward)
        if not new.value <= point.value - 1e-4 * decrement + slack:
            q = problem.scores(-step)
            while t > 1e-10 and not (
                problem.along(point.f, q, point.v, step, t)
                <= point.value - 1e-4 * t * decrement + slack
            ):
                t *= 0.5
            new = problem.at(point.v - t * step, toward)
            if not new.value <= point.value + slack:
                return
        point = new


def thinned_start(problem):
    """The answer of every 16th row; of the constant model, where those would be too few."""
    rows, y, s = problem.rows, problem.y, problem.s
    few = rows.thinning() if rows.direct else None
    if few is None or not s[few] @ y[few] > 0:
        return problem.start()
    small = problem.only(few)
    for state in newton(small, small.start()):
        if state.decrement <= 1e-4 * rows.k / len(small.y):
            break
    return rows.shifted(state.w, state.b)
