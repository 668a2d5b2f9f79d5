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

If v has the signs σ it is exact. If not, its wrong signs are cut to zero, provided P falls; or else
the way from w to v ends where the first weight becomes zero. The Cholesky factor of (11) is kept:
a column that enters the face adds a row to it, one that leaves takes k rotations, O(k²) either way.
A column j that depends on those of the face has no place in it: with (G_FF + β I) h = G_Fj,

    w_j ← w_j + t,      w_F ← w_F − t h                                                      (12)

leaves A w as it is, and to one side ‖w‖₁ does not grow. Walk there until a weight is zero; one
column less, until those in use are independent, and at most n. A step towards v is taken only if P,
computed anew after it, is not larger.

On a path α₁ > α₂ > … the solution at one α starts the next, and (11), which holds for every α of
the same face, starts it on the spot. What remains is to ask all columns whether they agree. The
question costs a pass over X for one α or for several, so several α are solved ahead, and their
residuals are multiplied with X at once; those that passed are kept, and the first that failed
tells which columns were missing. In advance, W takes the columns that could become active: u is
piecewise linear in α, so from its values at the last two points, α₁ > α₂, go on to the next α,

    u(α) ≈ u(α₂) + (u(α₂) − u(α₁)) (α₂ − α) / (α₁ − α₂),                                     (13)

and take those with |u_j(α)| > 0.9 α.

Friedman, Hastie, Tibshirani (2010) for (10); Johnson, Guestrin, Blitz: a principled meta-algorithm
for scaling sparse optimization (2015); Massias, Gramfort, Salmon, Celer (2018).
"""

import math

import numpy as np
from scipy.linalg import lapack

from mlreplica.core.blas import add_scaled, dot
from mlreplica.core.jit import kernel
from mlreplica.core.parallel import one_blas_thread

from ._lasso import State, blur, duality_gap, largest, objective, positive_threshold, soft_threshold

LARGEST = 4096  # columns of a working set: 128 MB of G
DEPENDENT = 1e-12  # what is left of a column on a face, squared, if it adds nothing
DOWN = 0.4  # from one α to the next on the way to a single small one
SHARP = 1e-4  # a working set is solved to this part of the gap asked for


@kernel
def gram_sweeps(G, w, u, alpha, beta, positive, only_zeros, most):
    """Sweep (10) until no sign changes, `most` times at most; or over the zero weights only."""
    for t in range(most):
        flips = 0
        for j in range(len(w)):
            w_old, curvature = w[j], G[j, j]
            if curvature > 0.0 and not (only_zeros and w_old != 0.0):
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
def enter(L, k, F, G, beta, j):
    """Let j into the face: F[k] = j and row k of L, L Lᵀ = G_FF + βI; False if dependent."""
    row, g, square = L[k], G[j], 0.0
    for a in range(k):
        row[a] = (g[F[a]] - dot(L[a, :a], row[:a])) / L[a, a]
        square += row[a] * row[a]
    rest = g[j] + beta - square
    if not rest > DEPENDENT * (g[j] + beta):
        return False
    F[k], row[k] = j, math.sqrt(rest)
    return True


@kernel
def leave(L, k, F, i):
    """Take F[i] out of the face: delete row i of L, and rotate what then sticks out (Givens)."""
    cos, sin = np.empty(k), np.empty(k)
    for a in range(i, k - 1):
        row, old = L[a], L[a + 1]
        F[a] = F[a + 1]
        for b in range(i):
            row[b] = old[b]
        left = old[i]
        for b in range(i, a):
            right = old[b + 1]
            row[b], left = cos[b] * left + sin[b] * right, cos[b] * right - sin[b] * left
        row[a] = math.sqrt(left * left + old[a + 1] ** 2)
        cos[a], sin[a] = left / row[a], old[a + 1] / row[a]


@kernel
def match(L, k, F, inside, G, w, u, alpha, beta):
    """Make the face that of the support of w, after (12) made it independent; its size."""
    for i in range(k - 1, -1, -1):
        if w[F[i]] == 0.0:
            inside[F[i]] = False
            leave(L, k, F, i)
            k -= 1
    for j in range(len(w)):
        while w[j] != 0.0 and not inside[j]:
            if enter(L, k, F, G, beta, j):
                inside[j] = True
                k += 1
                continue
            i = slide(L, k, F, G, w, u, alpha, beta, j)
            if i == k:  # the minimum along (12) came first
                break
            if i >= 0:
                inside[F[i]] = False
                leave(L, k, F, i)
                k -= 1
    return k


@kernel
def slide(L, k, F, G, w, u, alpha, beta, j):
    """Walk (12): −1 if w_j became zero, i if the weight of F[i] did, k if neither."""
    h = L[k, :k].copy()  # `enter` left L⁻¹G_Fj there
    for a in range(k - 1, -1, -1):
        h[a] /= L[a, a]
        add_scaled(h[:a], -h[a], L[a, :a])
    slope = alpha * np.sign(w[j]) + beta * w[j] - u[j]
    bend = G[j, j] + beta
    for a in range(k):
        i = F[a]
        slope -= h[a] * (alpha * np.sign(w[i]) + beta * w[i] - u[i])
        bend -= h[a] * G[j, i]
    way = -1.0 if slope > 0.0 else 1.0  # of w_j
    t, first = np.inf, k
    if bend > 0.1 * DEPENDENT * (G[j, j] + beta):  # more than rounding
        t = abs(slope) / bend
    if way * w[j] < 0.0 and abs(w[j]) <= t:
        t, first = abs(w[j]), -1
    for a in range(k):
        if way * h[a] * w[F[a]] > 0.0 and abs(w[F[a]] / h[a]) < t:
            t, first = abs(w[F[a]] / h[a]), a
    if t == np.inf:
        return k
    w[j] = 0.0 if first == -1 else w[j] + t * way
    add_scaled(u, -t * way, G[j])
    for a in range(k):
        w[F[a]] = 0.0 if first == a else w[F[a]] - t * way * h[a]
        add_scaled(u, t * way * h[a], G[F[a]])
    return first


@kernel
def move(G, F, target, w, u, alpha, beta):
    """w_F ← target, and u with it; by how much P grows at most, rounding included."""
    growth, size = 0.0, 0.0
    d = target - w[F]
    for a in range(len(d)):
        j = F[a]
        growth += alpha * (abs(target[a]) - abs(w[j])) - 0.5 * d[a] * u[j]
        growth += 0.5 * beta * (target[a] ** 2 - w[j] ** 2)
        size += abs(d[a]) * math.sqrt(G[j, j] + beta)
        w[j] = target[a]
    for a in range(len(d)):
        if d[a] != 0.0:
            add_scaled(u, -d[a], G[F[a]])
    for a in range(len(d)):
        growth -= 0.5 * d[a] * u[F[a]]
    return growth + 1e-15 * size * size


@kernel
def restore(F, w_old, u_old, w, u):
    """w_F and u as they were."""
    for a in range(len(F)):
        w[F[a]] = w_old[a]
    for j in range(len(u)):
        u[j] = u_old[j]


@kernel
def newton(G, L, F, w, u, alpha, beta):
    """A step on the face from w towards v of (11): weights that became zero, −1 if P would grow."""
    k, w_old, u_old = len(F), w[F], u.copy()
    d = np.empty(k)
    for a in range(k):  # d ← (L Lᵀ)⁻¹ (u − βw − ασ) = v − w
        slope = u[F[a]] - beta * w_old[a] - alpha * np.sign(w_old[a])
        d[a] = (slope - dot(L[a, :a], d[:a])) / L[a, a]
    for a in range(k - 1, -1, -1):
        d[a] /= L[a, a]
        add_scaled(d[:a], -d[a], L[a, :a])
    v, t = w_old + d, 1.0
    for a in range(k):
        if v[a] * w_old[a] <= 0.0:
            v[a], t = 0.0, min(t, -w_old[a] / d[a])  # cut; t: how far until one is zero
    size = 0.0
    for a in range(k):
        size += abs(w_old[a]) * (alpha + abs(u[F[a]]) + beta * abs(w_old[a]))
    growth = move(G, F, v, w, u, alpha, beta)
    if growth > 0.0 and t < 1.0:
        restore(F, w_old, u_old, w, u)  # to `move` back would leave its rounding in u
        for a in range(k):
            at = w_old[a] + t * d[a]
            v[a] = at if at * w_old[a] > 1e-15 * w_old[a] ** 2 else 0.0
        growth = move(G, F, v, w, u, alpha, beta)
    if not growth <= 1e-13 * size:  # the face is too ill-conditioned
        restore(F, w_old, u_old, w, u)
        return -1
    zeros = 0
    for a in range(k):
        zeros += v[a] == 0.0
    return zeros


@kernel
def subtract(r, w, Z):
    """r ← r − Zᵀw"""
    for j in range(len(w)):
        if w[j] != 0.0:
            add_scaled(r, -w[j], Z[j])


@kernel
def violation(w, u, alpha, beta, positive):
    """By how much a column misses (4), at most."""
    most = 0.0
    for j in range(len(w)):
        g = u[j] - beta * w[j]
        if w[j] != 0.0:
            miss = abs(g - alpha * np.sign(w[j]))
        else:
            miss = (g if positive else abs(g)) - alpha
        most = max(most, miss)
    return most


class WorkingSet:
    """Columns W with their G and c of (9), the weights w and u on them, and a face; it only grows.

    A is None, and Z empty, if G is known for all columns and no question is left for X.
    """

    def __init__(self, A, y, c, G=None):
        self.A, self.y, self.c_all, self.full = A, y, c, False
        self.yy = float(y @ y) / len(y)
        self.W = np.empty(0, dtype=np.int64) if G is None else np.arange(len(c))
        self.place = np.full(len(c), -1) if G is None else self.W
        size = 64 if G is None else len(G)
        self.G = np.empty((size, size)) if G is None else G
        self.c, self.w, self.u = c[self.W], np.zeros(len(self.W)), c[self.W]
        self.Z = np.empty((size if hasattr(A, "take") else 0, len(y)))  # the columns themselves
        self.L, self.F = np.empty((size, size)), np.empty(size, dtype=np.int64)
        self.forget(0.0)

    def forget(self, beta):
        """An empty face."""
        self.k, self.beta, self.inside = 0, beta, np.zeros(len(self.G), dtype=np.bool_)

    def add(self, columns):
        """Let columns into W, with w = 0; those inside already are passed over."""
        new = columns[self.place[columns] < 0]
        if len(new) == 0:
            return
        k, m = len(self.W), len(self.W) + len(new)
        if m > len(self.G):
            size = max(m, 2 * len(self.G))
            self.G, self.L = grown(self.G, k, (size, size)), grown(self.L, self.k, (size, size))
            self.F, self.inside = np.resize(self.F, size), np.resize(self.inside, size)
            self.inside[k:] = False
            if len(self.Z):
                self.Z = grown(self.Z, k, (size, self.A.n))
        self.W = np.concatenate([self.W, new])
        self.place[new] = np.arange(k, m)
        if len(self.Z):
            self.Z[k:m] = self.A.take(new)
            block = self.Z[k:m] @ self.Z[:m].T
            block /= self.A.n
        else:
            block = self.A.products(new, self.W)
        self.G[k:m, :m] = block
        self.G[:k, k:m] = block[:, :k].T
        self.c = self.c_all[self.W]
        self.w = np.concatenate([self.w, np.zeros(len(new))])
        self.u = np.concatenate([self.u, self.c[k:] - block[:, :k] @ self.w[:k]])

    def start(self, w):
        """Set w, given for all columns."""
        self.add(np.flatnonzero(w))
        self.w = w[self.W]
        self.refresh()

    def refresh(self):
        """u of (9), free of the rounding of many steps."""
        k, F = len(self.w), np.flatnonzero(self.w)
        self.u = self.c - self.w[F] @ self.G[F, :k]

    def blur(self):
        """How far rounding may put a gap from the truth."""
        return blur(self.yy, self.G.diagonal()[: len(self.w)], self.w)

    def gap(self, alpha, beta, positive):
        """P and the gap (5) or (7) of the problem on W alone."""
        w, u = self.w, self.u
        ry = self.yy - float(self.c @ w)
        rr = max(ry - float(w @ u), 0.0)
        return objective(rr, w, alpha, beta), duality_gap(rr, ry, u, w, alpha, beta, positive)[0]

    def solve(self, alpha, beta, positive, enough, most):
        """Minimise P on W until the gap is at most `enough`; sweeps + Newton steps, ≤ `most`."""
        steps, rounds, exact, settled = 0, 0, False, self.w.any()
        sharp = 1e-11 * alpha + 1e-15 * largest(self.c, False)
        with one_blas_thread():  # the systems are small
            while not exact and steps < most:
                cut = int(self.w.any())
                steps += cut
                while cut > 0:  # every cut shrinks the face
                    self.match(alpha, beta)
                    cut = newton(self.G, self.L, self.F[: self.k], self.w, self.u, alpha, beta)
                if cut < 0:
                    self.refresh()
                    self.forget(beta)
                    settled = False
                exact = violation(self.w, self.u, alpha, beta, positive) <= sharp
                if not exact and steps < most:
                    # a Newton step has seen to the others; now and then, leave it to (10) alone
                    rounds += 1
                    only_zeros = settled and rounds % 4 != 0
                    few = min(1 if only_zeros else 10, most - steps)
                    steps += gram_sweeps(
                        self.G, self.w, self.u, alpha, beta, positive, only_zeros, few
                    )
                    exact = self.gap(alpha, beta, positive)[1] <= enough
                    settled = True
        return steps

    def match(self, alpha, beta):
        """Make the face that of the support of w, which gives up dependent columns by (12)."""
        support = np.flatnonzero(self.w)
        if beta != self.beta:
            self.forget(beta)
        k = len(support)
        if k - self.k > max(20, k // 8):  # cheaper at once than one after the other
            H = self.G[np.ix_(support, support)]
            H.flat[:: k + 1] += beta
            R, failed = lapack.dpotrf(H.T, overwrite_a=1, clean=0)
            if not failed and R.diagonal().min() ** 2 > DEPENDENT * self.G.diagonal().max():
                self.forget(beta)
                self.L[:k, :k], self.F[:k], self.k = R.T, support, k
                self.inside[support] = True
        L, F, inside = self.L, self.F, self.inside
        self.k = match(L, self.k, F, inside, self.G, self.w, self.u, alpha, beta)

    def support(self):
        """How many weights are not zero."""
        return int(np.count_nonzero(self.w))

    def residual(self):
        """y − A w"""
        if len(self.Z):
            r = self.y.copy()
            subtract(r, self.w, self.Z)
            return r
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
    now = alpha if w.any() or alpha == 0.0 else np.inf  # from w = 0, come by larger ones
    work.start(w)
    solved = False
    while True:
        covered = len(work.W) == len(w)
        if covered:
            work.refresh()
            u, (P, gap) = work.u, work.gap(alpha, beta, positive)
        else:
            r = work.residual()
            u, rr = A.gradient(r), float(r @ r) / n
            P = objective(rr, work.w, alpha, beta)
            gap, _ = duality_gap(rr, float(r @ y) / n, u, w, alpha, beta, positive)
        dual, new, last = max(dual, P - gap - work.blur()), work.W[:0], now == alpha
        now = max(alpha, DOWN * min(now, largest(u - beta * w, positive)))
        if not covered:
            new = violators(u - beta * w, work.W, now, positive, max(50, work.support()))
            work.full = len(work.W) + len(new) > LARGEST
        yield State(w, P, max(P - dual, work.blur()), steps, len(work.W))
        if work.full or (last and solved and len(new) == 0):
            return
        work.add(new)
        steps += work.solve(now, beta, positive, SHARP * enough, most - steps)
        w[work.W], solved = work.w, True


def violators(g, W, alpha, positive, most):
    """The columns outside W with |g_j| > α, at most `most` of them: the worst."""
    score = g.copy() if positive else np.abs(g)
    score[W] = 0.0
    new = np.flatnonzero(score > alpha)
    if len(new) > most:
        new = np.sort(new[np.argpartition(-score[new], most)[:most]])
    return new
