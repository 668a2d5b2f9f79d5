"""Arrays: what a user's function does to whole arrays, as loops that fill the registers

Numba evaluates `np.exp(a)` by one call of the C library per number, sums in the order of the array,
and compiles a function per product. The intrinsics of this file emit the loop, or the call of BLAS,
in place: half the time to compile, and a fraction of the time to run. They take contiguous arrays
of float64; with other arguments they are the functions of NumPy that they stand for.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .intrinsics import Intrinsic, intrinsic
from .jit import import_numba


def _is_block(kind: Any, dimensions: int | None = None) -> bool:
    """Whether a type is that of a contiguous array of float64."""
    from numba.core import types

    return (
        isinstance(kind, types.Array)
        and kind.dtype == types.float64
        and kind.layout in "CF"
        and kind.ndim > 0
        and dimensions in (None, kind.ndim)
    )


@functools.cache
def _compiled_numpy(function: Callable[..., Any], n: int) -> Any:
    """A function of NumPy with n arguments, as Numba compiles it."""

    def of_one(a: Any) -> Any:
        return function(a)

    def of_two(a: Any, b: Any) -> Any:
        return function(a, b)

    call = of_one if n == 1 else of_two
    return import_numba().njit(nogil=True, error_model="numpy")(call)


def _as_numpy(context: Any, function: Callable[..., Any], *args: Any) -> Any:
    """(signature, emit) of what Numba makes of a function of NumPy."""
    dispatcher = _compiled_numpy(function, len(args))
    found = dispatcher._numba_type_.get_call_type(context, args, {})
    made = dispatcher.overloads[found.args]

    def emit(target: Any, builder: Any, signature: Any, values: Any) -> Any:
        target.active_code_library.add_linking_library(made.library)
        return target.call_internal(builder, made.fndesc, signature, values)

    return found, emit


def _read(target: Any, builder: Any, kind: Any, value: Any) -> tuple[Any, Any, list[Any]]:
    """The data, the number of entries and the shape of an array."""
    from numba.core import cgutils
    from numba.np.arrayobj import make_array

    array = make_array(kind)(target, builder, value=value)
    return array.data, array.nitems, cgutils.unpack_tuple(builder, array.shape)


def _elementwise(formula: Any, function: Any, context: Any, *args: Any) -> Any:
    """A formula of numbers for every entry of the only array among the arguments."""
    from numba.core import cgutils, types
    from numba.np.arrayobj import _empty_nd_impl

    arrays = [k for k, kind in enumerate(args) if _is_block(kind)]
    numbers = [kind for kind in args if isinstance(kind, (types.Float, types.Integer))]
    if len(arrays) != 1 or len(numbers) != len(args) - 1:
        return _as_numpy(context, function, *args)
    (at,) = arrays
    inner = formula.part._numba_type_.get_call_type(context, (types.float64,) * len(args), {})
    made = formula.part.overloads[inner.args]

    def emit(target: Any, builder: Any, signature: Any, values: Any) -> Any:
        data, n, shape = _read(target, builder, args[at], values[at])
        out = _empty_nd_impl(target, builder, signature.return_type, shape)
        given = [
            None if k == at else target.cast(builder, value, args[k], types.float64)
            for k, value in enumerate(values)
        ]
        callee = target.declare_function(builder.module, made.fndesc)
        target.active_code_library.add_linking_library(made.library)
        with cgutils.for_range(builder, n) as loop:
            x = builder.load(builder.gep(data, [loop.index]))
            call = [x if value is None else value for value in given]
            _, y = target.call_conv.call_function(
                builder, callee, inner.return_type, inner.args, call
            )
            builder.store(y, builder.gep(out.data, [loop.index]))
        return out._getvalue()

    kind = args[at]
    return types.Array(types.float64, kind.ndim, kind.layout)(*args), emit


@functools.cache
def stand_ins() -> dict[tuple[Any, int], Intrinsic]:
    """What functions of users call, by what they name and the number of its arguments."""
    from mlreplica.core.formulas import log

    formulas = {
        (np.exp, 1): log.exp_to_zero,
        (np.log, 1): log.log_of,
        (np.log1p, 1): log.log1p_of,
        (np.logaddexp, 2): log.log_sum_of,
    }
    found = {(f, n): elementwise(formula, f, n) for (f, n), formula in formulas.items()}
    return {**found, (np.sum, 1): array_sum, (operator.matmul, 2): array_matmul}


def elementwise(formula: Any, function: Callable[..., Any], n: int) -> Intrinsic:
    """A function of NumPy, of one or two arguments, by a formula of numbers."""
    apply = functools.partial(_elementwise, formula, function)
    if n == 1:

        def definition(context: Any, x: Any) -> Any:
            return apply(context, x)
    else:

        def definition(context: Any, x: Any, y: Any) -> Any:  # type: ignore[misc]
            return apply(context, x, y)

    definition.__name__ = definition.__qualname__ = f"array_{function.__name__}"
    return Intrinsic(definition, function, formula)


@intrinsic(np.sum)
def array_sum(context: Any, x: Any) -> Any:
    """The sum of all entries, in any order."""
    from numba.core import cgutils, types

    if not _is_block(x):
        return _as_numpy(context, np.sum, x)

    def emit(target: Any, builder: Any, signature: Any, values: Any) -> Any:
        data, n, _ = _read(target, builder, x, values[0])
        total = cgutils.alloca_once_value(builder, target.get_constant(types.float64, 0.0))
        with cgutils.for_range(builder, n) as loop:
            item = builder.load(builder.gep(data, [loop.index]))
            added = builder.fadd(builder.load(total), item, flags=("reassoc", "nsz"))
            builder.store(added, total)
        return builder.load(total)

    return types.float64(x), emit


@intrinsic(operator.matmul)
def array_matmul(context: Any, a: Any, b: Any) -> Any:
    """a @ b: BLAS for a matrix and a vector, a loop for two vectors."""
    if _is_block(a, 1) and _is_block(b, 1):
        return _dot(a, b)
    if {getattr(a, "ndim", 0), getattr(b, "ndim", 0)} == {1, 2} and _is_block(a) and _is_block(b):
        return _matrix_vector(a, b)
    return _as_numpy(context, operator.matmul, a, b)


def _refuse_unless_equal(target: Any, builder: Any, n: Any, m: Any) -> None:
    """Raise ValueError unless two lengths agree."""
    with builder.if_then(builder.icmp_signed("!=", n, m), likely=False):
        target.call_conv.return_user_exc(
            builder, ValueError, ("the arrays of a product @ do not fit each other",)
        )


def _dot(a: Any, b: Any) -> Any:
    from numba.core import cgutils, types

    def emit(target: Any, builder: Any, signature: Any, values: Any) -> Any:
        x, n, _ = _read(target, builder, a, values[0])
        y, m, _ = _read(target, builder, b, values[1])
        _refuse_unless_equal(target, builder, n, m)
        total = cgutils.alloca_once_value(builder, target.get_constant(types.float64, 0.0))
        with cgutils.for_range(builder, n) as loop:
            item = [builder.load(builder.gep(data, [loop.index])) for data in (x, y)]
            product = builder.fmul(*item, flags=("contract",))
            added = builder.fadd(builder.load(total), product, flags=("reassoc", "nsz", "contract"))
            builder.store(added, total)
        return builder.load(total)

    return types.float64(a, b), emit


def _matrix_vector(a: Any, b: Any) -> Any:
    from numba.core import cgutils, types
    from numba.np.arrayobj import _empty_nd_impl
    from numba.np.linalg import call_xxgemv

    is_left = a.ndim == 2  # the matrix
    kind = a if is_left else b

    def emit(target: Any, builder: Any, signature: Any, values: Any) -> Any:
        (A, _, shape), (x, m, _) = (
            _read(target, builder, *pair)
            for pair in sorted(zip(signature.args, values, strict=True), key=lambda p: -p[0].ndim)
        )
        rows, columns = shape if is_left else shape[::-1]
        _refuse_unless_equal(target, builder, columns, m)
        out = _empty_nd_impl(target, builder, signature.return_type, [rows])
        zero = rows.type(0)
        is_empty = builder.or_(
            builder.icmp_signed("==", rows, zero), builder.icmp_signed("==", columns, zero)
        )
        with builder.if_else(is_empty, likely=False) as (empty, filled):
            with empty:
                cgutils.memset(builder, out.data, builder.mul(out.itemsize, rows), 0)
            with filled:
                turned = (kind.layout == "C") == is_left
                call_xxgemv(target, builder, turned, kind, shape, A, x, out.data)
        return out._getvalue()

    return types.Array(types.float64, 1, "C")(a, b), emit


def trial() -> None:
    """Raise unless every stand-in compiles and finds the right numbers."""
    x = np.array([0.5, 2.0])
    for (function, n), made in stand_ins().items():
        args = (np.outer(x, x), x) if function is operator.matmul else (x, 1.0)[:n]
        space: dict[str, Any] = {"f": made}
        exec(
            f"def call{'(a, b)' if n == 2 else '(a)'}: return f{'(a, b)' if n == 2 else '(a)'}",
            space,
        )
        if not np.allclose(import_numba().njit(space["call"])(*args), function(*args)):
            raise RuntimeError(f"{function} came out wrong")
