"""Selectors agree with scikit-learn's, keep their promises, and pass its checks"""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.feature_selection as reference
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from mlreplica import feature_selection as ours
from mlreplica.datasets import load_diabetes, load_iris
from mlreplica.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from mlreplica.tree import DecisionTreeClassifier

X, y = load_iris(return_X_y=True)
NOISY = np.hstack([X, np.random.default_rng(0).normal(size=(len(X), 8))])
UNIVARIATE = [
    ("SelectKBest", {"k": 3}),
    ("SelectKBest", {"k": "all"}),
    ("SelectKBest", {"k": 0}),
    ("SelectPercentile", {"percentile": 30}),
    ("SelectPercentile", {"percentile": 100}),
    ("SelectFpr", {"alpha": 0.2}),
    ("SelectFdr", {"alpha": 0.1}),
    ("SelectFwe", {"alpha": 0.01}),
    ("GenericUnivariateSelect", {"mode": "k_best", "param": 2}),
    ("GenericUnivariateSelect", {"mode": "fdr", "param": 0.2}),
]


@pytest.mark.parametrize(("name", "parameters"), UNIVARIATE)
@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
def test_univariate_selectors_agree_with_scikit_learn(name, parameters):
    a, b = (getattr(m, name)(m.f_classif, **parameters).fit(NOISY, y) for m in (ours, reference))
    assert_allclose(a.scores_, b.scores_, rtol=1e-9)
    assert_array_equal(a.get_support(), b.get_support())
    assert_array_equal(a.get_support(indices=True), b.get_support(indices=True))
    assert_array_equal(a.transform(NOISY), b.transform(NOISY))
    assert_array_equal(a.get_feature_names_out(), b.get_feature_names_out())


def test_ties_and_nan_are_kept_as_scikit_learn_keeps_them():
    def scores(X, y):
        return np.array([1.0, np.nan, 2.0, 2.0, 2.0, 0.5])

    for name, parameters in (("SelectKBest", {"k": 2}), ("SelectPercentile", {"percentile": 40})):
        found, expected = (
            getattr(m, name)(scores, **parameters).fit(NOISY[:, :6], y).get_support()
            for m in (ours, reference)
        )
        assert_array_equal(found, expected)


def test_selectors_by_p_value_need_p_values():
    selector = ours.SelectFdr(lambda X, y: X.sum(axis=0)).fit(X, y)
    with pytest.raises(ValueError, match="needs p-values, and score_func returned none"):
        selector.get_support()


def test_too_many_columns_are_warned_of():
    with pytest.warns(UserWarning, match="k=9 is greater than n_features=4"):
        ours.SelectKBest(k=9).fit(X, y)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_columns_come_back_to_their_places(form):
    selector = ours.SelectKBest(k=2).fit(form(X), y)
    back = selector.inverse_transform(selector.transform(form(X)))
    back = back.toarray() if sp.issparse(back) else back
    assert_array_equal(back[:, selector.get_support()], X[:, selector.get_support()])
    assert not back[:, ~selector.get_support()].any()
    with pytest.raises(ValueError, match="X has 3 columns, but 2 were selected"):
        selector.inverse_transform(X[:, :3])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("threshold", [0.0, 0.3])
def test_variances(form, threshold):
    rows = np.column_stack([X, np.full(len(X), 0.1), X[:, 0] * 1e-9])
    a, b = (m.VarianceThreshold(threshold).fit(form(rows)) for m in (ours, reference))
    assert_allclose(a.variances_, b.variances_, rtol=1e-9, atol=1e-30)
    assert_array_equal(a.get_support(), b.get_support())


def test_variances_leave_out_missing_values():
    rows = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    assert_allclose(ours.VarianceThreshold().fit(rows).variances_, np.nanvar(rows, axis=0))
    with pytest.raises(ValueError, match="only one sample"):
        ours.VarianceThreshold().fit([[1.0, 2.0]])


@pytest.mark.parametrize("threshold", [None, "mean", "0.5*median", 0.1, -np.inf])
@pytest.mark.parametrize("most", [None, 3])
def test_selection_by_a_model(threshold, most):
    model = LogisticRegression()
    options = {"threshold": threshold, "max_features": most}
    a, b = (m.SelectFromModel(model, **options).fit(NOISY, y) for m in (ours, reference))
    assert_array_equal(a.get_support(), b.get_support())
    assert a.threshold_ == b.threshold_
    assert a.n_features_in_ == 12


def test_selection_by_zeros_and_by_a_fitted_model():
    D, t = load_diabetes(return_X_y=True)
    model = Lasso(alpha=0.5).fit(D, t)
    selector = ours.SelectFromModel(model, prefit=True)
    assert_array_equal(selector.get_support(), model.coef_ != 0)
    with pytest.raises(ValueError, match="Either fit the model before transform"):
        ours.SelectFromModel(model).get_support()
    with pytest.raises(ValueError, match="Unknown reference"):
        ours.SelectFromModel(Ridge(), threshold="2*mode").fit(D, t).get_support()


@pytest.mark.parametrize("step", [1, 3, 0.3])
def test_elimination_agrees_with_scikit_learn(step):
    model = LogisticRegression()
    a, b = (
        m.RFE(model, n_features_to_select=3, step=step).fit(NOISY, y) for m in (ours, reference)
    )
    assert_array_equal(a.ranking_, b.ranking_)
    assert_array_equal(a.predict(NOISY), b.predict(NOISY))
    assert a.score(NOISY, y) == b.score(NOISY, y)
    assert_array_equal(a.classes_, [0, 1, 2])


def test_elimination_with_folds_agrees_with_scikit_learn():
    model = LinearRegression()
    D, t = load_diabetes(return_X_y=True)
    a, b = (m.RFECV(model, step=2, cv=3).fit(D, t) for m in (ours, reference))
    assert a.cv_results_.keys() == b.cv_results_.keys()
    for name, values in b.cv_results_.items():
        assert_allclose(a.cv_results_[name], values, rtol=1e-9)
    assert_array_equal(a.support_, b.support_)
    assert_allclose(a.score(D, t), b.score(D, t))


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("options", [{"n_features_to_select": 3}, {"tol": 1e-3}])
def test_steps_agree_with_scikit_learn(direction, options):
    D, t = load_diabetes(return_X_y=True)
    cv = KFold(3, shuffle=True, random_state=0)
    a, b = (
        m.SequentialFeatureSelector(LinearRegression(), direction=direction, cv=cv, **options).fit(
            D[:, :6], t
        )
        for m in (ours, reference)
    )
    assert_array_equal(a.support_, b.support_)
    assert a.n_features_to_select_ == b.n_features_to_select_


@parametrize_with_checks(
    [
        ours.VarianceThreshold(),
        ours.SelectKBest(k=1),
        ours.SelectPercentile(),
        ours.SelectFpr(),
        ours.SelectFdr(),
        ours.SelectFwe(),
        ours.GenericUnivariateSelect(),
        ours.SelectFromModel(DecisionTreeClassifier(random_state=0)),
        ours.RFE(LogisticRegression()),
        ours.RFECV(LogisticRegression(), cv=3),
        ours.SequentialFeatureSelector(LogisticRegression(), cv=2),
        ours.StabilitySelection(n_pairs=2, random_state=0),
        ours.KnockoffSelector(Ridge(), random_state=0),
    ]
)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("selector", [ours.SelectFromModel, ours.SequentialFeatureSelector])
def test_fit_need_not_return_the_model(selector):
    class Mute(Ridge):
        def fit(self, X, y):
            super().fit(X, y)

    X, y = load_diabetes(return_X_y=True)
    assert_array_equal(
        selector(Mute()).fit(X, y).get_support(), selector(Ridge()).fit(X, y).get_support()
    )
