r"""Lasso and elastic net by coordinate descent, one coordinate at a time

    minimise over w:   P(w) = 1/(2n) ‖y − Xw‖² + α ‖w‖₁ + ½ β ‖w‖²                           (1)

β = 0 is the lasso. The columns of X and y are centred, so that the intercept is ȳ − x̄ᵀw. Let
r = y − Xw and q_j = ‖x_j‖²/n. With every weight but w_j held fixed, P is a parabola in w_j plus
α|w_j|; zero is among its subgradients at

    w_j ← S(x_jᵀr/n + q_j w_j, α) / (q_j + β),      S(z, α) = sign(z) · max(|z| − α, 0)      (2)

and then r ← r − (w_j − w_j_old) x_j, so a step costs two passes over one column.            (3)

Where all coordinates are at rest, g = Xᵀr/n − βw meets the optimality conditions

    g_j = α sign(w_j)  if w_j ≠ 0,      |g_j| ≤ α  if w_j = 0                                (4)

of (1), a convex problem. In particular w = 0 is optimal as soon as α ≥ α_max = ‖Xᵀy‖_∞/n.

How far is the minimum? Scale the residual until it satisfies (4), s = min(1, α / ‖g‖_∞). Then s·r
is feasible for the dual problem, whose value is never above P(w*):

    P(w) − P(w*)  ≤  gap = P(w) − s·yᵀr/n + ½ s² (‖r‖²/n + β‖w‖²)                            (5)

The dual optimum lies within √(2n·gap) of s·r, so w*_j = 0 is certain, and column j can be left
out for good, as soon as, with this gap,

    s|g_j| + √(2 gap (q_j + β))  <  α                                                        (6)

If β > 0, every vector is feasible for a second dual, which also serves when α = 0:

    P(w) − P(w*)  ≤  gap = P(w) − yᵀr/n + ‖r‖²/2n + 1/(2β) Σ_j max(|x_jᵀr/n| − α, 0)²        (7)

With w ≥ 0 asked for, S(z, α) = max(z − α, 0), and x_jᵀr and g_j stand where |x_jᵀr| and |g_j| do.

The subgradient method needs none of this:

    w ← w + η_t (g − α sign(w)),      η_t = 1 / (L √t),      L = ‖X‖²/n + β                  (8)

It is slow, because near w* it still takes steps of length η_t and no weight becomes exactly zero.

Tibshirani, Regression shrinkage and selection via the lasso (1996); Zou, Hastie, Regularization and
variable selection via the elastic net (2005); Friedman, Hastie, Tibshirani, Regularization paths
for generalized linear models via coordinate descent (2010); Fercoq, Gramfort, Salmon, Mind the
duality gap: safer rules for the lasso (2015).
"""

import math
from typing import NamedTuple

import numpy as np

from mlreplica.core.compile.jit import kernel
from mlreplica.core.formulas.penalties import positive_threshold, soft_threshold
from mlreplica.core.formulas.vectors import add_scaled, dot

EVERY = 5  # sweeps between two gaps: a gap costs as much as a sweep
ROUNDING = 1e-15  # what a sum of products may be wrong by, as a part of its terms


class LassoState(NamedTuple):
    """Where a solver is; P(w) − P(w*) ≤ gap at any time."""

    w: np.ndarray
    objective: float  # P(w)
    gap: float  # the smaller of (5) and (7)
    sweeps: int
    active: int  # columns not yet proved to be zero by (6)


@kernel
def sweep(XT, w, r, q, alpha, beta, positive, order):
    """Update (2) for every j in `order`; w and r change in place. Row j of XT is the column x_j."""
    n = len(r)
    for j in order:
        x_j, w_old = XT[j], w[j]
        z = dot(x_j, r) / n + q[j] * w_old
        s = positive_threshold(z, alpha) if positive else soft_threshold(z, alpha)
        w[j] = s / (q[j] + beta)
        if w[j] != w_old:
            add_scaled(r, w_old - w[j], x_j)  # (3)


@kernel
def sparse_sweep(data, rows, start, mean, w, r, shift, q, alpha, beta, positive, order):
    """`sweep` over columns data[start[j]:start[j+1]] − mean[j]·root, of which only data is stored.

    r is kept up to a multiple of root (√s_i, or all ones), so that a step touches only the
    non-zeros of its column: the true residual is r − shift·root. Returns shift.
    """
    n = len(r)
    for j in order:
        w_old, z = w[j], -shift * n * mean[j]  # rootᵀroot = n, so that rootᵀ(column) = n·mean
        for k in range(start[j], start[j + 1]):
            z += data[k] * r[rows[k]]
        z = z / n + q[j] * w_old
        s = positive_threshold(z, alpha) if positive else soft_threshold(z, alpha)
        w[j] = s / (q[j] + beta)
        d = w[j] - w_old
        if d != 0.0:
            for k in range(start[j], start[j + 1]):
                r[rows[k]] -= d * data[k]
            shift -= d * mean[j]
    return shift


def largest(g, positive):
    """‖g‖_∞, or with w ≥ 0 the largest g_j."""
    return float(g.max(initial=0.0) if positive else max(g.max(initial=0.0), -g.min(initial=0.0)))


def objective(rr, w, alpha, beta):
    """P of (1), from rr = ‖r‖²/n."""
    square = float(w @ w) if beta else 0.0
    return 0.5 * rr + alpha * float(np.abs(w).sum()) + 0.5 * beta * square


def duality_gap(rr, ry, u, w, alpha, beta, positive):
    """The smaller of (5) and (7); (5) itself and its s; rr = ‖r‖²/n, ry = rᵀy/n, u = Xᵀr/n."""
    P, square = objective(rr, w, alpha, beta), rr + (beta * float(w @ w) if beta else 0.0)
    top = largest(u - beta * w if beta else u, positive)
    s = 1.0 if top <= alpha else alpha / top
    gap = scaled = max(P - s * ry + 0.5 * s * s * square, 0.0)
    if beta > 0.0:
        over = np.maximum((u if positive else np.abs(u)) - alpha, 0.0)
        gap = min(gap, P - ry + 0.5 * rr + float(over @ over) / (2.0 * beta))
    return max(gap, 0.0), scaled, s


def blur(yy, root_q, w):
    """How far rounding may put a gap from the truth; yy = ‖y‖²/n, root_q_j = ‖x_j‖/√n."""
    return ROUNDING * (math.sqrt(yy) + float(root_q @ np.abs(w))) ** 2


def certain_zeros(u, w, q, s, gap, alpha, beta, positive):
    """Test (6) for every column; the gap must be that of (5)."""
    g = u - beta * w
    return s * (g if positive else np.abs(g)) + np.sqrt(2.0 * gap * (q + beta)) < alpha


def coordinate_descent(A, y, alpha, beta, w, *, positive=False, rng=None):
    """Yield the LassoState indefinitely: first at the given w, then after every sweep.

    A holds the centred columns (`columns.py`). A dual value is a bound for good, so that one gap in
    `EVERY` sweeps is enough to know one at any time. With a generator `rng`, a sweep visits as many
    columns, drawn at random with replacement. w changes in place.
    """
    n, q = len(y), A.squares()
    root_q = np.sqrt(q)
    w[q == 0.0] = 0.0  # a constant column explains nothing
    sweeps, active, dual, yy = 0, np.flatnonzero(q > 0.0), -np.inf, float(y @ y) / n
    while True:
        if sweeps % EVERY == 0:
            r = y - A.product(w)  # free of the rounding of many steps
        rr = float(r @ r) / n
        P, unsure = objective(rr, w, alpha, beta), blur(yy, root_q, w)
        if sweeps % EVERY == 0:
            u = A.gradient(r)
            gap, scaled, s = duality_gap(rr, float(r @ y) / n, u, w, alpha, beta, positive)
            dual = max(dual, P - gap - unsure)
        yield LassoState(w, P, max(P - dual, unsure), sweeps, len(active))
        if sweeps % EVERY == 0:
            zero = certain_zeros(u, w, q, s, scaled + unsure, alpha, beta, positive)
            active = active[~zero[active]]
            if w[zero].any():
                w[zero] = 0.0
                r = y - A.product(w)
        order = active if rng is None else rng.choice(active, len(active))
        r = A.sweep(w, r, q, alpha, beta, positive, order)
        sweeps += 1


def subgradient_descent(A, y, alpha, beta, w, *, positive=False):
    """Yield the LassoState of the best w so far, indefinitely, one step (8) apart."""
    n, L = len(y), A.largest_eigenvalue() + beta
    best, t = None, 0  # the objective need not fall at every step
    while True:
        r = y - A.product(w)
        u, rr = A.gradient(r), float(r @ r) / n
        P = objective(rr, w, alpha, beta)
        if best is None or best.objective > P:
            gap, *_ = duality_gap(rr, float(r @ y) / n, u, w, alpha, beta, positive)
            best = LassoState(w.copy(), P, gap, t, len(w))
        yield best._replace(sweeps=t)
        t += 1
        w = w - (beta * w - u + alpha * np.sign(w)) / ((L or 1.0) * np.sqrt(t))
        if positive:
            w = np.maximum(w, 0.0)
