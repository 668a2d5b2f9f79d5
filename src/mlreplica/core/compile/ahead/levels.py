"""Levels: one library for each level of instruction sets, built by processes of their own

    python -m mlreplica.core.compile.ahead.levels FOLDER [--levels x86-64-v2,x86-64-v3] [name ...]

A warm-up first records which kernels are called, and with arguments of which types. Then one
process per level compiles that list: Numba fixes the CPU that it compiles for when it is imported.
It needs not be this one, as nothing runs. Names choose chapters, estimators and functions.
"""

from __future__ import annotations

import argparse
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from .library import COMPILED, FOLDER, levels, load_caller


def has_compiler() -> bool:
    """Return whether there is a C compiler, which a library needs."""
    return (
        sys.platform != "win32" and shutil.which(os.environ.get("CC", "cc").split()[0]) is not None
    )


def save_signatures(kernels: Iterable[tuple[Any, Any]], path: Path) -> None:
    """Write down (kernel, signature) pairs for processes that compile them."""
    from .library import name_of

    path.write_bytes(pickle.dumps([(name_of(kernel), signature) for kernel, signature in kernels]))


def load_signatures(path: Path) -> list[tuple[Any, Any]]:
    """Return the (kernel, signature) pairs of a file."""
    found = []
    for name, signature in pickle.loads(path.read_bytes()):
        if "Literal[" not in str(signature):  # a kernel called by another, with a constant
            module, _, attribute = name.rpartition(".")
            found.append((getattr(import_module(module), attribute), signature))
    return found


def build(folder: Path = FOLDER, names: Sequence[str] = (), only: Sequence[str] = ()) -> None:
    """Build the caller and the libraries of some levels, by default the best that this CPU runs.

    Object files and Numba's cache stay where NUMBA_CACHE_DIR says, if it is set, so that the next
    build compiles only what has changed.
    """
    from .build import build_caller

    folder.mkdir(parents=True, exist_ok=True)
    build_caller(folder / f"caller{COMPILED}")
    runnable = levels(load_caller(folder))
    names = names or runnable[:1]
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(os.environ.get("NUMBA_CACHE_DIR", temporary))
        signatures = Path(temporary) / "signatures"
        first = next((name for name in names if name in runnable), runnable[0])
        run(first, work, "mlreplica.warmup", "--record", signatures, *only)
        for name in names:
            run(
                name,
                work,
                f"{__package__}.levels",
                folder,
                "--signatures",
                signatures,
                "--levels",
                name,
            )


def run(level: str, work: Path, module: str, *args: Any) -> None:
    """Run a module in a process that compiles for a level."""
    env = {
        **os.environ,
        "NUMBA_CPU_NAME": level,
        "NUMBA_CPU_FEATURES": "",
        "NUMBA_CACHE_DIR": str(work),
        "MLREPLICA_AHEAD": "0",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    subprocess.run([sys.executable, "-m", module, *map(str, args)], env=env, check=True)


def main(args: Sequence[str]) -> None:
    """Build, or be the process that builds one level."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--levels", type=lambda text: text.split(","), default=[])
    parser.add_argument("--signatures", type=Path)
    given = parser.parse_args(args)
    if given.signatures is None:
        return build(given.folder, given.levels, given.names)
    from .build import build_library

    (level,) = given.levels
    work = Path(os.environ["NUMBA_CACHE_DIR"]) / "objects" / level
    made, left_out = build_library(
        load_signatures(given.signatures), level, given.folder / f"{level}.so", work
    )
    lines = [f"{level}: {made} variants of kernels", *(f"  left to Numba: {e}" for e in left_out)]
    sys.stdout.write("\n".join(lines) + "\n")
    return None


if __name__ == "__main__":
    main(sys.argv[1:])
