import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import brentq, minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from mlreplica.callbacks import Trace
from mlreplica.core.rows import walk
from mlreplica.linear_model import HuberRegressor, LinearRegression
from mlreplica.linear_model.robust import huber as hu


def wild(n=60, p=3, seed=0, share=0.1):
    """A line with normal errors and a share of wild values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 1.0
    y = X @ rng.normal(size=p) + 2.0 + rng.normal(size=n)
    y[: int(share * n)] += rng.normal(size=int(share * n)) * 50
    return X, y


def objective(X, y, w, b, sigma, alpha=1e-4, epsilon=1.35, s=None):
    """P of (1)."""
    s = np.ones(len(y)) if s is None else s
    z = np.abs(y - X @ w - b) / sigma
    H = np.where(z <= epsilon, z * z, 2 * epsilon * z - epsilon**2)
    return sigma * (s @ (1 + H)) + alpha * w @ w


def of(model, X, y, s=None):
    """P of a fitted model."""
    parts = model.coef_, model.intercept_, model.scale_
    return objective(X, y, *parts, model.alpha, model.epsilon, s)


# (a) properties


@settings(deadline=None, max_examples=20)
@given(
    st.integers(0, 8),
    st.integers(0, 1000),
    st.sampled_from([0.0, 1e-4, 1.0]),
    st.sampled_from([1.05, 1.35, 3.0]),
    st.booleans(),
)
def test_the_certificate_bounds_the_true_gap_after_any_number_of_steps(
    steps, seed, alpha, epsilon, fit_intercept
):
    X, y = wild(40, 3, seed)
    s = np.random.default_rng(seed).uniform(0.2, 2.0, 40)
    settings = {"alpha": alpha, "epsilon": epsilon, "fit_intercept": fit_intercept}
    least = of(HuberRegressor(**settings, tol=1e-7, max_iter=500).fit(X, y, s), X, y, s)
    trace = Trace()
    model = HuberRegressor(**settings, max_iter=steps, tol=1e-7).set_callbacks(trace)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y, s)
    for state in trace.states:
        P = objective(X, y, state["w"], state["b"], state["sigma"], alpha, epsilon, s)
        assert_allclose(state["objective"], P, rtol=1e-11)
        assert P - least <= state["gap"] + 1e-12 * P
    assert model.certificate_ == trace.states[-1]["gap"]


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 1000), st.sampled_from([1.0001, 1.35, 2.0]), st.floats(0.05, 0.6))
def test_the_scale_solves_its_equation(seed, epsilon, share):
    rng = np.random.default_rng(seed)
    r, s = rng.standard_t(2, size=50), rng.random(50)
    r[: int(share * 50)] *= 100
    s /= s.sum()

    def excess(sigma):
        return s @ np.minimum((r / sigma) ** 2, epsilon**2) - 1.0

    sigma = hu.best_scale(r, s, epsilon, 1e-12)
    assert_allclose(sigma, brentq(excess, 1e-6, 1e4, xtol=1e-14, rtol=1e-13), rtol=1e-9)


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 1000))
def test_a_weight_counts_like_repeated_rows(seed):
    X, y = wild(30, 2, seed)
    s = np.random.default_rng(seed).integers(0, 4, 30)
    s[5:10] = 1
    keep = np.repeat(np.arange(30), s)
    one, two = HuberRegressor().fit(X, y, s), HuberRegressor().fit(X[keep], y[keep])
    assert_allclose(one.coef_, two.coef_, rtol=1e-5, atol=1e-7)
    assert_allclose(one.scale_, two.scale_, rtol=1e-5)
    assert_array_equal(one.outliers_[keep], two.outliers_)


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 1000), st.sampled_from([1e-150, 1e-9, 3.0, 1e9, 1e150]))
def test_units_of_y_scale_the_answer(seed, unit):
    X, y = wild(50, 3, seed)
    model = HuberRegressor(alpha=0.0, tol=1e-7)
    one, two = clone(model).fit(X, y), clone(model).fit(X + 3.0, unit * (y - 7.0))
    assert_allclose(two.coef_, unit * one.coef_, rtol=1e-7)
    assert_allclose(two.scale_, unit * one.scale_, rtol=1e-7)
    assert_array_equal(two.outliers_, one.outliers_)


# (b) a naive version, (c) references


@pytest.mark.parametrize("alpha", [1e-4, 0.1])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_general_optimiser_finds_nothing_better(alpha, fit_intercept):
    X, y = wild(80, 3, 1)
    model = HuberRegressor(alpha=alpha, fit_intercept=fit_intercept, tol=1e-7).fit(X, y)

    def at(x):
        b = x[3] if fit_intercept else 0.0
        return objective(X, y, x[:3], b, np.exp(x[-1]), alpha)

    x = np.append(model.coef_, [model.intercept_] * fit_intercept)
    x = np.append(x, np.log(model.scale_))
    other = minimize(at, x + 0.1, method="BFGS", options={"gtol": 1e-7})
    assert at(x) <= other.fun + 1e-10
    assert_allclose(x, other.x, atol=1e-4)


@pytest.mark.parametrize("epsilon", [1.1, 1.35, 5.0])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("sparse", [True, False])
def test_never_above_scikit_learn(epsilon, weighted, sparse):
    X, y = wild(200, 4, 2)
    s = np.random.default_rng(0).uniform(0.5, 2.0, 200) if weighted else None
    data = sp.csr_array(X) if sparse else X
    ours = HuberRegressor(epsilon=epsilon).fit(data, y, s)
    theirs = sklearn.linear_model.HuberRegressor(epsilon=epsilon, tol=1e-8, max_iter=2000)
    theirs.fit(data, y, s)
    assert of(ours, X, y, s) <= of(theirs, X, y, s) * (1 + 1e-12)
    assert_allclose(ours.coef_, theirs.coef_, rtol=1e-3, atol=1e-4)
    assert_allclose(ours.predict(data), X @ ours.coef_ + ours.intercept_, rtol=1e-12)
    assert np.mean(ours.outliers_ == theirs.outliers_) > 0.98


def test_least_squares_is_the_limit_of_a_large_epsilon():
    X, y = wild(100, 3, 3)
    ols = LinearRegression().fit(X, y)
    model = HuberRegressor(epsilon=1e3, alpha=0.0, tol=1e-8).fit(X, y)
    assert_allclose(model.coef_, ols.coef_, rtol=1e-8)
    assert_allclose(model.scale_, np.sqrt(np.mean((y - ols.predict(X)) ** 2)), rtol=1e-8)


@pytest.mark.parametrize("epsilon", [1.0, 1.001])
def test_the_smallest_epsilon_is_least_absolute_deviations(epsilon):
    X, y = wild(60, 3, 4)
    model = HuberRegressor(epsilon=epsilon, alpha=0.0, max_iter=1000).fit(X, y)
    theirs = sklearn.linear_model.QuantileRegressor(alpha=0.0).fit(X, y)
    best = np.abs(y - theirs.predict(X)).sum()
    assert np.abs(y - model.predict(X)).sum() <= best * (1.0 + 2 * (epsilon - 1) + 1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_many_blocks_and_a_thinned_start_change_nothing(monkeypatch, dtype):
    X, y = wild(5000, 4, 5)
    X = X.astype(dtype)
    one = HuberRegressor().fit(X.astype(float), y)
    monkeypatch.setattr(walk, "BLOCK", 1024)
    monkeypatch.setattr(walk, "LARGE", 1)
    monkeypatch.setattr(walk, "MANY", 8)
    two = HuberRegressor().fit(X, y)
    assert two.n_iter_ < one.n_iter_
    assert_allclose(two.coef_, one.coef_, rtol=1e-4)
    assert_allclose(two.scale_, one.scale_, rtol=1e-4)


# (d) scikit-learn's checks


@parametrize_with_checks([HuberRegressor()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# (e) bad and hard input


@pytest.mark.parametrize(
    ("parameters", "data", "message"),
    [
        ({"alpha": -1.0}, {}, "alpha"),
        ({"epsilon": 0.9}, {}, "epsilon"),
        ({"max_iter": -1}, {}, "max_iter"),
        ({}, {"y": [1.0, np.nan, 2.0]}, "NaN"),
        ({}, {"y": ["a", "b", "c"]}, "could not convert"),
        ({}, {"X": np.array([[np.inf], [1.0], [2.0]])}, "infinity"),
        ({}, {"X": np.zeros((3, 0))}, "0 feature"),
        ({}, {"sample_weight": [0.0, 0.0, 0.0]}, "zero"),
        ({}, {"sample_weight": [1.0, -1.0, 1.0]}, "[Nn]egative"),
    ],
)
def test_bad_input_says_what_is_wrong(parameters, data, message):
    data = {"X": [[0.0], [1.0], [2.0]], "y": [1.0, 2.0, 3.0]} | data
    with pytest.raises(ValueError, match=message):
        HuberRegressor(**parameters).fit(**data)


def test_y_far_from_zero_keeps_its_digits():
    X, y = wild(100, 3, 6)
    one, two = HuberRegressor().fit(X, y), HuberRegressor().fit(X, y + 1e8)
    assert_allclose(two.coef_, one.coef_, rtol=1e-6)
    assert_allclose(two.scale_, one.scale_, rtol=1e-6)


@pytest.mark.parametrize("y", [np.full(20, 3.0), np.arange(20.0)])
def test_a_perfect_fit_has_no_scale(y):
    X = np.column_stack([np.arange(20.0), np.cos(np.arange(20.0))])
    model = HuberRegressor(alpha=0.0).fit(X, y)
    assert_allclose(model.predict(X), y, atol=1e-10)
    assert 0 < model.scale_ < 1e-10


def test_a_line_through_most_points_is_found_exactly():
    X = np.arange(30.0)[:, None]
    y = 2 * X[:, 0] + 1
    y[::6] += [100.0, -50.0, 30.0, 70.0, 10.0]
    model = HuberRegressor(alpha=0.0, max_iter=500).fit(X, y)
    assert_allclose(model.coef_, 2.0, atol=1e-6)
    assert_array_equal(np.flatnonzero(model.outliers_), np.arange(0, 30, 6))


@pytest.mark.parametrize("alpha", [1e-4, 1.0])
def test_more_columns_than_rows(alpha):
    X, y = wild(20, 40, 7)
    model = HuberRegressor(alpha=alpha, max_iter=500).fit(X, y)
    theirs = sklearn.linear_model.HuberRegressor(alpha=alpha, tol=1e-8, max_iter=20_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        theirs.fit(X, y)
    assert of(model, X, y) <= of(theirs, X, y) * (1 + 1e-9)
    assert model.certificate_ <= 1e-6 * of(model, X, y)


def test_dependent_and_constant_columns():
    X, y = wild(50, 2, 8)
    twice = np.column_stack([X, X, np.full(50, 0.1)])
    one, two = HuberRegressor(alpha=0.0).fit(X, y), HuberRegressor(alpha=0.0).fit(twice, y)
    assert_allclose(two.predict(twice), one.predict(X), rtol=1e-5, atol=1e-5)
    assert two.coef_[4] == 0.0


def test_layouts_do_not_matter():
    X, y = wild(90, 4, 9)
    one = HuberRegressor().fit(X, y)
    X.flags.writeable = False
    for other in (np.asfortranarray(X), X.tolist(), np.repeat(X, 2, axis=1)[:, ::2], X):
        assert_allclose(HuberRegressor().fit(other, y).coef_, one.coef_, rtol=1e-7)


def test_warm_start_needs_no_step_and_no_steps_are_allowed():
    X, y = wild()
    model = HuberRegressor(warm_start=True).fit(X, y)
    assert model.fit(X, y).n_iter_ == 0
    assert HuberRegressor(max_iter=0).fit(X, y).n_iter_ == 0


def test_not_converged_says_so_with_the_number():
    X, y = wild()
    with pytest.warns(ConvergenceWarning, match="relative_gap .* raise max_iter"):
        HuberRegressor(max_iter=2, tol=1e-9).fit(X, y)


def test_ctrl_c_keeps_the_last_state(monkeypatch):
    X, y = wild()
    newton = hu.newton

    def interrupted(*args):
        for step, state in enumerate(newton(*args)):
            if step == 2:
                raise KeyboardInterrupt
            yield state

    monkeypatch.setattr(hu, "newton", interrupted)
    model = HuberRegressor()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert np.isfinite(model.coef_).all()
