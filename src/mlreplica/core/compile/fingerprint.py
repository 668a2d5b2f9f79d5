"""Fingerprint: one hash of everything that the machine code of a kernel depends on

It covers the bytecode and the options of the kernel and of all kernels and formulas that it
reaches, the values of the constants that they name, and the files of this folder, which say how to
compile. So editing one chapter leaves the machine code of the others valid, an edit in a called
file reaches every caller, and comments cost nothing. (Numba's own key knows the file of the kernel
alone.)
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

LIBRARIES = {"numpy", "math", "cmath", "operator", "builtins", "numba"}


def fingerprint(kernel: Any) -> str:
    """Return the hash of a kernel with all that it reaches."""
    reached, waiting = {kernel: None}, [kernel]
    while waiting:
        for called in examine(waiting.pop())[1]:
            if called not in reached:
                reached[called] = None
                waiting.append(called)
    digests = sorted(examine(function)[0] for function in reached)
    return hashlib.sha256(b"".join([compile_folder(), *digests])).hexdigest()


@functools.cache
def compile_folder() -> bytes:
    """Return the hash of the files of this folder."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).digest()


@functools.cache
def examine(compiled: Any) -> tuple[bytes, list[Any]]:
    """Return the hash of one function and its constants, and the compiled functions it names."""
    function, texts, called = compiled.py_func, [options(compiled)], []
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    for code in codes(function.__code__):
        constants = [c for c in code.co_consts if not isinstance(c, CodeType)]
        if code is function.__code__ and function.__doc__ is not None:
            constants[0] = None  # the docstring
        texts.append(repr((code.co_code, code.co_names, code.co_varnames, constants)))
        cells += named(function.__globals__, code.co_names)
    for value in cells:
        if hasattr(value, "py_func"):
            called.append(value)
        else:
            texts.append(describe(value))
    texts.append(repr(function.__defaults__))
    return hashlib.sha256("\0".join(texts).encode()).digest(), called


def options(compiled: Any) -> str:
    """Return the options of a compiled function, as text that is the same in every process."""
    if hasattr(compiled, "targetoptions"):  # a function that the user compiled with Numba
        return repr(sorted((name, str(v)) for name, v in compiled.targetoptions.items()))
    flags = compiled.is_part, compiled.inline, compiled.borrow
    return repr((sorted(compiled.fastmath), *flags))


def codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and those inside of it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def named(space: dict[str, Any], names: tuple[str, ...]) -> list[Any]:
    """Return the values of these names, and those that they have in modules among them."""
    found = [space[name] for name in names if name in space]
    for module in [value for value in found if isinstance(value, ModuleType)]:
        if module.__name__.partition(".")[0] not in LIBRARIES:
            found += named(vars(module), names)
    return found


def describe(value: Any) -> str:
    """Return a text that changes whenever a constant changes, the same in every process."""
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}{getattr(value, '_fields', '')}"
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, FunctionType):  # an intrinsic, or a function that Numba knows
        return f"{value.__module__}.{value.__qualname__}"
    if hasattr(value, "definition"):
        return source_of(value.definition)
    if hasattr(value, "tobytes"):
        return f"{value.dtype}{value.shape}{value.tobytes().hex()}"
    return f"{type(value).__qualname__} {value!r}"


def source_of(function: FunctionType) -> str:
    """Return the file of an intrinsic, whose helpers may stand anywhere in it."""
    path = Path(function.__code__.co_filename)
    return path.read_text(encoding="utf-8") if path.exists() else function.__qualname__
