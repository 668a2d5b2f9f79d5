"""Modules: public names of scikit-learn, hmmlearn and sklearn-crfsuite that lead to ours

Where Python looks a module up, `sys.modules`, another one takes its place when it is imported, or
at once if it was imported before. It has the same contents, but for the names that our chapter has:
these it answers with a stand-in, which is made when it is first asked for, or with the original if
the library itself or mlreplica asks. So nothing of ours is imported before it is used, and the
library's own code runs as it was tested.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
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
_originals: dict[str, ModuleType] = {}


class ChangedModule(ModuleType):
    """Stands in the place of a module of another library."""

    def __init__(self, module: ModuleType, ours: ModuleType) -> None:
        names = [n for n in ours.__all__ if isinstance(vars(module).get(n), type | FunctionType)]
        inside = {name: value for name, value in vars(module).items() if name not in names}
        inside.pop("__getattr__", None)  # the module's own is asked through the module
        vars(self).update(inside)
        self.__original, self.__ours = module, ours
        self.__names, self.__made = frozenset(names), dict[str, Any]()

    def __getattr__(self, name: str) -> Any:
        if name in self.__names:
            asks = sys._getframe(1).f_globals.get("__name__", "").partition(".")[0]
            if asks not in INSIDERS:
                if name not in self.__made:
                    self.__made[name] = stand_in(
                        getattr(self.__ours, name), getattr(self.__original, name)
                    )
                return self.__made[name]
        return getattr(self.__original, name)

    def __dir__(self) -> list[str]:
        return dir(self.__original)


def stand_in(ours: Any, original: Any) -> Any:
    """Make the stand-in of a class or function; none is needed where we export the original."""
    from ._stand_ins import stand_in_class, stand_in_function

    if ours is original or isinstance(ours, type) is not isinstance(original, type):
        return original
    return (stand_in_class if isinstance(ours, type) else stand_in_function)(ours, original)


def put(name: str, module: ModuleType) -> None:
    """Let a name of a module lead to this one."""
    sys.modules[name] = module
    above, _, last = name.rpartition(".")
    if above in sys.modules:
        setattr(sys.modules[above], last, module)


def change(module: ModuleType) -> None:
    """Put another module in the place of this one, if we have such a chapter."""
    try:
        ours = import_module(OURS[module.__name__])
    except ModuleNotFoundError as error:
        if not str(error.name).startswith("mlreplica"):
            raise
        return
    _originals[module.__name__] = module
    put(module.__name__, ChangedModule(module, ours))


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
    >>> import mlreplica.accelerate
    >>> mlreplica.accelerate.install()
    >>> from sklearn.linear_model import Lasso  # in a program, this is mlreplica's now
    >>> mlreplica.accelerate.uninstall()
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
        while _originals:
            put(*_originals.popitem())


@contextmanager
def accelerated() -> Iterator[None]:
    """Let scikit-learn's names lead to mlreplica within a `with` block.

    Examples
    --------
    >>> from mlreplica.accelerate import accelerated
    >>> with accelerated():
    ...     from sklearn.svm import SVC  # in a program, this is mlreplica's
    """
    before = _finder in sys.meta_path
    install()
    try:
        yield
    finally:
        if not before:
            uninstall()
