"""Bits: a float seen as an integer, because integers have a minimum that compiles to SIMD

Among floats a NaN or a signed zero may come, so a loop for their minimum stays scalar. The bits of
floats, those of negative ones turned round, are ordered as integers are, and the lowest bits have
room for the index, so that one reduction of integers finds the place of the extreme, too. And to
multiply a float by a power of two is to add an integer to its bits.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .jit import kernel

INDEX = np.int64(4095)  # the bits that hold an index: up to 4096 of them
LARGEST = np.int64(0x7FFFFFFFFFFFFFFF)


class Cast:
    """`cast(x)` in a kernel: the bits of x as a number of another type; typed when Numba asks."""

    def __init__(self, name: str, source: type[np.generic], target: type[np.generic]) -> None:
        self.name, self.source, self.target = name, source, target

    @functools.cached_property
    def _numba_type_(self) -> Any:
        from numba import from_dtype, types
        from numba.core.typing.templates import make_intrinsic_template

        source, target = (from_dtype(np.dtype(t)) for t in (self.source, self.target))

        def codegen(context: Any, builder: Any, types_: Any, args: Any) -> Any:
            return builder.bitcast(args[0], context.get_value_type(target))

        def definition(context: Any, x: Any) -> Any:
            return target(source), codegen

        return types.Function(make_intrinsic_template(self, definition, self.name))

    def __call__(self, x: Any) -> Any:
        return self.source(x).view(self.target)


bits = Cast("bits", np.float64, np.int64)
from_bits = Cast("from_bits", np.int64, np.float64)
bits32 = Cast("bits32", np.float32, np.int32)
from_bits32 = Cast("from_bits32", np.int32, np.float32)


@kernel
def ordered(x: float, k: int) -> Any:
    """A number that grows with x and ends in the index k."""
    b = bits(x)
    return ((b ^ ((b >> 63) & LARGEST)) & ~INDEX) | k
