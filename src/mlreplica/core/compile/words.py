"""Words: unsigned 64-bit integers that wrap, turn and shift inside a kernel

Numba turns a sum of signed and unsigned integers into a float, and Python's integers do not wrap.
These do the same in both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .intrinsics import intrinsic

MASK = (1 << 64) - 1


@intrinsic(lambda a, b: np.uint64((int(a) + int(b)) & MASK))
def wrapping_add(context: Any, a: Any, b: Any) -> Any:
    """a + b of two words, modulo 2⁶⁴."""
    return a(a, a), lambda _, builder, __, args: builder.add(*args)


@intrinsic(lambda a, k: np.uint64(((int(a) << k) | (int(a) >> (64 - k))) & MASK))
def rotate(context: Any, a: Any, k: Any) -> Any:
    """The bits of a word, turned by k to the left."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word, by = args
        by = builder.zext(by, word.type) if by.type.width < 64 else by
        return builder.or_(
            builder.shl(word, by), builder.lshr(word, builder.sub(word.type(64), by))
        )

    return a(a, k), emit


@intrinsic(lambda a, k: np.uint64(int(a) >> k))
def shift_right(context: Any, a: Any, k: Any) -> Any:
    """The bits of a word, moved by k to the right."""
    return a(a, k), lambda _, builder, __, args: builder.lshr(*args)


@intrinsic(lambda a, k: np.uint64((int(a) << k) & MASK))
def shift_left(context: Any, a: Any, k: Any) -> Any:
    """The bits of a word, moved by k to the left."""
    return a(a, k), lambda _, builder, __, args: builder.shl(*args)


@intrinsic(int)
def as_int(context: Any, a: Any) -> Any:
    """A word below 2⁶³ as an integer."""
    from numba.core import types

    return types.int64(a), lambda _, __, ___, args: args[0]
