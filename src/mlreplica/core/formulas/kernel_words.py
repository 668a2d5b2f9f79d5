"""Kernel words: what scikit-learn's estimators call kernels, turned into kernels

A name with `gamma`, `degree` and `coef0`, where None stands for the default of the named kernel; or
a function of two rows with its `kernel_params`; or a `Kernel`; or a kernel of a Gaussian process.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

from .kernel_algebra import Array, Kernel, is_sparse
from .kernels import RBF, Callable, Laplacian, Linear, Polynomial, Precomputed, Sigmoid
from .kernels import squared_norms as squares

WORDS = {*PAIRWISE_KERNEL_FUNCTIONS, "precomputed"}
GAUSSIAN_PROCESS = "sklearn.gaussian_process.kernels"


def from_words(
    kernel: Any,
    gamma: float | None = None,
    degree: float | None = None,
    coef0: float | None = None,
    params: dict[str, Any] | None = None,
) -> Kernel:
    """The kernel that is meant; a name that is none of `WORDS` was refused before.

    Examples
    --------
    >>> from mlreplica.core.formulas.kernel_words import from_words
    >>> from_words("poly", degree=2)
    Polynomial(degree=2, gamma=None, coef0=1)
    """
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        library = sys.modules.get(GAUSSIAN_PROCESS)
        if library is not None and isinstance(kernel, library.Kernel):
            return Callable(kernel)
        return Callable(partial(kernel, **params) if params else kernel, rows=True)
    degree, coef0 = 3 if degree is None else degree, 1 if coef0 is None else coef0
    if kernel in ("poly", "polynomial"):
        if degree == int(degree) and degree >= 1:
            return Polynomial(int(degree), gamma, coef0)
        options = {"degree": degree, "gamma": gamma, "coef0": coef0}
        return Callable(partial(PAIRWISE_KERNEL_FUNCTIONS["poly"], **options))
    if kernel == "chi2":
        return Callable(
            partial(PAIRWISE_KERNEL_FUNCTIONS["chi2"], gamma=1.0 if gamma is None else gamma)
        )
    if kernel == "additive_chi2":
        return Callable(PAIRWISE_KERNEL_FUNCTIONS["additive_chi2"])
    return {
        "linear": Linear(),
        "rbf": RBF(gamma),
        "laplacian": Laplacian(gamma),
        "sigmoid": Sigmoid(gamma, coef0),
        "cosine": Linear().scaled_by(inverse_lengths),
        "precomputed": Precomputed(),
    }[kernel]


def is_precomputed(kernel: Any) -> bool:
    """Whether rows are rows of the kernel's matrix."""
    return isinstance(kernel, Precomputed) or (isinstance(kernel, str) and kernel == "precomputed")


def square(X: Any) -> Array:
    """A precomputed matrix, which must be square, dense."""
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            "Precomputed metric requires shape (n_queries, n_indexed). "
            f"Got ({X.shape[0]}, {X.shape[1]}) for {X.shape[0]} indexed."
        )
    return np.asarray(X.toarray() if is_sparse(X) else X)


def inverse_lengths(X: Any) -> Array:
    """1/‖x_i‖ of every row, 0 of a row of zeros"""
    lengths = np.sqrt(squares(X))
    return np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0.0)
