"""The five steps, every solver, digits, weights; IncrementalPCA, TruncatedSVD and NMF beside it"""

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.decomposition as reference
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import nnls
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from mlreplica.callbacks import Trace
from mlreplica.datasets import load_digits, load_iris, load_wine
from mlreplica.decomposition import NMF, PCA, IncrementalPCA, KernelPCA, TruncatedSVD

SOLVERS = ["auto", "full", "covariance_eigh", "arpack", "lanczos", "randomized"]
NAMES = ["components_", "explained_variance_", "explained_variance_ratio_", "singular_values_"]


def rows(n=60, p=6, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)) * 2.0 ** -np.minimum(np.arange(p), 6) + 5.0


def five_steps(X, k, standardize=False):
    """Standardise, covariance, eigenvectors, choose, project."""
    Z = X - X.mean(axis=0)
    if standardize:
        Z = Z / X.std(axis=0)
    values, V = np.linalg.eigh(Z.T @ Z / (len(Z) - 1))
    V = V[:, ::-1][:, :k]
    V = V * np.sign(V[np.abs(V).argmax(axis=0), np.arange(k)])
    return values[::-1][:k], V.T, Z @ V


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shape", [(60, 6), (8, 30), (300, 120)])
def test_every_solver_does_the_five_steps(shape, solver, standardize):
    X = rows(*shape)
    X[:, 0] += X[:, 1]
    k = 3
    model = PCA(k, svd_solver=solver, standardize=standardize, random_state=0)
    T = model.fit_transform(X)
    values, V, expected = five_steps(X, k, standardize)
    if solver == "randomized" and shape[0] == 300:  # flat after standardising: a few digits
        assert_allclose(model.explained_variance_, values, rtol=2e-3)
        return
    assert_allclose(model.explained_variance_, values, rtol=1e-6)
    assert_allclose(model.components_, V, atol=1e-4)
    assert_allclose(T, expected, atol=1e-3)
    assert_allclose(model.transform(X), T, atol=1e-10)
    assert_allclose(model.inverse_transform(T)[:, 0].mean(), X[:, 0].mean())


@pytest.mark.parametrize("solver", ["auto", "full", "covariance_eigh", "arpack"])
@pytest.mark.parametrize("whiten", [False, True])
def test_agrees_with_scikit_learn(solver, whiten):
    X = load_wine().data
    ours = PCA(4, svd_solver=solver, whiten=whiten, random_state=0).fit(X)
    theirs = reference.PCA(4, svd_solver="full", whiten=whiten).fit(X)
    for name in [*NAMES, "mean_", "noise_variance_"]:
        assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-6, atol=1e-7)
    assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-6)
    if whiten:  # scikit-learn's model then has components scaled twice; ours does not change
        theirs = reference.PCA(4, svd_solver="full").fit(X)
    assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-6)
    assert_allclose(ours.get_precision(), theirs.get_precision(), rtol=1e-5, atol=1e-9)


@given(seed=st.integers(0, 500), n=st.integers(3, 30), p=st.integers(1, 6))
def test_a_weight_is_a_number_of_repetitions(seed, n, p):
    rng = np.random.default_rng(seed)
    X, s = rng.normal(size=(n, p)), rng.integers(0, 3, size=n)
    s[:2] = 1
    k = min(p, int((s > 0).sum()) - 1)
    for options in ({}, {"standardize": True}, {"svd_solver": "full"}):
        a = PCA(k, **options).fit(X, sample_weight=s)
        b = PCA(k, **options).fit(np.repeat(X, s, axis=0))
        assert_allclose(a.mean_, b.mean_, atol=1e-10)
        assert_allclose(a.explained_variance_, b.explained_variance_, atol=1e-9)
        assert_allclose(a.get_covariance() @ X.T, b.get_covariance() @ X.T, atol=1e-6)


@pytest.mark.parametrize("solver", ["auto", "full", "covariance_eigh", "arpack", "lanczos"])
@pytest.mark.parametrize("k", [None, 2, 7])
def test_weights_of_few_rows_are_repetitions(k, solver):
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(5, 8)), np.array([2, 0, 3, 1, 4])
    a = PCA(k, svd_solver=solver).fit(X, sample_weight=s)
    b = PCA(k, svd_solver=solver).fit(np.repeat(X, s, axis=0))
    assert a.n_components_ == b.n_components_
    assert_allclose(a.noise_variance_, b.noise_variance_, rtol=1e-10, atol=1e-12)
    assert_allclose(a.transform(X), b.transform(X), atol=1e-10)
    assert_allclose(a.components_ @ a.components_.T, np.eye(a.n_components_), atol=1e-12)


def test_axes_without_variance_are_the_first_free_columns():
    X = np.zeros((6, 4))
    X[:, 2] = np.arange(6.0)
    assert_allclose(PCA().fit(X).components_, np.eye(4)[[2, 0, 1, 3]], atol=1e-12)
    assert_allclose(PCA().fit(np.ones((6, 4))).components_, np.eye(4))


def exact_covariance(X):
    n = len(X)
    columns = [[Fraction(float(x)) for x in column] for column in X.T]
    centred = [[x - sum(c) / n for x in c] for c in columns]
    return np.array(
        [
            [float(sum(a * b for a, b in zip(u, v, strict=True)) / (n - 1)) for v in centred]
            for u in centred
        ]
    )


@pytest.mark.parametrize("solver", SOLVERS)
def test_columns_far_from_zero_lose_nothing(solver):
    X = rows(40, 4) + 1e8  # rounded to 1e-8: that is the data now
    C = exact_covariance(X)
    values = np.linalg.eigvalsh(C)[::-1]
    model = PCA(3, svd_solver=solver, random_state=0).fit(X)
    assert_allclose(model.explained_variance_, values[:3], rtol=1e-12)
    assert_allclose(C @ model.components_.T, model.components_.T * values[:3], atol=1e-10)
    T = model.transform(X)
    assert_allclose(T.T @ T / 39, np.diag(values[:3]), atol=1e-7 * values[0])


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_tall_matrix_is_not_copied(solver, dtype):
    X = np.random.default_rng(0).normal(size=(400_000, 20)).astype(dtype)  # blocks are smaller
    assert memory_of_fit(PCA(2, svd_solver=solver), X) < 0.3 * X.nbytes


@pytest.mark.parametrize("options", [{}, {"standardize": True}, {"whiten": True}])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
def test_no_option_copies_a_tall_matrix(options, weighted, order):
    X = np.asarray(np.random.default_rng(0).normal(size=(400_000, 20)), order=order)
    weights = {"sample_weight": np.ones(len(X))} if weighted else {}
    assert memory_of_fit(PCA(2, **options), X, **weights) < 0.3 * X.nbytes


def memory_of_fit(model, X, **weights):
    """The most bytes that a fit holds beside X; all is compiled before."""
    clone(model).fit(X[:1000])
    tracemalloc.start()
    model.fit(X, **weights)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


FAR = [PCA(5, svd_solver=solver, random_state=0) for solver in SOLVERS]


@pytest.mark.parametrize("model", [*FAR, IncrementalPCA(batch_size=1000)], ids=repr)
def test_many_rows_far_from_zero_lose_nothing(model):
    X = np.random.default_rng(0).normal(size=(30_000, 20)) * np.arange(1.0, 21.0) + 1e8
    Z = X - 1e8  # exact
    Z -= Z.mean(axis=0)
    found = clone(model).fit(X).singular_values_
    assert_allclose(found, np.linalg.svd(Z, compute_uv=False)[: len(found)], rtol=1e-13)


@pytest.mark.parametrize("offset", [0.0, 0.9, 50.0])
@pytest.mark.parametrize("order", ["C", "F"])
def test_large_rows_about_any_origin(offset, order):
    """Rows near zero are multiplied where they lie, others about an origin."""
    X = np.random.default_rng(0).normal(size=(60_000, 20)) * np.arange(1.0, 21.0) ** 0.5
    Z = X - X.mean(axis=0)
    model = PCA().fit(np.asarray(X + offset, order=order))
    assert_allclose(model.explained_variance_, np.linalg.eigvalsh(Z.T @ Z)[::-1] / 59_999)
    assert_allclose(model.mean_, X.mean(axis=0) + offset, rtol=0, atol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_large_matrix_must_be_finite(bad):
    X = np.random.default_rng(0).normal(size=(60_000, 20))
    X[54_321, 3] = bad
    with pytest.raises(ValueError, match="Input X contains"):
        PCA().fit(X)


def test_a_large_matrix_whose_squares_overflow_is_refused_with_advice():
    X = 1e160 * np.random.default_rng(0).normal(size=(60_000, 20))
    with pytest.raises(ValueError, match="overflowed"):
        PCA().fit(X)


def test_small_components_keep_their_digits_by_a_triangle():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(500, 4)))[0]
    Q -= Q.mean(axis=0)
    Q = np.linalg.qr(Q)[0]
    sizes = np.array([1.0, 1e-3, 1e-7, 1e-10])
    X = Q * sizes @ np.linalg.qr(rng.normal(size=(4, 4)))[0]
    assert_allclose(PCA().fit(X).singular_values_, sizes, rtol=1e-5)
    assert_allclose(PCA(svd_solver="full").fit(X).singular_values_, sizes, rtol=1e-5)


def test_likelihood_is_that_of_the_gaussian():
    X = load_iris().data
    model = PCA(2).fit(X)
    normal = multivariate_normal(model.mean_, model.get_covariance())
    assert_allclose(model.score_samples(X), normal.logpdf(X), rtol=1e-10)
    assert_allclose(model.get_covariance() @ model.get_precision(), np.eye(4), atol=1e-10)


@given(seed=st.integers(0, 100), k=st.integers(1, 4))
def test_minka_finds_the_dimension(seed, k):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 8))
    X[:, :k] *= 6.0
    found = PCA("mle").fit(X).n_components_
    assert k <= found == reference.PCA("mle").fit(X).n_components_


def test_share_of_the_variance():
    X = load_digits().data
    for share in (0.5, 0.9, 0.99):
        model = PCA(share).fit(X)
        assert model.explained_variance_ratio_.sum() > share
        assert model.explained_variance_ratio_[:-1].sum() <= share


@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("solver", ["auto", "arpack", "covariance_eigh"])
def test_sparse_rows(make, solver):
    X = sp.random_array((300, 200), density=0.1, rng=np.random.default_rng(0), format="csr")
    X = (X @ sp.diags_array(0.9 ** np.arange(200))).toarray()
    ours = PCA(5, svd_solver=solver, random_state=0).fit(make(X))
    theirs = reference.PCA(5, svd_solver="full").fit(X)
    for name in NAMES:
        assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-7, atol=1e-8)
    assert_allclose(ours.transform(make(X)), theirs.transform(X), atol=1e-8)


def test_explain_tells_correlations():
    data = load_wine(as_frame=True)
    model = PCA(2, standardize=True).fit(data.data)
    table = model.explain()
    T = model.transform(data.data)
    expected = np.corrcoef(data.data.to_numpy().T, T.T)[:13, 13:]
    assert_allclose(table.loadings * np.sqrt(177 / 178), expected, atol=1e-10)
    assert "flavanoids" in str(table)
    with pytest.raises(ValueError, match="13 names"):
        model.explain(["a"])


@pytest.mark.parametrize("solver", SOLVERS)
def test_odd_input(solver):
    constant = np.column_stack([np.arange(10.0), np.full(10, 7.0), np.arange(10.0) ** 2])
    model = PCA(2, svd_solver=solver, standardize=True, random_state=0).fit(constant)
    assert np.isfinite(model.transform(constant)).all()
    assert abs(model.components_[:, 1]).max() < 1e-10
    with pytest.raises(ValueError, match="NaN"):
        PCA(svd_solver=solver).fit([[1.0, np.nan], [2.0, 3.0]])
    tiny = PCA(1, svd_solver=solver, random_state=0).fit(1e-300 * constant)
    assert_allclose(tiny.singular_values_, 1e-300 * PCA(1).fit(constant).singular_values_)
    with pytest.raises(ValueError, match="overflow"):
        PCA(1, svd_solver="full").fit(1e300 * constant)


def test_one_row_and_all_rows_equal():
    with np.errstate(all="raise"):
        model = PCA().fit(np.ones((5, 3)))
    assert_allclose(model.explained_variance_ratio_, 0.0)
    assert_allclose(PCA(1).fit([[1.0, 2.0]]).explained_variance_, 0.0)


def test_lanczos_is_traced():
    trace = Trace()
    X = np.random.default_rng(0).normal(size=(600, 550)) * 0.97 ** np.arange(550)
    PCA(3, svd_solver="lanczos", random_state=0).set_callbacks(trace).fit(X)
    assert trace.states[-1]["residual"] <= 1e-10


# ------------------------------------------------------------------------------------- its family


ODD = {
    "a constant column": [[1.0, 3.0, 0.0], [2.0, 3.0, 5.0], [4.0, 3.0, 1.0], [0.0, 3.0, 2.0]],
    "equal rows": np.full((6, 3), 2.0),
    "zeros": np.zeros((6, 3)),
    "more columns than rows": np.arange(18.0).reshape(2, 9) ** 2,
    "one row": [[1.0, 2.0, 3.0]],
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize(
    "model", [PCA(1), IncrementalPCA(1), TruncatedSVD(1), NMF(1), KernelPCA(1)], ids=repr
)
def test_odd_rows_have_finite_components(model, name):
    X = np.array(ODD[name])
    T = clone(model).fit_transform(X)
    assert T.shape == (len(X), 1)
    again = clone(model).fit(X).transform(X)
    assert_allclose(again, T, atol=1e-3 * np.abs(X).max())  # NMF stops at a tolerance
    if name in ("equal rows", "one row") and not isinstance(model, TruncatedSVD | NMF):
        assert_allclose(T, 0.0, atol=1e-12)


def test_incremental_pca_with_all_components_is_pca():
    X = rows(200, 5)
    ours = IncrementalPCA(batch_size=30).fit(X)
    theirs = PCA().fit(X)
    for name in [*NAMES, "mean_"]:
        assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9, atol=1e-10)


def test_incremental_pca_agrees_with_scikit_learn():
    X = load_digits().data
    ours = IncrementalPCA(10, batch_size=200).fit(X)
    theirs = reference.IncrementalPCA(10, batch_size=200).fit(X)
    for name in [*NAMES, "mean_", "var_", "noise_variance_"]:
        assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("algorithm", ["randomized", "arpack", "lanczos"])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_truncated_svd_knows_its_error(algorithm, make):
    rng = np.random.default_rng(0)
    A = sp.random_array((400, 300), density=0.05, rng=rng).toarray() * 0.9 ** np.arange(300)
    exact = np.linalg.svd(A)[1]
    model = TruncatedSVD(4, algorithm=algorithm, random_state=0)
    T = model.fit_transform(make(A))
    error = np.linalg.norm(A - T @ model.components_)
    assert_allclose(model.error_, error, rtol=1e-9)
    best = (exact[4:] ** 2).sum()
    assert error**2 - best <= model.certificate_ + 1e-12
    assert model.certificate_ < 0.6 * best  # and says something
    assert_allclose(model.singular_values_, exact[:4], rtol=1e-4)
    assert_allclose(model.transform(make(A)), T, atol=1e-10)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_truncated_svd_agrees_with_scikit_learn(make):
    A = sp.random_array((60, 20), density=0.3, rng=np.random.default_rng(0)).toarray()
    ours = TruncatedSVD(4, algorithm="lanczos", random_state=0).fit(make(A))
    theirs = reference.TruncatedSVD(4, algorithm="arpack", random_state=0).fit(A)
    for name in NAMES:
        assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-8, atol=1e-10)
    assert_allclose(ours.transform(make(A)), theirs.transform(A), atol=1e-10)


@pytest.mark.parametrize("solver", ["arpack", "covariance_eigh"])
def test_sparse_rows_of_low_rank(solver):
    rng = np.random.default_rng(0)
    X = sp.csr_array(sp.random_array((90, 3), density=0.3, rng=rng) @ rng.normal(size=(3, 12)))
    found = PCA(5, svd_solver=solver, random_state=0).fit(X).singular_values_
    exact = np.linalg.svd(X.toarray() - X.toarray().mean(axis=0), compute_uv=False)[:5]
    assert_allclose(found, exact, atol=1e-6 * exact[0])


@pytest.mark.parametrize("algorithm", ["randomized", "lanczos"])
def test_truncated_svd_keeps_the_digits_of_small_singular_values(algorithm):
    rng = np.random.default_rng(0)
    U, V = (np.linalg.qr(rng.normal(size=(size, 6)))[0] for size in (900, 700))
    exact = np.array([1.0, 1e-2, 1e-4, 1e-6, 0.0, 0.0])
    model = TruncatedSVD(6, algorithm=algorithm, random_state=0).fit((U * exact) @ V.T)
    assert_allclose(model.singular_values_, exact, rtol=1e-6, atol=1e-13)
    assert_allclose(model.components_ @ model.components_.T, np.eye(6), atol=1e-12)


@given(seed=st.integers(0, 200), solver=st.sampled_from(["cd", "mu"]), price=st.booleans())
def test_nmf_never_raises_its_objective(seed, solver, price):
    X = np.abs(np.random.default_rng(seed).normal(size=(15, 8)))
    trace = Trace()
    options = {"alpha_W": 0.05, "l1_ratio": 0.5} if price else {}
    model = NMF(3, solver=solver, tol=0, max_iter=40, random_state=0, **options)
    model.set_callbacks(trace).fit(X)
    objective = np.array([state["objective"] for state in trace.states])
    assert (np.diff(objective) <= 1e-10 * objective[0]).all()
    assert (model.components_ >= 0).all()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"alpha_W": 0.01, "l1_ratio": 0.5},
        {"solver": "mu"},
        {"solver": "mu", "beta_loss": "kullback-leibler"},
        {"solver": "mu", "beta_loss": 1.5},
    ],
)
def test_nmf_agrees_with_scikit_learn(options):
    X = load_digits().data[:200]
    W = np.abs(np.random.default_rng(0).normal(size=(200, 5)))
    H = np.abs(np.random.default_rng(1).normal(size=(5, 64)))
    options = {"init": "custom", "max_iter": 30, "tol": 0} | options
    found = {}
    for package in (reference.NMF, NMF):
        for make in (np.asarray, sp.csr_matrix):
            model = package(5, **options)
            model.fit_transform(make(X), W=W.copy(), H=H.copy())
            found[package, make] = model.components_
    first, *others = found.values()
    for other in others:
        assert_allclose(other, first, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("n", "p", "k"), [(1, 5, 1), (7, 3, 3), (41, 6, 5), (700, 30, 4), (1203, 30, 4), (9001, 7, 4)]
)
def test_nmf_in_registers_is_a_naive_sweep(n, p, k):
    rng = np.random.default_rng(n)
    X, W, H = rng.uniform(size=(n, p)), rng.uniform(size=(n, k)), rng.uniform(size=(k, p))
    model = NMF(k, init="custom", tol=0, max_iter=1)
    found = model.fit_transform(X, W=W, H=H)
    for A, B, Y in ((W, H, X), (H.T, W.T, X.T)):  # in place: W first, H by the new W
        G, b = B @ B.T, Y @ B.T
        for t in range(k):
            A[:, t] = np.maximum(0.0, A[:, t] - (A @ G[t] - b[:, t]) / G[t, t])
    assert_allclose(found, W, rtol=1e-10, atol=1e-13)
    assert_allclose(model.components_, H, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("options", [{"tol": 0, "max_iter": 37}, {"tol": 1e-3}, {"alpha_W": 0.01}])
def test_nmf_shows_callbacks_every_sweep_and_others_the_same_end(options):
    X = np.random.default_rng(0).uniform(size=(50, 9))
    model, watched = (NMF(3, random_state=0, max_iter=1000).set_params(**options) for _ in range(2))
    trace = Trace()
    W, W_watched = model.fit_transform(X), watched.set_callbacks(trace).fit_transform(X)
    assert model.n_iter_ == watched.n_iter_ == len(trace.states) == trace.states[-1]["sweeps"]
    assert model.n_iter_ == options.get("max_iter", model.n_iter_)
    assert_allclose(W, W_watched, rtol=1e-12)
    assert_allclose(model.components_, watched.components_, rtol=1e-12)


def test_nmf_of_new_rows_is_least_squares_of_each():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(1100, 8))
    model = NMF(3, tol=1e-2, random_state=0).fit(X)
    found = model.set_params(tol=1e-12, max_iter=5000).transform(X)
    for i in (0, 511, 512, 1099):
        assert_allclose(found[i], nnls(model.components_.T, X[i])[0], atol=1e-7)
    assert_allclose(model.transform(X[600:601])[0], found[600], atol=1e-7)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_nmf_stops_where_it_starts_if_that_is_the_solution(dtype):
    X = np.random.default_rng(0).uniform(size=(40, 10)).astype(dtype)
    model = NMF(1, random_state=0).fit(X)  # one part: the first singular vectors
    assert model.n_iter_ < 20
    rest = np.linalg.svd(X.astype(float))[1][1:]
    assert_allclose(model.reconstruction_err_, np.linalg.norm(rest), rtol=1e-6)


def test_nmf_recovers_parts():
    rng = np.random.default_rng(0)
    H = np.kron(np.eye(3), np.ones(4))
    W = rng.exponential(size=(100, 3)) * (rng.random((100, 3)) < 0.6)
    model = NMF(3, max_iter=2000, tol=1e-8, random_state=0)
    found = model.fit_transform(W @ H)
    assert model.reconstruction_err_ < 1e-3 * np.linalg.norm(W @ H)
    assert_allclose(found @ model.components_, W @ H, atol=1e-2)
    with pytest.raises(ValueError, match="Negative"):
        NMF(2).fit([[1.0, -1.0], [2.0, 1.0]])


@parametrize_with_checks(
    [
        PCA(),
        PCA(standardize=True),
        PCA(svd_solver="lanczos"),
        IncrementalPCA(),
        TruncatedSVD(),
        NMF(max_iter=500, n_components=1),
    ]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
