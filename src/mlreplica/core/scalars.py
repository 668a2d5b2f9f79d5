"""Scalars: what takes one instruction, without a function around it and no wider than it is

Numba compiles `min`, `max` and `x.view(np.int64)` as functions of their own, anew for every kernel
and type of number: some 50 ms each. And it widens whole numbers to 64 bits before any sign between
them, so that a loop over bytes may fill an eighth of a register. These write the instruction where
it stands, for numbers of one type, which is that of the result.

    smaller(a, b), larger(a, b)    a, if b is missing
    choose(yes, a, b)              a if yes, else b
    meet(a, b), join(a, b)         the bits that both have, or one of them
    lowest(a)                      the lowest of the bits of a, alone; 0 has none
    bits(x)                        those of x as a whole number: the order of x ≥ 0 stays
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
            return self.emit(builder, *args)

        def one(context: Any, a: Any) -> Any:
            real = a in types.real_domain
            return (types.Integer.from_bitwidth(a.bitwidth) if real else a)(a), codegen

        def two(context: Any, a: Any, b: Any) -> Any:
            kind = context.unify_types(types.unliteral(a), types.unliteral(b))
            return kind(kind, kind), codegen

        def three(context: Any, yes: Any, a: Any, b: Any) -> Any:
            kind = context.unify_types(types.unliteral(a), types.unliteral(b))
            return kind(types.boolean, kind, kind), codegen

        definition: Any = (None, one, two, three)[self.arity]
        return types.Function(make_intrinsic_template(self, definition, self.__name__))  # type: ignore[attr-defined]

    def __call__(self, *args: Any) -> Any:
        return self.python(*args)


def _is_real(x: Any) -> bool:
    from llvmlite import ir

    return isinstance(x.type, (ir.FloatType, ir.DoubleType))


def _beyond(sign: str) -> Callable[..., Any]:
    """b if it is beyond a, else a."""

    def emit(builder: Any, a: Any, b: Any) -> Any:
        compare = builder.fcmp_ordered if _is_real(a) else builder.icmp_signed
        return builder.select(compare(sign, b, a), b, a)

    return emit


def _emit_bits(builder: Any, x: Any) -> Any:
    from llvmlite import ir

    return builder.bitcast(x, ir.IntType(32 if x.type == ir.FloatType() else 64))


def _lowest(a: Any) -> Any:
    return type(a)(int(a) & -int(a))


smaller = Scalar(min, _beyond("<"), 2)
larger = Scalar(max, _beyond(">"), 2)
choose = Scalar(lambda yes, a, b: a if yes else b, lambda builder, *args: builder.select(*args), 3)
meet = Scalar(lambda a, b: a & b, lambda builder, a, b: builder.and_(a, b), 2)
join = Scalar(lambda a, b: a | b, lambda builder, a, b: builder.or_(a, b), 2)
lowest = Scalar(_lowest, lambda builder, a: builder.and_(a, builder.neg(a)), 1)
bits = Scalar(lambda x: x.view(f"i{x.itemsize}"), _emit_bits, 1)
