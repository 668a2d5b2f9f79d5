"""Checks of linear models and kernel machines"""

import numpy as np

from .._container import require
from .family import columns, family


@family("coef_")
def linear(state):
    """w for each score, and b."""
    p = columns(state)
    shape = state["coef_"].shape
    require(1 <= len(shape) <= 2 and shape[-1] == p, "coef_")
    rows = shape[0] if len(shape) == 2 else 1
    require(np.size(state.get("intercept_", 0.0)) in (1, rows), "intercept_")
    if "classes_" in state:
        require(rows in (1, len(state["classes_"])), "coef_")
    for name in ("_standard_coef", "_average_coef"):
        if state.get(name) is not None:
            require(state[name].shape == (rows, p) or state[name].shape == shape, name)
    for name in ("_standard_intercept", "_average_intercept"):
        if state.get(name) is not None:
            require(np.size(state[name]) == rows, name)


@family("support_", "_n_support")
def support_vectors(state):
    """n support vectors, a coefficient of each in every machine."""
    p = columns(state)
    n = len(state["support_"])
    require(state["support_"].ndim == 1 and state["support_"].dtype.kind == "i", "support_")
    counts, coef = state["_n_support"], state["_dual_coef_"]
    require(counts.ndim == 1 and (counts >= 0).all() and counts.sum() == n, "n_support_")
    require(len(coef.shape) == 2 and coef.shape[1] == n, "dual_coef_")
    require(coef.dtype == np.float64 and state["_intercept_"].ndim == 1, "dual_coef_")
    shape = state["support_vectors_"].shape
    require(shape in ((n, p), (0, 0)), "support_vectors_")
    if shape == (0, 0):
        require(type(state["_kernel"]).__name__ == "Precomputed" or n == 0, "support_vectors_")
        require(n == 0 or 0 <= state["support_"].min() <= state["support_"].max() < p, "support_")
    if "classes_" in state:
        k, rows = len(state["classes_"]), coef.shape[0]
        require(len(counts) == k and rows in (max(k - 1, 1), k), "dual_coef_")


@family("X_fit_", "kernel_")
def kernel_rows(state):
    """Rows of the training set and what they are multiplied with."""
    p = columns(state)
    X = state["X_fit_"].shape
    require(len(X) == 2 and X[1] == p, "X_fit_")
    name = "_A" if "_A" in state else "dual_coef_"
    require(state[name].shape[0] == X[0] and state[name].ndim <= 2, name)
    if "X_transformed_fit_" in state and "dual_coef_" in state:
        require(len(state["dual_coef_"]) == len(state["X_transformed_fit_"]), "dual_coef_")


@family("components_", "kernel_")
def components(state):
    """Nystroem's rows and what they are multiplied with."""
    p = columns(state)
    m = state["components_"].shape[0]
    require(state["components_"].shape == (m, p), "components_")
    require(state["normalization_"].shape == (m, m), "normalization_")


@family("random_weights_")
def random_features(state):
    """A weight for each column and feature, an offset for each feature."""
    p = columns(state)
    shape = state["random_weights_"].shape
    require(len(shape) == 2 and shape[0] == p, "random_weights_")
    require(state["random_offset_"].shape == shape[1:], "random_offset_")


@family("coef_", "_posterior", "_stats", "_accept_rates")
def posterior(state):
    """Draws of w and b: of a line with σ and α beside, of classes with a row for each score."""
    linear(state)
    p, found, m = columns(state), state["_posterior"], np.size(state.get("intercept_"))
    numbers = m * (p + 1) if "classes_" in state else p + 3
    require(found.dtype == np.float64 and found.ndim == 3 and found.size > 0, "_posterior")
    require(found.shape[2] == numbers and m == state["coef_"].size // p, "_posterior")
    if "classes_" not in state:
        require(np.shape(state.get("covariance_")) == (p + 1, p + 1), "covariance_")
