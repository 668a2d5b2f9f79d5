"""Support vector regression with a kernel: fit and predict

Quality of a fit is the objective (1) of `_svr.py` over C n, computed in double precision from the
support vectors' coefficients and the intercept; of a prediction, the distance from the sum over
the support vectors, term by term.
"""

import numpy as np

from benchmarks.race import Race

C, EPSILON, GAMMA = 1.0, 0.1, 0.1


def data(n):
    def make():
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, 10))
        y = np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=n)
        return X, y

    return make


def gram(X, Y):
    """The Gaussian kernel, by the definition."""
    squares = (X**2).sum(axis=1)[:, None] - 2.0 * X @ Y.T + (Y**2).sum(axis=1)
    return np.exp(-GAMMA * np.maximum(squares, 0.0))


def objective(data, model):
    X, y = data
    beta = np.zeros(len(y))
    beta[model.support_] = np.ravel(model.dual_coef_)
    f = np.concatenate(
        [
            gram(X[k : k + 1000], X[model.support_]) @ beta[model.support_]
            for k in range(0, len(y), 1000)
        ]
    )
    loss = np.maximum(np.abs(y - f - float(np.ravel(model.intercept_)[0])) - EPSILON, 0.0)
    return (0.5 * beta @ f + C * loss.sum()) / (C * len(y))


def fit(package):
    def prepare(data):
        from importlib import import_module

        cls = import_module(f"{package}.svm").SVR
        return lambda: cls(C=C, epsilon=EPSILON, gamma=GAMMA).fit(*data)

    return prepare


def predict(package):
    def prepare(data):
        model = fit(package)(data)()
        X = np.random.default_rng(1).normal(size=(5000, 10))
        return lambda: (model, X, model.predict(X))

    return prepare


def error(data, found):
    model, X, f = found
    exact = gram(X, model.support_vectors_) @ np.ravel(model.dual_coef_)
    return float(np.abs(f - exact - float(np.ravel(model.intercept_)[0])).max())


PEERS = {"mlreplica": "mlreplica", "scikit-learn": "sklearn", "scikit-learn-intelex": "sklearnex"}

RACES = [
    Race(
        name="svr-fit",
        what="support vector regression, 10,000 × 10",
        make_data=data(10_000),
        contestants={name: fit(package) for name, package in PEERS.items()},
        quality=objective,
        quality_name="objective",
        rtol=1e-4,
        readme=True,
    ),
    Race(
        name="svr-predict",
        what="support vector regression, predictions for 5,000 rows",
        make_data=data(3000),
        contestants={name: predict(package) for name, package in PEERS.items()},
        quality=error,
        quality_name="error",
        rtol=1e-6,
        atol=1e-9,
        start=False,
    ),
]
