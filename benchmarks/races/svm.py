"""Support vector machines with kernels: two classes, many, regression, prediction, growth

All stop at the same tolerance with the same cache. Quality of a classifier is the dual objective of
problem (2) of `svm/_smo.py`, summed over the machines and recomputed in double precision from the
published coefficients (less is better); of a regression, the primal objective over C n; of
predictions, the share that differs from double precision's, or the distance.
"""

from itertools import combinations

import numpy as np

from benchmarks.data import Rows, shapes
from benchmarks.race import PACKAGES, Race, ask, fit, located, same

SVR = {"C": 1.0, "epsilon": 0.1, "gamma": 0.1}


def standardised(data):
    return data._replace(X=(data.X - data.X.mean(axis=0)) / data.X.std(axis=0))


def dual_objective(options):
    """Σ over machines of ½ βᵀKβ − Σ|β|"""

    def objective(data, model):
        from sklearn.metrics.pairwise import pairwise_kernels

        gamma = options.get("gamma", 1.0 / (data.X.shape[1] * data.X.var()))
        V, coef = np.asarray(model.support_vectors_), np.asarray(model.dual_coef_)
        extra = {"degree": 3, "coef0": options["coef0"]} if options.get("kernel") == "poly" else {}
        if options.get("kernel") != "linear":
            extra["gamma"] = gamma
        K = pairwise_kernels(V, metric=options.get("kernel", "rbf"), **extra)
        edges = np.concatenate([[0], np.cumsum(model.n_support_)])
        total = 0.0
        for i, j in combinations(range(len(edges) - 1), 2):
            first, second = np.arange(edges[i], edges[i + 1]), np.arange(edges[j], edges[j + 1])
            both = np.concatenate([first, second])
            beta = np.concatenate([coef[j - 1, first], coef[i, second]])
            total += 0.5 * beta @ K[both[:, None], both] @ beta - np.abs(beta).sum()
        return float(total)

    return objective


def race(name, what, rows, thunder=False, **options):
    """Fit, with `options` for all."""
    peers = same("svm.SVC", **options)
    if thunder:
        peers["thundersvm-cpu"] = fit("thundersvm.SVC", **options)
    return Race(
        name=f"svc-{name}",
        what=f"SVC, {what}",
        shapes=shapes(*rows, then=standardised if "gamma" in options else None),
        contestants=peers,
        quality=dual_objective(options),
        quality_name="dual objective",
        readme=name in ("rbf-20k-c1", "digits"),
        start=name == "rbf-5k-c1",
    )


def errors(data, found):
    """The share of predictions that scikit-learn would not have made, but for ties by rounding"""
    model = located("sklearn.svm.SVC")(gamma=0.05).fit(data.X, data.y)
    scores = model.decision_function(data.X_new[: len(found)])
    return float(np.mean((found != (scores > 0.0)) & (np.abs(scores) > 1e-2)))


def prediction(name, what, rows):
    """Predict, a model of 5,000 rows."""
    return Race(
        name=f"svc-predict{name}",
        what=f"SVC, RBF, prediction of {what}",
        shapes=shapes(two(5000, new=20_000), two(2000, 60, new=20_000)),
        contestants=same("svm.SVC", how=ask, rows=rows, gamma=0.05),
        quality=errors,
        quality_name="share of other labels",
        atol=0.0,
        readme=rows > 1,
    )


def gram(X, Y):
    """The Gaussian kernel, by the definition."""
    squares = (X**2).sum(axis=1)[:, None] - 2.0 * X @ Y.T + (Y**2).sum(axis=1)
    return np.exp(-SVR["gamma"] * np.maximum(squares, 0.0))


def objective(data, model):
    X, y, *_ = data
    C, coef = SVR["C"], np.ravel(model.dual_coef_)
    f = np.concatenate([gram(rows, X[model.support_]) @ coef for rows in np.array_split(X, 10)])
    loss = np.maximum(np.abs(y - f - np.ravel(model.intercept_)[0]) - SVR["epsilon"], 0.0)
    return float(0.5 * coef @ f[model.support_] + C * loss.sum()) / (C * len(y))


def asked(path):
    """A fitted regression, asked for new rows."""

    def prepare(data):
        model = located(path)(**SVR).fit(data.X, data.y)
        return lambda: (model, model.predict(data.X_new))

    return prepare


def distance(data, found):
    model, f = found
    exact = gram(data.X_new, model.support_vectors_) @ np.ravel(model.dual_coef_)
    return float(np.abs(f - exact - np.ravel(model.intercept_)[0]).max())


def two(n, p=20, kind="normal", **more):
    return Rows(n, p, kind, classes=2, bent=True, noise=0.5, **more)


def number(n, p=10, kind="normal", **more):
    return Rows(n, p, kind, bent=True, noise=0.2, **more)


RBF, HARD = {"gamma": 0.05, "C": 1.0}, {"gamma": 0.05, "C": 100.0}
FIVE = [two(5000), two(4000, 60, "correlated"), two(6000, rare=0.05)]
TWENTY = [two(20_000), two(12_000, 50, "few")]
MANY = ["digits", Rows(3000, 30, classes=6)]
RACES = [
    race("rbf-5k-c1", "RBF, C = 1", FIVE, thunder=True, **RBF),
    race("rbf-5k-c100", "RBF, C = 100", FIVE, thunder=True, **HARD),
    race("rbf-20k-c1", "RBF, C = 1", TWENTY, **RBF),
    race("rbf-20k-c100", "RBF, C = 100", TWENTY[:1], **HARD),
    race("digits", "RBF, many classes", MANY),
    race("linear", "linear, many classes", MANY, kernel="linear", C=10.0),
    race("poly", "cubic", FIVE[:2], kernel="poly", gamma=0.05, coef0=1.0),
    race("rbf-2.5k", "RBF, growth", [two(2500)], **RBF),
    race("rbf-10k", "RBF, growth", [two(10_000)], **RBF),
    prediction("", "20,000 rows", 20_000),
    prediction("-one", "one row", 1),
    Race(
        name="svr-fit",
        what="support vector regression",
        shapes=shapes(number(10_000), number(4000, 30, "few")),
        contestants=same("svm.SVR", **SVR),
        quality=objective,
        rtol=1e-4,
        start=True,
        readme=True,
    ),
    Race(
        name="svr-predict",
        what="support vector regression, predictions for 5,000 rows",
        shapes=shapes(number(3000, new=5000), number(1000, 40, new=5000)),
        contestants={peer: asked(f"{package}.svm.SVR") for peer, package in PACKAGES.items()},
        quality=distance,
        quality_name="error",
    ),
]
