r"""Logistic regression: objective, derivatives and certificate

With weights s_i > 0 of the rows, Σ s_i = 1, and scores f_i = W x_i + b,

    minimise over W, b:   P(W, b) = Σ s_i L(y_i, f_i) + l1 ‖W‖₁ + l2/2 ‖W‖²                  (1)

    L(y, f) = log(1 + e^{−yf}),         y ∈ {−1, +1}, f ∈ ℝ        (two classes: K = 1)
    L(y, f) = log Σ_k e^{f_k} − f_y,    y ∈ {0 … K−1}, f ∈ ℝ^K

scikit-learn's C is in l1 = ρ/(C S) and l2 = (1 − ρ)/(C S), S the sum of the weights as given and
ρ its `l1_ratio`: its objective is (1) times C S. With the probabilities

    p = 1/(1 + e^{−f}) of y = +1,   or   p_k = e^{f_k} / Σ_l e^{f_l}                          (2)

the derivatives for l1 = 0 are, x̃ standing for x with a 1 at its end and W̃ for W beside b (whose
entries have no l2, as (1) does not penalise b),

    ∇P = Σ s_i (p_i − o_i) x̃_iᵀ + l2 W,     o_i = 1 (y_i = +1) or e_{y_i}                     (3)
    ∇²P = Σ s_i (diag(p_i) − p_i p_iᵀ) ⊗ x̃_i x̃_iᵀ + l2 I       (p_i(1 − p_i) if K = 1)        (4)

Adding the same number to all K scores changes no p, so only differences between classes count:
W̃ = U V, the K − 1 orthonormal columns of U orthogonal to (1 … 1), gives ‖W‖ = ‖V‖ and no waste.

How far is the minimum? Along d the third derivative of P is at most ρ‖d‖ times the second, with
‖d‖² = dᵀHd, H = ∇²P and ρ a bound on the range of d's scores over any row, for ‖d‖ = 1. So

    P(V + d) ≥ P(V) + ∇Pᵀd + (e^{−ρ‖d‖} + ρ‖d‖ − 1)/ρ²                                        (8)

and, minimised over d, with Newton's decrement λ² = ∇Pᵀ H⁻¹ ∇P and if a = ρλ < 1,

    P(V) − min P ≤ ((1 − a) log(1 − a) + a)/ρ²  ≈  λ²/2                                       (9)

which also proves that a minimum exists. H may be replaced by anything below it: by the Hessian at
a point whose scores differ by at most δ, times e^{−δ}, or by the part of it that some rows make.
Where no H can be formed and l2 > 0, the dual problem bounds P: for each c ≤ 1 with c m ≤ π, m and
π the means of p_i and of o_i, the probabilities c p_i + π − c m have the mean that b asks for, and

    P − min P ≤ P + c Σ s_i (p_iᵀf_i − log Σ_k e^{f_ik}) + ‖c∇ + (c−1)T + (π−cm) x̄ᵀ‖² / 2 l2  (10)

with ∇ = Σ s_i (p_i − o_i) x_iᵀ, T = Σ s_i o_i x_iᵀ, x̄ = Σ s_i x_i (c = 1 without b). At c = 1
it is ‖∇P‖²/2 l2. Always, P − min P ≤ P.

Berkson, Application of the logistic function to bio-assay (1944); Böhning, Multinomial logistic
regression algorithm (1992); Bach, Self-concordant analysis for logistic regression (2010).
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack

from mlreplica.core.compile.threads import n_threads, run, split

from .derivatives import PIVOT, TINY, longest, many_classes, stretch, two_classes, two_classes_at

BLOCK = 1 << 16  # entries of X in a block: it stays in the second-level cache between two products
NARROW = 16  # columns up to which a Hessian is made along with the gradient, row by row
EPS = np.finfo(np.float64).eps


class LogisticProblem(NamedTuple):
    """What (1) is made of; nothing in it changes while a solver runs."""

    X: Any  # (n, p): float64 array, C or F contiguous, or CSR/CSC with float64 data
    y: np.ndarray  # (n,): −1.0 or +1.0 if K = 1, otherwise int64 codes 0 … K − 1
    s: np.ndarray  # (n,): float64, > 0, sums to one
    l1: float
    l2: float
    intercept: bool  # whether b is free (never penalised); otherwise b = 0
    K: int  # rows of W: 1 for two classes, otherwise the number of classes
    n_jobs: int | None = None

    def objective(self):
        """P as a function."""
        return LogisticObjective(self)


class LogisticState(NamedTuple):
    """Where a solver is."""

    W: np.ndarray  # (K, p)
    b: np.ndarray  # (K,)
    objective: float
    gap: float  # an upper bound on P(W, b) − min P
    residual: float = np.inf  # what the solvers of smooth problems stop by


class LogisticPoint(NamedTuple):
    """The objective at V: its value, its gradient (3) and the scores it came from."""

    V: np.ndarray  # (K − 1 or 1, p + intercept)
    P: float
    g: np.ndarray  # as V
    F: np.ndarray  # (n K,), in blocks: see LogisticObjective.of
    rho: float = np.inf  # of (8), if asked for
    H: np.ndarray | None = None  # (4), if it came along, and H⁻¹ = rootᵀ root
    root: np.ndarray | None = None


class LogisticObjective:
    """P for l1 = 0 as a function of V, block by block of the rows on threads."""

    in_memory = True  # a sample of the rows is at hand

    def __init__(self, problem):
        X, self.y, self.s, _, self.l2, self.intercept, self.K, self.n_jobs = problem
        self.sparse = sp.issparse(X)
        self.X = X.tocsr() if self.sparse else np.ascontiguousarray(X)
        self.n, self.p = X.shape
        self.U = contrasts(self.K)
        self.shape = self.U.shape[1], self.p + self.intercept
        self.few = self.K == 1 and not self.sparse and self.shape[1] <= NARROW
        self.few = self.few and self.X.size <= BLOCK
        size = max(1, BLOCK // max(self.p, self.K))
        if self.sparse:
            size = self.n
        threads = n_threads(self.n_jobs) if self.n > 2 * size else 1
        self.parts = [
            [slice(a, min(a + size, part.stop)) for a in range(part.start, part.stop, size)]
            for part in split(self.n, threads)
        ]

    def each(self, work):
        """work(X, y, s, rows) for every block of rows, on threads; its results are added up.

        They are tuples of arrays and numbers, of which each thread keeps only one.
        """

        def part(blocks):
            return add(work(self.X[a], self.y[a], self.s[a], a) for a in blocks)

        if len(self.parts) == 1:
            return part(self.parts[0])
        return add(run(part, self.parts, n_jobs=self.n_jobs))

    def of(self, F, rows):
        """The (K, rows) scores of a block: class by class, block after block, in the flat F."""
        return F[self.K * rows.start : self.K * rows.stop].reshape(self.K, -1)

    def weights(self, V):
        """W and b of V."""
        W = V if self.K == 1 else self.U @ V
        return W[:, : self.p], W[:, self.p] if self.intercept else np.zeros(self.K)

    def coordinates(self, W, b):
        """V of W and b; what all classes have in common is lost."""
        return self.U.T @ (np.column_stack([W, b]) if self.intercept else W)

    def inner(self, g, d):
        """What d gains by the gradient g."""
        return float(np.vdot(g, d))

    def derivatives(self, y, s, F, G, hit=1.0):
        """G ← s(p − hit·t), or for two classes ← s p(1 − p) if not hit; the sum of s L."""
        if self.K > 1:
            return many_classes(y, s, F, G, hit)
        other = np.empty(len(y))
        g, h = (G[0], other) if hit else (other, G[0])
        return two_classes(y, s, F[0], g, h)

    def at(self, V, factor=None):
        """The LogisticPoint at V: one pass over X, each block read once from memory."""
        if self.few and factor is None:
            F, g, H = np.empty(self.n), np.empty(V.shape), np.empty((V.size, V.size))
            root = np.empty_like(H)
            P, rho = two_classes_at(self.X, self.y, self.s, self.l2, V[0], F, g[0], H, root)
            return LogisticPoint(V, P, g, F, rho, H, root if rho < np.inf else None)
        W, b = self.weights(V)
        W = np.ascontiguousarray(W)
        F = np.empty(self.n * self.K)

        def work(X, y, s, rows):
            f = self.of(F, rows)
            self.scores(X, W, b, f)
            G = np.empty_like(f)
            loss = self.derivatives(y, s, f, G)
            return loss, self.products(G, X), [np.inf if factor is None else factor.reach(X)]

        loss, g, rho = self.each(work)
        g = self.U.T @ g
        g[:, : self.p] += self.l2 * V[:, : self.p]
        P = loss + self.l2 / 2 * float((V[:, : self.p] ** 2).sum())
        return LogisticPoint(V, P, g, F, max(rho))

    def scores(self, X, W, b, f):
        """f ← W Xᵀ + b"""
        if self.sparse:
            f[:] = (X @ W.T).T
        else:
            np.matmul(W, X.T, out=f)
        f += b[:, None]

    def products(self, G, X):
        """G X̃, (K, p + intercept)"""
        g = np.empty((self.K, self.shape[1]))
        g[:, : self.p] = (X.T @ G.T).T if self.sparse else G @ X
        g[:, self.p :] = G.sum(axis=1)[:, None]
        return g

    def gram(self, root):
        """Σ root_i² x̃_i x̃_iᵀ"""
        if self.sparse:
            A = sp.diags_array(root) @ self.X
            A = sp.hstack([A, root[:, None]], format="csr") if self.intercept else A
            return (A.T @ A).toarray()

        def work(X, y, s, rows):
            A = np.empty((len(X), self.shape[1]))
            stretch(X, root[None, rows], A)
            return (A.T @ A,)

        return self.each(work)[0]

    def hessian(self, point):
        """(4) in the coordinates V, rows and columns in the order of V.ravel(); dense X only."""
        if point.H is not None:
            return point.H
        F, (a, m) = point.F, self.shape
        size = a * m

        def work(X, y, s, rows):
            f = self.of(F, rows)
            G = np.empty_like(f)
            self.derivatives(y, s, f, G, hit=0.0)
            A = np.empty((len(X), m))
            grams = np.empty((self.K, m, m))
            for k in range(self.K):
                stretch(X, np.sqrt(G[k : k + 1]), A)
                np.matmul(A.T, A, out=grams[k])
            if self.K == 1:
                return (grams,)
            B = np.empty((len(X), size))
            stretch(X, self.U.T @ (G / np.sqrt(s)), B)
            return grams, B.T @ B

        grams, *rest = self.each(work)
        UU = (self.U[:, :, None] * self.U[:, None]).reshape(self.K, a * a)
        H = (UU.T @ grams.reshape(self.K, m * m)).reshape(a, a, m, m)
        H = H.transpose(0, 2, 1, 3).reshape(size, size)
        for R in rest:
            H -= R
        H.reshape(-1)[:: size + 1] += self.ridge().ravel()
        return H

    def factor(self, point):
        """The HessianFactor of (4) at a LogisticPoint."""
        spread = 1.0 if self.K == 1 else math.sqrt(2.0)
        if point.root is not None:
            return HessianFactor(point.root, self.shape, spread, point.rho)
        return HessianFactor(inverse_root_of(self.hessian(point)), self.shape, spread)

    def curvature(self, F):
        """V ↦ (4) times V, from the probabilities at the scores F."""
        S = np.empty_like(F)

        def keep(X, y, s, rows):
            return (self.derivatives(y, s, self.of(F, rows), self.of(S, rows), hit=0.0),)

        self.each(keep)

        def times(V):
            W, b = self.weights(V)
            W = np.ascontiguousarray(W)

            def work(X, y, s, rows):
                G = self.of(S, rows)
                D = np.empty_like(G)
                self.scores(X, W, b, D)
                D *= G
                if self.K > 1:
                    D -= G * (D.sum(axis=0) / s)
                return (self.products(D, X),)

            return self.U.T @ self.each(work)[0] + self.ridge() * V

        return times

    def most(self, measure):
        """The largest measure(X, rows) of a block."""
        return max(self.each(lambda X, y, s, rows: ([measure(X, rows)],))[0])

    def change(self, F, F0):
        """δ of (9): the largest range, over the classes, of a row's change of scores."""
        if self.K == 1:
            return float(np.abs(F - F0).max())
        return self.most(lambda X, rows: np.ptp(self.of(F, rows) - self.of(F0, rows), axis=0).max())

    def margin(self, F):
        """The least lead of a row's own class over the others: > 0 if all rows are on its side."""
        if self.K == 1:
            return float((self.y * F).min())

        def lag(X, rows):
            f, y = self.of(F, rows).copy(), self.y[rows]
            own = f[y, np.arange(len(y))]
            f[y, np.arange(len(y))] = -np.inf
            return (f.max(axis=0) - own).max()

        return -float(self.most(lag))

    def ridge(self):
        """l2 for the weights and 0 for b, in the shape of V."""
        ridge = np.full(self.shape, self.l2)
        ridge[:, self.p :] = 0.0
        return ridge

    def rho(self, factor):
        """ρ of (8) over all rows."""
        return factor.rho or self.most(lambda X, rows: factor.reach(X))

    def class_sums(self):
        """T of (10), one row a class (only y = +1 if K = 1), and x̄."""
        t = self.s * (self.y > 0) if self.K == 1 else self.s
        columns = np.zeros(self.n, dtype=np.int64) if self.K == 1 else self.y
        E = sp.csr_array((t, (np.arange(self.n), columns)), shape=(self.n, self.K))
        T = E.T @ self.X
        return (T.toarray() if sp.issparse(T) else T), self.X.T @ self.s

    def dual_gap(self, point, sums):
        """(10), or P where it says nothing."""
        V, P, g = point[:3]
        if self.l2 == 0.0:
            return P
        (T, x_mean), ridge = sums, self.l2 * V[:, : self.p]
        G = self.U @ (g[:, : self.p] - ridge)
        c, shift = 1.0, np.zeros(self.K)
        if self.intercept:
            slope = self.U @ g[:, self.p]  # m − π
            share = np.bincount(self.y, self.s, self.K) if self.K > 1 else self.s @ (self.y > 0)
            share = np.atleast_1d(share)
            m = np.maximum(share + slope, EPS)
            c = min(1.0, float((share / m).min()))
            if self.K == 1:  # the other class asks as much
                c = min(c, float((1.0 - share[0]) / max(1.0 - m[0], EPS)))
            shift = share - c * m
        # Σ s (pᵀf − log Σ e^f) = ⟨∇W̃, W̃⟩ − Σ s L, ∇W̃ without the penalty
        inner = float(np.vdot(g, V) - np.vdot(ridge, V[:, : self.p]))
        loss = P - 0.5 * float(np.vdot(ridge, V[:, : self.p]))
        R = c * G + (c - 1.0) * T + np.outer(shift, x_mean)
        return min(P, P + c * (inner - loss) + float((R * R).sum()) / (2.0 * self.l2))


def add(results):
    """The sums of tuples, entry by entry; the arrays of the first are overwritten."""
    sums = None
    for found in results:
        if sums is None:
            sums = list(found)
        else:
            for k, term in enumerate(found):
                sums[k] += term
    return sums


def contrasts(K):
    """U: an orthonormal basis (K, K − 1) of the vectors that sum to zero (Helmert); 1 if K = 1."""
    if K == 1:
        return np.ones((1, 1))
    U = np.triu(np.ones((K, K - 1)))
    k = np.arange(1, K)
    U[k, k - 1] = -k
    return U / np.sqrt(k * (k + 1.0))


def inverse_root_of(H):
    """As `inverse_root`, by LAPACK; if H is singular, of what the data determine."""
    d = np.sqrt(np.maximum(H.diagonal(), TINY))
    L, info = lapack.dpotrf(H / (d[:, None] * d), lower=1, clean=1, overwrite_a=1)
    if info == 0 and L.diagonal().min() > PIVOT:
        return lapack.dtrtri(L, lower=1)[0] / d
    # dependent columns and no penalty: what the data do not determine stays put
    values, vectors = np.linalg.eigh(H / np.outer(d, d))
    kept = values > len(H) * 8 * EPS * values[-1]
    return (vectors[:, kept] / np.sqrt(values[kept])).T / d


class HessianFactor:
    """A Hessian H taken apart: H⁻¹g, its length, and the bound (9)."""

    def __init__(self, root, shape, spread, rho=None):
        """`spread`: of a row's scores for V of length one: 1 for two classes, otherwise √2."""
        self.root, self.shape, self.spread, self.rho = root, shape, spread, rho
        self.exact = shape[1] <= 8 * shape[0]

    @cached_property
    def M(self):  # noqa: N802  a matrix
        """That of (8): for ‖d‖ = 1 the scores of d in a row range over at most spread·√(x̃ᵀ M x̃)."""
        each = self.root.reshape(-1, self.shape[1])
        return each.T @ each

    def reach(self, X):
        """ρ over these rows: exactly, or if that is costly by |x̃|ᵀ√diag M, which is not less."""
        p = X.shape[1]
        if not self.exact:
            q = np.linalg.norm(self.root.reshape(-1, self.shape[1]), axis=0)  # √diag M
            return self.spread * (longest(X, q[:p]) + q[p:].sum())
        A = X @ self.M[:p, :p]
        A += 2.0 * self.M[:p, p:].sum(axis=1)
        return self.spread * np.sqrt(np.einsum("ij,ij->i", A, X).max() + self.M[p:, p:].sum())

    def solve(self, g):
        """H⁻¹ g, in the shape of g."""
        return (self.root.T @ (self.root @ g.ravel())).reshape(g.shape)

    def decrement(self, g):
        """λ = √(gᵀ H⁻¹ g)"""
        z = self.root @ g.ravel()
        return math.sqrt(z @ z)


def gap(P, decrement, rho, below=1.0):
    """The bound (9), if the Hessian of λ and ρ times `below` is below the one at this point."""
    a = rho * decrement
    if not a < below:
        return P
    decrement, rho, a = decrement / np.sqrt(below), rho / np.sqrt(below), a / below
    if a < 1e-4:  # the series: log(1 − a) would cancel
        return min(P, decrement**2 / 2 * (1.0 + a))
    return min(P, ((1.0 - a) * np.log1p(-a) + a) / rho**2)
