r"""Randomised SVD: a random sketch of the range, then a small problem

Multiply A (m, n) with a random Ω (n, k + 10). The columns of A Ω lie in the range of A, and most of
their length along the leading u_j. Power iterations sharpen this, with an orthonormal basis between
the products so that small directions survive:

    Q ← basis of A Ω,    then q times:  Z ← basis of AᵀQ,  Q ← basis of A Z              (13)

A is nearly Q QᵀA, and the small matrix QᵀA has the triplets:

    QᵀA = W Σ Vᵀ,    U = Q W.                                                            (14)

Halko, Martinsson and Tropp (2011) bound the error: the expected ‖A − QQᵀA‖₂ is at most
(1 + 4√(2 min(m, n)/(k − 1)))^{1/(2q+1)} σ_{k+1}.
"""

import numpy as np

from ._bidiagonal import orthonormal

OVERSAMPLING = 10
POWERS = 7


def randomized(A, k, rng, powers=POWERS, oversampling=OVERSAMPLING):
    """The k leading triplets of A, by (13) and (14)."""
    m, n = A.shape
    width = min(k + oversampling, m, n)
    Q, _ = orthonormal(A.times(rng.normal(size=(n, width))))
    for _ in range(powers if width < min(m, n) else 0):  # else Q spans all of the range
        Q, _ = orthonormal(A.times(orthonormal(A.back(Q))[0]))  # (13)
    Q, _ = orthonormal(Q)  # to the last digit, which (13) does not need but (14) does
    W, s, Vt = np.linalg.svd(A.back(Q).T, full_matrices=False)  # (14)
    return Q @ W[:, :k], s[:k], Vt[:k]
