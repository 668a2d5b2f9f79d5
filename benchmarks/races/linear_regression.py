"""Linear regression: tall, wide, small and weighted data, and the prediction of a single row

Quality is the relative error of the coefficients against a solution by orthogonal transformations
(Householder's QR; wide: SVD), so that it shows if a method squares the condition number and does
not repair the loss.
"""

import numpy as np

from benchmarks.race import Race, threads


def make(n, p, weighted=False, dtype=np.float64):
    """Correlated columns away from zero, and a target with noise."""

    def data():
        rng = np.random.default_rng(0)
        X = (rng.normal(size=(n, p)) + rng.normal(size=(n, 1)) + rng.normal(size=p)).astype(dtype)
        y = (X @ rng.normal(size=p) + 3.0 + rng.normal(size=n)).astype(dtype)
        s = rng.uniform(0.5, 2.0, size=n) if weighted else None
        return X, y, s, reference(X.astype(float), y.astype(float), s)

    return data


def reference(X, y, s):
    """Coefficients by QR of the centred rows, or of least norm by SVD where X is wide."""
    root = np.ones(len(X)) if s is None else np.sqrt(s)
    share = root**2 / (root @ root)
    A, c = root[:, None] * (X - share @ X), root * (y - share @ y)
    if len(X) <= X.shape[1]:
        return np.linalg.lstsq(A, c)[0]
    R = np.linalg.qr(np.column_stack([A, c]), mode="r")
    return np.linalg.solve(R[:-1, :-1], R[:-1, -1])


def ours(data):
    from mlreplica.linear_model import LinearRegression

    X, y, s, _ = data
    return lambda: LinearRegression().fit(X, y, s).coef_


def scikit_learn(data):
    from sklearn.linear_model import LinearRegression

    X, y, s, _ = data
    return lambda: LinearRegression(n_jobs=threads()).fit(X, y, s).coef_


def sklearnex(data):
    from sklearnex.linear_model import LinearRegression

    X, y, s, _ = data
    return lambda: LinearRegression(n_jobs=threads()).fit(X, y, s).coef_


def numpy(data):
    X, y, s, _ = data

    def call():
        A, c = np.column_stack([np.ones(len(X), dtype=X.dtype), X]), y
        if s is not None:
            A, c = np.sqrt(s)[:, None] * A, np.sqrt(s) * y
        return np.linalg.lstsq(A, c)[0][1:]

    return call


def numpy_wide(data):
    """Least norm without the intercept's share in it: the columns must be centred."""
    X, y, _, _ = data
    return lambda: np.linalg.lstsq(X - X.mean(axis=0), y - y.mean())[0]


def statsmodels(data):
    import statsmodels.api as sm

    X, y, s, _ = data

    def call():
        A = sm.add_constant(X)
        model = sm.OLS(y, A) if s is None else sm.WLS(y, A, weights=s)
        return model.fit().params[1:]

    return call


def coefficient_error(data, coef):
    """‖w − w_reference‖ / ‖w_reference‖"""
    w = data[-1]
    return np.linalg.norm(coef - w) / np.linalg.norm(w)


PEERS = {
    "mlreplica": ours,
    "scikit-learn": scikit_learn,
    "scikit-learn-intelex": sklearnex,
    "numpy": numpy,
    "statsmodels": statsmodels,
}


def race(name, what, data, without=(), atol=1e-8, **options):
    """Fit: who has lost eight digits is no peer."""
    return Race(
        name=f"linear-regression-{name}",
        what=f"least squares, {what}",
        make_data=data,
        contestants={peer: fit for peer, fit in PEERS.items() if peer not in without},
        quality=coefficient_error,
        quality_name="relative error of w",
        atol=atol,
        **options,
    )


def one_row(package):
    """A contestant: a fitted model, asked for one prediction."""

    def prepare(data):
        from importlib import import_module

        X, y, *_ = data
        model = import_module(f"{package}.linear_model").LinearRegression().fit(X, y)
        row = X[:1].copy()
        return lambda: model.predict(row)

    return prepare


def prediction_error(data, prediction):
    X, y, _, w = data
    return float(abs(prediction[0] - (y.mean() + (X[0] - X.mean(axis=0)) @ w)))


# statsmodels and numpy hold a second and third copy of X and need half a minute: not on tall data.
RACES = [
    race("tall", "1,000,000 × 50", make(1_000_000, 50), without=("statsmodels",), readme=True),
    race("wide", "500 × 5,000", make(500, 5000), start=False, readme=True),
    race("small", "150 × 4", make(150, 4), start=True, readme=True),
    race("weighted", "300,000 × 30, weighted", make(300_000, 30, weighted=True), start=False),
    race(
        "single",
        "1,000,000 × 50, float32",
        make(1_000_000, 50, dtype=np.float32),
        without=("statsmodels", "numpy"),
        atol=1e-5,
        start=False,
    ),
    Race(
        name="linear-regression-predict",
        what="prediction of one row, 20 columns",
        make_data=make(1000, 20),
        contestants={
            "mlreplica": one_row("mlreplica"),
            "scikit-learn": one_row("sklearn"),
            "scikit-learn-intelex": one_row("sklearnex"),
        },
        quality=prediction_error,
        quality_name="error",
        start=False,
        readme=True,
    ),
]
