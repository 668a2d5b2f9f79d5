"""Screening (6) at the end of a run, where the gap is rounding and may come out as zero"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mlreplica.linear_model import ElasticNet


@pytest.mark.parametrize("l1_ratio", [0.6, 1.0])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.filterwarnings("ignore:Objective did not converge")
def test_sweeps_after_the_minimum_drop_no_column_in_use(seed, l1_ratio):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 8)) + rng.normal(size=(40, 1))
    y = X @ [2.0, 1, 0, 0, -1, 0, 0, 0.5] + rng.normal(size=40)
    model = ElasticNet(alpha=0.2, l1_ratio=l1_ratio, solver="cd")
    best = model.set_params(tol=1e-12).fit(X, y).coef_.copy()
    for _ in range(3):  # the gap is zero, or not, by chance
        model.set_params(tol=0.0, max_iter=200, warm_start=True).fit(X, y)
        assert_allclose(model.coef_, best, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("seed", [66, 83, 139, 271, 334, 342, 354])
def test_a_column_is_left_out_by_the_gap_of_the_point_that_is_tested(seed):
    """The second dual's gap is smaller, but it belongs to another point and proves nothing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8, 8)) + rng.normal(size=(8, 1)) * rng.choice([0.0, 1.0])
    y = rng.normal(size=8) + 2.0
    if seed % 2:
        X[:, -1] = 7.0
    s = rng.integers(0, 4, 8)
    s[0] = 2
    for alpha in (0.088, 0.88, 8.8):
        model = ElasticNet(alpha, l1_ratio=0.1, tol=1e-12, solver="cd", max_iter=10**5)
        best = ElasticNet(alpha, l1_ratio=0.1, tol=1e-12).fit(X, y, s)
        assert_allclose(model.fit(X, y, s).coef_, best.coef_, rtol=1e-6, atol=1e-9)
