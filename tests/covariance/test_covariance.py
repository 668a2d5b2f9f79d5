"""Likelihood, shrinkage, the tightest half; outliers, and rows that are too few"""

import warnings

import numpy as np
import pytest
import sklearn.covariance as reference
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.utils.estimator_checks import parametrize_with_checks

from mlreplica import covariance
from mlreplica.covariance import (
    OAS,
    EllipticEnvelope,
    EmpiricalCovariance,
    LedoitWolf,
    MinCovDet,
    ShrunkCovariance,
    fast_mcd,
    ledoit_wolf_shrinkage,
)
from mlreplica.covariance._robust import concentrate, consistency, nearest
from mlreplica.datasets import load_wine

PLAIN = ["EmpiricalCovariance", "ShrunkCovariance", "LedoitWolf", "OAS"]
FLAT = "The covariance matrix associated to your dataset is not full rank"


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("options", [{}, {"assume_centered": True}, {"store_precision": False}])
def test_agrees_with_scikit_learn(name, options):
    X = np.random.default_rng(0).normal(size=(20, 5)) + 2
    ours, theirs = getattr(covariance, name)(**options), getattr(reference, name)(**options)
    ours, theirs = ours.fit(X), theirs.fit(X)
    assert_allclose(ours.covariance_, theirs.covariance_, rtol=1e-10)
    assert_allclose(ours.get_precision(), theirs.get_precision(), rtol=1e-8)
    assert_allclose(ours.mahalanobis(X), theirs.mahalanobis(X), rtol=1e-8)
    assert_allclose(ours.score(X), theirs.score(X), rtol=1e-10)
    for norm in ("frobenius", "spectral"):
        a = ours.error_norm(np.eye(5), norm=norm, scaling=False)
        assert_allclose(a, theirs.error_norm(np.eye(5), norm=norm, scaling=False), rtol=1e-8)


@given(seed=st.integers(0, 300), n=st.integers(2, 20), name=st.sampled_from(PLAIN))
def test_a_weight_is_a_number_of_repetitions(seed, n, name):
    rng = np.random.default_rng(seed)
    X, s = rng.normal(size=(n, 3)), rng.integers(0, 4, size=n)
    s[0] = 2
    kind = getattr(covariance, name)
    a = kind().fit(X, sample_weight=s)
    b = kind().fit(np.repeat(X, s, axis=0))
    assert_allclose(a.covariance_, b.covariance_, atol=1e-12)
    assert_allclose(a.location_, b.location_, atol=1e-12)


def test_ledoit_and_wolf_by_their_formula():
    X = np.random.default_rng(1).normal(size=(15, 6))
    Z = X - X.mean(axis=0)
    C = Z.T @ Z / 15
    target = np.trace(C) / 6 * np.eye(6)
    scatter = np.mean([((np.outer(z, z) - C) ** 2).sum() for z in Z]) / 15
    share = min(1.0, scatter / ((C - target) ** 2).sum())
    assert_allclose(ledoit_wolf_shrinkage(X), share, rtol=1e-10)


@given(seed=st.integers(0, 300), h=st.integers(1, 30))
def test_nearest_selects_the_smallest(seed, h):
    d = np.random.default_rng(seed).integers(0, 9, size=30).astype(float)
    pick = np.arange(30)
    nearest(d, pick, h)
    assert sorted(pick) == list(range(30))
    assert_allclose(np.sort(d[pick[:h]]), np.sort(d)[:h])


@given(seed=st.integers(0, 300))
def test_a_step_never_raises_the_determinant(seed):
    rng = np.random.default_rng(seed)
    X = np.ascontiguousarray(rng.standard_t(2, size=(40, 3)))
    pick, found = rng.permutation(40), []
    for steps in (0, 1, 2, 5, 30):
        work = np.empty(3), np.empty((3, 3)), np.empty(3), np.empty(40)
        found.append(concentrate(X, pick.copy(), 22, 22, steps, *work))
    assert (np.diff(found) <= 1e-10).all()


def test_finds_the_least_determinant_of_all_subsets():
    from itertools import combinations

    X = np.random.default_rng(5).normal(size=(10, 2))
    h = 7
    best = min(np.linalg.det(np.cov(X[list(H)].T, bias=True)) for H in combinations(range(10), h))
    _, C, support, _ = fast_mcd(X, support_fraction=h / 10, random_state=0)
    assert support.sum() == h
    assert_allclose(np.linalg.det(C), best, rtol=1e-10)


def clump(n, away, seed):
    """Rows of which the first 40 % are outliers close together."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) @ np.diag([1.0, 2.0, 0.5])
    bad = int(0.4 * n)
    X[:bad] = away + 0.1 * rng.normal(size=(bad, 3))
    return X, bad


@pytest.mark.parametrize("n", [120, 900, 3000])
@pytest.mark.parametrize("seed", range(4))
def test_outliers_do_not_move_it(n, seed):
    X, bad = clump(n, 300.0, seed)
    model = MinCovDet(random_state=seed).fit(X)
    assert not model.support_[:bad].any()
    assert np.abs(model.location_).max() < 0.6
    assert_allclose(model.covariance_.diagonal(), [1.0, 4.0, 0.25], rtol=0.6)


@pytest.mark.parametrize("seed", [0, 4, 9])
def test_a_sample_with_too_many_outliers_does_not_mislead(seed):
    X, bad = clump(3000, 30.0, seed)  # so near that a subset with the clump has nearly as small a C
    h = 1502
    pick = np.roll(np.arange(3000), -bad)
    best = concentrate(
        X, pick, h, h, 100, np.empty(3), np.empty((3, 3)), np.empty(3), np.empty(3000)
    )
    C = fast_mcd(X, random_state=seed)[1]
    assert np.linalg.slogdet(C)[1] < best + 1e-3


def test_no_worse_than_scikit_learn():
    X = load_wine().data
    ours, theirs = (m.MinCovDet(random_state=0).fit(X) for m in (covariance, reference))
    det = lambda model: np.linalg.slogdet(model.raw_covariance_)[1]
    assert det(ours) <= det(theirs) + 1e-9
    assert_allclose(consistency(3, 0.5), 1 / 0.3491, rtol=0.5)
    assert consistency(3, 1.0) == 1.0


def test_gaussian_rows_give_the_right_size():
    X = np.random.default_rng(0).normal(size=(4000, 3))
    model = MinCovDet(random_state=0).fit(X)
    assert_allclose(model.covariance_, np.eye(3), atol=0.1)
    assert_allclose((model.mahalanobis(X) > 9.348).mean(), 0.025, atol=0.01)


def test_envelope_leaves_the_share_outside():
    X = np.random.default_rng(0).normal(size=(200, 2))
    model = EllipticEnvelope(contamination=0.2, random_state=0).fit(X)
    assert (model.predict(X) == -1).sum() == 40
    assert_allclose(model.decision_function(X), model.score_samples(X) - model.offset_)


def test_odd_input():
    with pytest.raises(ValueError, match="increase support_fraction"):
        MinCovDet(random_state=0).fit(np.vstack([np.zeros((8, 2)), np.eye(2)]))
    few = np.random.default_rng(0).normal(size=(3, 8))
    singular = EmpiricalCovariance().fit(few)
    assert np.isfinite(singular.mahalanobis(few)).all()
    assert np.linalg.eigvalsh(LedoitWolf().fit(few).covariance_).min() > 0
    far = np.random.default_rng(0).normal(size=(50, 2)) + 1e8
    assert_allclose(EmpiricalCovariance().fit(far).covariance_, np.cov(far.T, bias=True), rtol=1e-9)
    with pytest.raises(ValueError, match="zero"):
        EmpiricalCovariance().fit(few, sample_weight=[0, 0, 0])


ODD = {
    "a constant column": [[1.0, 3.0, 0.0], [2.0, 3.0, 5.0], [4.0, 3.0, 1.0], [0.0, 3.0, 2.0]],
    "more columns than rows": np.arange(18.0).reshape(2, 9) ** 2,
    "dependent columns": np.outer(np.arange(5.0), [1.0, 2.0, -1.0]),
    "equal rows": np.full((6, 3), 2.0),
    "one row": [[1.0, 2.0, 3.0]],
}


@pytest.mark.parametrize("rows", ODD)
@pytest.mark.parametrize("name", PLAIN)
def test_singular_rows(name, rows):
    X = np.array(ODD[rows])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Only one sample", UserWarning)
        ours, theirs = (getattr(m, name)().fit(X) for m in (covariance, reference))
    assert_allclose(ours.covariance_, theirs.covariance_, rtol=1e-10, atol=1e-12)
    distances = ours.mahalanobis(X)
    assert np.isfinite(distances).all()
    if name == "EmpiricalCovariance":  # within the span: by the pseudo-inverse
        Z = X - X.mean(axis=0)
        C = np.cov(X.T, bias=True) if len(X) > 1 else np.zeros((3, 3))
        expected = np.einsum("ij,jk,ik->i", Z, np.linalg.pinv(C, rtol=1e-10, hermitian=True), Z)
        assert_allclose(distances, expected, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("rows", ODD)
@pytest.mark.parametrize("name", ["MinCovDet", "EllipticEnvelope"])
def test_singular_rows_have_no_tightest_half(name, rows):
    model, X = getattr(covariance, name)(random_state=0), np.array(ODD[rows])
    if rows in ("equal rows", "one row"):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", FLAT, UserWarning)
            with pytest.raises(ValueError, match=r"increase support_fraction|minimum of 2"):
                model.fit(X)
        return
    with pytest.warns((UserWarning, RuntimeWarning), match=r"not full rank|singular"):
        model.fit(X)
    assert np.isfinite(model.mahalanobis(X)).all()


@pytest.mark.parametrize("name", ["MinCovDet", "EllipticEnvelope"])
def test_redundant_columns_are_told(name):
    X = np.random.default_rng(0).normal(size=(40, 3))
    X = np.column_stack([X, X[:, 0] - X[:, 1]])
    with pytest.warns(UserWarning, match=FLAT):
        model = getattr(covariance, name)(random_state=0).fit(X)
    assert np.isfinite(model.mahalanobis(X)).all()


@pytest.mark.parametrize("column", ["constant", "dependent"])
def test_outliers_are_seen_where_all_rows_lie_in_a_plane(column):
    X = np.random.default_rng(0).normal(size=(100, 3))
    X[:20] += 10
    extra = np.full(100, 5.0) if column == "constant" else X[:, 0] + X[:, 1]
    with pytest.warns(UserWarning, match=FLAT):
        flat = MinCovDet(random_state=0).fit(np.column_stack([X, extra]))
    assert not flat.support_[:20].any()
    assert_allclose(flat.location_[:3], X[flat.support_].mean(axis=0))
    envelope = EllipticEnvelope(contamination=0.2, random_state=0)
    with pytest.warns(UserWarning, match=FLAT):
        labels = envelope.fit_predict(np.column_stack([X, extra]))
    assert (labels[:20] == -1).all()


def test_small_units_are_no_plane():
    X = np.random.default_rng(0).normal(size=(40, 3))
    ours, small = MinCovDet(random_state=0).fit(X), MinCovDet(random_state=0).fit(1e-6 * X)
    assert_allclose(small.covariance_, 1e-12 * ours.covariance_)


def test_a_flat_half_is_told():
    X = np.random.default_rng(0).normal(size=(20, 3))
    X[:14, 2] = 0.5
    with pytest.warns(RuntimeWarning, match="tightest 12 of 20 rows is singular"):
        MinCovDet(random_state=0).fit(X)


@parametrize_with_checks(
    [
        EmpiricalCovariance(),
        ShrunkCovariance(),
        LedoitWolf(),
        OAS(),
        MinCovDet(),
        EllipticEnvelope(),
    ]
)
def test_scikit_learns_checks(estimator, check):
    with warnings.catch_warnings():
        if check.func.__name__ == "check_array_api_input":  # its ten columns have rank eight
            warnings.filterwarnings("ignore", FLAT, UserWarning)
        check(estimator)
