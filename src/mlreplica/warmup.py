"""Warm up: compile every kernel ahead of its first use

    python -m mlreplica.warmup [--record FILE] [name ...]

Kernels are compiled for the types they are called with, so the way to compile all that a user will
need is to be that user: every estimator is fitted with every option its constraints list, and every
function is called, on tiny data of the layouts and types that occur. Nothing here names an
algorithm: cards say what `fit` takes. Names choose chapters, estimators and functions; the default
is all. `--record` writes down which kernels were called with which types, for a library built
ahead of time (`core/compile/ahead/`). Only the core dependencies are needed, so that a wheel's
build can run it.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import logging
import sys
import time
import warnings
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import get_tags

from mlreplica.core.card import Entry, card_of
from mlreplica.core.compat import (
    Interval,
    Options,
)
from mlreplica.core.compile.ahead.levels import save_signatures
from mlreplica.core.compile.events import record_compilations
from mlreplica.core.compile.jit import PURE_PYTHON, CompiledFunction, Formula
from mlreplica.core.compile.layers import layer
from mlreplica.core.formulas.losses import Loss

from .discovery import chapters, public

# Cheap settings, where an estimator has them; and options that lead to no other kernel.
CHEAP = {"max_iter": 5, "n_estimators": 3, "n_components": 2, "Cs": 2, "random_state": 0}
INERT = {
    "verbose", "n_jobs", "random_state", "copy", "copy_X", "warm_start", "scoring"
}  # fmt: skip
CHOICES = {
    "average": ["macro"], "multi_class": ["ovr"], "solver": ["jacobi", "golub-kahan"],
    "interactions": [True], "background": [np.zeros((5, 3))],
}  # of functions, beside their defaults  # fmt: skip
POSITIONAL = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
REFUSED = (ValueError, TypeError, NotImplementedError, ImportError)  # ImportError: an extra


class Report(NamedTuple):
    """What a warm-up did."""

    kernels: int  # that were compiled now
    variants: int  # of them, one for each set of argument types
    seconds: float
    folder: Path | None = None  # where they are kept
    failures: tuple[str, ...] = ()  # calls that ended otherwise than well or refused


def warmup(
    progress: Callable[[int, int, str], None] | None = None, only: Collection[str] = ()
) -> Report:
    """Compile kernels, or find them compiled; `progress(done, total, what)` is told."""
    start, calls, failures = time.perf_counter(), list(all_calls(only)), []
    logger = logging.getLogger("mlreplica")
    level = logger.level
    logger.setLevel(logging.ERROR)  # a long compilation is no news here
    try:
        with (
            record_compilations() as record,
            warnings.catch_warnings(),
            np.errstate(all="ignore"),
        ):
            for category in (UserWarning, RuntimeWarning, FutureWarning):
                warnings.simplefilter("ignore", category)
            for done, (name, call) in enumerate(calls):
                if progress:
                    progress(done, len(calls), name)
                try:
                    attempt(call)
                except Exception as error:  # noqa: BLE001  whatever it is, warming up goes on
                    failures.append(f"{name}: {error!r}")
    finally:
        logger.setLevel(level)
    if progress:
        progress(len(calls), len(calls), "")
    compiled = record.functions
    seconds = time.perf_counter() - start
    return Report(
        len(set(compiled)), len(compiled), seconds, folder(), tuple(dict.fromkeys(failures))
    )


def attempt(function: Callable[..., Any], *args: Any, **options: Any) -> None:
    """Call; options and data that do not go together are refused, and that is all right."""
    with contextlib.suppress(*REFUSED):
        function(*args, **options)


def all_kernels() -> list[CompiledFunction]:
    """Every kernel of the package's imported modules; formulas are compiled inside of them."""
    found = {}
    for name, module in list(sys.modules.items()):
        if name.startswith("mlreplica.") and module is not None:
            for thing in vars(module).values():
                if isinstance(thing, CompiledFunction) and not isinstance(thing, Formula):
                    found[id(thing)] = thing
    return sorted(found.values(), key=lambda kernel: (kernel.__module__, kernel.__name__))


def signatures(kernel: CompiledFunction) -> list[Any]:
    """The types that a kernel has been compiled for, or loaded for, in this process."""
    return list(kernel.dispatcher.signatures) if "dispatcher" in vars(kernel) else []


def called_kernels() -> list[tuple[CompiledFunction, Any]]:
    """Kernels with the types that they were called with in this process."""
    return [(kernel, types) for kernel in all_kernels() for types in signatures(kernel)]


def folder() -> Path | None:
    """The folder in which compiled kernels are kept; None if there is none."""
    cache = None if PURE_PYTHON else layer("cache")
    return cache.folder() if cache else None


# ------------------------------------------------------------------------------------------ calls


def all_calls(only: Collection[str] = ()) -> Iterator[tuple[str, Callable[[], Any]]]:
    """(name, call) for all that users do, in small, with the things or chapters of these names."""
    for name, thing in chosen(only):
        if inspect.isfunction(thing):
            calls = function_calls(thing)
        elif isinstance(thing, Loss):
            calls = iter([partial(call_methods, thing, loss_arguments(thing))])
        elif card := card_of(thing):
            calls = estimator_calls(card)
        elif not hasattr(thing, "small_runs"):
            calls = matrix_calls(thing)
        else:
            calls = iter(())
        more = thing.small_runs() if hasattr(thing, "small_runs") else ()  # a sampler, a tree …
        yield from ((name, call) for call in itertools.chain(calls, more))


def chosen(only: Collection[str]) -> list[tuple[str, Any]]:
    """What can be called, of these names; all without any."""
    things = public(lambda t: inspect.isfunction(t) or isinstance(t, Loss | type))
    homes = [(chapter.__name__.rpartition(".")[2], chapter.__all__) for chapter in chapters()]
    places = [{name} | {home for home, names in homes if name in names} for name, _ in things]
    if unknown := set(only).difference(*places):
        raise ValueError(f"no chapter, estimator or function is named {min(unknown)!r}.")
    return [t for t, names in zip(things, places, strict=True) if not only or names & set(only)]


def options(estimator: type) -> dict[str, list[Any]]:
    """The values of every parameter that the constraints of an estimator list by name."""
    found = {}
    for name, constraints in getattr(estimator, "_parameter_constraints", {}).items():
        values: list[Any] = []
        for constraint in constraints if isinstance(constraints, list) else []:
            if isinstance(constraint, Options):
                values += sorted(constraint.options - constraint.deprecated, key=str)
            elif isinstance(constraint, Interval) and (constraint.left, constraint.right) == (0, 1):
                values += [v for v in (0.0, 0.5, 1.0) if v in constraint]  # a share
            elif constraint == "boolean":
                values += [False, True]
            elif constraint is None:
                values.append(None)
        if len(values) > 1 and name not in INERT:
            found[name] = values
    return found


def settings(estimator: type) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The defaults and each option alone; and all pairs of options, many pairs in one setting."""
    names = inspect.signature(estimator).parameters
    cheap = {name: v for name, v in CHEAP.items() if name in names and names[name].default != -1}
    if (card := card_of(estimator)) and card.cheap:
        cheap |= card.cheap()
    listed = options(estimator)
    single = [{name: v} for name, values in listed.items() for v in values]
    return [cheap | s for s in [{}, *single]], [cheap | kw for kw in pairwise(listed)]


def pairwise(listed: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Settings such that every two values of two options occur together in one of them."""
    single = [(name, v) for name, values in listed.items() for v in values]
    pairs = itertools.combinations(single, 2)
    missing = {(a, b): None for a, b in pairs if a[0] != b[0]}  # a set, in a fixed order
    found = []
    while missing:
        row = dict(next(iter(missing)))
        for name in listed.keys() - row.keys():
            gains = [new_pairs(row, (name, v), missing) for v in listed[name]]
            if any(gains):
                row[name] = listed[name][gains.index(max(gains))]
        found.append({name: row[name] for name in listed if name in row})
        for pair in itertools.combinations(found[-1].items(), 2):
            missing.pop(pair, None)
    return found


def new_pairs(row: dict[str, Any], option: tuple[str, Any], missing: Any) -> int:
    """How many missing pairs an option makes with those of a row."""
    return sum((a, option) in missing or (option, a) in missing for a in row.items())


def estimator_calls(card: Entry) -> Iterator[Callable[[], Any]]:
    """Fits of one estimator; with the default options, all that can be done afterwards.

    One that searches by cross-validation runs the kernels of the model it searches for, whose
    options are tried there.
    """
    estimator = card.estimator
    (default, *single), several = settings(estimator)
    if card.data:  # neither rows nor a target
        for kw in (default, *single, *several):
            yield partial(use, estimator(**kw), *card.data())
        return
    if "cv" in inspect.signature(estimator).parameters:
        single, several = [], [default | s for s in single]
    plain, *others = designs()
    if get_tags(estimator(**default)).input_tags.allow_nan:
        others.append(np.where(plain > 1.0, np.nan, plain))
    if "kernel" in inspect.signature(estimator).parameters:  # it makes a matrix of n² entries
        others = [X[:1100] for X in others]
    for X in (plain, *others):
        for y in targets(card.task, X):
            yield partial(use, estimator(**default), X, y)
            yield from (partial(fit, estimator(**kw), X, y) for kw in single)
    for y in targets(card.task, plain):
        yield from (partial(fit_pairs, estimator, default, kw, plain, y) for kw in several)
    both = {name: v for name, v in options(estimator).items() if name in ("solver", "l1_ratio")}
    for X in large_designs() if len(both) == 2 else ():  # a penalty that selects
        kws = pairwise(both)
        for y in targets(card.task, X):
            yield from (partial(estimator(**default | kw).fit, X, y) for kw in [{}, *kws])


def fit_pairs(estimator: type, default: dict[str, Any], kw: dict[str, Any], X: Any, y: Any) -> None:
    """Fit with all the options given; with two at a time if together they are refused."""
    try:
        fit(estimator(**kw), X, y)
    except REFUSED:
        single = [{name: v} for name, v in kw.items() if name not in default]
        for a, b in itertools.combinations(single, 2):
            attempt(fit, estimator(**default | a | b), X, y)


def matrix_calls(cls: type) -> Iterator[Callable[[], Any]]:
    """Calls of an object that takes matrices, as a kernel K(X, Y) does."""
    if any("__call__" in vars(base) for base in cls.__mro__) and not required(cls):
        made: Any = cls()
        for X in designs():
            yield from (partial(made, X), partial(made, X, X[:5]))


def designs() -> list[Any]:
    """X in the shapes, layouts and types that occur; the first is the plainest."""
    rng = np.random.default_rng(0)
    shapes = (30, 4), (6, 20), (40, 50), (3000, 7)
    X, few, wide, many = (rng.standard_normal(shape) for shape in shapes)
    powers = np.linspace(0.9, 1.0, 30)[:, None] ** np.arange(1, 9)  # condition number 1e12
    types = [np.asfortranarray(X), frozen(X), X.astype(np.float32), sp.csr_array(X)]
    return [X, *types, few, wide, many, powers]


@functools.cache
def large_designs() -> list[Any]:
    """X of so many columns that solvers go other ways: dense; sparse, with few values and many."""
    rng = np.random.default_rng(0)
    words = [
        1e4 * sp.random_array((6000, 1000), density=share, format="csr", rng=rng)
        for share in (0.002, 0.03)
    ]
    return [rng.standard_normal((40, 1100)), *words]


def targets(task: str, X: Any) -> list[Any]:
    """y that suit a task: numbers, several columns, two classes, three classes by name."""
    n = X.shape[0]
    k = np.arange(n) % 3
    numbers = np.sin(np.arange(n)) + 2.0
    if task == "classification":
        return [k % 2, np.array(["a", "b", "c"])[k]]
    if task == "regression":
        return [numbers, np.stack([numbers, numbers**2], axis=1)]
    return [None]


def fit(model: Any, X: Any, y: Any = None) -> Any:
    """Fit with weights, where there can be some, and without."""
    if "sample_weight" in inspect.signature(model.fit).parameters:
        n = len(X) if isinstance(X, list) else X.shape[0]
        attempt(model.fit, X, y, sample_weight=np.linspace(0.5, 1.5, n))
    return model.fit(X, y)


def use(model: Any, X: Any, y: Any = None) -> None:
    """Fit, then call every method that X and y suffice for."""
    fit(model, X, y)
    call_methods(model, {"X": X, "y": y, "Y": X})


def call_methods(thing: Any, known: dict[str, Any]) -> None:
    """Call every method of which all required arguments are known by name."""
    for name, method in inspect.getmembers(thing, inspect.ismethod):
        if not name.startswith(("_", "set_", "get_", "fit", "plot")):
            names = required(method)
            if set(names) <= known.keys():
                attempt(method, *map(known.get, names))


def required(function: Callable[..., Any]) -> list[str]:
    """The names of the positional arguments that a function must be given."""
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.default is p.empty and p.kind in POSITIONAL]


def function_calls(function: Callable[..., Any]) -> Iterator[Callable[[], Any]]:
    """Calls of one function on every set of arguments that has what it requires."""
    names, parameters = required(function), inspect.signature(function).parameters
    choices: list[dict[str, Any]] = [{}]
    choices += [{n: v} for n, values in CHOICES.items() if n in parameters for v in values]
    for known in arguments():
        if names and set(names) <= known.keys():
            args = [known[name] for name in names]
            for chosen in choices:
                yield partial(function, *args, **chosen)
                if "sample_weight" in parameters:
                    yield partial(function, *args, **chosen, sample_weight=known["w"])


@functools.cache
def arguments() -> list[dict[str, Any]]:
    """Values by the names that arguments have: classes and numbers, few and many."""
    rng, found = np.random.default_rng(0), []
    few = list(itertools.product(("i8", "?", "f8", "U1", "O"), (2, 3)))
    many = [("i8", 2), ("i8", 3), ("?", 2), ("U1", 2)]
    for n, m, kinds in ((30, 30, few), (2**17, 600, many)):  # m: rows of X, for what costs n²
        X, f, w = rng.standard_normal((m, 3)), rng.standard_normal(n), rng.uniform(1, 2, n)
        p = 1 / (1 + np.exp(-f))
        for kind, K in kinds:
            names = np.arange(K) if kind in ("i8", "?", "f8") else np.array(list("abc"[:K]))
            y, guess = (rng.choice(names, n).astype(kind) for _ in range(2))
            P = p if K == 2 else rng.dirichlet(np.ones(K), n)
            scores = dict.fromkeys(("y_score", "y_proba", "y_prob", "pred_decision"), P)
            clusters = {"X": X, "labels": y[:m], "labels_true": y, "labels_pred": guess}
            found.append({"y_true": y, "y_pred": guess, "w": w} | scores | clusters)
            found.append({"y_true": y, "y_pred": P, "w": w})
        two = np.stack([f, p], axis=1)
        for a, b in ((f, p), (frozen(f), frozen(p)), (f.astype("f4"), p.astype("f4")), (two, two)):
            found.append({"y_true": a, "y_pred": b, "w": w})
        found.append({"y_true": frozen(p > 0.5), "y_pred": frozen(f > 1), "y_score": frozen(p)})
        found.append({"x": np.sort(f), "y": p, "w": w})
        found.append({"X": X, "Y": X, "y": np.where(X[:, 0] > 0, 1.0, -1.0), "w": w[:m]})
    found.append({"objective": sum_of_squares, "x0": np.ones(2)})
    found.append({"model": small_tree(X[:30]), "X": X[:30]})
    found += [{"A": X[:30]}, {"A": np.eye(4, k=1)}]  # and one without full rank
    return [{"w": None} | known for known in found]


def small_tree(X: np.ndarray) -> Any:
    """A fitted model to explain."""
    from mlreplica.tree import DecisionTreeRegressor

    return DecisionTreeRegressor(max_depth=3).fit(X, X[:, 0])


def sum_of_squares(x: np.ndarray) -> float:
    """A function to minimise."""
    return float((x**2).sum())


def loss_arguments(loss: Loss) -> dict[str, Any]:
    """y and f of a loss: classes with a score each, or labels −1 and +1 with one score."""
    f = np.random.default_rng(0).standard_normal((30, 3))
    if loss.target == "class":
        return {"y": np.arange(30) % 3, "f": f}
    return {"y": np.where(f[:, 1] > 0, 1.0, -1.0), "f": f[:, 0].copy()}


def frozen(a: np.ndarray) -> np.ndarray:
    """A copy that cannot be written to."""
    a = a.copy()
    a.flags.writeable = False
    return a


def sentence(report: Report) -> str:
    """What a report says, in words."""
    if PURE_PYTHON:
        return "nothing to compile: kernels run as plain Python (MLREPLICA_PURE_PYTHON)"
    if not report.variants:
        return f"nothing to compile: every kernel was there ({report.seconds:.1f} s)"
    return (
        f"{report.kernels} kernels compiled, in {report.variants} variants ({report.seconds:.1f} s)"
    )


if __name__ == "__main__":
    arguments_given = sys.argv[1:]
    record_to = arguments_given[1] if arguments_given[:1] == ["--record"] else None
    outcome = warmup(only=arguments_given[2:] if record_to else arguments_given)
    if record_to:
        save_signatures(called_kernels(), Path(record_to))
    sys.stdout.write(sentence(outcome) + "\n")
    sys.exit("\n".join(outcome.failures) or None)
