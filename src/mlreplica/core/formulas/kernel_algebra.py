r"""Kernel algebra: sums, products and scalings of kernels are kernels

Each line has the feature map that proves it, if φ, φ₁, φ₂ are those of K, K₁, K₂
(equations (1) and (9) to (12) are in `kernels.py`):

    c·K            √c φ(u)            for c ≥ 0                          (4)
    f(u)K f(v)     f(u) φ(u)          for any real function f            (5)
    K₁ + K₂        [φ₁(u), φ₂(u)]     one after the other                (6)
    K₁ · K₂        φ₁(u) ⊗ φ₂(u)      all products of a feature of each  (7)
    K + c          [φ(u), √c]         (6) with the constant kernel        (8)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse

from mlreplica.core.compile.threads import run, split

Array: TypeAlias = npt.NDArray[Any]
BLOCK = 1 << 16  # entries of a Gram matrix that one task finishes while they are in the cache
BAND = 128  # rows of a symmetric Gram matrix that one task computes
SLICE = 1 << 18  # entries of a Gram matrix that are multiplied at once and then forgotten


@dataclass(frozen=True)
class Kernel:
    """A function K(u, v) of two rows, immutable; `+`, `*` and `scaled_by` make new ones.

    Examples
    --------
    >>> from mlreplica.kernels import RBF, Linear
    >>> K = 0.5 * RBF(gamma=2.0) + Linear()
    >>> K
    0.5 * RBF(gamma=2.0) + Linear()
    >>> K([[0.0], [1.0]], [[1.0]]).round(3)
    array([[0.068],
           [1.5  ]])
    """

    def __call__(self, X: Any, Y: Any = None) -> Array:
        """The matrix of K(x_i, y_j); Y is X unless given."""
        X = as_rows(X)
        Y = X if Y is None else as_rows(Y)
        if X.shape[1] != Y.shape[1]:
            raise ValueError(f"X has {X.shape[1]} columns, Y has {Y.shape[1]}.")
        return self.block(X, Y)

    def block(
        self, X: Any, Y: Any, out: Array | None = None, x_sq: Any = None, y_sq: Any = None
    ) -> Array:
        """K(X, Y) into `out`, for arrays that are known to be sound.

        `x_sq` and `y_sq` are `squared_norms` of X and Y, if the caller keeps them (give both, and
        centre X and Y yourself). If Y is X, the diagonal is exact.
        """
        if out is None:
            out = np.empty((X.shape[0], Y.shape[0]), dtype=np.result_type(X.dtype, Y.dtype))
        if not out.flags.c_contiguous:
            raise ValueError("out must be C-contiguous.")
        self.fill(X, Y, out, x_sq, y_sq)
        if X is Y:
            self.mend(X, out)
        return out

    def mend(self, X: Any, out: Array) -> None:
        """Make the diagonal of K(X, X) exact, which `fill` computed by inner products."""
        np.fill_diagonal(out, self.diag(X))

    def times(self, X: Any, Y: Any, C: Array) -> Array:
        """K(X, Y) C, with no more than a slice of K(X, Y) in memory for each thread."""
        return self.multiplier(Y)(X, C)

    def multiplier(self, Y: Any) -> Callable[[Any, Array], Array]:
        """A function that gives K(X, Y) C for any (X, C), Y looked at once."""
        fill, m = self.against(Y), Y.shape[0]

        def multiply(X: Any, C: Array) -> Array:
            n, dtype = X.shape[0], np.result_type(X.dtype, Y.dtype)
            out = np.empty((n, *C.shape[1:]), dtype=np.result_type(dtype, C.dtype))

            def one(rows: slice) -> None:
                K = np.empty((rows.stop - rows.start, m), dtype=dtype)
                fill(X[rows], K)
                np.matmul(K, C, out=out[rows])

            run(one, split(n, -(-n * m // SLICE)))
            return out

        return multiply

    def against(self, Y: Any) -> Callable[[Any, Array], None]:
        """A function that writes K(X, Y) into `out` for any (X, out), Y looked at once."""
        return lambda X, out: self.fill(X, Y, out, None, None)

    def fill(self, X: Any, Y: Any, out: Array, x_sq: Any, y_sq: Any) -> None:
        """Write K(X, Y) into `out`; this and `diag` are what a kernel defines."""
        raise NotImplementedError(f"{type(self).__name__} must define fill")

    def diag(self, X: Any) -> Array:
        """K(x_i, x_i) for every row, without the matrix."""
        raise NotImplementedError(f"{type(self).__name__} must define diag")

    def feature_map(self, X: Any) -> Array:
        """φ of equation (1) for every row, where it is finite."""
        raise ValueError(f"{self!r} has no finite feature map.")

    def resolve(self, X: Any) -> Kernel:
        """The kernel with every gamma="scale" or "auto" replaced by its number for these data."""
        new: dict[str, Any] = {}
        for name in (field.name for field in fields(self)):
            old = getattr(self, name)
            if isinstance(old, Kernel):
                new[name] = old.resolve(X)
            elif name == "gamma":
                new[name] = resolve_gamma(old, X)
        return replace(self, **new)

    def scaled_by(self, f: Callable[[Any], Any]) -> Kernel:
        """f(u) K(u, v) f(v), where f maps a matrix to one number per row."""
        return ScaledBy(self, f)

    def __add__(self, other: Kernel | float) -> Kernel:
        return Sum(self, other if isinstance(other, Kernel) else Constant(other))

    def __radd__(self, other: float) -> Kernel:
        return self if other == 0 else Sum(Constant(other), self)

    def __mul__(self, other: Kernel | float) -> Kernel:
        return Product(self, other) if isinstance(other, Kernel) else Scaled(self, other)

    def __rmul__(self, other: float) -> Kernel:
        return Scaled(self, other)


@dataclass(frozen=True)
class Constant(Kernel):
    """c ≥ 0 for every pair of rows: an intercept"""

    c: float = 1.0

    def __post_init__(self) -> None:
        check_factor(self.c)

    def __repr__(self) -> str:
        return f"{self.c:g}"

    def fill(self, X: Any, Y: Any, out: Array, x_sq: Any, y_sq: Any) -> None:
        """Write K(X, Y) into `out`."""
        out.fill(self.c)

    def diag(self, X: Any) -> Array:
        """K(x_i, x_i)"""
        return np.full(X.shape[0], self.c, dtype=X.dtype)

    def feature_map(self, X: Any) -> Array:
        """√c"""
        return np.full((np.shape(X)[0], 1), self.c**0.5)


@dataclass(frozen=True)
class Scaled(Kernel):
    """c·K"""

    K: Kernel
    c: float

    def __post_init__(self) -> None:
        check_factor(self.c)

    def __repr__(self) -> str:
        return f"{self.c:g} * {bracketed(self.K)}"

    def fill(self, X: Any, Y: Any, out: Array, x_sq: Any, y_sq: Any) -> None:
        """Write K(X, Y) into `out`."""
        self.K.fill(X, Y, out, x_sq, y_sq)
        out *= self.c

    def diag(self, X: Any) -> Array:
        """K(x_i, x_i)"""
        return np.asarray(self.c * self.K.diag(X))

    def feature_map(self, X: Any) -> Array:
        """Equation (4)"""
        return np.asarray(self.c**0.5 * self.K.feature_map(X))


@dataclass(frozen=True)
class ScaledBy(Kernel):
    """f(u) K(u, v) f(v)"""

    K: Kernel
    f: Callable[[Any], Any]

    def __repr__(self) -> str:
        return f"{bracketed(self.K)}.scaled_by({getattr(self.f, '__name__', self.f)})"

    def fill(self, X: Any, Y: Any, out: Array, x_sq: Any, y_sq: Any) -> None:
        """Write K(X, Y) into `out`."""
        self.K.fill(X, Y, out, x_sq, y_sq)
        out *= self.factors(X)[:, None]
        out *= self.factors(Y)

    def factors(self, X: Any) -> Array:
        """f of every row"""
        values = np.asarray(self.f(X), dtype=X.dtype)
        if values.shape != (X.shape[0],):
            raise ValueError(
                f"{self.f} must give one number per row, "
                f"got shape {values.shape} for {X.shape[0]} rows."
            )
        return values

    def diag(self, X: Any) -> Array:
        """K(x_i, x_i)"""
        return np.asarray(self.factors(X) ** 2 * self.K.diag(X))

    def feature_map(self, X: Any) -> Array:
        """Equation (5)"""
        X = as_rows(X)
        return np.asarray(self.factors(X)[:, None] * self.K.feature_map(X))


@dataclass(frozen=True)
class Sum(Kernel):
    """K₁ + K₂"""

    K1: Kernel
    K2: Kernel

    def __repr__(self) -> str:
        return f"{self.K1!r} + {self.K2!r}"

    def fill(self, X: Any, Y: Any, out: Array, x_sq: Any, y_sq: Any) -> None:
        """Write K(X, Y) into `out`; a second matrix of its size is needed."""
        self.K1.fill(X, Y, out, x_sq, y_sq)
        if isinstance(self.K2, Constant):
            out += self.K2.c
        else:
            self.K2.fill(X, Y, second := np.empty_like(out), x_sq, y_sq)
            out += second

    def diag(self, X: Any) -> Array:
        """K(x_i, x_i)"""
        return self.K1.diag(X) + self.K2.diag(X)

    def feature_map(self, X: Any) -> Array:
        """Equation (6)"""
        return np.hstack([self.K1.feature_map(X), self.K2.feature_map(X)])


@dataclass(frozen=True)
class Product(Kernel):
    """K₁ · K₂"""

    K1: Kernel
    K2: Kernel

    def __repr__(self) -> str:
        return f"{bracketed(self.K1)} * {bracketed(self.K2)}"

    def fill(self, X: Any, Y: Any, out: Array, x_sq: Any, y_sq: Any) -> None:
        """Write K(X, Y) into `out`; a second matrix of its size is needed."""
        self.K1.fill(X, Y, out, x_sq, y_sq)
        self.K2.fill(X, Y, second := np.empty_like(out), x_sq, y_sq)
        out *= second

    def diag(self, X: Any) -> Array:
        """K(x_i, x_i)"""
        return self.K1.diag(X) * self.K2.diag(X)

    def feature_map(self, X: Any) -> Array:
        """Equation (7)"""
        A, B = self.K1.feature_map(X), self.K2.feature_map(X)
        return (A[:, :, None] * B[:, None, :]).reshape(len(A), -1)


def bracketed(K: Kernel) -> str:
    """How K is written as a factor"""
    return f"({K!r})" if isinstance(K, Sum) else repr(K)


def check_factor(c: float) -> None:
    """A negative factor would make a kernel negative semi-definite."""
    if not 0.0 <= c < np.inf:
        raise ValueError(f"a kernel can be scaled or shifted by a number >= 0 only, got {c}.")


def is_sparse(X: Any) -> bool:
    """Whether X is a SciPy sparse matrix or array"""
    return bool(scipy.sparse.issparse(X))


def as_rows(X: Any) -> Any:
    """X as a matrix of float64 or float32, CSR if sparse."""
    if is_sparse(X):
        X = X.tocsr()
        return X if X.dtype in (np.float32, np.float64) else X.astype(float)
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"a kernel takes matrices of rows, got {X.ndim} dimension(s).")
    return X if X.dtype in (np.float32, np.float64) else X.astype(float)


def by_rows(out: Array, finish: Callable[..., Any], *row_arrays: Array) -> None:
    """finish(out[rows], *arrays[rows]) for slices that fit in the cache, on the thread pool."""
    if out.size <= BLOCK:
        finish(out, *row_arrays)
    else:
        slices = split(len(out), -(-out.size // BLOCK))
        run(lambda rows: finish(out[rows], *(a[rows] for a in row_arrays)), slices)


def mirrored(fill: Callable[..., Any], X: Array, out: Array, x_sq: Array) -> None:
    """K(X, X) by `fill`, a band of rows up to the diagonal at a time, and its image beyond it."""

    def one(rows: slice) -> None:
        before = slice(0, rows.stop)
        K = np.empty((rows.stop - rows.start, rows.stop), dtype=out.dtype)
        fill(X[rows], X[before], K, x_sq[rows], x_sq[before])
        out[rows, before] = K
        out[: rows.start, rows] = K[:, : rows.start].T

    run(one, split(len(X), -(-len(X) // BAND))[::-1])  # the longest first


def resolve_gamma(gamma: Any, X: Any) -> float:
    """γ as a number: "scale" is 1/(p·Var X), "auto" (or None) 1/p, as in scikit-learn."""
    if gamma != "scale":
        return number(gamma, X)
    mean = X.mean()
    variance = X.multiply(X).mean() - mean**2 if is_sparse(X) else X.var()
    return float(1.0 / (X.shape[1] * variance)) if variance > 0.0 else 1.0


def number(gamma: Any, X: Any) -> float:
    """γ where any rows with the columns of X determine it"""
    if gamma == "scale":
        raise ValueError(
            'gamma="scale" depends on the data; call kernel.resolve(X) with the training rows.'
        )
    return 1.0 / int(X.shape[1]) if gamma is None or gamma == "auto" else float(gamma)
