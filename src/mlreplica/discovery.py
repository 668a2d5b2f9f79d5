"""Discovery: the cards of all estimators, and every public function and class"""

from collections.abc import Callable
from importlib import import_module
from operator import attrgetter, itemgetter
from types import ModuleType
from typing import Any, get_args

import mlreplica
from mlreplica.core.card import Entry, Task, card_of

TASKS = {
    "classifier": "classification",
    "regressor": "regression",
    "transformer": "transformation",
    "cluster": "clustering",
}
TABLES = ("table", "rows")  # inputs that are rows, with a target or alone


def chapters() -> list[ModuleType]:
    """Return the public modules of the package, in alphabetical order."""
    return [import_module(f"mlreplica.{name}") for name in sorted(mlreplica.__all__)]


def announced() -> list[tuple[str, Any]]:
    """Return the names in the chapters' `__all__`, and what they name."""
    names = [(chapter, name) for chapter in chapters() for name in chapter.__all__]
    return [(name, getattr(chapter, name)) for chapter, name in names]


def cards(task: str | None = None) -> list[Entry]:
    """Return the cards of all estimators, or of those for one task, sorted by name.

    >>> from mlreplica.discovery import cards
    >>> [card.name for card in cards("outliers")]
    ['EllipticEnvelope', 'IQR', 'IsolationForest', 'LocalOutlierFactor', 'OneClassSVM', 'ZScore']
    """
    found = [card_of(thing) for _, thing in announced() if isinstance(thing, type)]
    wanted = [card for card in found if card and task in (None, card.task)]
    return sorted(wanted, key=attrgetter("name"))


def all_estimators(type_filter: Any = None) -> list[tuple[str, type]]:
    """List every estimator of the package, as scikit-learn's function of this name does.

    Estimators that are made of others, such as a vote, are left out: their constructors need
    arguments. So are those that take no table: sequences, densities. `cards()` lists them too.

    Parameters
    ----------
    type_filter : {"classifier", "regressor", "transformer", "cluster"} or None
        Which kind, or the task on its card ("outliers", …); None for all.

    Returns
    -------
    list of (str, class)
        Sorted by name.

    Examples
    --------
    >>> from mlreplica.discovery import all_estimators
    >>> [name for name, _ in all_estimators("regressor") if name.startswith("Linear")]
    ['LinearRegression', 'LinearSVR']
    """
    if type_filter not in (None, *TASKS, *get_args(Task)):
        raise ValueError(f"type_filter must be one of {', '.join(TASKS)}, got {type_filter!r}.")
    found = cards(TASKS.get(type_filter, type_filter))
    return [(card.name, card.estimator) for card in found if card.input in TABLES]


def public(predicate: Callable[[Any], bool]) -> list[tuple[str, Any]]:
    """List, by name, what the chapters announce and was defined in this package."""
    ours = [
        (name, t)
        for name, t in announced()
        if getattr(t, "__module__", "").startswith("mlreplica.")
    ]
    return sorted(((name, t) for name, t in ours if predicate(t)), key=itemgetter(0))


def overview(link: str = "{page}.md") -> str:
    """Return a Markdown table of all estimators, for the README and the book.

    Parameters
    ----------
    link : str
        Where the page of an estimator is, with {page} for its name.
    """
    groups: dict[tuple[str, str, str], list[str]] = {}
    for card in cards():
        groups.setdefault((card.chapter, card.page, card.use), []).append(f"`{card.name}`")
    rows = ["| chapter | estimators | use them for | page |", "|---|---|---|---|"]
    for (chapter, page, use), names in sorted(groups.items()):
        where = f"[{page.replace('-', ' ')}]({link.format(page=page)})"
        rows.append(f"| `{chapter.partition('.')[2]}` | {', '.join(names)} | {use} | {where} |")
    return "\n".join(rows) + "\n"
