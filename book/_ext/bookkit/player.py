"""The step-through player: recorded states of a real run, and the panes that draw them.

Nothing is computed in the browser: a frame holds the numbers the library had at that step, a pane
says which of them to draw and how.
"""

import hashlib
import itertools
import json
import math
import os
from html import escape
from pathlib import Path

import numpy as np

INLINE_LIMIT = 200_000  # characters; a longer recording becomes a file of its own


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


def as_frame(state):
    """A frame of a dict or a NamedTuple."""
    return plain(state._asdict() if hasattr(state, "_asdict") else state)


def plane(
    X, y=None, *, weights="coef", offset="intercept", highlight=None, title="", labels=("x₁", "x₂")
):
    """Pane: points of the plane with the line w·x + b = 0, the vector w and its last change.

    `weights`, `offset` and `highlight` name fields of the frames: w (2 numbers), b (may be absent:
    b = 0), the index of the point looked at.
    """
    return {
        "type": "plane",
        "X": X,
        "y": y,
        "weights": weights,
        "offset": offset,
        "highlight": highlight,
        "title": title,
        "labels": labels,
    }


def fit(x, y, *, slope="coef", offset="intercept", residuals=True, title="", labels=("x", "y")):
    """Pane: points (x, y), the line y = slope·x + offset, and the residuals."""
    return {
        "type": "fit",
        "x": x,
        "y": y,
        "slope": slope,
        "offset": offset,
        "residuals": residuals,
        "title": title,
        "labels": labels,
    }


def lines(x, *fields, points=None, fixed=None, trail=False, ylim=None, title="", labels=("x", "y")):
    """Pane: fields that are one number for each entry of the grid `x`, as curves over it.

    `points` names two fields, the x and y of this frame's points; `fixed` holds curves that are
    the same in all frames, {name: values}; `trail` leaves the first field of earlier frames faintly
    in sight; `ylim` is what the vertical axis shows.
    """
    return {
        "type": "lines",
        "x": x,
        "fields": fields,
        "points": points,
        "fixed": fixed or {},
        "trail": trail,
        "ylim": ylim,
        "title": title,
        "labels": labels,
    }


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
    lines = [line for level in levels for line in generator.lines(level)]
    return {
        "type": "contour",
        "x": x,
        "y": y,
        "lines": plain([line[:: max(1, len(line) // 80)] for line in lines], 4),
        "path": path,
        "minimum": minimum,
        "outline": outline,
        "title": title,
        "labels": labels,
    }


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
    return {
        "type": "margins",
        "X": X,
        "y": y,
        "field": curves,
        "highlight": highlight,
        "support": support,
        "window": window(X),
        "title": title,
        "labels": labels,
    }


def box(bound, *, start="before", end="after", ends="ends", top="top", title="", labels=None):
    """Pane: one pair step of sequential minimal optimisation in the plane of its two multipliers.

    Every field is a point (αᵢ, αⱼ): where the step starts and ends, the two `ends` of the segment
    within the box [0, `bound`]², and the `top` of the objective on the line (may be null).
    """
    return {
        "type": "box",
        "bound": bound,
        "fields": (start, end, ends, top),
        "title": title,
        "labels": labels or ("αᵢ", "αⱼ"),
    }


def curve(*fields, log=False, title="", labels=("step", "")):
    """Pane: fields that are one number a frame, against the step, with a cursor."""
    return {"type": "curve", "fields": fields, "log": log, "title": title, "labels": labels}


def path(x, y, *, diagonal=False, title="", labels=("", "")):
    """Pane: the curve (x, y) through all frames, as a ROC curve, with a dot at this frame."""
    return {"type": "path", "x": x, "y": y, "diagonal": diagonal, "title": title, "labels": labels}


def strip(scores, y, *, threshold="threshold", title="", labels=("score", "")):
    """Pane: the scores of two classes as two rows of marks, with the threshold between."""
    return {
        "type": "strip",
        "scores": scores,
        "y": y,
        "threshold": threshold,
        "title": title,
        "labels": labels,
    }


def matrix(field="confusion", *, rows=None, columns=None, title=""):
    """Pane: a small matrix of numbers, shaded by value."""
    return {"type": "matrix", "field": field, "rows": rows, "columns": columns, "title": title}


def bars(field="coef", *, names=None, title="", labels=("", "")):
    """Pane: the entries of a field of numbers as bars, upwards or downwards from zero."""
    return {"type": "bars", "field": field, "names": names, "title": title, "labels": labels}


def sequence(symbols, field, *, at=None, states=None, title=""):
    """Pane: a sequence in reading order, `symbols[t]` above a cell that a field shades.

    `field` holds a number in [0, 1] for each place, or a row of them for each of the named
    `states`; the field `at` is the place looked at.
    """
    return {
        "type": "sequence",
        "symbols": [str(symbol) for symbol in symbols],
        "field": field,
        "at": at,
        "states": states,
        "title": title,
    }


def chain(*fields, level=None, names=None, title="", labels=("step", "")):
    """Pane: what Markov chains have visited so far, over the steps and as histograms beside.

    A field holds the values since the last frame, one a step; `level` is a value to compare with.
    """
    return {
        "type": "chain",
        "fields": fields,
        "level": level,
        "names": names or {},
        "title": title,
        "labels": labels,
    }


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
    children = [[int(a), int(b)] if a >= 0 else [] for a, b in zip(left, right, strict=True)]
    return {
        "type": "tree",
        "places": [places[k] for k in range(len(left))],
        "children": children,
        "texts": [str(text) for text in texts],
        "field": node,
        "title": title,
    }


def table(*fields, names=None, title=""):
    """Pane: the numbers of this frame; `names` gives a field another name for the reader."""
    return {"type": "table", "fields": fields, "names": names or {}, "title": title}


class Player:
    """What `player` returns: shows itself in the page."""

    def __init__(self, recording):
        self.recording = recording

    def _repr_html_(self):
        text = json.dumps(self.recording, ensure_ascii=False, separators=(",", ":"))
        name = "p" + hashlib.sha256(text.encode()).hexdigest()[:12]
        label = escape(self.recording["label"], quote=True)
        if len(text) <= INLINE_LIMIT:
            inner = text.replace("<", "\\u003c")
            data = f'<script type="application/json">{inner}</script>'
        else:  # a script, not a fetch: pages opened from file:// may not fetch
            folder = Path(os.environ["MLREPLICA_BOOK_FILES"]) / "players"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{name}.js").write_text(
                f"(window.bookRecordings??={{}})[{name!r}]={text}", encoding="utf-8"
            )
            data = f'<script src="_static/players/{name}.js"></script>'
        return (
            f'<div class="player" id="{name}" role="group" aria-label="{label}">{data}'
            f"<noscript><p>{label}. Playing it needs JavaScript.</p></noscript>"
            "<script>bookPlayer(document.currentScript.parentElement)</script></div>"
        )


def player(frames, *panes, label, algorithm=None, slider=None, start=0, rate=2.0):
    """Play a recorded run.

    Parameters
    ----------
    frames : Trace, list of dict, or dict of them
        The recorded states. A dict {value: frames} holds one run a value of a hyper-parameter, a
        dict {(first, second): frames} one run a point of a grid; `slider` names the one or the
        several. A field `line` lights up that line of `algorithm`, and with it the quoted lines of
        source that cite the same equations; a field `note` is shown as text.
    *panes
        What to draw: `plane`, `margins`, `box`, `fit`, `lines`, `contour`, `curve`, `path`,
        `strip`, `matrix`, `bars`, `sequence`, `chain`, `tree`, `table`.
        A table of all numbers is added when none is given.
    label : str
        What is played, in one phrase: the title of the player, read aloud by screen readers.
    algorithm : str, optional
        The label of the page's `algorithm`.
    slider : str or tuple of str, optional
        Name of the hyper-parameter, or of each, when `frames` is a dict.
    start : int, default=0
        The frame shown first; −1 is the last, from which play begins anew.
    rate : float, default=2.0
        Frames a second at speed 1.
    """
    runs = frames if isinstance(frames, dict) else {(): frames}
    names = slider if isinstance(slider, tuple) else (slider,) if slider else ()
    runs = {
        tuple(map(str, key)) if isinstance(key, tuple) else (str(key),): [
            as_frame(state) for state in getattr(run, "states", run)
        ]
        for key, run in runs.items()
    }
    values = [list(dict.fromkeys(key)) for key in zip(*runs, strict=True)]
    if len(values) != len(names) or list(runs) != list(itertools.product(*values)):
        raise ValueError(
            "a player needs a name for each slider and a run for each of their places."
        )
    if not runs or not all(runs.values()):
        raise ValueError("a player needs at least one frame in each run.")
    panes = list(panes)
    if not any(pane["type"] == "table" for pane in panes):
        first = next(iter(runs.values()))[0]
        numbers = [k for k, v in first.items() if k not in ("line", "note") and _small(v)]
        panes.append(table(*numbers))
    for pane in panes:
        _check(pane, runs)
    return Player(
        {
            "label": label,
            "runs": list(runs.values()),
            "sliders": [
                {"name": name, "values": of} for name, of in zip(names, values, strict=True)
            ],
            "panes": plain(panes),
            "algorithm": algorithm,
            "start": start,
            "rate": rate,
        }
    )


def _small(value):
    """Whether a value fits a table's cell: a number, a string, or at most six numbers."""
    return not isinstance(value, list) or (
        len(value) <= 6 and not any(isinstance(v, list) for v in value)
    )


def _check(pane, runs):
    """Every field a pane draws must be in the first frame of every run."""
    named = [*pane.get("fields", ()), pane.get("field"), pane.get("highlight")]
    named += [pane.get(key) for key in ("weights", "slope", "threshold", "outline", "support")]
    if pane["type"] == "lines":
        named += pane["points"] or ()
    if pane["type"] in ("path", "contour"):
        named += [pane.get("path")] if pane["type"] == "contour" else [pane["x"], pane["y"]]
    for name in filter(None, named):
        for run in runs.values():
            if name not in run[0]:
                have = ", ".join(run[0])
                raise ValueError(f"{pane['type']} draws {name!r}, but the frames have: {have}.")
