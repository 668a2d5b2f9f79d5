r"""Multi-task lasso and elastic net: several targets that use the same columns

Y has T targets. Row w_j of W holds the weights of column x_j for all of them.

    minimise over W:   P(W) = 1/(2n) ‖Y − XW‖² + α Σ_j ‖w_j‖ + ½ β ‖W‖²                     (1)

The norm ‖w_j‖ is not squared, so a whole row becomes zero: a column is used by every target or by
none. X and Y are centred, and with weights s_i (Σ s_i = n) their rows are multiplied by √s_i. Let
R = Y − XW and q_j = ‖x_j‖²/n. With all rows but w_j held fixed,

    z = Rᵀx_j/n + q_j w_j,      w_j ← max(1 − α/‖z‖, 0) · z / (q_j + β)                      (2)

and R ← R − x_j (w_j − w_j_old)ᵀ. Of a sparse x_j only the stored values enter: R + √s dᵀ is kept
in place of R, and d ← d − x̄_j (w_j − w_j_old) accounts for the mean x̄_j of the column. At the
minimum, g_j = Rᵀx_j/n − βw_j meets

    g_j = α w_j/‖w_j‖  if w_j ≠ 0,      ‖g_j‖ ≤ α  if w_j = 0                                (3)

so that W = 0 is optimal as soon as α ≥ max_j ‖Yᵀx_j‖/n. As for one target, the residual scaled by
s = min(1, α / max_j ‖g_j‖) is feasible for the dual problem, and so is R itself if β > 0:

    P(W) − P(W*)  ≤  gap = P(W) − s·⟨Y, R⟩/n + ½ s² (‖R‖²/n + β‖W‖²)                         (4)

    P(W) − P(W*)  ≤  gap = P(W) − ⟨Y, R⟩/n + ‖R‖²/2n + 1/(2β) Σ_j max(‖Rᵀx_j‖/n − α, 0)²     (5)

and row j is certainly zero, and left out for good, if with the gap (4)

    s‖g_j‖ + √(2 gap (q_j + β))  <  α                                                        (6)

Yuan, Lin, Model selection and estimation in regression with grouped variables (2006); Obozinski,
Taskar, Jordan, Joint covariate selection (2010); Ndiaye, Fercoq, Gramfort, Salmon, Gap safe
screening rules for sparsity enforcing penalties (2017).
"""

from typing import NamedTuple

import numpy as np

from mlreplica.core.compile.jit import formula, kernel
from mlreplica.core.formulas.vectors import add_scaled, dot

from .columns import SparseColumns
from .problem import columns

EVERY = 5  # sweeps between two gaps: a gap costs as much as a sweep
ROUNDING = 1e-15  # what a sum of products may be wrong by, as a part of its terms


class MultiTaskState(NamedTuple):
    """Where the solver is; P(W) − P(W*) ≤ gap at any time."""

    W: np.ndarray  # (p, T)
    objective: float  # P(W)
    gap: float
    active: int  # columns not yet proved to be zero by (6)


class MultiTaskProblem:
    """Columns, centred and weighted (`columns.py`), and targets, each contiguous, in float64."""

    def __init__(self, X, Y, s, intercept):
        n = len(Y)
        root = None if s is None else np.sqrt(s * (n / s.sum()))
        with np.errstate(over="ignore", invalid="ignore"):
            self.A, targets = columns(X, root, intercept), columns(Y, root, intercept)
            self.YT, self.y_mean, self.x_mean = targets.AT, targets.x_mean, self.A.x_mean
            self.q = self.A.squares()
            self.size = float(np.vdot(self.YT, self.YT)) / n  # ‖Y‖²/n
        if not (np.isfinite(self.q).all() and np.isfinite(self.size)):
            raise ValueError("Squares of X or y overflow; scale them, by StandardScaler say.")
        self.q[self.q <= 1e-28 * self.x_mean**2] = 0.0  # constant but for rounding
        self.sparse = isinstance(self.A, SparseColumns)
        self.lengths = np.sqrt(self.q + self.x_mean**2 if self.sparse else self.q)  # ‖x_j‖/√n

    def residual(self, W):
        """Rᵀ (T, n)."""
        if self.sparse:
            return self.YT - np.array([self.A.product(w) for w in np.ascontiguousarray(W.T)])
        return self.YT - W.T @ self.A.AT

    def slopes(self, R):
        """XᵀR/n (p, T) from Rᵀ."""
        return self.A.gradient(R).T if self.sparse else self.A.AT @ R.T / self.A.n

    def sweep(self, W, R, alpha, beta, order):
        """Update (2) for every j in `order`; W and Rᵀ change in place."""
        z = np.empty(len(R))
        if self.sparse:
            d = np.zeros(len(R))
            sweep_sparse_rows(*self.A.parts, self.x_mean, W, R, d, self.q, alpha, beta, order, z)
            R -= d[:, None] * self.A.root
        else:
            sweep_rows(self.A.AT, W, R, self.q, alpha, beta, order, z)

    def largest_alpha(self):
        """The least α for which W = 0, if β = 0."""
        return float(row_norms(self.slopes(self.YT)).max(initial=0.0))


def row_norms(Z):
    """‖z_j‖ of each row."""
    return np.sqrt(np.einsum("jt,jt->j", Z, Z))


@formula
def kept_share(z, q, alpha, beta):
    """max(1 − α/‖z‖, 0) / (q + β) of (2)."""
    square = 0.0
    for t in range(len(z)):
        square += z[t] * z[t]
    return (1.0 - alpha / np.sqrt(square)) / (q + beta) if square > alpha * alpha else 0.0


@kernel
def sweep_rows(XT, W, R, q, alpha, beta, order, z):
    """Update (2) for every j in `order`; W (p, T) and R (T, n) change in place, z is scratch."""
    T, n = R.shape
    for j in order:
        x_j = XT[j]
        for t in range(T):
            z[t] = dot(x_j, R[t]) / n + q[j] * W[j, t]
        keep = kept_share(z, q[j], alpha, beta)
        for t in range(T):
            w_old = W[j, t]
            W[j, t] = keep * z[t]
            if W[j, t] != w_old:
                add_scaled(R[t], w_old - W[j, t], x_j)


@kernel
def sweep_sparse_rows(data, rows, start, mean, W, R, d, q, alpha, beta, order, z):
    """The same for stored values; the true residual is R − √s dᵀ, and √sᵀx_j = n x̄_j."""
    T, n = R.shape
    for j in order:
        for t in range(T):
            stored = 0.0
            for k in range(start[j], start[j + 1]):
                stored += data[k] * R[t, rows[k]]
            z[t] = stored / n - d[t] * mean[j] + q[j] * W[j, t]
        keep = kept_share(z, q[j], alpha, beta)
        for t in range(T):
            step = keep * z[t] - W[j, t]
            if step != 0.0:
                W[j, t] = keep * z[t]
                d[t] -= step * mean[j]
                for k in range(start[j], start[j + 1]):
                    R[t, rows[k]] -= step * data[k]


def objective(R, W, alpha, beta):
    """P of (1)."""
    n = R.shape[1]
    return 0.5 * float(np.vdot(R, R)) / n + alpha * row_norms(W).sum() + 0.5 * beta * np.vdot(W, W)


def duality_gap(problem, R, W, alpha, beta):
    """The smaller of (4) and (5), and which rows are certainly zero by (6)."""
    n, P = R.shape[1], objective(R, W, alpha, beta)
    rr, ry = float(np.vdot(R, R)) / n, float(np.vdot(R, problem.YT)) / n
    U = problem.slopes(R)
    g = row_norms(U - beta * W)
    top = g.max(initial=0.0)
    s = 1.0 if top <= alpha else alpha / top
    scaled = gap = max(P - s * ry + 0.5 * s * s * (rr + beta * np.vdot(W, W)), 0.0)
    if beta > 0.0:
        over = np.maximum(row_norms(U) - alpha, 0.0)
        gap = max(min(gap, P - ry + 0.5 * rr + float(over @ over) / (2.0 * beta)), 0.0)
    unsure = ROUNDING * (np.sqrt(problem.size) + problem.lengths @ row_norms(W)) ** 2
    zero = s * g + np.sqrt(2.0 * (scaled + unsure) * (problem.q + beta)) < alpha
    return gap + unsure, zero


def block_coordinate_descent(problem, alpha, beta, W, *, rng=None):
    """Yield the MultiTaskState after every sweep, indefinitely; W (p, T) changes in place.

    A dual value is a bound for good, so that one gap in `EVERY` sweeps gives one at any time. With
    a generator `rng`, a sweep visits as many columns, drawn at random with replacement.
    """
    W[problem.q == 0.0] = 0.0
    active, dual, sweeps = np.flatnonzero(problem.q > 0.0), -np.inf, 0
    R = problem.residual(W) if W.any() else problem.YT.copy()
    while True:
        order = active if rng is None or not len(active) else rng.choice(active, len(active))
        problem.sweep(W, R, float(alpha), float(beta), order)
        sweeps += 1
        if sweeps == 1 or sweeps % EVERY == 0:
            if sweeps > 1:
                R = problem.residual(W)  # free of the rounding of many steps
            gap, zero = duality_gap(problem, R, W, alpha, beta)
            dual = max(dual, objective(R, W, alpha, beta) - gap)
        P = objective(R, W, alpha, beta)
        yield MultiTaskState(W, P, max(P - dual, ROUNDING * problem.size), len(active))
        if sweeps == 1 or sweeps % EVERY == 0:
            active = active[~zero[active]]
            if W[zero].any():
                W[zero] = 0.0
                R = problem.residual(W)
