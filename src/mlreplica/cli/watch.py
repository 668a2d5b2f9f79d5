"""Record a fit and play it: one HTML file with the book's player

Two columns and two classes: the line between the classes, as it was at every step. One column and a
number: the curve. Else the numbers that the solver reports.
"""

import json
from html import escape
from importlib.resources import files

import numpy as np

from mlreplica.callbacks import Trace

from .console import CommandError
from .fits import listening
from .model import first_line
from .models import core, model_for, needs, preparation

MOST_FRAMES = 200
MOST_POINTS = 150
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
{css}
html {{ background: light-dark(#fdfdfb, #15171b); color-scheme: light dark; }}
body {{ margin: 0 auto; max-width: 64rem; padding: 1rem; color: var(--book-ink); }}
article {{ font-family: var(--book-sans); }}
h1 {{ overflow-wrap: anywhere; }}
</style>
<body><article><h1>{title}</h1>
<div class="player" role="group" aria-label="{title}">
<script type="application/json">{recording}</script>
</div>
<p>{text}</p></article>
<script>{js}</script>
</body>
</html>
"""


class Steps(Trace):
    """A Trace that adds to each state what `picture(model)` says of the model at that step."""

    def __init__(self, picture):
        super().__init__()
        self.picture = picture

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        """Record a state; solvers that publish no model in between give no picture."""
        super().on_fit_task_end(estimator, context)
        if hasattr(context, "state") and fitted_estimator is not None:
            self.states[-1].update(self.picture(fitted_estimator))


def example(task):
    """Data to watch by if none is given: two kinds of iris, or diabetes by body mass."""
    from .table import read_shipped

    if task == "regression":
        table = read_shipped("diabetes")
        return table._replace(
            X=table.X[:, [2]], features=["body mass"], categorical=np.zeros(1, bool)
        )
    table = read_shipped("iris")
    rows = np.flatnonzero(table.y != "setosa")
    features = ["petal length", "petal width"]
    return table._replace(
        X=table.X[rows][:, 2:], y=table.y[rows], features=features, categorical=np.zeros(2, bool)
    )


def record(table, cls, seed=0, settings=None):
    """The frames of a fit, and the panes that draw them."""
    if not hasattr(cls, "set_callbacks"):
        raise CommandError(f"{cls.__name__} has no steps to watch; try Perceptron, SVC or Lasso.")
    X, prepare = table.X, preparation(needs(cls), table)
    if prepare is not None:
        X = prepare.fit_transform(X)
    whole = model_for(cls, table, seed, **(settings or {}))
    model, _ = core(whole)
    if model is not whole:  # the steps are those of the standardised target
        y = (table.y - table.y.mean()) / table.y.std()
        table = table._replace(y=y, target=f"{table.target}, standardised")
    pane, picture = view(table, X)
    steps = Steps(picture)
    try:
        with listening():
            model.set_callbacks(steps).fit(X, table.y)
    except (ValueError, TypeError) as error:
        raise CommandError(f"{cls.__name__} could not be fitted: {first_line(error)}") from None
    states = steps.states
    if not states:
        raise CommandError(f"{cls.__name__} found its answer at once: there are no steps to watch.")
    keep = np.unique(np.linspace(0, len(states) - 1, MOST_FRAMES).astype(int))
    frames = [small(states[k]) for k in keep]
    numbers = [
        name
        for name, value in frames[0].items()
        if isinstance(value, float) and len({frame.get(name) for frame in frames}) > 1
    ]
    panes = [pane] if pane and pane["needs"] in frames[0] else []
    for name in numbers[: 3 - len(panes)]:
        values = [frame[name] for frame in frames]
        log = all(v is not None and v > 0 for v in values) and max(values) > 30 * min(values)
        panes.append({"type": "curve", "fields": [name], "log": log, "title": name,
                      "x": "step" if "step" in frames[0] else None,
                      "labels": ["step", ""]})  # fmt: skip
    shown = [k for k, v in frames[0].items() if not isinstance(v, list) or len(v) <= 6]
    panes.append(
        {"type": "table", "fields": [k for k in shown if k != "curves"], "names": {}, "title": ""}
    )
    return frames, panes, len(states)


def small(state):
    """A state as JSON: numbers rounded, long arrays left out."""
    found = {}
    for name, value in state.items():
        if name in ("curves", "fit", "x", "y"):
            found[name] = value
        elif np.size(value) <= 6 and np.asarray(value).dtype.kind in "iufb":
            plain = np.ravel(value).tolist() if np.ndim(value) else np.asarray(value).item()
            found[name] = rounded(plain)
    return found


def rounded(value, digits=6):
    """Significant digits; null for what is not finite."""
    if isinstance(value, list):
        return [rounded(v, digits) for v in value]
    if isinstance(value, bool | int):
        return value
    return float(f"{value:.{digits}g}") if np.isfinite(value) else None


def view(table, X):
    """The pane for a table that can be drawn, and what a model adds to a frame; else nothing."""
    few = np.random.default_rng(0).permutation(len(X))[:MOST_POINTS]
    labels = [*table.features, table.target][:2]
    low, high = X.min(axis=0), X.max(axis=0)
    low, high = low - 0.1 * (high - low), high + 0.1 * (high - low)
    if table.task == "classification" and X.shape[1] == 2 and len(np.unique(table.y)) == 2:
        pane = {
            "type": "margins", "needs": "curves", "X": rounded(X[few].tolist(), 4),
            "y": np.unique(table.y, return_inverse=True)[1][few].tolist(), "field": "curves",
            "highlight": None, "support": None, "window": np.stack([low, high], axis=1).tolist(),
            "title": "Points, and where the classes part", "labels": labels,
        }  # fmt: skip
        return pane, lambda model: {"curves": level_lines(model, low, high)}
    if table.task == "regression" and X.shape[1] == 1:
        grid = np.linspace(low[0], high[0], 80)
        points = {"x": rounded(X[few, 0].tolist(), 4), "y": rounded(table.y[few].tolist(), 4)}
        pane = {
            "type": "lines", "needs": "fit", "x": rounded(grid.tolist(), 4), "fields": ["fit"],
            "points": ["x", "y"], "fixed": {}, "trail": True, "ylim": None,
            "title": "Points and the fit", "labels": labels,
        }  # fmt: skip
        return pane, lambda m: {"fit": rounded(m.predict(grid[:, None]).tolist(), 4), **points}
    return None, lambda model: {}


def level_lines(model, low, high, points=50):
    """For f = −1, 0, 1 the lines on which the score has that value."""
    from contourpy import contour_generator

    xs, ys = (np.linspace(a, b, points) for a, b in zip(low, high, strict=True))
    rows = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)
    if hasattr(model, "decision_function"):
        f = model.decision_function(rows)
    else:
        f = 2.0 * model.predict_proba(rows)[:, 1] - 1.0
    generator = contour_generator(xs, ys, np.reshape(f, (points, points)))
    return [[rounded(line.tolist(), 4) for line in generator.lines(v)] for v in (-1.0, 0.0, 1.0)]


def page(name, table, frames, panes, steps):
    """The HTML of a recording."""
    static = files("mlreplica.cli").joinpath("static")
    recording = {
        "label": f"{name} on {table.name}", "runs": [frames], "sliders": [], "panes": panes,
        "algorithm": None, "start": 0, "rate": 4.0,
    }  # fmt: skip
    return PAGE.format(
        title=escape(f"{name} learns {table.target} of {table.name}"),
        text=escape(f"{steps} recorded steps of {name}; nothing is computed in the browser."),
        css=static.joinpath("player.css").read_text(encoding="utf-8"),
        js=static.joinpath("player.js").read_text(encoding="utf-8"),
        recording=json.dumps(recording, ensure_ascii=False).replace("<", "\\u003c"),
    )
