r"""The quadratic model of a penalised logistic regression, and its minimum by coordinate descent

Letters as in `proximal_newton.py`, whose equations (2) to (4) these functions carry out, given
H = [1 X]ᵀ h [1 X] and a gradient. With X itself, dense or sparse, `core/quadratic_descent.py` does
the same, one class after the other.
"""

import numpy as np
from scipy.linalg import lapack

from mlreplica.core.compile.jit import kernel
from mlreplica.core.formulas.penalties import soft_threshold
from mlreplica.core.formulas.vectors import add_scaled
from mlreplica.core.quadratic_descent import PAYS, sweeps

TURNS = 20  # of each class, as long as they pay


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
