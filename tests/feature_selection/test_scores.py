"""Scores of single columns: F, r, χ² and mutual information, by formula and by scikit-learn"""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.feature_selection as reference
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.special import digamma

from mlreplica import feature_selection as ours

SEEDS = st.integers(0, 10_000)


def table(seed, n=80, p=4, K=3):
    """Rows, classes and numbers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * 10 ** rng.uniform(-2, 2, size=p)
    y = rng.integers(0, K, n)
    y[:K] = np.arange(K)
    X[:, 0] += y * X[:, 0].std()
    return X, y, X[:, 1] / X[:, 1].std() + rng.normal(size=n)


@settings(deadline=None, max_examples=30)
@given(seed=SEEDS, shift=st.sampled_from([0.0, 1e6, -1e8]))
def test_scores_do_not_depend_on_the_origin(seed, shift):
    X, y, t = table(seed)
    X = np.round(X * 2**20) / 2**20  # a shift of it is exact
    X -= X % 2.0**-16
    for score, target in ((ours.f_classif, y), (ours.f_regression, t)):
        assert_allclose(score(X + shift, target)[0], score(X, target)[0], rtol=1e-4, atol=1e-8)


@settings(deadline=None, max_examples=30)
@given(seed=SEEDS)
def test_f_is_the_analysis_of_variance(seed):
    X, y, t = table(seed)
    groups = [X[y == k] for k in range(3)]
    for found in (ours.f_classif(X, y), ours.f_oneway(*groups)):
        assert_allclose(found, stats.f_oneway(*groups), rtol=1e-9)
    r = [stats.pearsonr(x, t) for x in X.T]
    assert_allclose(ours.r_regression(X, t), [c.statistic for c in r], rtol=1e-9, atol=1e-12)
    assert_allclose(ours.f_regression(X, t)[1], [c.pvalue for c in r], rtol=1e-6)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_array, np.asfortranarray])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_scores_agree_with_scikit_learn(form, dtype):
    X, y, t = table(3)
    X = form(np.abs(np.round(10 * X)).astype(dtype))
    for name, target in (("f_classif", y), ("chi2", y), ("f_regression", t)):
        found, expected = (getattr(m, name)(X, target) for m in (ours, reference))
        assert_allclose(found, expected, rtol=1e-4 if dtype == np.float32 else 1e-8)
    for center in (True, False):
        found, expected = (m.r_regression(X, t, center=center) for m in (ours, reference))
        assert_allclose(found, expected, rtol=1e-4 if dtype == np.float32 else 1e-8)


def test_constant_columns_and_targets():
    X = np.column_stack([np.full(20, 0.1), np.arange(20.0)])
    y = np.arange(20) % 2
    with pytest.warns(UserWarning, match=r"Features \[0\] are constant"):
        F, p = ours.f_classif(X, y)
    assert np.isnan(F[0])
    assert np.isfinite(F[1])
    assert_array_equal(ours.r_regression(X, X[:, 1]), [0.0, 1.0])
    F, p = ours.f_regression(X, X[:, 1])
    assert F[0] == 0
    assert p[0] == 1
    assert np.isnan(ours.f_regression(X, X[:, 1], force_finite=False)[0][0])


def test_chi2_refuses_negative_numbers_and_takes_several_labels():
    X = np.array([[1.0, 2.0], [3.0, 0.0], [0.0, 5.0]])
    with pytest.raises(ValueError, match="non-negative"):
        ours.chi2(-X, [0, 1, 0])
    Y = np.array([[1, 1], [0, 1], [1, 0]])
    assert_allclose(ours.chi2(X, Y), reference.chi2(X, Y))
    column = np.array([[1], [0], [0]])  # one label for a row
    assert_allclose(ours.chi2(X, column), reference.chi2(X, column))


# -------------------------------------------------------------------------- mutual information


def naive_numbers(x, y, k):
    """(6), by all pairs."""
    n = len(x)
    dx, dy = np.abs(x[:, None] - x), np.abs(y[:, None] - y)
    r = np.sort(np.maximum(dx, dy) + np.diag(np.full(n, np.inf)), axis=1)[:, k - 1]
    a, b = ((d < r[:, None]).sum(axis=1) - 1 for d in (dx, dy))
    return digamma(n) + digamma(k) - np.mean(digamma(a + 1) + digamma(b + 1))


def naive_classes(c, code, k):
    """(7), by all pairs."""
    total, n = 0.0, len(c)
    for i in range(n):
        own = np.abs(c[(code == code[i]) & (np.arange(n) != i)] - c[i])
        near = min(k, len(own))
        r = np.sort(own)[near - 1]
        total += digamma(near) - digamma(len(own) + 1) - digamma((np.abs(c - c[i]) < r).sum())
    return digamma(n) + total / n


def unit(x):
    """A column of unit variance, as the estimate sees it."""
    return x / x.std()


@settings(deadline=None, max_examples=40)
@given(seed=SEEDS, k=st.integers(1, 6), n=st.integers(8, 120), kind=st.integers(0, 3))
def test_information_is_that_of_all_pairs(seed, k, n, kind):
    rng = np.random.default_rng(seed)
    x = (rng.normal(size=n), rng.standard_cauchy(n), rng.exponential(size=n), rng.random(n))[kind]
    y = (x + rng.normal(size=n), np.sin(x), rng.normal(size=n), rng.standard_cauchy(n))[seed % 4]
    found = ours.mutual_info_regression(x[:, None], y, n_neighbors=k, random_state=0)
    assert_allclose(found, max(0.0, naive_numbers(unit(x), unit(y), k)), rtol=1e-6, atol=1e-9)
    code = rng.integers(0, 2, n)
    code[:4] = [0, 0, 1, 1]
    found = ours.mutual_info_classif(x[:, None], code, n_neighbors=k, random_state=0)
    assert_allclose(found, max(0.0, naive_classes(unit(x), code, k)), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("discrete", ["auto", True, False, [0, 2]])
def test_information_agrees_with_scikit_learn(discrete):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 4))
    X[:, 0], X[:, 2] = rng.integers(0, 3, 300), np.round(X[:, 2])
    y = X[:, 0] + X[:, 1] ** 2 + 0.1 * rng.normal(size=300)
    label = np.array(["a", "b", "only once"])[np.where(np.arange(300) == 7, 2, y > 1)]
    for name, target in (("mutual_info_regression", y), ("mutual_info_classif", label)):
        if name == "mutual_info_regression" and discrete is True:
            X = np.clip(np.round(X), -1, 1)  # scikit-learn refuses a class for each row
        found, expected = (
            getattr(m, name)(X, target, discrete_features=discrete, random_state=0)
            for m in (ours, reference)
        )
        assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_information_of_sparse_counts():
    rng = np.random.default_rng(2)
    # in classes of a few rows scikit-learn measures distances by products, which rounds them
    X = sp.csr_array(np.minimum(rng.poisson(0.5, size=(100, 3)), 1))
    for name, target in (
        ("mutual_info_classif", np.arange(100) % 2),
        ("mutual_info_regression", rng.normal(size=100)),
    ):
        found, expected = (getattr(m, name)(X, target, random_state=0) for m in (ours, reference))
        assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match="can't have continuous features"):
        ours.mutual_info_classif(X, np.arange(100) % 2, discrete_features=False)


def test_information_of_a_normal_pair_is_near_its_formula():
    rng = np.random.default_rng(3)
    x, z = rng.normal(size=(2, 20_000))
    found = ours.mutual_info_regression(x[:, None], 0.8 * x + 0.6 * z, random_state=0)[0]
    assert_allclose(found, -0.5 * np.log(1 - 0.8**2), atol=0.02)


def test_few_rows_are_refused_with_advice():
    with pytest.raises(ValueError, match="use at most 2 neighbors"):
        ours.mutual_info_regression(np.arange(3.0)[:, None], np.arange(3.0))
