"""Vector loops for kernels, under names one can read: they compile to SIMD and allocate nothing"""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from mlreplica.core.compile.jit import kernel

Vector: TypeAlias = npt.NDArray[np.float64]


@kernel
def dot(x: Vector, y: Vector) -> float:
    """xᵀy"""
    s = 0.0
    for i in range(len(x)):
        s += x[i] * y[i]
    return s


@kernel
def add_scaled(y: Vector, a: float, x: Vector) -> None:
    """y ← y + a·x, in place."""
    for i in range(len(y)):
        y[i] += a * x[i]
