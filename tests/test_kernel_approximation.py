import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.kernel_approximation
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from mlreplica.core.formulas.cos import cos64, cos_in_place
from mlreplica.core.formulas.kernel_words import WORDS
from mlreplica.kernel_approximation import Nystroem, RBFSampler, inverse_root
from mlreplica.kernels import RBF, Linear, Polynomial

NAMES = sorted(WORDS - {"precomputed"})


def sample(n=80, p=3, seed=0):
    return np.random.default_rng(seed).uniform(0.1, 2.0, size=(n, p))


# Nyström


@settings(max_examples=30)
@given(seed=st.integers(0, 1000), m=st.integers(1, 40), gamma=st.floats(0.01, 5.0))
def test_nystroem_is_exact_on_its_sample_and_never_too_long(seed, m, gamma):
    X, new = sample(seed=seed), sample(30, seed=seed + 1)
    model = Nystroem(gamma=gamma, n_components=m, random_state=seed).fit(X)
    K, basis = RBF(gamma), model.components_
    z, z_basis = model.transform(new), model.transform(basis)
    assert_array_equal(basis, X[model.component_indices_])
    assert_allclose(z @ z_basis.T, K(new, basis), atol=1e-6)
    assert ((z**2).sum(axis=1) <= 1.0 + 1e-7).all()  # (2)


def test_the_rest_is_the_distance_from_the_span():
    K = Polynomial(2, gamma=0.5)
    X, new = sample(20, 2), sample(5, 2, seed=1)
    model = Nystroem(K, n_components=4, random_state=0).fit(X)
    span, phi = K.feature_map(model.components_).T, K.feature_map(new).T
    c = np.linalg.lstsq(span, phi)[0]
    rest = ((phi - span @ c) ** 2).sum(axis=0)
    assert_allclose(K.diag(new) - (model.transform(new) ** 2).sum(axis=1), rest, atol=1e-9)


def test_a_finite_kernel_needs_no_more_than_its_features():
    K, X = Polynomial(2, gamma=0.5), sample()
    Z = Nystroem(K, n_components=30, random_state=0).fit_transform(X)
    assert_allclose(Z @ Z.T, K(X), rtol=1e-6)


@pytest.mark.parametrize("gamma", [0.1, 1.0])
def test_the_error_falls_with_the_sample(gamma):
    X = sample(300)
    G = RBF(gamma)(X)
    errors = []
    for m in (5, 20, 80, 300):
        Z = Nystroem(gamma=gamma, n_components=m, random_state=0).fit_transform(X)
        errors.append(np.linalg.norm(G - Z @ Z.T, 2))
    assert errors[1] < 0.5 * errors[0]
    assert errors[2] < 0.5 * errors[1]
    assert errors[-1] < 1e-6 * len(X)


@pytest.mark.parametrize("kernel", NAMES)
def test_nystroem_agrees_with_scikit_learn(kernel):
    X = sample()
    for options in ({}, {"kernel_params": {"gamma": 0.3}}):
        ours, theirs = (
            cls(kernel, n_components=8, random_state=0, **options).fit(X)
            for cls in (Nystroem, sklearn.kernel_approximation.Nystroem)
        )
        assert_array_equal(ours.component_indices_, theirs.component_indices_)
        A, B = ours.transform(X), theirs.transform(X)
        assert_allclose(A @ A.T, B @ B.T, rtol=1e-5, atol=1e-6 * np.abs(B @ B.T).max())


def test_parameters_by_name_go_first_and_the_dict_stays():
    X, params = sample(), {"degree": 2, "coef0": 0.5}
    model = Nystroem("poly", degree=3, kernel_params=params).set_params(n_components=40).fit(X)
    assert model.kernel_ == Polynomial(3, gamma=1 / 3, coef0=0.5)
    assert params == {"degree": 2, "coef0": 0.5}


def test_a_precomputed_matrix_and_a_part_of_it():
    X = sample()
    K = RBF(0.5)(X)
    given, direct = (
        Nystroem(kernel, n_components=20, random_state=0).fit(data).transform(data)
        for kernel, data in (("precomputed", K), (RBF(0.5), X))
    )
    assert_allclose(given, direct, atol=1e-9)


def test_inverse_root():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 3))
    G = A @ A.T
    assert_allclose(inverse_root(G) @ inverse_root(G), np.linalg.pinv(G), atol=1e-9)
    assert_array_equal(inverse_root(np.zeros((3, 3))), 0.0)


def test_more_features_than_rows():
    with pytest.warns(UserWarning, match=r"n_components > n_samples"):
        model = Nystroem(n_components=99).fit(sample(10))
    assert model.transform(sample(4)).shape == (4, 10)


@pytest.mark.parametrize("kernel", ["precomputed", lambda u, v: u @ v])
def test_parameters_that_are_not_for_functions(kernel):
    with pytest.raises(ValueError, match="Don't pass gamma, coef0 or degree"):
        Nystroem(kernel, gamma=1.0, n_components=3).fit(sample(5, 5))


def test_kernels_of_rows():
    X = sample(30)
    function = Nystroem(lambda u, v: u @ v, n_components=5, random_state=0).fit_transform(X)
    kernel = Nystroem(Linear(), n_components=5, random_state=0).fit_transform(X)
    assert_allclose(function, kernel, atol=1e-7)


# random Fourier features


@settings(max_examples=15)
@given(seed=st.integers(0, 1000), gamma=st.floats(0.05, 2.0))
def test_waves_have_the_kernel_as_mean_and_the_deviation_told(seed, gamma):
    m, draws = 50, 400
    u, v = np.random.default_rng(seed).normal(size=(2, 1, 3))
    K = float(RBF(gamma)(u, v)[0, 0])
    model = RBFSampler(gamma=gamma, n_components=m * draws, random_state=seed).fit(u)
    z, t = (model.transform(x).reshape(draws, m) for x in (u, v))
    products = draws * (z * t).sum(axis=1)  # as many samplers with m waves each
    deviation = np.sqrt((1 + K**4 / 2 - K**2) / m)  # K(2u, 2v) = K⁴
    assert abs(np.mean(products) - K) < 5 * deviation / np.sqrt(draws)
    assert 0.75 < np.std(products) / deviation < 1.25


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("gamma", [0.5, "scale", 0.0])
def test_waves_are_those_of_scikit_learn(dtype, gamma):
    X = sample(3000, 7).astype(dtype)
    ours, theirs = (
        cls(gamma=gamma, n_components=150, random_state=0).fit(X)
        for cls in (RBFSampler, sklearn.kernel_approximation.RBFSampler)
    )
    assert_allclose(
        ours.random_weights_, theirs.random_weights_, rtol=1e-14 if dtype == "f8" else 2e-7
    )
    assert_array_equal(ours.random_offset_, theirs.random_offset_)
    Z = ours.transform(X)
    assert Z.dtype == X.dtype
    assert_allclose(Z, theirs.transform(X), atol=1e-15 if dtype == "f8" else 1e-6)
    assert_allclose(ours.transform(sp.csr_array(X)), Z, atol=1e-14 if dtype == "f8" else 1e-6)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (RBFSampler(gamma=-1.0), "'gamma' parameter"),
        (RBFSampler(n_components=0), "'n_components' parameter"),
        (Nystroem(n_components=0), "'n_components' parameter"),
        (Nystroem("gauss"), "'kernel' parameter"),
        (Nystroem("precomputed", n_components=2), "Precomputed metric requires shape"),
    ],
)
def test_bad_input(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(sample())


@parametrize_with_checks([Nystroem(n_components=10), RBFSampler(n_components=10)])
def test_estimator_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "n_components > n_samples", UserWarning)
        check(estimator)


@pytest.mark.parametrize("model", [Nystroem(n_components=30), RBFSampler()])
def test_threads_and_pickles(model):
    X = sample(4000)
    model = clone(model).set_params(random_state=0).fit(X)
    expected = model.transform(X)
    with ThreadPoolExecutor(4) as pool:
        for Z in pool.map(model.transform, [X] * 6):
            assert_allclose(Z, expected, rtol=1e-12, atol=1e-12)
    assert_array_equal(pickle.loads(pickle.dumps(model)).transform(X), expected)


# the cosine


@settings(max_examples=50)
@given(st.lists(st.floats(-1e6, 1e6), max_size=40))
def test_cosine_within_the_last_digits(numbers):
    a = np.array([*numbers, 0.0, np.pi / 2, -np.pi, 1e6])
    expected = np.cos(a)
    cos64(a)
    assert_allclose(a, expected, atol=4e-16)


def test_cosine_of_blocks_of_far_and_of_no_numbers():
    a = np.linspace(-50, 50, 5001).reshape(3, 1667)
    b = a.copy()
    cos_in_place(b)
    assert_allclose(b, np.cos(a), atol=4e-16)
    far = np.array([1e300, 1.0])
    cos_in_place(far)
    assert_array_equal(far, np.cos([1e300, 1.0]))
    nothing = np.array([np.nan, 0.0])
    cos_in_place(nothing)
    assert np.isnan(nothing[0])
    assert nothing[1] == 1.0
