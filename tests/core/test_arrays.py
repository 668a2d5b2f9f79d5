"""What stands in for NumPy where functions of users are compiled: the same numbers, faster"""

import math

import numpy as np
import pytest
from numba import njit

from mlreplica.core.compile.arrays import array_matmul, array_sum, stand_ins
from mlreplica.core.compile.user import Unit

EDGES = [0.0, -0.0, 1.0, -1.0, 5e-324, 1e-310, 1e-17, -1e-17, 1e300, np.inf, -np.inf, np.nan]


def compiled(text, **space):
    exec(text, space)
    return njit(space["f"])


@pytest.mark.parametrize("function", [np.exp, np.log, np.log1p])
def test_formulas_are_within_two_units_of_the_last_place(function):
    rng = np.random.default_rng(0)
    a = np.concatenate([rng.normal(size=5000) * 10.0 ** rng.integers(-12, 3, 5000), EDGES])
    a = a if function is np.exp else np.concatenate([a, 10.0 ** rng.uniform(-300, 300, 5000)])
    a = np.clip(a, -708.0, 709.0) if function is np.exp else a
    found = compiled("def f(a): return g(a)", g=stand_ins()[function, 1])(a)
    with np.errstate(all="ignore"):
        expected = function(a)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_allclose(found, expected, rtol=5e-16)


def test_exponentials_vanish_and_overflow():
    found = compiled("def f(a): return g(a)", g=stand_ins()[np.exp, 1])(
        np.array([-709.0, -np.inf, 710.0, np.inf, np.nan])
    )
    np.testing.assert_array_equal(found, [0.0, 0.0, np.inf, np.inf, np.nan])


@pytest.mark.parametrize("low", [0.0, -1.5, -np.inf, np.inf])
def test_logarithms_of_sums_of_exponentials(low):
    a = np.array([0.0, 1.0, -1.0, 800.0, -800.0, 1e-9, np.inf, -np.inf, np.nan])
    f = compiled("def f(b, a): return g(b, a)", g=stand_ins()[np.logaddexp, 2])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(f(low, a), np.logaddexp(low, a), rtol=4e-16, atol=1e-300)
        np.testing.assert_allclose(f(a, low), np.logaddexp(low, a), rtol=4e-16, atol=1e-300)


@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 4), (0,)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_shapes_and_orders_stay(shape, order):
    a = np.asarray(np.random.default_rng(0).normal(size=shape), order=order)
    found = compiled("def f(a): return g(a)", g=stand_ins()[np.exp, 1])(a)
    np.testing.assert_allclose(found, np.exp(a), rtol=1e-15)
    assert compiled("def f(a): return g(a)", g=array_sum)(a) == pytest.approx(a.sum())


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_])
def test_other_types_are_left_to_numpy(dtype):
    a = np.array([0, 1, 1], dtype=dtype)
    f = compiled("def f(a): return g(a), h(a), g(0.5)", g=stand_ins()[np.exp, 1], h=array_sum)
    exps, total, one = f(a)
    np.testing.assert_allclose(exps, np.exp(a.astype(float)), rtol=1e-6)
    assert (total, one) == (a.sum(), math.exp(0.5))
    np.testing.assert_allclose(f(np.arange(6.0)[::2])[0], np.exp([0.0, 2.0, 4.0]), rtol=1e-15)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(3, 5), (1, 1), (4, 0), (0, 4)])
def test_products(order, shape):
    rng, f = np.random.default_rng(0), compiled("def f(a, b): return g(a, b)", g=array_matmul)
    A = np.asarray(rng.normal(size=shape), order=order)
    x, r = rng.normal(size=shape[1]), rng.normal(size=shape[0])
    np.testing.assert_allclose(f(A, x), A @ x, rtol=1e-13)
    np.testing.assert_allclose(f(r, A), r @ A, rtol=1e-13)
    np.testing.assert_allclose(f(A.T, r), A.T @ r, rtol=1e-13)
    np.testing.assert_allclose(f(A, A.T.copy()), A @ A.T, rtol=1e-13)
    assert f(x, x) == pytest.approx(x @ x)
    for a, b in ((A, np.ones(7)), (np.ones(7), A), (x, np.ones(7))):
        with pytest.raises(ValueError, match="do not fit"):
            f(a, b)


def test_functions_of_users_get_them():
    X, y = np.ones((4, 2)), np.ones(4)

    def density(w):
        total = np.sum(y)
        return -np.logaddexp(0.0, -y * (X @ w)).sum() + total + X.sum(axis=0)[0]

    unit = Unit()
    unit.add(density)
    (text,) = unit.texts
    for name in ("array_matmul", "array_logaddexp", "array_sum"):
        assert name in text
    assert "sum(axis=0)" in text
    w = np.array([0.1, 0.2])
    assert unit.bind("", "f_density", (w,))(w) == pytest.approx(density(w))


def test_names_that_hide_numpy_stay():
    class np:  # noqa: N801
        @staticmethod
        def exp(x):
            return x

    def density(x):
        return np.exp(x)

    unit = Unit()
    unit.add(density)
    assert "array_exp" not in unit.texts[0]
