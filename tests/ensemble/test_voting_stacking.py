"""Voting and stacking: scikit-learn's answers, votes counted naively, threads"""

import numpy as np
import pytest
import sklearn.ensemble
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import mlreplica.ensemble
from mlreplica.ensemble import (
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from mlreplica.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeCV
from mlreplica.tree import DecisionTreeClassifier

CLASSIFIERS = [("logistic", LogisticRegression()), ("bayes", GaussianNB())]
REGRESSORS = [("ridge", Ridge()), ("squares", LinearRegression())]


# A naive Bayes of scikit-learn divides by zero where weights leave one class; a tree does not.
SOUND = [("logistic", LogisticRegression()), ("tree", DecisionTreeClassifier(random_state=0))]


@parametrize_with_checks(
    [
        VotingClassifier(SOUND),
        VotingRegressor(REGRESSORS),
        StackingClassifier(SOUND, cv=2),
        StackingRegressor(REGRESSORS, cv=2),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10**6), members=st.integers(1, 5), weighted=st.booleans())
def test_votes_are_counted_as_one_by_one(seed, members, weighted):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 3)), rng.choice(["a", "b", "c"], 60)
    models = [(f"k{k}", KNeighborsClassifier(k + 1)) for k in range(members)]
    weights = rng.integers(1, 4, members).astype(float) if weighted else None
    votes = weights if weighted else np.ones(members)
    vote = VotingClassifier(models, weights=weights).fit(X, y)
    answers = np.array([model.predict(X) for model in vote.estimators_])
    for i, found in enumerate(vote.predict(X)):
        counts = [votes[answers[:, i] == k].sum() for k in range(3)]
        assert found == "abc"[int(np.argmax(counts))]


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_the_same_answers_as_scikit_learn(n_jobs):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    weights = np.linspace(0.5, 1.5, len(y))
    three = [*CLASSIFIERS, ("near", KNeighborsClassifier())]
    for options in ({}, {"voting": "soft", "weights": [1, 2, 3]}, {"weights": [0.2, 2, 1]}):
        ours = VotingClassifier(three, n_jobs=n_jobs, **options).fit(X, names)
        theirs = sklearn.ensemble.VotingClassifier(three, **options).fit(X, names)
        assert_array_equal(ours.predict(X), theirs.predict(X))
        assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-7)
    ours = StackingClassifier(CLASSIFIERS, LogisticRegression(), n_jobs=n_jobs)
    theirs = sklearn.ensemble.StackingClassifier(CLASSIFIERS, LogisticRegression())
    assert_allclose(
        ours.fit(X, names, sample_weight=weights).predict_proba(X),
        theirs.fit(X, names, sample_weight=weights).predict_proba(X),
        rtol=1e-6,
    )
    X, y = load_diabetes(return_X_y=True)
    near = [*REGRESSORS, ("near", KNeighborsRegressor())]
    for cls, options in (("VotingRegressor", {}), ("StackingRegressor", {"passthrough": True})):
        pair = [
            getattr(module, cls)(near, **options).fit(X, y).predict(X)
            for module in (mlreplica.ensemble, sklearn.ensemble)
        ]
        assert_allclose(*pair, rtol=1e-6)


def test_level_two_is_ours_by_default():
    X, y = load_iris(return_X_y=True)
    assert isinstance(
        StackingClassifier(CLASSIFIERS).fit(X, y).final_estimator_, LogisticRegression
    )
    assert isinstance(StackingRegressor(REGRESSORS).fit(X, y).final_estimator_, RidgeCV)


def test_what_is_wrong_is_told():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="non-empty list"):
        VotingClassifier([]).fit(X, y)
    with pytest.raises(ValueError, match="weights must be equal"):
        VotingClassifier(CLASSIFIERS, weights=[1]).fit(X, y)
    with pytest.raises(ValueError, match="should be a classifier"):
        VotingClassifier(REGRESSORS).fit(X, y)
    with pytest.raises(ValueError, match="should be a regressor"):
        StackingRegressor(REGRESSORS, LogisticRegression()).fit(X, y)
    with pytest.raises(ValueError, match="should be a classifier"):
        StackingClassifier(CLASSIFIERS, Ridge()).fit(X, y)
    with pytest.raises(ValueError, match=r"Input .* contains NaN"):
        VotingClassifier(CLASSIFIERS).fit(X * np.nan, y)


def test_an_outer_choice_of_workers_wins():
    X, y = load_iris(return_X_y=True)
    vote = VotingClassifier(CLASSIFIERS, n_jobs=2)
    with parallel_config(backend="sequential"):
        alone = clone(vote).fit(X, y).predict(X)
    assert_array_equal(alone, vote.fit(X, y).predict(X))
