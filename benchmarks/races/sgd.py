"""Stochastic gradient descent and the perceptron: equal epochs and seeds, so equal weights

Ours and scikit-learn's visit the same rows in the same order. Quality is the objective of the
weights found, the perceptron's its training error, so that a contestant who does less work shows.
"""

import numpy as np

from benchmarks.data import Rows, shapes
from benchmarks.race import BOTH, Race, ask, fit, same, threads

GIVEN = {"max_iter": 10, "tol": None, "random_state": 0, "alpha": 1e-4}


def objective(data, model):
    """Mean loss plus penalty of the model, summed over the binary problems."""
    X, y, *_ = data
    W, b = np.atleast_2d(model.coef_), model.intercept_
    F = X @ W.T + b
    if model.loss == "squared_error":
        L = 0.5 * (y[:, None] - F) ** 2
    else:
        Y = np.where(y[:, None] == model.classes_[-len(W) :], 1.0, -1.0)
        L = np.logaddexp(0.0, -Y * F) if model.loss == "log_loss" else np.maximum(0.0, 1.0 - Y * F)
    share = {None: 0.0, "l2": 0.0, "l1": 1.0, "elasticnet": model.l1_ratio}[model.penalty]
    strength = 0.0 if model.penalty is None else model.alpha
    norms = (1.0 - share) / 2 * np.sum(W**2) + share * np.abs(W).sum()
    return L.mean(axis=0).sum() + strength * norms


def race(name, what, rows, estimator="SGDClassifier", start=False, batches=(), **options):
    """One setting, ours against scikit-learn's."""
    path = f"linear_model.{estimator}"
    options = GIVEN | options | ({"n_jobs": threads()} if estimator == "SGDClassifier" else {})
    peers = same(path, BOTH, **options)
    for size in batches:
        peers[f"mlreplica, batches of {size}"] = fit(
            f"mlreplica.{path}", batch_size=size, **options
        )
    return Race(
        name=f"sgd-{name}",
        what=f"SGD, 10 epochs, {what}",
        shapes=shapes(*rows),
        contestants=peers,
        quality=objective,
        start=start,
        readme=name == "log",
    )


def perceptron(name, rows, start=False, **options):
    options |= {"max_iter": 20, "tol": None, "n_jobs": threads()}
    return Race(
        name=f"perceptron-{name}",
        what="perceptron, 20 epochs" + (", L2" if "penalty" in options else ""),
        shapes=shapes(*rows),
        contestants=same("linear_model.Perceptron", BOTH, **options),
        quality=lambda data, model: 1.0 - model.score(data.X, data.y),
        quality_name="training error",
        start=start,
        readme=name == "tall",
    )


TALL = [Rows(100_000, 50, classes=2), Rows(20_000, 200, "skewed", classes=2, rare=0.05)]
SMALL = [Rows(1000, 20, classes=2), "breast_cancer"]
CLASSES = [Rows(20_000, 50, classes=10), "digits"]
WORDS = [Rows(50_000, 100_000, "words", classes=2), Rows(10_000, 20_000, "words", classes=2)]
NUMBERS, FEW = [Rows(100_000, 50), Rows(20_000, 200, "correlated")], [Rows(1000, 20), "diabetes"]
NET = {"loss": "log_loss", "penalty": "elasticnet"}
CONSTANT = {"learning_rate": "constant", "eta0": 0.01, "batches": (16, 256)}
RACES = [
    race("hinge", "hinge", TALL),
    race("log", "logistic", TALL, loss="log_loss"),
    race("squared", "squares", NUMBERS, "SGDRegressor"),
    race("small", "hinge", SMALL, start=True),
    race("small-squared", "squares", FEW, "SGDRegressor"),
    race("text", "hinge", WORDS),
    race("text-log", "logistic", WORDS, loss="log_loss"),
    race("text-l1", "hinge, L1", WORDS, penalty="l1"),
    race("l1", "hinge, L1", TALL, penalty="l1"),
    race("elasticnet", "logistic, elastic net", TALL, **NET),
    race("classes", "hinge", CLASSES),
    race("average", "hinge, averaged", TALL, average=True),
    race("batches", "logistic, constant rate", TALL[:1], loss="log_loss", **CONSTANT),
    Race(
        name="sgd-predict",
        what="SGD, the class of one row",
        shapes=shapes(Rows(1000, 20, classes=2), Rows(1000, 300, classes=2)),
        contestants=same("linear_model.SGDClassifier", BOTH, how=ask, rows=1, **GIVEN),
        quality=lambda data, found: float(np.mean(found != data.y[:1])),
        quality_name="error",
    ),
    perceptron("tall", TALL),
    perceptron("small", SMALL, start=True),
    perceptron("classes", CLASSES),
    perceptron("sparse", [Rows(20_000, 10_000, "words", classes=2)]),
    perceptron("l2", TALL, penalty="l2"),
]
