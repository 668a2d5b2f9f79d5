"""Bayes and Fisher, weights, priors, shrinkage; classes that are too small"""

import numpy as np
import pytest
import sklearn.discriminant_analysis as reference
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from mlreplica import discriminant_analysis
from mlreplica.core.rows.classes import ClassMoments
from mlreplica.covariance import OAS
from mlreplica.datasets import load_iris, load_wine
from mlreplica.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)

LDA = [
    {},
    {"solver": "lsqr"},
    {"solver": "eigen"},
    {"solver": "lsqr", "shrinkage": "auto"},
    {"solver": "eigen", "shrinkage": 0.3},
    {"priors": [0.2, 0.3, 0.5]},
    {"solver": "lsqr", "priors": [0.2, 0.3, 0.5]},
    {"store_covariance": True},
]
QDA = [
    {},
    {"reg_param": 0.2},
    {"solver": "eigen", "shrinkage": "auto"},
    {"solver": "eigen", "shrinkage": 0.2, "store_covariance": True},
    {"priors": [0.2, 0.3, 0.5], "store_covariance": True},
]
# rows of these checks are flat within classes: for the first, scikit-learn sets reg_param, too; its
# class takes no weights
FLAT = {
    "check_array_api_input",
    "check_sample_weights_shape",
    "check_sample_weights_not_overwritten",
    "check_sample_weight_equivalence_on_dense_data",
}


def problem(seed, n=40, p=3, K=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % K
    return rng.normal(size=(n, p)) + 2 * rng.normal(size=(K, p))[y], y


@given(seed=st.integers(0, 300), cut=st.integers(0, 40))
def test_moments_of_classes_add_up(seed, cut):
    X, y = problem(seed)
    s = np.random.default_rng(seed).uniform(0.5, 2, size=40)
    whole = ClassMoments.of(X, y, 3, s)
    parts = [ClassMoments.of(X[r], y[r], 3, s[r]) for r in (slice(0, cut), slice(cut, 40)) if
             len(y[r])]  # fmt: skip
    total = parts[0] + parts[1] if len(parts) == 2 else parts[0]
    for k in range(3):
        rows, w = X[y == k], s[y == k]
        m = w @ rows / w.sum()
        assert_allclose(whole.mean[k], m, rtol=1e-10)
        assert_allclose(whole.squares[k], w @ (rows - m) ** 2, rtol=1e-10)
    assert_allclose(total.mean, whole.mean, rtol=1e-9)
    assert_allclose(total.squares, whole.squares, rtol=1e-9)
    S = ClassMoments.of(X, y, 3, s, scatter=True).S
    Z = X - whole.mean[y]
    assert_allclose(S, (Z * s[:, None]).T @ Z, atol=1e-10)


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("options", LDA)
def test_linear_agrees_with_scikit_learn(load, options):
    X, y = load(return_X_y=True)
    ours = LinearDiscriminantAnalysis(**options).fit(X, y)
    theirs = reference.LinearDiscriminantAnalysis(**options).fit(X, y)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-6, atol=1e-6)
    assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-5, atol=1e-6)
    if options.get("solver") != "lsqr":
        assert_allclose(np.abs(ours.transform(X)), np.abs(theirs.transform(X)), atol=1e-6)
        shares = theirs.explained_variance_ratio_
        assert_allclose(ours.explained_variance_ratio_, shares, rtol=1e-8)


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("options", QDA)
def test_quadratic_agrees_with_scikit_learn(load, options):
    X, y = load(return_X_y=True)
    ours = QuadraticDiscriminantAnalysis(**options).fit(X, y)
    theirs = reference.QuadraticDiscriminantAnalysis(**options).fit(X, y)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-5, atol=1e-5)
    if "store_covariance" in options:
        assert_allclose(ours.covariance_, theirs.covariance_, rtol=1e-6, atol=1e-8)


def test_probabilities_are_those_of_bayes():
    X, y = load_iris(return_X_y=True)
    for kind in (LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis):
        model = kind(store_covariance=True).fit(X, y)
        C = model.covariance_ if isinstance(model.covariance_, list) else [model.covariance_] * 3
        joint = [
            pi * multivariate_normal(m, c).pdf(X)
            for pi, m, c in zip(model.priors_, model.means_, C, strict=True)
        ]
        expected = (np.array(joint) / np.sum(joint, axis=0)).T
        assert_allclose(model.predict_proba(X), expected, atol=1e-9)


def test_fisher_finds_the_same_directions():
    X, y = problem(3, n=90)
    model = LinearDiscriminantAnalysis(store_covariance=True).fit(X, y)
    mean = model.priors_ @ model.means_
    B = (model.means_ - mean).T @ np.diag(model.priors_) @ (model.means_ - mean)
    ratio = lambda a: (a @ B @ a) / (a @ model.covariance_ @ a)
    best = ratio(model.scalings_[:, 0])
    rng = np.random.default_rng(0)
    assert all(ratio(a) <= best * (1 + 1e-12) for a in rng.normal(size=(200, 3)))
    eigen = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    assert_allclose(eigen.predict_log_proba(X), model.predict_log_proba(X), rtol=1e-6, atol=1e-8)


@given(seed=st.integers(0, 200), quadratic=st.booleans())
def test_a_weight_is_a_number_of_repetitions(seed, quadratic):
    X, y = problem(seed)
    s = np.random.default_rng(seed).integers(0, 3, size=40)
    s[:15] = 1
    kind = QuadraticDiscriminantAnalysis if quadratic else LinearDiscriminantAnalysis
    a = kind(tol=0).fit(X, y, sample_weight=s)
    b = kind(tol=0).fit(np.repeat(X, s, axis=0), np.repeat(y, s))
    assert_allclose(a.decision_function(X), b.decision_function(X), rtol=1e-6, atol=1e-6)
    shrunk = {"solver": "eigen", "shrinkage": "auto", "tol": 0}
    a = kind(**shrunk).fit(X, y, sample_weight=s)
    b = kind(**shrunk).fit(np.repeat(X, s, axis=0), np.repeat(y, s))
    assert_allclose(a.decision_function(X), b.decision_function(X), rtol=1e-6, atol=1e-6)


def test_columns_far_from_zero_and_of_all_sizes():
    X, y = problem(0)
    scale = np.array([1.0, 1e-6, 1e6])
    moved = X * scale + 1e7 * scale  # seven digits of the sixteen are the offset's
    for kind, tol in ((LinearDiscriminantAnalysis, 1e-4), (QuadraticDiscriminantAnalysis, 0.0)):
        near, far = kind(tol=tol).fit(X, y), kind(tol=tol).fit(moved, y)
        assert_allclose(far.predict_proba(moved), near.predict_proba(X), atol=1e-7)


def test_more_columns_than_rows_and_repeated_columns():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 50)), np.arange(20) % 2
    for options in ({}, {"solver": "lsqr", "shrinkage": "auto"}):
        ours = LinearDiscriminantAnalysis(**options).fit(X, y)
        theirs = reference.LinearDiscriminantAnalysis(**options).fit(X, y)
        assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-5)
    X = rng.normal(size=(30, 2))
    X = np.column_stack([X, X[:, 0], np.full(30, 3.0)])
    model = LinearDiscriminantAnalysis().fit(X, np.arange(30) % 3)
    assert np.isfinite(model.decision_function(X)).all()
    with pytest.raises(np.linalg.LinAlgError, match="full rank"):
        QuadraticDiscriminantAnalysis().fit(X, np.arange(30) % 3)


def test_one_row_in_a_class_and_a_constant_column():
    X, y = problem(0)
    X, y = np.column_stack([X, np.full(40, 3.0)]), (np.arange(40) == 0).astype(int)
    for options in ({}, {"solver": "lsqr"}, {"solver": "eigen", "shrinkage": 0.1}):
        P = LinearDiscriminantAnalysis(**options).fit(X, y).predict_proba(X)
        assert_allclose(P.sum(axis=1), 1.0)


def test_bad_input_is_refused():
    X, y = problem(0)
    with pytest.raises(ValueError, match="greater than one"):
        QuadraticDiscriminantAnalysis().fit(X, np.zeros(40, dtype=int))
    with pytest.raises(ValueError, match="only 1 sample"):
        QuadraticDiscriminantAnalysis().fit(X, np.arange(40) == 0)
    with pytest.raises(ValueError, match="more than the number of classes"):
        LinearDiscriminantAnalysis().fit(X[:3], [0, 1, 2])
    with pytest.raises(ValueError, match="non-negative"):
        LinearDiscriminantAnalysis(priors=[-1, 1, 1]).fit(X, y)
    with pytest.raises(ValueError, match="one per class"):
        LinearDiscriminantAnalysis(priors=[0.5, 0.5]).fit(X, y)
    with pytest.raises(NotImplementedError, match="shrinkage"):
        LinearDiscriminantAnalysis(shrinkage=0.1).fit(X, y)
    with pytest.raises(ValueError, match="sample_weight"):
        LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=OAS()).fit(
            X, y, sample_weight=np.ones(40) + y
        )
    with pytest.raises(np.linalg.LinAlgError, match="give a shrinkage"):
        LinearDiscriminantAnalysis(solver="eigen").fit(np.column_stack([X, np.ones(40)]), y)
    one = LinearDiscriminantAnalysis().fit(X, np.zeros(40, dtype=int))
    assert (one.predict(X) == 0).all()


@pytest.mark.parametrize("rows", ["a constant column", "more columns than rows", "equal rows"])
def test_singular_covariances_of_classes_are_refused_or_shrunk(rows):
    X = np.random.default_rng(0).normal(size=(12, 20 if rows == "more columns than rows" else 3))
    X[:, 1 if rows == "a constant column" else slice(0)] = 3.0
    X[:] = 2.0 if rows == "equal rows" else X
    y = np.arange(12) % 2
    Linear, Quadratic = LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
    for model, advice in (
        (Linear(solver="eigen"), "give a shrinkage"),
        (Quadratic(), "full rank"),
        (Quadratic(solver="eigen"), "Increase the value of `shrinkage`"),
    ):
        with pytest.raises(np.linalg.LinAlgError, match=advice):
            model.fit(X, y)
    if rows == "equal rows":
        with pytest.raises(ValueError, match="no column has any spread"):
            Linear().fit(X, y)
        return
    shrunk = {"solver": "eigen", "shrinkage": 0.2}
    for model in (Linear(), Linear(solver="lsqr"), Linear(**shrunk), Quadratic(**shrunk)):
        P = model.fit(X, y).predict_proba(X)
        assert_allclose(P.sum(axis=1), 1.0)
        assert (P[np.arange(12), y] > 0.5).mean() > 0.6


@pytest.mark.parametrize(
    "options", [{}, {"solver": "lsqr"}, {"solver": "eigen"}, {"solver": "eigen", "shrinkage": 0.5}]
)
def test_one_class_is_certain(options):
    X = np.random.default_rng(0).normal(size=(20, 3)) + 5.0
    model = LinearDiscriminantAnalysis(**options).fit(X, np.full(20, 7))
    assert (model.predict(X) == 7).all()
    assert_allclose(model.predict_proba(X), np.ones((20, 1)))


def test_least_squares_find_no_directions():
    X, y = load_wine(return_X_y=True)
    model = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    assert not hasattr(model, "transform")
    assert not hasattr(model, "fit_transform")
    with pytest.raises(NotImplementedError, match="transform not implemented for 'lsqr'"):
        model.transform(X)
    model.set_params(solver="svd").set_output(transform="pandas")
    assert model.fit_transform(X, y).shape == model.transform(X).shape == (178, 2)
    assert list(model.transform(X).columns) == list(model.get_feature_names_out())


def test_regularised_classes_may_have_fewer_rows_than_columns():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 9)), np.repeat([0, 1, 2], 4)
    X += 3 * np.eye(3, 9)[y]
    model = QuadraticDiscriminantAnalysis(reg_param=0.3, store_covariance=True).fit(X, y)
    for k in range(3):
        expected = 0.7 * np.cov(X[y == k].T, bias=True) + 0.3 * np.eye(9)
        assert_allclose(model.covariance_[k], expected, atol=1e-12)
    s = np.where(np.arange(12) % 4 == 0, 3, 0)  # one row of each class, thrice
    once = QuadraticDiscriminantAnalysis(reg_param=0.3).fit(X, y, sample_weight=s)
    thrice = QuadraticDiscriminantAnalysis(reg_param=0.3).fit(X.repeat(s, axis=0), y.repeat(s))
    assert_allclose(once.decision_function(X), thrice.decision_function(X), rtol=1e-10)


def test_other_covariance_estimators():
    X, y = load_wine(return_X_y=True)
    for kind in ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"):
        solver = "eigen"
        ours, theirs = (
            getattr(module, kind)(solver=solver, covariance_estimator=OAS()).fit(X, y)
            for module in (discriminant_analysis, reference)
        )
        assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-6)


@parametrize_with_checks(
    [
        LinearDiscriminantAnalysis(),
        LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.2),
        QuadraticDiscriminantAnalysis(),
    ]
)
def test_scikit_learns_checks(estimator, check):
    if isinstance(estimator, QuadraticDiscriminantAnalysis) and check.func.__name__ in FLAT:
        estimator = clone(estimator).set_params(reg_param=0.5)
    check(estimator)
