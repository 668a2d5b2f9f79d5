"""Huber, quantile, Poisson, gamma, Tweedie regression and RANSAC, and predictions of a single row

Quality is the objective that was reached, so that a peer which stops early is seen to be worse. A
peer gets the loosest tolerance with which it is not.
"""

import numpy as np

from benchmarks.data import Rows, shapes
from benchmarks.race import BOTH, Race, ask, fit, same

TAU = 0.75


def wild(data):
    """Heavy-tailed errors, and one wild value in twenty."""
    y = data.y + np.random.default_rng(1).standard_t(2, size=len(data.y))
    y[::20] += 30.0
    return data._replace(y=y)


def counts(data):
    """Counts with mean e^(y/2)."""
    mean = np.exp(np.clip(0.5 * data.y, -5, 5))
    return data._replace(y=np.random.default_rng(1).poisson(mean).astype(float))


def amounts(data):
    """Gamma amounts with mean e^(y/2)."""
    mean = np.exp(np.clip(0.5 * data.y, -5, 5))
    return data._replace(y=np.random.default_rng(1).gamma(2.0, mean / 2.0) + 1e-6)


def claims(data):
    """Amounts of which a third is zero."""
    data = amounts(data)
    return data._replace(
        y=np.where(np.random.default_rng(2).random(len(data.y)) < 1 / 3, 0.0, data.y)
    )


class Line:
    """The coefficients of a peer that calls them otherwise."""

    def __init__(self, params):
        self.intercept_, self.coef_ = params[0], np.array(params[1:])


def statsmodels_quantile(data):
    import statsmodels.api as sm

    X, y, *_ = data
    return lambda: Line(sm.QuantReg(y, sm.add_constant(X)).fit(q=TAU, max_iter=10_000).params)


def statsmodels_poisson(data):
    import statsmodels.api as sm

    X, y, *_ = data
    family = sm.families.Poisson()
    return lambda: Line(sm.GLM(y, sm.add_constant(X), family=family).fit().params)


def huber_objective(data, model, alpha=1e-4, epsilon=1.35):
    z = np.abs(data.y - data.X @ model.coef_ - model.intercept_) / model.scale_
    loss = np.where(z <= epsilon, z * z, 2 * epsilon * z - epsilon**2)
    return model.scale_ * (len(z) + loss.sum()) + alpha * model.coef_ @ model.coef_


def pinball(alpha):
    def objective(data, model):
        r = data.y - data.X @ model.coef_ - model.intercept_
        return np.maximum(TAU * r, (TAU - 1) * r).mean() + alpha * np.abs(model.coef_).sum()

    return objective


def poisson_objective(alpha):
    def objective(data, model):
        f = data.X @ model.coef_ + model.intercept_
        return np.mean(np.exp(f) - data.y * f) + alpha / 2 * model.coef_ @ model.coef_

    return objective


def amounts_objective(alpha, power):
    def objective(data, model):
        f = data.X @ model.coef_ + model.intercept_
        first = f if power == 2 else np.exp((2 - power) * f) / (2 - power)
        loss = first - data.y * np.exp((1 - power) * f) / (1 - power)
        return loss.mean() + alpha / 2 * model.coef_ @ model.coef_

    return objective


def huber(name, *rows, **options):
    path = "linear_model.HuberRegressor"
    return Race(
        name=f"huber-{name}",
        what="Huber regression",
        shapes=shapes(*rows, then=wild),
        contestants=same(path, ("mlreplica",)) | same(path, ("scikit-learn",), max_iter=1000),
        quality=huber_objective,
        **options,
    )


def cheated(data):
    """Small errors, and one row in three on another plane."""
    y = data.y + np.random.default_rng(1).normal(scale=0.1, size=len(data.y))
    y[::3] = 10.0 - 2.0 * y[::3]
    return data._replace(y=y)


def consensus(name, *rows, **options):
    """Draws are the same for both, so quality is the share of rows outside of the consensus."""
    path = "linear_model.RANSACRegressor"
    return Race(
        name=f"ransac-{name}",
        what="RANSAC",
        shapes=shapes(*rows, then=cheated),
        contestants=same(path, BOTH, random_state=0),
        quality=lambda data, model: 1.0 - model.inlier_mask_.mean(),
        quality_name="share of outliers",
        **options,
    )


def quantile(name, *rows, alpha=0.0, slow=True, **options):
    path, given = "linear_model.QuantileRegressor", {"quantile": TAU, "alpha": alpha}
    peers = same(path, BOTH if slow else BOTH[:1], **given)  # else HiGHS needs minutes
    peers["scikit-learn, highs-ipm"] = fit(f"sklearn.{path}", **given, solver="highs-ipm")
    if alpha == 0:
        peers["statsmodels"] = statsmodels_quantile
    return Race(
        name=f"quantile-{name}",
        what="quantile regression" + (", penalised" if alpha else ""),
        shapes=shapes(*rows, then=wild),
        contestants=peers,
        quality=pinball(alpha),
        **options,
    )


def poisson(name, *rows, alpha, newton=True, **options):
    path, given = "linear_model.PoissonRegressor", {"alpha": alpha}
    peers = same(path, ("mlreplica",), **given)
    peers |= same(path, ("scikit-learn",), tol=1e-5, max_iter=1000, **given)
    if newton:  # else it needs minutes
        newton = fit(f"sklearn.{path}", solver="newton-cholesky", **given)
        peers["scikit-learn, newton-cholesky"] = newton
    glum = {"family": "poisson", "l1_ratio": 0, "gradient_tol": 1e-5}
    peers["glum"] = fit("glum.GeneralizedLinearRegressor", **glum, **given)
    if alpha == 0:
        peers["statsmodels"] = statsmodels_poisson
    return Race(
        name=f"poisson-{name}",
        what="Poisson regression",
        shapes=shapes(*rows, then=counts),
        contestants=peers,
        quality=poisson_objective(alpha),
        **options,
    )


def tweedie(name, *rows, alpha, power, **options):
    """Gamma regression for the power 2."""
    path, given = "linear_model.TweedieRegressor", {"alpha": alpha, "power": power}
    family = {"family": "gamma" if power == 2 else f"tweedie ({power})", "link": "log"}
    if power == 2:
        path, given = "linear_model.GammaRegressor", {"alpha": alpha}
    glum = {"l1_ratio": 0, "gradient_tol": 1e-5, "alpha": alpha}
    peers = same(path, ("mlreplica",), **given)
    peers |= same(path, ("scikit-learn",), tol=1e-5, max_iter=1000, **given)
    peers["scikit-learn, newton-cholesky"] = fit(
        f"sklearn.{path}", solver="newton-cholesky", **given
    )
    peers["glum"] = fit("glum.GeneralizedLinearRegressor", **family, **glum)
    return Race(
        name=f"{'gamma' if power == 2 else 'tweedie'}-{name}",
        what="gamma regression" if power == 2 else "Tweedie regression",
        shapes=shapes(*rows, then=amounts if power == 2 else claims),
        contestants=peers,
        quality=amounts_objective(alpha, power),
        **options,
    )


def one_row(name, row, then):
    """The prediction of one row by a fitted model."""
    return Race(
        name=f"{name.removesuffix('Regressor').lower()}-predict",
        what=f"{name}, prediction of one row",
        shapes=shapes(row, then=then),
        contestants=same(f"linear_model.{name}", BOTH, how=ask, rows=1),
        quality=lambda data, found: 0.0 if np.isfinite(found).all() else np.inf,
        quality_name="finite",
    )


RACES = [
    huber("small", Rows(1000, 10), "diabetes", start=True),
    huber("tall", Rows(100_000, 20), Rows(20_000, 80, "correlated"), readme=True),
    consensus("small", Rows(1000, 3), "diabetes", start=True),
    consensus("tall", Rows(100_000, 5), Rows(20_000, 10, "correlated"), readme=True),
    quantile("small", Rows(1000, 10), Rows(300, 5, "few"), start=True),
    quantile("tall", Rows(20_000, 20), Rows(8000, 40, "skewed"), slow=False, readme=True),
    quantile("wide", Rows(200, 500), Rows(150, 200, "correlated"), alpha=0.05),
    poisson("small", Rows(1000, 10), Rows(3000, 20, "few"), alpha=0.0, start=True),
    poisson("tall", Rows(200_000, 50), Rows(30_000, 150, "correlated"), alpha=1e-3, readme=True),
    poisson("wide", Rows(300, 1000), Rows(1000, 1500, "offset"), alpha=1e-2, newton=False),
    poisson("sparse", Rows(20_000, 1000, "words", words=10), alpha=1e-3, newton=False),
    tweedie("small", Rows(1000, 10), Rows(3000, 20, "few"), alpha=1e-3, power=2, start=True),
    tweedie("tall", Rows(200_000, 50), Rows(30_000, 150, "correlated"), alpha=1e-3, power=2),
    tweedie("small", Rows(1000, 10), Rows(3000, 20, "few"), alpha=1e-3, power=1.5),
    tweedie("tall", Rows(200_000, 50), Rows(30_000, 150, "correlated"), alpha=1e-3, power=1.5),
    one_row("HuberRegressor", Rows(1000, 10), wild),
    one_row("QuantileRegressor", Rows(300, 10), wild),
    one_row("PoissonRegressor", Rows(1000, 10), counts),
]
