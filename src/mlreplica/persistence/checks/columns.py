"""Checks of transformers of columns"""

import numpy as np

from .._container import require
from .family import columns, family


def is_numbers(value, shape, kind="f"):
    """Whether `value` is an array of this shape and kind."""
    return isinstance(value, np.ndarray) and value.shape == shape and value.dtype.kind == kind


@family("n_features_in_")
def scaler(state):
    """A number per column, or none at all."""
    p = columns(state)
    for name in ("mean_", "var_", "scale_", "center_", "min_", "data_min_", "data_max_"):
        value = state.get(name)
        require(value is None or is_numbers(value, (p,)), name)


@family("lower_", "upper_")
def limits(state):
    """Two limits per column."""
    p = columns(state)
    for name in ("lower_", "upper_"):
        require(is_numbers(state.get(name), (p,)), name)


@family()
def only_columns(state):
    """Nothing was learned but how many columns there are."""
    if "n_features_in_" in state:
        columns(state)
    for name in ("_min_degree", "_max_degree", "n_output_features_"):
        value = state.get(name, 0)
        require(type(value) is int and value >= 0, name)


@family("K_fit_rows_")
def kernel_means(state):
    """A mean per column of the kernel."""
    require(is_numbers(state.get("K_fit_rows_"), (columns(state),)), "K_fit_rows_")


@family("quantiles_", "references_")
def quantiles(state):
    """As many quantiles of each column as references."""
    p, r = columns(state), state.get("references_")
    require(isinstance(r, np.ndarray) and r.ndim == 1 and len(r) > 0, "references_")
    require(is_numbers(state.get("quantiles_"), (len(r), p)), "quantiles_")
    require(state.get("n_quantiles_") == len(r), "n_quantiles_")


@family("lambdas_")
def powers(state):
    """An exponent per column."""
    require(is_numbers(state.get("lambdas_"), (columns(state),)), "lambdas_")


@family("bin_edges_", "n_bins_")
def bins(state):
    """Sorted cuts of every column."""
    p, edges, counts = columns(state), state.get("bin_edges_"), state.get("n_bins_")
    require(isinstance(edges, np.ndarray) and edges.shape == (p,), "bin_edges_")
    require(is_numbers(counts, (p,), "i"), "n_bins_")
    for e, m in zip(edges, counts, strict=True):
        require(is_numbers(e, (m + 1,)) and m > 0 and (np.diff(e) >= 0).all(), "bin_edges_")


@family("_t")
def splines(state):
    """Knots of every column, enough for the degree."""
    p, d, t = columns(state), state.get("degree"), state.get("_t")
    require(type(d) is int and d >= 0, "degree")
    require(isinstance(t, np.ndarray) and t.ndim == 2 and t.shape[1] == p, "_t")
    require(t.dtype == np.float64 and len(t) >= 2 * d + 2, "_t")
    require(type(state.get("n_features_out_")) is int, "n_features_out_")


@family("X_thresholds_", "y_thresholds_")
def isotonic(state):
    """Corners of a curve: x that ascends, and a value at each."""
    x = state["X_thresholds_"]
    require(isinstance(x, np.ndarray) and x.ndim == 1 and len(x) > 0, "X_thresholds_")
    require(is_numbers(x, x.shape) and (np.diff(x) > 0).all(), "X_thresholds_")
    require(is_numbers(state["y_thresholds_"], x.shape), "y_thresholds_")


@family("location_", "scale_", "lower_", "upper_", "offset_")
def column_limits(state):
    """A middle, a unit and two limits for every column."""
    p, names = columns(state), ["location_", "scale_", "lower_", "upper_"]
    names += [name for name in ("lower_quartile_", "upper_quartile_") if name in state]
    for name in names:
        value = state[name]
        require(isinstance(value, np.ndarray) and value.dtype == np.float64, name)
        require(value.shape == (p,), name)


@family()
def selected(state):
    """A number or a bool for each column."""
    if "estimator_" in state and "n_features_in_" not in state:
        return  # the model knows its columns
    p = columns(state)
    for name in (
        "variances_", "scores_", "pvalues_", "support_", "ranking_", "stability_scores_",
        "statistics_", "s_",
    ):  # fmt: skip
        if state.get(name) is not None:
            require(np.shape(state[name]) == (p,), name)
    if "support_" in state:
        require(state["support_"].dtype == bool, "support_")


def lists_of(state, *names):
    """A list for each name, with a one-dimensional array for each column."""
    p = columns(state)
    for name in names:
        found = state[name]
        require(isinstance(found, list) and len(found) == p, name)
        require(all(type(a) is np.ndarray and a.ndim == 1 for a in found), name)


@family("categories_")
def categories(state):
    """Categories of each column, and numbers of those that are infrequent, dropped or missing."""
    lists_of(state, "categories_")
    sizes = [len(known) for known in state["categories_"]]
    rare = state.get("_infrequent", [None] * len(sizes))
    require(isinstance(rare, list) and len(rare) == len(sizes), "infrequent_categories_")
    for numbers, size in zip(rare, sizes, strict=True):
        if numbers is not None:
            require(numbers.dtype.kind == "i" and numbers.ndim == 1, "infrequent_categories_")
            require(np.isin(numbers, np.arange(size)).all(), "infrequent_categories_")
    dropped = state.get("drop_idx_")
    if dropped is not None:
        require(len(dropped) == len(sizes), "drop_idx_")
        pairs = zip(dropped, sizes, strict=True)
        require(all(c is None or c in range(size) for c, size in pairs), "drop_idx_")
    gaps = state.get("_missing_indices", {})
    require(isinstance(gaps, dict) and set(gaps) <= set(range(len(sizes))), "categories_")
    require(all(gap == sizes[j] - 1 for j, gap in gaps.items()), "categories_")


@family("categories_", "encodings_", "target_mean_")
def encodings(state):
    """A number for every category, of each column and class."""
    categories(state)
    targets, found = np.size(state["target_mean_"]), state["encodings_"]
    sizes = [len(known) for known in state["categories_"] for _ in range(targets)]
    require(
        isinstance(found, list) and [e.shape for e in found] == [(k,) for k in sizes], "encodings_"
    )
    require(all(e.dtype == np.float64 for e in found), "encodings_")


@family("categories_", "rare_categories_")
def kept_categories(state):
    """Categories of each column that are kept, and those that are joined."""
    lists_of(state, "categories_", "rare_categories_")


@family("classes_")
def classes(state):
    """The classes of a target."""
    require(type(state["classes_"]) is np.ndarray and state["classes_"].ndim == 1, "classes_")


@family("origin_")
def dates(state):
    """From when elapsed time counts, for each column."""
    found = state["origin_"]
    require(found.shape == (columns(state),) and found.dtype == np.float64, "origin_")


@family("_fit_X", "_mask_fit_X", "_valid_mask")
def gaps(state):
    """Rows, where they have gaps, and which columns have a value."""
    p, X = columns(state), state["_fit_X"]
    require(X.ndim == 2 and X.shape[1] == p and X.dtype.kind == "f", "_fit_X")
    for name, shape in (("_mask_fit_X", X.shape), ("_valid_mask", (p,))):
        require(state[name].shape == shape and state[name].dtype == bool, name)


@family("features_")
def marks(state):
    """Columns of X that are there."""
    found = state["features_"]
    require(found.ndim == 1 and found.dtype.kind == "i", "features_")
    require(found.size == 0 or 0 <= found.min() <= found.max() < columns(state), "features_")


@family("indicator_")
def filled(state):
    """A value for each column; or steps that predict columns from columns."""
    p = columns(state)
    if "statistics_" in state:
        require(state["statistics_"].shape == (p,), "statistics_")
        return
    require(state["_empty"].shape == (p,) and state["_empty"].dtype == bool, "_empty")
    p = p if state["keep_empty_features"] else int((~state["_empty"]).sum())
    for name in ("_low", "_high"):
        require(state[name].shape == (p,) and state[name].dtype == np.float64, name)
    for j, others, _ in state["_steps"]:
        require(type(j) is int and 0 <= j < p and others.dtype.kind == "i", "_steps")
        require(others.size == 0 or 0 <= others.min() <= others.max() < p, "_steps")
    if state["_packed_steps"] is not None:
        column, W, b = state["_packed_steps"]
        S = len(column)
        require(column.dtype == np.int64 and column.ndim == 1, "_packed_steps")
        require(S == 0 or 0 <= column.min() <= column.max() < p, "_packed_steps")
        require(W.shape == (S, p) and b.shape == (S,), "_packed_steps")
        require(W.dtype == b.dtype == np.float64, "_packed_steps")


@family()
def plain(state):
    """Nothing was learned."""
    require(not any(name.endswith("_") for name in state), "an attribute")
