"""Counts and moments that merge exactly; Bayes's rule; odd columns"""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.naive_bayes as reference
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.utils.estimator_checks import parametrize_with_checks

from mlreplica import naive_bayes
from mlreplica.datasets import load_iris
from mlreplica.naive_bayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MultinomialNB,
)
from mlreplica.persistence import load, save

ALL = [GaussianNB, MultinomialNB, ComplementNB, BernoulliNB, CategoricalNB]


def problem(seed=0, n=80):
    rng = np.random.default_rng(seed)
    return rng.poisson(1.2, size=(n, 5)), rng.integers(0, 3, size=n)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("make", [np.asarray, lambda X: X.astype(float), sp.csr_array])
def test_agrees_with_scikit_learn(kind, make):
    X, y = problem()
    X = make(X)
    if sp.issparse(X) and kind in (GaussianNB, CategoricalNB):
        pytest.skip("dense only")
    ours, theirs = kind().fit(X, y), getattr(reference, kind.__name__)().fit(X, y)
    for method in ("predict_joint_log_proba", "predict_log_proba", "predict_proba"):
        assert_allclose(getattr(ours, method)(X), getattr(theirs, method)(X), rtol=1e-8, atol=1e-12)
    assert (ours.predict(X) == theirs.predict(X)).all()


@given(seed=st.integers(0, 200), cut=st.integers(1, 79), kind=st.sampled_from(ALL))
def test_batches_give_what_one_fit_gives(seed, cut, kind):
    X, y = problem(seed)
    s = np.random.default_rng(seed).uniform(0.5, 2, size=80)
    whole, parts = kind().fit(X, y, sample_weight=s), kind()
    for rows in (slice(0, cut), slice(cut, 80)):
        parts.partial_fit(X[rows], y[rows], classes=[0, 1, 2], sample_weight=s[rows])
    assert_allclose(parts.predict_joint_log_proba(X), whole.predict_joint_log_proba(X), rtol=1e-9)


@given(seed=st.integers(0, 200), kind=st.sampled_from(ALL))
def test_a_weight_is_a_number_of_repetitions(seed, kind):
    X, y = problem(seed)
    s = np.random.default_rng(seed).integers(0, 3, size=80)
    s[0], X[0] = 1, X.max(axis=0)  # both know all categories
    a = kind().fit(X, y, sample_weight=s)
    b = kind().fit(np.repeat(X, s, axis=0), np.repeat(y, s))
    assert_allclose(a.predict_joint_log_proba(X), b.predict_joint_log_proba(X), rtol=1e-8)


def test_gaussian_densities():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)) + 1e7, np.arange(60) % 2
    model = GaussianNB(var_smoothing=0).fit(X, y)
    for k in (0, 1):
        rows = X[y == k]
        dense = norm(rows.mean(axis=0), rows.std(axis=0)).logpdf(X).sum(axis=1) + np.log(0.5)
        assert_allclose(model.predict_joint_log_proba(X)[:, k], dense, rtol=1e-6)


def test_constant_columns_and_one_class():
    X = np.column_stack([np.arange(6.0), np.full(6, 2.0)])
    model = GaussianNB().fit(X, [0, 0, 0, 1, 1, 1])
    assert np.isfinite(model.predict_log_proba(X)).all()
    assert (GaussianNB().fit(X, np.ones(6, dtype=int)).predict(X) == 1).all()
    same = GaussianNB().fit(np.ones((4, 2)), [0, 0, 1, 1])
    assert not np.isnan(same.predict_proba(np.ones((1, 2)))).any()


@pytest.mark.parametrize("kind", ALL)
def test_rows_that_are_all_equal(kind):
    X, y = np.full((4, 3), 2), [0, 0, 0, 1]
    P = kind().fit(X, y).predict_proba(X)
    if kind is GaussianNB:  # for scikit-learn, NaN
        assert_allclose(P, [[0.75, 0.25]] * 4, rtol=1e-9)
    else:
        assert_allclose(P, getattr(reference, kind.__name__)().fit(X, y).predict_proba(X))


def test_a_constant_column_that_is_not_smoothed_is_left_to_the_others():
    X, y = load_iris(return_X_y=True)
    constant = np.column_stack([X, np.full(150, 7.0)])
    model = GaussianNB(var_smoothing=0).fit(constant, y)
    expected = GaussianNB(var_smoothing=0).fit(X, y).predict_proba(X)
    assert_allclose(model.predict_proba(constant), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ALL)
def test_a_constant_column_leaves_right_probabilities(kind):
    X, y = problem()
    constant = np.column_stack([X, np.full(len(X), 2)])
    ours, theirs = kind().fit(constant, y), getattr(reference, kind.__name__)().fit(constant, y)
    assert_allclose(ours.predict_proba(constant), theirs.predict_proba(constant), rtol=1e-8)


@pytest.mark.parametrize("kind", ALL)
def test_one_class_one_row_of_a_class_and_more_columns_than_rows(kind):
    X = np.random.default_rng(0).integers(0, 4, size=(6, 9)).astype(float)
    assert_allclose(kind().fit(X, np.full(6, 7)).predict_proba(X), np.ones((6, 1)))
    P = kind().fit(X, [0, 1, 1, 1, 1, 1]).predict_proba(X)
    assert_allclose(P.sum(axis=1), 1.0)
    assert P[0, 0] > 0.5


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_one_row_must_be_finite_and_is_as_of_many(kind, bad):
    X, y = problem()
    model = kind().fit(X.astype(float), y)
    row, P = X[:1].astype(float), model.predict_proba(X)
    assert_allclose(model.predict_proba(row), P[:1], rtol=1e-12)
    row[0, 0] = bad
    with pytest.raises(ValueError, match=r"NaN|inf"):
        model.predict(row)


def test_bad_input_is_refused():
    X, y = problem()
    for kind in (MultinomialNB, ComplementNB, CategoricalNB):
        with pytest.raises(ValueError, match="Negative"):
            kind().fit(X - 1, y)
    with pytest.raises(ValueError, match="Negative"):
        MultinomialNB().fit(sp.csr_array(X - 1.0), y)
    with pytest.raises(ValueError, match="first call"):
        GaussianNB().partial_fit(X, y)
    with pytest.raises(ValueError, match="do not exist"):
        GaussianNB().partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="sum of the priors"):
        GaussianNB(priors=[0.5, 0.1, 0.1]).fit(X, y)
    with pytest.raises(ValueError, match="zero"):
        GaussianNB().fit(X, y, sample_weight=np.zeros(80))
    with pytest.raises(IndexError, match="out of bounds"):
        CategoricalNB().fit(X, y).predict(X + 50)
    with pytest.raises(ValueError, match="NaN"):
        BernoulliNB().fit([[np.nan], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="overflow"):
        GaussianNB().fit([[1e300], [-1e300], [0.0]], [0, 0, 0])


@pytest.mark.parametrize("kind", [MultinomialNB, ComplementNB, BernoulliNB])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_sparse_counts_must_be_finite(kind, bad):
    X, y = problem()
    X = sp.csr_array(X.astype(float))
    X.data[7] = bad
    with pytest.raises(ValueError, match=r"contains (NaN|infinity)"):
        kind().fit(X, y)


def test_categories_never_seen_are_named():
    X, y = problem()
    model = CategoricalNB().fit(X, y)
    with pytest.raises(IndexError, match="column 2 had"):
        model.predict(X + 9 * np.eye(5, dtype=int)[2])
    with pytest.raises(ValueError, match="Negative values"):
        model.predict(X - 1)


def test_alpha_and_priors_as_in_scikit_learn():
    X, y = problem()
    for options in ({"alpha": 0.3}, {"alpha": [1, 2, 3, 4, 5]}, {"fit_prior": False}):
        ours, theirs = (m.MultinomialNB(**options).fit(X, y) for m in (naive_bayes, reference))
        assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9)
    norm_ours = ComplementNB(norm=True).fit(X, y).feature_log_prob_
    norm_theirs = reference.ComplementNB(norm=True).fit(X, y).feature_log_prob_
    assert_allclose(norm_ours, norm_theirs, rtol=1e-10)
    wide = CategoricalNB(min_categories=20).fit(X, y)
    assert wide.predict(X + 10).shape == (80,)


def test_a_loaded_model_goes_on_learning(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = GaussianNB().partial_fit(X[::2], y[::2], classes=[0, 1, 2])
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model").partial_fit(X[1::2], y[1::2])
    assert_allclose(loaded.var_, GaussianNB().fit(X, y).var_, rtol=1e-12)


@parametrize_with_checks([kind() for kind in ALL])
def test_scikit_learns_checks(estimator, check):
    check(estimator)
