r"""Principal axes: the directions along which rows spread, from one walk over them

The numbers go on from those of `decomposition/_pca.py`. With the moments n, m and S of some rows,
the axes v_j and the lengths σ_j along them are

    S = V diag(σ²) Vᵀ,    S = Σ s_i (x_i − m)(x_i − m)ᵀ                                       (7)

An eigenvalue of S is wrong by about ε σ_1², so a σ_j below √ε σ_1 has no correct digit. The
triangle R of the same rows has S = RᵀR without ever forming S, and its singular values

    R = U diag(σ) Vᵀ                                                                         (8)

are wrong by ε σ_1 only. Products are three times as fast as triangles, so (7) comes first, and (8)
only where an axis that is asked for would lose more than half of its digits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack

from mlreplica.core.compile.threads import n_threads, run, split
from mlreplica.core.linalg import Array

from .moments import Moments, Triangle
from .products import centred
from .walk import SAMPLE, SMALL, Rows, is_sparse, steps

SAFE = 1e-8  # σ_j²/σ_1² down to which (7) keeps eight digits of σ_j²
LEAST = 1e-280  # σ_1² below which squares underflow
FEW = 2000  # columns, or rows, up to which a matrix of all products is formed
CHUNK = 1 << 16  # entries of a block of rows that is centred and multiplied


class Axes(NamedTuple):
    """Weight n, mean, standard deviations or None, lengths σ (k,) descending, and axes V (k, p)."""

    n: float
    mean: Array
    scale: Array | None
    sigma: Array
    V: Array

    def signed(self) -> Axes:
        """The same, where the entry of largest modulus of each axis is positive."""
        return self._replace(V=fixed_signs(self.V))


def principal_axes(
    X: Any,
    s: Any = None,
    *,
    keep: int = 0,
    exact: bool = False,
    scaled: bool = False,
    m: Moments | None = None,
) -> Axes:
    """All axes of the rows of X, by (7), or by (8) if one of the first `keep` needs it.

    `exact` asks for (8) at once, `scaled` for columns of unit variance; m are the moments of
    the rows, if they are known.
    """
    n, p = X.shape
    if not exact:
        m = moments_of(X, s) if m is None else m
        d = inverse_deviations(m) if scaled else None
        S = m.G if d is None else m.G * d * d[:, None]
        if m.finite():
            squares, V = eigenpairs(S)
            if (not keep or squares[keep - 1] > SAFE * squares[0]) and squares[0] > LEAST:
                scale = None if d is None else reciprocal(d)
                return Axes(m.n, m.mean, scale, np.sqrt(np.maximum(squares, 0.0)), V)
    rows = Rows.of(X, s=s)
    t = Triangle.of(rows if s is None else rows.positive())
    R = t.R
    scale = None
    if scaled:
        length = np.linalg.norm(R, axis=0) if len(R) else np.zeros(p)
        length = np.where(length > 4e-16 * np.abs(t.mean) * np.sqrt(t.n), length, 0.0)
        d = np.divide(np.sqrt(t.n), length, out=np.zeros(p), where=length > 0)
        R, scale = R * d, reciprocal(d)
    if not len(R):
        return Axes(t.n, t.mean, scale, np.zeros(min(n, p)), np.eye(min(n, p), p))
    _, sigma, V, failed = lapack.dgesdd(R, full_matrices=0)
    if failed:
        raise np.linalg.LinAlgError("the singular values of the rows did not converge.")
    return Axes(t.n, t.mean, scale, sigma, V)


def axes_of_wide(X: Any, s: Any, standardize: bool, keep: int, squared: bool) -> Axes:
    """All axes of fewer rows than columns: from products of rows, or from singular values."""
    n, mean, scale = first_moments(X, s, standardize)
    A = centred(X, mean, None if s is None else np.sqrt(s), scale)
    if squared and len(A) <= FEW:
        squares, U = eigenpairs(A @ A.T)
        r = len(U) - 1 if s is None else len(U)  # centring costs a dimension
        need = max(1, min(keep or r, r))
        if squares[need - 1] > SAFE * squares[0] > 0 and keep <= r and np.isfinite(squares[0]):
            sigma = np.sqrt(squares[:need])
            V = (U[:need] @ A) / sigma[:, None]
            rest = np.sqrt(np.maximum(squares[need:], 0.0))
            return Axes(n, mean, scale, np.append(sigma, rest), V)
    sigma, V = np.linalg.svd(A, full_matrices=False)[1:]
    return Axes(n, mean, scale, sigma, V)


def first_moments(X: Any, s: Any, standardize: bool) -> tuple[float, Array, Array | None]:
    """Total weight, means and, if wanted, standard deviations (1 for constant columns)."""
    n = X.shape[0] if s is None else float(s.sum())
    one = np.full(X.shape[0], 1.0 / n) if s is None else s / n
    if is_sparse(X):
        mean = np.asarray(one @ X, dtype=np.float64).ravel()
        if not standardize:
            return n, mean, None
        sq = np.asarray(one @ X.multiply(X).tocsr()).ravel() - mean**2
        return n, mean, np.sqrt(np.where(sq > 1e-14 * mean**2, sq, 1.0))
    x0 = X[0].astype(np.float64)
    mean = x0 + centred_product(X.T, 0.0, one[:, None])[:, 0] - x0 * one.sum()
    mean = mean + one @ centred(X, mean)  # the second look takes off what the first one rounded
    if not standardize:
        return n, mean, None
    sq = one @ centred(X, mean) ** 2
    return n, mean, np.sqrt(np.where(sq > 1e-30 * mean**2, sq, 1.0))


def moments_of(X: Any, s: Any = None) -> Moments:
    """The moments of the rows of X; of S perhaps only the upper triangle is filled."""
    if s is None and type(X) is np.ndarray and 0 < X.size <= 4 * SMALL and len(X) <= SMALL:
        return Moments.of_few(X, X[:, :0], True)
    rows = Rows.of(X, s=s)
    if s is None and near_zero(X, rows.x0):
        rows = rows.but(x0=np.zeros(X.shape[1]))
    return Moments.of(rows if s is None else rows.positive())


def near_zero(X: Any, x0: Array) -> bool:
    """Whether no column's mean is beyond its deviation, judged by rows spread evenly.

    Then products about zero are at most twice as large as about the mean, and cost no digit.
    """
    if is_sparse(X) or len(X) < SAMPLE or not np.any(x0):
        return False
    some = X[:: len(X) // SAMPLE]
    with np.errstate(over="ignore", invalid="ignore"):
        return bool((2.0 * x0 * x0 <= np.einsum("ij,ij->j", some, some) / len(some)).all())


def eigenpairs(S: Any) -> tuple[Array, Array]:
    """Eigenvalues of a symmetric S, given by its upper triangle, descending, and rows of axes."""
    values, V, failed = lapack.dsyevd(S, lower=0)
    if failed:
        raise np.linalg.LinAlgError("the eigenvalues of a symmetric matrix did not converge.")
    return values[::-1], V.T[::-1]


def inverse_deviations(m: Moments) -> Array:
    """√n / length of each column about its mean; 0 for a constant one, whose length is rounding."""
    sq = np.maximum(m.squares, 0.0)
    some = sq > 1e-30 * m.mean**2 * m.n
    return np.sqrt(np.divide(m.n, sq, out=np.zeros_like(sq), where=some))


def reciprocal(d: Array) -> Array:
    """Standard deviations of d = 1/deviation, 1 for constant columns."""
    return np.divide(1.0, d, out=np.ones_like(d), where=d > 0)


def fixed_signs(V: Any) -> Any:
    """Rows of V with a positive entry of largest modulus, as scikit-learn fixes signs."""
    if not V.size:
        return V
    largest = np.abs(V).argmax(axis=1)
    return V * np.where(V[np.arange(len(V)), largest] < 0, -1.0, 1.0)[:, None]


def centred_product(X: Any, mean: Any, W: Any) -> Any:
    """(X − mean) W, blocks of rows on threads; nothing is lost to columns far from zero."""
    if is_sparse(X):
        return X @ W - mean @ W
    if X.size <= 2 * CHUNK:
        return (X - mean) @ W
    out = np.empty((len(X), W.shape[1]), dtype=np.result_type(X, W))
    size = max(64, CHUNK // max(1, X.shape[1]))

    def work(part: slice) -> None:
        Z = np.empty((size, X.shape[1]), dtype=out.dtype)
        for rows in steps(part, size):
            z = Z[: rows.stop - rows.start]
            np.subtract(X[rows], mean, out=z)
            np.matmul(z, W, out=out[rows])

    run(work, split(len(X), 4 * n_threads(), size))
    return out
