"""Read-only arrays: they run the code that writable ones run

Data frames and memory-mapped files hand over arrays that must not be written to. To Numba these are
of another type, for which it would compile a kernel once more. A kernel never writes to what it
only reads, so the first call with such arrays is led to the code for writable ones; from then on
Numba finds it by itself, at no cost.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def attach(dispatcher: Any) -> None:
    """Compile for writable arrays whatever Python calls this kernel with."""
    compile_for = dispatcher._compile_for_args

    def compile_once(*args: Any, **options: Any) -> Any:
        given = [dispatcher.typeof_pyval(arg) for arg in args]
        if all(writable(kind) == kind for kind in given):
            return compile_for(*args, **options)
        code = dispatcher.compile(tuple(map(writable, given)))
        dispatcher._insert([kind._code for kind in given], code, False)
        return code

    dispatcher._compile_for_args = compile_once


def writable(kind: Any) -> Any:
    """The type of an array, or of a tuple of some, as if all could be written to."""
    from numba.core import types

    if isinstance(kind, types.Array):
        return kind.copy(readonly=False)
    if isinstance(kind, types.BaseTuple):
        several: Any = kind
        parts = [writable(part) for part in several.types]
        return types.BaseTuple.from_types(parts, getattr(kind, "instance_class", None))
    return kind


def trial() -> None:
    """Raise unless a read-only array runs the code of a writable one."""
    from .layers import try_options

    dispatcher = try_options({})
    attach(dispatcher)
    x = np.ones(1)
    x.flags.writeable = False
    if dispatcher(x) != 2.0 or len(dispatcher.overloads) != 1:
        raise RuntimeError("a read-only array was compiled for")
