r"""Methods: the estimators' own `fit`, `predict`, `transform` and `score` take blocks of rows

`install` lets the methods of all estimators take `Rows` and Dask collections; importing
`mlreplica.scale` calls it. Until then no method is touched, so that arrays never pay for blocks. A
method asks for the type of X and goes on as ever if that is an array.

    fit          by sums, if `_fit.py` names the class; else by `partial_fit`; else refused
    predict …    Rows in: an iterator over arrays; Dask in: a lazy Dask array
    transform    Rows in: Rows, which can be fitted on; Dask in: a lazy Dask array
    score        R² or the share of right classes, by sums
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from copy import copy
from functools import wraps
from inspect import getattr_static, signature
from types import FunctionType
from typing import Any

from mlreplica.core.card import Card
from mlreplica.core.lazy import LISTENERS

from ._blocks import Block
from ._dask import is_dask, lazy_answers
from ._fit import fit, nameless, score
from ._rows import Rows

ANSWERS = (
    "predict", "predict_proba", "predict_log_proba", "decision_function", "score_samples",
    "transform", "inverse_transform",
)  # fmt: skip
METHODS = ("fit", "partial_fit", "fit_transform", "fit_predict", "score", *ANSWERS)

_before: list[tuple[type, str, Any]] = []  # what `uninstall` puts back; None for inherited ones


def install() -> None:
    """Let every estimator take Rows and Dask collections.

    Importing `mlreplica.scale` does this. `uninstall` undoes it.

    Examples
    --------
    >>> from mlreplica import scale
    >>> scale.uninstall()
    >>> scale.install()
    """
    if teach not in LISTENERS:
        LISTENERS.append(teach)
        loaded = [m for name, m in sys.modules.items() if name.startswith("mlreplica.")]
        for thing in [thing for module in loaded for thing in list(vars(module).values())]:
            teach(thing)


def uninstall() -> None:
    """Undo `install`: methods are as they were."""
    if teach in LISTENERS:
        LISTENERS.remove(teach)
    while _before:
        owner, name, old = _before.pop()
        delattr(owner, name) if old is None else setattr(owner, name, old)


def teach(owner: Any) -> None:
    """Let the methods of an estimator class take blocks."""
    if not isinstance(owner, type) or not isinstance(vars(owner).get("card"), Card):
        return
    for name in METHODS:
        found = getattr_static(owner, name, None)
        optional = hasattr(found, "fn") and hasattr(found, "check")  # scikit-learn's available_if
        plain = found.fn if optional else found
        if not isinstance(plain, FunctionType) or hasattr(plain, "takes_blocks"):
            continue
        if list(signature(plain).parameters)[1:2] == ["X"]:
            taught = with_blocks(name, plain)
            if optional:
                taught, method = copy(found), taught
                taught.fn = method
            _before.append((owner, name, vars(owner).get(name)))
            setattr(owner, name, taught)


def with_blocks(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    """A method that also takes Rows and Dask collections."""

    @wraps(plain)
    def method(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(X, Rows):
            if any(value is not None for value in (*args, *kwargs.values())):
                raise TypeError(f"{name} takes Rows alone: targets and weights are part of them.")
            return on_rows(self, name, X)
        if is_dask(X):
            if name in ANSWERS:
                return lazy_answers(self, name, X)
            rows = Rows.from_dask(X, *targets_of(*args, **kwargs))
            then = {"fit_transform": "transform", "fit_predict": "predict"}.get(name)
            found = on_rows(self, "fit" if then else name, rows)
            return lazy_answers(self, then, X) if then else found
        return plain(self, X, *args, **kwargs)

    method.takes_blocks = True  # type: ignore[attr-defined]
    return method


def targets_of(y: Any = None, sample_weight: Any = None, *, classes: Any = None) -> tuple[Any, Any]:
    """Targets and weights, however they were passed; classes are found by a walk."""
    return y, sample_weight


def on_rows(model: Any, name: str, rows: Rows) -> Any:
    """The method of this name on blocks of rows."""
    if name in ("fit", "partial_fit"):
        return fit(model, rows, anew=name == "fit")
    if name == "fit_transform":
        return fit(model, rows).transform(rows)
    if name == "fit_predict":
        return fit(model, rows).predict(rows)
    if name == "score":
        return score(model, rows)
    bare = nameless(model, rows)
    if name in ("transform", "inverse_transform"):
        return rows.mapped(answer, bare, name)
    return (found for found in rows.map(answer, bare, name) if found is not None)


def answer(block: Block, model: Any, name: str) -> Any:
    """What the model's method gives for a block."""
    return getattr(model, name)(block.X)
