"""Target encoding: weights are repetitions, folds see nothing of themselves, (3) to (5)"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import preprocessing
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

import mlreplica
from mlreplica.preprocessing import TargetEncoder
from mlreplica.preprocessing._target import even_folds, stratified_folds


def problem(kind, n=300, seed=0):
    """Two columns of texts and a target that depends on them."""
    rng = np.random.default_rng(seed)
    X = rng.choice(list("abcdefgh"), (n, 2))
    effect = (X == "a").sum(axis=1) + rng.standard_normal(n)
    if kind == "continuous":
        return X, 1e6 + effect
    return X, np.array(["no", "yes", "maybe"])[
        np.digitize(effect, [0.5, 1.5] if kind == "multiclass" else [0.5])
    ]


KINDS = ["continuous", "binary", "multiclass"]


@given(st.integers(0, 1000), st.sampled_from(KINDS), st.sampled_from(["auto", 0.0, 3.0]))
def test_weights_are_repetitions(seed, kind, smooth):
    X, y = problem(kind, 40, seed)
    w = np.random.default_rng(seed).integers(0, 4, 40)
    w[[np.argmax(y == c) for c in np.unique(y)]] = 1  # all classes stay
    a = TargetEncoder(smooth=smooth).fit(X, y, sample_weight=w)
    b = TargetEncoder(smooth=smooth).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert_allclose(a.target_mean_, b.target_mean_, rtol=1e-12)
    assert_allclose(a.transform(X), b.transform(X), rtol=1e-9, atol=1e-9)


def naive(x, y, smooth):
    """(3) and (4), category by category."""
    found = {}
    for c in set(x):
        part = y[x == c]
        m = part.var() / y.var() if smooth == "auto" else smooth
        share = len(part) / (len(part) + m)
        found[c] = share * part.mean() + (1 - share) * y.mean()
    return found


@pytest.mark.parametrize("smooth", ["auto", 5.0])
def test_encodings_agree_with_the_naive_version(smooth):
    X, y = problem("continuous")
    encoder = TargetEncoder(smooth=smooth).fit(X, y)
    expected = naive(X[:, 0], y, smooth)
    assert_allclose(
        encoder.encodings_[0], [expected[c] for c in encoder.categories_[0]], rtol=1e-12
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("smooth", ["auto", 0.0, 2.5])
def test_agrees_with_scikit_learn(kind, smooth):
    X, y = problem(kind)
    cv = (KFold if kind == "continuous" else StratifiedKFold)(4, shuffle=True, random_state=1)
    ours = TargetEncoder(smooth=smooth, cv=cv)
    theirs = preprocessing.TargetEncoder(smooth=smooth, cv=cv)
    assert_allclose(ours.fit_transform(X, y), theirs.fit_transform(X, y), rtol=1e-9)
    new = np.array([["a", "z"], ["b", "h"]])
    assert_allclose(ours.transform(new), theirs.transform(new), rtol=1e-9)
    assert_allclose(ours.target_mean_, theirs.target_mean_)
    assert_array_equal(ours.get_feature_names_out(), theirs.get_feature_names_out())
    assert ours.target_type_ == theirs.target_type_ == kind


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_draws_the_same_folds_as_scikit_learn(kind):
    X, y = problem(kind)
    found = []
    for module in (mlreplica.preprocessing, preprocessing):
        np.random.seed(3)  # noqa: NPY002  what cv=5 draws from
        found.append(module.TargetEncoder().fit_transform(X, y))
    assert_allclose(*found, rtol=1e-9)


def test_folds_are_those_of_the_splitters():
    y = np.random.default_rng(0).integers(0, 4, 103)
    for draw, splitter in ((even_folds, KFold), (stratified_folds, StratifiedKFold)):
        fold = draw(y, 5, np.random.RandomState(7))
        parts = splitter(5, shuffle=True, random_state=7).split(y, y)
        for k, (_, test) in enumerate(parts):
            assert_array_equal(np.flatnonzero(fold == k), test)


def test_a_fold_sees_nothing_of_its_own_targets():
    X, y = problem("continuous")
    cv = KFold(5)
    before = TargetEncoder(cv=cv).fit_transform(X, y)
    changed = y.copy()
    changed[:60] += 100.0 * np.arange(60)  # the first fold
    after = TargetEncoder(cv=cv).fit_transform(X, changed)
    assert_allclose(after[:60], before[:60], rtol=1e-12)
    assert not np.allclose(after[60:], before[60:], rtol=1e-9)


def test_an_identifier_tells_nothing():
    y = np.random.default_rng(0).standard_normal(500)
    X = np.arange(500)[:, None]
    leaked = TargetEncoder().fit(X, y).transform(X)[:, 0]
    crossed = TargetEncoder().fit_transform(X, y)[:, 0]
    assert np.corrcoef(leaked, y)[0, 1] > 0.99
    assert abs(np.corrcoef(crossed, y)[0, 1]) < 0.3


def test_weights_count_within_folds():
    X, y = problem("continuous")
    w = np.ones(300)
    w[:100] = 0.0
    cv = KFold(3, shuffle=True, random_state=0)
    found = TargetEncoder(cv=cv).fit_transform(X, y, sample_weight=w)
    other = y.copy()
    other[:100] = 0.0
    assert_allclose(TargetEncoder(cv=cv).fit_transform(X, other, sample_weight=w), found, rtol=1e-6)
    with pytest.raises(ValueError, match="leaves no weight"):
        TargetEncoder(cv=KFold(3)).fit_transform(X, y, sample_weight=np.arange(300) < 100)
    with pytest.raises(ValueError, match="at least one non-zero"):
        TargetEncoder().fit(X, y, sample_weight=np.zeros(300))


def test_groups_go_to_the_splitter():
    from sklearn import config_context

    X, y = problem("continuous")
    with config_context(enable_metadata_routing=True):
        encoder = TargetEncoder(cv=GroupKFold(3))
        assert encoder.fit_transform(X, y, groups=np.arange(300) % 7).shape == (300, 2)


def test_a_file_must_have_an_encoding_for_every_category(tmp_path):
    X, y = problem("multiclass")
    encoder = TargetEncoder().fit(X, y)
    again = mlreplica.load(mlreplica.save(encoder, tmp_path / "m"))
    assert_array_equal(again.transform(X), encoder.transform(X))
    encoder.encodings_[1] = encoder.encodings_[1][:2]
    with pytest.raises(ValueError, match="TargetEncoder"):
        mlreplica.load(mlreplica.save(encoder, tmp_path / "m"))


@pytest.mark.filterwarnings("ignore:`TargetEncoder.shuffle`")  # the checks set random_state
@parametrize_with_checks([TargetEncoder()])
def test_scikit_learns_checks(estimator, check):
    check(estimator)
