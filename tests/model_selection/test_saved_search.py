"""A fitted search comes back from its file: what it found, what it would draw, how it scores"""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats

import mlreplica
from mlreplica.datasets import load_diabetes, load_iris
from mlreplica.linear_model import LogisticRegression, Ridge
from mlreplica.model_selection import (
    GridSearchCV,
    RandomizedSearchCV,
    RepeatedKFold,
    StratifiedShuffleSplit,
)
from mlreplica.persistence._values import Reader
from mlreplica.pipeline import make_pipeline
from mlreplica.preprocessing import StandardScaler
from mlreplica.svm import SVC

X, y = (a[::2] for a in load_iris(return_X_y=True))
D, t = (a[::3] for a in load_diabetes(return_X_y=True))
GRIDS = [{"svc__kernel": ["linear"], "svc__C": np.array([0.1, 1.0])}, {"svc__gamma": [0.1, 1.0]}]
ALPHAS = {"alpha": stats.loguniform(1e-3, 10), "solver": ["auto", "svd"]}
CASES = {
    "grid": (GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}), X, y),
    "pipeline, two grids, named score": (
        GridSearchCV(make_pipeline(StandardScaler(), SVC()), GRIDS, scoring="f1_macro", cv=3), X, y
    ),
    "draws, own folds": (
        RandomizedSearchCV(
            Ridge(), ALPHAS, n_iter=4, random_state=np.random.RandomState(3),
            cv=RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
        ),
        D, t,
    ),
    "several scores": (
        GridSearchCV(
            LogisticRegression(), {"C": [0.1, 1.0]}, scoring=["accuracy", "neg_log_loss"],
            refit="neg_log_loss", cv=StratifiedShuffleSplit(3, random_state=1),
        ),
        X, y,
    ),
    "no refit": (GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, refit=False), D, t),
    "folds by hand": (
        GridSearchCV(Ridge(), {"alpha": [0.1]}, cv=[(np.arange(50), np.arange(50, 90))]), D, t
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_fitted_search_comes_back(case, tmp_path):
    search, rows, target = CASES[case]
    search.fit(rows, target)
    again = mlreplica.load(mlreplica.save(search, tmp_path / "search"))
    assert vars(again).keys() == vars(search).keys() - {"_checked_cv_orig"}
    for name, column in search.cv_results_.items():
        assert type(again.cv_results_[name]) is type(column)
        assert_array_equal(np.ma.getmaskarray(again.cv_results_[name]), np.ma.getmaskarray(column))
        assert list(again.cv_results_[name]) == list(column)
    assert again.best_params_ == search.best_params_
    if search.refit:
        assert_array_equal(again.predict(rows), search.predict(rows))
        assert again.score(rows, target) == search.score(rows, target)
    again.fit(rows, target)  # and it can search again
    assert again.n_splits_ == search.n_splits_


def test_a_search_of_new_settings_draws_what_the_first_would(tmp_path):
    search = RandomizedSearchCV(Ridge(), ALPHAS, n_iter=3, random_state=0)
    again = mlreplica.load(mlreplica.save(search, tmp_path / "search"))
    assert again.fit(D, t).best_params_ == search.fit(D, t).best_params_


@pytest.mark.parametrize(
    ("search", "what"),
    [
        (GridSearchCV(Ridge(), {}, scoring=lambda *_: 1.0), r"GridSearchCV\.scoring is the funct"),
        (GridSearchCV(Ridge(), {}, cv=iter([])), r"GridSearchCV\.cv is of type"),
        (
            RandomizedSearchCV(Ridge(), {"alpha": stats.rv_histogram(np.histogram(t))()}),
            r"RandomizedSearchCV\.param_distributions\['alpha'\]",
        ),
    ],
)
def test_code_of_yours_is_not_saved(search, what, tmp_path):
    with pytest.raises(TypeError, match=what):
        mlreplica.save(search, tmp_path / "search")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "plain",
    [
        {
            "@": "distribution",
            "name": "rv_continuous",
            "args": [],
            "kwds": {"@": "dict", "items": []},
        },
        {"@": "distribution", "name": "bootstrap", "args": [], "kwds": {"@": "dict", "items": []}},
        {"@": "splitter", "name": "GridSearchCV", "state": {}},
        {"@": "masked", "data": [1.0], "mask": [True]},
    ],
)
def test_a_file_names_no_other_objects(plain):
    with pytest.raises((ValueError, KeyError)):
        Reader({})(plain)
