"""Settings of one fold: what their fits have in common is computed once

An estimator may offer to fit several settings together:

    _varied = frozenset({"alpha"})           # parameters that may differ among them

    def _fit_settings(self, fold, settings):
        "Yield (k, model, fold) for settings[k], or return None: fit them one by one."

`model` is what `clone(self).set_params(**settings[k]).fit(fold.X_train, fold.y_train)` would be, up
to the tolerance of its solver, and is scored before the next one is asked for. The `fold` that
comes with it holds the rows to score it on: a kernel machine may want rows of its Gram matrix
instead.
`fold.shared` is a dictionary that lives as long as the search.

A pipeline fits its first steps once for all settings of its last step.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline

from mlreplica.core.compat import _check_method_params, _safe_indexing


@dataclass
class Fold:
    """The rows of a table that train and test in one fold, with what else `fit` is given."""

    X: Any
    y: Any
    train: Any
    test: Any
    X_train: Any
    y_train: Any
    X_test: Any
    y_test: Any
    fit_params: dict = field(default_factory=dict)
    score_train: dict = field(default_factory=dict)
    score_test: dict = field(default_factory=dict)
    shared: dict = field(default_factory=dict)

    @classmethod
    def of(cls, X, y, train, test, fit_params, score_params, shared):
        """The fold of these row numbers."""
        return cls(
            X,
            y,
            train,
            test,
            _safe_indexing(X, train),
            _safe_indexing(y, train),
            _safe_indexing(X, test),
            _safe_indexing(y, test),
            _check_method_params(X, fit_params, indices=train),
            _check_method_params(X, score_params, indices=train),
            _check_method_params(X, score_params, indices=test),
            shared,
        )


def fit_settings(estimator, fold, settings):
    """Yield (k, model, fold to score it on) for every setting, in any order."""
    if type(estimator) is Pipeline and estimator.memory is None and len(estimator.steps) > 1:
        yield from fit_pipeline(estimator, fold, settings)
        return
    varied = getattr(estimator, "_varied", frozenset())
    for fixed, some in grouped(settings, lambda name: name not in varied):
        model = clone(estimator).set_params(**clone(fixed, safe=False))
        among = [{n: v for n, v in settings[k].items() if n in varied} for k in some]
        together = model._fit_settings(fold, among) if varied and len(some) > 1 else None
        if together is not None:
            for k, fitted, seen in together:
                yield some[k], fitted, seen
            continue
        for k, setting in zip(some, among, strict=True):
            one = clone(model).set_params(**clone(setting, safe=False)) if setting else model
            one.fit(fold.X_train, fold.y_train, **fold.fit_params)  # may not return itself
            yield k, one, fold


def fit_pipeline(estimator, fold, settings):
    """The same for a pipeline; what comes before its last step is fitted once for its settings."""
    last, final = estimator.steps[-1]
    own = f"{last}__"
    if fold.fit_params or not all("__" in name for setting in settings for name in setting):
        for k, setting in enumerate(settings):
            model = clone(estimator).set_params(**clone(setting, safe=False))
            yield k, model.fit(fold.X_train, fold.y_train, **fold.fit_params), fold
        return
    for fixed, some in grouped(settings, lambda name: not name.startswith(own)):
        front = clone(estimator[:-1]).set_params(**clone(fixed, safe=False))
        X_train = front.fit_transform(fold.X_train, fold.y_train)
        seen = replace(fold, X_train=X_train, X_test=front.transform(fold.X_test), X=None)
        seen.shared = {}
        among = [
            {n.removeprefix(own): v for n, v in settings[k].items() if n.startswith(own)}
            for k in some
        ]
        if final is None or final == "passthrough":
            yield from ((k, front, fold) for k in some)
            continue
        for k, model, rows in fit_settings(final, seen, among):
            yield some[k], model, rows


def grouped(settings, apart):
    """[({parameters that are `apart`}, numbers of the settings that have these values)]."""
    found = {}
    for k, setting in enumerate(settings):
        fixed = {name: value for name, value in setting.items() if apart(name)}
        key = tuple((name, *identity(value)) for name, value in sorted(fixed.items()))
        found.setdefault(key, (fixed, []))[1].append(k)
    return list(found.values())


def identity(value):
    """What two equal values have in common: type and value, or the object if it has no hash."""
    try:
        hash(value)
    except TypeError:
        return object, id(value)
    return type(value), value
