"""Logistic regression with an L2 penalty: many rows, ten classes, wide, small; one row's answer

Quality is the objective, divided by C and the number of rows as in our equation (1). Each peer runs
at two tolerances; the looser one with which it comes within 1e-7 · log 2 of the best counts: one
part in ten million of what not knowing costs, also where the best objective is almost zero.
"""

import numpy as np

from benchmarks.data import Rows, shapes
from benchmarks.race import Race, ask, fit, same, threads


def objective(data, model):
    """P of equation (1) at C = 1"""
    X, y, *_ = data
    W, b = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    F = X @ W.T + b
    F = np.column_stack([np.zeros(len(y)), F]) if len(W) == 1 else F
    loss = np.logaddexp.reduce(F, axis=1) - F[np.arange(len(y)), y]
    return float(loss.mean() + (W**2).sum() / (2 * len(y)))


def glum(data):
    options = {"family": "binomial", "l1_ratio": 0.0, "gradient_tol": 1e-5}
    return fit("glum.GeneralizedLinearRegressor", alpha=1.0 / len(data.y), **options)(data)


def snapml(tol, **options):
    options |= {"fit_intercept": True, "max_iter": 1000, "n_jobs": threads()}
    return fit("snapml.LogisticRegression", regularizer=1.0, tol=tol, **options)


def solver(name, *tols):
    """scikit-learn's and sklearnex's solver at several tolerances."""
    return {
        f"{peer}, {name} {tol:g}": prepare
        for tol in tols
        for peer, prepare in same(
            "linear_model.LogisticRegression",
            ("scikit-learn", "scikit-learn-intelex"),
            solver=name,
            tol=tol,
            max_iter=2000,
        ).items()
    }


OURS = {"mlreplica": fit("mlreplica.linear_model.LogisticRegression")}
LBFGS, NEWTON = solver("lbfgs", 1e-4, 1e-6), solver("newton-cholesky", 1e-3, 1e-5)
SNAP = {"snapml, 1e-4": snapml(1e-4), "snapml, dual 1e-4": snapml(1e-4, dual=True)}
TWO = OURS | LBFGS | NEWTON | SNAP | {"glum": glum}


def race(name, what, *rows, peers=TWO, **options):
    return Race(
        name=f"logistic-{name}",
        what=f"logistic regression{what}",
        shapes=shapes(*rows),
        contestants=peers,
        quality=objective,
        rtol=0.0,
        atol=1e-7 * np.log(2.0),
        **options,
    )


RACES = [
    race(
        "tall",
        "",
        Rows(100_000, 100, classes=2),
        Rows(30_000, 200, "correlated", classes=2),
        Rows(300_000, 20, "offset", classes=2, rare=0.02),
        Rows(20_000, 40, "few", classes=2),
        start=True,
        readme=True,
    ),
    race(
        "classes",
        "",
        Rows(50_000, 50, classes=10),
        Rows(10_000, 100, "correlated", classes=5),
        Rows(20_000, 20, classes=4, rare=0.05),
        "digits",
        peers=OURS | LBFGS | NEWTON,
        readme=True,
    ),
    race(
        "wide",
        "",
        Rows(300, 5000, classes=2),
        Rows(3000, 5000, "correlated", classes=2),
        Rows(1000, 2000, classes=2, informative=20),
        peers=OURS | LBFGS | SNAP,  # the others make a 5,000 × 5,000 matrix: minutes
        readme=True,
    ),
    race(
        "small", "", Rows(150, 4, classes=2), "breast_cancer", Rows(2000, 20, "offset", classes=2)
    ),
    Race(
        name="logistic-one-row",
        what="logistic regression, one row's probabilities",
        shapes=shapes(Rows(1000, 10, classes=2), Rows(2000, 100, classes=10)),
        contestants=same(
            "linear_model.LogisticRegression", how=ask, method="predict_proba", rows=1, tol=1e-6
        ),
        quality=lambda data, p: float(abs(p.sum() - 1.0)),
        quality_name="|sum of p − 1|",
        atol=1e-12,
        readme=True,
    ),
]
