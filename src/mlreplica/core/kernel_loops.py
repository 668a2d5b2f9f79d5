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

from .exp import exp32, exp32_of, exp64, exp_of
from .jit import PURE_PYTHON, import_numba, kernel

Array: TypeAlias = npt.NDArray[Any]


def exp_in_place(K: Array) -> None:
    """K ← e^K"""
    (exp32 if K.dtype == np.float32 else exp64)(K.reshape(-1))


def gaussian(K: Array, x_sq: Array, y_sq: Array, gamma: float) -> None:
    """K = XYᵀ becomes exp(−γ‖x_i − y_j‖²), by equation (4)"""
    (gaussian32 if K.dtype == np.float32 else gaussian64)(K, x_sq, y_sq, gamma)


@kernel
def gaussian64(K: Array, x_sq: Array, y_sq: Array, gamma: float) -> None:
    """`gaussian` in double precision; no distance is below 0 by rounding."""
    for i in range(len(K)):
        row, a = K[i], x_sq[i]
        for j in range(len(row)):
            d = (a + y_sq[j]) - (row[j] + row[j])  # symmetric in i and j, bit for bit
            row[j] = exp_of(-gamma * d if d > 0.0 else 0.0)


@kernel
def gaussian32(K: Array, x_sq: Array, y_sq: Array, gamma: np.float32) -> None:
    """`gaussian` in single precision"""
    zero = np.float32(0.0)
    for i in range(len(K)):
        row, a = K[i], x_sq[i]
        for j in range(len(row)):
            d = (a + y_sq[j]) - (row[j] + row[j])
            row[j] = exp32_of(-gamma * d if d > zero else zero)


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
        return f.py_func
    numba = import_numba()
    row = numba.types.Array(numba.float64, 1, "C")
    return numba.cfunc(numba.float64(row, row))(f.py_func)
