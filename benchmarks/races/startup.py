"""Start: what a new process pays before its first fit, with and without kernels on disk"""

import os
import subprocess
import sys
import tempfile

from benchmarks.data import Data
from benchmarks.race import Race

FIT = """
from sklearn.datasets import load_iris
from {package}.{chapter} import {name}
X, y = load_iris(return_X_y=True)
print(1 - {name}().fit(X, y).score(X, y))
"""


def process(code, cold=False):
    """A contestant that runs `code` in a new process; a cold one finds no kernel on disk."""

    def call():
        with tempfile.TemporaryDirectory() as empty:
            env = os.environ | ({"NUMBA_CACHE_DIR": empty} if cold else {})
            command = [sys.executable, "-c", code]
            done = subprocess.run(command, env=env, capture_output=True, check=True)
        return float(done.stdout or 0)

    return lambda _: call


def start(label, what, code, cold=False, atol=1e-9, **where):
    """A race of two programs, each in a process of its own."""
    packages = {"mlreplica": "mlreplica", "scikit-learn": "sklearn"}
    return Race(
        name=f"start-{label}",
        what=what,
        shapes={"": lambda: Data(None)},
        contestants={
            peer: process(code.format(package=package, **where), cold)
            for peer, package in packages.items()
        },
        quality=lambda _, result: result,
        quality_name="1 − score",
        atol=atol,
        readme=True,
    )


def first_fit(chapter, name, cold):
    """Process, imports and first fit of one estimator on the iris data."""
    disk, heat = ("nothing", "cold") if cold else ("kernels", "warm")
    what = f"process, import and first `{name}` fit on iris, {disk} on disk"
    # Two perceptrons end at different places of the same cycle, two forests differ by chance.
    atol = 1e-9 if name == "LinearRegression" else 0.1
    where = {"chapter": chapter, "name": name}
    return start(f"{name.lower()}-{heat}", what, FIT, cold, atol, **where)


FITS = [
    ("linear_model", "LinearRegression"),
    ("linear_model", "Perceptron"),
    ("linear_model", "LogisticRegression"),
    ("tree", "DecisionTreeClassifier"),
    ("ensemble", "RandomForestClassifier"),
    ("ensemble", "HistGradientBoostingClassifier"),
    ("svm", "SVC"),
]
IMPORT = "from {package}.linear_model import LinearRegression"
RACES = [
    start("import", "process and import of `LinearRegression`", IMPORT),
    *(first_fit(*where, cold) for where in FITS for cold in (False, True)),
]
