"""Calibration: classifiers with curves, and reliability curves"""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.calibration
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

import mlreplica
from mlreplica.calibration import CalibratedClassifierCV, calibration_curve
from mlreplica.calibration._classifier import CalibratedMember
from mlreplica.calibration._curves import Sigmoid, Temperature, slope
from mlreplica.linear_model import LogisticRegression, RidgeClassifier
from mlreplica.naive_bayes import GaussianNB

METHODS = ["sigmoid", "isotonic", "temperature"]


def rows(n=300, K=2, seed=0):
    return make_classification(
        n, 6, n_informative=4, n_classes=K, flip_y=0.2, random_state=seed, shuffle=True
    )


def log_loss(beta, f, y, w):
    """L of (3)."""
    return -w @ log_softmax(beta * f, axis=1)[np.arange(len(y)), y]


# (a) properties


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 1000), st.integers(2, 4), st.floats(0.1, 10.0))
def test_slope_and_curvature_are_the_derivatives_of_the_loss(seed, K, beta):
    rng = np.random.default_rng(seed)
    f, y, w = rng.normal(size=(12, K)), rng.integers(0, K, 12), rng.random(12)
    right = f[np.arange(12), y]
    h = 1e-5 * beta
    first, second = slope(f, right, w, beta)
    change = log_loss(beta + h, f, y, w) - log_loss(beta - h, f, y, w)
    assert_allclose(first, change / (2 * h), rtol=1e-5, atol=1e-7)
    change = slope(f, right, w, beta + h)[0] - slope(f, right, w, beta - h)[0]
    assert_allclose(second, change / (2 * h), rtol=1e-5, atol=1e-7)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 1000), st.integers(2, 4), st.floats(1e-3, 1e3))
def test_no_temperature_is_better(seed, K, scale):
    rng = np.random.default_rng(seed)
    f, y, w = scale * rng.normal(size=(40, K)), rng.integers(0, K, 40), rng.random(40)
    f[np.arange(40), y] += scale
    beta = Temperature().fit(f, y, w).beta_
    best = log_loss(beta, f, y, w)
    for other in beta * np.array([0.5, 0.99, 1.01, 2.0]):
        assert best <= log_loss(other, f, y, w) + 1e-12


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 1000), st.floats(1e-6, 1e6), st.floats(-3, 3))
def test_units_of_the_scores_do_not_matter_to_the_sigmoid(seed, scale, shift):
    rng = np.random.default_rng(seed)
    f = rng.normal(size=60)
    y = (rng.random(60) < 1 / (1 + np.exp(-2 * f))).astype(float)
    one = Sigmoid().fit(f, y).predict(f)
    moved = scale * (f + shift)
    assert_allclose(Sigmoid().fit(moved, y).predict(moved), one, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("ensemble", [True, False])
@pytest.mark.parametrize("K", [2, 3])
def test_a_weight_counts_like_repeated_rows(method, ensemble, K):
    X, y = rows(90, K)
    s = np.random.default_rng(0).integers(1, 3, 90)
    where = np.repeat(np.arange(90), s)
    folds = [(np.arange(90) % 3 != k, np.arange(90) % 3 == k) for k in range(3)]
    one = [(np.flatnonzero(a), np.flatnonzero(b)) for a, b in folds]
    two = [(np.flatnonzero(a[where]), np.flatnonzero(b[where])) for a, b in folds]
    given = {"method": method, "ensemble": ensemble}
    weighted = CalibratedClassifierCV(GaussianNB(), cv=one, **given).fit(X, y, s)
    repeated = CalibratedClassifierCV(GaussianNB(), cv=two, **given).fit(X[where], y[where])
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("K", [2, 4])
def test_probabilities_add_up_and_keep_the_order(method, K):
    X, y = rows(400, K)
    model = CalibratedClassifierCV(LogisticRegression(), method=method, cv=3).fit(X, y)
    p = model.predict_proba(X)
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert (p >= 0).all()
    assert_array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])
    if K == 2:
        frozen = FrozenEstimator(LogisticRegression().fit(X, y))
        p = CalibratedClassifierCV(frozen, method=method).fit(X, y).predict_proba(X)[:, 1]
        order = np.argsort(frozen.decision_function(X))
        assert (np.diff(p[order]) >= -1e-15).all()


# (b) the naive version


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 1000))
def test_a_general_minimiser_finds_the_same_sigmoid(seed):
    rng = np.random.default_rng(seed)
    f, w = rng.normal(size=50), rng.uniform(0.1, 2.0, 50)
    y = (rng.random(50) < 1 / (1 + np.exp(-f))).astype(float)
    plus, minus = w[y == 1].sum(), w[y == 0].sum()
    t = np.where(y == 1, (plus + 1) / (plus + 2), 1 / (minus + 2))
    loss = lambda v: w @ (np.logaddexp(0, v[0] * f + v[1]) - (1 - t) * (v[0] * f + v[1]))
    ours = Sigmoid().fit(f, y, w)
    found = minimize(loss, [0.0, 0.0], tol=1e-10)
    assert loss([ours.a_, ours.b_]) <= found.fun + 1e-10
    assert_allclose([ours.a_, ours.b_], found.x, rtol=1e-3, atol=1e-4)


def test_bins_by_hand():
    y, p = [1, 0, 1, 1, 0], [0.1, 0.2, 0.5, 0.6, 1.0]
    share, mean = calibration_curve(y, p, n_bins=2)  # 0.5 belongs to the lower bin
    assert_allclose(share, [2 / 3, 1 / 2])
    assert_allclose(mean, [0.8 / 3, 0.8])


# (c) scikit-learn


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("ensemble", [True, False])
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("classifier", [GaussianNB(), LogisticRegression(), RidgeClassifier()])
@pytest.mark.parametrize("weighted", [True, False])
def test_scikit_learn_agrees(method, ensemble, K, classifier, weighted):
    X, y = rows(240, K)
    w = np.random.default_rng(1).random(240) if weighted else None
    given = {"method": method, "ensemble": ensemble, "cv": 3}
    ours = CalibratedClassifierCV(classifier, **given).fit(X, y, w)
    theirs = sklearn.calibration.CalibratedClassifierCV(classifier, **given).fit(X, y, w)
    atol = 1e-4 if method == "sigmoid" else 1e-6  # they stop L-BFGS early
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=atol)
    assert len(ours.calibrated_classifiers_) == len(theirs.calibrated_classifiers_)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("ensemble", ["auto", True, False])
def test_a_fitted_classifier_is_not_fitted_again(method, ensemble):
    X, y = rows()
    y = np.array(["no", "yes"])[y]
    frozen = FrozenEstimator(GaussianNB().fit(X[:100], y[:100]))
    found = []
    for kind in (CalibratedClassifierCV, sklearn.calibration.CalibratedClassifierCV):
        model = kind(frozen, method=method, ensemble=ensemble).fit(X[100:], y[100:])
        found.append(model.predict_proba(X))
        assert len(model.calibrated_classifiers_) == (5 if ensemble is True else 1)
        assert model.calibrated_classifiers_[0].estimator.estimator is frozen.estimator
    assert_allclose(*found, atol=1e-4)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 1000), st.integers(1, 12), st.sampled_from(["uniform", "quantile"]))
def test_reliability_curves_are_scikit_learns(seed, n_bins, strategy):
    rng = np.random.default_rng(seed)
    y, p = rng.integers(0, 2, 50), rng.integers(0, 11, 50) / 10
    given = {"n_bins": n_bins, "strategy": strategy, "pos_label": 1}
    theirs = sklearn.calibration.calibration_curve(y, p, **given)
    for ours, other in zip(calibration_curve(y, p, **given), theirs, strict=True):
        assert_allclose(ours, other, rtol=1e-12)


# (d) scikit-learn's checks


@parametrize_with_checks(
    [
        CalibratedClassifierCV(method=method, ensemble=ensemble)
        for method in METHODS
        for ensemble in (True, False)
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# (e) bad and hard input


def test_bad_input_says_what_is_wrong():
    X, y = rows(30)
    with pytest.raises(ValueError, match=r"Requesting 20-fold .* use fewer folds"):
        CalibratedClassifierCV(cv=20).fit(X, y)
    with pytest.raises(ValueError, match="LeaveOneOut"):
        CalibratedClassifierCV(cv=LeaveOneOut()).fit(X, y)
    with pytest.raises(ValueError, match="outside"):
        calibration_curve([0, 1], [-0.1, 0.5])
    with pytest.raises(ValueError, match="outside"):
        calibration_curve([0, 1], [np.nan, 0.5])
    with pytest.raises(ValueError, match="Only binary"):
        calibration_curve([0, 1, 2], [0.1, 0.5, 0.6], pos_label=1)
    with pytest.raises(ValueError, match="Negative values"):
        CalibratedClassifierCV().fit(X, y, -np.ones(30))


class Pairs(ClassifierMixin, BaseEstimator):
    """Scores of other shapes, or none that are finite."""

    def __init__(self, columns=6, value=0.0):
        self.columns = columns
        self.value = value

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return np.full((len(X), self.columns), self.value)


def test_scores_that_cannot_be_calibrated():
    X, y = rows(80, 4)
    with pytest.raises(ValueError, match="6 columns for 4 classes"):
        CalibratedClassifierCV(Pairs()).fit(X, y)
    with pytest.raises(ValueError, match="not finite"):
        CalibratedClassifierCV(Pairs(4, np.nan)).fit(X, y)
    flat = CalibratedClassifierCV(Pairs(4), method="isotonic").fit(X, y).predict_proba(X)
    assert_allclose(flat, np.tile(np.bincount(y) / 80, (80, 1)), atol=0.02)


def test_weights_that_the_classifier_does_not_take():
    X, y = rows(60)
    model = CalibratedClassifierCV(Pairs(1), cv=2)
    with pytest.warns(UserWarning, match="does not appear to accept sample_weight"):
        model.fit(X, y, np.ones(60))
    with warnings.catch_warnings(action="error"):
        model.fit(X, y)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("K", [2, 3, 4])
def test_a_fold_that_lacks_a_class(method, K):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.sort(rng.integers(0, K, 60))
    X[:, 0] += y
    model = CalibratedClassifierCV(GaussianNB(), method=method, cv=KFold(K))
    if method == "temperature" and K == 2:  # a fold knows no class of its test rows
        X, y = np.vstack([X, X[:30]]), np.r_[y, y[:30]]
    p = model.fit(X, y).predict_proba(X)
    assert p.shape == (len(X), K)
    assert_allclose(p.sum(axis=1), 1.0)


def test_separated_scores_stop_at_the_end_of_the_bracket():
    f, y = np.array([[1.0, -1.0], [-1.0, 1.0]]), np.array([0, 1])
    assert_allclose(Temperature().fit(f, y).beta_, np.exp(10.0))
    assert_allclose(Temperature().fit(f, 1 - y).beta_, np.exp(-10.0))


def test_sparse_rows_and_threads():
    X, y = rows()
    model = CalibratedClassifierCV(cv=StratifiedKFold(3), n_jobs=2).fit(X, y)
    again = CalibratedClassifierCV(cv=3).fit(sp.csr_array(X), y)
    assert_allclose(again.predict_proba(sp.csr_array(X)), model.predict_proba(X), atol=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_files_hold_it(tmp_path, method):
    X, y = rows(K=3)
    frozen = FrozenEstimator(GaussianNB().fit(X, y))
    for model in (CalibratedClassifierCV(method=method, cv=2), CalibratedClassifierCV(frozen)):
        model.fit(X, y)
        for again in (
            mlreplica.load(mlreplica.save(model, tmp_path / "m.skops")),
            pickle.loads(pickle.dumps(model)),
        ):
            assert_array_equal(again.predict_proba(X), model.predict_proba(X))
            assert type(again.calibrated_classifiers_[0]) is CalibratedMember
    model.classes_ = model.classes_[:2]
    with pytest.raises(ValueError, match="classes_"):
        mlreplica.load(mlreplica.save(model, tmp_path / "m.skops"))


@pytest.mark.parametrize("method", ["sigmoid", "temperature"])
def test_curves_are_estimators(method):
    model = CalibratedClassifierCV(GaussianNB(), method=method, cv=2).fit(*rows())
    curve = model.calibrated_classifiers_[0].calibrators[0]
    check_is_fitted(curve)
    if method == "temperature":
        assert curve.beta_.dtype == np.float64
