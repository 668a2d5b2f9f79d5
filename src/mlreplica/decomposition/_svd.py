r"""Singular value decomposition: every matrix rotates, stretches, and rotates again

For every A (m, n) there are orthogonal U (m, m) and V (n, n) and σ_1 ≥ σ_2 ≥ … ≥ 0 with

    A = U Σ Vᵀ,    Σ = diag(σ_1, σ_2, …) (m, n)                                          (1)

the *full* decomposition. If r of the σ are not zero, the others and their vectors change nothing:
the *compact* decomposition keeps r of each,

    A = U_r Σ_r V_rᵀ = Σ_{j ≤ r} σ_j u_j v_jᵀ                                            (2)

and the *truncated* one keeps k ≤ r,

    A_k = U_k Σ_k V_kᵀ = Σ_{j ≤ k} σ_j u_j v_jᵀ                                          (3)

No matrix B of rank k is closer to A (Eckart, Young 1936; Mirsky 1960):

    min ‖A − B‖_F² = ‖A − A_k‖_F² = Σ_{j > k} σ_j²,    min ‖A − B‖₂ = σ_{k+1}            (4)

The v_j are the eigenvectors of AᵀA, which is the definition in most lectures and one way to compute
them, solver "eigen"; it squares the condition number, and σ_j < √ε σ_1 is lost:

    AᵀA v_j = σ_j² v_j,    u_j = A v_j / σ_j                                             (5)

Files, in the order of the page: `_jacobi` rotates pairs of columns, `_golub_kahan` goes through a
bidiagonal matrix, `_randomized` and `_bidiagonal` (Lanczos) find a few σ of a large A.
"""

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack
from sklearn.utils import check_array, check_random_state

from mlreplica.core.compat import Interval, StrOptions, validate_params
from mlreplica.core.linalg import EPS, TINY
from mlreplica.core.rows.axes import eigenpairs
from mlreplica.core.rows.products import Products

from ._bidiagonal import leading_triplets
from ._golub_kahan import golub_kahan
from ._jacobi import jacobi
from ._randomized import randomized

KINDS = ("full", "compact", "truncated")
SOLVERS = ("lapack", "jacobi", "golub-kahan", "eigen", "randomized", "lanczos")
PARTIAL = ("randomized", "lanczos")


class SVD(NamedTuple):
    """U, s, Vt with A ≈ (U * s) @ Vt; U and Vt are square in the full decomposition.

    Attributes
    ----------
    U : ndarray of shape (m, m) or (m, k)
        Left singular vectors, one per column.
    s : ndarray of shape (min(m, n),) or (k,)
        Singular values, in descending order.
    Vt : ndarray of shape (n, n) or (k, n)
        Right singular vectors, one per row; the entry of largest modulus is positive.
    """

    U: np.ndarray
    s: np.ndarray
    Vt: np.ndarray

    def matrix(self, rank=None):
        """A_k of (3).

        Parameters
        ----------
        rank : int, default=None
            k; None for all.

        Returns
        -------
        A : ndarray of shape (m, n)
        """
        k = len(self.s) if rank is None else rank
        return (self.U[:, :k] * self.s[:k]) @ self.Vt[:k]


@validate_params(
    {
        "A": ["array-like", "sparse matrix"],
        "kind": [StrOptions(set(KINDS))],
        "solver": [StrOptions(set(SOLVERS))],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def svd(A, kind="compact", solver="lapack", *, n_components=None, tol=None, random_state=None):
    r"""Singular value decomposition of a matrix: full, compact or truncated.

    Parameters
    ----------
    A : {array-like, sparse matrix} of shape (m, n)
        Any real matrix; a sparse one with the solvers "randomized" and "lanczos".
    kind : {"full", "compact", "truncated"}, default="compact"
        - "full": U and V are square;
        - "compact": as many vectors as A has rank;
        - "truncated": `n_components` of them.
    solver : {"lapack", "jacobi", "golub-kahan", "eigen", "randomized", "lanczos"}, default="lapack"
        - "lapack": divide and conquer, the fastest for all singular values;
        - "jacobi": one-sided Jacobi rotations, which keep small singular values to full relative
          accuracy if A is a well-conditioned matrix with scaled rows and columns;
        - "golub-kahan": Householder bidiagonalisation, then implicit QR steps;
        - "eigen": by the eigenvectors of AᵀA, as in lectures; loses small singular values;
        - "randomized": a random sketch and seven power iterations;
        - "lanczos": block Lanczos bidiagonalisation until the residual is at most `tol`. The last
          two find a few singular values of a large matrix: kind "truncated".
    n_components : int, default=None
        k of the truncated kind; None for half of min(m, n).
    tol : float, default=None
        For "compact", the largest singular value relative to the first that counts as zero, by
        default max(m, n) ε (its root for "eigen"); for "lanczos" the relative residual, by default
        1e-10.
    random_state : int, RandomState instance or None, default=None
        The first vectors of "randomized" and "lanczos".

    Returns
    -------
    SVD
        A named tuple U, s, Vt.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.decomposition import svd
    >>> A = np.array([[3.0, 0.0], [4.0, 5.0], [0.0, 0.0]])
    >>> svd(A).s.round(4)
    array([6.7082, 2.2361])
    >>> svd(A, "full").U.shape
    (3, 3)
    >>> svd(A, "truncated", n_components=1).matrix().round(4)
    array([[1.5, 1.5],
           [4.5, 4.5],
           [0. , 0. ]])
    """
    sparse = solver in PARTIAL
    A = check_array(
        A, accept_sparse=["csr", "csc"] if sparse else False, dtype=np.float64, input_name="A"
    )
    most = min(A.shape)
    k = most
    if kind == "truncated":
        k = max(1, most // 2) if n_components is None else n_components
        if k > most:
            raise ValueError(f"n_components must be at most min(A.shape) = {most}, got {k}.")
    elif n_components is not None:
        raise ValueError(f"n_components is for kind='truncated', not for {kind!r}.")
    elif solver in PARTIAL:
        raise ValueError(f"solver={solver!r} finds a few singular values: use kind='truncated'.")
    if solver in PARTIAL:
        rng = check_random_state(random_state)
        if solver == "randomized":
            found = randomized(Products(A), k, rng)
        else:
            found = leading_triplets(Products(A), k, rng, tol or 1e-10)
        return signed(*found)
    if kind == "full":
        U, s, Vt = divide_and_conquer(A, True) if solver == "lapack" else DENSE[solver](A)
        return signed(completed(U), s, completed(Vt.T).T)
    U, s, Vt = DENSE[solver](A)
    if kind == "compact":
        noise = max(A.shape) * EPS
        least = tol if tol is not None else np.sqrt(noise) if solver == "eigen" else noise
        k = int((s > max(least * s[0], TINY * EPS)).sum())
    return signed(U[:, :k], s[:k], Vt[:k])


def divide_and_conquer(A, full=False):
    """(1) by LAPACK, with or without the vectors that only "full" has."""
    U, s, Vt, failed = lapack.dgesdd(A, full_matrices=int(full))
    if failed:
        raise np.linalg.LinAlgError("the singular values did not converge.")
    return U, s, Vt


def by_eigenvectors(A):
    """(5), of AᵀA or of AAᵀ if it is smaller."""
    if A.shape[0] < A.shape[1]:
        V, s, Ut = by_eigenvectors(A.T)
        return Ut.T, s, V.T
    values, Vt = eigenpairs(A.T @ A)
    U, R = np.linalg.qr(A @ Vt.T)  # A v_j, at right angles also where σ_j is rounding
    return U * np.where(np.diag(R) < 0, -1.0, 1.0), np.sqrt(np.maximum(values, 0.0)), Vt


DENSE = {
    "lapack": divide_and_conquer,
    "jacobi": jacobi,
    "golub-kahan": golub_kahan,
    "eigen": by_eigenvectors,
}


def completed(U):
    """Orthonormal columns that go on to a square matrix."""
    m, k = U.shape
    if m == k:
        return U
    Q = np.linalg.qr(U, mode="complete")[0] if k else np.eye(m)
    return np.hstack([U, Q[:, k:]])


def signed(U, s, Vt):
    """The same triplets with the signs that scikit-learn's PCA gives them."""
    if not len(s):
        return SVD(U, s, Vt)
    k = len(s)
    largest = np.abs(Vt[:k]).argmax(axis=1)
    sign = np.where(Vt[np.arange(k), largest] < 0, -1.0, 1.0)
    U[:, :k] *= sign
    Vt[:k] *= sign[:, None]
    return SVD(U, s, Vt)
