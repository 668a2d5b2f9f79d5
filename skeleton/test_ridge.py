"""Properties, the naive version, a reference, scikit-learn's own checks: in this order"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

from benchmarks.race import races_of
from benchmarks.referee import Team, hold
from skeleton._ridge import CoordinateRidge, coordinate_descent, sweep


def problem(seed, n=30, p=5):
    """Centred X, y and the minimiser of (1) by the normal equations, at α = 0.7."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * 10 ** rng.uniform(-1, 1, size=p)
    X, y = X - X.mean(axis=0), rng.normal(size=n)
    y -= y.mean()
    return X, y, np.linalg.solve(X.T @ X + 0.7 * np.eye(p), X.T @ y)


def objective(X, y, w, alpha=0.7):
    """P(w), equation (1)."""
    return 0.5 * np.sum((y - X @ w) ** 2) + 0.5 * alpha * w @ w


@given(seed=st.integers(0, 10_000), sweeps=st.integers(1, 20))
def test_certificate_bounds_the_true_gap_after_any_number_of_sweeps(seed, sweeps):
    X, y, best = problem(seed)
    solver = coordinate_descent(np.ascontiguousarray(X.T), y, 0.7)
    state = [next(solver) for _ in range(sweeps)][-1]
    rounding = 1e-13 * objective(X, y, 0 * best)
    assert objective(X, y, state.coef) - objective(X, y, best) <= state.gap + rounding


def test_kernel_agrees_with_the_naive_sweep():
    X, y, _ = problem(0)
    w = np.zeros(X.shape[1])
    for j, x_j in enumerate(X.T):
        rest = y - X @ w + x_j * w[j]
        w[j] = x_j @ rest / (x_j @ x_j + 0.7)
    fast, r = np.zeros(X.shape[1]), y.copy()
    sweep(np.ascontiguousarray(X.T), fast, r, (X**2).sum(axis=0), 0.7)
    assert_allclose(fast, w, rtol=1e-12)
    assert_allclose(r, y - X @ w, rtol=1e-10, atol=1e-12)


def test_agrees_with_scikit_learn():
    X, y, _ = problem(1)
    ours = CoordinateRidge(alpha=0.7, tol=1e-16).fit(X + 3, y - 2)
    reference = Ridge(alpha=0.7).fit(X + 3, y - 2)
    assert_allclose(ours.coef_, reference.coef_, rtol=1e-6)
    assert_allclose(ours.predict(X), reference.predict(X), rtol=1e-6)


@parametrize_with_checks([CoordinateRidge()])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("race", races_of("skeleton.race").values(), ids=lambda race: race.name)
def test_race_is_held_at_equal_quality(race):
    with Team() as team:
        shapes = hold(race, team, quick=True)["shapes"]
    rows = [row for found in shapes.values() for row in found["contestants"].values()]
    assert not any(row["worse"] for row in rows)
