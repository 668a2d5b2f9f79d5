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

Machine code is kept on disk under a key made of the signature, the CPU and a hash of every kernel
source of this package. Numba's own key knows only the file of the kernel itself, so an edit in
a *called* file leaves stale code behind; ours cannot. The same key lets a wheel carry kernels
that were compiled for a common instruction-set level and so start without any compilation.

MLREPLICA_PURE_PYTHON=1 runs every kernel as plain Python: for debuggers and coverage.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, overload

PURE_PYTHON = os.environ.get("MLREPLICA_PURE_PYTHON", "0") not in ("", "0")
PACKAGE = Path(__file__).resolve().parent.parent

# Fuse, reorder, and ignore the sign of zero; never assume that NaN and infinity are absent.
SAFE = frozenset({"contract", "reassoc", "arcp", "nsz"})

# The instruction sets that shipped kernels may use, and what a CPU must have to run them.
LEVEL = "x86-64-v3" if platform.machine().lower() in ("x86_64", "amd64") else "generic"
NEEDS = {"x86-64-v3": ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"), "generic": ()}

logger = logging.getLogger("mlreplica")


class Kernel:
    """A function that Numba compiles at its first call, in nopython mode and without the GIL."""

    def __init__(self, function: Callable[..., Any], fastmath: frozenset[str]) -> None:
        functools.update_wrapper(self, function)
        self.py_func, self.fastmath = function, fastmath

    @functools.cached_property
    def dispatcher(self) -> Any:
        """Numba's object behind this kernel."""
        numba = import_numba()
        options = {"nogil": True, "error_model": "numpy", "fastmath": set(self.fastmath)}
        dispatcher = numba.njit(**options)(self.py_func)
        dispatcher._cache = cache_of(self.py_func)
        return dispatcher

    @property
    def _numba_type_(self) -> Any:  # how Numba sees a kernel that another kernel calls
        return self.dispatcher._numba_type_

    def __call__(self, *args: Any) -> Any:
        return self.dispatcher(*args)

    def __reduce__(self) -> str:
        return self.__qualname__


class Formula(Kernel):
    """A scalar formula: NumPy evaluates it on arrays, Numba inlines it in kernels."""

    def __call__(self, *args: Any) -> Any:
        return self.py_func(*args)


@overload
def kernel(function: Callable[..., Any]) -> Any: ...
@overload
def kernel(*, fastmath: frozenset[str]) -> Callable[[Callable[..., Any]], Any]: ...
def kernel(function: Callable[..., Any] | None = None, *, fastmath: frozenset[str] = SAFE) -> Any:
    """Mark a loop for compilation; widen `fastmath` only where the result is proved unharmed."""
    if function is None:
        return functools.partial(kernel, fastmath=fastmath)
    return function if PURE_PYTHON else Kernel(function, fastmath)


def formula(function: Callable[..., Any]) -> Any:
    """Mark a scalar formula; NumPy's functions and no `if` (nor `np.where`) let it take arrays too."""
    return function if PURE_PYTHON else Formula(function, SAFE)


@functools.cache
def import_numba() -> Any:
    """Import Numba once and start to listen for long compilations."""
    import numba
    from numba.core import event

    class Notice(event.Listener):
        """Say once on the log that a long first compilation took place, and how to avoid it."""

        def __init__(self) -> None:
            self.depth, self.since, self.said = 0, 0.0, False

        def on_start(self, event: Any) -> None:
            if self.depth == 0:
                self.since = time.perf_counter()
            self.depth += 1

        def on_end(self, event: Any) -> None:
            self.depth -= 1
            seconds = time.perf_counter() - self.since
            if self.depth == 0 and seconds > 1.0 and not self.said:
                self.said = True
                logger.warning(
                    "compiled %s in %.1f s; kept on disk for the next time "
                    "(`mlreplica warmup` compiles everything ahead)",
                    event.data["dispatcher"].__name__,
                    seconds,
                )

    event.register("numba:compile", Notice())
    return numba


@functools.cache
def sources() -> str:
    """Hash of every file of this package that holds kernels or formulas."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_bytes()
        if b"@kernel" in text or b"@formula" in text:
            digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + text + b"\0")
    return digest.hexdigest()


def cache_of(function: Callable[..., Any]) -> Any:
    """The disk cache of one kernel: the user's, then the one that came with the wheel."""
    from llvmlite import binding
    from numba.core import caching

    shipped = Path(os.environ.get("MLREPLICA_SHIP_TO", PACKAGE / "_kernels"))
    host = binding.get_host_cpu_features()
    runs_here = all(host.get(feature) for feature in NEEDS[LEVEL])

    class Nowhere(caching._CacheLocator):
        """Stands in when no folder is writable: nothing is kept, shipped kernels still load."""

        ensure_cache_path = get_source_stamp = lambda self: None
        get_cache_path = lambda self: ""
        get_disambiguator = lambda self: str(function.__code__.co_firstlineno)
        from_function = classmethod(lambda cls, *_: cls())

    class Impl(caching.CompileResultCacheImpl):
        _locator_classes = [*caching.CompileResultCacheImpl._locator_classes, Nowhere]

    class KernelCache(caching.FunctionCache):
        _impl_class = Impl

        def __init__(self) -> None:
            super().__init__(function)
            name = self._impl.filename_base
            stamp = (self._impl.locator.get_source_stamp(), sources())
            if Path(function.__code__.co_filename).is_relative_to(PACKAGE):
                stamp = sources()
            self.shipped = caching.IndexDataCacheFile(shipped / function.__module__, name, stamp)
            self._cache_file = caching.IndexDataCacheFile(self._cache_path, name, stamp)
            if "MLREPLICA_SHIP_TO" in os.environ:
                (shipped / function.__module__).mkdir(parents=True, exist_ok=True)
                self._cache_file = self.shipped

        def _load_overload(self, sig: Any, target_context: Any) -> Any:
            if (found := super()._load_overload(sig, target_context)) or not runs_here:
                return found
            sig, (triple, *_), code = self._index_key(sig, target_context.codegen())
            data = self.shipped.load((sig, (triple, LEVEL, ""), code))
            return None if data is None else self._impl.rebuild(target_context, data)

        def _save_overload(self, sig: Any, data: Any) -> None:
            if self._cache_file is self.shipped or not isinstance(self._impl.locator, Nowhere):
                super()._save_overload(sig, data)

    return KernelCache()
