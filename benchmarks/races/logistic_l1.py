"""Logistic regression that selects, and on rows of words: L1, elastic net, and L2 on sparse rows

Quality is scikit-learn's objective over C n, computed from the coefficients. celer and snapml fit
no unpenalised intercept and liblinear penalises it, so most races are without one; the elastic net
and one of L1 on words have it (liblinear's penalty of it made small by intercept_scaling). Each
peer runs at one or two tolerances: the looser one that still reaches the objective counts.
Column-wise solvers (celer, skglm, adelie) get X as they like it.
"""

import numpy as np

from benchmarks.race import Race, threads


def dense(n, p, C, ratio=1.0):
    """Correlated columns, twenty of which matter."""

    def data():
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, p)) + 0.3 * rng.normal(size=(n, 1))
        w = np.zeros(p)
        w[rng.choice(p, 20, replace=False)] = rng.normal(size=20)
        y = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-(X @ w))), 1, -1)
        return X, y, C, ratio, np.asfortranarray(X)

    return data


def text(n, p, C, ratio=1.0, words=50):
    """Rows of about 50 different words, the r-th most frequent as 1/r; tf-idf, length one."""

    def data():
        import scipy.sparse as sp

        rng = np.random.default_rng(0)
        length = np.maximum(5, rng.poisson(1.17 * words, size=n))
        rank = np.exp(rng.random(length.sum()) * np.log(p + 1.0)).astype(np.int64) - 1
        column = rng.permutation(p)[np.minimum(rank, p - 1)]
        ones = np.ones(len(column))
        X = sp.csr_matrix((ones, column, np.r_[0, np.cumsum(length)]), shape=(n, p))
        X.sum_duplicates()
        df = np.bincount(X.indices, minlength=p)
        X.data = (1.0 + np.log(X.data)) * np.log((1.0 + n) / (1.0 + df))[X.indices]
        row = np.repeat(np.arange(n), np.diff(X.indptr))
        X.data /= np.sqrt(np.bincount(row, X.data**2))[row]
        w = 4.0 * rng.laplace(size=p)
        y = np.where(X @ w + 0.5 * rng.logistic(size=n) > 0, 1, -1)
        return X, y, C, ratio, X.tocsc()

    return data


def objective(data, model):
    """The mean loss and its penalty over C n."""
    X, y, C, ratio, _ = data
    w, b = model
    penalty = ratio * np.abs(w).sum() + (1.0 - ratio) / 2.0 * (w @ w)
    return np.logaddexp(0.0, -y * (X @ w + b)).mean() + penalty / (C * len(y))


def found(model):
    return np.ravel(model.coef_), float(np.ravel(model.intercept_)[0]) if model.fit_intercept else 0


def ours(solver="cd", intercept=False, tol=1e-3):
    def prepare(data):
        from mlreplica.linear_model import LogisticRegression

        X, y, C, ratio, _ = data
        model = LogisticRegression(
            C=C,
            l1_ratio=ratio,
            solver=solver,
            fit_intercept=intercept,
            n_jobs=threads(),
            tol=tol,
        )
        return lambda: found(model.fit(X, y))

    return prepare


def scikit_learn(solver, tol, intercept=False, **parameters):
    def prepare(data):
        from sklearn.linear_model import LogisticRegression

        X, y, C, ratio, _ = data
        model = LogisticRegression(
            C=C,
            l1_ratio=ratio,
            solver=solver,
            tol=tol,
            fit_intercept=intercept,
            max_iter=5000,
            random_state=0,
            **parameters,
        )
        return lambda: found(model.fit(X, y))

    return prepare


def celer(tol):
    def prepare(data):
        from celer import LogisticRegression

        _, y, C, _, X = data
        model = LogisticRegression(C=C, tol=tol, max_iter=200)
        return lambda: found(model.fit(X, y))

    return prepare


def skglm(tol, intercept=False):
    def prepare(data):
        from skglm import SparseLogisticRegression

        _, y, C, ratio, X = data
        model = SparseLogisticRegression(
            alpha=1.0 / (C * len(y)), l1_ratio=ratio, tol=tol, fit_intercept=intercept, max_iter=50
        )
        return lambda: found(model.fit(X, y))

    return prepare


def adelie(tol, intercept=False):
    def prepare(data):
        import adelie as ad

        _, y, C, ratio, X = data
        make = ad.matrix.dense if isinstance(X, np.ndarray) else ad.matrix.sparse
        target = (y > 0).astype(float)

        def call():
            fit = ad.grpnet(
                make(X, method="naive", n_threads=threads()),
                ad.glm.binomial(target, dtype=np.float64),
                alpha=ratio,
                lmda_path=np.array([1.0 / (C * len(y))]),
                intercept=intercept,
                irls_tol=tol,
                tol=tol,
                n_threads=threads(),
                progress_bar=False,
            )
            return np.ravel(fit.betas.toarray()), float(fit.intercepts[-1])

        return call

    return prepare


def snapml(tol, dual=False):
    def prepare(data):
        from snapml import LogisticRegression

        X, y, C, ratio, _ = data
        model = LogisticRegression(
            penalty="l1" if ratio else "l2",
            dual=dual,
            regularizer=1.0 / C,
            tol=tol,
            max_iter=2000,
            n_jobs=threads(),
            random_state=0,
        )
        return lambda: found(model.fit(X, y.astype(float)))

    return prepare


def race(name, what, make_data, peers, mine=None, **options):
    """Everybody at equal objective."""
    return Race(
        name=f"logistic-{name}",
        what=f"logistic regression, {what}",
        make_data=make_data,
        contestants={"mlreplica": mine or ours(), **peers},
        quality=objective,
        quality_name="objective",
        rtol=1e-6,
        **options,
    )


def liblinear(*tols, **parameters):
    return {
        f"scikit-learn, liblinear {t:g}": scikit_learn("liblinear", t, **parameters) for t in tols
    }


RACES = [
    race(
        "l1-tall",
        "L1, 20,000 × 100",
        dense(20_000, 100, 0.05),
        liblinear(1e-3, 1e-4)
        | {"scikit-learn, saga 1e-4": scikit_learn("saga", 1e-4)}
        | {f"celer, {t:g}": celer(t) for t in (1e-3, 1e-4)}
        | {f"skglm, {t:g}": skglm(t) for t in (1e-3, 1e-4)}
        | {f"adelie, {t:g}": adelie(t) for t in (1e-6, 1e-8)}
        | {f"snapml, {t:g}": snapml(t) for t in (1e-4, 1e-5)},
        readme=True,
    ),
    race(
        "l1-wide",
        "L1, 1,000 × 10,000",
        dense(1000, 10_000, 0.05),
        liblinear(1e-3, 1e-4)
        | {f"celer, {t:g}": celer(t) for t in (1e-2, 1e-3)}
        | {f"skglm, {t:g}": skglm(t) for t in (1e-4, 1e-5)}
        | {f"adelie, {t:g}": adelie(t) for t in (1e-5, 1e-6)}
        | {f"snapml, {t:g}": snapml(t) for t in (1e-3, 1e-4)},
        start=False,
        readme=True,
    ),
    race(
        "l1-text",
        "L1, 50,000 × 100,000 with 50 words a row, intercept",
        text(50_000, 100_000, 1.0),
        liblinear(1e-2, 3e-3, intercept=True, intercept_scaling=100.0)
        | {"skglm, 1e-4": skglm(1e-4, intercept=True)}
        | {"adelie, 1e-6": adelie(1e-6, intercept=True)},
        ours(intercept=True, tol=5e-2),
        start=False,
    ),
    race(
        "l1-text-plain",
        "L1, 50,000 × 100,000 with 50 words a row, no intercept",
        text(50_000, 100_000, 1.0),
        liblinear(1e-2, 3e-3)
        | {f"celer, {t:g}": celer(t) for t in (1e-2, 1e-3)}
        | {f"skglm, {t:g}": skglm(t) for t in (1e-3, 1e-4)}
        | {f"snapml, {t:g}": snapml(t) for t in (1e-3, 1e-4)},
        ours(tol=5e-2),
        start=False,
    ),
    race(
        "elastic-net",
        "elastic net, 10,000 × 300, intercept",
        dense(10_000, 300, 0.04, 0.5),
        {"scikit-learn, saga 1e-3": scikit_learn("saga", 1e-3, intercept=True)}
        | {f"skglm, {t:g}": skglm(t, intercept=True) for t in (1e-3, 1e-4)}
        | {f"adelie, {t:g}": adelie(t, intercept=True) for t in (1e-6, 1e-8)},
        ours(intercept=True),
        start=False,
    ),
    race(
        "text",
        "L2, 50,000 × 100,000 with 50 words a row",
        text(50_000, 100_000, 1.0, 0.0),
        {
            f"scikit-learn, liblinear dual {t:g}": scikit_learn("liblinear", t, dual=True)
            for t in (1, 0.1)
        }
        | liblinear(1e-2, 1e-3)
        | {f"snapml, {t:g}": snapml(t, dual=True) for t in (1e-2, 1e-3)},
        ours("lbfgs"),
        start=False,
        readme=True,
    ),
]
