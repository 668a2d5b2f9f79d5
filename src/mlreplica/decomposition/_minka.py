r"""How many components? The evidence of probabilistic PCA (Minka 2000)

The likelihood of the Gaussian model with k axes grows with k. Integrate its parameters out, by
Laplace's approximation: what remains is the evidence of k, which has a maximum. It needs nothing
but all variances λ_1 ≥ … ≥ λ_p and the number of rows.
"""

import numpy as np
from scipy.special import gammaln


def minka(variance, n):
    """The k < p of largest evidence (Minka 2000), given all variances."""
    p = len(variance)
    if p < 2:
        return 0 if not p else 1
    return 1 + int(np.argmax([evidence(variance, k, n) for k in range(1, p)]))


def evidence(variance, k, n):
    """The logarithm of the evidence of k components, by Laplace's approximation."""
    p, least = len(variance), 1e-15
    if variance[k - 1] < least:  # nothing is spread along this component
        return -np.inf
    i = np.arange(1, k + 1)
    half = (p - i + 1) / 2.0
    volume = -k * np.log(2.0) + (gammaln(half) - np.log(np.pi) * half).sum()
    noise = max(least, variance[k:].sum() / (p - k))
    m = p * k - k * (k + 1.0) / 2.0
    spectrum = np.append(variance[:k], np.full(p - k, noise))
    a, b = np.triu_indices(p, 1)
    some = a < k
    a, b = a[some], b[some]
    with np.errstate(divide="ignore", invalid="ignore"):
        curvature = np.log(
            (variance[a] - variance[b]) * (1.0 / spectrum[b] - 1.0 / spectrum[a])
        ) + np.log(n)
    likelihood = -np.log(variance[:k]).sum() * n / 2.0 - np.log(noise) * n * (p - k) / 2.0
    integral = np.log(2.0 * np.pi) * (m + k) / 2.0 - curvature.sum() / 2.0 - k * np.log(n) / 2.0
    return volume + likelihood + integral
