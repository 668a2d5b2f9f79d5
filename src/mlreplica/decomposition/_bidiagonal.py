r"""A few singular values of a large matrix: block Lanczos bidiagonalisation

A is known by its products A V and AᵀU alone. Two orthonormal bases grow side by side, Q on the
right and P on the left, by a block of b vectors a pass,

    A Q_new = P B_new  (which defines P_new),    AᵀP_new = Q B_newᵀ + Q_next R           (15)

so that A Q = P B with a small B. Its singular values and vectors B = X diag(θ) Yᵀ give the best
triplets that the two spaces know, and all that is wrong with them points along Q_next:

    u = P x,    v = Q y,    A v = θ u,    ‖Aᵀu − θ v‖ = ‖R x_last‖                       (16)

The spaces hold p(AᵀA) V for every polynomial of degree below the number of passes, while (13) keeps
the last power only: fewer products for the same digits. When the bases are full, they start again
from the best triplets and Q_next, for which (15) still holds.

**How far from the best?** By Eckart and Young the best rank-k error is ‖A‖² − Σ_{j≤k} σ_j², ours is
‖A‖² − Σ_{j≤k} θ_j². In the basis [Q Y, rest], AᵀA has the blocks diag(θ²), C and between them
E = R X_last diag(θ). C ⪰ 0 has trace τ = ‖A‖² − Σ_j θ_j² (over all θ). Ky Fan's inequality for sums
of k eigenvalues gives

    Σ_{j≤k} σ_j² − Σ_{j≤k} θ_j²  ≤  max(0, τ − θ_k²) + Σ_{j≤k} σ_j(E)                    (17)

Golub, Luk, Overton, A block Lanczos method for computing the singular values of a matrix (1981);
Musco, Musco, Randomized block Krylov methods (2015).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from mlreplica.core.linalg import TINY

BLOCK = 8
PASSES = 300
GROWTH = 1.2  # by how much the bases have to grow before a look at B is worth while


class TripletState(NamedTuple):
    """θ (k,), the largest (16) relative to θ_1, the bound (17), and the vectors when called for."""

    values: np.ndarray
    residual: float
    bound: float
    vectors: Callable[[], tuple]


def block_bidiagonal(A, V, k, most, every=False):
    """Yield k triplets (16) after every pass (15), from the block V (n, b), indefinitely.

    The bases grow to `most` ≥ 3b + k vectors, then start again. `every`: look at B at every pass.
    """
    (n, b), m, look, state = V.shape, 0, 0.0, None
    Q, P = np.zeros((n, most), order="F"), np.zeros((A.shape[0], most), order="F")
    B = np.zeros((most, most))
    Q[:, :b] = np.linalg.qr(V)[0]
    while True:
        new = slice(m, m + b)
        W = A.times(Q[:, new])
        P[:, new], B[:m, new], B[new, new] = orthogonalise(W, P[:, :m])
        m += b
        Q_next, _, R = orthogonalise(A.back(P[:, new]), Q[:, :m])  # (15)
        if every or m + b > most or m >= look:
            X, theta, Yt = np.linalg.svd(B[:m, :m])
            E = R @ X[new] * theta
            wrong = np.linalg.norm(R @ X[new, :k], axis=0)  # (16)
            residual = wrong.max() / (theta[0] + TINY) if m >= k else np.inf
            state = TripletState(
                theta[:k],
                float(residual),
                bound(A.norm_sq, theta**2, E, k),
                vectors(P, Q, X, Yt, k),
            )
            look = GROWTH * m
        yield state
        if m + b > most:
            keep = k + 2 * b
            P[:, :keep], Q[:, :keep] = P[:, :m] @ X[:, :keep], Q[:, :m] @ Yt[:keep].T
            B[:] = 0.0
            B[:keep, :keep] = np.diag(theta[:keep])
            m, look = keep, GROWTH * keep
            state = state._replace(vectors=lambda: (P[:, :k].copy(), Q[:, :k].T.copy()))
        Q[:, m : m + b] = Q_next


def orthogonalise(W, Q):
    """N, C, R with W = Q C + N R, N orthonormal and orthogonal to Q."""
    C, R = 0.0, np.eye(W.shape[1])
    for _ in range(4):  # again only if little was left of a vector, which magnifies its rounding
        size = np.sqrt(np.einsum("ij,ij->j", W, W).max())
        c = Q.T @ W
        W, r = orthonormal(W - Q @ c)
        C, R = C + c @ R, r @ R
        if np.abs(r.diagonal()).min() > 0.1 * size:
            break
    return W, C, R


def orthonormal(W):
    """N, R with W = N R: by Cholesky's factor of WᵀW, five times as fast as reflections, if W is
    far from singular. N is then orthonormal to some 1e-6, or better the nearer W is to it."""
    R, failed = lapack.dpotrf(W.T @ W, clean=1)
    size = R.diagonal()
    if failed or not size.min() > 1e-5 * size.max() > 0.0:
        return np.linalg.qr(W)
    inverse, _ = lapack.dtrtri(R)
    return W @ inverse, R


def vectors(P, Q, X, Yt, k):
    """A function that returns u and vᵀ of (16)."""
    m = len(X)
    return lambda: (P[:, :m] @ X[:, :k], Yt[:k] @ Q[:, :m].T)


def bound(norm_sq, squares, E, k):
    """(17), where `squares` are all θ²"""
    if len(squares) < k:
        return norm_sq
    rest = max(norm_sq - float(squares.sum()), 0.0)
    coupling = np.linalg.svd(E, compute_uv=False)[:k].sum()
    return float(max(0.0, rest - squares[k - 1]) + coupling)


def leading_triplets(A, k, rng, tol=1e-10, block=BLOCK):
    """The k leading triplets of A to a residual of `tol`; a small A by LAPACK."""
    most = max(20 * block, 3 * k + 3 * block)
    if min(A.shape) <= 2 * most:
        V = np.eye(A.shape[1])
        U, s, Vt = np.linalg.svd(A.times(V), full_matrices=False)
        return U[:, :k], s[:k], Vt[:k]
    states = block_bidiagonal(A, rng.normal(size=(A.shape[1], block)), k, most)
    for passes, state in enumerate(states):
        if state.residual <= tol:
            break
        if passes == PASSES:
            raise np.linalg.LinAlgError(
                f"Lanczos: residual {state.residual:.1e} > {tol:.1e} after {PASSES} passes; "
                "raise tol, or use solver='lapack'."
            )
    U, Vt = state.vectors()
    return U, state.values, Vt
