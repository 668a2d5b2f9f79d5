"""Sparse columns too many for a Gram matrix: sweeps on the residual and conjugate gradients"""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mlreplica.linear_model import ElasticNet, enet_path
from mlreplica.linear_model.lasso import problem as _problem
from mlreplica.linear_model.lasso.columns import SparseColumns
from mlreplica.linear_model.lasso.large_set import LargeSet, conjugate_gradients
from mlreplica.linear_model.lasso.problem import LassoProblem


def sample(seed, n, p, copies=False):
    """Sparse columns, some correlated, some of them twice; y of a few."""
    rng = np.random.default_rng(seed)
    X = rng.normal(1.0, 1.0, size=(n, p)) * (rng.random((n, p)) < 0.3)
    X[:, 1::3] += X[:, : X[:, 1::3].shape[1]]
    if copies:
        X[:, -4:] = X[:, [0, 0, 1, 2]] * [1.0, -1.0, 1.0, 0.0]
    y = X[:, : 1 + p // 5].sum(axis=1) + rng.normal(size=n) + 5.0
    return sp.csc_array(X), y, rng.integers(0, 4, size=n) + (np.arange(n) == 0)


def no_gram(monkeypatch):
    """As if every working set were too large."""
    monkeypatch.setattr(_problem, "LARGEST", 0)

    def refuse(*_):
        raise AssertionError("a Gram matrix was made")

    monkeypatch.setattr(SparseColumns, "products", refuse)


def value(X, y, s, w, b, alpha, l1_ratio):
    r = y - X @ w - b
    penalty = l1_ratio * np.abs(w).sum() + (1 - l1_ratio) / 2 * (w @ w)
    return np.average(r * r, weights=s) / 2 + alpha * penalty


@settings(max_examples=20)
@given(
    st.integers(0, 10**6),
    st.tuples(st.integers(3, 30), st.integers(4, 40)),
    st.booleans(),
    st.sampled_from([1.0, 0.5]),
    st.sampled_from([0.5, 0.1, 0.01]),
    st.booleans(),
    st.integers(0, 6),
)
def test_gap_bounds_the_distance_and_p_falls(seed, shape, copies, l1_ratio, part, positive, rounds):
    X, y, s = sample(seed, *shape, copies)
    problem = LassoProblem(X, y[:, None], s, True, None)
    alpha = part * (np.abs(problem.c).max() or 1.0)
    a, b = alpha * l1_ratio, alpha * (1 - l1_ratio)
    exact = ElasticNet(alpha, l1_ratio=l1_ratio, tol=1e-12, positive=positive, max_iter=10**5)
    exact.fit(X, y, s)
    least = value(X, y, s, exact.coef_, exact.intercept_, alpha, l1_ratio)
    blur = 1e-12 * (1 + problem.size[0])
    large = LargeSet(problem.A, problem.y[0], np.zeros(shape[1]))
    before = np.inf
    for state, _ in zip(large.states(a, b, positive=positive), range(rounds + 1), strict=False):
        assert state.objective <= before + blur
        before = state.objective
        offset = problem.y_mean[0] - problem.x_mean @ state.w
        P = value(X, y, s, state.w, offset, alpha, l1_ratio)
        assert pytest.approx(P, rel=1e-9, abs=blur) == state.objective
        assert -exact.certificate_ - blur <= P - least <= state.gap + blur
        assert not positive or state.w.min() >= 0.0


@pytest.mark.parametrize("shape", [(120, 60), (40, 200)])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_fit_reaches_the_minimum_without_gram(monkeypatch, shape, l1_ratio, positive, intercept):
    X, y, s = sample(1, *shape)
    options = {"l1_ratio": l1_ratio, "positive": positive, "fit_intercept": intercept}
    model = ElasticNet(0.01, tol=1e-10, **options).fit(X, y, s)
    least = value(X, y, s, model.coef_, model.intercept_, 0.01, l1_ratio)
    offset = np.average(y, weights=s) if intercept else 0.0
    enough = 1e-10 * np.average((y - offset) ** 2, weights=s)
    no_gram(monkeypatch)
    for warm in (False, True):
        model.set_params(warm_start=warm).fit(X, y, s)
        assert model.n_iter_ < 200  # plain sweeps need thousands
        assert model.certificate_ <= enough
        P = value(X, y, s, model.coef_, model.intercept_, 0.01, l1_ratio)
        assert abs(P - least) <= enough


def test_path_goes_on_where_gram_would_be_too_large(monkeypatch):
    X, y, _ = sample(2, 60, 300)
    mean = X.mean(axis=0)
    options = {"alphas": 30, "tol": 1e-9, "X_offset": mean, "X_scale": np.ones(300)}
    alphas, expected, _ = enet_path(X, y - y.mean(), l1_ratio=0.9, **options)
    for largest in (20, 0):
        monkeypatch.setattr(_problem, "LARGEST", largest)
        _, coefs, gaps, steps = enet_path(
            X, y - y.mean(), l1_ratio=0.9, return_n_iter=True, **options
        )
        assert gaps.max() <= 1e-9 * y.var()
        assert max(steps) < 200
        for w, best, alpha in zip(coefs.T, expected.T, alphas, strict=True):
            b, b_best = y.mean() - mean @ w, y.mean() - mean @ best
            above = value(X, y, None, w, b, alpha, 0.9) - value(
                X, y, None, best, b_best, alpha, 0.9
            )
            assert above <= 1e-9 * y.var()


def test_conjugate_gradients_solve_the_newton_system():
    X, y, s = sample(3, 50, 30)
    problem = LassoProblem(X, y[:, None], s, True, None)
    A, F = problem.A, np.arange(3, 20)
    D, ridge = A.squares()[F], np.linspace(0.1, 0.2, 17)
    Z = problem.root[:, None] * (X.toarray() - problem.x_mean)[:, F]
    H, b = Z.T @ Z / 50 + np.diag(ridge), np.random.default_rng(0).normal(size=17)
    d, Ad = np.zeros(17), np.zeros(50)
    steps = conjugate_gradients(*A.parts, A.mean, A.root, D, ridge, F, b.copy(), d, Ad, 100, 1e-12)
    assert steps < 40
    assert_allclose(d, np.linalg.solve(H, b), rtol=1e-9)
    assert_allclose(Ad, Z @ d, rtol=1e-9, atol=1e-12)
