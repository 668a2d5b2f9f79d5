import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.ensemble
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from mlreplica.callbacks import Trace
from mlreplica.ensemble import AdaBoostClassifier, AdaBoostRegressor
from mlreplica.inspection import boosting_margins
from mlreplica.tree import DecisionTreeClassifier


def rows(n=60, p=3, k=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = X[:, 0] + X[:, 1] * X[:, -1] + 0.5 * rng.normal(size=n)
    return X, np.searchsorted(np.quantile(y, np.arange(1, k) / k), y)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 99), k=st.integers(2, 4), rate=st.sampled_from([0.3, 1.0]))
def test_the_objective_falls_and_is_the_exponential_loss_of_the_votes(seed, k, rate):
    X, y = rows(seed=seed, k=k)
    trace = Trace()
    model = AdaBoostClassifier(n_estimators=12, learning_rate=rate, random_state=0)
    model.set_callbacks(trace).fit(X, y)
    J = np.array(trace.scalars()["objective"])
    assert (np.diff(J, prepend=1.0) < 0.0).all()
    F = np.zeros((len(y), k))  # equation (1)
    for learner, alpha in zip(model.estimators_, model.estimator_weights_, strict=False):
        F += alpha * ((learner.predict(X)[:, None] == np.arange(k)) - 1.0 / k)
    assert_allclose(np.mean(np.exp(-F[np.arange(len(y)), y])), J[-1], rtol=1e-9)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 99))
def test_a_weight_is_a_number_of_repetitions(seed):
    X, y = rows(seed=seed, k=3)
    rng = np.random.default_rng(seed)
    times, w = rng.integers(0, 3, size=len(y)), rng.uniform(size=len(y))  # w: no two classes tie
    times[[np.flatnonzero(y == c)[0] for c in range(3)]] = 1  # all classes stay
    weighted = AdaBoostClassifier(n_estimators=5, random_state=0).fit(X, y, w * times)
    repeated = AdaBoostClassifier(n_estimators=5, random_state=0)
    repeated.fit(*(np.repeat(a, times, axis=0) for a in (X, y, w)))
    assert_allclose(weighted.estimator_errors_, repeated.estimator_errors_, atol=1e-12)
    seen = X[times > 0]
    assert_allclose(weighted.predict_proba(seen), repeated.predict_proba(seen), atol=1e-9)


def test_naive_adaboost_agrees():
    X, y = rows()
    sign = 2.0 * y - 1.0
    model = AdaBoostClassifier(n_estimators=8, random_state=0).fit(X, y)
    w, F = np.full(len(y), 1.0 / len(y)), np.zeros(len(y))
    for _ in range(8):
        best = (-1.0,)
        for j in range(X.shape[1]):
            cuts = np.unique(X[:, j])
            for c in (cuts[1:] + cuts[:-1]) / 2.0:
                left = X[:, j] <= c
                sides = [(w[s].sum(), (w * sign)[s].sum()) for s in (left, ~left)]
                score = sum(d * d / t for t, d in sides)
                if score > best[0] + 1e-13:
                    best = score, np.where(left, sides[0][1] > 0, sides[1][1] > 0)
        wrong = best[1] != y
        error = w[wrong].sum()
        alpha = np.log((1.0 - error) / error)
        F += alpha * np.where(best[1], 1.0, -1.0)
        w *= np.exp(alpha * wrong)
        w /= w.sum()
    expected = 2.0 * F / model.estimator_weights_.sum()
    assert_allclose(model.decision_function(X), expected, atol=1e-9)


@pytest.mark.parametrize(
    ("load", "weighted"), [(load_iris, False), (load_wine, True), (load_breast_cancer, True)]
)
def test_same_as_scikit_learn(load, weighted):
    X, y = load(return_X_y=True)
    w = np.random.default_rng(0).random(len(y)) if weighted else None
    ours = AdaBoostClassifier(n_estimators=20, random_state=0).fit(X, y, sample_weight=w)
    theirs = sklearn.ensemble.AdaBoostClassifier(n_estimators=20, random_state=0)
    theirs.fit(X, y, sample_weight=w)
    assert_allclose(ours.estimator_weights_, theirs.estimator_weights_, rtol=1e-9)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-9)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-9)
    for a, b in zip(ours.staged_predict(X), theirs.staged_predict(X), strict=True):
        assert_array_equal(a, b)


@pytest.mark.parametrize("loss", ["linear", "square", "exponential"])
def test_regressor_starts_as_scikit_learns_does(loss):
    X, y = load_diabetes(return_X_y=True)
    ours = AdaBoostRegressor(n_estimators=5, loss=loss, random_state=0).fit(X, y)
    theirs = sklearn.ensemble.AdaBoostRegressor(n_estimators=5, loss=loss, random_state=0)
    theirs.fit(X, y)
    assert_allclose(ours.estimator_errors_[0], theirs.estimator_errors_[0], rtol=1e-9)
    first = next(ours.staged_predict(X)), next(theirs.staged_predict(X))
    assert np.mean(np.abs(first[0] - first[1]) > 1e-6) < 0.01  # a row at a threshold, in float32
    assert abs(ours.score(X, y) - theirs.score(X, y)) < 0.03


def test_any_learner():
    X, y = rows(k=3)
    model = AdaBoostClassifier(LogisticRegression(), n_estimators=5, random_state=0).fit(X, y)
    theirs = sklearn.ensemble.AdaBoostClassifier(
        LogisticRegression(), n_estimators=5, random_state=0
    ).fit(X, y)
    assert_allclose(model.decision_function(X), theirs.decision_function(X), atol=1e-12)
    with pytest.raises(AttributeError, match="feature_importances_"):
        _ = model.feature_importances_
    regressor = AdaBoostRegressor(LinearRegression(), n_estimators=5, random_state=0).fit(X, y)
    theirs = sklearn.ensemble.AdaBoostRegressor(
        LinearRegression(), n_estimators=5, random_state=0
    ).fit(X, y)
    assert_allclose(regressor.predict(X), theirs.predict(X), atol=1e-12)


def test_prepared_columns_and_clones_give_the_same_model():
    X, y = rows(k=3)
    tree = DecisionTreeClassifier(max_depth=2)
    fast = AdaBoostClassifier(tree, n_estimators=6, random_state=0).fit(X, y)
    slow = AdaBoostClassifier(tree, n_estimators=6, random_state=0).fit(sp.csr_array(X), y)
    assert_allclose(fast.decision_function(X), slow.decision_function(X), atol=1e-12)
    for a, b in zip(fast.staged_predict_proba(X), slow.staged_predict_proba(X), strict=True):
        assert_allclose(a, b, atol=1e-12)


def test_deterministic_pickle_clone():
    X, y = rows(k=3)
    model = AdaBoostClassifier(n_estimators=5, random_state=3).fit(X, y)
    again = clone(model).fit(X, y)
    assert_array_equal(model.decision_function(X), again.decision_function(X))
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sample_weight": -np.ones(60)}, "Negative values"),
        ({"y": np.full(60, np.nan)}, "NaN"),
        ({"X": np.full((60, 3), np.inf)}, "infinity"),
        ({"y": np.zeros(59)}, "inconsistent"),
        ({"y": np.linspace(0.0, 1.0, 60)}, "continuous"),
    ],
)
def test_bad_input(change, message):
    X, y = rows()
    with pytest.raises(ValueError, match=message):
        AdaBoostClassifier().fit(**{"X": X, "y": y, **change})


def test_edges():
    X, y = rows()
    one = AdaBoostClassifier().fit(X, np.zeros(60))
    assert_array_equal(one.predict_proba(X), np.ones((60, 1)))
    with pytest.raises(ValueError, match="worse than random"):
        AdaBoostClassifier().fit(np.zeros((64, 3)), np.arange(64) % 2)
    constant = AdaBoostRegressor(n_estimators=3).fit(X, np.ones(60))
    assert_array_equal(constant.predict(X), np.ones(60))
    extreme = X * np.array([1e-300, 1e300, 1.0])
    plain = AdaBoostClassifier(n_estimators=5, random_state=0).fit(X, y)
    scaled = AdaBoostClassifier(n_estimators=5, random_state=0).fit(extreme, y)
    assert_allclose(scaled.decision_function(extreme), plain.decision_function(X), atol=1e-12)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 99), theta=st.floats(-0.5, 0.5), rate=st.sampled_from([0.5, 1.0]))
def test_margins_stay_below_their_bound(seed, theta, rate):
    X, y = rows(seed=seed)
    model = AdaBoostClassifier(n_estimators=15, learning_rate=rate, random_state=0).fit(X, y)
    found = boosting_margins(model, X, y)
    assert (found.share(theta) <= found.bound(theta) + 1e-12).all()
    right = model.predict(X) == y
    assert ((found.margins[-1] > 0.0) <= right).all()
    sign = 2.0 * y - 1.0
    assert_allclose(found.margins[-1], sign * model.decision_function(X) / 2.0, atol=1e-12)


def test_margins_of_more_classes_and_of_scikit_learn():
    X, y = rows(k=3)
    ours = AdaBoostClassifier(n_estimators=5, random_state=0).fit(X, y)
    theirs = sklearn.ensemble.AdaBoostClassifier(n_estimators=5, random_state=0).fit(X, y)
    found = boosting_margins(ours, X, y)
    assert_allclose(found.margins, boosting_margins(theirs, X, y).margins, atol=1e-9)
    margin, share = found.distribution()
    assert share[-1] == 1.0
    assert (np.diff(margin) >= 0.0).all()
    with pytest.raises(ValueError, match="two classes"):
        found.bound(0.0)
    with pytest.raises(ValueError, match="not fitted to"):
        boosting_margins(ours, X, y + 1)


@parametrize_with_checks([AdaBoostClassifier(n_estimators=5), AdaBoostRegressor(n_estimators=5)])
def test_contract(estimator, check):
    check(estimator)


def test_fit_need_not_return_the_learner():
    class Mute(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            super().fit(X, y, sample_weight)

    X, y = load_iris(return_X_y=True)
    model = AdaBoostClassifier(Mute(), n_estimators=2).fit(X, y)
    assert all(isinstance(learner, Mute) for learner in model.estimators_)
