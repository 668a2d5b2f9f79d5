"""Isolation forest: fit and scores

Quality is 1 − AUC for the 1 % of rows that are outliers.
"""

import numpy as np

from benchmarks.data import Rows, shapes
from benchmarks.race import BOTH, Race, located, same, threads


def with_outliers(data):
    """1 % of rows from a wide cloud; y says which."""
    outlier = np.random.default_rng(1).random(len(data.X)) < 0.01
    X = np.where(outlier[:, None], 2.0 * data.X, data.X)
    return data._replace(X=X, y=outlier)


def isotree(data):
    options = {"ntrees": 100, "sample_size": 256, "ndim": 1, "max_depth": 8, "random_seed": 1}
    options |= {"missing_action": "fail", "nthreads": threads()}
    make = located("isotree.IsolationForest")
    return lambda: make(**options).fit(data.X)


def scores(prepare):
    """A contestant: a fitted forest, asked for scores; the larger, the more normal."""

    def prepare_scores(data):
        model = prepare(data)()
        if hasattr(model, "score_samples"):
            return lambda: model.score_samples(data.X)
        return lambda: -model.predict(data.X)

    return prepare_scores


def missed(data, found):
    """1 − AUC of a model or of its scores."""
    X, outlier, *_ = data
    if not isinstance(found, np.ndarray):
        found = found.score_samples(X) if hasattr(found, "score_samples") else -found.predict(X)
    order = np.argsort(np.argsort(found))
    a, b = outlier.sum(), (~outlier).sum()
    return float((order[outlier].sum() - a * (a - 1) / 2) / (a * b))


PEERS = same("ensemble.IsolationForest", BOTH, n_jobs=threads(), random_state=0)
PEERS["isotree"] = isotree


def race(name, what, peers, *rows, **options):
    return Race(
        name=f"isolation-{name}",
        what=what,
        shapes=shapes(*rows, then=with_outliers),
        contestants=peers,
        quality=missed,
        quality_name="1 − AUC",
        atol=0.02,
        **options,
    )


LARGE = (Rows(100_000, 20), Rows(300_000, 5, "correlated"))
SMALL = (Rows(10_000, 10), Rows(1000, 60))
SCORES = {peer: scores(prepare) for peer, prepare in PEERS.items()}
RACES = [
    race("fit", "isolation forest", PEERS, *LARGE, start=True, readme=True),
    race("score", "isolation forest, scores", SCORES, *LARGE),
    race("fit-10k", "isolation forest", PEERS, *SMALL),
    race("score-10k", "isolation forest, scores", SCORES, *SMALL),
]
