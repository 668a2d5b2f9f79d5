"""Compile: the one way in which this package turns a Python loop into machine code

`@kernel` marks a loop over arrays, `@formula` a scalar formula. Machine code comes from a library
that was built with the package, if there is one (`core/compile/ahead/`). Otherwise Numba compiles
at the first use, never at import, so that a chapter imports without Numba.

    @formula
    def square(x):
        return x * x               # called from Python: plain NumPy, so arrays work

    @kernel
    def sum_of_squares(x):
        s = 0.0
        for i in range(len(x)):
            s += square(x[i])      # called from a kernel: compiled and inlined
        return s

What Numba makes is kept on disk (`core/compile/cache.py`) under a hash of all that it depends on
(`core/compile/fingerprint.py`): editing a kernel recompiles it and the kernels that call it, no
others. What is built on Numba's private names can be done without (`core/compile/layers.py`).

MLREPLICA_PURE_PYTHON=1, or Numba's own NUMBA_DISABLE_JIT=1, runs every kernel as plain Python: for
debuggers and coverage. MLREPLICA_PLAIN_NUMBA=1 compiles with nothing but Numba's public decorator.
MLREPLICA_AHEAD=0 leaves the library unused.
"""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable
from typing import Any, overload


def is_set(variable: str) -> bool:
    """True if an environment variable is neither missing nor empty nor 0."""
    return os.environ.get(variable, "0") not in ("", "0")


PURE_PYTHON = is_set("MLREPLICA_PURE_PYTHON") or is_set("NUMBA_DISABLE_JIT")

logger = logging.getLogger("mlreplica")

# Fuse, reorder, and ignore the sign of zero; never assume that NaN and infinity are absent.
SAFE = frozenset({"contract", "reassoc", "arcp", "nsz"})


class CompiledFunction:
    """A function that runs as machine code, without the GIL: from the library, or by Numba."""

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
    def run(self) -> Any:
        """What runs a call from Python: code of the library, if it is there, else Numba."""
        from .ahead.library import find

        return find(self) or self.dispatcher

    def compile_call(self, *args: Any) -> Any:
        """Run a call by Numba: the library has no code for arguments of such types."""
        if "dispatcher" not in vars(self):
            kinds = ", ".join(map(kind_of, args))
            name = self.py_func.__name__
            logger.info("the library lacks %s(%s): Numba compiles it", name, kinds)
        return self.dispatcher(*args)

    @functools.cached_property
    def dispatcher(self) -> Any:
        """Numba's object behind this kernel when Python calls it: kept on disk."""
        from .layers import layer

        dispatcher = self.compiled()
        if cache := layer("cache"):
            cache.attach(dispatcher, self)
        if readonly := layer("readonly"):
            readonly.attach(dispatcher)
        return dispatcher

    @functools.cached_property
    def part(self) -> Any:
        """Numba's object behind this kernel inside of others, which keep its code in their own."""
        from .layers import layer_options

        options = layer_options("parts")
        return self.compiled(**options, forceinline=self.inline) if options else self.dispatcher

    def compiled(self, **options: Any) -> Any:
        """What Numba makes of the function, at the first call with arguments of new types."""
        from .layers import layer_options

        if self.borrow:
            options |= layer_options("borrow")
        decorate = import_numba().njit(
            nogil=True, error_model="numpy", fastmath=set(self.fastmath), **options
        )
        return decorate(self.py_func)

    @property
    def _numba_type_(self) -> Any:  # how Numba sees a kernel that another kernel calls
        return (self.part if self.is_part else self.dispatcher)._numba_type_

    def __call__(self, *args: Any) -> Any:
        return self.run(*args)

    def __reduce__(self) -> str:
        return self.py_func.__qualname__


class Formula(CompiledFunction):
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

    A `part` is optimised only within the kernels that call it (`core/compile/parts.py`): use it for
    small kernels that call each other. An `inline` part becomes a piece of its caller: use it for
    one that is called in one place and takes many arguments. A kernel that `borrow`s makes no
    array: it works on those it is given and on slices of them, and counts no references.
    """
    if function is None:
        return functools.partial(kernel, fastmath=fastmath, part=part, inline=inline, borrow=borrow)
    return function if PURE_PYTHON else CompiledFunction(function, fastmath, part, inline, borrow)


def formula(function: Callable[..., Any]) -> Any:
    """Mark a scalar formula: written with NumPy's functions, without `if`, it takes arrays too."""
    return function if PURE_PYTHON else Formula(function, SAFE)


def kind_of(value: Any) -> str:
    """Return the type of an argument in words."""
    shape = f"[{value.dtype}, {value.ndim}-d]" if hasattr(value, "ndim") else ""
    return type(value).__name__ + shape


@functools.cache
def import_numba() -> Any:
    """Import Numba once and start to listen for long compilations."""
    try:
        import numba
    except ImportError as error:
        raise ImportError(
            "this call needs a kernel that the installed library of mlreplica lacks, and Numba to "
            "compile it: pip install numba"
        ) from error

    from .events import announce_long_compilations

    announce_long_compilations()
    return numba
