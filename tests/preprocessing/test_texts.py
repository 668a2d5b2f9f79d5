"""Texts that are read where they lie get the numbers that a dictionary gives them"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from mlreplica.preprocessing import OrdinalEncoder
from mlreplica.preprocessing import _categories as categories
from mlreplica.preprocessing import _texts as texts

ROWS = 600  # above the size from which a kernel is asked


class Word(str):
    """A string of another type."""

    __slots__ = ()


def fresh(values, rng):
    """A column of objects that equal values do not share."""
    column = np.empty(ROWS, object)
    for i, k in enumerate(rng.integers(len(values), size=ROWS)):
        value = values[k]
        column[i] = "".join(list(value)) if type(value) is str else value
    return column


ascii_texts = st.text(st.characters(max_codepoint=127), max_size=40)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(ascii_texts, min_size=1, max_size=30),
    st.lists(st.sampled_from([None, np.nan, Word("word"), "word", "é", "ωmega", "é" * 9])),
    st.integers(0, 9),
)
def test_numbers_are_those_of_a_dictionary(plain, more, seed):
    column = fresh(plain + more, np.random.default_rng(seed))
    found, codes = categories.categories_of(column)
    gap = lambda v: v is None or v != v  # noqa: PLR0124
    expected = sorted({v for v in column.tolist() if not gap(v)})
    assert [v for v in found.tolist() if not gap(v)] == expected
    for value, back in zip(column.tolist(), found[codes].tolist(), strict=True):
        assert value == back or (gap(value) and type(value) is type(back))


def test_a_kernel_numbers_them_in_order_of_appearance():
    rng = np.random.default_rng(0)
    column = fresh([f"{'x' * k}{k}" for k in range(40)], rng)  # lengths on both sides of a word
    codes, first = texts.group_texts(column, categories.addresses(column))
    assert column[first].tolist() == list(dict.fromkeys(column.tolist()))
    assert_array_equal(column[first][codes], column)


@pytest.mark.parametrize(
    "values", [["é", "ab"], ["a" * 9 + "ß", "b"], [f"{k}" for k in range(700)]]
)
def test_what_is_left_to_a_dictionary(values):
    column = fresh(values, np.random.default_rng(1))
    column[: len(values)] = values[:ROWS]
    assert texts.group_texts(column, categories.addresses(column)) is None


def test_another_python(monkeypatch):
    column = fresh([f"text {k}" for k in range(20)], np.random.default_rng(2))
    expected = OrdinalEncoder().fit_transform(column[:, None])
    monkeypatch.setattr(texts.sys, "byteorder", "big")
    texts.layout.cache_clear()
    assert texts.layout() is None
    assert_array_equal(OrdinalEncoder().fit_transform(column[:, None]), expected)
    monkeypatch.undo()
    texts.layout.cache_clear()
    assert texts.layout()


def test_values_without_a_hash_are_named():
    column = np.empty(ROWS, object)
    column[:] = ["text"] * ROWS
    column[5] = []
    with pytest.raises(TypeError, match=r"must be uniformly strings or numbers. Got \['list'"):
        OrdinalEncoder().fit(column[:, None])
