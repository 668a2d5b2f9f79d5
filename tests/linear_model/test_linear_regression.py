import json
import pickle
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.linear_model
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RANSACRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from mlreplica.callbacks import Trace
from mlreplica.linear_model import LinearRegression
from mlreplica.linear_model.least_squares import descent
from tests.references.nist import exact

NIST = json.loads((Path(__file__).parents[1] / "references" / "nist.json").read_text())
DIRECT = ["auto", "qr", "cholesky", "svd"]
STEPWISE = ["gd", "sgd"]


def line(n=60, p=4, q=None, seed=0):
    """Rows about a plane, far from the origin."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 3.0
    W = rng.normal(size=(p, q) if q else p)
    return X, X @ W + 2.0 + rng.normal(size=(n, q) if q else n)


def model(solver="auto", **parameters):
    if solver in STEPWISE:
        parameters = {"tol": 1e-25, "random_state": 0} | parameters
    return LinearRegression(solver=solver, **parameters)


def naive(X, y, sample_weight=None, fit_intercept=True):
    """Ten lines: weighted normal equations, pseudo-inverse."""
    s = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    x_mean, y_mean = (
        (s @ X / s.sum(), s @ y / s.sum()) if fit_intercept else (0.0 * X[0], 0.0 * y[0])
    )
    A = np.sqrt(s)[:, None] * (X - x_mean)
    w = np.linalg.pinv(A) @ (np.sqrt(s) * (y - y_mean).T).T
    return w.T, y_mean - x_mean @ w


def exact_fit(X, y, sample_weight=None, fit_intercept=True):
    """The exact answer for the floating-point numbers in X and y, rounded once at the end."""
    s = np.ones(len(X)) if sample_weight is None else sample_weight
    A = [[Fraction(1)] * fit_intercept + [Fraction(float(x)) for x in row] for row in X]
    rows = [
        ([Fraction(float(t)) * a for a in row], a_row)
        for t, row, a_row in zip(s, A, A, strict=True)
    ]
    k = len(A[0])
    G = [[sum(sa[i] * a[j] for sa, a in rows) for j in range(k)] for i in range(k)]
    b = [
        sum(sa[i] * Fraction(float(c)) for (sa, _), c in zip(rows, y, strict=True))
        for i in range(k)
    ]
    return np.array([float(x) for x in exact(G, b)])  # no residual: least squares is G v = b


def relative_error(found, true):
    return np.abs(found - true).max() / np.abs(true).max()


# (a) properties

numbers = st.floats(-100, 100, allow_subnormal=False, width=32)
shapes = st.tuples(st.integers(1, 12), st.integers(1, 4))


@settings(deadline=None, max_examples=150)
@given(
    shapes.flatmap(
        lambda shape: st.tuples(
            arrays(float, shape, elements=numbers), arrays(float, shape[0], elements=numbers)
        )
    ),
    st.sampled_from(DIRECT),
    st.booleans(),
)
def test_the_residual_is_orthogonal_to_every_column(data, solver, fit_intercept):
    X, y = data
    fitted = model(solver, fit_intercept=fit_intercept).fit(X, y)
    r = y - fitted.predict(X)
    if fit_intercept:
        X = np.column_stack([np.ones(len(X)), X])
    largest = np.abs(X).max()
    size = len(y) * largest * (np.abs(y).max() + largest * np.abs(fitted.coef_).sum())
    assert np.abs(X.T @ r).max() <= 1e-12 * size


@pytest.mark.parametrize("solver", DIRECT + STEPWISE)
@pytest.mark.parametrize("fit_intercept", [True, False])
@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 1000))
def test_a_weight_is_a_number_of_repetitions(solver, fit_intercept, seed):
    X, y = line(n=25, p=3, seed=seed)
    s = np.random.default_rng(seed).integers(0, 4, size=len(X))
    s[:8] = np.arange(8) % 3  # zeros in any case
    s[8:15] = 1
    keep = np.repeat(np.arange(len(X)), s)
    weighted = model(solver, fit_intercept=fit_intercept).fit(X, y, s)
    repeated = model(solver, fit_intercept=fit_intercept).fit(X[keep], y[keep])
    assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-9, atol=1e-10)
    assert_allclose(weighted.intercept_, repeated.intercept_, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("parameters", [{}, {"positive": True}])
@pytest.mark.parametrize("shape", [(40, 3), (6, 9)])
def test_rows_of_weight_zero_might_hold_anything(parameters, shape):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=shape), rng.normal(size=shape[0])
    s = np.ones(len(X))
    s[::2] = 0.0
    other, other_y = X.copy(), y.copy()
    other[::2], other_y[::2] = 1e6, -1e6
    one = LinearRegression(**parameters).fit(X[1::2], y[1::2])
    two = LinearRegression(**parameters).fit(other, other_y, s)
    assert_allclose(two.coef_, one.coef_, rtol=1e-7, atol=1e-10)
    assert_allclose(two.predict(X), one.predict(X), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("solver", DIRECT)
@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 1000))
def test_permutation_scaling_and_shift_change_what_they_should(solver, seed):
    rng = np.random.default_rng(seed)
    X, y = line(seed=seed)
    scale, shift = 2.0 ** rng.integers(-30, 30, size=4), rng.normal(size=4)
    rows, columns = rng.permutation(len(X)), rng.permutation(4)
    one = model(solver).fit(X, y)
    two = model(solver).fit(((X + shift) * scale)[rows][:, columns], 3.0 * y[rows] + 1.0)
    assert_allclose(two.coef_, (3.0 * one.coef_ / scale)[columns], rtol=1e-9)
    assert_allclose(two.intercept_, 3.0 * (one.intercept_ - shift @ one.coef_) + 1.0, rtol=1e-8)


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from(["gd", "sgd", "positive"]),
    st.integers(1, 30),
    st.integers(0, 1000),
    st.booleans(),
)
def test_the_certificate_bounds_the_true_gap_after_any_number_of_steps(
    solver, steps, seed, weighted
):
    X, y = line(n=30, p=3, q=2, seed=seed)
    s = np.random.default_rng(seed).random(30) if weighted else np.ones(30)

    def objective(w, b):
        return float(s @ ((y - X @ w - b) ** 2).sum(axis=1) / (2 * s.sum()))

    trace = Trace()
    if solver == "positive":
        fitted = LinearRegression(positive=True)
        best = [sklearn.linear_model.LinearRegression(positive=True).fit(X, y, s)]
    else:
        fitted = model(solver, max_iter=steps, tol=0.0)
        best = [LinearRegression(solver="qr").fit(X, y, s)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted.set_callbacks(trace).fit(X, y, s)
    least = objective(best[0].coef_.T, best[0].intercept_)
    for state in trace.states:
        P = objective(state["w"], state["b"])
        assert_allclose(state["objective"], P, rtol=1e-10)
        assert P - least <= state["gap"] + 1e-12 * P
    assert fitted.certificate_ == trace.states[-1]["gap"]


def test_gradient_descent_never_rises_and_its_gap_shrinks_as_promised():
    X, y = line()
    trace = Trace()
    fitted = model("gd", tol=1e-20).set_callbacks(trace).fit(X, y)
    A = X - X.mean(axis=0)
    mu, L = np.linalg.eigvalsh(A.T @ A / len(A))[[0, -1]]
    P = np.array([state["objective"] for state in trace.states])
    excess = P - P[-1]
    assert (np.diff(P) <= 1e-15).all()
    assert (excess[1:] <= (1 - mu / L) * excess[:-1] + 1e-14).all()
    assert fitted.n_iter_ == len(P)


# (b) the naive version


@pytest.mark.parametrize("solver", DIRECT + STEPWISE)
@pytest.mark.parametrize("q", [None, 1, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("shape", [(60, 4), (5, 8)])
def test_every_solver_gives_the_naive_answer(solver, q, fit_intercept, weighted, shape):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=shape) + 0.5, rng.normal(size=(shape[0], q) if q else shape[0])
    s = rng.uniform(0.5, 2.0, size=shape[0]) if weighted else None
    fitted = model(solver, fit_intercept=fit_intercept).fit(X, y, s)
    w, b = naive(X, y, s, fit_intercept)
    assert_allclose(fitted.coef_, w, rtol=1e-9, atol=1e-10)
    assert_allclose(fitted.intercept_, b if fit_intercept else 0.0, rtol=1e-9, atol=1e-9)
    assert fitted.coef_.shape == ((q, shape[1]) if q else (shape[1],))
    A = np.sqrt(1.0 if s is None else s)[..., None] * (
        X - (np.average(X, 0, s) if fit_intercept else 0)
    )
    sigma = np.linalg.svd(A, compute_uv=False)
    assert_allclose(fitted.singular_, sigma, rtol=1e-9, atol=1e-7)
    assert fitted.rank_ == min(shape[0] - fit_intercept, shape[1])


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("solver", ["auto", "qr", "svd"])
def test_many_blocks_on_many_threads_are_one_matrix(monkeypatch, order, dtype, solver):
    X, y = line(n=500, p=3, q=2)
    X = np.array(X, dtype=dtype, order=order)
    s = np.random.default_rng(0).random(500)
    whole = model("svd").fit(X.astype(float), y, s)
    monkeypatch.setattr("mlreplica.core.rows.walk.BLOCK", 64)
    blocks = model(solver).fit(X, y, s)
    tol = 1e-10 if dtype == np.float64 else 1e-5
    assert_allclose(blocks.coef_, whole.coef_, rtol=tol)
    assert blocks.coef_.dtype == blocks.singular_.dtype == np.dtype(dtype)


def test_an_epoch_is_its_loop():
    rng = np.random.default_rng(0)
    A, t, g, w = rng.normal(size=(6, 3)), rng.normal(size=6), rng.normal(size=3), np.zeros(3)
    order, v = rng.permutation(6), np.zeros(3)
    descent.epoch(A, t, g, w, 0.1, 0.02, order)
    for i in order:
        v = (1 - 0.02) * v - 0.1 * (A[i] * (A[i] @ v - t[i]) + g)
    assert_allclose(w, v, rtol=1e-13)


# (c) references


@pytest.mark.parametrize("name", NIST)
@pytest.mark.parametrize("solver", ["auto", "qr"])
def test_certified_values(name, solver):
    problem = NIST[name]
    X, y = np.array(problem["X"]), np.array(problem["y"])
    if problem["degree"]:
        X = X ** np.arange(1, problem["degree"] + 1)
    fitted = model(solver).fit(X, y)
    found = np.append(fitted.intercept_, fitted.coef_)
    error = np.abs(found / np.array(problem["certified"]) - 1).max()
    # x¹⁰ rounded to a float differs from the certified x¹⁰; that alone costs Filip 2.5e-8.
    assert error < {"Filip": 3e-8}.get(name, 1e-9)


@pytest.mark.parametrize("name", ["Filip", "Longley", "Wampler5"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_answer_for_the_given_floats_is_right_to_the_last_digits(name, weighted):
    problem = NIST[name]
    X, y = np.array(problem["X"]), np.array(problem["y"])
    if problem["degree"]:
        X = X ** np.arange(1, problem["degree"] + 1)
    s = np.random.default_rng(0).uniform(0.1, 2.0, size=len(y)) if weighted else None
    fitted = LinearRegression().fit(X, y, s)
    true = exact_fit(X, y, s)
    assert np.abs(fitted.coef_ / true[1:] - 1).max() < 1e-11
    assert abs(fitted.intercept_ / true[0] - 1) < 1e-10


def hard(kind):
    """Designs on which a careless method loses most digits."""
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(30, 4)), rng.normal(size=30)
    if kind == "far from zero":
        X = X + 1e8
        return X, X @ [1.0, -1.0, 2.0, 0.5] + noise
    if kind == "y far from zero":
        return X, 1e8 + X @ [1.0, -1.0, 2.0, 0.5] + noise
    if kind == "many scales":
        X = X * [1e-8, 1.0, 1e4, 1e8]
        return X, X @ [1e8, -1.0, 1e-4, 1e-8] + noise
    if kind == "tiny":
        return X * 1e-170, noise
    if kind == "huge":
        return X * 1e170, noise
    if kind == "nearly collinear":
        X[:, 3] = X[:, 0] + X[:, 1] + 1e-9 * X[:, 3]
        return X, noise
    if kind == "almost normal":  # between the plain normal equations and their correction
        X[:, 3] = X[:, 0] + 1e-3 * X[:, 3]
        return X, noise
    raise ValueError(kind)


HARD = [
    "far from zero",
    "y far from zero",
    "many scales",
    "tiny",
    "huge",
    "nearly collinear",
    "almost normal",
]


@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("least", [0, 1 << 15])
def test_hard_designs_against_exact_arithmetic(monkeypatch, kind, fit_intercept, weighted, least):
    monkeypatch.setattr("mlreplica.linear_model.least_squares.linear_regression.SMALL", least)
    X, y = hard(kind)
    s = np.random.default_rng(1).uniform(0.5, 2.0, size=len(y)) if weighted else None
    fitted = LinearRegression(fit_intercept=fit_intercept).fit(X, y, s)
    true = exact_fit(X, y, s, fit_intercept)[int(fit_intercept) :]
    scale = np.abs(X - X.mean(axis=0)).max(axis=0)
    assert relative_error(fitted.coef_ * scale, true * scale) < 1e-10
    assert fitted.rank_ == 4


@pytest.mark.parametrize("heavy", [1e3, 1e8, 1e12])
def test_rows_of_little_weight_are_heard(heavy):
    """What only the light rows say was lost beside the rounding of the heavy ones."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(12.0), np.arange(12.0) % 3])
    X[:3, 1] = 0.0
    y, s = rng.normal(size=12), np.append(np.full(3, heavy), np.ones(9))
    fitted = LinearRegression().fit(X, y, s)
    true = exact_fit(X, y, s)
    assert np.abs(np.append(fitted.intercept_, fitted.coef_) / true - 1).max() < 1e-10


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.floats(0, 12))
def test_no_condition_number_makes_it_silently_wrong(seed, digits):
    rng = np.random.default_rng(seed)
    U, _ = np.linalg.qr(rng.normal(size=(15, 4)))
    V, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    X = U * np.logspace(0, -digits, 4) @ V
    y = rng.normal(size=15)
    true = exact_fit(X, y)
    error = relative_error(LinearRegression().fit(X, y).coef_, true[1:])
    assert error < 1e-9 + (10**digits * 2.2e-16) ** 2


@pytest.mark.parametrize("positive", [True, False])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("q", [None, 3])
@pytest.mark.parametrize("weighted", [True, False])
def test_scikit_learn_agrees(positive, fit_intercept, q, weighted):
    X, y = line(q=q)
    s = np.random.default_rng(0).random(len(X)) if weighted else None
    parameters = {"fit_intercept": fit_intercept, "positive": positive}
    ours = LinearRegression(**parameters).fit(X, y, s)
    theirs = sklearn.linear_model.LinearRegression(**parameters, tol=1e-14).fit(X, y, s)
    assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-12)
    assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9)
    assert_allclose(ours.score(X, y, s), theirs.score(X, y, s), rtol=1e-12)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 1000), st.integers(1, 12), st.integers(2, 12))
def test_non_negative_weights_satisfy_their_conditions(seed, n, p):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-3, 4, size=(n, p)).astype(float), rng.normal(size=n)  # often dependent
    fitted = LinearRegression(positive=True).fit(X, y)
    A, c = X - X.mean(axis=0), y - y.mean()
    gradient = A.T @ (A @ fitted.coef_ - c)
    assert (fitted.coef_ >= 0).all()
    assert (gradient >= -1e-9).all()
    assert_allclose(gradient * fitted.coef_, 0.0, atol=1e-9)


# rank, shapes, containers


@pytest.mark.parametrize("solver", DIRECT)
@pytest.mark.parametrize("weighted", [True, False])
def test_of_all_minimisers_the_one_of_least_norm(solver, weighted):
    X, y = line(n=40, p=3)
    X = np.column_stack([X, X[:, 0] - 2 * X[:, 1], np.full(40, 0.1), np.zeros(40)])
    s = np.random.default_rng(0).uniform(0.5, 1.0, size=40) if weighted else None
    fitted = model(solver).fit(X, y, s)
    w, b = naive(X[:, :4], y, s)
    assert_allclose(fitted.coef_, np.append(w, [0.0, 0.0]), rtol=1e-9, atol=1e-12)
    assert_allclose(fitted.intercept_, b, rtol=1e-9)
    assert fitted.rank_ == 3
    assert fitted.solver_ == ("svd" if solver == "svd" else "qr")


def test_least_norm_is_in_the_units_of_the_user():
    X, y = line(n=40, p=2)
    X = np.column_stack([X, 1000.0 * X[:, 0]])
    fitted = LinearRegression().fit(X, y)
    assert_allclose(fitted.coef_, naive(X, y)[0], rtol=1e-9)


def test_wide_and_dependent():
    X, y = line(n=10, p=20)
    X[5:], y[5:] = X[:5], y[:5]
    fitted = LinearRegression().fit(X, y)
    assert_allclose(fitted.coef_, naive(X, y)[0], rtol=1e-9, atol=1e-12)
    assert (fitted.solver_, fitted.rank_) == ("qr", 4)


@pytest.mark.parametrize("spread", [1e-4, 1e-9])
def test_wide_and_ill_conditioned(spread):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6, 10)), rng.normal(size=6)
    X[1] = X[0] + spread * X[1]
    fitted = LinearRegression(fit_intercept=False).fit(X, y)
    A = [[Fraction(float(x)) for x in row] for row in X]
    K = [[sum(a * b for a, b in zip(r, t, strict=True)) for t in A] for r in A]
    alpha = exact(K, [Fraction(float(c)) for c in y])
    true = [float(sum(a * r[j] for a, r in zip(alpha, A, strict=True))) for j in range(10)]
    assert relative_error(fitted.coef_, np.array(true)) < 1e-14 / spread


@pytest.mark.parametrize("container", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("shape", [(50, 6), (6, 10)])
@pytest.mark.parametrize("dense", [0, 1 << 20])
def test_sparse_is_dense(monkeypatch, container, fit_intercept, weighted, shape, dense):
    monkeypatch.setattr("mlreplica.linear_model.least_squares.linear_regression.DENSE", dense)
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape) * (rng.random(shape) < 0.5)
    y = rng.normal(size=(shape[0], 2))
    s = rng.uniform(0.5, 2.0, size=shape[0]) if weighted else None
    one = LinearRegression(fit_intercept=fit_intercept, tol=1e-14).fit(container(X), y, s)
    two = LinearRegression(fit_intercept=fit_intercept).fit(X, y, s)
    assert_allclose(one.coef_, two.coef_, rtol=1e-7, atol=1e-9)
    assert_allclose(one.intercept_, two.intercept_, rtol=1e-7, atol=1e-9)
    assert_allclose(one.predict(container(X)), two.predict(X), rtol=1e-7, atol=1e-9)
    assert one.solver_ == ("cholesky" if shape[0] > shape[1] or dense else "lsqr")


def test_sparse_that_lsqr_cannot_solve_is_not_silent(monkeypatch):
    monkeypatch.setattr("mlreplica.linear_model.least_squares.linear_regression.DENSE", 0)
    X = sp.csr_array(np.vander(np.linspace(0, 1, 40), 12))
    with pytest.warns(ConvergenceWarning, match="LSQR did not reach"):
        LinearRegression(tol=1e-14).fit(X, np.arange(40.0))


def test_names_of_columns_come_and_go():
    X, y = line(p=2)
    frame = pd.DataFrame(X, columns=["a", "b"])
    fitted = LinearRegression().fit(frame, y)
    assert_array_equal(fitted.feature_names_in_, ["a", "b"])
    assert_allclose(fitted.predict(frame), LinearRegression().fit(X, y).predict(X))
    fitted.fit(X, y)
    assert not hasattr(fitted, "feature_names_in_")


def test_a_new_fit_forgets_the_old_one():
    X, y = line()
    fitted = model("gd").fit(X, y)
    assert fitted.n_iter_ > 1
    assert fitted.certificate_ < 1e-20
    fitted.set_params(solver="auto").fit(X, y)
    assert fitted.n_iter_ == 1
    assert not hasattr(fitted, "certificate_")
    fitted.fit(sp.csr_array(X), y)
    assert not {"rank_", "singular_"} & vars(fitted).keys()


def test_x_is_left_alone_unless_it_may_be_used():
    rng = np.random.default_rng(0)
    for shape in [(40, 3), (5, 9)]:
        X, y = rng.normal(size=shape) + 1.0, rng.normal(size=shape[0])
        before, kept = X.copy(), LinearRegression().fit(X, y)
        assert_array_equal(X, before)
        used = LinearRegression(copy_X=False).fit(X, y)
        assert_allclose(used.coef_, kept.coef_, rtol=1e-12)


def test_pickle_and_ransac():
    X, y = line()
    fitted = pickle.loads(pickle.dumps(LinearRegression().fit(X, y)))
    assert_allclose(fitted.predict(X[:1]), LinearRegression().fit(X, y).predict(X)[:1], rtol=1e-14)
    ransac = RANSACRegressor(LinearRegression(), random_state=0).fit(X, y)
    assert isinstance(ransac.estimator_, LinearRegression)


# (d) scikit-learn's checks


@parametrize_with_checks(
    [LinearRegression(solver=solver) for solver in DIRECT]
    + [
        LinearRegression(fit_intercept=False),
        LinearRegression(positive=True),
        LinearRegression(solver="gd", tol=1e-20, max_iter=1_000_000),
        LinearRegression(solver="sgd", tol=1e-20, max_iter=1_000_000, random_state=0),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# bad input


@pytest.mark.parametrize("solver", DIRECT + STEPWISE)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["X", "y", "both"])
@pytest.mark.parametrize("shape", [(20, 3), (3, 20), (3000, 30)])
def test_what_is_not_finite_is_named(solver, bad, where, shape):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=shape), rng.normal(size=shape[0])
    if where in ("X", "both"):
        X[1, 2] = bad
        X[0, 2] = -bad
    if where in ("y", "both"):
        y[-1] = bad
    with pytest.raises(ValueError, match="NaN" if np.isnan(bad) else "infinity"):
        LinearRegression(solver=solver).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"solver": "lu"}, "solver"),
        ({"tol": -1.0}, "tol"),
        ({"max_iter": 0}, "max_iter"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"n_jobs": 1.5}, "n_jobs"),
    ],
)
def test_bad_parameters_are_refused_in_fit(parameters, message):
    X, y = line()
    with pytest.raises(ValueError, match=message):
        LinearRegression(**parameters).fit(X, y)


def test_bad_weights_and_lengths():
    X, y = line()
    with pytest.raises(ValueError, match="Negative"):
        LinearRegression().fit(X, y, -np.ones(len(y)))
    with pytest.raises(ValueError, match="inconsistent"):
        LinearRegression().fit(X, y[:-1])
    with pytest.raises(ValueError, match="1D array or scalar"):
        LinearRegression().fit(X, y, np.ones((len(y), 2)))


def test_too_few_steps_are_not_silent():
    X, y = line()
    with pytest.warns(ConvergenceWarning, match="after 2 epochs; raise max_iter"):
        LinearRegression(solver="gd", max_iter=2).fit(X, y)


# (e) one test a bug


def test_a_constant_column_is_not_blown_up_to_length_one():
    """Centring leaves 1e-17 of a constant; scaled to length one it got a coefficient of 1e28."""
    X, y = line(n=200, p=5)
    fitted = LinearRegression().fit(np.column_stack([X, np.ones(200)]), y)
    assert_allclose(fitted.coef_, np.append(LinearRegression().fit(X, y).coef_, 0.0), rtol=1e-9)


@pytest.mark.parametrize("solver", ["auto", "qr", "svd"])
@pytest.mark.parametrize("degree", [6, 7, 8])
def test_nearly_dependent_columns_of_unequal_lengths_do_not_spoil_the_fit(degree, solver):
    year = np.linspace(1958.25, 1989.99, 500)
    y = 315 + 0.8 * (year - 1958) + 0.012 * (year - 1958) ** 2 + 2 * np.sin(2 * np.pi * year)
    powers = year[:, None] ** np.arange(1, degree + 1)
    model = LinearRegression(solver=solver).fit(powers, y)
    assert model.rank_ < degree
    parabola = LinearRegression().fit(powers[:, :2], y).predict(powers[:, :2])
    least = np.mean((y - parabola) ** 2)  # the shortest w of degree 8 had 1e9 times as much
    assert np.mean((y - model.predict(powers)) ** 2) <= 1.001 * least


@pytest.mark.parametrize("intercept", [True, False])
def test_more_targets_than_columns(intercept):
    rng = np.random.default_rng(0)
    X, Y, s = rng.normal(size=(60_000, 3)) + 5, rng.normal(size=(60_000, 9)), rng.random(60_000)
    together = LinearRegression(fit_intercept=intercept).fit(X, Y, s)
    alone = [LinearRegression(fit_intercept=intercept).fit(X, y, s) for y in Y.T]
    assert_allclose(together.coef_, [model.coef_ for model in alone], rtol=1e-10, atol=1e-14)
    assert_allclose(
        together.intercept_, [model.intercept_ for model in alone], rtol=1e-10, atol=1e-14
    )
