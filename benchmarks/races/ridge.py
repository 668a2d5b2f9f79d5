"""Ridge regression: tall, wide, small, sparse and many targets, leaving one out, and one prediction

Quality is the relative error of the coefficients against orthogonal transformations of the rows
and of √α times the unit vectors; on sparse data, where nobody factorises, the objective's excess
over its minimum; for a choice of α, the mean squared error of the rows left out at that choice.
"""

from functools import partial

import numpy as np

from benchmarks.race import Race

ALPHA = 1.0


def make(n, p, q=None):
    """Correlated columns away from zero, and a target with noise."""

    def data():
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, p)) + rng.normal(size=(n, 1)) + rng.normal(size=p)
        W = rng.normal(size=(p, q) if q else p)
        y = X @ W + 3.0 + rng.normal(size=(n, q) if q else n)
        return X, y, reference(X, y)

    return data


def reference(X, y):
    """Coefficients by QR of [A; √α I]; of A Aᵀ + αI where X is wide."""
    A, c = X - X.mean(axis=0), y - y.mean(axis=0)
    n, p = A.shape
    if n < p:
        Q, L = np.linalg.qr(A.T)
        return Q @ reference_tall(L.T, c)
    return reference_tall(A, c)


def reference_tall(A, c):
    """The same for n ≥ p."""
    p, c = A.shape[1], c.reshape(len(c), -1)
    below = np.hstack([np.sqrt(ALPHA) * np.eye(p), np.zeros((p, c.shape[1]))])
    R = np.linalg.qr(np.vstack([np.hstack([A, c]), below]), mode="r")
    return np.linalg.solve(R[:p, :p], R[:p, p:])


def ours(data):
    from mlreplica.linear_model import Ridge

    X, y, *_ = data
    return lambda: Ridge(ALPHA).fit(X, y).coef_


def scikit_learn(data, **options):
    from sklearn.linear_model import Ridge

    X, y, *_ = data
    return lambda: Ridge(ALPHA, **options).fit(X, y).coef_


def sklearnex(data):
    from sklearnex.linear_model import Ridge

    X, y, *_ = data
    return lambda: Ridge(ALPHA).fit(X, y).coef_


def numpy(data):
    """The textbook's line; in the dual if X is wide."""
    X, y, *_ = data

    def call():
        x_mean, y_mean = X.mean(axis=0), y.mean(axis=0)
        A, c = X - x_mean, y - y_mean
        n, p = A.shape
        if n < p:
            w = A.T @ np.linalg.solve(A @ A.T + ALPHA * np.eye(n), c)
        else:
            w = np.linalg.solve(A.T @ A + ALPHA * np.eye(p), A.T @ c)
        return w.T, y_mean - x_mean @ w

    return lambda: call()[0]


def glum(data):
    """Its objective is ‖y − Xw − b‖²/2n + alpha/2 ‖w‖²."""
    from glum import GeneralizedLinearRegressor

    X, y, *_ = data
    alpha = ALPHA / len(y)
    return lambda: (
        GeneralizedLinearRegressor(family="normal", alpha=alpha, l1_ratio=0, gradient_tol=1e-10)
        .fit(X, y)
        .coef_
    )


def coefficient_error(data, coef):
    """‖W − W_reference‖ / ‖W_reference‖"""
    W = data[-1]
    return np.linalg.norm(np.reshape(coef, W.T.shape).T - W) / np.linalg.norm(W)


PEERS = {
    "mlreplica": ours,
    "scikit-learn": scikit_learn,
    "scikit-learn, svd": partial(scikit_learn, solver="svd"),
    "scikit-learn-intelex": sklearnex,
    "numpy": numpy,
    "glum": glum,
}


def race(name, what, data, without=(), **options):
    """Fit: who has lost eight digits is no peer."""
    return Race(
        name=f"ridge-{name}",
        what=f"ridge regression, {what}",
        make_data=data,
        contestants={peer: fit for peer, fit in PEERS.items() if peer not in without},
        quality=coefficient_error,
        quality_name="relative error of w",
        atol=1e-8,
        **options,
    )


def sparse_data():
    """Rows like texts: 40 of 10,000 columns each, the first ones more often."""
    import scipy.sparse as sp

    n, p, k = 20_000, 10_000, 40
    rng = np.random.default_rng(0)
    columns = (p * rng.random(n * k) ** 3).astype(np.int32)
    X = sp.csr_array(
        (rng.exponential(size=n * k), columns, np.arange(0, n * k + 1, k)), shape=(n, p)
    )
    X.sum_duplicates()
    y = X @ (rng.normal(size=p) * (rng.random(p) < 0.1)) + rng.normal(size=n)
    return X, y


def sparse(package, **options):
    """A contestant at its loosest tolerance that reaches the objective."""

    def prepare(data):
        from importlib import import_module

        Ridge = import_module(f"{package}.linear_model").Ridge
        return lambda: Ridge(ALPHA, **options).fit(*data)

    return prepare


def sparse_objective(data, model):
    X, y = data
    r = y - X @ model.coef_ - model.intercept_
    return float(r @ r + ALPHA * model.coef_ @ model.coef_)


ALPHAS = np.logspace(-3, 3, 25)


def search(package):
    """A contestant that chooses among 25 penalties by leaving one out."""

    def prepare(data):
        from importlib import import_module

        RidgeCV = import_module(f"{package}.linear_model").RidgeCV
        X, y, *_ = data
        return lambda: RidgeCV(ALPHAS).fit(X, y)

    return prepare


def left_out(_, model):
    return -model.best_score_


def one_row(package):
    """A contestant: a fitted model, asked for one prediction."""

    def prepare(data):
        from importlib import import_module

        X, y, *_ = data
        model = import_module(f"{package}.linear_model").Ridge(ALPHA).fit(X, y)
        row = X[:1].copy()
        return lambda: model.predict(row)

    return prepare


def prediction_error(data, prediction):
    X, y, W = data
    return float(abs(prediction[0] - (y.mean() + (X[0] - X.mean(axis=0)) @ W)[0]))


def choice(name, what, data, **options):
    """Leaving one out."""
    return Race(
        name=f"ridge-loo-{name}",
        what=f"RidgeCV, 25 penalties, leave one out, {what}",
        make_data=data,
        contestants={"mlreplica": search("mlreplica"), "scikit-learn": search("sklearn")},
        quality=left_out,
        quality_name="mean squared error left out",
        rtol=1e-8,
        start=False,
        **options,
    )


RACES = [
    race(
        "tall",
        "1,000,000 × 50",
        make(1_000_000, 50),
        without=("scikit-learn, svd", "glum"),
        readme=True,
    ),
    race("wide", "500 × 5,000", make(500, 5000), without=("glum",), start=False, readme=True),
    race("small", "150 × 4", make(150, 4), readme=True),
    race(
        "targets",
        "20,000 × 100, 50 targets",
        make(20_000, 100, 50),
        without=("glum", "scikit-learn, svd"),
        start=False,
    ),
    Race(
        name="ridge-sparse",
        what="ridge regression, sparse 20,000 × 10,000, 40 a row",
        make_data=sparse_data,
        contestants={
            "mlreplica": sparse("mlreplica"),
            "scikit-learn, sparse_cg": sparse("sklearn", solver="sparse_cg"),
            "scikit-learn, lsqr": sparse("sklearn", solver="lsqr"),
        },
        quality=sparse_objective,
        quality_name="objective",
        rtol=1e-6,
        start=False,
        readme=True,
    ),
    choice("tall", "20,000 × 50", make(20_000, 50), readme=True),
    choice("wide", "300 × 2,000", make(300, 2000)),
    Race(
        name="ridge-predict",
        what="ridge regression, prediction of one row, 20 columns",
        make_data=make(1000, 20),
        contestants={
            "mlreplica": one_row("mlreplica"),
            "scikit-learn": one_row("sklearn"),
            "scikit-learn-intelex": one_row("sklearnex"),
        },
        quality=prediction_error,
        quality_name="error",
        start=False,
    ),
]
