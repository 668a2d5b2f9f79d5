"""Checks of trees, ensembles and models made of models"""

import numpy as np
from sklearn.base import BaseEstimator

from mlreplica.calibration._classifier import CalibratedMember
from mlreplica.core.growth.tree import Tree
from mlreplica.ensemble.histogram.predict import HistTree
from mlreplica.ensemble.isolation.trees import Forest

from .._container import require
from .._trees import isolation_columns
from .columns import classes
from .family import columns, family

MOST = 254  # thresholds of a column, so that its codes are bytes


@family("tree_")
def one_tree(state):
    """A tree over the columns of X."""
    p = columns(state)
    require(isinstance(state["tree_"], Tree) and state["tree_"].n_features == p, "tree_")


@family("_trees")
def forest(state):
    """Trees over the columns of X whose leaves have one shape."""
    p = columns(state)
    alike(state["_trees"], p)
    require(len(state["_seeds"]) == len(state["_trees"]), "_seeds")


@family("estimators_")
def members(state):
    """Trees that are packed together must be alike; other members look after themselves."""
    found = [getattr(member, "tree_", None) for member in np.ravel(state["estimators_"])]
    trees = [tree for tree in found if tree is not None]
    if trees and len(trees) == len(found) and "estimators_features_" not in state:
        alike(trees, columns(state))


@family("estimator_", "inlier_mask_")
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


@family("classes_", "calibrated_classifiers_")
def calibrated(state):
    """Members for the same classes, each with a curve or more."""
    classes(state)
    found = state["calibrated_classifiers_"]
    require(isinstance(found, list) and len(found) > 0, "calibrated_classifiers_")
    for member in found:
        require(type(member) is CalibratedMember and member.calibrators, "a calibrated classifier")
        same = np.array_equal(member.classes, state["classes_"])
        require(same and np.isin(member.estimator.classes_, member.classes).all(), "classes_")


@family("_predictors")
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


@family("_forests")
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


@family("cv_results_", "n_splits_", "multimetric_")
def search(state):
    """Scores of the settings, and the best of them with its model."""
    require(type(state["n_splits_"]) is int and state["n_splits_"] > 0, "n_splits_")
    require(isinstance(state["cv_results_"], dict), "cv_results_")
    require(isinstance(state.get("best_estimator_", BaseEstimator()), BaseEstimator), "the model")
