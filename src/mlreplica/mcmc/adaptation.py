r"""Adaptation: scales and covariances learned during the warm-up, and only then

A step size follows the acceptance rate α of each step towards its target α* (Robbins, Monro):   (1)

    log s ← log s + t^−0.6 (α − α*)

The covariance is that of the draws of a window, shrunk to its own diagonal. Windows double in
length, and each forgets the one before, so that where the chain began leaves no trace:          (2)

    Σ = n/(n + 5d) S + 5d/(n + 5d) diag S

Draws are added up in batches, which end at fixed steps: so what is learned does not depend on the
blocks in which a chain advances. Sums and factors are by NumPy without BLAS, whose rounding depends
on its threads.

References
----------
Robbins, Monro: A stochastic approximation method. Ann. Math. Stat. 22 (1951), 400–407.
Haario, Saksman, Tamminen: An adaptive Metropolis algorithm. Bernoulli 7 (2001), 223–242.
"""

import numpy as np

BATCH = 200  # draws that are added up at once


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


def new_window(d, full):
    """What a chain keeps of the draws of a window: some, and the sums of the others."""
    return {
        "recent": np.zeros((0, d)), "mean": np.zeros(d), "count": np.zeros(1),
        "square": np.zeros((d, d) if full else d),
    }  # fmt: skip


def learn(chain, ends, step, n, walk, renew):
    """Advance n steps of a warm-up from `step`; renew(L) at the end of every window.

    `walk(draws)` fills an array with the next draws; L is a factor of their covariance (2).
    """
    last, d = step + n, len(chain["mean"])
    cuts = (ends[0] // 2, *ends) if len(ends) else ()  # the first draws are forgotten, too
    while step < last:
        inside = len(ends) > 0 and cuts[0] <= step < cuts[-1]
        stop = min(last, (step // BATCH + 1) * BATCH, *(cut for cut in cuts if cut > step))
        draws = np.empty((stop - step, d))
        walk(draws)
        step = stop
        if not inside:
            continue
        chain["recent"] = np.concatenate([chain["recent"], draws])
        if step % BATCH == 0 or step in ends:
            add_draws(chain)
        if step in ends:
            L = covariance_factor(chain["square"], chain["count"][0])
            if L is not None:
                renew(L)
            chain.update(new_window(d, chain["square"].ndim == 2))


def add_draws(chain):
    """Add the recent draws to the sums of the window."""
    U, mean, square, count = (chain[name] for name in ("recent", "mean", "square", "count"))
    if len(U):
        own, total = U.mean(axis=0), count[0] + len(U)
        away, shift = U - own, own - mean
        share = count[0] * len(U) / total
        if square.ndim == 2:
            square += np.einsum("ki,kj->ij", away, away) + share * np.outer(shift, shift)
        else:
            square += (away * away).sum(axis=0) + share * shift * shift
        mean += shift * len(U) / total
        count[0] = total
        chain["recent"] = U[:0].copy()


def covariance_factor(square, count):
    """The Cholesky factor of (2), or (1, d) roots of the diagonal; None where there is none."""
    d = len(square)
    if count < 4:
        return None
    S = square / (count - 1.0)
    diagonal = S.diagonal().copy() if S.ndim == 2 else S
    if not ((diagonal > 0.0) & (diagonal < np.inf)).all():
        return None
    if S.ndim == 1:
        return np.sqrt(S)[None]
    S *= count / (count + 5.0 * d)
    np.fill_diagonal(S, diagonal)
    L = np.zeros((d, d))
    for j in range(d):
        column = S[j:, j] - (L[j:, :j] * L[j, :j]).sum(axis=1)
        if not column[0] > 0.0:
            return None
        L[j:, j] = column / np.sqrt(column[0])
    return L
