"""Boosting: AdaBoost with stumps, and gradient boosting with exact splits

Quality is the loss on the training rows, which boosting lowers: the share of errors for AdaBoost,
the mean squared error or the logarithmic loss for gradient boosting. All take the same depth,
rounds and learning rate and no penalty. Exact splits give nearly the same trees, whichever library
finds them, so a loss within two per cent is the same quality.
"""

import numpy as np

from benchmarks.data import Rows, shapes
from benchmarks.race import BOTH, Race, fit, located, same, threads

DEPTH, RATE = 3, 0.1


def snapml(name, rounds):
    """Without histograms; it reads float32 only."""

    def prepare(data):
        X, y, make = data.X.astype(np.float32), data.y, located(f"snapml.BoostingMachine{name}")
        options = {"min_max_depth": DEPTH, "max_max_depth": DEPTH, "use_histograms": False}
        options |= {"learning_rate": RATE, "n_jobs": threads(), "lambda_l2": 0.0}
        return lambda: make(num_round=rounds, **options).fit(X, y)

    return prepare


def error(data, model):
    return float(np.mean(model.predict(data.X) != data.y))


def squared(data, model):
    return float(np.mean((model.predict(data.X.astype(np.float32)) - data.y) ** 2))


def log_loss(data, model):
    p = model.predict_proba(data.X.astype(np.float32))[np.arange(len(data.y)), data.y]
    return float(-np.mean(np.log(np.maximum(p, 1e-15))))


def ada(name, *rows, kind="Classifier", trees=50, **options):
    number = kind == "Regressor"
    path = f"ensemble.AdaBoost{kind}"
    return Race(
        name=f"adaboost-{name}",
        what=f"AdaBoost.R2, {trees} trees" if number else f"AdaBoost, {trees} stumps",
        shapes=shapes(*rows),
        contestants=same(path, BOTH, n_estimators=trees, random_state=0),
        quality=squared if number else error,
        quality_name="training loss" if number else "training error",
        rtol=0.05 if number else 0.02,
        **options,
    )


def gradient(name, kind, rounds, *rows, snap=True, **options):
    given = {"n_estimators": rounds, "max_depth": DEPTH, "learning_rate": RATE}
    exact = {"tree_method": "exact", "reg_lambda": 0.0, "min_child_weight": 0.0}
    path = f"ensemble.GradientBoosting{kind}"
    peers = same(path, BOTH, random_state=0, **given) | {
        "xgboost, exact": fit(f"xgboost.XGB{kind}", n_jobs=threads(), **exact, **given)
    }
    if snap:
        peers["snapml, exact"] = snapml(kind, rounds)
    return Race(
        name=f"gradient-boosting-{name}",
        what=f"gradient boosting, {rounds} trees of depth {DEPTH}",
        shapes=shapes(*rows),
        contestants=peers,
        quality=squared if kind == "Regressor" else log_loss,
        quality_name="training loss",
        rtol=0.02,
        **options,
    )


def bent(n, p, classes=0, kind="normal", **more):
    return Rows(n, p, kind, classes=classes, bent=True, noise=0.3, **more)


RACES = [
    ada("10k", bent(10_000, 20, 2), bent(4000, 50, 2, "few"), start=True, readme=True),
    ada("100k", bent(100_000, 10, 2), bent(40_000, 30, 2, "skewed", rare=0.1)),
    ada("iris", "iris", "wine"),
    ada("r2", bent(10_000, 20), bent(3000, 40, 0, "few"), kind="Regressor", trees=20),
    gradient(
        "10k",
        "Regressor",
        100,
        bent(10_000, 20),
        bent(3000, 50, 0, "few"),
        bent(20_000, 10, 0, "skewed"),
        start=True,
        readme=True,
    ),
    gradient("100k", "Regressor", 20, bent(100_000, 10), bent(40_000, 40, 0, "correlated")),
    gradient("classes", "Classifier", 50, bent(10_000, 20, 2), bent(5000, 40, 2, rare=0.05)),
    gradient("iris", "Classifier", 50, "iris", "wine", snap=False),
]
