r"""Least squares step by step: gradient descent, stochastic gradient descent, non-negative weights

With centred rows A (n, p), c (n, q) and S = Σ s_i, as in `direct.py`, and a penalty α ≥ 0,

    P(w) = (‖A w − c‖² + α ‖w‖²) / 2S,    ∇P(w) = (Aᵀ(A w − c) + α w) / S,    C = (AᵀA + αI) / S (9)

where C is the matrix of second derivatives; α = 0 for least squares, S = 1/2 for ridge regression.
Gradient descent walks downhill with the step 1/L, L the largest eigenvalue of C:

    w ← w − ∇P(w) / L,           P(w) − P(w*) falls by 1 − μ/L or better a step.            (10)

Stochastic gradient descent takes one row i at a time in place of all, and a share of the penalty:

    w ← (1 − ηα/n) w − η [ a_i (a_iᵀw − t_i) + g ],                                         (11)

plainly with t = c and g = 0 in the first epoch. It would then dance round w* indefinitely, because
single rows disagree there. Each later epoch starts from w̃, where the whole gradient is known, and
takes t = A w̃ and g = Aᵀ(A w̃ − c)/n: the mean of (11) is the same, but its noise vanishes with
w − w*.

How far is the minimum? C has no eigenvalue between 0 and μ > 0, and w ≥ l may be asked for, so

    P(w) − P(w*) ≤ Σ_j max over v ≥ l_j of −G_j (v − w_j) − μ/2 (v − w_j)²,     G = ∇P(w),   (12)

which is ‖G‖² / 2μ without bounds (l = −∞). If w ≥ 0 is asked for, μ is the least eigenvalue of C,
and 0 if columns are dependent and α = 0.

Robbins, Monro, A stochastic approximation method (1951); Johnson, Zhang, Accelerating stochastic
gradient descent using predictive variance reduction (2013); Lawson, Hanson, Solving Least Squares
Problems (1974), chapter 23; Portugal, Júdice, Vicente, A comparison of block pivoting and interior
point algorithms for linear least squares problems with nonnegative variables (1994).
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from mlreplica.core.compile.jit import kernel
from mlreplica.core.formulas.vectors import add_scaled, dot
from mlreplica.core.linalg import numerical_rank, singular_values


class LeastSquaresState(NamedTuple):
    """Where a walk is: weights (p, q), intercepts (q,), P, and the bound (12) on P(w) − P(w*)."""

    w: np.ndarray
    b: np.ndarray
    objective: float
    gap: float


class LeastSquaresProblem(NamedTuple):
    """Centred rows with columns scaled by d, so that w = d·v; S; the extreme eigenvalues of C."""

    A: np.ndarray  # (n, p)
    c: np.ndarray  # (n, q)
    S: float
    mu: float  # (q,) where the penalty differs from target to target
    L: float
    d: np.ndarray  # (p, 1)
    x_mean: np.ndarray  # of the columns before scaling
    y_mean: np.ndarray
    rest: float = 0.0  # what P is more than (9): if A, c are a triangle, what it left out
    alpha: float | np.ndarray = 0.0  # or (q,)
    offset: bool = False  # the first column of A is the offset's, which is penalised as well

    @classmethod
    def of_triangle(cls, rows, tri, S):
        """The rows by their triangle, for w ≥ 0: columns of about equal length, μ of all of C."""
        R, u, Rc, uc, d, r = tri
        x_mean, y_mean = rows.x0, rows.y0
        if rows.intercept:
            x_mean, y_mean = x_mean + R[0, 1:] / R[0, 0], y_mean + u[0] / R[0, 0]
        sigma = singular_values(Rc * d)
        mu = float(sigma[-1] ** 2 / S) if numerical_rank(sigma) == len(d) else 0.0
        rest, L = float(r @ r / (2 * S)), sigma[0] ** 2 / S
        return cls(Rc * d, uc, S, mu, L, d[:, None], x_mean, y_mean, rest)

    def gradient(self, v):
        """∇P of (9), and the residual A v − c on the way."""
        r = self.A @ v - self.c
        return (self.A.T @ r + self.alpha * v) / self.S, r

    def state(self, v, G, r, lower=-np.inf):
        """The LeastSquaresState at v, in the user's coordinates."""
        w = self.d * v
        b = self.y_mean - self.x_mean @ w
        if self.offset:
            b, w = w[0], w[1:]
        size = (r * r).sum() + (self.alpha * v * v).sum()
        P = self.rest + float(size / (2 * self.S))
        return LeastSquaresState(w, b, P, gap(v, G, self.mu, lower))


def gap(w, G, mu, lower=-np.inf):
    """The bound (12)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        step = np.maximum(np.where(G == 0, 0.0, -G / mu), lower - w)
        return float(-(G * step + mu / 2 * np.where(np.isinf(step), 0.0, step) ** 2).sum())


def extremes(A, S, alpha=0.0):
    """μ and L of (10): the smallest eigenvalue of C that is not rounding, and the largest.

    A penalty leaves no direction flat: μ ≥ α/S, also in directions that no row has.
    """
    n, p = A.shape
    values = np.linalg.eigvalsh(A @ A.T if n < p else A.T @ A)
    L = values[-1]
    least = values[values > 1e-13 * len(values) * L].min(initial=L)
    none = 0.0 if n < p else max(values[0] - 1e-15 * len(values) * L, 0.0)
    return np.where(alpha > 0, none + alpha, least) / S, np.max(L + alpha) / S


def gradient_descent(problem, step):
    """Yield the LeastSquaresState indefinitely, one step (10) apart."""
    v = np.zeros((problem.A.shape[1], problem.c.shape[1]))
    while True:
        G, r = problem.gradient(v)
        yield problem.state(v, G, r)
        v -= step * G


@kernel
def epoch(A, t, g, w, eta, shrink, order):
    """Update (11) once for every row in `order`, with shrink = ηα/n; w changes in place."""
    for i in order:
        a_i = A[i]
        e = dot(a_i, w) - t[i]
        if shrink > 0.0:
            add_scaled(w, -shrink, w)
        add_scaled(w, -eta * e, a_i)
        add_scaled(w, -eta, g)


def stochastic_gradient_descent(problem, step, rng):
    """Yield the LeastSquaresState indefinitely, one epoch of (11) apart; `step`: of a mean row."""
    A, c, S, *_ = problem
    n, p = A.shape
    alpha = np.broadcast_to(problem.alpha, c.shape[1])
    v = np.zeros((p, c.shape[1]))
    t, g = c, np.zeros_like(v)
    eta = step * (n / S)  # a_i a_iᵀ has the mean AᵀA / n, and not AᵀA / S
    while True:
        for k in range(c.shape[1]):
            v_k, t_k, g_k = v[:, k].copy(), t[:, k].copy(), g[:, k].copy()
            epoch(A, t_k, g_k, v_k, eta, eta * alpha[k] / n, rng.permutation(n))
            v[:, k] = v_k
        G, r = problem.gradient(v)
        t, g = r + c, (G * S - alpha * v) / n  # A v, Aᵀ(A v − c) / n
        yield problem.state(v, G, r)


def non_negative(problem):
    """Yield the LeastSquaresState after every change of the set of positive weights; then end.

    All weights outside the set `free` are zero. The one along which P falls fastest enters. Then
    the least-squares weights of the set are approached until one of them meets zero and leaves,
    as often as needed. P falls with every entry, so no set comes twice: an end is certain.
    """
    A, c, *_ = problem
    v = np.zeros((A.shape[1], c.shape[1]))
    for k in range(c.shape[1]):
        w, free = v[:, k], np.zeros(len(v), dtype=bool)
        barred = free.copy()  # dependent on the set, so that they would not become positive
        least = 1e-14 * np.linalg.norm(c[:, k])  # rounding of a gradient; columns have length one
        while True:
            G, r = problem.gradient(v)
            yield problem.state(v, G, r, lower=0.0)
            downhill = np.where(free | barred, 0.0, -A.T @ r[:, k])
            j = int(downhill.argmax())
            if downhill[j] <= least:
                break
            free[j] = True
            while ((best := best_on(A, c[:, k], free))[free] <= 0).any():
                out = np.flatnonzero(free & (best <= 0))
                share = w[out] / (w[out] - best[out] + 1e-300)
                w += share.min() * (best - w)
                free[out[share == share.min()]] = False
                w[~free] = 0.0
            w[:] = best
            if free[j]:
                barred[:] = False
            else:
                barred[j] = True


def best_on(A, c, free):
    """Least-squares weights on the columns in `free`, zero elsewhere."""
    w = np.zeros(A.shape[1])
    w[free] = np.linalg.lstsq(A[:, free], c)[0]
    return w


class PivotingProblem(NamedTuple):
    """The same problem by its normal equations: G = AᵀA, B = Aᵀc and Σ c², α > 0 and S = 1/2."""

    G: np.ndarray  # (p, p)
    B: np.ndarray  # (p, q)
    c_sq: float
    alpha: np.ndarray  # (q,)
    x_mean: np.ndarray
    y_mean: np.ndarray

    def state(self, w):
        """The LeastSquaresState at w ≥ 0, and half of ∇P."""
        g = self.G @ w - self.B + self.alpha * w
        P = float(self.c_sq + (w * (g - self.B)).sum())
        b = self.y_mean - self.x_mean @ w
        return LeastSquaresState(w, b, P, gap(w, 2 * g, 2 * self.alpha, lower=0.0)), g


def block_pivoting(normal):
    """Yield the LeastSquaresState after each exchange of signs; end at the minimum over w ≥ 0.

    A guess of the positive weights gives w on them and the slope g of P on the others. All that
    have the wrong sign change sides at once. If their number has not fallen for three exchanges,
    only the last of them changes sides until it has: that cannot go round in circles.
    """
    w = np.zeros_like(normal.B)
    for k, alpha in enumerate(normal.alpha):
        free = normal.B[:, k] > 0
        fewest, patience = len(free) + 1, 3
        while True:
            v = np.zeros(len(w))
            H = normal.G[np.ix_(free, free)]
            H.flat[:: len(H) + 1] += alpha
            if len(H):
                v[free] = lapack.dposv(H, normal.B[free, k], overwrite_a=1)[1].ravel()
            w[:, k] = np.maximum(v, 0.0)
            state, _ = normal.state(w)
            yield state
            g = normal.G @ v - normal.B[:, k] + alpha * v
            noise = 1e-13 * np.abs(normal.B[:, k]).max(initial=0.0)
            wrong = np.flatnonzero(np.where(free, v < 0, g < -noise))
            if not len(wrong):
                break
            if len(wrong) < fewest:
                fewest, patience = len(wrong), 3
            else:
                patience -= 1
            wrong = wrong if patience >= 0 else wrong[-1:]
            free[wrong] = ~free[wrong]
