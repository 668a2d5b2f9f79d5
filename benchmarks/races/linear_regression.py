"""Linear regression: tall, wide, small and weighted data, and the prediction of a single row

Quality is the relative error of the coefficients against a solution by orthogonal transformations
(Householder's QR; wide: SVD), so that it shows if a method squares the condition number and does
not repair the loss.
"""

import numpy as np

from benchmarks.data import Rows, shapes
from benchmarks.race import Race, ask, located, same, threads


def with_reference(data, weighted=False):
    """`more`: the weights, and coefficients by QR of the centred rows, or by SVD if X is wide."""
    X, y = data.X.astype(float), data.y.astype(float)
    s = np.random.default_rng(1).uniform(0.5, 2.0, size=len(y)) if weighted else None
    root = np.ones(len(X)) if s is None else np.sqrt(s)
    share = root**2 / (root @ root)
    A, c = root[:, None] * (X - share @ X), root * (y - share @ y)
    if len(X) <= X.shape[1]:
        return data._replace(more=(s, np.linalg.lstsq(A, c)[0]))
    R = np.linalg.qr(np.column_stack([A, c]), mode="r")
    return data._replace(more=(s, np.linalg.solve(R[:-1, :-1], R[:-1, -1])))


def weighted(data):
    return with_reference(data, weighted=True)


def fit(path, **options):
    """A contestant: the coefficients of a weighted fit."""

    def prepare(data):
        make, s = located(path), data.more[0]
        return lambda: make(**options).fit(data.X, data.y, s).coef_

    return prepare


def numpy(data):
    X, y, *_, (s, _) = data

    def call():
        if len(X) <= X.shape[1]:  # of least norm, the intercept apart
            return np.linalg.lstsq(X - X.mean(axis=0), y - y.mean())[0]
        A, c = np.column_stack([np.ones(len(X), dtype=X.dtype), X]), y
        if s is not None:
            A, c = np.sqrt(s)[:, None] * A, np.sqrt(s) * y
        return np.linalg.lstsq(A, c)[0][1:]

    return call


def statsmodels(data):
    import statsmodels.api as sm

    X, y, *_, (s, _) = data

    def call():
        A = sm.add_constant(X)
        return (sm.OLS(y, A) if s is None else sm.WLS(y, A, weights=s)).fit().params[1:]

    return call


def coefficient_error(data, coef):
    """‖w − w_reference‖ / ‖w_reference‖"""
    w = data.more[1]
    return np.linalg.norm(coef - w) / np.linalg.norm(w)


def prediction_error(data, found):
    X, y, *_, (_, w) = data
    return float(abs(found[0] - (y.mean() + (X[0] - X.mean(axis=0)) @ w)))


LINEAR = same("linear_model.LinearRegression", how=fit)
TOLD = same("linear_model.LinearRegression", ("scikit-learn-intelex",), how=fit, n_jobs=threads())
ALL = LINEAR | TOLD | {"numpy": numpy, "statsmodels": statsmodels}


def race(name, what, *rows, peers=ALL, then=with_reference, atol=1e-8, **options):
    """Fit: who has lost eight digits is no peer."""
    return Race(
        name=f"linear-regression-{name}",
        what=what,
        shapes=shapes(*rows, then=then),
        contestants=peers,
        quality=options.pop("quality", coefficient_error),
        quality_name="relative error",
        atol=atol,
        **options,
    )


TALL = (Rows(1_000_000, 50), Rows(200_000, 120, "offset"), Rows(50_000, 200, "correlated"))
SINGLE = (Rows(1_000_000, 50, dtype=np.float32), Rows(100_000, 20, "skewed", dtype=np.float32))
WEIGHTED = (Rows(300_000, 30), Rows(50_000, 100, "offset"))
ONE = same("linear_model.LinearRegression", how=ask, rows=1)

# statsmodels and numpy hold a second and third copy of X and need half a minute: not on tall data.
RACES = [
    race("tall", "least squares", *TALL, peers=LINEAR | TOLD, start=True, readme=True),
    race("wide", "least squares", Rows(500, 5000), Rows(1000, 2000, "correlated"), readme=True),
    race(
        "small",
        "least squares",
        Rows(150, 4),
        "diabetes",
        Rows(2000, 20, "offset"),
        start=True,
        readme=True,
    ),
    race("weighted", "least squares, weighted", *WEIGHTED, then=weighted),
    race("single", "least squares", *SINGLE, peers=LINEAR | TOLD, atol=1e-5),
    race(
        "predict",
        "least squares, prediction of one row",
        Rows(1000, 20),
        Rows(1000, 300),
        peers=ONE,
        quality=prediction_error,
        atol=1e-9,
        readme=True,
    ),
]
