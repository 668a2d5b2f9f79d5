"""Newton's method by conjugate gradients on sparse rows: certificate, references, products"""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn import linear_model as reference

from mlreplica.core.rows import csr
from mlreplica.linear_model import LogisticRegression
from mlreplica.linear_model.logistic import sparse
from mlreplica.linear_model.logistic.objective import LogisticProblem


def problem(n=200, p=300, K=1, C=1.0, *, intercept=True, seed=0):
    """Rows of about ten words, uneven weights."""
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, p), density=min(1.0, 10 / p), format="csr", rng=rng)
    F = (
        X @ (4 * rng.normal(size=(p, max(K, 2))))
        + rng.gumbel(size=(n, max(K, 2)))
        + [1] * max(K, 2)
    )
    y = F.argmax(axis=1)
    y[: max(K, 2)] = np.arange(max(K, 2))
    s = rng.uniform(0.5, 2.0, size=n)
    y = 2.0 * y - 1.0 if K == 1 else y.astype(np.int64)
    return LogisticProblem(X, y, s / s.sum(), 0.0, 1.0 / (C * n), intercept, K)


def objective(problem, W, b):
    """(1), by NumPy alone."""
    F = problem.X @ W.T + b
    if problem.K == 1:
        loss = np.logaddexp(0.0, -problem.y * F[:, 0])
    else:
        loss = np.logaddexp.reduce(F, axis=1) - F[np.arange(len(F)), problem.y]
    return problem.s @ loss + problem.l2 / 2 * (W**2).sum()


def states(problem, count, W=None, b=None):
    zeros = np.zeros((problem.K, problem.X.shape[1])), np.zeros(problem.K)
    W, b = zeros if W is None else (W, b)
    return list(itertools.islice(sparse.newton_cg(problem, W, b), count))


@given(
    seed=st.integers(0, 10**6),
    K=st.sampled_from([1, 3]),
    C=st.floats(0.01, 1000.0),
    intercept=st.booleans(),
)
def test_certificate_bounds_the_true_gap_after_every_step(seed, K, C, intercept):
    data = problem(30, 20, K, C, intercept=intercept, seed=seed)
    steps = states(data, 20)
    least = min(state.objective for state in steps)
    assert steps[-1].gap <= 1e-9
    for state in steps:
        assert state.objective - least <= state.gap + 1e-14
        assert state.objective == pytest.approx(objective(data, state.W, state.b), rel=1e-10)
    assert all(b.objective <= a.objective + 1e-14 for a, b in itertools.pairwise(steps))


@pytest.mark.parametrize("K", [1, 4])
@pytest.mark.parametrize("intercept", [True, False])
def test_same_minimum_as_scikit_learn(K, intercept):
    data = problem(200, 50, K, intercept=intercept)
    theirs = reference.LogisticRegression(
        C=1.0, solver="newton-cholesky", tol=1e-10, fit_intercept=intercept
    ).fit(data.X, data.y, sample_weight=data.s * 200)
    found = states(data, 15)[-1]
    np.testing.assert_allclose(found.W, theirs.coef_, atol=1e-6)
    b = found.b - found.b.mean() * (K > 1)  # all may be shifted
    np.testing.assert_allclose(
        b, theirs.intercept_ - np.mean(theirs.intercept_) * (K > 1), atol=1e-6
    )


def test_the_gradient_vanishes():
    data = problem()
    found = states(data, 15)[-1]
    q = 1.0 / (1.0 + np.exp(-(data.X @ found.W[0] + found.b)))
    R = data.s * (q - (data.y > 0))
    np.testing.assert_allclose(data.X.T @ R + data.l2 * found.W[0], 0.0, atol=1e-10)
    assert R.sum() == pytest.approx(0.0, abs=1e-10)


def test_a_good_start_is_kept():
    data = problem()
    found = states(data, 15)[-1]
    again = states(data, 1, found.W, found.b)[0]
    assert again.gap <= 1e-12


def test_csc_is_csr():
    data = problem()
    a, b = states(data, 8)[-1], states(data._replace(X=data.X.tocsc()), 8)[-1]
    np.testing.assert_allclose(a.W, b.W, atol=1e-12)


@pytest.mark.parametrize("threads", [1, 2])
def test_products_on_threads(threads, monkeypatch):
    monkeypatch.setattr(csr, "split", lambda n, parts, least: [slice(0, n // 3), slice(n // 3, n)])
    rng = np.random.default_rng(0)
    data = problem(50, 40)
    X, A = sparse.RowProducts(data.X, threads), data.X.toarray()
    W, U = rng.normal(size=(3, 40)), rng.normal(size=(3, 50))
    np.testing.assert_allclose(X.forward(W), W @ A.T, atol=1e-12)
    np.testing.assert_allclose(X.backward(U), U @ A, atol=1e-12)
    np.testing.assert_allclose(X.squares(data.s), data.s @ A**2, atol=1e-12)
    together = X.added(sparse.there_and_back, U[0], W[0])
    np.testing.assert_allclose(together, A.T @ (U[0] * (A @ W[0])), atol=1e-12)


@pytest.mark.parametrize("K", [1, 3])
def test_curvature_is_the_second_derivative_with_the_intercept_at_its_best(K):
    data, rng = problem(40, 8, K), np.random.default_rng(0)
    X = sparse.RowProducts(data.X, 1)
    known = sparse.sums(data)
    W, b = rng.normal(size=(K, 8)), rng.normal(size=K)
    now = sparse.at(data, X, W, X.forward(W) + b[:, None])
    H, D = sparse.Curvature(data, X, now.R, known.Y), rng.normal(size=(K, 8))
    A, q = np.column_stack([data.X.toarray(), np.ones(40)]), now.R / data.s + known.Y
    whole = np.zeros((K, 9, K, 9))
    for k, l in itertools.product(range(K), range(K)):
        h = data.s * (q[k] * (k == l) - q[k] * q[l])
        whole[k, :, l] = (A.T * h) @ A + data.l2 * (k == l) * np.diag([1.0] * 8 + [0.0])
    W_part, cross, b_part = whole[:, :8, :, :8], whole[:, :8, :, 8], whole[:, 8, :, 8]
    want = np.einsum("kjlm,lm->kj", W_part, D)
    c = -np.linalg.pinv(b_part) @ np.einsum("kjl,kj->l", cross, D)
    np.testing.assert_allclose(H.times(D), want + cross @ c, atol=1e-12)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("tol", [1e-4, 1e-12])
def test_newton_steps_end_without_an_intercept(classes, tol):
    # The sum of the residuals is no slope then: it does not vanish at the minimum.
    rng = np.random.default_rng(0)
    X = sp.random_array((400, 300), density=0.05, format="csr", rng=rng)
    y = (X @ rng.normal(size=(300, classes)) + 0.4).argmax(axis=1)
    model = LogisticRegression(fit_intercept=False, tol=tol).fit(X, y)
    assert model.n_iter_[0] < 15
    assert model.certificate_ <= max(tol, 1e-12)
