r"""Conjugate gradients: solve H d = r when only products of H with a vector are affordable

    t = rᵀMr / uᵀHu,   d ← d + t u,   r ← r − t H u,   u ← M r + (rᵀMr / its last value) u   (1)

H is symmetric and positive semi-definite, M a diagonal guess of its inverse. Each step minimises
½dᵀHd − rᵀd over one more direction; the directions are conjugate, uᵀHu' = 0.

Hestenes, Stiefel, Methods of conjugate gradients for solving linear systems (1952); Dembo,
Eisenstat, Steihaug, Inexact Newton methods (1982).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def conjugate_gradients(
    times: Callable[[Array], Array], r: Array, M: Array, share: float | None = None, most: int = 200
) -> Array:
    """d with H d ≈ r, where times(u) = H u and M scales r entry by entry.

    Ends when √(rᵀMr) is at most `share` of its first value. None: a tenth or less, and the less the
    smaller it is, so that Newton's method, of which r is the gradient, converges superlinearly.
    """
    d, z = np.zeros_like(r), M * r
    u, rz = z, float(np.vdot(r, z))
    enough = rz * (min(0.1, rz**0.25) if share is None else share) ** 2
    for _ in range(most):
        if rz <= enough:
            break
        Hu = times(u)
        if (curved := float(np.vdot(u, Hu))) <= 0.0:  # u lies in the null space of H
            break
        t = rz / curved
        d, r = d + t * u, r - t * Hu
        z = M * r
        rz, last = float(np.vdot(r, z)), rz
        u = z + rz / last * u
    return d
