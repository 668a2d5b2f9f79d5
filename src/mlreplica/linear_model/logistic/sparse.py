r"""Logistic regression with an L2 penalty on sparse rows: Newton's method by conjugate gradients

Letters and equations (1) to (6) are those of `proximal_newton.py`. A text has 50 words out of
100,000, so XᵀhX would have 10¹⁰ entries; but its product with a vector takes one walk over the
rows:

    H d = l2 d + Σ_i x_i h_i (x_iᵀd + c)                                                       (7)

for which conjugate gradients ask some five times a step. Two things keep them so few. The
intercept is no unknown: for each d the best c is inserted, with which Σ h_i (x_iᵀd + c) = 0. For
K classes, with U_ik = s_i q_ik (e_ik − Σ_l q_il e_il), e_i = D x_i + c, it solves

    B c = −Σ_i U_i(c = 0),     B = Σ s_i (diag(q_i) − q_i q_iᵀ)                                 (8)

And the unknowns are scaled by the diagonal of (7) at the start, where every row has the same h:

    1 / (l2 + N(1 − N) (Σ s_i x_ij² − (Σ s_i x_ij)²))                                          (9)

Lin, Weng, Keerthi, Trust region Newton method for large-scale logistic regression (2008).
"""

import numpy as np

from mlreplica.core.rows.csr import RowProducts, backward, there_and_back

from .objective import LogisticState
from .proximal_newton import Look, certificate, first_look, penalty, residuals, sums

HARDER = 0.1  # a step solves (7) to this share of its right-hand side


class Curvature:
    """(7), with the intercept of (8)."""

    def __init__(self, problem, X, R, Y):
        self.X, self.l2 = X, problem.l2
        self.q = R / problem.s + Y
        self.sq = self.q * problem.s
        if problem.K == 1:
            self.h = np.abs(R[0]) * (1.0 - np.abs(R[0]) / problem.s)
            self.m = X.added(backward, self.h) if problem.intercept else np.zeros(X.shape[1])
            B = self.h.sum(keepdims=True)[None]
        else:
            B = np.diag(self.sq.sum(axis=1)) - self.sq @ self.q.T
            B += B.trace() / problem.K**2  # a shift of all K scores is no change: it gets none
        self.inverse = np.linalg.inv(B) * problem.intercept

    def moved(self, E):
        """U of (8) for a change E of the scores."""
        if len(E) == 1:
            return self.h * E
        return self.sq * (E - (self.q * E).sum(axis=0))

    def times(self, D):
        """(7) for D."""
        if len(D) == 1:
            c = self.inverse[0, 0] * (self.m @ D[0])
            return (self.X.added(there_and_back, self.h, D[0]) - c * self.m + self.l2 * D[0])[None]
        U = self.moved(self.X.forward(D))
        U += self.moved(-(self.inverse @ U.sum(axis=1))[:, None] + np.zeros_like(U))
        return self.X.backward(U) + self.l2 * D

    def constant(self, r):
        """The effect on W's gradient of the b that makes r vanish."""
        c = -self.inverse @ r
        if len(r) == 1:
            return c[0] * self.m[None]
        return self.X.backward(self.moved(c[:, None] + np.zeros_like(self.q)))


def conjugate_gradients(times, g, scale):
    """D with (7) D ≈ −g, to HARDER times the size of g, in the scaled unknowns."""
    D, r = np.zeros_like(g), -g
    z = scale * r
    u, rz = z, float(np.vdot(r, z))
    enough = rz * min(HARDER, rz**0.25) ** 2
    for _ in range(200):
        if rz <= enough:
            break
        Hu = times(u)
        t = rz / float(np.vdot(u, Hu))
        D, r = D + t * u, r - t * Hu
        z = scale * r
        rz, old = float(np.vdot(r, z)), rz
        u = z + rz / old * u
    return D


def newton_cg(problem, W, b):
    """Yield the LogisticState, one Newton step apart: sparse X, l1 = 0, l2 > 0."""
    problem = problem._replace(X=problem.X.tocsr())
    X, s = RowProducts(problem.X, problem.n_jobs), problem.s
    known = sums(problem, X.backward)
    share, spread = known.N * (1.0 - known.N), np.maximum(X.squares(s) - known.m**2, 0.0)
    scale = 1.0 / (problem.l2 + share[:, None] * spread)  # (9)
    if not W.any() and problem.intercept:
        b, now = first_look(problem, known)
        F = np.repeat(b[:, None], len(s), axis=1)
    else:
        F = X.forward(np.ascontiguousarray(W)) + b[:, None]
        now = at(problem, X, W, F)
    last = np.inf
    while True:
        gap, g = certificate(problem, known, now), now.V + problem.l2 * W
        slopes = problem.intercept * now.r  # of the intercepts, where there are any
        decrement = float(np.sqrt(np.vdot(g, scale * g) + (slopes**2 / share).sum()))
        yield LogisticState(W, b, now.objective, gap, max(gap, decrement))
        if 0.3 * last < decrement <= 1e-7:
            return
        last = decrement
        H = Curvature(problem, X, now.R, known.Y)
        D = conjugate_gradients(H.times, g + H.constant(now.r), scale)
        E = X.forward(D)
        c = -H.inverse @ (now.r + H.moved(E).sum(axis=1))
        E += c[:, None]
        slope, t = np.vdot(g, D) + now.r @ c, 1.0
        while True:
            new = at(problem, X, W + t * D, F + t * E)
            if new.objective <= now.objective + 1e-4 * t * slope + 4e-16 * now.objective:
                break
            t /= 2.0
            if t < 1e-9:
                return
        W, b, F, now = W + t * D, b + t * c, F + t * E, new


def at(problem, X, W, F):
    """The Look at W, whose scores are F."""
    R = np.empty_like(F)
    loss = residuals(problem, F, slice(None), R)
    return Look(loss + penalty(problem, W), R, X.backward(R), R.sum(axis=1))
