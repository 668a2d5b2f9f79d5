"""A search that shares work among settings finds what scikit-learn's finds"""

import warnings

import numpy as np
import pytest
import sklearn.compose
import sklearn.model_selection as reference
import sklearn.pipeline
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import loguniform
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import GroupKFold, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import mlreplica
from mlreplica import model_selection
from mlreplica.datasets import load_diabetes, load_iris
from mlreplica.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from mlreplica.linear_model import LogisticRegression, Ridge
from mlreplica.model_selection import GridSearchCV, RandomizedSearchCV, nested_cross_validate
from mlreplica.model_selection._settings import Fold, fit_settings
from mlreplica.svm import SVC
from mlreplica.tree import DecisionTreeClassifier

X, y = load_diabetes(return_X_y=True)
X, y = X[:150], y[:150]
A, c = load_iris(return_X_y=True)
noise = np.random.default_rng(0).normal(size=A.shape)
A, c = (A + noise)[::-1], c[::-1]
MANY = np.random.default_rng(1).normal(size=(1800, 4))
HIST = {"max_iter": 8, "min_samples_leaf": 5, "random_state": 0}
CASES = {
    "ridge": (Ridge(), {"alpha": [0.01, 0.1, 1.0, 10.0], "fit_intercept": [True, False]}, X, y),
    "ridge, α = 0": (Ridge(), {"alpha": [0.0, 1.0]}, X, y),
    "ridge, its own α": (Ridge(), [{"alpha": [0.1, 2.0]}, {}], X, y),
    "ridge, wide": (Ridge(), {"alpha": [0.1, 1, 10.0]}, X[:8], y[:8]),
    "logistic": (LogisticRegression(), {"C": [10.0, 0.01, 1.0]}, A, c),
    "logistic, L1": (
        LogisticRegression(solver="cd", tol=1e-6),
        {"C": [0.1, 1.0, 10.0], "l1_ratio": [1.0, 0.5]},
        A,
        c,
    ),
    "svc": (SVC(), {"C": [0.1, 1.0, 100.0], "gamma": ["scale", 0.1, 1.0]}, A, c),
    "svc, poly": (SVC(kernel="poly"), {"C": [0.1, 1.0], "degree": [1, 2]}, A, c % 2),
    "svc, many rows": (SVC(), {"C": [0.1, 1.0, 100.0]}, MANY, MANY[:, 0] ** 2 > MANY[:, 1]),
    "boosting": (
        HistGradientBoostingRegressor(**HIST),
        {"max_iter": [3, 8], "learning_rate": [0.1, 0.5], "max_bins": [16, 255]},
        X,
        y,
    ),
    "boosting, early stopping": (
        HistGradientBoostingClassifier(**HIST, early_stopping=True, n_iter_no_change=2),
        {"max_iter": [2, 5, 30], "max_leaf_nodes": [3, 7]},
        A,
        c,
    ),
    "tree": (DecisionTreeClassifier(random_state=0), {"max_depth": [1, 3]}, A, c),
    "pipeline": (
        make_pipeline(StandardScaler(), PolynomialFeatures(), Ridge()),
        {"ridge__alpha": [0.1, 1.0], "polynomialfeatures__degree": [1, 2]},
        X[:, :4],
        y,
    ),
    "pipeline of svc": (
        make_pipeline(StandardScaler(), SVC()),
        [{"svc__C": [1.0]}, {"svc__kernel": ["linear"]}, {"standardscaler__with_std": [False]}],
        A,
        c,
    ),
    "pipeline, other steps": (
        make_pipeline(StandardScaler(), SVC()),
        {"standardscaler": ["passthrough", StandardScaler()], "svc__C": [1.0]},
        A,
        c,
    ),
}  # fmt: skip


def assert_same(ours, theirs, rtol=1e-6):
    """Both searches tell the same."""
    mine, known = ours.cv_results_, theirs.cv_results_
    assert list(mine) == list(known)
    for name, values in known.items():
        if "time" in name or name == "params":
            continue
        if name.startswith("param_"):
            assert_array_equal(mine[name].mask, values.mask)
            assert [str(v) for v in mine[name]] == [str(v) for v in values]
        else:
            assert_allclose(mine[name], values, rtol=rtol, atol=1e-9, err_msg=name)
    if hasattr(theirs, "best_index_"):
        assert ours.best_index_ == theirs.best_index_
        assert str(ours.best_params_) == str(theirs.best_params_)
    public = {name for name in vars(theirs) if name.endswith("_")}
    assert public == {name for name in vars(ours) if name.endswith("_")}


@pytest.mark.parametrize("case", CASES)
def test_same_results(case):
    model, grid, rows, target = CASES[case]
    options = {"cv": 3, "return_train_score": True}
    assert_same(
        GridSearchCV(model, grid, **options).fit(rows, target),
        reference.GridSearchCV(model, grid, **options).fit(rows, target),
    )


def absolute(model, X, y):
    return {"error": -mean_absolute_error(y, model.predict(X)), "one": 1.0}


@pytest.mark.parametrize(
    "scoring",
    [
        "neg_mean_squared_error",
        make_scorer(mean_absolute_error, greater_is_better=False),
        ["r2", "neg_mean_absolute_error"],
        {"a": "r2"},
        absolute,
    ],
    ids=["name", "scorer", "list", "dict", "function"],
)
def test_scorings(scoring):
    first = {"absolute": "error"}.get(getattr(scoring, "__name__", ""), True)
    refit = first if not isinstance(scoring, list | dict) else next(iter(scoring))
    given = {"scoring": scoring, "refit": refit, "cv": 3}
    grid = {"alpha": [0.1, 1.0]}
    theirs = reference.GridSearchCV(Ridge(), grid, **given).fit(X, y)
    ours = GridSearchCV(Ridge(), grid, **given).fit(X, y)
    assert_same(ours, theirs)
    assert_allclose(ours.score(X, y), theirs.score(X, y), rtol=1e-8)


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", "f1_macro", "roc_auc_ovr"])
def test_scorings_of_classes(scoring):
    grid = {"C": [0.1, 1.0]}
    options = {"scoring": scoring, "cv": KFold(3, shuffle=True, random_state=0)}
    assert_same(
        GridSearchCV(LogisticRegression(tol=1e-8), grid, **options).fit(A, c),
        reference.GridSearchCV(LogisticRegression(tol=1e-8), grid, **options).fit(A, c),
    )


@pytest.mark.parametrize("model", [Ridge(), HistGradientBoostingRegressor(**HIST)], ids=repr)
def test_weights_and_groups(model):
    rng = np.random.default_rng(0)
    told = {"sample_weight": rng.integers(0, 3, len(y)), "groups": rng.integers(0, 9, len(y))}
    grid = {"alpha": [0.1, 1.0]} if isinstance(model, Ridge) else {"max_iter": [2, 4]}
    ours = GridSearchCV(model, grid, cv=GroupKFold(3)).fit(X, y, **told)
    assert_same(ours, reference.GridSearchCV(model, grid, cv=GroupKFold(3)).fit(X, y, **told))


def test_other_containers():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(X, schema=[f"x{j}" for j in range(X.shape[1])])
    ours = GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}).fit(frame, list(y))
    theirs = reference.GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}).fit(frame, list(y))
    assert_same(ours, theirs)
    assert_array_equal(ours.feature_names_in_, theirs.feature_names_in_)


def test_threads_find_the_same():
    for name in ("svc", "logistic"):
        model, grid, rows, target = CASES[name]
        one = GridSearchCV(model, grid, cv=3).fit(rows, target)
        assert_same(GridSearchCV(model, grid, cv=3, n_jobs=2).fit(rows, target), one)


def test_random_search():
    given = {"n_iter": 6, "random_state": 3}
    draws = {"alpha": loguniform(1e-3, 1e2)}
    ours = RandomizedSearchCV(Ridge(), draws, **given).fit(X, y)
    assert_same(ours, reference.RandomizedSearchCV(Ridge(), draws, **given).fit(X, y))


def test_fits_that_fail():
    grid = {"alpha": [-1.0, 1.0]}
    with pytest.warns(FitFailedWarning), pytest.warns(UserWarning, match="non-finite"):
        ours = GridSearchCV(Ridge(), grid, cv=2).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = reference.GridSearchCV(Ridge(), grid, cv=2).fit(X, y)
    assert_same(ours, theirs)
    assert ours.cv == 2
    with pytest.raises(ValueError, match="alpha"):
        GridSearchCV(Ridge(), grid, error_score="raise").fit(X, y)


class WithoutScore(LogisticRegression):
    """Its `fit` returns nothing, and it has no score."""

    score = property()

    def fit(self, X, y):
        super().fit(X, y)


def test_fit_need_not_return_the_model():
    grid = {"tol": [0.1, 1e-4]}
    search = GridSearchCV(WithoutScore(), grid, scoring="accuracy", error_score="raise")
    assert isinstance(search.fit(A, c).best_estimator_, WithoutScore)


def test_a_model_without_score_is_refused_first():
    with pytest.raises(TypeError, match="no scoring"):
        GridSearchCV(WithoutScore(), {"C": [1.0]}).fit([[1]])


def test_folds_that_are_not_as_many_as_they_say():
    class Broken(KFold):
        def get_n_splits(self, *args, **told):
            return 1

    with pytest.raises(ValueError, match="Expected 1 splits, got 3"):
        GridSearchCV(Ridge(), {"alpha": [1.0]}, cv=Broken(3)).fit(X, y)


@pytest.mark.parametrize("case", ["ridge", "logistic", "logistic, L1", "boosting"])
def test_models_are_those_of_single_fits(case):
    model, grid, rows, target = CASES[case]
    settings = list(reference.ParameterGrid(grid))
    half = np.arange(len(rows)) % 2 == 0
    parts = np.flatnonzero(half), np.flatnonzero(~half)
    fold, seen = Fold.of(rows, target, *parts, {}, {}, {}), set()
    for k, fitted, of in fit_settings(model, fold, settings):
        alone = clone(model).set_params(**settings[k]).fit(fold.X_train, fold.y_train)
        seen.add(k)
        assert fitted.get_params() == alone.get_params()
        predict = "predict_proba" if hasattr(alone, "predict_proba") else "predict"
        mine = getattr(fitted, predict)(of.X_test)
        assert_allclose(mine, getattr(alone, predict)(fold.X_test), rtol=1e-4, atol=1e-4)
        assert set(vars(alone)) <= set(vars(fitted))
    assert seen == set(range(len(settings)))


@pytest.mark.parametrize("seed", [None, 0], ids=["no seed", "seed"])
def test_fewer_rounds_are_the_first_of_more(seed):
    fits = []

    class Counted(HistGradientBoostingRegressor):
        def fit(self, X, y):
            fits.append(self.max_iter)
            return super().fit(X, y)

    grid = {"max_iter": [2, 5, 3], "learning_rate": [0.1, 0.5]}
    model = Counted(min_samples_leaf=5, random_state=seed)
    ours = GridSearchCV(model, grid, cv=3, refit=False).fit(X, y)
    assert fits == [5] * 6
    theirs = reference.GridSearchCV(model, grid, cv=3, refit=False).fit(X, y)
    assert_same(ours, theirs)


def test_svc_goes_on_from_a_smaller_cost_if_told_to():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2000, 3))
    target = (rows[:, 0] ** 2 + rng.normal(size=2000) > 1).astype(int)
    weight = rng.uniform(0.5, 2.0, 2000)
    parts = np.arange(1200), np.arange(1200, 2000)
    settings = [{"C": C} for C in (1.0, 0.1, 0.2, 0.5)]
    fold = Fold.of(rows, target, *parts, {"sample_weight": weight}, {}, {})
    found, steps, cold = {}, {}, {}
    for k, fitted, of in fit_settings(SVC(tol=1e-4, warm_start=True), fold, settings):
        found[k], steps[k] = fitted.decision_function(of.X_test), fitted.n_iter_[0]
        alone = SVC(tol=1e-4, **settings[k]).fit(fold.X_train, fold.y_train, weight[:1200])
        assert_allclose(found[k], alone.decision_function(fold.X_test), atol=1e-3)
        cold[k] = alone.n_iter_[0]
    assert list(found) == [1, 2, 3, 0]
    assert sum(steps.values()) < 0.8 * sum(cold.values()), (steps, cold)


def test_nested():
    search = GridSearchCV(Ridge(), {"alpha": [0.01, 0.1, 1.0]}, cv=3)
    found = nested_cross_validate(search, X, y, cv=4)
    naive = reference.cross_val_score(search, X, y, cv=4)
    assert_allclose(found.scores, naive, rtol=1e-12)
    assert found.interval[0] < found.mean == naive.mean() < found.interval[1]
    assert_allclose(found.optimism, found.inner_scores.mean() - found.mean, rtol=1e-12)
    assert found.params == [model.best_params_ for model in found.estimators]
    wider = nested_cross_validate(search, X, y, cv=4, confidence=0.99).interval
    assert wider[0] < found.interval[0]
    with pytest.raises(ValueError, match="confidence"):
        nested_cross_validate(search, X, y, confidence=1.0)


def test_all_names_of_scikit_learn():
    modules = {
        "model_selection": reference,
        "pipeline": sklearn.pipeline,
        "compose": sklearn.compose,
    }
    for name, theirs in modules.items():
        ours = getattr(mlreplica, name)
        wanted = {n for n in theirs.__all__ if not n.startswith("Halving")}  # experimental
        assert wanted <= set(ours.__all__)
        same = wanted - {"GridSearchCV", "RandomizedSearchCV"}
        assert all(getattr(ours, n) is getattr(theirs, n) for n in same)
    assert model_selection.GridSearchCV.__module__.startswith("mlreplica.")


STRICT = {"cv": 2, "error_score": "raise"}


@parametrize_with_checks(
    [
        GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, **STRICT),
        GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, **STRICT),
        RandomizedSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, n_iter=2, random_state=0, **STRICT),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)
