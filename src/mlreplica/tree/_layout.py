"""Where the boxes of a drawn tree stand (Reingold and Tilford 1981)

A parent stands in the middle above its children, and two brothers are as close as their branches
allow: on every level that both branches reach, there is a gap between the right side of the left
one and the left side of the right one. So a branch looks the same wherever it hangs.
"""

import numpy as np

from mlreplica.core.growth.tree import LEAF

COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9"]


def places(left, right, width, gap):
    """The middle of every box from the left edge of the drawing; parents before children."""
    offset, sides = np.zeros(len(width)), {}  # from the parent; (left, right) sides by level
    for k in reversed(range(len(width))):
        sides[k] = [(-width[k] / 2.0, width[k] / 2.0)]
        if left[k] == LEAF:
            continue
        a, b = sides.pop(left[k]), sides.pop(right[k])
        apart = gap + max(r - l for (_, r), (l, _) in zip(a, b, strict=False))
        offset[left[k]], offset[right[k]] = -apart / 2.0, apart / 2.0
        a = [(l - apart / 2.0, r - apart / 2.0) for l, r in a]
        b = [(l + apart / 2.0, r + apart / 2.0) for l, r in b]
        both = [(l, r) for (l, _), (_, r) in zip(a, b, strict=False)]
        sides[k] += both + a[len(b) :] + b[len(a) :]
    x = np.full(len(width), -min(l for l, _ in sides[0]))
    for k in np.flatnonzero(left != LEAF):
        x[left[k]], x[right[k]] = x[k] + offset[left[k]], x[k] + offset[right[k]]
    return x


def colours(tree, is_classifier):
    """Of every node a colour, by its largest class, and how strong: by its share, or its value."""
    value = tree.value[:, 0]
    if is_classifier:
        winner = value.argmax(axis=1)
        return [COLOURS[k % len(COLOURS)] for k in winner], 0.05 + 0.4 * value.max(axis=1) ** 2
    low, high = value.min(), value.max()
    strength = 0.05 + 0.4 * (value[:, 0] - low) / (high - low if high > low else 1.0)
    return [COLOURS[0]] * len(value), strength
