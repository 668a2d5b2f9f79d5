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

With g_ik = e_ik + f_ik, the slope of −D, row i is optimal where

    max_k g_ik  ≤  least_i = min { g_ik : β_ik < u_k }                                        (17)

Of many classes two or three matter to a row. One that rests at its bound with g_ik < least_i is set
aside at once, and the row with it when a single class is left: then a row costs its entries times
those two or three, and most rows cost nothing. Every look at all rows, which gives the gap, calls
them all back. Looks come the later the more there have been.

    gap = P − D = Σ_i [c_i max_k (e_ik + f_ik − f_iy) + Σ_k β_ikf_ik − β_iy]                  (18)

Crammer, Singer, On the algorithmic implementation of multiclass kernel-based vector machines
(2001); Keerthi, Sundararajan, Chang, Hsieh, Lin, A sequential dual method for large scale
multi-class linear SVMs (2008).
"""

import numpy as np
import scipy.sparse as sp

from mlreplica.core.compile.jit import kernel

from ._linear import state
from ._linear_dcd import shuffle

CLOSER = 0.1  # of its first violation that the sweeps between two looks aim at
MOST = 10  # times the work of a whole sweep at most between two looks


@kernel
def threshold(d, r, room):
    """θ of (16) from the kinks d[:r] in falling order; room = q c."""
    total, moving = d[0] - room, 1
    while moving < r and total < moving * d[moving]:
        total += d[moving]
        moving += 1
    return total / moving


@kernel
def insert(d, r, value):
    """Put `value` in its place among d[:r], which are in falling order."""
    while r > 0 and d[r - 1] < value:
        d[r] = d[r - 1]
        r -= 1
    d[r] = value


@kernel
def sweep(start, columns, data, bias, y, c, q, beta, W, order, m, classes, count, seed):
    """(16) for the rows order[:m] and for the classes[i, :count[i]] of each; W is (p + 1, K).

    Those set aside leave `classes` and `order`. Returns how many rows stay, the largest violation
    of (17), and how many products of an entry of X and one of W it computed.
    """
    p, kept, worst, work = len(W) - 1, 0, 0.0, 0
    g, d = np.empty(W.shape[1]), np.empty(W.shape[1])
    shuffle(order, m, seed)
    for place in range(m):
        i = order[place]
        a, b, mine, r = start[i], start[i + 1], classes[i], count[i]
        top, least = -np.inf, np.inf
        for s in range(r):
            k = mine[s]
            f = bias * W[p, k]
            for e in range(a, b):
                f += data[e] * W[columns[e], k]
            g[s] = f if k == y[i] else f + 1.0
            top = max(top, g[s])
            if beta[i, k] < (c[i] if k == y[i] else 0.0):
                least = min(least, g[s])
        work += r * (np.int64(b - a) + 1)
        left = 0
        for s in range(r):
            k = mine[s]
            if beta[i, k] < (c[i] if k == y[i] else 0.0) or g[s] >= least:
                mine[left], g[left] = k, g[s]
                left += 1
        count[i] = left
        if left == 1:
            continue
        order[kept] = i
        kept += 1
        worst = max(worst, top - least)
        for s in range(left):
            k = mine[s]
            g[s] -= q[i] * beta[i, k]  # v_k
            insert(d, s, g[s] + q[i] * c[i] if k == y[i] else g[s])
        theta = threshold(d, left, q[i] * c[i])
        for s in range(left):
            k = mine[s]
            new = min(c[i] if k == y[i] else 0.0, (theta - g[s]) / q[i])
            step = new - beta[i, k]
            if step != 0.0:
                beta[i, k] = new
                W[p, k] += step * bias
                for e in range(a, b):
                    W[columns[e], k] += step * data[e]
    return kept, worst, work


@kernel
def look(start, columns, data, bias, y, c, beta, W):
    """The sum of losses in (14), and (18)."""
    p, loss, gap = len(W) - 1, 0.0, 0.0
    f = np.empty(W.shape[1])
    for i in range(len(y)):
        for k in range(len(f)):
            f[k] = bias * W[p, k]
        for e in range(start[i], start[i + 1]):
            x, w = data[e], W[columns[e]]
            for k in range(len(f)):
                f[k] += x * w[k]
        short, turn = 0.0, -beta[i, y[i]]
        for k in range(len(f)):
            if k != y[i]:
                short = max(short, 1.0 + f[k] - f[y[i]])
            turn += beta[i, k] * f[k]
        loss += c[i] * short
        gap += max(c[i] * short + turn, 0.0)
    return loss, gap


def crammer_singer(X, bias, codes, c, K, rng):
    """Yield the state indefinitely, after every look; `codes` are the classes 0 … K − 1."""
    X = sp.csr_array(X)
    n = len(codes)
    stored = X.indptr.astype(np.uint64), X.indices.astype(np.uint32), X.data, bias
    q = np.maximum(np.ravel(X.power(2).sum(axis=1)) + bias**2, 1e-300)
    beta, W, y = np.zeros((n, K)), np.zeros((X.shape[1] + 1, K)), codes.astype(np.int64)
    seed = rng.randint(1, 1 << 31, size=1).astype(np.uint64)
    looks = 0
    while True:
        looks += 1
        classes, count = np.tile(np.arange(K), (n, 1)), np.full(n, K)
        order, m, budget, first = np.arange(n), n, min(looks, MOST) * K * (X.nnz + n), 0.0
        while m > 0 and budget > 0:
            m, worst, work = sweep(*stored, y, c, q, beta, W, order, m, classes, count, seed)
            budget -= work
            first = first or worst
            if worst <= CLOSER * first:
                break
        loss, gap = look(*stored, y, c, beta, W)
        yield state(W.T.copy(), 0.5 * float(np.vdot(W, W)) + loss, gap)
