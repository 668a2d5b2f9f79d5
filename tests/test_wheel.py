"""A wheel built with MLREPLICA_AHEAD runs in a new environment without Numba"""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from mlreplica.core.compile.ahead import levels, library

ROOT = Path(__file__).parent.parent
HERE = Path(__file__).parent
NAMES = ["LinearRegression", "Perceptron", "KNeighborsClassifier", "GaussianNB"]


def build(folder, ahead):
    """Build a wheel without the network, from a copy of this source tree that nobody edits."""
    ignored = shutil.ignore_patterns("__pycache__", "_ahead")
    shutil.copytree(ROOT / "src", folder / "src", ignore=ignored)
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    env = os.environ | {"MLREPLICA_AHEAD": ahead, "MLREPLICA_LEVELS": "x86-64-v2"}
    if not sysconfig.get_platform().endswith("x86_64"):
        env["MLREPLICA_LEVELS"] = "generic"
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation"]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = (folder / "dist").glob("*.whl")
    return wheel


def run(wheel, folder, *args):
    """Install the wheel in a new environment, where nothing can be written, and run a program."""
    venv.create(folder, symlinks=os.name != "nt")
    paths = {"base": str(folder), "platbase": str(folder)}
    site = Path(sysconfig.get_path("purelib", "venv", paths))
    zipfile.ZipFile(wheel).extractall(site)
    # Everything but mlreplica comes from the tests' own environment: nothing is downloaded, and
    # a .pth file found through a .pth file, such as that of an editable install, is not read.
    (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = Path(sysconfig.get_path("scripts", "venv", paths)) / "python"
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "MLREPLICA_AHEAD")}
    return subprocess.run(
        [str(python), *map(str, args)],
        cwd=folder,
        env=env | {"NUMBA_CACHE_DIR": "/nowhere", "HOME": "/nowhere"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.skipif(not levels.has_compiler(), reason="needs a C compiler")
def test_a_wheel_with_machine_code_needs_no_numba(tmp_path):
    wheel = build(tmp_path / "source", ",".join(NAMES))
    assert "-cp311-abi3-" in wheel.name
    done = run(wheel, tmp_path / "environment", HERE / "without_numba.py", *NAMES)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{len(NAMES)} of {len(NAMES)} estimators run without Numba\n"


@pytest.mark.slow
def test_a_plain_wheel_is_pure_python(tmp_path):
    wheel = build(tmp_path / "source", "0")
    assert wheel.stem.endswith("-none-any")
    names = zipfile.ZipFile(wheel).namelist()
    assert "mlreplica/core/compile/ahead/caller.c" in names
    assert not any("_ahead/" in name for name in names)


@pytest.mark.slow
@pytest.mark.skipif(not library.FOLDER.exists(), reason="needs `mlreplica warmup --ahead`")
@pytest.mark.parametrize("program", ["without_numba.py", "same_bits.py"])
def test_the_library_of_this_clone(program):
    usable = library.levels(library.load_caller(library.FOLDER))
    level = next(level for level in usable if (library.FOLDER / f"{level}.so").exists())
    env = {"MLREPLICA_AHEAD": "1", "NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": ""}
    env = os.environ | env
    command = [sys.executable, str(HERE / program)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
