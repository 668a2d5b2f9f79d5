"""Ridge: one fit on a mid-sized problem"""

import numpy as np

from benchmarks.race import Race


def data():
    """10,000 × 20, standard normal."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 20))
    return X, X @ rng.normal(size=20) + rng.normal(size=10_000)


def ours(data):
    """Coordinate descent."""
    from skeleton._ridge import Ridge

    return lambda: Ridge().fit(*data)


def scikit_learn(data):
    """Cholesky."""
    from sklearn.linear_model import Ridge

    return lambda: Ridge().fit(*data)


def objective(data, model):
    """Equation (1) with the intercept."""
    X, y = data
    return 0.5 * np.sum((y - model.predict(X)) ** 2) + 0.5 * model.coef_ @ model.coef_


RACES = [
    Race(
        name="ridge",
        what="ridge regression, 10,000 × 20",
        make_data=data,
        contestants={"mlreplica": ours, "scikit-learn": scikit_learn},
        quality=objective,
        quality_name="objective",
        rtol=1e-8,
    )
]
