import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
import sklearn.linear_model
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from mlreplica.linear_model import LogisticRegression, LogisticRegressionCV
from tests.linear_model.test_logistic import points

NEW = {"use_legacy_attributes": False, "l1_ratios": (0.0,), "scoring": "neg_log_loss"}


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("refit", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_scikit_learn_agrees(K, refit, weighted):
    X, y = points(120, 3, K)
    s = np.random.default_rng(0).uniform(0.5, 2, 120) if weighted else None
    options = NEW | {"Cs": [0.01, 1.0, 10.0], "refit": refit, "cv": 3, "class_weight": "balanced"}
    theirs = sklearn.linear_model.LogisticRegressionCV(
        **options, tol=1e-9, solver="newton-cholesky"
    ).fit(X, y, sample_weight=s)
    ours = LogisticRegressionCV(**options, tol=1e-9).fit(X, y, sample_weight=s)
    assert ours.C_ == theirs.C_
    assert ours.l1_ratio_ == theirs.l1_ratio_
    for name in ("coef_", "intercept_", "scores_", "coefs_paths_", "Cs_", "l1_ratios_"):
        assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-5, err_msg=name)
    assert ours.n_iter_.shape == theirs.n_iter_.shape
    assert_allclose(ours.score(X, y), theirs.score(X, y), atol=1e-5)
    assert hasattr(ours, "certificate_") == refit


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("l1_ratios", [None, (0.0, 0.5, 1.0)])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_legacy_attributes_have_scikit_learns_shapes(K, l1_ratios):
    X, y = points(90, 3, K)
    options = {"Cs": 3, "cv": 2, "l1_ratios": l1_ratios, "max_iter": 2000, "tol": 1e-3}
    options |= {"use_legacy_attributes": True, "solver": "saga", "random_state": 0}
    theirs = sklearn.linear_model.LogisticRegressionCV(**options).fit(X, y)
    ours = LogisticRegressionCV(**options).fit(X, y)
    assert list(ours.scores_) == list(theirs.scores_)
    for name in ("scores_", "coefs_paths_"):
        for label, values in getattr(theirs, name).items():
            assert getattr(ours, name)[label].shape == values.shape
    for name in ("C_", "l1_ratio_", "l1_ratios_", "n_iter_"):
        assert getattr(ours, name).shape == getattr(theirs, name).shape


def test_it_is_a_grid_search():
    X, y = points(150, 4, 3)
    Cs, ratios, folds = [0.05, 0.5, 5.0], [0.2, 0.8], StratifiedKFold(3)
    options = NEW | {"Cs": Cs, "l1_ratios": ratios, "cv": folds, "solver": "cd", "tol": 1e-9}
    ours = LogisticRegressionCV(**options).fit(X, y)
    grid = GridSearchCV(
        LogisticRegression(solver="cd", tol=1e-9),
        {"C": Cs, "l1_ratio": ratios},
        cv=folds,
        scoring="neg_log_loss",
    ).fit(X, y)
    assert grid.best_params_ == {"C": ours.C_, "l1_ratio": ours.l1_ratio_}
    mean = ours.scores_.mean(axis=0).T.ravel()
    assert_allclose(mean, grid.cv_results_["mean_test_score"], atol=1e-6)
    assert_allclose(ours.coef_, grid.best_estimator_.coef_, atol=1e-4)


@pytest.mark.parametrize("K", [2, 3])
def test_folds_without_some_class(K):
    y = np.repeat(np.arange(K), 2)
    X = np.arange(2.0 * K)[:, None]
    options = NEW | {"cv": KFold(K), "Cs": [1e-3, 1.0]}
    model = LogisticRegressionCV(**options).fit(X, y)
    assert np.isfinite(model.coefs_paths_).all()
    assert np.isfinite(model.scores_).all()


def test_sparse_and_threads():
    X, y = points(200, 5)
    one = LogisticRegressionCV(**NEW, n_jobs=1).fit(X, y)
    for other in (
        LogisticRegressionCV(**NEW).fit(X, y),
        LogisticRegressionCV(**NEW).fit(sp.csr_array(X), y),
    ):
        assert one.C_ == other.C_
        assert_allclose(one.coef_, other.coef_, atol=1e-6)


def test_scorers_are_told_what_they_ask_for():
    X, y = points(100)
    s = np.random.default_rng(0).uniform(0, 3, 100)
    with sklearn.config_context(enable_metadata_routing=True):
        for asked in (True, False):
            scorer = get_scorer("accuracy").set_score_request(sample_weight=asked)
            model = LogisticRegressionCV(**NEW | {"scoring": scorer}).fit(X, y, sample_weight=s)
            other = LogisticRegressionCV(**NEW | {"scoring": "accuracy"})
            with sklearn.config_context(enable_metadata_routing=False):
                other.fit(X, y, sample_weight=s)
            same = np.allclose(model.scores_, other.scores_)
            assert same == asked
        with pytest.raises(TypeError, match="sample_weight"):
            model.score(X, y, sample_weight=s)


def test_old_defaults_are_announced():
    X, y = points()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = LogisticRegressionCV(Cs=2).fit(X, y)
    said = " ".join(str(w.message) for w in caught)
    assert all(word in said for word in ("l1_ratios", "scoring", "use_legacy_attributes"))
    assert_array_equal(model.Cs_, [1e-4, 1e4])
    with pytest.raises(ValueError, match="between 0 and 1"):
        LogisticRegressionCV(**NEW | {"l1_ratios": (0.5, 2.0), "solver": "cd"}).fit(X, y)
    with pytest.raises(ValueError, match="only 'l2'"):
        LogisticRegressionCV(**NEW | {"l1_ratios": (0.5,)}).fit(X, y)
    with pytest.raises(ValueError, match="class labels as keys"):
        LogisticRegressionCV(**NEW, class_weight={5: 1.0}).fit(X, y)
    with pytest.raises(ValueError, match="2 classes"):
        LogisticRegressionCV(**NEW).fit(X, np.ones(len(y)))


@parametrize_with_checks([LogisticRegressionCV(**NEW, Cs=3, cv=3)])
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)
