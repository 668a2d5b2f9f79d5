"""The lasso's exact path and what chooses on it; Bayesian ridge regression

Quality of a path is the lasso's objective at its end, that of a choice of α the mean squared error
of the folds at the choice, that of Bayesian ridge minus the logarithm of the evidence, per row.
"""

import numpy as np

from benchmarks.data import Rows, known, shapes
from benchmarks.race import BOTH, Race, fit, located, same

DEPTH = 1e-3  # α at the end of a path, as a part of the largest
ROWS = [Rows(1000, 500, informative=20), Rows(200, 5000, informative=20)]
SHAPES = {"diabetes": lambda: known("diabetes")} | shapes(*ROWS)


def end_of(data):
    """α at the end of the path."""
    X = data.X - data.X.mean(axis=0)
    return DEPTH * float(np.abs(X.T @ (data.y - data.y.mean())).max()) / len(X)


def followed(path):
    """A contestant: the path down to the α of the data."""

    def prepare(data):
        alpha, make = end_of(data), located(path)
        return lambda: make(alpha=alpha, max_iter=2000).fit(data.X, data.y)

    return prepare


def objective(data, model):
    """The lasso's objective at the end of the path."""
    r = data.y - model.predict(data.X)
    return float(r @ r) / (2 * len(r)) + end_of(data) * float(np.abs(model.coef_).sum())


def left_out(data, model):
    """The mean squared error of the folds at the chosen α."""
    return float(model.mse_path_.mean(axis=1).min())


def surprise(data, model):
    """Minus the logarithm of the evidence at the chosen precisions, per row."""
    A, c = data.X - data.X.mean(axis=0), data.y - data.y.mean()
    n, beta, alpha = len(c), float(model.alpha_), float(model.lambda_)
    M = np.eye(n) / beta + A @ A.T / alpha
    size = np.linalg.slogdet(M)[1] + c @ np.linalg.solve(M, c)
    return 0.5 * float(size + n * np.log(2 * np.pi)) / n


RACES = [
    Race(
        name="lasso-lars",
        what="lasso by its exact path",
        shapes=SHAPES,
        contestants=same("linear_model.LassoLars", BOTH, followed),
        quality=objective,
        rtol=1e-6,
    ),
    Race(
        name="lasso-lars-cv",
        what="five exact paths and a choice",
        shapes={"diabetes": lambda: known("diabetes")} | shapes(Rows(1000, 100, informative=20)),
        contestants={
            "mlreplica": fit("mlreplica.linear_model.LassoLarsCV"),
            "scikit-learn": fit("sklearn.linear_model.LassoLarsCV"),
        },
        quality=left_out,
        quality_name="error left out",
        rtol=1e-6,
    ),
    Race(
        name="bayesian-ridge",
        what="Bayesian ridge",
        shapes=SHAPES,
        contestants=same("linear_model.BayesianRidge", BOTH),
        quality=surprise,
        quality_name="surprise per row",
        rtol=1e-4,
    ),
]
