r"""The quadratic model of a penalised logistic regression, and its minimum by coordinate descent

Letters as in `_logistic_cd`, whose equations (2) to (4) these functions carry out. The model is
given either by H = [1 X]ᵀ h [1 X] and a gradient, or by X itself, dense or sparse, with h and R.
"""

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack

from mlreplica.core.blas import add_scaled, dot
from mlreplica.core.jit import kernel

SWEEPS = 10  # the most sweeps over one model: it is only a model
TURNS = 20  # of each class, as long as they pay
PAYS = 0.01  # a sweep is worth while as long as its best step gains this share of the best of all


@kernel
def shrink(v, t):
    """S of (3)."""
    return np.sign(v) * max(abs(v) - t, 0.0)


@kernel
def gram_sweeps(H, G, w, l1, l2, most, enough):
    """(3) for every column, until no step gains more than `enough`; keeps G = g + H d."""
    largest = 0.0
    for _ in range(most):
        largest = 0.0
        for j in range(len(w)):
            a = H[j, j]
            if a > 0.0:
                step = shrink(a * w[j] - G[j], l1[j]) / (a + l2[j]) - w[j]
                if step != 0.0:
                    w[j] += step
                    add_scaled(G, step, H[j])
                    largest = max(largest, a * step * step)
        if largest <= enough:
            break
    return largest


def by_gram(H, g, w, l1, l2, enough):
    """The w that minimises the model: sweeps (3) find signs, (4) the values; l1, l2 per column."""
    w, G = w.copy(), g.copy()
    for _ in range(50):
        gram_sweeps(H, G, w, l1, l2, 4, enough)
        if to_face(H, G, w, l1, l2) and gram_sweeps(H, G, w, l1, l2, 1, enough) <= enough:
            break
    return w


def to_face(H, G, w, l1, l2):
    """Go to the minimum (4), or to where a weight first meets zero; False in the second case."""
    A = np.flatnonzero(((w != 0.0) | (l1 == 0.0)) & (np.diagonal(H) > 0.0))
    if len(A) == 0:
        return True
    sign = np.sign(w[A]) * (l1[A] > 0.0)
    H_A = H[A[:, None], A]
    H_A.reshape(-1)[:: len(A) + 1] += l2[A]
    _, d, failed = lapack.dposv(H_A, -(G[A] + l1[A] * sign + l2[A] * w[A]))
    if failed:  # columns depend on each other: sweeps must do
        return True
    out = (w[A] + d) * sign < 0.0
    t = np.min(-w[A][out] / d[out], initial=1.0)
    w[A] += t * d
    w[A[out & (np.abs(w[A]) <= 1e-14 * np.abs(d))]] = 0.0
    G += H[A].T @ (t * d)
    return t == 1.0


@kernel
def dense_sweeps(X, h, u, w, l1, l2, free, most, pays):
    """(3) for every column X[j] (stored as a row), then for the nonzero ones while it pays.

    u becomes R + h d' up to c h, the best intercept's part; c is returned.
    """
    a, m, active, n_active = np.zeros(len(w)), np.zeros(len(w)), np.arange(len(w)), len(w)
    h_sum = h.sum() if free else np.inf
    c, best = -u.sum() / h_sum, 0.0
    for sweep in range(most):
        largest, kept = 0.0, 0
        for place in range(n_active):
            j = active[place]
            if sweep == 0:
                for i in range(len(h)):
                    m[j] += h[i] * X[j, i]
                    a[j] += h[i] * X[j, i] * X[j, i]
                a[j] -= m[j] * m[j] / h_sum
            if a[j] > 0.0:
                g = dot(X[j], u) + c * m[j]
                step = shrink(a[j] * w[j] - g, l1) / (a[j] + l2) - w[j]
                if step != 0.0:
                    w[j] += step
                    c -= step * m[j] / h_sum
                    for i in range(len(u)):
                        u[i] += step * h[i] * X[j, i]
                    largest = max(largest, a[j] * step * step)
                if w[j] != 0.0:
                    active[kept] = j
                    kept += 1
        n_active, best = kept, max(best, largest)
        if largest <= pays * best:
            break
    return c


@kernel
def sparse_sweeps(start, rows, data, h, u, w, l1, l2, free, most, pays):
    """The same with the columns of a CSC matrix; unsigned indices are never negative: 1.8 times."""
    a, m, active, n_active = np.zeros(len(w)), np.zeros(len(w)), np.arange(len(w)), len(w)
    h_sum = h.sum() if free else np.inf
    c, best = -u.sum() / h_sum, 0.0
    for sweep in range(most):
        largest, kept = 0.0, 0
        for place in range(n_active):
            j, g = active[place], 0.0
            if sweep == 0:
                for k in range(start[j], start[j + 1]):
                    g += data[k] * u[rows[k]]
                    m[j] += data[k] * h[rows[k]]
                    a[j] += data[k] * h[rows[k]] * data[k]
                a[j] -= m[j] * m[j] / h_sum
            else:
                for k in range(start[j], start[j + 1]):
                    g += data[k] * u[rows[k]]
            if a[j] > 0.0:
                step = shrink(a[j] * w[j] - g - c * m[j], l1) / (a[j] + l2) - w[j]
                if step != 0.0:
                    w[j] += step
                    c -= step * m[j] / h_sum
                    for k in range(start[j], start[j + 1]):
                        u[rows[k]] += step * h[rows[k]] * data[k]
                    largest = max(largest, a[j] * step * step)
                if w[j] != 0.0:
                    active[kept] = j
                    kept += 1
        n_active, best = kept, max(best, largest)
        if largest <= pays * best:
            break
    return c


def by_sweeps(problem, columns, R, Y, W, b):
    """W and b nearer the minimum of the model, by sweeps over one class after the other."""
    (K, n), s = R.shape, problem.s
    W, b, D, M = W.copy(), b.copy(), np.zeros((K, n)), np.zeros(n)
    sweeps = dense_sweeps if len(columns) == 1 else sparse_sweeps
    first = 0.0
    for _ in range(1 if K == 1 else TURNS):
        gain = 0.0
        for k in range(K):
            q = R[k] / s + Y[k]
            h, w, u = s * q * (1.0 - q), W[k].copy(), R[k].copy()
            if K > 1:
                u += s * q * (D[k] - M)  # M = Σ_l q_l d_l': what moved classes take from this one
            c = sweeps(*columns, h, u, w, problem.l1, problem.l2, problem.intercept, SWEEPS, PAYS)
            if K > 1:
                change = problem.X @ (w - W[k]) + c
                D[k] += change
                M += q * change
                gain += h @ change**2
            W[k], b[k] = w, b[k] + c
        first = max(first, gain)
        if gain <= PAYS * first:
            break
    return W, b


def by_column(X):
    """X as the sweeps take it: the rows of a dense transpose, or a CSC triple."""
    if not sp.issparse(X):
        return (np.ascontiguousarray(X.T),)
    return X.indptr.astype(np.uint64), X.indices.astype(np.uint32), X.data
