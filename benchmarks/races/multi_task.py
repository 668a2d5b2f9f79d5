"""Multi-task lasso: several targets that use the same few columns

Quality is the objective that was reached; both stop at a duality gap of 1e-6.
"""

import numpy as np

from benchmarks.data import Data
from benchmarks.race import BOTH, Race, located, same

DEPTH = 0.05  # α, as a part of the least for which W = 0


def tasks(n, p, T):
    """n rows of p columns, 10 of which matter to all T targets."""

    def make():
        rng = np.random.default_rng(0)
        X, W = rng.normal(size=(n, p)), np.zeros((p, T))
        W[:10] = rng.normal(size=(10, T))
        Y = X @ W + rng.normal(size=(n, T))
        return Data(X, Y - Y.mean(axis=0))

    return make


def alpha_of(data):
    X = data.X - data.X.mean(axis=0)
    return DEPTH * float(np.linalg.norm(X.T @ data.y, axis=1).max()) / len(X)


def scaled(path):
    """A contestant: fit with α of the data."""

    def prepare(data):
        given = {"alpha": alpha_of(data), "tol": 1e-6, "max_iter": 10_000}
        return lambda: located(path)(**given).fit(data.X, data.y)

    return prepare


def objective(data, model):
    R = data.y - data.X @ model.coef_.T - model.intercept_
    norms = np.linalg.norm(model.coef_, axis=0).sum()
    return float((R**2).sum() / (2 * len(R)) + alpha_of(data) * norms)


SHAPES = [(1000, 20, 5), (5000, 200, 10), (300, 3000, 20)]
RACES = [
    Race(
        name="multi-task-lasso",
        what="multi-task lasso",
        shapes={f"{n:,} × {p:,}, {T} targets": tasks(n, p, T) for n, p, T in SHAPES},
        contestants=same("linear_model.MultiTaskLasso", BOTH, scaled),
        quality=objective,
        rtol=1e-4,
    )
]
