"""Platt's and the simplified solver, step by step"""

import json
import os
import subprocess
import sys
from itertools import islice, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from mlreplica.callbacks import Trace
from mlreplica.datasets import make_separable
from mlreplica.kernels import RBF, Laplacian, Linear, Polynomial, Sigmoid
from mlreplica.svm import SVC, NuSVC
from mlreplica.svm._pair import pair_step
from mlreplica.svm._platt import platt
from mlreplica.svm._simplified import simplified

LOOPS = [platt, simplified]
DEFINITE = [Linear(), RBF(0.5), Laplacian(0.5), Polynomial(2, gamma=0.5)]
KERNELS = [*DEFINITE, Sigmoid(0.7, -0.5)]


@st.composite
def problems(draw, kernels=KERNELS):
    """K, y and c of a small dual; points may coincide, whatever their labels."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, p = draw(st.integers(2, 25)), draw(st.integers(1, 3))
    X = rng.normal(size=(n, p))
    X[rng.random(n) < 0.2] = X[0]
    y = rng.choice([-1.0, 1.0], size=n)
    y[:2] = 1.0, -1.0
    c = draw(st.sampled_from([0.1, 1.0, 30.0])) * rng.choice([0.5, 1.0, 2.0], size=n)
    return draw(st.sampled_from(kernels))(X), y, c


def run(loop, K, y, c, tol=1e-3, seed=0):
    """All states, each with an α of its own."""
    states = loop(K, y, c, tol, np.random.default_rng(seed))
    return [state._replace(alpha=state.alpha.copy()) for state in states]


def dual(K, y, alpha):
    return alpha.sum() - 0.5 * (alpha * y) @ K @ (alpha * y)


def violation(K, y, c, alpha):
    """How much higher the gradient of a β that may fall is than that of one that may rise."""
    F = K @ (alpha * y) - y
    rise = np.where(y > 0, alpha < c, alpha > 0)
    fall = np.where(y > 0, alpha > 0, alpha < c)
    return F[fall].max(initial=-np.inf) - F[rise].min(initial=np.inf)


# -------------------------------------------------------------------------------------- one step


@settings(max_examples=50)
@given(problems(), st.integers(0, 2**32 - 1))
def test_a_step_is_the_best_of_its_pair(problem, seed):
    """Against a search along the line that a naive reading of the constraints leaves."""
    K, y, c = problem
    rng = np.random.default_rng(seed)
    alpha = rng.uniform(0, c) * rng.choice([0.0, 0.5, 1.0], size=len(y))
    i, j = rng.choice(len(y), size=2, replace=False)
    b = rng.normal()
    E = K @ (alpha * y) + b - y

    def moved(a):
        new = alpha.copy()
        new[i], new[j] = alpha[i] + y[i] * y[j] * (alpha[j] - a), a
        return new

    after, errors = alpha.copy(), E.copy()
    eta, low, high, top, new_j, b_new = pair_step(K, y, c, after, errors, b, i, j)
    for end in (low, high):
        assert (moved(end) >= -1e-12).all()
        assert (moved(end) <= c + 1e-12).all()
    for outside in (low - 1e-3, high + 1e-3):
        assert (moved(outside) < 0).any() or (moved(outside) > c).any()
    assert new_j == pytest.approx(np.clip(top, low, high), abs=1e-12)
    np.testing.assert_allclose(after, moved(new_j), atol=1e-10)
    np.testing.assert_allclose(errors, K @ (after * y) + b_new - y, atol=1e-9)
    for k in (i, j):
        if 1e-9 < after[k] < c[k] - 1e-9:
            other = j if k == i else i
            free = 1e-9 < after[other] < c[other] - 1e-9
            if k == i or not free or low < new_j < high:
                assert errors[k] == pytest.approx(0.0, abs=1e-8)
    if high > low and eta > 1e-9:
        found = minimize_scalar(
            lambda a: -dual(K, y, moved(a)), bounds=(low, high), options={"xatol": 1e-9}
        )
        assert dual(K, y, after) >= -found.fun - 1e-9 * (1 + abs(found.fun))
    assert dual(K, y, after) >= dual(K, y, alpha) - 1e-10


def test_twins_with_opposite_labels_go_to_the_end_of_the_box():
    """η = 0: the objective is a straight line, and its best point an end."""
    K, y, c = np.ones((2, 2)), np.array([1.0, -1.0]), np.array([2.0, 5.0])
    alpha, E = np.zeros(2), -y
    eta, low, high, top, new_j, b = pair_step(K, y, c, alpha, E, 0.0, 0, 1)
    assert (eta, low, high, top, new_j, b) == (0.0, 0.0, 2.0, np.inf, 2.0, -1.0)
    np.testing.assert_array_equal(alpha, [2.0, 2.0])


# -------------------------------------------------------------------------------------- whole runs


@pytest.mark.parametrize("loop", LOOPS)
@given(problems(), st.sampled_from([1e-2, 1e-5]))
def test_rises_to_the_optimum(loop, problem, tol):
    K, y, c = problem
    states = run(loop, K, y, c, tol)
    assert states
    for before, state in pairwise(states):
        assert state.objective >= before.objective - 1e-12 * (1 + abs(state.objective))
    for state in (states[0], states[-1]):
        alpha, scores = state.alpha, K @ (state.alpha * y) + state.offset
        assert (alpha >= 0).all()
        assert (alpha <= c).all()
        assert alpha @ y == pytest.approx(0.0, abs=1e-9 * c.sum())
        D = dual(K, y, alpha)
        primal = alpha.sum() - D + c @ np.maximum(0.0, 1 - y * scores)
        assert state.objective == pytest.approx(D, abs=1e-8 * (1 + c.sum()))
        assert state.gap == pytest.approx(primal - D, abs=1e-7 * (1 + c.sum()))
        assert state.low <= state.clipped <= state.high
        assert alpha[state.j] == state.clipped
    assert violation(K, y, c, states[-1].alpha) <= tol + 1e-9


@settings(max_examples=50)
@given(problems(DEFINITE), st.integers(0, 99))
def test_both_reach_the_same_optimum(problem, seed):
    K, y, c = problem
    ends = [dual(K, y, run(loop, K, y, c, 1e-7, seed)[-1].alpha) for loop in LOOPS]
    assert ends[0] == pytest.approx(ends[1], rel=1e-6, abs=1e-8)


@settings(max_examples=25)
@given(problems([Linear(), RBF(0.5)]))
def test_a_quadratic_programming_solver_agrees(problem):
    K, y, c = problem
    Q = K * np.outer(y, y)
    found = minimize(
        lambda a: 0.5 * a @ Q @ a - a.sum(),
        np.zeros(len(y)),
        jac=lambda a: Q @ a - 1,
        bounds=[(0, u) for u in c],
        constraints={"type": "eq", "fun": lambda a: y @ a, "jac": lambda a: y},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    for loop in LOOPS:
        D = run(loop, K, y, c, 1e-6)[-1].objective
        assert D + found.fun >= -1e-5 * (1 + abs(found.fun))


@pytest.mark.parametrize("loop", LOOPS)
def test_ends_where_rounding_hides_the_optimum(loop):
    """A tolerance that no arithmetic can meet, and multipliers of very different size."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.choice([-1.0, 1.0], size=30)
    c = 10.0 ** rng.uniform(-3, 4, size=30)
    K = RBF(2.0)(X)
    end = run(loop, K, y, c, 1e-300)[-1]
    visible = np.sqrt(2 * 2.2e-16 * end.objective)  # a step of this violation v gains v²/2η of D
    assert violation(K, y, c, end.alpha) < 10 * visible


@pytest.mark.parametrize("loop", LOOPS)
def test_weights_of_any_size_end(loop):
    """Bounds so unequal that a step of one multiplier is lost in the rounding of the other."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(20, 2)), rng.choice([-1.0, 1.0], size=20)
    c = 10.0 ** rng.uniform(-12, 8, size=20)
    states = loop(Linear()(X), y, c, 1e-3, np.random.default_rng(0))
    assert sum(1 for _ in islice(states, 1_000_000)) < 1_000_000


@pytest.mark.parametrize("loop", LOOPS)
def test_starts_where_it_is_told(loop):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 2)), rng.choice([-1.0, 1.0], size=40)
    K, c = RBF(1.0)(X), np.ones(40)
    cold = run(loop, K, y, c, 1e-6)
    warm = list(loop(K, y, c, 1e-6, np.random.default_rng(0), cold[-1].alpha))
    assert len(warm) <= 2
    again = list(loop(K, y, c, 1e-6, np.random.default_rng(0), cold[len(cold) // 2].alpha))
    assert again[-1].objective == pytest.approx(cold[-1].objective, rel=1e-9)


def test_the_second_choice_saves_steps():
    """What the heuristics are for."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 2))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=200) > 0, 1.0, -1.0)
    K, c = RBF(1.0)(X), np.ones(200)
    assert len(run(platt, K, y, c)) < 0.8 * len(run(simplified, K, y, c))


def test_sweeps_alternate():
    """All points, then the free ones until they are quiet, then all again."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=80) > 0, 1.0, -1.0)
    K, c = RBF(1.0)(X), np.ones(80)
    before = np.zeros(80)
    kinds = []
    for state in run(platt, K, y, c):
        if not state.full:
            assert 0 < before[state.i] < c[state.i]
        before = state.alpha
        kinds.append(state.full)
    assert kinds[0]
    assert sum(a and not b for a, b in pairwise(kinds)) > 1


# ------------------------------------------------------------------------------------ as solvers

TEXTBOOK = ["platt", "simplified"]


def objective(model, K, y):
    """P of (1) of a fitted two-class model, its scores computed anew."""
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    scores = K @ beta + model.intercept_[0]
    return 0.5 * beta @ K @ beta + model.C * np.maximum(0.0, 1 - y * scores).sum()


@settings(max_examples=20)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([*DEFINITE, "linear", "rbf", "poly"]),
    st.sampled_from([0.1, 1.0, 10.0]),
)
def test_three_solvers_one_optimum(seed, kernel, C):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 2))
    y = np.where(X[:, 0] + rng.normal(size=30) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    models = [
        SVC(C=C, kernel=kernel, solver=name, tol=1e-6).fit(X, y) for name in ("smo", *TEXTBOOK)
    ]
    K = models[0]._kernel(X)
    values = [objective(model, K, y) for model in models]
    np.testing.assert_allclose(values, values[0], rtol=1e-4, atol=1e-6)
    for model, value in zip(models, values, strict=True):
        assert model.kkt_residual_ <= 1e-6
        assert value - min(values) <= model.certificate_ + 1e-9 * (1 + value)


@pytest.mark.parametrize("solver", TEXTBOOK)
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "sigmoid"])
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_several_classes(solver, kernel, multi_class):
    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    weight = np.where(np.arange(150) % 7 == 0, 0.0, 1.0)
    options = {"kernel": kernel, "multi_class": multi_class, "tol": 1e-5, "C": 0.5}
    ours = SVC(solver=solver, **options).fit(X, y, weight)
    fast = SVC(**options).fit(X, y, weight)
    assert ours.kkt_residual_ <= 1e-5
    if kernel != "sigmoid":  # not a kernel: more than one place to end
        np.testing.assert_allclose(
            ours.decision_function(X), fast.decision_function(X), rtol=0, atol=2e-4
        )
        np.testing.assert_array_equal(ours.predict(X), fast.predict(X))


@pytest.mark.parametrize("solver", ["smo", *TEXTBOOK])
@pytest.mark.parametrize("seed", range(3))
def test_hard_margin_is_what_quadratic_programming_finds(solver, seed):
    """Against scipy on the primal: w, b, the width, and which points hold it."""
    X, y, _ = make_separable(25, 2, margin=0.1, intercept=0.2, random_state=seed)
    A = y[:, None] * np.column_stack([X, np.ones(25)])
    found = minimize(
        lambda v: 0.5 * v[:-1] @ v[:-1],
        np.zeros(3),
        jac=lambda v: np.append(v[:-1], 0.0),
        constraints={"type": "ineq", "fun": lambda v: A @ v - 1, "jac": lambda v: A},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    assert found.success
    model = SVC(C=np.inf, kernel="linear", solver=solver, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.coef_[0], found.x[:-1], rtol=1e-6, atol=1e-6)
    assert model.intercept_[0] == pytest.approx(found.x[-1], abs=1e-5)
    assert model.margin_ == pytest.approx(1 / np.linalg.norm(found.x[:-1]), rel=1e-6)
    held = np.flatnonzero(A @ found.x < 1 + 1e-6)
    assert set(model.support_) <= set(held)
    assert model.on_margin_.all()
    assert not model.at_bound_.any()


@pytest.mark.parametrize("solver", TEXTBOOK)
def test_not_separable_is_said(solver):
    X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [0, 0, 1, 1]
    with pytest.raises(ValueError, match="cannot be separated"):
        SVC(C=np.inf, kernel="linear", solver=solver).fit(X, y)


@pytest.mark.parametrize("solver", TEXTBOOK)
def test_budget_memory_and_trace(solver):
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="violated by"):
        short = SVC(solver=solver, max_iter=7).fit(X, y)
    assert short.n_iter_.tolist() == [7, 7, 7]
    with pytest.raises(ValueError, match="raise it or use solver"):
        SVC(solver=solver, cache_size=0.01).fit(X, y)
    with pytest.raises(ValueError, match="solver"):
        NuSVC(solver=solver).fit(X, y)
    trace = Trace()
    model = SVC(solver=solver).set_callbacks(trace).fit(X[:100], y[:100])
    assert trace.states[-1]["pairs"] == model.n_iter_[0]
    assert trace.states[-1]["gap"] == model.certificate_
    again = SVC(solver=solver).fit(X[:100], y[:100])
    np.testing.assert_array_equal(again.dual_coef_, model.dual_coef_)


SCRIPT = """
import json, sys
import numpy as np
from mlreplica.svm import SVC
rng = np.random.default_rng(0)
X = rng.normal(size=(16, 2))
y = np.where(X[:, 0] + rng.normal(size=16) > 0, 1, -1)
models = [SVC(solver=name, tol=1e-6).fit(X, y) for name in ("platt", "simplified")]
numbers = [m.decision_function(X).tolist() for m in models]
print(json.dumps([numbers, "numba" in sys.modules]))
"""


def test_plain_python_finds_the_same_model():
    def run_script(pure):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            check=True,
            env={**os.environ, "MLREPLICA_PURE_PYTHON": str(int(pure))},
            capture_output=True,
            text=True,
        )
        return json.loads(done.stdout.splitlines()[-1])

    (plain, no_numba), (compiled, numba) = run_script(True), run_script(False)
    assert (no_numba, numba) == (False, True)
    np.testing.assert_allclose(plain, compiled, rtol=0, atol=1e-6)  # of solutions within tol
