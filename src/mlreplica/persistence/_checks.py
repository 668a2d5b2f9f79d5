"""Checks: what the attributes of a model must satisfy before compiled loops see them

Kernels do not look whether a position is in range or two arrays fit together; `fit` makes them so.
A file need not have come from `fit`. Each check below is a table of such facts for one family of
models, with p the number of columns of X, which every fitted model knows.
"""

import numpy as np
from sklearn.base import BaseEstimator

from mlreplica.calibration._classifier import CalibratedMember
from mlreplica.core.card import card_of
from mlreplica.core.growth.tree import Tree
from mlreplica.ensemble.histogram.predict import HistTree
from mlreplica.ensemble.isolation.trees import Forest

from ._container import require
from ._numeric_checks import NUMERIC
from ._trees import isolation_columns
from ._types import PRIVATE

MOST = 254  # thresholds of a column, so that its codes are bytes


def check(kind, state):
    """Raise ValueError if the attributes cannot be those of a fitted (or a new) estimator.

    The card of an estimator names its checks; a file of an estimator without checks is refused.
    """
    require(all(isinstance(name, str) for name in state), f"an attribute of {kind.__name__}")
    if (
        kind in PRIVATE.values()
        or kind.__module__.startswith("sklearn.")
        or kind.__name__ == "Columns"
    ):
        return
    checks = getattr(card_of(kind), "checks", None)
    if checks is None:
        raise ValueError(
            f"{kind.__name__} has no checks of its file on its card, so the file is not loaded."
        )
    names, family = FAMILIES[checks] if isinstance(checks, str) else ((), checks)
    if any(name.endswith("_") or name in names for name in state):  # fitted
        try:
            require(all(name in state for name in names), f"a model without {' or '.join(names)}")
            family(state)
        except ValueError as error:
            raise ValueError(f"{kind.__name__}: {error}") from None


def columns(state):
    """p"""
    p = state.get("n_features_in_")
    require(type(p) is int and p > 0, "n_features_in_")
    return p


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


def kernel_rows(state):
    """Rows of the training set and what they are multiplied with."""
    p = columns(state)
    X = state["X_fit_"].shape
    require(len(X) == 2 and X[1] == p, "X_fit_")
    name = "_A" if "_A" in state else "dual_coef_"
    require(state[name].shape[0] == X[0] and state[name].ndim <= 2, name)
    if "X_transformed_fit_" in state and "dual_coef_" in state:
        require(len(state["dual_coef_"]) == len(state["X_transformed_fit_"]), "dual_coef_")


def components(state):
    """Nystroem's rows and what they are multiplied with."""
    p = columns(state)
    m = state["components_"].shape[0]
    require(state["components_"].shape == (m, p), "components_")
    require(state["normalization_"].shape == (m, m), "normalization_")


def random_features(state):
    """A weight for each column and feature, an offset for each feature."""
    p = columns(state)
    shape = state["random_weights_"].shape
    require(len(shape) == 2 and shape[0] == p, "random_weights_")
    require(state["random_offset_"].shape == shape[1:], "random_offset_")


def one_tree(state):
    """A tree over the columns of X."""
    p = columns(state)
    require(isinstance(state["tree_"], Tree) and state["tree_"].n_features == p, "tree_")


def forest(state):
    """Trees over the columns of X whose leaves have one shape."""
    p = columns(state)
    alike(state["_trees"], p)
    require(len(state["_seeds"]) == len(state["_trees"]), "_seeds")


def members(state):
    """Trees that are packed together must be alike; other members look after themselves."""
    found = [getattr(member, "tree_", None) for member in np.ravel(state["estimators_"])]
    trees = [tree for tree in found if tree is not None]
    if trees and len(trees) == len(found) and "estimators_features_" not in state:
        alike(trees, columns(state))


def consensus(state):
    """A model, and which rows agree with it."""
    columns(state)
    inliers = state["inlier_mask_"]
    require(isinstance(state["estimator_"], BaseEstimator), "estimator_")
    require(isinstance(inliers, np.ndarray) and inliers.dtype == bool, "inlier_mask_")


def alike(trees, p):
    """Trees over p columns whose leaves have one shape."""
    require(len(trees) > 0 and all(isinstance(tree, Tree) for tree in trees), "a tree")
    require(all(tree.n_features == p for tree in trees), "the columns of a tree")
    require(len({tree.value.shape[1:] for tree in trees}) == 1, "the leaves of a tree")


def calibrated(state):
    """Members for the same classes, each with a curve or more."""
    classes(state)
    found = state["calibrated_classifiers_"]
    require(isinstance(found, list) and len(found) > 0, "calibrated_classifiers_")
    for member in found:
        require(type(member) is CalibratedMember and member.calibrators, "a calibrated classifier")
        same = np.array_equal(member.classes, state["classes_"])
        require(same and np.isin(member.estimator.classes_, member.classes).all(), "classes_")


def boosted(state):
    """Rounds of as many trees as there are scores, and codes that are bytes."""
    p = columns(state)
    K, rounds = state["n_trees_per_iteration_"], state["_predictors"]
    require(type(K) is int and state["_baseline_prediction"].shape == (1, K), "the first score")
    require(isinstance(rounds, list) and all(len(trees) == K for trees in rounds), "a round")
    trees = [tree for trees in rounds for tree in trees]
    require(all(isinstance(tree, HistTree) for tree in trees), "a tree")
    if not trees:
        return
    column = np.concatenate([tree.column for tree in trees])
    threshold = np.concatenate([tree.threshold for tree in trees])[column >= 0]
    require(column.max() < p, "the columns of a tree")
    pairs = np.unique(np.column_stack([column[column >= 0], threshold]), axis=0)
    require(np.bincount(pairs[:, 0].astype(np.int64), minlength=1).max() <= MOST, "a threshold")


def isolation(state):
    """Columns, and draws of them and of rows, that are there."""
    p = columns(state)
    forests = state["_forests"]
    require(isinstance(forests, list) and len(forests) > 0, "a forest")
    require(all(isinstance(forest, Forest) for forest in forests), "a forest")
    for forest in forests:
        require((isolation_columns(forest) < p).all(), "the columns of a tree")
    require(len(state["_seeds"]) == sum(len(forest.size) for forest in forests), "_seeds")
    require(type(state["_max_features"]) is int and 1 <= state["_max_features"] <= p, "columns")
    drawn, n = state["max_samples_"], state["_n"]
    require(type(drawn) is int and type(n) is int and 1 <= drawn <= n, "max_samples_")


def centres(state):
    """k centres with as many coordinates as X has columns."""
    p = columns(state)
    require(state["cluster_centers_"].ndim == 2, "cluster_centers_")
    require(state["cluster_centers_"].shape[1] == p, "cluster_centers_")
    require(state["cluster_centers_"].dtype.kind == "f", "cluster_centers_")


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


def components_only(state):
    """Directions or parts, one number for each column."""
    p = columns(state)
    require(state["components_"].ndim == 2 and state["components_"].shape[1] == p, "components_")


def projection(state):
    """Directions, their variances, and a mean."""
    components_only(state)
    p, k = columns(state), len(state["components_"])
    require(state["mean_"].shape == (p,), "mean_")
    require(state["explained_variance_"].shape == (k,), "explained_variance_")
    require(state.get("scale_") is None or state["scale_"].shape == (p,), "scale_")


def covariance(state):
    """A mean, a matrix, and perhaps its inverse."""
    p = columns(state)
    require(state["location_"].shape == (p,), "location_")
    require(state["covariance_"].shape == (p, p), "covariance_")
    inverse = state.get("precision_")
    require(inverse is None or inverse.shape == (p, p), "precision_")


def quadratic(state):
    """Mean, axes and variances of every class."""
    p, K = columns(state), len(state["classes_"])
    require(state["means_"].shape == (K, p) and len(state["priors_"]) == K, "means_")
    require(len(state["scalings_"]) == len(state["rotations_"]) == K, "scalings_")
    for scaling, rotation in zip(state["scalings_"], state["rotations_"], strict=True):
        require(scaling.shape == (p,) and rotation.shape == (p, p), "rotations_")
    require(state["whitening_"].shape == (K, p, p), "whitening_")
    require(state["log_det_"].shape == (K,), "log_det_")


def naive_bayes(state):
    """Numbers for every column and class: moments, or logarithms of probabilities."""
    p, K = columns(state), len(state["classes_"])
    if "theta_" in state:
        shapes = [np.shape(state[name]) for name in ("theta_", "var_")]
        require(shapes == [(K, p)] * 2 and len(state["class_prior_"]) == K, "theta_")
        shapes = [np.shape(values) for values in state["_moments"]]
        require(shapes == [(K,), (K, p), (K, p)], "_moments")
        return
    logs = state["feature_log_prob_"]
    require(len(state["class_log_prior_"]) == K, "class_log_prior_")
    if isinstance(logs, list):
        require(len(logs) == p and all(len(table) == K for table in logs), "feature_log_prob_")
    else:
        require(logs.shape == (K, p), "feature_log_prob_")


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


def density(state):
    """Rows, and a weight for each."""
    p, X, w = columns(state), state["_rows"], state["_weights"]
    require(X.ndim == 2 and X.shape[1] == p and X.dtype == np.float64, "_rows")
    require(w is None or (w.shape == (len(X),) and w.dtype == np.float64), "_weights")
    require(state["_kind"] in ("kd_tree", "ball_tree"), "_kind")


def prototypes(state):
    """Some points of known classes."""
    p, W = columns(state), state["centroids_" if "centroids_" in state else "prototypes_"]
    require(W.ndim == 2 and W.shape[1] == p, "prototypes_")
    if "_codes" in state:
        codes = state["_codes"]
        require(codes.shape == (len(W),) and codes.dtype == np.int64, "_codes")
        require(codes.min() >= 0 and codes.max() < len(state["classes_"]), "_codes")
        require(state["omega_"].shape[1] == p and state["omega_"].dtype == np.float64, "omega_")


def gaps(state):
    """Rows, where they have gaps, and which columns have a value."""
    p, X = columns(state), state["_fit_X"]
    require(X.ndim == 2 and X.shape[1] == p and X.dtype.kind == "f", "_fit_X")
    for name, shape in (("_mask_fit_X", X.shape), ("_valid_mask", (p,))):
        require(state[name].shape == shape and state[name].dtype == bool, name)


def marks(state):
    """Columns of X that are there."""
    found = state["features_"]
    require(found.ndim == 1 and found.dtype.kind == "i", "features_")
    require(found.size == 0 or 0 <= found.min() <= found.max() < columns(state), "features_")


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


def linear_map(state):
    """A row for each new column."""
    require(state["components_"].ndim == 2, "components_")
    require(state["components_"].shape[1] == columns(state), "components_")


def mixture(state):
    """K means, weights, and precision triangles of the shape that the kind asks for."""
    p, K = columns(state), len(state["weights_"])
    require(state["means_"].shape == (K, p), "means_")
    shapes = {"full": (K, p, p), "tied": (p, p), "diag": (K, p), "spherical": (K,)}
    for name in ("covariances_", "precisions_cholesky_"):
        require(state[name].shape == shapes.get(state.get("covariance_type")), name)
        require(state[name].dtype.kind == "f", name)


def bayesian_mixture(state):
    """The same, with the parameters of the posterior."""
    mixture(state)
    K = len(state["weights_"])
    require(state["mean_precision_"].shape == (K,), "mean_precision_")
    require(np.size(state["degrees_of_freedom_"]) in (1, K), "degrees_of_freedom_")


def tree_of_joins(state):
    """Joins whose nodes come before them, and a label for every leaf."""
    n, children = state["n_leaves_"], state["children_"]
    require(type(n) is int and len(state["labels_"]) == n, "labels_")
    require(children.ndim == 2 and children.shape[1] == 2 and len(children) < n, "children_")
    require((children >= 0).all(), "children_")
    require((children < n + np.arange(len(children))[:, None]).all(), "children_")


def core_rows(state):
    """A label for each row, and the core rows, which are among them."""
    labels, core = state["labels_"], state["core_sample_indices_"]
    require(
        labels.ndim == core.ndim == 1 and labels.dtype.kind == core.dtype.kind == "i", "labels_"
    )
    require(core.size == 0 or 0 <= core.min() <= core.max() < len(labels), "core_sample_indices_")
    require(state["components_"].shape == (len(core), columns(state)), "components_")


def density_tree(state):
    """Labels and probabilities of n rows, and n − 1 joins whose nodes come before them."""
    n, tree = len(state["labels_"]), state["single_linkage_tree_"]
    require(state["labels_"].dtype.kind == "i" and state["labels_"].ndim == 1, "labels_")
    require(state["probabilities_"].shape == (n,), "probabilities_")
    require(tree.shape == (n - 1, 4) and tree.dtype == np.float64, "single_linkage_tree_")
    nodes = tree[:, :2]
    limit = n + np.arange(n - 1)[:, None]
    require(((nodes >= 0) & (nodes < limit) & (nodes % 1 == 0)).all(), "single_linkage_tree_")


def medoids(state):
    """k rows, and their numbers where distances were not given."""
    centers, rows = state["cluster_centers_"], state["medoid_indices_"]
    require(rows.ndim == 1 and rows.dtype.kind == "i" and len(rows) > 0, "medoid_indices_")
    if centers is None:
        require(0 <= rows.min() <= rows.max() < columns(state), "medoid_indices_")
    else:
        require(centers.shape == (len(rows), columns(state)), "cluster_centers_")


def labelled_rows(state):
    """A label for each row, and the affinities of all rows."""
    labels, A = state["labels_"], state["affinity_matrix_"]
    require(labels.ndim == 1 and labels.dtype.kind == "i", "labels_")
    require(A.shape == (len(labels), len(labels)), "affinity_matrix_")


# The names on cards: the attributes that a fitted model of the family has, and its check.
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


def posterior(state):
    """Draws of w and b: of a line with σ and α beside, of classes with a row for each score."""
    linear(state)
    p, found, m = columns(state), state["_posterior"], np.size(state.get("intercept_"))
    numbers = m * (p + 1) if "classes_" in state else p + 3
    require(found.dtype == np.float64 and found.ndim == 3 and found.size > 0, "_posterior")
    require(found.shape[2] == numbers and m == state["coef_"].size // p, "_posterior")
    if "classes_" not in state:
        require(np.shape(state.get("covariance_")) == (p + 1, p + 1), "covariance_")


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


def encodings(state):
    """A number for every category, of each column and class."""
    categories(state)
    targets, found = np.size(state["target_mean_"]), state["encodings_"]
    sizes = [len(known) for known in state["categories_"] for _ in range(targets)]
    require(
        isinstance(found, list) and [e.shape for e in found] == [(k,) for k in sizes], "encodings_"
    )
    require(all(e.dtype == np.float64 for e in found), "encodings_")


def kept_categories(state):
    """Categories of each column that are kept, and those that are joined."""
    lists_of(state, "categories_", "rare_categories_")


def classes(state):
    """The classes of a target."""
    require(type(state["classes_"]) is np.ndarray and state["classes_"].ndim == 1, "classes_")


def dates(state):
    """From when elapsed time counts, for each column."""
    found = state["origin_"]
    require(found.shape == (columns(state),) and found.dtype == np.float64, "origin_")


def column_limits(state):
    """A middle, a unit and two limits for every column."""
    p, names = columns(state), ["location_", "scale_", "lower_", "upper_"]
    names += [name for name in ("lower_quartile_", "upper_quartile_") if name in state]
    for name in names:
        value = state[name]
        require(isinstance(value, np.ndarray) and value.dtype == np.float64, name)
        require(value.shape == (p,), name)


def plain(state):
    """Nothing was learned."""
    require(not any(name.endswith("_") for name in state), "an attribute")


def search(state):
    """Scores of the settings, and the best of them with its model."""
    require(type(state["n_splits_"]) is int and state["n_splits_"] > 0, "n_splits_")
    require(isinstance(state["cv_results_"], dict), "cv_results_")
    require(isinstance(state.get("best_estimator_", BaseEstimator()), BaseEstimator), "the model")


FAMILIES = {
    **NUMERIC,
    "linear": (("coef_",), linear),
    "support_vectors": (("support_", "_n_support"), support_vectors),
    "kernel_rows": (("X_fit_", "kernel_"), kernel_rows),
    "components": (("components_", "kernel_"), components),
    "random_features": (("random_weights_",), random_features),
    "one_tree": (("tree_",), one_tree),
    "forest": (("_trees",), forest),
    "members": (("estimators_",), members),
    "consensus": (("estimator_", "inlier_mask_"), consensus),
    "calibrated": (("classes_", "calibrated_classifiers_"), calibrated),
    "boosted": (("_predictors",), boosted),
    "isolation": (("_forests",), isolation),
    "centres": (("cluster_centers_",), centres),
    "core_rows": (("labels_", "core_sample_indices_", "components_"), core_rows),
    "density_tree": (("labels_", "probabilities_", "single_linkage_tree_"), density_tree),
    "medoids": (("labels_", "medoid_indices_", "cluster_centers_"), medoids),
    "labelled_rows": (("labels_", "affinity_matrix_"), labelled_rows),
    "tree_of_joins": (("labels_", "children_", "n_leaves_"), tree_of_joins),
    "mixture": (("weights_", "means_", "covariances_", "precisions_cholesky_"), mixture),
    "bayesian_mixture": (("weights_", "means_", "mean_precision_"), bayesian_mixture),
    "bisection": (("cluster_centers_", "_children", "_leaf", "_node_centers"), bisection),
    "components_only": (("components_",), components_only),
    "projection": (("components_", "mean_", "explained_variance_"), projection),
    "covariance": (("location_", "covariance_"), covariance),
    "quadratic": (
        ("means_", "scalings_", "rotations_", "priors_", "whitening_", "log_det_"),
        quadratic,
    ),
    "naive_bayes": (("classes_",), naive_bayes),
    "categories": (("categories_",), categories),
    "encodings": (("categories_", "encodings_", "target_mean_"), encodings),
    "kept_categories": (("categories_", "rare_categories_"), kept_categories),
    "classes": (("classes_",), classes),
    "dates": (("origin_",), dates),
    "plain": ((), plain),
    "selected": ((), selected),
    "column_limits": (("location_", "scale_", "lower_", "upper_", "offset_"), column_limits),
    "posterior": (("coef_", "_posterior", "_stats", "_accept_rates"), posterior),
    "random_field": (("coef_", "starts_", "attributes_in_"), random_field),
    "hidden_markov": (("startprob_", "transmat_"), hidden_markov),
    "neighbours": (("_fit_X", "n_samples_fit_"), neighbours),
    "density": (("_rows", "bandwidth_"), density),
    "prototypes": (("classes_",), prototypes),
    "gaps": (("_fit_X", "_mask_fit_X", "_valid_mask"), gaps),
    "marks": (("features_",), marks),
    "filled": (("indicator_",), filled),
    "search": (("cv_results_", "n_splits_", "multimetric_"), search),
    "linear_map": (("components_",), linear_map),
}
