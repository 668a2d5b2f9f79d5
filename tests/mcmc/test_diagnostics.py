"""R̂, ESS and their relatives: equal to ArviZ's, and right on chains whose answer is known"""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlreplica.mcmc import diagnostics
from mlreplica.mcmc.diagnostics import ess_bulk, ess_mean, ess_tail, hdi, mcse_mean, mcse_sd, rhat

PAIRS = [
    (rhat, "_rhat_rank"),
    (ess_bulk, "_ess_bulk"),
    (ess_tail, "_ess_tail"),
    (ess_mean, "_ess_mean"),
    (mcse_mean, "_mcse_mean"),
    (mcse_sd, "_mcse_sd"),
]


def autoregression(rng, chains, n, phi, heavy=False):
    """Chains x_t = φ x_{t−1} + e_t, begun in their stationary distribution."""
    e = rng.standard_cauchy((chains, n)) if heavy else rng.normal(size=(chains, n))
    x = np.empty((chains, n))
    x[:, 0] = e[:, 0] / np.sqrt(1 - phi**2)
    for t in range(1, n):
        x[:, t] = phi * x[:, t - 1] + e[:, t]
    return x


@pytest.fixture(scope="module")
def arviz():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = pytest.importorskip("arviz.stats.diagnostics")
        pytest.importorskip("arviz").Numba.disable_numba()
    return found


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=lambda f: getattr(f, "__name__", f))
@pytest.mark.parametrize("kind", ["normal", "apart", "rounded", "heavy", "binary"])
def test_equal_to_arviz(arviz, ours, theirs, kind):
    rng = np.random.default_rng(len(kind))
    for n in (4, 5, 10, 11, 57, 400):
        for chains in (2, 3, 5):
            x = autoregression(rng, chains, n, rng.uniform(-0.9, 0.98), kind == "heavy")
            if kind == "apart":
                x += 2 * rng.normal(size=(chains, 1))
            elif kind == "rounded":
                x = np.round(x)
            elif kind == "binary":
                x = (x > 0).astype(float)
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                np.testing.assert_allclose(ours(x), getattr(arviz, theirs)(x), rtol=1e-10)


def test_the_effective_size_of_an_autoregression_is_known():
    phi = 0.8
    x = autoregression(np.random.default_rng(0), 4, 20_000, phi)
    expected = x.size * (1 - phi) / (1 + phi)
    assert ess_mean(x) == pytest.approx(expected, rel=0.1)
    assert ess_bulk(x) == pytest.approx(expected, rel=0.1)


def test_antithetic_chains_are_worth_more_than_independent_ones():
    x = autoregression(np.random.default_rng(1), 4, 5000, -0.7)
    assert ess_mean(x) > 2 * x.size


def test_rhat_sees_chains_apart_in_location_and_in_scale():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(4, 1000))
    assert rhat(x) < 1.01
    moved, wider = x.copy(), x.copy()
    moved[0] += 1.0
    wider[0] *= 3.0
    assert rhat(moved) > 1.05
    assert rhat(wider) > 1.05
    drifting = x + np.linspace(0, 2, 1000)  # all chains alike, but not their halves
    assert rhat(drifting) > 1.1


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 1000), a=st.integers(1, 100), b=st.integers(-100, 100))
def test_rank_measures_do_not_depend_on_scale_and_origin(seed, a, b):
    # The two middle draws are equally far from the median, a tie that rounding would break: so
    # x, a and b are such that a x + b is exact.
    x = np.round(autoregression(np.random.default_rng(seed), 3, 60, 0.5) * 2.0**20) / 2.0**20
    for f in (rhat, ess_bulk):
        assert f(a * x + b) == pytest.approx(f(x), rel=1e-9)
    assert ess_bulk(np.exp(x / 10)) == pytest.approx(ess_bulk(x), rel=1e-9)


def test_the_shortest_interval():
    x = np.random.default_rng(3).exponential(size=200_000)
    low, high = hdi(x, 0.9)
    assert low < 0.01
    assert high == pytest.approx(-np.log(0.1), rel=0.02)
    assert list(hdi([1.0], 0.9)) == [1.0, 1.0]


def test_the_standard_error_is_the_spread_of_means_over_runs():
    rng = np.random.default_rng(4)
    runs = [autoregression(rng, 4, 400, 0.6) for _ in range(300)]
    claimed = np.mean([mcse_mean(x) for x in runs])
    assert claimed == pytest.approx(np.std([x.mean() for x in runs]), rel=0.15)


@pytest.mark.parametrize("x", [np.zeros((4, 3)), np.full((4, 100), np.nan)])
def test_too_few_or_missing_draws_are_nan(x):
    assert all(np.isnan(f(x)) for f in (rhat, ess_bulk, ess_tail, mcse_mean, mcse_sd))


def test_one_chain_has_no_rhat_but_an_effective_size():
    x = np.random.default_rng(5).normal(size=(1, 500))
    assert np.isnan(rhat(x))
    assert ess_bulk(x) > 300


def test_constant_draws_count_as_independent():
    assert ess_mean(np.ones((2, 50))) == 100
    with pytest.raises(ValueError, match="shape"):
        diagnostics.rhat(np.zeros((2, 3, 4)))
