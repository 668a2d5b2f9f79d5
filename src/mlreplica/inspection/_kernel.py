r"""Check a kernel: what Mercer's condition says about a matrix

K is a kernel if and only if for every set of rows the matrix G_ij = K(x_i, x_j) is symmetric and

    aᵀG a ≥ 0    for every vector a,                                                       (2)

that is, if no eigenvalue of G is negative (see `core/formulas/kernels.py` for equation
(1) and `core/formulas/kernel_algebra.py` for (4) to (8)). One set of rows can disprove it: the
eigenvector of a negative eigenvalue is a witness a. Sometimes two rows suffice, since (2) for two
rows says

    K(u, u) ≥ 0    and    K(u, v)² ≤ K(u, u) K(v, v)    (Cauchy, Schwarz).                 (3)

A set that passes proves nothing about others. Computed eigenvalues are wrong by about nε max|λ|, so
one that is negative by less than ten times that counts as zero.
"""

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from scipy.linalg import eigh
from sklearn.utils import check_array, check_random_state

from mlreplica.core.compat import (
    Interval,
    validate_params,
)
from mlreplica.core.formulas.kernel_words import from_words, is_precomputed, square
from mlreplica.core.validation import FLOATS


@dataclass(frozen=True, eq=False)
class KernelCheck:
    """What `check_kernel` found; printed, it says it in words.

    Attributes
    ----------
    n_rows : int
        Rows that were looked at.
    asymmetry : float
        The largest difference of K(u, v) and K(v, u).
    eigenvalues : ndarray of shape (n_rows,)
        Of the symmetric part of the matrix, in ascending order.
    tolerance : float
        Below minus this, an eigenvalue counts as negative.
    witness : ndarray of shape (n_rows,) or None
        A unit vector a with aᵀGa < 0: the eigenvector of the smallest eigenvalue, if negative.
    pair : tuple of int or None
        Two rows (or twice the same) which alone show that it is no kernel.
    rows : ndarray of shape (n_rows,)
        Which rows of X or of the matrix they were.
    """

    n_rows: int
    asymmetry: float
    eigenvalues: np.ndarray
    tolerance: float
    witness: np.ndarray | None
    pair: tuple[int, int] | None
    rows: np.ndarray

    @property
    def smallest(self):
        """The smallest eigenvalue."""
        return float(self.eigenvalues[0])

    @property
    def largest(self):
        """The largest eigenvalue."""
        return float(self.eigenvalues[-1])

    @property
    def rank(self):
        """How many eigenvalues are not zero: the features that these rows need."""
        return int((np.abs(self.eigenvalues) > self.tolerance).sum())

    @property
    def symmetric(self):
        """Whether K(u, v) = K(v, u), up to rounding."""
        return bool(self.asymmetry <= self.tolerance)

    @property
    def semidefinite(self):
        """Whether no eigenvalue is negative, up to rounding."""
        return self.witness is None

    def __bool__(self):
        return self.symmetric and self.semidefinite

    def __str__(self):
        yes = {True: "yes", False: "NO"}
        spectrum = (
            f"eigenvalues from {self.smallest:.3g} to {self.largest:.3g}, "
            f"{self.rank} of them not zero"
        )
        lines = [
            f"Kernel check on {self.n_rows} rows",
            f"  symmetric: {yes[self.symmetric]}, |K(u, v) - K(v, u)| <= {self.asymmetry:.1e}",
            f"  positive semi-definite: {yes[self.semidefinite]}, {spectrum}",
        ]
        if self.pair is not None:
            i, j = self.pair
            what = (
                f"K(u, u) < 0 at row {i}"
                if i == j
                else f"K(u, v)² > K(u, u) K(v, v), rows {i}, {j}"
            )
            lines.append(f"  Cauchy-Schwarz: NO, {what}")
        if self:
            lines.append("Mercer: no counterexample here; a kernel has none on any rows.")
        elif not self.symmetric:
            lines.append("Mercer: not a kernel, an inner product is symmetric.")
        else:
            lines.append(
                f"Mercer: not a kernel, aᵀGa = {self.smallest:.3g} < 0 for the unit vector a in "
                f"`witness`. {-self.smallest:.3g} on the diagonal would mend these rows."
            )
        return "\n".join(lines)


@validate_params(
    {
        "K": "no_validation",
        "X": "no_validation",
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "max_rows": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def check_kernel(K, X=None, *, tol=None, max_rows=2000, random_state=0):
    """Test whether a matrix can be, or a function is, a kernel on given rows.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples), Kernel, str or callable
        A matrix, if there is no X; otherwise a kernel of :mod:`mlreplica.kernels`, its name, or a
        function of two rows.
    X : array-like of shape (n_samples, n_features), default=None
        Rows to try the kernel on.
    tol : float, default=None
        What of the largest eigenvalue counts as zero; None for what rounding explains.
    max_rows : int, default=2000
        Of more rows than this, as many are drawn: a counterexample among some is one for all.
    random_state : int, RandomState instance or None, default=0
        The draw.

    Returns
    -------
    KernelCheck
        True in an `if` unless there is a counterexample; readable when printed.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.inspection import check_kernel
    >>> from mlreplica.kernels import RBF, Sigmoid
    >>> X = np.linspace(-2, 2, 9)[:, None]
    >>> bool(check_kernel(RBF(0.5), X))
    True
    >>> found = check_kernel(Sigmoid(gamma=1.0, coef0=-1.0), X)
    >>> bool(found), found.pair
    (False, (4, 4))
    """
    matrix = X is None or is_precomputed(K)
    Z = check_array(K if X is None else X, dtype=FLOATS, accept_sparse="csr").astype(float)
    Z = square(Z) if matrix else Z
    n = Z.shape[0]
    rows = np.arange(n)
    if n > max_rows:
        rows = np.sort(check_random_state(random_state).permutation(n)[:max_rows])
        Z = Z[np.ix_(rows, rows)] if matrix else Z[rows]
    G = Z if matrix else values(from_words(K).resolve(Z), Z)
    half = (G + G.T) / 2.0
    lambdas, V = eigh(half, driver="evd")
    size = np.abs(lambdas).max()
    tolerance = float(size * (10.0 * len(G) * np.finfo(float).eps if tol is None else tol))
    negative = lambdas[0] < -tolerance
    return KernelCheck(
        n_rows=len(G),
        asymmetry=float(np.abs(G - G.T).max()),
        eigenvalues=lambdas,
        tolerance=tolerance,
        witness=V[:, 0] if negative else None,
        pair=worst_pair(half, rows, tolerance) if negative else None,
        rows=rows,
    )


def values(kernel, X):
    """K(x_i, x_j) of all pairs: both (i, j) and (j, i), so that asymmetry shows."""
    return kernel.block(X, X.copy())


def worst_pair(G, rows, tolerance):
    """Rows that break (3) the most, or None."""
    d = G.diagonal()
    if d.min() < -tolerance:
        i = int(d.argmin())
        return int(rows[i]), int(rows[i])
    excess = G**2 - np.outer(d, d).clip(0.0)
    i, j = np.unravel_index(excess.argmax(), G.shape)
    large = excess[i, j] > tolerance * np.abs(d).max()
    return (int(rows[i]), int(rows[j])) if large else None
