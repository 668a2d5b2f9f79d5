"""Layers: what is built on Numba's private names, each of which this package can do without

    parts       kernels inside of kernels are optimised once (half the compile time of trees)
    borrow      kernels that make no array count no references
    readonly    read-only arrays run the code of writable ones (no second compilation)
    cache       machine code is kept on disk
    arrays      whole arrays in functions of users become loops of vector instructions

Each layer is a module of this folder. It is switched off, with one line on the log, if the
installed Numba lacks what it needs. For the versions in TESTED that is known; with any other
version the layer first compiles a small kernel on trial. MLREPLICA_PLAIN_NUMBA=1 switches all
layers off: the numbers are the same, compiling takes longer, and nothing is kept on disk.
"""

from __future__ import annotations

import functools
import logging
from importlib import import_module
from typing import Any

import numpy as np

from .jit import SAFE, CompiledFunction, import_numba, is_set

PLAIN_NUMBA = is_set("MLREPLICA_PLAIN_NUMBA")
TESTED = (0, 63), (0, 68)  # the oldest and the newest version of Numba that the tests ran with
LAYERS = "parts", "borrow", "readonly", "cache", "arrays"
logger = logging.getLogger("mlreplica")


@functools.cache
def layer(name: str) -> Any:
    """Return the module of a layer; None if it is switched off."""
    if PLAIN_NUMBA:
        return None
    version = import_numba().__version__
    try:
        module = import_module(f".{name}", __package__)
        if not TESTED[0] <= tuple(map(int, version.split(".")[:2])) <= TESTED[1]:
            module.trial()
    except Exception as error:  # noqa: BLE001  whatever Numba changed, it works without the layer
        logger.warning("Numba %s is used without the layer %r (%r)", version, name, error)
        return None
    return module


def layer_options(name: str) -> dict[str, Any]:
    """Return the options that a layer adds to Numba's decorator; none if it is switched off."""
    module = layer(name)
    return dict(module.OPTIONS) if module else {}


def cpu_features() -> dict[str, bool]:
    """Return the instruction sets that LLVM knows, each with whether this CPU has it."""
    from llvmlite import binding

    return dict(binding.get_host_cpu_features())


def first(x: Any) -> Any:
    """Return the first entry of x: the kernel that layers are tried on."""
    return x[0]


def try_options(outer: dict[str, Any], **inner: Any) -> Any:
    """Compile a kernel that calls another, each with options; raise if the result is wrong."""
    called = CompiledFunction(first, SAFE).compiled(**inner)

    def twice(x: Any) -> Any:
        return 2.0 * called(x)

    dispatcher = CompiledFunction(twice, SAFE).compiled(**outer)
    if dispatcher(np.ones(1)) != 2.0:
        raise RuntimeError("a kernel returned a wrong number")
    return dispatcher
