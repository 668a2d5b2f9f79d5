"""Stability selection and knockoffs keep their bounds on errors, over many data sets"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from mlreplica.datasets import load_iris
from mlreplica.feature_selection import KnockoffSelector, StabilitySelection
from mlreplica.feature_selection._knockoffs import (
    draw_knockoffs,
    equal_s,
    knockoff_threshold,
    largest_s,
)
from mlreplica.linear_model import LogisticRegression, Ridge


def correlated(seed, n=200, p=30, true=10, rho=0.4, size=1.0):
    """Rows with correlation ρ^|i−j|, a target of the first columns, and the correlation."""
    rng = np.random.default_rng(seed)
    R = rho ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    X = rng.standard_normal((n, p)) @ np.linalg.cholesky(R).T
    order = rng.permutation(p)
    y = X[:, order[:true]] @ np.full(true, size) + rng.standard_normal(n)
    return X, y, R, order[:true]


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 1000), p=st.integers(2, 12))
def test_s_is_feasible_and_the_program_is_no_worse_than_equal_entries(seed, p):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(2 * p, p))
    S = A.T @ A
    d = 1 / np.sqrt(S.diagonal())
    R = S * d * d[:, None]
    s = largest_s(R)
    assert (s >= 0).all()
    assert (s <= 1).all()
    assert np.linalg.eigvalsh(2 * R - np.diag(s))[0] >= -1e-8
    assert s.sum() >= equal_s(R).sum() - 1e-3


def test_knockoffs_have_the_moments_that_exchange_needs():
    X, _, R, _ = correlated(0, n=40_000, p=6, true=2)
    s = largest_s(R)
    K = draw_knockoffs(X, R, s, np.random.default_rng(1))
    both = np.cov(np.hstack([X, K]).T)
    assert_allclose(both[6:, 6:], R, atol=0.05)
    assert_allclose(both[:6, 6:], R - np.diag(s), atol=0.05)


def test_the_threshold_is_that_of_its_definition():
    rng = np.random.default_rng(0)
    for fdr in (0.05, 0.2, 0.5):
        for offset in (0, 1):
            W = rng.normal(0.7, 1.0, size=60).round(1)
            good = [
                t
                for t in np.unique(np.abs(W[W != 0]))
                if (offset + sum(W <= -t)) / max(1, sum(W >= t)) <= fdr  # noqa: SIM300
            ]
            assert knockoff_threshold(W, fdr, offset) == (min(good) if good else np.inf)


@pytest.mark.parametrize("method", ["sdp", "equicorrelated"])
def test_knockoffs_keep_the_false_discovery_rate(method):
    errors, found = [], []
    for seed in range(40):
        X, y, R, true = correlated(seed)
        model = KnockoffSelector(
            Ridge(1.0), fdr=0.2, method=method, covariance=R, random_state=seed
        ).fit(X, y)
        chosen = model.get_support(indices=True)
        wrong = np.setdiff1d(chosen, true)
        errors.append(len(wrong) / max(len(chosen), 1))
        found.append(len(chosen) - len(wrong))
    assert np.mean(errors) <= 0.2 + 2 * np.std(errors) / np.sqrt(40)
    assert np.mean(found) > 7  # and most of what is there is found


def test_knockoffs_by_lasso_with_an_estimated_covariance():
    X, y, _, true = correlated(3, n=400)
    model = KnockoffSelector(fdr=0.2, random_state=0).fit(X, y)
    assert set(true) <= set(model.get_support(indices=True))
    assert model.threshold_ > 0
    again = KnockoffSelector(fdr=0.2, random_state=0).fit(X, y)
    assert_array_equal(model.statistics_, again.statistics_)


def test_knockoffs_leave_constant_columns_out_and_refuse_copies():
    X, y, _, _ = correlated(4)
    X[:, 3] = 7.0
    model = KnockoffSelector(random_state=0).fit(X, y)
    assert model.statistics_[3] == model.s_[3] == 0
    assert not model.support_[3]
    with pytest.raises(ValueError, match="must be positive definite"):
        KnockoffSelector(covariance=np.ones((30, 30))).fit(X, y)
    with pytest.raises(ValueError, match="covariance must have shape"):
        KnockoffSelector(covariance=np.eye(3)).fit(X, y)


def test_stability_keeps_its_bound():
    wrong, found = [], []
    for seed in range(15):
        X, y, _, true = correlated(seed, p=60, true=5)
        model = StabilitySelection(n_pairs=15, max_false=2.0, random_state=seed).fit(X, y)
        assert model.false_bound_ <= 2.0
        chosen = model.get_support(indices=True)
        wrong.append(len(np.setdiff1d(chosen, true)))
        found.append(len(np.intersect1d(chosen, true)))
    assert np.mean(wrong) <= 2.0
    assert np.mean(found) > 4


def test_stability_is_the_share_of_halves():
    X, y, _, _ = correlated(0, n=60, p=5, true=1)
    model = StabilitySelection(Ridge(), n_pairs=4, n_features_per_run=2, random_state=3).fit(X, y)
    rng = np.random.RandomState(3)
    count = np.zeros(5)
    for _ in range(4):
        order = rng.permutation(60)
        for rows in (order[:30], order[30:]):
            w = np.abs(Ridge().fit(X[rows], y[rows]).coef_)
            count[np.argsort(-w)[:2]] += 1
    assert_allclose(model.stability_scores_, count / 8)
    assert model.n_features_per_run_ == 2
    assert_allclose(model.false_bound_, 4 / (0.5 * 5))


def test_classes():
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    two = names[:100]
    assert StabilitySelection(n_pairs=5, random_state=0).fit(X[:100], two).support_.shape == (4,)
    with pytest.raises(ValueError, match="needs numbers or two classes as y, got 3 classes"):
        StabilitySelection(n_pairs=2).fit(X, names)
    model = StabilitySelection(LogisticRegression(), n_pairs=3, random_state=0).fit(X, names)
    assert model.stability_scores_[2:].max() == 1.0
