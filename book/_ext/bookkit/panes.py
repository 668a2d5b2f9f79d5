"""The panes of a player: each says which numbers of a frame to draw, and how.

A pane is a dict that player.js reads; `needs` are the fields that every frame must have.
"""

import math

import numpy as np


def plain(value, digits=6):
    """JSON of a number, string, array, or a nesting of them; non-finite numbers become null."""
    if isinstance(value, dict):
        return {str(key): plain(item, digits) for key, item in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(item, digits) for item in value]
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None


def pane(kind, needs, **settings):
    """A pane of the given type."""
    return {"type": kind, "needs": [name for name in needs if name], **settings}


def plane(
    X, y=None, *, weights="coef", offset="intercept", highlight=None, title="", labels=("x₁", "x₂")
):
    """Pane: points of the plane with the line w·x + b = 0, the vector w and its last change.

    `weights`, `offset` and `highlight` name fields of the frames: w (2 numbers), b (may be absent:
    b = 0), the index of the point looked at.
    """
    said = {"weights": weights, "offset": offset, "highlight": highlight}
    return pane("plane", [weights, highlight], X=X, y=y, **said, title=title, labels=labels)


def fit(x, y, *, slope="coef", offset="intercept", residuals=True, title="", labels=("x", "y")):
    """Pane: points (x, y), the line y = slope·x + offset, and the residuals."""
    said = {"slope": slope, "offset": offset, "residuals": residuals}
    return pane("fit", [slope], x=x, y=y, **said, title=title, labels=labels)


def lines(x, *fields, points=None, fixed=None, trail=False, ylim=None, title="", labels=("x", "y")):
    """Pane: fields that are one number for each entry of the grid `x`, as curves over it.

    `points` names two fields, the x and y of this frame's points; `fixed` holds curves that are
    the same in all frames, {name: values}; `trail` leaves the first field of earlier frames faintly
    in sight; `ylim` is what the vertical axis shows.
    """
    said = {"points": points, "fixed": fixed or {}, "trail": trail, "ylim": ylim}
    needs = [*fields, *(points or ())]
    return pane("lines", needs, x=x, fields=fields, **said, title=title, labels=labels)


def contour(
    f,
    x,
    y,
    *,
    path="coef",
    minimum=None,
    outline=None,
    levels=14,
    title="",
    labels=("w₁", "w₂"),
    points=121,
):
    """Pane: level lines of f(x, y) over the ranges `x` and `y`, and the path the field `path` took.

    f takes and returns arrays. The level lines are found here, by contourpy, not in the browser.
    `outline` names a field that holds the corners of an area to shade, as a ball or a constraint.
    """
    from contourpy import contour_generator

    xs, ys = np.linspace(*x, points), np.linspace(*y, points)
    z = np.asarray(f(*np.meshgrid(xs, ys)), dtype=float)
    if np.ndim(levels) == 0:  # evenly spaced in the cube root: lines crowd less up the slope
        low, high = z.min(), z.max()
        levels = low + (high - low) * np.linspace(0, 1, levels + 2)[1:-1] ** 3
    generator = contour_generator(xs, ys, z)
    found = [line for level in levels for line in generator.lines(level)]
    drawn = plain([line[:: max(1, len(line) // 80)] for line in found], 4)
    said = {"path": path, "minimum": minimum, "outline": outline}
    needs = [path, outline]
    return pane("contour", needs, x=x, y=y, lines=drawn, **said, title=title, labels=labels)


def window(X):
    """What a pane shows of the plane: the points and a tenth more on every side."""
    X = np.asarray(X, dtype=float)
    low, high = X.min(axis=0), X.max(axis=0)
    pad = 0.1 * (high - low)
    return np.stack([low - pad, high + pad], axis=1)


def level_lines(f, X, levels=(-1.0, 0.0, 1.0), points=61):
    """For each level the lines on which f has it: what a frame holds for the pane `margins`.

    f maps rows to numbers, as `decision_function` does; X are the points that the pane shows.
    """
    from contourpy import contour_generator

    xs, ys = (np.linspace(low, high, points) for low, high in window(X))
    grid = np.stack(np.meshgrid(xs, ys), axis=-1)
    generator = contour_generator(xs, ys, np.reshape(f(grid.reshape(-1, 2)), (points, points)))
    return [[plain(line, 4) for line in thinned(generator.lines(level))] for level in levels]


def thinned(lines):
    """The lines without the points that lie straight between their neighbours."""
    for line in lines:
        step = np.diff(line, axis=0)
        turn = np.abs(step[:-1, 0] * step[1:, 1] - step[:-1, 1] * step[1:, 0])
        size = np.hypot(*step[:-1].T) * np.hypot(*step[1:].T)
        yield line[np.concatenate([[True], turn > 1e-3 * size, [True]])]


def margins(X, y, *, curves="curves", highlight=None, support=None, title="", labels=("x₁", "x₂")):
    """Pane: points with the lines f = −1, 0, +1 of this frame, straight or curved.

    `curves` names the field with the three sets of lines (`level_lines`), `highlight` one with the
    indices of points to ring, `support` one with a number a point: 0, 1 (on the margin), 2 (at its
    bound).
    """
    said = {"field": curves, "highlight": highlight, "support": support, "window": window(X)}
    needs = [curves, highlight, support]
    return pane("margins", needs, X=X, y=y, **said, title=title, labels=labels)


def box(bound, *, start="before", end="after", ends="ends", top="top", title="", labels=None):
    """Pane: one pair step of sequential minimal optimisation in the plane of its two multipliers.

    Every field is a point (αᵢ, αⱼ): where the step starts and ends, the two `ends` of the segment
    within the box [0, `bound`]², and the `top` of the objective on the line (may be null).
    """
    fields = (start, end, ends, top)
    labels = labels or ("αᵢ", "αⱼ")
    return pane("box", fields, bound=bound, fields=fields, title=title, labels=labels)


def curve(*fields, x=None, log=False, title="", labels=None):
    """Pane: fields that are one number a frame, with a cursor at this frame.

    The horizontal axis is the field `x`; by default the field that the first of `labels` names, or
    the field `step`. So a curve over rounds is drawn at the number of the round.
    """
    said = {"x": x, "log": log, "title": title, "labels": labels or (x or "step", "")}
    return pane("curve", [*fields, x], fields=fields, **said)


def path(x, y, *, diagonal=False, title="", labels=("", "")):
    """Pane: the curve (x, y) through all frames, as a ROC curve, with a dot at this frame."""
    return pane("path", [x, y], x=x, y=y, diagonal=diagonal, title=title, labels=labels)


def strip(scores, y, *, threshold="threshold", title="", labels=("score", "")):
    """Pane: the scores of two classes as two rows of marks, with the threshold between."""
    said = {"scores": scores, "y": y, "threshold": threshold}
    return pane("strip", [threshold], **said, title=title, labels=labels)


def matrix(field="confusion", *, rows=None, columns=None, title=""):
    """Pane: a small matrix of numbers, shaded by value."""
    return pane("matrix", [field], field=field, rows=rows, columns=columns, title=title)


def image(field, *, title=""):
    """Pane: a picture, a number from 0 (black) to 1 (white) for each pixel."""
    return pane("image", [field], field=field, title=title)


def bars(field="coef", *, names=None, title="", labels=("", "")):
    """Pane: the entries of a field of numbers as bars, upwards or downwards from zero."""
    return pane("bars", [field], field=field, names=names, title=title, labels=labels)


def sequence(symbols, field, *, at=None, states=None, title=""):
    """Pane: a sequence in reading order, `symbols[t]` above a cell that a field shades.

    `field` holds a number in [0, 1] for each place, or a row of them for each of the named
    `states`; the field `at` is the place looked at.
    """
    said = {"symbols": [str(symbol) for symbol in symbols], "at": at, "states": states}
    return pane("sequence", [field], field=field, **said, title=title)


def chain(*fields, level=None, names=None, title="", labels=("step", "")):
    """Pane: what Markov chains have visited so far, over the steps and as histograms beside.

    A field holds the values since the last frame, one a step; `level` is a value to compare with.
    """
    said = {"level": level, "names": names or {}}
    return pane("chain", fields, fields=fields, **said, title=title, labels=labels)


def tree(left, right, texts, *, node="node", title=""):
    """Pane: a binary tree as it grows; a node is drawn when its parent has been split.

    `left` and `right` hold the children of each node (negative: a leaf) and `texts` what stands
    under it once the field `node` has named it.
    """
    left, right = np.asarray(left), np.asarray(right)
    places, leaves, todo = {}, 0, [(0, 0, False)]
    while todo:  # leaves side by side, a parent midway between its children
        k, depth, below = todo.pop()
        if left[k] < 0:
            places[k], leaves = (leaves, depth), leaves + 1
        elif below:
            places[k] = ((places[left[k]][0] + places[right[k]][0]) / 2, depth)
        else:
            todo += [(k, depth, True), (right[k], depth + 1, False), (left[k], depth + 1, False)]
    said = {
        "places": [places[k] for k in range(len(left))],
        "children": [[int(a), int(b)] if a >= 0 else [] for a, b in zip(left, right, strict=True)],
        "texts": [str(text) for text in texts],
    }
    return pane("tree", [node], field=node, **said, title=title)


def merges(children, heights, *, names=None, made="made", cut=None, title="", labels=None):
    """Pane: a dendrogram as it is built.

    `children` and `heights` are those of a fitted clustering: row i joins two of the n leaves and
    of the earlier joins n, n + 1, …, at `heights[i]`. The field `made` says how many joins are
    made; the field `cut` is a height at which a line cuts the tree.
    """
    children, n = np.asarray(children), len(children) + 1
    order, todo = [], [2 * n - 2]
    while todo:  # the leaves below the last join, from left to right
        k = todo.pop()
        if k < n:
            order.append(int(k))
        else:
            todo += [children[k - n, 1], children[k - n, 0]]
    across = [0.0] * (2 * n - 1)
    for place, leaf in enumerate(order):
        across[leaf] = float(place)
    for i, (a, b) in enumerate(children):
        across[n + i] = (across[a] + across[b]) / 2
    said = {"children": children, "heights": heights, "across": across, "cut": cut}
    said |= {"names": names and [str(name) for name in names], "field": made}
    return pane("merges", [made, cut], **said, title=title, labels=labels or ("", "height"))


def cells(
    X,
    boxes,
    *,
    y=None,
    kinds="kinds",
    query=None,
    radius=None,
    highlight=None,
    title="",
    labels=("x₁", "x₂"),
):
    """Pane: boxes in the plane, as the cells of a k-d tree, over points.

    `boxes` has a row (x₀, y₀, x₁, y₁) for each; the field `kinds` has a number for each: 0 hidden,
    1 outlined, 2 looked at (shaded), 3 ruled out (grey). `query` and `radius` name the fields of a
    point and of the circle around it, `highlight` one with the indices of points to ring.
    """
    edges = np.clip(boxes, *(window(X)[[0, 1, 0, 1]].T))
    said = {"boxes": edges, "window": window(X), "field": kinds}
    said |= {"query": query, "radius": radius, "highlight": highlight}
    needs = [kinds, query, radius, highlight]
    return pane("cells", needs, X=X, y=y, **said, title=title, labels=labels)


def prototypes(
    X,
    *,
    y=None,
    assigned=None,
    centers="centers",
    classes=None,
    regions=True,
    highlight=None,
    title="",
    labels=("x₁", "x₂"),
):
    """Pane: points and the prototypes that move among them, with the region nearest to each.

    The field `centers` has a row for each prototype, of the given `classes` if it has one. Points
    have the colour of their prototype in the field `assigned` (−1: none yet) or of their class in
    `y`. `highlight` names a field with the indices of points to ring.
    """
    said = {"assigned": assigned, "field": centers, "classes": classes, "regions": regions}
    said |= {"highlight": highlight, "window": window(X)}
    needs = [centers, assigned, highlight]
    return pane("prototypes", needs, X=X, y=y, **said, title=title, labels=labels)


def ellipses(
    X, *, means="means", covariances="covariances", shares=None, title="", labels=("x₁", "x₂")
):
    """Pane: a mixture of normal distributions, each as its ellipses of one and two deviations.

    The field `covariances` has a matrix, two variances or one variance for each row of `means`. The
    field `shares` has a row for each point, its probability under each component: the point has the
    colour of the largest, and is the fainter the less certain it is.
    """
    said = {"means": means, "covariances": covariances, "shares": shares, "window": window(X)}
    needs = [means, covariances, shares]
    return pane("ellipses", needs, X=X, **said, title=title, labels=labels)


def trellis(symbols, states, field="score", *, back=None, path=None, at=None, title=""):
    """Pane: places in reading order times hidden states, as Viterbi and forward–backward fill it.

    `field` has a row for each place with a number in [0, 1] for each state, or null where nothing
    is known yet. `back` names a field of the same shape with the best state before (−1: none),
    `path` one with a state for each place (−1: none yet), `at` the place looked at.
    """
    said = {"symbols": [str(symbol) for symbol in symbols], "states": [str(s) for s in states]}
    said |= {"field": field, "back": back, "path": path, "at": at}
    return pane("trellis", [field, back, path], **said, title=title)


def table(*fields, names=None, title=""):
    """Pane: the numbers of this frame; `names` gives a field another name for the reader."""
    return pane("table", fields, fields=fields, names=names or {}, title=title)
