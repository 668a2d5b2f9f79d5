r"""Least squares: the fastest way that keeps the digits

    minimise over w, b:   P(w, b) = 1/(2S) Σ_i s_i (y_i − x_iᵀw − b)²,    S = Σ_i s_i        (1)

A weight s_i counts row i as if it stood there s_i times. Write a row as

    z_i = √s_i · [1, x_i − x₀, y_i − y₀] = [a_i, c_i]                                        (2)

for any fixed x₀, y₀: moving the origin changes b and nothing else, and an origin near the mean
keeps the digits that a large mean would cost. The rows z_i exist one block at a time; X is never
copied. With A = [a_i], c = [c_i] and the unknown v = (b + x₀ᵀw − y₀, w), the gradient of (1) is
zero when the residual is orthogonal to every column:

    AᵀA v = Aᵀc        (the normal equations)                                                (3)

Two ways to a triangle R with AᵀA = RᵀR and to u = Qᵀc, after which R v = u:

    Cholesky:   M = Σ_blocks ZᵀZ, then RᵀR = M                   error ≈ κ² ε                (4)
    QR:         R ← triangle of QR([R; Z]) for every block Z     error ≈ κ ε + κ² ε tan θ    (5)

with κ the condition number of A, its columns scaled to length one (by powers of two, which is
exact), and θ the angle between c and the columns of A. (4) is several times faster. "auto"
starts with it, estimates κ, and where κ² ε is not negligible corrects the answer by

    v ← v + (RᵀR)⁻¹ Aᵀ(c − A v),                                                             (6)

which takes the error from e to κ² ε · e a step and shows by the size of the step how large it was.
If κ is too large for that, (5) takes over and its answer is refined by Newton's method on

    t_i / s_i + a_iᵀv = y_i,    Aᵀt = 0        (t_i = s_i r_i, rows a_i not yet weighted)    (7)

with the two left-hand sides evaluated in twice the working precision: what remains is the rounding
of w itself. When columns are dependent, of all w that minimise (1) the one with least ‖w‖ is given.

When there are fewer rows than columns (wide X), w = Aᵀα with (A Aᵀ) α = c is that one.      (8)

Björck, Numerical Methods for Least Squares Problems (1996), sections 2.4.4, 2.7 and 2.9;
Demmel, Grigori, Hoemmen, Langou, Communication-optimal parallel and sequential QR (2012);
Dekker, A floating-point technique for extending the available precision (1971).
"""

import math
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack

from mlreplica.core.linalg import (
    EPS,
    TINY,
    cholesky,
    numerical_rank,
    power_of_two,
    singular_values,
)
from mlreplica.core.rows.moments import Moments, folded, least_norm, solve_triangle, stacked
from mlreplica.core.rows.walk import Rows

from .refine import refine

GOOD = 1e-11  # estimated relative error of w that needs no more work
ENOUGH = 1e-10  # relative size of a last correction: what is left is rounding, a few times as large


class DesignRows(Rows):
    """The rows (2) with the products that direct solvers ask for."""

    @property
    def uneven(self):
        """As of a `Walk`; without dense rows to transform there is nothing better to turn to."""
        return not self.sparse and super().uneven

    @property
    def design(self):
        """[1 X], sparse; X alone without an intercept."""
        if not self.intercept:
            return self.X
        return sp.hstack([np.ones((self.n, 1)), self.X], format="csr")

    def weighted(self, r):
        """s·r"""
        return r if self.s is None else self.s[:, None] * r

    def normal(self):
        """The two sides of (3), from M of (4); if targets are many, without its last corner."""
        k = self.k
        if self.sparse:
            A, c = self.design, self.y - self.y0
            sA, sc = A if self.s is None else sp.diags_array(self.s) @ A, self.weighted(c)
            return NormalEquations((A.T @ sA).toarray(), A.T @ sc, np.einsum("iq,iq->q", c, sc))
        if k >= self.q:  # M is symmetric, so that BLAS makes half of it only
            M = self.sum(lambda block: block.Z.T @ block.Z)
            return NormalEquations(M[:k, :k], M[:k, k:], M.diagonal()[k:])
        M = self.sum(lambda part: np.vstack([part.Z[:, :k].T @ part.Z, (part.Z**2).sum(axis=0)]))
        return NormalEquations(M[:k, :k], M[:k, k:], M[k, k:])

    def products(self):
        """`normal` from X and y as they lie, moved to x₀ and y₀ afterwards, and what that costs.

        It spares the blocks; BLAS has threads of its own for two large products. An entry is off by
        ε times what it was before it moved: the cost is the largest length² of a column before,
        over the one about its mean.
        """
        X, y, n = self.X, self.y, len(self.X)
        one = np.ones(n)
        G, b, x, t, c_sq = X.T @ X, X.T @ y, one @ X, one @ y, np.einsum("ij,ij->j", y, y)
        before = np.concatenate([G.diagonal(), c_sq])
        if self.intercept:
            dx, dt = x - n * self.x0, t - n * self.y0
            G = G - np.outer(self.x0, x) - np.outer(dx, self.x0)
            b = b - np.outer(self.x0, t) - np.outer(dx, self.y0)
            c_sq = c_sq - self.y0 * (t + dt)
            about = np.concatenate([G.diagonal() - dx * dx / n, c_sq - dt * dt / n])
            G = np.block([[np.full((1, 1), float(n)), dx], [dx[:, None], G]])
            b = np.vstack([dt, b])
        else:
            about = before
        cost = np.max(before / np.maximum(about, TINY), initial=1.0, where=before > 0.0)
        return NormalEquations(G, b, c_sq), float(cost)

    def gradient(self, v):
        """Aᵀ(c − A v) of (6)"""
        if not self.sparse:
            return super().gradient(v)
        A = self.design
        return A.T @ self.weighted(self.y - self.y0 - A @ v)


class NormalEquations(NamedTuple):
    """The normal equations (3), and how long each target is."""

    G: np.ndarray  # AᵀA (k, k)
    b: np.ndarray  # Aᵀc (k, q)
    c_sq: np.ndarray  # (q,): squared lengths of the columns of c

    def finite(self):
        """Whether no sum overflowed, and no entry was NaN."""
        return bool(np.isfinite(self.G.sum() + self.b.sum() + self.c_sq.sum()))

    def centred(self):
        """(3) about the means, without the offset, and how far the means are from x₀ and y₀."""
        S, a = self.G[0, 0], self.G[0, 1:]
        dx, dy = a / S, self.b[0] / S
        about = self.G[1:, 1:] - np.outer(a, dx), self.b[1:] - np.outer(a, dy)
        return NormalEquations(*about, self.c_sq - S * dy**2), dx, dy


class LeastSquaresSolution(NamedTuple):
    """What a solver finds: w (p, q), the intercept b (q,), and what it learnt about X."""

    w: np.ndarray
    b: np.ndarray
    rank: int
    singular: np.ndarray
    solver: str


def by_normal_equations(X, y, intercept):
    """Solve (3) on a small, centred copy of [X y]; None unless κ² ε (1 + ‖c‖ / ‖v‖) is small.

    The textbook's way, with an eye on microseconds: SciPy's BLAS and LAPACK are called with the
    least ceremony, never warn, and use the upper triangle of a symmetric matrix only.
    """
    p, (_, mean, M, lengths_sq, _) = X.shape[1], Moments.of_few(X, y, intercept)
    G, lengths_sq = M[:p, :p], lengths_sq.tolist()
    if not math.isfinite(sum(lengths_sq)):  # an entry is NaN or infinite, or they overflow
        return None
    values = lapack.dsyev(G, compute_v=0)[0]  # squares of the singular values
    least, most = float(values[0]), float(values[-1])
    if not least > max(EPS * most, 1e-280):
        return None
    w = lapack.dposv(G, M[:p, p:])[1]
    root, share = math.sqrt(most), GOOD * least / (EPS * most)
    for w_k, c_sq in zip(w.T.tolist(), lengths_sq[p:], strict=True):
        size = root * math.hypot(*w_k)
        if not size + math.sqrt(c_sq) <= share * size:
            return None
    b = mean[p:] - mean[:p].dot(w) if intercept else np.zeros(y.shape[1])
    return LeastSquaresSolution(w, b, p, np.sqrt(values[::-1]), "cholesky")


def good(rcond, c, v):
    """Is (3), solved with c at ‖A‖ ≈ 1, right to GOOD? Its error is κ² ε (1 + ‖c‖ / ‖v‖)."""
    size = np.linalg.norm(v, axis=0)
    return bool((EPS * (size + c) <= GOOD * rcond * size).all())


def small(step, w):
    """Is the step so small, for every weight that matters, that w needs no other?"""
    size = np.abs(w)
    return bool((np.abs(step) <= ENOUGH * (size + 1e-4 * size.max(axis=0))).all())


def by_cholesky(rows):
    """Solve by (4), corrected by (6) unless good; None if that cannot keep the digits."""
    if rows.uneven:
        return None
    normal = rows.normal()
    factor = cholesky(normal.G) if normal.finite() else None
    if factor is None:
        return None
    v, c = factor.solve(normal.b), np.sqrt(normal.c_sq)
    if not good(factor.rcond, c, v / factor.d[:, None]) and not corrected(rows, factor, v):
        return None
    return published(rows, v, factor.R / factor.d, len(v) - rows.intercept, "cholesky")


def corrected(rows, factor, v):
    """Apply (6) to v in place until a step is small, and the next; False if they do not become so.

    One that is small may be so by chance: where residuals are large, their rounding moves v.
    """
    was_small = False
    for _ in range(4):
        step = factor.solve(rows.gradient(v))
        v += step
        is_small = small(step / factor.d[:, None], v / factor.d[:, None])
        if is_small and was_small:
            return True
        was_small = is_small
    return False


def published(rows, v, R, rank, solver):
    """The solution in the user's coordinates, from v and from the triangle R of A."""
    if not rows.intercept:
        return LeastSquaresSolution(v, np.zeros(v.shape[1]), rank, singular_values(R), solver)
    w = v[1:]
    b = rows.y0 + (v[0] - rows.x0 @ w)
    sigma = singular_values(R[1:, 1:])  # of the centred columns
    if len(sigma) < min(rows.X.shape):  # not more rows than columns: centring costs a dimension
        sigma = np.append(sigma, 0.0)
    return LeastSquaresSolution(w, b, rank, sigma, solver)


class DesignTriangle(NamedTuple):
    """R and u of (5), and the same for centred columns: no row and column for a free offset."""

    R: np.ndarray
    u: np.ndarray
    Rc: np.ndarray
    uc: np.ndarray
    d: np.ndarray  # makes the columns of Rc about equally long
    rest: np.ndarray  # (q,): the length of that part of c which no v reaches

    @classmethod
    def of(cls, rows):
        """From all rows."""
        T, k = stacked(rows.map(folded)), rows.k
        R, u, i = T[:k, :k], T[:k, k:], int(rows.intercept and rows.free)
        Rc, uc = R[i:, i:], u[i:]
        length = np.abs(Rc).max(axis=0, initial=0.0)  # never under- or overflows
        if i:  # what centring leaves of a constant column is rounding: take it as zero
            size = np.abs(rows.x0 * R[0, 0] + R[0, 1:])  # |mean of the column| · √S
            Rc[:, length <= 4 * EPS * size] = 0.0
        d = power_of_two(np.where(Rc.any(axis=0), length, 1.0))
        if not len(Rc):  # a single row, centred
            Rc, uc = np.zeros((1, k - 1)), np.zeros((1, u.shape[1]))
        return cls(R, u, Rc, uc, d, np.linalg.norm(T[k:, k:], axis=0))

    def with_intercept(self, w):
        """v = (v₀, w), with v₀ from the first row of R v = u."""
        if len(self.d) == self.R.shape[1]:
            return w
        return np.vstack([(self.u[:1] - self.R[:1, 1:] @ w) / self.R[0, 0], w])


def by_qr(rows):
    """Solve by (5); refined by (7) where κ asks for it, of minimum norm where rank is lost."""
    tri = DesignTriangle.of(rows)
    v, rank = from_triangle(rows, tri)
    return published(rows, v, tri.R, rank, "qr")


def from_triangle(rows, tri, penalty=0.0):
    """v and the rank; RᵀR may be AᵀA + diag(penalty), with penalty 0 for a free offset."""
    R, _, Rc, uc, d, rest = tri
    w, rank, rcond = solve_triangle(Rc, uc, d)
    v = tri.with_intercept(w)
    if rank == len(d) and (rows.uneven or not stable(rcond, rest, w / d[:, None])):
        d = np.append(power_of_two(np.abs(R[:1, 0])), d)[-len(v) :]
        refine(rows, R * d, d, v, penalty)
    return v, rank


def stable(rcond, r, v):
    """Is (5) right to GOOD? Its error is ε (κ + κ² ‖r‖ / ‖v‖) for ‖A‖ ≈ 1."""
    size = np.linalg.norm(v, axis=0)
    return bool((EPS * (size + r / rcond) <= GOOD * rcond * size).all())


def by_svd(rows):
    """Solve by R = U Σ Vᵀ of the triangle: w = V Σ⁻¹ Uᵀu over the singular values that count."""
    R, _, Rc, uc, d, _ = tri = DesignTriangle.of(rows)
    U, sigma, Vt = np.linalg.svd(Rc * d, full_matrices=False)
    rank = numerical_rank(sigma)
    u, sigma, Vt = U[:, :rank].T @ uc, sigma[:rank, None], Vt[:rank]
    full = rank == len(d)
    w = d[:, None] * (Vt.T @ (u / sigma)) if full else least_norm(sigma * Vt, u, d, Rc, uc)
    return published(rows, tri.with_intercept(w), R, rank, "svd")


def centred(rows, overwrite=False):
    """√s(X − x̄), √s(y − ȳ), x̄, ȳ: the rows about their weighted means."""
    A = np.subtract(rows.X, rows.x0, out=rows.X if overwrite else None, dtype=float)
    c = rows.y - rows.y0
    x_mean, y_mean = rows.x0, rows.y0
    if rows.intercept:  # x₀ is near the mean already, so little is lost in what is left of it
        share = np.full(len(A), 1.0 / len(A)) if rows.s is None else rows.s / rows.s.sum()
        dx, dy = share @ A, share @ c
        A -= dx
        c -= dy
        x_mean, y_mean = x_mean + dx, y_mean + dy
    if rows.root is not None:
        A *= rows.root[:, None]
        c *= rows.root[:, None]
    return A, c, x_mean, y_mean


def by_wide(rows, overwrite=False):
    """Solve by (8), corrected as by (6) unless κ² ε is small; by QR if that loses digits."""
    A, c, x_mean, y_mean = centred(rows, overwrite)
    K = A @ A.T
    w, n, filled = None, len(K), K
    if rows.intercept:  # 1ᵀA = 0 and 1ᵀc = 0: fill this direction, and α will have none of it
        one = np.full(n, n**-0.5) if rows.root is None else rows.root / np.linalg.norm(rows.root)
        filled = K + np.outer(one, one * (K.trace() / n))
    if factor := cholesky(filled):
        w = A.T @ factor.solve(c)
        step = 0.0 if GOOD * factor.rcond >= EPS else w
        for _ in range(3):
            if small(step, w):
                break
            step = A.T @ factor.solve(c - A @ w)
            w = w + step
        w = w if small(step, w) else None
    if w is None:
        x0, y0 = np.zeros_like(x_mean), np.zeros_like(y_mean)
        found = by_qr(DesignRows(A, x0, False, c, y0, n_jobs=rows.n_jobs))
        return found._replace(b=y_mean - x_mean @ found.w)
    sigma = np.sqrt(np.maximum(np.linalg.eigvalsh(K)[::-1], 0.0))
    if rows.intercept:
        sigma[-1] = 0.0
    return LeastSquaresSolution(w, y_mean - x_mean @ w, n - rows.intercept, sigma, "cholesky")
