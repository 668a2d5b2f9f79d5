"""The smallest C of an L1 penalty"""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from numpy.testing import assert_allclose

from mlreplica.linear_model import LogisticRegression
from mlreplica.svm import LinearSVC, l1_min_c


def rows(K, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 5))
    return X, rng.integers(0, K, 60)


@pytest.mark.parametrize(("loss", "K"), [("squared_hinge", 2), ("squared_hinge", 3), ("log", 2)])
@pytest.mark.parametrize("intercept", [True, False])
def test_below_it_all_weights_are_zero_and_above_it_some_are_not(K, loss, intercept):
    X, y = rows(K)
    C = l1_min_c(X, y, loss=loss, fit_intercept=intercept)
    if loss == "log":
        make = lambda C: LogisticRegression(
            C=C, l1_ratio=1.0, solver="liblinear", fit_intercept=intercept, tol=1e-10
        )
    else:
        make = lambda C: LinearSVC(
            C=C, penalty="l1", dual=False, fit_intercept=intercept, tol=1e-10, max_iter=10**5
        )
    below, above = make(0.99 * C).fit(X, y), make(1.02 * C).fit(X, y)
    assert not below.coef_.any()
    assert not np.any(below.intercept_)
    assert above.coef_.any() or np.any(above.intercept_)


@pytest.mark.parametrize("K", [2, 3, 4])
@pytest.mark.parametrize("loss", ["squared_hinge", "log"])
@pytest.mark.parametrize("given", [{}, {"fit_intercept": False}, {"intercept_scaling": 10.0}])
def test_scikit_learn_agrees(K, loss, given):
    X, y = rows(K)
    theirs = sklearn.svm.l1_min_c(X, y, loss=loss, **given)
    assert_allclose(l1_min_c(X, y, loss=loss, **given), theirs, rtol=1e-12)
    assert_allclose(l1_min_c(sp.csc_array(X), y, loss=loss, **given), theirs, rtol=1e-12)


def test_bad_input_says_what_is_wrong():
    with pytest.raises(ValueError, match="Ill-posed l1_min_c"):
        l1_min_c([[0.0], [0.0]], [0, 1])
    with pytest.raises(ValueError, match="loss"):
        l1_min_c([[0.0], [1.0]], [0, 1], loss="hinge")
