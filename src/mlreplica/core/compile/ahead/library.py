"""Library: kernels that were compiled when the package was built

A wheel, or `mlreplica warmup --ahead` in a clone, puts one library per level of instruction sets
into the folder `_ahead` of the package, and beside it the caller, a small extension module. Here a
kernel finds its code in the library that suits the CPU. The code is used only if the source files
that it was made of are unchanged. Otherwise, and for arguments of types that the library lacks,
Numba compiles, and a line on the log says so.

MLREPLICA_AHEAD=0 leaves the library unused; the name of a level, such as x86-64-v2, chooses one.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
from collections.abc import Iterable
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

from ..jit import is_set

PACKAGE = Path(__file__).resolve().parents[3]
FOLDER = PACKAGE / "_ahead"
COMPILED = ".abi3.so"  # Python's stable interface, from 3.11 on
X86 = ["x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"]
logger = logging.getLogger("mlreplica")


def load_caller(folder: Path) -> Any:
    """Return the extension module that calls kernels."""
    loader = ExtensionFileLoader("caller", str(folder / f"caller{COMPILED}"))
    spec = spec_from_loader("caller", loader)
    module = module_from_spec(spec) if spec else None
    loader.exec_module(module)  # type: ignore[arg-type]
    return module


def levels(caller: Any) -> list[str]:
    """Return the levels whose code this CPU runs, the best one first."""
    return X86[: caller.level()][::-1] or ["generic"]


def wanted() -> str:
    """Return the level that the user chose, "1" for the best, "" for none."""
    choice = os.environ.get("MLREPLICA_AHEAD", "1")
    return "" if choice == "0" or is_set("MLREPLICA_PLAIN_NUMBA") else choice


@functools.cache
def found_caller() -> Any:
    """Return the extension module that was built with the package; None if there is none."""
    if not wanted() or not FOLDER.is_dir():
        return None
    try:
        return load_caller(FOLDER)
    except (ImportError, OSError) as error:  # of another platform, or half a file
        logger.warning("the caller of kernels cannot be loaded: %s", error)
        return None


def from_caller(name: str) -> Any:
    """Return a function of the extension module by its name; None where there is none."""
    return getattr(found_caller(), name, None)


@functools.cache
def opened() -> tuple[str, Any] | None:
    """Return the level and the library that kernels run from; None if there is none."""
    choice, caller = wanted(), found_caller()
    if caller is None:
        return None
    try:
        usable = levels(caller) if choice == "1" else [choice]
        for level in usable:
            if (path := FOLDER / f"{level}.so").exists():
                return level, caller.open(path)
        logger.warning("no library of kernels suits this CPU (%s)", ", ".join(usable))
    except (ImportError, OSError) as error:  # half a file
        logger.warning("the library of kernels cannot be loaded: %s", error)
    return None


def find(kernel: Any) -> Any:
    """Return the function that runs a kernel from the library; None if it has none to trust."""
    if (library := opened()) is None:
        return None
    name, fallback = name_of(kernel), kernel.compile_call
    if (found := library[1].find(name, fallback)) is None:
        return None
    function, stamp, files, needs_routines = found
    try:
        if stamp_of(files.split("\n")) != stamp:
            logger.info("%s has changed since the library was built: Numba compiles it", name)
            return None
    except OSError:
        return None
    if needs_routines:
        fill_routines()
    return function


def name_of(kernel: Any) -> str:
    """Return the name of a kernel in the library."""
    return f"{kernel.py_func.__module__}.{kernel.py_func.__qualname__}"


def stamp_of(files: Iterable[str]) -> str:
    """Return the hash of some source files, named relative to the package."""
    return hashlib.sha256(b"".join(map(hash_of_file, files))).hexdigest()[:32]


@functools.cache
def hash_of_file(name: str) -> bytes:
    """Return the hash of one source file, with line ends of any kind."""
    return hashlib.sha256((PACKAGE / name).read_bytes().replace(b"\r\n", b"\n")).digest()


@functools.cache
def fill_routines() -> None:
    """Tell the library where SciPy's BLAS stands, as Numba does."""
    from scipy.linalg import cython_blas

    if library := opened():
        known: Any = cython_blas.__pyx_capi__
        for k, name in enumerate(library[1].about()["routines"]):
            library[1].set_routine(k, known[name])
