"""Moments and triangles: merging is exact up to rounding, rounding is as small as it can be."""

from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mlreplica.core.rows.moments import Moments, Triangle

KINDS = [Moments, Triangle]
blocks = arrays(
    float,
    st.tuples(st.integers(0, 7), st.just(3)),
    elements=st.integers(-50, 50).map(lambda v: v / 8),
)


def cross_products(statistic):
    """S, whichever way it is kept."""
    return statistic.S if isinstance(statistic, Moments) else statistic.R.T @ statistic.R


def assert_same(a, b, atol=1e-10):
    """Two statistics of the same rows."""
    np.testing.assert_allclose(a.n, b.n, rtol=1e-13)
    np.testing.assert_allclose(a.mean, b.mean, rtol=1e-12, atol=atol)
    np.testing.assert_allclose(cross_products(a), cross_products(b), rtol=1e-11, atol=atol)


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None)
@given(A=blocks, B=blocks, C=blocks)
def test_sum_of_parts_is_the_whole_in_any_order(kind, A, B, C):
    a, b, c, whole = map(kind.of, (A, B, C, np.vstack([A, B, C])))
    assert_same(a + b + c, whole)
    assert_same(sum((c, a, b)), whole)
    assert_same(a + (b + c), whole)


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None)
@given(data=st.data())
def test_weight_is_repetition_and_weight_zero_is_absence(kind, data):
    A = data.draw(blocks)
    w = data.draw(arrays(int, len(A), elements=st.integers(0, 3)))
    assert_same(kind.of(A, weight=w), kind.of(np.repeat(A, w, axis=0)))
    A_nan = np.where(w[:, None] == 0, np.nan, A)
    assert_same(kind.of(A_nan, weight=w), kind.of(A, weight=w))


@pytest.mark.parametrize("centre", [True, False])
def test_uncentred_triangles_merge_too(centre):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(5, 3)) + 4.0, rng.normal(size=(9, 3)) + 4.0
    merged = Triangle.of(A, centre=centre) + Triangle.of(B, centre=centre)
    assert_same(merged, Triangle.of(np.vstack([A, B]), centre=centre))
    if not centre:
        np.testing.assert_allclose(cross_products(merged), A.T @ A + B.T @ B, rtol=1e-12)
    with pytest.raises(ValueError, match="centred and an uncentred"):
        merged + Triangle.of(A, centre=not centre)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.uint8, np.int64, bool])
@pytest.mark.parametrize("kind", KINDS)
def test_any_real_type_is_taken_exactly(kind, dtype):
    X = np.random.default_rng(1).integers(0, 2 if dtype is bool else 100, (40, 3)).astype(dtype)
    assert_same(kind.of(X), kind.of(X.astype(float)))
    assert_same(kind.of(X), kind.of(np.asfortranarray(X)))


def test_covariance_and_correlation_are_numpys():
    rng = np.random.default_rng(2)
    X, w = rng.normal(size=(60, 4)), rng.integers(1, 5, 60)
    moments = Moments.of(X, weight=w)
    np.testing.assert_allclose(moments.covariance(), np.cov(X.T, fweights=w), rtol=1e-12)
    np.testing.assert_allclose(moments.variance(ddof=0.0), np.diag(moments.S) / w.sum(), rtol=1e-12)
    np.testing.assert_allclose(Moments.of(X).correlation(), np.corrcoef(X.T), rtol=1e-12)
    X[:, 1] = 7.0
    np.testing.assert_array_equal(Moments.of(X).correlation()[1], [0.0, 1.0, 0.0, 0.0])


def exact_moments(X):
    """Mean and S in rational arithmetic."""
    rows = [[Fraction(float(v)) for v in row] for row in X]
    n, p = len(rows), len(rows[0])
    mean = [sum(row[j] for row in rows) / n for j in range(p)]
    S = [
        [sum((r[i] - mean[i]) * (r[j] - mean[j]) for r in rows) for j in range(p)] for i in range(p)
    ]
    return np.array(mean, dtype=float), np.array(S, dtype=float)


@pytest.mark.parametrize("kind", KINDS)
def test_large_mean_small_noise_against_rational_arithmetic(kind):
    rng = np.random.default_rng(3)
    X = 1e8 + rng.normal(size=(300, 2)) * [1.0, 1e-3]
    mean, S = exact_moments(X)
    for statistic in (kind.of(X), sum(kind.of(part) for part in np.array_split(X, 7))):
        np.testing.assert_allclose(statistic.mean, mean, rtol=1e-15)
        np.testing.assert_allclose(cross_products(statistic), S, rtol=1e-6)
    np.testing.assert_allclose(cross_products(kind.of(X)), S, rtol=1e-11)
    textbook = X.T @ X - len(X) * np.outer(X.mean(axis=0), X.mean(axis=0))
    assert np.abs(textbook / S - 1.0).max() > 0.01  # Σxxᵀ − n·mmᵀ is useless here


def exact_least_squares(X, y):
    """(coefficients, intercept) of least squares in rational arithmetic."""
    rows = [[Fraction(float(v)) for v in row] + [Fraction(1)] for row in X]
    target = [Fraction(float(v)) for v in y]
    k = len(rows[0])
    A = [[sum(r[i] * r[j] for r in rows) for j in range(k)] for i in range(k)]
    for i in range(k):
        A[i].append(sum(r[i] * t for r, t in zip(rows, target, strict=True)))
    for i in range(k):  # Gauss–Jordan: exact, so no pivoting is needed beyond zeros
        A[i] = [a / A[i][i] for a in A[i]]
        for j in set(range(k)) - {i}:
            A[j] = [a - A[j][i] * b for a, b in zip(A[j], A[i], strict=True)]
    w = np.array([float(row[-1]) for row in A])
    return w[:-1], w[-1]


def ill_conditioned(rng, n, p, cond):
    """A random n×p matrix with this condition number."""
    U, _ = np.linalg.qr(rng.normal(size=(n, p)))
    V, _ = np.linalg.qr(rng.normal(size=(p, p)))
    return U @ np.diag(np.geomspace(1.0, 1.0 / cond, p)) @ V.T


def test_condition_1e8_triangles_keep_the_digits_that_moments_lose():
    rng = np.random.default_rng(4)
    X = ill_conditioned(rng, 120, 4, 1e8)
    y = X @ np.ones(4) + 1e-9 * rng.normal(size=120)
    exact, _ = exact_least_squares(X, y)
    rows = np.column_stack([X, y])

    def error(w):
        return np.linalg.norm(w - exact) / np.linalg.norm(exact)

    S = sum(Moments.of(part) for part in np.array_split(rows, 6)).S
    fit = sum(Triangle.of(part) for part in np.array_split(rows, 6)).solve()
    assert error(fit.coef[0]) < 1e-8
    assert error(np.linalg.solve(S[:4, :4], S[:4, 4])) > 0.01
    assert fit.rank == 4


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10**6), parts=st.integers(1, 5))
def test_solve_is_least_squares(seed, parts):
    rng = np.random.default_rng(seed)
    X, Y, w = rng.normal(size=(30, 3)) + 5.0, rng.normal(size=(30, 2)), rng.random(30)
    rows = np.column_stack([X, Y])
    index = np.array_split(rng.permutation(30), parts)
    fit = sum(Triangle.of(rows[i], w[i]) for i in index).solve(targets=2)
    root = np.sqrt(w)[:, None]
    W, rss = np.linalg.lstsq(root * np.column_stack([X, np.ones(30)]), root * Y)[:2]
    np.testing.assert_allclose(fit.coef, W[:3].T, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(fit.intercept, W[3], rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(fit.rss, rss, rtol=1e-10)
    origin = sum(Triangle.of(rows[i], w[i], centre=False) for i in index).solve(targets=2)
    W = np.linalg.lstsq(root * X, root * Y)[0]
    np.testing.assert_allclose(origin.coef, W.T, rtol=1e-9, atol=1e-11)
    np.testing.assert_array_equal(origin.intercept, [0.0, 0.0])


def test_short_rank_gives_the_least_norm_whatever_the_units():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(20, 3))
    X = np.column_stack([X, X[:, 0] + X[:, 1]])  # rank 3
    y = rng.normal(size=20)
    fit = Triangle.of(np.column_stack([X, y])).solve()
    least = np.linalg.lstsq(X - X.mean(axis=0), y - y.mean())[0]
    assert fit.rank == 3
    np.testing.assert_allclose(fit.coef[0], least, rtol=1e-10)
    units = np.array([1.0, 1.0, 1e-12, 1.0])  # a column in small units still counts
    fit = Triangle.of(np.column_stack([X * units, y])).solve()
    assert fit.rank == 3
    np.testing.assert_allclose(fit.coef[0] * units, least, rtol=1e-9)


def test_fewer_rows_than_columns():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(3, 5)), rng.normal(size=3)
    fit = Triangle.of(np.column_stack([X, y])).solve()
    np.testing.assert_allclose(X @ fit.coef[0] + fit.intercept, y, atol=1e-12)
    assert fit.rank == 2
    np.testing.assert_allclose(fit.rss, 0.0, atol=1e-24)


def test_powers_of_two_in_the_columns_pass_through_exactly():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(5000, 3))
    units = np.exp2([-200.0, 0.0, 300.0])
    parts = np.array_split(X, 3)
    plain = reduce(lambda a, b: a + b, map(Triangle.of, parts))
    scaled = reduce(lambda a, b: a + b, (Triangle.of(part * units) for part in parts))
    np.testing.assert_array_equal(scaled.R, plain.R * units)
    np.testing.assert_array_equal(scaled.mean, plain.mean * units)


def test_many_blocks_inside_one_call():
    rng = np.random.default_rng(8)
    X, w = rng.normal(size=(700_001, 2)) + 3.0, rng.random(700_001)
    moments = Moments.of(X, weight=w)
    np.testing.assert_allclose(moments.mean, np.average(X, axis=0, weights=w), rtol=1e-13)
    np.testing.assert_allclose(moments.S / w.sum(), np.cov(X.T, aweights=w, ddof=0), rtol=1e-11)
    assert_same(Triangle.of(X, weight=w), moments, atol=1e-7)


def test_nothing_plus_nothing():
    empty = Moments.of(np.zeros((0, 2)))
    assert (empty + empty).n == 0.0
    np.testing.assert_array_equal((empty + empty).mean, [0.0, 0.0])
    assert_same(empty + Moments.of([[1, 2], [3, 5]]), Moments.of([[1, 2], [3, 5]]))


def test_wrong_input_is_named():
    with pytest.raises(ValueError, match=r"matrix of rows, got 1 dimension"):
        Moments.of([1.0, 2.0])
    with pytest.raises(ValueError, match="weight must be 2 numbers >= 0"):
        Triangle.of([[1.0], [2.0]], weight=[1.0, -1.0])
    with pytest.raises(ValueError, match="weight must be 2 numbers >= 0"):
        Moments.of([[1.0], [2.0]], weight=[1.0])
