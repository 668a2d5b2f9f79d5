import pickle
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.linear_model
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, LeaveOneOut, cross_val_predict
from sklearn.utils.estimator_checks import parametrize_with_checks

from mlreplica.callbacks import Trace
from mlreplica.core.rows import csr
from mlreplica.linear_model import (
    LinearRegression,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    RidgeCV,
    ridge_regression,
)
from mlreplica.linear_model.least_squares import descent
from mlreplica.linear_model.ridge import direct as ridge
from tests.references.nist import exact

DIRECT = ["auto", "cholesky", "qr", "svd"]
PRODUCTS = ["lsqr", "sparse_cg", "sag", "saga"]
STEPWISE = ["gd", "sgd"]
SOLVERS = DIRECT + PRODUCTS + STEPWISE
SHAPES = [(40, 4), (7, 12)]


def sample(shape=(40, 4), q=None, seed=0, mean=2.0):
    """Rows about a plane, away from the origin."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=shape) + mean
    W = rng.normal(size=(shape[1], q) if q else shape[1])
    return X, X @ W + 3.0 + rng.normal(size=(shape[0], q) if q else shape[0])


def model(alpha=1.0, solver="auto", **parameters):
    """A Ridge that goes on until rounding."""
    given = {"tol": 1e-12, "random_state": 0}
    if solver in STEPWISE:
        given |= {"tol": 1e-20, "max_iter": 1_000_000}
    return Ridge(alpha, solver=solver, **(given | parameters))


def naive(X, y, alpha, s=None, fit_intercept=True, penalize_intercept=False):
    """Ten lines: the normal equations (2), target by target."""
    s = np.ones(len(X)) if s is None else s
    Y = y.reshape(len(y), -1)
    A = np.column_stack([np.ones(len(X)), X])[:, 0 if fit_intercept else 1 :]
    found = []
    for c, a in zip(Y.T, np.broadcast_to(alpha, Y.shape[1]), strict=True):
        price = np.full(A.shape[1], a)
        price[: int(fit_intercept and not penalize_intercept)] = 0.0
        found.append(np.linalg.solve(A.T @ (s[:, None] * A) + np.diag(price), A.T @ (s * c)))
    v = np.array(found)
    w, b = (v[:, 1:], v[:, 0]) if fit_intercept else (v, np.zeros(len(v)))
    return (w[0], b[0]) if y.ndim == 1 else (w, b)


def objective(m, X, y, alpha, s=None, penalize_intercept=False):
    """P of (1), all targets together."""
    s = np.ones(len(X)) if s is None else s
    r = (y - m.predict(X)).reshape(len(y), -1)
    price = (np.atleast_2d(m.coef_) ** 2).sum(axis=1)
    price = price + (np.atleast_1d(m.intercept_) ** 2 if penalize_intercept else 0.0)
    return float(s @ (r**2).sum(axis=1) + (np.asarray(alpha) * price).sum())


def exact_fit(X, y, alpha, s=None, fit_intercept=True):
    """The exact answer for the given floats, rounded once at the end."""
    s = [Fraction(1)] * len(X) if s is None else [Fraction(float(t)) for t in s]
    A = [[Fraction(1)] * fit_intercept + [Fraction(float(x)) for x in row] for row in X]
    k = len(A[0])
    G = [
        [sum(t * a[i] * a[j] for t, a in zip(s, A, strict=True)) for j in range(k)]
        for i in range(k)
    ]
    for j in range(int(fit_intercept), k):
        G[j][j] += Fraction(float(alpha))
    c = [Fraction(float(t)) for t in y]
    b = [sum(t * a[i] * e for t, a, e in zip(s, A, c, strict=True)) for i in range(k)]
    return np.array([float(x) for x in exact(G, b)])


# (a) properties


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_weight_is_a_number_of_repetitions(solver, shape, fit_intercept):
    X, y = sample(shape)
    s = np.random.default_rng(1).integers(0, 4, size=len(X))
    s[:3] = [0, 1, 2]
    keep = np.repeat(np.arange(len(X)), s)
    weighted = model(0.7, solver, fit_intercept=fit_intercept).fit(X, y, s)
    repeated = model(0.7, solver, fit_intercept=fit_intercept).fit(X[keep], y[keep])
    assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-7, atol=1e-9)
    assert_allclose(weighted.intercept_, repeated.intercept_, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("solver", [*SOLVERS, "positive"])
@settings(deadline=None, max_examples=12)
@given(
    seed=st.integers(0, 1000),
    steps=st.integers(1, 12),
    weighted=st.booleans(),
    shape=st.sampled_from(SHAPES),
    digits=st.floats(-6, 4),
)
def test_the_certificate_bounds_the_true_gap_after_any_number_of_steps(
    solver, seed, steps, weighted, shape, digits
):
    X, y = sample(shape, q=2, seed=seed)
    s = np.random.default_rng(seed).random(len(X)) + 0.1 if weighted else None
    alpha = np.array([10.0**digits, 1.0])
    positive = solver == "positive"
    best = Ridge(alpha, positive=positive, solver="auto" if positive else "qr").fit(X, y, s)
    trace = Trace()
    fitted = Ridge(alpha, solver="auto", positive=True) if positive else model(alpha, solver)
    fitted.set_params(max_iter=steps, tol=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted.set_callbacks(trace).fit(X, y, s)
    least = objective(best, X, y, alpha, s)
    assert objective(fitted, X, y, alpha, s) - least <= fitted.certificate_ + 1e-12 * least
    for state in trace.states:
        fitted.coef_, fitted.intercept_ = state["w"].T, state["b"]
        P = objective(fitted, X, y, alpha, s)
        assert_allclose(state["objective"], P, rtol=1e-9)
        assert P - least <= state["gap"] + 1e-12 * P
    assert bool(trace.states) == (solver not in DIRECT)


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 1000), shape=st.sampled_from(SHAPES), solver=st.sampled_from(DIRECT))
def test_more_penalty_means_shorter_weights_and_a_worse_fit(seed, shape, solver):
    X, y = sample(shape, seed=seed)
    fits = [model(alpha, solver).fit(X, y) for alpha in (0.01, 0.1, 1.0, 10.0, 1e3)]
    lengths = [np.linalg.norm(fit.coef_) for fit in fits]
    errors = [((y - fit.predict(X)) ** 2).sum() for fit in fits]
    assert (np.diff(lengths) < 0).all()
    assert (np.diff(errors) > -1e-9).all()


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 1000), shape=st.sampled_from(SHAPES))
def test_rotation_permutation_and_shift_change_what_they_should(seed, shape):
    rng = np.random.default_rng(seed)
    X, y = sample(shape, seed=seed)
    U, _ = np.linalg.qr(rng.normal(size=(shape[1], shape[1])))
    rows, shift = rng.permutation(len(X)), rng.normal(size=shape[1])
    one, two = Ridge().fit(X, y), Ridge().fit((X + shift)[rows] @ U, 2.0 * y[rows] + 5.0)
    assert_allclose(two.coef_, 2.0 * one.coef_ @ U, rtol=1e-8, atol=1e-9)
    assert_allclose(two.intercept_, 2.0 * (one.intercept_ - shift @ one.coef_) + 5.0, rtol=1e-7)


def test_the_penalty_is_as_good_as_more_rows():
    X, y = sample()
    A, c = X - X.mean(axis=0), y - y.mean()
    more = np.vstack([A, 2.0 * np.eye(4)])
    w = np.linalg.lstsq(more, np.append(c, np.zeros(4)))[0]
    assert_allclose(Ridge(4.0).fit(X, y).coef_, w, rtol=1e-11)


def test_the_dual_gap_is_the_certificate():
    rng = np.random.default_rng(0)
    A, c, w, alpha = rng.normal(size=(9, 4)), rng.normal(size=9), rng.normal(size=4), 0.3
    r = c - A @ w
    primal = r @ r + alpha * w @ w
    dual = 2 * r @ c - r @ r - (A.T @ r) @ (A.T @ r) / alpha
    g = A.T @ r - alpha * w
    assert_allclose(primal - dual, g @ g / alpha, rtol=1e-12)


# (b) the naive version


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("alpha", [0.5, [0.1, 1.0, 7.0]])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("penalize_intercept", [True, False])
def test_every_solver_gives_the_naive_answer(
    solver, shape, alpha, fit_intercept, penalize_intercept
):
    X, y = sample(shape, q=3)
    s = np.random.default_rng(1).uniform(0.5, 2.0, size=len(X))
    options = {"fit_intercept": fit_intercept, "penalize_intercept": penalize_intercept}
    for weights in (None, s):
        fitted = model(alpha, solver, **options).fit(X, y, weights)
        w, b = naive(X, y, alpha, weights, **options)
        assert_allclose(fitted.coef_, w, rtol=1e-7, atol=1e-8)
        assert_allclose(fitted.intercept_, b if fit_intercept else 0.0, rtol=1e-7, atol=1e-8)
        assert fitted.solver_ == ("cholesky" if solver == "auto" else solver)
        P = objective(fitted, X, y, alpha, weights, penalize_intercept)
        assert 0 <= fitted.certificate_ <= 1e-9 * P


@pytest.mark.parametrize("container", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("penalize_intercept", [True, False])
@pytest.mark.parametrize("dense", [0, 1 << 20])
@pytest.mark.parametrize("shape", SHAPES)
def test_sparse_is_dense(monkeypatch, container, fit_intercept, penalize_intercept, dense, shape):
    monkeypatch.setattr("mlreplica.linear_model.ridge.solvers.DENSE", dense)
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape) * (rng.random(shape) < 0.5)
    y = rng.normal(size=(shape[0], 2)) + 3.0
    options = {"fit_intercept": fit_intercept, "penalize_intercept": penalize_intercept}
    for s in (None, rng.uniform(0.0, 2.0, size=shape[0])):
        for solver in ("auto", "lsqr", "sparse_cg", "sag"):
            fitted = model([0.5, 2.0], solver, **options).fit(container(X), y, s)
            w, b = naive(X, y, [0.5, 2.0], s, **options)
            assert_allclose(fitted.coef_, w, rtol=1e-7, atol=1e-8)
            assert_allclose(fitted.intercept_, b, rtol=1e-7, atol=1e-8)


def test_sparse_on_threads_is_sparse(monkeypatch):
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 20), density=0.3, rng=rng, format="csr")
    y = rng.normal(size=300)
    one = model(solver="lsqr").fit(X, y)
    monkeypatch.setattr(csr, "SHARE", 10)
    monkeypatch.setattr(csr, "n_threads", lambda n_jobs: 3)
    assert len(csr.CentredProducts(X, None, np.zeros(20)).first) == 3
    assert_allclose(model(solver="lsqr").fit(X, y).coef_, one.coef_, rtol=1e-10)


def test_one_pass_is_its_loop():
    rng = np.random.default_rng(0)
    X = sp.random_array((30, 8), density=0.4, rng=rng, format="csr")
    s, c, w = rng.random(30), rng.normal(size=(30, 2)), rng.normal(size=(8, 2))
    x_mean = s @ X / s.sum()
    A = X.toarray() - x_mean
    products = csr.CentredProducts(X, s, x_mean)
    g, r_sq = products.gradient(c, w)
    r = c - A @ w
    assert_allclose(g, A.T @ (s[:, None] * r), rtol=1e-12, atol=1e-12)
    assert_allclose(r_sq, s @ r**2, rtol=1e-12)
    G = A.T @ (s[:, None] * A)
    assert_allclose(products.normal(w), G @ w, rtol=1e-12, atol=1e-12)
    assert_allclose(products.diagonal(), G.diagonal(), rtol=1e-10)


@pytest.mark.parametrize("mean", [0.0, 2.0, 1e4])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_many_targets_from_the_rows_as_they_lie(mean, fit_intercept):
    X, Y = sample((9000, 5), q=3, mean=mean)
    found = Ridge(fit_intercept=fit_intercept).fit(X, Y)
    for y, w in zip(Y.T, found.coef_, strict=True):
        assert_allclose(w, Ridge(fit_intercept=fit_intercept).fit(X, y).coef_, rtol=1e-9)
    rows = found._rows(X, Y, None)
    (G, b, c_sq), cost = rows.products()
    slow = rows.normal()
    size = np.sqrt(slow.G.diagonal())
    assert_allclose(G / np.outer(size, size), slow.G / np.outer(size, size), atol=1e-14 * cost)
    assert_allclose(b.T / size, slow.b.T / size, atol=1e-12 * cost)
    assert_allclose(c_sq, slow.c_sq, rtol=1e-13 * cost)
    assert (cost > ridge.NEAR) == (mean == 1e4 and fit_intercept)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("solver", ["auto", "qr", "svd"])
def test_many_blocks_on_many_threads_are_one_matrix(monkeypatch, order, dtype, solver):
    X, y = sample((500, 3), q=2)
    s = np.random.default_rng(0).random(500)
    w, _ = naive(X, y, 1.0, s)
    monkeypatch.setattr("mlreplica.core.rows.walk.BLOCK", 64)
    found = Ridge(solver=solver).fit(np.array(X, dtype=dtype, order=order), y, s)
    assert_allclose(found.coef_, w, rtol=1e-10 if dtype == np.float64 else 1e-5)
    assert found.coef_.dtype == found.intercept_.dtype == np.dtype(dtype)


# (c) references


def hard(kind):
    """Designs on which a careless method loses most digits."""
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(25, 4)), rng.normal(size=25)
    if kind == "far from zero":
        X = X + 1e8
    if kind == "many scales":
        X = X * [1e-8, 1.0, 1e4, 1e8]
    if kind == "tiny":
        X = X * 1e-140
    if kind == "huge":
        X = X * 1e140
    if kind == "nearly collinear":
        X[:, 3] = X[:, 0] + X[:, 1] + 1e-9 * X[:, 3]
    if kind == "dependent":
        X = np.round(X * 8)
        X[:, 3] = X[:, 0] - 2 * X[:, 1]
    y = noise + X @ [1.0, -1.0, 2.0, 0.5] * (1.0 if kind not in ("tiny", "huge") else 0.0)
    return X, y + (1e8 if kind == "y far from zero" else 0.0)


HARD = [
    "far from zero",
    "y far from zero",
    "many scales",
    "tiny",
    "huge",
    "nearly collinear",
    "dependent",
]


@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("share", [1e-20, 1e-14, 1e-9, 1e-3, 1e3])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_hard_designs_against_exact_arithmetic(kind, share, fit_intercept, weighted):
    X, y = hard(kind)
    centre = X.mean(axis=0) * fit_intercept
    sizes = np.linalg.norm(X - centre, axis=0)
    alpha = share * sizes.max() ** 2
    s = np.random.default_rng(1).uniform(0.5, 2.0, size=len(y)) if weighted else None
    true = exact_fit(X, y, alpha, s, fit_intercept)[int(fit_intercept) :]
    scale = np.hypot(sizes, np.sqrt(alpha))
    bound = max(1e-10, min(20 * 2.2e-16 * condition_number(X, y, alpha, true, centre, scale), 1e-8))
    for solver in ("auto", "qr"):
        fitted = Ridge(alpha, solver=solver, fit_intercept=fit_intercept).fit(X, y, s)
        error = np.abs((fitted.coef_ - true) * scale).max() / np.abs(true * scale).max()
        assert error <= bound, (solver, fitted.solver_)


def condition_number(X, y, alpha, w, centre, scale):
    """κ + κ² tan θ of least squares on the rows (4), its columns divided by `scale`."""
    A = np.vstack([X - centre, np.sqrt(alpha) * np.eye(len(w))]) / scale
    c = np.append(y - (y.mean() if centre.any() else 0.0), np.zeros(len(w)))
    kappa, fit = np.linalg.cond(A), A @ (w * scale)
    return kappa + kappa**2 * np.linalg.norm(c - fit) / np.linalg.norm(fit)


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    digits=st.floats(0, 9),
    share=st.floats(-22, 2),
    shape=st.sampled_from([(15, 4), (4, 7)]),
)
def test_no_condition_number_makes_it_silently_wrong(seed, digits, share, shape):
    rng = np.random.default_rng(seed)
    k = min(shape)
    U, _ = np.linalg.qr(rng.normal(size=(shape[0], k)))
    V, _ = np.linalg.qr(rng.normal(size=(shape[1], k)))
    X, y = U * np.logspace(0, -digits, k) @ V.T, rng.normal(size=shape[0])
    alpha = 10.0**share
    true = exact_fit(X, y, alpha, None, False)
    fitted = Ridge(alpha, fit_intercept=False).fit(X, y)
    error = np.abs(fitted.coef_ - true).max() / np.abs(true).max()
    condition = np.sqrt((1 + alpha) / (10 ** (-2 * digits) + alpha))
    assert error < 1e-9 + 30 * condition * 2.2e-16


@pytest.mark.parametrize("q", [None, 1, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_scikit_learn_agrees(q, fit_intercept, shape):
    X, y = sample(shape, q=q)
    for s in (None, np.random.default_rng(0).random(len(X))):
        for solver in ("auto", "svd", "cholesky"):
            options = {"alpha": 0.3, "fit_intercept": fit_intercept, "solver": solver}
            ours = Ridge(**options).fit(X, y, s)
            theirs = sklearn.linear_model.Ridge(**options).fit(X, y, s)
            assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
            assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9)
            assert ours.coef_.shape == theirs.coef_.shape
            assert np.shape(ours.intercept_) == np.shape(theirs.intercept_)
            assert type(ours.predict(X)) is type(theirs.predict(X))


@pytest.mark.parametrize("solver", [*DIRECT, "lsqr"])
@pytest.mark.parametrize("shape", SHAPES)
def test_no_penalty_is_least_squares_of_least_norm(solver, shape):
    X, y = sample(shape, q=2)
    fitted = model(0.0, solver).fit(X, y)
    plain = LinearRegression(solver="svd").fit(X, y)
    assert_allclose(fitted.coef_, plain.coef_, rtol=1e-7, atol=1e-9)
    mixed = model([0.0, 2.0], solver).fit(X, y)
    assert_allclose(mixed.coef_[0], plain.coef_[0], rtol=1e-7, atol=1e-9)
    assert_allclose(mixed.coef_[1], naive(X, y, 2.0)[0][1], rtol=1e-7, atol=1e-9)


# weights that must not be negative


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 1000),
    n=st.integers(2, 12),
    p=st.integers(1, 12),
    alpha=st.sampled_from([1e-12, 1e-3, 1.0, 100.0]),
    filled=st.booleans(),
)
def test_non_negative_weights_satisfy_their_conditions(seed, n, p, alpha, filled):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-3, 4, size=(n, p)).astype(float), rng.normal(size=(n, 2))
    fitted = Ridge(alpha, positive=True).fit(X if filled else sp.csr_array(X), y)
    A, c = X - X.mean(axis=0), y - y.mean(axis=0)
    w = fitted.coef_.T
    slope = A.T @ (A @ w - c) + alpha * w
    assert (w >= 0).all()
    assert (slope >= -1e-9).all()
    assert_allclose(slope * w, 0.0, atol=1e-9)


def test_signs_that_change_sides_at_once_would_go_round_in_circles():
    """Every exchange is repeated three times at most; then one sign a time, which ends."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        p = 30
        B = rng.normal(size=(p, p)) + 3.0 * rng.normal(size=(p, 1))
        normal = descent.PivotingProblem(
            B @ B.T, rng.normal(size=(p, 1)), 1.0, np.array([1e-6]), np.zeros(p), np.zeros(1)
        )
        *_, last = descent.block_pivoting(normal)
        slope = normal.G @ last.w - normal.B + 1e-6 * last.w
        assert (slope >= -1e-9 * np.abs(normal.B).max()).all()


def test_many_sparse_columns_that_must_not_be_negative(monkeypatch):
    monkeypatch.setattr("mlreplica.linear_model.ridge.solvers.MOST", 4)
    rng = np.random.default_rng(0)
    X, y = sp.random_array((60, 8), density=0.5, rng=rng, format="csr"), rng.normal(size=60)
    found = Ridge(0.1, positive=True, tol=1e-10).fit(X, y)
    true = Ridge(0.1, positive=True).fit(X.toarray(), y)
    assert (found.solver_, true.solver_) == ("lbfgs", "nnls")
    assert_allclose(found.coef_, true.coef_, atol=1e-7)
    assert found.certificate_ < 1e-10


# leaving one out


@pytest.mark.parametrize("mode", ["eigen", "svd"])
@pytest.mark.parametrize("shape", [(30, 5), (9, 14), (8, 8), (9, 8)])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_leaving_one_out_is_fitting_without_it(mode, shape, fit_intercept, weighted, container):
    if container is sp.csr_array:
        mode = "eigen"
    X, y = sample(shape, q=2)
    s = np.random.default_rng(1).uniform(0.5, 2.0, size=len(X)) if weighted else np.ones(len(X))
    s[-1] = 0.0 if weighted else 1.0
    alphas = [1e-3, 0.5, 40.0]
    options = {"fit_intercept": fit_intercept}
    found = RidgeCV(alphas, gcv_mode=mode, store_cv_results=True, **options)
    found.fit(container(X), y, s if weighted else None)
    errors = np.empty((*y.shape, 3))
    for k, alpha in enumerate(alphas):
        for i in range(len(X)):
            others = np.arange(len(X)) != i
            fit = Ridge(alpha, **options).fit(X[others], y[others], s[others])
            errors[i, :, k] = s[i] * (y[i] - fit.predict(X[i : i + 1])[0]) ** 2
    assert_allclose(found.cv_results_, errors, rtol=1e-7, atol=1e-12)
    assert found.alpha_ == alphas[errors.mean(axis=(0, 1)).argmin()]
    assert_allclose(found.best_score_, -errors.mean(axis=(0, 1)).min(), rtol=1e-7)
    best = Ridge(found.alpha_, **options).fit(X, y, s)
    assert_allclose(found.coef_, best.coef_, rtol=1e-9, atol=1e-12)
    each = RidgeCV(alphas, gcv_mode=mode, alpha_per_target=True, **options)
    each.fit(container(X), y, s if weighted else None)
    assert_array_equal(each.alpha_, np.array(alphas)[errors.mean(axis=0).argmin(axis=1)])


@pytest.mark.parametrize("shape", [(30, 5), (9, 14)])
def test_predictions_of_rows_left_out_are_scored(shape):
    X, y = sample(shape)
    found = RidgeCV([0.1, 5.0], scoring="neg_mean_absolute_error", store_cv_results=True).fit(X, y)
    for k, alpha in enumerate([0.1, 5.0]):
        left_out = cross_val_predict(Ridge(alpha), X, y, cv=LeaveOneOut())
        assert_allclose(found.cv_results_[:, k], left_out, rtol=1e-8)
    assert_allclose(
        found.best_score_, -np.abs(y[:, None] - found.cv_results_).mean(axis=0).min(), rtol=1e-10
    )


def test_a_row_of_no_weight_is_predicted_by_all_others():
    X, y = sample()
    s = np.ones(len(X))
    s[3] = 0.0
    found = RidgeCV([0.1, 5.0], scoring="r2", store_cv_results=True).fit(X, y, s)
    for k, alpha in enumerate([0.1, 5.0]):
        assert_allclose(found.cv_results_[3, k], Ridge(alpha).fit(X, y, s).predict(X)[3], rtol=1e-9)


@pytest.mark.parametrize("shape", [(200, 5), (20, 50)])
def test_blocks_of_rows_left_out(monkeypatch, shape):
    X, y = sample(shape)
    one = RidgeCV(store_cv_results=True).fit(X, y)
    monkeypatch.setattr("mlreplica.core.rows.walk.BLOCK", 64)
    for container in (np.asarray, sp.csr_array):
        two = RidgeCV(store_cv_results=True).fit(container(X), y)
        assert_allclose(two.cv_results_, one.cv_results_, rtol=1e-7)


def test_folds():
    X, y = sample()
    cv = KFold(4)
    ours = RidgeCV([0.0, 1.0, 30.0], cv=cv).fit(X, y)
    theirs = sklearn.linear_model.RidgeCV([0.0, 1.0, 30.0], cv=cv).fit(X, y)
    assert ours.alpha_ == theirs.alpha_
    assert_allclose(ours.best_score_, theirs.best_score_, rtol=1e-9)
    assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8)
    for name in ("store_cv_results", "alpha_per_target"):
        with pytest.raises(ValueError, match=f"{name}=True are incompatible"):
            RidgeCV(cv=3, **{name: True}).fit(X, y)


def test_two_classes_are_scored_by_their_signs():
    """scikit-learn compares class 0 with class 0 here and finds every penalty perfect."""
    X, y = sample()
    labels = np.where(y > np.median(y), "b", "a")
    found = RidgeClassifierCV([0.1, 1e5], scoring="accuracy", store_cv_results=True).fit(X, labels)
    right = (found.cv_results_[:, 0] > 0) == (labels == "b")[:, None]
    assert_allclose(found.best_score_, right.mean(axis=0).max(), rtol=1e-12)
    assert found.best_score_ < 1.0


@pytest.mark.parametrize("classes", [2, 3])
def test_a_classifier_is_regression_on_signs(classes):
    X, y = sample()
    labels = np.digitize(y, np.quantile(y, np.linspace(0, 1, classes + 1)[1:-1]))
    ours = RidgeClassifier(2.0, class_weight="balanced").fit(X, labels)
    theirs = sklearn.linear_model.RidgeClassifier(2.0, class_weight="balanced").fit(X, labels)
    assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-8)


# (d) scikit-learn's checks


@parametrize_with_checks(
    [Ridge(solver=solver) for solver in DIRECT]
    + [Ridge(solver=solver, tol=1e-12) for solver in PRODUCTS]
    + [
        Ridge(solver="gd", tol=1e-22, max_iter=1_000_000),
        Ridge(solver="sgd", tol=1e-22, max_iter=1_000_000, random_state=0),
        Ridge(fit_intercept=False),
        Ridge(penalize_intercept=True),
        Ridge(positive=True),
        RidgeCV(),
        RidgeClassifier(),
        RidgeClassifierCV(),
    ],
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# bad input


@pytest.mark.parametrize("estimator", [Ridge(solver=s) for s in SOLVERS] + [RidgeCV()], ids=repr)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("where", ["X", "y"])
@pytest.mark.parametrize("shape", [(20, 3), (3, 20), (3000, 30)])
def test_what_is_not_finite_is_named(estimator, bad, where, shape):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=shape), rng.normal(size=shape[0])
    if where == "X":
        X[1, 2], X[0, 2] = bad, -bad
    else:
        y[-1] = bad
    with pytest.raises(ValueError, match="NaN" if np.isnan(bad) else "infinity"):
        clone(estimator).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": -1.0}, "alpha"),
        ({"alpha": [-1.0]}, "alpha must be >= 0"),
        ({"alpha": np.nan}, "alpha"),
        ({"alpha": [1.0, 2.0]}, "do not correspond: 2 != 1"),
        ({"alpha": "1"}, "alpha"),
        ({"solver": "lu"}, "solver"),
        ({"tol": -1.0}, "tol"),
        ({"max_iter": 0}, "max_iter"),
        ({"solver": "lbfgs"}, "only when positive=True"),
        ({"solver": "svd", "positive": True}, "does not support positive"),
        ({"penalize_intercept": True, "positive": True}, "penalize_intercept=False"),
    ],
)
def test_bad_parameters_are_refused_in_fit(parameters, message):
    X, y = sample()
    with pytest.raises(ValueError, match=message):
        Ridge(**parameters).fit(X, y)


def test_bad_weights_lengths_and_types():
    X, y = sample()
    with pytest.raises(ValueError, match="Negative"):
        Ridge().fit(X, y, -np.ones(len(y)))
    for solver in SOLVERS:
        with pytest.raises(ValueError, match=r"zero|Zero"):
            Ridge(solver=solver).fit(X, y, np.zeros(len(y)))
    with pytest.raises(ValueError, match="inconsistent"):
        Ridge().fit(X, y[:-1])
    with pytest.raises(ValueError, match="1D array or scalar"):
        Ridge().fit(X, y, np.ones((len(y), 2)))
    with pytest.raises(ValueError, match="minimum of 1 is required"):
        Ridge().fit(X[:0], y[:0])
    with pytest.raises(ValueError, match=r"convert|numeric"):
        Ridge().fit([["a"], ["b"]], [1.0, 2.0])
    for solver in ("svd", "qr", "gd", "sgd"):
        with pytest.raises(TypeError, match="sparse X"):
            Ridge(solver=solver, fit_intercept=False).fit(sp.csr_array(X), y)
    with pytest.raises(ValueError, match="must be > 0"):
        RidgeCV([1.0, -1.0]).fit(X, y)
    with pytest.raises(ValueError, match="two rows at least"):
        RidgeCV().fit(X[:1], y[:1])


@pytest.mark.parametrize("solver", SOLVERS)
def test_odd_but_lawful_input(solver):
    X, y = sample((30, 5))
    w, _ = naive(X, y, 1.0)
    wide = np.repeat(X, 2, axis=1)[:, ::2]
    frozen = np.asfortranarray(X)
    frozen.flags.writeable = False
    for odd in (wide, frozen, X.tolist(), pd.DataFrame(X)):
        assert_allclose(model(1.0, solver).fit(odd, y).coef_, w, rtol=1e-7, atol=1e-9)
    constant = np.column_stack([X, np.full(30, 0.1), np.zeros(30), X[:, 0]])
    fitted = model(1.0, solver).fit(constant, 1e8 + y)
    best, _ = naive(constant - constant.mean(axis=0), y - y.mean(), 1.0)
    assert_allclose(fitted.coef_, best, rtol=1e-6, atol=1e-6)
    assert_allclose(fitted.predict(constant).mean(), 1e8 + y.mean(), rtol=1e-15)
    assert_allclose(model(1.0, solver).fit(X[:1], y[:1]).coef_, np.zeros(5), atol=1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
def test_single_precision_comes_back_as_it_went_in(solver):
    """A sparse float32 X is summed in float64 as well: a product in float32 lost four digits."""
    X, y = sample((30, 5))
    fitted = model(1.0, solver).fit(X.astype(np.float32), y.astype(np.float32))
    assert fitted.coef_.dtype == fitted.predict(X.astype(np.float32)).dtype == np.float32
    assert_allclose(fitted.coef_, naive(X, y, 1.0)[0], rtol=1e-4, atol=1e-5)
    if solver in ("auto", "lsqr"):
        single = np.vander(np.linspace(1, 2, 30), 5).astype(np.float32)
        one, two = (
            model(1e-4, solver).fit(single, y),
            model(1e-4, solver).fit(sp.csr_array(single), y),
        )
        assert_allclose(two.coef_, one.coef_, rtol=1e-4, atol=1e-6)


# what users do with it


def test_x_is_left_alone_unless_it_may_be_used():
    for shape in SHAPES:
        X, y = sample(shape)
        before, kept = X.copy(), Ridge().fit(X, y)
        assert_array_equal(X, before)
        assert_allclose(Ridge(copy_X=False).fit(X, y).coef_, kept.coef_, rtol=1e-12)


def test_pickle_clone_and_threads():
    X, y = sample((300, 8))
    fitted = Ridge(3.0).fit(X, y)
    assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))
    assert clone(Ridge(3.0, solver="qr")).get_params() == Ridge(3.0, solver="qr").get_params()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda s: model(3.0, s).fit(X, y).coef_, 2 * SOLVERS))
    for w in found:
        assert_allclose(w, fitted.coef_, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("solver", PRODUCTS + STEPWISE)
def test_too_few_steps_are_not_silent(solver):
    X, y = sample(mean=0.0)
    with pytest.warns(ConvergenceWarning, match="after 2 .*; raise max_iter"):
        fitted = Ridge(0.1, solver=solver, max_iter=2, tol=1e-10).fit(X, y)
    assert_array_equal(fitted.n_iter_, [2])


def test_more_digits_than_there_are_is_not_silent():
    X, y = sample()
    with pytest.warns(ConvergenceWarning, match="Rounding ended progress"):
        Ridge(solver="lsqr", tol=0.0).fit(X, y)


def test_an_interrupted_fit_is_what_it_had_become():
    X, y = sample()

    class Interrupt(Trace):
        done = False

        def on_fit_task_end(self, *args, **kwargs):
            stop = super().on_fit_task_end(*args, **kwargs)
            if len(self.states) == 3 and not self.done:
                self.done = True
                raise KeyboardInterrupt
            return stop

    trace = Interrupt()
    fitted = Ridge(solver="gd", tol=0.0).set_callbacks(trace)
    with pytest.raises(KeyboardInterrupt):
        fitted.fit(X, y)
    assert_array_equal(fitted.coef_, trace.states[-1]["w"].ravel())


def test_the_function():
    X, y = sample(q=2)
    w, b = naive(X, y, 0.5)
    coef, n_iter, intercept = ridge_regression(
        X, y, 0.5, solver="sag", tol=1e-12, return_n_iter=True, return_intercept=True
    )
    assert_allclose(coef, w, rtol=1e-8)
    assert_allclose(intercept, b, rtol=1e-8)
    assert n_iter.shape == (2,)
    assert_allclose(ridge_regression(X, y, 0.5), naive(X, y, 0.5, None, False)[0], rtol=1e-9)
    with pytest.raises(ValueError, match="only 'sag' solver"):
        ridge_regression(X, y, 0.5, solver="svd", return_intercept=True)


MEMORY = """
import tracemalloc, numpy as np
from mlreplica.linear_model import LinearRegression, Ridge
X = np.random.default_rng(0).normal(size=(200_000, 50))
y = X[:, 0] + 1.0
both = np.column_stack([y, -y])
models = LinearRegression(), LinearRegression(solver="qr"), Ridge(), Ridge(solver="qr"), Ridge()
for model, target in zip(models, [y, y, y, y, both]):
    model.fit(X[:2000], target[:2000])
    tracemalloc.start()
    model.fit(X, target)
    print(tracemalloc.get_traced_memory()[1] / X.nbytes)
    tracemalloc.stop()
"""


def test_a_tall_fit_holds_no_copy_of_its_rows():
    done = subprocess.run(
        [sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True
    )
    shares = [float(line) for line in done.stdout.split()]
    assert len(shares) == 5
    assert max(shares) < 0.25


# (e) one test a bug


def test_a_row_of_signs_that_never_moved():
    """Weights of zero from the first exchange on: all slopes positive."""
    X, y = sample()
    fitted = Ridge(positive=True).fit(X, -1e3 * X.sum(axis=1) + y)
    assert_array_equal(fitted.coef_, np.zeros(4))
    assert fitted.certificate_ == 0.0


def test_bounds_of_direct_solvers_are_bounds_also_for_small_systems():
    X, y = sample((20, 3))
    found = ridge.by_normal_equations(X, y[:, None], 1.0, True)
    true = exact_fit(X, y, 1.0)
    A = X - X.mean(axis=0)
    away = found.w[:, 0] - true[1:]
    assert 0 < away @ (A.T @ A + np.eye(3)) @ away <= found.gap < 1e-20


@pytest.mark.parametrize("scoring", ["neg_log_loss", "neg_brier_score"])
def test_a_score_of_probabilities_is_refused(scoring):
    X = np.random.default_rng(0).normal(size=(30, 3))
    with pytest.raises(ValueError, match="no probabilities"):
        RidgeClassifierCV(scoring=scoring).fit(X, X[:, 0] > 0)


@pytest.mark.parametrize("solver", ["sparse_cg", "lsqr", "sag", "saga"])
@pytest.mark.parametrize("tol", [1e-10, 1e-15, 0.0])
@pytest.mark.parametrize("shape", [(4, 12), (12, 4)])
@pytest.mark.parametrize("alpha", [0.0, 1e-12])
def test_conjugate_gradients_stop_where_rounding_begins(solver, tol, shape, alpha):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=shape), rng.normal(size=shape[0])
    X[:, -1] = X[:, 0]  # and a direction without curvature
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = Ridge(alpha=alpha, solver=solver, tol=tol).fit(X, y)
    best = LinearRegression().fit(X, y)  # the shortest w, which is the limit for α → 0
    assert_allclose(model.coef_, best.coef_, rtol=1e-8)
    assert_allclose(model.predict(X), best.predict(X), rtol=1e-8)
