"""Isolation forest: fit and scores

Quality is 1 − AUC for the 1 % of rows that are outliers.
"""

from functools import partial

import numpy as np

from benchmarks.race import Race, threads


def make(n, p):
    """A normal cloud, and 1 % of rows from a wide one."""

    def data():
        rng = np.random.default_rng(0)
        X, outlier = rng.normal(size=(n, p)), rng.random(n) < 0.01
        X[outlier] *= 2.0
        return X, outlier

    return data


def fitted(package, data):
    from importlib import import_module

    cls = import_module(f"{package}.ensemble").IsolationForest
    return lambda: cls(n_jobs=threads(), random_state=0).fit(data[0])


def isotree(data):
    from isotree import IsolationForest

    options = {"ntrees": 100, "sample_size": 256, "ndim": 1, "max_depth": 8, "random_seed": 1}
    return lambda: IsolationForest(missing_action="fail", nthreads=threads(), **options).fit(
        data[0]
    )


def scores(prepare, data):
    """A contestant: a fitted forest, asked for scores; the larger, the more normal."""
    model = prepare(data)()
    if hasattr(model, "score_samples"):
        return lambda: model.score_samples(data[0])
    return lambda: -model.predict(data[0])


def missed(data, found):
    """1 − AUC of a model or of its scores."""
    X, outlier = data
    if not isinstance(found, np.ndarray):
        found = found.score_samples(X) if hasattr(found, "score_samples") else -found.predict(X)
    order = np.argsort(np.argsort(found))
    a, b = outlier.sum(), (~outlier).sum()
    return float((order[outlier].sum() - a * (a - 1) / 2) / (a * b))


PEERS = {
    "mlreplica": partial(fitted, "mlreplica"),
    "scikit-learn": partial(fitted, "sklearn"),
    "isotree": isotree,
}


def pair(name, n, p, **options):
    """Fit and scores on the same data."""
    shared = {"make_data": make(n, p), "quality": missed, "quality_name": "1 − AUC", "atol": 0.02}
    size = f"{n:,} × {p}"
    return [
        Race(
            name=f"isolation-fit{name}",
            what=f"isolation forest, {size}",
            contestants=PEERS,
            **shared,
            **options,
        ),
        Race(
            name=f"isolation-score{name}",
            what=f"isolation forest, scores, {size}",
            contestants={peer: partial(scores, prepare) for peer, prepare in PEERS.items()},
            start=False,
            **shared,
        ),
    ]


RACES = [*pair("", 100_000, 20, readme=True), *pair("-10k", 10_000, 10, start=False)]
