"""Start: what a new process pays before its first fit, with and without kernels on disk"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable

from benchmarks.race import Call, Race

FIT = """
from sklearn.datasets import load_iris
from {package}.linear_model import {name}
X, y = load_iris(return_X_y=True)
print(1 - {name}().fit(X, y).score(X, y))
"""


def process(code: str, cold: bool = False) -> Callable[[object], Call]:
    """A contestant that runs `code` in a new process; a cold one finds no kernel on disk."""

    def prepare(_: object) -> Call:
        def call() -> float:
            with tempfile.TemporaryDirectory() as empty:
                env = os.environ | ({"NUMBA_CACHE_DIR": empty} if cold else {})
                done = subprocess.run(
                    [sys.executable, "-c", code], env=env, capture_output=True, check=True
                )
            return float(done.stdout or 0)

        return call

    return prepare


def start(
    name: str, what: str, ours: str, theirs: str, cold: bool = False, atol: float = 1e-9
) -> Race:
    """A race of two programs, each in a process of its own."""
    return Race(
        name=name,
        what=what,
        make_data=lambda: None,
        contestants={"mlreplica": process(ours, cold), "scikit-learn": process(theirs, cold)},
        quality=lambda _, result: result,
        quality_name="1 − score",
        atol=atol,
        start=False,
        readme=True,
    )


def first_fit(name: str, cold: bool) -> Race:
    """Process, imports and first fit of one estimator on the iris data."""
    ours, theirs = (FIT.format(package=p, name=name) for p in ("mlreplica", "sklearn"))
    disk = "nothing" if cold else "kernels"
    what = f"process, import and first `{name}` fit on iris, {disk} on disk"
    heat = "cold" if cold else "warm"
    # Iris is not separable, so two perceptrons end at different places of the same cycle.
    atol = 0.1 if name == "Perceptron" else 1e-9
    return start(f"start-{name.lower()}-{heat}", what, ours, theirs, cold, atol)


RACES = [
    start(
        "start-import",
        "process and import of `LinearRegression`",
        "from mlreplica.linear_model import LinearRegression",
        "from sklearn.linear_model import LinearRegression",
    ),
    *(
        first_fit(name, cold)
        for name in ("LinearRegression", "Perceptron")
        for cold in (False, True)
    ),
]
