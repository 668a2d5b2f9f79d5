"""A tree as text, and for Graphviz"""

import copy
import re
from pathlib import Path

import numpy as np
from sklearn import config_context
from sklearn.base import is_classifier
from sklearn.tree import export_graphviz as write_dot
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.growth.tree import LEAF

from ._names import category_set, check_number, checked, feature_labels

__all__ = ["export_graphviz", "export_text"]

SET_WIDTH = 24  # characters of a set of categories in a box
MARK = "\u2063"  # invisible
THRESHOLD = re.compile(MARK + r" \S+ -?(?:[\d.]+|nan)")


def export_text(
    decision_tree,
    *,
    feature_names=None,
    class_names=None,
    max_depth=10,
    spacing=3,
    decimals=2,
    show_weights=False,
):
    """The rules of a tree as text, a line a rule.

    Parameters
    ----------
    decision_tree : fitted tree
        A classifier or regressor of this module.
    feature_names : array-like of str, default=None
        Names of the columns; those seen in `fit`, or "feature_0" and so on, by default.
    class_names : array-like of str, default=None
        Names of the classes; those of `classes_` by default.
    max_depth : int, default=10
        Deeper branches are cut short, and say how deep they are.
    spacing : int, default=3
        Spaces a level.
    decimals : int, default=2
        Digits after the point.
    show_weights : bool, default=False
        Show the weight of every class in a leaf.

    Returns
    -------
    report : str

    Examples
    --------
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.tree import DecisionTreeClassifier, export_text
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[:, 3:], y)
    >>> print(export_text(model, feature_names=["petal width"]))
    |--- petal width <= 0.80
    |   |--- class: 0
    |--- petal width >  0.80
    |   |--- petal width <= 1.75
    |   |   |--- class: 1
    |   |--- petal width >  1.75
    |   |   |--- class: 2
    """
    for name, value, least in (("max_depth", max_depth, 0), ("decimals", decimals, 0)):
        check_number(name, value, least)
    check_number("spacing", spacing, 1)
    labels = checked(class_names)
    check_is_fitted(decision_tree)
    names = feature_labels(decision_tree, feature_names, "feature_{}")
    tree, classifier = decision_tree.tree_, is_classifier(decision_tree)
    if classifier:
        classes = decision_tree.classes_
        if labels is None:
            labels = classes
        elif len(labels) != len(classes):
            raise ValueError(
                "When `class_names` is an array, it should contain as many items as "
                f"`decision_tree.classes_`. Got {len(labels)} while the tree was fitted with "
                f"{len(classes)} classes."
            )
    lines = []

    def leaf(node, indent):
        value = tree.value[node][0] if tree.n_outputs == 1 else tree.value[node].T[0]
        if not classifier:
            lines.append(f"{indent} value: {numbers(value, decimals)}")
            return
        weights = value * tree.weighted_n_node_samples[node]
        shown = f" weights: {numbers(weights, decimals)}" if show_weights else ""
        winner = np.argmax(value)
        lines.append(f"{indent}{shown} class: {labels[winner] if tree.n_outputs == 1 else winner}")

    def branch(node, depth):
        indent = (("|" + " " * spacing) * depth)[:-spacing] + "-" * spacing
        inner = tree.children_left[node] != LEAF
        if depth > max_depth + 1 and inner:
            lines.append(f"{indent} truncated branch of depth {height(tree, node)}")
        elif inner:
            rule = f"{indent} {names[tree.feature[node]]}"
            yes, no = "<=", "> "
            bound = f"{tree.threshold[node]:.{decimals}f}"
            if np.isnan(tree.threshold[node]):
                yes, no, bound = "in", "not in", category_set(decision_tree, node)
            lines.append(f"{rule} {yes} {bound}")
            branch(tree.children_left[node], depth + 1)
            lines.append(f"{rule} {no} {bound}")
            branch(tree.children_right[node], depth + 1)
        else:
            leaf(node, indent)

    branch(0, 1)
    return "\n".join(lines) + "\n"


def export_graphviz(decision_tree, out_file=None, **options):
    """Write a tree in Graphviz's language.

    Parameters
    ----------
    decision_tree : fitted tree
    out_file : file object or str, default=None
        Where to write; None returns the text.
    **options : dict
        `max_depth`, `feature_names`, `class_names`, `label`, `filled`, `leaves_parallel`,
        `impurity`, `node_ids`, `proportion`, `rotate`, `rounded`, `special_characters`,
        `precision` and `fontname`, as in scikit-learn.

    Returns
    -------
    text : str or None
    """
    check_is_fitted(decision_tree)
    stand_in, options = with_sets(decision_tree, options)
    with config_context(skip_parameter_validation=True):  # which asks for scikit-learn's classes
        if stand_in is decision_tree:
            return write_dot(decision_tree, out_file, **options)
        text = THRESHOLD.sub("", write_dot(stand_in, None, **options))
    if out_file is None:
        return text
    if isinstance(out_file, str):
        Path(out_file).write_text(text, encoding="utf-8")
    else:
        out_file.write(text)
    return None


def with_sets(model, options):
    """The tree and the options as they are, or such that splits by categories can be written.

    scikit-learn writes a feature, ≤ and a threshold. A split by categories becomes a feature called
    "colour in {1, 4}" and MARK; what follows the mark is then taken away.
    """
    tree = model.tree_
    if tree.categories is None:
        return model, options
    names = feature_labels(model, options.get("feature_names"))
    stand_in = copy.copy(model)
    stand_in.tree_ = copy.copy(tree)
    feature = stand_in.tree_.feature = tree.feature.copy()
    for node in np.flatnonzero(np.isnan(tree.threshold)):
        names.append(f"{names[feature[node]]} in {category_set(model, node, SET_WIDTH)}{MARK}")
        feature[node] = len(names) - 1
    stand_in.n_features_in_ = len(names)
    return stand_in, {**options, "feature_names": names}


def numbers(values, decimals):
    """[1.00, 2.50]"""
    return "[" + ", ".join(f"{v:.{decimals}f}" for v in values) + "]"


def height(tree, node):
    """How many levels a branch has."""
    depth, level = 0, [node]
    while level:
        depth += 1
        inner = [t for t in level if tree.children_left[t] != LEAF]
        level = [c for t in inner for c in (tree.children_left[t], tree.children_right[t])]
    return depth
