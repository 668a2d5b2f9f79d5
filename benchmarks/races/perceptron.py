"""Perceptron: twenty epochs over data no plane separates, so that every contestant does all of them

Ours and scikit-learn's visit the same points in the same order; the weights must agree.
"""

import numpy as np

from benchmarks.race import Race, threads

EPOCHS = 20


def dense(n, p, classes):
    """Gaussian clouds with a tenth of the labels drawn anew."""

    def make():
        rng = np.random.default_rng(0)
        y = rng.integers(classes, size=n)
        X = rng.normal(size=(n, p)) + rng.normal(size=(classes, p))[y]
        return X, np.where(rng.random(n) < 0.1, rng.integers(classes, size=n), y)

    return make


def sparse():
    """Rows of about 50 words out of 10,000, as in a bag of words."""
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    X = sp.random_array((20_000, 10_000), density=0.005, format="csr", rng=rng)
    y = X @ rng.normal(size=10_000) + 0.5 * rng.normal(size=20_000) > 0
    return sp.csr_matrix(X), y.astype(np.int64)


def fit(package, **parameters):
    """A contestant: Perceptron of `package`, for a fixed number of epochs."""

    def prepare(data):
        from importlib import import_module

        Perceptron = import_module(f"{package}.linear_model").Perceptron
        model = Perceptron(max_iter=EPOCHS, tol=None, n_jobs=threads(), **parameters)
        return lambda: model.fit(*data)

    return prepare


def error(data, model):
    """Share of the training points on the wrong side."""
    return 1.0 - model.score(*data)


def race(name, what, make_data, start=False, **parameters):
    """One data set, ours against scikit-learn's."""
    return Race(
        name=f"perceptron-{name}",
        what=f"perceptron, {EPOCHS} epochs, {what}",
        make_data=make_data,
        contestants={
            "mlreplica": fit("mlreplica", **parameters),
            "scikit-learn": fit("sklearn", **parameters),
        },
        quality=error,
        quality_name="training error",
        start=start,
        readme=name == "tall",
    )


RACES = [
    race("tall", "100,000 × 50", dense(100_000, 50, 2)),
    race("small", "1,000 × 20", dense(1_000, 20, 2), start=True),
    race("classes", "10 classes, 20,000 × 50", dense(20_000, 50, 10)),
    race("sparse", "20,000 × 10,000 with 0.5 % set", sparse),
    race("l2", "100,000 × 50 with an L2 penalty", dense(100_000, 50, 2), penalty="l2"),
]
