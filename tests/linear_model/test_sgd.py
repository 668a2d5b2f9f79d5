import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import linear_model as reference
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import estimator_checks_generator

from mlreplica import losses
from mlreplica.callbacks import Trace
from mlreplica.core.formulas.loss_formulas import slope
from mlreplica.linear_model import Perceptron, SGDClassifier, SGDRegressor
from mlreplica.linear_model.sgd.losses import (
    FOR_CLASSES,
    FOR_NUMBERS,
    modified_huber,
    parameter_of,
    squared_epsilon_insensitive,
)
from mlreplica.linear_model.sgd.steps import shuffled
from mlreplica.losses import Loss, check_loss

EVERY = {**FOR_CLASSES, **FOR_NUMBERS}
FIXED = {"max_iter": 6, "tol": None, "random_state": 3}
COSH = Loss(  # of the user's own
    value=lambda y, f: np.log(np.cosh(f - y)), gradient=lambda y, f: np.tanh(f - y), name="cosh"
)


def numbers(n=300, p=8):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    return X, X @ rng.normal(size=p) + 2.0 + rng.normal(size=n)


def labels(n=300, p=8, classes=2, sparse=False):
    rng = np.random.default_rng(1)
    if sparse:
        X = sp.random_array((n, 4 * p), density=0.25, format="csr", rng=rng)
    else:
        X = rng.normal(size=(n, p))
    scores = X @ rng.normal(size=(X.shape[1], classes)) + 0.7 * rng.normal(size=(n, classes))
    return X, scores.argmax(axis=1)


def naive(X, y, c, loss, eta, alpha=0.0, ratio=0.0, batch=1, epochs=1, average=0):
    """Equations (3), (4) and (6) with dense vectors and nothing lazy but the pull itself."""
    n, p = X.shape
    w, b, u, q, t = np.zeros(p), 0.0, 0.0, np.zeros(p), 0
    mean, mean_b, k = np.zeros(p), 0.0, 0
    for _ in range(epochs):
        for first in range(0, n, batch):
            t += 1
            rows = range(first, min(first + batch, n))
            g = [c[i] * loss.gradient(y[i], X[i] @ w + b) for i in rows]
            w = max(0.0, 1.0 - (1.0 - ratio) * eta(t) * alpha) * w
            w = w - eta(t) * np.mean([g_i * X[i] for g_i, i in zip(g, rows, strict=True)], axis=0)
            b -= eta(t) * np.mean(g)
            u += ratio * eta(t) * alpha
            if ratio > 0.0:
                old = w
                w = np.where(w > 0, np.maximum(0, w - (u + q)), np.minimum(0, w + (u - q)))
                q = q + w - old
            if 0 < average <= t:
                k += 1
                mean, mean_b = mean + (w - mean) / k, mean_b + (b - mean_b) / k
    return (mean, mean_b) if k else (w, b)


# ------------------------------------------------------------------------------------- properties


@pytest.mark.parametrize("loss", [modified_huber, squared_epsilon_insensitive(0.3)])
def test_losses_of_its_own(loss):
    check_loss(loss)


@given(st.sampled_from(sorted(EVERY)), st.floats(-3, 3), st.sampled_from([-1.0, 1.0]))
def test_slope_of_a_row_is_the_gradient_of_the_loss(name, f, y):
    loss = EVERY[name]
    loss = loss if isinstance(loss, Loss) else loss(0.25)
    if not loss.differentiable and abs(y * f - 1) < 1e-9:
        return  # the hinge moves at its kink
    found = slope(loss.code, y, f, float(parameter_of(loss)))
    np.testing.assert_allclose(found, loss.gradient(y, f), rtol=1e-12)


@settings(max_examples=30)
@given(
    seed=st.integers(0, 2**32 - 1),
    name=st.sampled_from(["squared_error", "huber", "log_loss", "hinge"]),
    ratio=st.sampled_from([0.0, 0.3, 1.0]),
    batch=st.integers(1, 7),
    average=st.sampled_from([0, 1, 9]),
    own=st.booleans(),
)
def test_naive_version_agrees(seed, name, ratio, batch, average, own):
    rng = np.random.default_rng(seed)
    n, p = rng.integers(1, 20), rng.integers(1, 5)
    X, c = rng.normal(size=(n, p)), rng.uniform(0.5, 2.0, size=n)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[:2] = [1.0, -1.0][: len(y)]
    loss = losses.huber(0.1) if name == "huber" else losses.get(name)
    if own:
        loss = Loss(loss.value, loss.gradient, target=loss.target, name="own")
    model = (SGDClassifier if loss.target == "sign" else SGDRegressor)(
        loss, penalty="elasticnet", alpha=0.1, l1_ratio=ratio, learning_rate="invscaling", eta0=0.3,
        power_t=0.4, shuffle=False, max_iter=3, tol=None, average=average or False,
        batch_size=int(batch),
    )  # fmt: skip
    if n < 2:
        X, y, c = np.repeat(X, 2, axis=0), np.array([1.0, -1.0]), np.repeat(c, 2)
    model.fit(X, y, sample_weight=c)
    w, b = naive(X, y, c, loss, lambda t: 0.3 / t**0.4, 0.1, ratio, batch, 3, average)
    np.testing.assert_allclose(model.coef_.ravel(), w, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, b, rtol=1e-9, atol=1e-12)


@given(st.integers(1, 40), st.integers(1, 2**31 - 2))
def test_shuffled_is_a_permutation(n, seed):
    assert sorted(shuffled(np.arange(n), seed)) == list(range(n))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("penalty", ["l2", "l1", None])
def test_weight_zero_is_absent(sparse, shuffle, penalty):
    """Also from the shuffle: the rows that are left come in the order they would have alone."""
    X, y = labels(sparse=sparse)
    keep = np.random.default_rng(0).random(len(y)) < 0.6
    model = SGDClassifier(penalty=penalty, shuffle=shuffle, random_state=0)
    with_zeros = clone(model).fit(X, y, sample_weight=keep.astype(float))
    without = clone(model).fit(X[keep], y[keep])
    np.testing.assert_allclose(with_zeros.coef_, without.coef_, rtol=1e-12)
    assert with_zeros.n_iter_ == without.n_iter_


def test_class_weight_is_a_sample_weight():
    X, y = labels()
    by_class = SGDClassifier(class_weight={0: 3.0, 1: 0.5}, random_state=0).fit(X, y)
    by_sample = SGDClassifier(random_state=0).fit(X, y, sample_weight=np.where(y == 0, 3.0, 0.5))
    np.testing.assert_array_equal(by_class.coef_, by_sample.coef_)


def test_a_batch_of_everything_is_gradient_descent():
    X, y = numbers()
    model = SGDRegressor(
        penalty=None, learning_rate="constant", eta0=0.3, batch_size=300, max_iter=200, tol=None
    ).fit(X, y)
    A = np.column_stack([X, np.ones(300)])
    solution = np.linalg.lstsq(A, y)[0]
    np.testing.assert_allclose([*model.coef_, *model.intercept_], solution, rtol=1e-9)
    assert model.t_ == 201


def test_larger_batches_and_averages_have_less_noise():
    """The distance from the best w after a fixed number of steps of constant length."""
    X, y = numbers(2000)
    A = np.column_stack([X, np.ones(2000)])
    best = np.linalg.lstsq(A, y)[0]

    def distance(seed, epochs=4, **options):
        model = SGDRegressor(
            penalty=None, learning_rate="constant", eta0=0.05, max_iter=epochs, tol=None,
            random_state=seed, **options,
        ).fit(X, y)  # fmt: skip
        return np.sum((np.append(model.coef_, model.intercept_) - best) ** 2)

    one, many, mean = (
        np.mean([distance(seed, **options) for seed in range(8)])
        for options in ({}, {"batch_size": 16, "epochs": 64}, {"average": 2000})
    )
    assert many < one / 5
    assert mean < one / 5


def test_optimal_schedule_reaches_the_optimum():
    X, y = labels(2000)
    found = SGDClassifier(
        "log_loss", alpha=0.1, max_iter=300, tol=None, random_state=0, average=100_000
    ).fit(X, y)
    exact = reference.LogisticRegression(C=1 / (0.1 * 2000), tol=1e-10).fit(X, y)
    np.testing.assert_allclose(found.coef_, exact.coef_, rtol=2e-3)
    np.testing.assert_allclose(found.intercept_, exact.intercept_, atol=2e-3)


# ------------------------------------------------------------------------------------ scikit-learn

CLASS_LOSSES = ["hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron"]
CLASS_LOSSES += ["squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive"]
PENALTIES = [None, "l2", "l1", "elasticnet"]
SCHEDULES = [
    {"learning_rate": "constant"},
    {"learning_rate": "invscaling", "power_t": 0.3},
    {"learning_rate": "adaptive", "eta0": 0.02},
]


def assert_same(ours, theirs):
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-8, atol=1e-10)
    assert (ours.n_iter_, ours.t_) == (theirs.n_iter_, theirs.t_)
    assert ours.coef_.shape == theirs.coef_.shape
    assert ours.intercept_.shape == theirs.intercept_.shape


@pytest.mark.parametrize(("loss", "penalty"), list(itertools.product(CLASS_LOSSES, PENALTIES)))
@pytest.mark.parametrize(("classes", "sparse"), [(2, False), (2, True), (4, False)])
def test_same_weights_as_scikit_learn(loss, penalty, classes, sparse):
    X, y = labels(classes=classes, sparse=sparse)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=len(y))
    for schedule in SCHEDULES:
        arguments = {**FIXED, "penalty": penalty, "alpha": 0.003, **schedule}
        ours = SGDClassifier(loss, **arguments).fit(X, y, sample_weight=weight)
        theirs = reference.SGDClassifier(loss, **arguments).fit(X, y, sample_weight=weight)
        assert_same(ours, theirs)


@pytest.mark.parametrize("loss", CLASS_LOSSES[5:])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_same_weights_as_scikit_learn_in_regression(loss, penalty):
    X, y = numbers()
    for schedule in SCHEDULES:
        arguments = {**FIXED, "penalty": penalty, "alpha": 0.003, **schedule}
        ours = SGDRegressor(loss, **arguments).fit(X, y)
        assert_same(ours, reference.SGDRegressor(loss, **arguments).fit(X, y))
        np.testing.assert_allclose(ours.predict(X), X @ ours.coef_ + ours.intercept_)


@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
@pytest.mark.parametrize("classes", [2, 4])
def test_stops_when_scikit_learn_stops(loss, classes):
    X, y = labels(classes=classes)
    for options in ({}, {"penalty": None}, {"learning_rate": "adaptive", "eta0": 0.1}):
        arguments = {"alpha": 0.01, "random_state": 5, **options}
        ours = SGDClassifier(loss, **arguments).fit(X, y)
        assert_same(ours, reference.SGDClassifier(loss, **arguments).fit(X, y))
    ours = SGDRegressor(random_state=5).fit(*numbers())
    assert_same(ours, reference.SGDRegressor(random_state=5).fit(*numbers()))
    early = {"random_state": 5, "early_stopping": True, "penalty": None}
    ours = SGDRegressor(**early).fit(*numbers())
    assert_same(ours, reference.SGDRegressor(**early).fit(*numbers()))


@pytest.mark.parametrize("average", [True, 450, 10**6])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("penalty", [None, "l2"])
def test_same_average_as_scikit_learn(average, sparse, penalty):
    X, y = labels(sparse=sparse)
    arguments = {**FIXED, "penalty": penalty, "alpha": 0.01, "average": average}
    ours = SGDClassifier(**arguments).fit(X, y)
    theirs = reference.SGDClassifier(**arguments).fit(X, y)
    assert_same(ours, theirs)
    arguments["fit_intercept"] = False  # which scikit-learn resumes from zero
    ours, theirs = SGDClassifier(**arguments), reference.SGDClassifier(**arguments)
    for model in (ours, theirs):
        model.fit(X, y).partial_fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8, atol=1e-10)
    assert ours.t_ == theirs.t_


@pytest.mark.parametrize("rule", ["pa1", "pa2"])
@pytest.mark.parametrize("sparse", [False, True])
def test_same_passive_aggressive_steps_as_scikit_learn(rule, sparse):
    X, y = labels(sparse=sparse)
    arguments = {"learning_rate": rule, "eta0": 0.4, "penalty": None, **FIXED}
    ours = SGDClassifier(**arguments).fit(X, y)
    assert_same(ours, reference.SGDClassifier(**arguments).fit(X, y))
    arguments["loss"] = "epsilon_insensitive"
    ours = SGDRegressor(**arguments).fit(X, y + 0.3)
    assert_same(ours, reference.SGDRegressor(**arguments).fit(X, y + 0.3))


def test_perceptron_is_a_special_case():
    X, y = labels(classes=4)
    model = SGDClassifier("perceptron", penalty=None, learning_rate="constant", eta0=1.0, **FIXED)
    np.testing.assert_array_equal(model.fit(X, y).coef_, Perceptron(**FIXED).fit(X, y).coef_)


@pytest.mark.parametrize("loss", ["log_loss", "modified_huber"])
@pytest.mark.parametrize("classes", [2, 4])
def test_same_probabilities_as_scikit_learn(loss, classes):
    X, y = labels(classes=classes)
    arguments = {**FIXED, "learning_rate": "constant"}
    ours = SGDClassifier(loss, **arguments).fit(X, y)
    theirs = reference.SGDClassifier(loss, **arguments).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    with np.errstate(divide="ignore"):
        logarithm = np.log(ours.predict_proba(X))
    np.testing.assert_array_equal(ours.predict_log_proba(X), logarithm)


def test_probabilities_only_where_the_loss_has_them():
    X, y = labels()
    for loss in ("exponential", "logistic", losses.logistic):
        p = SGDClassifier(loss, **FIXED).fit(X, y).predict_proba(X)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert not hasattr(SGDClassifier("hinge"), "predict_proba")
    assert not hasattr(SGDClassifier(losses.hinge), "predict_log_proba")
    lost = SGDClassifier("modified_huber").fit(*labels(classes=4))
    lost.intercept_ = np.full(4, -1e9)
    np.testing.assert_array_equal(lost.predict_proba(X[:2]), np.full((2, 4), 0.25))


# --------------------------------------------------------------------------------- losses, batches


@pytest.mark.parametrize("name", sorted(FOR_NUMBERS))
def test_every_loss_for_numbers_goes_down(name):
    X, y = numbers(1000)
    y = np.abs(y) if name == "poisson" else y
    trace = Trace()
    options = {"learning_rate": "constant", "eta0": 0.005, "random_state": 0, "batch_size": 4}
    SGDRegressor(name, max_iter=8, tol=None, **options).set_callbacks(trace).fit(X, y)
    values = [state["objective"] for state in trace.states]
    assert values[-1] < values[0]


def test_poisson_predicts_means_and_refuses_negative_counts():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3)) / 2
    y = rng.poisson(np.exp(X @ [1.0, -0.5, 0.3] + 0.5))
    options = {"random_state": 0, "eta0": 0.05, "average": 2000, "penalty": None}
    model = SGDRegressor("poisson", **options).fit(X, y)
    np.testing.assert_allclose(model.coef_, [1.0, -0.5, 0.3], atol=0.1)
    np.testing.assert_allclose(model.predict(X), np.exp(X @ model.coef_ + model.intercept_))
    with pytest.raises(ValueError, match="poisson: y must be finite and >= 0"):
        SGDRegressor("poisson").fit(X, -1 - y)


def test_quantile_loss_covers_its_share():
    X, y = numbers(4000)
    model = SGDRegressor(losses.quantile(0.9), penalty=None, average=4000, random_state=0, tol=None)
    model.set_params(max_iter=10).fit(X, y)
    assert abs(np.mean(y < model.predict(X)) - 0.9) < 0.02


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("options", [{}, {"penalty": "l1"}, {"average": True}, {"batch_size": 7}])
def test_a_loss_of_ones_own_equals_the_compiled_one(sparse, options):
    X, y = labels(sparse=sparse)
    own = Loss(losses.logistic.value, losses.logistic.gradient, target="sign")
    settings = {**FIXED, "alpha": 0.01, "learning_rate": "invscaling", "eta0": 0.1, **options}
    ours, theirs = SGDClassifier(own, **settings), SGDClassifier("log_loss", **settings)
    np.testing.assert_allclose(ours.fit(X, y).coef_, theirs.fit(X, y).coef_, rtol=1e-9, atol=1e-12)
    model = SGDRegressor(COSH, batch_size=16, random_state=0, eta0=0.1).fit(*numbers())
    assert model.score(*numbers()) > 0.8


# ------------------------------------------------------------------------------------- estimators


def test_early_stopping_on_given_rows():
    X, y = labels(400)
    rest, val = slice(0, 300), slice(300, None)
    model = SGDClassifier(early_stopping=True, n_iter_no_change=3, random_state=0)
    one = clone(model).fit(X[rest], y[rest], X_val=X[val], y_val=y[val])
    zero = clone(model).fit(
        X[rest], y[rest], X_val=X, y_val=y, sample_weight_val=np.arange(400) >= 300
    )
    np.testing.assert_array_equal(one.coef_, zero.coef_)
    full = SGDClassifier(tol=None, max_iter=one.n_iter_, random_state=0).fit(X[rest], y[rest])
    np.testing.assert_allclose(one.coef_, full.coef_, rtol=1e-12)  # X_val is not learnt from
    X, y = numbers(400)
    model = SGDRegressor(early_stopping=True, average=10, random_state=0)
    model.fit(X[rest], y[rest], X_val=X[val], y_val=y[val])
    assert model.score(X[val], y[val]) > 0.8
    with pytest.raises(ValueError, match="early_stopping=True"):
        SGDRegressor().fit(X, y, X_val=X, y_val=y)
    with pytest.raises(ValueError, match="both or neither"):
        model.fit(X, y, X_val=X)


def test_partial_fit_is_an_epoch():
    X, y = labels(classes=4)
    for options in ({}, {"average": 250}, {"batch_size": 7}, {"learning_rate": "invscaling"}):
        model = SGDClassifier(shuffle=False, max_iter=3, tol=None, **options).fit(X, y)
        online = SGDClassifier(shuffle=False, **options)
        for _ in range(3):
            online.partial_fit(X, y, classes=range(4))
        np.testing.assert_allclose(online.coef_, model.coef_, rtol=1e-12)
        assert online.t_ == model.t_
    X, y = numbers()
    model = SGDRegressor(shuffle=False, max_iter=2, tol=None).fit(X, y)
    online = SGDRegressor(shuffle=False).partial_fit(X, y).partial_fit(X, y)
    np.testing.assert_allclose(online.coef_, model.coef_, rtol=1e-12)


def test_warm_start_and_given_start_go_on():
    X, y = numbers()
    options = {"shuffle": False, "learning_rate": "constant", "tol": None}
    model = SGDRegressor(max_iter=2, warm_start=True, **options).fit(X, y)
    kept = model.coef_.copy(), model.intercept_.copy()
    full = SGDRegressor(max_iter=4, **options).fit(X, y)
    given = SGDRegressor(max_iter=2, **options).fit(X, y, *kept)
    np.testing.assert_array_equal(model.fit(X, y).coef_, full.coef_)
    np.testing.assert_array_equal(given.coef_, full.coef_)
    with pytest.raises(ValueError, match=r"coef_init must have shape \(1, 8\)"):
        model.fit(X, y, coef_init=np.zeros(3))
    with pytest.raises(ValueError, match=r"intercept_init must have shape \(1,\)"):
        model.fit(X, y, intercept_init=np.zeros(2))


def test_threads_clones_and_pickles_change_nothing():
    X, y = load_digits(return_X_y=True)
    one, two = (SGDClassifier(n_jobs=k, **FIXED).fit(X, y) for k in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    again = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(again.predict(X), one.predict(X))
    np.testing.assert_array_equal(clone(one).fit(X, y).coef_, one.coef_)


def test_layouts_and_types_change_nothing():
    X, y = labels()
    model = SGDClassifier("log_loss", learning_rate="constant", **FIXED)
    plain = clone(model).fit(X, y)
    frozen = X.copy()
    frozen.flags.writeable = False
    for other in (np.asfortranarray(X), frozen, np.repeat(X, 2, axis=1)[:, ::2], X.tolist()):
        np.testing.assert_array_equal(clone(model).fit(other, y).coef_, plain.coef_)
    single = clone(model).fit(X.astype(np.float32), y)
    assert single.coef_.dtype == single.intercept_.dtype == np.float32
    np.testing.assert_allclose(single.coef_, plain.coef_, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(clone(model).fit(X, np.array(["a", "b"])[y]).coef_, plain.coef_)


def test_l1_makes_zeros_and_sparsify_keeps_predictions():
    X, y = load_diabetes(return_X_y=True)
    X = np.column_stack([scale(X), np.random.default_rng(0).normal(size=(len(X), 30))])
    model = SGDRegressor(penalty="l1", alpha=5.0, random_state=0).fit(X, y)
    assert (model.coef_ == 0).sum() > 10
    before = model.predict(X)
    assert sp.issparse(model.sparsify().coef_)
    np.testing.assert_allclose(model.predict(X), before)
    model.densify()
    np.testing.assert_allclose(model.predict(X), before)


def test_trace_has_an_epoch_a_row():
    X, y = labels()
    trace = Trace()
    model = SGDClassifier(shuffle=False, max_iter=4, tol=None, alpha=0.01).set_callbacks(trace)
    model.fit(X, y)
    assert len(trace.states) == model.n_iter_ == 4
    assert set(trace.states[0]) == {"step", "w", "b", "moves", "loss", "objective"}
    np.testing.assert_array_equal(trace.states[-1]["w"], model.coef_)
    eta0 = np.sqrt(1 / np.sqrt(0.01))
    w, b, sign, met, size = np.zeros(8), 0.0, 2 * y - 1, [], []
    for t, (x_i, y_i) in enumerate(zip(X, sign, strict=True)):
        eta = 1 / (0.01 * (1 / (eta0 * 0.01) + t))
        met.append(max(0.0, 1 - y_i * (w @ x_i + b)))
        size.append(w @ w)
        w = (1 - eta * 0.01) * w
        if met[-1] > 0:
            w, b = w + eta * y_i * x_i, b + eta * y_i
    np.testing.assert_allclose(trace.states[0]["loss"], np.mean(met))
    objective = np.mean(met) + 0.01 / 2 * np.mean(size)
    np.testing.assert_allclose(trace.states[0]["objective"], objective)
    np.testing.assert_allclose(trace.states[0]["w"], [w])
    assert trace.states[0]["moves"] == np.count_nonzero(met)


@pytest.mark.parametrize("penalty", ["l2", "l1", "elasticnet"])
@pytest.mark.parametrize("sparse", [False, True])
def test_objective_holds_the_true_norms(penalty, sparse):
    """One more epoch so short that w stands still has the loss and the penalty of w."""
    X, y = labels(sparse=sparse)
    start = SGDClassifier("log_loss", penalty=penalty, **FIXED).fit(X, y)
    trace = Trace()
    model = SGDClassifier(
        "log_loss", penalty=penalty, alpha=0.1, learning_rate="constant", eta0=1e-9, max_iter=1,
        tol=None,
    ).set_callbacks(trace)  # fmt: skip
    model.fit(X, y, start.coef_, start.intercept_)
    (w,), share = start.coef_, {"l2": 0.0, "l1": 1.0, "elasticnet": 0.15}[penalty]
    price = 0.1 * ((1 - share) / 2 * w @ w + share * np.abs(w).sum())
    loss = losses.logistic(2.0 * y - 1, start.decision_function(X))
    np.testing.assert_allclose(trace.states[0]["objective"], loss + price, rtol=1e-6)


def test_says_that_the_objective_rose():
    X, y = numbers()
    with pytest.warns(ConvergenceWarning, match="rose from .* at w = 0 to .*: scale X or lower"):
        SGDRegressor(random_state=0).fit(1e6 * X, y)


@pytest.mark.parametrize("classes", [2, 3])
def test_epochs_that_nobody_watches_run_together(monkeypatch, classes):
    from mlreplica.linear_model.sgd import epochs as _sgd

    monkeypatch.setattr(_sgd, "VISITS", 4 * 60)  # four epochs, then two
    rng = np.random.default_rng(0)
    y = np.arange(60) % classes
    X = rng.normal(size=(60, 5)) + 2.0 * rng.normal(size=(classes, 5))[y]
    for model in (
        Perceptron(max_iter=6, tol=None),  # some of its problems come to rest, at once or later
        SGDClassifier(max_iter=6, tol=None, random_state=0, penalty="l1"),
        SGDClassifier(max_iter=6, tol=None, random_state=0, learning_rate="adaptive"),
    ):
        together = clone(model).fit(X, y)
        watched = clone(model).set_callbacks(trace := Trace()).fit(X, y)
        assert together.n_iter_ == watched.n_iter_ == len(trace.states)
        np.testing.assert_array_equal(together.coef_, watched.coef_)
        np.testing.assert_array_equal(together.intercept_, watched.intercept_)


def test_interrupted_fit_keeps_the_last_epoch(monkeypatch):
    from mlreplica.linear_model.sgd import epochs as _sgd

    calls, descend = [], _sgd.descend

    def interrupted(*args):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return descend(*args)

    monkeypatch.setattr(_sgd, "descend", interrupted)
    X, y = numbers()
    model = SGDRegressor(random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    monkeypatch.undo()
    two = SGDRegressor(random_state=0, max_iter=2, tol=None).fit(X, y)
    np.testing.assert_array_equal(model.coef_, two.coef_)


def test_real_data():
    X, y = load_breast_cancer(return_X_y=True)
    for loss in ("hinge", "log_loss", "modified_huber"):
        assert SGDClassifier(loss, random_state=0).fit(scale(X), y).score(scale(X), y) > 0.95


# -------------------------------------------------------------------------------------- bad input

X5, Y5 = np.arange(10.0).reshape(5, 2), np.array([0, 1, 0, 1, 1])
X20, Y20 = np.tile([[1.0], [-1.0], [1.0], [1.0]], (5, 1)), np.tile([0, 1, 1, 0], 5)
BAD = [
    ({"alpha": -1.0}, {}, "alpha"),
    ({"alpha": 0.0}, {}, "alpha must be > 0 since learning_rate is 'optimal'"),
    ({"batch_size": 0}, {}, "batch_size"),
    ({"eta0": 0.0}, {}, "eta0"),
    ({"loss": "zero_one"}, {}, "loss"),
    ({"loss": losses.poisson}, {}, "poisson.* is for targets of the kind 'count'"),
    ({"loss": "log_loss", "learning_rate": "pa1"}, {}, "only works with loss 'hinge'"),
    ({"penalty": "elasticnet", "l1_ratio": None}, {}, "l1_ratio must be set"),
    ({"loss": "huber", "epsilon": 0.0}, {}, "delta must be > 0"),
    ({}, {"sample_weight": np.zeros(5)}, "zero"),
    ({}, {"sample_weight": -np.ones(5)}, "[Nn]egative"),
    ({}, {"sample_weight": np.ones(4)}, "sample_weight.shape"),
    ({}, {"X": np.full((5, 2), np.nan)}, "NaN"),
    ({}, {"X": np.full((5, 2), np.inf)}, "infinity"),
    ({}, {"X": np.empty((0, 2)), "y": []}, "0 sample"),
    ({}, {"X": [["a", "b"]] * 5}, "could not convert"),
    ({}, {"y": np.ones(5)}, "greater than one; got 1 class"),
    ({}, {"y": [0.5, 1.2, 0.1, 2.0, 3.3]}, "continuous"),
    ({}, {"y": [0, 1, np.nan, 1, 0]}, "NaN"),
    ({"early_stopping": True}, {"X": X20, "y": Y20, "sample_weight": np.zeros(20)}, "all zero"),
    (
        {"learning_rate": "constant", "eta0": 1e10},
        {"X": X20 * 1e308, "y": Y20},
        "overflow occurred at epoch",
    ),
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # said by kernels that run as plain Python
@pytest.mark.parametrize(("parameters", "data", "message"), BAD)
def test_refuses(parameters, data, message):
    arguments = {"X": X5, "y": Y5, **data}
    with pytest.raises(ValueError, match=message):
        SGDClassifier(**parameters).fit(**arguments)


def test_refuses_in_partial_fit_and_regression():
    with pytest.raises(ValueError, match="early_stopping should be False"):
        SGDRegressor(early_stopping=True).partial_fit(X5, Y5)
    with pytest.raises(ValueError, match="'balanced' is not supported"):
        SGDClassifier(class_weight="balanced").partial_fit(X5, Y5, classes=[0, 1])
    with pytest.raises(ValueError, match="classes must be passed"):
        SGDClassifier().partial_fit(X5, Y5)
    model = SGDClassifier().partial_fit(X5, Y5, classes=[0, 1])
    with pytest.raises(ValueError, match=r"labels \[7\] that are not in classes"):
        model.partial_fit(X5, [7, 7, 7, 7, 7])
    with pytest.raises(ValueError, match="not the same as on last call"):
        model.partial_fit(X5, Y5, classes=[0, 2])
    with pytest.raises(ValueError, match="only works with loss 'epsilon_insensitive'"):
        SGDRegressor(learning_rate="pa2").fit(X5, Y5)
    with pytest.raises(ValueError, match="1d array"):
        SGDRegressor().fit(X5, X5)
    with pytest.warns(FutureWarning, match="power_t"):
        SGDRegressor(power_t=-0.5, random_state=0, max_iter=2, tol=None).fit(X5 / 10, Y5)


ODD = {
    "collinear": lambda X, y: (np.column_stack([X, X]), y),
    "constant column": lambda X, y: (np.column_stack([X, np.full(len(y), 3.0)]), y),
    "more columns than rows": lambda X, y: (X[:4], y[:4]),
    "tiny": lambda X, y: (1e-8 * X, y),
}


@pytest.mark.parametrize("change", ODD)
def test_odd_data_are_still_fitted(change):
    X, y = ODD[change](*labels())
    model = SGDClassifier(random_state=0).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert model.score(X, y) >= 0.5


def test_target_far_from_zero():
    X, y = numbers()
    model = SGDRegressor(random_state=0, eta0=0.01, max_iter=3000, tol=None, average=10_000)
    residual = (y + 1e8) - model.fit(X, y + 1e8).predict(X)
    assert abs(residual.mean()) < 1.0


def test_warns_with_advice():
    X, y = labels()
    with pytest.warns(ConvergenceWarning, match="after 2 epochs; raise max_iter"):
        SGDClassifier(max_iter=2).fit(X, y)


def checks():
    """scikit-learn's, less the one on repeated rows that no learner by single rows can pass.

    Weight 2 is one step of double length; a row that occurs twice makes two steps.
    """
    models = (SGDClassifier(), SGDClassifier("log_loss", penalty="elasticnet", average=True))
    for model in (*models, SGDRegressor(), SGDRegressor("squared_error", batch_size=3)):
        for k, (estimator, check) in enumerate(estimator_checks_generator(model)):
            name = check.func.__name__
            if not name.startswith("check_sample_weight_equivalence"):
                yield pytest.param(estimator, check, id=f"{name}-{k}-{model}")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("estimator", "check"), checks())
def test_scikit_learn_checks(estimator, check):
    check(estimator)
