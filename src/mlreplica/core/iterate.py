"""Iterate: the one loop that drives every solver

A solver is a generator. It yields its state, a NamedTuple, once per sweep, epoch, tree or EM step,
and knows nothing of tolerances, budgets, progress bars or histories. `iterate` adds them all:

    state = iterate(self, coordinate_descent(X, y, alpha), max_iter=1000, tol=1e-4, watch="gap")

It ends when the watched number is small enough, when the generator ends, when a callback says so,
or when the budget is spent; only the last is worth a warning, which carries the number and advice.
This file is the only place that speaks the protocol of `sklearn.callback`, which is still young.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

from sklearn.callback import CallbackSupportMixin as CallbackSupport
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning

__all__ = ["CallbackSupport", "iterate"]


def iterate(
    estimator: Any,
    states: Iterator[Any],
    *,
    max_iter: int,
    tol: float | None = None,
    watch: str = "gap",
    unit: str = "epochs",
    advice: str | None = "raise max_iter",
    publish: Callable[[Any], dict[str, Any]] | None = None,
    X: Any = None,
    y: Any = None,
    metadata: dict[str, Any] | None = None,
) -> Any:
    """Drive a solver to its end, set `estimator.n_iter_` and return the last state.

    Parameters
    ----------
    estimator : estimator instance
        The one being fitted; its callbacks are called once per state.
    states : generator of NamedTuples
        The solver. Field names become the columns of a `Trace`.
    max_iter : int
        The most states to ask for.
    tol, watch : float or None, str
        Stop as soon as the field `watch` of the state is at most `tol`.
    unit, advice : str, str or None
        What an iteration is called, and what to do if it does not converge. None: no warning.
    publish : callable, optional
        Maps a state to the fitted attributes it stands for. It lets callbacks score the model
        half-way, and lets an interrupted fit (Ctrl-C) end with the last state instead of nothing.
    X, y, metadata
        Handed to the callbacks that ask for them.
    """
    drive = with_callbacks(_drive) if getattr(estimator, "_skl_callbacks", None) else _drive
    data = {"X": X, "y": y, "metadata": metadata}
    state, n, why = drive(estimator, states, max_iter, tol, watch, unit, publish, data)
    estimator.n_iter_ = n
    if why == "interrupted":
        warnings.warn(
            f"fit was interrupted after {n} {unit}; the model is what it had become by then.",
            ConvergenceWarning,
            stacklevel=3,
        )
    elif why == "budget" and advice is not None:
        reached = "" if tol is None else f"{watch} {getattr(state, watch):.1e} > {tol:.1e} "
        warnings.warn(
            f"Not converged: {reached}after {n} {unit}; {advice}.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return state


def _drive(
    estimator: Any,
    states: Iterator[Any],
    max_iter: int,
    tol: float | None,
    watch: str,
    unit: str,
    publish: Callable[[Any], dict[str, Any]] | None,
    data: dict[str, Any],
) -> tuple[Any, int, str]:
    """Return the last state, how many there were, and why there are no more."""
    task = None
    if getattr(estimator, "_skl_callbacks", None):
        task = estimator._init_callback_context(max_subtasks=max_iter)
        task.call_on_fit_task_begin(estimator=estimator, **data)
    state, n, why = None, 0, "ended"
    try:
        for state in states:
            n += 1
            if task is not None and _told_to_stop(task, estimator, state, unit, publish, data):
                why = "stopped"
            elif tol is not None and getattr(state, watch) <= tol:
                why = "converged"
            elif n >= max_iter:
                why = "budget"
            else:
                continue
            break
    except KeyboardInterrupt:
        if state is None or publish is None:
            raise
        why = "interrupted"
    if task is not None:
        attributes = publish(state) if publish and state is not None else None
        task.call_on_fit_task_end(estimator=estimator, reconstruction_attributes=attributes, **data)
    return state, n, why


def _told_to_stop(
    task: Any, estimator: Any, state: Any, unit: str, publish: Any, data: dict[str, Any]
) -> bool:
    """Show one state to every callback; True if one of them asks for the end."""
    step = task.subcontext(task_name=unit)
    step.state = state  # what mlreplica's own callbacks read
    step.call_on_fit_task_begin(estimator=estimator, **data)
    attributes = (lambda: publish(state)) if publish else None
    return bool(
        step.call_on_fit_task_end(estimator=estimator, reconstruction_attributes=attributes, **data)
    )
