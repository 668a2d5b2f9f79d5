r"""Kernels: inner products of features that need not be written down

K(u, v) is a kernel if it is the inner product of some feature map,

    K(u, v) = φ(u)ᵀφ(v)                                                  (1)

which holds if and only if every Gram matrix G_ij = K(x_i, x_j) is symmetric and
positive semi-definite (Mercer). The named ones:

    Linear      uᵀv                      RBF         exp(−γ ‖u − v‖²)    (9)
    Polynomial  (γ uᵀv + c)^d            Laplacian   exp(−γ ‖u − v‖₁)   (10)

and Sigmoid, tanh(γ uᵀv + c), which is used as one but is not semi-definite.

`K(X, Y)` is the matrix of K(x_i, y_j). Squared distances come from one product XYᵀ,

    ‖u − v‖² = ‖u‖² + ‖v‖² − 2uᵀv                                       (11)

with u and v taken from the mean of Y: a shift leaves distances alone, and shorter
vectors cancel less. The polynomial kernel has a finite feature map by the multinomial
theorem, one feature for each way to choose d of the p + 1 factors √c, √γ u_1 … √γ u_p:

    (γ uᵀv + c)^d = Σ_{Σν = d} d!/(ν_0!⋯ν_p!) · c^ν_0 · Π_j (γ u_j v_j)^ν_j   (12)
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import factorial, prod
from typing import Any

import numpy as np

from mlreplica.core.compile.threads import n_threads, run, split

from .kernel_algebra import Array, Kernel, as_rows, by_rows, is_sparse, mirrored, number
from .kernel_loops import (
    LOG2_E,
    STRIP,
    exp_in_place,
    gaussian,
    gaussian_sums,
    manhattan,
    pairwise,
    row_function,
)

TASK = 1 << 17  # entries of a Gram matrix for which waking a thread is worth while


@dataclass(frozen=True)
class Linear(Kernel):
    """uᵀv"""

    def fill(self, X: Any, Y: Any, out: Array, x_sq: Any, y_sq: Any) -> None:
        inner(X, Y, out)

    def multiplier(self, Y: Any) -> Any:
        return lambda X, C: np.asarray(X @ (Y.T @ C))

    def diag(self, X: Any) -> Array:
        return squared_norms(X)

    def feature_map(self, X: Any) -> Array:
        return np.asarray(as_rows(X))


@dataclass(frozen=True)
class Polynomial(Kernel):
    """(γ uᵀv + c)^d with c = coef0 ≥ 0: all monomials up to degree d, or of degree d if c = 0"""

    degree: int = 3
    gamma: Any = 1.0
    coef0: float = 1.0

    def __post_init__(self) -> None:
        check_gamma(self.gamma)
        if self.degree != int(self.degree) or self.degree < 1:
            raise ValueError(f"degree must be an integer >= 1, got {self.degree}.")

    def fill(self, X: Any, Y: Any, out: Array, x_sq: Any, y_sq: Any) -> None:
        inner(X, Y, out)
        gamma = number(self.gamma, X)
        by_rows(out, lambda K: self.of_inner(K, gamma))

    def of_inner(self, K: Array, gamma: float) -> Array:
        """(γK + c)^d in place, by multiplications only"""
        K *= gamma
        K += self.coef0
        base = K.copy()
        for bit in f"{int(self.degree):b}"[1:]:
            K *= K
            if bit == "1":
                K *= base
        return K

    def diag(self, X: Any) -> Array:
        return self.of_inner(squared_norms(X), number(self.gamma, X))

    def feature_map(self, X: Any) -> Array:
        if self.coef0 < 0.0:
            raise ValueError(f"coef0 must be >= 0 for a feature map to exist, got {self.coef0}.")
        X, d = as_rows(X), int(self.degree)
        n, p = X.shape
        root = number(self.gamma, X) ** 0.5
        U = np.column_stack([np.full(n, self.coef0**0.5), root * X])  # γuᵀv + c = U Vᵀ
        first = 0 if self.coef0 > 0.0 else 1
        terms = list(combinations_with_replacement(range(first, p + 1), d))
        ways = [factorial(d) / prod(factorial(t.count(j)) for j in set(t)) for t in terms]
        return np.asarray(np.sqrt(ways) * U[:, terms].prod(axis=2))  # (12)


@dataclass(frozen=True)
class RBF(Kernel):
    """exp(−γ ‖u − v‖²)"""

    gamma: Any = 1.0

    def __post_init__(self) -> None:
        check_gamma(self.gamma)

    def fill(self, X: Any, Y: Any, out: Array, x_sq: Any, y_sq: Any) -> None:
        gamma = out.dtype.type(number(self.gamma, X))
        if x_sq is None or y_sq is None:
            if X is not Y:
                self.against(Y)(X, out)
                return
            if not is_sparse(X):
                X = Y = X - X.mean(axis=0)
            x_sq = y_sq = squared_norms(X)
        x_sq, y_sq = (np.asarray(a, dtype=out.dtype) for a in (x_sq, y_sq))
        if X is Y and not is_sparse(X) and out.size > TASK:
            mirrored(self.fill, X, out, x_sq)
            return
        inner(X, Y, out)
        by_rows(out, lambda K, x_sq: gaussian(K, x_sq, y_sq, gamma), x_sq)

    def against(self, Y: Any) -> Any:
        centre = 0.0 if is_sparse(Y) or not len(Y) else Y.mean(axis=0)
        Y = Y if is_sparse(Y) else Y - centre
        y_sq = squared_norms(Y)

        def fill(X: Any, out: Array) -> None:
            X = X if is_sparse(Y) else (X.toarray() if is_sparse(X) else X) - centre
            self.fill(X, Y, out, squared_norms(X), y_sq)

        return fill

    def multiplier(self, Y: Any, single: bool = False) -> Any:
        """By one product that gives whole exponents of 2: with g = γ log₂ e and rows (x, y) centred

        log₂ K(x, y) = (2g x, −g‖x‖², 1)ᵀ (y, 1, −g‖y‖²)

        that, the powers and the sums in single precision if one says so.
        """
        if is_sparse(Y) or Y.dtype != np.float64:
            return super().multiplier(Y)
        g, (m, p) = number(self.gamma, Y) * LOG2_E, Y.shape
        centre = Y.mean(axis=0) if m else 0.0
        y = Y - centre
        B = np.vstack([y.T, np.ones(m), -g * squared_norms(y)])
        S = np.concatenate([B[:, k : k + STRIP].ravel() for k in range(0, max(m, 1), STRIP)])
        dtype = np.float32 if single else np.float64
        S = S.astype(dtype, copy=False)

        def multiply(X: Any, C: Array) -> Array:
            n, columns = X.shape[0], np.ascontiguousarray(np.atleast_2d(C.T), dtype)
            out = np.zeros((n, len(columns)), dtype)

            def one(rows: slice) -> None:
                x = X[rows].toarray() if is_sparse(X) else X[rows]
                A = np.ones((len(x), p + 2))
                np.subtract(x, centre, out=A[:, :p])
                A[:, p] = -g * squared_norms(A[:, :p])
                A[:, :p] *= 2.0 * g
                gaussian_sums(
                    A.astype(dtype, copy=False), S, columns, out[rows], True if single else None
                )

            run(one, split(n, min(-(-n * m // TASK), 8 * n_threads())))
            return out.reshape(n, *C.shape[1:])

        return multiply

    def diag(self, X: Any) -> Array:
        return np.ones(X.shape[0], dtype=X.dtype)


@dataclass(frozen=True)
class Laplacian(Kernel):
    """exp(−γ ‖u − v‖₁)"""

    gamma: Any = 1.0

    def __post_init__(self) -> None:
        check_gamma(self.gamma)

    def fill(self, X: Any, Y: Any, out: Array, x_sq: Any, y_sq: Any) -> None:
        if is_sparse(X) or is_sparse(Y):
            raise TypeError("the Laplacian kernel takes dense rows; use X.toarray().")
        gamma = out.dtype.type(number(self.gamma, X))
        X, Y = (np.ascontiguousarray(a, dtype=out.dtype) for a in (X, Y))

        def finish(K: Array, rows: Array) -> None:
            manhattan(K, rows, Y, gamma)
            exp_in_place(K)

        by_rows(out, finish, X)

    def diag(self, X: Any) -> Array:
        return np.ones(X.shape[0], dtype=X.dtype)


@dataclass(frozen=True)
class Sigmoid(Kernel):
    """tanh(γ uᵀv + c) with c = coef0"""

    gamma: Any = 1.0
    coef0: float = 0.0

    def __post_init__(self) -> None:
        check_gamma(self.gamma)

    def fill(self, X: Any, Y: Any, out: Array, x_sq: Any, y_sq: Any) -> None:
        inner(X, Y, out)
        gamma = number(self.gamma, X)
        by_rows(out, lambda K: self.of_inner(K, gamma))

    def of_inner(self, K: Array, gamma: float) -> Array:
        """tanh(γK + c) in place"""
        K *= gamma
        K += self.coef0
        return np.tanh(K, out=K)

    def diag(self, X: Any) -> Array:
        return self.of_inner(squared_norms(X), number(self.gamma, X))


@dataclass(frozen=True)
class Callable(Kernel):
    """A function of yours: of two matrices, of two rows (`rows=True`), or jitted, of two rows

    A function compiled by Numba (`@numba.njit`) runs in a compiled loop.
    """

    f: Any
    rows: bool = False

    @property
    def jitted(self) -> bool:
        return hasattr(self.f, "py_func")

    def fill(self, X: Any, Y: Any, out: Array, x_sq: Any, y_sq: Any) -> None:
        if self.jitted:
            X, Y = (a.toarray() if is_sparse(a) else a for a in (X, Y))
            X, Y = (np.ascontiguousarray(a, dtype=float) for a in (X, Y))
            by_rows(out, lambda K, rows: pairwise(row_function(self.f), rows, Y, K), X)
        elif self.rows:
            U = rows_of(X)
            V = U if X is Y else rows_of(Y)
            for i, u in enumerate(U):
                first = i if X is Y else 0  # of a symmetric matrix only a half
                out[i, first:] = [self.f(u, v) for v in V[first:]]
                if X is Y:
                    out[i:, i] = out[i, i:]
        else:
            result = np.asarray(self.f(X, Y))
            if result.shape != out.shape:
                raise ValueError(
                    f"kernel {self.f} returned shape {result.shape} for two matrices of "
                    f"{X.shape[0]} and {Y.shape[0]} rows; if it takes two rows, say "
                    "Callable(f, rows=True)."
                )
            out[...] = result

    def mend(self, X: Any, out: Array) -> None:
        """Nothing to do: the function itself gave the diagonal."""

    def multiplier(self, Y: Any) -> Any:
        if self.jitted:
            return super().multiplier(Y)
        return lambda X, C: np.asarray(self.block(X, Y) @ C)  # Python runs in one thread

    def diag(self, X: Any) -> Array:
        if self.rows or self.jitted:
            X = X.toarray() if is_sparse(X) and self.jitted else X
            return np.array([self.f(x, x) for x in rows_of(X)], dtype=float)
        n = X.shape[0]
        return np.concatenate([np.diag(self.f(X[s], X[s])) for s in split(n, n // 64)])


@dataclass(frozen=True)
class Precomputed(Kernel):
    """The matrix itself: "rows" are rows of K between the points at hand and the training points"""

    def block(self, X: Any, Y: Any, out: Any = None, x_sq: Any = None, y_sq: Any = None) -> Array:
        """X itself, or a copy of it in `out`."""
        return np.asarray(X) if out is None else super().block(X, Y, out)

    def fill(self, X: Any, Y: Any, out: Array, x_sq: Any, y_sq: Any) -> None:
        out[...] = X

    def multiplier(self, Y: Any) -> Any:
        return lambda X, C: np.asarray(X @ C)

    def diag(self, X: Any) -> Array:
        return np.diag(X)


def rows_of(X: Any) -> list[Any]:
    """The rows, one by one; of a sparse matrix, matrices of one row."""
    return [X[[i], :] for i in range(X.shape[0])] if is_sparse(X) else list(X)


def check_gamma(gamma: Any) -> None:
    """γ must be a number ≥ 0, or a name that `resolve` turns into one."""
    if not (gamma in ("scale", "auto", None) or (not isinstance(gamma, str) and gamma >= 0.0)):
        raise ValueError(f'gamma must be >= 0, "scale" or "auto", got {gamma!r}.')


def squared_norms(X: Any) -> Array:
    """‖x_i‖² of every row"""
    if is_sparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X))


def inner(X: Any, Y: Any, out: Array) -> None:
    """XYᵀ into `out`, by BLAS (which does half the work if Y is X)"""
    if not is_sparse(X) and not is_sparse(Y) and X.dtype == Y.dtype == out.dtype:
        np.matmul(X, Y.T, out=out)
    else:
        product = X @ Y.T
        out[...] = product.toarray() if is_sparse(product) else product


NAMES: dict[str, type[Kernel]] = {
    "linear": Linear,
    "poly": Polynomial,
    "polynomial": Polynomial,
    "rbf": RBF,
    "sigmoid": Sigmoid,
    "laplacian": Laplacian,
    "precomputed": Precomputed,
}


def get(kernel: Any, **parameters: Any) -> Kernel:
    """A kernel from its name and parameters, or from a function; a kernel is handed back.

    Examples
    --------
    >>> from mlreplica import kernels
    >>> kernels.get("rbf", gamma=0.5)
    RBF(gamma=0.5)
    """
    if isinstance(kernel, Kernel) and not parameters:
        return kernel
    if isinstance(kernel, str) and kernel in NAMES:
        return NAMES[kernel](**parameters)
    if callable(kernel) and not isinstance(kernel, Kernel):
        return Callable(kernel, **parameters)
    names = ", ".join(NAMES)
    raise ValueError(f"unknown kernel {kernel!r}; use a Kernel, a function, or one of {names}.")
