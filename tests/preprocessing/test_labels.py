"""Labels: exact inverses, scikit-learn's answers"""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn import preprocessing

import mlreplica
from mlreplica.preprocessing import (
    LabelBinarizer,
    LabelEncoder,
    MultiLabelBinarizer,
    label_binarize,
)

TARGETS = [
    np.array([3, 1, 2, 1]),
    np.array([True, False, True]),
    np.array(["b", "a", "c", "a"]),
    np.array(["b", "a", "b"], dtype=object),
    [1.0, 2.0, 1.0],
    ["only", "only"],
    pd.Series(["x", "y", "x"]),
    pd.Series(["x", "y", "z"], dtype="category"),
]


@given(st.lists(st.integers(-5, 5), min_size=1) | st.lists(st.text(max_size=3), min_size=1))
def test_labels_come_back(y):
    y = [v.replace("\0", "") for v in y] if isinstance(y[0], str) else y
    encoder = LabelEncoder()
    codes = encoder.fit_transform(y)
    assert_array_equal(encoder.transform(y), codes)
    assert_array_equal(encoder.inverse_transform(codes), y)
    assert_array_equal(
        LabelBinarizer().fit(y).inverse_transform(LabelBinarizer().fit_transform(y)), y
    )


@given(st.lists(st.frozensets(st.integers(0, 5)), min_size=1))
def test_sets_of_labels_come_back(y):
    for sparse in (False, True):
        binarizer = MultiLabelBinarizer(sparse_output=sparse)
        out = binarizer.fit_transform(y)
        assert [frozenset(row) for row in binarizer.inverse_transform(out)] == y
        again = binarizer.transform(y)
        assert_array_equal(again.toarray() if sparse else again, out.toarray() if sparse else out)


@pytest.mark.parametrize("y", TARGETS, ids=repr)
def test_agrees_with_scikit_learn(y):
    ours, theirs = LabelEncoder(), preprocessing.LabelEncoder()
    assert_array_equal(ours.fit_transform(y), theirs.fit_transform(y))
    assert_array_equal(ours.classes_, theirs.classes_)
    for options in ({}, {"neg_label": -1}, {"sparse_output": True}):
        ours, theirs = LabelBinarizer(**options), preprocessing.LabelBinarizer(**options)
        found, expected = ours.fit_transform(y), theirs.fit_transform(y)
        assert type(found) is type(expected)
        assert found.dtype == expected.dtype
        assert ours.y_type_ == theirs.y_type_
        dense = [a.toarray() if sp.issparse(a) else a for a in (found, expected)]
        assert_array_equal(*dense)
        assert_array_equal(ours.inverse_transform(found), theirs.inverse_transform(expected))


@pytest.mark.parametrize(
    "y", [[0, 1, 2, 9], [1, 0, 0], [5, 5], np.array([0, 1, 2]), np.array([7, 1])]
)
@pytest.mark.parametrize("classes", [[0, 1], [2, 0, 1], [1]])
def test_given_classes_as_in_scikit_learn(y, classes):
    assert_array_equal(
        label_binarize(y, classes=classes), preprocessing.label_binarize(y, classes=classes)
    )


def test_scores_are_decided_by_the_largest_or_a_threshold():
    three = LabelBinarizer().fit(["a", "b", "c"])
    assert_array_equal(three.inverse_transform(np.array([[0.1, 0.7, 0.2]])), ["b"])
    two = LabelBinarizer().fit(["a", "b"])
    assert_array_equal(two.inverse_transform(np.array([[0.3], [0.6]]), threshold=0.25), ["b", "b"])


def test_longer_texts_are_not_cut_to_a_known_class():
    encoder = LabelEncoder().fit(["ab", "cd"])
    with pytest.raises(ValueError, match=r"unseen labels: \['abc'\]"):
        encoder.transform(["abc"])


def test_series_of_polars():
    y = pl.Series(["b", None, "a"])
    assert_array_equal(LabelEncoder().fit_transform(y), [1, 2, 0])
    with pytest.raises(ValueError, match="unseen labels"):
        LabelEncoder().fit(pl.Series(["a"])).transform(y)


@pytest.mark.parametrize("model", [LabelEncoder(), LabelBinarizer(), MultiLabelBinarizer()])
def test_files_keep_the_classes(model, tmp_path):
    model.fit(["a", "b", "c"])
    again = mlreplica.load(mlreplica.save(model, tmp_path / "m"))
    assert_array_equal(again.classes_, model.classes_)
    model.classes_ = np.zeros((2, 2))
    with pytest.raises(ValueError, match="classes_"):
        mlreplica.load(mlreplica.save(model, tmp_path / "m"))
