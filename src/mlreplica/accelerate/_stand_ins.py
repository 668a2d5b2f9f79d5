"""Stand-ins: our classes and functions under scikit-learn's names, with a way back

A stand-in is a subclass of our class. Where our class refuses a parameter or data that the original
accepts, the object becomes one of the original class: the user's variable, the pipeline or the
search that holds it sees a scikit-learn estimator, fitted by scikit-learn. What both refuse raises
the original's error.

A class that a user derives from a stand-in derives from the original, since it may rely on private
methods of its base. A pickled stand-in is an object of our class and loads without acceleration.
"""

from __future__ import annotations

import copyreg
import pkgutil
from abc import ABCMeta
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from inspect import getattr_static
from types import FunctionType
from typing import Any

from mlreplica.core.lazy import public_module

from ._record import fell_back, timed

LEARN = ("fit", "partial_fit", "fit_transform", "fit_predict")
ANSWER = (
    "predict", "predict_proba", "predict_log_proba", "decision_function", "score", "score_samples",
    "transform", "inverse_transform", "kneighbors", "radius_neighbors", "apply", "sample", "decode",
)  # fmt: skip


class StandInType(ABCMeta):
    """The class of stand-ins: instances of the original and of ours are instances of them, too."""

    ours: type
    original: type

    def __new__(
        cls, name: str, bases: tuple[type, ...], body: dict[str, Any], **options: Any
    ) -> Any:
        """Create a stand-in; a class derived from one derives from the original instead."""
        if "original" in body:
            return super().__new__(cls, name, bases, body, **options)
        plain = tuple(vars(base).get("original", base) for base in bases)
        kinds = [type(base) for base in plain]
        kind = next(k for k in kinds if all(issubclass(k, other) for other in kinds))
        return kind(name, plain, body, **options)

    def __call__(cls, *args: Any, **params: Any) -> Any:
        """Construct our estimator, or the original where ours has no such parameter."""
        try:
            return super().__call__(*args, **params)
        except TypeError as error:
            made = cls.original(*args, **params)
            fell_back(cls.__name__, public_module(cls.original), error)
            return made

    def __instancecheck__(cls, thing: Any) -> bool:
        return cls.__subclasscheck__(type(thing))

    def __subclasscheck__(cls, kind: Any) -> bool:
        if super().__subclasscheck__(kind) or issubclass(kind, cls.ours):
            return True
        return issubclass(vars(kind).get("original", kind), cls.original)


def by_reference(cls: StandInType) -> tuple[Any, ...]:
    """How a stand-in is pickled: as our class of that name."""
    return pkgutil.resolve_name, (f"{public_module(cls.ours)}:{cls.ours.__name__}",)


copyreg.pickle(StandInType, by_reference)  # type: ignore[arg-type]


def stand_in_class(ours: type, original: type) -> type:
    """Return a class that is ours as long as ours accepts what it is given."""

    def reduce(self: Any, _: Any) -> Any:
        return object.__new__, (ours,), self.__getstate__()

    body = {
        "ours": ours,
        "original": original,
        "__doc__": ours.__doc__,
        "__module__": ours.__module__,
        "__qualname__": original.__qualname__,
        "__reduce_ex__": reduce,
    }
    cls = StandInType(original.__name__, (ours,), body)
    for name in LEARN:
        if isinstance(getattr_static(ours, name, None), FunctionType):
            setattr(cls, name, learning(getattr(ours, name), original))
    for name in ANSWER:
        if isinstance(getattr_static(ours, name, None), FunctionType):
            setattr(cls, name, answering(getattr(ours, name)))
    if isinstance(original, ABCMeta):  # names bound before the installation
        with suppress(RuntimeError):
            original.register(cls)
    return cls


def learning(method: Callable[..., Any], original: type) -> Callable[..., Any]:
    """Wrap a method that learns: where ours refuses, the object becomes the original's."""

    @wraps(method)
    def learn(self: Any, *args: Any, **kwargs: Any) -> Any:
        name = f"{original.__name__}.{method.__name__}"
        try:
            with timed(name, "mlreplica"):
                return method(self, *args, **kwargs)
        except (TypeError, ValueError, NotImplementedError, AttributeError) as error:
            where = public_module(original)
            known = original._get_param_names()  # type: ignore[attr-defined]
            params = self.get_params(deep=False)
            theirs = original(**{name: params[name] for name in known if name in params})
            with timed(name, where.partition(".")[0]):
                answer = getattr(theirs, method.__name__)(*args, **kwargs)
            fell_back(name, where, error)
            vars(self).clear()
            vars(self).update(vars(theirs))
            self.__class__ = original
            return self if answer is theirs else answer

    return learn


def answering(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method of a fitted estimator: its time is recorded."""

    @wraps(method)
    def answer(self: Any, *args: Any, **kwargs: Any) -> Any:
        with timed(f"{type(self).__name__}.{method.__name__}", "mlreplica"):
            return method(self, *args, **kwargs)

    return answer


def stand_in_function(ours: Callable[..., Any], original: Callable[..., Any]) -> Any:
    """Return a function that calls ours, and the original where ours refuses."""
    name, where = original.__name__, public_module(original)

    @wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            with timed(name, "mlreplica"):
                return ours(*args, **kwargs)
        except (TypeError, ValueError, NotImplementedError, AttributeError) as error:
            with timed(name, where.partition(".")[0]):
                answer = original(*args, **kwargs)
            fell_back(name, where, error)
            return answer

    return call
