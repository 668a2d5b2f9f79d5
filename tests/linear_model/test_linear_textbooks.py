"""The textbook files of ridge, logistic regression, lasso and SGD against the engines"""

from itertools import islice, repeat

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mlreplica import losses
from mlreplica.linear_model import (
    ElasticNet,
    LogisticRegression,
    Ridge,
    SGDClassifier,
    SGDRegressor,
)
from mlreplica.linear_model.logistic.textbook import newton
from mlreplica.linear_model.ridge.textbook import fit_ridge
from mlreplica.linear_model.sgd.textbook import descend

seeds = st.integers(0, 10_000)


def problem(seed, n=40, p=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * 10 ** rng.uniform(-1, 1, size=p) + rng.normal(size=p)
    y = X @ rng.normal(size=p) + rng.normal(size=n)
    return X, y, rng.uniform(0.5, 2.0, size=n)


@given(seed=seeds, wide=st.booleans(), alpha=st.floats(1e-3, 1e3))
@settings(max_examples=40, deadline=None)
def test_ridge(seed, wide, alpha):
    X, y, s = problem(seed, *((8, 20) if wide else (40, 5)))
    w, b, gap = fit_ridge(X, y, alpha, s)
    engine = Ridge(alpha=alpha).fit(X, y, sample_weight=s)
    assert_allclose(engine.coef_, w, rtol=1e-7, atol=1e-9 * np.abs(w).max())
    assert_allclose(engine.intercept_, b, rtol=1e-7, atol=1e-7)
    assert 0 <= gap <= 1e-12 * (y @ y)


@given(seed=seeds, steps=st.integers(1, 12), C=st.floats(0.01, 100.0))
@settings(max_examples=25, deadline=None)
def test_logistic_regression(seed, steps, C):
    X, f, s = problem(seed)
    y = np.where(f > np.median(f), 1.0, -1.0)
    s /= s.sum()
    engine = LogisticRegression(C=C / len(y), tol=1e-12).fit(X, y, sample_weight=s * len(y))
    states = list(islice(newton(X, y, 1 / C, s), 30))
    assert_allclose(states[-1].w, engine.coef_[0], rtol=1e-5, atol=1e-7)
    assert_allclose(states[-1].b, engine.intercept_[0], rtol=1e-5, atol=1e-6)
    early = states[steps]
    assert early.objective - states[-1].objective <= early.gap + 1e-14


@given(seed=seeds, share=st.floats(0.01, 0.9), l1_ratio=st.sampled_from([1.0, 0.5]))
@settings(max_examples=25, deadline=None)
def test_lasso(seed, share, l1_ratio):
    X, y, _ = problem(seed)
    alpha = share * np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max() / len(y) / l1_ratio
    fast, slow = (
        ElasticNet(alpha=alpha, l1_ratio=l1_ratio, tol=1e-10, max_iter=100_000, solver=solver)
        for solver in ("auto", "cd")
    )
    assert_allclose(fast.fit(X, y).coef_, slow.fit(X, y).coef_, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize(("penalty", "rho"), [("l2", 0.0), ("l1", 1.0), ("elasticnet", 0.3)])
@pytest.mark.parametrize("name", ["squared_error", "huber", "log_loss", "hinge"])
def test_sgd(name, penalty, rho, batch, average):
    X, y, c = problem(3, n=50)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    labels = name in ("log_loss", "hinge")
    y = np.where(y > np.median(y), 1.0, -1.0) if labels else y
    kind = SGDClassifier if labels else SGDRegressor
    engine = kind(
        name, penalty=penalty, alpha=0.01, l1_ratio=rho, learning_rate="invscaling", eta0=0.1,
        power_t=0.5, shuffle=False, max_iter=5, tol=None, average=average, batch_size=batch,
    ).fit(X, y, sample_weight=c)  # fmt: skip
    made = {"squared_error": losses.squared, "huber": losses.huber(0.1)}
    loss = made.get(name) or {"log_loss": losses.logistic, "hinge": losses.hinge}[name]
    epochs = descend(
        X, y, loss, lambda t: 0.1 / t**0.5, alpha=0.01, rho=rho, batch=batch, c=c,
        orders=repeat(np.arange(len(y))),
    )  # fmt: skip
    *_, last = islice(epochs, 5)
    w, b = (last.mean_w, last.mean_b) if average else (last.w, last.b)
    assert_allclose(np.ravel(engine.coef_), w, rtol=1e-9, atol=1e-11)
    assert_allclose(np.ravel(engine.intercept_), b, rtol=1e-9, atol=1e-11)


@given(seed=seeds)
@settings(max_examples=10, deadline=None)
def test_sgd_on_sparse_rows(seed):
    X, y, _ = problem(seed)
    X = np.where(np.random.default_rng(seed).random(X.shape) < 0.4, X, 0.0) / 10
    engine = SGDRegressor(learning_rate="constant", shuffle=False, max_iter=3, tol=None)
    engine.fit(sp.csr_array(X), y)
    epochs = descend(
        X, y, losses.squared, lambda t: 0.01, rate=0.01, orders=repeat(np.arange(len(y)))
    )
    *_, last = islice(epochs, 3)
    assert_allclose(engine.coef_, last.w, rtol=1e-9, atol=1e-11)
