import numpy as np
import pytest

from mlreplica.core.jit import kernel
from mlreplica.core.scalars import bits, larger, smaller

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
