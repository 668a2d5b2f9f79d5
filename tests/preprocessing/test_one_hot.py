"""One-hot encoding: rows that add up, exact inverse, scikit-learn's answers"""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn import config_context, preprocessing
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import mlreplica
from mlreplica.preprocessing import OneHotEncoder

CELLS = st.sampled_from(["a", "b", "c", "d", None])


def rows(n=500, seed=0):
    """Texts, numbers with gaps, and whole numbers, as objects."""
    rng = np.random.default_rng(seed)
    X = np.empty((n, 3), object)
    X[:, 0] = rng.choice(["red", "green", "blue", "violet"], n, p=[0.5, 0.3, 0.19, 0.01])
    X[:, 1] = rng.choice([1.5, 2.5, np.nan], n)
    X[:, 2] = rng.integers(0, 2, n)
    return X


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=30))
def test_a_row_has_a_one_for_each_column_and_comes_back(cells):
    X = np.array(cells, dtype=object)
    encoder = OneHotEncoder().fit(X)
    out = encoder.transform(X)
    assert_array_equal(out.sum(axis=1).ravel(), 2.0)
    assert_array_equal(encoder.inverse_transform(out), X)
    assert_array_equal(encoder.inverse_transform(out.toarray()), X)


def test_agrees_with_the_naive_version():
    X = rows()[:, [0, 2]]
    columns = [X[:, j] == v for j in range(2) for v in sorted(set(X[:, j]))]
    assert_array_equal(OneHotEncoder().fit_transform(X).toarray(), np.stack(columns, axis=1))


OPTIONS = [
    {},
    {"drop": "first"},
    {"drop": "if_binary"},
    {"drop": ["green", 1.5, 0]},
    {"min_frequency": 20},
    {"min_frequency": 0.2, "drop": "first"},
    {"max_categories": 2, "handle_unknown": "infrequent_if_exist"},
    {"max_categories": 1},
    {"handle_unknown": "ignore", "categories": [["blue", "red"], [1.5], [0, 1]]},
    {"handle_unknown": "warn", "min_frequency": 20, "drop": "if_binary"},
    {"dtype": np.int32},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("frame", [np.asarray, pd.DataFrame, "frame"])
def test_agrees_with_scikit_learn(options, sparse, frame):
    X, new = rows(), rows(60, seed=1)
    if options.get("handle_unknown", "error") != "error":
        new[::9, 0] = "brown"
    if frame == "frame":
        X, new = (
            pd.DataFrame({"c": a[:, 0], "x": a[:, 1].astype(float), "k": a[:, 2].astype(int)})
            for a in (X, new)
        )
    elif frame is pd.DataFrame:
        X, new = (
            pd.DataFrame(X, columns=["c", "x", "k"]),
            pd.DataFrame(new, columns=["c", "x", "k"]),
        )
    ours = OneHotEncoder(sparse_output=sparse, **options)
    theirs = preprocessing.OneHotEncoder(sparse_output=sparse, **options)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        pairs = [(e.fit_transform(X), e.transform(new)) for e in (ours, theirs)]
        for found, expected in zip(*pairs, strict=True):
            assert sp.issparse(found) == sp.issparse(expected) == sparse
            assert type(found) is type(expected)
            assert found.dtype == expected.dtype
            dense = [a.toarray() if sparse else a for a in (found, expected)]
            assert_array_equal(*dense)
            assert_array_equal(
                ours.inverse_transform(found).astype(str),
                theirs.inverse_transform(expected).astype(str),
            )
        assert_array_equal(ours.get_feature_names_out(), theirs.get_feature_names_out())
        assert_array_equal(
            ours.fit(X).transform(X) if not sparse else 0, pairs[0][0] if not sparse else 0
        )


def test_frames_of_polars_keep_their_dtypes_and_names():
    frame = pl.DataFrame(
        {
            "c": ["b", "a", None],
            "k": [2, 1, 2],
            "d": pl.Series(["x", "y", "x"], dtype=pl.Categorical),
        }
    )
    encoder = OneHotEncoder(sparse_output=False).set_output(transform="polars").fit(frame)
    assert [c.dtype for c in encoder.categories_] == [object, np.int64, object]
    out = encoder.transform(frame)
    assert out.columns == ["c_a", "c_b", "c_None", "k_1", "k_2", "d_x", "d_y"]
    assert_array_equal(out.to_numpy(), encoder.set_output(transform="default").transform(frame))


def test_unknown_values_are_named():
    encoder = OneHotEncoder().fit(rows())
    new = rows(400)
    new[3, 0], new[5, 0] = "pink", "grey"
    with pytest.raises(ValueError, match=r"categories \['grey', 'pink'\] in column 0 during trans"):
        encoder.transform(new)


def test_sparse_results_are_arrays_if_the_configuration_says_so():
    with config_context(sparse_interface="sparray"):
        assert isinstance(OneHotEncoder().fit_transform(rows()), sp.csr_array)


@pytest.mark.parametrize("copy", [pickle.dumps, "file"])
def test_copies_encode_alike(copy, tmp_path):
    X = rows()
    encoder = OneHotEncoder(drop="first", min_frequency=20).fit(X)
    again = (
        pickle.loads(copy(encoder))
        if callable(copy)
        else mlreplica.load(mlreplica.save(encoder, tmp_path / "m"))
    )
    assert vars(again).keys() == vars(encoder).keys()
    assert_array_equal(again.transform(X).toarray(), encoder.transform(X).toarray())
    assert not hasattr(clone(again), "categories_")


def test_a_file_whose_numbers_point_elsewhere_is_refused(tmp_path):
    for name, value in (
        ("_infrequent", [np.array([9]), None, None]),
        ("drop_idx_", np.array([0, 0, 7], object)),
    ):
        encoder = OneHotEncoder(drop="first", min_frequency=20).fit(rows())
        setattr(encoder, name, value)
        with pytest.raises(ValueError, match="OneHotEncoder"):
            mlreplica.load(mlreplica.save(encoder, tmp_path / "m"))


def test_categories_set_by_hand_are_used():
    encoder = OneHotEncoder(sparse_output=False).fit([["a"], ["b"]])
    encoder.categories_ = [np.array(["b", "a"], dtype=object)]
    assert_array_equal(encoder.transform([["a"]]), [[0, 1]])


def test_infinity_is_refused_and_gaps_are_not():
    with pytest.raises(ValueError, match="infinity"):
        OneHotEncoder().fit([[np.inf], [1.0]])
    with pytest.raises(ValueError, match="infinity"):
        OneHotEncoder().fit(pd.DataFrame({"x": [np.inf, 1.0]}))
    with pytest.raises(ValueError, match="minimum of 1 is required"):
        OneHotEncoder().fit(pd.DataFrame({"x": []}))
    assert OneHotEncoder().fit_transform([[np.nan], [1.0]]).shape == (2, 2)


@parametrize_with_checks(
    [OneHotEncoder(), OneHotEncoder(sparse_output=False, handle_unknown="ignore", min_frequency=2)]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
