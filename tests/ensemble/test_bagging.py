"""Bagging: scikit-learn's answers with the same members, ours by default"""

import numpy as np
import pytest
import sklearn.ensemble
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.estimator_checks import parametrize_with_checks

import mlreplica.ensemble
from mlreplica.datasets import load_diabetes, load_iris
from mlreplica.ensemble import BaggingClassifier, BaggingRegressor
from mlreplica.linear_model import LogisticRegression, Ridge
from mlreplica.tree import DecisionTreeClassifier, DecisionTreeRegressor

RANDOM = "rows are drawn: a repeated one is drawn otherwise (left out by scikit-learn too)"
LEFT_OUT = {
    f"check_sample_weight_equivalence_on_{kind}_data": RANDOM for kind in ("dense", "sparse")
}


@parametrize_with_checks(
    [BaggingClassifier(n_estimators=3), BaggingRegressor(n_estimators=3)],
    expected_failed_checks=lambda _: LEFT_OUT,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_the_same_answers_as_scikit_learn(n_jobs):
    X, y = load_iris(return_X_y=True)
    options = {"max_samples": 0.7, "max_features": 0.6, "random_state": 0, "n_estimators": 5}
    ours, theirs = (
        module.BaggingClassifier(LogisticRegression(), **options, n_jobs=jobs).fit(X, y)
        for module, jobs in ((sklearn.ensemble, None), (mlreplica.ensemble, n_jobs))
    )
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9)
    assert_array_equal(ours.estimators_samples_, theirs.estimators_samples_)
    X, y = load_diabetes(return_X_y=True)
    ours = BaggingRegressor(Ridge(), oob_score=True, n_jobs=n_jobs, random_state=0, n_estimators=30)
    theirs = sklearn.ensemble.BaggingRegressor(
        Ridge(), oob_score=True, random_state=0, n_estimators=30
    )
    assert_allclose(ours.fit(X, y).predict(X), theirs.fit(X, y).predict(X), rtol=1e-9)
    assert ours.oob_score_ == pytest.approx(theirs.oob_score_)


def test_a_draw_may_leave_one_class_only():
    X, y = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1, 0])
    model = BaggingClassifier(LogisticRegression(), n_estimators=20, random_state=1).fit(X, y)
    drawn = [set(y[rows]) for rows in model.estimators_samples_]
    assert {len(classes) for classes in drawn} == {1, 2}
    for member, classes in zip(model.estimators_, drawn, strict=True):
        assert set(member.predict(X)) == classes


def test_members_are_our_trees_by_default():
    X, y = load_iris(return_X_y=True)
    for cls, member in (
        (BaggingClassifier, DecisionTreeClassifier),
        (BaggingRegressor, DecisionTreeRegressor),
    ):
        model = cls(random_state=0).fit(X, y)
        assert all(type(tree) is member for tree in model.estimators_)
        assert np.mean(np.round(model.predict(X)) == y) > 0.95
