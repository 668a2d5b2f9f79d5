"""Fused: g and h of the two losses that classification spends its time in, by one exponential each

What `formulas.py` says of the logistic loss (4) and the multinomial loss (10), for whole blocks of
rows; all arrays are contiguous, g and h are written.
"""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mlreplica.core.compile.jit import kernel

from .exp import exp64
from .loss_formulas import logistic_slopes

Array: TypeAlias = npt.NDArray[np.float64]


@kernel
def logistic_derivatives(y: Array, f: Array, g: Array, h: Array) -> None:
    """`logistic_slopes` of every row"""
    for i in range(len(f)):
        h[i] = -abs(f[i])
    exp64(h)
    for i in range(len(f)):
        g[i], h[i] = logistic_slopes(y[i], f[i], h[i])


@kernel
def multinomial_derivatives(y: npt.NDArray[Any], f: Array, g: Array, h: Array) -> None:
    """With p = softmax(f): g = p − (one where the class is y), h = p(1 − p)"""
    n, k = f.shape
    for i in range(n):
        top = f[i].max()
        for j in range(k):
            g[i, j] = f[i, j] - top
    exp64(g.reshape(n * k))
    for i in range(n):
        total = g[i].sum()
        for j in range(k):
            g[i, j] /= total
            h[i, j] = g[i, j] * (1.0 - g[i, j])
        g[i, y[i]] -= 1.0
