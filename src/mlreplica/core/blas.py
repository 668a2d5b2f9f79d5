"""Vector loops for kernels, under names one can read: they compile to SIMD and allocate nothing"""

from .jit import kernel


@kernel
def dot(x, y):
    """xᵀy"""
    s = 0.0
    for i in range(len(x)):
        s += x[i] * y[i]
    return s


@kernel
def add_scaled(y, a, x):
    """y ← y + a·x, in place."""
    for i in range(len(y)):
        y[i] += a * x[i]
