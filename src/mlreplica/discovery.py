"""Discovery: what the package holds, for tools that go over all of it"""

import inspect
import pkgutil
from importlib import import_module
from operator import itemgetter

from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClusterMixin,
    RegressorMixin,
    TransformerMixin,
)

import mlreplica

KINDS = {
    "classifier": ClassifierMixin,
    "regressor": RegressorMixin,
    "transformer": TransformerMixin,
    "cluster": ClusterMixin,
}


def chapters():
    """The public modules of the package, in alphabetical order."""
    present = {module.name for module in pkgutil.iter_modules(mlreplica.__path__)}
    return [import_module(f"mlreplica.{name}") for name in sorted(present & set(mlreplica.__all__))]


def all_estimators(type_filter=None):
    """List every estimator of the package, as scikit-learn's function of this name does.

    Those that need other estimators to be made of, as a vote does, are left out.

    Parameters
    ----------
    type_filter : {"classifier", "regressor", "transformer", "cluster"} or None
        Which kind; None for all.

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
    if type_filter is not None and type_filter not in KINDS:
        raise ValueError(f"type_filter must be one of {', '.join(KINDS)}, got {type_filter!r}.")
    kind = KINDS.get(type_filter, BaseEstimator)
    return public(
        lambda t: (
            inspect.isclass(t)
            and issubclass(t, BaseEstimator)
            and issubclass(t, kind)
            and not needs_members(t)
        )
    )


def needs_members(cls):
    """Whether an estimator is made of others that must be given."""
    members = inspect.signature(cls).parameters.get("estimators")
    return members is not None and members.default is members.empty


def public(predicate):
    """List, by name, what is in the chapters' `__all__` and was made in this package."""
    things = [(name, getattr(chapter, name)) for chapter in chapters() for name in chapter.__all__]
    ours = [
        (name, t) for name, t in things if getattr(t, "__module__", "").startswith("mlreplica.")
    ]
    return sorted(((name, t) for name, t in ours if predicate(t)), key=itemgetter(0))
