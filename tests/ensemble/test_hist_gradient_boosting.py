"""Histogram boosting against its definition, scikit-learn, and itself on any number of threads"""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import parametrize_with_checks

from mlreplica import losses
from mlreplica.callbacks import EarlyStopping, Trace
from mlreplica.core.compile import threads as parallel
from mlreplica.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from mlreplica.ensemble.histogram.binning import encode, learn_bins, thresholds


def sample(n=300, p=4, seed=0):
    """A curved target with an interaction."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)


def regressor(**options):
    return HistGradientBoostingRegressor(**{"max_iter": 10, "random_state": 0} | options)


def classifier(**options):
    return HistGradientBoostingClassifier(**{"max_iter": 10, "random_state": 0} | options)


# binning -----------------------------------------------------------------------------------------


@given(
    st.lists(st.integers(-50, 50), min_size=1, max_size=80),
    st.integers(2, 20),
    st.integers(0, 2**32 - 1),
)
def test_a_weight_is_a_repetition_for_thresholds(values, max_bins, seed):
    x = np.array(values, dtype=float)
    weight = np.random.default_rng(seed).integers(0, 4, size=len(x))
    found = thresholds(x, max_bins, weight.astype(float))
    assert_array_equal(found, thresholds(np.repeat(x, weight), max_bins))
    assert len(found) < max_bins
    assert (np.diff(found) > 0).all()


@pytest.mark.parametrize("max_bins", [2, 17, 255])
def test_codes_are_ranks_among_the_thresholds(max_bins):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 21))
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 3] = rng.integers(0, 5, size=500)
    X[0, 4], X[1, 4] = np.inf, -np.inf
    X[:, 5] = np.exp(100 * X[:, 5])  # nearly all thresholds in one cell of the table
    X[:, 6] = 5e-324 * rng.integers(0, 400, size=500)  # a span without a reciprocal
    X[:, 7] = np.copysign(1.7e308, X[:, 7])  # a span that no float holds
    X[:, 8] = 1e15 + rng.integers(0, 300, size=500)
    bins = learn_bins(X, max_bins, np.zeros(21, dtype=int), None, np.random.RandomState(0))
    words, _, place, gaps = encode(X, bins)
    assert_array_equal(gaps, np.isnan(X).any(axis=0))
    for j, (first, step, shift) in enumerate(place):
        code = (words[first + step * np.arange(500)] >> shift) & 255
        t = bins.edges[j, : bins.n_bins[j] - 1]
        naive = np.where(np.isnan(X[:, j]), 0, 1 + (t < X[:, j, None]).sum(axis=1))
        assert_array_equal(code, naive)


# the definition ----------------------------------------------------------------------------------


def naive_tree(X, g, h, rows, options, depth=0):
    """Ten lines: the best split of `rows` by trying them all, then the same for its sides."""
    least, penalty, gamma, max_depth = options
    best = (2 * gamma, None)
    worth = g[rows].sum() ** 2 / (h[rows].sum() + penalty) if depth else 0.0
    for j in range(X.shape[1]) if depth < max_depth else ():
        for t in np.unique(X[rows, j])[:-1]:
            left = X[rows, j] <= t
            if min(left.sum(), (~left).sum()) >= least:
                sides = [rows[left], rows[~left]]
                gain = sum(g[i].sum() ** 2 / (h[i].sum() + penalty) for i in sides) - worth
                if gain > best[0] * (1 + 1e-9):
                    best = (gain, sides)
    if best[1] is None:
        return {tuple(rows): 0.0 if depth == 0 else -g[rows].sum() / (h[rows].sum() + penalty)}
    left, right = (naive_tree(X, g, h, i, options, depth + 1) for i in best[1])
    return left | right


@settings(deadline=None, max_examples=25)
@given(
    st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1.5]), st.sampled_from([0.0, 0.8]),
    st.integers(1, 3),
)  # fmt: skip
def test_a_tree_is_the_greedy_minimum_of_the_objective(seed, penalty, gamma, max_depth):
    X, y = sample(60, 3, seed)
    model = regressor(
        max_iter=1, learning_rate=1.0, min_samples_leaf=4, l2_regularization=penalty,
        min_split_gain=gamma, max_depth=max_depth, growth="depth", max_leaf_nodes=None,
    ).fit(X, y)  # fmt: skip
    g, h = y.mean() - y, np.ones(60)
    leaves = naive_tree(X, g, h, np.arange(60), (4, penalty, gamma, max_depth))
    expected = np.zeros(60)
    for rows, value in leaves.items():
        expected[list(rows)] = y.mean() + value
    assert_allclose(model.predict(X), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"loss": "absolute_error"},
        {"loss": "poisson"},
        {"loss": "gamma"},
        {"loss": "quantile", "quantile": 0.3, "max_iter": 5},
        {"l2_regularization": 1.0, "min_samples_leaf": 5},
        {"max_depth": 3},
        {"max_leaf_nodes": None, "min_samples_leaf": 4},
        {"monotonic_cst": [0, 0, 1, 1, -1, 0, 0, 0, 0, 0]},
        {"interaction_cst": "no_interactions"},
        {"interaction_cst": [{0, 1, 2, 3}, {2, 8}]},
        {"max_bins": 16},
    ],
)
def test_the_same_model_as_scikit_learn(options):
    """Its sums are of single precision: the same trees as long as no two gains nearly tie."""
    X, y = load_diabetes(return_X_y=True)
    options = {"max_iter": 10} | options
    ours = regressor(**options).fit(X, y)
    theirs = sklearn.ensemble.HistGradientBoostingRegressor(**options).fit(X, y)
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=2e-5)


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_weights_as_in_scikit_learn(loss):
    """Rows of a leaf are counted, whatever their weight."""
    X, y = load_diabetes(return_X_y=True)
    weight = 3 * np.random.default_rng(0).random(len(y))
    ours = regressor(loss=loss).fit(X, y, weight)
    theirs = sklearn.ensemble.HistGradientBoostingRegressor(loss=loss, max_iter=10)
    assert_allclose(ours.predict(X), theirs.fit(X, y, weight).predict(X), rtol=2e-5)


def test_missing_values_and_categories_as_in_scikit_learn():
    X, y = load_diabetes(return_X_y=True)
    rng = np.random.default_rng(0)
    X[rng.random(X.shape) < 0.2] = np.nan
    X = np.column_stack([X, rng.integers(0, 12, size=len(y))])
    y = y + 50 * np.sin(5 * X[:, -1])
    options = {"max_iter": 10, "categorical_features": [10]}
    ours = regressor(**options).fit(X, y)
    theirs = sklearn.ensemble.HistGradientBoostingRegressor(**options).fit(X, y)
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=2e-5)
    X[:5, 10] = [77, -3, np.nan, 3, 4]  # unknown, missing, known
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=2e-5)


@pytest.mark.parametrize("options", [{}, {"l2_regularization": 1.0, "max_leaf_nodes": 8}])
def test_classes_as_in_scikit_learn(options):
    X, y = load_wine(return_X_y=True)
    ours = classifier(**options).fit(X, y)
    theirs = sklearn.ensemble.HistGradientBoostingClassifier(max_iter=10, **options).fit(X, y)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=2e-5)


def test_a_loss_as_low_as_scikit_learns():
    for load in (load_breast_cancer, load_iris):
        X, y = load(return_X_y=True)
        ours = classifier().fit(X, y).predict_proba(X)
        theirs = sklearn.ensemble.HistGradientBoostingClassifier(max_iter=10).fit(X, y)
        assert_allclose(log_loss(y, ours), log_loss(y, theirs.predict_proba(X)), rtol=0.01)


def test_columns_that_divide_the_rows_alike_tie():
    """Whatever the rounding: the first of them is taken, and nothing is gained in a pure leaf."""
    X, y = load_breast_cancer(return_X_y=True)
    twice = classifier().fit(np.column_stack([X, X]), y)
    assert max(tree.column.max() for (tree,) in twice._predictors) < X.shape[1]
    first = classifier(max_iter=1, max_leaf_nodes=None, min_samples_leaf=2).fit(X, y)
    ((tree,),) = first._predictors
    assert tree.gain[tree.column >= 0].min() > 1e-9


# properties --------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared_error", "huber", "poisson", "gamma"])
def test_every_round_lowers_a_convex_loss(loss):
    X, y = sample()
    trace = Trace()
    y = np.exp(y) if loss in ("poisson", "gamma") else y
    regressor(loss=loss, max_iter=30, learning_rate=0.3).set_callbacks(trace).fit(X, y)
    assert (np.diff([state["train_loss"] for state in trace.states]) < 0).all()


@pytest.mark.parametrize("make", [regressor, classifier])
@pytest.mark.parametrize("leaves", [8, 31])
def test_a_weight_is_a_repetition(make, leaves):
    X, y = sample()
    y = y > 0 if make is classifier else y
    weight = np.random.default_rng(1).integers(0, 4, size=len(y))
    model = make(min_samples_leaf=1, max_leaf_nodes=leaves, max_iter=30)
    one = clone(model).fit(X, y, sample_weight=weight)
    other = model.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(one._raw_predict(X), other._raw_predict(X), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("target", ["numbers", "two", "three"])
def test_the_number_of_threads_changes_nothing(target, monkeypatch):
    X, y = sample(20_000, 9)
    X[::7, 2] = np.nan
    y = y if target == "numbers" else np.digitize(y, [0.0] if target == "two" else [-0.5, 0.5])
    make = regressor if target == "numbers" else classifier
    found = []
    for threads in (1, 2, 3):
        monkeypatch.setattr(parallel, "_most", lambda threads=threads: threads)
        parallel._pool.cache_clear()
        model = make(max_iter=5, early_stopping=False, max_features=0.5).fit(X, y)
        found.append(model._raw_predict(X))
    parallel._pool.cache_clear()
    assert_array_equal(found[0], found[1])
    assert_array_equal(found[0], found[2])


def test_a_leaf_never_has_fewer_rows_than_allowed():
    """Even where the curvature differs by orders of magnitude."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    y = X[:, 0] + 0.1 * rng.normal(size=3000) > 1.5
    model = classifier(max_iter=60, learning_rate=0.5, min_samples_leaf=25).fit(X, y)
    fewest = min(tree.count[tree.column < 0].min() for (tree,) in model._predictors)
    assert fewest >= 25


def test_monotone_constraints_hold():
    X, y = sample(2000)
    model = regressor(max_iter=50, monotonic_cst=[1, 0, 0, -1]).fit(X, y)
    grid = np.repeat(X[:50], 40, axis=0)
    for j, sign in ((0, 1), (3, -1)):
        rows = grid.copy()
        rows[:, j] = np.tile(np.linspace(-3, 3, 40), 50)
        steps = np.diff(model.predict(rows).reshape(50, 40), axis=1)
        assert (sign * steps >= -1e-12).all()


def test_columns_that_may_not_meet_never_do():
    X, y = sample()
    model = regressor(interaction_cst=[{0}, {1, 2}], min_samples_leaf=2).fit(X, y)
    allowed = [{0}, {1, 2}, {3}]
    for (tree,) in model._predictors:
        stack = [(0, set())]
        while stack:
            node, used = stack.pop()
            if tree.column[node] >= 0:
                used = used | {int(tree.column[node])}
                assert any(used <= group for group in allowed)
                stack += [(int(tree.left[node]) + side, used) for side in (0, 1)]


def test_growth_by_depth_fills_level_after_level():
    X, y = sample(2000)
    model = regressor(max_iter=1, growth="depth", max_leaf_nodes=12).fit(X, y)
    depth = model._predictors[0][0].depth[model._predictors[0][0].column < 0]
    assert sorted(depth) == [3] * 4 + [4] * 8


def test_many_leaves_need_no_more_histograms_than_there_is_room_for(monkeypatch):
    from mlreplica.ensemble.histogram import rounds as _hist_boost

    X, y = sample(1500)
    grown = [regressor(max_leaf_nodes=None, min_samples_leaf=3).fit(X, y).predict(X)]
    monkeypatch.setattr(_hist_boost, "ROOM", 4000)
    grown.append(regressor(max_leaf_nodes=None, min_samples_leaf=3).fit(X, y).predict(X))
    assert_array_equal(grown[0], grown[1])


def test_one_row_and_many_and_deep_trees_predict_the_same():
    X, y = sample(500)
    X[::5, 1] = np.nan
    X = np.column_stack([X, np.arange(500) % 6])
    for leaves in (31, 33, 64, 100):  # one word of leaves, one more, two, and too many
        model = regressor(max_leaf_nodes=leaves, min_samples_leaf=2, categorical_features=[4])
        many = model.fit(X, y).predict(X)
        one = np.concatenate([model.predict(X[i : i + 1]) for i in range(60)])
        assert_allclose(one, many[:60], rtol=1e-13)
        assert_allclose(list(model.staged_predict(X))[-1], many, rtol=1e-13)


# losses ------------------------------------------------------------------------------------------


def test_quantiles_cover_their_share():
    X, y = sample(3000)
    for q in (0.1, 0.7):
        model = regressor(loss="quantile", quantile=q, max_iter=50).fit(X, y)
        assert abs((y <= model.predict(X)).mean() - q) < 0.03


def test_a_loss_of_your_own():
    X, y = sample()
    square = losses.Loss(
        value=lambda y, f: 0.5 * (y - f) ** 2,
        gradient=lambda y, f: f - y,
        hessian=lambda y, f: np.ones_like(f),
    )
    assert_allclose(
        regressor(loss=square).fit(X, y).predict(X), regressor().fit(X, y).predict(X), rtol=1e-6
    )
    label = np.where(y > 0, "yes", "no")
    boosted = classifier(loss=losses.exponential).fit(X, label)
    assert boosted.score(X, label) > 0.85
    assert_allclose(boosted.predict_proba(X).sum(axis=1), 1.0)


def test_huber_bears_outliers():
    X, y = sample()
    wild = y.copy()
    wild[::20] += 500.0
    error = [np.abs(regressor(loss=loss, max_iter=50).fit(X, wild).predict(X) - y).mean()
             for loss in ("huber", "squared_error")]  # fmt: skip
    assert error[0] < 0.2 * error[1]


# stopping, warm start, traces --------------------------------------------------------------------


@pytest.mark.parametrize("scoring", ["loss", "neg_mean_absolute_error", None])
def test_early_stopping(scoring):
    X, y = sample(600)
    model = regressor(max_iter=300, early_stopping=True, scoring=scoring, learning_rate=0.5)
    model.fit(X, y)
    assert model.n_iter_ < 300
    assert len(model.train_score_) == len(model.validation_score_) == model.n_iter_ + 1
    mine = clone(model).fit(X[:400], y[:400], X_val=X[400:], y_val=y[400:])
    assert mine.n_iter_ < 300
    f = mine.predict(X[400:])
    expected = {
        "loss": -0.5 * np.mean((y[400:] - f) ** 2),
        "neg_mean_absolute_error": -np.abs(y[400:] - f).mean(),
        None: mine.score(X[400:], y[400:]),
    }
    assert_allclose(mine.validation_score_[-1], expected[scoring])


def test_a_scorer_of_your_own_sees_the_labels():
    X, y = sample(400)
    label = np.where(y > 0, "yes", "no")
    seen = set()

    def scorer(model, X, y):
        seen.update(y)
        return model.score(X, y)

    classifier(early_stopping=True, scoring=scorer, max_iter=3).fit(X, label)
    assert seen == {"yes", "no"}


@pytest.mark.parametrize("make", [regressor, classifier])
def test_a_warm_start_goes_on(make):
    X, y = sample()
    y = y > 0 if make is classifier else y
    whole = make(max_iter=12).fit(X, y)
    parts = make(max_iter=5, warm_start=True).fit(X, y)
    parts.set_params(max_iter=12).fit(X, y)
    assert parts.n_iter_ == 12
    assert_allclose(parts._raw_predict(X), whole._raw_predict(X), rtol=1e-6, atol=1e-9)
    with pytest.raises(ValueError, match="must be larger than or equal to"):
        parts.set_params(max_iter=3).fit(X, y)


def test_a_trace_holds_losses_gains_values_and_all_candidates():
    X, y = sample()
    trace, stop = Trace(), EarlyStopping(monitor="train_loss", patience=2)
    model = regressor(keep_candidates=True).set_callbacks(trace, stop).fit(X, y)
    assert len(trace.states) == model.n_iter_ == 10
    state, (tree,) = trace.states[-1], model._predictors[-1]
    assert_allclose(state["train_loss"], 0.5 * np.mean((y - model.predict(X)) ** 2))
    assert_array_equal(state["values"], tree.value)
    for node in np.flatnonzero(tree.column >= 0):
        children = state["lefts"][node] + np.arange(2)
        assert state["counts"][children].sum() == state["counts"][node]
        gains = state["candidates"][node]
        assert gains.max() == gains[tree.column[node], tree.code[node]] == tree.gain[node]


# inputs ------------------------------------------------------------------------------------------


def test_data_frames_name_columns_and_categories():
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue"], size=200)
    frame = pd.DataFrame({"x": rng.normal(size=200), "c": pd.Categorical(colour)})
    y = 2.0 * (colour == "red") + 0.1 * frame["x"].to_numpy()
    model = regressor(monotonic_cst={"x": 1}, max_iter=50).fit(frame, y)
    assert_array_equal(model.is_categorical_, [False, True])
    assert model.score(frame, y) > 0.98
    numbers = np.column_stack([frame["x"], pd.Categorical(colour).codes])
    plain = regressor(categorical_features=[1], monotonic_cst=[1, 0], max_iter=50).fit(numbers, y)
    assert_allclose(plain.predict(numbers), model.predict(frame))


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_extreme_columns(scale):
    X, y = sample()
    assert_allclose(
        regressor().fit(X * scale, y).predict(X * scale), regressor().fit(X, y).predict(X)
    )


def test_degenerate_targets_and_rows():
    X, _ = sample(50)
    assert_array_equal(regressor().fit(X, np.full(50, 3.0)).predict(X), 3.0)
    assert_allclose(regressor().fit(X[:1], [2.0]).predict(X[:2]), 2.0)
    one = classifier().fit(X, np.ones(50))
    assert_array_equal(one.predict(X), 1.0)
    many = classifier(max_iter=2).fit(X, np.arange(50) % 25)  # fewer rows a class than a leaf
    assert_allclose(many.predict_proba(X).sum(axis=1), 1.0)
    gap = np.full((50, 1), np.nan)
    assert_allclose(regressor().fit(gap, X[:, 0]).predict(gap), X[:, 0].mean())


BAD = [
    (regressor(), {"y": np.append(np.ones(49), np.nan)}, "NaN"),
    (regressor(), {"y": np.append(np.ones(49), np.inf)}, "infinity"),
    (regressor(), {"sample_weight": -np.ones(50)}, "Negative values"),
    (regressor(), {"sample_weight": np.zeros(50)}, "at least one non-zero"),
    (regressor(loss="gamma"), {"y": np.zeros(50)}, "requires strictly positive y"),
    (regressor(loss="poisson"), {"y": -np.ones(50)}, "requires non-negative y"),
    (regressor(loss="quantile"), {}, "needs quantile"),
    (regressor(loss=losses.hinge), {}, "take the classifier"),
    (classifier(loss=losses.squared), {"y": np.arange(50) % 2}, "no loss of labels"),
    (classifier(loss=losses.hinge), {"y": np.arange(50) % 3}, "for two classes"),
    (classifier(monotonic_cst=[1, 0, 0, 0]), {"y": np.arange(50) % 3}, "not supported"),
    (regressor(categorical_features=[0], max_bins=20), {}, "cardinality <= 20"),
    (regressor(categorical_features=[0], monotonic_cst=[1, 0, 0, 0]), {}, "cannot have monoton"),
    (regressor(interaction_cst=[{9}]), {}, "integer indices in"),
    (regressor(interaction_cst=[1, 2]), {}, "sequence of tuples or lists"),
    (regressor(), {"y_val": np.ones(3)}, "X_val was not provided"),
    (regressor(), {"X_val": np.ones((3, 4))}, "y_val was not provided"),
    (regressor(growth="up"), {}, "growth"),
    (regressor(min_split_gain=-1.0), {}, "min_split_gain"),
]


@pytest.mark.parametrize(("model", "data", "message"), BAD)
def test_bad_input_is_refused(model, data, message):
    X, y = sample(50)
    with pytest.raises(ValueError, match=message):
        model.fit(**{"X": X, "y": y} | data)


def test_new_rows_are_checked():
    X, y = sample(50)
    model = regressor().fit(X, y)
    with pytest.raises(ValueError, match="expecting 4 features"):
        model.predict(X[:, :3])
    frame = pd.DataFrame(X, columns=list("abcd"))
    named = regressor().fit(frame, y)
    with pytest.raises(ValueError, match="feature names"):
        named.predict(frame[["b", "a", "c", "d"]])
    assert_array_equal(named.predict(frame), model.predict(X))
    assert_allclose(model.predict(X.astype(np.float32)), model.predict(X), atol=0.2)


def test_a_pickle_predicts_the_same():
    X, y = sample()
    for model in (regressor().fit(X, y), classifier().fit(X, y > 0)):
        assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


@parametrize_with_checks([classifier(min_samples_leaf=1), regressor(min_samples_leaf=1)])
def test_sklearn_contract(estimator, check):
    check(estimator)
