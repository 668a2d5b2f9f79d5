r"""Missing values in a mixture, marginalised

A row whose coordinates o are known and m are missing has the density of its known part,

    log N(x_o | μ_o, Σ_oo),                                                                    (6)

and given component k its missing part is Gaussian with

    x̂_m = μ_m + Σ_mo Σ_oo⁻¹ (x_o − μ_o),     C = Σ_mm − Σ_mo Σ_oo⁻¹ Σ_om.                       (7)

So EM for the known numbers alone adds x̂ to the sums of x, and x̂ x̂ᵀ plus C to those of x xᵀ. Rows
with the same gaps share (7). Gaps must be missing at random: not because of what they would show.

Ghahramani, Jordan, Supervised learning from incomplete data via an EM approach (1994).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mlreplica.core.compile.threads import one_blas_thread

from .em import Moments


def matrices(covariances: Any, kind: str, K: int, p: int) -> Any:
    """Covariances of any kind as (K, p, p)."""
    if kind == "full":
        return covariances
    if kind == "tied":
        return np.broadcast_to(covariances, (K, p, p))
    diagonal = covariances if kind == "diag" else np.repeat(covariances[:, None], p, axis=1)
    return diagonal[:, :, None] * np.eye(p)


def patterns(X: Any) -> list[tuple[Any, Any]]:
    """(known columns, rows) for every pattern of gaps."""
    gaps = np.isnan(X)
    kinds, which = np.unique(gaps, axis=0, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(which.ravel(), minlength=len(kinds)))
    return [(~gap, rows) for gap, rows in zip(kinds, np.split(order, ends[:-1]), strict=True)]


def conditional(mu: Any, S: Any, known: Any, x: Any) -> tuple[Any, Any, Any]:
    """(6) for the rows x of one pattern, the completed rows about μ, and C among all columns."""
    p, m = len(mu), ~known
    filled, C = np.zeros((len(x), p)), np.zeros((p, p))
    if not known.any():
        return np.zeros(len(x)), filled, S.copy()
    factor = cho_factor(S[np.ix_(known, known)], lower=True)
    d = x[:, known] - mu[known]
    solved = cho_solve(factor, d.T).T
    log_density = (
        -0.5 * np.einsum("ij,ij->i", d, solved)
        - np.log(np.diag(factor[0])).sum()
        - 0.5 * known.sum() * np.log(2 * np.pi)
    )
    filled[:, known] = d
    if m.any():
        S_mo = S[np.ix_(m, known)]
        filled[:, m] = solved @ S_mo.T
        C[np.ix_(m, m)] = S[np.ix_(m, m)] - S_mo @ cho_solve(factor, S_mo.T)
    return log_density, filled, C


def log_densities_with_gaps(X: Any, mu: Any, S: Any, log_weights: Any) -> Any:
    """log π_k + (6), (n, K); S is (K, p, p)."""
    out = np.empty((len(X), len(mu)))
    for known, rows in patterns(X):
        for k in range(len(mu)):
            out[rows, k] = conditional(mu[k], S[k], known, X[rows])[0] + log_weights[k]
    return out


def expectations_with_gaps(X: Any, w: Any, mu: Any, S: Any, log_weights: Any) -> Moments:
    """The sums of the M-step about the means, whole second moments."""
    K, p = mu.shape
    N, first, second, out = np.zeros(K), np.zeros((K, p)), np.zeros((K, p, p)), np.zeros(2)
    for known, rows in patterns(X):
        with one_blas_thread():
            found = [conditional(mu[k], S[k], known, X[rows]) for k in range(K)]
        lp = np.stack([density for density, _, _ in found], axis=1) + log_weights
        norm = np.logaddexp.reduce(lp, axis=1)
        log_r = lp - norm[:, None]
        R = w[rows, None] * np.exp(log_r)
        out += w[rows] @ norm, float((R * np.where(R > 0, log_r, 0.0)).sum())
        N += R.sum(axis=0)
        for k, (_, filled, C) in enumerate(found):
            first[k] += R[:, k] @ filled
            second[k] += (R[:, k, None] * filled).T @ filled + R[:, k].sum() * C
    return Moments(N, first, second, out)
