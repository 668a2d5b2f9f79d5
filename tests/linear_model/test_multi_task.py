"""Multi-task lasso and elastic net"""

import pickle
import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import mlreplica
from mlreplica.callbacks import Trace
from mlreplica.linear_model import (
    ElasticNet,
    MultiTaskElasticNet,
    MultiTaskElasticNetCV,
    MultiTaskLasso,
    MultiTaskLassoCV,
)
from mlreplica.linear_model.lasso.multi_task import MultiTaskProblem, block_coordinate_descent


def problem(seed=0, n=40, p=8, T=3, few=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 0.5 * rng.normal(size=(n, 1))
    W = np.zeros((p, T))
    W[:few] = rng.normal(size=(few, T))
    return X, X @ W + 0.3 * rng.normal(size=(n, T)) + 2.0


def few_stored(seed=0, n=40, p=8, T=3):
    """Sparse rows, one column of which is 1 but for rounding, and weights, one of them 0."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * (rng.random((n, p)) < 0.3)
    X[:, 1] += 5.0
    X[:, 2] = 1.0 / 3.0
    return X, problem(seed, n, p, T)[1] + X[:, :T], rng.integers(0, 4, n).astype(float)


def value(X, Y, model, s=None):
    """P of (1) at a model's weights, rounded or not."""
    R, ratio = Y - X @ model.coef_.T - model.intercept_, getattr(model, "l1_ratio", 1.0)
    norms = np.linalg.norm(model.coef_, axis=0)
    penalty = ratio * norms.sum() + 0.5 * (1 - ratio) * (norms**2).sum()
    return np.average((R**2).sum(axis=1), weights=s) / 2 + model.alpha * penalty


def naive(X, Y, alpha, beta, sweeps=2000):
    """Proximal gradient descent on centred columns."""
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    n, W = len(X), np.zeros((X.shape[1], Y.shape[1]))
    L = np.linalg.norm(X, 2) ** 2 / n + beta
    for _ in range(sweeps):
        Z = W - (X.T @ (X @ W - Y) / n + beta * W) / L
        size = np.linalg.norm(Z, axis=1, keepdims=True)
        W = np.maximum(1 - alpha / L / np.maximum(size, 1e-300), 0) * Z
    return W


# (a) properties


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 1000), st.sampled_from([0.0, 0.3, 1.0]), st.floats(0.003, 0.5))
def test_the_gap_bounds_the_distance_after_every_sweep(seed, ratio, alpha):
    X, Y = problem(seed)
    trace = Trace()
    exact = MultiTaskElasticNet(alpha, l1_ratio=ratio, tol=1e-13, max_iter=10**5)
    least = value(X, Y, exact.set_callbacks(trace).fit(X, Y))
    assert exact.certificate_ <= exact.eps_
    for state in trace.states:
        assert state["objective"] - least <= state["gap"] * (1 + 1e-9) + 1e-12


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 1000), st.sampled_from([0.0, 0.3, 1.0]), st.floats(0.003, 0.5), st.booleans())
def test_the_gap_bounds_the_distance_of_weighted_and_sparse_rows(seed, ratio, alpha, intercept):
    X, Y, s = few_stored(seed)
    trace = Trace()
    exact = MultiTaskElasticNet(
        alpha, l1_ratio=ratio, tol=1e-13, max_iter=10**5, fit_intercept=intercept
    )
    least = value(X, Y, exact.set_callbacks(trace).fit(sp.csr_array(X), Y, s), s)
    assert exact.certificate_ <= exact.eps_
    for state in trace.states:
        assert state["objective"] - least <= state["gap"] * (1 + 1e-9) + 1e-12
    exact.set_params(max_iter=3, tol=1e-15)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        exact.fit(sp.csr_array(X), Y, s)
    assert value(X, Y, exact, s) - least <= exact.certificate_ * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csc_matrix])
@pytest.mark.parametrize("cls", [MultiTaskElasticNet, MultiTaskElasticNetCV])
def test_a_weight_is_a_repetition_and_sparse_is_dense(cls, kind, intercept):
    X, Y, s = few_stored()
    given = {"l1_ratio": 0.6, "fit_intercept": intercept, "tol": 1e-15, "max_iter": 2000}
    again = np.repeat(np.arange(len(X)), s.astype(int))
    if cls is MultiTaskElasticNet:
        given["alpha"] = 0.03
        weighted, repeated = cls(**given), cls(**given)
    else:
        fold = np.arange(len(X)) % 3
        folds = [[(np.flatnonzero(f != k), np.flatnonzero(f == k)) for k in range(3)]
                 for f in (fold, fold[again])]  # fmt: skip
        weighted, repeated = (cls(**given, alphas=[0.3, 0.03], cv=cv) for cv in folds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # 1e-15 is out of reach
        weighted.fit(kind(X), Y, s)
        repeated.fit(X[again], Y[again])
    assert_allclose(weighted.coef_, repeated.coef_, atol=1e-10)
    assert_allclose(weighted.intercept_, repeated.intercept_, atol=1e-10)
    if cls is MultiTaskElasticNetCV:
        assert_allclose(weighted.mse_path_, repeated.mse_path_, rtol=1e-10)
    assert_allclose(weighted.predict(kind(X)), weighted.predict(X), rtol=1e-13)


def test_no_sparse_column_is_stored_in_full():
    n, p = 20_000, 20_000  # 3.2 GB, if it were
    rng = np.random.default_rng(0)
    X = sp.random_array((n, p), density=1e-4, rng=rng, format="csc")
    Y = X[:, [0, 1]].toarray() + 0.01 * rng.normal(size=(n, 2))
    tracemalloc.start()
    model = MultiTaskLasso(1e-6).fit(X, Y)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.coef_[0, 0] > 0.1
    assert most < 50_000_000


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 1000), st.floats(0.01, 0.5))
def test_optimality_conditions(seed, alpha):
    X, Y = problem(seed)
    model = MultiTaskLasso(alpha, tol=1e-13, max_iter=10**5).fit(X, Y)
    X0, W = X - X.mean(axis=0), model.coef_.T
    G = X0.T @ (Y - model.predict(X)) / len(X)
    norms = np.linalg.norm(W, axis=1)
    used = norms > 0
    assert_allclose(G[used], alpha * W[used] / norms[used, None], atol=1e-5)
    assert (np.linalg.norm(G[~used], axis=1) <= alpha + 1e-6).all()


def test_above_the_largest_alpha_all_weights_are_zero():
    X, Y = problem()
    top = MultiTaskProblem(X, Y, None, True).largest_alpha()
    assert not MultiTaskLasso(1.0001 * top).fit(X, Y).coef_.any()
    assert MultiTaskLasso(0.99 * top).fit(X, Y).coef_.any()


def test_rotated_targets_have_rotated_weights():
    X, Y = problem()
    Q, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))
    one = MultiTaskLasso(0.1, tol=1e-12).fit(X, Y)
    two = MultiTaskLasso(0.1, tol=1e-12).fit(X, Y @ Q)
    assert_allclose(two.coef_, Q.T @ one.coef_, atol=1e-5)


def test_one_target_is_the_elastic_net():
    X, Y = problem(T=1)
    one = ElasticNet(0.1, l1_ratio=0.7, tol=1e-12).fit(X, Y[:, 0])
    many = MultiTaskElasticNet(0.1, l1_ratio=0.7, tol=1e-12).fit(X, Y)
    assert_allclose(many.coef_[0], one.coef_, atol=1e-6)
    assert_allclose(many.intercept_, one.intercept_, atol=1e-6)


def test_columns_proved_to_be_zero_are_left_out():
    X, Y = problem(n=100, p=60)
    prepared = MultiTaskProblem(X, Y, None, True)
    states = block_coordinate_descent(prepared, 0.2, 0.0, np.zeros((60, 3)))
    active = [next(states).active for _ in range(60)]
    assert active[0] == 60
    assert active[-1] < 15


# (b) the naive version


@pytest.mark.parametrize("ratio", [0.2, 1.0])
def test_the_naive_version_agrees(ratio):
    X, Y = problem()
    model = MultiTaskElasticNet(0.1, l1_ratio=ratio, tol=1e-13, max_iter=10**5).fit(X, Y)
    assert_allclose(model.coef_.T, naive(X, Y, 0.1 * ratio, 0.1 * (1 - ratio)), atol=1e-6)


# (c) scikit-learn


@pytest.mark.parametrize("ratio", [0.2, 1.0])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("selection", ["cyclic", "random"])
def test_scikit_learn_agrees(ratio, intercept, selection):
    X, Y = problem()
    given = {"l1_ratio": ratio, "fit_intercept": intercept, "max_iter": 10**4, "tol": 1e-12}
    given |= {"selection": selection, "random_state": 0}
    ours = MultiTaskElasticNet(0.1, **given).fit(X, Y)
    theirs = sklearn.linear_model.MultiTaskElasticNet(0.1, **given).fit(X, Y)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)
    assert_allclose(ours.sparse_coef_.toarray(), ours.coef_)


def test_scikit_learn_chooses_the_same():
    X, Y = problem(n=60)
    given = {"l1_ratio": [0.3, 0.9], "alphas": 20, "cv": 3, "tol": 1e-9, "max_iter": 10**4}
    ours = MultiTaskElasticNetCV(**given).fit(X, Y)
    theirs = sklearn.linear_model.MultiTaskElasticNetCV(**given).fit(X, Y)
    assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-4)
    assert_allclose(ours.alphas_, theirs.alphas_, rtol=1e-10)
    assert_allclose([ours.alpha_, ours.l1_ratio_], [theirs.alpha_, theirs.l1_ratio_], rtol=1e-10)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    given.pop("l1_ratio")
    ours = MultiTaskLassoCV(**given).fit(X, Y)
    theirs = sklearn.linear_model.MultiTaskLassoCV(**given).fit(X, Y)
    assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-4)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert not hasattr(ours, "l1_ratio_")


# (d) scikit-learn's checks


@parametrize_with_checks(
    [
        MultiTaskElasticNet(),
        MultiTaskLasso(),
        MultiTaskElasticNetCV(cv=3, alphas=10),
        MultiTaskLassoCV(cv=3, alphas=10, max_iter=10_000),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# (e) bad and hard input


@pytest.mark.parametrize("cls", [MultiTaskElasticNet, MultiTaskLasso, MultiTaskLassoCV])
def test_bad_input_says_what_is_wrong(cls):
    X, Y = problem()
    name = cls.__name__.replace("MultiTask", "")
    with pytest.raises(ValueError, match=f"For mono-task outputs, use {name}"):
        cls().fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="overflow"):
        cls().fit(1e300 * X, Y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        cls().fit(X, Y[:-1])
    with pytest.raises(ValueError, match="weights must contain at least one non-zero"):
        cls().fit(X, Y, np.zeros(len(X)))


def test_too_few_sweeps_are_told():
    X, Y = problem()
    with pytest.warns(ConvergenceWarning, match=r"gap .* after 1 sweeps; raise max_iter"):
        model = MultiTaskLasso(0.01, max_iter=1).fit(X, Y)
    assert model.n_iter_ == 1
    assert model.certificate_ > model.eps_
    with pytest.raises(ValueError, match="l1_ratio=0"):
        MultiTaskElasticNetCV(l1_ratio=0.0).fit(X, Y)


def test_constant_columns_warm_starts_and_single_precision():
    X, Y = problem()
    X[:, 2] = 7.0
    model = MultiTaskLasso(0.1, warm_start=True, tol=1e-8).fit(X, Y)
    assert not model.coef_[:, 2].any()
    first = model.n_iter_
    assert model.fit(X, Y).n_iter_ <= first
    single = MultiTaskLasso(0.1, tol=1e-8).fit(X.astype(np.float32), Y.astype(np.float32))
    assert single.coef_.dtype == np.float32
    assert_allclose(single.coef_, model.coef_, atol=1e-4)
    rise = value(X.astype(np.float32).astype(float), Y.astype(np.float32).astype(float), single)
    assert (
        rise - value(X, Y, MultiTaskLasso(0.1, tol=1e-13).fit(X, Y)) <= single.certificate_ + 1e-6
    )


def test_an_interrupt_leaves_the_last_state():
    class CtrlC(mlreplica.callbacks.Callback):
        def on_fit_task_end(self, estimator, context):
            if hasattr(context, "state"):
                raise KeyboardInterrupt

    X, Y = problem()
    model = MultiTaskLasso(0.01, tol=1e-12).set_callbacks(CtrlC())
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("cls", [MultiTaskElasticNet, MultiTaskLassoCV])
def test_files_hold_it(tmp_path, cls):
    X, Y = problem()
    model = cls().fit(X, Y)
    for again in (
        mlreplica.load(mlreplica.save(model, tmp_path / "m.skops")),
        pickle.loads(pickle.dumps(model)),
    ):
        assert_array_equal(again.predict(X), model.predict(X))
    model.coef_ = model.coef_[:, :2]
    with pytest.raises(ValueError, match="coef_"):
        mlreplica.load(mlreplica.save(model, tmp_path / "m.skops"))
