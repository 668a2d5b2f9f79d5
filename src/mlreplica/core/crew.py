"""Crew: several threads inside one kernel

A kernel that meets thousands of small jobs, each some microseconds long, cannot go back to Python
for threads: waking the pool costs more than the job. Here one thread, the leader, runs the whole
algorithm; the others, its crew, run a loop that asks a few shared words for work:

    word REMAINING   parts of the current job that nobody has taken; taking one subtracts 1
    word DONE        parts that are finished
    word STOP        the crew may go home

The leader writes down what the job is, sets DONE to 0 and REMAINING to the number of parts, then
takes parts itself until none is left and waits for DONE. Nobody ever waits for a thread that has
not taken a part: if the crew comes late, or never, the leader has done it all.

The words are eight apart, so that each has a cache line of its own.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from concurrent.futures import wait
from typing import Any

import numpy as np

from . import parallel
from .jit import PURE_PYTHON, kernel

REMAINING, DONE, STOP, JOB = 0, 8, 16, 24  # from JOB on: what the leader writes down
SIZE = 64
PATIENCE = 4000  # looks at a word before the processor is offered to others


class Instruction:
    """A machine instruction on x[k] of an int64 array; typed when Numba first asks."""

    def __init__(self, name: str, emit: Callable[..., Any], arity: int, python: Any) -> None:
        self.name, self.emit, self.arity, self.python = name, emit, arity, python

    @functools.cached_property
    def _numba_type_(self) -> Any:
        from numba.core import types
        from numba.core.typing.templates import make_intrinsic_template

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            if not args:
                return self.emit(builder)
            data = context.make_array(signature.args[0])(context, builder, args[0]).data
            return self.emit(builder, builder.gep(data, [args[1]]), *args[2:])

        def load(context: Any, x: Any, k: Any) -> Any:
            return types.int64(x, types.intp), codegen

        def change(context: Any, x: Any, k: Any, v: Any) -> Any:
            return types.int64(x, types.intp, types.int64), codegen

        def plain(context: Any) -> Any:
            return types.int32(), codegen

        definition: Any = (plain, None, load, change)[self.arity]
        return types.Function(make_intrinsic_template(self, definition, self.name))

    def __call__(self, *args: Any) -> Any:
        return self.python(*args)


def _emit_offer(builder: Any) -> Any:
    """A call of the operating system's function that lets another thread run."""
    from llvmlite import ir

    name = "SwitchToThread" if sys.platform == "win32" else "sched_yield"
    known = builder.module.globals.get(name)
    signature = ir.FunctionType(ir.IntType(32), [])
    return builder.call(known or ir.Function(builder.module, signature, name), [])


def _add(x: Any, k: int, v: int) -> int:
    old = int(x[k])
    x[k] += v
    return old


def _put(x: Any, k: int, v: int) -> int:
    old, x[k] = int(x[k]), v
    return old


look = Instruction("look", lambda b, at: b.load_atomic(at, "acquire", 8), 2, lambda x, k: int(x[k]))
add = Instruction("add", lambda b, at, v: b.atomic_rmw("add", at, v, "seq_cst"), 3, _add)
put = Instruction("put", lambda b, at, v: b.atomic_rmw("xchg", at, v, "seq_cst"), 3, _put)
offer = Instruction("offer", _emit_offer, 0, lambda: 0)


def words(size: int = SIZE) -> Any:
    """The shared words of a new crew; those from `SIZE` on are the caller's."""
    return np.zeros(size, dtype=np.int64)


@kernel(part=True, borrow=True)
def announce(crew: Any, parts: int) -> None:
    """The job that stands in crew[JOB:] has so many parts; the crew may start."""
    crew[DONE] = 0
    put(crew, REMAINING, parts)  # overwrites what a thread took that came too late


@kernel(part=True, borrow=True)
def take(crew: Any) -> Any:
    """The number of a part that is now the caller's; negative if there is none."""
    if look(crew, REMAINING) <= 0:
        return -1
    return add(crew, REMAINING, -1) - 1


@kernel(part=True, borrow=True)
def await_all(crew: Any, parts: int) -> None:
    """Return when all parts are done."""
    looks = 0
    while look(crew, DONE) < parts:
        looks += 1
        if looks > PATIENCE:
            offer()


def together(task: Callable[..., Any], crew: Any, args: Any) -> Any:
    """task(crew, True, *args) in this thread, which leads, task(crew, False, *args) in others."""
    helpers = 0 if PURE_PYTHON else parallel.n_threads() - 1
    if helpers == 0:
        return task(crew, True, *args)
    crew[REMAINING] = crew[STOP] = 0
    others = [parallel._pool().submit(task, crew, False, *args) for _ in range(helpers)]
    try:
        return task(crew, True, *args)
    finally:
        crew[STOP] = 1
        wait([other for other in others if not other.cancel()])
