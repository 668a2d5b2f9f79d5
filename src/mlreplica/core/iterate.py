"""Iterate: the one loop that drives every solver

A solver is a generator. It yields its state, a NamedTuple, once per sweep, epoch, tree or EM step,
and knows nothing of tolerances, budgets, progress bars or histories. `iterate` adds them all:

    state = iterate(self, coordinate_descent(X, y, alpha), max_iter=1000, tol=1e-4, watch="gap")

It ends when the watched number is small enough, when the generator ends, when a callback says so,
or when the budget is spent; only the last is worth a warning, which carries the number and advice.
An interrupt (Ctrl-C) publishes the last state on the estimator and is raised again, so that a
half-fitted model can be looked at but never passes for a whole one. With `verbose` every state is
a line on standard output, the same for all estimators:

    [KMeans] Iteration 3, inertia 1204.5, shift 0.013, moved 41

This file is the only place that speaks the protocol of `sklearn.callback`, which is still young. It
imports scikit-learn when an estimator needs it: samplers start in half the time without.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from numbers import Real
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport

__all__ = [
    "CallbackSupport",
    "LazyCallbackSupport",
    "attributes_set_by",
    "iterate",
    "say",
    "speaks",
    "timed",
]


def __getattr__(name: str) -> Any:
    if name == "CallbackSupport":
        from sklearn.callback import CallbackSupportMixin

        return CallbackSupportMixin
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class LazyCallbackSupport:
    """CallbackSupport for classes that do without scikit-learn until they get a callback."""

    def set_callbacks(self, *callbacks: Any) -> Any:
        """Set the callbacks; return self."""
        return __getattr__("CallbackSupport").set_callbacks(self, *callbacks)

    def _init_callback_context(self, **options: Any) -> Any:
        return __getattr__("CallbackSupport")._init_callback_context(self, **options)


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
    verbose: int | None = None,
    reasons: tuple[str, str] = ("small change", "nothing left to improve"),
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
        Maps a state to the fitted attributes it stands for. Callbacks use it to score the model
        during the fit; an interrupt sets these attributes before it is raised again.
    X, y, metadata
        Handed to the callbacks that ask for them.
    verbose : int, default=None
        Write a line for the first state and for every `verbose`-th one; 0 for none. None: for every
        one if the estimator's own `verbose` asks for lines.
    reasons : pair of str
        What these lines say if the watched number is small enough, and if the solver ends.
    """
    if verbose is None:
        verbose = int(speaks(estimator))
    if verbose:
        states = _spoken(estimator, states, int(verbose))
    drive = _drive
    if getattr(estimator, "_skl_callbacks", None):
        from sklearn.callback import with_callbacks

        drive = with_callbacks(_drive)
    data = {"X": X, "y": y, "metadata": metadata}
    state, n, why = drive(estimator, states, max_iter, tol, watch, unit, publish, data)
    estimator.n_iter_ = n
    if verbose and why == "converged":
        number = f"{watch} {getattr(state, watch):.3g} within tolerance {tol:.3g}"
        say(estimator, f"Converged ({reasons[0]}): {number} after {n} {unit}")
    elif verbose and why == "ended":
        say(estimator, f"Converged ({reasons[1]}) after {n} {unit}")
    if why == "budget" and advice is not None:
        from sklearn.exceptions import ConvergenceWarning

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
    except KeyboardInterrupt as interrupt:
        _close(states)
        if state is not None and publish is not None:
            estimator.n_iter_ = n
            for name, value in publish(state).items():
                setattr(estimator, name, value)
            interrupt.add_note(f"fit was interrupted; the estimator is as it was after {n} {unit}.")
        raise
    _close(states)
    if task is not None:
        attributes = publish(state) if publish and state is not None else None
        task.call_on_fit_task_end(estimator=estimator, reconstruction_attributes=attributes, **data)
    return state, n, why


def speaks(estimator: Any) -> bool:
    """Return whether the estimator's parameter `verbose` asks for lines."""
    verbose = getattr(estimator, "verbose", 0)
    return isinstance(verbose, Real) and float(verbose) > 0.0


def say(estimator: Any, text: str) -> None:
    """Write a line on standard output, where users of `verbose` look for it."""
    sys.stdout.write(f"[{type(estimator).__name__}] {text}".rstrip() + "\n")


@contextmanager
def timed(estimator: Any, what: str) -> Iterator[None]:
    """Write how long the body took, if the estimator's `verbose` asks for lines."""
    start = time.perf_counter()
    yield
    if speaks(estimator):
        say(estimator, f"{what} in {time.perf_counter() - start:.2f} s")


def _spoken(estimator: Any, states: Iterator[Any], every: int) -> Iterator[Any]:
    """The same states; the numbers of every so many are written down."""
    say(estimator, "Initialization complete")
    try:
        for n, state in enumerate(states, 1):
            if n == 1 or n % every == 0:
                numbers = [
                    f"{name} {value:.6g}"
                    for name, value in state._asdict().items()
                    if isinstance(value, Real) and value == value  # noqa: PLR0124  NaN: unknown
                ]
                say(estimator, ", ".join([f"Iteration {n}", *numbers]))
            yield state
    finally:
        _close(states)


def _close(states: Iterator[Any]) -> None:
    """End a generator now, not when it is collected: it may hold an `np.errstate` open."""
    if isinstance(states, Generator):
        states.close()


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


def attributes_set_by(estimator: Any, action: Callable[[Any], None]) -> dict[str, Any]:
    """Return the attributes that `action` sets on a shallow copy: `publish` for many of them."""
    copy, before = object.__new__(type(estimator)), vars(estimator)
    vars(copy).update(before)
    action(copy)
    return {name: value for name, value in vars(copy).items() if before.get(name) is not value}
