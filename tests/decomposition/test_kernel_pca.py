import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.datasets
import sklearn.decomposition
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from mlreplica.callbacks import Trace
from mlreplica.decomposition import KernelPCA
from mlreplica.decomposition._few_pairs import few_eigenpairs
from mlreplica.decomposition._kernel_pca import centred
from mlreplica.decomposition._lanczos import block_lanczos
from mlreplica.decomposition._symmetric import symmetric_times
from mlreplica.kernels import RBF, Linear, Polynomial

SOLVERS = ["dense", "lanczos", "arpack", "randomized"]


def sample(n=400, p=4, seed=0):
    """Two noisy rings and a few columns of noise."""
    rng = np.random.default_rng(seed)
    angle, radius = rng.uniform(0, 2 * np.pi, n), np.where(np.arange(n) % 2, 1.0, 0.3)
    X = 0.1 * rng.normal(size=(n, p))
    X[:, :2] += radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return X


def naive(K):
    """Eigenvalues and -vectors of J K J, largest first."""
    J = np.eye(len(K)) - 1 / len(K)
    values, V = np.linalg.eigh(J @ K @ J)
    return values[::-1], V[:, ::-1]


@numba.njit
def minima(u, v):
    s = 0.0
    for k in range(len(u)):
        s += min(u[k], v[k])
    return s


# (a) properties


@settings(max_examples=30)
@given(
    seed=st.integers(0, 1000),
    n=st.integers(60, 120),
    k=st.integers(1, 6),
    repeat=st.integers(1, 6),
    sign=st.booleans(),
)
def test_residuals_of_block_lanczos_are_true_and_eigenvalues_within_them(seed, n, k, repeat, sign):
    rng = np.random.default_rng(seed)
    lambdas = rng.normal(size=n) ** 3 if sign else rng.exponential(size=n) ** 3
    lambdas[:repeat] = 8.0  # an eigenvalue that occurs several times
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    A = (Q * lambdas) @ Q.T
    A = (A + A.T) / 2
    size = np.abs if sign else np.asarray
    target = lambdas[np.argsort(-size(lambdas))][:k]
    for step, state in enumerate(
        block_lanczos(lambda V: A @ V, rng.normal(size=(n, 6)), k, 30, size)
    ):
        V, theta = state.vectors(), state.eigenvalues
        assert_allclose(V.T @ V, np.eye(k), atol=1e-10)
        R = np.linalg.norm(A @ V - V * theta, axis=0)
        scale = np.maximum(np.abs(theta), 0.01 * np.abs(theta).max())
        assert R.max() <= state.residual * scale.max() * (1 + 1e-6) + 1e-10
        assert all(np.abs(lambdas - t).min() <= r + 1e-10 for t, r in zip(theta, R, strict=True))
        if state.residual < 1e-9:
            break
        assert step < 300
    assert_allclose(state.eigenvalues, target, rtol=1e-7, atol=1e-7)


@settings(max_examples=100)
@given(
    seed=st.integers(0, 1000),
    n=st.integers(2, 120),
    k=st.integers(1, 6),
    repeat=st.integers(1, 3),
    fall=st.sampled_from([0.0, 0.1, 0.5, 2.0]),
    rotate=st.booleans(),
)
def test_a_few_eigenpairs_are_the_largest_or_none(seed, n, k, repeat, fall, rotate):
    rng = np.random.default_rng(seed)
    k = min(k, n)
    lambdas = rng.normal(size=n) * np.exp(-fall * np.arange(n))
    lambdas[:repeat] = lambdas[0]  # one vector sees one copy
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0] if rotate else np.eye(n)
    A = (Q * lambdas) @ Q.T
    A = (A + A.T) / 2
    found = few_eigenpairs(A, k)
    if found is not None:
        theta, V = found
        size = np.abs(lambdas).max()
        assert_allclose(theta, np.sort(lambdas)[::-1][:k], rtol=0, atol=1e-13 * size)
        assert_allclose(A @ V, V * theta, rtol=0, atol=1e-13 * size)
        assert_allclose(V.T @ V, np.eye(k), atol=1e-13)


@settings(max_examples=20)
@given(seed=st.integers(0, 1000), degree=st.integers(1, 3), coef0=st.sampled_from([0.0, 1.5]))
def test_centring_is_that_of_the_features(seed, degree, coef0):
    rng = np.random.default_rng(seed)
    X, new = rng.normal(size=(30, 2)) + 1.0, rng.normal(size=(7, 2))
    K = Polynomial(degree, gamma=0.5, coef0=coef0)
    phi, mean = K.feature_map(X), K.feature_map(X).mean(axis=0)
    _, sigma, W = np.linalg.svd(phi - mean, full_matrices=False)
    model = KernelPCA(2, kernel=K).fit(X)
    assert_allclose(model.eigenvalues_, sigma[:2] ** 2, rtol=1e-8)
    expected = (K.feature_map(new) - mean) @ W[:2].T
    found = model.transform(new)
    signs = np.sign((found * expected).sum(axis=0))
    assert_allclose(found, expected * signs, rtol=1e-6, atol=1e-7 * sigma[0])


@pytest.mark.parametrize("solver", SOLVERS)
def test_components_are_uncorrelated_with_the_variances_told(solver):
    X = sample()
    Z = KernelPCA(5, kernel="rbf", gamma=2.0, eigen_solver=solver, random_state=0).fit(X)
    C = Z.transform(X)
    assert_allclose(C.mean(axis=0), 0.0, atol=1e-9)
    assert_allclose(C.T @ C, np.diag(Z.eigenvalues_), atol=1e-6)


# (b) the naive version


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kernel", [RBF(2.0), Polynomial(3), Linear()])
def test_naive(solver, kernel):
    X, k = sample(), 3
    values, V = naive(kernel(X))
    model = KernelPCA(k, kernel=kernel, eigen_solver=solver, random_state=0)
    Z = model.fit_transform(X)
    assert_allclose(model.eigenvalues_, values[:k], rtol=1e-9)
    assert_allclose(np.abs(Z), np.abs(V[:, :k] * np.sqrt(values[:k])), atol=1e-6)
    assert_allclose(model.transform(X), Z, atol=1e-7)
    assert (np.abs(model.eigenvectors_).max(axis=0) == model.eigenvectors_.max(axis=0)).all()


# (c) references


@pytest.mark.parametrize("solver", ["auto", "dense", "arpack", "randomized"])
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid", "cosine"])
def test_agrees_with_scikit_learn(solver, kernel):
    X, new = sample(300), sample(20, seed=1)
    options = {"kernel": kernel, "gamma": 0.3, "degree": 2, "coef0": 0.1, "random_state": 0}
    ours, theirs = (
        cls(3, eigen_solver=solver, **options).fit(X)
        for cls in (KernelPCA, sklearn.decomposition.KernelPCA)
    )
    assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-7)
    assert_allclose(ours.transform(new), theirs.transform(new), atol=1e-6)
    assert ours.gamma_ == theirs.gamma_


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_the_way_back_agrees_with_scikit_learn(kernel):
    X = sample(100)
    ours, theirs = (
        cls(5, kernel=kernel, gamma=1.0, alpha=0.1, fit_inverse_transform=True).fit(X)
        for cls in (KernelPCA, sklearn.decomposition.KernelPCA)
    )
    Z = theirs.transform(X[:9])
    assert_allclose(ours.inverse_transform(Z), theirs.inverse_transform(Z), rtol=1e-7, atol=1e-9)
    assert_allclose(ours.X_transformed_fit_, theirs.X_transformed_fit_, atol=1e-8)


def test_all_components_and_zero_variances():
    X = sample(30)
    assert KernelPCA().fit_transform(X).shape == (30, 4)
    assert KernelPCA(10).fit_transform(X).shape == (30, 10)
    assert KernelPCA(10, remove_zero_eig=True).fit_transform(X).shape == (30, 4)
    assert_allclose(KernelPCA(10).fit(X).transform(X)[:, 4:], 0.0)
    constant = KernelPCA(2, eigen_solver="lanczos").fit(np.ones((300, 3)))
    assert_array_equal(constant.eigenvalues_, 0.0)


@pytest.mark.parametrize("k", [None, 1, 4])
def test_the_linear_kernel_of_few_columns_is_pca_and_keeps_the_digits(k):
    X = sample(50) * [3.0, 2.0, 5.0, 9.0] + 1e6
    model, dense = KernelPCA(k), KernelPCA(k, eigen_solver="dense")
    Z, expected = model.fit_transform(X), dense.fit_transform(X - 1e6)
    assert_allclose(Z, expected, atol=1e-8)
    assert_allclose(model.transform(X), expected, atol=1e-3)
    sigma = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    assert_allclose(model.eigenvalues_, sigma[:k] ** 2, rtol=1e-9)


@pytest.mark.parametrize("k", [2, 30])
def test_auto_takes_lanczos_for_few_of_many(k):
    X = np.random.default_rng(0).normal(size=(1000, 8))
    values, _ = naive(RBF(0.1)(X))
    model = KernelPCA(k, kernel="rbf", gamma=0.1, random_state=0).fit(X)
    assert model.n_iter_ > 1
    assert_allclose(model.eigenvalues_, values[:k], rtol=1e-10)


@pytest.mark.parametrize("name", ["load_iris", "load_wine"])
def test_few_components_of_few_rows_are_those_of_lapack(name):
    X = getattr(sklearn.datasets, name)().data
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    K = RBF(1 / X.shape[1])(X)
    values, V = naive(K)
    theta, found = few_eigenpairs(centred(K), 2)
    assert_allclose(theta, values[:2], rtol=0, atol=1e-14 * values[0])
    assert_allclose(np.abs((found * V[:, :2]).sum(axis=0)), 1.0, rtol=1e-14)
    auto = KernelPCA(2, kernel="rbf").fit(X)
    assert_allclose(auto.eigenvalues_, values[:2], rtol=1e-13)


def test_a_second_copy_that_one_vector_cannot_see_is_not_passed_over():
    A = np.diag([9.0, 9.0, 5.0, *np.geomspace(1.0, 1e-9, 97)])
    assert few_eigenpairs(A, 1) is None  # 9 is found with no residual: of which copy?
    assert few_eigenpairs(A[1:, 1:], 1) is not None
    A = np.diag([1.0, 1e-9, 1e-9, *np.zeros(97)])  # the copy is less than ‖A‖² rounds to
    assert few_eigenpairs(A, 2) is None


def test_a_flat_spectrum_is_left_to_lapack_before_the_first_pass(monkeypatch):
    monkeypatch.setattr("mlreplica.decomposition._few_pairs.lengthen", None)
    assert few_eigenpairs(np.eye(150) + 0.1 * np.diag(np.linspace(0.0, 1.0, 150)), 2) is None
    assert few_eigenpairs(np.zeros((150, 150)), 2) is None
    assert few_eigenpairs(np.full((150, 150), 1e200), 2) is None


# sparse, precomputed, functions, single precision


def test_other_inputs():
    X = sample(250)
    X[X < 0.1] = 0.0
    kernel = RBF(0.7)
    base = KernelPCA(3, kernel=kernel, random_state=0)
    expected = base.fit_transform(X)
    S = sp.csr_array(X)
    assert_allclose(clone(base).fit_transform(S), expected, atol=1e-7)
    assert_allclose(clone(base).fit(S).transform(S), expected, atol=1e-7)
    K = kernel(X)
    given = KernelPCA(3, kernel="precomputed", random_state=0).fit(K)
    assert_allclose(given.transform(K), expected, atol=1e-7)
    single = clone(base).fit(X.astype("f4"))
    assert single.eigenvalues_.dtype == single.transform(X.astype("f4")).dtype == np.float32
    assert_allclose(np.abs(single.transform(X.astype("f4"))), np.abs(expected), atol=1e-4)
    jitted = KernelPCA(2, kernel=minima).fit(X)
    plain = KernelPCA(2, kernel=minima.py_func).fit(X)
    assert_allclose(jitted.eigenvalues_, plain.eigenvalues_, rtol=1e-10)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_components": 0}, ValueError, "'n_components' parameter"),
        ({"kernel": "gauss"}, ValueError, "'kernel' parameter"),
        ({"kernel": "precomputed"}, ValueError, "Precomputed metric requires shape"),
        (
            {"kernel": "precomputed", "fit_inverse_transform": True},
            ValueError,
            "Cannot fit_inverse_transform with a precomputed kernel",
        ),
        ({"eigen_solver": "power"}, ValueError, "'eigen_solver' parameter"),
    ],
)
def test_bad_input(parameters, error, message):
    with pytest.raises(error, match=message):
        KernelPCA(**parameters).fit(sample(30))


def test_what_cannot_be_undone():
    with pytest.raises(NotFittedError, match="fit_inverse_transform=True"):
        KernelPCA(2).fit(sample(30)).inverse_transform(np.ones((1, 2)))
    with pytest.raises(NotImplementedError, match="sparse"):
        KernelPCA(2, fit_inverse_transform=True).fit(sp.csr_array(sample(30)))


@pytest.mark.parametrize("solver", SOLVERS)
def test_an_indefinite_matrix(solver):
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(500, 500)))[0]
    values = np.r_[5.0, 4.0, -6.0, np.zeros(497)]
    K = (Q * values) @ Q.T
    model = KernelPCA(2, kernel="precomputed", eigen_solver=solver, random_state=0)
    if solver == "randomized":  # by modulus, as documented
        with pytest.raises(ValueError, match="significant negative eigenvalues"):
            model.fit(K)
    else:
        assert_allclose(model.fit(K).eigenvalues_, naive(K)[0][:2], rtol=1e-8)


# (d) scikit-learn


@parametrize_with_checks([KernelPCA(), KernelPCA(kernel="rbf", eigen_solver="lanczos")])
def test_estimator_checks(estimator, check):
    if "check_array_api_input" in str(check):  # it wants the way back; so for scikit-learn's too
        estimator.set_params(fit_inverse_transform=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Singular matrix", UserWarning)
        check(estimator)


@pytest.mark.parametrize("solver", ["lanczos", "randomized"])
@pytest.mark.parametrize("k", [3, 9, 20])
def test_more_components_than_the_rank(solver, k):
    X = np.random.default_rng(0).normal(size=(600, 2))
    model = KernelPCA(k, eigen_solver=solver, random_state=0).fit(X)
    expected = KernelPCA(k, eigen_solver="dense").fit(X)
    assert model.eigenvalues_.shape == (k,)
    assert_allclose(model.eigenvalues_, expected.eigenvalues_, rtol=1e-9)
    assert_allclose(np.abs(model.transform(X)), np.abs(expected.transform(X)), atol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 515, 2051])
def test_half_of_a_symmetric_matrix_is_enough(n):
    rng = np.random.default_rng(n)
    K = rng.normal(size=(n, n))
    K += K.T
    for b in (1, 4):
        V = rng.normal(size=(b, n))
        half = K + np.triu(np.full((n, n), np.nan), 1)  # the rest is not even read
        assert_allclose(symmetric_times(half, V), V @ K, atol=1e-10)
        assert_allclose(symmetric_times(K, np.asfortranarray(V)), V @ K, atol=1e-10)


# callbacks, threads


def test_a_trace_sees_every_pass_and_a_budget_warns():
    X, trace = sample(600), Trace()
    model = KernelPCA(3, kernel="rbf", gamma=5.0, random_state=0).set_callbacks(trace).fit(X)
    assert len(trace.states) == model.n_iter_ > 2
    residuals = [state["residual"] for state in trace.states]
    assert residuals[-1] <= 1e-10 < residuals[-2]
    with pytest.warns(ConvergenceWarning, match="after 2 passes; raise max_iter"):
        KernelPCA(3, kernel="rbf", gamma=5.0, max_iter=2).fit(X)
    loose = KernelPCA(3, kernel="rbf", gamma=5.0, tol=1e-2, random_state=0).fit(X)
    assert loose.n_iter_ < model.n_iter_


def test_threads_and_pickles():
    X = sample(600)
    model = KernelPCA(3, kernel="rbf", gamma=5.0, random_state=0)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: clone(model).fit(X).eigenvalues_, range(6)))
    for values in found:
        assert_allclose(values, found[0], rtol=1e-12)
    twin = pickle.loads(pickle.dumps(model.fit(X)))
    assert_array_equal(twin.transform(X[:5]), model.transform(X[:5]))
