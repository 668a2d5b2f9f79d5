r"""Smooth logistic regression (l1 = 0): Newton's method, L-BFGS and gradient descent

Letters and equations (1) to (4) and (8) to (10) are those of `objective.py`. Newton's step solves,
with H = ∇²P of (4),

    H d = −∇P,        V ← V + t d                                                            (5)

with t = 1 unless Wolfe's conditions ask otherwise. With z = f + (t − p)/(p(1 − p)) the step is
the weighted least-squares fit of z with weights s p(1 − p): hence "iteratively reweighted".

L-BFGS replaces H⁻¹ by a guess B⁻¹, corrected by the last changes of V and ∇P (two-loop recursion):

    d = −H̃ ∇P,   H̃ = (I − σ η ζᵀ)ᵀ … B⁻¹ … (I − σ η ζᵀ) + σ ζ ζᵀ,   σ = 1/ζᵀη               (6)

with ζ the change of V and η that of ∇P. The guess decides everything. Here B is the Hessian (4) of
a sample of the rows, at the minimum over that sample: near enough to H that a few passes
over all rows suffice, and also a certificate, for the rows outside the sample only add to H.
A sample of one row in m gives H ≥ B/m. The sample itself is fitted with Böhning's bound as guess,

    B = κ Σ s_i x̃_i x̃_iᵀ + l2 I,       κ = 1/4 (two classes) or 1/2                            (7)

which is above (4) everywhere, block by block the same matrix and thus only p + 1 columns wide.

Gradient descent walks with the step 1/λ_max(B) of (7).

Nocedal, Updating quasi-Newton matrices with limited storage (1980); Byrd, Chin, Neveitt, Nocedal,
On the use of stochastic Hessian information in optimization methods (2011).
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve, lapack, qr, solve_triangular

from .objective import EPS, LogisticObjective, LogisticState, gap
from .sparse import newton_cg as sparse_newton_cg
from .wide import ByRows, products_of_rows, well_conditioned

MOST = 2000  # coordinates of V up to which a Hessian is made
CHEAP = 5e8  # multiplications in a Hessian up to which Newton's method needs no sample
LARGE = 2_000_000  # entries of a linear program that is still worth its time
WELL = 1e-7  # 1/κ of XXᵀ down to which its Cholesky factor keeps digits enough
MEMORY = 12  # changes that L-BFGS remembers


def search(objective, point, d, t=1.0):
    """The Point at V + t d, t by Wolfe's conditions; None if rounding leaves nothing to gain."""
    slope, low, high = objective.inner(point.g, d), 0.0, np.inf
    slack = 8 * EPS * abs(point.P)
    if slope >= 0.0:
        return None
    for _ in range(40):
        new = objective.at(point.V + t * d)
        new_slope = objective.inner(new.g, d)
        enough = point.P + 1e-4 * t * slope + slack
        if not (np.isfinite(new_slope) and new.P - enough <= 0.0):
            high = t
        elif new_slope < 0.9 * slope:
            low = t
        else:
            return new
        guess = t * slope / (slope - new_slope) if slope < new_slope < np.inf else 0.0
        if high == np.inf:
            t = min(max(guess, 2.0 * t), 10.0 * t)
        else:
            t = guess if low + 0.1 * (high - low) < guess < high - 0.1 * (high - low) else 0.0
            t = t or (low + high) / 2
    return None


def newton(objective, point):
    """Yield the LogisticState at the start and after every step (5), until rounding stops it."""
    factor = objective.factor(point)
    moved = 0.0  # δ: how much a score has changed since the Hessian was made
    last = np.inf
    while True:
        decrement = factor.decrement(point.g)
        rho = objective.rho(factor) if decrement < 0.1 else np.inf
        bound = gap(point.P, decrement, rho, math.exp(-moved))
        yield state(objective, point, bound, decrement)
        if 0.3 * last < decrement <= 1e-7 or endless(objective, point):
            return
        last = decrement
        if moved > 0.0:
            factor = objective.factor(point)
        new = search(objective, point, -factor.solve(point.g))
        if new is None:
            return
        if new.root is None:
            moved = objective.change(new.F, point.F)
        else:
            factor, moved = objective.factor(new), 0.0
        point = new


def state(objective, point, bound, decrement):
    """The LogisticState at a LogisticPoint; converged when decrement and bound are small."""
    W, b = objective.weights(point.V)
    bound = max(bound, 0.0)
    known = objective.l2 > 0.0 or bound < point.P  # without a penalty (10) says nothing
    return LogisticState(W, b, point.P, bound, max(decrement, bound) if known else decrement)


def endless(objective, point):
    """Whether ever larger V are better: there is no penalty, and V separates the classes."""
    return objective.l2 == 0.0 and objective.margin(point.F) > 0.0


def certificate(problem, W, b):
    """The bound (9) at W, b, by a Hessian of its own; P if it would be too large."""
    objective = problem.objective()
    point = objective.at(objective.coordinates(W, b))
    if objective.sparse or point.V.size > MOST:
        return point.P
    factor = objective.factor(point)
    return gap(point.P, factor.decrement(point.g), objective.rho(factor))


def separable(problem, W, b):
    """Whether a hyperplane has each class on its side, rows on it allowed but not all of them.

    W itself may show it. Otherwise: of the V whose leads of the right class are all between 0 and
    1, the one with the largest sum, by linear programming, has a positive sum.
    """
    from scipy.optimize import linprog

    objective = problem.objective()
    point = objective.at(objective.coordinates(W, b))
    if objective.margin(point.F) > 0.0:
        return True
    n, leads = problem.X.shape[0], max(1, problem.K - 1)
    if n * leads * point.V.size > LARGE or not objective.in_memory:
        return False
    X = problem.X.toarray() if objective.sparse else problem.X
    X = np.column_stack([X, np.ones(n)]) if problem.intercept else X
    X = X / np.maximum(np.abs(X).max(axis=0), 1e-300)
    if problem.K == 1:
        A = problem.y[:, None] * X
    else:
        own = objective.U[problem.y]
        A = np.vstack(
            [
                np.einsum("ia,ij->iaj", own - u, X).reshape(n, -1)[problem.y != k]
                for k, u in enumerate(objective.U)
            ]
        )
    best = linprog(
        -A.sum(axis=0), np.vstack([A, -A]), np.repeat([1.0, 0.0], len(A)), bounds=(None, None)
    )
    return best.status == 0 and -best.fun > 1e-6


class Bohning:
    """The guess (7): one matrix for all rows of V."""

    def __init__(self, objective):
        c = 0.25 if objective.K == 1 else 0.5
        B = objective.gram(np.sqrt(c * objective.s))
        B.reshape(-1)[:: len(B) + 1] += objective.ridge()[0] + 1e-12 * B.trace() / len(B)
        self.factor = cho_factor(B, lower=True, check_finite=False)

    def solve(self, g):
        """B⁻¹ g"""
        return cho_solve(self.factor, g.T, check_finite=False).T


class Diagonal:
    """The diagonal of (7), for as many columns as one likes."""

    def __init__(self, objective):
        X, s, c = objective.X, objective.s, 0.25 if objective.K == 1 else 0.5
        squares = (X.multiply(X).T @ s) if objective.sparse else np.einsum("i,ij,ij->j", s, X, X)
        self.d = np.append(c * squares, [c] * objective.intercept) + objective.ridge()[0]
        self.d[self.d == 0.0] = 1.0

    def solve(self, g):
        """B⁻¹ g"""
        return g / self.d


def two_loops(g, pairs, guess):
    """H̃ g of (6)."""
    v, a = g.copy(), []
    for zeta, eta, sigma in reversed(pairs):
        a.append(sigma * float(np.vdot(zeta, v)))
        v -= a[-1] * eta
    v = guess.solve(v)
    for zeta, eta, sigma in pairs:
        v += (a.pop() - sigma * float(np.vdot(eta, v))) * zeta
    return v


def quasi_newton(objective, point, guess):
    """Yield (Point, decrement) at the start and after every step by (6), until rounding rules."""
    pairs, last = [], np.inf
    while True:
        d = -two_loops(point.g, pairs, guess)
        decrement = float(np.sqrt(max(-np.vdot(point.g, d), 0.0)))
        yield point, decrement
        if 0.9 * last < decrement <= 1e-7 or endless(objective, point):
            return
        last = decrement
        new = search(objective, point, d)
        if new is None:
            return
        zeta, eta = new.V - point.V, new.g - point.g
        if (curved := float(np.vdot(zeta, eta))) > EPS * float(np.vdot(eta, eta)):
            pairs = [*pairs[1 - MEMORY :], (zeta, eta, 1.0 / curved)]
        point = new


def lbfgs(objective, point):
    """Yield the LogisticState indefinitely: L-BFGS from (7) or its diagonal; certificate (10)."""
    sums = objective.class_sums()
    guess = (Bohning if objective.p <= MOST else Diagonal)(objective)
    for found, decrement in quasi_newton(objective, point, guess):
        yield state(objective, found, objective.dual_gap(found, sums), decrement)


def part_of(problem, m):
    """The problem of one row in m, one of each m neighbours by lot, and their weight."""
    n = len(problem.y)
    rows = m * np.arange(n // m) + np.random.default_rng(0).integers(0, m, n // m)
    s = problem.s[rows]
    return problem._replace(X=problem.X[rows], y=problem.y[rows], s=s / s.sum()), float(s.sum())


def lbfgs_by_sample(problem, objective, m, V=None):
    """Yield the LogisticState: L-BFGS from the minimum over one row in m, with its Hessian."""
    sample, weight = part_of(problem, m)
    few = LogisticObjective(sample)
    if V is None:
        enough = np.sqrt(0.1 * np.prod(few.shape) / few.n)  # a third of what a sample is off by
        walk = quasi_newton(few, few.at(np.zeros(few.shape)), Bohning(few))
        V = next(point for point, decrement in walk if decrement <= enough).V
    factor = few.factor(few.at(V))
    start = objective.at(V, factor)
    for point, decrement in quasi_newton(objective, start, factor):
        below = weight * np.exp(-objective.change(point.F, start.F))
        bound = gap(point.P, factor.decrement(point.g), start.rho, below)
        yield state(objective, point, bound, decrement)


def newton_cg(objective, point):
    """Yield the LogisticState: Newton's method, (5) solved by conjugate gradients."""
    sums, guess, last = objective.class_sums(), Diagonal(objective), np.inf
    while True:
        decrement = float(np.sqrt(np.vdot(point.g, guess.solve(point.g))))
        yield state(objective, point, objective.dual_gap(point, sums), decrement)
        if 0.9 * last < decrement <= 1e-7 or endless(objective, point):
            return
        last = decrement
        times = objective.curvature(point.F)
        new = search(objective, point, conjugate_gradients(times, -point.g, guess))
        if new is None:
            return
        point = new


def conjugate_gradients(times, r, guess):
    """d with H d ≈ r, to a residual that shrinks faster than r: so does the error of (5)."""
    d, z = np.zeros_like(r), guess.solve(r)
    u, rz = z, float(np.vdot(r, z))
    enough = rz * min(0.1, np.sqrt(rz)) ** 2
    for _ in range(200):
        Hu = times(u)
        curved = float(np.vdot(u, Hu))
        if curved <= 0.0 or rz <= enough:
            break
        t = rz / curved
        d, r = d + t * u, r - t * Hu
        z = guess.solve(r)
        rz, old = float(np.vdot(r, z)), rz
        u = z + rz / old * u
    return d


def gradient_descent(objective, point):
    """Yield the LogisticState indefinitely: V ← V − ∇P/L, L the largest eigenvalue of (7)."""
    sums, p = objective.class_sums(), objective.p
    c = 0.25 if objective.K == 1 else 0.5
    L = np.linalg.eigvalsh(objective.gram(np.sqrt(c * objective.s)))[-1] + objective.l2
    least = np.bincount(objective.y > 0 if objective.K == 1 else objective.y, objective.s).min()
    least = least or 1.0  # a class without a row: then there is no b, and r = 0
    while True:
        bound = objective.dual_gap(point, sums)
        G, r = point.g[:, :p], point.g[:, p:].sum(axis=1, keepdims=True)  # r = 0 without b
        if objective.l2 > 0.0:  # λ² with b at its best and no curvature of W but the penalty's
            far = float(((G - r * sums[1]) ** 2).sum() / objective.l2 + 2.0 * (r * r).sum() / least)
        else:
            far = float((point.g**2).sum()) / L
        yield state(objective, point, bound, np.sqrt(far))
        point = objective.at(point.V - point.g / L)


def wide(X, K):
    """L (n, n) of X = L Qᵀ, Q with orthonormal columns, and the maps Z ↦ Z Qᵀ and W ↦ W Q.

    Cholesky's L of K = XXᵀ is fast, and Qᵀ = L⁻¹X is never made; but κ is squared.
    """
    L, failed = lapack.dpotrf(K, lower=1, clean=1)
    if failed or lapack.dpocon(L, np.abs(K).sum(axis=0).max(), uplo="L")[0] < WELL:
        Q, R = qr(X.T, mode="economic", check_finite=False)
        return R.T, lambda Z: Z @ Q.T, lambda W: W @ Q
    return (
        L,
        lambda Z: solve_triangular(L, Z.T, trans="T", lower=True).T @ X,
        lambda W: solve_triangular(L, X @ W.T, lower=True).T,
    )


def smooth(problem, W, b, solver):
    """The States of the solver asked for; "lbfgs" and "newton-cholesky" pick what is fastest."""
    n, p = problem.X.shape
    if sp.issparse(problem.X) and problem.l2 > 0.0 and solver != "gd":
        return sparse_newton_cg(problem, W, b)
    objective = problem.objective()
    V = objective.coordinates(W, b)
    size, dense = V.size, not objective.sparse
    if solver == "gd":
        return gradient_descent(objective, objective.at(V))
    if solver == "newton-cg":
        return newton_cg(objective, objective.at(V))
    if dense and p > n and problem.l2 > 0.0 and (n + 1) * V.shape[0] <= MOST:
        return widened(problem, W, b)
    if dense and size <= MOST:
        m = max(4, min(10, n // (12 * size)))
        few = n * size * size <= CHEAP or n < 40 * size
        if solver == "newton-cholesky" or few or not objective.in_memory:
            return newton(objective, objective.at(V))
        return lbfgs_by_sample(problem, objective, m, V if V.any() else None)
    return lbfgs(objective, objective.at(V))


def widened(problem, W, b):
    """`newton` in n coordinates: for two classes those of `wide.py`, if digits allow.

    With the penalty, W lies in the span of the rows of X = L Qᵀ, so that L takes the place of X
    and Z that of W = Z Qᵀ: same scores, same length.
    """
    K = products_of_rows(problem.X, problem.n_jobs)
    if problem.K == 1 and well_conditioned(problem, K):
        objective = ByRows(problem, K)
        yield from newton(objective, objective.at(objective.coordinates(W, b)))
        return
    L, to_columns, to_rows = wide(problem.X, K)
    objective = LogisticObjective(problem._replace(X=np.ascontiguousarray(L)))
    start = objective.at(objective.coordinates(to_rows(W), b))
    for found in newton(objective, start):
        yield found._replace(W=to_columns(found.W))
