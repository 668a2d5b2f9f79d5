"""How does the time of a fit grow? Trees and ensembles over rows and over columns

    python -m benchmarks.growth     # writes benchmarks/growth.json

The target is a sum of bent terms of the first four columns and as much noise, so that a tree never
runs out of splits. Times are the best of three, of the processor, after a first fit for compiling.
Doubling the rows should double the time and a little (n log n); doubling the columns, double it.
"""

import json
import time
from importlib import import_module
from pathlib import Path

import numpy as np

from benchmarks.report import cpu

PATH = Path(__file__).with_name("growth.json")
MODELS = {
    "one tree": ("tree", "DecisionTreeRegressor", {}),
    "random forest": ("ensemble", "RandomForestRegressor", {"n_estimators": 5}),
    "gradient boosting": ("ensemble", "GradientBoostingRegressor", {"n_estimators": 20}),
    "histogram boosting": (
        "ensemble",
        "HistGradientBoostingRegressor",
        {"max_iter": 50, "early_stopping": False},
    ),
}
SHAPES = {
    "rows": [(n, 16) for n in (4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000)],
    "columns": [(16_000, p) for p in (4, 8, 16, 32, 64, 128)],
}


def made(n, p):
    """n rows of p columns, four of which matter."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(n, p))
    signal = np.sin(3 * X[:, 0]) + np.abs(X[:, 1]) + X[:, 2] * X[:, 3]
    return X, signal + signal.std() * rng.normal(size=n)


def seconds(model, X, y):
    """The best of three fits."""
    found = []
    for _ in range(3):
        start = time.process_time()
        model.fit(X, y)
        found.append(time.process_time() - start)
    return min(found)


def main():
    """Time every model over every shape and keep the times."""
    result = {"date": time.strftime("%Y-%m-%d"), "machine": cpu(), "times": {}}
    for name, (chapter, kind, options) in MODELS.items():
        model = getattr(import_module(f"mlreplica.{chapter}"), kind)(random_state=0, **options)
        model.fit(*made(500, 4))
        result["times"][name] = {
            what: [(*shape, seconds(model, *made(*shape))) for shape in shapes]
            for what, shapes in SHAPES.items()
        }
    PATH.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
