r"""Lasso, fast: a small working set, its Gram matrix, and Newton steps on a face

Most weights are zero at the end, so most columns need not be touched. Choose a working set W of
columns, hold all other weights at zero, and solve (1) of `coordinate_descent.py` on W alone. Then
one pass over X gives g for every column: those outside W with |g_j| > α violate (4) and join W; if
the gap (5) is small, the work is done. On W everything follows from numbers that do not depend on
n,

    G = A_WᵀA_W / n,      c = A_Wᵀy / n,      u = c − G w,                                    (9)

so that a coordinate step (2) that changes nothing costs O(1), and one that does costs |W|:

    w_j ← S(u_j + G_jj w_j, α) / (G_jj + β),      u ← u − (w_j − w_j_old) G_j                (10)

Coordinate steps are quick to find which weights are not zero and with which signs, and slow to
find their values. Once the signs σ of the support F ⊂ W are known, P is a quadratic on that face
and its minimiser is the solution of one linear system:

    (G_FF + β I) v = c_F − α σ                                                               (11)

If v has the signs σ it is exact. If not, its wrong signs are cut to zero, provided P falls; or else
the way from w to v ends where the first weight becomes zero. `face.py` keeps the factor of (11). A
column j that depends on those of the face has no place in it: with (G_FF + β I) h = G_Fj,

    w_j ← w_j + τ,      w_F ← w_F − τ h                                                      (12)

leaves A w as it is, and to one side ‖w‖₁ does not grow. Walk there until a weight is zero; one
column less, until those in use are independent, and at most n. No step is taken before P at its
end, computed anew, is known not to be larger.

G is a product of rounded numbers, and c − G w a difference of large ones. So each pass over X sets
u = Aᵀ(y − A w)/n afresh: (11) for the step v − w has u_F − ασ − βw on its right side, G errs
only in how fast it leads to the minimum, and the certificate speaks of X itself.

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

import numpy as np

from mlreplica.core.compile.jit import kernel
from mlreplica.core.formulas.penalties import positive_threshold, soft_threshold
from mlreplica.core.formulas.vectors import add_scaled

from .coordinate_descent import LassoState, blur, duality_gap, largest, objective
from .face import MANY, Face, solve

LARGEST = 4096  # columns of a working set: 128 MB of G
DOWN = 0.2  # from one α to the next on the way to a single small one
SHARP = 1e-4  # a working set is solved to this part of the gap asked for,
ROUGH = 0.1  # or of the gap there is, as long as columns may be missing
SWEEPS = 30  # (10) at most, between two Newton steps
PATIENCE = 6  # Newton steps that leave wrong signs to (10), before they see to them themselves;
# none on a path, where the signs of the last point are nearly right


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
def subtract(r, w, Z):
    """r ← r − Zᵀw"""
    for j in range(len(w)):
        if w[j] != 0.0:
            add_scaled(r, -w[j], Z[j])


@kernel
def growth(G, w, u, target, u_new, root_q, alpha, beta):
    """By how much P grows at most from w to target, rounding included; u_new becomes u there."""
    size, grown = 0.0, 0.0
    u_new[:] = u
    for j in range(len(w)):
        d = target[j] - w[j]
        if d != 0.0:
            add_scaled(u_new, -d, G[j])
            size += abs(d) * root_q[j]
            grown += alpha * (abs(target[j]) - abs(w[j])) + beta * d * (w[j] + 0.5 * d)
    for j in range(len(w)):
        grown -= 0.5 * (target[j] - w[j]) * (u[j] + u_new[j])
    return grown + 1e-15 * size * size


@kernel
def unseen(w, u, alpha, beta):
    """A growth of P too small to tell from rounding."""
    size = 0.0
    for j in range(len(w)):
        size += abs(w[j]) * (alpha + abs(u[j]) + beta * abs(w[j]))
    return 1e-13 * size


@kernel
def newton_step(G, L, F, w, u, target, u_new, root_q, alpha, beta):
    """From w towards v of (11), to target: how many weights became zero, −1 if P would grow."""
    d, t, wrong = np.empty(len(F)), 1.0, 0
    for a in range(len(F)):
        d[a] = u[F[a]] - alpha * np.sign(w[F[a]]) - beta * w[F[a]]
    solve(L, d)  # v − w
    target[:] = w
    for a in range(len(F)):
        j = F[a]
        target[j] += d[a]
        if target[j] * w[j] <= 0.0:
            t, target[j], wrong = min(t, -w[j] / d[a]), 0.0, wrong + 1
    grown = growth(G, w, u, target, u_new, root_q, alpha, beta)
    if grown > 0.0 and wrong > 0:  # only as far as the first zero
        wrong = 0
        for a in range(len(F)):
            j = F[a]
            target[j] = w[j] + t * d[a]
            if not target[j] * w[j] > 1e-15 * w[j] * w[j]:
                target[j], wrong = 0.0, wrong + 1
        grown = growth(G, w, u, target, u_new, root_q, alpha, beta)
    if grown <= 0.0 or grown <= unseen(w, u, alpha, beta):
        return wrong
    return -1  # too ill-conditioned


@kernel
def violation(w, u, alpha, beta, positive):
    """By how much a column misses (4), at most."""
    most = 0.0
    for j in range(len(w)):
        g = u[j] - beta * w[j]
        if w[j] != 0.0:
            most = max(most, abs(g - alpha * np.sign(w[j])))
        else:
            most = max(most, (g if positive else abs(g)) - alpha)
    return most


class WorkingSet:
    """Columns W with their G and c of (9), the weights w and u on them, and a face; it only grows.

    W is all columns from the start if G is known for all; A is then asked only in need.
    """

    def __init__(self, problem, k):
        self.problem, self.y, self.c_all = problem, problem.y[k], problem.c[k]
        self.yy, self.full, p = float(problem.size[k]), False, len(problem.c[k])
        self.by_gram = problem.whole  # whether u is to come from G, or from X
        self.W = np.arange(p) if problem.whole else np.empty(0, dtype=np.int64)
        self.place = np.arange(p) if problem.whole else np.full(p, -1)
        self.G = problem.G if problem.whole else np.empty((64, 64))
        self.c, self.w, self.u = self.c_all[self.W], np.zeros(len(self.W)), self.c_all[self.W]
        kept = 0 if problem.whole or not hasattr(problem.A, "take") else len(self.G)
        self.Z = np.empty((kept, len(self.y)))  # the columns themselves, if X is dense
        self.face, self.root_q = Face(len(self.G)), np.sqrt(self.G.diagonal()[: len(self.W)])

    def add(self, columns):
        """Let columns into W, with w = 0; those inside already are passed over."""
        new = columns[self.place[columns] < 0]
        if len(new) == 0:
            return
        A, k, m = self.problem.A, len(self.W), len(self.W) + len(new)
        if m > len(self.G):
            size = max(m, 2 * len(self.G))
            self.G = grown(self.G, k, (size, size))
            self.face.grow(size)
            if len(self.Z):
                self.Z = grown(self.Z, k, (size, A.n))
        self.W = np.concatenate([self.W, new])
        self.place[new] = np.arange(k, m)
        if len(self.Z):
            self.Z[k:m] = A.take(new)
            block = self.Z[k:m] @ self.Z[:m].T
            block /= A.n
        else:
            block = A.products(new, self.W)
        self.G[k:m, :m] = block
        self.G[:k, k:m] = block[:, :k].T
        self.c, self.root_q = self.c_all[self.W], np.sqrt(self.G.diagonal()[:m])
        self.w = np.concatenate([self.w, np.zeros(len(new))])
        self.u = np.concatenate([self.u, self.c[k:] - block[:, :k] @ self.w[:k]])

    def start(self, w):
        """Set w, given for all columns."""
        self.add(np.flatnonzero(w))
        self.w = w[self.W]
        self.refresh()

    def refresh(self):
        """u of (9), free of the rounding of many steps."""
        self.u = self.c.copy()
        subtract(self.u, self.w, self.G)

    def ask(self, alpha, beta, positive):
        """u of every column, P and the gap; from X, unless G is trusted for it."""
        if self.by_gram:
            self.refresh()
            return self.u, *self.gap(alpha, beta, positive)
        r, n = self.residual(), len(self.y)
        u = self.problem.A.gradient(r) if self.w.any() else self.c_all
        rr, w = float(r @ r) / n, self.everywhere()
        self.u = u[self.W]
        gap, *_ = duality_gap(rr, float(r @ self.y) / n, u, w, alpha, beta, positive)
        return u, objective(rr, self.w, alpha, beta), gap

    def gap(self, alpha, beta, positive):
        """P and the gap (5) or (7) of the problem on W alone."""
        w, u = self.w, self.u
        ry = self.yy - float(self.c @ w)
        rr = max(ry - float(w @ u), 0.0)
        return objective(rr, w, alpha, beta), duality_gap(rr, ry, u, w, alpha, beta, positive)[0]

    def blur(self):
        """How far rounding may put a gap from the truth."""
        return blur(self.yy, self.root_q, self.w)

    def solve(self, alpha, beta, positive, enough, most, patience=PATIENCE):
        """Minimise P on W until the gap is at most `enough`; sweeps + Newton steps, ≤ `most`."""
        steps, rounds, idle, zeros, settled, done = 0, 0, 0, 0, self.w.any(), False
        least = np.inf
        sharp = 1e-11 * alpha + 1e-15 * largest(self.c, False)
        while True:
            if self.w.any():
                steps += 1
                while (zeros := self.newton(alpha, beta)) > 0 and rounds >= patience:
                    pass  # every zero shrinks the face
                if zeros < 0:
                    self.refresh()
                    self.face.forget(beta)
                    settled = False
            if done or steps >= most or violation(self.w, self.u, alpha, beta, positive) <= sharp:
                return steps
            # a Newton step has seen to the others; now and then, leave it to (10) alone
            rounds += 1
            only_zeros = settled and zeros == 0 and rounds % 4 != 0
            few = min(1 if only_zeros else SWEEPS, most - steps)
            steps += gram_sweeps(self.G, self.w, self.u, alpha, beta, positive, only_zeros, few)
            P, gap = self.gap(alpha, beta, positive)
            idle = 0 if least - P > self.blur() else idle + 1  # rounds without progress one sees
            least, settled = min(P, least), True
            done = gap <= enough or idle == 5

    def newton(self, alpha, beta):
        """A step on the face towards v of (11): weights that became zero, −1 if P would grow."""
        self.match(alpha, beta)
        target, u_new = np.empty_like(self.w), np.empty_like(self.u)
        on = self.G, self.face.L, self.face.F
        zeros = newton_step(*on, self.w, self.u, target, u_new, self.root_q, alpha, beta)
        if zeros >= 0:
            self.w, self.u = target, u_new
        return zeros

    def growth(self, target, alpha, beta):
        """By how much P grows at most from w to another one, rounding included; and u there."""
        u = np.empty_like(self.u)
        return growth(self.G, self.w, self.u, target, u, self.root_q, alpha, beta), u

    def match(self, alpha, beta):
        """Make the face that of the support of w, which gives up dependent columns by (12)."""
        face = self.face
        if beta != face.beta:
            face.forget(beta)
        used, inside = self.w != 0.0, face.inside[: len(self.w)]
        changes = np.count_nonzero(used != inside)
        if changes == 0:
            return
        if changes > max(MANY, face.k // 8):
            face.enter_all(self.G, np.flatnonzero(used))
        face.drop(self.w)
        for j in np.flatnonzero(used & ~face.inside[: len(used)]).tolist():
            while self.w[j] != 0.0 and not face.enter(self.G, j):
                if not self.slide(j, alpha, beta):
                    break  # j keeps its weight, outside
                face.drop(self.w)

    def slide(self, j, alpha, beta):
        """Walk (12) to the first zero, if P has no minimum before: whether a weight became zero."""
        F, w, way = self.face.F, self.w, np.zeros(len(self.w))
        way[j], way[F] = 1.0, -self.face.solve(self.G[j, F])
        slope = float(way @ (alpha * np.sign(w) + beta * w - self.u))
        if slope > 0.0:
            way = -way
        nearer = np.flatnonzero(way * w < 0.0)
        if len(nearer) == 0:
            return False
        t = -w[nearer] / way[nearer]
        target = w + t.min() * way
        target[nearer[t.argmin()]] = 0.0
        blind, (grown, u) = unseen(w, self.u, alpha, beta), self.growth(target, alpha, beta)
        if grown > blind:
            d = target - w
            bend = float(d @ (self.u - u)) + beta * float(d @ d)
            target = w + min(1.0, t.min() * abs(slope) / bend) * d if bend > 0.0 else w
            grown, u = self.growth(target, alpha, beta)
            if grown > blind:
                return False
        self.w, self.u = target, u
        return bool((target[nearer] == 0.0).any())

    def support(self):
        """How many weights are not zero."""
        return int(np.count_nonzero(self.w))

    def residual(self):
        """y − A w"""
        if len(self.Z):
            r = self.y.copy()
            subtract(r, self.w, self.Z)
            return r
        return self.y - self.problem.A.product(self.everywhere())

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
    """Yield the LassoState: first at the given w, then after each working set is solved.

    Ends with a tenth of the gap that is `enough`, because a working set solved exactly costs no
    more, after `most` sweeps and Newton steps, or where only rounding is left; or with `work.full`
    where G would be too large, and others have to go on. w changes in place.
    """
    dual, steps, best, solved = -np.inf, 0, np.inf, False
    ready = w.any() or alpha == 0.0 or work.by_gram
    now = alpha if ready else np.inf  # by larger ones, lest columns join that are not needed
    work.start(w)
    while True:
        u, P, gap = work.ask(alpha, beta, positive)
        unsure, last = work.blur(), now == alpha
        dual = max(dual, P - gap - unsure)
        gap = max(P - dual, unsure)
        close = gap <= max(0.1 * enough, 2.0 * unsure)
        now = max(alpha, DOWN * min(now, largest(u - beta * w, positive)))
        if close:
            now = alpha  # spares passes over X
        new = violators(u - beta * w, work.W, now, positive, max(100, work.support()))
        work.full = len(work.W) + len(new) > work.problem.most
        yield LassoState(w, P, gap, steps, len(work.W))
        if work.full or steps >= most or (last and close):
            return
        if last and len(new) == 0 and solved:
            if not (work.by_gram or gap < 0.5 * best):
                return
            work.by_gram, best = False, gap  # G has told what it can: from now on, ask X
        work.add(new)
        rough = 0.0 if work.by_gram else ROUGH * gap
        steps += work.solve(now, beta, positive, max(SHARP * enough, rough), most - steps)
        w[work.W], solved = work.w, True


def violators(g, W, alpha, positive, most):
    """The columns outside W with |g_j| > α, at most `most` of them: the worst."""
    if len(W) == len(g):
        return W[:0]
    score = g.copy() if positive else np.abs(g)
    score[W] = 0.0
    new = np.flatnonzero(score > alpha)
    if len(new) > most:
        new = np.sort(new[np.argpartition(-score[new], most)[:most]])
    return new
