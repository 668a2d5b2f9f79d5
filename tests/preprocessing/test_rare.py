"""Rare categories: joined by share, weights are repetitions"""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.utils.estimator_checks import parametrize_with_checks

import mlreplica
from mlreplica.preprocessing import RareCategories


@given(st.lists(st.sampled_from("aaabbc"), min_size=1), st.floats(0, 1), st.integers(0, 100))
def test_kept_categories_have_the_share_and_weights_are_repetitions(cells, share, seed):
    X = np.array(cells, dtype=object)[:, None]
    out = RareCategories(share).fit(X).transform(X)[:, 0]
    for value, found in zip(cells, out, strict=True):
        assert found == (value if cells.count(value) >= share * len(cells) else "rare")
    w = np.random.default_rng(seed).integers(0, 3, len(X))
    w[0] = 1
    weighted = RareCategories(share).fit(X, sample_weight=w)
    repeated = RareCategories(share).fit(np.repeat(X, w, axis=0))
    assert_array_equal(weighted.categories_[0], repeated.categories_[0])
    assert_array_equal(weighted.rare_categories_[0], repeated.rare_categories_[0])


def test_missing_values_stay_and_unknown_ones_are_rare():
    X = np.array([["a"]] * 9 + [["b"], [None], [np.nan]], dtype=object)
    model = RareCategories(0.2).fit(X)
    assert model.categories_[0].tolist() == ["a"]
    assert model.rare_categories_[0].tolist() == ["b"]
    out = model.transform(np.array([["a"], ["b"], ["new"], [None], [np.nan]], dtype=object))[:, 0]
    assert out[:4].tolist() == ["a", "rare", "rare", None]
    assert np.isnan(out[4])


@pytest.mark.parametrize("n", [10, 1_000])
@pytest.mark.parametrize(
    "make",
    [pd.DataFrame, pl.DataFrame, lambda d: np.array(d["c"])[:, None]],
    ids=["pandas", "polars", "numpy"],
)
def test_frames_and_arrays(n, make):
    texts = ["x"] * (n - 1) + ["y"]
    X = make({"c": texts})
    out = RareCategories(0.15).fit(X).transform(X)
    assert out[:, 0].tolist() == ["x"] * (n - 1) + ["rare"]


def test_numbers_stay_numbers_if_they_can():
    X = np.array([[1.0]] * 9 + [[2.0], [np.nan]])
    assert RareCategories(0.2, rare=-1).fit(X).transform(X).dtype == float
    assert np.isnan(RareCategories(0.2).fit(X).transform(X)[9])
    assert RareCategories(0.2, rare="few").fit(X).transform(X)[9] == "few"
    mixed = pd.DataFrame({"k": [1] * 9 + [2], "t": ["a"] * 10})
    out = RareCategories(0.2, rare=0).fit(mixed).transform(mixed)
    assert out[9].tolist() == [0, "a"]


def test_a_file_comes_back(tmp_path):
    X = [["a"], ["a"], ["b"]]
    model = RareCategories(0.5).fit(X)
    again = mlreplica.load(mlreplica.save(model, tmp_path / "m"))
    assert_array_equal(again.transform(X), model.transform(X))
    model.categories_ = []
    with pytest.raises(ValueError, match="categories_"):
        mlreplica.load(mlreplica.save(model, tmp_path / "m"))


@parametrize_with_checks([RareCategories(), RareCategories(0.0, rare=-1)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)
