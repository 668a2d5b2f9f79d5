import numpy as np
import pytest

from mlreplica.core.jit import kernel
from mlreplica.core.scalars import bits, choose, join, larger, lowest, meet, smaller

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
        found[0, i], found[1, i] = meet(a[i], b[i]), join(a[i], b[i])
        found[2, i], found[3, i] = lowest(a[i]), choose(yes[i], a[i], b[i])


def test_bytes_stay_bytes():
    a, b = np.meshgrid(np.arange(256, dtype=np.uint8), np.arange(0, 256, 51, dtype=np.uint8))
    a, b, yes, found = a.ravel(), b.ravel(), b.ravel() > 100, np.empty((4, a.size), np.uint8)
    of_bytes(a, b, yes, found)
    np.testing.assert_array_equal(found, [a & b, a | b, a & -a, np.where(yes, a, b)])
    assert [lowest(x) for x in a] == list(found[2])
    assert choose(True, a[5], b[5]) == a[5]
    assert meet(a[7], b[-1]) == join(a[7], b[0]) == 7
