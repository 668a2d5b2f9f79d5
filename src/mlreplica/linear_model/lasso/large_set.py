r"""Lasso with many sparse columns in use: no Gram matrix, Newton steps by conjugate gradients

A working set W (`working_set.py`) costs |W|² numbers, and a step on its face as many. If X is
sparse and W large, the columns themselves hold far fewer. So the residual r = y − A w takes the
place of G: a sweep (2) touches every non-zero of its columns twice, and the Newton step d on the
face F of the weights that are not zero, with signs σ, comes from

    H d = b,      H = A_FᵀA_F / n + β I + λ D,      b = A_Fᵀr / n − α σ − β w_F              (14)

with D = diag(q_F) and λ = 10⁻⁶. Conjugate gradients ask of H only its products H p: two passes over
the columns of F. Divided by its diagonal, H has a condition number κ; an iteration divides the
error by (√κ + 1)/(√κ − 1), where a sweep divides it by about 1 + 1/κ. λ is for columns that depend
on each other: P has no curvature along some d, falls there as far as signs allow, and d is long.

The way from w to w + d is bent: a weight that becomes zero stays there. Its end is tried first, and
if P is not smaller there, the point where half of these weights have become zero, a quarter, …, and
at last the first of them, which is a descent for certain.

How exact must d be? Let μ = ‖b‖_∞. Then s ≥ α/(α + μ) in (5), gap ≤ 2μ ‖w‖₁ and α ‖w‖₁ ≤ yᵀr/n, so

    gap ≤ ε   as soon as   μ ≤ α ε / (2 yᵀr/n)                                               (15)

but for terms in μ², if the columns outside F agree. They may not, and signs may change, so no step
is solved to less than a tenth of the μ it started from.

Hestenes, Stiefel, Methods of conjugate gradients for solving linear systems (1952); Nocedal,
Wright, Numerical Optimization, chapter 7 (2006), for steps that are no more exact than needed.
"""

import numpy as np

from mlreplica.core.compile.jit import kernel

from .coordinate_descent import LassoState, blur, duality_gap, largest, objective

SWEEPS = 3  # over the face, before a Newton step
PATIENCE = 4  # rounds of one Newton step, before there are as many in a row as make weights zero
MOST = 100  # iterations of conjugate gradients
FLAT = 1e-6  # λ of (14)
CLOSE = 0.9  # zero weights with |g_j| above this part of α are swept over as well
DOWN = 0.2  # from one α to the next on the way to a single small one
IDLE = 5  # rounds without progress one sees, and the work is left to others


@kernel
def conjugate_gradients(data, rows, start, mean, root, D, ridge, F, b, d, Ad, most, enough):
    """Add to d, and to Ad = A d, until no equation of (14) is off by more than `enough`.

    b becomes what is left of it; ridge = β + λD, so that D + ridge is the diagonal of H.
    """
    n, rho = len(root), 0.0
    p, Ap = np.empty(len(F)), np.empty(n)
    for a in range(len(F)):
        p[a] = b[a] / (D[a] + ridge[a])
        rho += b[a] * p[a]
    for t in range(most):
        Ap[:] = 0.0
        along, bend, total = 0.0, 0.0, 0.0
        for a in range(len(F)):
            j, p_a = F[a], p[a]
            for k in range(start[j], start[j + 1]):
                Ap[rows[k]] += p_a * data[k]
            along += p_a * mean[j]
            bend += n * ridge[a] * p_a * p_a
        for i in range(n):
            Ap[i] -= along * root[i]
            bend += Ap[i] * Ap[i]
            total += Ap[i] * root[i]
        step = n * rho / bend  # bend = n pᵀHp
        for i in range(n):
            Ad[i] += step * Ap[i]
        worst, rho_old, rho = 0.0, rho, 0.0
        for a in range(len(F)):
            j, z = F[a], 0.0
            for k in range(start[j], start[j + 1]):
                z += data[k] * Ap[rows[k]]
            d[a] += step * p[a]
            b[a] -= step * ((z - mean[j] * total) / n + ridge[a] * p[a])
            worst = max(worst, abs(b[a]))
            rho += b[a] * b[a] / (D[a] + ridge[a])
        if worst <= enough:
            return t + 1
        for a in range(len(F)):
            p[a] = b[a] / (D[a] + ridge[a]) + (rho / rho_old) * p[a]
    return most


class LargeSet:
    """All columns of a sparse A, the weights w and the residual r = y − A w, and u = Aᵀr / n."""

    def __init__(self, A, y, w):
        self.A, self.y, self.w = A, y, w
        self.q, self.yy = A.squares(), float(y @ y) / A.n
        self.root_q = np.sqrt(self.q)
        w[self.q == 0.0] = 0.0  # a constant column explains nothing
        self.look()

    def look(self):
        """r and u afresh, from A itself."""
        self.r = self.y - self.A.product(self.w)
        self.u = self.A.gradient(self.r)

    def states(self, alpha, beta, *, positive=False, enough=0.0, most=10_000):
        """Yield the LassoState: first at w, then after every round of sweeps and Newton steps.

        Ends, not before the first round, with a tenth of the gap that is `enough`, after `most`
        sweeps and Newton steps, or where only rounding is left. w changes in place.
        """
        steps, rounds, idle, least, now, dual, n = 0, 0, 0, np.inf, np.inf, -np.inf, self.A.n
        while True:
            rr, ry = float(self.r @ self.r) / n, float(self.r @ self.y) / n
            gap, *_ = duality_gap(rr, ry, self.u, self.w, alpha, beta, positive)
            P, unsure = objective(rr, self.w, alpha, beta), self.blur()
            dual = max(dual, P - gap - unsure)
            gap = max(P - dual, unsure)
            idle = 0 if least - P > unsure else idle + 1
            least = min(P, least)
            yield LassoState(self.w, P, gap, steps, int(np.count_nonzero(self.w)))
            close = gap <= max(0.1 * enough, 2.0 * unsure)
            if (close and steps) or steps >= most or idle > IDLE:
                return
            g = self.u - beta * self.w
            now = max(alpha, DOWN * min(now, largest(g, positive)))  # lest too many columns join
            near = (g if positive else np.abs(g)) > CLOSE * now
            some = np.flatnonzero((near | (self.w != 0.0)) & (self.q > 0.0))
            for _ in range(SWEEPS):
                self.r = self.A.sweep(self.w, self.r, self.q, now, beta, positive, some)
                some = np.flatnonzero(self.w)
            small = 0.05 * now * enough / max(ry, 1e-300)
            rounds, steps = rounds + 1, steps + SWEEPS + 1
            while self.newton(now, beta, small) and rounds > PATIENCE and steps < most:
                steps += 1  # every zero shrinks the face
            self.look()

    def newton(self, alpha, beta, enough):
        """A step on the face by (14), no longer than P falls: whether a weight became zero."""
        A, F = self.A, np.flatnonzero(self.w)
        w, D = self.w[F], self.q[F]
        b = A.slopes(self.r, F) - alpha * np.sign(w) - beta * w
        worst = float(np.abs(b).max(initial=0.0))
        if worst <= enough:  # (15) already; also an empty face
            return False
        small = max(enough, 0.1 * worst)
        d, Ad, ridge = np.zeros(len(F)), np.zeros(A.n), beta + FLAT * D
        conjugate_gradients(*A.parts, A.mean, A.root, D, ridge, F, b, d, Ad, MOST, small)
        turn = w * (w + d) < 0.0
        turns = np.sort(w[turn] / -d[turn])  # the part t of the way where a weight becomes zero
        P, t, k = self.value(self.r, w, alpha, beta), 1.0, len(turns)
        while True:
            v = w + t * d
            gone = v * w <= 1e-15 * w * w
            v_new, r = np.where(gone, 0.0, v), self.r - t * Ad
            if gone.any():
                r += A.product_of(F[gone], v[gone])
            if self.value(r, v_new, alpha, beta) <= P:
                self.w[F], self.r = v_new, r
                return bool(gone.any())
            if k == 0:
                return False
            k //= 2
            t = float(turns[k])

    def blur(self):
        """How far rounding may put a gap from the truth."""
        return blur(self.yy, self.root_q, self.w)

    def value(self, r, w, alpha, beta):
        """P for a residual and the weights of a face."""
        return objective(float(r @ r) / self.A.n, w, alpha, beta)
