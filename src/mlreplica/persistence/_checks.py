"""Checks: what the attributes of a model must satisfy before compiled loops see them

Kernels do not look whether a position is in range or two arrays fit together; `fit` makes them so.
A file need not have come from `fit`. Each check below is a table of such facts for one family of
models, with p the number of columns of X, which every fitted model knows.
"""

import numpy as np

from mlreplica.core.inputs import Inputs
from mlreplica.core.tree import Tree
from mlreplica.ensemble._hist_predict import HistTree
from mlreplica.ensemble._isolation_trees import Forest

from ._container import require
from ._trees import isolation_columns

MOST = 254  # thresholds of a column, so that its codes are bytes


def check(kind, state):
    """A ValueError if the attributes cannot be those of a fitted (or a new) estimator."""
    require(all(isinstance(name, str) for name in state), f"an attribute of {kind.__name__}")
    if kind is Inputs or not kind.__module__.startswith("mlreplica."):
        return
    for names, family in FAMILIES.items():
        if all(name in state for name in names):
            try:
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


def alike(trees, p):
    """Trees over p columns whose leaves have one shape."""
    require(len(trees) > 0 and all(isinstance(tree, Tree) for tree in trees), "a tree")
    require(all(tree.n_features == p for tree in trees), "the columns of a tree")
    require(len({tree.value.shape[1:] for tree in trees}) == 1, "the leaves of a tree")


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


FAMILIES = {
    ("coef_",): linear,
    ("support_", "_n_support"): support_vectors,
    ("X_fit_", "kernel_"): kernel_rows,
    ("components_", "kernel_"): components,
    ("random_weights_",): random_features,
    ("tree_",): one_tree,
    ("_trees",): forest,
    ("estimators_",): members,
    ("_predictors",): boosted,
    ("_forests",): isolation,
}
