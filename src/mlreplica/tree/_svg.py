"""A small tree as an SVG drawing, for notebooks: no matplotlib needed"""

from html import escape

import numpy as np
from sklearn.base import is_classifier

from mlreplica.core.growth.tree import LEAF

from ._layout import colours, places
from ._names import category_set, feature_labels

LETTER, MARGIN = 6.2, 18.0  # width of a letter; of a box beyond its text
HEIGHT, GAP, STEP = 62.0, 14.0, 34.0  # of a box; beside and below it
SET_WIDTH = 18  # letters of a set of categories


def draw(model):
    """An <svg> of a fitted tree: question or answer, rows and impurity of every node."""
    tree = model.tree_
    nodes = range(tree.node_count)
    lines = [describe(model, node) for node in nodes]
    width = np.array([LETTER * max(map(len, text)) + MARGIN for text in lines])
    x = places(tree.children_left, tree.children_right, width, GAP)
    y = tree.depths * (HEIGHT + STEP)
    colour, strength = colours(tree, is_classifier(model))
    parts = []
    for node in nodes:
        if tree.children_left[node] == LEAF:
            continue
        for child, word, anchor, aside in (
            (tree.children_left[node], "yes", "end", -6.0),
            (tree.children_right[node], "no", "start", 6.0),
        ):
            x0, y0, x1, y1 = x[node], y[node] + HEIGHT, x[child], y[child]
            parts.append(f'<path d="M{x0:.0f} {y0:.0f}L{x1:.0f} {y1:.0f}" stroke="#888"/>')
            middle = f'x="{(x0 + x1) / 2 + aside:.0f}" y="{(y0 + y1) / 2:.0f}"'
            parts.append(f'<text {middle} fill="#666" text-anchor="{anchor}">{word}</text>')
    for node in nodes:
        left = x[node] - width[node] / 2.0
        parts.append(
            f'<rect x="{left:.0f}" y="{y[node]:.0f}" width="{width[node]:.0f}" '
            f'height="{HEIGHT:.0f}" rx="6" fill="{colour[node]}" '
            f'fill-opacity="{strength[node]:.2f}" stroke="{colour[node]}"/>'
        )
        for k, line in enumerate(lines[node]):
            weight = ' font-weight="bold"' if k == 0 else ""
            parts.append(
                f'<text x="{x[node]:.0f}" y="{y[node] + 18 + 17 * k:.0f}" text-anchor="middle" '
                f'fill="currentColor"{weight}>{escape(line)}</text>'
            )
    wide, high = (x + width / 2.0).max() + 2.0, y.max() + HEIGHT + 2.0
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-1 -1 {wide:.0f} {high:.0f}" '
        f'width="{wide:.0f}" style="max-width:100%;height:auto" role="img" '
        f'aria-label="A tree with {tree.n_leaves} leaves" font-family="sans-serif" '
        f'font-size="11">{"".join(parts)}</svg>'
    )


def describe(model, node):
    """Three lines: the question or the answer; rows; the answer or the impurity."""
    tree = model.tree_
    value = tree.value[node, 0]
    answer = f"{value[0]:.4g}"
    if is_classifier(model):
        classes = model.classes_ if tree.n_outputs == 1 else model.classes_[0]
        winner = int(np.argmax(value))
        answer = f"{classes[winner]} ({value[winner]:.0%})"
    rows = f"{tree.n_node_samples[node]} rows"
    if tree.children_left[node] == LEAF:
        return answer, rows, f"impurity {tree.impurity[node]:.3g}"
    name, threshold = feature_labels(model, None)[tree.feature[node]], tree.threshold[node]
    if np.isnan(threshold):
        return f"{name} in {category_set(model, node, SET_WIDTH)}", rows, answer
    return f"{name} ≤ {threshold:.4g}", rows, answer
