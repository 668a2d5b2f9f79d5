"""Lazy chapters: a public name is imported from its file when it is first used

A chapter's `__init__` writes its public names once, as imports that type checkers and editors see
and that Python skips:

    if TYPE_CHECKING:
        from ._svc import SVC as SVC

    __all__, __getattr__, __dir__ = lazy(__name__)
"""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import resolve_name
from types import ModuleType
from typing import Any

LISTENERS: list[Callable[[Any], None]] = []  # told of every public name when it is loaded


def lazy(chapter: str) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__` and `__dir__` of a chapter.

    Parameters
    ----------
    chapter : str
        The chapter's `__name__`; its source names its imports under `if TYPE_CHECKING:`.
    """
    module = sys.modules[chapter]
    home = static_imports(module)

    def load(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {chapter!r} has no attribute {name!r}")
        if home[name] == chapter:  # from . import name
            return import_module(f"{chapter}.{name}")
        found = getattr(import_module(home[name]), name)
        setattr(module, name, found)  # the next access does not come here
        for tell in LISTENERS:
            tell(found)
        return found

    return sorted(home), load, lambda: sorted(home)


def static_imports(module: ModuleType) -> dict[str, str]:
    """Return the names that a module imports for type checkers, and the modules they come from."""
    source = "".join(linecache.getlines(module.__file__ or "", vars(module)))  # from a zip, too
    if not source:
        raise ImportError(f"{module.__name__} needs its source file to list its public names.")
    blocks = [
        block
        for block in ast.parse(source).body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
    ]
    return {
        alias.name: resolve_name("." * line.level + (line.module or ""), module.__package__)
        for block in blocks
        for line in block.body
        if isinstance(line, ast.ImportFrom)
        for alias in line.names
    }


def public_module(thing: type | Callable[..., object]) -> str:
    """Return the module that users import a class or function from.

    >>> from mlreplica.linear_model import Lasso
    >>> public_module(Lasso)
    'mlreplica.linear_model'
    """
    package, *folders = thing.__module__.split(".")
    if package == __name__.partition(".")[0]:
        return ".".join([package, *folders[:1]])
    return ".".join([package, *(folder for folder in folders if not folder.startswith("_"))])
