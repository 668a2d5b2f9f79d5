r"""Missing values under normal densities with correlations, one pattern of gaps at a time

With o the columns that are present and m those that are not,

    log p(x_o) = log N(x_o; μ_o, Σ_oo)                                                     (1)
    E[x_m | x_o] = μ_m + Σ_mo Σ_oo⁻¹ (x_o − μ_o),   Var = Σ_mm − Σ_mo Σ_oo⁻¹ Σ_om            (2)

so that EM fills in (2) and adds the variance to the second moments.
"""

import numpy as np

from ._normal import log_densities_full, moments_full


def patterns(X):
    """(rows, which of their columns are present) for every pattern of gaps."""
    missing = np.isnan(X)
    kinds, inverse = np.unique(missing, axis=0, return_inverse=True)
    inverse = inverse.ravel()
    return [(np.flatnonzero(inverse == k), ~kind) for k, kind in enumerate(kinds)]


def log_densities_missing(X, means, covariances, which):
    """(1) of every row under every component."""
    out = np.zeros((len(X), len(means)))
    for rows, o in patterns(X):
        if o.any():
            part = np.ascontiguousarray(X[np.ix_(rows, o)])
            inner = np.ascontiguousarray(covariances[:, o][:, :, o])
            out[rows] = log_densities_full(part, np.ascontiguousarray(means[:, o]), inner, which)
    return out


def moments_missing(X, gamma, centre, means, covariances, which):
    """Expected Σγ, Σγ(x − c), Σγ(x − c)(x − c)ᵀ, by (2)."""
    (_, p), K = X.shape, len(means)
    s0, s1, s2 = np.zeros((K, p)), np.zeros((K, p)), np.zeros((len(covariances), p, p))
    for rows, o in patterns(X):
        for k in range(K):
            S, m = covariances[which[k]], ~o
            filled = np.tile(means[k], (len(rows), 1))
            extra = np.zeros((p, p))
            if o.any():
                known = X[np.ix_(rows, o)]
                filled[:, o] = known
                gain = np.linalg.solve(S[np.ix_(o, o)], S[np.ix_(o, m)])
                filled[:, m] += (known - means[k, o]) @ gain
                extra[np.ix_(m, m)] = S[np.ix_(m, m)] - S[np.ix_(m, o)] @ gain
            else:
                extra = S.copy()
            g = np.ascontiguousarray(gamma[rows, k : k + 1])
            t0, t1, t2 = moments_full(filled, g, centre[k : k + 1], np.zeros(1, dtype=np.int64))
            s0[k] += t0[0]
            s1[k] += t1[0]
            s2[which[k]] += t2[0] + g.sum() * extra
    return s0, s1, s2
