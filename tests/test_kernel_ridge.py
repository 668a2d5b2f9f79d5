import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.kernel_ridge
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process import kernels as gaussian_process
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.utils.estimator_checks import parametrize_with_checks

from mlreplica import kernel_ridge as module
from mlreplica.core.formulas.kernel_words import WORDS
from mlreplica.kernel_ridge import KernelRidge
from mlreplica.kernels import RBF, Linear, Polynomial
from mlreplica.linear_model import Ridge

NAMES = sorted(WORDS - {"precomputed"})


def sample(n=40, p=3, q=None, seed=0):
    """Rows > 0, which every named kernel takes, and smooth targets with noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.1, 2.0, size=(n, p))
    Y = np.stack([np.sin(3 * X[:, 0]) + X[:, 1], X.sum(axis=1) ** 2], axis=1)
    return X, (Y[:, 0] if q is None else Y) + 0.1 * rng.normal(size=(n,) if q is None else (n, 2))


def naive(K, y, alpha, s=None):
    """c of (3), target by target."""
    s = np.ones(len(y)) if s is None else s
    alpha = np.broadcast_to(alpha, y[0].shape)
    solve = lambda y, a: np.linalg.solve(K + a * np.diag(1 / s), y)
    return solve(y, alpha) if y.ndim == 1 else np.stack([*map(solve, y.T, alpha)], axis=1)


def objective(K, y, c, alpha, s):
    """P of (1), all targets together, with more digits than the model has: c may be 1e9."""
    K, y, c, s = (np.asarray(a, dtype=np.longdouble) for a in (K, y, c, s))
    r, c = (a.reshape(len(y), -1) for a in (y - K @ c, c))
    return float((s @ r**2).sum() + (np.asarray(alpha) * (c * (K @ c)).sum(axis=0)).sum())


@numba.njit
def minima(u, v):
    s = 0.0
    for k in range(len(u)):
        s += min(u[k], v[k])
    return s


# (a) properties


@settings(max_examples=30)
@given(
    seed=st.integers(0, 1000),
    weighted=st.booleans(),
    digits=st.floats(-12, 3),
    kernel=st.sampled_from(["rbf", "linear", "poly"]),
    shift=st.floats(-8, 0),
)
def test_the_certificate_bounds_the_true_gap_of_any_c(seed, weighted, digits, kernel, shift):
    X, y = sample(25, q=2, seed=seed)
    rng = np.random.default_rng(seed)
    s = rng.uniform(0.1, 3.0, 25) if weighted else np.ones(25)
    alpha = np.array([10.0**digits, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = KernelRidge(alpha, kernel=kernel, gamma=0.5).fit(X, y, s)
    K = model.kernel_(X)
    best = objective(K, y, model.dual_coef_, alpha, s)
    assert model.certificate_ >= 0.0
    c = model.dual_coef_ + 10.0**shift * rng.normal(size=y.shape)
    for t in range(2):
        diagonal = np.diag(K) + alpha[t] / s
        H = K.astype(np.longdouble) + alpha[t] * np.diag(1 / s)
        rho = (y[:, [t]] - H @ c[:, [t]]).astype(float)
        gap = module.bound(rho, y[:, [t]], c[:, [t]], diagonal, s)
        least = objective(K, y[:, t], model.dual_coef_[:, t], alpha[t], s)
        distance = objective(K, y[:, t], c[:, t], alpha[t], s) - least
        assert distance <= gap + 1e-9 * max(abs(best), 1.0)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("augmented", [False, True])
def test_a_weight_is_a_number_of_repetitions(kernel, augmented):
    X, y = sample()
    s = np.random.default_rng(1).integers(0, 4, size=len(X))
    s[:3] = [0, 1, 2]
    keep = np.repeat(np.arange(len(X)), s)
    model = KernelRidge(0.3, kernel=kernel, augmented=augmented)
    weighted = clone(model).fit(X, y, s).predict(X)
    assert_allclose(weighted, model.fit(X[keep], y[keep]).predict(X), rtol=1e-9)


@settings(max_examples=20)
@given(seed=st.integers(0, 1000), digits=st.floats(-3, 3), weighted=st.booleans())
def test_leaving_one_out_without_fitting_again(seed, digits, weighted):
    X, y = sample(15, q=2, seed=seed)
    s = np.random.default_rng(seed).integers(0, 3, 15).astype(float) if weighted else np.ones(15)
    s[:3] = 1.0
    model = KernelRidge([10.0**digits, 1.0], kernel="rbf", augmented=True, leave_one_out=True)
    found = model.fit(X, y, s).loo_residuals_
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        refit = clone(model).fit(X[others], y[others], s[others])
        assert_allclose(y[i] - refit.predict(X[[i]])[0], found[i], rtol=1e-7, atol=1e-9)


def test_leaving_one_out_agrees_with_cross_validation():
    X, y = sample()
    model = KernelRidge(0.1, kernel="rbf", leave_one_out=True).fit(X, y)
    expected = y - cross_val_predict(KernelRidge(0.1, kernel="rbf"), X, y, cv=LeaveOneOut())
    assert_allclose(model.loo_residuals_, expected, rtol=1e-9, atol=1e-12)


def test_rows_in_another_order():
    X, y = sample()
    order = np.random.default_rng(3).permutation(len(X))
    a, b = KernelRidge(kernel="rbf").fit(X, y), KernelRidge(kernel="rbf").fit(X[order], y[order])
    assert_allclose(a.dual_coef_[order], b.dual_coef_, rtol=1e-10)


# (b) the naive version


@pytest.mark.parametrize("alpha", [0.3, [0.3, 2.0], [0.5, 0.5]])
@pytest.mark.parametrize("weighted", [False, True])
def test_naive(alpha, weighted):
    X, y = sample(q=2)
    s = np.random.default_rng(0).uniform(0.2, 4.0, len(X)) if weighted else None
    model = KernelRidge(alpha, kernel="rbf", gamma=0.7).fit(X, y, s)
    assert_allclose(model.dual_coef_, naive(RBF(0.7)(X), y, alpha, s), rtol=1e-9)
    assert model.jitter_ == 0.0
    assert model.certificate_ < 1e-18


def test_the_bias_is_a_feature():
    X, y = sample()
    model = KernelRidge(0.5, kernel="poly", degree=2, augmented=True).fit(X, y)
    same = KernelRidge(0.5, kernel=1 + Polynomial(2, gamma=1 / 3)).fit(X, y)
    assert_allclose(model.dual_coef_, same.dual_coef_, rtol=1e-9)
    assert_allclose(model.predict(X), same.predict(X), rtol=1e-9)
    assert_allclose(model.intercept_, model.dual_coef_.sum(), rtol=1e-14)
    linear = KernelRidge(0.5, augmented=True).fit(X, y)
    ridge = Ridge(0.5, penalize_intercept=True).fit(X, y)
    assert_allclose(linear.intercept_, ridge.intercept_, rtol=1e-9)
    assert_allclose(linear.predict(X), ridge.predict(X), rtol=1e-9)


def test_explicit_features():
    X, y = sample()
    K = Polynomial(3, gamma=0.5, coef0=2.0)
    ridge = Ridge(0.7, fit_intercept=False).fit(K.feature_map(X), y)
    found = KernelRidge(0.7, kernel=K).fit(X, y).predict(X[:7] + 0.1)
    assert_allclose(found, ridge.predict(K.feature_map(X[:7] + 0.1)), rtol=1e-8)


# (c) references


@pytest.mark.parametrize("kernel", NAMES)
@pytest.mark.parametrize("degree", [2, 2.5])
def test_agrees_with_scikit_learn(kernel, degree):
    X, y = sample(q=2)
    if kernel == "additive_chi2":  # minus a distance: conditionally definite only
        y = y - y.mean(axis=0)
    ours, theirs = (
        cls([20.0, 30.0], kernel=kernel, gamma=0.3, degree=degree, coef0=0.5)
        for cls in (KernelRidge, sklearn.kernel_ridge.KernelRidge)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        s = np.linspace(0.5, 1.5, len(X))
        if kernel == "additive_chi2":
            ours.set_params(alpha=100.0), theirs.set_params(alpha=100.0)
        expected = theirs.fit(X, y, s).predict(X[::2])
        assert_allclose(ours.fit(X, y, s).predict(X[::2]), expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "sigmoid", "cosine"])
def test_sparse_rows_and_a_matrix_give_the_same(kernel):
    X, y = sample()
    X[X < 0.8] = 0.0
    model = KernelRidge(5.0, kernel=kernel, gamma=0.1)
    dense = model.fit(X, y).predict(X)
    for container in (sp.csr_array, sp.csc_array, sp.csr_matrix):
        S = container(X)
        assert_allclose(model.fit(S, y).predict(S), dense, rtol=1e-8)
        assert_allclose(model.predict(X), dense, rtol=1e-8)
    assert_allclose(model.fit(X, y).predict(sp.csr_array(X)), dense, rtol=1e-8)
    K = pairwise_kernels(X, metric=kernel, filter_params=True, gamma=0.1)
    given = KernelRidge(5.0, kernel="precomputed").fit(K, y)
    assert_allclose(given.predict(K), dense, rtol=1e-8)
    sparse = KernelRidge(5.0, kernel="precomputed").fit(sp.csr_array(K), y)
    assert_allclose(sparse.predict(sp.csr_array(K)), dense, rtol=1e-8)


def test_functions_of_two_rows():
    X, y = sample()
    K = np.minimum(X[:, None], X).sum(axis=2)
    expected = K @ naive(K, y, 0.5)
    scaled = lambda u, v, scale: scale * np.minimum(u, v).sum()
    for model in (
        KernelRidge(0.5, kernel=minima),
        KernelRidge(0.5, kernel=minima.py_func),
        KernelRidge(0.5, kernel=scaled, kernel_params={"scale": 1.0}),
    ):
        assert_allclose(model.fit(X, y).predict(X), expected, rtol=1e-9)
    process = gaussian_process.RBF(1.3)
    expected = KernelRidge(0.5, kernel="rbf", gamma=0.5 / 1.3**2).fit(X, y).predict(X)
    assert_allclose(KernelRidge(0.5, kernel=process).fit(X, y).predict(X), expected, rtol=1e-9)
    S = sp.csr_array(X)
    dots = KernelRidge(0.5, kernel=lambda u, v: (u @ v.T).sum()).fit(S, y).predict(S)
    assert_allclose(dots, KernelRidge(0.5).fit(X, y).predict(X), rtol=1e-9)
    assert_allclose(KernelRidge(0.5, kernel=minima).fit(S, y).predict(S), K @ naive(K, y, 0.5))


def test_gamma_of_a_kernel_that_depends_on_the_rows():
    X, y = sample()
    model = KernelRidge(kernel=RBF("scale")).fit(X, y)
    assert_allclose(model.kernel_.gamma, 1.0 / (3 * X.var()), rtol=1e-12)
    half = clone(model).set_params(kernel=model.kernel_).fit(X, y).predict(X[:5])
    assert_allclose(model.predict(X[:5]), half, rtol=1e-12)


# singular and indefinite


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_a_singular_kernel_gives_the_shortest_least_squares_solution(weighted, scale):
    X, y = sample(q=2)
    X = scale * X
    s = np.random.default_rng(0).uniform(0.5, 2.0, len(X)) if weighted else np.ones(len(X))
    model = KernelRidge(0.0, leave_one_out=True)
    with pytest.warns(UserWarning, match=r"Singular matrix .* jitter of \d"):
        model.fit(X, y, s)
    w = np.linalg.lstsq(np.sqrt(s)[:, None] * X, np.sqrt(s)[:, None] * y)[0]
    assert_allclose(model.predict(X), X @ w, rtol=1e-6)
    assert_allclose(X.T @ model.dual_coef_, w, rtol=1e-6)
    assert 0.0 < model.jitter_ < 1e-8 * np.trace(X @ X.T)
    squares = s @ (y - model.predict(X)) ** 2
    assert squares.sum() <= model.certificate_ * (1 + 1e-12)
    out = np.arange(len(X)) != 4
    w = np.linalg.lstsq(np.sqrt(s[out])[:, None] * X[out], np.sqrt(s[out])[:, None] * y[out])[0]
    assert_allclose(model.loo_residuals_[4], y[4] - X[4] @ w, rtol=1e-4)


def test_duplicate_rows_are_interpolated_by_their_mean():
    X = np.array([[0.0], [0.0], [1.0], [2.0]])
    with pytest.warns(UserWarning, match="Singular"):
        model = KernelRidge(0.0, kernel="rbf").fit(X, [0.0, 2.0, 3.0, 4.0])
    assert_allclose(model.predict([[0.0], [1.0], [2.0]]), [1.0, 3.0, 4.0], rtol=1e-6)


def test_an_indefinite_kernel_is_told_and_solved():
    K = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.5], [0.0, 0.5, 1.0]])
    y = np.array([1.0, 2.0, -1.0])
    model = KernelRidge(0.5, kernel="precomputed", leave_one_out=True)
    with pytest.warns(UserWarning, match="not positive semi-definite"):
        model.fit(K, y)
    assert_allclose(model.dual_coef_, np.linalg.solve(K + 0.5 * np.eye(3), y), rtol=1e-10)
    assert model.certificate_ == np.inf
    others = np.ix_([0, 1], [0, 1])
    left_out = K[2, :2] @ np.linalg.solve((K + 0.5 * np.eye(3))[others], y[:2])
    assert_allclose(model.loo_residuals_[2], y[2] - left_out, rtol=1e-9)
    zero = np.zeros((3, 3))
    zero[0, 0] = -1.0
    with pytest.warns(UserWarning, match="not positive semi-definite"):
        model.set_params(alpha=0.0, leave_one_out=False).fit(zero, [1.0, 0.0, 0.0])
    assert_allclose(model.dual_coef_, [-1.0, 0.0, 0.0], atol=1e-12)


def test_an_asymmetric_matrix_is_told():
    X, y = sample(10)
    K = Linear()(X)
    K[3, 5] += 1.0
    with pytest.warns(UserWarning, match="not symmetric"):
        KernelRidge(kernel="precomputed").fit(K, y)


@pytest.mark.parametrize(
    ("parameters", "X", "y", "message"),
    [
        ({"alpha": -1.0}, None, None, "'alpha' parameter"),
        ({"alpha": [1.0, -1.0]}, None, np.ones((40, 2)), "alpha must be >= 0"),
        ({"alpha": [1.0, 1.0, 1.0]}, None, None, r"do not correspond: 1 != 3"),
        ({"kernel": "gauss"}, None, None, "'kernel' parameter"),
        ({"kernel": "precomputed"}, np.ones((40, 3)), None, "Precomputed metric requires shape"),
        ({"augmented": "yes"}, None, None, "'augmented' parameter"),
        ({"gamma": -1.0, "kernel": "rbf"}, None, None, "'gamma' parameter"),
        ({}, np.full((40, 3), np.nan), None, "contains NaN"),
        ({}, None, np.full(40, np.inf), "contains infinity"),
    ],
)
def test_bad_input(parameters, X, y, message):
    good_X, good_y = sample()
    with pytest.raises(ValueError, match=message):
        KernelRidge(**parameters).fit(good_X if X is None else X, good_y if y is None else y)


def test_bad_weights():
    X, y = sample()
    with pytest.raises(ValueError, match="Negative"):
        KernelRidge().fit(X, y, -np.ones(len(X)))
    with pytest.raises(ValueError, match="zero"):
        KernelRidge().fit(X, y, np.zeros(len(X)))


# (d) scikit-learn


@parametrize_with_checks(
    [KernelRidge(), KernelRidge(kernel="rbf", augmented=True, leave_one_out=True)]
)
def test_estimator_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Singular matrix", UserWarning)
        check(estimator)


def test_kinds_of_data():
    X, y = sample()
    model = KernelRidge(0.1, kernel="rbf").fit(X, y)
    frame = KernelRidge(0.1, kernel="rbf").fit(pd.DataFrame(X, columns=list("abc")), y)
    assert_array_equal(frame.feature_names_in_, list("abc"))
    assert_allclose(frame.predict(pd.DataFrame(X, columns=list("abc"))), model.predict(X))
    single = KernelRidge(0.1, kernel="rbf").fit(X.astype("f4"), y)
    assert_allclose(single.predict(X.astype("f4")), model.predict(X), rtol=1e-4)
    assert_array_equal(KernelRidge().fit(np.asfortranarray(X), y).X_fit_, X)
    assert clone(model).kernel == "rbf"
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_many_rows_are_predicted_in_slices_and_threads_agree():
    X, y = sample(400)
    model = KernelRidge(0.1, kernel="rbf", gamma=2.0).fit(X, y)
    many = np.random.default_rng(0).uniform(0, 2, (5000, 3))
    expected = RBF(2.0)(many, X) @ model.dual_coef_
    assert_allclose(model.predict(many), expected, rtol=1e-10)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(model.predict, [many] * 8):
            assert_allclose(found, expected, rtol=1e-10)
        fits = list(pool.map(lambda _: clone(model).fit(X, y).dual_coef_, range(8)))
    for c in fits:
        assert_allclose(c, fits[0], rtol=1e-8)
