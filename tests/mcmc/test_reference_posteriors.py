"""Published posteriors are met: means and second moments of posteriordb, within both errors

The eight schools (centred, not centred), a Gaussian process with counts, and a line whose offset
and slope are correlated by 0.9999. `tests/references/posteriors.json` holds data and moments.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from mlreplica.mcmc import NUTS, Gibbs, MetropolisHastings, MetropolisStep, Slice, positive, real
from mlreplica.mcmc.diagnostics import mcse_mean

FILE = Path(__file__).parents[1] / "references" / "posteriors.json"
REFERENCES = json.loads(FILE.read_text(encoding="utf-8"))
QUIET = {"warn": False, "random_state": 0}
LEVEL = 1e-4


def meets(name, found):
    """Compare draws (chains, draws, numbers) with the moments; p-values corrected for their number.

    A mean of ours and one of theirs differ by the errors of both.
    """
    reference = REFERENCES[name]
    scores = []
    for x, kind in ((found, "mean"), (found**2, "square")):
        ours = x.mean(axis=(0, 1))
        error = [mcse_mean(x[:, :, j]) for j in range(x.shape[2])]
        both = np.hypot(error, reference[f"{kind}_error"])
        scores.append((ours - reference[kind]) / both)
    p = 2.0 * stats.norm.sf(np.abs(scores))
    return p.min() * p.size > LEVEL


Y, S = (np.array(REFERENCES["eight_schools"]["data"][name], float) for name in ("y", "sigma"))


def not_centred(mu, tau, z):
    """θ = μ + τ z, μ ~ N(0, 5²), τ ~ half-Cauchy(5)."""
    r = (Y - mu - tau * z) / S
    prior = -0.5 * (mu / 5.0) ** 2 - np.log1p((tau / 5.0) ** 2) - 0.5 * (z**2).sum()
    return prior - 0.5 * (r**2).sum()


def not_centred_slope(mu, tau, z):
    r = (Y - mu - tau * z) / S**2
    return -mu / 25.0 + r.sum(), -2.0 * tau / (25.0 + tau**2) + (r * z).sum(), -z + tau * r


def schools(draws):
    theta = draws["mu"][..., None] + draws["tau"][..., None] * draws["z"]
    return np.concatenate([theta, draws["mu"][..., None], draws["tau"][..., None]], axis=2)


def test_eight_schools_not_centred():
    blocks = {"mu": real(), "tau": positive(), "z": real(8)}
    sampler = NUTS(not_centred, not_centred_slope, parameters=blocks, target_accept=0.95)
    found = schools(sampler.sample(n_draws=3000, **QUIET))
    assert meets("eight_schools", found)
    assert not meets("eight_schools", found * 1.05)  # the test can fail: five per cent are seen


def draw_theta(mu, tau, rng):
    v = 1.0 / (1.0 / S**2 + 1.0 / tau**2)
    return (Y / S**2 + mu / tau**2) * v + np.sqrt(v) * rng.standard_normal(8)


def draw_mu(theta, tau, rng):
    v = 1.0 / (8.0 / tau**2 + 1.0 / 25.0)
    return theta.sum() / tau**2 * v + np.sqrt(v) * rng.standard_normal()


def density_of_tau(x):
    tau = x[9]
    if tau <= 0.0:
        return -np.inf
    spread = -8.0 * np.log(tau) - 0.5 * ((x[:8] - x[8]) ** 2).sum() / tau**2
    return spread - np.log1p((tau / 5.0) ** 2)


@pytest.mark.slow
def test_eight_schools_centred_by_gibbs_with_a_metropolis_step():
    sampler = Gibbs(
        {"theta": draw_theta, "mu": draw_mu, "tau": MetropolisStep(density_of_tau, 3.0)},
        parameters={"theta": real(8), "mu": real(), "tau": positive()},
    )
    draws = sampler.sample(np.append(np.full(9, 4.0), 4.0), 5000, thin=40, **QUIET)
    assert meets("eight_schools", draws.array)


def test_eight_schools_centred_warns_of_divergences():
    def centred(mu, tau, theta):
        middle = -8.0 * np.log(tau) - 0.5 * (((theta - mu) / tau) ** 2).sum()
        prior = -0.5 * (mu / 5.0) ** 2 - np.log1p((tau / 5.0) ** 2)
        return prior + middle - 0.5 * (((Y - theta) / S) ** 2).sum()

    def slope(mu, tau, theta):
        z, r = (theta - mu) / tau, (Y - theta) / S**2
        d_tau = -2.0 * tau / (25.0 + tau**2) - 8.0 / tau + (z**2).sum() / tau
        return -mu / 25.0 + z.sum() / tau, d_tau, -z / tau + r

    blocks = {"mu": real(), "tau": positive(), "theta": real(8)}
    with pytest.warns(UserWarning, match=r"diverged.*non-centred"):
        NUTS(centred, slope, parameters=blocks).sample(None, 1000, random_state=8)


PLACES = np.array(REFERENCES["gp_pois_regr"]["data"]["x"], float)
COUNTS = np.array(REFERENCES["gp_pois_regr"]["data"]["k"], float)
APART = np.subtract.outer(PLACES, PLACES) ** 2


def factor(rho, alpha):
    return np.linalg.cholesky(alpha**2 * np.exp(-0.5 * APART / rho**2) + 1e-10 * np.eye(11))


def counts_of_a_process(rho, alpha, z):
    """k ~ Poisson(e^f), f = L z, ρ ~ Gamma(25, 4), α ~ half-normal(2)."""
    f = factor(rho, alpha) @ z
    prior = 24.0 * np.log(rho) - 4.0 * rho - 0.125 * alpha**2 - 0.5 * (z**2).sum()
    return prior + (COUNTS * f - np.exp(f)).sum()


@pytest.mark.slow
def test_a_gaussian_process_with_counts():
    blocks = {"rho": positive(), "alpha": positive(), "z": real(11)}
    start = {"rho": 6.0, "alpha": 3.0, "z": np.zeros(11)}
    draws = Slice(counts_of_a_process, parameters=blocks).sample(start, 1500, thin=20, **QUIET)
    rho, alpha, z = draws["rho"], draws["alpha"], draws["z"]
    f = np.empty_like(z)
    for at in np.ndindex(rho.shape):
        f[at] = factor(rho[at], alpha[at]) @ z[at]
    assert meets("gp_pois_regr", np.concatenate([rho[..., None], alpha[..., None], f], axis=2))


LINE = REFERENCES["kilpisjarvi_mod"]["data"]
YEARS, WARMTH = np.array(LINE["x"], float), np.array(LINE["y"], float)
MIDDLE, SD_ALPHA, SD_BETA = LINE["pmualpha"], LINE["psalpha"], LINE["psbeta"]


def summer(alpha, beta, sigma):
    r = WARMTH - alpha - beta * YEARS
    prior = -0.5 * ((alpha - MIDDLE) / SD_ALPHA) ** 2 - 0.5 * (beta / SD_BETA) ** 2
    return prior - len(r) * np.log(sigma) - 0.5 * (r**2).sum() / sigma**2


def summer_slope(alpha, beta, sigma):
    r = WARMTH - alpha - beta * YEARS
    return (
        -(alpha - MIDDLE) / SD_ALPHA**2 + r.sum() / sigma**2,
        -beta / SD_BETA**2 + (r * YEARS).sum() / sigma**2,
        -len(r) / sigma + (r**2).sum() / sigma**3,
    )


@pytest.mark.parametrize("name", ["metropolis", pytest.param("nuts", marks=pytest.mark.slow)])
def test_a_line_far_from_the_origin(name):
    blocks = {"alpha": real(), "beta": real(), "sigma": positive()}
    start = {"alpha": -60.0, "beta": 0.0175, "sigma": 1.1}
    if name == "nuts":
        sampler = NUTS(summer, summer_slope, parameters=blocks, metric="dense")
        draws = sampler.sample(start, 3000, n_warmup=2000, **QUIET)
    else:
        sampler = MetropolisHastings(summer, parameters=blocks)
        draws = sampler.sample(start, 3000, n_warmup=8000, thin=20, **QUIET)
    assert draws.rhat().max() < 1.02
    assert meets("kilpisjarvi_mod", draws.array)
