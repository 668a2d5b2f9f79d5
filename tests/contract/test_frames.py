"""Every estimator takes pandas, polars and pyarrow tables, keeps their names and checks them"""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier

from mlreplica.datasets import load_iris
from mlreplica.discovery import all_estimators

X, y = (a[::5] for a in load_iris(return_X_y=True))
NAMES = ["length", "width", "petal length", "Breite µ"]
FEW = {"n_estimators": 2, "max_iter": 20, "random_state": 0, "cv": 2, "n_components": 2}
TABLES = {
    "pandas": (pd.DataFrame, pd.Series),
    "polars": (pl.DataFrame, pl.Series),
    "pyarrow": (pa.table, lambda values: pa.chunked_array([values])),
}


def small(cls):
    known = cls().get_params()
    return cls(**{name: value for name, value in FEW.items() if name in known})


def table(kind, rows, names=NAMES):
    return TABLES[kind][0](dict(zip(names, rows.T, strict=True)))


SOME_COLUMNS = {  # settings with which selectors keep some
    "SelectKBest": {"k": 2},
    "KnockoffSelector": {"fdr": 0.9, "offset": 0},
    "MissingIndicator": {"features": "all"},
    "FunctionTransformer": {"validate": True, "feature_names_out": "one-to-one"},
}
CHECKED = {"FunctionTransformer": SOME_COLUMNS["FunctionTransformer"]}  # it looks at rows if told
METHODS = ("predict", "transform", "score_samples", "kneighbors", "mahalanobis")


def answers_new_rows(model):
    return any(hasattr(model, name) for name in METHODS)


def answer(model, rows):
    if not answers_new_rows(model):
        return model.labels_
    found = getattr(model, next(name for name in METHODS if hasattr(model, name)))(rows)
    found = found[0] if isinstance(found, tuple) else found  # the distances of neighbours
    return found.toarray() if sp.issparse(found) else found


@pytest.mark.parametrize("cls", [cls for _, cls in all_estimators()], ids=lambda cls: cls.__name__)
@pytest.mark.filterwarnings(
    "ignore::UserWarning", "ignore::RuntimeWarning", "ignore::FutureWarning"
)
def test_tables_are_rows_with_names(cls):
    target = y + 1 if cls.__name__ == "GammaRegressor" else y  # it refuses 0
    plain = small(cls).set_params(**CHECKED.get(cls.__name__, {})).fit(X, target)
    expected = answer(plain, X)
    for kind in TABLES:
        rows = table(kind, X)
        model = clone(plain).fit(rows, TABLES[kind][1](target))
        assert_array_equal(model.feature_names_in_, NAMES)
        found = np.asarray(answer(model, rows))
        if is_classifier(model):
            assert_array_equal(found, expected)
        else:  # columns lie in another order in memory, so sums may round otherwise
            assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
        if not answers_new_rows(model):
            continue
        for names in ([*NAMES[:3], "else"], NAMES[::-1]):
            with pytest.raises(ValueError, match="feature names should match"):
                answer(model, table(kind, X, names))
        with pytest.raises(ValueError, match=r"feature names should match|expecting 4 features"):
            answer(model, table(kind, X[:, :3], NAMES[:3]))


@pytest.mark.parametrize(
    ("name", "cls"),
    [pair for pair in all_estimators("transformer") if hasattr(pair[1], "transform")],
)
@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.filterwarnings("ignore:Maximum number of iterations", "ignore:n_quantiles")
def test_transformers_give_frames(name, cls, kind):
    model = small(cls).set_params(**SOME_COLUMNS.get(name, {})).fit(table(kind, X), y)
    plain = model.transform(table(kind, X))
    if sp.issparse(plain):  # a graph: frames are dense
        with pytest.raises(ValueError, match="sparse matrix"):
            model.set_output(transform=kind).transform(table(kind, X))
        return
    frame = model.set_output(transform=kind).transform(table(kind, X))
    assert isinstance(frame, TABLES[kind][0])
    assert_allclose(frame.to_numpy(), plain)
    assert list(frame.columns) == list(model.get_feature_names_out())
    new = frame.columns[0].startswith(name.lower())  # new columns, or made of those given
    given = lambda c: c == "1" or any(c == n or re.match(rf"{n}[_^ ]", c) for n in NAMES)
    assert all(c.startswith(name.lower()) if new else given(c) for c in frame.columns)
    if kind == "pandas":
        rows = table(kind, X).set_index(np.arange(len(X)) + 100)
        assert model.transform(rows).index[0] == 100


TAKE_WORDS = {
    "FunctionTransformer",
    "MissingIndicator",
    "OneHotEncoder",
    "OrdinalEncoder",
    "RareCategories",
    "TargetEncoder",
}
REFUSED = r"could not convert string to float: '(Paris|Rome)' in column "


@pytest.mark.parametrize("cls", [cls for _, cls in all_estimators()], ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
def test_a_column_of_words_is_named(cls, kind):
    model = small(cls)
    words = pd.Series(np.resize(["Paris", "London", "Rome"], len(X)), dtype=object)
    rows = TABLES[kind][0]({"age": X[:, 0], "city": words.tolist(), "width": X[:, 1]})
    target = np.column_stack([y, y]) if cls.__name__.startswith("MultiTask") else y + 1
    if cls.__name__ in TAKE_WORDS:
        model.fit(rows, target)
        return
    own = {
        "DateFeatures": "'Paris' is no date",
        "IsotonicRegression": "could not convert|should be a 1d array",  # it has one column
    }
    by_place = cls.__name__.startswith(("AdaBoost", "Bagging"))  # their members see no names
    column = "1" if by_place and kind != "pyarrow" else "('city'|1)"
    with pytest.raises(ValueError, match=own.get(cls.__name__, REFUSED + column)):
        model.fit(rows, target)
