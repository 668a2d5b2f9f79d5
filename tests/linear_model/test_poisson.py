import threading
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from mlreplica.callbacks import Trace
from mlreplica.core.linalg import solve_symmetric
from mlreplica.core.rows import walk
from mlreplica.core.rows.walk import Rows
from mlreplica.linear_model import PoissonRegressor
from mlreplica.linear_model.robust import mean_regressor
from mlreplica.linear_model.robust import poisson as po


def counts(n=60, p=3, seed=0, shift=0.0):
    """Rows and counts with mean e^(Xw + 1)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + shift
    return X, rng.poisson(np.exp((X - shift) @ rng.normal(size=p) * 0.5 + 1)).astype(float)


def objective(X, y, w, b, alpha, s=None):
    """P of (1)."""
    f = X @ w + b
    return np.average(np.exp(f) - y * f, weights=s) + alpha / 2 * w @ w


def naive(X, y, alpha, s, fit_intercept, steps=60):
    """Newton's method as a textbook prints it."""
    Z = np.column_stack([np.ones(len(X)), X]) if fit_intercept else X
    s = s / s.sum()
    penalty = np.full(Z.shape[1], alpha)
    v = np.zeros(Z.shape[1])
    if fit_intercept:
        penalty[0], v[0] = 0.0, np.log(s @ y)
    for _ in range(steps):
        mean = np.exp(Z @ v)
        H = Z.T @ ((s * mean)[:, None] * Z) + np.diag(penalty)
        v = v - np.linalg.solve(H, Z.T @ (s * (mean - y)) + penalty * v)
    return (v[1:], v[0]) if fit_intercept else (v, 0.0)


# (a) properties


@settings(deadline=None, max_examples=20)
@given(
    st.integers(0, 6),
    st.integers(0, 1000),
    st.sampled_from([0.0, 1e-3, 1.0]),
    st.booleans(),
    st.booleans(),
)
def test_the_certificate_bounds_the_true_gap_after_any_number_of_steps(
    steps, seed, alpha, fit_intercept, weighted
):
    X, y = counts(40, 3, seed)
    s = np.random.default_rng(seed).uniform(0.2, 2.0, 40) if weighted else np.ones(40)
    best = naive(X, y, alpha, s, fit_intercept)
    least = objective(X, y, *best, alpha, s)
    trace = Trace()
    model = PoissonRegressor(
        alpha=alpha, fit_intercept=fit_intercept, max_iter=steps + 1, tol=1e-14
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.set_callbacks(trace).fit(X, y, s)
    for state in trace.states:
        P = objective(X, y, state["w"], state["b"], alpha, s)
        assert_allclose(state["objective"], P, rtol=1e-11, atol=1e-12)
        assert P - least <= state["gap"] + 1e-12 * abs(P)
    assert model.certificate_ == trace.states[-1]["gap"]
    falls = np.diff([state["objective"] for state in trace.states])
    assert (falls <= 1e-12).all()


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 1000), st.booleans())
def test_a_weight_counts_like_repeated_rows(seed, fit_intercept):
    X, y = counts(25, 2, seed)
    s = np.random.default_rng(seed).integers(0, 4, 25)
    s[:3] = 1
    y[:3] += 1
    keep = np.repeat(np.arange(25), s)
    model = PoissonRegressor(alpha=0.1, fit_intercept=fit_intercept, tol=1e-9)
    one, two = clone(model).fit(X, y, s), clone(model).fit(X[keep], y[keep])
    assert_allclose(one.coef_, two.coef_, rtol=1e-8, atol=1e-10)
    assert_allclose(one.intercept_, two.intercept_, rtol=1e-8, atol=1e-10)
    assert_allclose(one.score(X, y, s), two.score(X[keep], y[keep]), rtol=1e-9)


def test_exposure_is_a_weight_of_rates():
    """Counts with mean t·e^f: fit the rates y/t with weights t."""
    rng = np.random.default_rng(0)
    X, t = rng.normal(size=(500, 2)), rng.uniform(0.5, 20.0, size=500)
    y = rng.poisson(t * np.exp(X @ [0.5, -0.3] + 1))
    model = PoissonRegressor(alpha=0.0, tol=1e-8).fit(X, y / t, sample_weight=t)
    mean = t * model.predict(X)
    assert_allclose(np.column_stack([np.ones(500), X]).T @ (mean - y), 0.0, atol=1e-3)
    assert_allclose(model.coef_, [0.5, -0.3], atol=0.05)


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 1000), st.integers(-40, 40))
def test_units_and_origins_change_only_what_they_should(seed, power):
    X, y = counts(50, 3, seed)
    one = PoissonRegressor(alpha=0.0, tol=1e-9).fit(X, y)
    scale = np.array([2.0**power, 1.0, 3.0])
    two = PoissonRegressor(alpha=0.0, tol=1e-9).fit(X * scale + 5.0 * scale, y * 7.0)
    assert_allclose(two.coef_ * scale, one.coef_, rtol=1e-7, atol=1e-9)
    assert_allclose(
        two.intercept_, one.intercept_ + np.log(7.0) - 5.0 * one.coef_.sum(), rtol=1e-7, atol=1e-8
    )


# (b) the naive version


@pytest.mark.parametrize("alpha", [0.0, 0.01, 2.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_the_naive_version_agrees(alpha, fit_intercept, weighted):
    X, y = counts(80, 4, 1, shift=0.3)
    s = np.random.default_rng(0).uniform(0.5, 2.0, 80) if weighted else np.ones(80)
    w, b = naive(X, y, alpha, s, fit_intercept)
    for solver in ("lbfgs", "newton-cholesky"):
        model = PoissonRegressor(
            alpha=alpha, fit_intercept=fit_intercept, solver=solver, tol=1e-9
        ).fit(X, y, s)
        assert_allclose(model.coef_, w, rtol=1e-8)
        assert_allclose(model.intercept_, b, rtol=1e-8)
        assert 0 <= model.certificate_ <= 1e-15


def test_the_kernel_is_its_formula():
    rng = np.random.default_rng(0)
    y, s, f = rng.poisson(2.0, 50).astype(float), rng.random(50), rng.normal(size=50)
    g, h = np.empty(50), np.empty(50)
    mean, cross = po.derivatives(y, s, f, g, h)
    assert_allclose((mean, cross), (s @ np.exp(f), s @ (y * f)), rtol=1e-13)
    assert_allclose(g, s * (np.exp(f) - y), rtol=1e-12, atol=1e-14)
    assert_allclose(h, s * np.exp(f), rtol=1e-14)


def test_conjugate_gradients_and_the_rotated_wide_x_reach_the_same_minimum(monkeypatch):
    X, y = counts(40, 60, 2)
    turned = PoissonRegressor(alpha=0.1, tol=1e-8).fit(X, y)
    monkeypatch.setattr(walk, "DIRECT", 5)
    by_cg = PoissonRegressor(alpha=0.1, tol=1e-8).fit(X, y)
    by_sparse = PoissonRegressor(alpha=0.1, tol=1e-8).fit(sp.csr_array(X), y)
    assert_allclose(by_cg.coef_, turned.coef_, rtol=1e-5, atol=1e-8)
    assert_allclose(by_sparse.coef_, turned.coef_, rtol=1e-5, atol=1e-8)
    assert max(by_cg.certificate_, turned.certificate_) <= 1e-14


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_many_blocks_on_many_threads_are_one_matrix(monkeypatch, sparse, dtype):
    X, y = counts(700, 5, 3)
    whole = PoissonRegressor(alpha=0.01, tol=1e-8).fit(X.astype(dtype).astype(float), y)
    monkeypatch.setattr(walk, "BLOCK", 256)
    X = sp.csr_array(X.astype(dtype)) if sparse else X.astype(dtype)
    blocks = PoissonRegressor(alpha=0.01, tol=1e-8).fit(X, y)
    assert_allclose(blocks.coef_, whole.coef_, rtol=1e-8 if dtype == np.float64 else 1e-5)
    assert blocks.coef_.dtype == dtype


def test_a_large_set_starts_near_its_end(monkeypatch):
    X, y = counts(6000, 3, 4)
    monkeypatch.setattr(walk, "LARGE", 1)
    few = PoissonRegressor(alpha=0.0, tol=1e-7).fit(X, y)
    monkeypatch.setattr(walk, "MANY", 10**9)
    all_rows = PoissonRegressor(alpha=0.0, tol=1e-7).fit(X, y)
    assert few.n_iter_ < all_rows.n_iter_
    assert_allclose(few.coef_, all_rows.coef_, rtol=1e-6)


def test_solve_leaves_directions_without_curvature_alone():
    H = np.diag([2.0, 0.0, 1e-30])
    assert_allclose(solve_symmetric(H, np.array([[4.0], [0.0], [3e-30]]))[:, 0], [2.0, 0.0, 3.0])


def test_design_moves_the_origin_and_back():
    rng = np.random.default_rng(0)
    for shape in ((20, 3), (4, 9)):
        X = rng.normal(size=shape) + 100.0
        rows = Rows.of(X, rotate=True)
        w, b = X.T @ rng.normal(size=len(X)) * 0.01, 2.0
        w = (X - rows.x0).T @ rng.normal(size=len(X))  # in the span of the rows
        v = rows.shifted(w, b)
        assert_allclose(rows.scores(v), X @ w + b, rtol=1e-10, atol=1e-8)
        back = rows.plain(v)
        assert_allclose(back[0], w, rtol=1e-10, atol=1e-10)
        assert_allclose(back[1], b, atol=1e-8)


# (c) references


@pytest.mark.parametrize("alpha", [0.0, 1e-3, 1.0])
def test_scikit_learn_agrees(alpha):
    X, y = counts(300, 6, 5, shift=1.0)
    ours = PoissonRegressor(alpha=alpha, tol=1e-8).fit(X, y)
    theirs = sklearn.linear_model.PoissonRegressor(
        alpha=alpha, solver="newton-cholesky", tol=1e-10
    ).fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7)
    assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-7)
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-8)
    s = np.arange(1.0, 301.0)
    assert_allclose(ours.score(X, y), theirs.score(X, y), rtol=1e-8)
    assert_allclose(ours.score(X, y, s), theirs.score(X, y, s), rtol=1e-8)


def test_statsmodels_agrees():
    X, y = counts(200, 4, 6)
    theirs = sm.GLM(y, sm.add_constant(X), family=sm.families.Poisson()).fit(tol=1e-12).params
    ours = PoissonRegressor(alpha=0.0, tol=1e-8).fit(X, y)
    assert_allclose(np.append(ours.intercept_, ours.coef_), theirs, rtol=1e-8)


# (d) scikit-learn's checks


@parametrize_with_checks([PoissonRegressor(), PoissonRegressor(alpha=0.0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# (e) bad and hard input


@pytest.mark.parametrize(
    ("parameters", "data", "message"),
    [
        ({"alpha": -1.0}, {}, "alpha"),
        ({"solver": "newton"}, {}, "solver"),
        ({"tol": 0.0}, {}, "tol"),
        ({}, {"y": [1.0, -1.0, 2.0]}, "must be >= 0, got -1"),
        ({}, {"y": [1.0, np.nan, 2.0]}, "NaN"),
        ({}, {"y": [1.0, np.inf, 2.0]}, "infinity"),
        ({}, {"y": ["a", "b", "c"]}, "could not convert"),
        ({}, {"X": [[np.nan], [1.0], [2.0]]}, "NaN"),
        ({}, {"X": np.array([[np.inf], [1.0], [2.0]])}, "infinity"),
        ({}, {"X": np.zeros((3, 0))}, "0 feature"),
        ({}, {"sample_weight": [0.0, 0.0, 0.0]}, "zero"),
        ({}, {"sample_weight": [1.0, -1.0, 1.0]}, "[Nn]egative"),
    ],
)
def test_bad_input_says_what_is_wrong(parameters, data, message):
    data = {"X": [[0.0], [1.0], [2.0]], "y": [1.0, 2.0, 3.0]} | data
    with pytest.raises(ValueError, match=message):
        PoissonRegressor(**parameters).fit(**data)


def test_counts_of_zero_only():
    X = np.random.default_rng(0).normal(size=(10, 2))
    model = PoissonRegressor().fit(X, np.zeros(10))
    assert_allclose(model.coef_, 0.0)
    assert (model.predict(X) <= 3e-16).all()
    assert_allclose(model.certificate_, model.predict(X)[0])
    free = PoissonRegressor(fit_intercept=False).fit(X, np.zeros(10))
    assert objective(X, np.zeros(10), free.coef_, 0.0, 1.0) < 1.0


@pytest.mark.parametrize("size", [1e-200, 1e-8, 1e8, 1e200])
def test_counts_of_any_size(size):
    X, y = counts()
    one = PoissonRegressor(alpha=0.0).fit(X, y)
    two = PoissonRegressor(alpha=0.0).fit(X, size * y)
    assert_allclose(two.coef_, one.coef_, rtol=1e-6)
    assert_allclose(two.intercept_, one.intercept_ + np.log(size), rtol=1e-6)


def test_a_start_far_too_high_comes_down():
    """Full steps would overflow: the line search shortens them."""
    X = np.linspace(0.0, 60.0, 40)[:, None]
    y = np.where(X[:, 0] > 55, 1e6, 0.0)
    model = PoissonRegressor(alpha=1e-6, max_iter=500).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert model.certificate_ <= 1e-8 * y.mean()
    warm = PoissonRegressor(alpha=1e-6, warm_start=True, max_iter=500).fit(X, y)
    warm.coef_, warm.intercept_ = np.array([12.0]), 0.0  # e^720
    warm.fit(X, y)
    assert_allclose(warm.coef_, model.coef_, rtol=1e-4)


def test_dependent_and_constant_columns_get_the_least_weights():
    X, y = counts(50, 2, 7)
    one = PoissonRegressor(alpha=0.0, tol=1e-8).fit(X, y)
    twice = np.column_stack([X, X, np.full(50, 0.1)])
    two = PoissonRegressor(alpha=0.0, tol=1e-8).fit(twice, y)
    assert_allclose(two.coef_[:4], np.tile(one.coef_ / 2, 2), rtol=1e-6)
    assert two.coef_[4] == 0.0
    assert_allclose(two.predict(twice), one.predict(X), rtol=1e-7)


def test_more_columns_than_rows():
    X, y = counts(20, 50, 8)
    y += 1
    model = PoissonRegressor(alpha=0.0, tol=1e-7).fit(X, y)
    assert_allclose(model.predict(X), y, rtol=1e-6)
    assert model.score(X, y) > 1 - 1e-10


def test_layouts_and_containers_do_not_matter():
    X, y = counts(90, 4, 9)
    one = PoissonRegressor().fit(X, y)
    X.flags.writeable = False
    wide = np.zeros((90, 8))
    wide[:, ::2] = X
    for other in (np.asfortranarray(X), wide[:, ::2], X.tolist(), sp.csc_matrix(X), X):
        assert_allclose(PoissonRegressor().fit(other, y).coef_, one.coef_, rtol=1e-7)


def test_warm_start_needs_no_step():
    X, y = counts()
    model = PoissonRegressor(warm_start=True).fit(X, y)
    coef = model.coef_.copy()
    assert model.fit(X, y).n_iter_ == 0
    assert_allclose(model.coef_, coef, rtol=1e-12)


def test_not_converged_says_so_with_the_number():
    X, y = counts()
    with pytest.warns(ConvergenceWarning, match="gap .* raise max_iter"):
        PoissonRegressor(max_iter=1, tol=1e-12).fit(X, y)


def test_ctrl_c_keeps_the_last_state(monkeypatch):
    X, y = counts()
    newton = po.newton

    def interrupted(*args):
        for step, state in enumerate(newton(*args)):
            if step == 2:
                raise KeyboardInterrupt
            yield state

    monkeypatch.setattr(mean_regressor, "newton", interrupted)
    model = PoissonRegressor(tol=1e-12)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert np.isfinite(model.coef_).all()


def test_fits_in_many_threads_are_the_same():
    X, y = counts(2000, 5, 10)
    found = [None] * 4

    def work(i):
        found[i] = PoissonRegressor().fit(X, y).coef_

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for coef in found:
        assert_allclose(coef, found[0], rtol=1e-12)


def test_verbose_writes_a_line_per_step(capsys):
    model = PoissonRegressor(verbose=1).fit(*counts())
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_ + 3  # the start, a line per state, and why it ended
    assert "[PoissonRegressor] Iteration 1, b " in lines[1]


def test_iris_lengths_have_the_score_of_scikit_learn():
    X, y = load_iris(return_X_y=True)
    theirs = sklearn.linear_model.PoissonRegressor(alpha=1e-3).fit(X, y).score(X, y)
    assert_allclose(PoissonRegressor(alpha=1e-3).fit(X, y).score(X, y), theirs, atol=1e-4)
