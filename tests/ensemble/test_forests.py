"""Forests: scikit-learn's own trees, out-of-bag, threads, weights, missing values, bad input"""

import pickle

import numpy as np
import pytest
import sklearn.ensemble
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import mlreplica.ensemble
from mlreplica.core.formulas.draws import draws
from mlreplica.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from mlreplica.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from mlreplica.ensemble.forest.splits import LANES, digits, order, place
from mlreplica.metrics import accuracy_score, r2_score

ALL = [RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor]
RANDOM = "rows are drawn: a repeated one is drawn otherwise (left out by scikit-learn too)"
LEFT_OUT = {
    f"check_sample_weight_equivalence_on_{kind}_data": RANDOM for kind in ("dense", "sparse")
}


@parametrize_with_checks(
    [cls(n_estimators=3) for cls in ALL],
    expected_failed_checks=lambda model: LEFT_OUT if model.bootstrap else {},
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def data(name):
    """X whose values float32 can hold, as scikit-learn's trees see them, and y."""
    load = {"iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer}
    load |= {"digits": load_digits, "diabetes": load_diabetes}
    X, y = load[name](return_X_y=True)
    return X[:700].astype(np.float32).astype(np.float64), y[:700]


@pytest.mark.parametrize("kind", ["RandomForest", "ExtraTrees"])
@pytest.mark.parametrize("name", ["iris", "wine", "cancer", "digits", "diabetes"])
def test_the_forest_is_scikit_learns_tree_by_tree(kind, name):
    X, y = data(name)
    cls = kind + ("Regressor" if name == "diabetes" else "Classifier")
    for options in ({}, {"max_features": 0.5, "min_samples_leaf": 3, "max_depth": 6}):
        ours, theirs = (
            getattr(module, cls)(5, random_state=1, **options).fit(X, y)
            for module in (mlreplica.ensemble, sklearn.ensemble)
        )
        for a, b in zip(ours._trees, theirs.estimators_, strict=True):
            assert_array_equal(a.feature, b.tree_.feature)
            assert_array_equal(a.children_left, b.tree_.children_left)
            assert_allclose(a.threshold, b.tree_.threshold, rtol=1e-6)
            assert_allclose(a.value, b.tree_.value, rtol=1e-9)
        assert_allclose(ours.feature_importances_, theirs.feature_importances_, rtol=1e-7)
        assert_array_equal(ours.apply(X), theirs.apply(X))
        for a, b in zip(ours.estimators_samples_, theirs.estimators_samples_, strict=True):
            assert_array_equal(a, b)


@settings(deadline=None, max_examples=15)
@given(
    seed=st.integers(0, 10**6),
    ties=st.booleans(),
    weighted=st.booleans(),
    n=st.sampled_from((120, 900)),  # 900: more than are sorted
)
def test_both_growers_make_the_same_trees(seed, ties, weighted, n):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 7)).round(1 if ties else 6)
    w = rng.integers(0, 3, n).astype(float) if weighted else None
    y = rng.integers(0, 3, n)
    pair = y + (X[:, 0] * X[:, 1] > 0.0) > 1
    for target, cls in ((y, RandomForestClassifier), (pair, RandomForestClassifier)):
        few, many = (
            cls(2, max_features=k, bootstrap=False, random_state=seed).fit(X, target, w)
            for k in (4, 4.9 / 7)  # the same number of columns
        )
        many._is_plain = lambda *_: False
        many.fit(X, target, w)
        for a, b in zip(few._trees, many._trees, strict=True):
            assert_array_equal(a.feature, b.feature)
            assert_allclose(a.threshold, b.threshold, rtol=1e-12)
            assert_allclose(a.value, b.value, rtol=1e-12)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10**6), m=st.integers(1, 700), levels=st.integers(1, 1 << 20))
def test_keys_are_put_in_order(seed, m, levels):
    rng = np.random.default_rng(seed)
    ranks = rng.integers(0, levels, m).astype(np.int32)
    keys = (ranks.astype(np.uint32) << np.uint32(8)) | rng.integers(0, 256, m).astype(np.uint32)
    count, room = np.empty(6 * 512, np.int64), np.zeros(LANES, np.uint32)
    a, b = np.append(keys, room), np.append(keys, room)
    found = (b if order(ranks, 8, int(ranks.max()), a, b, count) else a)[:m]
    assert_array_equal(found >> 8, np.sort(keys) >> 8)
    assert_array_equal(np.sort(found), np.sort(keys))
    passes, bits = digits(m, levels)
    assert (1 << passes * bits) > levels
    for few in (keys[:20], keys[:20] >> 20, keys[:20].astype(np.uint64) << 12):  # ties, long keys
        a, b = (np.append(few, room.astype(few.dtype)) for _ in range(2))
        place(a, b, len(few))
        assert_array_equal(b[: len(few)], np.sort(few))


@pytest.mark.parametrize("n", [1, 2, 150, 1024, 1025])
def test_draws_are_numpys(n):
    seeds = np.array([0, 7, 2**31 - 2])
    rows, own = draws(seeds, n, 700)
    for seed, found, one in zip(seeds, rows, own, strict=True):
        assert_array_equal(found, np.random.RandomState(seed).randint(0, n, 700))
        assert one == np.random.RandomState(seed).randint(0, 2**31 - 1)


def test_out_of_bag_predictions_are_those_of_trees_that_have_not_seen_a_row():
    X, y = data("cancer")
    model = RandomForestClassifier(30, oob_score=True, random_state=0).fit(X, y)
    total, times = np.zeros((len(X), 2)), np.zeros(len(X))
    for tree, rows in zip(model.estimators_, model.estimators_samples_, strict=True):
        out = np.setdiff1d(np.arange(len(X)), rows)
        total[out] += tree.predict_proba(X[out])
        times[out] += 1
    assert_allclose(model.oob_decision_function_, total / times[:, None], rtol=1e-12)
    assert model.oob_score_ == accuracy_score(y, total.argmax(axis=1))
    X, y = data("diabetes")
    model = RandomForestRegressor(40, oob_score=r2_score, random_state=0).fit(X, y)
    theirs = sklearn.ensemble.RandomForestRegressor(40, oob_score=True, random_state=0).fit(X, y)
    assert_allclose(model.oob_prediction_, theirs.oob_prediction_, rtol=1e-9)
    assert model.oob_score_ == pytest.approx(theirs.oob_score_)
    with pytest.warns(UserWarning, match="Some inputs do not have OOB scores"):
        RandomForestRegressor(1, oob_score=True).fit(X, y)


@pytest.mark.parametrize("cls", ALL)
def test_threads_pickle_and_warm_start_change_nothing(cls):
    X, y = data("wine")
    expected = cls(12, random_state=3, n_jobs=1).fit(X, y)
    for model in (cls(12, random_state=3, n_jobs=2), cls(5, random_state=3, warm_start=True)):
        model.fit(X, y)
        model.set_params(n_estimators=12)
        if model.warm_start:
            model.fit(X, y)
        again = pickle.loads(pickle.dumps(model))
        assert_array_equal(model.predict(X), expected.predict(X))
        assert_array_equal(again.predict(X), expected.predict(X))
        assert len(model) == len(model.estimators_) == 12
    mean = np.mean([tree.predict(X) for tree in expected.estimators_], axis=0)
    if cls in (RandomForestRegressor, ExtraTreesRegressor):
        assert_allclose(expected.predict(X), mean, rtol=1e-12)
    row = expected.predict(X[:1])
    assert_array_equal(row, expected.predict(X)[:1])
    path, starts = expected.decision_path(X[:9])
    assert path.shape == (9, starts[-1])
    assert_array_equal(path.sum(axis=1).A1 > 0, True)


@pytest.mark.parametrize(
    "options",
    [
        {"criterion": "entropy"},
        {"max_leaf_nodes": 9},
        {"class_weight": "balanced"},
        {"ccp_alpha": 0.01},
        {"max_samples": 0.4, "min_impurity_decrease": 1e-3, "min_weight_fraction_leaf": 0.01},
        {"monotonic_cst": [1] + [0] * 29},
    ],
)
def test_every_option_gives_scikit_learns_forest(options):
    X, y = data("cancer")
    ours, theirs = (
        module.RandomForestClassifier(4, random_state=0, **options).fit(X, y)
        for module in (mlreplica.ensemble, sklearn.ensemble)
    )
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)


def test_classes_balanced_in_every_draw():
    X, y = data("cancer")
    ours, theirs = (
        module.RandomForestClassifier(20, class_weight="balanced_subsample", random_state=0)
        .fit(X, y)
        .predict_proba(X)
        for module in (mlreplica.ensemble, sklearn.ensemble)
    )
    assert np.abs(ours - theirs).mean() < 0.02  # columns that tie are chosen by rounding


def test_several_targets_and_missing_values():
    X, y = data("iris")
    both = np.stack([y, y > 0], axis=1)
    ours, theirs = (
        module.RandomForestClassifier(4, random_state=0).fit(X, both)
        for module in (mlreplica.ensemble, sklearn.ensemble)
    )
    assert_array_equal(ours.predict(X), theirs.predict(X))
    for a, b in zip(ours.predict_proba(X), theirs.predict_proba(X), strict=True):
        assert_allclose(a, b, atol=1e-12)
    X[::7, 2] = np.nan
    ours, theirs = (
        module.RandomForestClassifier(4, random_state=0).fit(X, y)
        for module in (mlreplica.ensemble, sklearn.ensemble)
    )
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("cls", ALL)
def test_bad_input_is_told(cls):
    X, y = data("iris")
    model = cls(2, random_state=0)
    with pytest.raises(ValueError, match=r"Input y contains (NaN|infinity)|Unknown label type"):
        clone(model).fit(X, np.where(y == 1, np.nan, y))
    with pytest.raises(ValueError, match="infinity"):
        clone(model).fit(np.where(X > 6, np.inf, X), y)
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        clone(model).fit(X, y, sample_weight=-np.ones(len(y)))
    with pytest.raises(ValueError, match="X has 2 features"):
        clone(model).fit(X, y).predict(X[:, :2])
    with pytest.raises(ValueError, match="n_estimators"):
        cls(0).fit(X, y)
    with pytest.raises(ValueError, match=r"Out of bag|bootstrap"):
        cls(2, bootstrap=False, oob_score=True).fit(X, y)
    assert_array_equal(clone(model).fit(X[:1], y[:1]).predict(X), np.full(len(X), y[0]))
    assert_array_equal(clone(model).fit(X, np.full(len(y), 2)).predict(X), 2)
    expected = clone(model).fit(X, y).predict(X)
    for scale in (1e-300, 1e300 / 8):
        assert_array_equal(clone(model).fit(X * scale, y).predict(X * scale), expected)


@pytest.mark.parametrize("criterion", ["squared_error", "poisson", "absolute_error"])
def test_thresholds_are_drawn_between_numbers_as_large_as_there_are(criterion):
    X, y = data("iris")
    X, y = np.column_stack([X, np.where(y == 0, -1.0, 1.0)]) * (1e308 / 8), y + 1.0
    model = ExtraTreesRegressor(3, criterion=criterion, random_state=0).fit(X, y)
    assert_array_equal(model.predict(X), y)
    for tree in model.estimators_:
        inner = tree.tree_.children_left >= 0
        assert np.isfinite(tree.tree_.threshold[inner]).all()
