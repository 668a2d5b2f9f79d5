"""Scalars: what takes one instruction, without a function around it

Numba compiles `min`, `max` and `x.view(np.int64)` as functions of their own, anew for every kernel
and type of number: some 50 ms each. These write the instruction where it stands.

    smaller(a, b), larger(a, b)    of two numbers of one type; a, if b is missing
    bits(x)                        as a whole number of as many: the order of x ≥ 0 stays
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


class Scalar:
    """A function of numbers in a kernel; typed when Numba first asks."""

    def __init__(self, python: Callable[..., Any], emit: Callable[..., Any], arity: int) -> None:
        functools.update_wrapper(self, python)
        self.python, self.emit, self.arity = python, emit, arity

    @functools.cached_property
    def _numba_type_(self) -> Any:
        from numba.core import types
        from numba.core.typing.templates import make_intrinsic_template

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return self.emit(builder, signature.args[0] in types.real_domain, *args)

        def two(context: Any, a: Any, b: Any) -> Any:
            kind = context.unify_types(types.unliteral(a), types.unliteral(b))
            return kind(kind, kind), codegen

        def one(context: Any, x: Any) -> Any:
            return types.Integer.from_bitwidth(x.bitwidth)(x), codegen

        definition: Any = one if self.arity == 1 else two
        return types.Function(make_intrinsic_template(self, definition, self.python.__name__))

    def __call__(self, *args: Any) -> Any:
        return self.python(*args)


def _pick(sign: str) -> Callable[..., Any]:
    """b if it is beyond a, else a."""

    def emit(builder: Any, real: bool, a: Any, b: Any) -> Any:
        compare = builder.fcmp_ordered if real else builder.icmp_signed
        return builder.select(compare(sign, b, a), b, a)

    return emit


def _bits(x: Any) -> Any:
    return x.view(f"i{x.itemsize}")


def _emit_bits(builder: Any, real: bool, x: Any) -> Any:
    from llvmlite import ir

    return builder.bitcast(x, ir.IntType(32 if x.type == ir.FloatType() else 64))


smaller = Scalar(min, _pick("<"), 2)
larger = Scalar(max, _pick(">"), 2)
bits = Scalar(_bits, _emit_bits, 1)
