"""The kernels: each satisfies the contract and agrees with scikit-learn; so does their algebra."""

import os
import re
import subprocess
import sys

import numba
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import pairwise
from sklearn.svm import SVC

from mlreplica import kernels
from mlreplica.core.formulas.exp import exp32, exp64
from mlreplica.core.formulas.kernel_loops import gaussian, row_function
from mlreplica.kernels import RBF, Callable, Laplacian, Linear, Polynomial, Precomputed, Sigmoid
from tests.contract import kernels as contract


def first_plus_two(X):
    """A function of rows that is not constant and not positive."""
    return X[:, 0] - 2.0


def minima(X, Y):
    """The histogram-intersection kernel of |u| and |v|, on matrices."""
    return np.minimum(np.abs(X)[:, None], np.abs(Y)).sum(axis=2)


def minima_of_rows(u, v):
    """The same, on two rows."""
    return float(np.minimum(np.abs(u), np.abs(v)).sum())


@numba.njit
def minima_jitted(u, v):
    """The same, compiled."""
    s = 0.0
    for k in range(len(u)):
        s += min(abs(u[k]), abs(v[k]))
    return s


FINITE = [
    Linear(),
    Polynomial(degree=1, gamma=2.0, coef0=0.5),
    Polynomial(degree=2, gamma=0.5, coef0=0.0),
    Polynomial(degree=3, gamma=0.3, coef0=1.0),
    Polynomial(degree=5, gamma="auto", coef0=2.0),
    1 + Linear(),
    3.0 * Linear() + Polynomial(degree=2),
    Linear() * Polynomial(degree=2, coef0=0.0) * 0.5,
    (Linear() + 2.0).scaled_by(first_plus_two),
]
INFINITE = [
    RBF(gamma=0.4),
    RBF(gamma=0.0),
    RBF(gamma=30.0),
    Laplacian(gamma=0.7),
    0.5 * RBF(gamma=0.2) + Linear() * Laplacian(gamma=0.1),
    RBF(gamma=0.3).scaled_by(first_plus_two),
    Callable(minima),
    Callable(minima_of_rows, rows=True),
    Callable(minima_jitted),
]


@pytest.mark.parametrize("K", FINITE, ids=repr)
def test_contract_with_feature_map(K):
    contract.satisfy(K, finite=True)


@pytest.mark.parametrize("K", INFINITE, ids=lambda K: re.sub(" at 0x.*", "", repr(K))[:40])
def test_contract(K):
    contract.satisfy(K)
    with pytest.raises(ValueError, match="has no finite feature map"):
        K.feature_map(np.ones((2, 3)))


def test_sigmoid_is_evaluated_though_it_is_no_kernel():
    K = Sigmoid(gamma=1.0, coef0=-1.0)
    contract.entries_belong_to_their_rows(K)
    contract.is_a_value(K)
    assert np.linalg.eigvalsh(K([[0.1, 0.0], [1.0, 0.0]])).min() < -0.1


PEERS = [
    (Linear(), "linear", {}),
    (Polynomial(3, 0.2, 1.5), "poly", {"degree": 3, "gamma": 0.2, "coef0": 1.5}),
    (Polynomial(6, 0.2, 1.5), "poly", {"degree": 6, "gamma": 0.2, "coef0": 1.5}),
    (RBF(0.3), "rbf", {"gamma": 0.3}),
    (Sigmoid(0.2, 0.1), "sigmoid", {"gamma": 0.2, "coef0": 0.1}),
    (Laplacian(0.3), "laplacian", {"gamma": 0.3}),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("K", "name", "parameters"), PEERS, ids=lambda v: str(v)[:20])
def test_agrees_with_scikit_learn(K, name, parameters, dtype):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(700, 7)).astype(dtype), rng.normal(size=(300, 7)).astype(dtype)
    rtol = 1e-12 if dtype is np.float64 else 2e-5
    for rows in (Y, None):
        expected = pairwise.pairwise_kernels(X, rows, metric=name, **parameters)
        G = K(X, rows)
        assert G.dtype == dtype
        np.testing.assert_allclose(G, expected, rtol=rtol, atol=rtol)
    assert K.diag(X).dtype == dtype
    assert kernels.get(name, **parameters) == K


@pytest.mark.parametrize("K", [K for K, name, _ in PEERS if name != "laplacian"], ids=repr)
def test_sparse_rows_give_the_dense_matrix(K):
    rng = np.random.default_rng(1)
    X, Y = (rng.normal(size=(n, 6)) * (rng.random((n, 6)) < 0.3) for n in (20, 15))
    for A in (scipy.sparse.csr_matrix(X), scipy.sparse.csc_array(X)):
        for B in (scipy.sparse.csr_array(Y), Y):
            np.testing.assert_allclose(K(A, B), K(X, Y), rtol=1e-12, atol=1e-13)
            np.testing.assert_allclose(K(B, A), K(Y, X), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(K(A), K(X), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(K.diag(A), K.diag(X), rtol=1e-13)


def test_laplacian_says_that_it_takes_dense_rows():
    with pytest.raises(TypeError, match=r"use X.toarray\(\)"):
        Laplacian()(scipy.sparse.eye_array(3).tocsr())


def test_rbf_far_from_the_origin_keeps_its_digits():
    rng = np.random.default_rng(2)
    X, Y = rng.normal(size=(40, 3)), rng.normal(size=(30, 3))
    near = np.exp(-0.5 * ((X[:, None] - Y) ** 2).sum(axis=2))
    np.testing.assert_allclose(RBF(0.5)(X + 2.0**20, Y + 2.0**20), near, rtol=1e-8)
    assert np.abs(pairwise.rbf_kernel(X + 2.0**20, Y + 2.0**20, gamma=0.5) - near).max() > 1e-5


def test_gram_matrix_is_symmetric_bit_for_bit_with_a_unit_diagonal():
    X = np.random.default_rng(3).normal(size=(301, 5)) * 100.0
    for K in (RBF(1e-4), Laplacian(1e-2), Polynomial(3), Linear() + RBF(0.1)):
        G = K(X)
        np.testing.assert_array_equal(G, G.T)
    for dtype in (np.float32, np.float64):
        assert (np.diag(RBF(1.0)(X.astype(dtype))) == 1.0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_makes_no_distance_negative(dtype):
    X = (np.random.default_rng(3).normal(size=(200, 5)) * 100.0).astype(dtype)
    assert RBF(gamma=1e6)(X, X.copy()).max() <= 1.0


def test_norms_kept_by_the_caller():
    rng = np.random.default_rng(4)
    X, Y = rng.normal(size=(9, 4)), rng.normal(size=(8, 4))
    x_sq, y_sq = kernels.squared_norms(X), kernels.squared_norms(Y)
    for K in (RBF(0.3), 2.0 * RBF(0.3) + Linear()):
        G = K.block(X, Y, x_sq=x_sq, y_sq=y_sq)
        np.testing.assert_allclose(G, K(X, Y), rtol=1e-12)


@settings(deadline=None, max_examples=30)
@given(X=contract.matrices, Y=contract.matrices, c=st.floats(0.0, 5.0))
def test_algebra_is_arithmetic_on_matrices(X, Y, c):
    A, B = RBF(0.5), Polynomial(2, 0.3, 1.0)
    a, b = A(X, Y), B(X, Y)
    f, g = first_plus_two(X), first_plus_two(Y)
    np.testing.assert_allclose((A + B)(X, Y), a + b, rtol=1e-13)
    np.testing.assert_allclose((A * B)(X, Y), a * b, rtol=1e-13)
    np.testing.assert_allclose((c * A)(X, Y), c * a, rtol=1e-13)
    np.testing.assert_allclose((A * c)(X, Y), c * a, rtol=1e-13)
    np.testing.assert_allclose((c + A)(X, Y), c + a, rtol=1e-13)
    np.testing.assert_allclose(sum([A, B])(X, Y), a + b, rtol=1e-13)
    np.testing.assert_allclose(A.scaled_by(first_plus_two)(X, Y), f[:, None] * a * g, rtol=1e-13)


def test_a_polynomial_kernel_is_a_product_of_linear_ones():
    X = np.random.default_rng(5).normal(size=(6, 3))
    cube = (1 + Linear()) * (1 + Linear()) * (1 + Linear())
    np.testing.assert_allclose(cube(X), Polynomial(degree=3)(X), rtol=1e-12)


@pytest.mark.parametrize("gamma", ["scale", "auto"])
@pytest.mark.parametrize("sparse", [False, True])
def test_gamma_is_resolved_as_in_scikit_learn(gamma, sparse):
    rng = np.random.default_rng(6)
    X, y = np.abs(rng.normal(size=(30, 4))), rng.integers(0, 2, 30)
    X = scipy.sparse.csr_array(X) if sparse else X
    expected = SVC(gamma=gamma).fit(X, y)._gamma
    np.testing.assert_allclose(kernels.resolve_gamma(gamma, X), expected, rtol=1e-12)
    K = (2.0 * RBF(gamma=gamma) + Linear()).resolve(X)
    np.testing.assert_allclose(K.K1.K.gamma, expected, rtol=1e-12)
    assert kernels.resolve_gamma("scale", np.ones((3, 2))) == 1.0


def test_gamma_scale_belongs_to_the_training_rows():
    X = np.random.default_rng(7).normal(size=(5, 2))
    with pytest.raises(ValueError, match=r"call kernel.resolve\(X\) with the training rows"):
        RBF(gamma="scale")(X)
    assert RBF(gamma="scale").resolve(X)(X).shape == (5, 5)


def test_precomputed_is_the_matrix():
    G = RBF()(np.random.default_rng(8).normal(size=(6, 2)))
    K = Precomputed()
    np.testing.assert_array_equal(K(G), G)
    np.testing.assert_array_equal(K(G[:2], G), G[:2])
    np.testing.assert_array_equal(K.diag(G), np.diag(G))
    np.testing.assert_array_equal(K.block(G, G, out=np.empty_like(G)), G)
    np.testing.assert_array_equal((2.0 * K + 1.0)(G), 2.0 * G + 1.0)
    contract.is_a_value(K)


def test_a_jitted_function_runs_compiled_on_many_blocks():
    rng = np.random.default_rng(9)
    X, Y = rng.normal(size=(700, 5)), rng.normal(size=(300, 5))
    np.testing.assert_allclose(Callable(minima_jitted)(X, Y), minima(X, Y), rtol=1e-12)
    assert row_function(minima_jitted) is row_function(minima_jitted)
    single = Callable(minima_jitted)(X.astype(np.float32), Y.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, minima(X, Y), rtol=1e-5)


def test_a_function_of_rows_taken_for_one_of_matrices_is_named():
    with pytest.raises(ValueError, match=r"say Callable\(f, rows=True\)"):
        Callable(minima_of_rows)(np.ones((3, 2)))


def test_get_and_repr():
    assert kernels.get("rbf", gamma=2.0) == RBF(2.0)
    assert kernels.get(K := RBF(1.0) + Linear()) is K
    assert kernels.get(minima) == Callable(minima)
    assert repr(2 * (Linear() + 1) * RBF(0.5)) == "2 * (Linear() + 1) * RBF(gamma=0.5)"
    assert repr(Linear().scaled_by(first_plus_two)) == "Linear().scaled_by(first_plus_two)"
    assert len({RBF(1.0), RBF(1.0), RBF(2.0), 2 * RBF(1.0), 2 * RBF(1.0)}) == 3
    with pytest.raises(
        ValueError, match="unknown kernel 'gauss'; use a Kernel, a function, or one"
    ):
        kernels.get("gauss")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RBF(gamma=-1.0), 'gamma must be >= 0, "scale" or "auto", got -1.0'),
        (lambda: Laplacian(gamma="big"), "got 'big'"),
        (lambda: Polynomial(degree=0), "degree must be an integer >= 1, got 0"),
        (lambda: Polynomial(degree=2.5), "degree must be an integer >= 1, got 2.5"),
        (lambda: -1.0 * Linear(), "a number >= 0 only, got -1.0"),
        (lambda: Linear() + -2.0, "a number >= 0 only, got -2.0"),
        (lambda: Linear()([1.0, 2.0]), "matrices of rows, got 1 dimension"),
        (lambda: Linear()([[1.0, 2.0]], [[1.0]]), "2 columns, Y has 1"),
        (lambda: Polynomial(coef0=-1.0).feature_map([[1.0]]), "coef0 must be >= 0"),
        (
            lambda: Linear().block(np.ones((2, 2)), np.ones((2, 2)), out=np.ones((2, 4))[:, ::2]),
            "C-c",
        ),
        (lambda: Linear().scaled_by(lambda X: 1.0)([[1.0]]), "one number per row"),
    ],
)
def test_wrong_use_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("exp", "dtype", "low", "high"), [(exp64, "f8", -708, 709), (exp32, "f4", -87, 88)]
)
def test_exp_is_right_to_the_last_digits(exp, dtype, low, high):
    for size in (0, 1, 3, 1023, 1024, 5000):
        x = np.linspace(low, high, size).astype(dtype)
        y = x.copy()
        exp(y)
        exact = np.exp(x.astype(np.longdouble))
        assert (np.abs(y - exact) <= 2.0 * np.finfo(dtype).eps * exact).all()
    ends = np.array([-np.inf, -1e4, 0.0, 1e4, np.inf, np.nan], dtype=dtype)
    exp(ends)
    assert (ends[:2] < 2e-38).all()
    assert (ends[:2] > 0.0).all()
    assert ends[2] == 1.0
    assert (ends[3:5] > 1e38).all()
    assert np.isfinite(ends[3:5]).all()
    assert np.isnan(ends[5])


@given(x=arrays(float, 9, elements=st.floats(-700.0, 700.0)))
@settings(deadline=None)
def test_exp_anywhere(x):
    y = x.copy()
    exp64(y)
    np.testing.assert_allclose(y, np.exp(x), rtol=5e-16)


@pytest.mark.parametrize(("dtype", "far"), [("f8", 708.0), ("f4", 87.0)])
def test_a_gaussian_is_right_to_the_last_digits_of_its_exponent(dtype, far):
    for size in (0, 1, 3, 1023, 5000):
        x_sq = np.linspace(0.0, far, size).astype(dtype)
        K = np.zeros((2, size), dtype=dtype)
        gaussian(K, np.zeros(2, dtype=dtype), x_sq, K.dtype.type(1.0))
        exact = np.exp(-x_sq.astype(np.longdouble))
        assert (np.abs(K - exact) <= (2.0 + x_sq) * np.finfo(dtype).eps * exact).all()
    ends = np.array([[1e-9, np.nan, -np.inf, -1e9]], dtype=dtype)
    gaussian(ends, np.zeros(1, dtype=dtype), np.zeros(4, dtype=dtype), ends.dtype.type(1.0))
    assert 1.0 - 1e-6 < ends[0, 0] <= 1.0  # a distance below 0 by rounding
    assert (ends[0, 1:] < 2e-38).all()


@pytest.mark.parametrize("p", [1, 2, 5, 16, 33, 200])
def test_a_multiplier_is_the_matrix_times_the_columns(p):
    rng = np.random.default_rng(p)
    K = RBF(gamma=0.5 / p)
    for n, m, k in [(0, 5, 1), (3, 0, 2), (1, 1, 1), (127, 255, 3), (129, 257, 1), (700, 600, 2)]:
        X, Y, C = rng.normal(size=(n, p)) + 9.0, rng.normal(size=(m, p)) + 9.0, rng.normal(size=m)
        G = np.exp(-K.gamma * ((X[:, None] - Y) ** 2).sum(axis=2))
        multiply, columns = K.multiplier(Y), np.column_stack([C] * k) * np.arange(1, k + 1)
        np.testing.assert_allclose(multiply(X, C), G @ C, rtol=1e-12, atol=1e-12)
        for rows in (X, np.asfortranarray(X), scipy.sparse.csr_array(X)):
            found = multiply(rows, np.asfortranarray(columns))
            assert found.shape == (n, k)
            np.testing.assert_allclose(found, G @ columns, rtol=1e-12, atol=1e-12)
        for single in (
            K.times(X.astype("f4"), Y.astype("f4"), C.astype("f4")),
            K.multiplier(Y, single=True)(X, C),
        ):
            assert single.dtype == np.float32
            np.testing.assert_allclose(single, G @ C, rtol=1e-3, atol=1e-3)


def test_a_row_out_of_range_is_far_from_all_others():
    Y = np.random.default_rng(0).normal(size=(30, 3))
    np.testing.assert_array_equal(RBF(1.0).multiplier(Y)(np.full((2, 3), 1e200), Y) < 1e-300, True)


def test_pure_python_mode_gives_the_same_numbers():
    code = (
        "import numpy as np; from mlreplica.kernels import *;"
        "X = np.arange(6.0).reshape(3, 2) / 7;"
        "print(*(v for K in (RBF(0.7), Laplacian(0.7)) for v in K(X).ravel()))"
    )
    env = {**os.environ, "MLREPLICA_PURE_PYTHON": "1"}
    run = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    X = np.arange(6.0).reshape(3, 2) / 7
    expected = [*RBF(0.7)(X).ravel(), *Laplacian(0.7)(X).ravel()]
    np.testing.assert_allclose(np.array(run.stdout.split(), dtype=float), expected, rtol=1e-14)
