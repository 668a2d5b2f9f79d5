r"""Moments and triangles: statistics of rows that add up to the statistics of all rows

`Moments` keeps the total weight n, the mean m and the centred cross-products S of some rows,

    n = Σ w_i,      m = Σ w_i x_i / n,      S = Σ w_i (x_i − m)(x_i − m)ᵀ                    (1)

and those of two sets of rows together follow from those of each, with d = m_b − m_a,

    n = n_a + n_b,    m = m_a + d·n_b/n,    S = S_a + S_b + ddᵀ·n_a n_b/n                    (2)

so `sum(map(Moments.of, blocks))` is the covariance of data of any size (Chan, Golub, LeVeque 1983).
In one walk all rows share an origin o near the mean, the products about it add up plainly, and

    S = Σ w_i (x_i − o)(x_i − o)ᵀ − n(m − o)(m − o)ᵀ                                         (3)

`Triangle` keeps the same, but a square root of S: the triangle R of a QR decomposition,

    S = RᵀR,      R = triangle of [R_a; R_b; dᵀ·√(n_a n_b/n)]                                (4)

Forming S squares the condition number, R does not: at 1e8 a least-squares fit from S has no
correct digit left, from R eight. With the columns [X | y] the fit is one triangular solve,

    R = [R_xx  R_xy]         R_xx w = R_xy,      ‖y − Xw‖² = ‖R_yy‖²                         (5)
        [ 0    R_yy]

A weight counts as that many repetitions of its row, a weight of 0 as its absence.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.linalg import blas, lapack, solve_triangular

from mlreplica.core.linalg import EPS, TINY, Array, numerical_rank, power_of_two

from .walk import SMALL, Block, Rows, Walk

ONES = np.ones(SMALL)


class Moments(NamedTuple):
    """Weight n, mean and centred cross-products of some rows [X | y]; `a + b` is that of both.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(12.0).reshape(6, 2)
    >>> total = sum(map(Moments.of, (X[:2], X[2:])))
    >>> total.n, total.mean, total.covariance()
    (6.0, array([5., 6.]), array([[14., 14.],
           [14., 14.]]))
    """

    n: float
    mean: Array  # (p + q,); zero if the rows are not centred
    S: Array  # (p, p + q): of X with X and y; the corner of y with y is left out
    squares: Array  # (p + q,): squared lengths of the columns about the mean …
    before: Array  # … and about the origins of (3): their rounding is what S is off by

    @classmethod
    def of(cls, rows: Any, weight: Any = None) -> Moments:
        """The moments of a walk or of the rows of an array, each `weight` times."""
        rows = as_walk(rows, weight)
        n, sums, S, squares = rows.cross_products()
        return cls.about(origin_of(rows), n, sums, S, squares, centre=rows.centred)

    @classmethod
    def about(
        cls, origin: Array, n: float, sums: Array, S: Array, squares: Array, *, centre: bool = True
    ) -> Moments:
        """From sums of products about an origin, by (3)."""
        if not centre or n == 0.0:
            return cls(n, origin, S, squares, squares)
        e = sums / n
        S = S - np.outer(sums[: len(S)], e)
        return cls(n, origin + e, S, squares - sums * e, squares)

    @classmethod
    def of_few(cls, X: Any, y: Any, centre: bool) -> Moments:
        """The moments of a small [X y], n (p + q) ≤ SMALL, with an eye on microseconds.

        S is the whole matrix (p + q, p + q), but only its upper triangle is filled. SciPy's BLAS
        is called with the least ceremony and never warns.
        """
        n, p = X.shape
        Z = np.empty((n, p + y.shape[1]), order="F")  # long columns: half the cost of short rows
        Z[:, :p], Z[:, p:] = X, y
        one = ONES[:n]
        mean = blas.dgemv(1.0 / n, Z, one, trans=1)
        if centre:
            Z = blas.dger(-1.0, one, mean, a=Z, overwrite_a=1)  # Z − 1·meanᵀ
        S = blas.dsyrk(1.0, Z, trans=1)
        squares = S.diagonal()
        return cls(n, mean, S, squares, squares)

    def __add__(self, other: Any) -> Moments:
        """Equation (2)"""
        n, mean, d = together(self, other)
        S = self.S + other.S + np.outer(d[: len(self.S)], d)
        squares = self.squares + other.squares + d * d
        return Moments(n, mean, S, squares, self.before + other.before + d * d)

    def __radd__(self, start: Literal[0]) -> Moments:
        return self

    @property
    def G(self) -> Array:  # noqa: N802  a matrix
        """S of X with itself, (p, p)"""
        return self.S[:, : len(self.S)]

    @property
    def b(self) -> Array:
        """S of X with y, (p, q)"""
        return self.S[:, len(self.S) :]

    @property
    def y_squares(self) -> Array:
        """The squared lengths of the targets about their means, (q,)"""
        return self.squares[len(self.S) :]

    @property
    def cost(self) -> float:
        """By what factor rounding is larger than if the rows had been centred first, by (3)."""
        some = self.before > 0.0
        share = self.before / np.maximum(self.squares, TINY)
        return float(np.max(share, initial=1.0, where=some))

    def finite(self) -> bool:
        """Whether no sum overflowed, and no entry was NaN."""
        return math.isfinite(self.S.sum() + self.squares.sum())

    def covariance(self, ddof: float = 1.0) -> Array:
        """S / (n − ddof)"""
        return self.S / (self.n - ddof)

    def variance(self, ddof: float = 1.0) -> Array:
        """The diagonal of the covariance"""
        return self.squares / (self.n - ddof)

    def correlation(self) -> Array:
        """S scaled to a unit diagonal; 0 beside a constant column"""
        size = np.sqrt(np.diag(self.S))
        inverse = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0.0)
        R = self.S * inverse * inverse[:, None]
        np.fill_diagonal(R, 1.0)
        return R


class Fit(NamedTuple):
    """A least-squares fit: y ≈ coef @ x + intercept"""

    coef: Array  # (targets, features)
    intercept: Array  # (targets,)
    rss: Array  # (targets,), residual sums of squares
    rank: int
    rcond: float  # 1/κ of R_xx with columns of about equal length; 0 if its rank is short


class Triangle(NamedTuple):
    """Weight n, mean and triangle R of some rows [X | y]; `a + b` is that of both.

    With `centre=False` the mean stays 0, for a fit through the origin.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(6.0).reshape(6, 1)
    >>> rows = np.hstack([X, 2.0 * X + 1.0])
    >>> fit = sum(map(Triangle.of, (rows[:2], rows[2:]))).solve()
    >>> fit.coef.round(12), fit.intercept.round(12)
    (array([[2.]]), array([1.]))
    """

    n: float
    mean: Array
    R: Array
    centre: bool = True

    @classmethod
    def of(cls, rows: Any, weight: Any = None, centre: bool = True) -> Triangle:
        """The triangle of a walk or of the rows of an array, each `weight` times."""
        rows = as_walk(rows, weight, centre)
        R = stacked(rows.map(folded))
        if not rows.centred:
            return cls(rows.weight, origin_of(rows), R, False)
        if not len(R):  # no rows
            return cls(0.0, origin_of(rows), R[:, 1:])
        e = R[0, 1:] / R[0, 0]  # the column of ones came first
        return cls(float(R[0, 0] ** 2), origin_of(rows) + e, R[1:, 1:])

    def __add__(self, other: Any) -> Triangle:
        """Equation (4)"""
        if self.centre != other.centre:
            raise ValueError("a centred and an uncentred triangle cannot be added.")
        n, mean, d = together(self, other)
        return Triangle(n, mean, stacked([self.R, other.R, d[None]]), self.centre)

    def __radd__(self, start: Literal[0]) -> Triangle:
        return self

    def split(self, targets: int) -> tuple[Array, Array, Array, Array]:
        """R_xx (m, p), R_xy and the length of R_yy of (5), and powers of two d that scale R_xx.

        R_xx·d has columns of about equal length. What centring leaves of a constant column is
        rounding: it is zero here.
        """
        p = self.R.shape[1] - targets
        m = max(1, min(len(self.R), p))
        R, u = np.zeros((m, p)), np.zeros((m, targets))
        top = self.R[:p]
        R[: len(top)], u[: len(top)] = top[:, :p], top[:, p:]
        length = np.abs(R).max(axis=0, initial=0.0)  # never under- or overflows
        if self.centre:
            R[:, length <= 4 * EPS * np.abs(self.mean[:p]) * math.sqrt(self.n)] = 0.0
        d = power_of_two(np.where(R.any(axis=0), length, 1.0))
        return R, u, np.linalg.norm(self.R[p:, p:], axis=0), d

    def solve(self, targets: int = 1) -> Fit:
        """Least squares of the last `targets` columns on the others, by (5).

        Columns are scaled by powers of two first, so the rank does not depend on units; if it is
        short, the coefficients are those of least norm.
        """
        R, u, rest, d = self.split(targets)
        w, rank, rcond = solve_triangle(R, u, d)
        rss = ((u - R @ w) ** 2).sum(axis=0) + rest**2
        p = len(d)
        return Fit(w.T, self.mean[p:] - self.mean[:p] @ w, rss, rank, rcond)


def solve_triangle(R: Array, u: Array, d: Array) -> tuple[Array, int, float]:
    """w with R w ≈ u, of least norm if the rank is short; the rank, and 1/κ of R·d (0 if short).

    The rank is judged on columns of equal length, R·d, by a QR decomposition with pivoting.
    """
    T, pivot, tau, *_ = lapack.dgeqp3(R * d)
    rank = numerical_rank(np.abs(T.diagonal()))
    u_rank = lapack.dormqr("L", "T", T[:, : len(tau)], tau, u, lwork=64 * u.shape[1])[0][:rank]
    w, pivot, T = np.zeros((len(d), u.shape[1])), pivot - 1, np.triu(T[:rank])
    if rank == len(d):
        w[pivot] = d[pivot, None] * solve_triangular(T, u_rank)
        return w, rank, lapack.dtrcon(T)[0]
    if rank:
        w[pivot] = least_norm(T, u_rank, d[pivot], R[:, pivot], u)
    return w, rank, 0.0


def least_norm(T: Array, u: Array, d: Array, R: Array, c: Array) -> Array:
    """The w = d v of least ‖w‖ with T v = u, where T has independent rows.

    One such w has the least ‖v‖; what it has of the null space of T/d is taken out. T may lack a
    rest of R that rounding could have made. Where columns are of very unequal lengths and not quite
    dependent, the shortest w may need so long a v that this rest spoils the fit. Then the w of
    least ‖v‖ is given: every weight is measured by the length of its column.
    """
    rank = len(T)
    Q, L = np.linalg.qr(T.T, mode="complete")

    def least_v(u: Array) -> Array:
        return np.asarray(d[:, None] * (Q[:, :rank] @ solve_triangular(L[:rank], u, trans="T")))

    w = least_v(u)
    null = np.where(np.abs(Q[:, rank:]) > 10 * len(d) * EPS, Q[:, rank:], 0.0)
    N = np.linalg.qr(d[:, None] * null)[0]
    shortest = w - N @ (N.T @ w)
    missing = least_v(u - T @ (shortest / d[:, None]))  # where w was long, a little was lost
    shortest += missing - N @ (N.T @ missing)
    misfit, least = (np.linalg.norm(R @ found - c) for found in (shortest, w))
    return np.asarray(shortest if misfit <= least + 1e-9 * np.linalg.norm(c) else w)


def together(a: Any, b: Any) -> tuple[float, Array, Array]:
    """n and mean of (2), and the row d·√(n_a n_b/n) by which S grows"""
    n, d = a.n + b.n, b.mean - a.mean
    if n == 0.0:
        return 0.0, a.mean, np.zeros_like(d)
    return n, a.mean + d * (b.n / n), d * np.sqrt(a.n / n * b.n)


def as_walk(rows: Any, weight: Any = None, centre: bool = True) -> Walk:
    """A walk over the rows of an array, without those of weight 0; a walk as it is"""
    if isinstance(rows, Walk):
        return rows
    X = np.asarray(rows)
    if X.ndim != 2:
        raise ValueError(f"a block must be a matrix of rows, got {X.ndim} dimension(s).")
    if weight is None:
        return Rows.of(X, intercept=centre)
    w = np.asarray(weight, dtype=float)
    if w.shape != (len(X),) or not (w >= 0.0).all():
        raise ValueError(f"weight must be {len(X)} numbers >= 0, one per row.")
    return Rows.of(X[w > 0.0], s=w[w > 0.0], intercept=centre)


def origin_of(rows: Walk) -> Array:
    """x₀ and y₀; 0 for a column of ones that is a column like others"""
    more = np.zeros(int(rows.intercept and not rows.free))
    return np.concatenate([more, rows.x0, *([] if rows.y0 is None else [rows.y0])])


def folded(blocks: Iterable[Block]) -> Array:
    """The triangle of the rows of one part, one block after another"""
    R = None
    for block in blocks:
        R = stacked([block.Z] if R is None else [R, block.Z])
    return np.asarray(R)


def stacked(blocks: list[Array]) -> Array:
    """The R of a QR decomposition of the blocks on top of each other"""
    return np.asarray(np.linalg.qr(np.vstack(blocks), mode="r"))
