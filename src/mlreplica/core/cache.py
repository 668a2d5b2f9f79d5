"""Cache: where compiled kernels are kept, and when they may be used again

Imported with Numba at the first compilation; the only file that knows how Numba caches.
"""

import functools
import hashlib
import os
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

from llvmlite import binding
from numba.core import caching
from numba.core.runtime.nrt import rtsys

PACKAGE = Path(__file__).resolve().parent.parent

# The instruction sets that shipped kernels may use, and what a CPU must have to run them.
LEVEL = "x86-64-v3" if platform.machine().lower() in ("x86_64", "amd64") else "generic"
NEEDS = {"x86-64-v3": ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"), "generic": ()}

SHIP_TO = os.environ.get("MLREPLICA_SHIP_TO")  # set while a wheel is built
SHIPPED = Path(SHIP_TO or PACKAGE / "_kernels")


# How a file shows that it holds kernels.
MARKS = b"@kernel", b"@formula", b"@strict", b"@lean", b"@piece"


@functools.cache
def sources() -> str:
    """Hash of every file of this package that holds kernels or formulas."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_bytes()
        if any(mark in text for mark in MARKS):
            digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + text + b"\0")
    return digest.hexdigest()


@functools.cache
def runs_shipped_kernels() -> bool:
    """True if this CPU has every instruction set of LEVEL."""
    host = binding.get_host_cpu_features()
    return all(host.get(feature) for feature in NEEDS[LEVEL])


class Nowhere(caching._CacheLocator):
    """Stands in where no folder is writable: nothing is kept, but shipped kernels still load."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.line = function.__code__.co_firstlineno

    @classmethod
    def from_function(cls, function: Callable[..., Any], _: str) -> "Nowhere":
        return cls(function)

    def get_cache_path(self) -> str:
        return ""

    def get_disambiguator(self) -> str:
        return str(self.line)

    def get_source_stamp(self) -> None:
        return None


class Serializer(caching.CompileResultCacheImpl):
    """Numba's own, which in the end may keep things nowhere."""

    _locator_classes: Any = [
        *caching.CompileResultCacheImpl._locator_classes,
        Nowhere,
    ]


@contextmanager
def locked(folder: str) -> Iterator[None]:
    """Keep other processes that ask for the same folder waiting; where that cannot be, go on."""
    with Path(folder, "lock").open("ab") as file:
        with suppress(OSError):
            if sys.platform == "win32":
                import msvcrt

                msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
            else:
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX)
        yield  # the lock ends when the file is closed


class KernelFile(caching.IndexDataCacheFile):
    """Numba's own, for processes that compile at the same time.

    The index names a file of code for each signature. One process at a time adds to it: else one
    would write what it had read before another added, and two would give one name to two codes.
    """

    def save(self, key: Any, data: Any) -> None:
        """Keep the code of a signature; the index tells of it when it is there."""
        with locked(self._cache_path):
            index = self._load_index()
            known = set(index.values())
            names = (name for name in map(self._data_name, count(1)) if name not in known)
            name = index.get(key) or next(names)
            self._save_data(name, data)
            self._save_index(index | {key: name})


class KernelCache(caching.FunctionCache):
    """The disk cache of one kernel: what was compiled here, then what came with the wheel.

    Entries are good for one state of all kernel sources. A user's own kernel, outside of this
    package, depends on its own file as well.
    """

    _impl_class = Serializer

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        ours = Path(function.__code__.co_filename).is_relative_to(PACKAGE)
        stamp = sources(), None if ours else self._impl.locator.get_source_stamp()
        name, folder = self._impl.filename_base, SHIPPED / function.__module__
        self.shipped = caching.IndexDataCacheFile(folder, name, stamp)
        self._cache_file = KernelFile(self._cache_path, name, stamp)
        if SHIP_TO:
            folder.mkdir(parents=True, exist_ok=True)
            self._cache_file = self.shipped

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load, without the rules for compiling that Numba would set up first (0.3 s)."""
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        if (found := super()._load_overload(sig, target_context)) or not runs_shipped_kernels():
            return found
        sig, (triple, *_), code = self._index_key(sig, target_context.codegen())
        data = self.shipped.load((sig, (triple, LEVEL, ""), code))
        return None if data is None else self._impl.rebuild(target_context, data)

    def _save_overload(self, sig: Any, data: Any) -> None:
        if SHIP_TO or not isinstance(self._impl.locator, Nowhere):
            super()._save_overload(sig, data)
