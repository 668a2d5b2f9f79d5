"""Detectors that look at one column at a time"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.utils.estimator_checks import parametrize_with_checks

import mlreplica
from mlreplica.outliers import IQR, ZScore
from mlreplica.outliers._columns import quantiles

DETECTORS = [ZScore(), ZScore(robust=True), IQR()]
seeds = st.integers(0, 2**32 - 1)


def drawn(seed, gaps=True):
    """Rows with ties, gaps, an outlier and a constant column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rng.integers(5, 40), 4)).round(rng.integers(0, 3))
    X[0, 0], X[:, 3] = 40.0, 7.0
    if gaps:
        X[1:, 1][rng.random(len(X) - 1) < 0.3] = np.nan
    return X, rng


@pytest.mark.parametrize("model", DETECTORS, ids=repr)
@given(seed=seeds)
@settings(deadline=None, max_examples=30)
def test_a_weight_is_a_repetition(model, seed):
    X, rng = drawn(seed)
    s = rng.integers(0, 4, len(X))
    s[2] = 1
    once = model.fit(X, sample_weight=s)
    found = once.lower_, once.upper_, once.offset_
    twice = model.fit(np.repeat(X, s, axis=0))
    assert_allclose(found[0], twice.lower_, rtol=1e-9, atol=1e-9)
    assert_allclose(found[1], twice.upper_, rtol=1e-9, atol=1e-9)
    assert found[2] == twice.offset_


@pytest.mark.parametrize("model", DETECTORS, ids=repr)
@given(seed=seeds)
@settings(deadline=None, max_examples=30)
def test_units_do_not_matter(model, seed):
    X, rng = drawn(seed)
    a, b = 2.0 ** rng.integers(-8, 8, 4), rng.integers(-4, 4, 4)
    scores = model.fit(X).score_samples(X)
    assert_allclose(model.fit(a * X + b).score_samples(a * X + b), scores, rtol=1e-6, atol=1e-6)
    order = rng.permutation(len(X))
    assert_allclose(model.fit(X[order]).score_samples(X), scores, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("model", DETECTORS, ids=repr)
@given(seed=seeds)
@settings(deadline=None, max_examples=30)
def test_outliers_are_what_lies_outside_of_the_limits(model, seed):
    X, _ = drawn(seed)
    model.fit(X)
    with np.errstate(invalid="ignore"):
        far = np.maximum(X - model.upper_, model.lower_ - X)
    clear = (np.abs(np.nan_to_num(far, nan=1.0)) > 1e-9) | (model.scale_ == 0)
    outside = ((far > 0) & (model.scale_ > 0)).any(axis=1)
    rows = clear.all(axis=1)
    assert_array_equal((model.predict(X) == -1)[rows], outside[rows])
    deviations = model.deviations(X)
    assert_allclose(-np.abs(deviations).max(axis=1), model.score_samples(X), rtol=1e-12)


@given(seed=seeds, share=st.sampled_from([0.1, 0.25, 0.5, 0.75]))
@settings(deadline=None, max_examples=30)
def test_quantiles_are_those_of_numpy(seed, share):
    X, _ = drawn(seed, gaps=False)
    naive = np.quantile(X, share, axis=0, method="averaged_inverted_cdf")
    assert_allclose(quantiles(X, None, [share])[0], naive, rtol=1e-12)
    assert_allclose(quantiles(X, np.ones(len(X)), [share])[0], naive, rtol=1e-12)


def test_agrees_with_scipy():
    X, _ = drawn(5, gaps=False)
    X = X[:, :3]
    assert_allclose(ZScore().fit(X).deviations(X), stats.zscore(X, axis=0), rtol=1e-10)
    model = ZScore(robust=True).fit(X)
    mad = stats.median_abs_deviation(X, axis=0, scale="normal")
    assert_allclose(model.deviations(X), (X - np.median(X, axis=0)) / mad, rtol=1e-10)


@given(seed=seeds)
@settings(deadline=None, max_examples=30)
def test_no_row_is_farther_out_than_its_number_allows(seed):
    X, rng = drawn(seed)
    X[0, 0] = 10.0 ** rng.integers(1, 9)
    known = (~np.isnan(X)).sum(axis=0)
    z = ZScore().fit(X).deviations(X)
    assert (np.abs(z) <= np.sqrt(known - 1) * (1 + 1e-9)).all()


def test_masking():
    """Six equal outliers among forty hide from the mean, not from the median."""
    X = np.r_[np.random.default_rng(0).normal(size=34), np.full(6, 30.0)][:, None]
    assert (ZScore().fit_predict(X) == 1).all()
    for model in (ZScore(robust=True), IQR()):
        assert (model.fit_predict(X)[34:] == -1).all()


@pytest.mark.parametrize("model", [ZScore(robust=True), IQR()], ids=repr)
def test_most_values_equal(model):
    X = np.array([[0.0]] * 9 + [[1.0], [100.0]])
    found = model.fit(X)
    assert found.scale_[0] > 0
    assert found.predict([[100.0], [0.0]]).tolist() == [-1, 1]


@pytest.mark.parametrize("model", DETECTORS, ids=repr)
def test_columns_without_values_or_variation(model):
    X = np.column_stack([np.full(8, np.nan), np.full(8, 0.1), np.arange(8.0)])
    model.fit(X)
    assert model.scale_[:2].tolist() == [0.0, 0.0]
    assert model.score_samples([[5.0, 5.0, 3.5], [np.nan] * 3]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("kind", [ZScore, IQR])
def test_contamination(kind):
    X = np.random.default_rng(1).normal(size=(200, 3))
    model = kind(contamination=0.1).fit(X)
    assert (model.predict(X) == -1).sum() == 20
    assert_allclose(-model.offset_, -np.quantile(model.score_samples(X), 0.1), rtol=0.05)


def test_refuses():
    with pytest.raises(ValueError, match="threshold"):
        ZScore(threshold=-1.0).fit([[1.0], [2.0]])
    with pytest.raises(ValueError, match="at least one non-zero"):
        IQR().fit([[1.0], [2.0]], sample_weight=[0, 0])
    with pytest.raises(ValueError, match="infinity"):
        IQR().fit([[1.0], [np.inf]])


@pytest.mark.parametrize("model", DETECTORS, ids=repr)
def test_saved_and_loaded(model, tmp_path):
    X, _ = drawn(3)
    mlreplica.save(model.fit(X), path := tmp_path / "model.mlr")
    assert_array_equal(mlreplica.load(path).score_samples(X), model.score_samples(X))


# the checks want outliers in three even groups, where nothing is three deviations out
@parametrize_with_checks(
    [ZScore(threshold=2.0), ZScore(threshold=2.0, robust=True), IQR(threshold=0.5)]
)
def test_scikit_learn(estimator, check):
    check(estimator)
