r"""Multi-task lasso and elastic net: several targets that use the same columns

Y has T targets. Row w_j of W holds the weights of column x_j for all of them.

    minimise over W:   P(W) = 1/(2n) ‖Y − XW‖² + α Σ_j ‖w_j‖ + ½ β ‖W‖²                     (1)

The norm ‖w_j‖ is not squared, so a whole row becomes zero: a column is used by every target or by
none. X and Y are centred. Let R = Y − XW and q_j = ‖x_j‖²/n. With all rows but w_j held fixed,

    z = Rᵀx_j/n + q_j w_j,      w_j ← max(1 − α/‖z‖, 0) · z / (q_j + β)                      (2)

and R ← R − x_j (w_j − w_j_old)ᵀ. At the minimum, g_j = Rᵀx_j/n − βw_j meets

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

from mlreplica.core.compile.jit import kernel
from mlreplica.core.formulas.vectors import add_scaled, dot

EVERY = 5  # sweeps between two gaps: a gap costs as much as a sweep
ROUNDING = 1e-15  # what a sum of products may be wrong by, as a part of its terms


class MultiTaskState(NamedTuple):
    """Where the solver is; P(W) − P(W*) ≤ gap at any time."""

    W: np.ndarray  # (p, T)
    objective: float  # P(W)
    gap: float
    active: int  # columns not yet proved to be zero by (6)


class MultiTaskProblem:
    """Centred columns and targets, each contiguous, in float64."""

    def __init__(self, X, Y, intercept):
        with np.errstate(over="ignore", invalid="ignore"):
            self.XT, self.x_mean = centred_columns(X, intercept)
            self.YT, self.y_mean = centred_columns(Y, intercept)
            self.q = np.einsum("ji,ji->j", self.XT, self.XT) / len(X)
            self.size = float(np.vdot(self.YT, self.YT)) / len(X)  # ‖Y‖²/n
        if not (np.isfinite(self.q).all() and np.isfinite(self.size)):
            raise ValueError("Squares of X or y overflow; scale them, by StandardScaler say.")
        self.q[self.q <= 1e-28 * self.x_mean**2] = 0.0  # constant but for rounding

    def largest_alpha(self):
        """The least α for which W = 0, if β = 0."""
        return float(row_norms(self.XT @ self.YT.T).max(initial=0.0)) / self.XT.shape[1]


def centred_columns(X, centre):
    """The columns of X less their means, as contiguous rows of float64, and the means."""
    mean = X.mean(axis=0, dtype=np.float64) if centre else np.zeros(X.shape[1])
    columns = np.empty(X.shape[::-1])
    np.subtract(X.T, mean[:, None], out=columns)
    return columns, mean


def row_norms(Z):
    """‖z_j‖ of each row."""
    return np.sqrt(np.einsum("jt,jt->j", Z, Z))


@kernel
def sweep_rows(XT, W, R, q, alpha, beta, order, z):
    """Update (2) for every j in `order`; W (p, T) and R (T, n) change in place, z is scratch."""
    T, n = R.shape
    for j in order:
        x_j, square = XT[j], 0.0
        for t in range(T):
            z[t] = dot(x_j, R[t]) / n + q[j] * W[j, t]
            square += z[t] * z[t]
        keep = 0.0
        if square > alpha * alpha:
            keep = (1.0 - alpha / np.sqrt(square)) / (q[j] + beta)
        for t in range(T):
            w_old = W[j, t]
            W[j, t] = keep * z[t]
            if W[j, t] != w_old:
                add_scaled(R[t], w_old - W[j, t], x_j)


def objective(R, W, alpha, beta):
    """P of (1)."""
    n = R.shape[1]
    return 0.5 * float(np.vdot(R, R)) / n + alpha * row_norms(W).sum() + 0.5 * beta * np.vdot(W, W)


def duality_gap(problem, R, W, alpha, beta):
    """The smaller of (4) and (5), and which rows are certainly zero by (6)."""
    n, P = R.shape[1], objective(R, W, alpha, beta)
    rr, ry = float(np.vdot(R, R)) / n, float(np.vdot(R, problem.YT)) / n
    U = problem.XT @ R.T / n
    g = row_norms(U - beta * W)
    top = g.max(initial=0.0)
    s = 1.0 if top <= alpha else alpha / top
    scaled = gap = max(P - s * ry + 0.5 * s * s * (rr + beta * np.vdot(W, W)), 0.0)
    if beta > 0.0:
        over = np.maximum(row_norms(U) - alpha, 0.0)
        gap = max(min(gap, P - ry + 0.5 * rr + float(over @ over) / (2.0 * beta)), 0.0)
    unsure = ROUNDING * (np.sqrt(problem.size) + np.sqrt(problem.q) @ row_norms(W)) ** 2
    zero = s * g + np.sqrt(2.0 * (scaled + unsure) * (problem.q + beta)) < alpha
    return gap + unsure, zero


def block_coordinate_descent(problem, alpha, beta, W, *, rng=None):
    """Yield the MultiTaskState after every sweep, indefinitely; W (p, T) changes in place.

    A dual value is a bound for good, so that one gap in `EVERY` sweeps gives one at any time. With
    a generator `rng`, a sweep visits as many columns, drawn at random with replacement.
    """
    XT, YT, q = problem.XT, problem.YT, problem.q
    W[q == 0.0] = 0.0
    active, dual, sweeps, z = np.flatnonzero(q > 0.0), -np.inf, 0, np.empty(len(YT))
    R = YT - W.T @ XT if W.any() else YT.copy()
    while True:
        order = active if rng is None or not len(active) else rng.choice(active, len(active))
        sweep_rows(XT, W, R, q, float(alpha), float(beta), order, z)
        sweeps += 1
        if sweeps == 1 or sweeps % EVERY == 0:
            if sweeps > 1:
                R = YT - W.T @ XT  # free of the rounding of many steps
            gap, zero = duality_gap(problem, R, W, alpha, beta)
            dual = max(dual, objective(R, W, alpha, beta) - gap)
        P = objective(R, W, alpha, beta)
        yield MultiTaskState(W, P, max(P - dual, ROUNDING * problem.size), len(active))
        if sweeps == 1 or sweeps % EVERY == 0:
            active = active[~zero[active]]
            if W[zero].any():
                W[zero] = 0.0
                R = YT - W.T @ XT
