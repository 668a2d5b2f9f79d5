r"""Adaptation: scales and covariances learned during the warm-up, and only then

A step size follows the acceptance rate α of each step towards its target α* (Robbins, Monro):   (1)

    log s ← log s + t^−0.6 (α − α*)

The covariance is that of the draws of a window (Welford), shrunk to its own diagonal. Windows
double in length, and each forgets the one before, so that where the chain began leaves no trace:
       (2)

    Σ = n/(n + 5d) S + 5d/(n + 5d) diag S

References
----------
Robbins, Monro: A stochastic approximation method. Ann. Math. Stat. 22 (1951), 400–407.
Haario, Saksman, Tamminen: An adaptive Metropolis algorithm. Bernoulli 7 (2001), 223–242.
"""

import math

import numpy as np

from mlreplica.core.compile.jit import kernel


def window_ends(n, first=75, last=50):
    """The steps of a warm-up of n after which the covariance is renewed: windows double."""
    if n < 20:
        return np.zeros(0, dtype=np.int64)
    if n < first + last + 25:
        first, last = int(0.15 * n), int(0.1 * n)
    ends, at, size = [], first, 25
    while at < n - last:
        end = at + size
        if end + 2 * size > n - last:
            end = n - last
        ends.append(end)
        at, size = end, 2 * size
    return np.array(ends, dtype=np.int64)


@kernel(part=True, borrow=True)
def add_draw(u, mean, square, count):
    """Welford's update of the mean and of Σ (u − mean)(u − mean)ᵀ, (1, d) if only its diagonal."""
    n, d, full = count + 1.0, len(u), square.shape[0] == len(u)
    for i in range(d):
        delta = u[i] - mean[i]
        mean[i] += delta / n
    for i in range(d):
        later = u[i] - mean[i]
        if full:
            for j in range(i + 1):  # u_j − the old mean = (u_j − the new mean) n / (n − 1)
                if count > 0.0:
                    square[i, j] += later * (u[j] - mean[j]) * n / count
        elif count > 0.0:
            square[0, i] += later * later * n / count
    return n


@kernel(part=True, borrow=True)
def take_covariance(square, count, L):
    """L ← the Cholesky factor (or the roots of the diagonal) of (2); True if that could be done."""
    d, full = L.shape[1], L.shape[0] == L.shape[1]
    share = (count / (count + 5.0 * d)) / (count - 1.0) if full else 1.0 / (count - 1.0)
    for i in range(d):
        diagonal = square[i, i] if full else square[0, i]
        if not (diagonal > 0.0 and diagonal < math.inf):
            return False
    if not full:
        for i in range(d):
            L[0, i] = math.sqrt(share * square[0, i])
        return True
    for i in range(d):
        for j in range(i + 1):
            s = square[i, j] * share if i != j else square[i, i] / (count - 1.0)
            for k in range(j):
                s -= L[i, k] * L[j, k]
            if i == j:
                if s <= 0.0:
                    return False
                L[i, i] = math.sqrt(s)
            else:
                L[i, j] = s / L[j, j]
    return True
