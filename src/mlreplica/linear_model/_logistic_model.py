r"""The quadratic model of a penalised logistic regression, and its minimum by coordinate descent

Letters as in `_logistic_cd`, whose equations (2) to (4) these functions carry out. The model is
given either by H = [1 X]ᵀ h [1 X] and a gradient, or by X itself, dense or sparse, with h and R.
"""

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack

from mlreplica.core.blas import add_scaled, dot
from mlreplica.core.jit import kernel

from ._penalty import soft_threshold
from ._stored import Stored

SWEEPS = 30  # the most sweeps over one model: it is only a model
TURNS = 20  # of each class, as long as they pay
MANY = 100  # nonzero weights from which conjugate gradients are worth their start
PAYS = 0.01  # a sweep is worth while as long as its best step gains this share of the best of all


@kernel
def gram_sweeps(H, G, w, l1, l2, most, enough):
    """(3) for every column, until no step gains more than `enough`; keeps G = g + H d."""
    largest = 0.0
    for _ in range(most):
        largest = 0.0
        for j in range(len(w)):
            a = H[j, j]
            if a > 0.0:
                step = soft_threshold(a * w[j] - G[j], l1[j]) / (a + l2[j]) - w[j]
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
def dense_sweep(X, h, u, w, a, m, active, l1, l2, h_sum, c, new):
    """(3) for the columns X[j] (stored as rows) in `active`; if `new`, a and m = Σ h x are made.

    u becomes R + h d' but for c h, the intercept's part. Returns c, how many columns are nonzero
    (they come first in `active` then) and the largest gain.
    """
    largest, kept = 0.0, 0
    for place in range(len(active)):
        j = active[place]
        if new:
            m[j] = dot(X[j], h)
            a[j] = -m[j] * m[j] / h_sum
            for i in range(len(h)):
                a[j] += h[i] * X[j, i] * X[j, i]
        if a[j] > 0.0:
            g = dot(X[j], u) + c * m[j]
            step = soft_threshold(a[j] * w[j] - g, l1) / (a[j] + l2) - w[j]
            if step != 0.0:
                w[j] += step
                c -= step * m[j] / h_sum
                for i in range(len(u)):
                    u[i] += step * h[i] * X[j, i]
                largest = max(largest, a[j] * step * step)
            if w[j] != 0.0:
                active[kept] = j
                kept += 1
    return c, kept, largest


@kernel
def sparse_sweep(start, rows, data, h, u, w, a, m, active, l1, l2, h_sum, c, new):
    """The same with the columns of a CSC matrix; unsigned indices are never negative: 1.8 times."""
    largest, kept = 0.0, 0
    for place in range(len(active)):
        j, g, m_j, a_j = active[place], 0.0, 0.0, 0.0
        if new:
            for k in range(start[j], start[j + 1]):
                x, i = data[k], rows[k]
                g += x * u[i]
                m_j += x * h[i]
                a_j += x * h[i] * x
            m[j], a[j] = m_j, a_j - m_j * m_j / h_sum
        else:
            for k in range(start[j], start[j + 1]):
                g += data[k] * u[rows[k]]
        if a[j] > 0.0:
            step = soft_threshold(a[j] * w[j] - g - c * m[j], l1) / (a[j] + l2) - w[j]
            if step != 0.0:
                w[j] += step
                c -= step * m[j] / h_sum
                for k in range(start[j], start[j + 1]):
                    u[rows[k]] += step * h[rows[k]] * data[k]
                largest = max(largest, a[j] * step * step)
            if w[j] != 0.0:
                active[kept] = j
                kept += 1
    return c, kept, largest


def sweeps(columns, h, u, w, l1, l2, free, most=SWEEPS, pays=PAYS):
    """Sweep all columns, then the nonzero ones while it pays; w changes in place, c is returned.

    A sweep finds zeros and signs, but is slow to move many weights together, as without an
    intercept it must; conjugate gradients on (4) between the first two do that at once.
    After every five sweeps the last five changes are combined, with weights that make the smallest
    change (Anderson); u is linear in w, so the same weights give u. It is kept if (2) falls.
    """
    sparse = isinstance(columns, Stored)
    sweep, parts = (sparse_sweep, columns.triple) if sparse else (dense_sweep, (columns,))
    a, m, active = np.empty(len(w)), np.empty(len(w)), np.arange(len(w))
    h_sum = h.sum() if free else np.inf
    c, best, R, past = -u.sum() / h_sum, 0.0, u.copy(), []
    for count in range(most):
        c, kept, largest = sweep(*parts, h, u, w, a, m, active, l1, l2, h_sum, c, count == 0)
        active, best = active[:kept], max(best, largest)
        if largest <= pays * best:
            break
        if count == 0 and kept >= MANY:
            A = np.sort(active)
            c += along_face(*products(columns, A), A, h, u, w, a, m, l1, l2, h_sum, c)
            continue
        past.append((w.copy(), u.copy(), c))
        if len(past) == 6:
            c = combined(past, R, h, u, w, l1, l2)
            past = []
    return c


def products(columns, A):
    """v ↦ (x_jᵀv for j in A) and d ↦ Σ_j d_j x_j."""
    if isinstance(columns, Stored):
        chosen = columns.only(A)
        return lambda v: chosen.dots(v[None])[0], lambda d: chosen.total(d[None])[0]
    Z = columns[A]
    return Z.dot, Z.T.dot


def along_face(dots, total, A, h, u, w, a, m, l1, l2, h_sum, c):
    """Go to about the minimum (4), weights that change sign to zero, if (2) falls; the change of c.

    Conjugate gradients, preconditioned by the diagonal, to a hundredth of the first residual.
    """
    old, m_A = w[A], m[A]
    smooth = dots(u) + c * m_A
    r = -(smooth + l1 * np.sign(old) + l2 * old)
    z = r / (a[A] + l2)
    d, p, rz = np.zeros(len(A)), z, float(r @ z)
    enough = 1e-4 * rz
    for _ in range(SWEEPS):
        if rz <= enough:
            break
        Hp = dots(h * total(p)) - m_A * (m_A @ p / h_sum) + l2 * p
        curved = float(p @ Hp)
        if curved <= 0.0:  # columns depend on each other
            break
        t = rz / curved
        d, r = d + t * p, r - t * Hp
        z = r / (a[A] + l2)
        rz, last = float(r @ z), rz
        p = z + rz / last * p
    d = np.where((old + d) * old < 0.0, -old, d)
    change, move = total(d), -(m_A @ d) / h_sum
    model = smooth @ d + 0.5 * (change @ (h * change) + (m_A @ d) * move)
    new = old + d
    penalty = l1 * (np.abs(new) - np.abs(old)).sum() + 0.5 * l2 * (new @ new - old @ old)
    if not model + penalty < 0.0:
        return 0.0
    w[A] = new
    u += h * change
    return move


def combined(past, R, h, u, w, l1, l2):
    """Anderson's combination of past sweeps, written to u and w if it is better; its c."""
    W, U, c = (np.array(part) for part in zip(*past, strict=True))
    steps = np.diff(W, axis=0)
    G = steps @ steps.T
    G.reshape(-1)[:: len(G) + 1] += 1e-10 * G.trace() + 1e-300
    share = np.linalg.solve(G, np.ones(len(G)))
    share /= share.sum()

    def value(w, u, c):
        e = u + c * h
        loss = 0.5 * float(((e - R) * (e + R) / np.maximum(h, 1e-300)).sum())
        return loss + l1 * np.abs(w).sum() + 0.5 * l2 * (w @ w)

    w_new, u_new, c_new = share @ W[1:], share @ U[1:], float(share @ c[1:])
    if value(w_new, u_new, c_new) < value(w, u, c[-1]):
        w[:], u[:] = w_new, u_new
        return c_new
    return float(c[-1])


def by_sweeps(problem, columns, R, Y, W, b):
    """W and b nearer the minimum of the model, by sweeps over one class after the other."""
    (K, n), s = R.shape, problem.s
    W, b, D, M = W.copy(), b.copy(), np.zeros((K, n)), np.zeros(n)
    first = 0.0
    for _ in range(1 if K == 1 else TURNS):
        gain = 0.0
        for k in range(K):
            q = R[k] / s + Y[k]
            h, w, u = s * q * (1.0 - q), W[k].copy(), R[k].copy()
            if K > 1:
                u += s * q * (D[k] - M)  # M = Σ_l q_l d_l': what moved classes take from this one
            c = sweeps(columns, h, u, w, problem.l1, problem.l2, problem.intercept)
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


def by_column(X, n_jobs=None):
    """X as the sweeps take it: a dense transpose, or stored columns."""
    if not sp.issparse(X):
        return np.ascontiguousarray(X.T)
    X = X.tocsc()
    rows = X.indices.astype(np.int32, copy=False).view(np.uint32)
    triple = X.indptr.astype(np.uint64), rows, X.data
    return Stored(triple, np.arange(X.shape[1]), X.shape[0], n_jobs)
