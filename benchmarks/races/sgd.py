"""Stochastic gradient descent: equal epochs, equal seeds, and so equal weights at the end

Ours and scikit-learn's visit the same rows in the same order. Quality is the objective of the
weights found, so that a contestant who does less work shows.
"""

import numpy as np

from benchmarks.race import Race, threads

EPOCHS, ALPHA = 10, 1e-4


def dense(n, p, classes=2):
    """Gaussian clouds with a tenth of the labels drawn anew."""

    def make():
        rng = np.random.default_rng(0)
        y = rng.integers(classes, size=n)
        X = rng.normal(size=(n, p)) + rng.normal(size=(classes, p))[y]
        return X, np.where(rng.random(n) < 0.1, rng.integers(classes, size=n), y)

    return make


def numbers(n, p):
    """A line with noise."""

    def make():
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, p))
        return X, X @ rng.normal(size=p) + rng.normal(size=n)

    return make


def text():
    """Rows of about 50 words out of 100,000, the frequent ones more often, as in a bag of words."""
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    n, p, words = 50_000, 100_000, 50
    columns = (p * rng.random((n, words)) ** 3).astype(np.int32)
    X = sp.csr_matrix((np.full(n * words, 0.1), columns.ravel(), np.arange(n + 1) * words), (n, p))
    X.sum_duplicates()
    y = X @ rng.normal(size=p) + 0.2 * rng.normal(size=n) > 0
    return X, y.astype(np.int64)


def fit(package, name, **parameters):
    """A contestant: an estimator of `package`, for a fixed number of epochs."""

    def prepare(data):
        from importlib import import_module

        options = {"max_iter": EPOCHS, "tol": None, "random_state": 0, "alpha": ALPHA, **parameters}
        if name == "SGDClassifier":
            options["n_jobs"] = threads()
        model = getattr(import_module(f"{package}.linear_model"), name)(**options)
        return lambda: model.fit(*data)

    return prepare


def objective(data, model):
    """Mean loss plus penalty of the model, summed over the binary problems."""
    X, y = data
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


def race(name, what, make_data, estimator="SGDClassifier", start=False, batches=(), **parameters):
    """One data set and setting, ours against scikit-learn's."""
    contestants = {
        "mlreplica": fit("mlreplica", estimator, **parameters),
        "scikit-learn": fit("sklearn", estimator, **parameters),
    }
    for size in batches:
        contestants[f"mlreplica, batches of {size}"] = fit(
            "mlreplica", estimator, batch_size=size, **parameters
        )
    return Race(
        name=f"sgd-{name}",
        what=f"SGD, {EPOCHS} epochs, {what}",
        make_data=make_data,
        contestants=contestants,
        quality=objective,
        quality_name="objective",
        rtol=1e-6,
        start=start,
        readme=name == "log",
    )


def one_row(package):
    """A contestant: a fitted model, asked for the class of one row."""

    def prepare(data):
        model = fit(package, "SGDClassifier")(data)()
        x = data[0][:1]
        return lambda: model.predict(x)

    return prepare


PREDICT = Race(
    name="sgd-predict",
    what="SGD, the class of one row of 20 features",
    make_data=dense(1_000, 20),
    contestants={"mlreplica": one_row("mlreplica"), "scikit-learn": one_row("sklearn")},
    quality=lambda data, classes: float(np.mean(classes != data[1][:1])),
    quality_name="error",
    start=False,
)

TALL, SMALL = dense(100_000, 50), dense(1_000, 20)
CONSTANT = {"learning_rate": "constant", "eta0": 0.01}
RACES = [
    race("hinge", "hinge, 100,000 × 50", TALL),
    race("log", "logistic, 100,000 × 50", TALL, loss="log_loss"),
    race("squared", "squares, 100,000 × 50", numbers(100_000, 50), "SGDRegressor"),
    race("small", "hinge, 1,000 × 20", SMALL, start=True),
    race("small-squared", "squares, 1,000 × 20", numbers(1_000, 20), "SGDRegressor"),
    race("text", "hinge, 50,000 × 100,000 with 50 a row", text),
    race("text-log", "logistic, 50,000 × 100,000 with 50 a row", text, loss="log_loss"),
    race("text-l1", "L1 penalty, 50,000 × 100,000 with 50 a row", text, penalty="l1"),
    race("l1", "hinge, L1 penalty, 100,000 × 50", TALL, penalty="l1"),
    race("elasticnet", "logistic, elastic net, 100,000 × 50", TALL, "SGDClassifier",
         loss="log_loss", penalty="elasticnet"),
    race("classes", "hinge, 10 classes, 20,000 × 50", dense(20_000, 50, 10)),
    race("average", "hinge, averaged, 100,000 × 50", TALL, average=True),
    race("batches", "logistic, constant rate, 100,000 × 50", TALL, loss="log_loss",
         batches=(16, 256), **CONSTANT),
    PREDICT,
]  # fmt: skip
