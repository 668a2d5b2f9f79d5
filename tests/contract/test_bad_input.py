"""Extreme scales, weights and rates: every estimator refuses them or predicts finite numbers"""

import inspect
import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from mlreplica.cluster import BisectingKMeans, KMeans, MiniBatchKMeans
from mlreplica.core.card import card_of
from mlreplica.discovery import all_estimators
from mlreplica.kernel_approximation import Nystroem, RBFSampler
from mlreplica.kernel_ridge import KernelRidge
from mlreplica.linear_model import (
    BayesianRidge,
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    PoissonRegressor,
    RANSACRegressor,
    Ridge,
    RidgeCV,
    SGDClassifier,
)
from mlreplica.naive_bayes import BernoulliNB, MultinomialNB
from mlreplica.neighbors import KNeighborsTransformer
from mlreplica.outliers import IQR, ZScore
from mlreplica.preprocessing import PolynomialFeatures, RobustScaler
from mlreplica.warmup import settings

N = 40
METHODS = ("predict", "predict_proba", "decision_function", "score_samples", "transform")
CARDS = [card for _, estimator in all_estimators() if (card := card_of(estimator))]
RATES = "learning_rate", "eta0", "C", "alpha"


def table(task):
    """Rows and a target that suits the task."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 3))
    y = X[:, 0] - X[:, 1] + 0.1 * rng.standard_normal(N)
    if task == "regression":
        return X, np.abs(y)  # also counts or rates
    if task == "classification":
        return X, np.where(y > 0, "yes", "no")
    return X, None


def rows_of_1e300(card, X, y):
    return X * 1e300, y, None, {}


def target_of_1e300(card, X, y):
    return (X, y * 1e300, None, {}) if card.task == "regression" else None


def rows_of_1e_300(card, X, y):
    return X * 1e-300, y, None, {}


def rows_of_mixed_scales(card, X, y):
    return X * [1e-300, 1.0, 1e200], y, None, {}


def equal_rows(card, X, y):
    return np.ones_like(X), y, None, {}


def a_class_per_row(card, X, y):
    return (X, np.arange(N), None, {}) if card.task == "classification" else None


def light_weights(card, X, y):
    return X, y, np.full(N, 1e-300), {}


def heavy_weights(card, X, y):
    return X, y, np.full(N, 1e300), {}


def heavy_weights_and_a_share_of_rows(card, X, y):
    names = inspect.signature(card.estimator).parameters
    if "max_samples" not in names:
        return None
    bootstrap = {"bootstrap": True} if "bootstrap" in names else {}
    return X, y, np.full(N, 1e300), {"max_samples": 0.5, **bootstrap}


def few_weights(card, X, y):
    weight = np.zeros(N)
    weight[[0, 1, *np.unique(y, return_index=True)[1][:2]] if y is not None else [0, 1]] = 1.0
    return X, y, weight, {}


def few_weights_and_a_share_of_rows(card, X, y):
    names = inspect.signature(card.estimator).parameters
    share = {"subsample": 0.3} if "subsample" in names else {"max_samples": 0.3}
    if next(iter(share)) not in names:
        return None
    return *few_weights(card, X, y)[:3], share


def a_class_without_weight(card, X, y):
    if "class_weight" not in inspect.signature(card.estimator).parameters or y is None:
        return None
    three = np.where(X[:, 2] > 0.5, "maybe", y)
    return X, three, None, {"class_weight": {"yes": 0.0, "no": 1.0, "maybe": 1.0}}


def enormous_rates(card, X, y):
    names = inspect.signature(card.estimator).parameters
    numbers = {name for name in RATES if name in names and not isinstance(names[name].default, str)}
    if not numbers:
        return None
    return X, y, None, dict.fromkeys(numbers, 1e10)


def enormous_constant_rates(card, X, y):
    names = inspect.signature(card.estimator).parameters
    if "eta0" not in names or "learning_rate" not in names:
        return None
    return X, y, None, {"eta0": 1e10, "learning_rate": "constant"}


SITUATIONS = [
    rows_of_1e300,
    target_of_1e300,
    rows_of_1e_300,
    rows_of_mixed_scales,
    equal_rows,
    a_class_per_row,
    light_weights,
    heavy_weights,
    heavy_weights_and_a_share_of_rows,
    few_weights,
    few_weights_and_a_share_of_rows,
    a_class_without_weight,
    enormous_rates,
    enormous_constant_rates,
]


CASES = [
    pytest.param(card, *case, id=f"{card.name}-{situation.__name__}")
    for card in CARDS
    if not card.data  # rows and a target, or rows alone
    for situation in SITUATIONS
    if (case := situation(card, *table(card.task)))
    and (case[2] is None or "sample_weight" in inspect.signature(card.estimator.fit).parameters)
]


def check_refused_or_finite(model, X, y, message, **weight):
    """`fit` raises an error of this message, or all that the model answers is finite."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        for allowed in (UserWarning, RuntimeWarning, FutureWarning):
            warnings.simplefilter("ignore", allowed)  # to warn is enough; numbers are looked at
        try:
            model.fit(X, y, **weight)
        except ValueError as error:
            assert re.search(message, str(error)), "an error says what to do"  # noqa: PT017
            return
        for name in METHODS:
            if hasattr(model, name):
                found = getattr(model, name)(X)
                found = found.toarray() if hasattr(found, "toarray") else np.asarray(found)
                assert found.dtype.kind in "USO" or np.isfinite(found).all(), name


@pytest.mark.parametrize(("card", "X", "y", "weight", "changes"), CASES)
def test_refused_or_finite(card, X, y, weight, changes):
    model = card.estimator(**settings(card.estimator)[0][0] | changes)
    weights = {} if weight is None else {"sample_weight": weight}
    check_refused_or_finite(model, X, y, "(?s).{21}", **weights)


ZEROS, HALVES = np.zeros((N, 3)), np.arange(N) % 2
ROWS, TARGET = table("regression")
ENDS = 0.1 * ROWS
ENDS[0, :2] = 1.7e308, -1.7e308
SIGNS = np.where(ROWS > 0.0, 1.7e308, -1.7e308)
LARGEST, LARGEST_TARGET = (A / abs(A).max() * 1.7e308 for A in (ROWS, TARGET))
SINGLE, SINGLE_1E38 = ROWS.astype(np.float32), (ROWS * 1e38).astype(np.float32)
SPARSE_1E200 = sp.csr_array(ROWS * 1e200)
FOUND = [
    (BernoulliNB(alpha=1e-300), ZEROS + 1.0, HALVES),
    (MultinomialNB(alpha=0.0), np.eye(N), HALVES),
    (LogisticRegression(tol=1e300), table("")[0], HALVES),
    (BayesianRidge(lambda_2=1e-300), ZEROS, 1e150 * np.arange(N)),
    (Ridge(), SINGLE, TARGET * 1e300),
    (Ridge(solver="lsqr"), LARGEST, TARGET),
    (RidgeCV(), SINGLE, TARGET * 1e300),
    (LinearRegression(), SINGLE, TARGET * 1e300),
    (LinearRegression(), ROWS * 1e-160, TARGET * 1e160),
    (KernelRidge(kernel="poly"), ROWS, LARGEST_TARGET),
    (RANSACRegressor(random_state=0), ENDS, TARGET),
    (PoissonRegressor(fit_intercept=False), ROWS, TARGET * 1e160),
    (PoissonRegressor(), SINGLE, TARGET * 1e300),
    (PoissonRegressor(), ROWS, LARGEST_TARGET),
    (GammaRegressor(), ROWS, LARGEST_TARGET),
    (SGDClassifier(random_state=0, max_iter=2), SINGLE_1E38, HALVES),
    (Perceptron(max_iter=2), SINGLE_1E38, HALVES),
    (IQR(), ENDS, None),
    (ZScore(robust=True), ENDS, None),
    (RobustScaler(), SIGNS, None),
    (RobustScaler(with_scaling=False), SIGNS, None),
    (RobustScaler(with_centering=False), sp.csr_array(ENDS), None),
    (PolynomialFeatures(), SPARSE_1E200, None),
    (KMeans(2, n_init=1, random_state=0), LARGEST, None),
    (MiniBatchKMeans(2, random_state=0), LARGEST, None),
    (MiniBatchKMeans(2, random_state=0), SINGLE_1E38, None),
    (BisectingKMeans(2, random_state=0), LARGEST, None),
    (KNeighborsTransformer(), SPARSE_1E200, None),
    (RBFSampler(), LARGEST, None),
    (RBFSampler(gamma=1e300), ROWS * 1e160, None),
    (RBFSampler(gamma="scale"), ROWS * 1e-160, None),
    (Nystroem("poly", n_components=5, random_state=0), ENDS, None),
    (Nystroem("poly", n_components=5), ROWS.astype(np.float32) * 1e10, None),
]
NUMBERED = [f"{k} {type(model).__name__}" for k, (model, _, _) in enumerate(FOUND)]


@pytest.mark.parametrize(("model", "X", "y"), FOUND, ids=NUMBERED)
def test_found_by_random_calls(model, X, y):
    check_refused_or_finite(model, X, y, "[Ss]cale X")
