"""Addresses: functions and arrays that a kernel knows only by where they lie

A log-density is the C function

    double f(const double *x, double *g, const int64 *table)

of a user's lines (`user.py`), and a sampler is a kernel that gets its address. `call_at` calls it.
`c_address` makes such a function of a kernel, within another kernel: so it lies in the library that
is built ahead of time, where what Numba calls a C function could not. `numbers_at` and its like
read the arrays of the table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .intrinsics import intrinsic


@intrinsic(lambda f, x, g, table: f(x, g, table))
def call_at(context: Any, address: Any, x: Any, g: Any, table: Any) -> Any:
    """What the C function double f(double *x, double *g, int64 *table) at an address returns."""
    from llvmlite import ir
    from numba.core import types as kinds

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = [
            context.make_array(kind)(context, builder, value=value).data
            for kind, value in zip(signature.args[1:], args[1:], strict=True)
        ]
        function = ir.FunctionType(ir.DoubleType(), [pointer.type for pointer in data])
        return builder.call(builder.inttoptr(args[0], function.as_pointer()), data)

    return kinds.float64(kinds.int64, x, g, table), emit


def _view(context: Any, builder: Any, array: Any, data: Any, shape: Any) -> Any:
    """An array in C order, of this type and shape, that borrows what lies at `data`."""
    from numba.np.arrayobj import get_itemsize, make_array, populate_array

    found, word = make_array(array)(context, builder), shape[0].type
    size = word(get_itemsize(context, array))
    strides = [size]
    for length in shape[:0:-1]:
        strides.insert(0, builder.mul(length, strides[0]))
    data = builder.bitcast(data, found.data.type)
    populate_array(found, data, shape, strides, size, meminfo=None)
    return found._getvalue()


def _array_at(dimensions: int, name: str) -> Callable[..., Any]:
    """The definition of an intrinsic (address, n₁, …) → array, which borrows what lies there."""

    def definition(context: Any, address: Any, *lengths: Any) -> Any:
        from numba.core import types as kinds

        array = kinds.Array(getattr(kinds, name), dimensions, "C")

        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pointer = builder.inttoptr(args[0], context.get_value_type(kinds.voidptr))
            return _view(context, builder, array, pointer, args[1:])

        return array(kinds.int64, *[kinds.int64] * dimensions), emit

    return definition


@intrinsic(lambda address, n: address)
def numbers_at(context: Any, address: Any, n: Any) -> Any:
    """n numbers of float64 at an address."""
    return _array_at(1, "float64")(context, address, n)


@intrinsic(lambda address, n: address)
def integers_at(context: Any, address: Any, n: Any) -> Any:
    """n numbers of int64 at an address."""
    return _array_at(1, "int64")(context, address, n)


@intrinsic(lambda address, n, k: address)
def rows_at(context: Any, address: Any, n: Any, k: Any) -> Any:
    """n rows of k numbers of float64 at an address."""
    return _array_at(2, "float64")(context, address, n, k)


@intrinsic(lambda address, n, k: address)
def integer_rows_at(context: Any, address: Any, n: Any, k: Any) -> Any:
    """n rows of k numbers of int64 at an address."""
    return _array_at(2, "int64")(context, address, n, k)


@intrinsic(lambda f: f)
def c_address(context: Any, f: Any) -> Any:
    """The address of a kernel f(x, g, table) of addresses, as the C function of `call_at`.

    The kernel raises nothing: a C function has no way to say so.
    """
    from llvmlite import ir
    from numba.core import types as kinds

    inner = f.get_call_type(context, (kinds.int64,) * 3, {})

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        made = f.dispatcher.overloads[inner.args]
        word = context.get_value_type(kinds.int64)
        outer = ir.Function(
            builder.module,
            ir.FunctionType(ir.DoubleType(), [word] * 3),
            f"c_{made.fndesc.unique_name}",
        )
        outer.linkage = "internal"
        body = ir.IRBuilder(outer.append_basic_block())
        callee = context.declare_function(builder.module, made.fndesc)
        context.active_code_library.add_linking_library(made.library)
        _, value = context.call_conv.call_function(
            body, callee, inner.return_type, inner.args, outer.args
        )
        body.ret(value)
        return builder.ptrtoint(outer, word)

    return kinds.int64(f), emit


@intrinsic(lambda address, kind, shape: address)
def array_at(context: Any, address: Any, kind: Any, shape: Any) -> Any:
    """An array of a type and a shape at an address."""
    from numba.core import cgutils
    from numba.core import types as kinds

    array = kinds.Array(kind.instance_type, len(shape), "C")

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = builder.inttoptr(args[0], context.get_value_type(kinds.voidptr))
        return _view(context, builder, array, pointer, cgutils.unpack_tuple(builder, args[2]))

    return array(address, kind, shape), emit


@intrinsic(lambda n: n)
def on_stack(context: Any, n: Any) -> Any:
    """An array of n numbers on the stack; n is written out in the text.

    What a function calls cannot know of them, so they stay in registers from one call to the next.
    """
    from llvmlite import ir
    from numba.core import cgutils
    from numba.core import types as kinds

    if not isinstance(n, kinds.IntegerLiteral):
        return None
    array = kinds.Array(kinds.float64, 1, "C")

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        length = ir.IntType(64)(n.literal_value)
        memory = cgutils.alloca_once(builder, ir.ArrayType(ir.DoubleType(), n.literal_value))
        return _view(context, builder, array, memory, [length])

    return array(n), emit
