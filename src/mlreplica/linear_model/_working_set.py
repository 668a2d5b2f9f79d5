r"""Lasso, fast: a small working set, its Gram matrix, and Newton steps on a face

Most weights are zero at the end, so most columns need not be touched. Choose a working set W of
columns, hold all other weights at zero, and solve (1) of `_lasso` on W alone. Then one pass over X
gives g for every column: those outside W with |g_j| > α violate (4) and join W; if the gap (5) is
small, the work is done. On W everything follows from numbers that do not depend on n,

    G = A_WᵀA_W / n,      c = A_Wᵀy / n,      u = c − G w,                                    (9)

so that a coordinate step (2) that changes nothing costs O(1), and one that does costs |W|:

    w_j ← S(u_j + G_jj w_j, α) / (G_jj + β),      u ← u − (w_j − w_j_old) G_j                (10)

Coordinate steps are quick to find which weights are not zero and with which signs, and slow to
find their values. Once the signs σ of the support F ⊂ W are known, P is a quadratic on that face
and its minimiser is the solution of one linear system:

    (G_FF + β I) v = c_F − α σ                                                               (11)

If v has the signs σ it is exact. If not, go from w towards v as long as P falls: P(v) with its
wrong signs cut to zero, or else the first point of the line at which a weight becomes zero.

On a path α₁ > α₂ > … the solution at one α starts the next, and (11), which holds for every α of
the same face, starts it on the spot. What remains is to ask all columns whether they agree. The
question costs a pass over X for one α or for several, so several α are solved ahead, and their
residuals are multiplied with X at once; those that passed are kept, and the first that failed
tells which columns were missing. In advance, W takes the columns that could become active by the
strong rule: g_j moves hardly ever faster than α does, so from α to α' it is likely that

    |g_j(α)| < 2α' − α    implies    w_j(α') = 0.                                            (12)

Friedman, Hastie, Tibshirani (2010) for (10); Tibshirani and others, Strong rules for discarding
predictors in lasso-type problems (2012); Johnson, Guestrin, Blitz: a principled meta-algorithm for
scaling sparse optimization (2015); Massias, Gramfort, Salmon, Celer (2018).
"""

import numpy as np
from scipy.linalg import lapack

from mlreplica.core.blas import add_scaled
from mlreplica.core.jit import kernel
from mlreplica.core.parallel import one_blas_thread

from ._lasso import State, duality_gap, largest, objective, positive_threshold, soft_threshold

LARGEST = 4096  # columns of a working set: 128 MB of G
SHARP = 1e-4  # a working set is solved to this part of the gap asked for


@kernel
def gram_sweeps(G, w, u, alpha, beta, positive, most):
    """Sweep (10) over all columns until one changes no sign, `most` times at most; the count."""
    for t in range(most):
        flips = 0
        for j in range(len(w)):
            w_old, curvature = w[j], G[j, j]
            if curvature > 0.0:
                z = u[j] + curvature * w_old
                s = positive_threshold(z, alpha) if positive else soft_threshold(z, alpha)
                w_new = s / (curvature + beta)
                if w_new != w_old:
                    w[j] = w_new
                    add_scaled(u, w_old - w_new, G[j])
                    flips += w_new * w_old <= 0.0
        if flips == 0:
            return t + 1
    return most


@kernel
def face(G, F, beta, H):
    """H ← G_FF + βI"""
    for a in range(len(F)):
        row = G[F[a]]
        for b in range(len(F)):
            H[a, b] = row[F[b]]
        H[a, a] += beta


class WorkingSet:
    """Columns W with their G and c of (9), and the weights w and u on them; it only grows."""

    def __init__(self, A, y, c):
        self.A, self.y, self.c_all, self.full = A, y, c, False
        self.yy = float(y @ y) / len(y)
        self.W = np.empty(0, dtype=np.int64)
        self.place = np.full(len(c), -1)
        self.G, self.w, self.u = np.empty((64, 64)), np.empty(0), np.empty(0)
        self.Z = None if hasattr(A, "products") else np.empty((64, A.n))  # the columns themselves

    @classmethod
    def whole(cls, y, G, c):
        """All columns, their G known: no question is left for X."""
        self = cls.__new__(cls)
        self.A, self.y, self.c_all, self.G, self.full = None, y, c, G, False
        self.yy = float(y @ y) / len(y)
        self.W = self.place = np.arange(len(c))
        self.w, self.u = np.zeros(len(c)), c.copy()
        return self

    @property
    def c(self):
        """A_Wᵀy/n"""
        return self.c_all[self.W]

    def add(self, columns):
        """Let columns into W, with w = 0; those inside already are passed over."""
        new = columns[self.place[columns] < 0]
        if len(new) == 0:
            return
        k, m = len(self.W), len(self.W) + len(new)
        if m > len(self.G):
            size = max(m, 2 * len(self.G))
            self.G = grown(self.G, k, (size, size))
            self.Z = None if self.Z is None else grown(self.Z, k, (size, self.A.n))
        self.W = np.concatenate([self.W, new])
        self.place[new] = np.arange(k, m)
        if self.Z is None:
            block = self.A.products(new, self.W)
        else:
            self.Z[k:m] = self.A.take(new)
            block = self.Z[k:m] @ self.Z[:m].T
            block /= self.A.n
        self.G[k:m, :m] = block
        self.G[:k, k:m] = block[:, :k].T
        self.w = np.concatenate([self.w, np.zeros(len(new))])
        self.u = np.concatenate([self.u, self.c_all[new] - block[:, :k] @ self.w[:k]])

    def start(self, w):
        """Set w, given for all columns."""
        self.add(np.flatnonzero(w))
        self.w = w[self.W]
        self.refresh()

    def refresh(self):
        """u of (9), free of the rounding of many steps."""
        k, F = len(self.w), np.flatnonzero(self.w)
        self.u = self.c - self.w[F] @ self.G[F, :k]

    def gap(self, alpha, beta, positive):
        """P and the gap (5) or (7) of the problem on W alone."""
        w, u = self.w, self.u
        ry = self.yy - float(self.c @ w)
        rr = max(ry - float(w @ u), 0.0)
        return objective(rr, w, alpha, beta), duality_gap(rr, ry, u, w, alpha, beta, positive)[0]

    def solve(self, alpha, beta, positive, enough, most):
        """Minimise P on W until the gap is at most `enough`; sweeps + Newton steps, ≤ `most`."""
        steps, exact = 0, False
        with one_blas_thread():  # the systems are small
            while not exact and steps < most:
                if self.w.any():
                    exact = self.newton(alpha, beta, positive)
                    steps += 1
                if not exact and steps < most:
                    few = min(10, most - steps)
                    steps += gram_sweeps(self.G, self.w, self.u, alpha, beta, positive, few)
                    exact = self.gap(alpha, beta, positive)[1] <= enough
        return steps

    def support(self):
        """How many weights are not zero."""
        return int(np.count_nonzero(self.w))

    def newton(self, alpha, beta, positive):
        """A step towards v of (11) that lowers P; True if w is now the minimiser on W."""
        F = np.flatnonzero(self.w)
        w_F = self.w[F]
        sign = np.sign(w_F)
        H = np.empty((len(F), len(F)))
        face(self.G, F, beta, H)
        rhs = self.c[F] - alpha * sign
        _, v, failed = lapack.dposv(H.T, rhs, overwrite_a=1, overwrite_b=1)
        if failed or not np.isfinite(v).all():
            return False
        agree = v * sign > 0.0
        if agree.all():
            self.w[F] = v
            self.refresh()
            g = self.u - beta * self.w
            g[F] = 0.0
            return largest(g, positive) <= alpha * (1.0 + 1e-9)
        P, w_old, u_old = self.gap(alpha, beta, positive)[0], self.w.copy(), self.u
        d = v - w_F
        with np.errstate(divide="ignore", invalid="ignore"):
            meets = np.where(
                agree, 1.0, w_F / -d
            )  # where a weight becomes zero, as part of the way
        t = meets.min()
        first = np.where(meets <= t, 0.0, w_F + t * d)
        for w_F in (np.where(agree, v, 0.0), first):
            self.w[F] = w_F
            self.refresh()
            if self.gap(alpha, beta, positive)[0] < P:
                return False
            self.w, self.u = w_old.copy(), u_old
        return False

    def residual(self):
        """y − A w"""
        F = np.flatnonzero(self.w)
        if self.Z is not None:
            return self.y - self.w[F] @ self.Z[F]
        return self.y - self.A.product(self.everywhere())

    def everywhere(self):
        """w for all columns."""
        w = np.zeros(len(self.c_all))
        w[self.W] = self.w
        return w


def grown(old, k, shape):
    """A larger array that begins with the first k rows of the old one."""
    new = np.empty(shape)
    new[:k, : old.shape[1]] = old[:k]
    return new


def working_sets(work, alpha, beta, w, *, positive=False, enough=0.0, most=10_000):
    """Yield the State: first at the given w, then after each working set is solved.

    `enough` is the gap at which the caller will stop, `most` the sweeps and Newton steps it grants.
    Ends where only rounding is left, or with `work.full` where G would be too large, and
    `coordinate_descent` has to go on. w changes in place.
    """
    A, y, n, dual, steps = work.A, work.y, len(work.y), -np.inf, 0
    work.start(w)
    while True:
        covered = len(work.W) == len(w)
        if covered:
            P, gap = work.gap(alpha, beta, positive)
        else:
            r = work.residual()
            u, rr = A.gradient(r), float(r @ r) / n
            P = objective(rr, work.w, alpha, beta)
            gap, _ = duality_gap(rr, float(r @ y) / n, u, w, alpha, beta, positive)
        dual = max(dual, P - gap)
        yield State(w, P, max(P - dual, 0.0), steps, len(work.W))
        new = []
        if not covered:
            new = violators(u - beta * w, work.W, alpha, positive, max(50, work.support()))
            work.full = len(work.W) + len(new) > LARGEST
            work.add(new[: LARGEST - len(work.W)])
        if work.full or (steps and len(new) == 0):
            return
        steps += work.solve(alpha, beta, positive, SHARP * enough, most - steps)
        w[work.W] = work.w


def violators(g, W, alpha, positive, most):
    """The columns outside W with |g_j| > α, at most `most` of them: the worst."""
    score = g.copy() if positive else np.abs(g)
    score[W] = 0.0
    new = np.flatnonzero(score > alpha)
    if len(new) > most:
        new = np.sort(new[np.argpartition(-score[new], most)[:most]])
    return new
