"""Calibrated classifiers: curves for a fitted naive Bayes, and folds of one that is not

Quality is the log loss on the rows of the fit.
"""

import numpy as np
from sklearn.datasets import make_classification

from benchmarks.data import Data
from benchmarks.race import BOTH, Race, located, same

PATH = "calibration.CalibratedClassifierCV"


def rows(n, K):
    """n rows of K classes."""

    def make():
        return Data(*make_classification(n, 10, n_informative=6, n_classes=K, random_state=0))

    return make


def loss(data, model):
    p = model.predict_proba(data.X)[np.arange(len(data.y)), data.y.astype(int)]
    return float(-np.log(np.maximum(p, 1e-4)).mean())


def calibrated(path, *, method, frozen):
    """A contestant: calibrate the naive Bayes of the same package."""

    def prepare(data):
        from sklearn.frozen import FrozenEstimator

        bayes = located(path.partition(".")[0] + ".naive_bayes.GaussianNB")()
        half = len(data.y) // 2
        inside = FrozenEstimator(bayes.fit(data.X[:half], data.y[:half])) if frozen else bayes
        return lambda: located(path)(inside, method=method).fit(data.X, data.y)

    return prepare


def race(method, *, frozen):
    return Race(
        name=f"calibration-{method}" + ("-prefit" if frozen else ""),
        what=f"naive Bayes, calibrated ({method}" + (", fitted before)" if frozen else ")"),
        shapes={f"{n:,} rows, {K} classes": rows(n, K) for n, K in [(2000, 2), (100_000, 4)]},
        contestants=same(PATH, BOTH, calibrated, method=method, frozen=frozen),
        quality=loss,
        quality_name="log loss",
        rtol=1e-4,
    )


RACES = [
    race(method, frozen=frozen)
    for method in ("sigmoid", "isotonic", "temperature")
    for frozen in (True, False)
]
