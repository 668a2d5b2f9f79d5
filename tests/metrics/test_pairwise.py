"""Distances and kernels between rows: scikit-learn's numbers, by pairs and row by row"""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import pairwise as reference

from mlreplica.core.formulas.row_distances import BOOLEAN, ROW_FUNCTIONS
from mlreplica.metrics import pairwise

rng = np.random.default_rng(0)
X, Y = rng.random((9, 4)), rng.random((9, 4))
X[2] = 0.0
PARAMETERS = {"rbf": {"gamma": 0.3}, "poly": {"degree": 2.5, "coef0": 2.0}, "chi2": {"gamma": 0.7}}


@pytest.mark.parametrize("name", reference.PAIRED_DISTANCES)
@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_paired_distances_are_the_diagonal_of_all(name, stored):
    found = pairwise.paired_distances(stored(X), stored(Y), metric=name)
    assert_allclose(found, reference.paired_distances(X, Y, metric=name), rtol=1e-12)
    some = np.arange(len(X)) != 2  # a row of zeros is at 1 in cosine_distances
    diagonal = np.diag(pairwise.pairwise_distances(X, Y, metric=name))
    assert_allclose(found[some], diagonal[some], rtol=1e-12)


def test_paired_distances_take_a_function():
    found = pairwise.paired_distances(X, Y, metric=lambda x, y: abs(x - y).max())
    assert_array_equal(found, abs(X - Y).max(axis=1))
    with pytest.raises(ValueError, match="X and Y should be of same shape"):
        pairwise.paired_distances(X, Y[:3])


@settings(deadline=None, max_examples=30)
@given(power=st.integers(-300, 300))
def test_paired_distances_have_no_unit(power):
    unit = 10.0**power
    found = pairwise.paired_euclidean_distances(X * unit, Y * unit)
    assert_allclose(found / unit, pairwise.paired_euclidean_distances(X, Y), rtol=1e-12)


def test_nearly_parallel_rows_keep_the_digits_of_their_angle():
    angle = 1e-9
    x, y = np.array([[1.0, 0.0]]), np.array([[np.cos(angle), np.sin(angle)]])
    assert_allclose(pairwise.paired_cosine_distances(x, y), angle**2 / 2, rtol=1e-12)


@pytest.mark.parametrize("name", reference.PAIRWISE_KERNEL_FUNCTIONS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_kernels_agree_with_scikit_learn(name, dtype):
    x, y, options = X.astype(dtype), Y.astype(dtype), PARAMETERS.get(name, {})
    for other in (None, y):
        found = pairwise.kernel_metrics()[name](x, other, **options)
        expected = reference.PAIRWISE_KERNEL_FUNCTIONS[name](x, other, **options)
        assert_allclose(found, expected, rtol=1e-4 if dtype == np.float32 else 1e-12)
        assert_array_equal(pairwise.pairwise_kernels(x, other, metric=name, **options), found)


def test_only_the_parameters_of_a_kernel_are_passed_on():
    found = pairwise.pairwise_kernels(X, metric="rbf", filter_params=True, gamma=0.3, degree=9)
    assert_array_equal(found, pairwise.rbf_kernel(X, gamma=0.3))
    with pytest.raises(TypeError, match="degree"):
        pairwise.pairwise_kernels(X, metric="rbf", degree=9)


def test_histograms_are_not_negative():
    with pytest.raises(ValueError, match="Y contains negative values"):
        pairwise.chi2_kernel(X, -Y)


def test_texts_shared_by_the_functions_are_in_their_docstrings():
    for name in pairwise.__all__:
        assert "{rows}" not in (getattr(pairwise, name).__doc__ or "")
    assert "n_samples_X" in pairwise.rbf_kernel.__doc__


@pytest.mark.parametrize("name", sorted(BOOLEAN - {"russellrao", "sokalmichener"}))
def test_distances_of_sets_are_known_to_be_metrics_or_not(name):
    rows = np.array(list(product((False, True), repeat=4)))
    D = pairwise.pairwise_distances(rows, metric=name)
    excess = (D[:, None, :] - (D[:, :, None] + D[None, :, :])).max()  # d(x, z) − d(x, y) − d(y, z)
    assert ROW_FUNCTIONS[name][1] == (excess < 1e-12)
