import numpy as np
import pytest

from mlreplica.core.compile.intrinsics import (
    bit_and,
    bit_or,
    bits,
    choose,
    larger,
    lowest_bit,
    max_plus_row,
    multiply_row,
    multiply_tile,
    prefetch_item,
    prefetch_vector,
    smaller,
    squared_distances,
)
from mlreplica.core.compile.jit import kernel

NUMBERS = [-np.inf, -1.5, 0.0, 2.0, np.inf, np.nan]


@kernel
def both(a, b):
    return smaller(a, b), larger(a, b)


@kernel(fastmath=frozenset())
def bits_of(x):
    return bits(x)


@pytest.mark.parametrize("a", NUMBERS)
@pytest.mark.parametrize("b", NUMBERS)
def test_as_in_python(a, b):
    np.testing.assert_array_equal(both(a, b), (min(a, b), max(a, b)))
    if np.isfinite([a, b]).all():
        assert both(int(a), int(b)) == (min(int(a), int(b)), max(int(a), int(b)))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_bits_keep_the_order_of_numbers_from_zero(kind):
    x = np.array([0.0, 1e-40, 1e-3, 1.0, 1.5, 7e30, np.inf], dtype=kind)
    found = [bits_of(value) for value in x]
    assert found == sorted(set(found)) == [bits(value) for value in x]
    assert found[3] == {np.float32: 0x3F800000, np.float64: 0x3FF0000000000000}[kind]


@kernel
def of_bytes(a, b, yes, found):
    for i in range(len(a)):
        found[0, i], found[1, i] = bit_and(a[i], b[i]), bit_or(a[i], b[i])
        found[2, i], found[3, i] = lowest_bit(a[i]), choose(yes[i], a[i], b[i])


def test_bytes_stay_bytes():
    a, b = np.meshgrid(np.arange(256, dtype=np.uint8), np.arange(0, 256, 51, dtype=np.uint8))
    a, b, yes, found = a.ravel(), b.ravel(), b.ravel() > 100, np.empty((4, a.size), np.uint8)
    of_bytes(a, b, yes, found)
    np.testing.assert_array_equal(found, [a & b, a | b, a & -a, np.where(yes, a, b)])
    assert [lowest_bit(x) for x in a] == list(found[2])
    assert choose(True, a[5], b[5]) == a[5]
    assert bit_and(a[7], b[-1]) == bit_or(a[7], b[0]) == 7


@kernel
def sum_of_rows(X, order):
    total = 0.0
    for t in range(len(order)):
        if t + 2 < len(order):
            prefetch_vector(X[order[t + 2]])
        total += X[order[t]].sum()
    return total


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.uint8])
@pytest.mark.parametrize("p", [1, 7, 16, 100])
def test_prefetching_changes_no_result(dtype, p):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, size=(50, p)).astype(dtype)
    assert sum_of_rows(X, rng.permutation(50)) == X.sum(dtype=float)


def test_prefetching_nothing_does_nothing():
    assert sum_of_rows(np.empty((5, 0)), np.arange(5)) == 0.0
    assert prefetch_item(np.ones(3), 1) is None


@kernel
def product_of_tile(C, Y, out):
    multiply_tile(C, Y, out)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize(("p", "m"), [(0, 32), (1, 32), (7, 64), (130, 96)])
def test_a_tile_of_products(kind, p, m):
    rng = np.random.default_rng(p)
    C, Y = rng.normal(size=(p, 4)).astype(kind), rng.normal(size=(p, m)).astype(kind)
    out = np.full((4, m), np.nan, kind)
    product_of_tile(C, Y, out)
    rtol = 4 * (p + 1) * np.finfo(kind).eps
    np.testing.assert_allclose(out, C.T @ Y, rtol=rtol, atol=rtol * np.sqrt(p + 1))


@kernel
def row_by_matrix(u, M, sums, best):
    multiply_row(u, M, sums)
    max_plus_row(u, M, best)


@pytest.mark.parametrize(("n", "m"), [(0, 8), (1, 8), (7, 24), (130, 16)])
def test_a_row_times_a_matrix_in_two_algebras(n, m):
    rng = np.random.default_rng(n)
    u, M = rng.normal(size=n + 1), rng.normal(size=(n, m))
    sums, best = np.full(m, np.nan), np.full(m, np.nan)
    row_by_matrix(u, M, sums, best)
    np.testing.assert_allclose(sums, u[:n] @ M, atol=1e-12)
    np.testing.assert_array_equal(best, np.max(u[:n, None] + M, axis=0, initial=-np.inf))


@kernel
def distances_from(x, C, out):
    squared_distances(x, C, out)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize(("p", "m"), [(0, 16), (1, 16), (7, 32), (130, 48)])
def test_a_tile_of_distances(kind, p, m):
    rng = np.random.default_rng(p)
    x, C = rng.normal(size=p).astype(kind), rng.normal(size=(p, m))
    out = np.full(m, np.nan)
    distances_from(x, C, out)
    np.testing.assert_allclose(out, ((x[:, None] - C) ** 2).sum(axis=0), rtol=1e-13)
