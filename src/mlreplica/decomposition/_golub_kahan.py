r"""Golub and Kahan: to a bidiagonal matrix by reflections, to a diagonal one by rotations

A reflection H = I − 2hhᵀ/hᵀh maps a vector to a multiple of the first unit vector. From the left it
clears a column below the diagonal, from the right a row behind the next entry; in turns they leave

    A = U_1 B V_1ᵀ,    B = bidiagonal(d, e)                                              (10)

after a finite number of steps. B has the singular values of A. An implicit QR step on BᵀB, which is
never formed, starts from the eigenvalue μ of its last 2 × 2 block that is closer to its last entry,

    rotate columns 1 and 2 so that [d_1² − μ, d_1 e_1] becomes [*, 0]                    (11)

and chases the entry which this makes below the diagonal down and out of B, by rotations of rows and
columns in turns. The last e shrinks cubically. It is set to zero when

    |e_i| ≤ ε (|d_i| + |d_{i+1}|)                                                        (12)

and the problem falls into two. A zero d_i is treated by rotations that clear its row. All rotations
are applied to U_1 and V_1 as well. This is how LAPACK's `gesvd` works; errors are ε σ_1.

Golub, Kahan, Calculating the singular values and pseudo-inverse of a matrix (1965); Golub, Reinsch,
Singular value decomposition and least squares solutions (1970).
"""

from typing import NamedTuple

import numpy as np

from mlreplica.core.compile.jit import kernel
from mlreplica.core.formulas.vectors import add_scaled, dot
from mlreplica.core.linalg import EPS

STEPS = 60  # QR steps for each singular value; two or three are usual


class BidiagonalState(NamedTuple):
    """After a QR step: the diagonal and what is above it, and how much is still to be done."""

    d: np.ndarray
    e: np.ndarray
    active: int


@kernel
def reflector(x, h):
    """h with (I − 2hhᵀ/hᵀh) x = −sign(x_0) ‖x‖ e_0; the new x_0 and 2/hᵀh (0: nothing to do)."""
    largest = 0.0
    for i in range(len(x)):
        largest = max(largest, abs(x[i]))
    if largest == 0.0:
        return 0.0, 0.0
    s = 0.0
    for i in range(len(x)):
        h[i] = x[i] / largest
        s += h[i] * h[i]
    length = np.sqrt(s)
    if h[0] < 0.0:
        length = -length
    h[0] += length
    return -length * largest, 2.0 / (s + length * length + 2.0 * length * (h[0] - length))


@kernel
def reflect_rows(M, h, two, first, n):
    """Rows first … of M ← (I − two hhᵀ) M, h for these rows."""
    for j in range(n):
        s = 0.0
        for i in range(len(h)):
            s += h[i] * M[first + i, j]
        s *= two
        for i in range(len(h)):
            M[first + i, j] -= s * h[i]


@kernel
def bidiagonalise(A, Ut, Vt, d, e, h):
    """(10) for a square A: d, e, and the reflections applied to Ut and Vt. A is overwritten."""
    n = len(A)
    for j in range(n):
        d[j], two = reflector(A[j:, j], h[: n - j])
        reflect_rows(A, h[: n - j], two, j, n)
        reflect_rows(Ut, h[: n - j], two, j, n)
        if j + 1 < n:
            row = A[j, j + 1 :]
            e[j], two = reflector(row, h[: n - j - 1])
            for i in range(j, n):
                a = A[i, j + 1 :]
                add_scaled(a, -two * dot(a, h[: n - j - 1]), h[: n - j - 1])
            reflect_rows(Vt, h[: n - j - 1], two, j + 1, n)


@kernel
def givens(a, b):
    """c, s, r with c·a + s·b = r and −s·a + c·b = 0."""
    if b == 0.0:
        return 1.0, 0.0, a
    r = np.hypot(a, b)
    return a / r, b / r, r


@kernel
def turn(M, i, j, c, s):
    """Rows i and j of M ← [c s; −s c] of them."""
    x, y = M[i], M[j]
    for q in range(len(x)):
        x_q = x[q]
        x[q] = c * x_q + s * y[q]
        y[q] = c * y[q] - s * x_q


@kernel
def clear_row(d, e, i, last, Ut):
    """d_i is zero: rotate e_i along its row out of B."""
    f, e[i] = e[i], 0.0
    for k in range(i + 1, last + 1):
        c, s, d[k] = givens(d[k], f)
        turn(Ut, k, i, c, s)
        if k < last:
            f = -s * e[k]
            e[k] *= c


@kernel
def qr_step(d, e, first, last, Ut, Vt):
    """One implicit QR step (11) on the block first … last."""
    a, b = d[last - 1], d[last]
    f, g = e[last - 1], e[last - 2] if last - 1 > first else 0.0
    top, corner, off = a * a + g * g, b * b + f * f, a * f
    half = (top - corner) / 2.0
    root = np.hypot(half, off)
    mu = (
        corner - off * off / (half + root if half >= 0.0 else half - root) if off != 0.0 else corner
    )
    y, z = (d[first] * d[first] - mu), d[first] * e[first]
    for k in range(first, last):
        c, s, r = givens(y, z)  # columns k and k + 1
        if k > first:
            e[k - 1] = r
        y = c * d[k] + s * e[k]
        e[k] = c * e[k] - s * d[k]
        z = s * d[k + 1]
        d[k + 1] *= c
        turn(Vt, k, k + 1, c, s)
        c, s, d[k] = givens(y, z)  # rows k and k + 1
        y = c * e[k] + s * d[k + 1]
        d[k + 1] = c * d[k + 1] - s * e[k]
        if k + 1 < last:
            z = s * e[k + 1]
            e[k + 1] *= c
        turn(Ut, k, k + 1, c, s)
    e[last - 1] = y


def qr_steps(d, e, Ut, Vt):
    """Yield a state after each step, until B is diagonal; all arguments change."""
    last, size = len(d) - 1, np.abs(d).max(initial=0.0) + np.abs(e).max(initial=0.0)
    while True:
        e[np.abs(e) <= EPS * (np.abs(d[:-1]) + np.abs(d[1:]))] = 0.0  # (12)
        while last > 0 and e[last - 1] == 0.0:
            last -= 1
        yield BidiagonalState(d, e, last)
        if last <= 0:
            return
        first = last - 1
        while first > 0 and e[first - 1] != 0.0:
            first -= 1
        zeros = np.flatnonzero(np.abs(d[first:last]) <= EPS * size)
        if len(zeros):
            d[first + zeros[-1]] = 0.0
            clear_row(d, e, first + int(zeros[-1]), last, Ut)
        else:
            qr_step(d, e, first, last, Ut, Vt)


def golub_kahan(A):
    """U (m, k), s (k,) and Vt (k, n), k = min(m, n), of any A; a tall one by its triangle first."""
    if A.shape[0] < A.shape[1]:
        V, s, Ut = golub_kahan(A.T)
        return Ut.T, s, V.T
    n = A.shape[1]
    exponent = -int(np.frexp(np.abs(A).max())[1])
    Q, R = np.linalg.qr(np.ldexp(A, exponent))
    d, e = np.empty(n), np.empty(max(n - 1, 0))
    Ut, Vt = np.eye(n), np.eye(n)
    bidiagonalise(R, Ut, Vt, d, e, np.empty(n))
    for steps, _ in enumerate(qr_steps(d, e, Ut, Vt)):
        if steps > STEPS * n:
            raise np.linalg.LinAlgError(f"QR steps have not converged after {STEPS} per value.")
    down = np.argsort(-np.abs(d), kind="stable")
    Vt = np.where(d < 0, -1.0, 1.0)[:, None] * Vt
    return Q @ Ut[down].T, np.ldexp(np.abs(d[down]), -exponent), Vt[down]
