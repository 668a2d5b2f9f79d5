"""Logistic regression that selects: model, certificate, working sets, references"""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import linear_model as reference

from mlreplica.core import quadratic_descent as descent
from mlreplica.core.rows import stored
from mlreplica.linear_model.logistic import proximal_newton as cd
from mlreplica.linear_model.logistic import quadratic_model as model
from mlreplica.linear_model.logistic.objective import LogisticProblem


def problem(n=80, p=6, K=1, C=0.5, ratio=1.0, *, intercept=True, sparse=False, seed=0):
    """Overlapping classes, columns of different sizes and means, uneven weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * rng.uniform(0.3, 3.0, size=p) + rng.normal(size=p)
    if sparse:
        X *= rng.random(X.shape) < 0.4
    W = rng.normal(size=(max(K, 2), p)) * (rng.random(p) < 0.5)
    y = (X @ W.T + 2.0 * rng.gumbel(size=(n, len(W)))).argmax(axis=1)
    y[: len(W)] = np.arange(len(W))
    y = 2.0 * y - 1.0 if K == 1 else y.astype(np.int64)
    s = rng.uniform(0.5, 2.0, size=n)
    s /= s.sum()
    X = sp.csr_array(X) if sparse else X
    l1, l2 = ratio / (C * n), (1.0 - ratio) / (C * n)
    return LogisticProblem(X, y, s, l1, l2, intercept, K)


def objective(problem, W, b):
    """(1), by NumPy alone."""
    F = problem.X @ W.T + b
    if problem.K == 1:
        loss = np.logaddexp(0.0, -problem.y * F[:, 0])
    else:
        loss = np.logaddexp.reduce(F, axis=1) - F[np.arange(len(F)), problem.y]
    return problem.s @ loss + problem.l1 * np.abs(W).sum() + problem.l2 / 2 * (W**2).sum()


def start(problem):
    return np.zeros((problem.K, problem.X.shape[1])), np.zeros(problem.K)


def states(problem, count):
    return list(itertools.islice(cd.coordinate_descent(problem, *start(problem)), count))


def solved(problem, tol=1e-11, most=200):
    for state in itertools.islice(cd.coordinate_descent(problem, *start(problem)), most):
        if state.gap <= tol:
            return state
    raise AssertionError(f"gap {state.gap:.1e} after {most} steps")


def naive(problem, steps=20_000):
    """FISTA with restarts: the same minimum by another way."""
    X = problem.X.toarray() if sp.issparse(problem.X) else problem.X
    n, p = X.shape
    A = np.column_stack([X, np.full(n, float(problem.intercept))])
    Y = (problem.y > 0)[:, None] if problem.K == 1 else problem.y[:, None] == np.arange(problem.K)
    L = np.linalg.eigvalsh((A * problem.s[:, None]).T @ A)[-1] / (4 if problem.K == 1 else 2)
    w, z, t = np.zeros((problem.K, p + 1)), np.zeros((problem.K, p + 1)), 1.0
    for _ in range(steps):
        F = A @ z.T
        if problem.K == 1:
            q = 1.0 / (1.0 + np.exp(-F))
        else:
            q = np.exp(F - F.max(axis=1, keepdims=True))
            q /= q.sum(axis=1, keepdims=True)
        new = z - ((problem.s[:, None] * (q - Y)).T @ A) / L
        v = new[:, :p]
        new[:, :p] = np.sign(v) * np.maximum(np.abs(v) - problem.l1 / L, 0) / (1 + problem.l2 / L)
        if np.vdot(z - new, new - w) > 0:
            t = 1.0
        t_new = (1 + np.sqrt(1 + 4 * t * t)) / 2
        z = new + (t - 1) / t_new * (new - w)
        if np.abs(new - w).max() < 1e-14:
            break
        w, t = new, t_new
    return new[:, :p], new[:, p]


# ------------------------------------------------------------------------------------- properties


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    K=st.sampled_from([1, 1, 3]),
    ratio=st.sampled_from([1.0, 0.7, 0.0]),
    C=st.floats(0.02, 20.0),
    intercept=st.booleans(),
    sparse=st.booleans(),
)
def test_certificate_bounds_the_true_gap_after_every_step(seed, K, ratio, C, intercept, sparse):
    data = problem(30, 5, K, C, ratio, intercept=intercept, sparse=sparse, seed=seed)
    steps = states(data, 60)
    least = min(state.objective for state in steps)
    assert steps[-1].gap <= 1e-6
    for state in steps:
        assert state.objective - least <= state.gap + 1e-14
        assert state.objective == pytest.approx(objective(data, state.W, state.b), rel=1e-12)
    assert all(b.objective <= a.objective + 1e-14 for a, b in itertools.pairwise(steps))


@given(seed=st.integers(0, 10**6), K=st.sampled_from([1, 4]), size=st.floats(0.0, 30.0))
def test_certificate_holds_anywhere(seed, K, size):
    data = problem(30, 4, K, 1.0, 0.6, seed=seed)
    rng = np.random.default_rng(seed)
    W, b = size * rng.normal(size=(K, 4)), size * rng.normal(size=K)
    now = cd.look(data, W, b)
    gap = cd.certificate(data, cd.sums(data), now)
    assert now.objective - solved(data).objective <= gap + 1e-12


@given(seed=st.integers(0, 10**6), K=st.sampled_from([1, 3]))
def test_repaired_probabilities_are_probabilities_and_have_the_class_shares(seed, K):
    """(6), as `certificate` uses it."""
    data = problem(20, 3, K, seed=seed)
    rng = np.random.default_rng(seed)
    W, b = 3 * rng.normal(size=(K, 3)), 3 * rng.normal(size=K)
    known, now = cd.sums(data), cd.look(data, W, b)
    q = now.R / data.s + known.Y
    N, r = known.N, now.r
    if K == 1:
        q, N, r = np.vstack([q, 1 - q]), np.append(N, 1 - N), np.append(r, -r)
    rho = max(0.0, (r / N).max())
    repaired = (q + (rho * N - r)[:, None]) / (1 + rho)
    assert (repaired >= -1e-15).all()
    np.testing.assert_allclose(repaired.sum(axis=0), 1.0, rtol=1e-12)
    np.testing.assert_allclose(repaired @ data.s, N, rtol=1e-10)


@given(seed=st.integers(0, 10**6), ratio=st.sampled_from([1.0, 0.5]))
def test_rows_of_double_weight_are_rows_twice(seed, ratio):
    data = problem(25, 4, ratio=ratio, seed=seed)
    heavy = np.where(np.arange(25) % 3 == 0, 2.0, 1.0)
    rows = np.repeat(np.arange(25), heavy.astype(int))
    weighted = data._replace(s=heavy / heavy.sum())
    s = np.full(len(rows), 1.0 / len(rows))
    repeated = data._replace(X=data.X[rows], y=data.y[rows], s=s)
    a, b = solved(weighted), solved(repeated)
    np.testing.assert_allclose(a.W, b.W, atol=1e-7)
    np.testing.assert_allclose(a.b, b.b, atol=1e-7)


def test_the_order_of_rows_and_columns_is_no_matter():
    data, rng = problem(200, 160, C=0.1), np.random.default_rng(1)
    rows, columns = rng.permutation(200), rng.permutation(160)
    other = data._replace(X=data.X[rows][:, columns], y=data.y[rows], s=data.s[rows])
    np.testing.assert_allclose(solved(other).W, solved(data).W[:, columns], atol=1e-7)


# ------------------------------------------------------------------------- conditions of optimality


@pytest.mark.parametrize("K", [1, 3])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("p", [10, 300])
def test_subgradient_conditions(K, sparse, p):
    """|v_j| ≤ l1 everywhere, v_j = −l1 sign(w_j) − l2 w_j where w_j ≠ 0, and Σ R = 0."""
    data = problem(120, p, K, C=0.3, ratio=0.8, sparse=sparse)
    found = solved(data, 1e-13, 400)
    now = cd.look(data, found.W, found.b)
    used = found.W != 0
    assert 0 < used.sum() < used.size
    assert np.abs(now.V).max() <= data.l1 * (1 + 1e-4) + data.l2 * np.abs(found.W).max()
    want = -data.l1 * np.sign(found.W) - data.l2 * found.W
    np.testing.assert_allclose(now.V[used], want[used], atol=1e-4 * data.l1)
    np.testing.assert_allclose(now.r, 0.0, atol=1e-6)


def test_no_weight_below_the_smallest_useful_c():
    """All weights are zero exactly as long as l1 ≥ max |v_j| at the best constant."""
    data = problem(100, 20)
    _, first = cd.first_look(data, cd.sums(data))
    edge = np.abs(first.V).max()
    assert not solved(data._replace(l1=edge * 1.001)).W.any()
    assert np.count_nonzero(solved(data._replace(l1=edge * 0.99)).W) == 1


def test_weights_of_columns_without_values_stay_zero():
    data = problem(60, 5)
    for zero in (data.X * [1, 0, 1, 1, 0], sp.csr_array(data.X * [1, 0, 1, 1, 0])):
        for ratio in (1.0, 0.5):
            found = solved(data._replace(X=zero, l1=ratio * data.l1, l2=(1 - ratio) * data.l1))
            assert not found.W[0, [1, 4]].any()
            assert found.W[0, [0, 2, 3]].any()


def test_equal_columns_share_or_leave_the_weight():
    data = problem(60, 4)
    twins = data._replace(X=np.repeat(data.X, 2, axis=1))
    a, b = solved(data), solved(twins)
    assert b.objective == pytest.approx(a.objective, abs=1e-10)
    np.testing.assert_allclose(b.W.reshape(4, 2).sum(axis=1), a.W[0], atol=1e-5)


# ------------------------------------------------------------------------------------ other ways

GRID = list(itertools.product([1, 3], [1.0, 0.5, 0.0], [True, False], [False, True]))


@pytest.mark.parametrize(("K", "ratio", "intercept", "sparse"), GRID)
def test_same_minimum_as_accelerated_proximal_gradient(K, ratio, intercept, sparse):
    data = problem(60, 8, K, 0.4, ratio, intercept=intercept, sparse=sparse, seed=3)
    W, b = naive(data)
    found = solved(data, 1e-12, 500)
    assert found.objective == pytest.approx(objective(data, W, b), abs=1e-11)
    np.testing.assert_allclose(found.W, W, atol=2e-5)
    if K == 1:  # of several classes, b may be shifted
        np.testing.assert_allclose(found.b, b, atol=2e-5)


@pytest.mark.parametrize(("p", "C"), [(10, 0.3), (200, 0.3)])
@pytest.mark.parametrize("ratio", [1.0, 0.6])
def test_same_minimum_as_scikit_learn(p, C, ratio):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, p))
    y = X[:, :4].sum(axis=1) + rng.logistic(size=150) > 0
    theirs = reference.LogisticRegression(
        C=C, l1_ratio=ratio, solver="saga", tol=1e-8, max_iter=20_000
    ).fit(X, y)
    s, strength = np.full(150, 1 / 150), 1.0 / (150 * C)
    data = LogisticProblem(X, 2.0 * y - 1, s, ratio * strength, (1 - ratio) * strength, True, 1)
    found = solved(data)
    assert found.objective <= objective(data, theirs.coef_, theirs.intercept_) + 1e-12
    np.testing.assert_allclose(found.W, theirs.coef_, atol=1e-4)


@pytest.mark.parametrize("K", [1, 3])
def test_sparse_is_dense(K):
    data = problem(100, 200, K, C=0.5, sparse=True)
    dense = solved(data._replace(X=data.X.toarray()), most=400)
    for X in (data.X, data.X.tocsc(), sp.csr_matrix(data.X)):
        found = solved(data._replace(X=X), most=400)
        np.testing.assert_allclose(found.W, dense.W, atol=1e-5)


def test_fortran_order_is_no_matter():
    data = problem(100, 150)
    a, b = solved(data), solved(data._replace(X=np.asfortranarray(data.X)))
    np.testing.assert_allclose(a.W, b.W, atol=1e-9)


def test_a_good_start_is_kept():
    data = problem(100, 200)
    found = solved(data)
    again = next(cd.coordinate_descent(data, found.W, found.b))
    assert again.gap <= 1e-11
    np.testing.assert_array_equal(again.W, found.W)


def test_steps_stay_whole_where_the_objective_is_but_rounding():
    for seed in (0, 3):
        rng = np.random.default_rng(seed)
        X = sp.random_array((6000, 1000), density=0.01, format="csr", rng=rng)
        f = X @ (rng.normal(size=1000) * (rng.random(1000) < 0.3)) + 0.3 * rng.normal(size=6000)
        n = 6000
        data = LogisticProblem(
            X, np.where(f > 0, 1.0, -1.0), np.full(n, 1.0 / n), 1.0 / n, 0.0, True, 1
        )
        assert solved(data, tol=5e-13, most=12).gap <= 5e-13


def test_tall_problems_start_on_a_sample(monkeypatch):
    data = problem(12_000, 60, C=0.1)
    first = next(cd.coordinate_descent(data, *start(data)))
    found = solved(data)
    assert first.W.any()
    assert first.objective <= 1.3 * found.objective
    monkeypatch.setattr(cd, "SAMPLE", 10**9)
    np.testing.assert_allclose(solved(data).W, found.W, atol=1e-6)
    assert not next(cd.coordinate_descent(data, *start(data))).W.any()


def test_a_sample_without_a_class_is_not_used():
    data = problem(12_000, 60, C=0.1)
    y = -np.ones(12_000)
    y[3] = y[11] = 1.0
    data = data._replace(y=y)
    assert not next(cd.coordinate_descent(data, *start(data))).W.any()
    assert solved(data).gap <= 1e-11


def test_threads_change_nothing():
    data = problem(3000, 300, C=0.02)
    one, two = solved(data._replace(n_jobs=1)), solved(data._replace(n_jobs=2))
    np.testing.assert_allclose(one.W, two.W, atol=1e-9)


# -------------------------------------------------------------------------------------- the model


def quadratic(seed, p=7, n=20, intercept=True):
    rng = np.random.default_rng(seed)
    X, h, R = rng.normal(size=(n, p)), rng.uniform(0.1, 1.0, size=n), rng.normal(size=n)
    A = np.column_stack([np.full(n, float(intercept)), X])
    return X, h, R, A, (A.T * h) @ A, A.T @ R


def value(A, h, R, d, w, l1, l2):
    """(2) with the intercept in front."""
    f = A @ d
    v = (w + d)[1:]
    return R @ f + (h * f) @ f / 2 + l1 * np.abs(v).sum() + l2 / 2 * v @ v


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), l1=st.floats(0.0, 5.0), l2=st.floats(0.0, 3.0))
def test_both_ways_to_minimise_the_model_agree(seed, l1, l2):
    X, h, R, A, H, g = quadratic(seed)
    w = np.random.default_rng(seed).normal(size=8)
    each1, each2 = np.r_[0.0, np.full(7, l1)], np.r_[0.0, np.full(7, l2)]
    best = model.by_gram(H, g, w, each1, each2, 1e-24)
    for columns in (descent.by_column(X), descent.by_column(sp.csc_array(X))):
        moved, c = w[1:].copy(), 0.0
        for _ in range(4):  # sweeps drop what became zero: a new call sees it again
            u = R + h * (X @ (moved - w[1:]) + c)
            c += descent.sweeps(columns, h, u, moved, l1, l2, True, 300, 0.0)
        found = np.r_[w[0] + c, moved]
        assert value(A, h, R, found - w, w, l1, l2) == pytest.approx(
            value(A, h, R, best - w, w, l1, l2), rel=1e-6, abs=1e-6
        )
    for j in range(1, 8):  # no single weight can do better
        for change in (-1e-3, 1e-3):
            other = best.copy()
            other[j] += change
            assert (
                value(A, h, R, best - w, w, l1, l2) <= value(A, h, R, other - w, w, l1, l2) + 1e-9
            )


def test_dependent_columns_are_left_to_the_sweeps():
    _, h, R, A, _, _ = quadratic(0)
    A = np.column_stack([A, A[:, 1:]])
    H, g, w = (A.T * h) @ A, A.T @ R, np.zeros(15)
    each = np.r_[0.0, np.full(14, 0.3)]
    best = model.by_gram(H, g, w, each, np.zeros(15), 1e-20)
    alone = model.by_gram((A[:, :8].T * h) @ A[:, :8], g[:8], w[:8], each[:8], np.zeros(8), 1e-20)
    np.testing.assert_allclose(best[1:8] + best[8:], alone[1:], atol=1e-8)


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("l2", [0.0, 0.02])
def test_conjugate_gradients_lead_to_the_minimum_of_the_model(monkeypatch, free, sparse, l2):
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(80, 12))) * (rng.random((80, 12)) < 0.6)
    columns = descent.by_column(sp.csc_array(X) if sparse else X)
    h, R = rng.uniform(0.1, 0.3, 80) / 80, rng.normal(size=80) / 80
    found = []
    for many in (1, 10**9):
        monkeypatch.setattr(descent, "MANY", many)
        w, u, b = np.zeros(12), R.copy(), 0.0
        for _ in range(20):  # a call forgets the columns that it finds zero
            c = descent.sweeps(columns, h, u, w, 0.03, l2, free, most=300, pays=1e-14)
            u, b = u + c * h, b + c
        np.testing.assert_allclose(u, R + h * (X @ w + b), atol=1e-12)
        found.append(np.append(w, b))
    assert 0 < np.count_nonzero(found[0][:-1]) < 12
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)


@pytest.mark.parametrize("least", [1, 10**9])
def test_columns_of_rows_on_threads_are_those_of_scipy(monkeypatch, least):
    monkeypatch.setattr(stored, "SMALL", least)
    X = sp.random_array((300, 40), density=0.2, format="csr", rng=np.random.default_rng(0))
    found, expected = stored.columns_of(X, 2), X.tocsc()
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found, part), getattr(expected, part))
