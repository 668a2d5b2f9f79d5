r"""Diagnostics: have the chains mixed, and how many independent draws are they worth?

Chains are cut into halves. With m half-chains of n draws, W the mean of their variances and B/n the
variance of their means, var⁺ = (n − 1)/n W + B/n overestimates the variance of the target as long
as the chains differ, and W underestimates it:                                                   (1)

    R̂ = √(var⁺ / W)

The n m draws are worth as many independent ones as give the mean the same variance:             (2)

    ESS = n m / τ,    τ = 1 + 2 Σ_{t≥1} ρ_t,    ρ_t = 1 − (W − mean autocovariance at lag t) / var⁺

The sum ends where a pair ρ_{2k} + ρ_{2k+1} is no longer positive, and pairs are made to decrease
(Geyer): for a reversible chain both hold for the true ones. Ranks, turned into normal scores z,
make both measures indifferent to heavy tails; folded draws |x − median| show chains that agree in
location but not in scale; indicators of the 5 % and 95 % quantiles show how well the tails are
known.    (3)

    R̂ = max(R̂(z(x)), R̂(z(|x − median|))),   bulk ESS = ESS(z(x)),
    tail ESS = min over q of ESS(1[x ≤ x_q])

The standard error of the mean is that of ESS independent draws, sd / √ESS.                      (4)

References
----------
Vehtari, Gelman, Simpson, Carpenter, Bürkner: Rank-normalization, folding, and localization: an
improved R̂ for assessing convergence of MCMC. Bayesian Analysis 16 (2021), 667–718.
Geyer: Practical Markov chain Monte Carlo. Statistical Science 7 (1992), 473–483.
"""

import numpy as np


def split_chains(x):
    """Halves of chains, (2 m, n // 2) from (m, n); the middle draw of an odd number is left out."""
    half = x.shape[1] // 2
    return np.concatenate([x[:, :half], x[:, x.shape[1] - half :]])


def normal_scores(x):
    """z: every number replaced by the normal quantile of its rank among all."""
    from scipy.special import ndtri  # SciPy takes 0.2 s to import: not before it is needed

    if np.isnan(x).any():
        return np.full(x.shape, np.nan)
    _, place, counts = np.unique(x, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - 0.5 * (counts - 1)  # equal numbers share their mean rank
    return ndtri((ranks[place].reshape(x.shape) - 0.375) / (x.size + 0.25))


def autocovariance(x):
    """The autocovariance of each row at the lags 0 … n − 1, by two Fourier transforms."""
    from scipy.fft import irfft, next_fast_len, rfft

    n = x.shape[1]
    size = next_fast_len(2 * n, real=True)
    waves = rfft(x - x.mean(axis=1, keepdims=True), size, axis=1)
    return irfft((waves * waves.conj()).real, size, axis=1)[:, :n] / n


def potential_scale_reduction(x):
    """R̂ (1) of chains as they are, (m, n)."""
    n = x.shape[1]
    within = x.var(axis=1, ddof=1).mean()
    between = n * x.mean(axis=1).var(ddof=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.sqrt((between / within + n - 1) / n)


def effective_size(x):
    """ESS (2) of chains as they are, (m, n)."""
    m, n = x.shape
    if x.max() - x.min() < np.finfo(float).resolution:
        return float(x.size)
    cov = autocovariance(x).mean(axis=0)
    within = cov[0] * n / (n - 1)
    var_plus = cov[0] + (x.mean(axis=1).var(ddof=1) if m > 1 else 0.0)
    rho = 1.0 - (within - cov) / var_plus
    rho[0] = 1.0
    k, pair = 0, rho[0] + rho[1]
    pairs = [pair]
    while 2 * k + 1 < n - 3 and pair > 0.0:
        k += 1
        pair = rho[2 * k] + rho[2 * k + 1]
        pairs.append(pair)
    rest = rho[2 * k] if max(rho[2 * k], pair) >= 0.0 else 0.0  # of the first pair left out
    lowest = np.minimum.accumulate(pairs[:k])
    tau = -1.0 + 2.0 * lowest.sum() + rest
    return float(x.size / max(tau, 1.0 / np.log10(x.size)))


def checked(x, chains):
    """Draws of one quantity as (chains, draws); None if too few or not finite."""
    x = np.atleast_2d(np.asarray(x, dtype=np.float64))
    if x.ndim != 2:
        raise ValueError(f"Draws of one quantity have the shape (chains, draws), got {x.shape}.")
    enough = x.shape[1] >= 4 and x.shape[0] >= chains
    return x if enough and np.isfinite(x).all() else None


def rhat(x):
    """Split-R̂ of ranks: the larger of bulk and folded, (3).

    Parameters
    ----------
    x : array-like of shape (n_chains, n_draws)
        Draws of one quantity, at least 2 chains of 4.

    Returns
    -------
    rhat : float
        Near 1 if the chains agree; above 1.01 they do not.
    """
    x = checked(x, chains=2)
    if x is None:
        return np.nan
    halves = split_chains(x)
    folded = abs(halves - np.median(halves))
    both = [potential_scale_reduction(normal_scores(part)) for part in (halves, folded)]
    return float(np.nan if np.isnan(both[0]) else np.fmax(*both))


def ess_bulk(x):
    """Effective sample size of the bulk: (2) of the normal scores of the halves.

    Parameters
    ----------
    x : array-like of shape (n_chains, n_draws)
    """
    x = checked(x, chains=1)
    return np.nan if x is None else effective_size(normal_scores(split_chains(x)))


def ess_tail(x, probabilities=(0.05, 0.95)):
    """Effective sample size of the tails: the smaller of two quantiles' (3).

    Parameters
    ----------
    x : array-like of shape (n_chains, n_draws)
    probabilities : tuple of two floats, default=(0.05, 0.95)
    """
    x = checked(x, chains=1)
    if x is None:
        return np.nan
    ends = [quantile(np.sort(x, axis=None), p) for p in probabilities]
    return min(effective_size(split_chains((x <= end).astype(float))) for end in ends)


def quantile(x, p):
    """The quantile of sorted numbers, by the formula that R calls type 7."""
    at = len(x) * p + (1.0 - p)
    k = int(np.clip(np.floor(at), 1, len(x) - 1))
    share = min(max(at - k, 0.0), 1.0)
    return (1.0 - share) * x[k - 1] + share * x[k]


def ess_mean(x):
    """Effective sample size for the mean: (2) of the halves, without ranks.

    Parameters
    ----------
    x : array-like of shape (n_chains, n_draws)
    """
    x = checked(x, chains=1)
    return np.nan if x is None else effective_size(split_chains(x))


def mcse_mean(x):
    """Monte Carlo standard error of the mean (4).

    Parameters
    ----------
    x : array-like of shape (n_chains, n_draws)
    """
    x = checked(x, chains=1)
    return np.nan if x is None else float(x.std(ddof=1) / np.sqrt(ess_mean(x)))


def mcse_sd(x):
    """Monte Carlo standard error of the standard deviation, by the delta method on the variance.

    Parameters
    ----------
    x : array-like of shape (n_chains, n_draws)
    """
    x = checked(x, chains=1)
    if x is None:
        return np.nan
    squares = (x - x.mean()) ** 2
    variance = squares.mean()
    with np.errstate(invalid="ignore"):
        spread = ((squares**2).mean() - variance**2) / ess_mean(squares)
        return float(np.sqrt(spread / variance / 4.0))


def hdi(x, probability=0.94):
    """The shortest interval that holds this share of the draws.

    Parameters
    ----------
    x : array-like
        Draws of one quantity, in any shape.
    probability : float, default=0.94

    Returns
    -------
    interval : ndarray of shape (2,)
    """
    x = np.sort(np.ravel(x))
    inside = int(probability * len(x))
    if not 0 < inside < len(x):
        return np.array([x[0], x[-1]]) if len(x) else np.full(2, np.nan)
    start = int(np.argmin(x[inside:] - x[: len(x) - inside]))
    return x[[start, start + inside]]


def autocorrelation(x):
    """The autocorrelation of each row at the lags 0 … n − 1.

    Parameters
    ----------
    x : array-like of shape (n_chains, n_draws)
    """
    cov = autocovariance(np.atleast_2d(np.asarray(x, dtype=np.float64)))
    with np.errstate(invalid="ignore", divide="ignore"):
        return cov / cov[:, :1]
