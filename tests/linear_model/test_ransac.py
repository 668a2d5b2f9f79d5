"""RANSAC: (8) and (9), the naive loop, scikit-learn's answers draw by draw, weights, skips"""

import math

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
import sklearn.linear_model
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning, UnsetMetadataPassedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import mlreplica
from mlreplica.callbacks import Trace
from mlreplica.linear_model import LinearRegression, RANSACRegressor, Ridge
from mlreplica.linear_model.robust import ransac_regressor
from mlreplica.linear_model.robust.ransac import trials_needed
from mlreplica.tree import DecisionTreeRegressor

TRUTH = np.array([2.0, -1.0, 0.5])


def spoiled(seed=0, n=200, share=0.4):
    """Rows on a plane but for some noise, and a share of rows on another one."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = X @ TRUTH + 3.0 + 0.05 * rng.normal(size=n)
    wrong = rng.random(n) < share
    y[wrong] = 20.0 + 5.0 * X[wrong, 0]
    return X, y, wrong


@given(q=st.floats(0.05, 0.999), m=st.integers(1, 8), P=st.floats(0.1, 0.999))
def test_9_is_the_least_number_of_trials_that_suffices(q, m, P):
    K, miss = trials_needed(q, m, 1 - P), math.log1p(-(q**m))
    slack = 1e-6
    assert K * miss <= math.log(1 - P) + slack
    assert (K - 1) * miss >= math.log(1 - P) - slack


@pytest.mark.parametrize(("q", "P", "K"), [(1.0, 0.99, 1), (0.0, 0.99, math.inf), (0.5, 0.0, 0)])
def test_9_at_its_ends(q, P, K):
    assert trials_needed(q, 2, 1 - P) == K


@settings(max_examples=20)
@given(seed=st.integers(0, 1000))
def test_the_consensus_never_shrinks_and_is_that_of_a_drawn_model(seed):
    X, y, _ = spoiled(seed, n=40)
    trace = Trace()
    model = RANSACRegressor(residual_threshold=0.3, random_state=seed).set_callbacks(trace)
    model.fit(X, y)
    weights = [state["weight"] for state in trace.states]
    assert len(weights) == model.n_trials_ == model.n_iter_
    assert weights == sorted(weights)
    assert weights[-1] == model.inlier_mask_.sum()


@settings(max_examples=20)
@given(seed=st.integers(0, 1000), far=st.floats(10.0, 1e9))
def test_how_far_off_outliers_are_does_not_matter(seed, far):
    X, y, wrong = spoiled(seed, n=60, share=0.3)
    model = RANSACRegressor(residual_threshold=0.3, random_state=0).fit(X, y)
    kept = ~model.inlier_mask_
    y[kept] += np.where(y[kept] > X[kept] @ TRUTH + 3.0, far, -far)
    again = RANSACRegressor(residual_threshold=0.3, random_state=0, max_trials=300).fit(X, y)
    if wrong[kept].all() and again.inlier_mask_.sum() == model.inlier_mask_.sum():
        assert_array_equal(again.inlier_mask_, model.inlier_mask_)
        assert_allclose(again.estimator_.coef_, model.estimator_.coef_, rtol=1e-8)


def naive(X, y, t, K, seed):
    """The loop in its plainest form, without the early end."""
    from sklearn.utils.random import sample_without_replacement

    rng, best = np.random.RandomState(seed), np.zeros(len(y), dtype=bool)
    Z = np.column_stack([np.ones(len(y)), X])
    for _ in range(K):
        rows = sample_without_replacement(len(y), Z.shape[1], random_state=rng)
        inliers = np.abs(y - Z @ np.linalg.solve(Z[rows], y[rows])) <= t
        if inliers.sum() > best.sum():
            best = inliers
    return best, np.linalg.lstsq(Z[best], y[best], rcond=None)[0]


@pytest.mark.parametrize("seed", range(5))
def test_the_naive_loop_finds_the_same(seed):
    X, y, wrong = spoiled(seed)
    ours = RANSACRegressor(
        residual_threshold=0.3, stop_probability=1.0, max_trials=50, random_state=seed
    ).fit(X, y)
    inliers, v = naive(X, y, 0.3, 50, seed)
    assert_array_equal(ours.inlier_mask_, inliers)
    assert_allclose(ours.estimator_.coef_, v[1:], rtol=1e-9)
    assert_allclose(ours.estimator_.coef_, TRUTH, atol=0.05)
    assert not ours.inlier_mask_[wrong].any()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"loss": "squared_error", "residual_threshold": 0.1},
        {"min_samples": 0.02, "max_trials": np.inf},
        {"min_samples": 3},
        {"stop_n_inliers": 50},
        {"stop_score": 0.5, "max_skips": 100},
        {"is_data_valid": lambda X, y: X[0, 0] > 0},
        {"is_model_valid": lambda model, X, y: model.coef_[0] > 1.0},
    ],
    ids=lambda options: "+".join(options) or "default",  # the same name in every process
)
@pytest.mark.parametrize("of", ["array", "sparse", "targets", "whole numbers"])
def test_agrees_with_scikit_learn_draw_by_draw(options, of):
    for seed in range(3):
        X, y, _ = spoiled(seed)
        if of == "sparse":
            X = sp.csr_array(X)
        elif of == "targets":
            y = np.column_stack([y, -2 * y])
        elif of == "whole numbers":
            X, y = np.round(10 * X).astype(int), np.round(10 * y).astype(int)
        if of == "sparse" and "is_data_valid" in options:
            continue
        if of == "targets" and "is_model_valid" in options:
            continue
        ours = RANSACRegressor(random_state=seed, **options).fit(X, y)
        theirs = sklearn.linear_model.RANSACRegressor(random_state=seed, **options).fit(X, y)
        assert_array_equal(ours.inlier_mask_, theirs.inlier_mask_)
        assert_allclose(ours.estimator_.coef_, theirs.estimator_.coef_, rtol=1e-7, atol=1e-10)
        for name in ransac_regressor.COUNTS:
            assert getattr(ours, name) == getattr(theirs, name)
        assert_allclose(ours.score(X, y), theirs.score(X, y), rtol=1e-9)


def test_other_models_and_other_losses():
    X, y, wrong = spoiled()
    for estimator in (Ridge(alpha=1e-6), sklearn.linear_model.LinearRegression()):
        model = RANSACRegressor(
            estimator, min_samples=4, residual_threshold=0.3, random_state=0,
            loss=lambda y, f: np.maximum(y - f, f - y),
        ).fit(X, y)  # fmt: skip
        assert not (model.inlier_mask_ & wrong).any()
        assert_allclose(model.estimator_.coef_, TRUTH, atol=0.05)
    shallow = RANSACRegressor(DecisionTreeRegressor(max_depth=1), min_samples=20, random_state=0)
    assert shallow.fit(X, y).estimator_.random_state == 0
    with pytest.raises(ValueError, match=r"`min_samples` needs to be explicitly set .* Ridge"):
        RANSACRegressor(Ridge()).fit(X, y)


@settings(max_examples=20)
@given(seed=st.integers(0, 1000))
def test_a_row_of_weight_0_is_no_row(seed):
    X, y, _ = spoiled(seed, n=60)
    s = np.random.default_rng(seed).integers(0, 3, size=60).astype(float)
    options = {"residual_threshold": 0.3, "random_state": seed}
    whole = RANSACRegressor(**options).fit(X, y, sample_weight=s)
    less = RANSACRegressor(**options).fit(X[s > 0], y[s > 0], sample_weight=s[s > 0])
    assert_array_equal(whole.inlier_mask_[s > 0], less.inlier_mask_)
    assert_allclose(whole.estimator_.coef_, less.estimator_.coef_, rtol=1e-8, atol=1e-10)


def test_weights_count_in_the_consensus_as_repeated_rows_do():
    X = np.arange(10.0)[:, None]
    y = np.where(X[:, 0] < 6, 1.0, -1.0)
    s = np.where(X[:, 0] < 6, 1.0, 3.0)
    options = {"min_samples": 2, "residual_threshold": 1e-6, "random_state": 0}
    options["stop_probability"] = 1.0
    repeated = np.repeat(np.arange(10), s.astype(int))
    weighted = RANSACRegressor(**options).fit(X, y, sample_weight=s)
    again = RANSACRegressor(**options).fit(X[repeated], y[repeated])
    assert_allclose(weighted.predict(X), -1.0)
    assert_allclose(again.predict(X), -1.0)
    assert_allclose(RANSACRegressor(**options).fit(X, y).predict(X), 1.0)


def test_weights_of_one_change_nothing():
    X, y, _ = spoiled()
    plain = RANSACRegressor(random_state=0).fit(X, y)
    ones = RANSACRegressor(random_state=0).fit(X, y, sample_weight=np.ones(len(y)))
    assert plain.n_trials_ == ones.n_trials_
    assert_array_equal(plain.inlier_mask_, ones.inlier_mask_)


def test_what_is_not_possible_is_named():
    X, y, _ = spoiled()
    with pytest.raises(ValueError, match="n_samples = 200, min_samples = 201"):
        RANSACRegressor(min_samples=201).fit(X, y)
    with pytest.raises(ValueError, match="could not find a valid consensus set in 0 trials"):
        RANSACRegressor(max_trials=0).fit(X, y)
    nothing = RANSACRegressor(is_data_valid=lambda X, y: False, max_skips=3)
    with pytest.raises(ValueError, match="skipped more iterations than `max_skips`"):
        nothing.fit(X, y)
    assert nothing.n_skips_invalid_data_ == 4
    once = iter([True])
    early = RANSACRegressor(is_data_valid=lambda X, y: next(once, False), max_skips=2)
    with pytest.warns(ConvergenceWarning, match="3 of 4 trials were skipped"):
        early.fit(X, y)
    pursuit = sklearn.linear_model.OrthogonalMatchingPursuit()
    with pytest.raises(ValueError, match="OrthogonalMatchingPursuit does not support"):
        RANSACRegressor(pursuit, min_samples=5).fit(X, y, sample_weight=np.ones(200))


def test_metadata_is_routed():
    X, y, _ = spoiled()
    s = np.ones(200)
    with sklearn.config_context(enable_metadata_routing=True):
        with pytest.raises(UnsetMetadataPassedError):
            RANSACRegressor().fit(X, y, sample_weight=s)
        inner = LinearRegression().set_fit_request(sample_weight=True)
        inner.set_score_request(sample_weight=True)
        model = RANSACRegressor(inner, random_state=0).fit(X, y, sample_weight=s)
        assert_allclose(model.score(X, y, sample_weight=s), model.estimator_.score(X, y))


def test_files_keep_the_model_and_the_inliers(tmp_path):
    X, y, _ = spoiled()
    for estimator in (None, LinearRegression()):
        model = RANSACRegressor(estimator, random_state=0).fit(X, y)
        again = mlreplica.load(mlreplica.save(model, tmp_path / "m.skops"))
        assert_array_equal(again.predict(X), model.predict(X))
        assert_array_equal(again.inlier_mask_, model.inlier_mask_)
    model.inlier_mask_ = np.array([1.5])
    with pytest.raises(ValueError, match=r"RANSACRegressor: .*inlier_mask_"):
        mlreplica.load(mlreplica.save(model, tmp_path / "m.skops"))


def test_ctrl_c_keeps_the_best_so_far(monkeypatch):
    X, y, _ = spoiled()
    search = ransac_regressor.ransac

    def interrupted(*args, **options):
        for trial, state in enumerate(search(*args, **options)):
            if trial == 2:
                raise KeyboardInterrupt
            yield state

    monkeypatch.setattr(ransac_regressor, "ransac", interrupted)
    model = RANSACRegressor(random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert model.inlier_mask_.any()


# Some checks have fewer rows than columns, and that of weights compares rows in another order, so
# draws differ; with a wide threshold what is kept does not.
@parametrize_with_checks([RANSACRegressor(min_samples=2, residual_threshold=100.0)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)
