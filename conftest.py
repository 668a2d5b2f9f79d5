"""Every run of the tests, doctests included, compiles afresh and draws the same way."""

import atexit
import os
import shutil
import signal
import sys
import tempfile

import pytest
from hypothesis import settings

# Before anything imports Numba. pytest-xdist's workers inherit the folder and share its kernels.
if "NUMBA_CACHE_DIR" not in os.environ:
    os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp(prefix="mlreplica-kernels-")
    atexit.register(shutil.rmtree, os.environ["NUMBA_CACHE_DIR"], ignore_errors=True)

# SciPy reads it at import; without it scikit-learn's check of array API input skips itself.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# Shells begin jobs in the background with Ctrl-C ignored; tests press it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Numba compiles the sources as they are. MLREPLICA_AHEAD=1 runs the tests on the library instead.
os.environ.setdefault("MLREPLICA_AHEAD", "0")

# A first call compiles, so examples have no deadline; on a server every run draws the same ones.
settings.register_profile("mlreplica", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("mlreplica")

LONG = ("test_warmup", "test_pure_python", "test_wheel")

# Programs that run in processes of their own, or are only read.
collect_ignore = [
    f"tests/{name}.py"
    for name in ("every_setting", "same_bits", "typing/user_code", "without_numba")
]


def pytest_collection_modifyitems(items):
    """The longest tests first, lest one worker is left alone with them at the end."""
    items.sort(key=lambda item: not item.nodeid.startswith(tuple(f"tests/{name}" for name in LONG)))


@pytest.fixture(autouse=True)
def blocks_of_rows(request):
    """Only in the tests of mlreplica.scale do estimators take blocks."""
    if scale := sys.modules.get("mlreplica.scale"):
        (scale.install if "/scale/" in request.node.nodeid else scale.uninstall)()


@pytest.fixture(autouse=True)
def close_figures():
    """Pictures of one test are gone before the next: matplotlib warns of more than twenty."""
    yield
    if plots := sys.modules.get("matplotlib.pyplot"):
        plots.close("all")
