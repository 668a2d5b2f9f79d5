"""Ridge regression: tall, wide, small, sparse and many targets, leaving one out, and one prediction

Quality is the relative error of the coefficients against orthogonal transformations of the rows
and of √α times the unit vectors; on sparse data, where nobody factorises, the objective; for a
choice of α, the mean squared error of the rows left out at that choice.
"""

import numpy as np

from benchmarks.data import Rows, shapes
from benchmarks.race import BOTH, Race, ask, fit, same

ALPHA = 1.0


def with_reference(data):
    """`more`: coefficients by QR of [A; √α I]; of its factor L, A = LQ, where X is wide."""
    A, c = data.X - data.X.mean(axis=0), data.y - data.y.mean(axis=0)
    if len(A) >= A.shape[1]:
        return data._replace(more=reference(A, c))
    Q, L = np.linalg.qr(A.T)
    return data._replace(more=Q @ reference(L.T, c))


def reference(A, c):
    """The same for n ≥ p."""
    p, c = A.shape[1], c.reshape(len(c), -1)
    below = np.hstack([np.sqrt(ALPHA) * np.eye(p), np.zeros((p, c.shape[1]))])
    R = np.linalg.qr(np.vstack([np.hstack([A, c]), below]), mode="r")
    return np.linalg.solve(R[:p, :p], R[:p, p:])


def with_targets(data):
    """Fifty targets that share X."""
    rng = np.random.default_rng(1)
    Y = data.X @ rng.normal(size=(data.X.shape[1], 50)) + rng.normal(size=(len(data.X), 50))
    return with_reference(data._replace(y=Y))


def numpy(data):
    """The textbook's line; in the dual if X is wide."""
    X, y, *_ = data

    class Line:
        def __init__(self):
            x_mean, y_mean = X.mean(axis=0), y.mean(axis=0)
            A, c = X - x_mean, y - y_mean
            n, p = A.shape
            if n < p:
                w = A.T @ np.linalg.solve(A @ A.T + ALPHA * np.eye(n), c)
            else:
                w = np.linalg.solve(A.T @ A + ALPHA * np.eye(p), A.T @ c)
            self.coef_, self.intercept_ = w.T, y_mean - x_mean @ w

    return Line


def glum(data):
    """Its objective is ‖y − Xw − b‖²/2n + alpha/2 ‖w‖²."""
    options = {"family": "normal", "l1_ratio": 0, "gradient_tol": 1e-10}
    return fit("glum.GeneralizedLinearRegressor", alpha=ALPHA / len(data.y), **options)(data)


def coefficient_error(data, model):
    """‖W − W_reference‖ / ‖W_reference‖"""
    W = data.more
    return np.linalg.norm(np.reshape(model.coef_, W.T.shape).T - W) / np.linalg.norm(W)


def objective(data, model):
    r = data.y - data.X @ model.coef_ - model.intercept_
    return float(r @ r + ALPHA * model.coef_ @ model.coef_)


def prediction_error(data, found):
    X, y, *_, W = data
    return float(abs(found[0] - (y.mean() + (X[0] - X.mean(axis=0)) @ W)[0]))


RIDGE = same("linear_model.Ridge", alpha=ALPHA) | {"numpy": numpy}
CHOLESKY = {"scikit-learn, cholesky": fit("sklearn.linear_model.Ridge", solver="cholesky")}
SVD = {"scikit-learn, svd": fit("sklearn.linear_model.Ridge", solver="svd")}


def race(name, what, rows, peers=RIDGE, then=with_reference, **options):
    """Fit: who has lost eight digits is no peer."""
    given = {"quality": coefficient_error, "quality_name": "relative error of w", "atol": 1e-8}
    made = shapes(*rows, then=then)
    what = f"ridge regression{what}"
    return Race(name=f"ridge-{name}", what=what, shapes=made, contestants=peers, **given | options)


def sparse(name, what, intercept):
    """Each solver at its loosest tolerance that reaches the objective."""
    Ridge, given = "sklearn.linear_model.Ridge", {"alpha": ALPHA, "fit_intercept": intercept}
    peers = {"mlreplica": fit("mlreplica.linear_model.Ridge", **given)}
    for solver in ("sparse_cg", "lsqr", "sag"):
        for tol in (1e-4, 1e-6):
            peers[f"scikit-learn, {solver} {tol:g}"] = fit(Ridge, solver=solver, tol=tol, **given)
    rows = [Rows(n, p, "words") for n, p in ((20_000, 10_000), (50_000, 2_000), (3_000, 30_000))]
    judged = {"quality": objective, "quality_name": "objective", "rtol": 1e-6}
    return race(name, what, rows, peers, then=None, **judged)


def choice(name, *rows, **options):
    """Leaving one out."""
    return Race(
        name=f"ridge-loo-{name}",
        what="RidgeCV, 25 penalties, leave one out",
        shapes=shapes(*rows),
        contestants=same("linear_model.RidgeCV", BOTH, alphas=np.logspace(-3, 3, 25)),
        quality=lambda _, model: -model.best_score_,
        quality_name="mean squared error left out",
        rtol=1e-8,
        **options,
    )


RACES = [
    race(
        "tall",
        "",
        [Rows(1_000_000, 50), Rows(200_000, 120, "offset"), Rows(30_000, 300, "correlated")],
        RIDGE | CHOLESKY,
        start=True,
        readme=True,
    ),
    race("wide", "", [Rows(500, 5000), Rows(1500, 3000, "correlated")], RIDGE | SVD, readme=True),
    race(
        "small",
        "",
        [Rows(150, 4), "diabetes", Rows(2000, 20, "skewed")],
        RIDGE | CHOLESKY | SVD | {"glum": glum},
        start=True,
        readme=True,
    ),
    race("targets", ", 50 targets", [Rows(20_000, 100), Rows(3000, 300)], then=with_targets),
    sparse("sparse", ", words", True),
    sparse("sparse-plain", ", words, no intercept", False),
    choice("tall", Rows(20_000, 50), Rows(5000, 200, "correlated"), readme=True),
    choice("wide", Rows(300, 2000), Rows(800, 1000, "skewed")),
    race(
        "predict",
        ", prediction of one row",
        [Rows(1000, 20)],
        same("linear_model.Ridge", how=ask, rows=1),
        quality=prediction_error,
        quality_name="error",
        atol=1e-9,
    ),
]
