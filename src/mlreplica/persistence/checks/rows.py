"""Checks of models that keep rows, centres or mixtures of them"""

import numpy as np

from .._container import require
from .family import columns, family


@family("cluster_centers_")
def centres(state):
    """k centres with as many coordinates as X has columns."""
    p = columns(state)
    require(state["cluster_centers_"].ndim == 2, "cluster_centers_")
    require(state["cluster_centers_"].shape[1] == p, "cluster_centers_")
    require(state["cluster_centers_"].dtype.kind == "f", "cluster_centers_")


@family("cluster_centers_", "_children", "_leaf", "_node_centers")
def bisection(state):
    """Centres, and a tree in which every child comes after its parent."""
    centres(state)
    children, leaf = state["_children"], state["_leaf"]
    nodes = len(leaf)
    require(children.shape == (nodes, 2) and children.dtype.kind == "i", "_children")
    inner = leaf < 0
    require((children[inner] > np.flatnonzero(inner)[:, None]).all(), "_children")
    require((children < nodes).all() and leaf.max() < len(state["cluster_centers_"]), "_leaf")
    require(state["_node_centers"].shape == (nodes, columns(state)), "_node_centers")


@family("labels_", "core_sample_indices_", "components_")
def core_rows(state):
    """A label for each row, and the core rows, which are among them."""
    labels, core = state["labels_"], state["core_sample_indices_"]
    require(
        labels.ndim == core.ndim == 1 and labels.dtype.kind == core.dtype.kind == "i", "labels_"
    )
    require(core.size == 0 or 0 <= core.min() <= core.max() < len(labels), "core_sample_indices_")
    require(state["components_"].shape == (len(core), columns(state)), "components_")


@family("labels_", "probabilities_", "single_linkage_tree_", "condensed_tree_", "_label_of")
def density_tree(state):
    """Labels and probabilities of n rows, n − 1 joins whose nodes come before them, clusters."""
    n, tree = len(state["labels_"]), state["single_linkage_tree_"]
    require(state["labels_"].dtype.kind == "i" and state["labels_"].ndim == 1, "labels_")
    require(state["probabilities_"].shape == (n,), "probabilities_")
    require(tree.shape == (n - 1, 4) and tree.dtype == np.float64, "single_linkage_tree_")
    nodes = tree[:, :2]
    limit = n + np.arange(n - 1)[:, None]
    require(((nodes >= 0) & (nodes < limit) & (nodes % 1 == 0)).all(), "single_linkage_tree_")
    X, core, label_of = state["_fit_X"], state["_core_distances"], state["_label_of"]
    rows, clusters = len(core), len(label_of)
    require(1 < rows <= n and (X is None or X.shape == (rows, columns(state))), "_fit_X")
    tree = state["condensed_tree_"]
    require(tree.shape == (rows + clusters - 1, 4) and tree.dtype == np.float64, "condensed_tree_")
    parent, child = tree[:, 0], tree[:, 1]
    require(
        (np.sort(child) == np.delete(np.arange(rows + clusters), rows)).all(), "condensed_tree_"
    )
    require(((rows <= parent) & (parent < rows + clusters)).all(), "condensed_tree_")
    require(((child < rows) | (parent < child)).all(), "condensed_tree_")
    require(label_of.dtype.kind == "i" and (label_of >= -1).all(), "_label_of")


@family("labels_", "medoid_indices_", "cluster_centers_")
def medoids(state):
    """k rows, and their numbers where distances were not given."""
    centers, rows = state["cluster_centers_"], state["medoid_indices_"]
    require(rows.ndim == 1 and rows.dtype.kind == "i" and len(rows) > 0, "medoid_indices_")
    if centers is None:
        require(0 <= rows.min() <= rows.max() < columns(state), "medoid_indices_")
    else:
        require(centers.shape == (len(rows), columns(state)), "cluster_centers_")


@family("labels_", "affinity_matrix_")
def labelled_rows(state):
    """A label for each row, and the affinities of all rows."""
    labels, A = state["labels_"], state["affinity_matrix_"]
    require(labels.ndim == 1 and labels.dtype.kind == "i", "labels_")
    require(A.shape == (len(labels), len(labels)), "affinity_matrix_")


@family("labels_", "children_", "n_leaves_")
def tree_of_joins(state):
    """Joins whose nodes come before them, and a label for every leaf."""
    n, children = state["n_leaves_"], state["children_"]
    require(type(n) is int and len(state["labels_"]) == n, "labels_")
    require(children.ndim == 2 and children.shape[1] == 2 and len(children) < n, "children_")
    require((children >= 0).all(), "children_")
    require((children < n + np.arange(len(children))[:, None]).all(), "children_")


@family("weights_", "means_", "covariances_", "precisions_cholesky_")
def mixture(state):
    """K means, weights, and precision triangles of the shape that the kind asks for."""
    p, K = columns(state), len(state["weights_"])
    require(state["means_"].shape == (K, p), "means_")
    shapes = {"full": (K, p, p), "tied": (p, p), "diag": (K, p), "spherical": (K,)}
    for name in ("covariances_", "precisions_cholesky_"):
        require(state[name].shape == shapes.get(state.get("covariance_type")), name)
        require(state[name].dtype.kind == "f", name)


@family("weights_", "means_", "mean_precision_")
def bayesian_mixture(state):
    """The same, with the parameters of the posterior."""
    mixture(state)
    K = len(state["weights_"])
    require(state["mean_precision_"].shape == (K,), "mean_precision_")
    require(np.size(state["degrees_of_freedom_"]) in (1, K), "degrees_of_freedom_")


@family("_fit_X", "n_samples_fit_")
def neighbours(state):
    """Rows, and codes of classes that are there."""
    n, p = state["_fit_X"].shape
    require(state["n_samples_fit_"] == n and state["n_features_in_"] == p, "n_samples_fit_")
    require(state["_fit_method"] in ("brute", "kd_tree", "ball_tree"), "_fit_method")
    if "_y" in state:
        require(len(state["_y"]) == n, "_y")
    if "classes_" in state:
        codes = np.asarray(state["_y"]).reshape(n, -1).T
        named = state["classes_"] if state["outputs_2d_"] else [state["classes_"]]
        require(len(named) == len(codes) and codes.dtype == np.int64, "classes_")
        for k, classes in zip(codes, named, strict=True):
            require(k.min() >= 0 and k.max() < len(classes), "_y")
    for name in ("_lrd", "_d_k"):
        require(name not in state or state[name].shape == (n,), name)


@family("_rows", "bandwidth_")
def density(state):
    """Rows, and a weight for each."""
    p, X, w = columns(state), state["_rows"], state["_weights"]
    require(X.ndim == 2 and X.shape[1] == p and X.dtype == np.float64, "_rows")
    require(w is None or (w.shape == (len(X),) and w.dtype == np.float64), "_weights")
    require(state["_kind"] in ("kd_tree", "ball_tree"), "_kind")


@family("classes_")
def prototypes(state):
    """Some points of known classes."""
    p, W = columns(state), state["centroids_" if "centroids_" in state else "prototypes_"]
    require(W.ndim == 2 and W.shape[1] == p, "prototypes_")
    if "_codes" in state:
        codes = state["_codes"]
        require(codes.shape == (len(W),) and codes.dtype == np.int64, "_codes")
        require(codes.min() >= 0 and codes.max() < len(state["classes_"]), "_codes")
        require(state["omega_"].shape[1] == p and state["omega_"].dtype == np.float64, "omega_")
