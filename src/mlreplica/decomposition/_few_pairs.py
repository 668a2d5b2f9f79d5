r"""A few eigenvectors of a small symmetric matrix: Lanczos with one vector, and a proof

LAPACK makes a small A (n, n) tridiagonal by n reflections before it finds any eigenvector. For k of
them, m ≪ n passes of (7) with a single vector are enough: H is then a tridiagonal matrix T, and
Q_next one vector q with R = β. But one vector sees one copy of an eigenvalue that occurs twice, and
a small residual (8) does not tell that none was missed. What A has outside of the basis does. With
any orthonormal vectors that complete [Q, q], A is

    [ T         β e_m e_1ᵀ ]
    [ β e_1 e_mᵀ    C      ],    ‖C‖_F² = ‖A‖_F² − ‖T‖_F² − 2β²,                          (9)

and by the minimax theorem λ_{k+1} is no more than A can do at right angles to k Ritz vectors,

    λ_{k+1}  ≤  λ_max [ θ_{k+1}    β   ]
                      [    β    ‖C‖_F ].                                                 (10)

If that is below θ_k, then what (8) finds near θ_1 … θ_k are the k largest. Twice as many passes
square the residual: where 20 passes do not leave its root, 40 are not tried.

Parlett, The symmetric eigenvalue problem (1980), chapters 10 and 13.
"""

import numpy as np
from scipy.linalg import lapack

from mlreplica.core.compile.jit import kernel
from mlreplica.core.formulas.vectors import add_scaled, dot
from mlreplica.core.linalg import EPS

PASSES = 20
RESIDUAL = 1e-14  # of the largest |θ|: what rounding leaves
MANY = 0.25  # share of the λ that matter above which a few passes find none of them


@np.errstate(over="ignore")
def few_eigenpairs(A, k):
    """λ (k,), descending, and v (n, k) of the largest, or None where nothing proves that they are.

    That is known before the first pass if (Σλ)²/Σλ², the number of λ ≥ 0 that matter, is large.
    """
    n, norm = len(A), float(np.linalg.norm(A))
    if not 0.0 < norm < np.inf or np.trace(A) > np.sqrt(n * MANY) * norm:
        return None
    Q, T, m = np.empty((2 * PASSES + 1, n)), np.zeros((2, 2 * PASSES)), 0
    Q[0] = np.sin(1.0 + np.arange(n) ** 2)  # some of every eigenvector
    Q[0] /= np.linalg.norm(Q[0])
    for stop in (PASSES, 2 * PASSES):
        m = lengthen(A, Q, T, m, stop, n * EPS * norm)
        if m <= k:
            return None
        (alpha, beta), b = T[:, :m], T[1, m - 1]
        theta, U, _ = lapack.dstev(alpha, beta[:-1])
        theta, U = theta[::-1], U[:, ::-1]
        residual = b * np.abs(U[-1, :k]).max() / np.abs(theta).max()  # (8)
        if residual <= RESIDUAL or residual > np.sqrt(RESIDUAL) or m < stop:
            break
    if residual > RESIDUAL:
        return None
    rounding = n * EPS * norm**2
    outside = np.sqrt(max(norm**2 - theta @ theta - 2 * b**2, 0.0) + rounding)  # (9)
    largest = (theta[k] + outside + np.hypot(theta[k] - outside, 2 * b)) / 2  # (10)
    return (theta[:k], Q[:m].T @ U[:, :k]) if largest < theta[k - 1] else None


@kernel
def lengthen(A, Q, T, start, stop, noise):
    """Passes (7) from `start` to `stop`, or until β is noise: α, β in T; how many there are now."""
    for m in range(start, stop):
        q, w = Q[m], Q[m + 1]
        for i in range(len(A)):
            w[i] = dot(A[i], q)
        for _ in range(2):  # once leaves rounding that grows
            for j in range(m + 1):
                c = dot(Q[j], w)
                add_scaled(w, -c, Q[j])
                if j == m:
                    T[0, m] += c
        T[1, m] = np.sqrt(dot(w, w))
        if T[1, m] <= noise:
            return m + 1
        for i in range(len(w)):
            w[i] /= T[1, m]
    return stop
