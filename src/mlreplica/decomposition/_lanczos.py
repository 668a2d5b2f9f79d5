r"""A few eigenvectors of a large symmetric matrix: block Lanczos

The largest eigenvalues of a symmetric A (n, n), when only products A V can be had cheaply. Among
all vectors of a subspace with orthonormal basis Q, the best approximations to eigenvectors are
(Rayleigh, Ritz)

    v = Q u,    H u = θ u,    H = QᵀAQ.                                                  (6)

The subspace grows by a block of b vectors a pass: the last block times A, made orthogonal,

    A Q_last = Q H_last + Q_next R,    Q ← [Q, Q_next],                                  (7)

so that after t passes it holds p(A) V for the first block V and every polynomial p of degree < t.
Chebyshev's polynomials, small on most of the spectrum and large beyond it, prove that θ converges
fast. A block finds eigenvalues that occur several times, where one vector would find one of them,
and reads A once for b products. By (7) nothing of A v − θ v is left but what points along Q_next,

    ‖A v − θ v‖ = ‖R u_last‖,                                                            (8)

and some eigenvalue of A lies within that distance of θ. When the basis is full it starts again,
from its best Ritz vectors and Q_next: (7) still holds, with H = diag(θ).

Golub, Underwood, The block Lanczos method for computing eigenvalues (1977). Wu, Simon,
Thick-restart Lanczos method for large symmetric eigenvalue problems (2000).
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from ._bidiagonal import orthogonalise

TINY = np.finfo(float).tiny
GROWTH = 1.2  # by how much the subspace has to grow before Ritz pairs, O(m³), are worth while


class State(NamedTuple):
    """θ (k,), the largest ‖A v − θ v‖ / max(|θ|, 1 % of max |θ|), and v (n, k) when called for.

    `all` are the θ of the whole basis, and `leak` (b, m) is Q_nextᵀA v for each of them.
    """

    eigenvalues: np.ndarray
    residual: float
    vectors: Callable[[], np.ndarray]
    all: np.ndarray
    leak: np.ndarray


def block_lanczos(multiply, V, k, most, size=np.asarray):
    """Yield k Ritz pairs (6) after every pass (7), from the block V (n, b), indefinitely.

    `multiply` maps V to A V; the basis grows to `most` ≥ 3b + k vectors, then starts again. The
    pairs are those of largest θ, or with `size=np.abs` those of largest |θ|, in this order; they
    are found anew when the basis is full or has grown by `GROWTH`.
    """
    (n, b), m, look = V.shape, 0, 0.0
    Q, H = np.zeros((n, most), order="F"), np.zeros((most, most))
    Q[:, :b] = np.linalg.qr(V)[0]
    while True:
        new = slice(m, m + b)
        m += b
        basis = Q[:, :m]
        W, H[:m, new], R = orthogonalise(multiply(Q[:, new]), basis)
        H[new, :m] = H[:m, new].T
        if m + b > most or m >= look:
            theta, U = eigh(H[:m, :m], driver="evd")
            order = np.argsort(-size(theta))
            theta, U = theta[order], U[:, order]
            scale = np.maximum(np.abs(theta[:k]), 0.01 * np.abs(theta).max() + TINY)
            leak = R @ U[new]
            residual = (np.linalg.norm(leak[:, :k], axis=0) / scale).max()  # (8)
            residual = residual if m >= k else np.inf  # of those that are not there yet
            found = partial(np.matmul, basis, U[:, :k])
            state = State(theta[:k], float(residual), found, theta, leak)
            look = GROWTH * m
        yield state
        if m + b > most:
            m = k + 2 * b
            look = GROWTH * m
            Q[:, :m], H[:m, :m] = basis @ U[:, :m], np.diag(theta[:m])
            state = state._replace(vectors=partial(np.array, Q[:, :k]))
        Q[:, m : m + b] = W
