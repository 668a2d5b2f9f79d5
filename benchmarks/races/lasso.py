"""Lasso and elastic net: single fits, paths of a hundred α, and cross-validation

Quality is the objective; of a path, the sum of the objectives over the path, each divided by its
least known value would be 100. Every peer is given the loosest of its tolerances with which it
comes within 1e-6 of the best, where there is one. An intercept is fitted by all; where a library's
path function has none, centring is part of the timed call.

Paths over many columns are held on smaller data of the same shape, so that a run of every peer ends
within ten seconds. Left out is who needs more even there: celer on the deep path over words, 15 s.
Over correlated columns, and on the large deep path over words, scikit-learn and celer were not
measured. celer's cross-validation cannot be made with scikit-learn 1.9.
"""

import numpy as np

from benchmarks.race import Race, threads


def dense(n, p, nonzero, correlation):
    """Columns correlated as in an autoregression, away from zero; a sparse truth, and noise."""

    def data():
        import scipy.signal

        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, p))
        X[:, 1:] *= np.sqrt(1 - correlation**2)
        X = scipy.signal.lfilter([1.0], [1.0, -correlation], X, axis=1)
        w = np.zeros(p)
        w[rng.choice(p, nonzero, replace=False)] = rng.choice([-1.0, 1.0], nonzero)
        signal = X @ w
        y = signal + signal.std() / 3 * rng.normal(size=n)
        return np.ascontiguousarray(X + rng.normal(size=p)), y + 3.0

    return data


def text(n, p, per_row, nonzero):
    """Rows with `per_row` words, drawn by Zipf's law; CSC, as every library here wants it."""

    def data():
        import scipy.sparse as sp

        rng = np.random.default_rng(0)
        share = 1 / np.arange(1, p + 1) ** 0.9
        words = rng.choice(p, size=n * per_row, p=share / share.sum())
        counts = rng.uniform(0.5, 1.5, size=n * per_row)
        rows = np.repeat(np.arange(n), per_row)
        X = sp.csc_matrix((counts, (rows, words)), shape=(n, p))
        w = np.zeros(p)
        w[rng.choice(p // 5, nonzero, replace=False)] = rng.normal(size=nonzero)
        signal = X @ w
        return X, signal + signal.std() / 2 * rng.normal(size=n)

    return data


def means(X, y):
    return np.asarray(X.mean(axis=0)).ravel(), y.mean()


def alpha_max(X, y, l1_ratio):
    return np.abs(X.T @ (y - y.mean())).max() / len(y) / l1_ratio


def objective(X, y, w, b, alpha, l1_ratio):
    r = y - X @ w - b
    penalty = l1_ratio * np.abs(w).sum() + (1 - l1_ratio) / 2 * (w @ w)
    return r @ r / (2 * len(y)) + alpha * penalty


# ------------------------------------------------------------------------------------- single fits


def fits(depth, l1_ratio, tolerances):
    """The contestants for one α = depth·α_max; a result is (w, b)."""

    def of(data, estimator, **options):
        X, y = data
        options["alpha"] = depth * alpha_max(X, y, l1_ratio)

        def call():
            model = estimator(**options).fit(X, y)
            return model.coef_, model.intercept_

        return call

    def ours(data):
        from mlreplica.linear_model import ElasticNet

        return of(data, ElasticNet, l1_ratio=l1_ratio)

    def scikit_learn(data):
        from sklearn.linear_model import ElasticNet

        tol = tolerances["scikit-learn"]
        return of(data, ElasticNet, l1_ratio=l1_ratio, tol=tol, max_iter=100_000)

    def celer(data):
        from celer import ElasticNet

        return of(data, ElasticNet, l1_ratio=l1_ratio, tol=tolerances["celer"])

    def skglm(data):
        from skglm import ElasticNet, Lasso

        tol = tolerances["skglm"]
        if l1_ratio == 1:
            return of(data, Lasso, tol=tol)
        return of(data, ElasticNet, l1_ratio=l1_ratio, tol=tol)

    def adelie(data):
        X, y = data
        alphas = np.array([depth * alpha_max(X, y, l1_ratio)])

        def call():
            coefs, intercepts = grpnet(X, y, alphas, l1_ratio, tolerances["adelie"])
            return coefs[:, 0], intercepts[0]

        return call

    return {
        "mlreplica": ours,
        "scikit-learn": scikit_learn,
        "celer": celer,
        "skglm": skglm,
        "adelie": adelie,
    }


def grpnet(X, y, alphas, l1_ratio, tol):
    """adelie's path; it wants dense X in columns."""
    import adelie
    import scipy.sparse as sp

    n_threads = threads()
    A = adelie.matrix.sparse(X, n_threads=n_threads) if sp.issparse(X) else np.asfortranarray(X)
    state = adelie.grpnet(
        A,
        adelie.glm.gaussian(y),
        alpha=l1_ratio,
        lmda_path=alphas,
        early_exit=False,
        tol=tol,
        n_threads=n_threads,
        progress_bar=False,
    )
    return state.betas.toarray().T, state.intercepts


def fit_race(name, what, data, depth, l1_ratio=1.0, tolerances=None, **options):
    """A race over single fits."""

    def quality(data, result):
        X, y = data
        return objective(X, y, *result, depth * alpha_max(X, y, l1_ratio), l1_ratio)

    chosen = {"scikit-learn": 1e-4, "celer": 1e-4, "skglm": 1e-4, "adelie": 1e-8}
    return Race(
        name=f"lasso-{name}",
        what=what,
        make_data=data,
        contestants=fits(depth, l1_ratio, chosen | (tolerances or {})),
        quality=quality,
        quality_name="objective",
        rtol=1e-6,
        **options,
    )


# -------------------------------------------------------------------------------------------- paths


def paths(depth, l1_ratio, tolerances):
    """The contestants for a hundred α down to depth·α_max; a result is (coefs, intercepts)."""

    def grid(X, y):
        return alpha_max(X, y, l1_ratio) * np.geomspace(1, depth, 100)

    def by(data, path):
        """A path function without an intercept: dense X is centred first, as part of the call."""
        import scipy.sparse as sp

        X, y = data
        alphas = grid(X, y)

        def call():
            x_mean, y_mean = means(X, y)
            offset = {}
            A = X
            if sp.issparse(X):
                offset = {"X_offset": x_mean, "X_scale": np.ones_like(x_mean)}
            else:
                A = np.subtract(X, x_mean, order="F")
            coefs = path(A, y - y_mean, alphas, offset)
            return coefs, y_mean - x_mean @ coefs

        return call

    def ours(data):
        from mlreplica.linear_model import enet_path

        return by(
            data,
            lambda X, y, alphas, offset: enet_path(
                X, y, l1_ratio=l1_ratio, alphas=alphas, tol=tolerances["mlreplica"], **offset
            )[1],
        )

    def scikit_learn(data):
        from sklearn.linear_model import enet_path

        return by(
            data,
            lambda X, y, alphas, offset: enet_path(
                X,
                y,
                l1_ratio=l1_ratio,
                alphas=alphas,
                tol=tolerances["scikit-learn"],
                max_iter=100_000,
                copy_X=False,
                **offset,
            )[1],
        )

    def celer(data):
        from celer import celer_path

        return by(
            data,
            lambda X, y, alphas, offset: celer_path(
                X,
                y,
                "lasso",
                l1_ratio=l1_ratio,
                alphas=alphas,
                tol=tolerances["celer"],
                prune=1,
                max_iter=100,
                **offset,
            )[1],
        )

    def adelie(data):
        X, y = data
        alphas = grid(X, y)
        return lambda: grpnet(X, y, alphas, l1_ratio, tolerances["adelie"])

    return {"mlreplica": ours, "scikit-learn": scikit_learn, "celer": celer, "adelie": adelie}


def path_race(name, what, data, depth, l1_ratio=1.0, tolerances=None, without=(), **options):
    """A race over paths."""

    def quality(data, result):
        X, y = data
        alphas = alpha_max(X, y, l1_ratio) * np.geomspace(1, depth, 100)
        coefs, intercepts = result
        return sum(
            objective(X, y, coefs[:, i], intercepts[i], alpha, l1_ratio)
            for i, alpha in enumerate(alphas)
        )

    chosen = {"mlreplica": 1e-6, "scikit-learn": 1e-6, "celer": 1e-6, "adelie": 1e-8}
    contestants = paths(depth, l1_ratio, chosen | (tolerances or {}))
    return Race(
        name=f"lasso-path-{name}",
        what=what,
        make_data=data,
        contestants={who: f for who, f in contestants.items() if who not in without},
        quality=quality,
        quality_name="sum of objectives",
        rtol=1e-6,
        start=False,
        **options,
    )


# -------------------------------------------------------------------------------- cross-validation


def cross_validated(module):
    """A contestant: LassoCV with five folds; a result is the error of the chosen α."""

    def prepare(data):
        from importlib import import_module

        estimator = import_module(module).LassoCV
        return lambda: estimator(cv=5, n_jobs=threads(), alphas=100).fit(*data)

    return prepare


TALL, WIDE, CORRELATED = (
    dense(20_000, 200, 40, 0.5),
    dense(500, 10_000, 50, 0.0),
    dense(1000, 5000, 100, 0.9),
)
TEXT = text(20_000, 50_000, 50, 200)
WIDE_PATH = dense(250, 2500, 25, 0.0)
FINE = {"adelie": 1e-10}  # with 1e-8 it is worse there

RACES = [
    fit_race("tall", "lasso, 20,000 × 200", TALL, 0.05, readme=True),
    fit_race("wide", "lasso, 500 × 10,000", WIDE, 0.05, start=False, readme=True),
    fit_race("correlated", "lasso, 1,000 × 5,000, correlated", CORRELATED, 0.05, start=False),
    fit_race("text", "lasso, sparse 20,000 × 50,000", TEXT, 0.02, start=False, readme=True),
    fit_race("net-tall", "elastic net, 20,000 × 200", TALL, 0.05, 0.5, start=False),
    fit_race("net-wide", "elastic net, 500 × 10,000", WIDE, 0.05, 0.5, start=False),
    path_race("tall", "lasso path to 1e-2, 20,000 × 200", TALL, 1e-2),
    path_race("tall-deep", "lasso path to 1e-3, 20,000 × 200", TALL, 1e-3, readme=True),
    path_race("wide", "lasso path to 1e-2, 250 × 2,500", WIDE_PATH, 1e-2, tolerances=FINE),
    path_race(
        "wide-deep",
        "lasso path to 1e-3, 250 × 2,500",
        WIDE_PATH,
        1e-3,
        tolerances=FINE,
        readme=True,
    ),
    path_race(
        "correlated-deep",
        "lasso path to 1e-3, 1,000 × 5,000, correlated",
        CORRELATED,
        1e-3,
        tolerances=FINE,
        without=("scikit-learn", "celer"),
    ),
    path_race(
        "text",
        "lasso path to 1e-2, sparse 5,000 × 10,000",
        text(5000, 10_000, 50, 50),
        1e-2,
        readme=True,
    ),
    path_race(
        "text-deep",
        "lasso path to 1e-3, sparse 1,000 × 2,000",
        text(1000, 2000, 50, 20),
        1e-3,
        tolerances={"mlreplica": 1e-3, "adelie": 1e-9},
        without=("celer",),
    ),
    path_race(
        "text-deep-large",
        "lasso path to 1e-3, sparse 5,000 × 10,000",
        text(5000, 10_000, 50, 50),
        1e-3,
        tolerances={"mlreplica": 1e-3, "adelie": 1e-7},
        without=("scikit-learn", "celer"),
    ),
    Race(
        name="lasso-cv",
        what="lasso, five folds × 100 α, 5,000 × 300",
        make_data=dense(5000, 300, 40, 0.5),
        contestants={
            "mlreplica": cross_validated("mlreplica.linear_model"),
            "scikit-learn": cross_validated("sklearn.linear_model"),
        },
        quality=lambda data, model: float(model.mse_path_.mean(axis=-1).min()),
        quality_name="mean squared error",
        rtol=1e-3,
        start=False,
        readme=True,
    ),
]
