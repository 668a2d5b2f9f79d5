r"""Moments: statistics of a block of rows that add up to the statistics of all rows

`Moments` keeps the total weight n, the mean m and the centred cross-products S of a block,

    n = Σ w_i,      m = Σ w_i x_i / n,      S = Σ w_i (x_i − m)(x_i − m)ᵀ        (1)

and those of two blocks together follow from those of each, with d = m_b − m_a,

    n = n_a + n_b,    m = m_a + d·n_b/n,    S = S_a + S_b + ddᵀ·n_a n_b/n        (2)

so `sum(map(Moments.of, blocks))` is the covariance of data of any size (Chan, Golub, LeVeque 1983).

`Triangle` keeps the same, but a square root of S: the triangle R of a QR decomposition,

    S = RᵀR,      R = triangle of [R_a; R_b; dᵀ·√(n_a n_b/n)]                    (3)

Forming S squares the condition number, R does not: at 1e8 a least-squares fit from S has no
correct digit left, from R eight. With the columns [X | y] the fit is one triangular solve,

    R = [R_xx  R_xy]         R_xx w = R_xy,      ‖y − Xw‖² = ‖R_yy‖²             (4)
        [ 0    R_yy]

A weight counts as that many repetitions of its row, a weight of 0 as its absence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular

from .parallel import run, split

Array: TypeAlias = npt.NDArray[np.float64]

BLOCK = 1 << 16  # entries converted and centred at a time: the copy stays in the cache
PART = 1 << 20  # entries that one thread takes; fixed, so the result is the same on any machine


@dataclass(frozen=True, eq=False)
class Moments:
    """Weight n, mean and centred cross-products S of some rows; `a + b` is that of both.

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
    mean: Array
    S: Array

    @classmethod
    def of(cls, block: Any, weight: Any = None) -> Moments:
        """The moments of the rows of `block`, each `weight` times."""
        return in_parts(cls._of_part, block, weight)

    @classmethod
    def _of_part(cls, X: npt.NDArray[Any], w: Array | None) -> Moments:
        """Equation (1)"""
        n, mean = weight_and_mean(X, w)
        S = np.zeros((X.shape[1],) * 2)
        for D in whitened(X, w, mean):
            S += D.T @ D
        return cls(n, mean, S)

    def __add__(self, other: Moments) -> Moments:
        """Equation (2)"""
        n, mean, d = together(self, other)
        return Moments(n, mean, self.S + other.S + np.outer(d, d))

    def __radd__(self, start: Literal[0]) -> Moments:
        return self

    def covariance(self, ddof: float = 1.0) -> Array:
        """S / (n − ddof)"""
        return self.S / (self.n - ddof)

    def variance(self, ddof: float = 1.0) -> Array:
        """The diagonal of the covariance"""
        return np.diag(self.S) / (self.n - ddof)

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


@dataclass(frozen=True, eq=False)
class Triangle:
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
    def of(cls, block: Any, weight: Any = None, centre: bool = True) -> Triangle:
        """The triangle of the rows of `block`, each `weight` times."""
        return in_parts(partial(cls._of_part, centre=centre), block, weight)

    @classmethod
    def _of_part(cls, X: npt.NDArray[Any], w: Array | None, centre: bool) -> Triangle:
        """Rows are added to R block by block, as in equation (3)"""
        n, mean = weight_and_mean(X, w)
        mean = mean if centre else np.zeros_like(mean)
        R = np.zeros((0, X.shape[1]))
        for D in whitened(X, w, mean):
            R = triangle(R, D)
        return cls(n, mean, R, centre)

    def __add__(self, other: Triangle) -> Triangle:
        """Equation (3)"""
        if self.centre != other.centre:
            raise ValueError("a centred and an uncentred triangle cannot be added.")
        n, mean, d = together(self, other)
        return Triangle(n, mean, triangle(self.R, other.R, d[None]), self.centre)

    def __radd__(self, start: Literal[0]) -> Triangle:
        return self

    def solve(self, targets: int = 1) -> Fit:
        """Least squares of the last `targets` columns on the others, by (4).

        Columns are scaled by powers of two first, so the rank does not depend on units; if it is
        short, the coefficients are those of least norm.
        """
        p = self.R.shape[1] - targets
        R = np.zeros((max(len(self.R), p), p + targets))
        R[: len(self.R)] = self.R
        A, B, rest = R[:p, :p], R[:p, p:], R[p:, p:]
        scale = np.exp2(-np.frexp(np.abs(A).max(axis=0, initial=0.0))[1])
        U, s, Vt = np.linalg.svd(A * scale)
        noise = 10 * p * np.finfo(float).eps
        rank = int((s > noise * s.max(initial=0.0)).sum())
        if rank == p:
            W = scale[:, None] * solve_triangular(A * scale, B)
        else:
            W = scale[:, None] * (Vt[:rank].T @ ((U.T @ B)[:rank] / s[:rank, None]))
            null = np.where(np.abs(Vt[rank:].T) > noise, Vt[rank:].T, 0.0)
            N = np.linalg.qr(scale[:, None] * null)[0]  # AN = 0: every W + NZ fits as well
            W -= N @ (N.T @ W)
        rss = ((B - A @ W) ** 2).sum(axis=0) + (rest**2).sum(axis=0)
        return Fit(W.T, self.mean[p:] - self.mean[:p] @ W, rss, rank)


Statistic = TypeVar("Statistic", Moments, Triangle)


def together(a: Statistic, b: Statistic) -> tuple[float, Array, Array]:
    """n and mean of (2), and the row d·√(n_a n_b/n) by which S grows"""
    n, d = a.n + b.n, b.mean - a.mean
    if n == 0.0:
        return 0.0, a.mean, np.zeros_like(d)
    return n, a.mean + d * (b.n / n), d * np.sqrt(a.n / n * b.n)


def in_parts(of_part: Callable[..., Statistic], block: Any, weight: Any) -> Statistic:
    """The sum of the statistics of all parts of a block, one thread a part"""
    X, w = rows_and_weights(block, weight)
    slices = split(len(X), -(-X.size // PART))
    if len(slices) == 1:
        return of_part(X, w)
    weights = [None if w is None else w[rows] for rows in slices]
    parts: list[Statistic] = run(of_part, [X[rows] for rows in slices], weights)
    return sum(parts[1:], start=parts[0])


def rows_and_weights(block: Any, weight: Any) -> tuple[npt.NDArray[Any], Array | None]:
    """Both as arrays, without the rows of weight 0"""
    X = np.asarray(block)
    if X.ndim != 2:
        raise ValueError(f"a block must be a matrix of rows, got {X.ndim} dimension(s).")
    if weight is None:
        return X, None
    w = np.asarray(weight, dtype=float)
    if w.shape != (len(X),) or not (w >= 0.0).all():
        raise ValueError(f"weight must be {len(X)} numbers >= 0, one per row.")
    return (X, w) if w.all() else (X[w > 0.0], w[w > 0.0])


def blocks_of(X: npt.NDArray[Any]) -> Iterator[slice]:
    """Slices of rows that stay in the cache, yet are taller than wide"""
    step = max(BLOCK // max(X.shape[1], 1), 2 * X.shape[1], 1)
    return (slice(start, start + step) for start in range(0, len(X), step))


def whitened(X: npt.NDArray[Any], w: Array | None, mean: Array) -> Iterator[Array]:
    """√w_i (x_i − mean) in float64, block by block"""
    for rows in blocks_of(X):
        D = X[rows] - mean
        if w is not None:
            D *= np.sqrt(w[rows, None])
        yield D


def weight_and_mean(X: npt.NDArray[Any], w: Array | None) -> tuple[float, Array]:
    """n and m of (1); the second pass takes out what rounding left in the first"""
    n = float(len(X) if w is None else w.sum())
    mean = np.zeros(X.shape[1])
    for first in (True, False):
        total = np.zeros_like(mean)
        for rows in blocks_of(X):
            D = X[rows] if first else X[rows] - mean
            total += D.sum(axis=0, dtype=float) if w is None else w[rows] @ D
        mean += total / n if n > 0.0 else 0.0
    return n, mean


def triangle(*blocks: Array) -> Array:
    """The R of a QR decomposition of the blocks on top of each other, its diagonal ≥ 0"""
    R = np.linalg.qr(np.vstack(blocks), mode="r")
    return np.asarray(R * np.where(np.diag(R) < 0.0, -1.0, 1.0)[:, None])
