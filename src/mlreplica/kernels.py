"""Kernels: K(X, Y) objects, their algebra and their feature maps."""

from .core.kernel_algebra import Constant, Kernel, Product, Scaled, ScaledBy, Sum, resolve_gamma
from .core.kernels import (
    NAMES,
    RBF,
    Callable,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
    get,
    squared_norms,
)

__all__ = [
    "NAMES",
    "RBF",
    "Callable",
    "Constant",
    "Kernel",
    "Laplacian",
    "Linear",
    "Polynomial",
    "Precomputed",
    "Product",
    "Scaled",
    "ScaledBy",
    "Sigmoid",
    "Sum",
    "get",
    "resolve_gamma",
    "squared_norms",
]
