"""Quantiles without sorting are those of the sorted column, whatever the sample says"""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mlreplica.preprocessing._order import MANY, SAMPLE, between, places, plain_quantiles

n = 2 * MANY + 3
rng = np.random.default_rng(0)
misleading = rng.normal(size=n)
misleading[:: n // SAMPLE] = 100.0  # the rows that are sampled
COLUMNS = {
    "normal": rng.normal(size=n),
    "rising": np.sort(rng.normal(size=n)),
    "two values": rng.integers(0, 2, n).astype(float),
    "one value": np.full(n, 3.0),
    "mostly 0": np.where(rng.random(n) < 0.9, 0.0, rng.normal(size=n)),
    "infinite ends": np.where(rng.random(n) < 0.3, -np.inf, rng.normal(size=n)),
    "a sample that misleads": misleading,
}


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("method", ["linear", "averaged_inverted_cdf", "inverted_cdf"])
@pytest.mark.parametrize("rows", [1, 100, MANY + 1, n])
def test_quantiles_are_those_of_the_sorted_column(column, method, rows):
    x = COLUMNS[column][:rows]
    for q in ([0.25, 0.5, 0.75], [0.0, 1.0], [1e-5, 0.999], np.linspace(0, 1, 11)):
        i, g = places(rows, np.asarray(q), method)
        ordered, last = np.sort(x), rows - 1
        with np.errstate(invalid="ignore"):  # ∞ − ∞
            expected = between(ordered[np.clip(i, 0, last)], ordered[np.clip(i + 1, 0, last)], g)
            assert_array_equal(plain_quantiles(x.copy(), np.asarray(q), method), expected)
