"""A wheel built with MLREPLICA_PREBUILT=1 starts in a new environment without compiling"""

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

PROGRAM = """
import json
import numpy as np
from numba.core import event

class Compilations(event.Listener):
    count = 0
    def on_start(self, event): self.count += 1
    def on_end(self, event): pass

event.register("numba:compile", heard := Compilations())
import mlreplica
from mlreplica.linear_model import Perceptron
from mlreplica.linear_model._perceptron import epoch

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 2))
accuracy = Perceptron().fit(X, X[:, 0] > 0).score(X, X[:, 0] > 0)
hits = sum(epoch.dispatcher.stats.cache_hits.values())
print(json.dumps([mlreplica.__file__, accuracy, heard.count, hits]))
"""


def build(folder, prebuilt):
    """Build a wheel of this source tree without the network."""
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    env = os.environ | {"MLREPLICA_PREBUILT": prebuilt}
    subprocess.run([*command, str(ROOT)], env=env, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def run(wheel, folder):
    """Install the wheel in a new environment and run PROGRAM: what it compiled, found, kept."""
    venv.create(folder, symlinks=os.name != "nt")
    paths = {"base": str(folder), "platbase": str(folder)}
    site = Path(sysconfig.get_path("purelib", "venv", paths))
    zipfile.ZipFile(wheel).extractall(site)
    # Everything but mlreplica comes from the tests' own environment: nothing is downloaded, and
    # a .pth file found through a .pth file, such as that of an editable install, is not read.
    (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = Path(sysconfig.get_path("scripts", "venv", paths)) / "python"
    env = os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache")}
    env.pop("PYTHONPATH", None)
    done = subprocess.run(
        [str(python), "-c", PROGRAM], env=env, cwd=folder, check=True, capture_output=True
    )
    file, accuracy, compilations, hits = json.loads(done.stdout)
    assert Path(file).is_relative_to(site)
    assert accuracy > 0.9
    kept = [path for path in (folder / "cache").rglob("*") if path.suffix in (".nbi", ".nbc")]
    return compilations, hits, kept


@pytest.mark.parametrize("prebuilt", ["1", "0"])
def test_only_a_prebuilt_wheel_starts_without_compiling(prebuilt, tmp_path):
    wheel = build(tmp_path / "dist", prebuilt)
    compilations, hits, kept = run(wheel, tmp_path / "environment")
    assert wheel.stem.endswith("-none-any") == (prebuilt == "0")
    if prebuilt == "1":
        assert (compilations, kept) == (0, [])
        assert hits > 0
    else:
        assert compilations > 0
        assert hits == 0
