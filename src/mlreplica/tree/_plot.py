"""A tree drawn with matplotlib: boxes as large as their text, a figure as large as the boxes"""

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.growth.tree import LEAF

from ._layout import colours, places
from ._names import category_set, check_number, checked, feature_labels

FONT = 10.0  # points
PAD, GAP, STEP, LINE = 0.5, 1.2, 2.6, 1.25  # in a box, beside and below one, of a line; fonts
LARGEST = 100.0  # inches of a figure; beyond, the text becomes smaller
SET_WIDTH = 24  # characters of a set of categories


def plot_tree(
    decision_tree,
    *,
    max_depth=None,
    feature_names=None,
    class_names=None,
    label="all",
    filled=False,
    impurity=True,
    node_ids=False,
    proportion=False,
    rounded=False,
    precision=3,
    ax=None,
    fontsize=None,
):
    """Draw a tree with matplotlib, as large as its text needs.

    Parameters
    ----------
    decision_tree : fitted tree
        A classifier or regressor of this module.
    max_depth : int, default=None
        Deeper branches are shown as "(...)".
    feature_names : array-like of str, default=None
        Names of the columns; those seen in `fit`, or "x[0]" and so on, by default.
    class_names : array-like of str or True, default=None
        Names of the classes, to show the most frequent one; True calls them "y[0]" and so on.
    label : {"all", "root", "none"}, default="all"
        Which nodes say what their numbers are.
    filled : bool, default=False
        Colour the boxes by class, the stronger the purer, or by value.
    impurity, node_ids : bool, default=True, False
        Show the impurity, or the number of every node.
    proportion : bool, default=False
        Show shares of rows and classes, not how many.
    rounded : bool, default=False
        Round the corners.
    precision : int, default=3
        Digits after the point.
    ax : matplotlib axes, default=None
        Where to draw; what was there is removed. Without it the tree is drawn in the current axes
        if there is a figure, else in a new figure large enough to be read.
    fontsize : float, default=None
        Size of the text in points; 10 by default, or what fits in the axes.

    Returns
    -------
    annotations : list
        The boxes, and the words at the first two branches.

    Examples
    --------
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.tree import DecisionTreeClassifier, plot_tree
    >>> X, y = load_iris(return_X_y=True)
    >>> boxes = plot_tree(DecisionTreeClassifier(max_depth=2).fit(X, y), filled=True)
    >>> len(boxes)  # five nodes, True and False
    7
    """
    import matplotlib.pyplot as plt

    check_is_fitted(decision_tree)
    check_number("precision", precision, 0)
    if label not in ("all", "root", "none"):
        raise ValueError(f"label must be 'all', 'root' or 'none', got {label!r}.")
    tree = decision_tree.tree_
    nodes, left, right = shown(tree, max_depth)
    depth = tree.depths[nodes]
    writer = Writer(
        decision_tree,
        feature_labels(decision_tree, feature_names),
        class_names if class_names is True else checked(class_names),
        (label, impurity, node_ids, proportion, precision),
    )
    cut = np.inf if max_depth is None else max_depth
    texts = [
        writer.text(node) if d <= cut else "(...)" for node, d in zip(nodes, depth, strict=True)
    ]
    size = FONT if fontsize is None else fontsize
    width, height = np.array([extent(text, size) for text in texts]).T
    x = places(left, right, width, GAP * size)
    level = np.array([height[depth == d].max() for d in range(depth.max() + 1)]) + STEP * size
    y = (level / 2.0 - np.cumsum(level))[depth]
    x += GAP * size / 2.0  # from the margin
    whole = np.array([(x + width / 2.0).max() + GAP * size / 2.0, level.sum()])
    if ax is None and not plt.get_fignums():
        ax = plt.figure(figsize=np.minimum(whole / 72.0, LARGEST)).add_axes((0, 0, 1, 1))
    elif ax is None:
        ax = plt.gca()
    ax.clear()
    ax.set_axis_off()
    ax.set(xlim=(0.0, whole[0]), ylim=(-whole[1], 0.0))
    scale = points(ax) / whole  # of the drawing in the axes, across and down
    if fontsize is None:
        size *= min(1.0, scale.min())
        height *= min(1.0, scale.min())
    foot = y - height / scale[1] / 2.0
    colour, strength = colours(tree, is_classifier(decision_tree))
    style = f"{'round' if rounded else 'square'},pad={PAD}"
    boxes, stack = [], [(0, 0)]
    while stack:
        k, parent = stack.pop()
        edge, face = "black", "white"
        if filled and depth[k] <= cut:
            edge = colour[nodes[k]]
            face = edge, strength[nodes[k]]
        options = {"ha": "center", "va": "center", "fontsize": size}
        options["bbox"] = {"boxstyle": style, "facecolor": face, "edgecolor": edge}
        if k > 0:
            options["arrowprops"] = {"arrowstyle": "<-", "color": "0.4", "shrinkB": 0.0}
        tip = (x[parent], foot[parent]) if k > 0 else (x[0], y[0])
        boxes.append(ax.annotate(texts[k], tip, xytext=(x[k], y[k]), **options))
        if k > 0 and parent == 0:
            word, side = ("True  ", "right") if k == left[0] else ("  False", "left")
            middle = (x[0] + x[k]) / 2.0, (foot[0] + y[k] + height[k] / scale[1] / 2.0) / 2.0
            boxes.append(ax.annotate(word, middle, ha=side, va="center", fontsize=size))
        if left[k] != LEAF:
            stack += [(right[k], k), (left[k], k)]
    return boxes


def shown(tree, max_depth):
    """The nodes that are drawn, and their children by their place among these."""
    nodes = np.arange(tree.node_count)
    if max_depth is not None:
        check_number("max_depth", max_depth, 0)
        nodes = np.flatnonzero(tree.depths <= max_depth + 1)
    place = np.full(tree.node_count + 1, LEAF)  # the last entry is that of no child
    place[nodes] = np.arange(len(nodes))
    return nodes, place[tree.children_left[nodes]], place[tree.children_right[nodes]]


class Writer:
    """What stands in the boxes: a line each for question, impurity, rows, value and class."""

    def __init__(self, model, features, classes, options):
        self.model, self.features, self.classes, self.options = model, features, classes, options

    def text(self, node):
        """The text of a node."""
        model, tree = self.model, self.model.tree_
        label, impurity, node_ids, proportion, digits = self.options
        named = label == "all" or (label == "root" and node == 0)
        lines = []

        def line(name, text):
            lines.append(f"{name}{text}" if named else text)

        if node_ids:
            line("node ", f"#{node}")
        if tree.children_left[node] != LEAF:
            name, threshold = self.features[tree.feature[node]], tree.threshold[node]
            if np.isnan(threshold):
                lines.append(f"{name} in {category_set(model, node, SET_WIDTH)}")
            else:
                lines.append(f"{name} <= {round(threshold, digits)}")
        if impurity:
            line(f"{model.criterion} = ", str(round(tree.impurity[node], digits)))
        rows = tree.n_node_samples[node]
        share = f"{round(100.0 * rows / tree.n_node_samples[0], 1)}%"
        line("samples = ", share if proportion else str(rows))
        value, classifier = tree.value[node], is_classifier(model)
        winner = int(value[0].argmax())
        if classifier and not proportion:
            value = value * tree.weighted_n_node_samples[node]
        line("value = ", self.value(value, classifier and not proportion))
        if self.classes is not None and classifier and tree.n_outputs == 1:
            line("class = ", f"y[{winner}]" if self.classes is True else self.classes[winner])
        return "\n".join(lines)

    def value(self, value, weights):
        """Numbers in brackets, a line an output; one number alone without. Whole weights so."""
        value = np.around(value, self.options[-1])
        if weights and (value % 1 == 0).all():
            value = value.astype(int)
        if value.size == 1:
            return str(value[0, 0])
        lines = [f"[{', '.join(map(str, row))}]" for row in value]
        return lines[0] if len(lines) == 1 else f"[{chr(10).join(lines)}]"


def extent(text, size):
    """Width and height of a box with this text, in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    lines, font = text.split("\n"), FontProperties(size=size)
    width = max(text_to_path.get_text_width_height_descent(t, font, False)[0] for t in lines)
    return width + 2.0 * PAD * size, (LINE * len(lines) + 2.0 * PAD) * size


def points(ax):
    """Width and height of axes, in points."""
    area = ax.get_window_extent()
    return np.array([area.width, area.height]) * 72.0 / ax.figure.dpi
