"""Derivatives of the logistic objective, row by row (equations of `objective.py`)"""

import numpy as np

from mlreplica.core.compile.jit import kernel
from mlreplica.core.formulas.exp import exp64
from mlreplica.core.formulas.loss_formulas import logistic_slopes

TINY = np.finfo(np.float64).tiny
PIVOT = 1e-7  # of a Cholesky factor, at ones on the diagonal, down to which it keeps its digits


@kernel
def two_classes(y, s, f, g, h):
    """g ← s(p − t) and h ← s p(1 − p) of (3) and (4); the sum of s L, by one exponential a row."""
    for i in range(len(f)):
        h[i] = -abs(f[i])
    exp64(h)
    total = 0.0
    for i in range(len(f)):
        total += s[i] * (np.log1p(h[i]) + max(-y[i] * f[i], 0.0))
        slope, bend = logistic_slopes(y[i], f[i], h[i])
        g[i], h[i] = s[i] * slope, s[i] * bend
    return total


@kernel
def inverse_root(H, root):
    """root ← L⁻¹D with D H D = L Lᵀ of diagonal one, so H⁻¹ = rootᵀ root; False if singular."""
    m = len(H)
    L, d = np.empty((m, m)), np.empty(m)
    for j in range(m):
        d[j] = 1.0 / np.sqrt(max(H[j, j], TINY))
    for j in range(m):
        for i in range(j, m):
            L[i, j] = H[i, j] * d[i] * d[j]
            for k in range(j):
                L[i, j] -= L[i, k] * L[j, k]
            if i > j:
                L[i, j] /= L[j, j]
            elif L[j, j] > PIVOT * PIVOT:
                L[j, j] = np.sqrt(L[j, j])
            else:
                return False
    for j in range(m):
        for i in range(m):
            root[i, j] = d[j] if i == j else 0.0
            for k in range(j, i):
                root[i, j] -= L[i, k] * root[k, j]
            root[i, j] /= L[i, i]
    return True


@kernel
def two_classes_at(X, y, s, l2, v, f, g, H, root):
    """f ← X̃v, g ← (3), H ← (4) and its root; P and ρ of (8), or infinity if H is singular.

    It is for little data: calls are what costs there, and this is one.
    """
    n, p = X.shape
    m = len(v)
    for i in range(n):
        f[i] = v[p] if m > p else 0.0
        for j in range(p):
            f[i] += X[i, j] * v[j]
    r, h, x = np.empty(n), np.empty(n), np.ones(m)
    P = two_classes(y, s, f, r, h)
    for j in range(m):
        g[j] = 0.0
        for k in range(m):
            H[j, k] = 0.0
    for i in range(n):
        for j in range(p):
            x[j] = X[i, j]
        for j in range(m):
            g[j] += r[i] * x[j]
            for k in range(m):
                H[j, k] += h[i] * x[j] * x[k]
    for j in range(p):
        g[j] += l2 * v[j]
        H[j, j] += l2
        P += l2 / 2 * v[j] * v[j]
    if not inverse_root(H, root):
        return P, np.inf
    farthest = 0.0
    for i in range(n):
        for j in range(p):
            x[j] = X[i, j]
        square = 0.0
        for j in range(m):
            z = 0.0
            for k in range(j + 1):
                z += root[j, k] * x[k]
            square += z * z
        farthest = max(farthest, square)
    return P, np.sqrt(farthest)


@kernel
def many_classes(y, s, F, G, hit):
    """G ← s(p − hit·t) of (3), a row a class so that loops run over neighbours; the sum of s L."""
    K, n = F.shape
    top, z = F[0].copy(), np.zeros(n)
    for k in range(1, K):
        for i in range(n):
            top[i] = F[k, i] if F[k, i] > top[i] else top[i]  # noqa: FURB136
    for k in range(K):
        for i in range(n):
            G[k, i] = F[k, i] - top[i]
    total = 0.0
    for i in range(n):
        total -= s[i] * G[y[i], i]
    exp64(G.reshape(K * n))
    for k in range(K):
        for i in range(n):
            z[i] += G[k, i]
    for i in range(n):
        total += s[i] * np.log(z[i])
        z[i] = s[i] / z[i]
    for k in range(K):
        for i in range(n):
            G[k, i] *= z[i]
    for i in range(n):
        G[y[i], i] -= hit * s[i]
    return total


@kernel
def stretch(X, G, A):
    """A ← the rows G_ki x̃_i, k after k; x̃ ends with a 1 if A has room for it."""
    n, p = X.shape
    m = A.shape[1] // len(G)
    for k in range(len(G)):
        for i in range(n):
            for j in range(p):
                A[i, k * m + j] = G[k, i] * X[i, j]
            for j in range(p, m):
                A[i, k * m + j] = G[k, i]


@kernel
def longest(X, q):
    """The largest of Σ_j |x_ij| q_j over the rows."""
    most = 0.0
    for i in range(X.shape[0]):
        total = 0.0
        for j in range(X.shape[1]):
            total += abs(X[i, j]) * q[j]
        most = max(most, total)
    return most
