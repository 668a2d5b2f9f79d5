"""Intrinsics: functions that become single machine instructions inside a kernel

Numba compiles `min`, `max` and `x.view(np.int64)` as functions, again for every kernel and type
(some 50 ms each). It also widens integers to 64 bits before every operator, so that a loop over
bytes fills an eighth of a register. An intrinsic emits its instruction in place and keeps the type
of its arguments. Python calls the plain function beside it, which returns the same value.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .jit import kernel

CACHE_LINE = 64  # bytes that travel together
INDEX_MASK = np.int64(4095)  # the bits of `order_key` that hold an index below 4096
LARGEST_INT64 = np.int64(0x7FFFFFFFFFFFFFFF)


class Intrinsic:
    """What `intrinsic` makes of a definition in the form of `numba.extending.intrinsic`."""

    def __init__(
        self, definition: Callable[..., Any], python: Callable[..., Any], formula: Any = None
    ) -> None:
        functools.update_wrapper(self, definition)
        self.definition, self.python = definition, python
        self.formula = formula  # the kernel whose code it emits, if it does

    @functools.cached_property
    def _numba_type_(self) -> Any:  # Numba asks when a kernel first calls it
        from numba.core import types
        from numba.core.typing.templates import make_intrinsic_template

        name = self.definition.__name__
        return types.Function(make_intrinsic_template(self, self.definition, name))

    def __call__(self, *args: Any) -> Any:
        return self.python(*args)


def intrinsic(python: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Mark definition(typing_context, *types) → (signature, emit); Python runs `python` instead."""
    return lambda definition: Intrinsic(definition, python)


# ------------------------------------------------------------------------------- scalars and bits


def _common_type(context: Any, a: Any, b: Any) -> Any:
    from numba.core import types

    return context.unify_types(types.unliteral(a), types.unliteral(b))


def _beyond(context: Any, a: Any, b: Any, sign: str) -> Any:
    """b if it is beyond a, else a."""
    kind = _common_type(context, a, b)

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        from numba.core import types

        is_real = kind in types.real_domain
        compare = builder.fcmp_ordered if is_real else builder.icmp_signed
        return builder.select(compare(sign, args[1], args[0]), args[1], args[0])

    return kind(kind, kind), emit


@intrinsic(min)
def smaller(context: Any, a: Any, b: Any) -> Any:
    """The minimum; a if b is NaN."""
    return _beyond(context, a, b, "<")


@intrinsic(max)
def larger(context: Any, a: Any, b: Any) -> Any:
    """The maximum; a if b is NaN."""
    return _beyond(context, a, b, ">")


@intrinsic(lambda yes, a, b: a if yes else b)
def choose(context: Any, yes: Any, a: Any, b: Any) -> Any:
    """a if yes, else b."""
    from numba.core import types

    kind = _common_type(context, a, b)
    return kind(types.boolean, kind, kind), lambda _, builder, __, args: builder.select(*args)


@intrinsic(lambda a, b: a & b)
def bit_and(context: Any, a: Any, b: Any) -> Any:
    """a & b of two integers of one type."""
    kind = _common_type(context, a, b)
    return kind(kind, kind), lambda _, builder, __, args: builder.and_(*args)


@intrinsic(lambda a, b: a | b)
def bit_or(context: Any, a: Any, b: Any) -> Any:
    """a | b of two integers of one type."""
    kind = _common_type(context, a, b)
    return kind(kind, kind), lambda _, builder, __, args: builder.or_(*args)


@intrinsic(lambda a: type(a)(int(a) & -int(a)))
def lowest_bit(context: Any, a: Any) -> Any:
    """The lowest bit of a that is set, alone; 0 for 0."""
    return a(a), lambda _, builder, __, args: builder.and_(args[0], builder.neg(args[0]))


def _cast(source: Any, target: Any) -> Any:
    """The bits of a number as a number of another type."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], context.get_value_type(target))

    return target(source), emit


def _bits(x: Any) -> Any:
    x = np.float64(x) if isinstance(x, float) else x
    return x.view(f"i{x.itemsize}")


@intrinsic(_bits)
def bits(context: Any, x: Any) -> Any:
    """The bits of a float as an integer of the same width; x ≥ 0 keep their order."""
    from numba.core import types

    x = x if x in types.real_domain else types.float64
    return _cast(x, types.Integer.from_bitwidth(x.bitwidth))


@intrinsic(lambda x: np.float32(x).view(np.int32))
def bits32(context: Any, x: Any) -> Any:
    """The bits of a number rounded to float32."""
    from numba.core import types

    return _cast(types.float32, types.int32)


@intrinsic(lambda k: np.int64(k).view(np.float64))
def from_bits(context: Any, k: Any) -> Any:
    """The float64 that has these bits."""
    from numba.core import types

    return _cast(types.int64, types.float64)


@intrinsic(lambda k: np.int32(k).view(np.float32))
def from_bits32(context: Any, k: Any) -> Any:
    """The float32 that has these bits."""
    from numba.core import types

    return _cast(types.int32, types.float32)


@kernel
def order_key(x: float, k: int) -> Any:
    """An integer that grows with x and whose lowest bits are the index k.

    The minimum of integers compiles to SIMD; that of floats, which may be NaN, stays scalar. One
    reduction over these keys finds the smallest x and its index.
    """
    b = bits(x)
    return ((b ^ ((b >> 63) & LARGEST_INT64)) & ~INDEX_MASK) | k


# ------------------------------------------------------------------------------------------ memory


def _address(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Where x[k] stands, x and k being the first two arguments."""
    data = context.make_array(signature.args[0])(context, builder, args[0]).data
    return builder.gep(data, [args[1]])


def _declared(builder: Any, name: str, result: Any, args: Any) -> Any:
    """A function outside of the kernel, declared once in its module."""
    from llvmlite import ir

    known = builder.module.globals.get(name)
    return known or ir.Function(builder.module, ir.FunctionType(result, args), name)


@intrinsic(lambda x, k: None)
def prefetch_item(context: Any, x: Any, k: Any) -> Any:
    """Start to load the cache line of x[k]."""
    from llvmlite import ir
    from numba.core import types

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        load = _declared(builder, "llvm.prefetch.p0i8", ir.VoidType(), [byte, word, word, word])
        where = builder.bitcast(_address(context, builder, signature, args), byte)
        # for reading, to stay in every cache level, data (not instructions)
        builder.call(load, [where, word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(x, types.intp), emit


@kernel
def prefetch_vector(x: Any) -> None:
    """Start to load the contiguous vector x.

    Rows visited in random order come from memory one miss at a time, some 100 ns each. A kernel
    that knows the order asks for a row a few steps ahead.
    """
    for k in range(0, len(x), max(1, CACHE_LINE // x.itemsize)):
        prefetch_item(x, k)


def _tile(context: Any) -> int:
    """Bytes of a row of a tile: two registers, so that four rows of sums fit into all of them."""
    _, cpu, features = context.codegen().magic_tuple()
    return 128 if "+avx512f" in features or cpu == "x86-64-v4" else 64


def _tile_sums(context: Any, C: Any, Y: Any, out: Any, term: Callable[..., Any]) -> Any:
    """out[t] ← Σ_j term(C[j, t], Y[j]), t < 4, or out ← Σ_j term(C[j], Y[j]) of a vector C.

    Y (p, m) and out are contiguous; C may be of lower precision. All sums of a tile stay in
    registers, which LLVM does for no loop over arrays.
    """
    from llvmlite import ir
    from numba.core import cgutils, types

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        arrays = [
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(signature.args, args, strict=True)
        ]
        c, y, sums = (array.data for array in arrays)
        p, m = cgutils.unpack_tuple(builder, arrays[1].shape)
        item, columns = Y.dtype.bitwidth // 8, 4 if C.ndim == 2 else 1
        lanes, word = _tile(context) // item // (1 if columns > 1 else 2), ir.IntType(64)
        number = context.get_data_type(Y.dtype)
        vector = ir.VectorType(number, lanes)
        first_lane = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
        nothing = ir.Constant(vector, ir.Undefined)

        def at(pointer: Any, *terms: Any) -> Any:
            where = builder.gep(pointer, [functools.reduce(builder.add, terms)])
            return builder.bitcast(where, vector.as_pointer())

        def everywhere(value: Any) -> Any:
            value = value if value.type == number else builder.fpext(value, number)
            lane = builder.insert_element(nothing, value, ir.IntType(32)(0))
            return builder.shuffle_vector(lane, nothing, first_lane)

        with cgutils.for_range(builder, builder.udiv(m, word(lanes))) as loop:
            start, before = builder.mul(loop.index, word(lanes)), builder.block
            body, done = (builder.append_basic_block(name) for name in ("tile", "tile_end"))
            builder.cbranch(builder.icmp_signed(">", p, word(0)), body, done)
            builder.position_at_end(body)
            j, totals = builder.phi(word), [builder.phi(vector) for _ in range(columns)]
            x = builder.load(at(y, start, builder.mul(j, m)), align=item)
            grown = []
            for t, total in enumerate(totals):
                entry = builder.gep(c, [builder.add(builder.mul(j, word(columns)), word(t))])
                value = term(builder, everywhere(builder.load(entry)), x)
                grown.append(builder.fadd(value, total, flags=("contract",)))
            after = builder.add(j, word(1))
            builder.cbranch(builder.icmp_signed("<", after, p), body, done)
            zero = ir.Constant(vector, [0.0] * lanes)
            for phi, begin, end in zip(
                [j, *totals], [word(0), *[zero] * columns], [after, *grown], strict=True
            ):
                phi.add_incoming(begin, before)
                phi.add_incoming(end, body)
            builder.position_at_end(done)
            for t, value in enumerate(grown):
                grown[t] = builder.phi(vector)
                grown[t].add_incoming(zero, before)
                grown[t].add_incoming(value, body)
            for t, value in enumerate(grown):
                builder.store(value, at(sums, start, builder.mul(word(t), m)), align=item)
        return context.get_dummy_value()

    contiguous = all(kind.layout == "C" for kind in (C, Y, out))
    return (types.void(C, Y, out), emit) if contiguous else None


def _product(builder: Any, a: Any, b: Any) -> Any:
    return builder.fmul(a, b, flags=("contract",))


def _squared_difference(builder: Any, a: Any, b: Any) -> Any:
    difference = builder.fsub(a, b)
    return _product(builder, difference, difference)


@intrinsic(lambda C, Y, out: np.dot(C.T, Y, out=out))
def multiply_tile(context: Any, C: Any, Y: Any, out: Any) -> Any:
    """out ← CᵀY for contiguous C (p, 4), Y (p, m) and out (4, m), m a multiple of 32."""
    return _tile_sums(context, C, Y, out, _product)


@intrinsic(lambda x, C, out: np.sum((x[:, None] - C) ** 2, axis=0, out=out))
def squared_distances(context: Any, x: Any, C: Any, out: Any) -> Any:
    """out (m) ← ‖x − c‖² for contiguous x (p) and the columns c of C (p, m), m a multiple of 16."""
    return _tile_sums(context, x, C, out, _squared_difference)


def _over_rows(kinds: Any, start: float, term: Callable[..., Any], plus: Callable[..., Any]) -> Any:
    """v_j ← start plus the terms of u_i and M_ij for all i, eight columns at a time."""
    from llvmlite import ir
    from numba.core import cgutils, types

    word, vector = ir.IntType(64), ir.VectorType(ir.DoubleType(), 8)
    nothing, begin = ir.Constant(vector, ir.Undefined), ir.Constant(vector, [start] * 8)
    first_lane = ir.Constant(ir.VectorType(ir.IntType(32), 8), [0] * 8)

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        u, M, v = (
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(signature.args, args, strict=True)
        )
        n, m = cgutils.unpack_tuple(builder, M.shape)

        def at(pointer: Any, *terms: Any) -> Any:
            where = builder.gep(pointer, [functools.reduce(builder.add, terms)])
            return builder.bitcast(where, vector.as_pointer())

        total = cgutils.alloca_once(builder, vector)
        with cgutils.for_range_slice(builder, word(0), m, word(8)) as (j, _):
            builder.store(begin, total)
            with cgutils.for_range(builder, n) as rows:
                entry = builder.load(builder.gep(u.data, [rows.index]))
                lane = builder.insert_element(nothing, entry, ir.IntType(32)(0))
                entry = builder.shuffle_vector(lane, nothing, first_lane)
                row = builder.load(at(M.data, builder.mul(rows.index, m), j), align=8)
                new = plus(builder, builder.load(total), term(builder, entry, row))
                builder.store(new, total)
            builder.store(builder.load(total), at(v.data, j), align=8)
        return context.get_dummy_value()

    return types.void(*kinds), emit


@intrinsic(lambda u, M, v: np.dot(u[: len(M)], M, out=v))
def multiply_row(context: Any, u: Any, M: Any, v: Any) -> Any:
    """v ← uM for contiguous float64 u, M (n, m) and v (m,), m a multiple of 8; u may be longer."""

    def term(builder: Any, a: Any, b: Any) -> Any:
        return builder.fmul(a, b, flags=("contract",))

    def plus(builder: Any, a: Any, b: Any) -> Any:
        return builder.fadd(a, b, flags=("contract",))

    return _over_rows((u, M, v), 0.0, term, plus)


@intrinsic(lambda u, M, v: np.max(u[: len(M), None] + M, axis=0, out=v, initial=-np.inf))
def max_plus_row(context: Any, u: Any, M: Any, v: Any) -> Any:
    """v_j ← max_i (u_i + M_ij): `multiply_row` in another algebra, under the same conditions."""

    def term(builder: Any, a: Any, b: Any) -> Any:
        return builder.fadd(a, b)

    def plus(builder: Any, a: Any, b: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", b, a), b, a)

    return _over_rows((u, M, v), -np.inf, term, plus)


@intrinsic(lambda x, k: int(x[k]))
def load_word(context: Any, x: Any, k: Any) -> Any:
    """x[k] of an int64 array that other threads write to."""
    from numba.core import types

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load_atomic(_address(context, builder, signature, args), "acquire", 8)

    return types.int64(x, types.intp), emit


def _change(x: Any, operation: str) -> Any:
    """Signature and code of an atomic operation with x[k] and v."""
    from numba.core import types

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        where = _address(context, builder, signature, args)
        return builder.atomic_rmw(operation, where, args[2], "seq_cst")

    return types.int64(x, types.intp, types.int64), emit


def _add(x: Any, k: int, v: int) -> int:
    old = int(x[k])
    x[k] += v
    return old


def _exchange(x: Any, k: int, v: int) -> int:
    old, x[k] = int(x[k]), v
    return old


@intrinsic(_add)
def add_to_word(context: Any, x: Any, k: Any, v: Any) -> Any:
    """x[k] += v in one atomic step; the old value."""
    return _change(x, "add")


@intrinsic(_exchange)
def exchange_word(context: Any, x: Any, k: Any, v: Any) -> Any:
    """x[k] = v in one atomic step; the old value."""
    return _change(x, "xchg")


@intrinsic(lambda: 0)
def yield_processor(context: Any) -> Any:
    """Let the operating system run another thread."""
    from llvmlite import ir
    from numba.core import types

    name = "SwitchToThread" if sys.platform == "win32" else "sched_yield"

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.call(_declared(builder, name, ir.IntType(32), []), [])

    return types.int32(), emit
