"""Linear support vector machines: dense and tall, words, several classes, and regression

Quality is LIBLINEAR's objective over C n, computed from the coefficients, the intercept's penalty
included. LIBLINEAR and snapml run at two tolerances each: the looser one that still reaches the
objective counts. snapml has the hinge only.
"""

import numpy as np

from benchmarks.data import Rows, shapes
from benchmarks.race import Race, located, threads


def penalised(C):
    return lambda data: data._replace(X=data.X / 16 if data.X.max() == 16 else data.X, more=C)


def heavy(data):
    """A target with heavy tails."""
    y = data.y + np.random.default_rng(1).standard_t(3, size=len(data.y))
    return data._replace(y=y, more=0.1)


def objective(loss, epsilon=0.0):
    def quality(data, W):
        X, y, *_, C = data
        total = 0.0
        for k, w in enumerate(W):
            f = X @ w[:-1] + w[-1]
            if "hinge" in loss:
                short = 1.0 - np.where(y == (k if len(W) > 1 else 1), 1.0, -1.0) * f
            else:
                short = np.abs(y - f) - epsilon
            short = np.maximum(short, 0.0)
            total += 0.5 * w @ w + C * (short**2 if loss.startswith("squared") else short).sum()
        return total / (C * len(y))

    return quality


def joint_objective(data, W):
    """Crammer and Singer's: a row is counted once, with its worst class."""
    X, y, *_, C = data
    f, of = X @ W[:, :-1].T + W[:, -1], np.arange(len(y))
    ahead = f - f[of, y][:, None] + 1.0
    ahead[of, y] = 0.0
    return 0.5 * np.vdot(W, W) / (C * len(y)) + ahead.max(axis=1).mean()


def fit(package, loss, **options):
    """A contestant; a result is a row a machine, the intercept last."""

    def prepare(data):
        cls = located(f"{package}.svm.{'LinearSVC' if 'hinge' in loss else 'LinearSVR'}")
        model = cls(loss=loss, C=data.more, random_state=0, **options)

        def call():
            model.fit(data.X, data.y)
            return np.column_stack([np.atleast_2d(model.coef_), np.ravel(model.intercept_)])

        return call

    return prepare


def snapml(tol):
    def prepare(data):
        X, y, *_, C = data
        options = {"max_iter": 2000, "n_jobs": threads(), "fit_intercept": True}
        model = located("snapml.SupportVectorMachine")(regularizer=1.0 / C, tol=tol, **options)
        target = np.where(y > 0, 1.0, -1.0)

        def call():
            model.fit(X, target)
            return np.column_stack([np.atleast_2d(model.coef_), np.ravel(model.intercept_)])

        return call

    return prepare


def race(name, loss, rows, dual=(), primal=(), snap=(), then=None, options=None, **more):
    """Everybody at equal objective."""
    options, given = {"max_iter": 10_000}, options or {}
    peers = {"mlreplica": fit("mlreplica", loss, tol=1e-3, **given)}
    for way, tols in {"dual": dual, "primal": primal}.items():
        for tol in tols:
            how = options | {"tol": tol, "dual": way == "dual"} | given
            peers[f"scikit-learn, {way} {tol:g}"] = fit("sklearn", loss, **how)
    joint = "multi_class" in given
    return Race(
        name=f"linear-svm-{name}",
        what=f"linear SVM, {'Crammer and Singer' if joint else loss.replace('_', ' ')}",
        shapes=shapes(*rows, then=then or penalised(1.0)),
        contestants=peers | {f"snapml, {tol:g}": snapml(tol) for tol in snap},
        quality=joint_objective if joint else objective(loss, **given),
        rtol=2e-6,
        **more,
    )


WORDS = [Rows(50_000, 100_000, "words", classes=2), Rows(10_000, 30_000, "words", classes=2)]
TALL = [
    Rows(50_000, 50, classes=2),
    Rows(20_000, 100, "correlated", classes=2),
    Rows(100_000, 20, "offset", classes=2, rare=0.05),
]
MIDDLE = [Rows(20_000, 50, classes=2), Rows(5000, 100, "correlated", classes=2)]
CLASSES = [Rows(20_000, 50, classes=5), Rows(5000, 100, "few", classes=8, rare=0.1)]
RACES = [
    race("tall", "squared_hinge", TALL, primal=(1e-3, 1e-4), start=True, readme=True),
    race("hinge", "hinge", MIDDLE, dual=(1e-3, 1e-4), snap=(1e-4,), readme=True),
    race("words", "hinge", WORDS, dual=(1e-3, 3e-5), snap=(1e-3, 1e-4), readme=True),
    race("words-squared", "squared_hinge", WORDS, dual=(1e-1, 1e-2), primal=(1e-3,)),
    race("classes", "squared_hinge", CLASSES, primal=(1e-3, 1e-4)),
    race(
        "joint",
        "hinge",
        ["digits", Rows(2000, 50, classes=4)],
        dual=(1e-5, 1e-6),
        options={"multi_class": "crammer_singer"},
    ),
    race(
        "regression",
        "epsilon_insensitive",
        [Rows(20_000, 50), Rows(5000, 100, "correlated")],
        dual=(1e-5, 1e-6),
        then=heavy,
        options={"epsilon": 0.5},
    ),
]
