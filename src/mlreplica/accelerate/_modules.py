"""Modules: public names of scikit-learn, hmmlearn and sklearn-crfsuite that lead to ours

A module is changed when it is imported, or at once if it was imported before. The names that our
chapter has are taken out of it, and `__getattr__` answers in their place: with a stand-in, which is
made when it is first asked for, or with the original if the library itself or mlreplica asks. So
nothing of ours is imported before it is used, and the library's own code runs as it was tested.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import FunctionType, ModuleType
from typing import Any

from . import _record

CHAPTERS = (
    "calibration", "cluster", "covariance", "decomposition", "discriminant_analysis", "ensemble",
    "feature_selection", "impute", "inspection", "isotonic", "kernel_approximation", "kernel_ridge",
    "linear_model", "metrics", "metrics.cluster", "metrics.pairwise", "mixture", "model_selection",
    "naive_bayes", "neighbors", "preprocessing", "svm", "tree",
)  # fmt: skip
OURS = {f"sklearn.{chapter}": f"mlreplica.{chapter}" for chapter in CHAPTERS} | {
    "hmmlearn.hmm": "mlreplica.sequence",
    "sklearn_crfsuite": "mlreplica.sequence",
    "sklearn_crfsuite.estimator": "mlreplica.sequence",
}
INSIDERS = {"mlreplica", *(name.partition(".")[0] for name in OURS)}
_changed: dict[str, ChangedModule] = {}


class ChangedModule:
    """One module of another library, with what was taken out of it."""

    def __init__(self, module: ModuleType, ours: ModuleType) -> None:
        self.module, self.ours = module, ours
        self.ask: Callable[[str], Any] | None = vars(module).get("__getattr__")
        self.made: dict[str, Any] = {}
        self.originals = {
            name: vars(module).pop(name)
            for name in ours.__all__
            if isinstance(vars(module).get(name), type | FunctionType)
        }
        names = sorted(vars(module).keys() | self.originals)
        vars(module).update(__getattr__=self.answer, __dir__=lambda: names)

    def answer(self, name: str) -> Any:
        """Return what a name of the module means to whom asks."""
        if name not in self.originals:
            if self.ask is not None:
                return self.ask(name)
            raise AttributeError(f"module {self.module.__name__!r} has no attribute {name!r}")
        asks = sys._getframe(1).f_globals.get("__name__", "").partition(".")[0]
        if asks in INSIDERS:
            return self.originals[name]
        if name not in self.made:
            self.made[name] = self.stand_in(name)
        return self.made[name]

    def stand_in(self, name: str) -> Any:
        """Make the stand-in of a name; none is needed where we export the original."""
        from ._stand_ins import stand_in_class, stand_in_function

        original, ours = self.originals[name], getattr(self.ours, name)
        if ours is original or isinstance(ours, type) is not isinstance(original, type):
            return original
        make = stand_in_class if isinstance(ours, type) else stand_in_function
        return make(ours, original)

    def restore(self) -> None:
        """Put the originals back."""
        for name in ("__getattr__", "__dir__"):
            vars(self.module).pop(name, None)
        vars(self.module).update(self.originals)
        if self.ask is not None:
            vars(self.module)["__getattr__"] = self.ask


def change(module: ModuleType) -> None:
    """Let the names of a module lead to ours, if we have such a chapter."""
    try:
        ours = import_module(OURS[module.__name__])
    except ModuleNotFoundError as error:
        if not str(error.name).startswith("mlreplica"):
            raise
        return
    _changed[module.__name__] = ChangedModule(module, ours)


class Finder(MetaPathFinder):
    """Changes modules right after they are imported."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module that we change as Python would, and let `ChangingLoader` load it."""
        spec = PathFinder.find_spec(name, path, target) if name in OURS else None
        if spec is not None and spec.loader is not None:
            spec.loader = ChangingLoader(spec.loader)
        return spec


class ChangingLoader(Loader):
    """Loads a module by its own loader, then changes it."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)  # resources, source

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Create the module as its own loader does."""
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, then change it."""
        self.loader.exec_module(module)
        change(module)


_finder = Finder()


def install() -> None:
    """Let scikit-learn's public names lead to mlreplica, from now on.

    Names that were imported before keep their meaning; names that mlreplica lacks stay
    scikit-learn's. Where mlreplica refuses what scikit-learn accepts, the call falls back to
    scikit-learn, with the reason on the log "mlreplica". hmmlearn and sklearn-crfsuite likewise.

    Examples
    --------
    ::

        import mlreplica.accelerate

        mlreplica.accelerate.install()

        from sklearn.linear_model import Lasso  # this is mlreplica's now
    """
    if _finder not in sys.meta_path:
        _record.clear()
        sys.meta_path.insert(0, _finder)
        for name in OURS:
            if name in sys.modules:
                change(sys.modules[name])


def uninstall() -> None:
    """Give scikit-learn's names back their own classes and functions.

    Objects made meanwhile go on working.
    """
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
        while _changed:
            _changed.popitem()[1].restore()


@contextmanager
def accelerated() -> Iterator[None]:
    """Let scikit-learn's names lead to mlreplica within a `with` block.

    Examples
    --------
    ::

        with mlreplica.accelerate.accelerated():
            from sklearn.svm import SVC
    """
    before = _finder in sys.meta_path
    install()
    try:
        yield
    finally:
        if not before:
            uninstall()
