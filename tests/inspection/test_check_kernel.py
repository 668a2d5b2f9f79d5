import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mlreplica.inspection import check_kernel
from mlreplica.kernels import RBF, Laplacian, Linear, Polynomial, Sigmoid


@settings(max_examples=40)
@given(
    seed=st.integers(0, 1000),
    n=st.integers(1, 60),
    K=st.sampled_from([RBF(0.3), Linear(), Polynomial(3), Laplacian(2.0), RBF(0.1) + Linear()]),
    scale=st.sampled_from([1e-6, 1.0, 1e4]),
)
def test_kernels_pass_on_any_rows(seed, n, K, scale):
    X = scale * np.random.default_rng(seed).normal(size=(n, 3))
    found = check_kernel(K, X)
    assert found
    assert found.symmetric
    assert found.semidefinite
    assert found.witness is found.pair is None
    assert "no counterexample" in str(found)


@settings(max_examples=40)
@given(seed=st.integers(0, 1000), n=st.integers(2, 40), size=st.floats(1e-6, 10.0))
def test_a_negative_eigenvalue_has_a_witness(seed, n, size):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    values = np.r_[-size, rng.uniform(0.0, 10.0, n - 1)]
    G = (Q * values) @ Q.T
    G = (G + G.T) / 2
    found = check_kernel(G)
    assert not found
    assert_allclose(found.witness @ G @ found.witness, -size, rtol=1e-6, atol=1e-12)
    assert_allclose(found.smallest, -size, rtol=1e-6, atol=1e-12)
    assert check_kernel(G + 1.001 * size * np.eye(n))
    assert "not a kernel" in str(found)
    if found.pair is not None:
        i, j = found.pair
        assert G[i, i] < 0 if i == j else G[i, j] ** 2 > G[i, i] * G[j, j]


def test_two_rows_that_suffice():
    X = np.linspace(-2.0, 2.0, 9)[:, None]
    found = check_kernel(Sigmoid(gamma=1.0, coef0=-1.0), X)
    assert found.pair == (4, 4)
    assert "K(u, u) < 0 at row 4" in str(found)
    found = check_kernel(lambda u, v: ((u - v) ** 2).sum(), X)  # a distance is no kernel
    assert found.pair == (0, 8)
    assert "rows 0, 8" in str(found)


def test_what_is_not_symmetric():
    X = np.random.default_rng(0).normal(size=(10, 2))
    found = check_kernel(lambda u, v: u[0] * v[1], X)
    assert not found.symmetric
    assert not found
    assert found.asymmetry > 0.1
    assert "an inner product is symmetric" in str(found)


def test_rank_counts_the_features():
    X = np.random.default_rng(0).normal(size=(50, 3))
    assert check_kernel("linear", X).rank == 3
    assert check_kernel(Polynomial(2), X).rank == 10
    assert check_kernel("rbf", X).rank == 50
    assert check_kernel("linear", sp.csr_array(X)).rank == 3


def test_many_rows_are_drawn_and_counterexamples_among_them_count():
    X = np.random.default_rng(0).normal(size=(400, 2))
    found = check_kernel(Sigmoid(gamma=1.0, coef0=-2.0), X, max_rows=50)
    assert found.n_rows == 50
    assert not found
    G = RBF(1.0)(X)
    assert check_kernel(G, max_rows=50).n_rows == 50
    assert check_kernel("precomputed", G).n_rows == 400
    part = check_kernel(Sigmoid(gamma=1.0, coef0=-2.0)(X), max_rows=50)
    assert set(part.pair) <= set(part.rows)


def test_tolerance():
    G = np.diag([1.0, -1e-9])
    assert not check_kernel(G)
    assert check_kernel(G, tol=1e-8)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones((2, 3)),), "Precomputed metric requires shape"),
        ((np.array([[np.nan]]),), "contains NaN"),
        (("rbf", np.ones(3)), "Expected 2D array"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        check_kernel(*arguments)
