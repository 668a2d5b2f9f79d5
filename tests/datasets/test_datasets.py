"""The stated truth is true: Monte Carlo within five standard errors, margins to rounding."""

import subprocess
import sys

import numpy as np
import pytest
import sklearn.datasets
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_spd_matrix
from sklearn.linear_model import LinearRegression
from sklearn.svm import SVC

from mlreplica import datasets
from mlreplica.datasets import (
    TOYS,
    make_gaussian_classes,
    make_linear_classification,
    make_linear_regression,
    make_polynomial_regression,
    make_separable,
    toy,
)
from mlreplica.datasets.regression import correlated_rows_covariance_times

N = 40_000
SE = 5  # standard errors


def assert_mean(values, expected):
    """The mean of independent values is as expected, within SE standard errors."""
    error = np.std(values) / np.sqrt(len(values)) + 1e-15  # and rounding
    assert abs(np.mean(values) - expected) <= SE * error, (np.mean(values), expected, error)


def error_of(truth, X, y, labels):
    """0/1 errors of the classifier that `truth` calls the best one."""
    return labels[truth.predict_proba(X).argmax(axis=1)] != y


GENERATORS = {
    "linear": lambda seed: make_linear_regression(30, 4, outliers=0.1, random_state=seed),
    "conditioned": lambda seed: make_linear_regression(
        30, 4, condition_number=9.0, random_state=seed
    ),
    "polynomial": lambda seed: make_polynomial_regression(30, random_state=seed),
    "separable": lambda seed: make_separable(30, random_state=seed),
    "logistic": lambda seed: make_linear_classification(30, random_state=seed),
    "gaussian": lambda seed: make_gaussian_classes(30, covariance="full", random_state=seed),
    **{name: lambda seed, name=name: toy(name, 30, random_state=seed) for name in TOYS},
}


@pytest.mark.parametrize("make", GENERATORS.values(), ids=GENERATORS)
def test_same_seed_same_sample(make):
    (X, y, _), again, other = make(3), make(3), make(4)
    assert X.shape[0] == y.shape[0] == 30
    assert X.flags.c_contiguous
    assert X.dtype == np.float64
    assert_array_equal(X, again.X)
    assert_array_equal(y, again.y)
    assert not np.array_equal(X, other.X)


@pytest.mark.parametrize("name", [n for n in datasets.__all__ if hasattr(sklearn.datasets, n)])
def test_scikit_learn_sets_are_scikit_learn_objects(name):
    assert getattr(datasets, name) is getattr(sklearn.datasets, name)


def test_all_expected_names_are_there():
    shipped = ["iris", "wine", "breast_cancer", "diabetes", "digits", "linnerud"]
    made = ["classification", "regression", "blobs", "moons", "circles"]
    names = [f"load_{name}" for name in shipped] + [f"make_{name}" for name in made]
    assert set(names) <= set(datasets.__all__)


def test_import_is_as_light_as_scikit_learn():
    code = """
import sys, sklearn.datasets
before = set(sys.modules)
import mlreplica.datasets
heavy = {"numba", "matplotlib", "pandas", "polars", "dask", "typer"}
print(sorted(heavy & (set(sys.modules) - before)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# Linear regression -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"correlation": 0.8},
        {"correlation": -0.6, "noise_spread": 0.4},
        {"condition_number": 100.0, "intercept": -3.0},
        {"n_informative": 2, "noise": 0.5},
    ],
)
def test_linear_noise_and_best_r2(options):
    X, y, truth = make_linear_regression(N, 5, random_state=0, **options)
    residual = y - truth.predict(X)
    assert_mean(residual, 0.0)
    assert_mean(residual**2, truth.noise**2)
    assert_mean(truth.sample_weight * residual**2, truth.noise**2)
    f = truth.predict(X) - truth.intercept
    signal = truth.noise**2 * truth.best_r2 / (1 - truth.best_r2)
    if "condition_number" in options:
        assert_allclose(np.var(f), signal, rtol=1e-12)
    else:
        assert_mean(f**2, signal)


def test_linear_weights_are_recovered():
    X, y, truth = make_linear_regression(N, 6, noise=0.3, intercept=2.0, random_state=1)
    model = LinearRegression().fit(X, y)
    assert_allclose(model.coef_, truth.coef, rtol=0, atol=SE * 0.3 / np.sqrt(N) * 1.05)
    assert_allclose(model.intercept_, 2.0, rtol=0, atol=SE * 0.3 / np.sqrt(N) * 1.05)


def test_weighted_residuals_are_standard_normal_noise():
    X, y, truth = make_linear_regression(N, 2, noise=2.0, noise_spread=0.7, random_state=2)
    z = np.sqrt(truth.sample_weight) * (y - truth.predict(X)) / truth.noise
    assert_mean(z**2, 1.0)
    assert_mean(z**4, 3.0)  # normal: not a mixture of spreads any more
    assert_mean(np.log(truth.sample_weight) / 2, 0.7**2)
    assert np.std(np.log(truth.sample_weight) / 2) == pytest.approx(0.7, rel=SE / np.sqrt(2 * N))


@pytest.mark.parametrize("kappa", [1.0, 37.0, 1e8])
def test_condition_number_is_exact_and_survives_centring(kappa):
    X, _, truth = make_linear_regression(60, 7, condition_number=kappa, random_state=0)
    assert truth.condition_number == kappa
    # The smallest singular value is known to eps · κ relative to itself.
    rtol = 60 * np.finfo(float).eps * kappa + 1e-12
    assert_allclose(np.linalg.cond(X), kappa, rtol=rtol)
    assert_allclose(np.linalg.cond(X - X.mean(axis=0)), kappa, rtol=rtol)
    assert_allclose(X.mean(axis=0), 0.0, atol=1e-14)


@pytest.mark.parametrize("rho", [0.0, 0.7, -0.4])
def test_correlation_and_its_condition_number(rho):
    X, _, truth = make_linear_regression(N, 4, correlation=rho, random_state=5)
    Sigma = rho ** np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    for j in range(4):
        for k in range(4):
            assert_mean(X[:, j] * X[:, k], Sigma[j, k])
    assert_allclose(truth.condition_number, np.sqrt(np.linalg.cond(Sigma)), rtol=1e-12)
    w = np.array([1.0, -2.0, 0.5, 3.0])
    assert_allclose(correlated_rows_covariance_times(w, rho), Sigma @ w, rtol=1e-13)


def test_support_outliers_and_given_weights():
    X, y, truth = make_linear_regression(
        200, 9, n_informative=4, outliers=0.1, noise=0.1, random_state=0
    )
    assert_array_equal(truth.support, np.flatnonzero(truth.coef))
    assert len(truth.support) == 4
    assert np.all(np.abs(truth.coef[truth.support]) >= 1)
    far = np.abs(y - truth.predict(X)) > 1.0
    assert_array_equal(far, truth.outliers)
    assert far.sum() == 20
    X, y, truth = make_linear_regression(9, 2, coef=[1, -2], noise=0, intercept=3, random_state=0)
    assert_allclose(y, 3 + X[:, 0] - 2 * X[:, 1], rtol=1e-15, atol=1e-15)
    assert truth.best_r2 == 1.0
    assert_array_equal(truth.sample_weight, 1.0)


# Polynomials -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"degree": 1},
        {"degree": 6, "noise": 0.7},
        {"degree": 4, "low": 2.0, "high": 5.0},
        {"coef": [1.0, -2.0, 0.0, 0.5], "low": -3.0, "high": 1.0, "noise": 2.0},
    ],
)
def test_polynomial_noise_and_best_r2(options):
    X, y, truth = make_polynomial_regression(N, random_state=0, **options)
    residual = y - truth.predict(X)
    assert_mean(residual**2, truth.noise**2)
    low, high = options.get("low", -1.0), options.get("high", 1.0)
    assert X.min() >= low
    assert X.max() <= high
    f = np.polynomial.Polynomial(truth.coef)
    moment = lambda g: (g.integ()(high) - g.integ()(low)) / (high - low)
    signal = moment(f * f) - moment(f) ** 2
    assert_allclose(truth.best_r2, signal / (signal + truth.noise**2), rtol=1e-9)
    if "coef" not in options:
        assert len(truth.coef) == options["degree"] + 1
        assert_allclose(signal, 1.0, rtol=1e-9)


def test_a_constant_has_nothing_to_explain():
    _, y, truth = make_polynomial_regression(50, coef=[2.0], noise=0.0, random_state=0)
    assert_array_equal(y, 2.0)
    assert truth.best_r2 == 0.0


# Separable ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1, 2, 3, 40])
@pytest.mark.parametrize("b", [0.0, 0.4, -1.3])
def test_margin_is_exact_and_the_largest(p, b):
    X, y, truth = make_separable(120, p, margin=0.2, radius=2.0, intercept=b, random_state=p)
    margins = y * (X @ truth.coef + truth.intercept)
    assert_allclose(np.linalg.norm(truth.coef), 1.0, rtol=1e-14)
    assert_allclose(margins.min(), 0.2, rtol=1e-13)
    assert_allclose(margins[truth.support], 0.2, rtol=1e-13)
    assert set(np.unique(y)) == {-1, 1}
    assert abs(y.sum()) <= 1
    # Two points of different classes 2γ apart: no hyperplane has a larger margin.
    assert_allclose(np.linalg.norm(np.subtract(*X[truth.support])), 0.4, rtol=1e-13)
    norms = np.linalg.norm(X, axis=1)
    assert truth.radius == pytest.approx(norms.max(), rel=1e-15)
    assert norms.max() <= 2.0 * (1 + 1e-14)


def test_hard_margin_svm_finds_the_stated_hyperplane():
    X, y, truth = make_separable(80, 3, margin=0.3, radius=2.0, intercept=0.2, random_state=0)
    model = SVC(kernel="linear", C=1e6, tol=1e-8).fit(X, y)
    assert_allclose(model.coef_[0] * truth.margin, truth.coef, atol=1e-5)
    assert_allclose(model.intercept_[0] * truth.margin, 0.2, atol=1e-5)


def mistakes(X, y):
    """The number of updates of Rosenblatt's perceptron until it makes no mistake."""
    w, updates, wrong = np.zeros(X.shape[1]), 0, True
    while wrong:
        wrong = False
        for x_i, y_i in zip(X, y, strict=True):
            if y_i * (w @ x_i) <= 0:
                w, updates, wrong = w + y_i * x_i, updates + 1, True
    return updates


@pytest.mark.parametrize("seed", range(4))
def test_perceptron_keeps_the_mistake_bound(seed):
    X, y, truth = make_separable(60, 4, margin=0.1, random_state=seed)
    assert 0 < mistakes(X, y) <= truth.mistake_bound(fit_intercept=False)
    assert truth.mistake_bound(fit_intercept=False) == (truth.radius / 0.1) ** 2
    X, y, truth = make_separable(60, 4, margin=0.1, intercept=0.5, random_state=seed)
    assert 0 < mistakes(np.column_stack([X, np.ones(60)]), y) <= truth.mistake_bound()
    assert truth.mistake_bound(fit_intercept=False) == np.inf


def test_heights_outside_the_band_are_uniform_in_the_ball():
    X, y, truth = make_separable(N, 5, margin=0.1, random_state=0)
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((4 * N, 5))
    Z *= rng.uniform(size=(4 * N, 1)) ** (1 / 5) / np.linalg.norm(Z, axis=1, keepdims=True)
    expected = np.abs(Z @ truth.coef)
    expected = expected[expected >= 0.1]
    heights = np.abs(X @ truth.coef)
    error = np.hypot(heights.std() / np.sqrt(N), expected.std() / np.sqrt(len(expected)))
    assert abs(heights.mean() - expected.mean()) < SE * error
    assert_mean(np.sum(X**2, axis=1)[y > 0], np.mean(np.sum(X**2, axis=1)[y < 0]))


# Logistic ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"steepness": 0.0},
        {"steepness": 0.0, "intercept": 1.0},
        {"steepness": 1.0, "intercept": 2.0},
        {"steepness": 50.0, "flip": 0.2, "intercept": -10.0},
        {"flip": 0.5},
        {"intercept": 60.0},
    ],
)
def test_logistic_bayes_error_and_log_loss(options):
    X, y, truth = make_linear_classification(N, 3, random_state=0, **options)
    P = truth.predict_proba(X)
    assert_allclose(P.sum(axis=1), 1.0, rtol=1e-15)
    assert_allclose(np.linalg.norm(truth.coef), options.get("steepness", 3.0), rtol=1e-14)
    assert_mean(P.min(axis=1), truth.bayes_error)
    assert_mean(error_of(truth, X, y, np.array([-1, 1])), truth.bayes_error)
    own = np.log(P[np.arange(N), (y > 0).astype(int)])
    assert_mean(-own, truth.best_log_loss)


def test_logistic_limits():
    assert make_linear_classification(10, flip=0.5).truth.bayes_error == pytest.approx(0.5)
    assert make_linear_classification(10, flip=0.5).truth.best_log_loss == pytest.approx(np.log(2))
    steep = make_linear_classification(10, steepness=1e4, flip=0.1).truth
    assert steep.bayes_error == pytest.approx(0.1, abs=1e-4)


# Gaussian classes --------------------------------------------------------------------------------

GAUSSIANS = [
    {},
    {"covariance": "shared", "priors": [0.2, 0.8]},
    {"covariance": "full", "n_features": 5},
    {"n_classes": 3},
    {"n_classes": 4, "n_features": 5, "covariance": "full", "priors": [0.1, 0.2, 0.3, 0.4]},
    {"separation": 0.0, "priors": [0.3, 0.7]},
    {"means": [[0.0], [3.0], [4.0], [9.0]], "covariance": [[2.0]]},
]


@pytest.mark.parametrize("options", GAUSSIANS)
def test_gaussian_bayes_error_by_monte_carlo(options):
    X, y, truth = make_gaussian_classes(N, random_state=0, **options)
    assert_mean(error_of(truth, X, y, np.arange(len(truth.priors))), truth.bayes_error)
    assert_mean(1 - truth.predict_proba(X).max(axis=1), truth.bayes_error)
    for k, prior in enumerate(truth.priors):
        assert_mean(y == k, prior)
        for x_j, mu_j, s_jj in zip(
            X[y == k].T, truth.means[k], np.diag(truth.covariances[k]), strict=True
        ):
            assert_mean(x_j, mu_j)
            assert_mean((x_j - mu_j) ** 2, s_jj)


@pytest.mark.parametrize("covariance", ["identity", "shared", "full"])
@pytest.mark.parametrize("K", [2, 3])
def test_gaussian_bayes_error_by_integration(covariance, K):
    _, _, truth = make_gaussian_classes(
        10, n_classes=K, covariance=covariance, separation=1.5, random_state=7
    )
    grid = np.linspace(-12, 12, 1201)
    XX = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    right = np.exp(truth.log_joint(XX).max(axis=1)).sum() * (grid[1] - grid[0]) ** 2
    assert_allclose(truth.bayes_error, 1 - right, rtol=1e-3)


def test_gaussian_log_joint_is_a_density():
    _, _, truth = make_gaussian_classes(
        10, means=[[0, 0], [1, 2]], covariance=make_spd_matrix(2, random_state=0), random_state=0
    )
    grid = np.linspace(-15, 15, 601)
    XX = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    total = np.exp(truth.log_joint(XX)).sum(axis=0) * (grid[1] - grid[0]) ** 2
    assert_allclose(total, truth.priors, rtol=1e-6)


def test_simplex_and_determinant():
    _, _, truth = make_gaussian_classes(10, 6, 4, separation=3.0, covariance="full", random_state=0)
    apart = np.linalg.norm(truth.means[:, None] - truth.means[None], axis=-1)
    assert_allclose(apart[~np.eye(4, dtype=bool)], 3.0, rtol=1e-13)
    assert_allclose(np.linalg.det(truth.covariances), 1.0, rtol=1e-12)


# Plane sets --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TOYS)
def test_toy_bayes_error(name):
    noise = {"spirals": 0.1, "line": 0.25, "blobs": 0.5}.get(name, 0.2)
    X, y, truth = toy(name, 6000, noise=noise, random_state=0)
    K = len(truth.shapes)
    assert_array_equal(np.bincount(y), [len(y[k::K]) for k in range(K)])
    assert_mean(error_of(truth, X, y, np.arange(K)), truth.bayes_error)
    assert_mean(1 - truth.predict_proba(X).max(axis=1), truth.bayes_error)
    assert truth.bayes_error > 0.005


@pytest.mark.parametrize("name", ["moons", "xor", "blobs"])
def test_toy_bayes_error_by_integration(name):
    _, _, truth = toy(name, 3, noise=0.5 if name == "blobs" else 0.25)
    K, m, _ = truth.shapes.shape
    grid = np.linspace(-4, 4, 201)
    XX = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    density = np.exp(truth.log_density(XX)) / (m * 2 * np.pi * truth.noise**2)
    area = (grid[1] - grid[0]) ** 2
    assert_allclose(density.sum(axis=0) * area, 1.0, rtol=1e-5)
    assert_allclose(truth.bayes_error, 1 - density.max(axis=1).sum() * area / K, rtol=2e-2)


@pytest.mark.parametrize("name", TOYS)
def test_toy_without_noise_is_separable(name):
    X, y, truth = toy(name, 300, noise=0.0, random_state=0)
    assert truth.bayes_error == 0.0
    assert_array_equal(truth.predict_proba(X).argmax(axis=1), y)


# Errors ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (make_linear_regression, {"noise": -1.0}, "'noise' parameter"),
        (make_linear_regression, {"correlation": 1.0}, "'correlation' parameter"),
        (make_linear_regression, {"coef": [1.0, 2.0]}, r"coef must have shape \(10,\)"),
        (make_linear_regression, {"n_informative": 11}, "n_informative must be <= n_features"),
        (make_linear_regression, {"n_samples": 10, "condition_number": 2.0}, "n_samples > n_feat"),
        (make_linear_regression, {"n_features": 1, "condition_number": 2.0}, "raise n_features"),
        (make_linear_regression, {"correlation": 0.1, "condition_number": 2.0}, "exclude"),
        (make_polynomial_regression, {"low": 1.0, "high": 1.0}, "low must be < high"),
        (make_separable, {"margin": 0.0}, "'margin' parameter"),
        (make_separable, {"margin": 0.6, "intercept": 0.5}, "radius must be >"),
        (make_separable, {"n_features": 10_000, "margin": 0.9}, "lower the margin"),
        (make_linear_classification, {"flip": 0.6}, "'flip' parameter"),
        (make_gaussian_classes, {"n_classes": 4}, "need n_features >= 3"),
        (make_gaussian_classes, {"priors": [0.5, 0.6]}, "add up to 1"),
        (make_gaussian_classes, {"covariance": "round"}, "'covariance' parameter"),
        (toy, {"name": "sun"}, "'name' parameter"),
    ],
)
def test_bad_arguments(make, options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)
