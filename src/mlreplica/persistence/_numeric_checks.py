"""Checks of transformers of numbers: what must hold before compiled loops see their attributes"""

import numpy as np

from ._container import require


def columns(state):
    """p"""
    p = state.get("n_features_in_")
    require(type(p) is int and p > 0, "n_features_in_")
    return p


def scaler(state):
    """A number per column, or none at all."""
    p = columns(state)
    for name in ("mean_", "var_", "scale_", "center_", "min_", "data_min_", "data_max_"):
        value = state.get(name)
        require(value is None or is_numbers(value, (p,)), name)


def limits(state):
    """Two limits per column."""
    p = columns(state)
    for name in ("lower_", "upper_"):
        require(is_numbers(state.get(name), (p,)), name)


def only_columns(state):
    """Nothing was learned but how many columns there are."""
    if "n_features_in_" in state:
        columns(state)
    for name in ("_min_degree", "_max_degree", "n_output_features_"):
        value = state.get(name, 0)
        require(type(value) is int and value >= 0, name)


def kernel_means(state):
    """A mean per column of the kernel."""
    require(is_numbers(state.get("K_fit_rows_"), (columns(state),)), "K_fit_rows_")


def quantiles(state):
    """As many quantiles of each column as references."""
    p, r = columns(state), state.get("references_")
    require(isinstance(r, np.ndarray) and r.ndim == 1 and len(r) > 0, "references_")
    require(is_numbers(state.get("quantiles_"), (len(r), p)), "quantiles_")
    require(state.get("n_quantiles_") == len(r), "n_quantiles_")


def powers(state):
    """An exponent per column."""
    require(is_numbers(state.get("lambdas_"), (columns(state),)), "lambdas_")


def bins(state):
    """Sorted cuts of every column."""
    p, edges, counts = columns(state), state.get("bin_edges_"), state.get("n_bins_")
    require(isinstance(edges, np.ndarray) and edges.shape == (p,), "bin_edges_")
    require(is_numbers(counts, (p,), "i"), "n_bins_")
    for e, m in zip(edges, counts, strict=True):
        require(is_numbers(e, (m + 1,)) and m > 0 and (np.diff(e) >= 0).all(), "bin_edges_")


def splines(state):
    """Knots of every column, enough for the degree."""
    p, d, t = columns(state), state.get("degree"), state.get("_t")
    require(type(d) is int and d >= 0, "degree")
    require(isinstance(t, np.ndarray) and t.ndim == 2 and t.shape[1] == p, "_t")
    require(t.dtype == np.float64 and len(t) >= 2 * d + 2, "_t")
    require(type(state.get("n_features_out_")) is int, "n_features_out_")


def curve(state):
    """Corners of a curve: x that ascends, and a value at each."""
    x = state["X_thresholds_"]
    require(isinstance(x, np.ndarray) and x.ndim == 1 and len(x) > 0, "X_thresholds_")
    require(is_numbers(x, x.shape) and (np.diff(x) > 0).all(), "X_thresholds_")
    require(is_numbers(state["y_thresholds_"], x.shape), "y_thresholds_")


def is_numbers(value, shape, kind="f"):
    """Whether `value` is an array of this shape and kind."""
    return isinstance(value, np.ndarray) and value.shape == shape and value.dtype.kind == kind


NUMERIC = {
    "scaler": (("n_features_in_",), scaler),
    "limits": (("lower_", "upper_"), limits),
    "only_columns": ((), only_columns),
    "kernel_means": (("K_fit_rows_",), kernel_means),
    "quantiles": (("quantiles_", "references_"), quantiles),
    "powers": (("lambdas_",), powers),
    "bins": (("bin_edges_", "n_bins_"), bins),
    "splines": (("_t",), splines),
    "isotonic": (("X_thresholds_", "y_thresholds_"), curve),
}
