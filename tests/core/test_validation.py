from numbers import Real

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import Interval

from mlreplica.core import validation
from mlreplica.core.validation import ValidatedOnce, distinct, is_plain, new_rows, validate_data
from mlreplica.svm import LinearSVC


class Width(BaseEstimator):
    """An estimator that learns nothing but the columns of X."""

    def fit(self, X, y=None):
        self.width_ = validate_data(self, X).shape[1]
        return self


X = np.arange(6.0).reshape(3, 2)


@pytest.fixture
def model():
    return Width().fit(X)


@pytest.mark.parametrize("rows", [X, X[:1], X[::-1], np.asfortranarray(X), X.astype(np.float32)])
def test_a_plain_float_array_is_taken_as_it_is(model, rows, monkeypatch):
    monkeypatch.setattr(validation, "validate_data", lambda *a, **k: pytest.fail("validated twice"))
    assert new_rows(model, rows) is rows


@pytest.mark.parametrize(
    "rows", [X.tolist(), X.astype(int), X.astype(bool), X.astype(object), pd.DataFrame(X)]
)
def test_what_can_be_numbers_becomes_numbers(model, rows):
    taken = new_rows(model, rows)
    assert taken.dtype == np.float64
    np.testing.assert_array_equal(taken, np.asarray(rows, dtype=float))


def test_large_finite_numbers_pass_though_their_sum_overflows(model):
    huge = np.full((2, 2), 1e308)
    np.testing.assert_array_equal(new_rows(model, huge), huge)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (X[:, :1], "X has 1 features, but Width is expecting 2 features"),
        (X[0], "Expected 2D array, got 1D array"),
        (X[:0], "Found array with 0 sample"),
        (np.array([[1.0, np.nan]]), "contains NaN"),
        (np.array([[1.0, np.inf]]), "contains infinity"),
        (np.array([[-np.inf, 1.0]]), "contains infinity"),
        (X + 1j, "Complex data not supported"),
        (np.array([["a", "b"]]), "could not convert string to float: 'a' in column 0. Encode"),
        ([[1.0, "b"]], "'b' in column 1. Encode words"),
        (np.array([[1.0, "b"], [pd.NA, 2.0]], dtype=object), "'b' in column 1. Encode words"),
    ],
)
def test_what_cannot_is_refused_in_plain_words(model, rows, message):
    with pytest.raises(ValueError, match=message):
        new_rows(model, rows)


@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")  # scikit-learn's sum
def test_infinities_that_cancel_in_a_sum_are_refused(model):
    with pytest.raises(ValueError, match="contains infinity"):
        new_rows(model, np.array([[np.inf, -np.inf]]))


def test_missing_values_advise_our_classes():
    with pytest.raises(ValueError, match=r"mlreplica\.ensemble\.HistGradientBoosting") as error:
        LinearSVC().fit([[np.nan], [1.0]], [0, 1])
    assert "scikit-learn.org" not in str(error.value)
    assert "LinearSVC does not accept missing values encoded as NaN natively" in str(error.value)


def test_sparse_rows_only_where_they_are_understood(model):
    with pytest.raises(TypeError, match="Sparse data was passed"):
        new_rows(model, sp.csr_array(X))
    assert new_rows(model, sp.csc_array(X), accept_sparse="csr").format == "csr"


def test_an_unfitted_estimator_says_so():
    with pytest.raises(NotFittedError, match="Call 'fit'"):
        new_rows(Width(), X)


def test_names_are_checked_when_fit_saw_names():
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = Width().fit(frame)
    with pytest.raises(ValueError, match="feature names should match"):
        new_rows(model, frame[["b", "a"]])
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        new_rows(model, X)


@given(st.sampled_from(["int8", "uint8", "int64", "uint64", "float64"]), st.data())
def test_distinct_is_unique(dtype, data):
    limits = (-5, 5) if dtype == "float64" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    y = np.array(data.draw(st.lists(st.integers(*limits), min_size=1)), dtype=dtype)
    for labels in (y, y % 3, y % 3 * 2):
        classes, codes = distinct(labels)
        assert classes.dtype == y.dtype
        np.testing.assert_array_equal(classes, np.unique(labels))
        np.testing.assert_array_equal(classes[codes], labels)


@pytest.mark.parametrize("n", [3, 200_000])  # in one piece, and in several on threads
def test_plain_arrays_are_finite_floats_in_rows(n):
    X, y = np.ones((n, 5)), np.arange(n)
    assert is_plain(X, y, "iu")
    assert not is_plain(X, y, "f")
    assert not is_plain(X, y[1:], "iu")
    assert not is_plain(X.astype(int), y, "iu")
    assert not is_plain(np.asfortranarray(X), y, "iu")
    assert is_plain(np.asfortranarray(X), y, "iu", contiguous=False)
    assert not is_plain(X, np.where(y == 1, np.nan, y), "f")
    X[-1, -1] = np.inf
    assert not is_plain(X, y, "iu")


def test_parameters_are_validated_once_as_long_as_they_are_the_same():
    looked = []

    class Model(ValidatedOnce, BaseEstimator):
        _parameter_constraints = {"alpha": [Interval(Real, 0, None, closed="left"), "array-like"]}

        def __init__(self, alpha=1.0):
            self.alpha = alpha

        def get_params(self, deep=True):
            looked.append(self.alpha)
            return super().get_params(deep)

    for alpha in (1.0, 1.0, 1, True, [2.0], [2.0]):
        Model(alpha)._validate_params()
    assert looked == [1.0, 1, True, [2.0], [2.0]]  # equal, but of another type; not hashable
    for _ in range(2):
        with pytest.raises(ValueError, match="'alpha' parameter of Model must be"):
            Model(-1.0)._validate_params()
