"""A tree as text, as a drawing, and for Graphviz"""

import copy
import re
from pathlib import Path

import numpy as np
from sklearn import config_context
from sklearn.base import is_classifier
from sklearn.tree import export_graphviz as write_dot
from sklearn.tree import plot_tree as draw_boxes
from sklearn.utils.validation import check_array, check_is_fitted

from mlreplica.core.tree import LEAF

from ._names import category_set

__all__ = ["export_graphviz", "export_text", "plot_tree"]

INCHES = 2.0, 1.5  # of a node, so that its text is legible
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
        Names of the columns; "feature_0" and so on by default.
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
    names = checked(feature_names)
    labels = checked(class_names)
    check_is_fitted(decision_tree)
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
    if names is None:
        names = [f"feature_{f}" for f in range(tree.n_features)]
    elif len(names) != tree.n_features:
        raise ValueError(f"feature_names must contain {tree.n_features} elements, got {len(names)}")
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


def plot_tree(decision_tree, *, ax=None, **options):
    """Draw a tree with matplotlib, as large as its text needs.

    Parameters
    ----------
    decision_tree : fitted tree
    ax : matplotlib axes, default=None
        Where to draw. Without it a tree is drawn in the current axes if something is there, else in
        a figure large enough for all leaves to be read.
    **options : dict
        `max_depth`, `feature_names`, `class_names`, `label`, `filled`, `impurity`, `node_ids`,
        `proportion`, `rounded`, `precision` and `fontsize`, as in scikit-learn.

    Returns
    -------
    annotations : list
        The boxes.
    """
    import matplotlib.pyplot as plt

    check_is_fitted(decision_tree)
    if ax is None and not plt.get_fignums():
        depths, limit = decision_tree.tree_.depths, options.get("max_depth")
        shown = depths if limit is None else np.minimum(depths, limit + 1)
        widest, levels = np.bincount(shown).max(), shown.max() + 1
        plt.figure(figsize=(max(6.0, INCHES[0] * widest), max(4.0, INCHES[1] * levels)))
    stand_in, options = with_sets(decision_tree, options)
    with config_context(skip_parameter_validation=True):  # which asks for scikit-learn's classes
        boxes = draw_boxes(stand_in, ax=ax, **options)
    for box in boxes:
        box.set_text(THRESHOLD.sub("", box.get_text()))
    return boxes


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
    tree, p = model.tree_, model.tree_.n_features
    if tree.categories is None:
        return model, options
    names = options.get("feature_names")
    if names is None:
        names = getattr(model, "feature_names_in_", [f"x[{f}]" for f in range(p)])
    if len(names) != p:
        raise ValueError(f"feature_names must contain {p} elements, got {len(names)}")
    stand_in, names = copy.copy(model), [str(name) for name in names]
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


def checked(names):
    """Names as an array, or None."""
    if names is None:
        return None
    return check_array(names, ensure_2d=False, dtype=None, ensure_min_samples=0)


def check_number(name, value, least):
    """A whole number that is large enough."""
    if not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}.")
