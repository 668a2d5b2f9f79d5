"""Describe: types of arguments as numbers that the caller compares, and what code was made of

The codes are those that `describe` in caller.c makes of the arguments of a call; the texts say how
`read_result` there turns what a kernel returns into Python's objects.
"""

from __future__ import annotations

import ast
import functools
from pathlib import Path
from typing import Any

from numba.core import types

from .. import jit
from ..fingerprint import codes, named
from .library import PACKAGE

NUMBER, ARRAY, NONE, TUPLE, NAMED = 1, 2, 3, 4, 5
NUMBERS = [
    types.boolean, types.int8, types.uint8, types.int16, types.uint16, types.int32, types.uint32,
    types.int64, types.uint64, types.float32, types.float64,
]  # fmt: skip
WIDTHS = [1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8]
ALWAYS = ["jit.py", "parts.py", "borrow.py"]  # how kernels are compiled


class UnsupportedTypeError(TypeError):
    """Why a variant of a kernel stays with Numba."""


def number(kind: Any) -> int:
    """Return the number that the caller has for a type of numbers, counted from 1."""
    if kind not in NUMBERS:  # a literal neither: its code is for that one value
        raise UnsupportedTypeError(str(kind))
    return NUMBERS.index(kind) + 1


def argument_codes(kind: Any, classes: list[str]) -> list[int]:
    """Return the codes of an argument; `classes` of named tuples grows."""
    if isinstance(kind, types.Omitted):
        return []
    if isinstance(kind, types.Array) and kind.aligned:
        order = "CFA".index(kind.layout)
        return [ARRAY | number(kind.dtype) << 8 | kind.ndim << 16 | order << 24]
    if isinstance(kind, types.NoneType):
        return [NONE]
    if isinstance(kind, types.BaseTuple):
        several: Any = kind
        items = [code for item in several for code in argument_codes(item, classes)]
        if not isinstance(kind, types.BaseNamedTuple):
            return [TUPLE | len(several) << 8, *items]
        made: Any = several.instance_class
        name = f"{made.__module__}.{made.__qualname__}"
        if name not in classes:
            classes.append(name)
        return [NAMED | len(several) << 8 | (classes.index(name) + 1) << 16, *items]
    return [NUMBER | number(kind) << 8]


def result_text(kind: Any) -> str:
    """Return how the caller reads what a kernel returns."""
    kind = types.unliteral(kind)
    if isinstance(kind, types.Array):
        return f"A{kind.ndim}{letter(kind.dtype)}"
    if isinstance(kind, types.NoneType):
        return "n"
    if isinstance(kind, types.BaseTuple) and not isinstance(kind, types.BaseNamedTuple):
        several: Any = kind
        return f"({widest(kind)}{''.join(map(result_text, several))})"
    return letter(kind)


def letter(kind: Any) -> str:
    """Return the letter of a type of numbers in a result."""
    return chr(ord("a") + number(kind))


def widest(kind: Any) -> int:
    """Return the bytes at whose multiples a result begins."""
    kind = types.unliteral(kind)
    if isinstance(kind, types.BaseTuple):
        several: Any = kind
        return max(map(widest, several), default=1)
    return WIDTHS[number(kind) - 1] if kind in NUMBERS else 8


def sources(kernel: Any) -> list[str]:
    """Return the files that the code of a kernel depends on, relative to the package.

    They define the kernel, the functions that it reaches, and the constants that these name.
    """
    reached, waiting = {kernel: None}, [kernel]
    files = {PACKAGE / "core" / "compile" / name for name in ALWAYS}
    while waiting:
        function = waiting.pop().py_func
        path = Path(function.__code__.co_filename)
        files.add(path)
        names = {name for code in codes(function.__code__) for name in code.co_names}
        if path.is_relative_to(PACKAGE):  # not written in a notebook or a test
            files |= imported_from(path, function.__module__, frozenset(names))
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        for value in [*named(function.__globals__, tuple(names)), *cells]:
            if isinstance(value, jit.CompiledFunction) and value not in reached:
                reached[value] = None
                waiting.append(value)
            elif hasattr(value, "definition"):  # an intrinsic
                files.add(Path(value.definition.__code__.co_filename))
    ours = [path for path in files if path.is_relative_to(PACKAGE)]
    return sorted(path.relative_to(PACKAGE).as_posix() for path in ours)


@functools.cache
def imports_in(path: Path) -> list[ast.ImportFrom]:
    """Return what a module imports from others."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in tree.body if isinstance(node, ast.ImportFrom)]


@functools.cache
def imported_from(path: Path, module: str, names: frozenset[str]) -> set[Path]:
    """Return the files from which a module imports these names, and those from which they do."""
    found: set[Path] = set()
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in imports_in(path):
        wanted = {alias.name for alias in node.names if (alias.asname or alias.name) in names}
        home = ".".join(package.split(".")[: len(package.split(".")) + 1 - node.level])
        full = ".".join(filter(None, [home if node.level else "", node.module]))
        if wanted and full.startswith("mlreplica"):
            origin = PACKAGE.parent / Path(*full.split("."))
            for file in (origin.with_suffix(".py"), origin / "__init__.py"):
                if file.exists() and file not in found:
                    found |= {file} | imported_from(file, full, frozenset(wanted))
    return found
