"""Ready models: Gibbs samplers, the Ising model and the two Bayesian estimators"""

import numpy as np
import pytest
from scipy import optimize, special
from sklearn.base import clone
from sklearn.linear_model import BayesianRidge, LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from mlreplica.callbacks import Callback
from mlreplica.datasets import load_diabetes, load_iris
from mlreplica.mcmc import (
    NUTS,
    BayesianLinearRegression,
    BayesianLogisticRegression,
    Gibbs,
    Ising,
    logistic_log_density,
    positive,
    real,
)
from mlreplica.mcmc.gibbs_models import normal_above
from mlreplica.mcmc.logistic import multinomial_log_density

QUIET = {"random_state": 0, "warn": False}


def line(n=40, p=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    return X, X @ np.arange(1.0, p + 1) + rng.normal(size=n)


@pytest.mark.slow
def test_linear_regression_by_gibbs_is_that_of_nuts_on_the_same_density():
    X, y = line()
    gibbs = Gibbs.linear_regression(X, y, alpha=0.5, shape=2.0, rate=1.5).sample(
        n_draws=10_000, **QUIET
    )

    def density(w, sigma2):
        prior = -0.25 * (w**2).sum() - 3.0 * np.log(sigma2) - 1.5 / sigma2
        return prior - 0.5 * len(y) * np.log(sigma2) - 0.5 * ((y - X @ w) ** 2).sum() / sigma2

    def slope(w, sigma2):
        r = y - X @ w
        return X.T @ r / sigma2 - 0.5 * w, (
            -(3.0 + 0.5 * len(y)) / sigma2 + (1.5 + 0.5 * (r**2).sum()) / sigma2**2
        )

    sampler = NUTS(density, slope, parameters={"w": real(3), "sigma2": positive()})
    nuts = sampler.sample(np.append(np.ones(3), 1.0), 4000, **QUIET)
    for f in (lambda d: d.flat().mean(axis=0), lambda d: d.flat().std(axis=0)):
        np.testing.assert_allclose(f(gibbs), f(nuts), atol=0.02)


def test_hierarchical_normal_agrees_with_quadrature():
    y = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
    s = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
    draws = Gibbs.hierarchical_normal(y, s).sample(n_draws=5000, thin=6, **QUIET)
    tau = np.geomspace(1e-3, 300.0, 20_000)  # p(τ | y), with μ and θ integrated out
    v = s[:, None] ** 2 + tau**2
    m = (y[:, None] / v).sum(axis=0) / (1 / v).sum(axis=0)
    log_p = -0.5 * np.log(v).sum(axis=0) - 0.5 * np.log((1 / v).sum(axis=0))
    log_p -= 0.5 * ((y[:, None] - m) ** 2 / v).sum(axis=0)
    weight = np.exp(log_p - log_p.max()) * np.gradient(tau)
    weight /= weight.sum()
    middle = tau[np.searchsorted(weight.cumsum(), 0.5)]
    assert np.median(draws["tau"]) == pytest.approx(middle, rel=0.06)
    assert draws["mu"].mean() == pytest.approx((weight * m).sum(), abs=0.25)


def test_probit_agrees_with_quadrature_in_one_dimension():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 1))
    y = (X[:, 0] + rng.normal(size=30) > 0).astype(int)
    draws = Gibbs.probit(X, y, alpha=0.5).sample(n_draws=10_000, **QUIET)
    w = np.linspace(-3, 6, 2001)
    log_p = special.log_ndtr((2 * y - 1)[:, None] * X * w).sum(axis=0) - 0.25 * w**2
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    mean = (p * w).sum()
    assert draws.array.mean() == pytest.approx(mean, abs=0.02)
    assert draws.array.std() == pytest.approx(np.sqrt((p * (w - mean) ** 2).sum()), abs=0.02)


@pytest.mark.parametrize("low", [-3.0, 0.0, 2.0, 8.0])
def test_normal_numbers_above_a_bound(low):
    rng = np.random.default_rng(2)
    z = np.array([normal_above(low, rng) for _ in range(4000)])
    assert z.min() > low
    hazard = np.exp(-0.5 * low**2 - special.log_ndtr(-low)) / np.sqrt(2 * np.pi)
    assert z.mean() == pytest.approx(hazard, abs=0.06)


@pytest.mark.slow
def test_gaussian_mixture_finds_the_components():
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.normal(-3, 1, (100, 2)), rng.normal(3, 0.5, (200, 2))])
    draws = Gibbs.gaussian_mixture(X, 2, random_state=0).sample(n_draws=500, n_chains=1, **QUIET)
    means = draws["means"].mean(axis=(0, 1))
    order = np.argsort(means[:, 0])
    np.testing.assert_allclose(means[order], [[-3, -3], [3, 3]], atol=0.4)
    np.testing.assert_allclose(draws["weights"].mean(axis=(0, 1))[order], [1 / 3, 2 / 3], atol=0.07)
    np.testing.assert_allclose(
        np.sqrt(draws["variances"].mean(axis=(0, 1)))[order], [[1, 1], [0.5, 0.5]], atol=0.2
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: Gibbs.hierarchical_normal([1.0, 2.0], 1.0),
        lambda: Gibbs.hierarchical_normal([1.0, 2.0, 3.0], [1.0, 0.0, 1.0]),
        lambda: Gibbs.probit([[1.0], [2.0]], [0, 2]),
        lambda: Gibbs.gaussian_mixture([[1.0], [2.0]], 3),
        lambda: Gibbs.linear_regression([[1.0], [np.nan]], [0, 2]),
    ],
    ids=["few groups", "no error", "labels", "components", "missing"],
)
def test_ready_models_refuse_bad_data(make):
    with pytest.raises(ValueError):
        make()


def test_the_magnetisation_of_the_ising_model_is_onsagers():
    beta = 0.55
    draws = Ising((64, 64), beta, start="up").sample(n_draws=1500, **QUIET)
    assert draws["magnetisation"].mean() == pytest.approx(
        (1 - np.sinh(2 * beta) ** -4) ** 0.125, abs=0.005
    )
    hot = Ising((64, 64), 0.2).sample(n_draws=1000, **QUIET)
    assert abs(hot["magnetisation"].mean()) < 0.01


def test_spins_can_be_given_and_are_kept():
    model = Ising((4, 6), 3.0)
    up = np.ones((4, 6), dtype=int)
    model.sample(up, 10, n_chains=2, n_warmup=0, **QUIET)
    assert model.spins_.shape == (2, 4, 6)
    assert (model.spins_ == 1).all()
    with pytest.raises(ValueError, match="spins"):
        model.sample(2 * up)


# ------------------------------------------------------------------------------ estimators

LINEAR = BayesianLinearRegression(n_draws=150, n_warmup=50, random_state=0)
LOGISTIC = BayesianLogisticRegression(n_draws=40, n_warmup=60, n_chains=2, random_state=0)


@parametrize_with_checks([LINEAR, LOGISTIC])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_linear_regression_agrees_with_scikit_learns_bayesian_ridge():
    X, y = load_diabetes(return_X_y=True)
    ours = BayesianLinearRegression(random_state=0).fit(X, y)
    theirs = BayesianRidge().fit(X, y)
    scale = np.sqrt(np.diag(ours.covariance_))
    assert np.abs((ours.coef_ - theirs.coef_) / scale[:-1]).max() < 0.15
    mean, std = ours.predict(X[:50], return_std=True)
    mean_2, std_2 = theirs.predict(X[:50], return_std=True)
    np.testing.assert_allclose(mean, mean_2, atol=0.06 * std.mean())
    np.testing.assert_allclose(std, std_2, rtol=0.02)
    intervals = ours.predict_interval(X, 0.8)
    assert ((intervals[:, 0] < y) & (y < intervals[:, 1])).mean() == pytest.approx(0.8, abs=0.05)
    assert ours.draws_["coef"].shape == (4, 1000, 10)
    assert np.nanmax(ours.draws_.rhat()) < 1.02


def test_a_fixed_penalty_has_the_known_posterior():
    X, y = line(60, 2)
    model = BayesianLinearRegression(
        alpha=4.0, fit_intercept=False, n_draws=8000, random_state=0
    ).fit(X, y)
    s2 = model.draws_["sigma"].ravel() ** 2  # w | σ² is ridge regression with penalty ασ²
    G, c = X.T @ X, X.T @ y
    expected = np.mean([np.linalg.solve(G + 4.0 * v * np.eye(2), c) for v in s2[::40]], axis=0)
    np.testing.assert_allclose(model.coef_, expected, atol=0.01)


@pytest.mark.parametrize("model", [LINEAR, LOGISTIC], ids=["linear", "logistic"])
def test_a_weight_of_two_is_a_row_twice_and_of_zero_no_row(model):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(40, 2))
    y = X[:, 0] + 0.3 * rng.normal(size=40)
    y = y if model is LINEAR else (y > 0).astype(int)
    c = rng.integers(0, 3, 40)
    settings = {"n_draws": 1500, "n_warmup": 300}
    weighted = clone(model).set_params(**settings).fit(X, y, sample_weight=c)
    repeated = clone(model).set_params(**settings).fit(np.repeat(X, c, axis=0), np.repeat(y, c))
    spread = repeated.draws_.flat().std(axis=0)[:2].max()
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=0.15 * spread)


@pytest.mark.parametrize("columns", [1, 8])
def test_more_columns_than_rows_and_constant_columns(columns):
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.normal(size=(5, columns)), np.ones(5)])
    model = BayesianLinearRegression(random_state=0, n_draws=200).fit(X, X[:, 0])
    assert np.isfinite(model.predict(X, return_std=True)).all()


def test_logistic_regression_is_centred_near_the_most_probable_weights():
    X, y = load_iris(return_X_y=True)
    model = BayesianLogisticRegression(random_state=0).fit(X, y == 1)
    best = LogisticRegression(C=1.0).fit(X, y == 1)
    spread = model.draws_["coef"].std(axis=(0, 1))
    assert np.abs((model.coef_ - best.coef_) / spread).max() < 0.5
    P, std = model.predict_proba(X[:20], return_std=True)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert (std > 0).all()


def test_three_classes_each_have_weights():
    X, y = load_iris(return_X_y=True)
    three = BayesianLogisticRegression(random_state=0, n_draws=200).fit(X, y)
    assert three.coef_.shape == (3, 4)
    assert three.score(X, y) > 0.94


@pytest.mark.parametrize("offset", [None, 10.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_logistic_density_and_its_gradient(offset, weighted):
    rng = np.random.default_rng(6)
    X, y = 3 * rng.normal(size=(700, 3)), np.sign(rng.normal(size=700))
    c = rng.uniform(0, 2, 700) if weighted else np.ones(700)
    f = logistic_log_density(X, y, 0.7, c, offset)
    w = rng.normal(size=3 + (offset is not None))
    z = y * (X @ w[:3] + (w[3] if offset else 0.0))
    expected = -(c * np.logaddexp(0, -z)).sum() - 0.35 * w[:3] @ w[:3]
    expected -= 0.5 * (w[3] / 10.0) ** 2 if offset else 0.0
    assert f(w)[0] == pytest.approx(expected, rel=1e-10)
    numeric = optimize.approx_fprime(w, lambda v: f(v)[0], 1e-6)
    np.testing.assert_allclose(f(w)[1], numeric, rtol=1e-3, atol=2e-3)


def test_probabilities_are_means_over_the_draws_whatever_the_blocks(monkeypatch):
    X, y = load_iris(return_X_y=True)
    for target in (y == 1, y):
        model = clone(LOGISTIC).fit(X, target)
        P, std = model.predict_proba(X, return_std=True)
        drawn, coef = model.draws_, model.draws_["coef"]
        scores = np.einsum("ij,abkj->iabk", X, coef) + drawn["intercept"]
        if len(model.classes_) == 2:
            scores = np.concatenate([np.zeros_like(scores), scores], axis=-1)
        each = special.softmax(scores, axis=-1).reshape(len(X), -1, len(model.classes_))
        np.testing.assert_allclose(P, each.mean(axis=1), rtol=1e-9)
        np.testing.assert_allclose(std, each.std(axis=1), rtol=1e-6, atol=1e-12)
        monkeypatch.setattr("mlreplica.mcmc.logistic.BLOCK", 1000)
        np.testing.assert_allclose(model.predict_proba(X), P, rtol=1e-12)


def test_an_interrupted_fit_can_predict_even_if_it_was_warming_up():
    class Stop(Callback):
        def on_fit_task_end(self, estimator, context):
            if hasattr(context, "state"):
                raise KeyboardInterrupt

    X, y = load_iris(return_X_y=True)
    model = clone(LOGISTIC).set_callbacks(Stop())
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y == 1)
    assert model.draws_.n_draws == 1
    assert np.isfinite(model.predict_proba(X)).all()


def test_an_unfitted_model_has_no_draws():
    assert not hasattr(LINEAR, "draws_")
    with pytest.raises(AttributeError, match="not fitted yet"):
        LINEAR.draws_  # noqa: B018


def test_the_multinomial_density_and_its_gradient():
    rng = np.random.default_rng(7)
    X, codes = rng.normal(size=(20, 2)), rng.integers(0, 3, 20)
    f = multinomial_log_density(X, codes, 3, 0.7, np.ones(20), 2.0)
    w = rng.normal(size=9)
    W = w.reshape(3, 3)
    z = X @ W[:, :2].T + W[:, 2]
    expected = (z[np.arange(20), codes] - special.logsumexp(z, axis=1)).sum()
    expected -= 0.35 * (W[:, :2] ** 2).sum() + 0.125 * (W[:, 2] ** 2).sum()
    assert f(w)[0] == pytest.approx(expected)
    numeric = optimize.approx_fprime(w, lambda v: f(v)[0], 1e-6)
    np.testing.assert_allclose(f(w)[1], numeric, rtol=1e-3, atol=1e-4)
