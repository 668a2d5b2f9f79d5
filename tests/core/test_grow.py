"""The grower: scikit-learn's trees, node by node, and the books that it keeps"""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import check_random_state

from mlreplica.core.growth.grow import Columns, grow
from mlreplica.core.growth.tree import Packed

OPTIONS = [
    {},
    {"max_depth": 3, "min_samples_leaf": 4},
    {"max_features": 1},
    {"max_leaf_nodes": 9},
    {"min_impurity_decrease": 0.005},
    {"splitter": "random", "max_features": 2},
]


def data(missing, n=150, p=7):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p)).astype(np.float32).astype(float)
    X[:, 2] = np.round(X[:, 2])  # ties
    X[:, 3] = 1.0
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    number = rng.integers(0, 90, n).astype(float)  # sums are exact, so ties are ties
    return X, rng.integers(0, 3, n), number, rng.integers(0, 4, n).astype(float)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
@pytest.mark.parametrize("missing", [False, True])
def test_grows_the_tree_of_scikit_learn(options, criterion, missing):
    X, label, number, weight = data(missing)
    seed = check_random_state(5).randint(0, 2**31 - 1)
    for w in (None, weight):
        if criterion == "squared_error":
            model = DecisionTreeRegressor(random_state=5, **options).fit(X, number, w)
            tree, leaf = grow(Columns(X), number, w, seed=seed, **options)
        else:
            model = DecisionTreeClassifier(criterion=criterion, random_state=5, **options)
            model.fit(X, label, w)
            tree, leaf = grow(
                Columns(X), label, w, criterion=criterion, n_classes=3, seed=seed, **options
            )
        other = model.tree_
        for name in ("children_left", "children_right", "feature", "n_node_samples"):
            np.testing.assert_array_equal(getattr(tree, name), getattr(other, name), err_msg=name)
        for name in ("threshold", "impurity", "weighted_n_node_samples", "value"):
            found = getattr(tree, name)
            np.testing.assert_allclose(
                found, getattr(other, name), rtol=1e-6, atol=1e-9, err_msg=name
            )
        inner = tree.children_left >= 0
        np.testing.assert_array_equal(
            tree.missing_go_to_left[inner], other.missing_go_to_left[inner]
        )
        counts = slice(None) if w is None else w > 0
        np.testing.assert_array_equal(tree.apply(X)[counts], leaf[counts])
        assert w is None or (leaf[w == 0] == -1).all()
        X32 = X.astype(np.float32)
        np.testing.assert_array_equal(tree.apply(X), other.apply(X32))
        np.testing.assert_allclose(tree.predict(X), other.predict(X32), rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(
            tree.decision_path(X).toarray(), other.decision_path(X32).toarray()
        )
        np.testing.assert_allclose(
            tree.compute_feature_importances(), other.compute_feature_importances(), atol=1e-12
        )


def test_packed_trees_sum_their_values():
    X, _, number, _ = data(True)
    columns = Columns(X)
    trees = [grow(columns, number, max_features=2, seed=s)[0] for s in range(1, 90)]
    packed = Packed(trees)
    expected = sum(tree.predict(X) for tree in trees)
    np.testing.assert_allclose(packed.sums(X), expected, rtol=1e-12)
    np.testing.assert_allclose(packed.sums(X[:3]), expected[:3], rtol=1e-12)
    np.testing.assert_array_equal(packed.apply(X)[:, 7], trees[7].apply(X))


def test_columns_are_in_order():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    X[::7, 1] = np.nan
    X[:, 2] = np.round(X[:, 2]) * np.where(rng.random(300) < 0.5, 1.0, -1.0)  # ±0 are one value
    X[:, 3] = 1e15 + np.round(100 * X[:, 3]) / 8  # alike in their highest 31 bits
    columns = Columns(X)
    for f, keys in enumerate(columns.keys):
        rows, ranks = keys & 0xFFFFFFFF, keys >> 32
        np.testing.assert_array_equal(np.sort(rows), np.arange(300))
        values = np.unique(X[~np.isnan(X[:, f]), f])
        assert columns.levels[f] == len(values)
        expected = np.searchsorted(values, X[rows, f])  # NaN comes after all
        np.testing.assert_array_equal(ranks, expected)
        np.testing.assert_array_equal(np.sort(ranks), ranks)
        np.testing.assert_array_equal(columns.ranks[f, rows], ranks)
    np.testing.assert_array_equal(columns.missing, [0, 1, 0, 0])


@pytest.mark.parametrize("depth", [1, 2])
def test_a_stump_leaves_rows_of_weight_0_out(depth):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    weight = rng.integers(0, 3, size=60)
    tree, leaf = grow(Columns(X), y, weight, max_depth=depth)
    same = grow(Columns(X[weight > 0]), y[weight > 0], weight[weight > 0], max_depth=depth)[0]
    np.testing.assert_array_equal(tree.feature, same.feature)
    np.testing.assert_array_equal(tree.threshold, same.threshold)
    np.testing.assert_array_equal(leaf < 0, weight == 0)
