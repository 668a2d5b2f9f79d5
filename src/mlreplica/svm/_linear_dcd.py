r"""Linear support vector machines by dual coordinate descent

The problem is (1) of `_linear`. Its dual (4) has one β_i for each row and no constraint that ties
them together, because the intercept is penalised too. So one β_i can move while all others rest.
With w = Xᵀβ at hand, the slope of −D along β_i, but for the ε|β_i|, is

    g_i = x_iᵀw + λ_iβ_i − t_i                                                                (6)

and −D is a parabola of curvature q_i = ‖x_i‖² + λ_i, whose minimum in the box is

    β_i ← S(q_iβ_i − g_i, ε)/q_i,  not below l_i, not above u_i;      then  w ← w + Δβ_i x_i  (7)

Both cost the nonzero entries of x_i; the n² products x_iᵀx_j of the kernel machine never appear. A
sweep takes all rows in random order: in the order of the file, with classes one after the other,
it can need many times as long.

To the left and to the right of β_i the dual has the slopes (±ε: by the side of 0 that is meant)

    g_i⁻ = g_i ± ε (−∞ at l_i),      g_i⁺ = g_i ± ε (+∞ at u_i)                               (8)

and β_i is optimal where g_i⁻ ≤ 0 ≤ g_i⁺. The largest violation of that in one sweep is M. A β_i
with g_i⁻ < −M and g_i⁺ > M, at a bound or at the kink in 0 and held there by more than any row is
in doubt, is set aside (shrinking). After some sweeps of what is left one look at all rows gives
the gap (5) and the rows to go on with, among them those that were set aside too early.

Rows in random order come from memory with a delay; asking for them four rows ahead doubles the
speed on sparse rows.

Hsieh, Chang, Lin, Keerthi, Sundararajan, A dual coordinate descent method for large-scale linear
SVM (2008); Ho, Lin, Large-scale linear support vector regression (2012).
"""

import numpy as np
import scipy.sparse as sp

from mlreplica.core.compile.intrinsics import prefetch_item, prefetch_vector
from mlreplica.core.compile.jit import kernel
from mlreplica.core.formulas.vectors import add_scaled, dot

from ._linear import excess, shrunk, state

AHEAD = 4  # rows
MOST = 10  # sweeps at most between two looks


@kernel
def shuffle(order, m, seed):
    """The first m entries of `order` in random order (Fisher, Yates; numbers by xorshift)."""
    s = seed[0]
    for k in range(m - 1, 0, -1):
        s ^= s << np.uint64(13)
        s ^= s >> np.uint64(7)
        s ^= s << np.uint64(17)
        j = np.int64(((s >> np.uint64(32)) * np.uint64(k + 1)) >> np.uint64(32))
        order[j], order[k] = order[k], order[j]
    seed[0] = s


@kernel
def slopes(g, b, low, high, eps):
    """(8)"""
    left = g + eps if b > 0.0 else g - eps
    right = g + eps if b >= 0.0 else g - eps
    return left if b > low else -np.inf, right if b < high else np.inf


@kernel
def moved(g, b, row, eps):
    """(7)"""
    _, low, high, _, q = row
    return min(max(shrunk(q * b - g, eps) / q, low), high)


@kernel
def dense_sweep(X, bias, rows, eps, beta, w, order, m, M, seed):
    """(7) for the rows order[:m]; those set aside leave it. How many stay, and the violation."""
    p, kept, worst = X.shape[1], 0, 0.0
    shuffle(order, m, seed)
    for k in range(m):
        i = order[k]
        if k + 1 < m:
            prefetch_vector(X[order[k + 1]])
        b, row = beta[i], rows[i]
        g = dot(X[i], w[:p]) + bias * w[p] + row[3] * b - row[0]  # (6)
        left, right = slopes(g, b, row[1], row[2], eps)
        if left < -M and right > M:
            continue
        order[kept] = i
        kept += 1
        worst = max(worst, left, -right)
        beta[i] = moved(g, b, row, eps)
        if beta[i] != b:
            add_scaled(w[:p], beta[i] - b, X[i])
            w[p] += (beta[i] - b) * bias
    return kept, worst


@kernel
def sparse_sweep(start, columns, data, bias, rows, eps, beta, w, order, m, M, seed):
    """The same on CSR rows."""
    p, kept, worst = len(w) - 1, 0, 0.0
    shuffle(order, m, seed)
    for k in range(m):
        if k + AHEAD < m:
            i = order[k + AHEAD]
            for e in range(start[i], start[i + 1], 8):
                prefetch_item(data, e)
            for e in range(start[i], start[i + 1], 16):
                prefetch_item(columns, e)
            prefetch_item(rows, 5 * i)
            prefetch_item(beta, i)
        if k + 3 * AHEAD < m:
            prefetch_item(start, order[k + 3 * AHEAD])
        i = order[k]
        b, row, g = beta[i], rows[i], bias * w[p]
        for e in range(start[i], start[i + 1]):
            g += data[e] * w[columns[e]]
        g += row[3] * b - row[0]  # (6)
        left, right = slopes(g, b, row[1], row[2], eps)
        if left < -M and right > M:
            continue
        order[kept] = i
        kept += 1
        worst = max(worst, left, -right)
        beta[i] = moved(g, b, row, eps)
        if beta[i] != b:
            d = beta[i] - b
            w[p] += d * bias
            for e in range(start[i], start[i + 1]):
                w[columns[e]] += d * data[e]
    return kept, worst


@kernel
def look(f, rows, eps, beta, M, order):
    """All rows at their scores f: the sums of L and of (5), and in `order` the rows to go on with.

    Returns both sums, the number of these rows and the largest violation.
    """
    loss, gap, m, worst = 0.0, 0.0, 0, 0.0
    for i in range(len(f)):
        b, (t, low, high, lam, _) = beta[i], rows[i]
        L, e = excess(t - f[i], b, low, high, lam, eps)
        loss += L
        gap += e
        left, right = slopes(f[i] + lam * b - t, b, low, high, eps)
        worst = max(worst, left, -right)
        if not (left < -M and right > M):
            order[m] = i
            m += 1
    return loss, gap, m, worst


def dual_coordinate_descent(problem, rng):
    """Yield the State indefinitely, after every look."""
    X, n = problem.X, len(problem.t)
    sparse = sp.issparse(X)
    squares = X.power(2).sum(axis=1) if sparse else np.einsum("ij,ij->i", X, X)
    q = np.maximum(np.ravel(squares) + problem.bias**2 + problem.lam, 1e-300)
    rows = np.column_stack([problem.t, problem.low, problem.high, problem.lam, q])
    if sparse:
        sweep = sparse_sweep
        stored = X.indptr.astype(np.uint64), X.indices.astype(np.uint32), X.data
    else:
        sweep, stored = dense_sweep, (X,)
    beta, w, order, m = np.zeros(n), np.zeros(X.shape[1] + 1), np.arange(n), n
    seed = rng.randint(1, 1 << 31, size=1).astype(np.uint64)
    M, looks = np.inf, 0
    while True:
        budget, first = n * min(1 + looks // 4, MOST), 0.0
        while budget > 0 and m > 0:
            budget -= m
            m, worst = sweep(*stored, problem.bias, rows, problem.eps, beta, w, order, m, M, seed)
            first, M = first or worst, worst or np.inf
            if worst <= 0.05 * first:
                break
        looks += 1
        f = problem.scores(w)
        loss, gap, m, M_all = look(f, rows, problem.eps, beta, M, order)
        objective = 0.5 * float(w @ w) + loss
        yield state(w.copy(), objective, gap)
        M = M_all or np.inf
