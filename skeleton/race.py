"""Ridge: one fit, on a size and on others between"""

import numpy as np

from benchmarks.data import Rows, shapes
from benchmarks.race import Race, fit


def objective(data, model):
    """Equation (1) with the intercept."""
    X, y, *_ = data
    return 0.5 * np.sum((y - model.predict(X)) ** 2) + 0.5 * model.coef_ @ model.coef_


RACES = [
    Race(
        name="ridge",
        what="ridge regression",
        shapes=shapes(Rows(10_000, 20), Rows(3_000, 40, "offset"), Rows(300, 10, "skewed")),
        contestants={
            "mlreplica": fit("skeleton._ridge.CoordinateRidge"),
            "scikit-learn": fit("sklearn.linear_model.Ridge"),
        },
        quality=objective,
        rtol=1e-8,
    )
]
