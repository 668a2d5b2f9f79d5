"""Distinct values of columns of every kind, against sets and dictionaries"""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlreplica.preprocessing._categories import (
    SMALL,
    Coded,
    Finder,
    addresses,
    categories_of,
    coded,
    group,
    words_of,
)
from mlreplica.preprocessing._read import from_pandas, from_polars, series_of

TEXTS = st.lists(st.text(max_size=5), min_size=1, max_size=40)


def naive(values):
    """Sorted distinct values, None and NaN last, and the number of each value."""
    gaps = [v for v in (None,) if v in values]
    nan = [np.nan] if any(v is not None and v != v for v in values) else []  # noqa: PLR0124
    names = sorted({v for v in values if v is not None and v == v}) + gaps + nan  # noqa: PLR0124
    numbers = [
        len(names) - 1 if v is not None and v != v else names.index(v)  # noqa: PLR0124
        for v in values
    ]
    return names, numbers


def agree(column, values):
    """Whether categories and numbers of a column are those of its values."""
    categories, codes = categories_of(column)
    names, numbers = naive(values)
    np.testing.assert_array_equal(codes, numbers)
    assert [repr(a) for a in categories.tolist()] == [repr(a) for a in names]
    np.testing.assert_array_equal(Finder(categories)(column), numbers)


@given(
    st.lists(st.none() | st.floats(allow_infinity=False) | st.integers(-3, 3), min_size=1),
    st.booleans(),
)
def test_objects_are_numbered_like_a_sorted_set(values, many):
    values = [v + 0.0 if v is not None else v for v in values] * (SMALL if many else 1)
    column = np.empty(len(values), object)
    column[:] = values
    agree(column, values)


@settings(max_examples=40)
@given(TEXTS, st.sampled_from(["U", "O", "pandas", "category", "polars", "Categorical"]))
def test_texts_of_every_container(values, kind):
    values = [v.replace("\0", "") for v in values] * SMALL
    column = {
        "U": lambda: np.array(values),
        "O": lambda: np.array(values, dtype=object),
        "pandas": lambda: from_pandas(pd.Series(values, dtype="str")),
        "category": lambda: from_pandas(pd.Series(values).astype("category")),
        "polars": lambda: from_polars(pl.Series(values)),
        "Categorical": lambda: from_polars(pl.Series(values, dtype=pl.Categorical)),
    }[kind]()
    agree(column, values)


@pytest.mark.parametrize("n", [50, 5_000])
@pytest.mark.parametrize(
    "dtype", ["?", "i1", "u1", "i8", "u8", "f4", "f8", "f2", "U3", "S3", "M8[D]", "m8[s]", "g"]
)
def test_plain_arrays_agree_with_unique(n, dtype):
    rng = np.random.default_rng(0)
    column = (rng.integers(0, 2 if dtype == "?" else 40, n) * 3).astype(dtype)
    if column.dtype.kind in "fgmM":
        column[::7] = "NaT" if column.dtype.kind in "mM" else np.nan
        column[1::11] = column[0]
    categories, codes = categories_of(column)
    expected, numbers = np.unique(column, return_inverse=True)
    np.testing.assert_array_equal(categories, expected)
    np.testing.assert_array_equal(codes, numbers)
    assert categories.dtype == column.dtype
    np.testing.assert_array_equal(Finder(categories)(column), numbers)


def test_the_kernel_agrees_with_a_dictionary():
    words = np.random.default_rng(0).integers(0, 9, (3_000, 3)) << 40
    codes, first = group(words)
    numbers = {}
    expected = [numbers.setdefault(tuple(row), len(numbers)) for row in words.tolist()]
    np.testing.assert_array_equal(codes, expected)
    np.testing.assert_array_equal(first, [expected.index(c) for c in range(len(numbers))])
    assert group(words, most=10) is None


def test_columns_of_many_distinct_values_grow_the_table():
    column = np.random.default_rng(0).permutation(50_000) / 7
    categories, codes = categories_of(column)
    np.testing.assert_array_equal(categories, np.sort(column))
    np.testing.assert_array_equal(categories[codes], column)


def test_equal_objects_at_many_addresses():
    one = np.array([f"name {k % 5}" for k in range(4_000)], dtype=object)
    shared = np.array([f"name {k}" for k in range(5)], dtype=object)[np.arange(4_000) % 5]
    assert group(addresses(one), most=500) is None
    assert len(coded(shared).values) == 5
    for column in (one, shared, np.asfortranarray(np.stack([shared, one]).T)[:, 0]):
        agree(column, list(one))


@pytest.mark.parametrize("n", [3, 3 * SMALL])
def test_values_that_are_no_category(n):
    finder = Finder(np.array(["a", "bb"]))
    texts = np.resize(np.array(["bb", "a", "bbb"]), n)
    np.testing.assert_array_equal(finder(texts), np.resize([1, 0, -1], n))
    np.testing.assert_array_equal(finder(texts.astype(object)), np.resize([1, 0, -1], n))
    numbers = Finder(np.array([1.0, 2.0, np.nan]))
    column = np.resize(np.array([np.nan, 2, 5]), n)
    np.testing.assert_array_equal(numbers(column), np.resize([2, 1, -1], n))
    np.testing.assert_array_equal(numbers(np.resize([1, 2, 5], n)), np.resize([0, 1, -1], n))


def test_missing_values_of_frames():
    for series in (
        pd.Series(["b", None, "a"]),
        pd.Series(["b", None, "a"], dtype="string"),
        pd.Series(["b", None, "a"], dtype="category"),
    ):
        categories, codes = categories_of(from_pandas(series))
        assert categories[:2].tolist() == ["a", "b"]
        assert np.isnan(categories[2])
        np.testing.assert_array_equal(codes, [1, 2, 0])
    categories, codes = categories_of(from_polars(pl.Series(["b", None, "a"])))
    assert categories.tolist() == ["a", "b", None]
    categories, _ = categories_of(from_pandas(pd.Series([1, None], dtype="Int64")))
    np.testing.assert_array_equal(categories, [1.0, np.nan])
    assert from_pandas(pd.Series([1, 2], dtype="Int8")).dtype == np.int8
    categories, _ = categories_of(np.array(["a", pd.NA], dtype=object))
    assert np.isnan(categories[1])


def test_unused_categories_of_a_categorical_are_left_out():
    series = pd.Series(pd.Categorical(["c", "a"], categories=["c", "b", "a"]))
    assert categories_of(from_pandas(series))[0].tolist() == ["a", "c"]
    enum = pl.Series(["c", None], dtype=pl.Enum(["c", "b"]))
    assert categories_of(from_polars(enum))[0].tolist() == ["c", None]
    assert series_of(pl.Series([1.0])).tolist() == [1.0]


def test_texts_of_one_hash_are_told_apart(monkeypatch):
    series = pl.Series(["a", "b", "a"])
    monkeypatch.setattr(pl.Series, "hash", lambda self: pl.Series([7] * len(self), dtype=pl.UInt64))
    agree(from_polars(series), ["a", "b", "a"])


@pytest.mark.parametrize("values", [["a", 1], [[1], [2]], [{}, None]])
def test_values_without_an_order_are_refused(values):
    column = np.empty(2, object)
    column[:] = values
    with pytest.raises(TypeError, match="uniformly strings or numbers"):
        categories_of(column)


def test_words_are_equal_where_values_are():
    x = np.array([0.0, -0.0, np.nan, -np.nan, 1.0])
    words = words_of(x)[:, 0]
    assert words[0] == words[1]
    assert words[2] == words[3]
    assert len(set(words)) == 3
    assert isinstance(Coded(np.zeros(3, int), x)[0], np.ndarray)
