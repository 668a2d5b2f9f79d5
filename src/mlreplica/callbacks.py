"""Callbacks: look into a running fit

Every iterative estimator takes them, and scikit-learn's own `ScoringMonitor`, too:

>>> from mlreplica.callbacks import Trace
>>> from mlreplica.datasets import load_iris
>>> from mlreplica.linear_model import Perceptron
>>> X, y = load_iris(return_X_y=True)
>>> trace = Trace()
>>> model = Perceptron().set_callbacks(trace).fit(X, y == 0)
>>> len(trace.states) == model.n_iter_
True
"""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path

import numpy as np
from sklearn.metrics import check_scoring

from mlreplica.core.progress import ProgressBar

__all__ = ["EarlyStopping", "ProgressBar", "Snapshot", "Trace"]


class Callback:
    """Does nothing at every hook of scikit-learn's protocol."""

    def setup(self, estimator, context):
        """Called once before the first state."""

    def on_fit_task_begin(self, estimator, context):
        """Nothing has happened yet."""

    def on_fit_task_end(self, estimator, context):
        """One state is there (`context.state`), or the fit itself has ended; True stops it."""

    def teardown(self, estimator, context):
        """Called once after the last state, also if fit fails."""


class Trace(Callback):
    """Record the states of a fit: every field the solver yields, once per iteration.

    Parameters
    ----------
    every : int, default=1
        Keep every so many states.
    fields : list of str, optional
        Keep only these fields, for instance to leave out large arrays.

    Attributes
    ----------
    states : list of dict
        The last fit's states: `step` (from 1) and a copy of each field.
    """

    def __init__(self, every=1, fields=None):
        self.every, self.fields = every, fields
        self.runs = {}  # which fit → its states: the clones in a grid search share this callback

    @property
    def states(self):
        return list(self.runs.values())[-1] if self.runs else []

    def setup(self, estimator, context):
        self.runs[_place(context)] = []

    def on_fit_task_end(self, estimator, context):
        if hasattr(context, "state") and context.task_id % self.every == 0:
            fields = {
                name: np.copy(value)[()]
                for name, value in context.state._asdict().items()
                if self.fields is None or name in self.fields
            }
            self.runs[_place(context.parent)].append({"step": context.task_id + 1, **fields})

    def scalars(self):
        """The fields that are one number a state, as lists: what can be drawn against `step`."""
        names = [k for k, v in self.states[0].items() if np.ndim(v) == 0] if self.states else []
        return {name: [state[name] for state in self.states] for name in names}

    def to_frame(self):
        """The scalar fields as a pandas DataFrame indexed by step."""
        import pandas as pd

        return pd.DataFrame(self.scalars()).set_index("step")

    def to_json(self, path=None, digits=6):
        """All states as JSON, numbers rounded to significant digits; written to `path` if given."""
        text = json.dumps([{k: _plain(v, digits) for k, v in s.items()} for s in self.states])
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def plot(self, fields=None, *, ax=None, log=True):
        """Draw the scalar fields against the step; a log scale where all values are positive."""
        from mlreplica.plotting._style import line, pyplot

        curves = self.scalars()
        steps = curves.pop("step")
        ax = ax or pyplot().gca()
        for k, name in enumerate(fields or curves):
            ax.plot(steps, curves[name], label=name, **line(k))
        if log and all(v > 0 for name in fields or curves for v in curves[name]):
            ax.set_yscale("log")
        ax.set_xlabel("step")
        ax.legend(frameon=False)
        return ax

    def animate(self, path=None, *, draw=None, X=None, y=None, frames=100, fps=8, title=None):
        """A film of the states: their weights, or the plane of the rows, beside the curves so far.

        Parameters
        ----------
        path : str or Path, optional
            Where to write it: `.html`, a page that needs nothing else, or `.gif`.
        draw : callable of (figure, state), optional
            Draws a state, a dictionary, in a matplotlib Figure; there is a default.
        X, y : array-like, optional
            The rows of the fit: of two columns they are drawn, with the line wᵀx + b = 0.
        frames : int, default=100
            At most so many states, evenly spaced, the first and the last among them.
        fps : float, default=8
            Pictures a second.
        title : str, optional
            What is to be seen.

        Returns
        -------
        mlreplica.plotting.Animation
            With `save`, `to_html` and `to_gif`; a notebook shows it.
        """
        from mlreplica.plotting._animation import animate

        film = animate(self, draw, X=X, y=y, frames=frames, fps=fps, title=title)
        if path is not None:
            film.save(path)
        return film


def _place(context):
    """Where a fit stands in the tree of tasks, which may begin at a grid search."""
    return (*(_place(context.parent) if context.parent else [context.root_uuid]), context.task_id)


def _plain(value, digits):
    """Arrays as lists, numbers rounded to significant digits, non-finite ones as null."""
    if isinstance(value, np.ndarray | list | tuple):
        return [_plain(v, digits) for v in value]
    if isinstance(value, bool | np.bool_ | str):
        return str(value) if isinstance(value, str) else bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None


class EarlyStopping(Callback):
    """Stop a fit that no longer gets better.

    Parameters
    ----------
    monitor : str, optional
        A field of the solver's state that should fall (`"objective"`, `"gap"` …).
    X_val, y_val : array-like, optional
        Or: data that the fit does not see, on which `scoring` should rise.
    scoring : str or callable, optional
        As in scikit-learn; the estimator's own score by default.
    patience : int, default=5
        How many states without a better one to wait.
    min_delta : float, default=0.0
        What counts as better.

    Attributes
    ----------
    best_step, best_value : int, float
        Where the best state was, and its monitored value or score.
    best_estimator : estimator
        The model at the best state (only when it is scored on `X_val`).
    """

    def __init__(
        self, monitor=None, *, X_val=None, y_val=None, scoring=None, patience=5, min_delta=0.0
    ):
        self.monitor, self.X_val, self.y_val, self.scoring = monitor, X_val, y_val, scoring
        self.patience, self.min_delta = patience, min_delta

    def setup(self, estimator, context):
        if (self.monitor is None) == (self.X_val is None):
            raise ValueError("EarlyStopping needs either monitor=FIELD or X_val= and y_val=.")
        self.best_step, self.best_value, self.best_estimator = 0, None, None

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if not hasattr(context, "state"):
            return None
        step = context.task_id + 1
        if self.monitor is not None:
            value = getattr(context.state, self.monitor)
            better = self.best_value is None or value < self.best_value - self.min_delta
        else:
            scorer = check_scoring(fitted_estimator, self.scoring)
            value = scorer(fitted_estimator, self.X_val, self.y_val)
            better = self.best_value is None or value > self.best_value + self.min_delta
        if better:
            self.best_step, self.best_value = step, value
            self.best_estimator = None if self.monitor else _free_copy(fitted_estimator)
        return step - self.best_step >= self.patience


class Snapshot(Callback):
    """Keep usable copies of the model as it was during the fit.

    Parameters
    ----------
    every : int, default=1
        Copy after every so many states.
    last : int, optional
        Keep only the last so many copies.

    Attributes
    ----------
    models : dict of int to estimator
        The copies by step; each predicts as if fit had stopped there.
    """

    def __init__(self, every=1, last=None):
        self.every, self.last = every, last
        self.models = {}

    def setup(self, estimator, context):
        self.models = {}

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if hasattr(context, "state") and (context.task_id + 1) % self.every == 0:
            self.models[context.task_id + 1] = _free_copy(fitted_estimator)
            if self.last is not None and len(self.models) > self.last:
                del self.models[min(self.models)]


def _free_copy(model):
    """A deep copy without the callbacks and contexts of the fit it was taken from."""
    model = copy.copy(model)
    for name in ("_skl_callbacks", "_callback_fit_ctx", "_skl_callbacks_to_teardown"):
        vars(model).pop(name, None)
    return copy.deepcopy(model)
