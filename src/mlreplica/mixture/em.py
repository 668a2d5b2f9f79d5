r"""Expectation maximisation for mixtures of Gaussians

    maximise over π, μ, Σ:   L = Σ_i w_i log Σ_k π_k N(x_i | μ_k, Σ_k)                         (1)

The probability that row i came from component k, given the parameters, is its responsibility

    r_ik = π_k N(x_i | μ_k, Σ_k) / Σ_l π_l N(x_i | μ_l, Σ_l).                                  (2)

With r fixed, Jensen's inequality bounds L from below by a sum that is largest at the weighted
moments, N_k = Σ_i w_i r_ik:

    π_k = N_k / Σ w,   μ_k = Σ_i w_i r_ik x_i / N_k,   Σ_k = Σ_i w_i r_ik (x_i − μ_k)(x_i − μ_k)ᵀ / N_k,   (3)

to which a small multiple of the identity is added. The bound touches L at the old parameters, so L
never falls. With the triangle U, Σ⁻¹ = U Uᵀ, the logarithm of the density is

    log N(x | μ, Σ) = Σ_j log U_jj − ½ ‖Uᵀ(x − μ)‖² − ½ p log 2π.                              (4)

`expect_full` and `expect_diagonal` do (2) and the sums of (3) in one pass, 64 rows side by side in
SIMD registers; responsibilities exist for 64 rows at a time. Sums are taken about the old means,
so that no digits cancel when the means have come to rest:

    μ ← μ + δ,   Σ = Σ_i w_i r_i (x_i − μ_old)(x_i − μ_old)ᵀ / N − δδᵀ.                        (5)

Dempster, Laird, Rubin, Maximum likelihood from incomplete data via the EM algorithm (1977).
"""  # noqa: E501

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack

from mlreplica.core.compile.jit import SAFE, kernel
from mlreplica.core.compile.threads import run, split
from mlreplica.core.formulas.exp import exp_of

LANES = 64
LEAST = -1e300
FINITE = SAFE | {"nnan"}  # rows have been checked


@kernel
def load(X, first, size, x):
    """x ← `size` rows, a row to a lane; the last row fills lanes that are left."""
    for lane in range(LANES):
        x_i = X[first + min(lane, size - 1)]
        for j in range(len(x)):
            x[j, lane] = x_i[j]


@kernel
def subtract(x, mean, d):
    """d ← x less `mean` in every lane."""
    for j in range(len(mean)):
        x_j, d_j, m = x[j], d[j], mean[j]
        for lane in range(LANES):
            d_j[lane] = x_j[lane] - m


@kernel(fastmath=FINITE)
def squared_length(x, U, z, q):
    """q ← ‖Uᵀx‖² in every lane."""
    p = len(x)
    for lane in range(LANES):
        q[lane] = 0.0
    for c in range(p):
        for lane in range(LANES):
            z[lane] = 0.0
        for j in range(0, c - 2, 4):
            u0, u1, u2, u3 = U[j, c], U[j + 1, c], U[j + 2, c], U[j + 3, c]
            x0, x1, x2, x3 = x[j], x[j + 1], x[j + 2], x[j + 3]
            for lane in range(LANES):
                z[lane] += u0 * x0[lane] + u1 * x1[lane] + u2 * x2[lane] + u3 * x3[lane]
        for j in range((c + 1) - (c + 1) % 4, c + 1):
            u0, x0 = U[j, c], x[j]
            for lane in range(LANES):
                z[lane] += u0 * x0[lane]
        for lane in range(LANES):
            q[lane] += z[lane] * z[lane]


@kernel(fastmath=FINITE)
def scaled_length(x, mean, u, q):
    """q ← Σ_j (u_j (x_j − mean_j))² in every lane."""
    for lane in range(LANES):
        q[lane] = 0.0
    for j in range(len(x)):
        x_j, m, s = x[j], mean[j], u[j] * u[j]
        for lane in range(LANES):
            d = x_j[lane] - m
            q[lane] += s * d * d


@kernel(fastmath=SAFE)
def soften(lp, size, w, first, peak, total, spread, out):
    """lp ← w r in every lane, (2); add Σ w log p(x) and Σ w r log r to `out`."""
    K = len(lp)
    for lane in range(LANES):
        peak[lane] = LEAST
        total[lane] = spread[lane] = 0.0
    for k in range(K):
        v = lp[k]
        for lane in range(LANES):
            peak[lane] = max(peak[lane], v[lane])
    for k in range(K):
        v = lp[k]
        for lane in range(LANES):
            d = v[lane] - peak[lane]
            e = exp_of(d) if d > -700.0 else 0.0
            v[lane] = e
            total[lane] += e
            spread[lane] += e * (d if d > -700.0 else 0.0)
    for lane in range(LANES):
        weight = w[first + lane] if lane < size else 0.0
        if weight > 0.0:
            t = total[lane]
            out[0] += weight * (peak[lane] + np.log(t))
            out[1] += weight * (spread[lane] / t - np.log(t))
            total[lane] = weight / t
        else:
            total[lane] = 0.0
    for k in range(K):
        v = lp[k]
        for lane in range(LANES):
            v[lane] *= total[lane]


@kernel(fastmath=FINITE)
def lane_sum(v):
    """Σ over the lanes."""
    s = 0.0
    for lane in range(LANES):
        s += v[lane]
    return s


@kernel(fastmath=FINITE)
def add_squares(r, x, mean, first, second):
    """Add Σ r d and the diagonal of Σ r d dᵀ, where d = x − mean."""
    for j in range(len(x)):
        x_j, m = x[j], mean[j]
        s = t = 0.0
        for lane in range(LANES):
            d = x_j[lane] - m
            z = r[lane] * d
            s += z
            t += z * d
        first[j] += s
        second[j] += t


@kernel(fastmath=FINITE)
def add_products(r, d, z, first, second):
    """Add Σ r d and, unless `second` has no rows, the upper triangle of Σ r d dᵀ."""
    for j in range(len(d)):
        d_j, s = d[j], 0.0
        for lane in range(LANES):
            z[lane] = r[lane] * d_j[lane]
            s += z[lane]
        first[j] += s
        for c in range(j, len(second)):
            d_c, s = d[c], 0.0
            for lane in range(LANES):
                s += z[lane] * d_c[lane]
            second[j, c] += s


@kernel
def expect(X, first, last, w, mu, U, full, const, whole, lp, x, d, work, N, S1, S2, out):
    """(2) and the sums of (3) about the means, over some rows.

    U is (K, p, p) and `full`, or (K, 1, p). `whole` is 1 for second moments, 0 for their diagonal,
    2 for none. Adds to N, S1, S2 and out.
    """
    K = len(mu)
    z, q, peak, total, spread = work[0], work[1], work[2], work[3], work[4]
    for start in range(first, last, LANES):
        size = min(LANES, last - start)
        load(X, start, size, x)
        for k in range(K):
            if full:
                subtract(x, mu[k], d)
                squared_length(d, U[k], z, q)
            else:
                scaled_length(x, mu[k], U[k, 0], q)
            for lane in range(LANES):
                lp[k, lane] = const[k] - 0.5 * q[lane]
        soften(lp, size, w, start, peak, total, spread, out)
        for k in range(K):
            s = lane_sum(lp[k])
            N[k] += s
            if s > 0.0 and whole == 0:
                add_squares(lp[k], x, mu[k], S1[k], S2[k, 0])
            elif s > 0.0:
                subtract(x, mu[k], d)
                add_products(lp[k], d, z, S1[k], S2[k])


@kernel
def log_densities(X, first, last, mu, U, full, const, x, d, work, out):
    """out[i, k] ← const_k − ½ ‖U_kᵀ(x_i − μ_k)‖²"""
    for start in range(first, last, LANES):
        size = min(LANES, last - start)
        load(X, start, size, x)
        for k in range(len(mu)):
            if full:
                subtract(x, mu[k], d)
                squared_length(d, U[k], work[0], work[1])
            else:
                scaled_length(x, mu[k], U[k, 0], work[1])
            for lane in range(size):
                out[start + lane, k] = const[k] - 0.5 * work[1, lane]


class Moments(NamedTuple):
    """The sums of (3) about some means: Σ w r, Σ w r x, Σ w r x xᵀ (or its diagonal)."""

    N: Any  # (K,)
    first: Any  # (K, p)
    second: Any  # (K, p, p), (K, 1, p), or (K, 0, p)
    out: Any  # Σ w log p(x), Σ w r log r

    def __add__(self, other: Any) -> Any:
        return Moments(*(a + b for a, b in zip(self, other, strict=True)))


class Bells(NamedTuple):
    """K Gaussians as the kernels read them."""

    mu: Any  # (K, p)
    U: Any  # (K, p, p) or (K, 1, p)
    full: bool

    @classmethod
    def of(cls, mu: Any, U: Any, kind: str) -> Bells:
        """From means and precision triangles as scikit-learn stores them."""
        K, p = mu.shape
        mu, U = np.ascontiguousarray(mu, np.float64), np.asarray(U, np.float64)
        if kind == "tied":
            U = np.broadcast_to(U, (K, p, p))
        elif kind == "diag":
            U = U[:, None, :]
        elif kind == "spherical":
            U = np.broadcast_to(U[:, None, None], (K, 1, p))
        return cls(mu, np.ascontiguousarray(U), kind in ("full", "tied"))

    def log_determinants(self) -> Any:
        """Σ_j log U_jj for every component."""
        D = np.einsum("kii->ki", self.U) if self.full else self.U[:, 0]
        return np.log(D).sum(axis=1)

    def constants(self) -> Any:
        """The terms of (4) that do not depend on x."""
        return self.log_determinants() - 0.5 * self.mu.shape[1] * np.log(2 * np.pi)


def parts_of(X: Any, K: int) -> list[slice]:
    """Parts for threads; where they begin depends on the shape alone."""
    return split(len(X), 32, least=max(256, (1 << 18) // (X.shape[1] * K)))


def expectations(X: Any, w: Any, bells: Bells, log_weights: Any, whole: int) -> Moments:
    """One pass over all rows, for `whole` as in `expect`."""
    K, p = bells.mu.shape
    const = bells.constants() + log_weights

    def of(part: slice) -> Moments:
        rows = {0: 1, 1: p, 2: 0}[whole]
        found = Moments(np.zeros(K), np.zeros((K, p)), np.zeros((K, rows, p)), np.zeros(2))
        lp, x, d = np.empty((K, LANES)), np.empty((p, LANES)), np.empty((p, LANES))
        expect(
            X, part.start, part.stop, w, bells.mu, bells.U, bells.full, const, whole,
            lp, x, d, np.empty((5, LANES)), *found,
        )  # fmt: skip
        return found

    total = sum_of(run(of, parts_of(X, K)))
    if whole == 1:
        S = total.second
        total = total._replace(second=S + np.triu(S, 1).transpose(0, 2, 1))
    return total


def sum_of(parts: Any) -> Any:
    """Added up in the order of the parts."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def weighted_log_densities(X: Any, bells: Bells, log_weights: Any) -> Any:
    """log π_k + log N(x_i | μ_k, Σ_k), (n, K)"""
    K, p = bells.mu.shape
    const, out = bells.constants() + log_weights, np.empty((len(X), K))

    def of(part: slice) -> None:
        x, d, work = np.empty((p, LANES)), np.empty((p, LANES)), np.empty((2, LANES))
        log_densities(X, part.start, part.stop, *bells, const, x, d, work, out)

    run(of, parts_of(X, K))
    return out


class CollapseError(ValueError):
    """Components whose covariance has no inverse."""

    def __init__(self, components: Any) -> None:
        super().__init__(
            "Fitting the mixture model failed because some components have ill-defined empirical "
            "covariance (for instance caused by singleton or collapsed samples). Try to decrease "
            "the number of components, increase reg_covar, or scale the input data."
        )
        self.components = components


def precision_triangles(covariances: Any, kind: str) -> Any:
    """U with Σ⁻¹ = U Uᵀ; raises `CollapseError`."""
    if kind in ("diag", "spherical"):
        bad = ~(covariances > 0.0)
        if bad.any():
            raise CollapseError(np.flatnonzero(bad.reshape(len(bad), -1).any(axis=1)))
        return 1.0 / np.sqrt(covariances)
    stack = covariances if kind == "full" else covariances[None]
    U, bad = np.empty(stack.shape), []
    for k, S in enumerate(stack):
        L, failed = lapack.dpotrf(S, lower=1, clean=1)
        if not failed:
            inverse, failed = lapack.dtrtri(L, lower=1)
            U[k] = inverse.T
        if failed or not np.isfinite(U[k]).all():
            bad.append(k)
    if bad:
        raise CollapseError(np.array(bad))
    return U if kind == "full" else U[0]


def covariances_of(moments: Moments, mu: Any, kind: str, reg: float, T: Any) -> Any:
    """Σ of (3) by (5), from moments about the old means; `mu` are the new ones about the origin.

    For tied covariances T is Σ w x xᵀ about the origin.
    """
    N, delta = moments.N, moments.first / moments.N[:, None]
    if kind == "tied":
        S = (T - (N * mu.T) @ mu) / N.sum()
        S.flat[:: len(S) + 1] += reg
        return S
    if kind == "full":
        S = moments.second / N[:, None, None] - delta[:, :, None] * delta[:, None, :]
        np.einsum("kii->ki", S)[:] += reg
        return S
    diagonal = moments.second[:, 0] / N[:, None] - delta**2 + reg
    return diagonal if kind == "diag" else diagonal.mean(axis=1)
