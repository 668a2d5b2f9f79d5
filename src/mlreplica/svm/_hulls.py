r"""The nearest points of two hulls, by an interior-point method: can two classes be separated?

The distance of the convex hulls of two classes is twice the hard margin. With Q_ij = s_is_jK_ij it
is the root of the least of

    minimise over α ≥ 0:   ‖w‖² = αᵀQα,      Σ α_i = 1 over either class                      (1)

which, unlike the hard margin's dual, has a solution whether the hulls meet or not. Every allowed α
bounds the distance from above by ‖w‖, the distance of its two points, and from below by the width
of the strip between the classes along w, which is negative where they overlap:

    (min_{+} Qα + min_{−} Qα)/‖w‖  ≤  distance  ≤  ‖w‖                                        (2)

α is optimal where z = Qα − u ≥ 0 and α_iz_i = 0, u being one number a class. Newton's method solves
α_iz_i = τ indefinitely smaller τ, which keeps α and z positive. Since z follows α by Q,

    (Q + diag(z/α)) Δα − Δu = (τ − Δα'Δz')/α − z,      Σ Δα_i = 0 over either class           (3)

where Δα', Δz' are a first solution, for τ = 0 and without this product: it tells how small a τ can
be hoped for, and how far the product bends the path. Some 20 steps, whatever Q is, of n³/3
multiplications each: a last resort where pairs, which cost n each, would be countless.

Mehrotra, On the implementation of a primal-dual interior point method (1992); Bennett,
Bredensteiner, Duality and geometry in SVM classifiers (2000).
"""

import numpy as np
import scipy.linalg as sl

MOST = 100  # steps
POSITIVE = 1e-100  # α_i and z_i are at least this, whatever rounding says
SHORT = 0.99  # of the way to where the first α_i or z_i is 0


def farthest(v, d):
    """The largest step of at most 1 with v + step·d ≥ 0."""
    falling = d < 0.0
    return min(1.0, float((-v[falling] / d[falling]).min(initial=np.inf)))


def direction(factor, A, HA, alpha, z, product):
    """Δα, Δz and Δu of (3), whose matrix H has this factor; `product` is τ − Δα'Δz', HA is H⁻¹A."""
    r = product / alpha - z
    free = sl.cho_solve(factor, r)
    du = np.linalg.solve(A.T @ HA, -A.T @ free)
    da = free + HA @ du
    return da, r - z / alpha * da, du


def nearest_points(Q, s):
    """Yield α, ‖w‖² and the sum in (2) after every step (3), as long as they get better."""
    A = np.column_stack([s > 0.0, s < 0.0]).astype(float)
    alpha = A @ (1.0 / A.sum(axis=0))
    u, last = None, np.inf
    for _ in range(MOST):
        g = Q @ alpha
        lowest = np.array([g[s > 0.0].min(), g[s < 0.0].min()])
        yield alpha, float(alpha @ g), float(lowest.sum())
        if u is None:
            u = lowest - np.abs(g).max()
        z = np.maximum(g - A @ u, POSITIVE)
        tau = float(alpha @ z) / len(alpha)
        if tau >= last:
            return
        last = tau
        H = Q.copy()
        H.reshape(-1)[:: len(H) + 1] += z / alpha
        try:
            factor = sl.cho_factor(H, overwrite_a=True, check_finite=False)
            known = factor, A, sl.cho_solve(factor, A), alpha, z
            da, dz, du = direction(*known, np.zeros(len(alpha)))
            t = min(farthest(alpha, da), farthest(z, dz))
            hoped = float((alpha + t * da) @ (z + t * dz)) / len(alpha)
            da, dz, du = direction(*known, tau * (hoped / tau) ** 3 - da * dz)
        except np.linalg.LinAlgError:  # the digits are used up, or K is no kernel
            return
        t = SHORT * min(farthest(alpha, da), farthest(z, dz))
        alpha, u = np.maximum(alpha + t * da, POSITIVE), u + t * du
