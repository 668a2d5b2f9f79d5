"""SAGA: same minimum, lazy is eager, certificate"""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

from mlreplica.linear_model import LogisticRegression
from mlreplica.linear_model.logistic import saga
from mlreplica.linear_model.logistic.objective import LogisticProblem
from mlreplica.linear_model.logistic.proximal_newton import coordinate_descent


def problem(n=60, p=5, K=1, C=0.5, ratio=0.5, *, intercept=True, sparse=False, seed=0):
    """Overlapping classes, uneven weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    if sparse:
        X *= rng.random(X.shape) < 0.4
    y = (X @ rng.normal(size=(p, max(K, 2))) + rng.gumbel(size=(n, max(K, 2)))).argmax(axis=1)
    y[: max(K, 2)] = np.arange(max(K, 2))
    s = rng.uniform(0.5, 2.0, size=n)
    y = 2.0 * y - 1.0 if K == 1 else y.astype(np.int64)
    X = sp.csr_array(X) if sparse else X
    return LogisticProblem(X, y, s / s.sum(), ratio / (C * n), (1 - ratio) / (C * n), intercept, K)


def zeros(problem):
    return np.zeros((problem.K, problem.X.shape[1])), np.zeros(problem.K)


def epochs(problem, count, step=None, seed=0):
    states = saga.saga(problem, *zeros(problem), np.random.default_rng(seed), step)
    return list(itertools.islice(states, count))


def minimum(problem):
    for state in itertools.islice(coordinate_descent(problem, *zeros(problem)), 200):
        if state.gap <= 1e-12:
            break
    return state


GRID = list(itertools.product([1, 3], [0.0, 0.5, 1.0], [True, False], [False, True]))


@pytest.mark.parametrize(("K", "ratio", "intercept", "sparse"), GRID)
def test_same_minimum_as_coordinate_descent(K, ratio, intercept, sparse):
    data = problem(K=K, ratio=ratio, intercept=intercept, sparse=sparse)
    least, found = minimum(data).objective, epochs(data, 400)[-1]
    assert found.objective == pytest.approx(least, abs=1e-7)
    assert found.objective - least <= found.gap + 1e-14


@given(
    seed=st.integers(0, 10**6),
    K=st.sampled_from([1, 3]),
    ratio=st.sampled_from([0.0, 0.5, 1.0]),
    sparse=st.booleans(),
)
def test_certificate_bounds_the_true_gap_after_every_epoch(seed, K, ratio, sparse):
    data = problem(25, 4, K, 2.0, ratio, sparse=sparse, seed=seed)
    least = minimum(data).objective
    for state in epochs(data, 6, seed=seed):
        assert state.objective - least <= state.gap + 1e-12


@given(
    seed=st.integers(0, 10**6),
    K=st.sampled_from([1, 3]),
    ratio=st.sampled_from([0.0, 0.5, 1.0]),
    C=st.floats(0.01, 10.0),
)
def test_lazy_weights_are_eager_weights(seed, K, ratio, C):
    data = problem(30, 12, K, C, ratio, sparse=True, seed=seed)
    lazy = epochs(data, 4, seed=seed)
    eager = epochs(data._replace(X=data.X.toarray()), 4, seed=seed)
    for a, b in zip(lazy, eager, strict=True):
        np.testing.assert_allclose(a.W, b.W, atol=1e-10)
        np.testing.assert_allclose(a.b, b.b, atol=1e-10)


@given(
    w=st.floats(-2.0, 2.0),
    g=st.floats(-1.0, 1.0),
    m=st.integers(0, 60),
    l1=st.sampled_from([0.0, 0.1, 0.6]),
    l2=st.sampled_from([0.0, 0.3]),
)
def test_many_moves_at_once_are_one_after_the_other(w, g, m, l1, l2):
    eta = 0.07
    c = 1.0 / (1.0 + eta * l2)
    power = c ** np.arange(61.0)
    total = eta * np.r_[0.0, np.cumsum(power[1:])]
    want = w
    for _ in range(m):
        v = want - eta * g
        want = c * np.sign(v) * max(abs(v) - eta * l1, 0.0)
    assert saga.moved(w, g, m, eta, l1, c, power, total) == pytest.approx(want, abs=1e-12)


def test_the_noise_vanishes():
    """A constant step, yet the walk comes to rest: plain stochastic descent would not."""
    found = epochs(problem(ratio=0.0), 300)
    assert np.abs(found[-1].W - found[-2].W).max() < 1e-7
    assert np.abs(found[1].W - found[0].W).max() > 1e-3


def test_a_longer_step_may_be_asked_for():
    data = problem()
    short, usual = epochs(data, 5, step=1e-4)[-1], epochs(data, 5)[-1]
    assert usual.objective < short.objective


def test_the_order_of_rows_is_drawn():
    data = problem()
    a, b, c = (epochs(data, 2, seed=seed)[-1].W for seed in (0, 0, 1))
    np.testing.assert_array_equal(a, b)
    assert (a != c).any()


def test_a_small_tol_asks_more_than_a_gap_of_rounding_can_prove():
    X, y = make_blobs(20, centers=2, random_state=0, cluster_std=0.1)
    best = LogisticRegression(C=1 / 22, solver="newton-cholesky", tol=1e-12).fit(X, y)
    for solver in ("sag", "saga"):
        model = LogisticRegression(C=1 / 22, solver=solver, tol=1e-11, random_state=10).fit(X, y)
        np.testing.assert_allclose(model.coef_, best.coef_, atol=1e-9)
        np.testing.assert_allclose(model.intercept_, best.intercept_, atol=1e-9)
