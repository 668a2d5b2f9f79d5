"""Huber, quantile and Poisson regression, and their predictions of a single row

Quality is the objective that was reached, so that a peer which stops early is seen to be worse. A
peer gets the loosest tolerance with which it is not.
"""

import numpy as np

from benchmarks.race import Race

TAU = 0.75


def lines(n, p, informative=20):
    """A linear target with heavy-tailed errors and one wild value in twenty."""

    def data():
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, p)) + rng.normal(size=p)
        w = rng.normal(size=p) * (np.arange(p) < informative)
        y = X @ w + rng.standard_t(2, size=n)
        y[::20] += 30.0
        return X, y

    return data


def counts(n, p):
    """Counts with mean e^(Xw + 1)."""

    def data():
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, p))
        return X, rng.poisson(np.exp(X @ rng.normal(size=p) * 0.5 / np.sqrt(p) + 1)).astype(float)

    return data


def sparse_counts(n, p, share):
    """The same with few entries a row."""

    def data():
        import scipy.sparse as sp

        rng = np.random.default_rng(0)
        X = sp.random_array((n, p), density=share, format="csr", rng=rng)
        return X, rng.poisson(np.exp(X @ rng.normal(size=p) * 0.5)).astype(float)

    return data


def fit(package, name, **settings):
    """A contestant: an estimator of a package, fitted."""

    def prepare(data):
        from importlib import import_module

        model = getattr(import_module(f"{package}.linear_model"), name)(**settings)
        return lambda: model.fit(*data)

    return prepare


def both(name, ours, theirs):
    """mlreplica and scikit-learn, each with its settings."""
    return {
        "mlreplica": fit("mlreplica", name, **ours),
        "scikit-learn": fit("sklearn", name, **theirs),
    }


class Line:
    """The coefficients of a peer that calls them otherwise."""

    def __init__(self, coef, intercept):
        self.coef_, self.intercept_ = coef, intercept


def statsmodels_quantile(data):
    import warnings

    import statsmodels.api as sm

    X, y = data

    def call():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            b, *w = sm.QuantReg(y, sm.add_constant(X)).fit(q=TAU, max_iter=10_000).params
        return Line(np.array(w), b)

    return call


def glum(alpha):
    def prepare(data):
        from glum import GeneralizedLinearRegressor

        model = GeneralizedLinearRegressor(
            family="poisson", alpha=alpha, l1_ratio=0, gradient_tol=1e-5
        )
        return lambda: model.fit(*data)

    return prepare


def statsmodels_poisson(data):
    import statsmodels.api as sm

    X, y = data

    def call():
        b, *w = sm.GLM(y, sm.add_constant(X), family=sm.families.Poisson()).fit().params
        return Line(np.array(w), b)

    return call


def huber_objective(alpha=1e-4, epsilon=1.35):
    def objective(data, model):
        X, y = data
        z = np.abs(y - X @ model.coef_ - model.intercept_) / model.scale_
        loss = np.where(z <= epsilon, z * z, 2 * epsilon * z - epsilon**2)
        return model.scale_ * (len(y) + loss.sum()) + alpha * model.coef_ @ model.coef_

    return objective


def pinball(alpha):
    def objective(data, model):
        X, y = data
        r = y - X @ model.coef_ - model.intercept_
        return np.maximum(TAU * r, (TAU - 1) * r).mean() + alpha * np.abs(model.coef_).sum()

    return objective


def poisson_objective(alpha):
    def objective(data, model):
        X, y = data
        f = X @ model.coef_ + model.intercept_
        return np.mean(np.exp(f) - y * f) + alpha / 2 * model.coef_ @ model.coef_

    return objective


def huber(name, what, data, **options):
    return Race(
        name=f"huber-{name}",
        what=f"Huber regression, {what}",
        make_data=data,
        contestants=both("HuberRegressor", {}, {"max_iter": 1000}),
        quality=huber_objective(),
        quality_name="objective",
        **options,
    )


def quantile(name, what, data, alpha, slow=True, **options):
    settings = {"quantile": TAU, "alpha": alpha}
    peers = both("QuantileRegressor", settings, settings)
    if not slow:  # HiGHS needs minutes
        del peers["scikit-learn"]
    peers["scikit-learn, highs-ipm"] = fit(
        "sklearn", "QuantileRegressor", **settings, solver="highs-ipm"
    )
    if alpha == 0:
        peers["statsmodels"] = statsmodels_quantile
    return Race(
        name=f"quantile-{name}",
        what=f"quantile regression, {what}",
        make_data=data,
        contestants=peers,
        quality=pinball(alpha),
        quality_name="objective",
        **options,
    )


def poisson(name, what, data, alpha, without=(), **options):
    settings = {"alpha": alpha}
    peers = both("PoissonRegressor", settings, settings | {"tol": 1e-5, "max_iter": 1000})
    peers["scikit-learn, newton-cholesky"] = fit(
        "sklearn", "PoissonRegressor", **settings, solver="newton-cholesky"
    )
    peers["glum"] = glum(alpha)
    if alpha == 0:
        peers["statsmodels"] = statsmodels_poisson
    return Race(
        name=f"poisson-{name}",
        what=f"Poisson regression, {what}",
        make_data=data,
        contestants={peer: make for peer, make in peers.items() if peer not in without},
        quality=poisson_objective(alpha),
        quality_name="objective",
        **options,
    )


def one_row(name, data):
    """The prediction of one row by a fitted model."""

    def contestant(package):
        def prepare(data):
            fitted = fit(package, name)(data)()
            row = data[0][:1].copy()
            return lambda: fitted.predict(row)

        return prepare

    return Race(
        name=f"{name.removesuffix('Regressor').lower()}-predict",
        what=f"{name}, prediction of one row",
        make_data=data,
        contestants={"mlreplica": contestant("mlreplica"), "scikit-learn": contestant("sklearn")},
        quality=lambda data, found: 0.0 if np.isfinite(found).all() else np.inf,
        quality_name="finite",
        start=False,
    )


RACES = [
    huber("small", "1,000 × 10", lines(1000, 10)),
    huber("tall", "100,000 × 20", lines(100_000, 20), start=False, readme=True),
    quantile("small", "1,000 × 10", lines(1000, 10), 0.0),
    quantile("tall", "20,000 × 20", lines(20_000, 20), 0.0, slow=False, start=False, readme=True),
    quantile("wide", "200 × 500, penalised", lines(200, 500), 0.05, start=False),
    poisson("small", "1,000 × 10", counts(1000, 10), 0.0),
    poisson("tall", "200,000 × 50", counts(200_000, 50), 1e-3, start=False, readme=True),
    poisson(
        "wide",
        "300 × 1,000",
        counts(300, 1000),
        1e-2,
        without=("scikit-learn, newton-cholesky",),  # seconds
        start=False,
    ),
    poisson(
        "sparse",
        "20,000 × 1,000 sparse",
        sparse_counts(20_000, 1000, 0.01),
        1e-3,
        without=("scikit-learn, newton-cholesky",),
        start=False,
    ),
    one_row("HuberRegressor", lines(1000, 10)),
    one_row("QuantileRegressor", lines(300, 10)),
    one_row("PoissonRegressor", counts(1000, 10)),
]
