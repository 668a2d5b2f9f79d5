"""Small symmetric matrices and triangles: factors that know how many digits they keep"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh, lapack

from mlreplica.core.compile.threads import one_blas_thread

Array: TypeAlias = npt.NDArray[np.float64]

EPS = float(np.finfo(float).eps)
TINY = float(np.finfo(float).tiny)
USABLE = 1e-11  # 1/κ² down to which a correction by the gradient of the rows converges


class Factor(NamedTuple):
    """A symmetric matrix G, scaled to a unit diagonal: RᵀR = D G D, D = diag(d)."""

    R: Array
    d: Array
    rcond: float  # about 1/κ(DGD)

    def solve(self, B: Any) -> Array:
        """G⁻¹B"""
        scaled = self.d[:, None] * B
        # threads of BLAS would cost more than they save, and wait for NumPy's that still spin
        with one_blas_thread() if B.size * len(B) < 1 << 23 else nullcontext():
            return np.asarray(self.d[:, None] * lapack.dpotrs(self.R, scaled)[0])


def cholesky(G: Any) -> Factor | None:
    """The Factor of G, or None: not finite, a zero on the diagonal, or too ill-conditioned."""
    sq = G.diagonal()
    if not (sq.min() > 1e-280 and np.isfinite(G.sum())):  # false for NaN, overflow, underflow
        return None
    d = power_of_two(np.sqrt(sq))
    G = G * d * d[:, None]
    norm = np.abs(G).sum(axis=0).max()
    R, failed = lapack.dpotrf(G.T, clean=1, overwrite_a=1)
    if failed:
        return None
    rcond = lapack.dpocon(R, norm)[0]
    return Factor(R, d, rcond) if rcond > USABLE else None


def solve_symmetric(H: Any, B: Any) -> Array:
    """H⁻¹B for a symmetric H ⪰ 0, by Cholesky; where H is singular, the solution of least norm.

    Least norm, with columns scaled, leaves directions of no curvature alone. B may be a vector.
    """
    if B.ndim == 1:
        return solve_symmetric(H, B[:, None])[:, 0]
    if factor := cholesky(H):
        return factor.solve(B)
    sq = H.diagonal()
    d = np.where(sq > 0, 1.0 / np.sqrt(np.where(sq > 0, sq, 1.0)), 0.0)
    values, V = eigh(H * d * d[:, None])
    keep = values > 10 * len(values) * EPS * max(values[-1], 0.0)
    V = V[:, keep] * d[:, None]
    return np.asarray(V @ ((V.T @ B) / values[keep, None]))


def power_of_two(length: Any) -> Any:
    """d with 1/2 ≤ d · length < 1, a power of two: scaling by it is exact. 1 where length is 0."""
    return np.ldexp(1.0, -np.frexp(length)[1])


def singular_values(A: Any) -> Array:
    """The singular values of A, the largest first."""
    return np.asarray(lapack.dgesdd(A, compute_uv=0)[1] if A.size else np.zeros(0))


def numerical_rank(sizes: Any) -> int:
    """How many of the sizes (largest first) stand above what rounding makes of the first."""
    noise = 10 * EPS * max(len(sizes), 10)
    return int((sizes > noise * sizes[0]).sum()) if len(sizes) and sizes[0] > 0 else 0
