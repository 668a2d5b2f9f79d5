"""What a bug report should say about a machine"""

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.table import Table

CORE = ["numpy", "scipy", "scikit-learn", "numba", "llvmlite", "joblib", "threadpoolctl"]
EXTRAS = ["typer", "rich", "polars", "matplotlib", "dask", "arviz", "skops"]
LEVELS = {  # what a CPU must have beyond the level before
    "x86-64-v2": ("cx16", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3"),
    "x86-64-v3": ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"),
    "x86-64-v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
}
VARIABLES = [
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_CACHE_DIR",
    "NUMBA_DISABLE_JIT", "NUMBA_CPU_NAME", "MLREPLICA_PURE_PYTHON", "MLREPLICA_PLAIN_NUMBA",
    "MLREPLICA_AHEAD",
]  # fmt: skip


def examine():
    """All findings, as sections of names and plain values."""
    from joblib import cpu_count
    from threadpoolctl import threadpool_info

    import mlreplica
    from mlreplica.core.compile.jit import PURE_PYTHON
    from mlreplica.core.compile.threads import n_threads

    pools = {
        " ".join(filter(None, (pool["internal_api"], pool["version"]))): pool["num_threads"]
        for pool in threadpool_info()
    }
    return {
        "versions": {"mlreplica": mlreplica.__version__} | {name: installed(name) for name in CORE},
        "extras": {name: installed(name) for name in EXTRAS},
        "machine": {
            "python": f"{platform.python_implementation()} {platform.python_version()}",
            "executable": sys.executable,
            "system": platform.platform(),
            "cpu": cpu_name(),
            "instruction set": instruction_set(),
            "cores": os.cpu_count(),
            "cores this process may use": cpu_count(),
            "threads mlreplica uses": n_threads(),
        },
        "threads of libraries": pools,
        "kernels": {"run as": "plain Python"} if PURE_PYTHON else kernels(),
        "variables": {name: os.environ[name] for name in VARIABLES if name in os.environ},
    }


def installed(name):
    """The version of a distribution, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def cpu_name():
    """The CPU's model, as far as the system tells."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.lower().startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def instruction_set():
    """The highest x86-64 level whose features, and those of all lower levels, are there."""
    from mlreplica.core.compile.layers import cpu_features

    machine = platform.machine().lower()
    if machine not in ("x86_64", "amd64") or installed("llvmlite") is None:
        return machine
    features, level = cpu_features(), "x86-64"
    for name, needed in LEVELS.items():
        if not all(features.get(feature) for feature in needed):
            break
        level = name
    return level


def kernels():
    """Where machine code comes from: a library built ahead of time, Numba, or both."""
    from mlreplica.discovery import chapters
    from mlreplica.warmup import all_kernels

    chapters()  # imports them all
    found = {"kernels": len(all_kernels()), "run as": "machine code", "library": library()}
    if installed("numba") is None:
        return found | {"Numba": "not installed: only what the library holds runs"}
    from mlreplica.core.compile.layers import LAYERS, layer

    found["layers on Numba"] = ", ".join(filter(layer, LAYERS)) or "none (plain Numba)"
    return found | (kept_code(cache) if (cache := layer("cache")) else {"kept in": "nowhere"})


def library():
    """What the library built ahead of time holds, if it is there."""
    from mlreplica.core.compile.ahead.library import opened

    if (found := opened()) is None:
        return "none: Numba compiles (`mlreplica warmup --ahead` builds one)"
    level, held = found[0], found[1].about()
    return (
        f"{held['kernels']} kernels in {held['variants']} variants for {level} ({held['made_by']})"
    )


def kept_code(cache):
    """What Numba keeps on disk."""
    home = cache.folder()
    sizes = [path.stat().st_size for path in home.glob("*.nbc")] if home else []
    return {
        "kept in": str(home) if home else "nowhere: no folder is writable; set NUMBA_CACHE_DIR",
        "kept": f"{len(sizes)} files, {sum(sizes) / 1e6:.1f} MB",
    }


def show(found, console):
    """Print the findings."""
    grid = Table(box=SIMPLE_HEAD, show_header=False, pad_edge=False)
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    for section, values in found.items():
        if values:
            grid.add_row(f"[bold not dim]{section}[/]", "")
        for name, value in values.items():
            grid.add_row(f"  {name}", "not installed" if value is None else str(value))
    console.print(grid, highlight=False)
