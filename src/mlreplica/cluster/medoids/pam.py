r"""k-medoids: clusters around rows, for any distance

Choose k rows M, the medoids, so that all rows are near one of them:

    minimise over M ⊂ rows, |M| = k:   J(M) = Σ_i w_i min_{m ∈ M} d(x_i, m)                  (1)

No means are taken, so d may be any distance, and one far row does not drag a centre away. **PAM**
exchanges a medoid m for another row c as long as (1) falls. Let d₁(i) ≤ d₂(i) be the distances of
row i to its nearest and its second nearest medoid, and m₁(i) the nearest. Taking m away, and then
adding c, changes J by

    loss(m) = Σ_{i: m₁(i) = m} w_i (d₂(i) − d₁(i))                                           (2)

    Δ(m, c) = loss(m) + Σ_i w_i min(d_ic − d₁(i), 0)
            + Σ_{i: m₁(i) = m} w_i ( min(d_ic, d₂(i)) − d₂(i) − min(d_ic − d₁(i), 0) )       (3)

The second term is the same for all m, and the third touches one m for each row: so **one** pass
over the rows gives Δ(m, c) for all k medoids at once. PAM looks at all c and makes the best
exchange; FasterPAM makes an exchange as soon as one helps, goes on with the next c, and stops when
n candidates in a row did not help. Both end where no exchange lowers (1).                    (4)

References
----------
Kaufman, Rousseeuw: Clustering by means of medoids (1987).
Schubert, Rousseeuw: Fast and eager k-medoids clustering. Information Systems 101 (2021), 101804.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mlreplica.core.compile.jit import kernel

GAIN = 1e-12  # an exchange must lower J by more than this share of it


class SwapState(NamedTuple):
    """What a `Trace` records once per exchange (PAM), pass (FasterPAM) or round (alternate)."""

    medoids: Any  # (k,) rows
    inertia: float  # (1)
    swaps: int  # exchanges since the last state
    labels: Any  # (n,)


@kernel
def nearest_two(D, medoids, i, near, d):
    """Set near[i] and d[i]: the nearest and second nearest medoid of row i, and their distances."""
    d[i, 0] = d[i, 1] = np.inf
    near[i, 0] = near[i, 1] = 0
    for t in range(len(medoids)):
        r = D[medoids[t], i]
        if r < d[i, 0]:
            d[i, 1], near[i, 1] = d[i, 0], near[i, 0]
            d[i, 0], near[i, 0] = r, t
        elif r < d[i, 1]:
            d[i, 1], near[i, 1] = r, t


@kernel
def settle(D, medoids, w, near, d, loss):
    """Both nearest medoids of every row, the losses (2), and J."""
    J = 0.0
    loss[:] = 0.0
    for i in range(len(D)):
        nearest_two(D, medoids, i, near, d)
        loss[near[i, 0]] += w[i] * (d[i, 1] - d[i, 0])
        J += w[i] * d[i, 0]
    return J


@kernel
def best_exchange(row, w, near, d, loss, delta):
    """The medoid whose exchange for this candidate is best, and Δ of (3)."""
    common = 0.0
    delta[:] = loss
    for i in range(len(row)):
        r = row[i]
        if r < d[i, 1]:
            if r < d[i, 0]:
                common += w[i] * (r - d[i, 0])
                delta[near[i, 0]] += w[i] * (d[i, 0] - d[i, 1])
            else:
                delta[near[i, 0]] += w[i] * (r - d[i, 1])
    t = delta.argmin()
    return t, delta[t] + common


@kernel
def exchange(D, c, t, medoids, w, near, d, loss):
    """Put row c in the place of medoid t, and bring all else up to date; J."""
    medoids[t] = c
    J = 0.0
    loss[:] = 0.0
    for i in range(len(D)):
        r = D[c, i]
        if t in (near[i, 0], near[i, 1]):
            nearest_two(D, medoids, i, near, d)
        elif r < d[i, 0]:
            d[i, 1], near[i, 1] = d[i, 0], near[i, 0]
            d[i, 0], near[i, 0] = r, t
        elif r < d[i, 1]:
            d[i, 1], near[i, 1] = r, t
        loss[near[i, 0]] += w[i] * (d[i, 1] - d[i, 0])
        J += w[i] * d[i, 0]
    return J


@kernel
def eager_pass(D, w, medoids, near, d, loss, delta, order, J, idle):
    """Try every row once as in (4); J, exchanges made, and candidates that did not help since."""
    swaps = 0
    for c in order:
        if idle >= len(D):
            break
        idle += 1
        if D[medoids[near[c, 0]], c] == 0.0:
            continue  # a medoid, or as good as one
        t, change = best_exchange(D[c], w, near, d, loss, delta)
        if change < -GAIN * J:
            J = exchange(D, c, t, medoids, w, near, d, loss)
            swaps, idle = swaps + 1, 0
    return J, swaps, idle


@kernel
def best_of_all(D, w, near, d, loss, delta):
    """The best exchange of any medoid for any row: t, c and Δ."""
    best, t_best, c_best = 0.0, -1, -1
    for c in range(len(D)):
        t, change = best_exchange(D[c], w, near, d, loss, delta)
        if change < best:
            best, t_best, c_best = change, t, c
    return t_best, c_best, best


class Exchanges:
    """The state of a search: medoids, and what (2) and (3) need to know of them."""

    def __init__(self, D, w, medoids):
        n, k = len(D), len(medoids)
        self.D, self.w, self.medoids = D, w, np.array(medoids, dtype=np.int64)
        self.near, self.d = np.empty((n, 2), np.int64), np.empty((n, 2))
        self.loss, self.delta = np.empty(k), np.empty(k)
        self.J = settle(D, self.medoids, w, self.near, self.d, self.loss)

    @property
    def work(self):
        """The arrays that kernels change."""
        return self.near, self.d, self.loss

    def state(self, swaps):
        """The state as callbacks see it."""
        return SwapState(self.medoids.copy(), float(self.J), swaps, self.near[:, 0].copy())


def faster_pam(D, w, medoids, random):
    """Yield a state once per pass over the candidates, until n of them in a row did not help."""
    s, idle, n = Exchanges(D, w, medoids), 0, len(D)
    order = random.permutation(n)  # the same in all passes: n in a row are all there are
    while idle < n:
        s.J, swaps, idle = eager_pass(D, w, s.medoids, *s.work, s.delta, order, s.J, idle)
        yield s.state(int(swaps))


def pam(D, w, medoids, random=None):
    """Yield a state once per exchange, each the best there is."""
    s = Exchanges(D, w, medoids)
    while True:
        yield s.state(0)
        t, c, change = best_of_all(D, w, *s.work, s.delta)
        if change >= -GAIN * s.J:
            return
        s.J = exchange(D, c, t, s.medoids, w, *s.work)


def alternate(D, w, medoids, random=None):
    """Yield a state once per round: rows go to their medoid, each cluster chooses its best row."""
    s = Exchanges(D, w, medoids)
    while True:
        yield s.state(0)
        new = s.medoids.copy()
        for t in range(len(new)):
            rows = np.flatnonzero(s.near[:, 0] == t)
            if len(rows):
                new[t] = rows[(D[np.ix_(rows, rows)] @ w[rows]).argmin()]
        before = s.J
        s = Exchanges(D, w, new)
        if before * (1.0 - GAIN) <= s.J:
            return


def build(D, w, k):
    """First medoids, one after the other: the row that lowers (1) most."""
    medoids = [int((D @ w).argmin())]
    d = D[medoids[0]].copy()
    while len(medoids) < k:
        gain = np.array([w @ np.maximum(d - row, 0.0) for row in D])
        gain[medoids] = -1.0
        medoids.append(int(gain.argmax()))
        d = np.minimum(d, D[medoids[-1]])
    return medoids


def spread_out(D, w, k, random):
    """First medoids drawn one by one, with probability w times the distance to those drawn."""
    medoids = [int(random.choice(len(D), p=w / w.sum()))]
    d = D[medoids[0]].copy()
    while len(medoids) < k:
        chance = w * d
        chance[medoids] = 0.0
        total = chance.sum()
        if total == 0.0:  # fewer different rows than medoids
            rest = np.setdiff1d(np.arange(len(D)), medoids)
            return medoids + rest[: k - len(medoids)].tolist()
        medoids.append(int(random.choice(len(D), p=chance / total)))
        d = np.minimum(d, D[medoids[-1]])
    return medoids


SOLVERS = {"fasterpam": faster_pam, "pam": pam, "alternate": alternate}
