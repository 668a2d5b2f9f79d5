"""Logistic regression that selects, and on rows of words: L1, elastic net, and L2 on sparse rows

Quality is scikit-learn's objective over C n, computed from the coefficients. celer and snapml fit
no unpenalised intercept and liblinear penalises it, so most races are without one; the elastic net
and one of L1 on words have it (liblinear's penalty of it made small by intercept_scaling). Each
peer runs at two tolerances: the looser one that still reaches the objective counts. Column-wise
solvers (celer, skglm, adelie) get X as they like it, in `X_new`.
"""

import numpy as np

from benchmarks.data import Rows, shapes
from benchmarks.race import Race, located, threads


def penalised(C, ratio=1.0):
    """Add the penalty and X by columns; classes are −1 and 1."""

    def then(data):
        by_columns = data.X.tocsc() if hasattr(data.X, "tocsc") else np.asfortranarray(data.X)
        return data._replace(y=2 * data.y - 1, X_new=by_columns, more=(C, ratio))

    return then


def objective(data, model):
    """The mean loss and its penalty over C n."""
    C, ratio = data.more
    w, b = model
    penalty = ratio * np.abs(w).sum() + (1.0 - ratio) / 2.0 * (w @ w)
    return np.logaddexp(0.0, -data.y * (data.X @ w + b)).mean() + penalty / (C * len(data.y))


def by_rows(path, **options):
    """A contestant with scikit-learn's parameters."""

    def prepare(data):
        C, ratio = data.more
        return found(located(path)(C=C, l1_ratio=ratio, **options), data.X, data.y)

    return prepare


def found(model, X, y):
    """The call that fits and returns (w, b)."""

    def call():
        model.fit(X, y)
        b = np.ravel(model.intercept_)[0] if model.fit_intercept else 0.0
        return np.ravel(model.coef_), float(b)

    return call


def celer(tol):
    def prepare(data):
        make = located("celer.LogisticRegression")
        return found(make(C=data.more[0], tol=tol, max_iter=200), data.X_new, data.y)

    return prepare


def skglm(tol, intercept=False):
    def prepare(data):
        make, (C, ratio) = located("skglm.SparseLogisticRegression"), data.more
        options = {"alpha": 1.0 / (C * len(data.y)), "l1_ratio": ratio, "max_iter": 50}
        return found(make(tol=tol, fit_intercept=intercept, **options), data.X_new, data.y)

    return prepare


def adelie(tol, intercept=False):
    def prepare(data):
        import adelie as ad

        X, y, (C, ratio) = data.X_new, data.y, data.more
        make = ad.matrix.dense if isinstance(X, np.ndarray) else ad.matrix.sparse
        target, options = (y > 0).astype(float), {"n_threads": threads(), "progress_bar": False}

        def call():
            fit = ad.grpnet(
                make(X, method="naive", n_threads=threads()),
                ad.glm.binomial(target, dtype=np.float64),
                alpha=ratio,
                lmda_path=np.array([1.0 / (C * len(y))]),
                intercept=intercept,
                irls_tol=tol,
                tol=tol,
                **options,
            )
            return np.ravel(fit.betas.toarray()), float(fit.intercepts[-1])

        return call

    return prepare


def snapml(tol, dual=False):
    def prepare(data):
        make, (C, ratio) = located("snapml.LogisticRegression"), data.more
        options = {"penalty": "l1" if ratio else "l2", "dual": dual, "regularizer": 1.0 / C}
        options |= {"max_iter": 2000, "n_jobs": threads(), "random_state": 0}
        return found(make(tol=tol, **options), data.X, data.y.astype(float))

    return prepare


def at(name, make, *tols, **options):
    """A peer at several tolerances."""
    return {f"{name} {tol:g}": make(tol=tol, **options) for tol in tols}


def scikit_learn(solver, *tols, intercept=False, **options):
    options |= {"solver": solver, "fit_intercept": intercept, "max_iter": 5000, "random_state": 0}
    path = "sklearn.linear_model.LogisticRegression"
    return at(f"scikit-learn, {solver}", lambda tol: by_rows(path, tol=tol, **options), *tols)


def race(name, what, rows, then, peers, intercept=False, solver="cd", tol=1e-3, **options):
    """Everybody at equal objective."""
    ours = {"solver": solver, "fit_intercept": intercept, "tol": tol, "n_jobs": threads()}
    return Race(
        name=f"logistic-{name}",
        what=f"logistic regression, {what}",
        shapes=shapes(*rows, then=then),
        contestants={"mlreplica": by_rows("mlreplica.linear_model.LogisticRegression", **ours)}
        | peers,
        quality=objective,
        **options,
    )


TEXT = [Rows(50_000, 100_000, "words", classes=2), Rows(10_000, 30_000, "words", classes=2)]
RARE = Rows(20_000, 20_000, "words", classes=2, rare=0.03)
INTERCEPT = {"intercept": True, "intercept_scaling": 100.0}
RACES = [
    race(
        "l1-tall",
        "L1",
        [
            Rows(20_000, 100, classes=2, informative=20),
            Rows(5000, 300, "correlated", classes=2, informative=20),
            Rows(50_000, 50, "skewed", classes=2, rare=0.05),
        ],
        penalised(0.05),
        scikit_learn("liblinear", 1e-3, 1e-4)
        | scikit_learn("saga", 1e-4)
        | at("celer,", celer, 1e-3, 1e-4)
        | at("skglm,", skglm, 1e-3, 1e-4)
        | at("adelie,", adelie, 1e-6, 1e-8)
        | at("snapml,", snapml, 1e-4, 1e-5),
        start=True,
        readme=True,
    ),
    race(
        "l1-wide",
        "L1",
        [
            Rows(1000, 10_000, classes=2, informative=20),
            Rows(3000, 3000, classes=2, informative=20),
            Rows(500, 4000, "correlated", classes=2, informative=20),
        ],
        penalised(0.05),
        scikit_learn("liblinear", 1e-3, 1e-4)
        | at("celer,", celer, 1e-2, 1e-3)
        | at("skglm,", skglm, 1e-4, 1e-5)
        | at("adelie,", adelie, 1e-5, 1e-6)
        | at("snapml,", snapml, 1e-3, 1e-4),
        readme=True,
    ),
    race(
        "l1-text",
        "L1, intercept",
        [*TEXT, RARE],
        penalised(1.0),
        scikit_learn("liblinear", 1e-2, 3e-3, **INTERCEPT)
        | at("skglm,", skglm, 1e-4, intercept=True)
        | at("adelie,", adelie, 1e-6, intercept=True),
        intercept=True,
        tol=5e-2,
    ),
    race(
        "l1-text-plain",
        "L1, no intercept",
        TEXT,
        penalised(1.0),
        scikit_learn("liblinear", 1e-2, 3e-3)
        | at("celer,", celer, 1e-2, 1e-3)
        | at("skglm,", skglm, 1e-3, 1e-4)
        | at("snapml,", snapml, 1e-3, 1e-4),
        tol=5e-2,
    ),
    race(
        "elastic-net",
        "elastic net, intercept",
        [
            Rows(10_000, 300, classes=2, informative=20),
            Rows(2000, 1000, "correlated", classes=2, informative=20),
        ],
        penalised(0.04, 0.5),
        scikit_learn("saga", 1e-3, intercept=True)
        | at("skglm,", skglm, 1e-3, 1e-4, intercept=True)
        | at("adelie,", adelie, 1e-6, 1e-8, intercept=True),
        intercept=True,
    ),
    race(
        "text",
        "L2, no intercept",
        [*TEXT, RARE, Rows(100_000, 50_000, "words", classes=2, words=64)],
        penalised(1.0, 0.0),
        scikit_learn("liblinear", 1e-2, 1e-3)
        | {f"{k}, dual": v for k, v in scikit_learn("liblinear", 1.0, 0.1, dual=True).items()}
        | at("snapml, dual", snapml, 1e-2, 1e-3, dual=True),
        solver="lbfgs",
        readme=True,
    ),
]
