r"""Quantile regression: an interior point comes close, a vertex is the answer

The pinball loss weighs a residual r = y − xᵀw − b by τ above the line and by 1 − τ below it. With
weights s_i of sum S:

    minimise over w, b:   P = 1/S Σ_i s_i max(τ r_i, (τ − 1) r_i) + α ‖w‖₁                      (1)

|w_j| is the pinball loss of a row more, z = (0, e_j) with y = 0. So all of (1) is a sum over rows,
each with two slopes l_i < 0 < h_i: (τ − 1)s_i/S and τs_i/S for the data, ∓α for the penalty,

    P(v) = Σ_i max(h_i r_i, l_i r_i),      r = c − A v,      v = (b, w)                          (2)

and max(h r, l r) is the largest d·r over l ≤ d ≤ h. Exchange min and max: the dual is

    maximise over d:   D(d) = cᵀd     subject to   Aᵀd = 0,   l ≤ d ≤ h                          (3)

P(v) − D(d) bounds the distance of both from the optimum. Split r = q − p with q, p > 0 and let
t = d − l, u = h − d. At the optimum q_i u_i = 0 = p_i t_i; the interior-point method makes them
equal to μ and lets μ fall. Its Newton step solves

    AᵀWA Δv = AᵀWξ,     Δd = W(ξ − AΔv),     W = 1 / (q/u + p/t),                                (4)

ξ = r for μ = 0 (where would the step end?), then, with the μ that this step shows to be in reach
and with its curvature, ξ = r + μ(1/t − 1/u) − Δd(Δp/t + Δq/u) (Mehrotra). d = 0 is inside (3), and
every step keeps Aᵀd = 0, so that the gap is true at any time.

An optimum is found at a vertex: k = dim v rows B with r_B = 0. Given B, with d_i = h_i or l_i by
the sign of r_i for all other rows N,

    v = A_B⁻¹ c_B,      d_B = −A_B⁻ᵀ A_Nᵀ d_N;      optimal if l_B ≤ d_B ≤ h_B                   (5)

If some d_j is outside, row j leaves: r_j grows along v − θ·A_B⁻¹e_j, P falls by d_j − h_j a
unit of θ, and bends up by |a_iᵀA_B⁻¹e_j| (h_i − l_i) wherever an r_i changes sign. The row at which
the slope becomes positive enters (Barrodale and Roberts). From the interior point a few such
exchanges are left.

Koenker, Bassett, Regression quantiles (1978); Portnoy, Koenker, The Gaussian hare and the Laplacian
tortoise (1997); Barrodale, Roberts, An improved algorithm for discrete l1 linear approximation
(1973).
"""

from operator import attrgetter
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack, lu_factor, lu_solve, qr

from mlreplica.core.linalg import EPS, solve_symmetric
from mlreplica.core.rows.walk import Rows

CLOSE = 1e-6  # relative gap at which the interior point may know the vertex
FEW = 100  # penalised columns up to which all are taken at once


class QuantileState(NamedTuple):
    """Where the fit is: line, P, the duality gap, and the same as a share of P."""

    w: np.ndarray
    b: float
    objective: float
    gap: float
    relative_gap: float
    exact: int  # rows with r = 0: what a vertex has k of


class Lines(NamedTuple):
    """Problem (2): data rows, then a row for each penalised weight."""

    rows: Rows
    c: np.ndarray  # (n + penalised,)
    low: np.ndarray
    high: np.ndarray
    penalised: int

    @classmethod
    def of(cls, rows, y, s, tau, alpha):
        """With s scaled to shares."""
        m = rows.p if alpha > 0 else 0
        s = s / s.sum()
        low = np.concatenate([(tau - 1) * s, np.full(m, -alpha)])
        high = np.concatenate([tau * s, np.full(m, alpha)])
        return cls(rows, np.concatenate([y, np.zeros(m)]), low, high, m)

    @property
    def n(self):
        """Rows of data."""
        return len(self.c) - self.penalised

    def scores(self, v):
        """A v."""
        f = self.rows.scores(v)
        return np.concatenate([f, v[len(v) - self.penalised :]]) if self.penalised else f

    def back(self, d):
        """Aᵀd."""
        total = self.rows.back(d[: self.n])
        if self.penalised:
            total[len(total) - self.penalised :] += d[self.n :]
        return total

    def some(self, which):
        """Rows of A, as a matrix."""
        k, data = self.rows.k, which < self.n
        A = np.zeros((len(which), k))
        if data.any():
            X = self.rows.X[which[data]]
            X = X.toarray() if sp.issparse(X) else X
            i = int(self.rows.intercept)
            A[data, i:] = X - self.rows.origin if i else X
            A[data, :i] = 1.0
        A[np.flatnonzero(~data), k - self.penalised + which[~data] - self.n] = 1.0
        return A

    def value(self, r):
        """P of (2)."""
        return float(self.high @ np.maximum(r, 0.0) + self.low @ np.minimum(r, 0.0))

    def bound(self, d):
        """D of (3), after d has been made feasible if it is not quite; rounding is forgiven."""
        d = np.clip(d, self.low, self.high)[: self.n]
        i = int(self.rows.intercept)
        a, size = np.abs(self.rows.back(d)), np.abs(self.rows.back(np.abs(d))).max()
        if a[:i].any() and a[0] > 1e-10 * np.abs(d).sum():
            return -np.inf
        over = a[i:].max(initial=0.0)
        if not self.penalised:
            return float(self.c @ d) if over <= 1e-9 * max(size, 1e-300) else -np.inf
        alpha = self.high[-1]  # the penalty's rows take up what is left, if that is not too much
        return float(alpha / max(over - 8 * EPS * size, alpha) * (self.c[: self.n] @ d))

    def normal_solver(self, W):
        """A function that solves AᵀWA x = g, by Cholesky on a unit diagonal."""
        m, k = self.penalised, self.rows.k
        H = self.rows.gram(W[: self.n])
        H[np.arange(k - m, k), np.arange(k - m, k)] += W[self.n :]
        d = 1.0 / np.sqrt(np.maximum(H.diagonal(), 1e-300))
        H *= d * d[:, None]
        for more in (
            0.0,
            1e-14,
            1e-11,
            1e-8,
        ):  # dependent columns have no curvature: lend them some
            H[np.diag_indices(k)] += more
            R, failed = lapack.dpotrf(H)
            if not failed:
                break
        return lambda g: d * lapack.dpotrs(R, d * g)[0]


def independent(rows):
    """The columns of X that no others before them (and no intercept) make up."""
    M = rows.gram(np.full(rows.n, 1.0 / rows.n))
    d = np.sqrt(np.maximum(M.diagonal(), 0.0))
    d = np.where(d > 0, 1.0 / np.where(d > 0, d, 1.0), 0.0)
    M *= d * d[:, None]
    i = int(rows.intercept)
    M[:i, :i] *= 4.0  # the intercept comes first
    _, pivot, rank, _ = lapack.dpstrf(M, tol=1e-13)
    return np.sort(pivot[:rank] - 1)[i:] - i


def reach(x, dx):
    """The longest step up to 1 that keeps x + step·dx > 0."""
    worst = float((dx / x).min())
    return 1.0 if worst >= -1.0 else -1.0 / worst


def interior_point(lines):
    """Yield (v, d, W, P, gap) indefinitely, one step (4) apart."""
    _, c, low, high, _ = lines
    v = np.zeros(lines.rows.k)
    d = np.zeros(len(c))
    r = c - lines.scores(v)
    size = max(np.abs(r[: lines.n]).mean(), EPS)
    q, p = np.maximum(r, 0.0) + size, np.maximum(-r, 0.0) + size
    while True:
        t, u = d - low, high - d
        P = lines.value(r)
        if not (np.isfinite(P) and min(t.min(), u.min(), q.min(), p.min()) > 0):
            return  # rounding has the last word
        W = 1.0 / (q / u + p / t)
        yield v, d, W, r, P
        if P <= EPS:
            return
        normal = lines.normal_solver(W)
        mu = (q @ u + p @ t) / (2 * len(c))

        dv = normal(lines.back(W * r))
        dd = W * (r - lines.scores(dv))
        dq, dp = q * (dd / u - 1.0), -p * (dd / t + 1.0)
        a, b = min(reach(q, dq), reach(p, dp)), min(reach(t, dd), reach(u, -dd))
        ahead = (q + a * dq) @ (u - b * dd) + (p + a * dp) @ (t + b * dd)
        mu *= (ahead / (2 * len(c) * mu)) ** 3

        bend = dd * (dp / t + dq / u)
        xi = r + mu * (1.0 / t - 1.0 / u) - bend
        bend_q, bend_p = dd * dq, dd * dp
        dv = normal(lines.back(W * xi))
        dd = W * (xi - lines.scores(dv))
        dq, dp = (mu + q * dd + bend_q) / u - q, (mu - p * dd - bend_p) / t - p
        a, b = min(reach(q, dq), reach(p, dp)), min(reach(t, dd), reach(u, -dd))
        a, b = min(1.0, 0.9995 * a), min(1.0, 0.9995 * b)
        v, d, q, p = v + a * dv, d + b * dd, q + a * dq, p + a * dp
        r = c - lines.scores(v)
        q, p = np.where(q > p, r + p, q), np.where(q > p, p, q - r)  # q − p = r, to the last digit


def basis(lines, order):
    """k independent rows of A, the first in `order` that are; None if there are not so many."""
    k = lines.rows.k
    for most in (k, 2 * k + 10, 8 * k + 100, len(order)):
        which = order[:most]
        A = lines.some(which)
        length = np.linalg.norm(A, axis=1)
        length[length == 0] = 1.0
        # earlier rows are longer, so that pivoting prefers them without taking dependent ones
        share = np.geomspace(1.0, 1e-3, len(A)) / length
        R, pivot = qr(A.T * share, mode="r", pivoting=True, check_finite=False)
        size = np.abs(R.diagonal())
        if len(size) >= k and size[k - 1] > 1e-10 * size[0]:
            return which[pivot[:k]]
        if most >= len(order):
            break
    return None


def exchanges(lines, B, v, most):
    """Yield (v, d, r, B) at vertices with falling P, from that of the rows B to the optimum."""
    _, c, low, high, _ = lines
    r = c - lines.scores(v)
    above = r > 0  # the side that d_N belongs to
    for _ in range(most):
        A = lines.some(B)
        factor = lu_factor(A, check_finite=False)
        v = lu_solve(factor, c[B], check_finite=False)
        v += lu_solve(factor, c[B] - A @ v, check_finite=False)
        v[len(v) - lines.penalised + B[lines.n <= B] - lines.n] = 0.0
        r = c - lines.scores(v)
        r[B] = 0.0
        noise = 1e-13 * (np.abs(c) + np.abs(v).max())
        above = np.where(np.abs(r) <= noise, above, r > 0)
        d = np.where(above, high, low)
        d[B] = 0.0
        d[B] = -lu_solve(factor, lines.back(d), trans=1, check_finite=False)
        yield v, d, r, B
        over, under = d[B] - high[B], low[B] - d[B]
        width = high[B] - low[B]
        worst = np.maximum(over, under) / width
        j = int(worst.argmax())
        if worst[j] <= 1e-11:
            return
        up = over[j] > 0
        e = np.zeros(len(B))
        e[j] = 1.0
        direction = lu_solve(factor, e, check_finite=False)
        g = lines.scores(direction) * (1.0 if up else -1.0)  # the rate at which r changes
        g[B] = 0.0
        crossing = np.flatnonzero(
            np.where(above, g < 0, g > 0) & (np.abs(g) > 1e-12 * np.abs(g).max())
        )
        if len(crossing) == 0:
            return
        theta = np.maximum(
            np.where(above[crossing], r[crossing], -r[crossing]) / np.abs(g[crossing]), 0.0
        )
        bend = np.abs(g[crossing]) * (high - low)[crossing]
        order = np.argsort(theta, kind="stable")
        slope = np.cumsum(bend[order]) - max(over[j], under[j])
        stop = int(np.searchsorted(slope, 0.0))
        if stop >= len(order):
            return
        passed, enters = crossing[order[:stop]], crossing[order[stop]]
        above[passed] = ~above[passed]
        above[B[j]] = up
        B = B.copy()
        B[j] = enters


class Found(NamedTuple):
    """A line v, what it leaves, its P, a dual point and the best lower bound so far."""

    v: np.ndarray
    r: np.ndarray
    objective: float
    d: np.ndarray
    bound: float

    @property
    def relative_gap(self):
        """(P − D) / P, where a P below 1e-4 of the largest |y| counts as that."""
        return max(self.objective - self.bound, 0.0) / max(self.objective, 1e-4)


def near_then_exact(lines):
    """Yield Found: the interior point's, and when that is close, the last vertex after it."""
    bound, close, best = 0.0, CLOSE, None
    width = lines.high - lines.low
    for v, d, W, r, P in interior_point(lines):
        bound = max(bound, lines.bound(d))
        found = Found(v, r, P, d, bound)
        if best is not None and best.objective <= P:
            found = best._replace(bound=bound)
        yield found
        if Found(v, r, P, d, bound).relative_gap > close:
            continue
        close *= 0.01
        B = basis(lines, np.argsort(-W / width, kind="stable"))
        vertices = () if B is None else exchanges(lines, B, v, 50 + len(B))
        optimal = False
        for vertex in vertices:
            v, d, r, _ = vertex  # noqa: PLW2901
            optimal = (np.abs(d - 0.5 * (lines.low + lines.high)) <= (0.5 + 1e-9) * width).all()
            bound = max(bound, lines.bound(d)) if optimal else bound
            best = Found(v, r, lines.value(r), d, bound)
            found = min(found._replace(bound=bound), best, key=attrgetter("objective"))
        best = found
        yield found
        if optimal:
            return


def simplex(lines):
    """Yield Found at vertices from the one nearest to least squares on; end at the optimum."""
    H = lines.rows.gram(np.ones(lines.n))
    v = solve_symmetric(H, lines.rows.back(lines.c[: lines.n]))
    # ties, which could make it go in circles, are broken by a change in the eleventh digit
    wobble = np.random.default_rng(0).uniform(-1.0, 1.0, len(lines.c))
    wobbly = lines._replace(c=lines.c + 1e-11 * np.abs(lines.c).max() * wobble)
    r = lines.c - lines.scores(v)
    B = basis(lines, np.argsort(np.abs(r), kind="stable"))
    bound = 0.0
    if B is None:
        yield Found(v, r, lines.value(r), np.zeros_like(r), bound)
        return
    for vertex in exchanges(wobbly, B, v, 10**9):
        v, d, _, B = vertex
        r = lines.c - lines.scores(v)
        yield Found(v, r, lines.value(r), d, bound)  # d is outside (3) until the end
    v, _, r, _ = next(exchanges(lines, B, v, 1))
    yield Found(v, r, lines.value(r), d, lines.bound(d))


def by_columns(lines_of, rows, alpha, tol):
    """Yield Found for many penalised columns: solve for a few, then add those that (3) asks for.

    A column whose |Σ d_i x_ij| ≤ α has w_j = 0 at the optimum of a problem that has it not, and
    of one that has it: it may be left out.
    """
    i, p = int(rows.intercept), rows.p
    lines = lines_of(rows)
    d = np.where(lines.c > 0, lines.high, lines.low)[: lines.n]
    few = np.sort(np.argsort(-np.abs(rows.back(d)[i:]))[: max(lines.n // 8, 10)])
    bound, aim = 0.0, 0.01
    while True:
        lines = lines_of(rows.columns(few))
        for found in near_then_exact(lines):
            if found.relative_gap <= aim:
                break
        d = found.d[: lines.n]
        pull = np.abs(rows.back(d)[i:])
        bound = max(bound, min(1.0, alpha / max(pull.max(), alpha)) * float(lines.c[: lines.n] @ d))
        v = np.zeros(i + p)
        v[:i], v[i + few] = found.v[:i], found.v[i:]
        yield Found(v, found.r[: lines.n], found.objective, d, bound)
        pull[few] = 0.0
        wanted = np.flatnonzero(pull > alpha * (1 + 1e-10))
        if len(wanted) == 0:
            if aim <= tol:
                return
            aim = 0.1 * tol  # the few are right: now exactly
        most = max(2 * len(few), len(d) // 8, 10)
        few = np.union1d(few, wanted[np.argsort(-pull[wanted])[:most]])
