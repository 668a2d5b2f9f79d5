"""Gamma and Tweedie regression"""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import check_grad
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import mlreplica
from mlreplica.callbacks import Trace
from mlreplica.core.formulas.deviance import deviances
from mlreplica.core.rows import walk
from mlreplica.core.rows.walk import Rows
from mlreplica.linear_model import GammaRegressor, PoissonRegressor, TweedieRegressor
from mlreplica.linear_model.robust import tweedie as tw


def amounts(n=60, p=3, seed=0, zeros=False):
    """Rows and gamma amounts with mean e^(Xw + 1), some of them zero if asked for."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = rng.gamma(2.0, np.exp(X @ rng.normal(size=p) * 0.4 + 1) / 2.0)
    return X, np.where(rng.random(n) < 0.3, 0.0, y) if zeros else y


def objective(X, y, w, b, alpha, power, s=None):
    """P of (7) with the logarithm as link."""
    f = X @ w + b
    if power == 1:
        loss = np.exp(f) - y * f
    elif power == 2:
        loss = f + y * np.exp(-f)
    else:
        loss = np.exp((2 - power) * f) / (2 - power) - y * np.exp((1 - power) * f) / (1 - power)
    return np.average(loss, weights=s) + alpha / 2 * w @ w


def naive(X, y, alpha, power, s, fit_intercept, steps=60):
    """Newton's method as a textbook prints it."""
    Z = np.column_stack([np.ones(len(X)), X]) if fit_intercept else X
    s, penalty, v = s / s.sum(), np.full(Z.shape[1], alpha), np.zeros(Z.shape[1])
    if fit_intercept:
        penalty[0], v[0] = 0.0, np.log(s @ y)
    for _ in range(steps):
        a, d = np.exp((2 - power) * (Z @ v)), y * np.exp((1 - power) * (Z @ v))
        H = Z.T @ ((s * ((2 - power) * a + (power - 1) * d))[:, None] * Z) + np.diag(penalty)
        v = v - np.linalg.solve(H, Z.T @ (s * (a - d)) + penalty * v)
    return (v[1:], v[0]) if fit_intercept else (v, 0.0)


def model_of(power, **options):
    """A regressor of this power with the logarithm as link."""
    if power == 2:
        return GammaRegressor(**options)
    return TweedieRegressor(power=power, link="log", **options)


# (a) properties


@settings(deadline=None, max_examples=25)
@given(
    st.integers(0, 6),
    st.integers(0, 1000),
    st.sampled_from([0.0, 1e-3, 1.0]),
    st.sampled_from([1, 1.3, 1.7, 2]),
    st.booleans(),
)
def test_the_certificate_bounds_the_true_gap_after_any_number_of_steps(
    steps, seed, alpha, power, fit_intercept
):
    X, y = amounts(40, 3, seed, zeros=power < 2)
    s = np.random.default_rng(seed).uniform(0.2, 2.0, 40)
    trace = Trace()
    exact = model_of(power, alpha=alpha, fit_intercept=fit_intercept, tol=1e-9).fit(X, y, s)
    least = objective(X, y, exact.coef_, exact.intercept_, alpha, power, s)
    model = model_of(power, alpha=alpha, fit_intercept=fit_intercept, max_iter=steps + 1, tol=1e-14)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.set_callbacks(trace).fit(X, y, s)
    for state in trace.states:
        P = objective(X, y, state["w"], state["b"], alpha, power, s)
        assert_allclose(state["objective"], P, rtol=1e-11, atol=1e-12)
        assert P - least <= state["gap"] + 1e-12 * (1 + abs(P))
    assert (np.diff([state["objective"] for state in trace.states]) <= 1e-12).all()


@pytest.mark.parametrize("power", [-1.0, 0.0, 1.0, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("log", [True, False])
def test_gradients_are_those_of_the_objective(power, log):
    X, y = amounts(30, 2, 1)
    rng = np.random.default_rng(0)
    problem = tw.Amounts.of(Rows.of(X), y, rng.uniform(0.5, 2.0, 30), 0.1, power, log)
    f = rng.uniform(0.3, 1.2, 30)
    error = check_grad(lambda f: problem.terms(f)[0], lambda f: problem.terms(f)[1], f)
    assert error < 1e-6
    if problem.convex:
        step = 1e-6 * rng.normal(size=30)
        change = problem.terms(f + step)[1] - problem.terms(f - step)[1]
        assert_allclose(change, 2 * problem.terms(f)[2] * step, rtol=1e-4, atol=1e-12)


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 1000), st.sampled_from([0, 1, 1.5, 2, 3]))
def test_a_weight_counts_like_repeated_rows(seed, power):
    X, y = amounts(25, 2, seed)
    s = np.random.default_rng(seed).integers(0, 4, 25)
    s[:3] = 1
    keep = np.repeat(np.arange(25), s)
    model = TweedieRegressor(power=power, alpha=0.1, tol=1e-9)
    one, two = clone(model).fit(X, y, s), clone(model).fit(X[keep], y[keep])
    assert_allclose(one.coef_, two.coef_, rtol=1e-6, atol=1e-8)
    assert_allclose(one.intercept_, two.intercept_, rtol=1e-6, atol=1e-8)
    assert_allclose(one.score(X, y, s), two.score(X[keep], y[keep]), rtol=1e-8)


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 1000), st.sampled_from([1.0, 1.4, 2.0]), st.sampled_from([1e-6, 1e6]))
def test_the_unit_of_y_changes_only_the_intercept(seed, power, unit):
    X, y = amounts(40, 2, seed)
    one = TweedieRegressor(power=power, alpha=0.0, tol=1e-8).fit(X, y)
    two = TweedieRegressor(power=power, alpha=0.0, tol=1e-8).fit(X, unit * y)
    assert_allclose(two.coef_, one.coef_, rtol=1e-6, atol=1e-9)
    assert_allclose(two.intercept_, one.intercept_ + np.log(unit), rtol=1e-6)


def test_deviances_are_zero_at_the_truth_and_positive_elsewhere():
    y = np.linspace(0.1, 5.0, 50)
    for power in (-1.0, 0.0, 1.0, 1.5, 2.0, 3.0):
        assert_allclose(deviances(y, y, power), 0.0, atol=1e-13)
        assert (deviances(y, y + 0.5, power) > 0).all()
    near = deviances(y, y + 0.5, 1.0)
    assert_allclose(deviances(y, y + 0.5, 1.0 + 1e-6), near, rtol=1e-4)


# (b) the naive version


@pytest.mark.parametrize("alpha", [0.0, 0.01, 2.0])
@pytest.mark.parametrize("power", [1, 1.5, 2])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_naive_version_agrees(alpha, power, fit_intercept):
    X, y = amounts(80, 4, 1, zeros=power < 2)
    s = np.random.default_rng(0).uniform(0.5, 2.0, 80)
    w, b = naive(X, y, alpha, power, s, fit_intercept)
    model = model_of(power, alpha=alpha, fit_intercept=fit_intercept, tol=1e-9).fit(X, y, s)
    assert_allclose(model.coef_, w, rtol=1e-7, atol=1e-9)
    assert_allclose(model.intercept_, b, rtol=1e-7, atol=1e-9)
    assert 0 <= model.certificate_ <= 1e-15 * max(1.0, y.mean())


def test_the_kernel_is_its_formula():
    rng = np.random.default_rng(0)
    y, s, f = rng.gamma(2.0, size=50), rng.random(50), rng.normal(size=50)
    a, d = np.empty(50), np.empty(50)
    sums = tw.log_terms(y, s, f, 1.3, a, d)
    assert_allclose(a, s * np.exp(0.7 * f), rtol=1e-13)
    assert_allclose(d, s * y * np.exp(-0.3 * f), rtol=1e-13)
    assert_allclose(sums, (a.sum(), d.sum()), rtol=1e-13)


def test_conjugate_gradients_sparse_and_wide_x_reach_the_same_minimum(monkeypatch):
    X, y = amounts(40, 60, 2)
    turned = GammaRegressor(alpha=0.1, tol=1e-8).fit(X, y)
    monkeypatch.setattr(walk, "DIRECT", 5)
    for other in (X, sp.csr_array(X)):
        by_cg = GammaRegressor(alpha=0.1, tol=1e-8).fit(other, y)
        assert_allclose(by_cg.coef_, turned.coef_, rtol=1e-5, atol=1e-8)
        assert by_cg.certificate_ <= 1e-14


# (c) references


@pytest.mark.parametrize("power", [0, 1, 1.5, 2, 3])
@pytest.mark.parametrize("alpha", [1e-3, 1.0])
def test_scikit_learn_agrees(power, alpha):
    X, y = amounts(300, 5, 5)
    ours = TweedieRegressor(power=power, alpha=alpha, tol=1e-8).fit(X, y)
    theirs = sklearn.linear_model.TweedieRegressor(
        power=power, alpha=alpha, tol=1e-9, max_iter=5000
    ).fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4, atol=1e-6)
    assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-5)
    s = np.arange(1.0, 301.0)
    theirs.coef_, theirs.intercept_ = ours.coef_, ours.intercept_
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-12)
    assert_allclose(ours.score(X, y), theirs.score(X, y), rtol=1e-10)
    assert_allclose(ours.score(X, y, s), theirs.score(X, y, s), rtol=1e-10)


@pytest.mark.parametrize("power", [1, 2, -1])
def test_links_are_scikit_learns(power):
    X, y = amounts(200, 3, 6)
    X = np.abs(X)
    for link in ("log", "identity") if power > 0 else ("log",):
        given = {"power": power, "alpha": 0.01, "link": link}
        ours = TweedieRegressor(tol=1e-8, **given).fit(X, y)
        theirs = sklearn.linear_model.TweedieRegressor(tol=1e-8, max_iter=5000, **given).fit(X, y)
        assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-3)


def test_statsmodels_agrees():
    X, y = amounts(200, 4, 6)
    family = sm.families.Gamma(link=sm.families.links.Log())
    theirs = sm.GLM(y, sm.add_constant(X), family=family).fit(tol=1e-12).params
    ours = GammaRegressor(alpha=0.0, tol=1e-8).fit(X, y)
    assert_allclose(np.append(ours.intercept_, ours.coef_), theirs, rtol=1e-7)


def test_the_power_one_is_poisson_and_two_is_gamma():
    X, y = amounts(100, 3, 7)
    for power, other in ((1, PoissonRegressor), (2, GammaRegressor)):
        one = TweedieRegressor(power=power, alpha=0.1, tol=1e-9).fit(X, y)
        two = other(alpha=0.1, tol=1e-9).fit(X, y)
        assert_allclose(one.coef_, two.coef_, rtol=1e-7)
        assert_allclose(one.score(X, y), two.score(X, y), rtol=1e-8)


# (d) scikit-learn's checks


@parametrize_with_checks([GammaRegressor(), TweedieRegressor(), TweedieRegressor(power=1.5)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# (e) bad and hard input


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (GammaRegressor(), [1.0, 0.0, 2.0], "HalfGammaLoss.*must be > 0, got 0"),
        (TweedieRegressor(power=1.5), [1.0, -1.0, 2.0], "HalfTweedieLoss.*>= 0, got -1"),
        (TweedieRegressor(power=1), [1.0, -1.0, 2.0], "HalfPoissonLoss"),
        (TweedieRegressor(power=3), [1.0, 0.0, 2.0], "valid range"),
        (TweedieRegressor(power="a"), [1.0, 1.0, 2.0], "power"),
        (TweedieRegressor(link="logit"), [1.0, 1.0, 2.0], "link"),
        (TweedieRegressor(power=-1, link="log"), [1.0, -9.0, 2.0], "mean of y must be"),
        (GammaRegressor(alpha=-1.0), [1.0, 1.0, 2.0], "alpha"),
        (GammaRegressor(), [1.0, np.nan, 2.0], "NaN"),
    ],
)
def test_bad_input_says_what_is_wrong(model, y, message):
    with pytest.raises(ValueError, match=message):
        model.fit([[0.0], [1.0], [2.0]], y)


def test_only_zeros_without_a_start():
    X = np.random.default_rng(0).normal(size=(10, 2))
    model = TweedieRegressor(power=1.5).fit(X, np.zeros(10))
    assert (model.predict(X) <= 3e-16).all()
    with pytest.raises(ValueError, match="No start with positive predictions"):
        TweedieRegressor(power=1, link="identity", fit_intercept=False).fit(X, np.ones(10))


def test_warm_start_needs_no_step():
    X, y = amounts()
    for model in (GammaRegressor(warm_start=True), TweedieRegressor(power=1.5, warm_start=True)):
        model.fit(X, y)
        coef = model.coef_.copy()
        assert model.fit(X, y).n_iter_ == 0
        assert_allclose(model.coef_, coef, rtol=1e-12)


def test_files_hold_them(tmp_path):
    X, y = amounts()
    for model in (GammaRegressor(), TweedieRegressor(power=1.5)):
        model.fit(X, y)
        for again in (
            mlreplica.load(mlreplica.save(model, tmp_path / "m.skops")),
            pickle.loads(pickle.dumps(model)),
        ):
            np.testing.assert_array_equal(again.predict(X), model.predict(X))
        model.coef_ = model.coef_[:2]
        with pytest.raises(ValueError, match="coef_"):
            mlreplica.load(mlreplica.save(model, tmp_path / "m.skops"))


def test_not_converged_says_so_with_the_number():
    with pytest.warns(ConvergenceWarning, match="gap .* raise max_iter"):
        GammaRegressor(max_iter=1, tol=1e-12).fit(*amounts())
