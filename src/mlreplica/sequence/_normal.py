r"""Normal densities and moments of many components at once, 32 rows in the lanes of the processor

    log N(x; μ, Σ) = −½ (p log 2π + log|Σ| + (x − μ)ᵀ Σ⁻¹ (x − μ))                          (1)

with Σ diagonal, or Σ⁻¹ = MᵀM for the inverse M of Σ's Cholesky factor. The moments
Σ_t γ_t (x_t − c) and Σ_t γ_t (x_t − c)(x_t − c)ᵀ are taken about a centre c near the mean, where
no digits are lost. A missing x_d drops out of (1): of its sum if Σ is diagonal, and otherwise
it is replaced by what the present values let one expect of it (`_missing.py`).
"""

import numpy as np
from sklearn.utils import check_random_state

from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import n_threads, run, split

LANES = 32


@kernel(borrow=True)
def diagonal_densities(X, means, precisions, logs, out, first, last, block):
    """(1) for Σ diagonal: out[t, k] of rows first … last−1; NaN adds nothing."""
    p, K = X.shape[1], len(means)
    total = block[p]
    for a in range(first, last, LANES):
        m = min(LANES, last - a)
        for l in range(m):
            for d in range(p):
                block[d, l] = X[a + l, d]
        for k in range(K):
            for l in range(LANES):
                total[l] = 0.0
            for d in range(p):
                mu, w, c = means[k, d], precisions[k, d], logs[k, d]
                for l in range(LANES):
                    e = block[d, l] - mu
                    v = c - w * e * e
                    total[l] += 0.0 if np.isnan(v) else v
            for l in range(m):
                out[a + l, k] = total[l]
    return 0


@kernel(borrow=True)
def full_densities(X, means, factors, which, logs, out, first, last, block):
    """(1) for any Σ: component k has the factor M = factors[which[k]], lower triangular."""
    p, K = X.shape[1], len(means)
    total, y = block[2 * p], block[2 * p + 1]
    for a in range(first, last, LANES):
        m = min(LANES, last - a)
        for l in range(m):
            for d in range(p):
                block[d, l] = X[a + l, d]
        for k in range(K):
            M = factors[which[k]]
            for l in range(LANES):
                total[l] = logs[k]
            for d in range(p):
                mu = means[k, d]
                for l in range(LANES):
                    block[p + d, l] = block[d, l] - mu
            for d in range(p):
                for l in range(LANES):
                    y[l] = 0.0
                for e in range(d + 1):
                    w = M[d, e]
                    for l in range(LANES):
                        y[l] += w * block[p + e, l]
                for l in range(LANES):
                    total[l] -= 0.5 * y[l] * y[l]
            for l in range(m):
                out[a + l, k] = total[l]
    return 0


@kernel(borrow=True)
def diagonal_moments(X, gamma, centre, s0, s1, s2, first, last, block):
    """Adds Σγ, Σγ(x − c) and Σγ(x − c)² of rows first … last−1; a missing x has no weight."""
    p, K = X.shape[1], len(centre)
    g = block[p]
    for a in range(first, last, LANES):
        m = min(LANES, last - a)
        for l in range(m):
            for d in range(p):
                block[d, l] = X[a + l, d]
        for k in range(K):
            for l in range(LANES):
                g[l] = gamma[a + l, k] if l < m else 0.0
            for d in range(p):
                c, u0, u1, u2 = centre[k, d], 0.0, 0.0, 0.0
                for l in range(LANES):
                    e = block[d, l] - c
                    w = 0.0 if np.isnan(e) else g[l]
                    e = 0.0 if np.isnan(e) else e
                    u0 += w
                    u1 += w * e
                    u2 += w * e * e
                s0[k, d] += u0
                s1[k, d] += u1
                s2[k, d] += u2
    return 0


@kernel(borrow=True)
def full_moments(X, gamma, centre, which, s0, s1, s2, first, last, block):
    """The same with products (x − c)(x − c)ᵀ, of which the lower triangle is added."""
    p, K = X.shape[1], len(centre)
    for a in range(first, last, LANES):
        m = min(LANES, last - a)
        for k in range(K):
            S = s2[which[k]]
            g = block[p]
            total = 0.0
            for l in range(LANES):
                g[l] = gamma[a + l, k] if l < m else 0.0
                total += g[l]
            if total == 0.0:
                continue
            for l in range(m):
                for d in range(p):
                    block[d, l] = X[a + l, d] - centre[k, d]
            for d in range(p):
                s0[k, d] += total
                u, gd = 0.0, block[p + 1]
                for l in range(LANES):
                    gd[l] = g[l] * block[d, l]
                    u += gd[l]
                s1[k, d] += u
                for e in range(d + 1):
                    u = 0.0
                    for l in range(LANES):
                        u += gd[l] * block[e, l]
                    S[d, e] += u
    return 0


def in_parts(n, task):
    """Run task(first, last) over parts of the rows, on threads."""
    parts = split(n, n_threads(), least=4096)
    return run(lambda rows: task(rows.start, rows.stop), parts)


def log_densities(X, means, variances):
    """(1) of every row under every component; variances (K, p)."""
    logs = -0.5 * np.log(2 * np.pi * variances)
    out, p = np.empty((len(X), len(means))), X.shape[1]

    def task(first, last):
        block = np.zeros((p + 1, LANES))
        diagonal_densities(X, means, 0.5 / variances, logs, out, first, last, block)

    in_parts(len(X), task)
    return out


def log_densities_full(X, means, covariances, which):
    """(1) with Σ of component k in covariances[which[k]]; X has no NaN."""
    factors, log_dets = inverse_factors(covariances)
    p = X.shape[1]
    logs = (-0.5 * p * np.log(2 * np.pi) + log_dets)[which]
    out = np.empty((len(X), len(means)))

    def task(first, last):
        block = np.zeros((2 * p + 2, LANES))
        full_densities(X, means, factors, which, logs, out, first, last, block)

    in_parts(len(X), task)
    return out


def inverse_factors(covariances):
    """The inverse M of each Cholesky factor, and log|M|."""
    try:
        M = np.linalg.inv(np.linalg.cholesky(covariances))
    except np.linalg.LinAlgError:
        raise ValueError("covars_ must be symmetric and positive definite.") from None
    return np.tril(M), np.log(np.einsum("kii->ki", M)).sum(axis=1)


def moments(X, gamma, centre):
    """Σγ, Σγ(x − c), Σγ(x − c)², each (K, p)."""
    (n, p), K = X.shape, len(centre)

    def task(first, last):
        sums = np.zeros((3, K, p))
        block = np.zeros((p + 1, LANES))
        diagonal_moments(X, gamma, centre, *sums, first, last, block)
        return sums

    return sum(in_parts(n, task))


def moments_full(X, gamma, centre, which):
    """Σγ, Σγ(x − c), and Σγ(x − c)(x − c)ᵀ added up over components of one `which`."""
    (n, p), K = X.shape, len(centre)

    def task(first, last):
        s0, s1, s2 = np.zeros((K, p)), np.zeros((K, p)), np.zeros((which.max() + 1, p, p))
        block = np.zeros((p + 2, LANES))
        full_moments(X, gamma, centre, which, s0, s1, s2, first, last, block)
        return s0, s1, s2

    s0, s1, s2 = (sum(parts) for parts in zip(*in_parts(n, task), strict=True))
    lower = np.tril(s2, -1)
    return s0, s1, s2 + lower.transpose(0, 2, 1)


def floored(covariances, floor):
    """The best covariances nowhere below diag(floor): eigenvalues in its units, clipped."""
    scale = np.sqrt(floor)
    scaled = covariances / scale / scale[:, None]
    values, vectors = np.linalg.eigh((scaled + scaled.transpose(0, 2, 1)) / 2)
    if (values >= 1).all():
        return (covariances + covariances.transpose(0, 2, 1)) / 2
    clipped = np.einsum("kij,kj,klj->kil", vectors, np.maximum(values, 1.0), vectors)
    return clipped * scale * scale[:, None]


def outer(a, b):
    """The products a bᵀ of rows."""
    return a[:, :, None] * b[:, None, :]


def log_normal_prior(spread, weight, scatter):
    """−½ Σ_k (weight_k log|Σ_k| + tr(scatter_k Σ_k⁻¹)), for variances or matrices Σ."""
    if spread.ndim == 2:
        return -0.5 * float((weight * np.log(spread) + scatter / spread).sum())
    M, log_dets = inverse_factors(spread)  # log_dets: −½ log|Σ|
    trace = np.einsum("kij,kil,kjl->k", M, M, scatter, optimize=True)
    return float((weight * log_dets - 0.5 * trace).sum())


def column_floor(X, least):
    """The least variance of each column: `least`, or a millionth of its own if less."""
    seen = X.astype(np.float64, copy=False)
    with np.errstate(invalid="ignore", over="ignore"):
        spread = np.nanvar(seen, axis=0) if np.isnan(seen).any() else seen.var(axis=0)
    spread = np.where(np.isfinite(spread), spread, 0.0)
    return np.where(spread > 0, np.minimum(least, 1e-6 * spread), least) + 1e-300


def starting_means(X, n, seed):
    """Centres of n groups, by k-means on at most 10,000 rows; NaN as the column's mean."""
    import warnings

    from sklearn.cluster import KMeans

    if len(X) < n:
        raise ValueError(f"{n} states need at least {n} rows, got n_samples = {len(X)}.")
    rng = check_random_state(seed)
    rows = X if len(X) <= 10_000 else X[rng.choice(len(X), 10_000, replace=False)]
    missing = np.isnan(rows)
    if missing.any():
        known = np.where(missing, 0.0, rows).sum(axis=0) / np.maximum((~missing).sum(axis=0), 1)
        rows = np.where(missing, known, rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fewer distinct rows than groups
        return KMeans(n, n_init=10, random_state=seed).fit(rows).cluster_centers_
