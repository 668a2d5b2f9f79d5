import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn import linear_model as reference
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import estimator_checks_generator

from mlreplica.callbacks import Trace
from mlreplica.linear_model import Perceptron, perceptron


def naive(X, y, offset, eta, max_updates):
    """Rosenblatt's rule as a textbook prints it."""
    w, b, updates = np.zeros(X.shape[1]), 0.0, 0
    while updates < max_updates and any(y * (X @ w + b) <= 0):
        for x_i, y_i in zip(X, y, strict=True):
            if y_i * (w @ x_i + b) <= 0 and updates < max_updates:
                w, b, updates = w + eta * y_i * x_i, b + eta * y_i * offset, updates + 1
    return w, b, updates


@st.composite
def separable(draw, offset=False):
    """Points at a distance of γ or more from a known hyperplane, their labels, u and γ."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, p = draw(st.integers(2, 40)), draw(st.integers(1, 6))
    gamma = draw(st.sampled_from([0.5, 0.1, 0.03]))
    u = rng.normal(size=p + offset)
    u /= np.linalg.norm(u)
    X = rng.normal(size=(n, p)) * draw(st.sampled_from([1.0, 10.0]))
    full = np.column_stack([X, np.ones(n)]) if offset else X
    keep = np.abs(full @ u) >= gamma
    if not keep.any():
        keep[0], gamma = True, abs(full[0] @ u)
    return X[keep], np.sign(full[keep] @ u), full[keep], gamma


def noisy(n=300, p=12, classes=2, sparse=False):
    """Overlapping classes, on which the perceptron never comes to rest."""
    X, y = make_classification(n, p, n_informative=8, n_classes=classes, flip_y=0.2, random_state=1)
    if sparse:
        X = sp.csr_matrix(X * (np.random.default_rng(0).random(X.shape) < 0.3))
    return X, y


# --------------------------------------------------------------------------------- plain function


@given(separable())
def test_mistake_bound_without_offset(data):
    X, y, _, gamma = data
    found = perceptron(X, y, offset=False)
    assert found.converged
    assert (y * (X @ found.w) > 0).all()
    assert found.b == 0.0
    assert found.updates <= (np.linalg.norm(X, axis=1).max() / gamma) ** 2 * (1 + 1e-9)


@given(separable(offset=True))
def test_mistake_bound_with_offset(data):
    X, y, full, gamma = data
    found = perceptron(X, y)
    assert found.converged
    assert (y * (X @ found.w + found.b) > 0).all()
    assert found.updates <= (np.linalg.norm(full, axis=1).max() / gamma) ** 2 * (1 + 1e-9)


def test_mistake_bound_is_reached():
    """Unit vectors under alternating labels: γ = 1/√n, R = 1, and each of them costs an update."""
    y = np.array([1.0, -1, 1, -1, 1])
    assert perceptron(np.eye(5), y, offset=False).updates == 5


@given(separable(), st.integers(-8, 8))
def test_learning_rate_only_scales(data, power):
    X, y, _, _ = data
    one, other = perceptron(X, y), perceptron(X, y, learning_rate=2.0**power)
    assert one.updates == other.updates
    np.testing.assert_array_equal(other.w, one.w * 2.0**power)
    assert other.b == one.b * 2.0**power


@given(st.integers(0, 2**32 - 1), st.booleans(), st.integers(0, 60))
def test_naive_version_agrees(seed, offset, max_updates):
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, size=(15, 3)).astype(float)  # integers: no rounding, ties happen
    y = rng.choice([-1.0, 1.0], size=15)
    w, b, updates = naive(X, y, offset, 0.5, max_updates)
    found = perceptron(X, y, offset=offset, learning_rate=0.5, max_updates=max_updates)
    np.testing.assert_array_equal(found.w, w)
    assert (found.b, found.updates) == (b, updates)
    assert found.converged == bool((y * (X @ w + b) > 0).all())


def test_not_separable_ends_and_says_so():
    X, y = [[0.0, 0], [1, 1], [0, 1], [1, 0]], [-1, -1, 1, 1]  # exclusive or
    found = perceptron(X, y, max_updates=57)
    assert (found.updates, found.converged) == (57, False)


def test_offset_is_a_column_of_ones():
    X, y = load_iris(return_X_y=True)
    y = np.where(y == 0, -1, 1)
    found = perceptron(X, y)
    column = perceptron(np.column_stack([X, np.ones(len(X))]), y, offset=False)
    np.testing.assert_allclose(np.append(found.w, found.b), column.w, rtol=1e-12)


def test_history_replays_every_update():
    X, y = noisy(60, 11)
    y = 2.0 * y - 1
    found = perceptron(X, y, learning_rate=0.5, max_updates=100, history=True)
    w, b = np.zeros(11), 0.0
    assert len(found.history) == found.updates == 100
    for row, w_before, b_before, w_after, b_after in found.history:
        np.testing.assert_allclose(w_before, w, atol=1e-12)
        assert b_before == b
        assert y[row] * (X[row] @ w + b) <= 0
        w, b = w + 0.5 * y[row] * X[row], b + 0.5 * y[row]
        np.testing.assert_allclose(w_after, w, atol=1e-12)
        assert b_after == b
    np.testing.assert_allclose(found.w, w, atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": [0, 1]}, "-1 or +1"),
        ({"y": [1]}, "each of the 2 rows"),
        ({"learning_rate": 0.0}, "learning_rate must be > 0"),
        ({"max_updates": -1}, "max_updates must be >= 0"),
    ],
)
def test_plain_function_refuses(arguments, message):
    with pytest.raises(ValueError, match=message.replace("+", r"\+")):
        perceptron(**({"X": [[1.0], [2.0]], "y": [1, -1]} | arguments))


# -------------------------------------------------------------------------------------- estimator

GRID = list(itertools.product((2, 4), (False, True), (None, "l2", "l1", "elasticnet")))


@pytest.mark.parametrize(("classes", "sparse", "penalty"), GRID)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_same_weights_as_scikit_learn(classes, sparse, penalty, fit_intercept):
    X, y = noisy(classes=classes, sparse=sparse)
    arguments = {"penalty": penalty, "alpha": 0.003, "max_iter": 7, "tol": None, "random_state": 3}
    arguments |= {"fit_intercept": fit_intercept, "eta0": 0.3, "class_weight": {0: 2.0, 1: 0.5}}
    if classes == 4:
        arguments["class_weight"] |= {2: 1.0, 3: 3.0}
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=len(y))
    ours = Perceptron(**arguments).fit(X, y, sample_weight=weight)
    theirs = reference.Perceptron(**arguments).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-8, atol=1e-10)
    assert (ours.n_iter_, ours.t_) == (theirs.n_iter_, theirs.t_)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("early_stopping", [True, False])
@pytest.mark.parametrize("shuffle", [True, False])
def test_stops_when_scikit_learn_stops(classes, early_stopping, shuffle):
    X, y = noisy(classes=classes)
    arguments = {"early_stopping": early_stopping, "shuffle": shuffle, "validation_fraction": 0.2}
    ours, theirs = Perceptron(**arguments).fit(X, y), reference.Perceptron(**arguments).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-10)
    assert ours.n_iter_ == theirs.n_iter_


def test_stops_when_scikit_learn_stops_with_l2():
    X, y = noisy()
    arguments = {"penalty": "l2", "alpha": 0.01, "eta0": 0.1}
    ours, theirs = Perceptron(**arguments).fit(X, y), reference.Perceptron(**arguments).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8)
    assert ours.n_iter_ == theirs.n_iter_


@pytest.mark.parametrize("penalty", [None, "l2", "l1", "elasticnet"])
def test_sparse_rows_are_dense_rows_without_zeros(penalty):
    """The offset aside, which moves slower on sparse rows."""
    X, y = noisy(sparse=True)
    model = Perceptron(penalty=penalty, alpha=0.01, fit_intercept=False, max_iter=9, tol=None)
    dense, sparse = clone(model).fit(X.toarray(), y), clone(model).fit(X, y)
    if penalty in (None, "l2"):  # (6) is lazy: a zero of x postpones the pull
        np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(sparse.decision_function(X), X.toarray() @ sparse.coef_[0])


def test_rest_is_the_end():
    X, y = load_iris(return_X_y=True)
    model = Perceptron(tol=None).fit(X, y == 0)
    theirs = reference.Perceptron(tol=None).fit(X, y == 0)
    assert model.score(X, y == 0) == 1.0
    assert model.n_iter_ < theirs.n_iter_ == 1000
    np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=1e-12)


@pytest.mark.parametrize("penalty", [None, "l2", "l1"])
@pytest.mark.parametrize("sparse", [False, True])
def test_weight_zero_is_absent(penalty, sparse):
    X, y = noisy(sparse=sparse)
    keep = np.random.default_rng(0).random(len(y)) < 0.6
    model = Perceptron(penalty=penalty, alpha=0.01, shuffle=False)
    with_zeros = clone(model).fit(X, y, sample_weight=keep.astype(float))
    without = clone(model).fit(X[keep], y[keep])
    np.testing.assert_allclose(with_zeros.coef_, without.coef_, rtol=1e-12)
    assert with_zeros.n_iter_ == without.n_iter_


def test_class_weight_is_a_sample_weight():
    X, y = noisy()
    by_class = Perceptron(class_weight={0: 3.0, 1: 0.5}).fit(X, y)
    by_sample = Perceptron().fit(X, y, sample_weight=np.where(y == 0, 3.0, 0.5))
    np.testing.assert_array_equal(by_class.coef_, by_sample.coef_)


def test_early_stopping_on_given_rows():
    X, y = noisy(400)
    rest, val = slice(0, 300), slice(300, None)
    model = Perceptron(early_stopping=True, n_iter_no_change=3)
    one = clone(model).fit(X[rest], y[rest], X_val=X[val], y_val=y[val])
    zero = clone(model).fit(
        X[rest], y[rest], X_val=X, y_val=y, sample_weight_val=np.arange(400) >= 300
    )
    np.testing.assert_array_equal(one.coef_, zero.coef_)
    full = Perceptron(tol=None, max_iter=one.n_iter_).fit(X[rest], y[rest])
    np.testing.assert_array_equal(one.coef_, full.coef_)  # no row of X_val is learnt from
    with pytest.raises(ValueError, match="early_stopping=True"):
        Perceptron().fit(X, y, X_val=X, y_val=y)
    with pytest.raises(ValueError, match="both or neither"):
        clone(model).fit(X, y, X_val=X)


def test_partial_fit_is_an_epoch():
    X, y = noisy(classes=4)
    model = Perceptron(shuffle=False, max_iter=3, tol=None).fit(X, y)
    online = Perceptron(shuffle=False)
    for _ in range(3):
        online.partial_fit(X, y, classes=range(4))
    np.testing.assert_array_equal(online.coef_, model.coef_)
    np.testing.assert_array_equal(online.intercept_, model.intercept_)
    assert online.t_ == model.t_ == 1 + 3 * len(y)
    with pytest.raises(ValueError, match=r"labels \[7\] that are not in classes"):
        online.partial_fit(X[:1], [7])


def test_warm_start_and_given_start_go_on():
    X, y = noisy()
    model = Perceptron(shuffle=False, max_iter=2, tol=None, warm_start=True).fit(X, y).fit(X, y)
    half = Perceptron(shuffle=False, max_iter=2, tol=None).fit(X, y)
    start = {"coef_init": half.coef_, "intercept_init": half.intercept_}
    full = Perceptron(shuffle=False, max_iter=4, tol=None).fit(X, y)
    np.testing.assert_array_equal(model.coef_, full.coef_)
    kept = half.coef_.copy()
    np.testing.assert_array_equal(clone(half).fit(X, y, **start).coef_, full.coef_)
    np.testing.assert_array_equal(half.coef_, kept)  # the start is not overwritten
    with pytest.raises(ValueError, match=r"coef_init must have shape \(1, 12\)"):
        half.fit(X, y, coef_init=np.zeros(3))


def test_threads_change_nothing():
    X, y = load_digits(return_X_y=True)
    one, two = (Perceptron(n_jobs=k, max_iter=8, tol=None).fit(X, y) for k in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_l1_makes_zeros_and_sparsify_keeps_predictions():
    X, y = load_digits(return_X_y=True)
    model = Perceptron(penalty="l1", alpha=0.05).fit(X, y)
    before = model.predict(X)
    assert (model.coef_ == 0).mean() > 0.2
    assert sp.issparse(model.sparsify().coef_)
    np.testing.assert_array_equal(model.predict(X), before)
    assert isinstance(model.densify().coef_, np.ndarray)


def test_trace_has_an_epoch_a_row():
    X, y = noisy()
    trace = Trace()
    model = Perceptron(max_iter=6, tol=None).set_callbacks(trace).fit(X, y)
    assert len(trace.states) == model.n_iter_ == 6
    assert set(trace.states[0]) == {"step", "w", "b", "mistakes", "loss"}
    np.testing.assert_array_equal(trace.states[-1]["w"], model.coef_)
    assert not np.array_equal(trace.states[0]["w"], trace.states[1]["w"])
    w, b, losses = np.zeros(12), 0.0, []
    for x_i, y_i in zip(X, 2 * y - 1, strict=True):  # the loss each point met in the first epoch
        losses.append(max(0.0, -y_i * (w @ x_i + b)))
        if y_i * (w @ x_i + b) <= 0:
            w, b = w + y_i * x_i, b + y_i
    trace = Trace()
    Perceptron(max_iter=1, tol=None, shuffle=False).set_callbacks(trace).fit(X, y)
    np.testing.assert_allclose(trace.states[0]["loss"], np.mean(losses))
    assert trace.states[0]["mistakes"] == np.count_nonzero(losses) + 1  # the first, at margin 0
    np.testing.assert_allclose(trace.states[0]["w"], [w])


def test_warns_with_advice_and_float32_stays():
    X, y = noisy()
    with pytest.warns(ConvergenceWarning, match="after 2 epochs; raise max_iter"):
        model = Perceptron(max_iter=2).fit(X.astype(np.float32), y)
    assert model.coef_.dtype == model.intercept_.dtype == np.float32


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # said by kernels that run as plain Python
def test_overflow_is_an_error():
    X = np.array([[1e308], [-1e308], [1e308], [1e308]])
    with pytest.raises(ValueError, match="overflow"):
        Perceptron(eta0=1e10).fit(X, [0, 1, 1, 0])


def test_one_class_and_continuous_targets_are_errors():
    with pytest.raises(ValueError, match="greater than one; got 1 class"):
        Perceptron().fit([[1.0], [2.0]], [1, 1])
    with pytest.raises(ValueError, match="continuous"):
        Perceptron().fit([[1.0], [2.0]], [0.5, 1.2])


def checks():
    """scikit-learn's, less one that no perceptron can pass, scikit-learn's own included.

    Weight 2 is one update of double length. A point that occurs twice is looked at twice, and
    the second look may find it right.
    """
    for model in (Perceptron(), Perceptron(penalty="elasticnet")):
        for k, (estimator, check) in enumerate(estimator_checks_generator(model)):
            name = check.func.__name__
            if not name.startswith("check_sample_weight_equivalence"):
                yield pytest.param(estimator, check, id=f"{name}-{k}-{model.penalty}")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("estimator", "check"), checks())
def test_scikit_learn_checks(estimator, check):
    check(estimator)
