"""Gradient descent: what the theory promises at every step, and where it ends."""

import itertools
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression

from mlreplica import losses
from mlreplica.core.formulas.penalties import Penalty
from mlreplica.linear_model import (
    LinearRegression,
    Ridge,
    gradient_descent,
    stochastic_gradient_descent,
)
from mlreplica.linear_model.sgd.gradient_descent import unpacked
from mlreplica.linear_model.sgd.mini_batches import epoch, epoch_of_arrays, lengths
from mlreplica.linear_model.sgd.objective import DescentObjective, Quadratic, objective_of

LOGCOSH = losses.Loss(
    value=lambda y, f: np.logaddexp(f - y, y - f) - np.log(2.0),
    gradient=lambda y, f: np.tanh(f - y),
    name="log cosh",
    lipschitz=1.0,
    curvature=1.0,
)
SMOOTH = ["squared_error", "logistic", "squared_hinge", "huber", LOGCOSH]
PENALTIES = [None, "l2", "l1", "elasticnet"]


def data(seed=0, n=40, p=4, loss="squared_error", noise=1.0):
    """Rows off the origin, and a target of the kind the loss wants."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * rng.uniform(0.5, 2.0, size=p) + rng.normal(size=p)
    f = X @ rng.normal(size=p) + 1.0 + noise * rng.normal(size=n)
    kind = losses.get(loss).target
    if kind == "class":
        return X, np.digitize(f, np.quantile(f, [0.3, 0.7]))
    if kind == "sign":
        return X, np.where(f > np.median(f), 1.0, -1.0)
    return X, np.round(np.abs(f)) if kind == "count" else f


def stopped(*args, **options):
    """A descent that ends early on purpose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return gradient_descent(*args, tol=0.0, **options)


def best(X, y, loss, **options):
    """The minimum, or a point near it: the bounds below hold against any other point as well."""
    step = "1/L" if losses.get(loss).curvature < np.inf else "backtracking"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return gradient_descent(
            X, y, loss, step=step, momentum="nesterov", tol=1e-10, max_iter=5000, **options
        )


# ------------------------------------------------------------------------------------- objective


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", [*SMOOTH, "poisson", "exponential", "multinomial"])
def test_gradient_is_the_slope_of_the_objective(name, intercept):
    X, y = data(loss=name)
    c = np.random.default_rng(1).uniform(0.1, 2.0, size=len(y))
    rows = objective_of(X, y, name, Penalty(0.0, 0.3), intercept, c)
    v = rows.start() + 0.1 * np.random.default_rng(2).normal(size=rows.start().shape)
    G = rows.gradient(rows.image(v), v)
    for at in itertools.product(*map(range, v.shape)):
        e = np.zeros_like(v)
        e[at] = 1e-5
        rise = rows.value(rows.image(v + e), v + e) - rows.value(rows.image(v - e), v - e)
        assert G[at] == pytest.approx(rise / 2e-5, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("intercept", [True, False])
def test_quadratic_is_the_objective_of_least_squares(intercept):
    X, y = data()
    rows = objective_of(X, y, "squared_error", Penalty(0.2, 0.3), intercept, np.arange(len(y)))
    short = Quadratic(rows)
    v = np.random.default_rng(2).normal(size=rows.start().shape)
    assert short.value(short.image(v), v) == pytest.approx(rows.value(rows.image(v), v), rel=1e-12)
    np.testing.assert_allclose(
        short.gradient(short.image(v), v), rows.gradient(rows.image(v), v), rtol=1e-10, atol=1e-12
    )
    assert short.bend(v) == pytest.approx(rows.bend(v), rel=1e-12)


@pytest.mark.parametrize("shape", [(30, 5), (5, 30)])
@pytest.mark.parametrize("sparse", [False, True])
def test_largest_curvature(shape, sparse):
    X, y = data(n=shape[0], p=shape[1])
    A = sp.csr_array(X) if sparse else X
    rows = objective_of(A, np.sign(y), "logistic", Penalty(0.0, 0.5), True, None, ("csr",))
    A = np.column_stack([X, np.ones(len(X))])
    wanted = 0.25 * np.linalg.norm(A, 2) ** 2 / len(X) + 0.5
    assert wanted * (1 - 1e-9) <= rows.smoothness <= wanted * (1 + 1e-4)


# ---------------------------------------------------------------------------- theory, every step


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), which=st.sampled_from(SMOOTH), name=st.sampled_from(PENALTIES))
def test_steps_of_one_over_l_never_climb_and_keep_both_rates(seed, which, name):
    """Equation (8): P falls, like 1/k always and geometrically where F is strongly convex."""
    X, y = data(seed, loss=which)
    options = {"penalty": name, "alpha": 0.05, "fit_intercept": False}
    found = stopped(X, y, which, max_iter=60, history=True, **options)
    P = np.array([state.objective for state in found.history])
    star = best(X, y, which, **options)
    assert (np.diff(P) <= 1e-14 * abs(P[0])).all()
    rows = objective_of(X, y, which, Penalty(), False, None)
    l2 = {"l2": 0.05, "elasticnet": 0.05 * 0.85}.get(name, 0.0)
    L = rows.smoothness + l2
    k = np.arange(1, len(P))
    assert (P[1:] - star.objective <= L * (star.w @ star.w) / (2 * k) + 1e-12).all()
    if name in (None, "l2"):
        mu = l2 + (rows.mu if which == "squared_error" else 0.0)
        bound = (1 - mu / L) ** np.arange(len(P)) * (P[0] - star.objective)
        assert (P - star.objective <= bound + 1e-12).all()


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), which=st.sampled_from(SMOOTH), name=st.sampled_from(PENALTIES))
def test_nesterov_keeps_his_bound(seed, which, name):
    X, y = data(seed, loss=which)
    options = {"penalty": name, "alpha": 0.05, "fit_intercept": False}
    found = stopped(
        X, y, which, momentum="nesterov", restart=False, max_iter=80, history=True,
        **options,
    )  # fmt: skip
    star = best(X, y, which, **options)
    P = np.array([state.objective for state in found.history[1:]])
    k = np.arange(1, len(P) + 1)
    L = 1 / found.history[-1].step
    assert (P - star.objective <= 2 * L * (star.w @ star.w) / (k + 1) ** 2 + 1e-12).all()


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), which=st.sampled_from([*SMOOTH, "poisson", "exponential"]))
def test_armijo_holds_at_every_accepted_step(seed, which):
    X, y = data(seed, loss=which)
    found = stopped(X, y, which, step="backtracking", max_iter=15, history=True)
    rows = objective_of(X, y, which, Penalty(), True, None)
    for old, new in itertools.pairwise(found.history):
        v = np.append(old.w, old.b)
        G = rows.gradient(rows.image(v), v)
        assert new.objective <= old.objective - new.step / 2 * (G @ G) + 1e-13 * abs(old.objective)
        np.testing.assert_allclose(np.append(new.w, new.b), v - new.step * G, rtol=1e-9, atol=1e-11)


def test_exact_step_is_the_best_along_the_gradient():
    X, y = data()
    found = stopped(X, y, step="exact", max_iter=10, history=True)
    rows = objective_of(X, y, "squared_error", Penalty(), True, None)
    for old, new in itertools.pairwise(found.history):
        v = np.append(old.w, old.b)
        G = rows.gradient(rows.image(v), v)
        u = np.append(new.w, new.b)
        assert rows.gradient(rows.image(u), u) @ G == pytest.approx(0.0, abs=1e-9 * (G @ G))


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), which=st.sampled_from(SMOOTH))
def test_steps_in_the_metric_never_climb_and_forget_the_scale_of_columns(seed, which):
    X, y = data(seed, loss=which, noise=3.0)
    call = {"step": "1/H", "max_iter": 30, "history": True, "fit_intercept": False}
    found = stopped(X, y, which, **call)
    P = np.array([state.objective for state in found.history])
    assert (np.diff(P) <= 1e-14 * abs(P[0])).all()
    scaled = stopped(X * [1e3, 1.0, 0.1, 1.0], y, which, **call)
    for one, other in zip(found.history, scaled.history, strict=False):  # a zero gradient ends it
        assert other.objective == pytest.approx(one.objective, rel=1e-6)


def test_one_step_in_the_metric_solves_least_squares():
    X, y = data()
    found = gradient_descent(X, y, step="1/H", penalty="l2", alpha=0.1, tol=1e-9)
    assert found.n_iter <= 3
    assert found.certificate < 1e-12
    twice = gradient_descent(np.column_stack([X, X]), y, "huber", step="1/H", momentum="nesterov")
    once = gradient_descent(X, y, "huber", step="1/H", momentum="nesterov")
    assert twice.objective == pytest.approx(once.objective, rel=1e-9)


def test_naive_loops_take_the_same_steps():
    X, y = data()
    A = np.column_stack([X, np.ones(len(X))])
    eta, beta = 0.05, 0.5
    old = v = np.append(np.zeros(4), y.mean())
    found = stopped(X, y, step=eta, momentum=beta, max_iter=20, history=True)
    for state in found.history[1:]:
        old, v = v, v - eta * A.T @ (A @ v - y) / len(y) + beta * (v - old)
        np.testing.assert_allclose(np.append(state.w, state.b), v, rtol=1e-10, atol=1e-12)


def test_beyond_two_over_l_it_diverges_and_says_so():
    X, y = data()
    A = np.column_stack([X, np.ones(len(X))])
    limit = 2 * len(y) / np.linalg.norm(A, 2) ** 2
    with pytest.raises(ValueError, match=f"shorter than 2/L = {limit:.6g}"):
        gradient_descent(X, y, step=1.05 * limit)
    assert gradient_descent(X, y, step=0.95 * limit).converged
    with pytest.raises(ValueError, match="backtracking"):
        gradient_descent(X, np.abs(np.round(y)), "poisson", step=100.0)


def test_heavy_ball_and_nesterov_beat_plain_descent_on_a_narrow_valley():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) * [1.0, 0.1, 0.02]
    y = X @ [1.0, -10.0, 20.0]
    steps = {
        name: gradient_descent(X, y, momentum=name, tol=1e-8, max_iter=200_000).n_iter
        for name in (None, "heavy_ball", "nesterov")
    }
    assert steps["heavy_ball"] * 5 < steps[None]
    assert steps["nesterov"] * 5 < steps[None]


# ---------------------------------------------------------------------------------- certificates


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    which=st.sampled_from([*SMOOTH, "poisson"]),
    name=st.sampled_from(PENALTIES),
    intercept=st.booleans(),
    steps=st.integers(0, 30),
)
def test_certificate_bounds_the_true_distance(seed, which, name, intercept, steps):
    X, y = data(seed, loss=which)
    c = np.random.default_rng(seed).uniform(0, 2, size=len(y))
    options = {"penalty": name, "alpha": 0.1, "fit_intercept": intercept, "sample_weight": c}
    found = stopped(X, y, which, step="backtracking", max_iter=steps, **options)
    star = best(X, y, which, **options)
    assert found.objective - star.objective <= found.certificate * (1 + 1e-9) + 1e-12
    known = which == "squared_error" or name in ("l2", "elasticnet")
    assert np.isfinite(found.certificate) == known
    if known:
        assert star.certificate < 1e-6


def test_certificate_of_wide_and_collinear_least_squares():
    X, y = data(n=10, p=30)
    plain = gradient_descent(X, y, momentum="nesterov", tol=1e-10)
    assert plain.objective < 1e-12
    assert plain.certificate < 1e-10
    lasso = gradient_descent(
        X, y, penalty="l1", alpha=0.1, momentum="nesterov", tol=1e-9, max_iter=100_000
    )
    assert lasso.certificate < 1e-7
    X, y = data()
    twice = gradient_descent(np.column_stack([X, X]), y, tol=1e-9)
    assert twice.certificate < 1e-12


def test_several_classes_are_certified_without_intercept():
    X, y = data(loss="multinomial")
    found = best(X, y, "multinomial", penalty="l2", alpha=0.1, fit_intercept=False)
    assert found.w.shape == (4, 3)
    assert found.certificate < 1e-12
    assert best(X, y, "multinomial", penalty="l2", alpha=0.1).certificate == np.inf


# ------------------------------------------------------------------------------------ references


@pytest.mark.parametrize("momentum", [None, "nesterov"])
def test_agrees_with_the_closed_forms(momentum):
    X, y = data()
    c = np.random.default_rng(3).uniform(0.2, 2.0, size=len(y))
    options = {"momentum": momentum, "tol": 1e-10, "max_iter": 100_000, "sample_weight": c}
    plain = gradient_descent(X, y, **options)
    wanted = LinearRegression().fit(X, y, c)
    np.testing.assert_allclose(
        np.append(plain.w, plain.b), [*wanted.coef_, wanted.intercept_], rtol=1e-6
    )
    ridge = gradient_descent(X, y, penalty="l2", alpha=0.3, **options)
    wanted = Ridge(alpha=0.3 * c.sum()).fit(X, y, c)
    np.testing.assert_allclose(
        np.append(ridge.w, ridge.b), [*wanted.coef_, wanted.intercept_], rtol=1e-6
    )


def test_agrees_with_the_other_estimators():
    X, y = data()
    tight = {"momentum": "nesterov", "tol": 1e-10, "max_iter": 100_000}
    lasso = gradient_descent(X, y, penalty="l1", alpha=0.4, **tight)
    wanted = Lasso(alpha=0.4, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(lasso.w, wanted.coef_, rtol=1e-6, atol=1e-9)
    assert (lasso.w == 0).sum() == (wanted.coef_ == 0).sum()
    net = gradient_descent(X, y, penalty="elasticnet", alpha=0.4, l1_ratio=0.5, **tight)
    wanted = ElasticNet(alpha=0.4, l1_ratio=0.5, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(net.w, wanted.coef_, rtol=1e-6, atol=1e-9)
    X, y = data(loss="logistic", noise=4.0)
    logistic = gradient_descent(X, y, "log_loss", penalty="l2", alpha=1 / len(y), **tight)
    wanted = LogisticRegression(tol=1e-12, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(logistic.w, wanted.coef_[0], rtol=1e-5)
    assert logistic.b == pytest.approx(wanted.intercept_[0], rel=1e-5)


def test_sparse_rows_are_dense_rows():
    X, y = data()
    X[np.abs(X) < 0.5] = 0.0
    for options in ({}, {"step": "backtracking"}, {"penalty": "l1", "alpha": 0.1}):
        dense, sparse = (gradient_descent(A, y, tol=1e-8, **options) for A in (X, sp.csr_array(X)))
        np.testing.assert_allclose(sparse.w, dense.w, rtol=1e-5, atol=1e-7)


def test_weights_are_repetitions():
    X, y = data()
    times = np.random.default_rng(0).integers(0, 3, size=len(y))
    options = {"penalty": "l2", "alpha": 0.1, "tol": 1e-9}
    weighted = gradient_descent(X, y, sample_weight=times, **options)
    repeated = gradient_descent(np.repeat(X, times, 0), np.repeat(y, times), **options)
    np.testing.assert_allclose(weighted.w, repeated.w, rtol=1e-6)


def test_a_target_far_from_zero_and_columns_of_any_scale():
    X, y = data()
    far = gradient_descent(X, y + 1e8, tol=1e-7, momentum="nesterov")
    near = gradient_descent(X, y, tol=1e-7, momentum="nesterov")
    np.testing.assert_allclose(far.w, near.w, rtol=0, atol=1e-6)
    for scale in (1e-8, 1e8):
        found = gradient_descent(
            X[:, :1] * scale, y, fit_intercept=False, tol=1e-9 * scale, history=True
        )
        wanted = X[:, 0] @ y / (X[:, 0] @ X[:, 0])
        assert found.w[0] * scale == pytest.approx(wanted, rel=1e-8)


def test_constant_columns_and_single_precision():
    X, y = data()
    X[:, 2] = 5.0
    X = X.astype(np.float32)
    found = gradient_descent(X, y, tol=1e-8, momentum="nesterov")
    wanted = LinearRegression().fit(X.astype(float), y)
    np.testing.assert_allclose(X @ found.w + found.b, wanted.predict(X.astype(float)), rtol=1e-4)


def test_layout_and_read_only_input_do_not_matter():
    X, y = data()
    wanted = gradient_descent(X, y)
    frozen = np.asfortranarray(X)
    frozen.setflags(write=False)
    wide = np.repeat(X, 2, axis=1)[:, ::2]
    for same in (frozen, wide, X.tolist()):
        np.testing.assert_allclose(gradient_descent(same, y).w, wanted.w, rtol=1e-9)


# ---------------------------------------------------------------------------- stochastic descent


@pytest.mark.parametrize("m", [1, 2, 3])
def test_mini_batch_gradients_are_unbiased(m):
    """The mean over all batches of m rows is the gradient (2), exactly."""
    X, y = data(n=6, loss="logistic")
    c = np.array([0.5, 1.0, 2.0, 0.0, 1.5, 1.0])
    rows = objective_of(X, y, "logistic", Penalty(0.0, 0.2), True, c)
    v = np.random.default_rng(0).normal(size=5)
    eta, moves = 0.1, []
    for batch in itertools.combinations(range(6), m):
        at = v.copy()
        epoch(
            X, y, rows.share * 6, rows.loss.code, 0.0, at, 1.0, np.array(batch), m,
            np.array([eta]), 0.0, 0.2, v.copy(), -1,
        )  # fmt: skip
        moves.append((v - at) / eta)
    np.testing.assert_allclose(np.mean(moves, 0), rows.gradient(rows.image(v), v), rtol=1e-12)


@pytest.mark.parametrize("name", ["squared_error", "logistic", "hinge", "quantile", "poisson"])
@pytest.mark.parametrize("m", [1, 7])
def test_kernel_is_the_naive_loop(name, m):
    X, y = data(loss=name)
    c = np.random.default_rng(0).uniform(0.1, 2.0, len(y))
    rows = objective_of(X, y, name, Penalty(0.02, 0.1), True, c)
    order = np.random.default_rng(1).permutation(len(y))
    etas = lengths("1/sqrt(t)", 0.02, 3, -(-len(y) // m), 0.1)
    one, two = np.zeros(5), np.zeros(5)
    mean_one, mean_two = np.zeros(5), np.zeros(5)
    seen = epoch(
        X, y, rows.share * rows.n, rows.loss.code, rows.loss.parameter, one, 1.0, order, m, etas,
        0.02, 0.1, mean_one, 0,
    )  # fmt: skip
    assert seen == epoch_of_arrays(rows, two, order, m, etas, mean_two, 0) == len(etas)
    np.testing.assert_allclose(one, two, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(mean_one, mean_two, rtol=1e-10, atol=1e-12)


def test_one_batch_of_all_rows_is_gradient_descent():
    X, y = data()
    options = {"step": 0.05, "penalty": "elasticnet", "alpha": 0.1, "history": True}
    whole = stopped(X, y, max_iter=10, **options)
    batch = stochastic_gradient_descent(X, y, batch_size=40, max_iter=10, **options)
    for a, b in zip(whole.history, batch.history, strict=True):
        np.testing.assert_allclose(a.w, b.w, rtol=1e-9, atol=1e-12)
        assert a.b == pytest.approx(b.b, rel=1e-10)
        assert a.objective == pytest.approx(b.objective, rel=1e-10)


def test_schedules():
    np.testing.assert_allclose(lengths("constant", 0.5, 4, 2, 0.0), [0.5, 0.5])
    np.testing.assert_allclose(lengths("1/t", 0.5, 4, 2, 0.0), [0.5 / 3, 0.5 / 3.5])
    np.testing.assert_allclose(lengths("1/sqrt(t)", 0.5, 6, 2, 0.0)[0], 0.25)
    np.testing.assert_allclose(lengths("optimal", 0.5, 4, 2, 0.1), [0.5 / 1.2, 0.5 / 1.25])


def test_falling_steps_and_averages_come_nearer_than_constant_ones():
    X, y = data(n=400, noise=3.0)
    star = best(X, y, "squared_error")
    fair = {"random_state": 0, "max_iter": 60}
    far = stochastic_gradient_descent(X, y, **fair).objective - star.objective
    for options in ({"schedule": "1/t"}, {"schedule": "1/sqrt(t)"}, {"average": 10}):
        found = stochastic_gradient_descent(X, y, **options, **fair)
        assert found.objective - star.objective < far / 4
        assert found.certificate >= found.objective - star.objective


def test_the_average_is_the_mean_of_the_iterates():
    X, y = data()
    options = {"shuffle": False, "batch_size": 40, "step": 0.05, "max_iter": 8, "history": True}
    plain = stochastic_gradient_descent(X, y, **options)
    mean = stochastic_gradient_descent(X, y, average=3, **options)
    np.testing.assert_allclose(mean.w, np.mean([s.w for s in plain.history[4:]], 0), rtol=1e-12)
    whole = stochastic_gradient_descent(X, y, average=True, **options)
    np.testing.assert_allclose(whole.w, np.mean([s.w for s in plain.history[1:]], 0), rtol=1e-12)


@pytest.mark.parametrize("name", [LOGCOSH, "multinomial", "hinge", "epsilon_insensitive"])
@pytest.mark.parametrize("intercept", [True, False])
def test_any_loss_goes_down(name, intercept):
    X, y = data(loss=name)
    found = stochastic_gradient_descent(
        X, y, name, step=0.01, schedule="1/sqrt(t)", penalty="elasticnet", alpha=0.01,
        fit_intercept=intercept, random_state=0, max_iter=50, history=True,
    )  # fmt: skip
    assert len(found.history) == 51
    assert found.objective < found.history[0].objective - 0.05
    assert intercept or not np.any(found.b)


def test_random_state_decides():
    X, y = data()
    one, two, other = (
        stochastic_gradient_descent(X, y, random_state=seed, max_iter=3).w for seed in (0, 0, 1)
    )
    assert (one == two).all()
    assert (one != other).any()


def test_stochastic_descent_says_when_it_diverges_and_stops_at_tol():
    X, y = data()
    with pytest.raises(ValueError, match="2/L"):
        stochastic_gradient_descent(X, y, step=10.0)
    X, y = data(noise=0.0)  # all rows agree at the minimum: no noise there, and constant steps do
    found = stochastic_gradient_descent(X, y, random_state=0, tol=1e-6, max_iter=10_000)
    assert found.converged
    assert found.n_iter < 10_000
    assert found.gradient_norm <= 1e-6


# --------------------------------------------------------------------------- watching, bad input


def test_a_descent_that_ends_early_says_how_far_it_came():
    X, y = data()
    with pytest.warns(ConvergenceWarning, match=r"gradient .* > 1.0e-06 after 7 steps; raise"):
        gradient_descent(X, y, max_iter=7)


def test_history_and_callbacks_see_every_step():
    X, y = data()
    seen = []
    found = gradient_descent(X, y, callback=seen.append, history=True)
    assert len(seen) == len(found.history) == found.n_iter + 1
    assert found.history[-1].objective == pytest.approx(found.objective, rel=1e-12)
    assert found.history[0].step == 0.0
    assert gradient_descent(X, y).history is None
    few = gradient_descent(X, y, callback=lambda state: state.objective < seen[3].objective)
    assert few.n_iter == 4
    assert not few.converged
    epochs = stochastic_gradient_descent(
        X, y, callback=lambda state: state.objective < 1e9, history=True
    )
    assert epochs.n_iter == 1
    assert pickle.loads(pickle.dumps(found)).n_iter == found.n_iter


def test_start_continues_a_descent():
    X, y = data()
    with pytest.warns(ConvergenceWarning):
        half = gradient_descent(X, y, max_iter=10)
    whole = gradient_descent(X, y)
    assert gradient_descent(X, y, start=(half.w, half.b)).n_iter == whole.n_iter - 10


def test_no_step_is_needed_at_the_minimum():
    X, y = data()
    found = gradient_descent(X, np.zeros(len(y)))
    assert found.n_iter == 1
    assert not found.w.any()
    zero = gradient_descent(np.zeros((5, 2)), np.arange(5.0))
    assert zero.b == 2.0
    assert zero.certificate == 0.0


def test_unpacking_keeps_shapes():
    rows = DescentObjective(
        np.eye(3), np.array([0, 1, 2]), np.ones(3), losses.multinomial, Penalty(), True
    )
    w, b = unpacked(rows, rows.start())
    assert w.shape == (3, 3)
    assert b.shape == (3,)


@pytest.mark.parametrize("descent", [gradient_descent, stochastic_gradient_descent])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"penalty": "l3"}, "penalty must be"),
        ({"penalty": "l2", "alpha": -1.0}, "alpha must be >= 0"),
        ({"penalty": "l2", "alpha": np.inf}, "alpha must be >= 0"),
        ({"penalty": "elasticnet", "l1_ratio": 2.0}, "l1_ratio"),
        ({"loss": "no such"}, "unknown loss"),
        ({"loss": "zero_one", "y": [1.0, -1.0, 1.0]}, "not convex"),
        ({"loss": "logistic"}, "must be -1 or"),
        ({"loss": "poisson", "y": [-1.0, 0.0, 1.0]}, ">= 0"),
        ({"step": 0.0}, "step must be"),
        ({"step": "long"}, "step must be"),
        ({"step": True}, "step must be"),
        ({"max_iter": -1}, "max_iter"),
        ({"max_iter": 1.5}, "max_iter"),
        ({"tol": -1.0}, "tol"),
        ({"sample_weight": [0.0, 0.0, 0.0]}, "at least one non-zero"),
        ({"sample_weight": [1.0, -1.0, 1.0]}, "[Nn]egative"),
        ({"X": [[np.nan], [1.0], [2.0]]}, "NaN"),
        ({"X": [[np.inf], [1.0], [2.0]]}, "infinity"),
        ({"y": [np.nan, 1.0, 2.0]}, "finite"),
        ({"y": [1.0, 2.0]}, "inconsistent"),
        ({"y": [[1.0], [2.0], [3.0]]}, "one dimension"),
        ({"X": [["a"], ["b"], ["c"]]}, "convert"),
        ({"X": np.empty((0, 1)), "y": []}, "minimum of 1"),
    ],
)
def test_bad_input_is_refused(descent, change, message):
    call = {"X": [[0.0], [1.0], [2.0]], "y": [1.0, 2.0, 4.0]} | change
    with pytest.raises(ValueError, match=message):
        descent(**call)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"loss": "poisson"}, "no largest curvature"),
        ({"loss": "absolute"}, "kinks"),
        ({"loss": "absolute", "step": "backtracking"}, "kinks"),
        ({"penalty": "l1", "step": "1/H"}, "without an L1"),
        ({"loss": "exponential", "step": "1/H", "y": [1.0, -1.0, 1.0]}, "no largest curvature"),
        ({"loss": "huber", "step": "exact"}, "squared_error"),
        ({"penalty": "l1", "step": "exact"}, "squared_error"),
        ({"step": "exact", "momentum": "nesterov"}, "without momentum"),
        ({"step": "backtracking", "momentum": 0.5}, "nesterov"),
        ({"step": 0.1, "momentum": "heavy_ball"}, "its own step"),
        ({"loss": "huber", "momentum": "heavy_ball"}, "strong convexity"),
        ({"momentum": 1.0}, "momentum must be"),
        ({"start": (np.zeros(3), 0.0)}, "start must hold"),
    ],
)
def test_options_that_do_not_go_together(call, message):
    with pytest.raises(ValueError, match=message):
        gradient_descent(**{"X": [[0.0], [1.0], [2.0]], "y": [1.0, 2.0, 4.0]} | call)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"schedule": "fast"}, "schedule must be"),
        ({"schedule": "optimal"}, "needs an L2 penalty"),
        ({"batch_size": 0}, "batch_size"),
        ({"average": -2}, "average"),
        ({"X": sp.csr_array(np.eye(3))}, "[Ss]parse"),
    ],
)
def test_stochastic_options_that_make_no_sense(call, message):
    call = {"X": [[0.0], [1.0], [2.0]], "y": [1.0, 2.0, 4.0]} | call
    with pytest.raises((ValueError, TypeError), match=message):
        stochastic_gradient_descent(**call)
