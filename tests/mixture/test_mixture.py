"""Mixtures: EM never falls, weights are repetitions, gaps are marginalised, numbers as elsewhere"""

import warnings

import numpy as np
import pytest
import sklearn.mixture
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from mlreplica.callbacks import Trace
from mlreplica.mixture import BayesianGaussianMixture, GaussianMixture
from mlreplica.mixture.base import matrices
from mlreplica.mixture.em import Bells, expectations, precision_triangles

KINDS = ("full", "tied", "diag", "spherical")


def rows(seed, n=300, p=3, K=3, far=3.0):
    """Rows of K stretched bells."""
    rng = np.random.default_rng(seed)
    mu, A = far * rng.normal(size=(K, p)), rng.normal(size=(K, p, p))
    k = rng.integers(0, K, n)
    return mu[k] + np.einsum("nij,nj->ni", A[k], rng.normal(size=(n, p)))


def start(X, kind, K=3, seed=0):
    """Parameters to start from."""
    p, rng = X.shape[1], np.random.default_rng(seed)
    one = {"full": np.eye(p) + np.zeros((K, 1, 1)), "tied": np.eye(p)}
    one |= {"diag": np.ones((K, p)), "spherical": np.ones(K)}
    means = X[rng.choice(len(X), K, replace=False)]
    return {"weights_init": np.full(K, 1 / K), "means_init": means, "precisions_init": one[kind]}


def naive(X, w, pi, mu, S):
    """(2) and (3) with scipy's densities; full covariances, no regularisation."""
    P = np.stack([p * multivariate_normal(m, s).pdf(X) for p, m, s in zip(pi, mu, S, strict=True)])
    L, R = w @ np.log(P.sum(axis=0)), w * P / P.sum(axis=0)
    N = R.sum(axis=1)
    mu = R @ X / N[:, None]
    S = [(r[:, None] * (X - m)).T @ (X - m) / n for r, m, n in zip(R, mu, N, strict=True)]
    return L, N, mu, np.array(S)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 999), p=st.integers(1, 7), K=st.integers(1, 4), n=st.integers(20, 150))
def test_one_step_agrees_with_the_naive_one(seed, p, K, n):
    X, rng = rows(seed, n, p, K), np.random.default_rng(seed)
    w, mu, pi = rng.uniform(0, 2, n), X[:K], np.full(K, 1 / K)
    A = rng.normal(size=(K, p, p))
    S = A @ A.transpose(0, 2, 1) + np.eye(p)
    moments = expectations(
        X, w, Bells.of(mu, precision_triangles(S, "full"), "full"), np.log(pi), 1
    )
    L, N, mu_new, S_new = naive(X, w, pi, mu, S)
    delta = moments.first / moments.N[:, None]
    assert_allclose(moments.out[0], L, rtol=1e-10)
    assert_allclose(moments.N, N, rtol=1e-9)
    assert_allclose(mu + delta, mu_new, rtol=1e-8, atol=1e-9)
    second = moments.second / moments.N[:, None, None] - delta[:, :, None] * delta[:, None, :]
    assert_allclose(second, S_new, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 999))
def test_likelihood_never_falls(kind, seed):
    X, trace = rows(seed), Trace()
    options = {"covariance_type": kind, "max_iter": 25, "tol": 0, "reg_covar": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = GaussianMixture(3, **options, **start(X, kind)).set_callbacks(trace).fit(X)
    L = [state["lower_bound"] for state in trace.states]
    assert (np.diff(L) >= -1e-12 * np.abs(L[0])).all()
    assert len(L) == 25
    assert L[-1] > L[0]
    assert model.score(X) >= L[-1] - 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_weight_is_repetition_and_zero_is_absence(kind):
    X = rows(1)
    w = np.random.default_rng(0).integers(0, 4, len(X))
    options = {"covariance_type": kind, "tol": 1e-9, "max_iter": 500} | start(X, kind)
    weighted = GaussianMixture(3, **options).fit(X, sample_weight=w)
    repeated = GaussianMixture(3, **options).fit(np.repeat(X, w, axis=0))
    for name in ("weights_", "means_", "covariances_", "lower_bound_"):
        a, b = getattr(weighted, name), getattr(repeated, name)
        assert_allclose(a, b, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.0, 0.2])
def test_priors_take_a_weight_for_repetition_and_zero_for_absence(kind, share):
    X, rng = rows(1), np.random.default_rng(0)
    w = rng.integers(0, 4, len(X))
    X[w == 0] += 1e3
    gaps = np.where(rng.random(X.shape) < share, np.nan, X)
    options = {"covariance_type": kind, "missing": "marginalise", "tol": 1e-2, "max_iter": 500}
    weighted = BayesianGaussianMixture(**options).fit(gaps, sample_weight=w)  # one component:
    repeated = BayesianGaussianMixture(**options).fit(np.repeat(gaps, w, axis=0))  # no draws
    for name in ("mean_prior_", "covariance_prior_", "means_", "covariances_", "lower_bound_"):
        assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("init", ["kmeans", "k-means++", "random", "random_from_data"])
def test_agrees_with_scikit_learn_from_the_same_start(kind, init):
    X = rows(2, n=400, p=4)
    options = {"covariance_type": kind, "random_state": 3, "init_params": init, "max_iter": 200}
    ours = GaussianMixture(3, **options).fit(X)
    theirs = sklearn.mixture.GaussianMixture(3, **options).fit(X)
    assert ours.n_iter_ == theirs.n_iter_
    assert_allclose(ours.lower_bound_, theirs.lower_bound_, rtol=0, atol=1e-8)
    for name in ("weights_", "means_", "covariances_", "precisions_", "lower_bounds_"):
        assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-6, atol=1e-7)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-7)
    assert_allclose([ours.aic(X), ours.bic(X)], [theirs.aic(X), theirs.bic(X)], rtol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("prior", ["dirichlet_process", "dirichlet_distribution"])
def test_bayesian_agrees_with_scikit_learn(kind, prior):
    X = rows(4, n=300, p=3)
    options = {"covariance_type": kind, "weight_concentration_prior_type": prior, "n_components": 5}
    options |= {"random_state": 0, "max_iter": 500}
    ours = BayesianGaussianMixture(**options).fit(X)
    theirs = sklearn.mixture.BayesianGaussianMixture(**options).fit(X)
    assert ours.n_iter_ == theirs.n_iter_
    assert_allclose(ours.lower_bound_, theirs.lower_bound_, rtol=1e-9)
    assert_allclose(ours.weights_, theirs.weights_, rtol=1e-6, atol=1e-9)
    assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-7)
    assert (np.diff(ours.lower_bounds_) >= -1e-6).all()


def test_needless_components_fade():
    X = rows(0, n=600, p=2, K=2, far=8.0)
    model = BayesianGaussianMixture(n_components=8, random_state=0, max_iter=500).fit(X)
    assert (model.weights_ > 0.05).sum() == 2


@pytest.mark.parametrize("kind", KINDS)
def test_gaps_are_marginalised(kind):
    X, rng = rows(5, n=200), np.random.default_rng(1)
    gaps = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    options = {"covariance_type": kind, "missing": "marginalise", "tol": 0, "max_iter": 15}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = GaussianMixture(2, random_state=0, reg_covar=0, **options).fit(gaps)
        whole = GaussianMixture(2, random_state=0, **options).fit(X)
        plain = GaussianMixture(2, random_state=0, **options | {"missing": "error"}).fit(X)
    assert (np.diff(model.lower_bounds_) >= -1e-12).all()
    assert_allclose(whole.means_, plain.means_, rtol=1e-12)
    S = matrices(model.covariances_, kind, 2, 3)
    for x, found in zip(gaps[:20], model.score_samples(gaps[:20]), strict=True):
        known = ~np.isnan(x)
        parts = [
            p * multivariate_normal(m[known], s[np.ix_(known, known)]).pdf(x[known])
            if known.any()
            else p
            for p, m, s in zip(model.weights_, model.means_, S, strict=True)
        ]
        assert_allclose(found, np.log(np.sum(parts)), rtol=1e-9, atol=1e-9)
    with pytest.raises(ValueError, match="NaN"):
        GaussianMixture(2).fit(gaps)
    with pytest.raises(ValueError, match="Column 1 of X has no known value"):
        GaussianMixture(2, missing="marginalise").fit(np.c_[X[:, 0], np.full(len(X), np.nan)])


def test_a_collapse_is_mended_and_said():
    rng = np.random.default_rng(0)
    groups = [rng.normal(size=(100, 2)), rng.normal(size=(100, 2)) + 9]
    X = np.concatenate([*groups, np.full((2, 2), [4.0, 5.0])])
    start = {"weights_init": [0.9, 0.1], "means_init": [[4, 4], [4, 5]], "max_iter": 300}
    precisions = np.array([np.eye(2) / 30, 1e6 * np.eye(2)])  # the second sees two equal rows only
    model = GaussianMixture(2, precisions_init=precisions, reg_covar=0, **start)
    with pytest.warns(ConvergenceWarning, match=r"\[1\] collapsed .* restarted at rows"):
        model.fit(X)
    assert (np.linalg.eigvalsh(model.covariances_) > 0.1).all()
    assert_allclose(np.sort(model.weights_), 0.5, atol=0.05)
    assert_allclose(np.sort(model.means_[:, 0]), [0, 9], atol=0.5)
    with pytest.raises(ValueError, match="ill-defined empirical covariance"):
        GaussianMixture(2, reg_covar=0, random_state=0, init_params="random").fit(np.ones((9, 2)))


def test_a_limit_is_k_means():
    X = rows(8, n=200, p=2, far=6.0)
    precisions = np.full(3, 1e4)
    mu = X[[0, 50, 100]]
    moments = expectations(
        X, np.ones(200), Bells.of(mu, np.sqrt(precisions), "spherical"), np.zeros(3), 0
    )
    nearest = ((X[:, None] - mu) ** 2).sum(axis=2).argmin(axis=1)
    means = [X[nearest == k].mean(axis=0) for k in range(3)]
    assert_allclose(mu + moments.first / moments.N[:, None], means, rtol=1e-6)


def test_single_precision_and_draws():
    X = rows(9, n=500)
    model = GaussianMixture(3, random_state=0).fit(X.astype(np.float32))
    assert model.means_.dtype == np.float32
    assert_allclose(model.score(X), GaussianMixture(3, random_state=0).fit(X).score(X), rtol=1e-4)
    drawn, k = model.sample(4000)
    assert_allclose(drawn[k == 0].mean(axis=0), model.means_[0], atol=0.5)
    assert_array_equal(np.sort(k), k)


def test_bad_input_is_refused_with_reasons():
    X = rows(0)
    for bad, match in (
        ({"n_components": 301}, "n_samples >= n_components"),
        ({"weights_init": [0.5, 0.5, 0.5]}, "should be normalized"),
        ({"means_init": np.zeros((2, 3))}, "should have the shape"),
        ({"precisions_init": np.zeros((3, 3, 3))}, "positive-definite"),
    ):
        with pytest.raises(ValueError, match=match):
            GaussianMixture(**{"n_components": 3} | bad).fit(X)
    with pytest.raises(ValueError, match="scale X"):
        GaussianMixture(2).fit(X * 1e200)
    with pytest.raises(ValueError, match="greater than 2"):
        BayesianGaussianMixture(degrees_of_freedom_prior=1.0).fit(X)
    constant = np.c_[X, np.ones(len(X))]
    assert np.isfinite(GaussianMixture(2, random_state=0).fit(constant).score(constant))


@parametrize_with_checks(
    [GaussianMixture(), GaussianMixture(missing="marginalise"), BayesianGaussianMixture()]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
