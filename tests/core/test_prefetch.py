import numpy as np
import pytest

from mlreplica.core.jit import kernel
from mlreplica.core.prefetch import hint, prefetch


@kernel
def sum_of_rows(X, order):
    total = 0.0
    for t in range(len(order)):
        if t + 2 < len(order):
            prefetch(X[order[t + 2]])
        total += X[order[t]].sum()
    return total


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.uint8])
@pytest.mark.parametrize("p", [1, 7, 16, 100])
def test_changes_no_result(dtype, p):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, size=(50, p)).astype(dtype)
    assert sum_of_rows(X, rng.permutation(50)) == X.sum(dtype=float)


def test_empty_rows_and_plain_python_do_nothing():
    assert sum_of_rows(np.empty((5, 0)), np.arange(5)) == 0.0
    assert hint(np.ones(3), 1) is None
