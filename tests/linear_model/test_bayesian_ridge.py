"""Ridge regression whose penalty is chosen by the evidence"""

import numpy as np
import pytest
import sklearn.linear_model
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.datasets import load_diabetes
from sklearn.utils.estimator_checks import parametrize_with_checks

import mlreplica
from mlreplica.callbacks import Trace
from mlreplica.core.linalg import EPS
from mlreplica.linear_model import BayesianRidge, Ridge
from mlreplica.linear_model.ridge.bayesian import Spectrum, maximise_evidence

FLAT = (0.0, 0.0, 0.0, 0.0)


def problem(seed=0, n=40, p=6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 0.5 * rng.normal(size=(n, 1)) + 2.0
    return X, X @ rng.normal(size=p) + rng.normal(size=n) + 3.0


def log_evidence(A, c, alpha, lambda_):
    """The density of c, whose covariance is I/α + AAᵀ/λ."""
    covariance = np.eye(len(c)) / alpha + A @ A.T / lambda_
    return float(multivariate_normal(cov=covariance, allow_singular=True).logpdf(c))


# (a) properties


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000), st.sampled_from([(20, 5), (5, 20), (7, 7)]))
def test_the_score_is_the_density_of_the_target(seed, shape):
    rng = np.random.default_rng(seed)
    A, c, (alpha, lambda_) = rng.normal(size=shape), rng.normal(size=shape[0]), 0.1 + rng.random(2)
    state = next(maximise_evidence(Spectrum.of(A, c), shape[0], lambda_, alpha, FLAT))
    assert_allclose(state.score, log_evidence(A, c, alpha, lambda_), rtol=1e-9)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10_000), st.sampled_from([(60, 5), (15, 25)]))
def test_where_it_ends_the_slope_of_the_evidence_is_zero(seed, shape):
    X, y = problem(seed, *shape)
    model = BayesianRidge(tol=1e-13, max_iter=3000, fit_intercept=False).fit(X, y)
    spectrum, step = Spectrum.of(X, y), 1e-4

    def score(a, b):
        start = model.lambda_ * np.exp(b * step), model.alpha_ * np.exp(a * step)
        return next(maximise_evidence(spectrum, len(y), *start, (1e-6,) * 4)).score

    assert abs(score(1, 0) - score(-1, 0)) / (2 * step) < 1e-3
    assert abs(score(0, 1) - score(0, -1)) / (2 * step) < 1e-3


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10_000), st.booleans())
def test_a_weight_is_a_number_of_rows(seed, intercept):
    X, y = problem(seed, 20, 4)
    s = np.random.default_rng(seed).integers(0, 4, size=20)
    options = {"fit_intercept": intercept, "compute_score": True}
    weighted = BayesianRidge(**options).fit(X, y, sample_weight=s)
    repeated = BayesianRidge(**options).fit(np.repeat(X, s, axis=0), np.repeat(y, s))
    for name in ("coef_", "intercept_", "alpha_", "lambda_", "sigma_", "X_offset_"):
        assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-6, atol=1e-9)
    assert_allclose(weighted.scores_, repeated.scores_, rtol=1e-9)
    assert weighted.n_iter_ == repeated.n_iter_


# (b) the naive version


@pytest.mark.parametrize("shape", [(40, 6), (6, 40)])
def test_the_naive_version_agrees(shape):
    X, y = problem(0, *shape)
    A, c, alpha, lambda_ = X - X.mean(axis=0), y - y.mean(), 1.0 / y.var(), 1.0
    for _ in range(5):
        Sigma = np.linalg.inv(alpha * A.T @ A + lambda_ * np.eye(shape[1]))
        w = alpha * Sigma @ A.T @ c
        determined = shape[1] - lambda_ * np.trace(Sigma)
        lambda_, alpha = determined / (w @ w), (shape[0] - determined) / np.sum((c - A @ w) ** 2)
    options = dict.fromkeys(("alpha_1", "alpha_2", "lambda_1", "lambda_2"), 0.0)
    model = BayesianRidge(max_iter=5, tol=1e-300, **options).fit(X, y)
    assert_allclose([model.alpha_, model.lambda_], [alpha, lambda_], rtol=1e-8)
    Sigma = np.linalg.inv(alpha * A.T @ A + lambda_ * np.eye(shape[1]))
    assert_allclose(model.coef_, alpha * Sigma @ A.T @ c, rtol=1e-7)
    assert_allclose(model.sigma_, Sigma, rtol=1e-6, atol=1e-9 * Sigma.max())


@pytest.mark.parametrize("least", [0.1, 1e-4, 1e-9])
def test_the_spectrum_is_exact_whatever_the_condition_number(least):
    rng = np.random.default_rng(0)
    U, V = (np.linalg.qr(rng.normal(size=(n, 5)))[0] for n in (30, 5))
    sigma, c = np.geomspace(1.0, least, 5), rng.normal(size=30)
    found = Spectrum.of((U * sigma) @ V.T, c)
    order = np.argsort(-found.lam)
    assert_allclose(np.sqrt(found.lam[order]), sigma, rtol=1e-6)
    rounding = 10 * EPS / least * np.linalg.norm(c)  # of X alone turns the last column of U so far
    assert_allclose(np.abs(found.z[order]), np.abs(c @ U), rtol=0, atol=rounding)
    assert_allclose(found.rest, np.sum((c - U @ (c @ U)) ** 2))


# (c) references


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", [(100, 10), (20, 30)])
def test_scikit_learn_agrees(shape, intercept):
    X, y = problem(1, *shape)
    given = {"fit_intercept": intercept, "alpha_1": 0.1, "lambda_2": 0.2, "compute_score": True}
    ours = BayesianRidge(**given).fit(X, y)
    reference = sklearn.linear_model.BayesianRidge(**given).fit(X, y)
    for name in ("coef_", "intercept_", "alpha_", "lambda_", "X_offset_", "X_scale_"):
        assert_allclose(getattr(ours, name), getattr(reference, name), rtol=1e-7)
    assert_allclose(ours.sigma_, reference.sigma_, rtol=1e-6, atol=1e-12)
    assert_allclose(ours.scores_[:-1], reference.scores_[:-1], rtol=1e-9)  # its last has an old w
    assert ours.n_iter_ == reference.n_iter_
    for a, b in zip(ours.predict(X, True), reference.predict(X, True), strict=True):
        assert_allclose(a, b, rtol=1e-7)
    assert isinstance(ours, sklearn.linear_model.BayesianRidge)


def test_the_weights_are_those_of_ridge():
    X, y = load_diabetes(return_X_y=True)
    model = BayesianRidge().fit(X, y)
    ridge = Ridge(alpha=model.lambda_ / model.alpha_).fit(X, y)
    assert_allclose(model.coef_, ridge.coef_, rtol=1e-9)


# (d) scikit-learn's checks


@parametrize_with_checks([BayesianRidge()])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# (e) traces, files


def test_a_trace_shows_the_evidence_rise():
    X, y = load_diabetes(return_X_y=True)
    model = BayesianRidge(compute_score=True).set_callbacks(trace := Trace()).fit(X, y)
    scores = [state["score"] for state in trace.states]
    assert (np.diff(scores) > -1e-6).all()
    assert_allclose(scores, model.scores_[1:])
    assert model.n_iter_ == len(scores)


def test_files_and_graphs(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    model = BayesianRidge().fit(X, y)
    again = mlreplica.load(mlreplica.save(model, tmp_path / "m.skops"))
    assert_array_equal(again.predict(X, return_std=True)[1], model.predict(X, return_std=True)[1])
    assert [out.name for out in mlreplica.to_onnx(model).graph.output] == ["prediction"]
