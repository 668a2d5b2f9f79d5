import pickle
import threading
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.linear_model
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from mlreplica.callbacks import Trace
from mlreplica.linear_model import LogisticRegression
from mlreplica.linear_model.logistic import objective as lg
from mlreplica.linear_model.logistic import smooth as solvers
from mlreplica.linear_model.logistic.wide import ByRows

SMOOTH = ["lbfgs", "newton-cholesky", "newton-cg", "gd"]
EVERY = [*SMOOTH, "cd", "sag", "saga"]


def points(n=80, p=3, K=2, seed=0):
    """Rows of K overlapping classes, columns correlated and away from zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) @ (np.eye(p) + 0.3) + 1.0
    y = (X @ rng.normal(size=(p, K)) + rng.gumbel(size=(n, K))).argmax(axis=1)
    y[:K] = np.arange(K)
    return X, y


def problem(X, y, l2=0.05, intercept=True, seed=None):
    K = 1 if y.max() == 1 else int(y.max()) + 1
    rng = np.random.default_rng(seed)
    s = np.ones(len(y)) if seed is None else rng.uniform(0.1, 2.0, len(y))
    return lg.LogisticProblem(X, 2.0 * y - 1.0 if K == 1 else y, s / s.sum(), 0.0, l2, intercept, K)


def naive_objective(X, y, W, b, C=1.0, ratio=0.0, s=None):
    """(1) in five lines of NumPy."""
    s = np.ones(len(y)) if s is None else s
    F = X @ W.T + b
    F = np.column_stack([np.zeros(len(y)), F]) if len(W) == 1 else F
    loss = np.logaddexp.reduce(F, axis=1) - F[np.arange(len(y)), y]
    penalty = ratio * np.abs(W).sum() + (1 - ratio) / 2 * (W**2).sum()
    return (s @ loss + penalty / C) / s.sum()


def naive_newton(X, y, C, steps=30):
    """Two classes, ten lines: the textbook's iteratively reweighted least squares."""
    A, t, n = np.column_stack([X, np.ones(len(X))]), y.astype(float), len(y)
    R = np.diag([1.0 / (C * n)] * X.shape[1] + [0.0])
    v = np.zeros(A.shape[1])
    for _ in range(steps):
        p = 1 / (1 + np.exp(-A @ v))
        v -= np.linalg.solve((A * (p * (1 - p) / n)[:, None]).T @ A + R, A.T @ (p - t) / n + R @ v)
    return v


# (a) properties


@pytest.mark.parametrize(("K", "narrow"), [(2, 16), (2, 0), (4, 16)])
@pytest.mark.parametrize("intercept", [True, False])
def test_derivatives_are_finite_differences(monkeypatch, K, narrow, intercept):
    monkeypatch.setattr(lg, "NARROW", narrow)
    X, y = points(K=K)
    objective = lg.LogisticObjective(problem(X, y, intercept=intercept, seed=1))
    V = np.random.default_rng(1).normal(size=objective.shape) * 0.3
    point, h = objective.at(V), 1e-5
    E = h * np.eye(V.size).reshape(-1, *V.shape)
    slopes = [(objective.at(V + e).P - objective.at(V - e).P) / (2 * h) for e in E]
    assert_allclose(point.g.ravel(), slopes, atol=1e-9)
    curves = [(objective.at(V + e).g - objective.at(V - e).g).ravel() / (2 * h) for e in E]
    H = objective.hessian(point)
    assert_allclose(H, curves, atol=1e-8)
    D = np.random.default_rng(2).normal(size=V.shape)
    assert_allclose(objective.curvature(point.F)(D).ravel(), H @ D.ravel(), atol=1e-13)


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 1000),
    K=st.sampled_from([2, 3]),
    solver=st.sampled_from(SMOOTH),
    l2=st.sampled_from([1e-4, 1e-2, 1.0]),
    intercept=st.booleans(),
    shape=st.sampled_from([(30, 2), (8, 12)]),
)
def test_the_certificate_bounds_the_true_gap_after_any_number_of_steps(
    seed, K, solver, l2, intercept, shape
):
    X, y = points(*shape, K=K, seed=seed)
    case = problem(X, y, l2, intercept, seed=seed)
    W, b = np.zeros((case.K, shape[1])), np.zeros(case.K)
    *_, best = solvers.smooth(case, W, b, "newton-cholesky")
    for _, state in zip(range(12), solvers.smooth(case, W, b, solver), strict=False):
        assert state.gap >= state.objective - best.objective - 1e-14
        assert state.gap <= state.objective + 1e-14
    assert best.gap <= 1e-13


def test_the_bound_by_self_concordance_holds_far_from_the_minimum():
    X, y = points(60, 2)
    objective = lg.LogisticObjective(problem(X, y, 0.0))
    *_, best = solvers.newton(objective, objective.at(np.zeros(objective.shape)))
    V = objective.coordinates(best.W, best.b)
    for size in (1e-6, 1e-3, 0.03, 0.1, 0.3):
        d = size * np.random.default_rng(1).normal(size=V.shape)
        point = objective.at(V + d)
        bound = solvers.certificate(problem(X, y, 0.0), *objective.weights(point.V))
        assert point.P - best.objective <= bound <= point.P
        assert size > 0.01 or bound < point.P / 100


@pytest.mark.parametrize("K", [2, 3])
@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 1000))
def test_a_weight_is_a_number_of_repetitions(K, seed):
    X, y = points(40, 2, K, seed)
    times = np.random.default_rng(seed).integers(0, 4, len(y))
    times[:K] = 1
    few = LogisticRegression(tol=1e-10).fit(X, y, sample_weight=times)
    many = LogisticRegression(tol=1e-10).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert_allclose(few.coef_, many.coef_, atol=1e-9)
    assert_allclose(few.intercept_, many.intercept_, atol=1e-9)


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 1000))
def test_permutation_and_shift_change_what_they_should(seed):
    X, y = points(60, 3, 3, seed)
    order = np.random.default_rng(seed).permutation(len(y))
    far = X + np.array([1e6, -3.0, 0.0])
    a = LogisticRegression(tol=1e-10).fit(X, y)
    b = LogisticRegression(tol=1e-10).fit(far[order], y[order])
    assert_allclose(a.coef_, b.coef_, atol=1e-8)
    assert_allclose(a.predict_proba(X), b.predict_proba(far), atol=1e-8)


def test_steps_never_rise():
    X, y = points(200, 5, 3)
    for solver in SMOOTH:
        case = problem(X, y)
        states = solvers.smooth(case, np.zeros((3, 5)), np.zeros(3), solver)
        values = [state.objective for _, state in zip(range(30), states, strict=False)]
        assert np.diff(values).max() <= 1e-15


# (b) the naive version


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_newton_is_reweighted_least_squares(C):
    X, y = points()
    v = naive_newton(X, y, C)
    for solver in ("lbfgs", "newton-cholesky", "newton-cg", "cd"):
        model = LogisticRegression(C=C, solver=solver, tol=1e-12).fit(X, y)
        assert_allclose(np.append(model.coef_, model.intercept_), v, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("K", [2, 5])
@pytest.mark.parametrize("weighted", [True, False])
def test_the_kernels_compute_the_objective(K, weighted):
    X, y = points(50, 4, K)
    rng = np.random.default_rng(0)
    s = rng.uniform(0.5, 2, 50) if weighted else np.ones(50)
    W, b = rng.normal(size=(1 if K == 2 else K, 4)), rng.normal(size=1 if K == 2 else K)
    W, b = (W, b) if K == 2 else (W - W.mean(axis=0), b - b.mean())
    case = lg.LogisticProblem(
        X, 2.0 * y - 1 if K == 2 else y, s / s.sum(), 0.0, 1 / s.sum(), True, len(W)
    )
    objective = lg.LogisticObjective(case)
    point = objective.at(objective.coordinates(W, b))
    assert_allclose(point.P, naive_objective(X, y, W, b, 1.0, s=s), rtol=1e-14)


@pytest.mark.parametrize("K", [2, 3])
def test_many_blocks_on_many_threads_are_one_matrix(monkeypatch, K):
    X, y = points(500, 4, K)
    one = LogisticRegression(tol=1e-10, n_jobs=1).fit(X, y)
    monkeypatch.setattr(lg, "BLOCK", 64)
    many = LogisticRegression(tol=1e-10).fit(X, y)
    assert_allclose(one.coef_, many.coef_, atol=1e-10)


@pytest.mark.parametrize("K", [2, 3])
def test_the_sample_leads_to_the_minimum_over_all_rows(monkeypatch, K):
    X, y = points(4000, 4, K)
    exact = LogisticRegression(tol=1e-10).fit(X, y)
    monkeypatch.setattr(solvers, "CHEAP", 0)
    model = LogisticRegression(tol=1e-10).fit(X, y)
    assert_allclose(exact.coef_, model.coef_, atol=1e-8)
    assert model.certificate_ <= 1e-10
    loose = LogisticRegression(tol=1e-3).fit(X, y)
    P = [naive_objective(X, y, m.coef_, m.intercept_) for m in (loose, exact)]
    assert P[0] - P[1] <= loose.certificate_ <= 1e-3


# (c) references


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("C", [0.01, 1.0, 1e4])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_scikit_learn_agrees(K, C, fit_intercept, weighted):
    X, y = points(100, 3, K)
    s = np.random.default_rng(0).uniform(0, 2, 100) if weighted else None
    options = {"C": C, "fit_intercept": fit_intercept, "class_weight": "balanced"}
    theirs = sklearn.linear_model.LogisticRegression(
        **options, solver="newton-cholesky", tol=1e-10, max_iter=1000
    ).fit(X, y, sample_weight=s)
    for solver in ("lbfgs", "newton-cg"):
        ours = LogisticRegression(**options, solver=solver, tol=1e-9).fit(X, y, sample_weight=s)
        assert_allclose(ours.coef_, theirs.coef_, rtol=1e-5, atol=1e-6)
        assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
        assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
        assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("ratio", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("solver", ["cd", "saga"])
def test_the_other_penalties_reach_scikit_learns_objective(K, ratio, solver):
    X, y = points(120, 6, K)
    options = {"C": 0.2, "l1_ratio": ratio, "max_iter": 20000}
    theirs = sklearn.linear_model.LogisticRegression(**options, solver="saga", tol=1e-8).fit(X, y)
    tol = 1e-9 if solver == "cd" else 1e-11  # saga's is of the weights' change, not the certificate
    ours = LogisticRegression(**options, solver=solver, tol=tol).fit(X, y)
    P = [naive_objective(X, y, m.coef_, m.intercept_, 0.2, ratio) for m in (ours, theirs)]
    assert P[0] <= P[1] + 1e-9
    assert ours.certificate_ <= 1e-9
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)


@pytest.mark.parametrize("ratio", [0.0, 1.0])
@pytest.mark.parametrize("scaling", [1.0, 10.0])
def test_liblinear_penalises_the_intercept(ratio, scaling):
    X, y = points(150, 3)
    options = {"solver": "liblinear", "l1_ratio": ratio, "intercept_scaling": scaling, "C": 0.3}
    theirs = sklearn.linear_model.LogisticRegression(**options, tol=1e-9, max_iter=5000).fit(X, y)
    ours = LogisticRegression(**options, tol=1e-10).fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)


@pytest.mark.parametrize("container", [sp.csr_array, sp.csc_matrix, sp.coo_array])
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("solver", EVERY)
def test_sparse_is_dense(monkeypatch, container, K, solver):
    from mlreplica.linear_model.logistic import training as module

    monkeypatch.setattr(module, "SMALL", 0)
    X, y = points(60, 4, K)
    X[np.abs(X) < 0.5] = 0.0
    options = {"solver": solver, "tol": 1e-7, "max_iter": 5000, "random_state": 0}
    dense = LogisticRegression(tol=1e-10).fit(X, y)
    sparse = LogisticRegression(**options).fit(container(X), y)
    assert_allclose(sparse.coef_, dense.coef_, atol=2e-3)
    assert_allclose(sparse.predict_proba(container(X)), dense.predict_proba(X), atol=2e-3)


@pytest.mark.parametrize("K", [2, 3])
def test_wide_is_ridge_in_the_span_of_the_rows(K):
    X, y = points(20, 50, K)
    ours = LogisticRegression(tol=1e-11).fit(X, y)
    theirs = sklearn.linear_model.LogisticRegression(tol=1e-10, max_iter=10000).fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    assert_allclose(ours.coef_ @ (np.eye(50) - np.linalg.pinv(X) @ X), 0.0, atol=1e-12)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_rows_of_wide_data_say_all_about_the_hessian(intercept):
    X, y = points(12, 40)
    case = problem(X, y, 0.01, intercept, seed=3)
    rows, plain = ByRows(case, X @ X.T), lg.LogisticObjective(case)
    W, b = 0.1 * np.random.default_rng(1).normal(size=(1, 12)) @ X, np.full(1, 0.3 * intercept)
    here, there = rows.at(rows.coordinates(W, b)), plain.at(plain.coordinates(W, b))
    assert_allclose(here.P, there.P, rtol=1e-9)
    fast, slow = rows.factor(here), plain.factor(there)
    d, d_b = rows.weights(fast.solve(here.g))
    step = slow.solve(there.g)
    assert_allclose(d, step[:, :40], atol=1e-7)
    assert_allclose(d_b[:intercept], step[0, 40:], atol=1e-7)
    assert_allclose(fast.decrement(here.g), slow.decrement(there.g), rtol=1e-7)
    X = np.column_stack([X, np.ones((12, int(intercept)))])
    assert fast.rho**2 >= (np.linalg.solve(plain.hessian(there), X.T) * X.T).sum(axis=0).max()


def test_no_penalty_and_dependent_columns():
    X, y = points(200, 3)
    once = LogisticRegression(C=np.inf, tol=1e-9).fit(X, y)
    twice = LogisticRegression(C=np.inf, tol=1e-9).fit(np.column_stack([X, X[:, 0]]), y)
    assert_allclose(twice.coef_[0, [0, 3]], once.coef_[0, 0] / 2, rtol=1e-7)  # of least norm
    assert twice.certificate_ <= 1e-9


# separable data


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky", "newton-cg"])
def test_separable_classes_without_penalty_are_said(solver):
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="hyperplane separates"):
        model = LogisticRegression(C=np.inf, solver=solver).fit(X[y < 2], y[y < 2])
    assert np.isfinite(model.coef_).all()
    assert model.score(X[y < 2], y[y < 2]) == 1.0
    with pytest.warns(ConvergenceWarning, match="hyperplane separates"):
        LogisticRegression(C=np.inf, solver=solver).fit(X, y)  # one class of three suffices


def test_separable_but_for_points_on_the_plane():
    X = np.array([[-2.0], [-1.0], [0.0], [0.0], [1.0], [2.0]])
    with pytest.warns(ConvergenceWarning, match="hyperplane separates"):
        LogisticRegression(C=np.inf).fit(X, [0, 0, 0, 1, 1, 1])
    model = LogisticRegression(C=np.inf).fit(X, [0, 1, 0, 1, 0, 1])  # overlapping: no warning
    assert model.certificate_ <= 1e-4


# (d) scikit-learn's checks


@parametrize_with_checks(
    [
        LogisticRegression(),
        LogisticRegression(solver="newton-cholesky"),
        LogisticRegression(solver="cd", l1_ratio=0.5),
        LogisticRegression(solver="liblinear"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


# bad input, and odd


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("solver", ["lbfgs", "cd"])
def test_entries_that_are_no_numbers(bad, solver):
    X, y = points()
    X[7, 1] = bad
    with pytest.raises(ValueError, match="contains"):
        LogisticRegression(solver=solver).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0.0}, "'C'"),
        ({"C": -1.0}, "'C'"),
        ({"solver": "magic"}, "'solver'"),
        ({"l1_ratio": 2.0}, "'l1_ratio'"),
        ({"l1_ratio": 0.5}, "only 'l2'"),
        ({"dual": True}, "dual=False"),
        ({"solver": "liblinear", "C": np.inf}, "liblinear"),
        ({"solver": "liblinear", "l1_ratio": 0.5}, "elasticnet"),
    ],
)
def test_parameters_that_cannot_be(parameters, message):
    with pytest.raises(ValueError, match=message):
        LogisticRegression(**parameters).fit(*points())


def test_classes_and_weights_that_cannot_be():
    X, y = points()
    with pytest.raises(ValueError, match="2 classes"):
        LogisticRegression().fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="zero"):
        LogisticRegression().fit(X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(ValueError, match="Negative"):
        LogisticRegression().fit(X, y, sample_weight=-np.ones(len(y)))
    with pytest.raises(ValueError, match="Unknown label type"):
        LogisticRegression().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="multiclass"):
        LogisticRegression(solver="liblinear").fit(*points(K=3))
    with pytest.raises(ValueError, match="0 sample"):
        LogisticRegression().fit(np.empty((0, 2)), [])


def test_a_class_of_weight_zero_is_absent():
    X, y = points(90, 2, 3)
    s = (y != 1).astype(float)
    model = LogisticRegression(tol=1e-9).fit(X, y, sample_weight=s)
    two = LogisticRegression(tol=1e-9).fit(X[y != 1], y[y != 1])
    assert model.predict_proba(X)[:, 1].max() < 1e-3
    assert_allclose(model.coef_[2] - model.coef_[0], two.coef_[0], atol=1e-7)
    rows = X[:5]
    assert set(model.predict(rows)) <= {0, 2}


@pytest.mark.parametrize(
    ("solver", "K"), [*((solver, K) for solver in EVERY for K in (2, 3)), ("liblinear", 2)]
)
def test_weight_for_one_class_only(solver, K):
    X, y = points(40, 3, K)
    s = (y == 1) * 1.0
    options = {"C": 0.5, "solver": solver, "tol": 1e-10, "max_iter": 20_000}
    if solver != "liblinear":  # b, which no penalty sees, makes the class certain
        model = LogisticRegression(**options).fit(X, y, sample_weight=s)
        assert_array_equal(model.classes_, np.arange(K))
        assert (model.predict(X) == 1).all()
        assert not model.coef_.any()
        P = naive_objective(X, y, model.coef_, model.intercept_, 0.5, s=s)  # its infimum is 0
        assert P <= model.certificate_ * (1 + 1e-6) < 1e-8
        options["fit_intercept"] = False
    model = LogisticRegression(**options).fit(X, y, sample_weight=s)  # the penalty bounds all of W
    theirs = "liblinear" if solver == "liblinear" else "lbfgs"
    reference = sklearn.linear_model.LogisticRegression(**options | {"solver": theirs})
    reference.fit(X, y, sample_weight=s)
    assert_allclose(model.coef_, reference.coef_, rtol=1e-4, atol=1e-6)
    assert_allclose(model.intercept_, reference.intercept_, rtol=1e-4)
    assert model.certificate_ < 1e-8


def test_weight_for_one_class_only_and_no_penalty():
    X, y = points(40, 3)
    with pytest.warns(ConvergenceWarning, match="Only one class has rows of positive weight"):
        model = LogisticRegression(C=np.inf).fit(X, y, sample_weight=y)
    assert (model.predict(X) == 1).all()
    with pytest.warns(ConvergenceWarning, match="A hyperplane separates"):
        LogisticRegression(C=np.inf, fit_intercept=False).fit(abs(X), y, sample_weight=y)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_tiny_and_huge_columns(scale):
    X, y = points(100, 3)
    ours = LogisticRegression(C=np.inf, tol=1e-9).fit(X * scale, y)
    plain = LogisticRegression(C=np.inf, tol=1e-9).fit(X, y)
    assert_allclose(ours.coef_ * scale, plain.coef_, rtol=1e-6)


def test_constant_columns_and_large_means():
    X, y = points(100, 3)
    plain = LogisticRegression(tol=1e-10).fit(X, y)
    constant = LogisticRegression(tol=1e-10).fit(np.column_stack([X, np.full(100, 7.0)]), y)
    assert_allclose(constant.coef_[0, :3], plain.coef_[0], atol=1e-8)
    assert_allclose(constant.coef_[0, 3], 0.0, atol=1e-8)
    far = LogisticRegression(tol=1e-10).fit(X + 1e8, y)
    assert_allclose(far.coef_, plain.coef_, atol=1e-6)


def test_layouts_and_types():
    X, y = points(100, 4, 3)
    model = LogisticRegression(tol=1e-9).fit(X, y)
    frozen = X.copy()
    frozen.flags.writeable = False
    for other in (np.asfortranarray(X), frozen, np.repeat(X, 2, axis=1)[:, ::2], X.tolist()):
        assert_allclose(LogisticRegression(tol=1e-9).fit(other, y).coef_, model.coef_, atol=1e-9)
    single = LogisticRegression().fit(X.astype(np.float32), y)
    assert single.coef_.dtype == single.intercept_.dtype == np.float32
    assert single.predict_proba(X.astype(np.float32)).dtype == np.float32
    assert_allclose(single.coef_, model.coef_, atol=1e-3)
    words = np.array(["ant", "bee", "cow"])
    named = LogisticRegression(tol=1e-9).fit(pd.DataFrame(X, columns=list("abcd")), words[y])
    assert_array_equal(named.classes_, words)
    assert_allclose(named.coef_, model.coef_, atol=1e-9)
    gaps = LogisticRegression(tol=1e-9).fit(X, 10 * y - 5)  # labels with gaps
    assert_array_equal(gaps.classes_, [-5, 5, 15])
    assert_allclose(gaps.coef_, model.coef_, atol=1e-9)


def test_probabilities_and_their_logarithms():
    for K in (2, 3):
        X, y = points(K=K)
        model = LogisticRegression().fit(X, y)
        p = model.predict_proba(X)
        assert_allclose(p.sum(axis=1), 1.0, rtol=1e-15)
        assert_allclose(np.log(p), model.predict_log_proba(X), rtol=1e-12, atol=1e-15)
        far = model.predict_log_proba(1e4 * X)
        assert np.isfinite(far).all()  # though the probabilities underflow
        assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))


def test_sparse_weights():
    X, y = points(K=3)
    model = LogisticRegression().fit(X, y)
    before = model.predict_proba(X)
    assert sp.issparse(model.sparsify().coef_)
    assert_allclose(model.predict_proba(X), before)
    assert_allclose(model.densify().predict_proba(X), before)


# warm starts, budgets, callbacks, threads


@pytest.mark.parametrize(("shape", "K"), [((300, 5), 3), ((30, 50), 2)])
def test_a_warm_start_needs_fewer_steps(shape, K):
    X, y = points(*shape, K)
    model = LogisticRegression(warm_start=True, tol=1e-8).fit(X, y)
    first, coef = model.n_iter_[0], model.coef_
    model.fit(X, y)
    assert model.n_iter_[0] < first
    assert_allclose(model.coef_, coef, atol=1e-8)
    other_X, other_y = points(300, 5, 2)
    model.fit(other_X, other_y)  # another shape: starts anew
    assert model.coef_.shape == (1, 5)


@pytest.mark.parametrize("solver", EVERY)
def test_a_budget_that_does_not_suffice(solver):
    X, y = points()
    with pytest.warns(ConvergenceWarning, match="after 1 iteration"):
        model = LogisticRegression(solver=solver, max_iter=1, tol=1e-12).fit(X, y)
    assert model.n_iter_ == [1]
    assert model.certificate_ > 1e-12


@pytest.mark.parametrize("solver", EVERY)
def test_a_trace_of_every_solver(solver):
    X, y = points()
    trace = Trace()
    model = LogisticRegression(solver=solver, max_iter=1000, random_state=0)
    model.set_callbacks(trace).fit(X, y)
    assert trace.states[-1]["gap"] == model.certificate_
    assert_allclose(trace.states[-1]["W"], model.coef_)
    assert trace.states[0]["objective"] > trace.states[-1]["objective"]


def test_an_interrupted_fit_is_what_it_had_become(monkeypatch):
    X, y = points()
    steps = solvers.newton

    def interrupted(objective, point):
        states = steps(objective, point)
        yield next(states)
        yield next(states)
        raise KeyboardInterrupt

    monkeypatch.setattr(solvers, "newton", interrupted)
    model = LogisticRegression()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.score(X, y) > 0.5
    assert model.certificate_ > 0.0


def test_threads_pickle_and_clone():
    X, y = points(3000, 6, 3)
    alone = LogisticRegression().fit(X, y)
    found = [None] * 4

    def fit(k):
        found[k] = clone(alone).fit(X, y).coef_

    threads = [threading.Thread(target=fit, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for coef in found:
        assert_array_equal(coef, alone.coef_)
    again = pickle.loads(pickle.dumps(alone))
    assert_array_equal(again.predict_proba(X), alone.predict_proba(X))


def test_the_old_parameter_penalty_still_works():
    X, y = points()
    for penalty, options in (
        ("l2", {}),
        ("l1", {"l1_ratio": 1.0, "solver": "cd"}),
        ("elasticnet", {"l1_ratio": 0.5, "solver": "cd"}),
        (None, {}),
    ):
        with pytest.warns(FutureWarning, match="deprecated"):
            old = LogisticRegression(penalty, **options).fit(X, y)
        new = LogisticRegression(**options | ({} if penalty else {"C": np.inf})).fit(X, y)
        assert_allclose(old.coef_, new.coef_)
    with pytest.warns(FutureWarning, match="l1_ratio=None"):
        LogisticRegression(l1_ratio=None).fit(X, y)
    with (
        pytest.warns(FutureWarning, match="deprecated"),
        pytest.warns(UserWarning, match="Inconsistent"),
    ):
        LogisticRegression("l1", solver="cd").fit(X, y)
    with (
        pytest.warns(FutureWarning, match="deprecated"),
        pytest.warns(UserWarning, match="will ignore the C"),
    ):
        LogisticRegression(None, C=2.0).fit(X, y)


# the summary


def statistics(model, X, y):
    """What statsmodels says, in the order of our summary."""
    A = sm.add_constant(X) if model.fit_intercept else X
    kind = sm.Logit if len(model.classes_) == 2 else sm.MNLogit
    found = kind(y, A).fit(disp=0, method="newton", tol=1e-14, maxiter=200)
    arrays = [np.asarray(a).T.ravel() for a in (found.params, found.bse, found.tvalues)]
    return found, [*arrays, np.asarray(found.pvalues).T.ravel()]


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.filterwarnings("ignore:Inverting hessian")
def test_statsmodels_agrees(K, fit_intercept):
    X, y = points(300, 3, K)
    X = X * [1.0, 20.0, 0.1] + [0.0, 100.0, 0.0] if fit_intercept else X
    model = LogisticRegression(C=np.inf, fit_intercept=fit_intercept).fit(X, y)
    ours = model.summary(X, y)
    theirs, (coef, errors, z, p) = statistics(model, X, y)
    assert_allclose(ours.coef, coef, rtol=1e-8)
    assert_allclose(ours.standard_errors, errors, rtol=1e-8)
    assert_allclose(ours.z, z, rtol=1e-8)
    assert_allclose(ours.p, p, rtol=1e-7)
    assert_allclose(ours.log_likelihood, theirs.llf, rtol=1e-10)
    assert_allclose([ours.aic, ours.bic], [theirs.aic, theirs.bic], rtol=1e-10)
    if fit_intercept:
        assert_allclose(ours.r2, theirs.prsquared, rtol=1e-6)
        assert_allclose(ours.chi2_p, theirs.llr_pvalue, rtol=1e-5)
    low, high = ours.intervals.T
    assert_allclose((low + high) / 2, ours.coef)


def test_weights_in_a_summary_are_counts():
    X, y = points(100, 2)
    times = np.random.default_rng(0).integers(1, 4, 100)
    few = LogisticRegression(C=np.inf).fit(X, y, times).summary(X, y, times)
    X, y = np.repeat(X, times, axis=0), np.repeat(y, times)
    many = LogisticRegression(C=np.inf).fit(X, y).summary(X, y)
    assert_allclose(few.standard_errors, many.standard_errors, rtol=1e-9)
    assert_allclose([few.n, few.bic, few.chi2], [many.n, many.bic, many.chi2], rtol=1e-9)


def test_a_summary_refuses_what_is_no_maximum():
    X, y = points()
    with pytest.raises(ValueError, match="do not maximise"):
        LogisticRegression(C=0.1).fit(X, y).summary(X, y)
    with pytest.raises(ValueError, match="level"):
        LogisticRegression(C=np.inf).fit(X, y).summary(X, y, level=2.0)
    with pytest.raises(ValueError, match="classes"):
        LogisticRegression(C=np.inf).fit(X, y).summary(X, y + 1)
    iris, kind = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="separates"):
        model = LogisticRegression(C=np.inf).fit(iris[kind < 2], kind[kind < 2])
    with pytest.raises(ValueError, match="no maximum"):
        model.summary(iris[kind < 2], kind[kind < 2])


def test_a_summary_can_be_read():
    X, y = points(200, 3)
    frame = pd.DataFrame(np.column_stack([X, X[:, 0]]), columns=["a", "b<c", "d", "a again"])
    summary = LogisticRegression(C=np.inf).fit(frame, y).summary(frame, y)
    assert np.isnan(summary.standard_errors[[1, 4]]).all()
    text, page = str(summary), summary._repr_html_()
    assert "a again" in text
    assert "linearly dependent" in text
    assert "b&lt;c" in page
    assert max(map(len, text.splitlines())) <= 80
    assert_allclose(summary.odds_ratios, np.exp(summary.coef))
    assert list(summary.to_frame().index) == ["intercept", "a", "b<c", "d", "a again"]
    assert "from 200 rows" in repr(summary)
    three = LogisticRegression(C=np.inf).fit(*points(200, 2, 3))
    assert three.summary(*points(200, 2, 3)).names[3] == "2: intercept"


@pytest.mark.parametrize("noise", [0.0, 1e-9, 1e-5, 1.0])
@pytest.mark.parametrize("classes", [2, 3])
def test_wide_data_with_rows_that_are_nearly_equal(noise, classes):
    rng = np.random.default_rng(classes)
    X = np.repeat(rng.normal(size=(20, 100)), 2, axis=0) + noise * rng.normal(size=(40, 100))
    y = rng.integers(classes, size=40)
    wide = LogisticRegression(tol=1e-10).fit(X, y)
    plain = LogisticRegression(solver="newton-cg", tol=1e-10).fit(X, y)
    assert_allclose(wide.coef_, plain.coef_, rtol=1e-5, atol=1e-7)
    assert_allclose(wide.intercept_, plain.intercept_, rtol=1e-5, atol=1e-7)
    assert wide.certificate_ <= 1e-12


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cg", "liblinear", "saga"])
def test_a_warm_start_must_be_finite(solver):
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = X[:, 0] + X[:, 1] ** 2 > 1
    model = LogisticRegression(solver=solver, warm_start=True).fit(X, y)
    model.coef_[0, 0] = np.nan
    with pytest.raises(ValueError, match="warm_start=True starts, is not finite"):
        model.fit(X, y)
