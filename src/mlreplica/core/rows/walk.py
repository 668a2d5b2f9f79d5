r"""Rows: the one walk over the rows of a problem

A linear model sees a row as

    z_i = √s_i · [1, x_i − x₀, y_i − y₀]                                                     (1)

with a weight s_i, which counts row i as if it stood there s_i times, and a fixed origin x₀, y₀:
moving the origin changes only the intercept, and an origin near the mean keeps the digits that
columns far from zero would cost. What a solver needs from the rows is a sum over them,

    Σ_i statistic(z_i),                                                                       (2)

so it asks `rows.sum(of)` for it, where `of(block)` is the statistic of a block of rows and `+`
joins two of them: `Moments`, `Triangle`, a gradient, a curvature, or `Sums` of several. The rows
(1) exist one block at a time, in a buffer that stays in cache; X itself is never copied, and may
be sparse or in single precision. Blocks make parts, which threads share; where the parts begin
depends on the size of the data alone, so that any number of threads gives the same numbers.

`Walk` is what solvers may rely on. `Rows` is the walk over rows that lie in memory. A walk over
rows from elsewhere defines `n`, `p`, `q` and `map`, and every solver built on sums runs on it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr

from mlreplica.core.compile.threads import one_blas_thread, run, split
from mlreplica.core.linalg import EPS, Array

BLOCK = 1 << 17  # entries of a block: 1 MB, so that a block stays in cache
PARTS = 32  # the most parts: enough for as many threads, few enough to keep a sum for each
WIDE = 512  # columns from which one product keeps BLAS's own threads busy
SMALL = 1 << 15  # entries of [X y] that need no threads
SAMPLE = 1024  # rows from which the origin is estimated
DIRECT = 1500  # columns up to which a matrix of curvatures is formed
SPARSE = 256  # the same for sparse X, whose blocks are filled
THIN = 16  # a large set starts from every 16th row …
MANY = 64  # … if that leaves so many rows for each column, …
LARGE = 1 << 20  # … and the set has so many entries
UNEVEN = 1e6  # largest over smallest weight up to which errors are those of equal weights


class Block(NamedTuple):
    """Some rows: which, as (1), and as they lie."""

    rows: slice
    Z: Array  # (m, width): overwritten by the next block, and free to be overwritten before
    X: Any  # (m, p)
    y: Any  # (m, q), or None


class Sums(tuple[Any, ...]):
    """Several statistics that add up entry by entry.

    Examples
    --------
    >>> Sums((1, 2.0)) + Sums((3, 4.0))
    (4, 6.0)
    """

    __slots__ = ()

    def __add__(self, other: Any) -> Sums:
        return Sums(a + b for a, b in zip(self, other, strict=True))


class Walk:
    """What solvers may ask of rows; all follows from `map`."""

    n: int  # rows
    p: int  # columns of X
    q: int = 0  # targets
    s: Any = None  # (n,): weights, None for all ones
    x0: Any  # (p,)
    y0: Any  # (q,)
    intercept: bool = True  # whether (1) has its column of ones …
    free: bool = True  # … and whether that is for centring only; False: it has a weight like others

    @property
    def k(self) -> int:
        """Columns of (1) without the targets: as many as there are unknowns."""
        return self.intercept + self.p

    @property
    def centred(self) -> bool:
        """Whether statistics are taken about the mean."""
        return self.intercept and self.free

    @property
    def weight(self) -> float:
        """Σ s_i"""
        return float(self.n if self.s is None else self.s.sum())

    @property
    def uneven(self) -> bool:
        """Whether a few weights dwarf the others.

        Rounding of the heavy rows then hides the light ones, and no condition number shows it.
        """
        if self.s is None:
            return False
        return bool(self.s.max() > UNEVEN * self.s.min(initial=np.inf, where=self.s > 0))

    def map(self, work: Callable[[Iterable[Block]], Any], extra: int = 0) -> list[Any]:
        """[work(blocks of a part) for every part]; Z has `extra` more columns, to be filled."""
        raise NotImplementedError

    def sum(self, of: Callable[[Block], Any], extra: int = 0) -> Any:
        """(2): the sum of `of(block)` over all blocks."""
        return total_of(self.map(lambda blocks: total_of(map(of, blocks)), extra))

    def cross_products(self) -> tuple[float, Array, Array, Array]:
        """Σ s, Σ z, Σ x zᵀ (k, k + q) and Σ z² about the origin, z = [x, y] of (1) without its 1.

        The corner Σ y yᵀ is left out: targets may be many. Without centring, Σ z is 0.
        """
        i, k, width = int(self.centred), self.k, self.k + self.q
        if k >= self.q:  # M is symmetric, so that BLAS makes half of it only
            M = self.sum(lambda block: block.Z.T @ block.Z)
            squares = M.diagonal()
        else:

            def of(block: Block) -> Any:
                Z = block.Z
                return np.vstack([Z[:, :k].T @ Z, (Z * Z).sum(axis=0)])

            M = self.sum(of)
            squares = M[k]
        n = float(M[0, 0]) if i else self.weight
        return n, M[0, i:] if i else np.zeros(width), M[i:k, i:], squares[i:]

    def scores(self, v: Any) -> Array:
        """f = Z v, for v (k,)."""
        f = np.empty(self.n)

        def of(block: Block) -> int:
            f[block.rows] = block.Z[:, : self.k] @ v
            return 0

        self.sum(of)
        return f

    def back(self, g: Any) -> Array:
        """Zᵀg, for g (n,)."""
        return np.asarray(self.sum(lambda block: g[block.rows] @ block.Z[:, : self.k]))

    def gram(self, h: Any) -> Array:
        """Zᵀ diag(h) Z for h ≥ 0."""
        root = np.sqrt(h)

        def of(block: Block) -> Any:
            R = np.multiply(block.Z, root[block.rows, None], out=block.Z)
            return R.T @ R

        return np.asarray(self.sum(of))

    def gradient(self, v: Any) -> Array:
        """Aᵀ(c − A v) for Z = [A c], v (k, q)."""
        k = self.k

        def of(block: Block) -> Any:
            A, c = block.Z[:, :k], block.Z[:, k:]
            return A.T @ (c - A @ v)

        return np.asarray(self.sum(of))

    def penalty(self, alpha: Any) -> Array:
        """α for every unknown, 0 for a free intercept."""
        each = np.full(self.k, alpha)
        each[: int(self.centred)] = 0.0
        return each

    @property
    def direct(self) -> bool:
        """Whether a matrix of curvatures is small enough to be formed."""
        return self.p <= DIRECT

    def thinning(self) -> slice | None:
        """Every 16th row, as a slice, if the set is large and that leaves enough; else None.

        Iterations that start from the answer of so few rows need two or three steps over all.
        """
        few = self.n < MANY * THIN * self.k or self.n * self.k < LARGE
        return None if few else slice(None, None, THIN)

    def threads(self) -> AbstractContextManager[None]:
        """A context for a fit: one thread for BLAS where `map` has threads of its own."""
        return nullcontext() if self.n * self.k <= SMALL or self.k > WIDE else one_blas_thread()


@dataclass(eq=False)
class Rows(Walk):
    """Rows that lie in memory."""

    X: Any  # (n, p): dense in any order, or CSR; float64 or float32
    x0: Any
    intercept: bool = True
    y: Any = None
    y0: Any = None
    s: Any = None
    n_jobs: int | None = None
    free: bool = True
    basis: Any = None  # Q (columns of the user's X, p), if X was rotated
    root: Any = None  # √s

    fields: ClassVar[tuple[str, ...]] = ("X", "y", "s", "root")

    def __post_init__(self) -> None:
        if self.s is not None and self.root is None:
            self.root = np.sqrt(self.s)

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any = None,
        s: Any = None,
        *,
        intercept: bool = True,
        n_jobs: int | None = None,
        rotate: bool = False,
    ) -> Rows:
        """Rows about an origin near the mean, estimated from rows that are spread evenly.

        It is zero for sparse X, which stays sparse, and without an intercept. `rotate`: give a
        wide X by its coordinates in the span of its rows. What w had outside this span would
        change no score and only lengthen w.
        """
        x0, y0 = np.zeros(X.shape[1]), None if y is None else np.zeros(y.shape[1])
        if is_sparse(X):
            if intercept and y is not None:
                y0 = y.mean(axis=0)
            return cls(sp.csr_array(X), x0, intercept, y, y0, s, n_jobs)
        if intercept:
            x0, y0 = origin(X), None if y is None else origin(y)
        rows = cls(X, x0, intercept, y, y0, s, n_jobs)
        return rows.rotated() if rotate and rows.n < rows.p and rows.n <= DIRECT else rows

    def but(self, **changes: Any) -> Self:
        """The same rows with other values of some fields."""
        if "s" in changes and "root" not in changes:
            changes["root"] = None
        return replace(self, **changes)

    def only(self, which: Any) -> Self:
        """Some of the rows."""
        kept = {name: getattr(self, name) for name in self.fields}
        return self.but(**{name: None if a is None else a[which] for name, a in kept.items()})

    def positive(self) -> Self:
        """The rows of positive weight."""
        return self if self.s is None or self.s.all() else self.only(np.flatnonzero(self.s))

    def targets(self, which: Any) -> Self:
        """The rows with some of their targets."""
        return self.but(y=self.y[:, which], y0=self.y0[which])

    def columns(self, which: Any) -> Self:
        """The rows with some of their columns."""
        return self.but(X=self.X[:, which], x0=self.x0[which])

    def rotated(self) -> Self:
        """The coordinates of X − x₀ in an orthonormal basis of the span of its rows."""
        Q, R, pivot = qr((self.X - self.x0).T, mode="economic", pivoting=True, check_finite=False)
        size = np.abs(R.diagonal())
        rank = max(1, int((size > self.p * EPS * size[0]).sum()))
        X = np.empty((self.n, rank))
        X[pivot] = R[:rank].T
        return self.but(X=X, basis=Q[:, :rank])

    @property
    def n(self) -> int:  # type: ignore[override]
        """Rows."""
        return int(self.X.shape[0])

    @property
    def p(self) -> int:  # type: ignore[override]
        """Columns of X."""
        return int(self.X.shape[1])

    @property
    def q(self) -> int:  # type: ignore[override]
        """Targets."""
        return 0 if self.y is None else int(self.y.shape[1])

    @property
    def sparse(self) -> bool:
        """Whether X is sparse."""
        return is_sparse(self.X)

    @property
    def direct(self) -> bool:
        """Whether a matrix of curvatures is small enough to be formed."""
        return self.p <= (SPARSE if self.sparse else DIRECT)

    @property
    def origin(self) -> Any:
        """x₀ for the columns of X; a rotated X is about its origin already."""
        return self.x0 if self.basis is None else 0.0

    def block(self, rows: slice, buffer: Array) -> Block:
        """A slice of the rows, written over the buffer; columns beyond them stay as they are."""
        X, y = self.X[rows], None if self.y is None else self.y[rows]
        Z, i, k = buffer[: rows.stop - rows.start], int(self.intercept), self.k
        if i:
            Z[:, 0] = 1.0
        np.subtract(X.toarray() if self.sparse else X, self.origin, out=Z[:, i:k])
        if y is not None:
            np.subtract(y, self.y0, out=Z[:, k : k + y.shape[1]])
        if self.root is not None:
            Z *= self.root[rows, None]
        return Block(rows, Z, X, y)

    def map(self, work: Callable[[Iterable[Block]], Any], extra: int = 0) -> list[Any]:
        """[work(blocks of a part) for every part], a thread for each part."""
        n, k = self.n, self.k + self.q + extra
        order: Any = "F" if not self.sparse and self.X.flags.f_contiguous else "C"
        size = block_size(k)
        if n <= size:
            return [work([self.block(slice(0, n), np.empty((n, k), order=order))])]
        buffers: deque[Array] = deque()  # as many as there are threads

        @np.errstate(over="ignore", invalid="ignore")  # a thread has its own; solvers see the sums
        def part(rows: slice) -> Any:
            buffer = buffers.pop() if buffers else np.empty((size, k), order=order)
            found = work(self.block(b, buffer) for b in steps(rows, size))
            buffers.append(buffer)
            return found

        if k > WIDE:  # leaves the threads to BLAS, and keeps one sum only
            return [part(slice(0, n))]
        with one_blas_thread():
            return run(part, split(n, PARTS, size), n_jobs=self.n_jobs)

    def cross_products(self) -> tuple[float, Array, Array, Array]:
        """As of every walk; sums are taken apart, which is cheaper than a column of ones.

        Rows that need no shift and have no weight are not even copied by blocks.
        """
        if not self.centred or self.k < self.q:
            return super().cross_products()
        ones = np.ones(block_size(self.p + self.q))

        def products(Z: Array, rows: slice) -> Sums:
            w = ones[: len(Z)] if self.root is None else self.root[rows]
            return Sums((w @ Z, Z.T @ Z))  # BLAS makes half of a symmetric product only

        if self.as_is and self.n > len(ones) and self.p <= WIDE:

            @np.errstate(over="ignore", invalid="ignore")
            def part(rows: slice) -> Sums:
                total: Sums = total_of(products(self.X[b], b) for b in steps(rows, len(ones)))
                return total

            with one_blas_thread():
                parts = run(part, split(self.n, PARTS, len(ones)), n_jobs=self.n_jobs)
            sums, M = total_of(parts)
        else:
            bare = self.but(intercept=False)
            sums, M = bare.sum(lambda block: products(block.Z, block.rows))
        return self.weight, sums, M[: self.p], M.diagonal()

    @property
    def as_is(self) -> bool:
        """Whether (1) is [1, x_i], with nothing to subtract or to multiply."""
        plain = self.y is None and self.root is None and not self.sparse
        return plain and self.X.dtype == np.float64 and not np.any(self.origin)

    def shares(self) -> list[slice]:
        """Slices of rows for products with X as it lies; one alone where X is small."""
        least = max(1, BLOCK // max(self.k, 1))
        return split(self.n, PARTS if self.n > 2 * least else 1, least)

    def scores(self, v: Any) -> Array:
        """f = Z v, for v (k,); without weights."""
        i = int(self.intercept)
        if self.sparse:  # a slice would be a copy
            f = self.X @ v[i:]
        else:
            parts = run(lambda rows: self.X[rows] @ v[i:], self.shares(), n_jobs=self.n_jobs)
            f = np.concatenate(parts) if len(parts) > 1 else parts[0]
        if i:
            f = f + (v[0] - np.sum(self.origin * v[1:]))
        return np.asarray(f, dtype=float)

    def back(self, g: Any) -> Array:
        """Zᵀg, for g (n,); without weights."""
        if self.sparse:
            total = self.X.T @ g
        else:
            parts = run(lambda rows: g[rows] @ self.X[rows], self.shares(), n_jobs=self.n_jobs)
            total = total_of(parts)
        if not self.intercept:
            return np.asarray(total, dtype=float)
        one = g.sum()
        return np.append(one, total - one * self.origin)

    def plain(self, v: Any) -> tuple[Array, float]:
        """(w, b) of v."""
        w = v[int(self.intercept) :]
        w = w.copy() if self.basis is None else self.basis @ w
        return w, float(v[0] - self.x0 @ w) if self.intercept else 0.0

    def shifted(self, w: Any, b: Any) -> Array:
        """The v of (w, b)."""
        u = np.asarray(w, dtype=float) if self.basis is None else self.basis.T @ w
        return np.append(b + self.x0 @ w, u) if self.intercept else u.copy()


def block_size(k: int) -> int:
    """Rows of a block of k columns."""
    return max(BLOCK // max(k, 1), 2 * k, 16)


def is_sparse(X: Any) -> bool:
    """Whether X is a sparse matrix or array."""
    return type(X) is not np.ndarray and bool(sp.issparse(X))


def steps(rows: slice, size: int) -> Iterator[slice]:
    """`rows` in slices of `size`, the last one shorter."""
    for start in range(rows.start, rows.stop, size):
        yield slice(start, min(start + size, rows.stop))


def total_of(terms: Iterable[Any]) -> Any:
    """The sum of one or more statistics, in their order."""
    terms = iter(terms)
    total = next(terms)
    for term in terms:
        total = total + term
    return total


def origin(X: Any) -> Any:
    """The mean of some rows spread evenly; of a column constant over these, exactly its value."""
    if not len(X):
        return np.zeros(X.shape[1])
    some = X[:: max(1, len(X) // SAMPLE)]
    one = np.full(len(some), 1.0 / len(some))  # a product with ones: half the cost of mean(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where((some == some[0]).all(axis=0), some[0], one @ some)
