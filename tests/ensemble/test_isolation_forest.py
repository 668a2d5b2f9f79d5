"""Isolation forest: scores in scikit-learn's distribution, trees that hold what they should"""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.ensemble
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from mlreplica.datasets import load_breast_cancer
from mlreplica.ensemble import IsolationForest
from mlreplica.ensemble.isolation.trees import FEATURE, average_path, together
from mlreplica.metrics import roc_auc_score

RANDOM = "rows are drawn: a repeated one is drawn otherwise (left out by scikit-learn too)"
LEFT_OUT = {
    f"check_sample_weight_equivalence_on_{kind}_data": RANDOM for kind in ("dense", "sparse")
}


@parametrize_with_checks(
    [IsolationForest(n_estimators=5)], expected_failed_checks=lambda _: LEFT_OUT
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def naive_path(forest, t, x):
    """Walk one row down tree t, node by node."""
    first = forest.size[:t].sum()
    node = depth = 0
    while np.isfinite(forest.threshold[first + node]):
        link = forest.link[first + node]
        v = x[link & FEATURE]
        right = (link >> 31) & 1 if np.isnan(v) else v > forest.threshold[first + node]
        node, depth = (link >> 32) + right, depth + 1
    return depth + average_path(forest.count[first + node])


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 90),
    missing=st.booleans(),
    bootstrap=st.booleans(),
    max_features=st.sampled_from([1, 2, 1.0]),
)
def test_trees_hold_their_rows_and_paths_are_those_of_a_walk(
    seed, n, missing, bootstrap, max_features
):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).round(1)
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    model = IsolationForest(
        n_estimators=4, max_samples=0.8, bootstrap=bootstrap, max_features=max_features,
        random_state=seed,
    ).fit(X)  # fmt: skip
    forest, m = together(model._forests), model.max_samples_
    first = 0
    for t, rows in enumerate(model.estimators_samples_):
        assert len(rows) == m
        assert bootstrap or len(set(rows)) == m
        nodes = slice(first, first + forest.size[t])
        leaf = np.isinf(forest.threshold[nodes])
        assert forest.count[nodes][0] == forest.count[nodes][leaf].sum() == len(set(rows))
        assert forest.depth[t] <= np.ceil(np.log2(max(m, 2)))
        used = set(forest.link[nodes][~leaf] & FEATURE)
        assert used <= set(model.estimators_features_[t])
        first += forest.size[t]
    paths = [np.mean([naive_path(forest, t, x) for t in range(4)]) for x in X]
    scale = float(average_path(m))
    expected = -(2.0 ** (-np.array(paths) / scale)) if scale else np.full(n, -0.5)
    assert_allclose(model.score_samples(X), expected, rtol=1e-12)


def test_the_average_path_is_that_of_random_search_trees():
    exact = [2 * sum(1 / k for k in range(1, m)) - 2 * (m - 1) / m for m in range(3, 400)]
    assert_allclose(average_path(np.arange(3, 400)), exact, rtol=0.3)  # ln k for H(k), as usual
    assert_allclose(average_path(np.arange(100, 400)), exact[97:], rtol=2e-3)
    assert_array_equal(average_path([0, 1, 2]), [0.0, 0.0, 1.0])


def test_scores_have_scikit_learns_distribution():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(3000, 5)), rng.uniform(-6, 6, size=(60, 5))])
    ours, theirs = (
        np.mean([cls(random_state=s).fit(X).score_samples(X) for s in range(3)], axis=0)
        for cls in (IsolationForest, sklearn.ensemble.IsolationForest)
    )
    assert np.corrcoef(ours, theirs)[0, 1] > 0.98
    levels = [0.005, 0.01, 0.1, 0.5, 0.9]
    assert_allclose(np.quantile(ours, levels), np.quantile(theirs, levels), atol=0.012)


def test_tumours_stand_out_as_for_scikit_learn():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = np.vstack([X[y == 1], X[y == 0][:20]]), np.repeat([0, 1], [(y == 1).sum(), 20])
    found = [
        [roc_auc_score(y, -cls(random_state=s).fit(X).score_samples(X)) for s in range(5)]
        for cls in (IsolationForest, sklearn.ensemble.IsolationForest)
    ]
    assert abs(np.mean(found[0]) - np.mean(found[1])) < 3 * np.std(found) + 1e-3


def test_the_share_of_outliers_is_the_one_asked_for():
    X = np.random.default_rng(0).normal(size=(500, 3))
    model = IsolationForest(contamination=0.1, random_state=0).fit(X)
    assert (model.predict(X) == -1).mean() == pytest.approx(0.1, abs=0.01)
    assert_allclose(model.decision_function(X), model.score_samples(X) - model.offset_)
    assert IsolationForest().fit(X).offset_ == -0.5


def test_threads_sparse_floats_pickle_and_warm_start_change_nothing():
    X = np.random.default_rng(0).normal(size=(900, 4)).astype(np.float32)
    X[X < 0] = 0
    model = IsolationForest(n_estimators=60, max_features=0.6, random_state=7)
    expected = clone(model).fit(X).score_samples(X)
    for other, data in (
        (clone(model).set_params(n_jobs=1), X),
        (clone(model), np.asfortranarray(X, dtype=np.float64)),
        (clone(model), sp.csr_array(X)),
        (clone(model), sp.csc_array(X.astype(np.float64))),
    ):
        assert_array_equal(other.fit(data).score_samples(data), expected)
        assert_array_equal(pickle.loads(pickle.dumps(other)).score_samples(X), expected)
    grown = clone(model).set_params(n_estimators=20, warm_start=True).fit(X)
    assert_array_equal(grown.set_params(n_estimators=60).fit(X).score_samples(X), expected)
    assert len(grown) == len(grown.estimators_samples_) == 60
    with pytest.warns(UserWarning, match="does not fit new trees"):
        grown.fit(X)
    with pytest.raises(ValueError, match="must be larger or equal"):
        grown.set_params(n_estimators=3).fit(X)


def test_weights_say_how_likely_a_row_is_drawn():
    X = np.random.default_rng(0).normal(size=(300, 2))
    weight = np.repeat([0.0, 1.0], [200, 100])
    model = IsolationForest(max_samples=50, random_state=0).fit(X, sample_weight=weight)
    assert min(rows.min() for rows in model.estimators_samples_) >= 200
    with pytest.raises(ValueError, match="Negative values in data"):
        model.fit(X, sample_weight=-weight)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_any_scale(scale):
    X = np.random.default_rng(0).normal(size=(200, 2))
    X[0] = 9.0
    with np.errstate(over="ignore"):
        model = IsolationForest(random_state=0).fit(X * scale)
        assert_allclose(
            model.score_samples(X * scale), IsolationForest(random_state=0).fit(X).score_samples(X)
        )
        assert model.score_samples(X * scale).argmin() == 0


def test_bad_input_is_told():
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.warns(UserWarning, match="max_samples .1000. is greater"):
        IsolationForest(max_samples=1000).fit(X)
    with pytest.raises(ValueError, match="max_features must be <= n_features"):
        IsolationForest(max_features=4).fit(X)
    with pytest.raises(ValueError, match="X has 2 features, but IsolationForest is expecting 3"):
        IsolationForest(n_estimators=2).fit(X).predict(X[:, :2])
    with pytest.raises(ValueError, match="contamination"):
        IsolationForest(contamination=0.7).fit(X)
    assert IsolationForest(random_state=0).fit(X[:1]).score_samples(X[:1]) == -0.5
    assert (
        IsolationForest(random_state=0).fit(np.ones((9, 2))).predict(np.ones((9, 2))) == 1
    ).all()


@pytest.mark.parametrize("options", [{}, {"max_features": 2, "bootstrap": True}])
def test_estimators_predict_the_paths(options):
    X = np.random.default_rng(0).normal(size=(300, 4))
    X[::9, 1] = np.nan
    model = IsolationForest(n_estimators=5, warm_start=True, random_state=0, **options).fit(X)
    first = model.estimators_[0]
    model.set_params(n_estimators=8).fit(X)
    assert len(model.estimators_) == 8
    assert model.estimators_[0] is first
    members = zip(model.estimators_, model.estimators_features_, strict=True)
    paths = np.mean([tree.predict(X[:, columns]) for tree, columns in members], axis=0)
    expected = -np.exp2(-paths / average_path(model.max_samples_))
    assert_allclose(model.score_samples(X), expected, rtol=1e-12)
    assert len(pickle.loads(pickle.dumps(model)).estimators_) == 8
    with pytest.raises(AttributeError, match="estimators_"):
        IsolationForest().estimators_  # noqa: B018
