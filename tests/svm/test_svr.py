"""SVR, NuSVR and OneClassSVM: the same solver, other boxes"""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn import svm as reference
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import estimator_checks_generator

from mlreplica.callbacks import Trace
from mlreplica.kernels import RBF
from mlreplica.svm import SVR, NuSVR, OneClassSVM

KERNELS = [
    {"kernel": "rbf", "gamma": 0.3},
    {"kernel": "linear"},
    {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.1},
    {"kernel": "sigmoid", "gamma": 0.01},
]


def waves(n=80, p=2, seed=0):
    """A curved surface with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, np.sin(2.0 * X[:, 0]) + 0.5 * X[:, -1] + 0.2 * rng.normal(size=n)


def gram(model, X):
    """K of the training rows by the reference's own functions."""
    return rbf_kernel(X, gamma=model.gamma)


def coefficients(model, n):
    """α − α* or β, a number a row."""
    beta = np.zeros(n)
    beta[model.support_] = model.dual_coef_[0]
    return beta


def tube_objective(model, X, y, c):
    """P of SVR, equation (1), at the model's own w and b."""
    beta, K = coefficients(model, len(y)), gram(model, X)
    f = K @ beta + model.intercept_[0]
    return 0.5 * beta @ K @ beta + c @ np.maximum(np.abs(y - f) - model.epsilon, 0.0)


# ------------------------------------------------------------------------------------- properties


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.1, 1.0, 30.0]), st.sampled_from([0.0, 0.1, 0.5]))
def test_certificate_bounds_the_distance_of_the_tube(seed, C, epsilon):
    X, y = waves(40, seed=seed)
    model = SVR(gamma=0.5, C=C, epsilon=epsilon, tol=0.1).fit(X, y)
    best = SVR(gamma=0.5, C=C, epsilon=epsilon, tol=1e-8).fit(X, y)
    c = np.full(40, C)
    distance = tube_objective(model, X, y, c) - tube_objective(best, X, y, c)
    assert distance <= model.certificate_ * (1.0 + 1e-9) + 1e-9
    assert best.certificate_ <= 1e-6 * C * 40


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.05, 0.3, 0.8]))
def test_conditions_of_the_tube(seed, epsilon):
    """On the edge where 0 < |β| < C, outside at C, inside at 0; recomputed from scratch."""
    X, y = waves(50, seed=seed)
    model = SVR(gamma=0.5, C=2.0, epsilon=epsilon, tol=1e-6).fit(X, y)
    beta = coefficients(model, 50)
    r = y - gram(model, X) @ beta - model.intercept_[0]
    free = (beta != 0.0) & (np.abs(beta) < 2.0)
    assert_allclose(r[free], np.sign(beta[free]) * epsilon, atol=1e-5)
    assert (np.abs(r[beta == 0.0]) <= epsilon + 1e-5).all()
    assert ((np.sign(beta) * r)[np.abs(beta) == 2.0] >= epsilon - 1e-5).all()
    assert abs(beta.sum()) <= 1e-9
    assert model.kkt_residual_ <= 1e-6


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.1, 0.4, 0.9]))
def test_nu_is_between_the_rows_outside_and_the_support_vectors(seed, nu):
    X, y = waves(60, seed=seed)
    model = NuSVR(gamma=0.5, nu=nu, tol=1e-6).fit(X, y)
    outside = np.abs(y - model.predict(X)) > model.epsilon_ + 1e-4
    assert outside.mean() <= nu + 1e-9
    assert len(model.support_) / 60 >= nu - 1e-9
    region = OneClassSVM(gamma=0.5, nu=nu, tol=1e-6).fit(X)
    assert (region.decision_function(X) < -1e-4).mean() <= nu + 1e-9
    assert len(region.support_) / 60 >= nu - 1e-9
    assert_allclose(region.dual_coef_.sum(), 60 * nu, rtol=1e-12)


@pytest.mark.parametrize("nu", [0.2, 0.5])
def test_the_tube_that_nu_finds_is_a_tube_of_svr(nu):
    X, y = waves(100)
    found = NuSVR(gamma=0.5, nu=nu, C=3.0, tol=1e-7).fit(X, y)
    same = SVR(gamma=0.5, epsilon=found.epsilon_, C=3.0, tol=1e-7).fit(X, y)
    assert_allclose(found.predict(X), same.predict(X), atol=1e-5)


@pytest.mark.parametrize("model", [SVR(), NuSVR(), OneClassSVM()], ids=lambda m: type(m).__name__)
def test_a_weight_is_so_many_rows_and_zero_is_none(model):
    X, y = waves(50)
    s = np.random.default_rng(0).integers(0, 4, size=50)
    model.set_params(gamma=0.5, tol=1e-8)
    a = clone(model).fit(X, y, sample_weight=s)
    b = clone(model).fit(np.repeat(X, s, axis=0), np.repeat(y, s))
    score = "decision_function" if isinstance(model, OneClassSVM) else "predict"
    assert_allclose(getattr(a, score)(X), getattr(b, score)(X), atol=1e-6)


# ------------------------------------------------------------------------------------- references


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k["kernel"])
@pytest.mark.parametrize("name", [pytest.param(n, id=n) for n in ("SVR", "NuSVR", "OneClassSVM")])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_as_scikit_learn(name, kernel, container):
    X, y = load_diabetes(return_X_y=True)
    # 3 away from the origin, which a half-space must exclude
    X, y = container(scale(X)[:200] + 3.0 * (name == "OneClassSVM")), scale(y)[:200]
    options = {**kernel, "tol": 1e-6}
    ours = {"SVR": SVR, "NuSVR": NuSVR, "OneClassSVM": OneClassSVM}[name](**options).fit(X, y)
    theirs = getattr(reference, name)(**options).fit(X, y)
    score = "decision_function" if name == "OneClassSVM" else "predict"
    assert_allclose(getattr(ours, score)(X), getattr(theirs, score)(X), atol=1e-4)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    assert ours.n_support_.shape == theirs.n_support_.shape
    assert ours.dual_coef_.shape[0] == 1
    if name == "OneClassSVM":
        assert_allclose(ours.offset_, theirs.offset_, atol=1e-4)
        assert_allclose(ours.score_samples(X), theirs.score_samples(X), atol=1e-4)
    if kernel["kernel"] == "linear":
        assert_allclose(
            sp.csr_array(ours.coef_).toarray(), sp.csr_array(theirs.coef_).toarray(), atol=1e-4
        )


def test_the_minimum_of_a_quadratic_programme():
    X, y = waves(12)
    K, n = rbf_kernel(X, gamma=0.5), 12
    q = np.concatenate([0.1 - y, 0.1 + y])

    def dual(a):
        beta = a[:n] - a[n:]
        return 0.5 * beta @ K @ beta + q @ a

    found = minimize(
        dual,
        np.zeros(2 * n),
        jac=lambda a: np.concatenate([K @ (a[:n] - a[n:]), K @ (a[n:] - a[:n])]) + q,
        bounds=[(0.0, 1.0)] * (2 * n),
        constraints={"type": "eq", "fun": lambda a: a[:n].sum() - a[n:].sum()},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-14},
    )
    model = SVR(gamma=0.5, tol=1e-8).fit(X, y)
    assert_allclose(coefficients(model, n), found.x[:n] - found.x[n:], atol=1e-4)


def test_kernels_by_object_function_and_matrix_agree():
    X, y = waves(60)
    plain = SVR(gamma=0.5, tol=1e-7).fit(X, y).predict(X)
    K = rbf_kernel(X, gamma=0.5)
    for kernel, A in (
        (RBF(0.5), X),
        (lambda u, v: rbf_kernel(u, v, gamma=0.5), X),
        ("precomputed", K),
    ):
        model = SVR(kernel=kernel, tol=1e-7).fit(A, y)
        assert_allclose(model.predict(A), plain, atol=1e-6)
        with pytest.raises(AttributeError, match="linear kernel"):
            _ = model.coef_


# ------------------------------------------------------------------------------------ the contract


def checks(*estimators):
    """scikit-learn's, less that of OneClassSVM's weights, which it leaves out itself.

    Rows on the boundary have a decision of 0 but for rounding, and no weight decides its sign.
    """
    for estimator in estimators:
        for k, (model, check) in enumerate(estimator_checks_generator(estimator)):
            name = check.func.__name__
            weights = name.startswith("check_sample_weight_equivalence")
            if not (weights and isinstance(estimator, OneClassSVM)):
                yield pytest.param(model, check, id=f"{name}-{k}-{estimator}")


@pytest.mark.parametrize(
    ("estimator", "check"), checks(SVR(), NuSVR(), OneClassSVM(), SVR(kernel="precomputed"))
)
def test_scikit_learn_checks(estimator, check):
    # gamma="scale" is a property of the rows without their weights
    if check.func.__name__.startswith("check_sample_weight_equivalence"):
        estimator = clone(estimator).set_params(gamma=0.5, tol=1e-10)
    check(estimator)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (SVR(epsilon=-1.0), "The 'epsilon' parameter"),
        (SVR(C=0.0), "The 'C' parameter"),
        (NuSVR(nu=1.5), "The 'nu' parameter"),
        (OneClassSVM(nu=0.0), "The 'nu' parameter"),
        (SVR(gamma=-1.0), "The 'gamma' parameter"),
    ],
)
def test_bad_parameters(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit([[0.0], [1.0]], [0.0, 1.0])


def test_bad_data():
    X, y = waves(10)
    with pytest.raises(ValueError, match="incompatible shapes"):
        SVR().fit(X, y, sample_weight=np.ones(9))
    with pytest.raises(ValueError, match="zero or negative weights"):
        SVR().fit(X, y, sample_weight=np.zeros(10))
    with pytest.raises(ValueError, match="square matrix"):
        SVR(kernel="precomputed").fit(X, y)
    with pytest.raises(TypeError, match="Sparse precomputed"):
        SVR(kernel="precomputed").fit(sp.csr_array(np.eye(10)), y)


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.zeros((6, 2)), np.arange(6.0)),  # constant columns
        (np.repeat(np.arange(3.0), 2)[:, None], np.array([0.0, 5.0, 1.0, -1.0, 2.0, 2.0])),
        (np.arange(6.0)[:, None], np.ones(6)),
    ],
    ids=["constant-columns", "equal-rows", "constant-target"],
)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"gamma": 0.0},
        {"gamma": 1e12},
        {"kernel": "linear"},
        {"kernel": "sigmoid", "gamma": 3.0, "coef0": 2.0},
        {"kernel": lambda A, B: -(A @ B.T)},
    ],
    ids=["rbf", "no-gamma", "huge-gamma", "linear", "sigmoid", "negative"],
)
def test_awkward_data_end(X, y, options):
    for model in (SVR(**options), NuSVR(**options), OneClassSVM(**options)):
        with ThreadPoolExecutor(1) as pool:
            pool.submit(model.fit, X, y).result(timeout=60)
        assert np.isfinite(model.intercept_).all()
        assert np.isfinite(model.predict(X)).all()
        assert model.fit_status_ == 0


def test_too_few_steps_are_told():
    X, y = waves(200)
    with pytest.warns(ConvergenceWarning, match="Solver terminated early"):
        model = SVR(max_iter=3).fit(X, y)
    assert model.fit_status_ == 1
    assert model.kkt_residual_ > model.tol
    assert model.n_iter_ == 3


def test_callbacks_and_pickles():
    X, y = waves(200)
    trace = Trace()
    model = SVR().set_callbacks(trace).fit(X, y)
    assert trace.states[-1]["gap"] == model.certificate_
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_pure_sums():
    """Rows of the reference against the sum over support vectors, term by term."""
    X, y = waves(40)
    model = SVR(gamma=0.5).fit(X, y)
    by_hand = [
        sum(
            b * np.exp(-0.5 * ((x - v) ** 2).sum())
            for b, v in zip(model.dual_coef_[0], model.support_vectors_, strict=True)
        )
        + model.intercept_[0]
        for x in X
    ]
    assert_allclose(model.predict(X), by_hand, rtol=1e-10, atol=1e-12)


def test_five_thousand_rows_converge():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 10))
    y = np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=5000)
    for cache_size in (4, 200):  # megabytes: 200 rows of the Gram matrix, or all of it
        model = SVR(gamma=0.1, cache_size=cache_size).fit(X, y)
        assert model.kkt_residual_ <= model.tol
