"""Isotonic regression: x sorted, shuffled, and with ties

Quality is the sum of squared residuals.
"""

import numpy as np

from benchmarks.data import Data
from benchmarks.race import BOTH, Race, same


def points(n, order="shuffled"):
    """n points about a curve that rises, as `order` says."""

    def make():
        rng = np.random.default_rng(0)
        x = rng.integers(0, n // 20, n).astype(float) if order == "ties" else rng.random(n)
        x = np.sort(x) if order == "sorted" else x
        return Data(x, np.log1p(50 * x / x.max()) + rng.normal(size=n))

    return make


def squares(data, model):
    return float(np.mean((data.y - model.predict(data.X)) ** 2))


def race(name, n, **options):
    orders = ("shuffled", "sorted", "ties")
    return Race(
        name=f"isotonic-{name}",
        what="isotonic regression",
        shapes={f"{n:,} points, {order}": points(n, order) for order in orders},
        contestants=same("isotonic.IsotonicRegression", BOTH),
        quality=squares,
        **options,
    )


RACES = [race("small", 1000), race("tall", 1_000_000)]
