r"""A face: the columns whose weights are not zero, and the Cholesky factor of their Gram matrix

    L Lᵀ = G_FF + β I                                                                        (1)

in the order F in which the columns came. It is kept, not made anew: a column j that enters adds one
row to L, from G_Fj = L ℓ, and √(G_jj + β − ℓᵀℓ) on the diagonal; the root is of what the columns of
the face leave unexplained of j, and where that is nothing, j depends on them and stays outside. A
column that leaves takes its row along; what then sticks out above the diagonal is turned back
by Givens rotations. Either costs O(k²), as does the solution of a system with (1).

Golub, Van Loan, Matrix Computations, 6.5 (2013).
"""

import math

import numpy as np
from scipy.linalg import lapack

from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import one_blas_thread

DEPENDENT = 1e-12  # what is left of a column on a face, squared, if it adds nothing
MANY = 20  # columns that come and go more cheaply at once than one after the other


@kernel
def enter(L, k, F, g, curvature):
    """Row k of L from g = G_j and curvature = G_jj + β; False if j depends on F[:k]."""
    rest = curvature
    for a in range(k):
        s = g[F[a]]
        for b in range(a):
            s -= L[a, b] * L[k, b]
        L[k, a] = s / L[a, a]
        rest -= L[k, a] * L[k, a]
    if not rest > DEPENDENT * curvature:
        return False
    L[k, k] = math.sqrt(rest)
    return True


@kernel
def leave(L, k, i):
    """Delete row i of the k rows of L, and rotate what then sticks out (Givens)."""
    cos, sin = np.empty(k), np.empty(k)
    for a in range(i, k - 1):
        for b in range(i):
            L[a, b] = L[a + 1, b]
        left = L[a + 1, i]
        for b in range(i, a):
            right = L[a + 1, b + 1]
            L[a, b] = cos[b] * left + sin[b] * right
            left = cos[b] * right - sin[b] * left
        right = L[a + 1, a + 1]
        L[a, a] = math.sqrt(left * left + right * right)
        cos[a], sin[a] = left / L[a, a], right / L[a, a]


@kernel
def solve(L, b):
    """b ← (L Lᵀ)⁻¹ b"""
    k = len(b)
    for a in range(k):
        s = b[a]
        for c in range(a):
            s -= L[a, c] * b[c]
        b[a] = s / L[a, a]
    for a in range(k - 1, -1, -1):
        b[a] /= L[a, a]
        s = b[a]
        for c in range(a):
            b[c] -= L[a, c] * s


class Face:
    """F and L of (1) for at most `size` columns of a Gram matrix."""

    def __init__(self, size):
        self.L, self.order = np.empty((size, size)), np.empty(size, dtype=np.int64)
        self.forget(0.0)

    def forget(self, beta):
        """Empty it."""
        self.k, self.beta = 0, beta
        self.inside = np.zeros(len(self.L), dtype=np.bool_)

    def grow(self, size):
        """Make room for more columns."""
        L, k = np.empty((size, size)), self.k
        L[:k, :k] = self.L[:k, :k]
        self.L, self.order = L, np.resize(self.order, size)
        self.inside = np.append(self.inside, np.zeros(size - len(self.inside), dtype=np.bool_))

    @property
    def F(self):  # noqa: N802  a set
        """The columns inside, in the order of the rows of L."""
        return self.order[: self.k]

    def enter(self, G, j):
        """Let column j of G in; False if it depends on those inside."""
        if not enter(self.L, self.k, self.order, G[j], G[j, j] + self.beta):
            return False
        self.order[self.k], self.inside[j] = j, True
        self.k += 1
        return True

    def enter_all(self, G, columns):
        """Make the face that of these columns; what LAPACK finds dependent has to wait."""
        k = len(columns)
        H = G[np.ix_(columns, columns)]
        H.flat[:: k + 1] += self.beta
        most = H.diagonal().max()
        with one_blas_thread():
            R, failed = lapack.dpotrf(H.T, overwrite_a=1, clean=0)
        if not failed and R.diagonal().min() ** 2 > DEPENDENT * most:
            self.forget(self.beta)
            self.L[:k, :k], self.order[:k], self.k = R.T, columns, k
            self.inside[columns] = True

    def drop(self, w):
        """Columns whose weight has become zero leave."""
        gone = (w[self.F] == 0.0).nonzero()[0]
        for i in gone[::-1].tolist():
            leave(self.L, self.k, i)
            self.inside[self.order[i]] = False
            self.order[i : self.k - 1] = self.order[i + 1 : self.k].copy()
            self.k -= 1

    def solve(self, b):
        """(G_FF + β I)⁻¹ b"""
        x = b.copy()
        solve(self.L, x)
        return x
