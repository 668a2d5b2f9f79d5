"""User functions: a plain Python function, and the arrays it uses, become machine code

A function that a user writes uses arrays of its surroundings, as a density uses the data:

    def log_density(w):
        return -np.logaddexp(0.0, -y * (X @ w)).sum() - 0.5 * w @ w

Numba would copy `X` and `y` into the machine code, compile again for other data, and keep nothing
on disk. So the source of the function is rewritten first: what it finds in its surroundings
becomes an argument, in the functions that it calls as well.

    def log_density(X, y, w): ...

The text is written to a file of the cache whose name is a hash of all that it depends on. Numba
compiles that file as any other and keeps its code, so another process, with other data of the same
types, finds it. Only the public interface of Numba is used, but for whole arrays (`arrays.py`).

`Unit` collects functions. `Unit.bind` returns a function of the text, compiled, that has its
captured values; `Unit.address` is that of a C function of the text, which a kernel calls
(`addresses.py`). What cannot be compiled is a `NotCompilableError`, which says why.
"""

from __future__ import annotations

import ast
import builtins
import functools
import hashlib
import logging
import operator
import os
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from . import addresses, arrays
from .fingerprint import fingerprint
from .intrinsics import Intrinsic
from .jit import PURE_PYTHON, SAFE, CompiledFunction, import_numba
from .layers import layer
from .source import NotCompilableError, arguments_of, definition_of, plain_function

logger = logging.getLogger("mlreplica")
NUMBERS = "fiub"  # kinds of arrays that become arguments
OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": set(SAFE)}


compiled: dict[str, Any] = {}  # what this process has compiled, by the hash of its text


class Rename(ast.NodeTransformer):
    """Give the surroundings of a function their names in the unit, and calls what is captured.

    What NumPy does to whole arrays is written as a call of what stands in for it (`arrays.py`).
    """

    def __init__(self, names: dict[str, str], around: dict[str, Any], unit: Unit) -> None:
        self.names, self.around, self.unit = names, around, unit

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        is_product = isinstance(node.op, ast.MatMult)
        name = self.unit.stand_in(operator.matmul, 2) if is_product else None
        return call_of(name, [node.left, node.right]) if name else node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        function, n, func = self.called(node.func), len(node.args), node.func
        plain = not node.keywords and not any(isinstance(a, ast.Starred) for a in node.args)
        name = self.unit.stand_in(function, n) if plain else None
        self.generic_visit(node)
        if name:
            return call_of(name, node.args)
        if plain and function is None and n == 0 and isinstance(func, ast.Attribute):
            name = self.unit.stand_in(np.sum, 1) if func.attr == "sum" else None
            return call_of(name, [func.value]) if name else node
        if isinstance(node.func, ast.Name) and node.func.id in self.unit.captured:
            extra = [ast.Name(word, ast.Load()) for word in self.unit.captured[node.func.id]]
            node.args = [*extra, *node.args]
        return node

    def called(self, node: ast.expr) -> Any:
        """The function of the surroundings that an expression names, before it is renamed."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = self.called(node.value)
            return (
                getattr(module, node.attr, None) if isinstance(module, types.ModuleType) else None
            )
        if isinstance(node, ast.Name) and node.id in self.names:
            return self.around[node.id]
        return None


def call_of(name: str, args: list[ast.expr]) -> ast.Call:
    """A call as a syntax tree."""
    return ast.Call(ast.Name(name, ast.Load()), args, [])


class Unit:
    """Functions that are compiled together, and what they found in their surroundings."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}  # captured arrays and numbers, by their name in the text
        self.space: dict[str, Any] = {}  # modules, library functions and constants
        self.texts: list[str] = []  # functions, each after those it calls
        self.captured: dict[str, list[str]] = {}  # what is passed to a function besides its own
        self.known: dict[int, str] = {}  # by identity, so what is known must stay alive:
        self.alive: list[Any] = []
        self.stamps: list[str] = []
        self.kept = True  # whether its code may be kept on disk

    def add(self, function: Any) -> str:
        """Add a function and those it calls; return its name in the text."""
        function = plain_function(function)
        if id(function) in self.known:
            return self.known[id(function)]
        self.alive.append(function)
        made = definition_of(function)
        name = self.free_name("f_" + made.name)
        self.known[id(function)] = name
        self.captured[name] = []
        own = {a.arg for a in arguments_of(made)}
        used = {n.id for n in ast.walk(made) if isinstance(n, ast.Name)}
        stored = {n.id for n in ast.walk(made) if isinstance(n, ast.Name) and not is_read(n)}
        for node in ast.walk(made):
            if isinstance(node, (ast.Global, ast.Nonlocal)):
                raise NotCompilableError("it changes a variable outside of it")
            if isinstance(node, (ast.FunctionDef, ast.Lambda)) and node is not made:
                own |= {a.arg for a in node.args.args}
                stored |= (
                    {getattr(node, "name", "")} if isinstance(node, ast.FunctionDef) else set()
                )
        around = surroundings(function)
        names = {
            word: self.place(word, around[word]) if word in around else missing(word)
            for word in sorted(used - own - stored)
            if word in around or not hasattr(builtins, word)
        }
        extra = {
            inner: None
            for word in names.values()
            for inner in ([word] if word in self.values else self.captured.get(word, []))
        }
        self.captured[name] = list(extra)
        made = Rename(names, around, self).visit(made)
        made.name = name
        made.args.args = [
            *(ast.arg(word) for word in extra),
            *made.args.posonlyargs,
            *made.args.args,
        ]
        made.args.posonlyargs = []
        self.texts.append(ast.unparse(ast.fix_missing_locations(made)))
        return name

    def stand_in(self, function: Any, n: int) -> str | None:
        """The name of what is called in place of a function of n arguments; None for itself."""
        if not callable(function) or not (found := layer("arrays")):
            return None
        value = found.stand_ins().get((function, n))
        return self.place(value.definition.__name__, value) if value else None

    def add_unread(self, function: Any) -> str:
        """Add a function without source: its arrays become constants, its code is not kept."""
        name = self.free_name("f_unread")
        self.space[name] = import_numba().njit(**OPTIONS)(plain_function(function))
        self.captured[name], self.kept = [], False
        return name

    def place(self, word: str, value: Any) -> str:
        """Enter what a function found under `word`; return its name in the text."""
        if id(value) in self.known:
            return self.known[id(value)]
        self.alive.append(value)
        if isinstance(value, np.ndarray) and value.dtype.kind in NUMBERS and value.ndim > 0:
            name = self.known[id(value)] = self.free_name("v_" + word)
            self.values[name] = np.ascontiguousarray(value)
            return name
        if isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating)):
            name = self.free_name("v_" + word)
            self.values[name] = value
            return name
        if isinstance(plain_function(value), types.FunctionType):
            ours = isinstance(value, CompiledFunction)
            if not ours and not getattr(value, "__module__", "").startswith("numpy"):
                return self.add(value)
        known = (
            types.ModuleType,
            types.BuiltinFunctionType,
            np.ufunc,
            type,
            str,
            tuple,
            type(None),
        )
        if not isinstance(value, known) and not callable(value):
            raise NotCompilableError(f"it uses {word}, a {type(value).__name__}")
        name = self.known[id(value)] = self.free_name("g_" + word)
        self.space[name] = value
        described = value if isinstance(value, (str, tuple)) else getattr(value, "__name__", value)
        if isinstance(value, CompiledFunction):
            described = fingerprint(value)
        elif isinstance(value, Intrinsic):
            formula = value.formula and fingerprint(value.formula)
            described = value.definition.__qualname__, formula
        self.stamps.append(f"{name}={described!r} of {getattr(value, '__module__', '')}")
        return name

    def free_name(self, word: str) -> str:
        """`word`, or with a number if it is taken."""
        taken = {*self.values, *self.space, *self.captured}
        return next(
            name for k in range(1000) if (name := f"{word}_{k}" if k else word) not in taken
        )

    def bind(self, text: str, name: str, sample: tuple[Any, ...]) -> Callable[..., Any]:
        """The function `name` of the text, compiled by a call with these arguments, which does
        nothing; it has its captured values."""
        with compiling() as numba:
            made = self.compile(text, name, numba.njit, forceinline=True)
            first = [self.values[word] for word in self.captured.get(name, self.values)]
            made(*first, *sample)
        return functools.partial(made, *first)

    def address(self, text: str, name: str) -> tuple[int, Any]:
        """That of the C function double f(double *x, double *g, int64 *table) of this name, and
        what keeps it in memory."""
        with compiling() as numba:
            number, at = numba.types.float64, numba.types.int64

            def as_c_function(nogil: bool, **options: Any) -> Any:
                return numba.cfunc(number(at, at, at), **options)  # which never holds the lock

            made = self.compile(text, name, as_c_function)
        return made.address, made

    def compile(self, text: str, name: str, decorator: Callable[..., Any], **inner: Any) -> Any:
        """What `decorator` (as numba.njit) makes of the function `name` of the text.

        Parameters
        ----------
        text : str
            More functions, after those added.
        name : str
            The one to compile; the others are compiled as it calls them.
        decorator : callable
            From options to what makes a compiled function of a Python function.
        **inner
            Options of the functions that it calls.
        """
        numba = import_numba()
        body = "\n\n\n".join([*self.texts, text])
        kinds = {key: kind_of(value) for key, value in self.values.items()}
        files = __file__, addresses.__file__, arrays.__file__
        ours = [Path(str(file)).read_bytes() for file in files]
        version = ours, numba.__version__, sys.version_info[:2]
        stamp = repr((body, self.stamps, kinds, version))
        key = hashlib.sha256(stamp.encode()).hexdigest()[:24]
        if self.kept and key in compiled:
            return compiled[key]
        path = write_once(f"{name}_{key}.py", body + "\n") if self.kept else None
        module = types.ModuleType(f"mlreplica_user_{key}")
        sys.modules[module.__name__] = module  # where Numba looks for the globals of kept code
        space = vars(module)
        given = "array_at", "integers_at", "numbers_at", "on_stack"
        space |= {**self.space, **{name: getattr(addresses, name) for name in given}}
        exec(compile(body, str(path or "<user>"), "exec"), space)
        for word in self.captured:
            if word != name and isinstance(space[word], types.FunctionType):
                space[word] = numba.njit(**OPTIONS, **inner)(space[word])
        options: dict[str, Any] = {"cache": path is not None, **OPTIONS}
        compiled[key] = decorator(**options)(space[name])
        return compiled[key]


@contextmanager
def compiling() -> Iterator[Any]:
    """Numba, without its warnings; its errors become NotCompilableError."""
    numba = import_numba()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", numba.core.errors.NumbaWarning)
        try:
            yield numba
        except numba.core.errors.NumbaError as error:
            raise NotCompilableError(why_not(error)) from error


def is_read(node: ast.Name) -> bool:
    """Whether a name is looked up, not bound."""
    return isinstance(node.ctx, ast.Load)


def missing(word: str) -> str:
    """Raise: a function uses a name that nobody has defined."""
    raise NotCompilableError(f"it uses {word}, which is not defined")


def surroundings(function: Any) -> dict[str, Any]:
    """What a function finds outside of itself, by name."""
    found = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            found.pop(name, None)
    return found


def kind_of(value: Any) -> str:
    """What the code depends on of a captured value."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype.str}{value.ndim}"
    return (
        "b" if isinstance(value, (bool, np.bool_)) else "fi"[isinstance(value, (int, np.integer))]
    )


@functools.cache
def user_folder() -> Path | None:
    """Where the texts are written; None where nothing can be."""
    given = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    folder = Path(given or Path.home() / ".cache") / "mlreplica" / "user"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


def write_once(name: str, text: str) -> Path | None:
    """Write a file unless it is there: its name tells its contents. None where that cannot be."""
    folder = user_folder()
    if folder is None:
        return None
    path = folder / name
    if not path.exists():
        part = path.with_suffix(f".{os.getpid()}.part")
        try:
            part.write_text(text, encoding="utf-8")
            part.replace(path)
        except OSError:
            return None
    return path


def why_not(error: BaseException) -> str:
    """The line of Numba's explanation that says most."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    start = ("Failed in nopython", "During:", "File ", "def ", "^")
    told = [line for line in lines if not line.startswith(start)]
    return (told or lines or [type(error).__name__])[0][:160]


def say_plain(function: Any, why: str) -> None:
    """Tell the log that a function runs as plain Python."""
    name = getattr(function, "__name__", type(function).__name__)
    if not PURE_PYTHON:
        logger.warning("%s runs as plain Python, many times slower: %s", name, why)
