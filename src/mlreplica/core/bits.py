"""Bits: a float seen as an integer, because integers have a minimum that compiles to SIMD

Among floats a NaN or a signed zero may come, so a loop for their minimum stays scalar. The bits of
floats, those of negative ones turned round, are ordered as integers are, and the lowest bits have
room for the index, so that one reduction of integers finds the place of the extreme, too.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .jit import kernel

INDEX = np.int64(4095)  # the bits that hold an index: up to 4096 of them
LARGEST = np.int64(0x7FFFFFFFFFFFFFFF)


class Bits:
    """`bits(x)` in a kernel: the 64 bits of a float as an integer; typed when Numba first asks."""

    @functools.cached_property
    def _numba_type_(self) -> Any:
        from llvmlite import ir
        from numba.core import types
        from numba.core.typing.templates import make_intrinsic_template

        def codegen(context: Any, builder: Any, types_: Any, args: Any) -> Any:
            return builder.bitcast(args[0], ir.IntType(64))

        def definition(context: Any, x: Any) -> Any:
            return types.int64(types.float64), codegen

        return types.Function(make_intrinsic_template(self, definition, "bits"))

    def __call__(self, x: float) -> Any:
        return np.float64(x).view(np.int64)


bits = Bits()


@kernel
def ordered(x: float, k: int) -> Any:
    """A number that grows with x and ends in the index k."""
    b = bits(x)
    return ((b ^ ((b >> 63) & LARGEST)) & ~INDEX) | k
