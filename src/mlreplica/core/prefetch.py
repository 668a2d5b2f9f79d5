"""Prefetch: ask for memory before it is needed

Rows visited in random order arrive from memory one miss at a time, some 100 ns each, because the
processor cannot guess which comes next. A kernel that knows the order can tell it: `prefetch(x)`
starts to load the whole vector x into the cache and returns at once, so that a few rows later
the numbers are there. It changes no result.
"""

from __future__ import annotations

import functools
from typing import Any

from .jit import kernel

LINE = 64  # bytes that travel together


class Hint:
    """`hint(x, k)` in a kernel: load the cache line of x[k]; typed when Numba first asks."""

    @functools.cached_property
    def _numba_type_(self) -> Any:
        from llvmlite import ir
        from numba.core import types
        from numba.core.typing.templates import make_intrinsic_template

        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        signature = ir.FunctionType(ir.VoidType(), [byte, word, word, word])

        def codegen(context: Any, builder: Any, types_: Any, args: Any) -> Any:
            data = context.make_array(types_.args[0])(context, builder, args[0]).data
            name = "llvm.prefetch.p0i8"
            known = builder.module.globals.get(name)
            load = known or ir.Function(builder.module, signature, name)
            where = builder.bitcast(builder.gep(data, [args[1]]), byte)
            # for reading, to stay in every cache level, data (not instructions)
            builder.call(load, [where, word(0), word(3), word(1)])
            return context.get_dummy_value()

        def definition(context: Any, x: Any, k: Any) -> Any:
            return types.void(x, types.intp), codegen

        return types.Function(make_intrinsic_template(self, definition, "hint"))

    def __call__(self, x: Any, k: int) -> None:
        """Plain Python has nothing to prefetch."""


hint = Hint()


@kernel
def prefetch(x: Any) -> None:
    """Start to load the contiguous vector x."""
    for k in range(0, len(x), max(1, LINE // x.itemsize)):
        hint(x, k)
