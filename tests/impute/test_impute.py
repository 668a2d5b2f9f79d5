"""Imputers agree with scikit-learn's, count weights as repetitions, and pass its checks"""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.impute as reference
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.linear_model import BayesianRidge
from sklearn.utils.estimator_checks import parametrize_with_checks

from mlreplica import impute as ours
from mlreplica.impute._evidence import RowSums
from mlreplica.impute._iterative import truncated_normal
from mlreplica.linear_model import Ridge

SEEDS = st.integers(0, 10_000)
STRATEGIES = ["mean", "median", "most_frequent", "constant"]


def holes(seed, n=60, p=4, share=0.2, scale=1.0):
    """Related columns with gaps at random places."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) * scale + rng.normal(size=p)
    gaps = rng.random(X.shape) < share
    gaps[0] = False
    return np.where(gaps, np.nan, X)


# ------------------------------------------------------------------------------ simple imputation


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("marks", [False, True])
def test_simple_imputation_agrees_with_scikit_learn(strategy, form, marks):
    X = np.round(holes(0))
    X[:, 3] = np.where(X[:, 3] > 0, 0.0, X[:, 3])  # zeros that a sparse matrix does not store
    options = {"strategy": strategy, "add_indicator": marks}
    a, b = (m.SimpleImputer(**options).fit(form(X)) for m in (ours, reference))
    assert_allclose(a.statistics_, b.statistics_.astype(float), rtol=1e-12)
    found, expected = (m.transform(form(X)) for m in (a, b))
    assert sp.issparse(found) == sp.issparse(expected)
    found, expected = (v.toarray() if sp.issparse(v) else v for v in (found, expected))
    assert_allclose(found, expected, rtol=1e-12)
    assert_array_equal(a.get_feature_names_out(), b.get_feature_names_out())
    if marks and not sp.issparse(form(X)):
        assert_array_equal(a.inverse_transform(found), X)


@settings(deadline=None, max_examples=30)
@given(seed=SEEDS, strategy=st.sampled_from(STRATEGIES[:3]), sparse=st.booleans())
def test_a_weight_is_a_repetition(seed, strategy, sparse):
    X = np.round(holes(seed, n=20))
    w = np.random.default_rng(seed).integers(0, 4, 20)
    w[0] = 1
    form = sp.csc_array if sparse else np.asarray
    weighted = ours.SimpleImputer(strategy=strategy).fit(form(X), sample_weight=w)
    repeated = ours.SimpleImputer(strategy=strategy).fit(form(np.repeat(X, w, axis=0)))
    assert_allclose(weighted.statistics_, repeated.statistics_, rtol=1e-12, atol=1e-12)


def test_words_missing_values_of_other_kinds_and_functions():
    words = np.array([["a", None], ["b", "x"], ["a", "y"]], dtype=object)
    filled = ours.SimpleImputer(missing_values=None, strategy="most_frequent").fit_transform(words)
    assert filled[0, 1] == "x"
    frame = pd.DataFrame({"a": ["u", pd.NA, "v"]}, dtype="string")
    imputer = ours.SimpleImputer(missing_values=pd.NA, strategy="constant", fill_value="none")
    assert imputer.fit_transform(frame)[1, 0] == "none"
    counts = np.array([[-1, 3], [5, -1], [7, 5]])
    assert_array_equal(
        ours.SimpleImputer(missing_values=-1).fit_transform(counts), [[6, 3], [5, 4], [7, 5]]
    )
    assert ours.SimpleImputer(strategy=np.ptp).fit([[1.0], [4.0], [np.nan]]).statistics_ == [3.0]
    with pytest.raises(ValueError, match="Cannot use mean strategy with non-numeric data"):
        ours.SimpleImputer().fit([["a"], ["b"]])


def test_empty_columns():
    X = np.array([[np.nan, 1.0], [np.nan, 3.0]])
    with pytest.warns(UserWarning, match=r"Skipping features without any observed values: \[0\]"):
        assert ours.SimpleImputer().fit(X).transform(X).shape == (2, 1)
    kept = ours.SimpleImputer(keep_empty_features=True).fit_transform(X)
    assert_array_equal(kept, [[0, 1], [0, 3]])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_infinity_is_refused_and_x_stays_as_it_is():
    X = holes(1)
    before = X.copy()
    imputer = ours.SimpleImputer().fit(X)
    imputer.transform(X)
    assert_array_equal(X, before)
    X[3, 2] = np.inf
    for call in (imputer.transform, ours.SimpleImputer().fit, ours.MissingIndicator().fit):
        with pytest.raises(ValueError, match="infinity"):
            call(X)
    with pytest.raises(ValueError, match="infinity"):
        ours.IterativeImputer().fit(before).transform(X)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("features", ["all", "missing-only"])
@pytest.mark.parametrize("sparse", ["auto", True, False])
def test_marks_agree_with_scikit_learn(form, features, sparse):
    X = holes(2)
    X[:, 1] = 1.0
    options = {"features": features, "sparse": sparse}
    a, b = (m.MissingIndicator(**options).fit(form(X)) for m in (ours, reference))
    assert_array_equal(a.features_, b.features_)
    found, expected = (m.transform(form(X)) for m in (a, b))
    assert sp.issparse(found) == sp.issparse(expected)
    assert found.dtype == bool
    found, expected = (v.toarray() if sp.issparse(v) else v for v in (found, expected))
    assert_array_equal(found, expected)
    assert_array_equal(a.get_feature_names_out(), b.get_feature_names_out())


def test_marks_refuse_gaps_in_new_columns():
    indicator = ours.MissingIndicator().fit([[np.nan, 1.0], [2.0, 3.0]])
    with pytest.raises(ValueError, match=r"The features \[1\] have missing values in transform"):
        indicator.transform([[1.0, np.nan]])


# --------------------------------------------------------------------------- iterative imputation


@settings(deadline=None, max_examples=25)
@given(seed=SEEDS, p=st.integers(1, 6), n=st.integers(5, 60), spread=st.sampled_from([0, 3, 6]))
def test_the_regression_is_a_bayesian_ridge(seed, p, n, spread):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, p)) + 2.0) * 10.0 ** rng.uniform(-spread, spread, size=p)
    y = X @ (rng.normal(size=p) / X.std(axis=0)) + rng.normal(size=n)
    gap = np.zeros(n, dtype=bool)
    gap[rng.permutation(n)[: n // 3]] = True
    found = RowSums(np.column_stack([X, y])).regress(gap, p, np.arange(p))
    model = BayesianRidge().fit(X[~gap], y[~gap])
    a, b = (m.predict(X, return_std=True) for m in (found, model))
    assert_allclose(a[0], b[0], rtol=1e-5, atol=1e-5 * np.abs(y).max())
    assert_allclose(a[1], b[1], rtol=1e-4)


def test_sums_follow_new_values():
    X = holes(3)
    gaps = np.isnan(X)
    X = np.where(gaps, 0.0, X)
    sums = RowSums(X)
    for j in range(4):
        rows = np.flatnonzero(gaps[:, j])
        sums.update(rows, j, np.arange(len(rows), dtype=float))
    for found, expected in zip(
        sums.without(gaps[:, 1]), RowSums(X).without(gaps[:, 1]), strict=True
    ):
        assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"imputation_order": "random"},
        {"imputation_order": "arabic", "initial_strategy": "median"},
        {"imputation_order": "descending", "skip_complete": True},
        {"imputation_order": "roman", "n_nearest_features": 2},
        {"sample_posterior": True},
        {"sample_posterior": True, "min_value": -0.5, "max_value": [1, 2, 1, 2]},
        {"min_value": 0.0, "max_value": 0.5},
        {"max_iter": 2, "add_indicator": True},
        {"tol": 0.5},
        {"max_iter": 0},
    ],
    ids=str,
)
def test_iterative_imputation_agrees_with_scikit_learn(options):
    X, new = holes(4), holes(5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about rounds
        a, b = (m.IterativeImputer(random_state=0, **options) for m in (ours, reference))
        assert_allclose(a.fit_transform(X), b.fit_transform(X), rtol=1e-7, atol=1e-7)
    assert a.n_iter_ == b.n_iter_
    assert_allclose(a.transform(new), b.transform(new), rtol=1e-7, atol=1e-7)
    assert len(a.imputation_sequence_) == len(b.imputation_sequence_)
    for ours_step, step in zip(a.imputation_sequence_, b.imputation_sequence_, strict=True):
        assert ours_step.feat_idx == step.feat_idx
        assert_array_equal(ours_step.neighbor_feat_idx, step.neighbor_feat_idx)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_any_regression_will_do():
    X = holes(6)
    a, b = (m.IterativeImputer(Ridge(0.1), max_iter=5) for m in (ours, reference))
    assert_allclose(a.fit_transform(X), b.fit_transform(X), rtol=1e-7)
    assert_allclose(a.transform(X[:5]), b.transform(X[:5]), rtol=1e-7)


def test_truncated_draws_have_their_distribution():
    n = 4000
    for low, high, mean in (
        (-1.0, 0.5, 0.0),
        (3.0, 4.0, 0.0),
        (-np.inf, -2.0, 0.0),
        (0.0, 9.0, 9.5),
    ):
        rng = np.random.default_rng(0)
        drawn = truncated_normal(np.full(n, mean), np.ones(n), low, high, rng)
        assert low <= drawn.min()
        assert drawn.max() <= high
        exact = stats.truncnorm(low - mean, high - mean, loc=mean)
        assert stats.kstest(drawn, exact.cdf).pvalue > 1e-3


def test_limits_are_checked():
    X = holes(7)
    with pytest.raises(ValueError, match="min_value >= max_value"):
        ours.IterativeImputer(min_value=1, max_value=1).fit(X)
    with pytest.raises(ValueError, match=r"'max_value' should be of shape \(4,\)"):
        ours.IterativeImputer(max_value=[1, 2]).fit(X)


# ---------------------------------------------------------------------------- several imputations


def test_rubins_rules_are_those_of_the_book():
    Q, U = np.array([2.0, 2.5, 3.0, 2.1]), np.array([0.2, 0.3, 0.25, 0.25])
    pooled = ours.pool_estimates(Q, U)
    B = Q.var(ddof=1)
    assert_allclose(pooled.estimate, 2.4)
    assert_allclose(pooled.variance, 0.25 + 1.25 * B)
    assert_allclose(pooled.dof, 3 * (1 + 0.25 / (1.25 * B)) ** 2)
    low, high = pooled.interval(0.9)
    half = stats.t(pooled.dof).ppf(0.95) * np.sqrt(pooled.variance)
    assert_allclose([low, high], [2.4 - half, 2.4 + half])
    with pytest.raises(ValueError, match="two tables or more"):
        ours.pool_estimates([1.0], [1.0])


def test_draws_cover_the_truth_and_one_filled_table_does_not():
    rng = np.random.default_rng(0)
    inside = np.zeros((2, 80))
    for k in range(80):
        x = rng.normal(size=100)
        y = x + rng.normal(size=100)
        y_seen = np.where(rng.random(100) < 1 / (1 + np.exp(-2 * x)), np.nan, y)
        table = np.column_stack([x, y_seen])
        tables = ours.IterativeImputer(random_state=k, max_iter=3).draw_imputations(table, 10)
        assert_array_equal(tables[:, ~np.isnan(y_seen), 1], np.tile(y[~np.isnan(y_seen)], (10, 1)))
        means, variances = tables[:, :, 1].mean(axis=1), tables[:, :, 1].var(axis=1, ddof=1) / 100
        low, high = ours.pool_estimates(means, variances).interval()
        inside[0, k] = low <= 0 <= high
        filled = ours.SimpleImputer().fit_transform(table)[:, 1]
        inside[1, k] = abs(filled.mean()) <= 1.98 * filled.std() / 10
    assert inside[0].mean() > 0.87
    assert inside[1].mean() < 0.2


@parametrize_with_checks(
    [
        ours.SimpleImputer(add_indicator=True),  # without it there is no inverse
        ours.SimpleImputer(strategy="median", add_indicator=True),
        ours.IterativeImputer(max_iter=2),
        ours.MissingIndicator(),
        ours.KNNImputer(),
    ]
)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
def test_scikit_learns_checks(estimator, check):
    check(estimator)
