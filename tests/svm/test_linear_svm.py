"""LinearSVC and LinearSVR: four losses, three solvers, one minimum"""

import pickle
import threading
from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn import svm as reference
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from mlreplica.callbacks import Trace
from mlreplica.svm import LinearSVC, LinearSVR
from mlreplica.svm._crammer_singer import crammer_singer, sweep
from mlreplica.svm._linear import classification, regression
from mlreplica.svm._linear_dcd import dense_sweep, dual_coordinate_descent, sparse_sweep
from mlreplica.svm._linear_l1 import proximal_newton
from mlreplica.svm._linear_newton import newton

LOSSES = ["hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive"]
SOLVERS = {
    "dcd": lambda problem: dual_coordinate_descent(problem, np.random.RandomState(0)),
    "newton": newton,
}


@st.composite
def problems(draw, losses=LOSSES, scales=(0.1, 1.0, 10.0)):
    """A small problem (1), its y, c and ε, and its loss by name; columns and c of these sizes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, p = draw(st.integers(2, 30)), draw(st.integers(1, 5))
    X = rng.normal(size=(n, p)) * draw(st.sampled_from(scales))
    c = rng.uniform(0.1, 2.0, size=n) * draw(st.sampled_from(scales))
    bias, eps = draw(st.sampled_from([0.0, 1.0, 3.0])), draw(st.sampled_from([0.0, 0.3]))
    loss = draw(st.sampled_from(losses))
    squared = loss.startswith("squared")
    if "hinge" in loss:
        y = np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)
        made = classification(X, bias, y, c, squared)
    else:
        y = X[:, 0] + rng.normal(size=n)
        made = regression(X, bias, y, c, eps, squared)
    return made, y, c, eps, loss


def objective(w, X, bias, y, c, eps, loss):
    """P as the textbook prints it."""
    f = X @ w[:-1] + bias * w[-1]
    short = 1.0 - y * f if "hinge" in loss else np.abs(y - f) - eps
    short = np.maximum(short, 0.0)
    return 0.5 * w @ w + c @ (short**2 if loss.startswith("squared") else short)


def ran(solver, steps):
    """The state after some steps."""
    for _ in range(steps):
        state = next(solver)
    return state


def solved(solver, error, most=5000):
    """The first state that is good enough."""
    for _ in range(most):
        state = next(solver)
        if state.error <= error:
            return state
    raise AssertionError(f"error {state.error:.1e} after {most} steps")


# ------------------------------------------------------------------------------------- properties


@settings(max_examples=60, deadline=None)
@given(problems(), st.sampled_from(sorted(SOLVERS)), st.integers(1, 6))
def test_gap_bounds_the_distance_at_every_step(case, solver, steps):
    problem, y, c, eps, loss = case
    best = solved(newton(problem), 1e-6, 400).objective
    state = ran(SOLVERS[solver](problem), steps)
    assert_allclose(
        state.objective, objective(state.w, problem.X, problem.bias, y, c, eps, loss), rtol=1e-9
    )
    assert state.objective - best <= state.gap + 1e-9 * best


@settings(max_examples=40, deadline=None)
@given(problems())
def test_no_direction_leads_below_the_minimum(case):
    problem, y, c, eps, loss = case
    state = solved(newton(problem), 1e-6, 400)
    rng = np.random.default_rng(0)
    for size in (1e-3, 0.1, 1.0):
        other = state.w + size * rng.normal(size=len(state.w)) * (np.abs(state.w).max() + 0.1)
        if problem.bias == 0.0:
            other[-1] = 0.0
        there = objective(other, problem.X, problem.bias, y, c, eps, loss)
        assert there >= state.objective - 1e-9 * state.objective


@settings(max_examples=30, deadline=None)
@given(problems(scales=(0.1, 0.5)), st.booleans())
def test_dual_coordinate_descent_and_newton_find_the_same(case, sparse):
    problem = case[0]
    a = solved(newton(problem), 1e-6, 400)
    if sparse:
        problem = problem._replace(X=sp.csr_array(problem.X))
    b = solved(dual_coordinate_descent(problem, np.random.RandomState(1)), 1e-3)
    assert_allclose(a.objective, b.objective, rtol=2e-6)
    assert np.linalg.norm(a.w - b.w) <= np.sqrt(2.0 * (a.gap + b.gap)) + 1e-9
    if sparse:
        assert_allclose(solved(newton(problem), 1e-6, 400).w, a.w, rtol=1e-4, atol=1e-5)


@settings(max_examples=30, deadline=None)
@given(problems(["squared_hinge"], scales=(0.1, 1.0)))
def test_l1_gap_bounds_the_distance_and_closes(case):
    problem, y, c, _, _ = case
    steps = proximal_newton(problem.X, problem.bias, y, c)
    states = list(islice(steps, 60))
    best = min(s.objective for s in states)
    for s in states:
        f = problem.X @ s.w[:-1] + problem.bias * s.w[-1]
        assert_allclose(
            s.objective, np.abs(s.w).sum() + c @ np.maximum(1.0 - y * f, 0.0) ** 2, rtol=1e-10
        )
        assert s.objective - best <= s.gap + 1e-12
    assert states[-1].gap <= 1e-5 * best


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 4))
def test_crammer_singer_gap_bounds_the_distance(seed, K):
    rng = np.random.default_rng(seed)
    X, codes, c = rng.normal(size=(20, 3)), rng.integers(0, K, 20), rng.uniform(0.1, 1.0, 20)
    steps = crammer_singer(X, 1.0, codes, c, K, np.random.RandomState(0))
    states = [next(steps) for _ in range(40)]
    best = min(s.objective for s in states)
    for s in states:
        F = np.column_stack([X, np.ones(20)]) @ s.w.T
        margin = F + (np.arange(K) != codes[:, None]) - F[np.arange(20), codes][:, None]
        assert_allclose(
            s.objective, 0.5 * (s.w**2).sum() + c @ margin.max(axis=1), rtol=1e-10, atol=1e-12
        )
        assert s.objective - best <= s.gap + 1e-12
    assert states[-1].gap <= 1e-3 * max(best, 1e-9)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", ["dcd", "newton"])
def test_a_weight_is_so_many_rows_and_zero_is_none(loss, solver):
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(40, 3)), rng.integers(0, 4, size=40)
    y = X[:, 0] + 0.5 * rng.normal(size=40)
    model = LinearSVC if "hinge" in loss else LinearSVR
    y = (y > 0).astype(int) if "hinge" in loss else y
    model = model(loss=loss, solver=solver, tol=1e-6, random_state=0, max_iter=20_000)
    a = clone(model).fit(X, y, sample_weight=s)
    b = clone(model).fit(np.repeat(X, s, axis=0), np.repeat(y, s))
    assert_allclose(a.coef_, b.coef_, rtol=1e-4, atol=1e-5)
    assert_allclose(a.intercept_, b.intercept_, rtol=1e-4, atol=1e-5)


# ------------------------------------------------------------------------------ the naive version


def naive_sweep(problem, beta, w, order):
    """Equation (7) for one row after the other."""
    X, bias, t, low, high, lam, eps = problem
    for i in order:
        x = np.append(X[i], bias)
        q, g = max(x @ x + lam[i], 1e-300), x @ w + lam[i] * beta[i] - t[i]
        v = q * beta[i] - g
        new = np.clip(np.sign(v) * max(abs(v) - eps, 0.0) / q, low[i], high[i])
        w, beta[i] = w + (new - beta[i]) * x, new
    return w


@settings(max_examples=40, deadline=None)
@given(problems(), st.booleans())
def test_a_sweep_is_the_naive_one_in_the_same_order(case, sparse):
    problem = case[0]
    X, bias, t, low, high, lam, eps = problem
    n, p = X.shape
    q = np.maximum((X**2).sum(axis=1) + bias**2 + lam, 1e-300)
    rows, seed = np.column_stack([t, low, high, lam, q]), np.array([7], dtype=np.uint64)
    csr = sp.csr_array(X)
    triple = csr.indptr.astype(np.uint64), csr.indices.astype(np.uint32), csr.data
    beta, w, expected, v = np.zeros(n), np.zeros(p + 1), np.zeros(n), np.zeros(p + 1)
    for _ in range(3):
        order = np.arange(n)
        function, stored = (sparse_sweep, triple) if sparse else (dense_sweep, (X,))
        kept, _ = function(*stored, bias, rows, eps, beta, w, order, n, np.inf, seed)
        assert kept == n
        assert_array_equal(np.sort(order), np.arange(n))
        v = naive_sweep(problem, expected, v, order)  # the order in which the kernel went
        assert_allclose(beta, expected, rtol=1e-7, atol=1e-9)
        assert_allclose(w, v, rtol=1e-7, atol=1e-7 * (1.0 + np.abs(v).max()))


# ------------------------------------------------------------------------------------- references


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("solver", ["auto", "dcd", "newton"])
@pytest.mark.parametrize("intercept_scaling", [None, 1.0, 3.0])
def test_classes_as_in_scikit_learn(loss, solver, intercept_scaling):
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    options = {"loss": loss, "dual": True, "C": 0.1, "class_weight": {0: 2.0}, "random_state": 0}
    options["fit_intercept"] = intercept_scaling is not None
    options["intercept_scaling"] = intercept_scaling or 1.0
    ours = LinearSVC(**options, solver=solver, tol=1e-5).fit(X, y)
    theirs = reference.LinearSVC(**options, tol=1e-7, max_iter=100_000).fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_, atol=2e-4)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-4)
    assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("solver", ["auto", "dcd", "newton"])
def test_numbers_as_in_scikit_learn(loss, solver):
    X, y = load_diabetes(return_X_y=True)
    X, y = scale(X), y / 100.0
    options = {"loss": loss, "dual": True, "C": 0.1, "epsilon": 0.2, "random_state": 0}
    ours = LinearSVR(**options, solver=solver, tol=1e-5).fit(X, y)
    theirs = reference.LinearSVR(**options, tol=1e-7, max_iter=100_000).fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_, atol=3e-4)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=3e-4)
    assert ours.certificate_ <= 1e-9 * len(y)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_selection_as_in_scikit_learn(container):
    X, y = load_breast_cancer(return_X_y=True)
    X = container(scale(X))
    options = {"penalty": "l1", "dual": False, "C": 0.02, "random_state": 0}
    ours = LinearSVC(**options, tol=1e-5).fit(X, y)
    theirs = reference.LinearSVC(**options, tol=1e-6, max_iter=100_000).fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert_array_equal(ours.coef_ != 0.0, np.abs(theirs.coef_) > 1e-6)
    assert 0 < (ours.coef_ != 0.0).sum() < 15


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_one_against_the_rest(penalty):
    X, y = load_iris(return_X_y=True)
    model = LinearSVC(penalty=penalty).fit(X, y)
    for k in range(3):
        alone = LinearSVC(penalty=penalty).fit(X, y == k)
        assert_allclose(model.coef_[k], alone.coef_[0], rtol=1e-3, atol=1e-3)
    assert model.coef_.shape == (3, 4)
    assert model.intercept_.shape == (3,)


@pytest.mark.parametrize("sparse", [False, True])
def test_all_classes_at_once_reach_scikit_learns_optimum(sparse):
    X, y = load_digits(return_X_y=True)
    X, y = X[:600] / 16.0, y[:600]
    X = sp.csr_matrix(X) if sparse else X
    options = {"multi_class": "crammer_singer", "C": 0.1, "random_state": 0}
    ours = LinearSVC(**options, tol=1e-5).fit(X, y)
    theirs = reference.LinearSVC(**options, tol=1e-8, max_iter=100_000).fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    assert_array_equal(ours.predict(X), theirs.predict(X))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
def test_crammer_singer_sweeps_end_where_every_row_is_optimal(seed, K):
    """The conditions (17), of all rows and classes, whatever was set aside on the way."""
    rng = np.random.default_rng(seed)
    n, bias = 30, 1.0
    X, y, c = sp.csr_array(rng.normal(size=(n, 3))), rng.integers(0, K, n), rng.uniform(0.1, 1.0, n)
    q = np.ravel(X.power(2).sum(axis=1)) + bias**2
    beta, W = np.zeros((n, K)), np.zeros((4, K))
    stored = X.indptr.astype(np.uint64), X.indices.astype(np.uint32), X.data, bias
    worst, rounds = np.inf, 0
    while worst > 1e-5:  # of all rows, at the first sweep of a round
        order, m, classes, count = np.arange(n), n, np.tile(np.arange(K), (n, 1)), np.full(n, K)
        violations = []
        for _ in range(20):
            m, violation, _ = sweep(
                *stored, y, c, q, beta, W, order, m, classes, count, np.array([7], np.uint64)
            )
            violations.append(violation)
        worst, rounds = violations[0], rounds + 1
        assert rounds < 100_000
    A, mine = np.column_stack([X.toarray(), np.ones(n)]), np.arange(K) == y[:, None]
    assert_allclose(W, A.T @ beta, atol=1e-10)
    assert_allclose(beta.sum(axis=1), 0.0, atol=1e-10)
    high = np.where(mine, c[:, None], 0.0)
    assert (beta <= high).all()
    g = A @ W + ~mine
    least = np.where(beta < high, g, np.inf).min(axis=1)
    assert (g.max(axis=1) - least).max() <= 1e-4


def test_two_classes_at_once_are_the_plain_machine_at_half_the_margin():
    """With w = w_1 − w_0 the penalty is ‖w‖²/4 and the loss the hinge: C counts twice."""
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    joint = LinearSVC(multi_class="crammer_singer", C=0.05, tol=1e-5, random_state=0).fit(X, y)
    plain = LinearSVC(loss="hinge", C=0.1, tol=1e-5).fit(X, y)
    assert joint.coef_.shape == (1, X.shape[1])
    assert_allclose(joint.coef_, plain.coef_, atol=1e-4)


def test_the_minimum_of_a_general_optimiser():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 2))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=30) > 0, 1.0, -1.0)
    args = (X, 1.0, y, np.full(30, 0.7), 0.0, "squared_hinge")
    found = minimize(objective, np.zeros(3), args, tol=1e-12, options={"gtol": 1e-9})
    model = LinearSVC(C=0.7).fit(X, y)
    assert_allclose([*model.coef_[0], model.intercept_[0]], found.x, atol=1e-6)


# ------------------------------------------------------------------------------------- the contract


@parametrize_with_checks([LinearSVC(), LinearSVC(penalty="l1", tol=1e-7), LinearSVR(tol=1e-7)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"penalty": "l1", "loss": "hinge"}, "penalty='l1' and loss='hinge' is not supported"),
        ({"loss": "hinge", "dual": False}, "loss='hinge' are not supported when dual=False"),
        ({"penalty": "l1", "dual": True}, "are not supported when dual=True"),
        ({"C": -1.0}, "The 'C' parameter"),
        ({"tol": 0.0}, "The 'tol' parameter"),
        ({"intercept_scaling": 0.0}, "The 'intercept_scaling' parameter"),
        ({"solver": "magic"}, "The 'solver' parameter"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        LinearSVC(**parameters).fit([[0.0], [1.0]], [0, 1])


def test_bad_data():
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 1]
    with pytest.raises(ValueError, match="only one class"):
        LinearSVC().fit(X, [1, 1, 1])
    with pytest.raises(ValueError, match="positive sample_weight are all of class"):
        LinearSVC().fit(X, y, sample_weight=[0.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="at least one non-zero number"):
        LinearSVR().fit(X, y, sample_weight=np.zeros(3))
    with pytest.raises(ValueError, match="epsilon"):
        LinearSVR(epsilon=-0.1).fit(X, y)


@pytest.mark.parametrize("solver", ["dcd", "newton"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_awkward_rows(solver, loss):
    """Equal points of opposite classes, a row of zeros and a constant column."""
    X = np.array([[1.0, 5.0], [1.0, 5.0], [0.0, 0.0], [2.0, 5.0], [-1.0, 5.0]])
    y = np.array([0, 1, 1, 1, 0])
    model = LinearSVC(loss=loss, solver=solver, fit_intercept=False, random_state=0).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert model.certificate_ <= 1e-7


@pytest.mark.parametrize("model", [LinearSVC(max_iter=2), LinearSVR(max_iter=2)])
def test_too_few_iterations_are_told_with_the_number(model):
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match=r"failed to converge.*objective may be \d"):
        model.fit(X, y)
    assert model.n_iter_ == 2


def test_callbacks_see_every_iteration():
    X, y = load_iris(return_X_y=True)
    trace = Trace()
    model = LinearSVC(loss="hinge").set_callbacks(trace).fit(X, y)
    assert len(trace.states) == model.n_iter_
    assert trace.states[-1]["gap"] == model.certificate_
    assert trace.states[-1]["error"] <= model.tol


def test_threads_and_pickles():
    X, y = load_iris(return_X_y=True)
    alone = LinearSVC(loss="hinge", random_state=0).fit(X, y)
    found = [None] * 4

    def work(k):
        found[k] = LinearSVC(loss="hinge", random_state=0).fit(X, y).coef_

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for coef in found:
        assert_allclose(coef, alone.coef_, rtol=1e-8)
    again = pickle.loads(pickle.dumps(alone))
    assert_array_equal(again.decision_function(X), alone.decision_function(X))


def test_the_order_of_rows_is_the_seed_alone():
    X, y = load_breast_cancer(return_X_y=True)
    X = sp.csr_array(scale(X))
    a, b = (LinearSVC(solver="dcd", random_state=s).fit(X, y).coef_ for s in (0, 0))
    assert_array_equal(a, b)
    assert not np.array_equal(a, LinearSVC(solver="dcd", random_state=1).fit(X, y).coef_)


def test_a_large_sparse_matrix_stays_sparse():
    rng = np.random.default_rng(0)
    X = sp.random_array((4000, 2000), density=0.005, format="csr", rng=rng)
    y = X @ rng.normal(size=2000) > 0
    model = LinearSVC(loss="hinge", random_state=0).fit(X, y)
    assert model.certificate_ <= 1e-8 * 4000
    assert model.score(X, y) > 0.9
