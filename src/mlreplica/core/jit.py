"""Compile: the one way in which this package turns a Python loop into machine code

`@kernel` marks a loop over arrays, `@formula` a scalar formula. Both are compiled by Numba at their
first use, never at import, so that a chapter imports without Numba.

    @formula
    def square(x):
        return x * x               # called from Python: plain NumPy, so arrays work

    @kernel
    def sum_of_squares(x):
        s = 0.0
        for i in range(len(x)):
            s += square(x[i])      # called from a kernel: compiled and inlined
        return s

Machine code is kept on disk (`core/cache.py`) under a key made of the signature, the CPU and a hash
of every kernel source of this package. Numba's own key knows only the file of the kernel itself, so
an edit in a *called* file leaves stale code behind; ours cannot. The same key lets a wheel carry
kernels compiled for a common instruction-set level and so start without any compilation.

MLREPLICA_PURE_PYTHON=1 runs every kernel as plain Python: for debuggers and coverage.
"""

from __future__ import annotations

import functools
import logging
import os
import time
from collections.abc import Callable
from typing import Any, overload

PURE_PYTHON = os.environ.get("MLREPLICA_PURE_PYTHON", "0") not in ("", "0")

# Fuse, reorder, and ignore the sign of zero; never assume that NaN and infinity are absent.
SAFE = frozenset({"contract", "reassoc", "arcp", "nsz"})

OURS = __name__.partition(".")[0] + "."
logger = logging.getLogger("mlreplica")


class Kernel:
    """A function that Numba compiles at its first call, in nopython mode and without the GIL."""

    def __init__(
        self,
        function: Callable[..., Any],
        fastmath: frozenset[str],
        part: bool = False,
        inline: bool = False,
        borrow: bool = False,
    ) -> None:
        functools.update_wrapper(self, function)
        self.py_func, self.fastmath, self.is_part = function, fastmath, part
        self.inline, self.borrow = inline, borrow

    @functools.cached_property
    def dispatcher(self) -> Any:
        """Numba's object behind this kernel when Python calls it: kept on disk."""
        from .cache import KernelCache
        from .parts import KernelCompiler
        from .readonly import serve_readonly

        dispatcher = self.compiled(no_cfunc_wrapper=True, pipeline_class=KernelCompiler)
        dispatcher._cache = KernelCache(self.py_func)
        serve_readonly(dispatcher)
        return dispatcher

    @functools.cached_property
    def part(self) -> Any:
        """Numba's object behind this kernel inside of others, which keep its code in their own."""
        from .parts import PartCompiler

        return self.compiled(
            no_cpython_wrapper=True,
            no_cfunc_wrapper=True,
            pipeline_class=PartCompiler,
            forceinline=self.inline,
        )

    def compiled(self, **options: Any) -> Any:
        """What Numba makes of the function, at the first call with arguments of new types."""
        jit = import_numba().njit(
            nogil=True,
            error_model="numpy",
            fastmath=set(self.fastmath),
            _nrt=not self.borrow,
            **options,
        )
        return jit(self.py_func)

    @property
    def _numba_type_(self) -> Any:  # how Numba sees a kernel that another kernel calls
        return (self.part if self.is_part else self.dispatcher)._numba_type_

    def __call__(self, *args: Any) -> Any:
        return self.dispatcher(*args)

    def __reduce__(self) -> str:
        return self.py_func.__qualname__


class Formula(Kernel):
    """A scalar formula: NumPy evaluates it on arrays, Numba inlines it in kernels."""

    def __call__(self, *args: Any) -> Any:
        return self.py_func(*args)


@overload
def kernel(function: Callable[..., Any]) -> Any: ...
@overload
def kernel(
    *,
    fastmath: frozenset[str] = SAFE,
    part: bool = False,
    inline: bool = False,
    borrow: bool = False,
) -> Callable[[Callable[..., Any]], Any]: ...
def kernel(
    function: Callable[..., Any] | None = None,
    *,
    fastmath: frozenset[str] = SAFE,
    part: bool = False,
    inline: bool = False,
    borrow: bool = False,
) -> Any:
    """Mark a loop for compilation; widen `fastmath` only where the result is proved unharmed.

    A `part` is optimised only within the kernels that call it (`core/parts.py`): for many small
    kernels that call each other. An `inline` part becomes a piece of its caller: for one that is
    called in one place and takes many arguments. One that `borrow`s makes no array, but works on
    those it is given and on slices of them: without counting who uses them, there is less to write.
    """
    if function is None:
        return functools.partial(kernel, fastmath=fastmath, part=part, inline=inline, borrow=borrow)
    return function if PURE_PYTHON else Kernel(function, fastmath, part, inline, borrow)


def formula(function: Callable[..., Any]) -> Any:
    """Mark a scalar formula: written with NumPy's functions, without `if`, it takes arrays too."""
    return function if PURE_PYTHON else Formula(function, SAFE)


@functools.cache
def import_numba() -> Any:
    """Import Numba once and start to listen for long compilations."""
    import numba
    from numba.core import event

    class Notice(event.Listener):
        """Say once on the log that a kernel of ours took long to compile, and how to avoid it."""

        def __init__(self) -> None:
            self.depth, self.since, self.said = 0, 0.0, False

        def on_start(self, event: Any) -> None:
            if self.depth == 0:
                self.since = time.perf_counter()
            self.depth += 1

        def on_end(self, event: Any) -> None:
            self.depth -= 1
            function = event.data["dispatcher"].py_func
            ours = (function.__module__ or "").startswith(OURS)  # None: made at run time
            if self.depth > 0 or self.said or not ours:
                return
            if (seconds := time.perf_counter() - self.since) > 1.0:
                self.said = True
                logger.warning(
                    "compiled %s in %.1f s; kept on disk for the next time "
                    "(`mlreplica warmup` compiles everything ahead)",
                    function.__name__,
                    seconds,
                )

    event.register("numba:compile", Notice())
    return numba
