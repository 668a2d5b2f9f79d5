"""A race: one task on several shapes of data, and contestants who take turns.

A contestant is a function of the data. It imports its library, prepares what a user would have at
hand, and returns the call that is timed:

    def scikit_learn(data):
        from sklearn.linear_model import Ridge

        return lambda: Ridge(solver="svd").fit(data.X, data.y)

which `fit("sklearn.linear_model.Ridge", solver="svd")` says in a line. `quality(data, result)` is
the number by which results are compared, smaller is better. Whose quality is worse than the best
one's by more than the tolerance stays in the table, marked, and is not counted as a peer.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from benchmarks.data import Data

Call = Callable[[], Any]
Contestant = Callable[[Data], Call]
PACKAGES = {
    "mlreplica": "mlreplica",
    "scikit-learn": "sklearn",
    "scikit-learn-intelex": "sklearnex",
}
BOTH = ("mlreplica", "scikit-learn")


@dataclass(frozen=True, kw_only=True)
class Race:
    """One task; `name` is also the name of its file in `results/`."""

    name: str
    what: str  # the task; the table adds the shape
    shapes: dict[str, Callable[[], Data]]
    contestants: dict[str, Contestant]  # "distribution" or "distribution, variant"
    quality: Callable[[Data, Any], float]
    quality_name: str = "objective"
    rtol: float = 1e-6  # how much worse than the best still counts as equal
    atol: float = 1e-9
    ours: str = "mlreplica"
    start: bool = False  # also time the first result of a new process
    readme: bool = False  # show in the README
    share: float = 1.0  # of the seconds that a shape is given
    home: str = ""  # the module that has it in RACES; `races_of` fills it in


def races_of(module: str) -> dict[str, Race]:
    """The races of one module by name."""
    return {race.name: replace(race, home=module) for race in import_module(module).RACES}


def all_races() -> dict[str, Race]:
    """Every race of `benchmarks/races` by name, in the order of the modules."""
    folder = import_module("benchmarks.races")
    modules = [races_of(f"{folder.__name__}.{m.name}") for m in iter_modules(folder.__path__)]
    races = {name: race for module in modules for name, race in module.items()}
    if len(races) != sum(map(len, modules)):
        raise ValueError("two races share a name")
    return races


def threads() -> int:
    """How many threads a contestant may use; for libraries whose users must pass `n_jobs`."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def located(path: str) -> Any:
    """The object that is called `path`, imported."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def fit(path: str, **options: Any) -> Contestant:
    """A contestant: make an estimator and fit it."""

    def prepare(data: Data) -> Call:
        make = located(path)
        return lambda: make(**options).fit(data.X, data.y)

    return prepare


def ask(path: str, method: str = "predict", rows: int | None = None, **options: Any) -> Contestant:
    """A contestant: a fitted estimator, asked for new rows (of its own, if there are none)."""

    def prepare(data: Data) -> Call:
        model = located(path)(**options).fit(data.X, data.y)
        X = (data.X if data.X_new is None else data.X_new)[:rows].copy()
        answer = getattr(model, method)
        return lambda: answer(X)

    return prepare


def same(
    name: str, packages: Any = PACKAGES, how: Callable[..., Contestant] = fit, **options: Any
) -> dict[str, Contestant]:
    """The class `name` ("linear_model.Ridge") of several packages, with equal options."""
    return {peer: how(f"{PACKAGES[peer]}.{name}", **options) for peer in packages}
