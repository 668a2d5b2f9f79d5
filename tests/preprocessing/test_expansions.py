"""Products and splines: the naive recursion, scikit-learn, and what splines promise"""

from itertools import combinations, combinations_with_replacement

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.preprocessing as theirs
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import mlreplica.preprocessing as ours


@given(p=st.integers(1, 5), degree=st.integers(1, 4), alone=st.booleans(), bias=st.booleans())
def test_products_are_all_products(p, degree, alone, bias):
    X = np.random.default_rng(p).normal(size=(7, p))
    choose = combinations if alone else combinations_with_replacement
    places = [c for g in range(not bias, degree + 1) for c in choose(range(p), g)]
    naive = np.array([X[:, list(c)].prod(axis=1) for c in places]).T
    model = ours.PolynomialFeatures(degree, interaction_only=alone, include_bias=bias)
    assert_allclose(model.fit_transform(X), naive, rtol=1e-12)
    sparse = model.fit_transform(sp.csr_array(X))
    assert_allclose(sparse.toarray(), naive, rtol=1e-12)


@pytest.mark.parametrize("degree", [(2, 3), (0, 2), (3, 3)])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_agree_with_scikit_learn(degree, order, dtype):
    X = np.random.default_rng(0).normal(size=(40, 4)).astype(dtype)
    mine, reference = (m.PolynomialFeatures(degree, order=order).fit(X) for m in (ours, theirs))
    Z = mine.transform(X)
    assert Z.dtype == dtype
    assert Z.flags[f"{order}_CONTIGUOUS"]
    assert_allclose(Z, reference.transform(X), rtol=1e-5)
    assert_array_equal(mine.powers_, reference.powers_)
    assert_array_equal(mine.get_feature_names_out(), reference.get_feature_names_out())


def cox_de_boor(t, i, d, x):
    """The recursion as it is written in a book, on half-open intervals."""
    if d == 0:
        return ((t[i] <= x) & (x < t[i + 1])).astype(float)
    left = (x - t[i]) / (t[i + d] - t[i]) * cox_de_boor(t, i, d - 1, x)
    width = t[i + d + 1] - t[i + 1]
    return left + (t[i + d + 1] - x) / width * cox_de_boor(t, i + 1, d - 1, x)


@given(seed=st.integers(0, 10_000), d=st.integers(0, 5), knots=st.integers(2, 7))
def test_splines_are_the_recursion_of_cox_and_de_boor(seed, d, knots):
    rng = np.random.default_rng(seed)
    base = np.sort(rng.uniform(-3, 3, knots)) + 0.1 * np.arange(knots)
    x = rng.uniform(base[0], base[-1], 50)
    model = ours.SplineTransformer(knots=base[:, None], degree=d).fit(base[:, None])
    t = model.bsplines_[0].t
    naive = np.array([cox_de_boor(t, i, d, x) for i in range(len(t) - d - 1)]).T
    assert_allclose(model.transform(x[:, None]), naive, atol=1e-9)


@pytest.mark.parametrize("extrapolation", ["constant", "linear", "continue", "periodic"])
@pytest.mark.parametrize("knots", ["uniform", "quantile"])
@pytest.mark.parametrize("degree", [2, 3, 4])
@pytest.mark.parametrize("sparse", [False, True])
def test_splines_agree_with_scikit_learn(extrapolation, knots, degree, sparse):
    X = np.random.default_rng(0).normal(size=(100, 3))
    beyond = np.vstack([X, 3 * X])
    options = {
        "degree": degree,
        "knots": knots,
        "extrapolation": extrapolation,
        "sparse_output": sparse,
        "n_knots": 6,
        "include_bias": False,
    }
    Z, expected = (m.SplineTransformer(**options).fit(X).transform(beyond) for m in (ours, theirs))
    if sparse:
        Z, expected = Z.toarray(), expected.toarray()
    assert_allclose(Z, expected, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("extrapolation", ["constant", "linear", "continue", "periodic", "natural"])
@pytest.mark.parametrize("degree", [2, 3, 5])
def test_splines_sum_to_one_everywhere(extrapolation, degree):
    x = np.linspace(0, 1, 50)[:, None]
    model = ours.SplineTransformer(7, degree, extrapolation=extrapolation).fit(x)
    Z = model.transform(np.linspace(-1, 2, 301)[:, None])
    assert_allclose(Z.sum(axis=1), 1.0, rtol=1e-9)


@pytest.mark.parametrize("degree", [3, 4, 5])
@pytest.mark.parametrize("n_knots", [2, 3, 6])
def test_natural_splines_are_lines_beyond_and_have_no_curvature_at_the_ends(degree, n_knots):
    x = np.linspace(0, 1, 50)[:, None]
    model = ours.SplineTransformer(n_knots, degree, extrapolation="natural").fit(x)
    h = 1e-4
    for end in (0.0, 1.0):
        inside = end + np.array([[0.0], [1.0], [2.0]]) * (h if end == 0.0 else -h)
        bend = np.diff(model.transform(inside), 2, axis=0) / h**2
        assert np.abs(bend).max() < 0.2 * n_knots**3  # O(h) of the third derivative, not O(1)
        assert np.abs(bend).max() * h < 1e-2
    outside = np.linspace(1, 5, 9)[:, None]
    assert_allclose(np.diff(model.transform(outside), 2, axis=0), 0, atol=1e-9)
    assert model.transform(x).shape[1] == n_knots + degree - 3


@pytest.mark.parametrize("extrapolation", ["constant", "linear", "continue", "periodic", "natural"])
@pytest.mark.parametrize("knots", ["uniform", "quantile"])
def test_splines_of_a_constant_column_are_zero(knots, extrapolation):
    model = ours.SplineTransformer(knots=knots, extrapolation=extrapolation)
    assert_array_equal(model.fit_transform(np.ones((9, 1))), 0.0)


def test_periodic_splines_return():
    x = np.linspace(0, 24, 49)[:, None]
    model = ours.SplineTransformer(6, extrapolation="periodic").fit(x)
    assert_allclose(model.transform(x), model.transform(x + 240), atol=1e-9)


def test_natural_needs_curvature():
    with pytest.raises(ValueError, match="degree >= 2"):
        ours.SplineTransformer(degree=1, extrapolation="natural").fit([[0.0], [1.0]])
    with pytest.raises(ValueError, match="n_knots >= 3"):
        ours.SplineTransformer(2, 2, extrapolation="natural").fit([[0.0], [1.0]])
