"""Loops of the kernels: what no matrix product gives

X, Y and K are C-contiguous and of one type, float64 or float32; K is written in place. γ comes in
that type too, so that single precision stays single.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mlreplica.core.compile.jit import PURE_PYTHON, import_numba, kernel

from .exp import exp32, exp64, power_of_two, power_of_two32

Array: TypeAlias = npt.NDArray[Any]
LOG2_E = 1.4426950408889634  # log₂ e
ROWS, STRIP = 128, 256  # rows and columns of a tile of a Gram matrix that stays in the cache


def exp_in_place(K: Array) -> None:
    """K ← e^K"""
    (exp32 if K.dtype == np.float32 else exp64)(K.reshape(-1))


def gaussian(K: Array, x_sq: Array, y_sq: Array, gamma: float) -> None:
    """K = XYᵀ becomes exp(−γ‖x_i − y_j‖²), by equation (11) and as a power of 2"""
    factor = K.dtype.type(gamma * LOG2_E)
    (gaussian32 if K.dtype == np.float32 else gaussian64)(K, x_sq, y_sq, factor)


@kernel
def gaussian64(K: Array, x_sq: Array, y_sq: Array, factor: float) -> None:
    """`gaussian` in double precision"""
    for i in range(len(K)):
        row, a = K[i], x_sq[i]
        for j in range(len(row)):
            d = 2.0 * row[j] - (a + y_sq[j])  # symmetric in i and j, bit for bit
            row[j] = power_of_two(factor * d)


@kernel
def gaussian32(K: Array, x_sq: Array, y_sq: Array, factor: np.float32) -> None:
    """`gaussian` in single precision"""
    two = np.float32(2.0)
    for i in range(len(K)):
        row, a = K[i], x_sq[i]
        for j in range(len(row)):
            d = two * row[j] - (a + y_sq[j])
            row[j] = power_of_two32(factor * d)


@kernel
def gaussian_sums(A: Array, S: Array, C: Array, out: Array, single: bool | None) -> None:
    """out ← out + K Cᵀ with K = 2^−|AB|, of which only a tile is ever in memory.

    S holds B (p, m) in strips of `STRIP` columns, one after the other, each C-contiguous; C is
    (k, m). All are float64 and `single` is None, or float32 and `single` is True: None has a type
    of its own, so that only one of two branches is compiled.
    """
    (n, p), (k, m) = A.shape, C.shape
    memory, zero = np.empty(ROWS * STRIP, A.dtype), A.dtype.type(0)
    for start in range(0, m, STRIP):
        w = min(STRIP, m - start)
        strip = S[p * start : p * (start + w)].reshape(p, w)
        for i in range(0, n, ROWS):
            r = min(ROWS, n - i)
            K = memory[: r * w].reshape(r, w)
            np.dot(A[i : i + r], strip, K)
            for a in range(r):
                z, c, total = K[a], C[0, start : start + w], zero
                if k == 1:
                    if single is None:
                        for j in range(w):
                            total += c[j] * power_of_two(z[j])
                    else:
                        for j in range(w):
                            total += c[j] * power_of_two32(z[j])
                    out[i + a, 0] += total
                else:
                    if single is None:
                        for j in range(w):
                            z[j] = power_of_two(z[j])
                    else:
                        for j in range(w):
                            z[j] = power_of_two32(z[j])
                    for q in range(k):
                        c, total = C[q, start : start + w], zero
                        for j in range(w):
                            total += c[j] * z[j]
                        out[i + a, q] += total


@kernel
def manhattan(K: Array, X: Array, Y: Array, gamma: float) -> None:
    """K_ij = −γ Σ_k |x_ik − y_jk|"""
    for i in range(len(X)):
        x = X[i]
        for j in range(len(Y)):
            y, s = Y[j], gamma - gamma
            for k in range(len(x)):
                s += abs(x[k] - y[k])
            K[i, j] = -gamma * s


@kernel
def pairwise(f: Callable[[Array, Array], float], X: Array, Y: Array, K: Array) -> None:
    """K_ij = f(x_i, y_j)"""
    for i in range(len(X)):
        for j in range(len(Y)):
            K[i, j] = f(X[i], Y[j])


@cache
def row_function(f: Any) -> Any:
    """The pointer by which `pairwise` calls a jitted f(u, v): one type for all f, so one kernel."""
    if PURE_PYTHON:
        return getattr(f, "py_func", f)  # a plain function where NUMBA_DISABLE_JIT is set
    numba = import_numba()
    row = numba.types.Array(numba.float64, 1, "C")
    return numba.cfunc(numba.float64(row, row))(f.py_func)
