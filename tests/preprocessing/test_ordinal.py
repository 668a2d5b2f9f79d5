"""Ordinal encoding: exact inverse, scikit-learn's answers"""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn import preprocessing
from sklearn.utils.estimator_checks import parametrize_with_checks

import mlreplica
from mlreplica.preprocessing import OrdinalEncoder

CELLS = st.sampled_from(["a", "b", "c", "d", None])


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=30))
def test_numbers_keep_the_order_and_come_back(cells):
    X = np.array(cells, dtype=object)
    encoder = OrdinalEncoder(dtype=int).fit(X)
    out = encoder.transform(X)
    for column, codes in zip(X.T, out.T, strict=True):
        order = sorted(set(column) - {None}) + [None] * (None in column)
        assert_array_equal(codes, [order.index(v) for v in column])
    assert_array_equal(encoder.inverse_transform(out), X)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"encoded_missing_value": -2},
        {"handle_unknown": "use_encoded_value", "unknown_value": -1},
        {"handle_unknown": "use_encoded_value", "unknown_value": np.nan},
        {"min_frequency": 30},
        {"max_categories": 2, "encoded_missing_value": -5, "dtype": np.int32},
        {"max_categories": 3, "handle_unknown": "use_encoded_value", "unknown_value": 9},
        {"categories": [["low", "mid", "high", "top"], [1.0, 2.0, 3.0, np.nan]]},
    ],
    ids=str,
)
@pytest.mark.parametrize("as_frame", [False, True])
def test_agrees_with_scikit_learn(options, as_frame):
    rng = np.random.default_rng(0)
    X = np.empty((400, 2), object)
    X[:, 0] = rng.choice(["low", "mid", "high", "top"], 400, p=[0.5, 0.3, 0.15, 0.05])
    X[:, 1] = rng.choice([1.0, 2.0, 3.0, np.nan], 400, p=[0.5, 0.3, 0.1, 0.1])
    new = X[:50].copy()
    if "handle_unknown" in options:
        new[::9, 0] = "other"
    if as_frame:
        X, new = (pd.DataFrame({"a": A[:, 0], "b": A[:, 1].astype(float)}) for A in (X, new))
    ours, theirs = OrdinalEncoder(**options), preprocessing.OrdinalEncoder(**options)
    assert_array_equal(ours.fit_transform(X), theirs.fit_transform(X))
    found, expected = ours.transform(new), theirs.transform(new)
    assert found.dtype == expected.dtype
    assert_array_equal(found, expected)
    kept = np.asarray(new).copy()
    if "handle_unknown" in options:
        kept[::9, 0] = None
    for j, rare in enumerate(getattr(ours, "infrequent_categories_", [None, None])):
        kept[np.isin(kept[:, j].astype(str), [] if rare is None else rare.astype(str)), j] = (
            "infrequent_sklearn"
        )
    if not np.isnan(options.get("unknown_value", 0)):  # else unknown and missing are one number
        assert_array_equal(ours.inverse_transform(found).astype(str), kept.astype(str))


def test_a_column_of_nothing_but_gaps_comes_back():
    X = np.array([[np.nan], [np.nan]])
    encoder = OrdinalEncoder().fit(X)
    assert_array_equal(encoder.inverse_transform(encoder.transform(X)), X)


def test_a_file_keeps_the_number_of_missing_values(tmp_path):
    X = np.array([["a"], [np.nan], ["b"]], dtype=object)
    encoder = OrdinalEncoder(encoded_missing_value=-1).fit(X)
    again = mlreplica.load(mlreplica.save(encoder, tmp_path / "m"))
    assert_array_equal(again.transform(X), [[0], [-1], [1]])
    encoder._missing_indices = {0: 5}
    with pytest.raises(ValueError, match="OrdinalEncoder"):
        mlreplica.load(mlreplica.save(encoder, tmp_path / "m"))


@parametrize_with_checks([OrdinalEncoder()])
def test_scikit_learns_checks(estimator, check):
    check(estimator)
