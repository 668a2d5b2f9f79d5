"""Contributions add up, equal their definition on small problems, and the package shap's values"""

from itertools import combinations
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mlreplica.datasets import load_diabetes, load_iris
from mlreplica.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from mlreplica.inspection import explain
from mlreplica.inspection.shapley import coalitions
from mlreplica.inspection.shapley.explain import trees_of
from mlreplica.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from mlreplica.naive_bayes import GaussianNB
from mlreplica.neighbors import KNeighborsRegressor
from mlreplica.svm import SVC
from mlreplica.tree import DecisionTreeClassifier, DecisionTreeRegressor


def subsets(columns):
    for size in range(len(columns) + 1):
        yield from combinations(columns, size)


def shapley(g, p):
    """Definition (6) for a function of sets of columns."""
    phi = np.zeros((p, *np.shape(g(()))))
    for i in range(p):
        for S in subsets([j for j in range(p) if j != i]):
            weight = factorial(len(S)) * factorial(p - len(S) - 1) / factorial(p)
            phi[i] += weight * (g((*S, i)) - g(S))
    return phi


def interaction(g, p):
    """Shapley's interaction index, half for each order of the two columns."""
    phi = np.zeros((p, p))
    for i, j in combinations(range(p), 2):
        for S in subsets([k for k in range(p) if k not in (i, j)]):
            weight = factorial(len(S)) * factorial(p - len(S) - 2) / factorial(p - 1)
            change = g((*S, i, j)) - g((*S, i)) - g((*S, j)) + g(S)
            phi[i, j] += weight * change / 2
        phi[j, i] = phi[i, j]
    return phi + np.diag(shapley(g, p) - phi.sum(axis=1))


def walk(tree, x, known, node=0):
    """The value of a tree if only some columns of x are known: the others go both ways."""
    if tree.column[node] < 0:
        return tree.value[node]
    left, right, j = tree.left[node], tree.right[node], tree.column[node]
    if j not in known:
        share = tree.cover[left] / tree.cover[node]
        return share * walk(tree, x, known, left) + (1 - share) * walk(tree, x, known, right)
    if np.isnan(x[j]):
        goes_left = tree.missing_left[node]
        if tree.table[node] >= 0:
            goes_left = tree.tables[tree.table[node], 0]
    elif tree.table[node] >= 0:
        table = tree.tables[tree.table[node]]
        goes_left = table[int(x[j]) + 1] if 0 <= x[j] < len(table) - 2 else table[-1]
    else:
        goes_left = x[j] <= tree.threshold[node]
    return walk(tree, x, known, left if goes_left else right)


def make_rows(seed, n=60, p=4, gaps=0.0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, size=(n, p)) / 2.0
    y = X[:, 0] * X[:, 1] - X[:, 2] + rng.normal(size=n)
    X[rng.random(X.shape) < gaps] = np.nan
    return X, y


MODELS = [
    DecisionTreeRegressor(max_depth=5, random_state=0),
    RandomForestRegressor(3, random_state=0),
    ExtraTreesRegressor(3, max_depth=4, random_state=0),
    GradientBoostingRegressor(n_estimators=5, random_state=0),
    HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=2),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
@given(seed=st.integers(0, 1000))
@settings(max_examples=5)
def test_values_are_shapley_values_of_the_walk_both_ways(model, seed):
    X, y = make_rows(seed)
    model.fit(X, y)
    trees, start, _ = trees_of(model)
    found, pairs = explain(model, X[:2]), explain(model, X[:2], interactions=True)
    for x, phi, phi_pairs, base in zip(
        X, found.values, pairs.values, found.base_values, strict=False
    ):
        g = lambda known, x=x: (start + sum(walk(t, x, known) for t in trees))[0]
        assert_allclose(phi, shapley(g, 4), atol=1e-10)
        assert_allclose(phi_pairs, interaction(g, 4), atol=1e-10)
        assert_allclose(base, g(()), rtol=1e-12)


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
@given(seed=st.integers(0, 1000))
@settings(max_examples=5)
def test_against_a_background_they_are_those_of_replaced_columns(model, seed):
    X, y = make_rows(seed)
    model.fit(X, y)
    found = explain(model, X[:2], background=X[10:17])
    for x, phi, base in zip(X, found.values, found.base_values, strict=False):
        want, empty = coalitions.exact(model.predict, x, X[10:17])
        assert_allclose(phi, want[:, 0], atol=1e-10)
        assert_allclose(base, empty[0], rtol=1e-10)


def test_gaps_and_categories_follow_the_tree():
    X, y = make_rows(3, n=300, gaps=0.2)
    X[:, 3] = np.floor(np.nan_to_num(X[:, 3]) * 2)
    y = y + 3 * (X[:, 3] % 2)
    for model in (
        HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=3, categorical_features=[3]),
        DecisionTreeRegressor(max_depth=5, categorical_features=[3]),
    ):
        model.fit(X, y)
        trees, start, _ = trees_of(model)
        assert any((t.table >= 0).any() for t in trees)
        found = explain(model, X[:20])
        assert_allclose(found.answers, model.predict(X[:20]), rtol=1e-10)
        for x, phi in zip(X[:5], found.values, strict=False):
            g = lambda known, x=x: (start + sum(walk(t, x, known) for t in trees))[0]  # noqa: B023
            assert_allclose(phi, shapley(g, 4), atol=1e-10)


@pytest.mark.parametrize(
    ("model", "output"),
    [
        (DecisionTreeClassifier(max_depth=3), "probability"),
        (RandomForestClassifier(5), "probability"),
        (GradientBoostingClassifier(n_estimators=3), "raw score"),
        (HistGradientBoostingClassifier(max_iter=3), "raw score"),
        (LogisticRegression(), "score"),
        (GaussianNB(), "probability"),
    ],
    ids=lambda m: type(m).__name__,
)
@pytest.mark.parametrize("classes", [2, 3])
def test_answers_of_classifiers_add_up(model, output, classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < classes], y[y < classes]
    model.fit(X, y)
    found = explain(model, X[::10])
    answer = model.predict_proba if output == "probability" else model.decision_function
    assert found.output == output
    assert_allclose(found.answers, answer(X[::10]), atol=1e-9)
    several = classes if output == "probability" or classes == 3 else None
    assert found.values.shape == (len(X[::10]), 4, *([several] if several else []))
    assert found.output_names == ([str(c) for c in range(several)] if several else None)


def test_linear_models_by_their_weights():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = LinearRegression().fit(X, y)
    found = explain(model, X)
    assert found.method == "linear"
    assert_allclose(found.values, (X - X.mean()) * model.coef_, atol=1e-9)
    assert_allclose(found.answers, model.predict(X), rtol=1e-10)
    assert found.feature_names == list(X.columns)
    asked = explain(model, X[:3], background=X[:20], method="permutation")
    assert_allclose(
        asked.values, explain(model, X[:3], background=X[:20]).values, rtol=1e-9, atol=1e-9
    )


def test_a_model_with_a_link_is_not_taken_for_a_line():
    X, y = load_diabetes(return_X_y=True)
    model = PoissonRegressor().fit(X[:, :4], y)
    found = explain(model, X[:3, :4], background=X[:10, :4])
    assert found.method == "exact"
    assert_allclose(found.answers, model.predict(X[:3, :4]), rtol=1e-10)


@pytest.mark.parametrize("method", ["exact", "permutation", "kernel"])
def test_models_that_are_asked_add_up(method):
    X, y = load_diabetes(return_X_y=True)
    model = KNeighborsRegressor().fit(X[:, :6], y)
    found = explain(model, X[:3, :6], background=X[:15, :6], method=method, n_coalitions=40)
    assert found.method == method
    assert_allclose(found.answers, model.predict(X[:3, :6]), rtol=1e-10)


def test_permutations_and_kernels_approach_the_exact_values():
    X, y = load_diabetes(return_X_y=True)
    model = SVC().fit(X[:, :7], y > 140)
    options = {"background": X[:10, :7]}
    exact = explain(model, X[:2, :7], method="exact", **options).values
    size = np.abs(exact).max()
    many = explain(model, X[:2, :7], method="permutation", n_permutations=300, **options).values
    assert_allclose(many, exact, atol=0.02 * size)
    for count, error in ((60, 0.3), (126, 1e-10)):
        kernel = explain(model, X[:2, :7], method="kernel", n_coalitions=count, **options).values
        assert_allclose(kernel, exact, atol=error * size)


def test_groups_of_columns_are_known_together():
    rng = np.random.default_rng(0)
    x, background, groups = rng.normal(size=5), rng.normal(size=(4, 5)), np.array([0, 0, 1, 2, 2])
    f = lambda rows: rows[:, 0] * rows[:, 3] + rows[:, 1] * rows[:, 2]
    phi, base = coalitions.exact(f, x, background, groups)
    g = lambda S: np.mean(
        [f(np.where(np.isin(groups, S), x, b)[None])[0] for b in background]  # (5)
    )
    assert_allclose(phi[:, 0], shapley(g, 3), rtol=1e-10)
    many, same = coalitions.by_permutations(f, x, background, 1, rng, groups)
    assert_allclose(many.sum() + same[0], f(x[None])[0], rtol=1e-10)
    assert_allclose(base, same, rtol=1e-12)


def test_kernel_weights_make_least_squares_return_shapley_values():
    rng = np.random.default_rng(0)
    p = 5
    table = rng.normal(size=1 << p)
    Z = coalitions.all_coalitions(p)[1:-1].astype(float)
    gain = table[1:-1] - table[0]
    w = np.array([coalitions.kernel_weight(p, int(z.sum())) for z in Z])
    A, full = Z[:, :-1] - Z[:, -1:], table[-1] - table[0]
    phi = np.linalg.solve((A.T * w) @ A, (A.T * w) @ (gain - Z[:, -1] * full))
    want = shapley(lambda S: table[sum(1 << j for j in S)], p)
    assert_allclose([*phi, full - phi.sum()], want, rtol=1e-8)


def test_of_a_pipeline_the_last_step_is_explained():
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures

    X, y = load_diabetes(return_X_y=True)
    pipe = make_pipeline(PolynomialFeatures(2), DecisionTreeRegressor(max_depth=3)).fit(X[:, :3], y)
    found = explain(pipe, X[:5, :3])
    assert found.values.shape == (5, 10)
    assert_allclose(found.answers, pipe.predict(X[:5, :3]))


def test_importance_is_sorted_and_interactions_have_none():
    X, y = make_rows(0)
    model = DecisionTreeRegressor(max_depth=4).fit(X, y)
    found = explain(model, X)
    assert sorted(found.importance().values(), reverse=True) == list(found.importance().values())
    assert found.importance()["x0"] == pytest.approx(np.abs(found.values[:, 0]).mean())
    with pytest.raises(ValueError, match="interactions"):
        explain(model, X, interactions=True).importance()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "magic"}, "method must be one of"),
        ({"method": "linear"}, "needs a model whose answer is a line"),
        ({"interactions": True}, "interactions need a tree"),
        ({"method": "tree"}, "needs a tree"),
        ({"X": np.zeros((2, 3))}, "X has 3 columns, the model 4"),
        ({"background": np.zeros((2, 3))}, "background has 3 columns"),
    ],
)
def test_wrong_calls_say_what_is_wrong(change, message):
    X, y = make_rows(0)
    model = KNeighborsRegressor().fit(X, y)
    with pytest.raises(ValueError, match=message):
        explain(model, **({"X": X} | change))


def test_an_interaction_against_a_background_is_refused():
    X, y = make_rows(0)
    model = DecisionTreeRegressor().fit(X, y)
    with pytest.raises(ValueError, match="leave out background"):
        explain(model, X, background=X, interactions=True)


def test_a_tree_of_one_leaf_explains_nothing():
    model = DecisionTreeRegressor().fit([[0.0], [1.0]], [2.0, 2.0])
    found = explain(model, [[5.0]])
    assert found.values.tolist() == [[0.0]]
    assert found.base_values.tolist() == [2.0]
