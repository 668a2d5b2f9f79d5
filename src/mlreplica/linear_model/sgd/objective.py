r"""A loss and a penalty over rows: value, gradient, curvature and distance from the minimum

    minimise over w, b:   P(w, b) = F(w, b) + α₁ ‖w‖₁                                           (1)

    F(w, b) = Σᵢ cᵢ ℓ(yᵢ, xᵢᵀw + b) / S + α₂/2 ‖w‖²,      S = Σᵢ cᵢ

With g the slopes ∂ℓ/∂f of the rows and x̃ = (x, 1), the gradient of the smooth part is

    ∇F(w, b) = Σᵢ (cᵢ/S) gᵢ x̃ᵢ + α₂ (w, 0)                                                     (2)

It changes at most L times as fast as its argument, where h ≤ κ bounds the loss's curvature:

    L = κ λ_max(H) + α₂,      H = Σᵢ (cᵢ/S) x̃ᵢ x̃ᵢᵀ                                             (3)

How far is the minimum? No penalty holds b, so let it first be the best one for w, where its slope
is zero; what that gains is added to the bound. As a function of w, F then lies above a parabola
of curvature μ (α₂, and in least squares the least eigenvalue of the centred H besides), so

    P(w) − P* ≤ Σⱼ −Gⱼdⱼ − μ/2 dⱼ² − α₁(|wⱼ + dⱼ| − |wⱼ|),    G = ∇F(w),                        (9)

with the d that makes it largest, w + d = soft(w − G/μ, α₁/μ); without L1 it is ‖G‖² / 2μ. Least
squares with an L1 penalty also has a dual: any multiple θ of the residuals bounds P* from below,

    P* ≥ Σᵢ (cᵢ/S)(θᵢyᵢ − θᵢ²/2) − Σⱼ (|qⱼ| − α₁)₊² / 2α₂,      q = Σᵢ (cᵢ/S) θᵢxᵢ              (10)

and for α₂ = 0 the multiple is the largest that keeps every |qⱼ| ≤ α₁ and the last sum is zero.
"""

from __future__ import annotations

import functools

import numpy as np
import scipy.sparse as sp
from scipy.optimize import brentq
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.utils import check_array, check_consistent_length

from mlreplica.core.compat import _check_sample_weight
from mlreplica.core.formulas import losses
from mlreplica.core.formulas.penalties import Penalty, soft_threshold

SQUARED = losses.squared.code
SMALL = 1000  # columns up to which a p × p matrix is worth its price
ROUNDING = 1e-13


class DescentObjective:
    """P of (1) with its parts. v holds w in its first p rows and b in the last, if there is one.

    `image` is linear in v, and all else follows from it: scores of the rows, one product with X.
    """

    def __init__(self, X, y, c, loss, penalty, intercept):
        self.X, self.y, self.loss, self.penalty, self.intercept = X, y, loss, penalty, intercept
        self.n, self.p = X.shape
        self.share = c / c.sum()
        self.quadratic = loss.code == SQUARED

    def start(self):
        """w = 0 and the best constant b, which is half the way if y is far from zero."""
        k = (int(self.y.max()) + 1,) if self.loss.target == "class" else ()
        v = np.zeros((self.p + self.intercept, *k))
        if self.intercept:
            v[self.p] = self.loss.best_constant(self.y, self.share)
        return v

    def image(self, v):
        """The scores f = Xw + b."""
        f = self.X @ v[: self.p]
        return f + v[self.p] if self.intercept else f

    def value(self, f, v):
        """F, the smooth part."""
        w = v[: self.p]
        return self.share @ self.loss.value(self.y, f) + self.penalty.l2 / 2 * (w * w).sum()

    def price(self, v):
        """α₁‖w‖₁, the other part."""
        return self.penalty.l1 * np.abs(v[: self.p]).sum() if self.penalty.l1 else 0.0

    def gradient(self, f, v):
        """∇F of (2)."""
        return self.pull(self.loss.derivatives(self.y, f, self.share)[0], v)

    def pull(self, g, v):
        """Equation (2) from the weighted slopes g."""
        G = np.empty_like(v)
        G[: self.p] = self.X.T @ g + self.penalty.l2 * v[: self.p]
        if self.intercept:
            G[self.p] = g.sum(axis=0)
        return G

    def threshold(self, z, step):
        """The proximal step: w soft-thresholded by step · α₁, b as it is."""
        if self.penalty.l1:
            z[: self.p] = soft_threshold(z[: self.p], step * self.penalty.l1)
        return z

    def bend(self, d):
        """dᵀ∇²F d of least squares."""
        return float(self.share @ self.image(d) ** 2 + self.penalty.l2 * (d[: self.p] ** 2).sum())

    @functools.cached_property
    def gram(self):
        """H of (3), b's row and column last; None if X is sparse or has many columns."""
        if sp.issparse(self.X) or self.p > SMALL:
            return None
        H = np.empty((self.p + self.intercept,) * 2)
        weighted = self.share[:, None] * self.X
        H[: self.p, : self.p] = weighted.T @ self.X
        if self.intercept:
            H[self.p, : self.p] = H[: self.p, self.p] = weighted.sum(axis=0)
            H[self.p, self.p] = 1.0
        return H

    @functools.cached_property
    def top(self):
        """λ_max(H)."""
        if self.gram is not None:
            return float(np.linalg.eigvalsh(self.gram)[-1])
        size = self.p + self.intercept
        plain = DescentObjective(self.X, self.y, self.share, self.loss, Penalty(), self.intercept)
        H = LinearOperator(
            (size, size), dtype=float, matvec=lambda v: plain.pull(self.share * self.image(v), v)
        )
        if size == 1:
            return float(H.matvec(np.ones(1))[0])
        found = eigsh(H, k=1, v0=np.ones(size), tol=1e-7, return_eigenvectors=False)
        return float(found[0]) * (1 + 1e-5)  # Lanczos approaches from below

    @property
    def smoothness(self):
        """L of (3); infinite if the loss's curvature has no bound."""
        return float(self.loss.curvature * self.top + self.penalty.l2)

    @property
    def majorant(self):
        """M ≥ ∇²F everywhere: κH + α₂I in w, and a little more so that it has an inverse."""
        M = self.loss.curvature * self.gram
        M[np.arange(self.p), np.arange(self.p)] += self.penalty.l2
        M[np.diag_indices_from(M)] *= 1 + 1e-12  # in any scale of the columns
        M[np.diag_indices_from(M)] += np.finfo(float).tiny
        return M

    @functools.cached_property
    def mu(self):
        """The modulus of (9): 0 if none is known."""
        if not self.quadratic or self.gram is None:
            return self.penalty.l2
        C = self.gram[: self.p, : self.p]
        if self.intercept:
            C = C - np.outer(self.gram[self.p, : self.p], self.gram[self.p, : self.p])
        values, least = np.linalg.eigvalsh(C), ROUNDING * (self.p + 1) * self.top
        if self.penalty == Penalty():  # ∇F lies in the span of the rows, where no eigenvalue is 0
            values = values[values > 2 * least]
        return float(self.penalty.l2 + max(0.0, values.min(initial=np.inf) - least))

    def certificate(self, v):
        """An upper bound on P(v) − P*: the least of (9) and (10); infinite where neither holds."""
        f, there, bound = self.image(v), v, np.inf
        if self.intercept:
            shift = self.best_shift(f)
            there, f = v.copy(), f + shift
            there[self.p] += shift
        if not np.isfinite(f).all():
            return np.inf
        here = self.value(f, there) + self.price(there)
        if self.mu == np.inf:  # no column differs from its mean: no w is better than another
            bound = 0.0
        elif self.mu > 0:
            w, G = there[: self.p], self.gradient(f, there)[: self.p]
            d = soft_threshold(w - G / self.mu, self.penalty.l1 / self.mu) - w
            bound = -(G * d + self.mu / 2 * d * d).sum() - self.price(w + d) + self.price(w)
        if self.quadratic and self.penalty.l1:
            bound = min(bound, here - self.dual(f))
        gained = self.value(self.image(v), v) + self.price(v) - here
        return float(max(bound, 0.0) + max(gained, 0.0))

    def best_shift(self, f):
        """What to add to every score so that b's slope is zero; nan if nothing does."""
        if self.quadratic:
            return self.share @ (self.y - f)
        slope = lambda t: self.share @ self.loss.gradient(self.y, f + t)
        reach = 1e-4  # near the minimum b is almost right
        while f.ndim == 1 and slope(-reach) * slope(reach) > 0 and reach < 1e3:
            reach *= 16
        return brentq(slope, -reach, reach, xtol=1e-15) if f.ndim == 1 and reach < 1e3 else np.nan

    def dual(self, f):
        """The lower bound (10) on P*, from scores with the best b."""
        r, (l1, l2) = self.y - f, self.penalty
        y = self.y - self.share @ self.y if self.intercept else self.y  # Σ c u = 0 allows it
        z = self.X.T @ (self.share * r)
        u = r if l2 else r * min(1.0, l1 / max(np.abs(z).max(), 1e-300))
        conjugate = (np.maximum(np.abs(z) - l1, 0.0) ** 2).sum() / (2 * l2) if l2 else 0.0
        return self.share @ (u * y - u * u / 2) - conjugate


class Quadratic(DescentObjective):
    """Least squares through H: a step costs p² and no longer np.

    y is taken from its best constant, or the constant part of F would swallow its digits.
    """

    def __init__(self, rows):
        vars(self).update(vars(rows), gram=rows.gram, origin=rows.start())
        y = self.y - self.origin[self.p] if self.intercept else self.y
        self.q = rows.pull(self.share * y, 0 * self.origin)
        self.rest = self.share @ y**2 / 2
        self.ridge = np.append(np.full(self.p, self.penalty.l2), [0.0] * self.intercept)

    def image(self, v):
        """∇²F (v − start), so that w = 0 there."""
        u = v - self.origin
        return self.gram @ u + self.ridge * u

    def value(self, a, v):
        """F = ½ uᵀ∇²F u − qᵀu + rest at u = v − start."""
        return float((v - self.origin) @ (a / 2 - self.q) + self.rest)

    def gradient(self, a, v):
        """∇F = ∇²F u − q."""
        return a - self.q

    def bend(self, d):
        """dᵀ∇²F d."""
        return float(d @ (self.gram @ d + self.ridge * d))


def objective_of(X, y, loss, penalty, intercept, sample_weight, accept_sparse=()):
    """Check what the user gave, once, and make the DescentObjective of it."""
    loss = losses.get(loss)
    if not loss.convex:
        raise ValueError(
            f"{loss.name} is not convex and its slope leads nowhere; use its surrogate."
        )
    X = check_array(X, dtype=np.float64, accept_sparse=accept_sparse, order="C")
    y = np.asarray(y)
    if y.ndim != 1:
        raise ValueError(f"y must have one dimension, got shape {y.shape}.")
    check_consistent_length(X, y)
    y = loss.check_target(y)
    c = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    return DescentObjective(X, y, c, loss, penalty, bool(intercept))
