"""Splits by categories: the best of all sets, by brute force; and what becomes of them after"""

import itertools
import pickle

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlreplica.callbacks import Trace
from mlreplica.core.growth.tree import Packed
from mlreplica.ensemble import AdaBoostRegressor, BaggingClassifier
from mlreplica.inspection import partial_dependence
from mlreplica.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
    export_graphviz,
    export_text,
    plot_tree,
)

from .test_trees import brute_impurity


def table(n=200, seed=0):
    """Colours, a number and shops; the target knows of two groups of each."""
    rng = np.random.default_rng(seed)
    colours = ["red", "green", "blue", "black", "white"]
    X = pd.DataFrame(
        {
            "colour": pd.Categorical(rng.choice(colours, n), categories=colours),
            "size": rng.normal(size=n),
            "shop": rng.integers(0, 9, n),
        }
    )
    y = 3.0 * np.isin(X["colour"], ["red", "blue"]) + 2.0 * np.isin(X["shop"], [1, 4, 7])
    return X, y + 0.1 * X["size"].to_numpy()


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**31),
    n=st.integers(2, 30),
    levels=st.integers(2, 6),
    criterion=st.sampled_from(["gini", "entropy", "squared_error", "poisson"]),
    n_classes=st.integers(2, 4),
    missing=st.booleans(),
)
def test_the_best_of_all_sets_is_found(seed, n, levels, criterion, n_classes, missing):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, levels, n).astype(float)
    if missing:
        x[rng.random(n) < 0.2] = np.nan
    w = rng.uniform(0.5, 2.0, n)
    classes = criterion in ("gini", "entropy")
    y = rng.integers(0, n_classes, n) if classes else rng.integers(1, 9, n) * 1.0
    kind = DecisionTreeClassifier if classes else DecisionTreeRegressor
    model = kind(criterion=criterion, max_depth=1, categorical_features=[0])
    model.fit(x[:, None], y, sample_weight=w)

    def cost(left):
        return sum(
            w[s].sum() * brute_impurity(criterion, y[s], w[s]) for s in (left, ~left) if s.any()
        )

    names = np.unique(x)  # NaN is one of them
    best = min(
        cost(np.isin(x, subset) | (np.isnan(x) & np.isnan(subset).any()))
        for size in range(1, len(names) + 1)
        for subset in itertools.combinations(names, size)
    )
    leaves = model.apply(x[:, None])
    np.testing.assert_allclose(cost(leaves == leaves[0]), best, atol=1e-9)
    tree = model.tree_
    if tree.node_count > 1:  # the heavier child is right
        assert tree.n_node_samples[1] <= tree.n_node_samples[2]
        np.testing.assert_array_equal(tree.n_node_samples[1:], np.bincount(leaves)[1:])


@pytest.mark.parametrize("outputs", [1, 2])
def test_many_categories_of_several_classes(outputs):
    """Beyond ten categories the order of each class is tried: a class that stands out is found."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 300, 3000)
    y = np.where(np.isin(x, np.arange(0, 300, 7)), 2, rng.integers(0, 2, 3000))
    target = y if outputs == 1 else np.column_stack([y, y])
    model = DecisionTreeClassifier(max_depth=1, categorical_features=[True])
    model.fit(x[:, None], target)
    left = model.tree_.categories_left(0)
    np.testing.assert_array_equal(left, np.flatnonzero(np.arange(300) % 7 == 0))


@pytest.mark.parametrize("kind", [DecisionTreeRegressor, ExtraTreeRegressor])
@pytest.mark.parametrize("options", [{}, {"max_leaf_nodes": 9}, {"max_features": 1}])
def test_rows_find_their_leaves_again(kind, options):
    X, y = table()
    model = kind(categorical_features=["colour", "shop"], random_state=0, **options).fit(X, y)
    tree, leaves = model.tree_, model.apply(X)
    means = np.bincount(leaves, y) / np.maximum(np.bincount(leaves), 1)
    np.testing.assert_allclose(model.predict(X), means[leaves])
    path = model.decision_path(X).toarray()
    np.testing.assert_array_equal(path.sum(axis=0), tree.n_node_samples)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    codes = model._inputs.rows(model, X, reset=False)
    packed = Packed([tree, tree])
    np.testing.assert_allclose(packed.sums(codes)[:, 0], 2.0 * model.predict(X))
    np.testing.assert_allclose(packed.sums(codes[:3])[:, 0], 2.0 * model.predict(X[:3]))


def test_every_way_to_name_the_columns():
    X, y = table()
    expected = DecisionTreeRegressor(categorical_features=[0, 2]).fit(X, y).predict(X)
    for names in ([True, False, True], ["colour", "shop"], np.array([0, 2])):
        model = DecisionTreeRegressor(categorical_features=names).fit(X, y)
        np.testing.assert_array_equal(model.predict(X), expected)
        np.testing.assert_array_equal(model.is_categorical_, [True, False, True])
    by_type = DecisionTreeRegressor(categorical_features="from_dtype").fit(X, y)
    np.testing.assert_array_equal(by_type.is_categorical_, [True, False, False])
    numbers = DecisionTreeRegressor(categorical_features="from_dtype").fit(X[["size"]], y)
    assert numbers.is_categorical_ is None or not numbers.is_categorical_.any()
    assert numbers.tree_.categories is None


def test_unknown_and_missing_categories():
    X, y = table()
    model = DecisionTreeRegressor(max_depth=1, categorical_features=["colour"]).fit(X, y)
    strange = X[:4].assign(colour=pd.Categorical(["pink", None, "grey", "red"]))
    np.testing.assert_array_equal(model.apply(strange), [2, 2, 2, 1])  # right: more rows
    gaps = X.assign(colour=X["colour"].where(X["colour"] != "red"))
    model.fit(gaps, y)  # red is missing now, and goes left with blue
    assert model.tree_.missing_go_to_left[0] == 1
    np.testing.assert_array_equal(model.apply(strange), [2, 1, 2, 2])
    assert "in {blue, missing}" in export_text(model)


def test_order_of_numbers_does_not_matter():
    X, y = table()
    x = X[["shop"]].to_numpy(float)
    other = np.array([5.0, -3.0, 1e6, 0.5, 2.0, 7.0, 8.0, 11.0, 4.0])[x.astype(int)]
    models = [DecisionTreeRegressor(categorical_features=[0]).fit(v, y) for v in (x, other)]
    np.testing.assert_allclose(models[0].predict(x), models[1].predict(other))


def test_pruning_text_and_drawings():
    X, y = table()
    model = DecisionTreeRegressor(categorical_features=[0, 2], ccp_alpha=0.1).fit(X, y)
    assert model.get_n_leaves() == 4
    text = export_text(model, feature_names=list(X.columns))
    assert "colour in {blue, red}" in text
    assert "shop not in {1, 4, 7}" in text
    assert "shop in {1, 4, 7}\\n" in export_graphviz(model)
    assert "in {blue, red}" in model._repr_mimebundle_()["text/html"]
    plt.switch_backend("Agg")
    boxes = [box.get_text() for box in plot_tree(model)]
    plt.close("all")
    assert sum("colour in {blue, red}\nsquared" in box for box in boxes) == 1
    assert not any("nan" in box for box in boxes)


def test_a_trace_shows_the_sets_that_were_weighed():
    X, y = table()
    trace = Trace()
    DecisionTreeRegressor(max_depth=2, categorical_features=[0, 2]).set_callbacks(trace).fit(X, y)
    root = trace.states[0]
    np.testing.assert_allclose(root["candidate_gain"].max(), root["gain"])
    assert (root["candidate_feature"] == 0).sum() == 4


def test_partial_dependence_and_ensembles():
    X, y = table()
    codes = X.assign(colour=X["colour"].cat.codes).astype(float)
    model = DecisionTreeRegressor(max_depth=3, categorical_features=[0, 2]).fit(codes, y)
    by_walk, by_force = (
        partial_dependence(model, codes, ["shop"], method=method)["average"]
        for method in ("recursion", "brute")
    )
    np.testing.assert_allclose(by_walk, by_force, atol=0.2)
    boost = AdaBoostRegressor(model, n_estimators=3, random_state=0).fit(codes, y)
    assert boost.score(codes, y) > 0.9
    label = (y > 2).astype(int)
    tree = DecisionTreeClassifier(categorical_features=np.array([True, False, True]))
    assert BaggingClassifier(tree, n_estimators=3).fit(codes, label).score(codes, label) > 0.9
    assert (
        ExtraTreeClassifier(categorical_features=[0, 2]).fit(codes, label).score(codes, label) == 1
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"categorical_features": [7]}, "categorical_features"),
        ({"categorical_features": ["shape"]}, "valid feature name"),
        ({"categorical_features": [0], "monotonic_cst": [1, 0, 0]}, "monotonic"),
        ({"categorical_features": [0], "criterion": "absolute_error"}, "absolute_error"),
    ],
)
def test_bad_options_are_refused(options, message):
    X, y = table(30)
    with pytest.raises(ValueError, match=message):
        DecisionTreeRegressor(**options).fit(X, y)
    with pytest.raises(ValueError, match="infinity"):
        DecisionTreeRegressor(categorical_features=[0]).fit(X.assign(size=np.inf), y)
