"""Logistic regression with an L2 penalty: many rows, ten classes, wide, small; one row's answer

Quality is the objective, divided by C and the number of rows as in our equation (1). Each peer gets
the loosest tolerance at which it comes within 1e-7 · log 2 of the best: one part in ten million of
what not knowing costs, also where the best objective is almost zero.
"""

import numpy as np

from benchmarks.race import Race, threads


def make(n, p, K):
    """Correlated columns of different scales, and classes drawn from a logistic model."""

    def data():
        rng = np.random.default_rng(0)
        X = (rng.normal(size=(n, p)) + 0.5 * rng.normal(size=(n, 1))) * rng.uniform(0.5, 2.0, p)
        F = X @ rng.normal(size=(p, K))
        return X, (3.0 * F / F.std() + rng.gumbel(size=(n, K))).argmax(axis=1)

    return data


def objective(data, model):
    """P of equation (1) at C = 1"""
    X, y = data
    W, b = model
    F = X @ W.T + b
    F = np.column_stack([np.zeros(len(y)), F]) if len(W) == 1 else F
    loss = np.logaddexp.reduce(F, axis=1) - F[np.arange(len(y)), y]
    return float(loss.mean() + (W**2).sum() / (2 * len(y)))


def contestant(package, **options):
    """A class of scikit-learn's name, in a package."""

    def prepare(data):
        from importlib import import_module

        kind = import_module(f"{package}.linear_model").LogisticRegression

        def call():
            model = kind(max_iter=1000, **options).fit(*data)
            return model.coef_, model.intercept_

        return call

    return prepare


def glum(data):
    from glum import GeneralizedLinearRegressor

    X, y = data

    def call():
        model = GeneralizedLinearRegressor(
            family="binomial", alpha=1.0 / len(y), l1_ratio=0.0, gradient_tol=1e-5
        ).fit(X, y)
        return model.coef_[None], np.atleast_1d(model.intercept_)

    return call


def snapml(data):
    from snapml import LogisticRegression

    X, y = data

    def call():
        model = LogisticRegression(
            regularizer=1.0, fit_intercept=True, max_iter=1000, tol=1e-4, n_jobs=threads()
        ).fit(X, y)
        return np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)

    return call


def peers(lbfgs=1e-5, intel=1e-4, newton=1e-3, without=()):
    """The contestants, with the tolerances that they need on this race's data."""
    found = {
        "mlreplica": contestant("mlreplica"),
        "scikit-learn, lbfgs": contestant("sklearn", tol=lbfgs),
        "scikit-learn, newton-cholesky": contestant(
            "sklearn", solver="newton-cholesky", tol=newton
        ),
        "scikit-learn-intelex, lbfgs": contestant("sklearnex", tol=intel),
        "scikit-learn-intelex, newton-cholesky": contestant(
            "sklearnex", solver="newton-cholesky", tol=newton
        ),
        "glum": glum,
        "snapml": snapml,
    }
    return {name: fit for name, fit in found.items() if name not in without}


def race(name, what, data, contestants, **options):
    return Race(
        name=f"logistic-{name}",
        what=f"logistic regression, {what}",
        make_data=data,
        contestants=contestants,
        quality=objective,
        quality_name="objective",
        rtol=0.0,
        atol=1e-7 * np.log(2.0),
        **options,
    )


def one_row(package):
    """A contestant: a fitted model, asked for one row's probabilities."""

    def prepare(data):
        from importlib import import_module

        model = import_module(f"{package}.linear_model").LogisticRegression(tol=1e-8).fit(*data)
        row = data[0][:1].copy()
        return lambda: model.predict_proba(row)

    return prepare


def probability_error(data, p):
    return float(abs(p.sum() - 1.0))


MANY = ("glum", "snapml", "scikit-learn, newton-cholesky", "scikit-learn-intelex, newton-cholesky")
RACES = [
    race("tall", "100,000 × 100", make(100_000, 100, 2), peers(), readme=True),
    race(
        "classes",
        "50,000 × 50, ten classes",
        make(50_000, 50, 10),
        peers(without=MANY),
        start=False,
        readme=True,
    ),
    race(
        "wide",
        "300 × 5,000",
        make(300, 5000, 2),
        peers(without=("glum", *MANY[2:])),  # these make a 5,000 × 5,000 matrix: minutes
        start=False,
        readme=True,
    ),
    race("small", "150 × 4", make(150, 4, 2), peers(), start=False),
    Race(
        name="logistic-one-row",
        what="logistic regression, one row's probabilities",
        make_data=make(1000, 10, 2),
        contestants={
            "mlreplica": one_row("mlreplica"),
            "scikit-learn": one_row("sklearn"),
            "scikit-learn-intelex": one_row("sklearnex"),
        },
        quality=probability_error,
        quality_name="|sum of p − 1|",
        atol=1e-12,
        start=False,
        readme=True,
    ),
]
