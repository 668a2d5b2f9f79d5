"""Isotonic regression"""

import pickle
import warnings

import numpy as np
import pytest
import sklearn.isotonic
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.utils import estimator_checks

import mlreplica
from mlreplica.isotonic import IsotonicRegression, check_increasing, isotonic_regression

NUMBERS = st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=30)


def naive(y, w):
    """max over a ≤ i of min over b ≥ i of the mean of y_a … y_b."""
    n = len(y)

    def mean(a, b):
        return np.average(y[a : b + 1], weights=w[a : b + 1])

    return np.array(
        [max(min(mean(a, b) for b in range(i, n)) for a in range(i + 1)) for i in range(n)]
    )


# (a) properties


@settings(deadline=None, max_examples=100)
@given(NUMBERS, st.integers(0, 1000))
def test_the_curve_rises_and_its_multipliers_prove_it(y, seed):
    y, w = np.array(y), np.random.default_rng(seed).uniform(0.1, 2.0, len(y))
    f = isotonic_regression(y, sample_weight=w)
    assert (np.diff(f) >= 0).all()
    multipliers = np.cumsum(w * (y - f))  # (4)
    assert (multipliers >= -1e-12).all()
    assert abs(multipliers[-1]) < 1e-12
    assert_allclose(multipliers[:-1][np.diff(f) > 1e-12], 0.0, atol=1e-12)


@settings(deadline=None, max_examples=50)
@given(NUMBERS)
def test_mirrors_and_bounds(y):
    f = isotonic_regression(y)
    assert_allclose(isotonic_regression(np.negative(y), increasing=False), -f, rtol=1e-14)
    assert_allclose(isotonic_regression(y[::-1], increasing=False), f[::-1], atol=1e-12)
    assert_allclose(isotonic_regression(y, y_min=-1, y_max=2), np.clip(f, -1, 2), rtol=1e-14)
    assert_allclose(isotonic_regression(f), f, rtol=0, atol=0)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 1000))
def test_a_weight_counts_like_repeated_rows(seed):
    rng = np.random.default_rng(seed)
    x, y, s = rng.integers(0, 8, 20).astype(float), rng.normal(size=20), rng.integers(0, 4, 20)
    s[0] = 1
    order = rng.permutation(np.repeat(np.arange(20), s))
    one = IsotonicRegression().fit(x, y, s)
    two = IsotonicRegression().fit(x[order], y[order])
    grid = np.linspace(one.X_min_, one.X_max_, 30)
    assert_allclose(one.predict(grid), two.predict(grid), rtol=1e-10, atol=1e-12)


# (b) the naive version


@settings(deadline=None, max_examples=50)
@given(NUMBERS, st.integers(0, 1000))
def test_the_naive_version_agrees(y, seed):
    y, w = np.array(y), np.random.default_rng(seed).uniform(0.1, 2.0, len(y))
    assert_allclose(isotonic_regression(y, sample_weight=w), naive(y, w), rtol=1e-12, atol=1e-12)


# (c) scikit-learn


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("increasing", [True, False, "auto"])
@pytest.mark.parametrize("ties", [True, False])
def test_scikit_learn_agrees(dtype, increasing, ties):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 60, 500) if ties else rng.normal(size=500)
    x, y, s = x.astype(dtype), (0.1 * x + rng.normal(size=500)).astype(dtype), rng.random(500)
    s[::7] = 0.0
    given = {"increasing": increasing, "y_max": 2.0, "out_of_bounds": "clip"}
    ours = IsotonicRegression(**given).fit(x, y, s)
    theirs = sklearn.isotonic.IsotonicRegression(**given).fit(x, y, s)
    rtol = 1e-10 if dtype == np.float64 else 1e-4
    grid = np.linspace(x.min() - 1, x.max() + 1, 200).astype(dtype)
    assert_allclose(ours.predict(grid), theirs.predict(grid), rtol=rtol, atol=1e-6)
    assert ours.predict(grid).dtype == dtype
    assert (ours.X_min_, ours.X_max_) == (theirs.X_min_, theirs.X_max_)
    assert ours.increasing_ == theirs.increasing_
    if dtype == np.float64:
        assert_allclose(ours.X_thresholds_, theirs.X_thresholds_)
    assert_allclose(ours.score(x, y), theirs.score(x, y), rtol=rtol)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 1000), st.integers(2, 12))
def test_directions_are_scikit_learns(seed, n):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 9, n), rng.normal(size=n)
    x[0], x[1] = 0, 1
    found = []
    for function in (check_increasing, sklearn.isotonic.check_increasing):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found.append((bool(function(x, y)), len(caught)))
    assert found[0] == found[1]


# (d) scikit-learn's checks


@pytest.mark.parametrize(
    "check",
    [
        "check_estimator_cloneable",
        "check_estimator_tags_renamed",
        "check_valid_tag_types",
        "check_estimator_repr",
        "check_no_attributes_set_in_init",
        "check_parameters_default_constructible",
        "check_get_params_invariance",
        "check_set_params",
    ],
)
def test_scikit_learn_checks_that_need_no_table(check):
    """The others give a table of several columns, which it refuses."""
    getattr(estimator_checks, check)("IsotonicRegression", IsotonicRegression())


# (e) bad and hard input


def test_points_outside():
    model = IsotonicRegression().fit([1.0, 2.0], [1.0, 2.0])
    np.testing.assert_array_equal(model.predict([0.0, 1.5, 3.0]), [np.nan, 1.5, np.nan])
    assert_allclose(model.set_params(out_of_bounds="clip").predict([0.0, 3.0]), [1.0, 2.0])
    with pytest.raises(ValueError, match="below the interpolation range"):
        model.set_params(out_of_bounds="raise").predict([0.0])
    with pytest.raises(ValueError, match="above the interpolation range"):
        model.predict([3.0])
    assert_allclose(model.f_(np.array([1.25])), [1.25])


def test_bad_input_says_what_is_wrong():
    with pytest.raises(ValueError, match="2d array with 1 feature"):
        IsotonicRegression().fit(np.ones((3, 2)), [1, 2, 3])
    with pytest.raises(ValueError, match="strictly positive"):
        isotonic_regression([1.0, 2.0], sample_weight=[1.0, 0.0])
    with pytest.raises(ValueError, match="Negative values"):
        IsotonicRegression().fit([1, 2], [1, 2], sample_weight=[-1, -1])
    with pytest.raises(ValueError, match="at least one non-zero"):
        IsotonicRegression().fit([1.0, 2.0], [1.0, 2.0], [0.0, 0.0])
    with pytest.raises(ValueError, match="one-dimensional"):
        isotonic_regression(np.ones((2, 2)))


def test_one_point_is_a_constant():
    model = IsotonicRegression().fit([1.0, 1.0], [1.0, 3.0])
    assert_allclose(model.predict([0.0, 1.0, 9.0]), 2.0)


def test_files_hold_it(tmp_path):
    rng = np.random.default_rng(0)
    x, y = rng.random(50), rng.random(50)
    model = IsotonicRegression().fit(x, y)
    for again in (
        mlreplica.load(mlreplica.save(model, tmp_path / "m.skops")),
        pickle.loads(pickle.dumps(model)),
    ):
        np.testing.assert_array_equal(again.predict(x), model.predict(x))
    model.X_thresholds_ = model.X_thresholds_[::-1]
    with pytest.raises(ValueError, match="X_thresholds_"):
        mlreplica.load(mlreplica.save(model, tmp_path / "m.skops"))
