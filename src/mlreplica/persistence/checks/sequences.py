"""Checks of models of sequences"""

import numpy as np

from .._container import require
from .family import family


@family("startprob_", "transmat_")
def hidden_markov(state):
    """K states: shares of first states and of transitions, and a row of each parameter."""
    K = state["n_components"]
    require(type(K) is int and K > 0, "n_components")
    shapes = {"startprob_": (K,), "transmat_": (K, K)}
    for name, shape in shapes.items():
        require(isinstance(state[name], np.ndarray) and state[name].dtype == np.float64, name)
        require(state[name].shape == shape and np.isfinite(state[name]).all(), name)
    for name in ("means_", "lambdas_", "dispersions_", "emissionprob_", "weights_"):
        if name in state:
            value = state[name]
            require(isinstance(value, np.ndarray) and value.dtype == np.float64, name)
            require(value.ndim >= 2 and len(value) == K and np.isfinite(value).all(), name)


@family("coef_", "starts_", "attributes_in_")
def random_field(state):
    """A weight for each pair of attribute and label, and for each transition."""
    L, starts, labels = state["n_labels_"], state["starts_"], state["feature_labels_"]
    pairs, w, names = state["pairs_"], state["coef_"], state["attributes_in_"]
    require(type(L) is int and L == len(state["labels_"]) > 0, "labels_")
    require(starts.dtype == labels.dtype == pairs.dtype == np.int64, "starts_")
    require(starts.shape == (len(names) + 1,) and starts[0] == 0, "starts_")
    require((np.diff(starts) >= 0).all() and starts[-1] == len(labels), "starts_")
    require(labels.ndim == 1 and pairs.ndim == 2 and pairs.shape[1] == 2, "pairs_")
    for found in (labels, pairs):
        require(found.size == 0 or 0 <= found.min() <= found.max() < L, "feature_labels_")
    require(w.dtype == np.float64 and w.shape == (len(labels) + len(pairs),), "coef_")
    require(np.isfinite(w).all(), "coef_")


@family("n_columns_")
def words(state):
    """How many columns a word has."""
    require(type(state["n_columns_"]) is int and state["n_columns_"] > 0, "n_columns_")
