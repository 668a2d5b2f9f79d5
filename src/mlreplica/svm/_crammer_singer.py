r"""Linear support vector machine of many classes at once (Crammer and Singer)

One w_k for each of K classes. The right class must beat every other by a margin of 1; the worst
shortfall is the loss, so that a row is counted once, and not once for each class as in one-vs-rest:

    minimise over W:  P = ½ Σ_k ‖w_k‖² + Σ_i c_i max_k (e_ik + f_ik − f_iy),   f_ik = w_kᵀx_i (14)

with y the class of row i and e_ik = 1, but e_iy = 0. The largest of K numbers is the largest of
their weighted means, whence K dual variables a row,

    maximise over β:  D = Σ_i β_iy − ½ Σ_k ‖w_k‖²,    w_k = Σ_i β_ik x_i                      (15)
    with   β_ik ≤ 0 for k ≠ y,   β_iy ≤ c_i,   Σ_k β_ik = 0 for every i

One row's β_i moves while all others rest. With q_i = ‖x_i‖² and v_k = e_ik + f_ik − q_iβ_ik, its
part of −D is Σ_k (½q_iβ_k² + v_kβ_k), least under Σβ_k = 0 and the bounds u_k of (15) at

    β_ik = min(u_k, (θ − v_k)/q_i),    θ such that their sum is 0                             (16)

The sum grows with θ. Its kinks are d_k = v_k + q_iu_k; for θ below all of the r largest of them
these are the classes that still move, so with the kinks in falling order θ is the first
(d_1 + … + d_r − q_ic_i)/r that is not less than the next kink. Then w_k ← w_k + Δβ_ik x_i.

    gap = P − D = Σ_i [c_i max_k (e_ik + f_ik − f_iy) + Σ_k β_ikf_ik − β_iy]                  (17)

Crammer, Singer, On the algorithmic implementation of multiclass kernel-based vector machines
(2001); Keerthi, Sundararajan, Chang, Hsieh, Lin, A sequential dual method for large scale
multi-class linear SVMs (2008).
"""

import numpy as np
import scipy.sparse as sp

from mlreplica.core.jit import kernel

from ._linear import state
from ._linear_dcd import shuffle


@kernel
def scores(start, columns, data, bias, W, i, f):
    """f_k ← w_kᵀx_i; W (p + 1, K)"""
    p = len(W) - 1
    for k in range(len(f)):
        f[k] = bias * W[p, k]
    for e in range(start[i], start[i + 1]):
        for k in range(len(f)):
            f[k] += data[e] * W[columns[e], k]


@kernel
def threshold(v, y, room):
    """θ of (16), from v; room = q c."""
    K = len(v)
    d = v.copy()
    d[y] += room
    d[:] = -np.sort(-d)
    total, r = d[0] - room, 1
    while r < K and total < r * d[r]:
        total += d[r]
        r += 1
    return total / r


@kernel
def sweep(start, columns, data, bias, y, c, q, beta, W, order, m, M, seed):
    """(16) for the rows order[:m]; rows that are right by M more than they must be leave it.

    Returns how many stay, and the largest violation of optimality.
    """
    K, p, kept, worst = W.shape[1], len(W) - 1, 0, 0.0
    f, v = np.empty(K), np.empty(K)
    shuffle(order, m, seed)
    for place in range(m):
        i = order[place]
        scores(start, columns, data, bias, W, i, f)
        top, least, idle = -np.inf, np.inf, True
        for k in range(K):
            g = f[k] + (1.0 if k != y[i] else 0.0)
            top = max(top, g)
            if beta[i, k] < (c[i] if k == y[i] else 0.0):
                least = min(least, g)
            idle = idle and beta[i, k] == 0.0
            v[k] = g - q[i] * beta[i, k]
        if idle:
            best = -np.inf
            for k in range(K):
                best = max(best, f[k] + 1.0 if k != y[i] else -np.inf)
            if best - f[y[i]] < -M:
                continue
        order[kept] = i
        kept += 1
        worst = max(worst, top - least)
        theta = threshold(v, y[i], q[i] * c[i])
        for k in range(K):
            new = min(c[i] if k == y[i] else 0.0, (theta - v[k]) / q[i])
            d = new - beta[i, k]
            if d != 0.0:
                beta[i, k] = new
                W[p, k] += d * bias
                for e in range(start[i], start[i + 1]):
                    W[columns[e], k] += d * data[e]
    return kept, worst


@kernel
def look(start, columns, data, bias, y, c, beta, W):
    """The sum of losses in (14), and (17)."""
    K, loss, gap = W.shape[1], 0.0, 0.0
    f = np.empty(K)
    for i in range(len(y)):
        scores(start, columns, data, bias, W, i, f)
        short, turn = 0.0, -beta[i, y[i]]
        for k in range(K):
            if k != y[i]:
                short = max(short, 1.0 + f[k] - f[y[i]])
            turn += beta[i, k] * f[k]
        loss += c[i] * short
        gap += max(c[i] * short + turn, 0.0)
    return loss, gap


def crammer_singer(X, bias, codes, c, K, rng):
    """Yield the State for ever, after every look; `codes` are the classes 0 … K − 1 of the rows."""
    X = sp.csr_array(X)
    n = len(codes)
    stored = X.indptr.astype(np.uint64), X.indices.astype(np.uint32), X.data, bias
    q = np.maximum(np.ravel(X.power(2).sum(axis=1)) + bias**2, 1e-300)
    beta, W, y = np.zeros((n, K)), np.zeros((X.shape[1] + 1, K)), codes.astype(np.int64)
    seed = rng.randint(1, 1 << 31, size=1).astype(np.uint64)
    looks = 0
    while True:
        order, m, M, budget = np.arange(n), n, np.inf, n * min(1 + looks // 4, 10)
        first = 0.0
        while budget > 0 and m > 0:
            budget -= m
            m, worst = sweep(*stored, y, c, q, beta, W, order, m, M, seed)
            first, M = first or worst, worst or np.inf
            if worst <= 0.05 * first:
                break
        looks += 1
        loss, gap = look(*stored, y, c, beta, W)
        yield state(W.T.copy(), 0.5 * float(np.vdot(W, W)) + loss, gap)
