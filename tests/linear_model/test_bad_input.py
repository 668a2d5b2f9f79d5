"""One table for the whole chapter: what is wrong is refused, what is odd but lawful is fitted"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone, is_classifier

from mlreplica.linear_model import (
    ElasticNet,
    ElasticNetCV,
    HuberRegressor,
    Lasso,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    PoissonRegressor,
    QuantileRegressor,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    RidgeCV,
    SGDClassifier,
    SGDRegressor,
)

MODELS = [
    LinearRegression(),
    Ridge(0.1),
    RidgeCV(),
    Lasso(0.01),
    ElasticNet(0.01),
    LassoCV(cv=3, alphas=5, max_iter=10_000),
    ElasticNetCV(cv=3, alphas=5, max_iter=10_000),
    HuberRegressor(alpha=0.1, max_iter=10_000),
    QuantileRegressor(alpha=0.01),
    PoissonRegressor(alpha=0.1),
    SGDRegressor(random_state=0, max_iter=10_000),
    RidgeClassifier(),
    RidgeClassifierCV(),
    LogisticRegression(),
    LogisticRegression(l1_ratio=1.0, solver="cd"),
    LogisticRegressionCV(
        Cs=3, cv=3, l1_ratios=(0.0,), scoring="neg_log_loss", use_legacy_attributes=False
    ),
    SGDClassifier(random_state=0, max_iter=10_000),
    Perceptron(),
]
REGRESSORS = [model for model in MODELS if not is_classifier(model)]
CLASSIFIERS = [model for model in MODELS if is_classifier(model)]
every = pytest.mark.parametrize("model", MODELS, ids=repr)


def rows(model, n=60, p=4):
    """Rows with a target that suits the model: two classes, counts, or numbers."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    y = X[:, 0] - 0.5 * X[:, 1] + 0.3 * rng.normal(size=n)
    if is_classifier(model):
        return X, (y > 0).astype(int)
    return X, np.floor(np.exp(y)) if isinstance(model, PoissonRegressor) else y


@every
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_entries_that_are_not_finite(model, bad):
    X, y = rows(model)
    X[7, 2] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        clone(model).fit(X, y)


@pytest.mark.parametrize("model", REGRESSORS, ids=repr)
def test_targets_that_are_not_finite(model):
    X, y = rows(model)
    y[3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        clone(model).fit(X, y)


@every
def test_weights_that_are_all_zero_or_negative(model):
    X, y = rows(model)
    with pytest.raises(ValueError, match=r"(?i)zero"):
        clone(model).fit(X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(ValueError, match=r"(?i)negative"):
        clone(model).fit(X, y, sample_weight=np.full(len(y), -1.0))


@pytest.mark.parametrize("model", CLASSIFIERS, ids=repr)
def test_one_class(model):
    X, y = rows(model)
    if "Ridge" in type(model).__name__:  # it has an answer: that class
        assert (clone(model).fit(X, np.full_like(y, 7)).predict(X) == 7).all()
        return
    with pytest.raises(ValueError, match="class"):
        clone(model).fit(X, np.full_like(y, 7))


@every
def test_negative_strength(model):
    for name in {"alpha", "alphas", "C", "Cs"} & set(model.get_params()):
        value = [-1.0] if name.endswith("s") else -1.0
        with pytest.raises(ValueError, match=name):
            clone(model).set_params(**{name: value}).fit(*rows(model))


@every
def test_constant_and_dependent_columns_and_more_columns_than_rows(model):
    X, y = rows(model)
    constant, twice = np.column_stack([X, np.full(len(y), 3.0)]), np.hstack([X, X])
    for odd in (constant, twice):
        assert np.isfinite(clone(model).fit(odd, y).predict(odd)).all()
    wide, y = rows(model, 20, 30)
    assert np.isfinite(clone(model).fit(wide, y).predict(wide)).all()


@pytest.mark.parametrize(
    "model",  # of counts the logarithm is fitted; by steps of a set length 1e8 is far
    [model for model in REGRESSORS if not isinstance(model, (PoissonRegressor, SGDRegressor))],
    ids=repr,
)
def test_a_target_far_from_zero(model):
    X, y = rows(model)
    near, far = clone(model).fit(X, y), clone(model).fit(X, y + 1e8)
    assert_allclose(far.predict(X) - 1e8, near.predict(X), atol=1e-5)


@every
def test_single_precision_is_close_to_double(model):
    X, y = rows(model)
    single, double = clone(model).fit(X.astype(np.float32), y), clone(model).fit(X, y)
    doubles = HuberRegressor, QuantileRegressor, LogisticRegressionCV  # as in scikit-learn
    doubled = isinstance(model, doubles)
    assert single.coef_.dtype == (np.float64 if doubled else np.float32)
    assert_allclose(single.coef_, double.coef_, rtol=1e-3, atol=1e-3)
