import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from mlreplica.callbacks import Trace
from mlreplica.core.rows import walk
from mlreplica.core.rows.walk import Rows
from mlreplica.linear_model import QuantileRegressor
from mlreplica.linear_model.robust import quantile as qu
from mlreplica.linear_model.robust import quantile_solvers


def skewed(n=60, p=3, seed=0):
    """A line with errors that are skewed and grow with the first column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 1.0
    return X, X @ rng.normal(size=p) + 2.0 + rng.exponential(size=n) * (1 + np.abs(X[:, 0]))


def objective(X, y, w, b, tau, alpha, s=None):
    """P of (1)."""
    r = y - X @ w - b
    return np.average(np.maximum(tau * r, (tau - 1) * r), weights=s) + alpha * np.abs(w).sum()


def of(model, X, y, s=None):
    """P of a fitted model."""
    return objective(X, y, model.coef_, model.intercept_, model.quantile, model.alpha, s)


CASES = pytest.mark.parametrize(
    ("shape", "tau", "alpha"),
    [
        ((80, 4), 0.5, 0.0),
        ((80, 4), 0.9, 0.0),
        ((80, 4), 0.1, 0.05),
        ((30, 120), 0.5, 0.05),
        ((30, 150), 0.3, 0.5),
        ((100, 20), 0.5, 10.0),
    ],
)


# (a) properties


@settings(deadline=None, max_examples=25)
@given(
    st.integers(1, 25),
    st.integers(0, 1000),
    st.sampled_from([0.0, 0.02, 0.3]),
    st.floats(0.05, 0.95),
    st.booleans(),
    st.sampled_from(["highs", "revised simplex"]),
)
def test_the_certificate_bounds_the_true_gap_after_any_number_of_steps(
    steps, seed, alpha, tau, fit_intercept, solver
):
    X, y = skewed(30, 3, seed)
    s = np.random.default_rng(seed).uniform(0.2, 2.0, 30)
    settings = {"quantile": tau, "alpha": alpha, "fit_intercept": fit_intercept}
    theirs = sklearn.linear_model.QuantileRegressor(**settings).fit(X, y, s)
    least = objective(X, y, theirs.coef_, theirs.intercept_, tau, alpha, s)
    trace = Trace()
    model = QuantileRegressor(**settings, solver=solver, max_iter=steps).set_callbacks(trace)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y, s)
    for state in trace.states:
        P = objective(X, y, state["w"], state["b"], tau, alpha, s)
        assert_allclose(state["objective"], P, rtol=1e-9, atol=1e-12)
        assert P - least <= state["gap"] + 1e-10 * P
    assert model.certificate_ == trace.states[-1]["gap"]


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 1000), st.floats(0.05, 0.95))
def test_a_share_tau_lies_below(seed, tau):
    X, y = skewed(101, 2, seed)
    model = QuantileRegressor(quantile=tau, alpha=0.0).fit(X, y)
    r = y - model.predict(X)
    assert (r < -1e-9).sum() <= tau * 101 <= (r <= 1e-9).sum()
    assert (np.abs(r) <= 1e-9).sum() >= 3  # a vertex: as many points on the line as it has weights


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 1000), st.sampled_from([0.0, 0.05]))
def test_a_weight_counts_like_repeated_rows(seed, alpha):
    X, y = skewed(30, 2, seed)
    s = np.random.default_rng(seed).integers(0, 4, 30)
    s[5:10] = 1
    keep = np.repeat(np.arange(30), s)
    model = QuantileRegressor(quantile=0.37, alpha=alpha)
    one, two = of(model.fit(X, y, s), X, y, s), of(model.fit(X[keep], y[keep]), X, y, s)
    assert_allclose(one, two, rtol=1e-10)


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 1000), st.sampled_from([1e-150, 1e-8, 1e8, 1e150]))
def test_units_and_origins_change_only_what_they_should(seed, unit):
    X, y = skewed(50, 3, seed)
    scale = np.array([1e-6, 1.0, 1e6])
    one = QuantileRegressor(quantile=0.61, alpha=0.0).fit(X, y)
    two = QuantileRegressor(quantile=0.61, alpha=0.0).fit((X + 3.0) * scale, unit * (y - 7.0))
    assert_allclose(two.coef_ * scale, unit * one.coef_, rtol=1e-6)
    three = QuantileRegressor(quantile=0.39, alpha=0.0).fit(X, -y)
    assert_allclose(three.coef_, -one.coef_, rtol=1e-8)


# (b) the naive version: all vertices


def test_no_other_vertex_is_better():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=12), rng.normal(size=12)
    for tau in (0.2, 0.5, 0.7):
        best = np.inf
        for i in range(12):
            for j in range(i):
                w = (y[i] - y[j]) / (x[i] - x[j])
                line = np.array([w]), y[i] - w * x[i]
                best = min(best, objective(x[:, None], y, *line, tau, 0.0))
        for solver in ("highs", "revised simplex"):
            model = QuantileRegressor(quantile=tau, alpha=0.0, solver=solver).fit(x[:, None], y)
            assert_allclose(of(model, x[:, None], y), best, rtol=1e-12)


def test_the_rows_of_a_penalty_are_the_absolute_values():
    X, y = skewed(20, 3)
    lines = quantile_solvers.Lines.of(Rows.of(X), y, np.ones(20), 0.3, 0.2)
    v = np.array([1.0, 2.0, -3.0, 0.5])
    w, b = lines.rows.plain(v)
    r = lines.c - lines.scores(v)
    assert_allclose(lines.value(r), objective(X, y, w, b, 0.3, 0.2), rtol=1e-13)
    A = lines.some(np.arange(23))
    assert_allclose(A @ v, lines.scores(v), rtol=1e-12)
    d = np.random.default_rng(0).normal(size=23)
    assert_allclose(A.T @ d, lines.back(d), rtol=1e-12)


def test_the_interior_point_stays_inside_and_comes_down():
    X, y = skewed(50, 3)
    lines = quantile_solvers.Lines.of(Rows.of(X, rotate=True), y / 10, np.ones(50), 0.3, 0.0)
    gaps = []
    for step, (_, d, W, _, P) in enumerate(quantile_solvers.interior_point(lines)):
        assert (lines.low < d).all()
        assert (d < lines.high).all()
        assert (W > 0).all()
        assert_allclose(lines.back(d), 0.0, atol=1e-12)
        gaps.append(P - lines.bound(d))
        if step == 9:
            break
    assert gaps[-1] < 1e-3 * gaps[0]


# (c) references


@CASES
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("solver", ["highs", "highs-ipm", "interior-point", "revised simplex"])
def test_scikit_learn_agrees(shape, tau, alpha, fit_intercept, solver):
    X, y = skewed(*shape, seed=1)
    settings = {"quantile": tau, "alpha": alpha, "fit_intercept": fit_intercept}
    ours = QuantileRegressor(**settings, solver=solver).fit(X, y)
    theirs = sklearn.linear_model.QuantileRegressor(**settings).fit(X, y)
    best = objective(X, y, theirs.coef_, theirs.intercept_, tau, alpha)
    assert of(ours, X, y) <= best * (1 + 1e-12) + 1e-14
    assert_allclose(of(ours, X, y), best, rtol=1e-7)
    assert ours.certificate_ <= 1e-9 * best
    if alpha > 0:
        assert ((ours.coef_ != 0) == (np.abs(theirs.coef_) > 1e-9)).mean() > 0.97


@pytest.mark.parametrize("container", [sp.csr_array, sp.csc_matrix, sp.coo_array])
@pytest.mark.parametrize("p", [5, 150])
def test_sparse_rows_are_dense_rows(container, p):
    X, y = skewed(60, p, 2)
    X[np.abs(X) < 0.5] = 0.0
    dense = QuantileRegressor(alpha=0.05).fit(X, y)
    sparse = QuantileRegressor(alpha=0.05).fit(container(X), y)
    assert_allclose(sparse.coef_, dense.coef_, rtol=1e-8, atol=1e-10)
    assert_allclose(sparse.predict(container(X)), dense.predict(X), rtol=1e-8)


def test_integers_and_ties_are_no_trap():
    rng = np.random.default_rng(0)
    for seed in range(5):
        X = rng.integers(0, 3, size=(80, 3)).astype(float)
        y = rng.integers(0, 4, size=80).astype(float)
        theirs = sklearn.linear_model.QuantileRegressor(quantile=0.4, alpha=0.0).fit(X, y)
        best = objective(X, y, theirs.coef_, theirs.intercept_, 0.4, 0.0)
        for solver in ("highs", "revised simplex"):
            model = QuantileRegressor(quantile=0.4, alpha=0.0, solver=solver).fit(X, y)
            assert_allclose(of(model, X, y), best, rtol=1e-9, err_msg=f"{seed} {solver}")


def test_many_blocks_on_many_threads_are_one_matrix(monkeypatch):
    X, y = skewed(900, 4, 3)
    one = QuantileRegressor(alpha=0.0).fit(X, y)
    monkeypatch.setattr(walk, "BLOCK", 512)
    two = QuantileRegressor(alpha=0.0).fit(X.astype(np.float32).astype(float), y)
    three = QuantileRegressor(alpha=0.0).fit(X.astype(np.float32), y)
    assert_allclose(two.coef_, one.coef_, rtol=1e-4)
    assert_allclose(three.coef_, two.coef_, rtol=1e-5)


# (d) scikit-learn's checks


@parametrize_with_checks([QuantileRegressor(), QuantileRegressor(alpha=0.02, quantile=0.3)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# (e) bad and hard input


@pytest.mark.parametrize(
    ("parameters", "data", "message"),
    [
        ({"alpha": -1.0}, {}, "alpha"),
        ({"quantile": 1.0}, {}, "quantile"),
        ({"solver": "simplex"}, {}, "solver"),
        ({"solver": "revised simplex"}, {"X": sp.csr_array(np.eye(3))}, "Use solver 'highs'"),
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
        QuantileRegressor(**parameters).fit(**data)


def test_y_far_from_zero_keeps_its_digits():
    X, y = skewed(100, 3, 6)
    one = QuantileRegressor(alpha=0.01).fit(X, y)
    two = QuantileRegressor(alpha=0.01).fit(X, y + 1e8)
    assert_allclose(two.coef_, one.coef_, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("solver", ["highs", "revised simplex"])
def test_dependent_constant_and_perfect(solver):
    X, y = skewed(40, 2, 8)
    one = QuantileRegressor(alpha=0.0, solver=solver).fit(X, y)
    twice = np.column_stack([X, X, np.full(40, 0.1)])
    two = QuantileRegressor(alpha=0.0, solver=solver).fit(twice, y)
    assert_allclose(of(two, twice, y), of(one, X, y), rtol=1e-6)
    exact = QuantileRegressor(alpha=0.0, solver=solver).fit(X, X @ [1.0, 2.0] + 3.0)
    assert_allclose(exact.predict(X), X @ [1.0, 2.0] + 3.0, atol=1e-9)
    flat = QuantileRegressor(alpha=0.1, solver=solver).fit(X, np.full(40, 5.0))
    assert_allclose(flat.predict(X), 5.0)


def test_more_columns_than_rows_without_a_penalty():
    X, y = skewed(20, 40, 7)
    model = QuantileRegressor(alpha=0.0).fit(X, y)
    assert_allclose(model.predict(X), y, atol=1e-6)


def test_options_and_warnings():
    X, y = skewed()
    with pytest.warns(ConvergenceWarning, match="relative_gap .* raise max_iter"):
        QuantileRegressor(alpha=0.0, solver_options={"maxiter": 2}).fit(X, y)
    assert QuantileRegressor(alpha=0.0, tol=1e-2).fit(X, y).certificate_ > 0


def test_ctrl_c_keeps_the_last_state(monkeypatch):
    X, y = skewed()
    steps = qu.near_then_exact

    def interrupted(*args):
        for step, found in enumerate(steps(*args)):
            if step == 2:
                raise KeyboardInterrupt
            yield found

    monkeypatch.setattr(qu, "near_then_exact", interrupted)
    model = QuantileRegressor()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert np.isfinite(model.coef_).all()


def test_a_tiny_penalty_and_uneven_weights_end_at_the_vertex():
    """The rounding of Σ d x is large against such an α; the bound must not suffer for it."""
    X, y = skewed(400, 5, 11)
    s = np.where(y > y.mean(), 100.0, 1.0)
    model = QuantileRegressor(alpha=1e-8).fit(X, y, s)
    assert model.certificate_ <= 1e-12 * of(model, X, y, s)
    assert_allclose(np.average(y < model.predict(X), weights=s), 0.5, atol=0.03)
