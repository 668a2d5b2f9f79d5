"""A small tree as an SVG drawing, for notebooks: no matplotlib needed"""

from html import escape

import numpy as np
from sklearn.base import is_classifier

from mlreplica.core.tree import LEAF

from ._names import category_set

WIDTH, HEIGHT, GAP = 132, 62, 14  # of a box, and between boxes
COLOURS = ["#0072b2", "#e69f00", "#009e73", "#9467bd", "#b8860b", "#56b4e9"]


def draw(model):
    """An <svg> of a fitted tree: question or answer, rows and impurity of every node."""
    tree = model.tree_
    x = places(tree)
    y = tree.depths * (HEIGHT + 34.0)
    wide, high = x.max() + WIDTH + 2, y.max() + HEIGHT + 2
    parts = []
    for node in range(tree.node_count):
        for child, word in ((tree.children_left[node], "yes"), (tree.children_right[node], "no")):
            if child == LEAF:
                continue
            x0, y0 = x[node] + WIDTH / 2, y[node] + HEIGHT
            x1, y1 = x[child] + WIDTH / 2, y[child]
            parts.append(f'<path d="M{x0:.0f} {y0:.0f}L{x1:.0f} {y1:.0f}" stroke="#888"/>')
            middle = f'x="{(x0 + x1) / 2:.0f}" y="{(y0 + y1) / 2:.0f}"'
            parts.append(f'<text {middle} fill="#666" text-anchor="middle">{word}</text>')
    for node in range(tree.node_count):
        parts += box(model, node, x[node], y[node])
    body = "".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-1 -1 {wide:.0f} {high:.0f}" '
        f'width="{wide:.0f}" style="max-width:100%;height:auto" role="img" '
        f'aria-label="A tree with {tree.n_leaves} leaves" font-family="sans-serif" '
        f'font-size="11">{body}</svg>'
    )


def places(tree):
    """The left edge of every node: leaves side by side, parents in the middle of their children."""
    x, following = np.zeros(tree.node_count), 0.0
    for node in leaves_in_order(tree):
        x[node] = following
        following += WIDTH + GAP
    inner = np.flatnonzero(tree.children_left != LEAF)
    for node in inner[np.argsort(-tree.depths[inner], kind="stable")]:
        x[node] = (x[tree.children_left[node]] + x[tree.children_right[node]]) / 2.0
    return x


def leaves_in_order(tree):
    """Leaves from left to right."""
    stack = [0]
    while stack:
        node = stack.pop()
        if tree.children_left[node] == LEAF:
            yield node
        else:
            stack += [tree.children_right[node], tree.children_left[node]]


def box(model, node, x, y):
    """One node: a rectangle and three lines of text."""
    tree = model.tree_
    leaf = tree.children_left[node] == LEAF
    value = tree.value[node, 0]
    colour, strength = COLOURS[0], 0.15
    if is_classifier(model):
        classes = model.classes_ if tree.n_outputs == 1 else model.classes_[0]
        winner = int(np.argmax(value))
        answer = f"{classes[winner]} ({value[winner]:.0%})"
        colour, strength = COLOURS[winner % len(COLOURS)], 0.05 + 0.4 * value[winner] ** 2
    else:
        answer = f"{value[0]:.4g}"
    if leaf:
        first = answer
    else:
        names = getattr(model, "feature_names_in_", None)
        f = tree.feature[node]
        name = f"x[{f}]" if names is None else str(names[f])
        first = f"{name} ≤ {tree.threshold[node]:.4g}"
        if np.isnan(tree.threshold[node]):
            first = f"{name} in {category_set(model, node, WIDTH // 6 - len(name) - 4)}"
    second = f"impurity {tree.impurity[node]:.3g}"
    lines = [first, f"{tree.n_node_samples[node]} rows", second if leaf else answer]
    yield (
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="{colour}" '
        f'fill-opacity="{strength:.2f}" stroke="{colour}"/>'
    )
    for k, line in enumerate(lines):
        weight = ' font-weight="bold"' if k == 0 else ""
        yield (
            f'<text x="{x + WIDTH / 2:.0f}" y="{y + 18 + 17 * k:.0f}" text-anchor="middle" '
            f'fill="currentColor"{weight}>{escape(line)}</text>'
        )
