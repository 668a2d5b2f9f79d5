"""A wheel built with MLREPLICA_PREBUILT=1 starts in a new environment without compiling"""

import json
import os
import shutil
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
from numba.core import event

class Compilations(event.Listener):
    names = []
    def on_start(self, event): self.names.append(event.data["dispatcher"].__name__)
    def on_end(self, event): pass

event.register("numba:compile", heard := Compilations())
import mlreplica
from mlreplica.datasets import load_breast_cancer, load_diabetes
from mlreplica.linear_model import LinearRegression, Perceptron, perceptron
from mlreplica.metrics import accuracy_score, confusion_matrix, log_loss, r2_score, roc_auc_score
from mlreplica.warmup import all_kernels

X, y = load_breast_cancer(return_X_y=True)
model = Perceptron().fit(X, y)
f = model.decision_function(X)
scores = [accuracy_score(y, model.predict(X)), roc_auc_score(y, f), log_loss(y, f > 0)]
confusion_matrix(y, f > 0)
perceptron(X[:20], 2.0 * y[:20] - 1, max_updates=50)
X, y = load_diabetes(return_X_y=True)
for solver in ("auto", "qr", "cholesky", "svd", "sgd"):
    model = LinearRegression(solver=solver).fit(X[:, 2:4], y, sample_weight=y)
    scores.append(r2_score(y, model.predict(X[:, 2:4])))
used = [kernel.dispatcher for kernel in all_kernels() if "dispatcher" in vars(kernel)]
hits = sum(sum(dispatcher.stats.cache_hits.values()) for dispatcher in used)
print(json.dumps([mlreplica.__file__, heard.names, hits]))
"""


def build(folder, prebuilt):
    """Build a wheel without the network, from a copy of this source tree that nobody edits."""
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    env = os.environ | {"MLREPLICA_PREBUILT": prebuilt}
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation"]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = (folder / "dist").glob("*.whl")
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
        [str(python), "-c", PROGRAM],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    file, compilations, hits = json.loads(done.stdout)
    assert Path(file).is_relative_to(site)
    kept = [path for path in (folder / "cache").rglob("*") if path.suffix in (".nbi", ".nbc")]
    return compilations, hits, kept


@pytest.mark.slow
@pytest.mark.parametrize("prebuilt", ["LinearRegression,Perceptron,perceptron,metrics", "0"])
def test_only_a_prebuilt_wheel_starts_without_compiling(prebuilt, tmp_path):
    wheel = build(tmp_path / "source", prebuilt)
    compilations, hits, kept = run(wheel, tmp_path / "environment")
    assert wheel.stem.endswith("-none-any") == (prebuilt == "0")
    if prebuilt != "0":
        assert (compilations, kept) == ([], [])
        assert hits > 0
    else:
        assert compilations
        assert hits == 0
