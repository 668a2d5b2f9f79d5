r"""Linear support vector machines by Newton's method: tall data, few columns

The problem is (1) of `_linear`. Where λ > 0, the squared losses, P has a slope and, but for the
points where a row enters or leaves the set F of those whose β_i(r_i) by (3) is neither at a bound
nor 0, a curvature:

    ∇P(w) = w − Xᵀβ(t − Xw),      H = I + Σ_{i∈F} x_ix_iᵀ/λ_i                                 (9)

Pieces of parabolas: once F is the right one, a step −H⁻¹∇P ends in the minimum itself. On the way
there the step is lengthened or shortened to where the slope along it is nearly 0, which costs a
walk over n numbers: the scores move along a line too.

The hinge (λ = 0) has no curvature at all. But ask for the dual solution near a given β⁰,

    maximise over β:   D(β) − Σ_i (s_i/2)(β_i − β⁰_i)²                                        (10)

Multiplied out this is (4) again with λ_i + s_i for λ_i and t_i + s_iβ⁰_i for t_i: a problem with
curvature, solved by (9). Its solution is the next β⁰, then s is divided by 4 (the method of
multipliers; it needs no s → 0 to be exact). Every β(r) on the way is in the box, so (5) tells at
each step how far the minimum is; the part ½‖w − Xᵀβ‖² is what (9) has left to do, the rest is due
to s, and when the former is the lesser it is time for the next β⁰.

A step takes two products with X and one of F's rows with themselves: some 10 for squares, 20 to
50 for the hinge, whatever C is. Coordinate descent needs thousands of sweeps on such data.

Mangasarian, A finite Newton method for classification (2002); Rockafellar, Augmented Lagrangians
and applications of the proximal point algorithm in convex programming (1976).
"""

from functools import partial

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp

from mlreplica.core.compile.jit import kernel

from ._linear import excess, shrunk, state

WIDE = 3.0  # 1/s at first, in units of the box
FINER = 4.0
PATIENCE = 20  # steps on one (10); then it was too sharp


@kernel
def respond(f, t, lam, target, low, high, bent, eps, beta, free):
    """β by (3) for `target` and `bent`, the t and λ of (10); the sums of L and (5) for t and λ.

    Returns both and how many rows are in F, which `free` lists.
    """
    loss, gap, m = 0.0, 0.0, 0
    for i in range(len(f)):
        v = shrunk(target[i] - f[i], eps) / bent[i]
        beta[i] = min(max(v, low[i]), high[i])
        L, e = excess(t[i] - f[i], beta[i], low[i], high[i], lam[i], eps)
        loss += L
        gap += e
        if low[i] < v < high[i] and v != 0.0:
            free[m] = i
            m += 1
    return loss, gap, m


@kernel
def pull(a, f, e, target, low, high, bent, eps):
    """eᵀβ at the scores f + a e."""
    s = 0.0
    for i in range(len(f)):
        v = shrunk(target[i] - f[i] - a * e[i], eps) / bent[i]
        s += e[i] * min(max(v, low[i]), high[i])
    return s


@kernel
def chosen(X, bias, free, bent, A):
    """A ← the rows of X in `free` with the intercept's column, each over √λ."""
    p = X.shape[1]
    for k in range(len(free)):
        i = free[k]
        scale = 1.0 / np.sqrt(bent[i])
        for j in range(p):
            A[k, j] = scale * X[i, j]
        A[k, p] = scale * bias


def curvature(problem, free, bent):
    """H of (9)."""
    X, p = problem.X, problem.X.shape[1]
    if sp.issparse(X):
        A = sp.diags_array(1.0 / np.sqrt(bent[free])) @ X[free]
        m = A.T @ (problem.bias / np.sqrt(bent[free]))
        H = np.empty((p + 1, p + 1))
        H[:p, :p] = (A.T @ A).toarray()
        H[p, :p] = H[:p, p] = m
        H[p, p] = problem.bias**2 * (1.0 / bent[free]).sum()
    else:
        A = np.empty((len(free), p + 1))
        chosen(X, problem.bias, free, bent, A)
        H = A.T @ A
    H.reshape(-1)[:: p + 2] += 1.0
    return H


def incline(wd, dd, f, e, box, a):
    """The slope of (10) a step a along d; wd = wᵀd, dd = dᵀd and e = Xd."""
    return wd + a * dd - pull(a, f, e, *box)


def along(slope):
    """A step with a slope of at most a tenth of that at 0: bracketed, then by regula falsi."""
    a, v = 0.0, slope(0.0)
    if v >= 0.0:  # by rounding: this is the minimum
        return 0.0
    enough, b, u = 0.1 * abs(v), 1.0, slope(1.0)
    while u < -3.0 * enough and b < 1e9:
        a, v, b = b, u, 4.0 * b
        u = slope(b)
    if u <= enough:
        return b
    last = 0
    for _ in range(60):
        step = a - v * (b - a) / (u - v)
        step = min(max(step, a + 0.02 * (b - a)), b - 0.02 * (b - a))
        found = slope(step)
        if abs(found) <= enough:
            return step
        side = 1 if found > 0.0 else -1
        if found > 0.0:
            b, u, v = step, found, v / (2.0 if last == side else 1.0)  # Illinois: no end stays put
        else:
            a, v, u = step, found, u / (2.0 if last == side else 1.0)
        last = side
    return a


def newton(problem):
    """Yield the State indefinitely, a step apart."""
    X, _, t, low, high, lam, eps = problem
    n, smooth = len(t), bool(lam.all())
    w, f, beta, free = np.zeros(X.shape[1] + 1), np.zeros(n), np.zeros(n), np.empty(n, np.int64)
    s = np.zeros(n) if smooth else 1.0 / (WIDE * (high - low))
    while True:
        box = t + s * beta, low, high, lam + s, eps  # (10)
        for _ in range(PATIENCE):
            _, _, m = respond(f, t, lam, *box, beta, free)
            g = w - problem.weights(beta)
            factor = sl.cho_factor(curvature(problem, free[:m], box[3]), overwrite_a=True)
            d = -sl.cho_solve(factor, g)
            e = problem.scores(d)
            a = along(partial(incline, float(w @ d), float(d @ d), f, e, box))
            w, f = w + a * d, f + a * e
            loss, gap, m = respond(f, t, lam, *box, beta, free)
            g = w - problem.weights(beta)
            left = 0.5 * float(g @ g)
            yield state(w, 0.5 * float(w @ w) + loss, gap + left)
            if left <= 0.5 * gap and not smooth:
                s = s / FINER
                break
        else:
            s = s * FINER**2
