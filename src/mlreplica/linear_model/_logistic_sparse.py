r"""Logistic regression with an L2 penalty on sparse rows: Newton's method by conjugate gradients

Letters and equations (1) to (6) are those of `_logistic_cd`. A text has 50 words out of 100,000, so
XᵀhX would have 10¹⁰ entries; but its product with a vector takes one walk over the rows:

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

from mlreplica.core.jit import kernel
from mlreplica.core.parallel import n_threads, run, split

from ._logistic import State
from ._logistic_cd import Look, certificate, first_look, penalty, residuals, sums

HARDER = 0.1  # a step solves (7) to this share of its right-hand side


@kernel
def forward(start, columns, data, w, f, first, last):
    """f_i ← x_iᵀw for the rows first … last − 1."""
    for i in range(first, last):
        t = 0.0
        for k in range(start[i], start[i + 1]):
            t += data[k] * w[columns[k]]
        f[i] = t


@kernel
def backward(start, columns, data, u, out, first, last):
    """out ← Σ u_i x_i over these rows."""
    out[:] = 0.0
    for i in range(first, last):
        for k in range(start[i], start[i + 1]):
            out[columns[k]] += u[i] * data[k]


@kernel
def there_and_back(start, columns, data, h, d, out, first, last):
    """out ← Σ x_i h_i x_iᵀd over these rows, each read once from memory."""
    out[:] = 0.0
    for i in range(first, last):
        t = 0.0
        for k in range(start[i], start[i + 1]):
            t += data[k] * d[columns[k]]
        t *= h[i]
        for k in range(start[i], start[i + 1]):
            out[columns[k]] += t * data[k]


class RowProducts:
    """The products of a CSR matrix with one vector a class, on threads."""

    def __init__(self, X, n_jobs):
        self.shape, self.n_jobs = X.shape, n_jobs
        self.triple = X.indptr.astype(np.uint64), X.indices.astype(np.uint32), X.data
        shares = [part.stop for part in split(X.nnz, n_threads(n_jobs), least=1 << 18)]
        ends = np.searchsorted(X.indptr, shares[:-1])
        self.first = np.array([0, *ends], dtype=np.uint64)
        self.last = np.array([*ends, X.shape[0]], dtype=np.uint64)
        self.parts = np.empty((len(self.first), X.shape[1]))

    def forward(self, W):
        """W Xᵀ, (K, n)"""
        F = np.empty((len(W), self.shape[0]))

        def work(first, last):
            for w, f in zip(W, F, strict=True):
                forward(*self.triple, w, f, first, last)

        run(work, self.first, self.last, n_jobs=self.n_jobs)
        return F

    def backward(self, U):
        """U X, (K, p)"""
        return np.array([self.added(backward, u) for u in U])

    def squares(self, s):
        """Σ s_i x_ij² for every j."""
        start, columns, data = self.triple
        return self.added(backward, s, triple=(start, columns, data * data))

    def added(self, function, *vectors, triple=None):
        """function(…, out, first, last) on every thread's rows, added up."""

        def work(out, first, last):
            function(*(triple or self.triple), *vectors, out, first, last)

        run(work, self.parts, self.first, self.last, n_jobs=self.n_jobs)
        return self.parts.sum(axis=0)


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
    """Yield the State, one Newton step apart, until rounding rules: sparse X, l1 = 0, l2 > 0."""
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
        decrement = float(np.sqrt(np.vdot(g, scale * g) + (now.r**2 / share).sum()))
        yield State(W, b, now.objective, gap, max(gap, decrement))
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
