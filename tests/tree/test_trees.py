"""Trees: scikit-learn's on real data, the books kept right, bad input, copies and drawings"""

import pickle
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.tree
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import datasets
from sklearn.base import clone
from sklearn.inspection import partial_dependence
from sklearn.utils.estimator_checks import parametrize_with_checks

from mlreplica import tree as ours
from mlreplica.callbacks import Trace
from mlreplica.core.growth.nodes import grow_nodes
from mlreplica.core.growth.tree import apply_rows
from mlreplica.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
    export_text,
)

CLASSES = [
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
]


@parametrize_with_checks(
    [DecisionTreeClassifier(max_depth=4), DecisionTreeRegressor(max_depth=4), ExtraTreeClassifier()]
)
def test_check_estimator(estimator, check):
    check(estimator)


def same(model, other, X):
    a, b = model.tree_, other.tree_
    for name in ("children_left", "children_right", "feature", "n_node_samples"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    np.testing.assert_allclose(a.threshold, b.threshold, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(a.impurity, b.impurity, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(a.value, b.value, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), other.predict(X))
    np.testing.assert_allclose(model.feature_importances_, other.feature_importances_, atol=1e-9)
    assert model.get_depth() == other.get_depth()
    assert model.get_n_leaves() == other.get_n_leaves()


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits"])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_same_classification_trees_as_scikit_learn(name, criterion):
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    for kind, options in (
        ("DecisionTreeClassifier", {}),
        ("DecisionTreeClassifier", {"max_leaf_nodes": 8, "class_weight": "balanced"}),
        ("DecisionTreeClassifier", {"ccp_alpha": 0.01}),
        ("ExtraTreeClassifier", {"min_samples_leaf": 3}),
    ):
        setting = {"criterion": criterion, "random_state": 3, **options}
        if "class_weight" in options and name != "iris":
            continue  # weights that are no whole numbers round otherwise, so ties are decided so
        models = [getattr(m, kind)(**setting).fit(X, y) for m in (ours, sklearn.tree)]
        if kind.startswith("Extra"):
            assert models[0].score(X, y) > 0.7  # its thresholds are in double precision
        else:
            same(*models, X)
            np.testing.assert_allclose(*(m.predict_proba(X) for m in models), atol=1e-12)


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_same_regression_trees_as_scikit_learn(criterion):
    X, y = datasets.load_diabetes(return_X_y=True)
    for options in ({"max_depth": 4}, {"max_leaf_nodes": 7}, {"max_depth": 3, "max_features": 3}):
        setting = {"criterion": criterion, "random_state": 1, **options}
        same(
            DecisionTreeRegressor(**setting).fit(X, y),
            sklearn.tree.DecisionTreeRegressor(**setting).fit(X, y),
            X,
        )


def test_missing_values_and_several_outputs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)).astype(np.float32).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    y = rng.integers(0, 3, size=(200, 2))
    for kind, options in (
        ("DecisionTreeClassifier", {"max_depth": 4}),
        ("DecisionTreeRegressor", {"max_depth": 4}),
        ("DecisionTreeRegressor", {"max_depth": 3, "criterion": "absolute_error"}),
    ):
        models = [
            getattr(m, kind)(random_state=0, **options).fit(X, y) for m in (ours, sklearn.tree)
        ]
        same(*models, X)
    names = np.array(["a", "b", "c"])[y]
    assert DecisionTreeClassifier().fit(X, names).predict(X).shape == (200, 2)


@pytest.mark.parametrize("criterion", ["gini", "squared_error", "absolute_error"])
def test_monotonic_constraints(criterion):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 2))
    y = X[:, 0] - X[:, 1] + rng.normal(size=300)
    kind = DecisionTreeClassifier if criterion == "gini" else DecisionTreeRegressor
    target = (y > 0).astype(int) if criterion == "gini" else y
    model = kind(criterion=criterion, monotonic_cst=[1, -1], max_depth=6).fit(X, target)
    grid = np.linspace(0, 1, 50)
    predict = (lambda A: model.predict_proba(A)[:, 1]) if criterion == "gini" else model.predict
    for other in (0.1, 0.5, 0.9):
        rising = predict(np.column_stack([grid, np.full(50, other)]))
        falling = predict(np.column_stack([np.full(50, other), grid]))
        assert (np.diff(rising) >= -1e-12).all()
        assert (np.diff(falling) <= 1e-12).all()


def brute_impurity(criterion, y, w):
    """Impurity of one node, from its definition."""
    W = w.sum()
    if criterion in ("gini", "entropy"):
        share = np.array([w[y == k].sum() for k in np.unique(y)]) / W
        return 1 - (share**2).sum() if criterion == "gini" else -(share * np.log2(share)).sum()
    if criterion == "squared_error":
        return (w * (y - (w @ y) / W) ** 2).sum() / W
    mean = (w @ y) / W
    return (w * np.where(y > 0, y * np.log(np.maximum(y, 1e-300) / mean), 0.0)).sum() / W


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 2**31),
    n=st.integers(2, 25),
    criterion=st.sampled_from(["gini", "entropy", "squared_error", "poisson"]),
    weighted=st.booleans(),
    missing=st.booleans(),
)
def test_the_books_are_kept_right(seed, n, criterion, weighted, missing):
    """Impurity of every node from its rows; and no other first split is better."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, size=(n, 2)).astype(float)
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    y = rng.integers(0, 3, n) if criterion in ("gini", "entropy") else rng.integers(1, 9, n) * 1.0
    w = rng.uniform(0.5, 2.0, n) if weighted else np.ones(n)
    kind = DecisionTreeClassifier if criterion in ("gini", "entropy") else DecisionTreeRegressor
    model = kind(criterion=criterion, random_state=0).fit(X, y, sample_weight=w)
    tree = model.tree_
    path = model.decision_path(X).toarray().astype(bool)
    for node in range(tree.node_count):
        here = path[:, node]
        assert here.sum() == tree.n_node_samples[node]
        np.testing.assert_allclose(w[here].sum(), tree.weighted_n_node_samples[node])
        expected = brute_impurity(criterion, y[here], w[here])
        np.testing.assert_allclose(tree.impurity[node], expected, atol=1e-9)

    def cost(left):
        return sum(w[s].sum() * brute_impurity(criterion, y[s], w[s]) for s in (left, ~left))

    if tree.node_count > 1:
        found = cost(path[:, tree.children_left[0]])
        for f in range(2):
            x = X[:, f]
            for value in np.unique(x[~np.isnan(x)]):
                for left in (x <= value, (x <= value) | np.isnan(x)):
                    if 0 < left.sum() < n:
                        assert found <= cost(left) + 1e-9


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**31), kind=st.sampled_from(CLASSES[:2]))
def test_weight_is_repetition_and_weight_0_is_absence(seed, kind):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(30, 3)), rng.integers(0, 3, 30)
    w = rng.integers(0, 3, 30)
    if w.sum() == 0:
        return
    model = kind(max_depth=3, random_state=0).fit(X, y, sample_weight=w)
    again = kind(max_depth=3, random_state=0).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(model.predict(X), again.predict(X))


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**31))
def test_order_of_rows_and_scale_of_columns_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    model = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, y)
    order = rng.permutation(40)
    for Z in (np.exp(X), X * 1e-290, X * 1e290):  # all numbers of X are told apart
        other = DecisionTreeRegressor(max_depth=3, random_state=0).fit(Z[order], y[order])
        np.testing.assert_allclose(other.predict(Z), model.predict(X))


def test_pruning_path_is_scikit_learns():
    X, y = datasets.load_breast_cancer(return_X_y=True)
    paths = [
        m.DecisionTreeClassifier(random_state=0).cost_complexity_pruning_path(X, y)
        for m in (ours, sklearn.tree)
    ]
    np.testing.assert_allclose(paths[0].ccp_alphas, paths[1].ccp_alphas, atol=1e-12)
    np.testing.assert_allclose(paths[0].impurities, paths[1].impurities, atol=1e-12)
    leaves = [
        DecisionTreeClassifier(random_state=0, ccp_alpha=a).fit(X, y).get_n_leaves()
        for a in paths[0].ccp_alphas
    ]
    assert leaves == sorted(leaves, reverse=True)
    assert leaves[-1] == 1


@pytest.mark.parametrize(
    "criterion", ["gini", "entropy", "squared_error", "absolute_error", "poisson"]
)
def test_a_trace_shows_all_candidates_and_the_best_one_won(criterion):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = rng.integers(0, 3, 40)
    kind = DecisionTreeClassifier if criterion in ("gini", "entropy") else DecisionTreeRegressor
    trace = Trace()
    model = kind(criterion=criterion, max_depth=3, random_state=0).set_callbacks(trace)
    tree = model.fit(X, y + (kind is DecisionTreeRegressor)).tree_
    assert len(trace.states) == tree.node_count
    for state in trace.states:
        if state["feature"] >= 0:
            assert len(state["candidate_gain"]) > 10 or state["rows"] < 20
            best = state["candidate_gain"].argmax()
            np.testing.assert_allclose(state["candidate_gain"][best], state["gain"], atol=1e-10)
            shown = state["candidate_threshold"][state["candidate_feature"] == state["feature"]]
            assert np.isclose(shown, state["threshold"]).any()


@pytest.mark.parametrize("kind", CLASSES)
def test_copies_sparse_data_and_threads(kind):
    X, y = datasets.load_iris(return_X_y=True)
    X = np.where(X > 2.5, X, 0.0)
    model = kind(random_state=0).fit(X, y)
    for other in (
        pickle.loads(pickle.dumps(model)),
        clone(model).fit(sp.csc_matrix(X), y),
        clone(model).fit(X.astype(np.float32).astype(float), y),
    ):
        np.testing.assert_array_equal(other.predict(sp.csr_matrix(X)), model.predict(X))
        np.testing.assert_array_equal(other.apply(X), model.apply(X))


def test_partial_dependence_by_recursion():
    X, y = datasets.load_diabetes(return_X_y=True)
    model = DecisionTreeRegressor(max_depth=3).fit(X, y)
    other = sklearn.tree.DecisionTreeRegressor(max_depth=3).fit(X, y)
    for feature in (2, 8):
        curve = model._compute_partial_dependence_recursion(X[:9, [feature]], [feature])
        expected = partial_dependence(
            other, X, [feature], custom_values={feature: X[:9, feature]}, method="recursion"
        )
        np.testing.assert_allclose(curve, expected["average"][0], rtol=1e-6)


@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        ([[0.0], [np.inf]], [0, 1], {}, "infinity"),
        ([[0.0], [1.0]], [0.0, np.nan], {}, "NaN"),
        ([[0.0], [1.0]], [0, 1, 2], {}, "does not match|inconsistent"),
        ([[0.0], [1.0]], [0, 1], {"sample_weight": [1.0, -1.0]}, "[Nn]egative"),
        ([[0.0], [1.0]], [0, 1], {"sample_weight": [0.0, 0.0]}, "zero|positive"),
    ],
)
def test_bad_input_is_refused(X, y, options, message):
    for kind in CLASSES:
        with pytest.raises(ValueError, match=message):
            kind().fit(X, y, **options)


def test_odd_input_is_served():
    one = DecisionTreeClassifier().fit([[1.0, 2.0]], ["a"])
    assert one.predict([[np.nan, 0.0]]) == ["a"]
    assert one.get_depth() == 0
    X = np.arange(6.0)[:, None]
    constant = DecisionTreeRegressor().fit(X, np.full(6, 3.0))
    np.testing.assert_array_equal(constant.predict([[9.0]]), [3.0])
    many = DecisionTreeClassifier(min_samples_leaf=3).fit(X, np.arange(6))
    assert many.predict_proba(X).shape == (6, 6)
    far = DecisionTreeRegressor(random_state=0).fit(X + 1e15, X[:, 0])
    np.testing.assert_array_equal(far.predict(X + 1e15), X[:, 0])
    with pytest.raises(ValueError, match="2 features"):
        one.predict([[1.0]])


def test_text_and_drawings():
    X, y = datasets.load_iris(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    other = sklearn.tree.DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    for options in ({}, {"show_weights": True, "decimals": 1}, {"max_depth": 0, "spacing": 2}):
        named = {"feature_names": list(X.columns), **options}  # ours knows them from fit
        assert export_text(model, **options) == sklearn.tree.export_text(other, **named)
    bundle = model._repr_mimebundle_()
    assert bundle["text/html"].count("<rect") == model.tree_.node_count
    assert "petal" in bundle["text/html"]


@pytest.mark.parametrize("depth", [2, 4])
def test_drawn_boxes_say_what_scikit_learns_say_and_do_not_overlap(depth):
    X, y = datasets.load_breast_cancer(return_X_y=True, as_frame=True)
    plt.switch_backend("Agg")
    for kind, options in (
        ("DecisionTreeClassifier", {"class_names": ["no", "yes"], "filled": True}),
        ("DecisionTreeClassifier", {"class_names": True, "proportion": True, "node_ids": True}),
        ("DecisionTreeRegressor", {"label": "root", "max_depth": 1, "rounded": True}),
    ):
        plt.close("all")
        options["feature_names"] = list(X.columns)
        models = [getattr(m, kind)(max_depth=depth, random_state=0) for m in (ours, sklearn.tree)]
        drawn = ours.plot_tree(models[0].fit(X, y), **options)
        assert min(box.get_fontsize() for box in drawn) > 9.9
        drawn[0].figure.canvas.draw()
        frames = [b.get_bbox_patch().get_window_extent() for b in drawn if b.get_bbox_patch()]
        for i, frame in enumerate(frames):
            assert not any(frame.overlaps(other) for other in frames[:i])
            assert drawn[0].figure.bbox.containsx(frame.x0)
            assert drawn[0].figure.bbox.containsx(frame.x1)
        expected = sklearn.tree.plot_tree(models[1].fit(X, y), **options)
        said = [re.sub(r"\s*\(\.\.\.\)\s*", "(...)", a.get_text()) for a in expected]
        assert [a.get_text() for a in drawn] == said
    narrow = plt.figure(figsize=(3, 2)).add_subplot()
    assert ours.plot_tree(models[0], ax=narrow)[0].get_fontsize() < 9
    with pytest.raises(ValueError, match="label"):
        ours.plot_tree(models[0], label="some")
    plt.close("all")


def test_a_poisson_leaf_never_predicts_0():
    X, y = datasets.make_regression(400, 10, random_state=0)
    y = np.where((y > -9.0) & (y < 0.0), 0.0, abs(y))
    model = DecisionTreeRegressor(criterion="poisson", random_state=0).fit(X, y)
    assert model.predict(X).min() > 0.0


def test_read_only_arrays_run_the_code_of_writable_ones():
    kernels = grow_nodes, apply_rows
    X, y = datasets.load_iris(return_X_y=True)
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    leaves, compiled = model.apply(X), [len(k.dispatcher.overloads) for k in kernels]
    columns = np.asfortranarray(X)  # its transpose reaches the kernel as it is
    for array in (X, y, columns):
        array.setflags(write=False)
    for rows in (X, columns):
        np.testing.assert_array_equal(clone(model).fit(rows, y).apply(rows), leaves)
    assert [len(k.dispatcher.overloads) for k in kernels] == compiled
