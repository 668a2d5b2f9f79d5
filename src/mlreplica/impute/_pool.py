r"""Rubin's rules: one answer from several filled tables

An analysis of each of m tables gives an estimate Q_k with variance U_k. Together,

    Q = mean Q_k,    U = mean U_k  within,    B = Σ (Q_k − Q)² / (m − 1)  between,
    T = U + (1 + 1/m) B                                                                         (5)

and (Q − truth)/√T follows Student's t with

    ν = (m − 1) / r²,    r = (1 + 1/m) B / T                                                    (6)

degrees of freedom. r is about the share of the information that the gaps took away.

References
----------
Rubin: Multiple Imputation for Nonresponse in Surveys. Wiley, 1987.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit


class PooledEstimate(NamedTuple):
    """What `pool_estimates` returns: numbers, or arrays of numbers, by the letters of (5), (6)."""

    estimate: np.ndarray  # Q
    variance: np.ndarray  # T
    within: np.ndarray  # U
    between: np.ndarray  # B
    missing_information: np.ndarray  # r
    dof: np.ndarray  # ν

    def interval(self, probability=0.95):
        """Return the ends of the confidence interval."""
        half = stdtrit(self.dof, 0.5 + 0.5 * probability) * np.sqrt(self.variance)
        return self.estimate - half, self.estimate + half


def pool_estimates(estimates, variances):
    """Combine estimates from several filled tables by Rubin's rules (5) and (6).

    Parameters
    ----------
    estimates : array-like of shape (n_draws, …)
        Q_k of each table: a number or an array.
    variances : array-like of shape (n_draws, …)
        U_k, the squares of their standard errors.

    Returns
    -------
    pooled : PooledEstimate
        Named tuple of `estimate`, `variance`, `within`, `between`, `missing_information`, `dof`,
        with a method `interval`.

    Examples
    --------
    >>> from mlreplica.impute import pool_estimates
    >>> pooled = pool_estimates([1.0, 1.2, 0.8], [0.04, 0.04, 0.04])
    >>> round(float(pooled.estimate), 3), round(float(pooled.variance), 4)
    (1.0, 0.0933)
    """
    Q, U = np.asarray(estimates, dtype=np.float64), np.asarray(variances, dtype=np.float64)
    m = len(Q)
    if m < 2 or Q.shape != U.shape:
        raise ValueError(
            f"estimates and variances must have one shape and two tables or more, got {Q.shape} "
            f"and {U.shape}."
        )
    within, between = U.mean(axis=0), Q.var(axis=0, ddof=1)
    extra = (1.0 + 1.0 / m) * between
    total = within + extra
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(total > 0, extra / total, 0.0)
        dof = np.where(share > 0, (m - 1) / share**2, np.inf)
    return PooledEstimate(Q.mean(axis=0), total, within, between, share, dof)
