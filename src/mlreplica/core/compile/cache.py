"""Cache: where compiled kernels are kept, and when they may be used again

Each compiled signature is one file. Its name holds a hash of all that the machine code depends on:
the signature, the processor, the versions of Python and Numba, and the fingerprint of the kernel.
Processes that compile at the same time therefore never write different things under one name, and
need no lock. Kernels that a library built ahead of time holds (`ahead/`) need no such file.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import pickle
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numba import __version__ as numba_version
from numba import config as numba_config
from numba.core import types
from numba.core.compiler import CompileResult
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps

from .fingerprint import fingerprint

config: Any = numba_config  # its names are made when it is imported
PACKAGE = Path(__file__).resolve().parents[2]

DAYS = 14  # that code of other versions of a kernel is kept: it may be another branch's
logger = logging.getLogger("mlreplica")


@functools.cache
def folder() -> Path | None:
    """Return the first of three folders that can be written to; None if none can.

    They are NUMBA_CACHE_DIR if it is set, one inside of the package, and one of the user's.
    """
    chosen = [Path(config.CACHE_DIR) / "mlreplica"] if config.CACHE_DIR else []
    for candidate in (*chosen, PACKAGE / "__pycache__" / "kernels", user_folder()):
        with suppress(OSError):
            candidate.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=candidate).close()
            return candidate
    return None


@functools.cache
def say_once(reason: str) -> None:
    """Log why compiled kernels are not kept."""
    logger.warning(
        "compiled kernels cannot be kept for the next process: %s. Set NUMBA_CACHE_DIR to a folder "
        "with room that you may write to.",
        reason,
    )


def user_folder() -> Path:
    """Return the folder for caches of this user."""
    home = Path("~").expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home) / "mlreplica" / "Cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "mlreplica"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "mlreplica"


class KernelCache:
    """The disk cache of one kernel, as a dispatcher of Numba asks for it."""

    def __init__(self, kernel: Any) -> None:
        function = kernel.py_func
        name = f"{function.__module__}.{function.__qualname__}".replace("<locals>.", "")
        self.name = "".join(c if c.isalnum() or c in "._" else "-" for c in name)[-120:]
        python = sys.implementation.cache_tag, getattr(sys, "abiflags", "")
        flags = config.OPT, config.BOUNDSCHECK, config.LOOP_VECTORIZE, config.SLP_VECTORIZE
        self.fingerprint = fingerprint(kernel)
        self.state = python, numba_version, [str(flag) for flag in flags], self.fingerprint

    @property
    def cache_path(self) -> str:
        """Where compiled code is kept; Numba's statistics show it."""
        return str(folder() or "")

    def file_name(self, signature: Any, target: Any) -> str:
        """Return the name of the file for a signature and a processor."""
        key = repr((self.state, describe_types(signature), target))
        digest = hashlib.sha256(key.encode()).hexdigest()
        return f"{self.name}-{self.fingerprint[:8]}-{digest[:32]}.nbc"

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return the compiled signature, or None."""
        home = folder()
        path = home and home / self.file_name(signature, context.codegen().magic_tuple())
        if path and path.exists():
            with suppress(OSError, EOFError, pickle.UnpicklingError):
                return restore(context, path.read_bytes())
        return None

    def save_overload(self, signature: Any, code: Any) -> None:
        """Keep a compiled signature."""
        home = folder()
        if home is None:
            return say_once("no folder is writable")
        if code.library.has_dynamic_globals or " at 0x" in str(signature):
            return None  # an address means something only here and now
        path = home / self.file_name(signature, code.codegen.magic_tuple())
        try:
            draft = path.with_suffix(f".{os.getpid()}.tmp")
            draft.write_bytes(dumps(code._reduce()))
            draft.replace(path)  # in one step: nobody reads half a file
        except OSError as error:
            say_once(f"{home}: {error.strerror}")
        return self.forget_old_code(home)

    def forget_old_code(self, home: Path) -> None:
        """Remove code of other versions of this kernel that was written long ago."""
        for path in home.glob(f"{self.name}-*.nbc"):
            with suppress(OSError):
                is_old = time.time() - path.stat().st_mtime > DAYS * 86400
                if is_old and not path.name.startswith(f"{self.name}-{self.fingerprint[:8]}-"):
                    path.unlink()

    def flush(self) -> None:
        """Forget nothing: names change with their content."""

    enable = disable = flush


def describe_types(signature: Any) -> str:
    """Return the argument types as text, with the fields of named tuples."""
    if isinstance(signature, types.BaseNamedTuple):
        named: Any = signature
        fields = zip(named.fields, named.types, strict=True)
        inner = ", ".join(f"{name}: {describe_types(kind)}" for name, kind in fields)
        return f"{named.instance_class.__qualname__}({inner})"
    if isinstance(signature, tuple | types.BaseTuple):
        several: Any = signature
        return f"({', '.join(map(describe_types, several))})"
    return str(signature)


def restore(context: Any, data: bytes) -> Any:
    """Return the compiled signature that was made bytes."""
    rtsys.initialize(context)  # not context.refresh(): that sets up rules for compiling (0.3 s)
    return CompileResult._rebuild(context, *pickle.loads(data))


def attach(dispatcher: Any, kernel: Any) -> None:
    """Keep what a dispatcher compiles."""
    dispatcher._cache = KernelCache(kernel)


def trial() -> None:
    """Raise unless machine code runs that was made bytes and loaded again."""
    from .layers import try_options

    dispatcher = try_options({})
    (signature, code), *_ = dispatcher.overloads.items()
    cache = KernelCache(dispatcher)
    cache.file_name(signature, code.codegen.magic_tuple())
    if restore(code.target_context, dumps(code._reduce())).entry_point(np.ones(1)) != 2.0:
        raise RuntimeError("machine code changed on its way through a file")
