"""The textbook files of trees, forests and histogram boosting against the engines"""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mlreplica import losses
from mlreplica.core.growth.textbook import best_split, grow_tree, predict
from mlreplica.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from mlreplica.ensemble.forest.textbook import grow_forest
from mlreplica.ensemble.histogram.textbook import boost
from mlreplica.tree import DecisionTreeClassifier, DecisionTreeRegressor

seeds = st.integers(0, 10_000)


def problem(seed, n=80, p=4, n_classes=0):
    """Random rows, some values equal, with random weights, so that no two splits gain alike."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X[:, 0] = X[:, 0].round(1)
    f = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n)
    w = rng.uniform(0.5, 2.0, size=n) * (rng.random(n) > 0.1)
    if not n_classes:
        return X, f, w
    return X, np.digitize(f, np.quantile(f, np.arange(1, n_classes) / n_classes)), w


def limits_of(seed):
    rng = np.random.default_rng(seed)
    depth = int(rng.integers(1, 12))
    leaf = int(rng.integers(1, 9))
    return {"max_depth": depth, "min_samples_leaf": leaf, "min_samples_split": 2 * leaf}


@given(seed=seeds)
@settings(max_examples=25, deadline=None)
def test_regression_tree(seed):
    X, y, w = problem(seed)
    limits = limits_of(seed)
    engine = DecisionTreeRegressor(**limits).fit(X, y, sample_weight=w)
    root = grow_tree(X, y[:, None], w, **limits)
    seen = w > 0
    assert_allclose(engine.predict(X[seen]), predict(root, X[seen])[:, 0], rtol=1e-9, atol=1e-12)


@given(seed=seeds, criterion=st.sampled_from(["gini", "entropy"]), n_classes=st.integers(2, 4))
@settings(max_examples=25, deadline=None)
def test_classification_tree(seed, criterion, n_classes):
    X, y, w = problem(seed, n_classes=n_classes)
    limits = limits_of(seed)
    engine = DecisionTreeClassifier(criterion=criterion, **limits).fit(X, y, sample_weight=w)
    root = grow_tree(X, np.eye(n_classes)[y], w, criterion=criterion, **limits)
    seen = w > 0
    found = predict(root, X[seen])[:, np.isin(np.arange(n_classes), y)]
    assert_allclose(engine.predict_proba(X[seen]), found, rtol=1e-9, atol=1e-12)


@given(seed=seeds)
@settings(max_examples=10, deadline=None)
def test_forest_of_the_same_draws(seed):
    X, y, _ = problem(seed, n=300)
    limits = {"max_depth": 2, "min_samples_leaf": 40}  # no two columns part the rows alike
    # of 40 draws no row is in all: 300 · 0.63⁴⁰ = 3e-6
    model = RandomForestRegressor(
        40, max_features=None, random_state=seed, oob_score=True, **limits
    ).fit(X, y)
    forest = grow_forest(X, y[:, None], draws=model.estimators_samples_, **limits)
    assert_allclose(model.predict(X), forest.predict(X)[:, 0], rtol=1e-9, atol=1e-12)
    assert_allclose(model.oob_prediction_, forest.out_of_bag[:, 0], rtol=1e-9, atol=1e-12)


@given(seed=seeds, classes=st.sampled_from([0, 2, 3]))
@settings(max_examples=15, deadline=None)
def test_every_split_of_a_forest_is_the_best_on_its_column(seed, classes):
    X, y, _ = problem(seed, n=120, p=9, n_classes=classes)
    kind = RandomForestClassifier if classes else RandomForestRegressor
    model = kind(3, max_features=2, random_state=seed).fit(X, y)
    Y = np.eye(classes)[y] if classes else y[:, None]
    for tree, rows in zip(model.estimators_, model.estimators_samples_, strict=True):
        w = np.bincount(rows, minlength=len(X)).astype(float)
        path = tree.tree_.decision_path(X).toarray().astype(bool)
        for node in np.flatnonzero(tree.tree_.children_left >= 0):
            here = path[:, node] & (w > 0)
            x, t = X[here, tree.tree_.feature[node]], tree.tree_.threshold[node]
            criterion = "gini" if classes else "squared_error"
            best, threshold = best_split(x, Y[here], w[here], criterion)
            cost = 0.0
            for side in (x <= t, x > t):
                part, W = Y[here][side], w[here][side]
                cost += W @ np.sum(part**2, axis=1) - np.sum((W @ part) ** 2) / W.sum()
            assert_allclose(cost, best, rtol=1e-9, atol=1e-9)
            if classes == 0:
                assert_allclose(t, threshold, rtol=1e-12)


@given(seed=seeds, bins=st.sampled_from([255, 12]), penalty=st.sampled_from([0.0, 2.0]))
@settings(max_examples=15, deadline=None)
def test_histogram_boosting_of_numbers(seed, bins, penalty):
    X, y, _ = problem(seed, n=300)
    shared = {"max_iter": 8, "max_leaf_nodes": 7, "min_samples_leaf": 10, "max_bins": bins}
    engine = HistGradientBoostingRegressor(
        **shared, l2_regularization=penalty, early_stopping=False
    ).fit(X, y)
    found = boost(X, y, losses.squared, l2_regularization=penalty, **shared)
    assert_allclose(engine.predict(X), found.scores, rtol=1e-6, atol=1e-8)
    assert_allclose(engine.predict(X + 0.01), found.predict(X + 0.01), rtol=1e-6, atol=1e-8)


@given(seed=seeds)
@settings(max_examples=15, deadline=None)
def test_histogram_boosting_of_two_classes(seed):
    X, y, w = problem(seed, n=300, n_classes=2)
    shared = {"max_iter": 8, "max_leaf_nodes": 7, "min_samples_leaf": 10}
    X, y, w = X[w > 0], y[w > 0], w[w > 0]
    engine = HistGradientBoostingClassifier(**shared, early_stopping=False).fit(X, y, w)
    found = boost(X, 2.0 * y - 1.0, losses.logistic, w, **shared)
    assert_allclose(engine.decision_function(X), found.scores, rtol=1e-5, atol=1e-7)
