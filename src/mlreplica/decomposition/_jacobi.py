r"""One-sided Jacobi: turn pairs of columns until all are at right angles

If the columns of G are orthogonal, their lengths are its singular values. Two columns g_i and g_j
become orthogonal by one rotation in their plane, which no product with V' undoes: with

    a = ‖g_i‖²,    b = ‖g_j‖²,    c = g_iᵀg_j,    ζ = (b − a) / 2c                       (6)

the smaller of the two angles whose rotation makes c zero has the tangent

    t = sign(ζ) / (|ζ| + √(1 + ζ²)),    cos = 1 / √(1 + t²),    sin = t cos              (7)
    [g_i, g_j] ← [cos g_i − sin g_j,  sin g_i + cos g_j]

A sweep treats every pair once. The rotations lower Σ_{i≠j} (g_iᵀg_j)², and near the end
quadratically. They stop when

    |g_iᵀg_j| ≤ √m ε ‖g_i‖ ‖g_j‖    for every pair.                                      (8)

This test is relative to *both* columns, so a column of length 1e-100 is treated as carefully as one
of length 1: σ keeps its relative accuracy if G is a well-conditioned matrix with scaled columns.
A QR decomposition first, with the largest columns and rows at the top (Drmač, Veselić 2008),

    A = Q R Pᵀ,    G = Rᵀ,                                                               (9)

makes G square, its columns nearly orthogonal already, and takes care of scaled rows, too.

Demmel, Veselić, Jacobi's method is more accurate than QR (1992); Drmač, Veselić, New fast and
accurate Jacobi SVD algorithm (2008).
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from mlreplica.core.compile.jit import kernel
from mlreplica.core.formulas.vectors import dot
from mlreplica.core.linalg import EPS

SWEEPS = 60  # it takes six to ten
HIGH = 450  # exponent of the largest entry: squares of numbers from 1e-150 to 1e135 are exact


class JacobiState(NamedTuple):
    """After a sweep: the lengths of the columns, and the largest cosine between two of them."""

    lengths: np.ndarray
    cosine: float


@kernel
def jacobi_sweep(G, J, tol):
    """Rotate every pair of rows of G (and of J alike) by (7); the largest cosine that was found."""
    largest = 0.0
    for i in range(len(G)):
        for j in range(i + 1, len(G)):
            g_i, g_j = G[i], G[j]
            a, b, c = dot(g_i, g_i), dot(g_j, g_j), dot(g_i, g_j)  # (6)
            size = np.sqrt(a) * np.sqrt(b)
            if size == 0.0 or abs(c) <= tol * size:  # (8)
                continue
            largest = max(largest, abs(c) / size)
            zeta = (b - a) / (2.0 * c)
            t = 1.0 / (abs(zeta) + np.sqrt(1.0 + zeta * zeta))  # (7)
            if zeta < 0.0:
                t = -t
            cos = 1.0 / np.sqrt(1.0 + t * t)
            sin = t * cos
            rotate(g_i, g_j, cos, sin)
            rotate(J[i], J[j], cos, sin)
    return largest


@kernel
def rotate(x, y, cos, sin):
    """(7) for two vectors, in place."""
    for q in range(len(x)):
        x_q = x[q]
        x[q] = cos * x_q - sin * y[q]
        y[q] = sin * x_q + cos * y[q]


def jacobi_sweeps(G, J):
    """Yield a state after each sweep over the rows of G, until (8) holds; G and J change."""
    tol = EPS * np.sqrt(G.shape[1])
    while True:
        cosine = jacobi_sweep(G, J, tol)
        yield JacobiState(np.linalg.norm(G, axis=1), cosine)
        if cosine == 0.0:
            return


def jacobi(A):
    """U (m, k), s (k,) and Vt (k, n), k = min(m, n), of any A by rotations."""
    if A.shape[0] < A.shape[1]:
        V, s, Ut = jacobi(A.T)
        return Ut.T, s, V.T
    m, n = A.shape
    exponent = HIGH - int(np.frexp(np.abs(A).max())[1])
    order = np.argsort(-np.abs(A).max(axis=1), kind="stable")
    T, pivot, tau, *_ = lapack.dgeqp3(np.ldexp(A[order], exponent))  # (9)
    Q = lapack.dorgqr(T, tau)[0]
    G, J = np.ascontiguousarray(np.triu(T[:n])), np.eye(n)
    for sweeps, _ in enumerate(jacobi_sweeps(G, J)):
        if sweeps == SWEEPS:
            raise np.linalg.LinAlgError(f"Jacobi has not converged after {SWEEPS} sweeps.")
    s = np.linalg.norm(G, axis=1)
    down = np.argsort(-s, kind="stable")
    s, G, J = s[down], G[down], J[down]
    U, Vt = np.empty((m, n)), np.empty((n, n))
    U[order] = Q @ J.T
    some = s > 0.0
    Vt[:, pivot - 1] = orthonormal_rows(np.where(some[:, None], G, 0.0), s)
    return U, np.ldexp(s, -exponent), Vt


def orthonormal_rows(G, s):
    """G / s; rows of length zero become any that are orthogonal to all others."""
    some = s > 0.0
    V = np.divide(G, s[:, None], out=np.zeros_like(G), where=some[:, None])
    if not some.all():
        r = int(some.sum())  # they come last
        V[r:] = np.linalg.qr(V[:r].T, mode="complete")[0].T[r:] if r else np.eye(len(V))
    return V
