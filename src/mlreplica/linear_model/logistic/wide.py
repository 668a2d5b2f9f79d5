r"""Logistic regression with two classes on fewer rows than columns: Newton's method in the rows

Letters are those of `objective.py`. With the penalty, w lies in the span of the rows, w = Xᵀα, so
that the scores are Kα + b with the n × n matrix K = XXᵀ, made once. ∇P for w is Xᵀψ with

    ψ_i = s_i (p_i − o_i) + l2 α_i,                                                          (1)

and of two such vectors Xᵀψ, Xᵀδ the inner product is ψᵀKδ: nothing else of X is needed. With
D = diag(s p(1 − p)), E = √D and e its diagonal as a vector, the Hessian (4) is A = l2 I + XᵀDX
for w, bordered by XᵀEe and eᵀe for b. A differs from l2 I only in the span of the rows (Woodbury):

    l2 A⁻¹ Xᵀψ = Xᵀ(ψ − E B⁻¹ E Kψ / l2),        B = I + E K E / l2                          (2)

and A⁻¹XᵀE = XᵀE B⁻¹ / l2. A step costs the Cholesky factor of B, n³/3. With z = B⁻¹EKψ and
q = B⁻¹e the border is eliminated: the solution of H (Xᵀδ, c) = (Xᵀψ, γ) is

    c = (γ − qᵀEKψ / l2) / eᵀq,        δ = (ψ − E (z / l2 + c q)) / l2.                      (3)

ρ of (8) there needs x̃_iᵀH⁻¹x̃_i, for which x_iᵀA⁻¹x_i ≤ min(K_ii / l2, 1 / d_i) is enough:

    ρ² ≤ max_i  min(K_ii / l2, 1 / d_i) + (1 − (KE q)_i / l2)² / eᵀq.                        (4)

The difference in (2) costs as many digits as A has condition, which the caller looks at first.

Rasmussen, Williams, Gaussian Processes for Machine Learning (2006), section 3.4.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import lapack

from mlreplica.core.compile.threads import n_threads, run, split

from .objective import TINY, LogisticObjective, LogisticPoint

MOST = 1e7  # condition of A up to which (2) keeps digits enough


def products_of_rows(X, n_jobs):
    """K = XXᵀ, some columns a thread."""
    parts = split(X.shape[1], n_threads(n_jobs), least=512)
    return sum(run(lambda columns: X[:, columns] @ X[:, columns].T, parts, n_jobs=n_jobs))


def well_conditioned(problem, K):
    """Whether (2) keeps its digits: by a bound on A's largest eigenvalue over its least."""
    return problem.s.max() / 4.0 * K.trace() <= MOST * problem.l2


class ByRows(LogisticObjective):
    """The LogisticObjective of two classes in coordinates V = (α, b); gradients are (ψ, γ)."""

    def __init__(self, problem, K):
        super().__init__(problem)
        self.XX = K

    def coordinates(self, W, b):
        """V of W and b: exactly if W = 0, otherwise near enough to start from."""
        alpha = np.zeros(self.n)
        if W.any():
            K = self.XX.copy()
            K.reshape(-1)[:: self.n + 1] += 1e-10 * K.trace() / self.n
            alpha = lapack.dposv(K, self.X @ W[0], lower=1, overwrite_a=1)[1]
        return np.append(alpha, b[: self.intercept])[None]

    def weights(self, V):
        """W = αᵀX and b of V."""
        alpha, b = V[:, : self.n], V[0, self.n :]
        return alpha @ self.X, b if self.intercept else np.zeros(1)

    def inner(self, g, d):
        """What d gains by the gradient g: ψᵀKδ + γ c."""
        n = self.n
        return float((self.XX @ g[0, :n]) @ d[0, :n] + g[0, n:] @ d[0, n:])

    def at(self, V, factor=None):
        """The LogisticPoint at V, from K alone."""
        alpha, g = V[0, : self.n], np.empty_like(V)
        scores = self.XX @ alpha
        F = scores + V[0, self.n :].sum()
        loss = self.derivatives(self.y, self.s, F[None], g[:, : self.n])
        g[0, self.n :] = g[0, : self.n].sum()
        g[0, : self.n] += self.l2 * alpha
        return LogisticPoint(V, loss + self.l2 / 2.0 * float(alpha @ scores), g, F)

    def factor(self, point):
        """The RowFactor of (4) at a LogisticPoint."""
        d = np.empty((1, self.n))
        self.derivatives(self.y, self.s, point.F[None], d, hit=0.0)
        return RowFactor(self, d[0])


class RowFactor:
    """H⁻¹g, its length and ρ, as of a `Factor`, by (2) to (4)."""

    def __init__(self, objective, d):
        self.objective, self.e = objective, np.sqrt(d)
        K, l2 = objective.XX, objective.l2
        B = K * (self.e[:, None] * (self.e / l2))
        B.reshape(-1)[:: len(B) + 1] += 1.0
        self.L = lapack.dpotrf(B.T, lower=1, overwrite_a=1)[0]  # B.T = B, as LAPACK wants it
        reach = np.minimum(K.diagonal() / l2, 1.0 / np.maximum(d, TINY))
        if objective.intercept:
            self.q = self.by_rows(self.e)
            self.bend = max(float(self.e @ self.q), TINY)
            reach += (1.0 - K @ (self.e * self.q) / l2) ** 2 / self.bend
        self.rho = math.sqrt(reach.max())

    def by_rows(self, v):
        """B⁻¹v"""
        return lapack.dpotrs(self.L, v, lower=1)[0]

    def solve(self, g):
        """H⁻¹ g by (3), in the shape of g."""
        e, l2, n, found = self.e, self.objective.l2, len(self.e), g[0].copy()
        rows = e * (self.objective.XX @ found[:n])
        u = self.by_rows(rows) / l2
        if self.objective.intercept:
            found[n] = (found[n] - float(self.q @ rows) / l2) / self.bend
            u += found[n] * self.q
        found[:n] = (found[:n] - e * u) / l2
        return found[None]

    def decrement(self, g):
        """λ = √(gᵀ H⁻¹ g)"""
        return math.sqrt(max(self.objective.inner(g, self.solve(g)), 0.0))
