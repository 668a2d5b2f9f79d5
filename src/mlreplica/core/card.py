"""Cards: what tools need to know about an estimator, written beside it

    class Ridge(RegressorMixin, BaseEstimator):
        card = Card(page="ridge", checks="linear", onnx="linear", use="…", …)

Discovery, the warm-up, `mlreplica compare` and `models`, saved files, ONNX, the API reference, the
book and the README read cards and know no estimator by name. An estimator is registered when its
chapter's `__init__` names it and its class has a card of its own; a subclass inherits none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from .lazy import public_module

Task = Literal[
    "classification", "regression", "transformation", "clustering", "outliers", "density",
    "labelling", "sampling",
]  # fmt: skip
Input = Literal[
    "table", "rows", "column", "targets", "gram", "labels", "members", "sequences", "log-density"
]  # fmt: skip
Checks = str | Callable[[dict[str, Any]], None]
Converter = str | Callable[[Any, Any, str], dict[str, Any]]

FACTS = {
    "use": "Use it for",
    "good": "Advantages",
    "bad": "Disadvantages",
    "time": "Time",
    "memory": "Memory",
    "rescaling": "Rescaling",
    "missing": "Missing values",
    "instead": "Alternatives",
}
SCALED = "needed: the penalty depends on the units of the columns"
UNSCALED = "not needed: only the order of values within a column matters"
REFUSED = "refused: impute them first"
LEARNED = "accepted: each split learns the better side for them"


def show_fit_of(model: Any) -> str:
    """Return a model as HTML; scikit-learn asks its classes for it by the name `_html_repr`."""
    from .notebook import show_fit

    return show_fit(model)


@dataclass(frozen=True, kw_only=True)
class Card:
    """What tools need to know about one estimator.

    Parameters
    ----------
    page : str
        The page of the book that explains it, without its ending.
    checks : str, callable or None, default=None
        What must hold in a saved file before compiled loops see its arrays: a family of
        `persistence/checks/`, or a function of the attributes that raises ValueError. A model
        without checks can be saved, and its file is refused.
    onnx : str, callable or None, default=None
        A converter of `onnx_export`, or a function (model, graph, x) that returns the outputs; None
        if there is no graph.
    task : str, default=""
        What the model does; by default what its scikit-learn mixin says.
    input : {"table", "rows", "column", "targets", "gram", "labels", "members", "sequences", …}
        What `fit` takes: rows with a target, rows alone, one column with a target, rows with
        several targets, a target alone, other estimators that the constructor is given and a table,
        sequences, or a function that returns a log-density.
    cheap : callable or None, default=None
        Returns the constructor arguments of a fast fit on tiny data, for the warm-up and for tests,
        where the defaults with few iterations will not do.
    data : callable or None, default=None
        Returns the arguments of `fit` for the warm-up, where rows and a target will not do.
    scale_target : bool, default=False
        Whether `mlreplica compare` standardises the target, because the defaults assume its scale.
        Not where the default penalty would leave nothing of a standardised target (Lasso), nor
        where the target counts or must be positive (PoissonRegressor, GammaRegressor).
    by_name : bool, default=False
        Whether `mlreplica compare` tries it only when it is named, because its defaults suit few
        tables: a radius in unknown units, columns that must be counts, a target without zeros.
    use, good, bad, time, memory, rescaling, missing, instead : str
        The facts in the box on the estimator's page, a short phrase each. n rows, p columns.
    """

    page: str
    checks: Checks | None = None
    onnx: Converter | None = None
    task: Task | Literal[""] = ""
    input: Input = "table"
    cheap: Callable[[], dict[str, Any]] | None = None
    data: Callable[[], tuple[Any, ...]] | None = None
    scale_target: bool = False
    by_name: bool = False
    use: str
    good: str
    bad: str
    time: str
    memory: str
    rescaling: str = SCALED
    missing: str = REFUSED
    instead: str

    def __set_name__(self, estimator: type, name: str) -> None:
        """Let notebooks show fitted models of this class with what they say of their fit."""
        estimator._html_repr = show_fit_of  # type: ignore[attr-defined]

    def but(self, **changes: Any) -> Card:
        """Return the card of a related estimator: this one with some fields changed."""
        return replace(self, **changes)

    def facts(self) -> dict[str, str]:
        """Return the titles and texts of the fact box, in its order."""
        return {title: getattr(self, name) for name, title in FACTS.items()}


@dataclass(frozen=True, kw_only=True)
class Entry(Card):
    """The card of one class, with the names under which users find the class."""

    estimator: type
    name: str
    chapter: str

    @property
    def public_name(self) -> str:
        """The path that users import, as 'mlreplica.svm.SVC'."""
        return f"{self.chapter}.{self.name}"

    @property
    def summary(self) -> str:
        """The first line of the docstring, without references to equations."""
        first = (self.estimator.__doc__ or "").strip().partition("\n")[0]
        for number in "123456789":
            for mark in (f": ({number})", f", ({number})", f" ({number})", f"({number})"):
                first = first.replace(mark, "")
        return first.rstrip(" .:").replace("`", "")


def card_of(estimator: type) -> Entry | None:
    """Return the card of a class, or None if it has none of its own.

    >>> from mlreplica.linear_model import Lasso
    >>> card = card_of(Lasso)
    >>> card.name, card.chapter, card.task, card.page
    ('Lasso', 'mlreplica.linear_model', 'regression', 'lasso')
    >>> class Mine(Lasso):
    ...     pass
    >>> card_of(Mine) is None
    True
    """
    card = vars(estimator).get("card")
    if not isinstance(card, Card):
        return None
    known = {f.name: getattr(card, f.name) for f in fields(card)}
    known["task"] = card.task or task_of(estimator)
    chapter = public_module(estimator)
    return Entry(**known, estimator=estimator, name=estimator.__name__, chapter=chapter)


def task_of(estimator: type) -> Task:
    """Return the task that a class's scikit-learn mixins name."""
    from sklearn import base

    mixins: list[tuple[type, Task]] = [
        (base.ClassifierMixin, "classification"),
        (base.RegressorMixin, "regression"),
        (base.ClusterMixin, "clustering"),
        (base.OutlierMixin, "outliers"),
        (base.DensityMixin, "density"),
        (base.TransformerMixin, "transformation"),
    ]
    for mixin, task in mixins:
        if issubclass(estimator, mixin):
            return task
    raise TypeError(f"{estimator.__name__} has no mixin that names its task; give Card(task=…).")
