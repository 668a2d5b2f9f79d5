r"""Logistic regression that selects: proximal Newton steps by coordinate descent

The problem is (1) of `objective.py`. With q_i = P(+1 | x_i), Y_i ∈ {0, 1}, R_i = s_i (q_i − Y_i)
and h_i = s_i q_i (1 − q_i), the change of P by a step d of the weights and c of b is close to

    M(d) = Σ R_i d_i' + ½ Σ h_i d_i'² + l1 ‖w + d‖₁ + l2/2 ‖w + d‖²,     d' = X d + c          (2)

With u = R + h d', the best value of one weight, b moving along and all else held fixed, is

    w_j ← S(a_j w_j − x_jᵀu, l1) / (a_j + l2),     a_j = Σ h_i (x_ij − x̄_j)²                   (3)

where x̄_j = Σ h_i x_ij / Σ h_i and S(v, t) = sign(v) (|v| − t)₊; b follows by −x̄_j times the step.
Where w keeps its zeros and its signs σ, M is a parabola, and its minimum a linear system,

    (X_Aᵀ h X_A + l2) d_A = −(g_A + l1 σ + l2 w_A),    A = {j: w_j ≠ 0}                        (4)

Then the step is halved until P falls by at least 10⁻⁴ of what (2) promised. K classes have q_ik,
Y_ik and R_ik; they take turns, each knowing by q_k (d_k' − Σ_l q_l d_l') how the others have moved.

How far is the minimum? Let q̃ be any probabilities. L(y_i, f) ≥ H(q̃_i) + (q̃_i − Y_i)ᵀf, H the
entropy, because log Σ e^f is the largest of H(q) + qᵀf. Sum over i: where Σ s_i (q̃_i − Y_i) = 0,
b has no part in the sum, and for each j what w_j can gain is known, hence

    min P ≥ D(q̃) = Σ s_i H(q̃_i) − Σ_j (|v_j| − l1)₊² / 2 l2,     v = Σ s_i (q̃_i − Y_i) x_i    (5)

(l2 = 0: if all |v_j| ≤ l1). With shares N_k = Σ s_i Y_ik, excess r_k = Σ R_ik, θ = max_k (r_k/N_k)₊

    q̃ = (q + θN − r) / (1 + θ)                                                                 (6)

meets the condition: Σ s q̃ = (N + r + θN − r)/(1 + θ) = N; rows sum to one, because Σ r_k = 0;
no entry is negative, because r_k ≤ θN_k. So does t q̃ + (1 − t) Y for each t in [0, 1], whose v is
t times as large, and with t = l1 / max |v_j| all |v_j| ≤ l1. P − D(t q̃ + (1 − t) Y) is the gap.

Dense problems of many columns see a working set at a time: the weights in use, and the columns
whose |v_j| exceeds l1 most. Tall ones start on every eighth row, and take its curvature along.

Friedman, Hastie, Tibshirani, Regularization paths for generalized linear models (2010); Yuan, Ho,
Lin, An improved GLMNET for L1-regularized logistic regression (2012); Lee, Sun, Saunders, Proximal
Newton-type methods (2014); Massias et al., Dual extrapolation for sparse GLMs (2020).
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import n_threads, run, split
from mlreplica.core.quadratic_descent import by_column
from mlreplica.core.rows.stored import columns_of

from .derivatives import many_classes, two_classes
from .objective import LogisticState
from .quadratic_model import by_gram, by_sweeps

GRAM = 1024  # weights up to which XᵀhX is formed
FEW = 128  # columns up to which a working set is not worth its copy
BLOCK = 1 << 17  # entries of X that a pass looks at together: they stay in the second-level cache
COSTLY = 1e7  # multiplications in XᵀhX above which it is made only when needed
SAMPLE = 8  # a tall problem starts on every eighth row
ROUNDING = 1e-14  # of P: what its sum over the rows may be off, relative to itself


class Look(NamedTuple):
    """What one pass over the rows finds at (W, b)."""

    objective: float
    R: np.ndarray  # (K, n)
    V: np.ndarray  # (K, p): Σ R_i x_i
    r: np.ndarray  # (K,): Σ R_i


class LogisticSums(NamedTuple):
    """What no step changes: Y (K, n), class shares N (K,), Σ s Y x (K, p) and Σ s x (p,)."""

    Y: np.ndarray
    N: np.ndarray
    T: np.ndarray
    m: np.ndarray


def over_rows(problem, work):
    """work(rows) for all blocks of rows, added up; every thread adds up its own."""
    n, p = problem.X.shape
    height = max(256, BLOCK // p)

    def part(rows):
        total = None
        for start in range(rows.start, rows.stop, height):
            found = work(slice(start, min(start + height, rows.stop)))
            total = [a + b for a, b in zip(total, found, strict=True)] if total else list(found)
        return total

    parts = split(n, n_threads(problem.n_jobs), least=max(height, (1 << 17) // p))
    return [sum(found) for found in zip(*run(part, parts, n_jobs=problem.n_jobs), strict=True)]


def sums(problem, products=None):
    """The LogisticSums of a problem; products(U) = U X, if there is a fast one."""
    X, y, s, K = problem.X, problem.y, problem.s, problem.K
    Y = (y > 0)[None].astype(float) if K == 1 else (y == np.arange(K)[:, None]).astype(float)
    both = np.vstack([s * Y, s])
    if not problem.intercept:  # (6) has nothing to repair
        T = np.zeros((K + 1, X.shape[1]))
    elif products is not None:
        T = products(both)
    elif sp.issparse(X):
        T = by_column(X, problem.n_jobs).dots(both)
    else:
        (T,) = over_rows(problem, lambda rows: [both[:, rows] @ X[rows]])
    return LogisticSums(Y, both[:K].sum(axis=1), T[:K], T[K])


def penalty(problem, W):
    """l1 ‖W‖₁ + l2/2 ‖W‖²"""
    return problem.l1 * np.abs(W).sum() + 0.5 * problem.l2 * np.vdot(W, W)


def residuals(problem, F, rows, R):
    """R ← s(q − Y) from the scores F (K, rows); the loss."""
    y, s = problem.y[rows], problem.s[rows]
    if problem.K > 1:
        return many_classes(y, s, F, R, 1.0)
    return two_classes(y, s, F[0], R[0], np.empty(len(y)))


def look(problem, W, b):
    """One pass over the rows."""
    X, (n, p), K = problem.X, problem.X.shape, problem.K
    R = np.empty((K, n))
    used = np.flatnonzero(W.any(axis=0))
    if sp.issparse(X):
        columns = by_column(X, problem.n_jobs)
        F = columns.only(used).total(W[:, used]) + b[:, None]
        loss, V = residuals(problem, F, slice(n), R), columns.dots(R)
        return Look(loss + penalty(problem, W), R, V, R.sum(axis=1))
    few = len(used) < p // 4
    w = np.ascontiguousarray(W[:, used] if few else W)

    def work(rows):
        A = X[rows]
        F = np.ascontiguousarray(w @ (A[:, used] if few else A).T)
        F += b[:, None]
        part = np.empty_like(F)
        loss = residuals(problem, F, rows, part)
        R[:, rows] = part
        return loss, part @ A

    loss, V = over_rows(problem, work)
    return Look(loss + penalty(problem, W), R, V, R.sum(axis=1))


def first_look(problem, known):
    """The best b at W = 0, where all is known already: every row has the class shares as q."""
    b = np.log(known.N / (1.0 - known.N)) if problem.K == 1 else np.log(known.N)
    loss = float(-(known.N * np.log(known.N)).sum())
    if problem.K == 1:
        loss -= float((1.0 - known.N[0]) * np.log1p(-known.N[0]))
    V = known.N[:, None] * known.m - known.T
    return b, Look(loss, problem.s * (known.N[:, None] - known.Y), V, np.zeros(problem.K))


def begin(problem, W, b):
    """b, the LogisticSums and a Look to start with."""
    known = sums(problem)
    if W.any() or not problem.intercept:
        return b, known, look(problem, W, b)
    b, now = first_look(problem, known)
    return b, known, now


def curvature(problem, R, Y):
    """H = [1 X]ᵀ h [1 X], and for K classes the blocks [1 X]ᵀ s(q_k [k = l] − q_k q_l) [1 X]."""
    X, s, (K, _), p = problem.X, problem.s, R.shape, problem.X.shape[1]

    def work(rows):
        x, root, theta = X[rows], np.sqrt(s[rows]), np.abs(R[:, rows]) / s[rows]
        q = np.sqrt(theta * (1.0 - theta)) if K == 1 else R[:, rows] / s[rows] + Y[:, rows]
        A, H = np.empty((len(x), K, 1 + p)), np.zeros((K, 1 + p, K, 1 + p))
        for k in range(K if K > 1 else 0):
            scale = root * np.sqrt(np.maximum(q[k], 0.0))
            A[:, k, 0], A[:, k, 1:] = scale, x * scale[:, None]
            H[k, :, k] = A[:, k].T @ A[:, k]
        for k in range(K):
            A[:, k, 0], A[:, k, 1:] = root * q[k], x * (root * q[k])[:, None]
        A = A.reshape(len(x), K * (1 + p))
        AA = A.T @ A
        return [AA if K == 1 else H.reshape(AA.shape) - AA]

    (H,) = over_rows(problem, work)
    fixed = slice(0 if not problem.intercept else K - 1, None)  # scores of K classes may be shifted
    if K > 1 or not problem.intercept:
        b = np.arange(K)[fixed] * (1 + p)
        H[b, :] = H[:, b] = 0.0  # a column without curvature keeps its value
    return H


@kernel
def entropy(R, y, s, shift, rho, t):
    """Σ s H(t q̃ + (1 − t) Y) of two classes, q̃ by (6), from θ = |q̃ − Y|."""
    total = 0.0
    for i in range(len(R)):
        e = R[i] / s[i] + shift - (rho if y[i] > 0.0 else 0.0)
        theta = min(max(t * abs(e) / (1.0 + rho), 1e-300), 1.0 - 1e-16)
        total -= s[i] * (theta * np.log(theta) + (1.0 - theta) * np.log1p(-theta))
    return total


def certificate(problem, known, now):
    """The gap P − D of (5)."""
    l1, l2, K = problem.l1, problem.l2, problem.K
    shift, rho, v = np.zeros(K), 0.0, now.V
    if problem.intercept:
        rho = max(0.0, float((now.r / known.N).max()))
        if K == 1:  # the other class
            rho = max(rho, float(-now.r[0] / (1.0 - known.N[0])))
        shift = rho * known.N - now.r
        v = (v + shift[:, None] * known.m - rho * known.T) / (1.0 + rho)
    top = float(np.abs(v).max(initial=0.0))
    scales = {min(1.0, l1 / top) if top > 0.0 else 1.0} | ({1.0} if l2 > 0.0 else set())
    bounds = [0.0]  # D(Y): no loss is negative
    for t in scales:
        if K == 1:
            D = entropy(now.R[0], problem.y, problem.s, shift[0], rho, t)
        else:
            q = t * (now.R / problem.s + shift[:, None] - rho * known.Y) / (1.0 + rho) + known.Y
            q = np.maximum(q, 1e-300)
            D = -float(problem.s @ (q * np.log(q)).sum(axis=0))
        if l2 > 0.0:
            D -= float((np.maximum(t * np.abs(v) - l1, 0.0) ** 2).sum()) / (2.0 * l2)
        bounds.append(D)
    return max(now.objective - max(bounds), 0.0)


def newton(problem, W, b, H=None, start=None):
    """Yield (State, H) indefinitely, one proximal Newton step over all columns apart.

    A costly H is kept as long as every step makes the gap ten times smaller. `start` is what is
    known of the problem and of (W, b), if it is.
    """
    (b, known, now), (n, p) = start or begin(problem, W, b), problem.X.shape
    gram = not sp.issparse(problem.X) and problem.K * (p + 1) <= GRAM
    columns = None if gram else by_column(problem.X, problem.n_jobs)
    l1, l2 = (np.tile([0.0, *[x] * p], problem.K) for x in (problem.l1, problem.l2))
    last = np.inf
    while True:
        gap = certificate(problem, known, now)
        yield LogisticState(W, b, now.objective, gap), H
        if gram:
            if H is None or gap > 0.1 * last or n * p * p < COSTLY:
                H = curvature(problem, now.R, known.Y)
            g, w = (np.column_stack(pair) for pair in ((now.r, now.V), (b, W)))
            w = by_gram(H, g.ravel(), w.ravel(), l1, l2, 1e-16 * now.objective).reshape(w.shape)
            W_new, b_new = w[:, 1:], w[:, 0]
        else:
            W_new, b_new = by_sweeps(problem, columns, now.R, known.Y, W, b)
        last = gap
        dW, db, t = W_new - W, b_new - b, 1.0
        fall = np.vdot(now.V, dW) + now.r @ db + penalty(problem, W_new) - penalty(problem, W)
        while t > 1e-9:
            new = look(problem, W + t * dW, b + t * db)
            if new.objective <= now.objective + 1e-4 * t * fall + ROUNDING * now.objective:
                W, b, now = W + t * dW, b + t * db, new
                break
            t /= 2.0


def coordinate_descent(problem, W, b):
    """Yield the LogisticState indefinitely: after every Newton step, or every working set."""
    X, (n, p) = problem.X, problem.X.shape
    if sp.issparse(X):
        problem = problem._replace(X=columns_of(X, problem.n_jobs))
    H = None
    if not W.any() and not sp.issparse(X) and n >= 20 * SAMPLE * p and n * p > 1 << 19:
        W, b, H = on_sample(problem, W, b)
    if whole(problem):
        for state, _ in newton(problem, W, b, H):
            yield state
    b, known, now = begin(problem, W, b)
    while True:
        gap = certificate(problem, known, now)
        yield LogisticState(W, b, now.objective, gap)
        columns = working_set(problem, W, now.V)
        # rows of a row-wise X stay rows: X[:, columns] would turn them, at three times the cost
        part = X.take(columns, axis=1) if X.flags.c_contiguous else X[:, columns]
        here = known._replace(T=known.T[:, columns], m=known.m[columns])
        start = b, here, now._replace(V=now.V[:, columns])
        steps = newton(problem._replace(X=part), W[:, columns], b, start=start)
        for step, (state, _) in enumerate(steps):
            if state.gap <= 0.1 * gap or step == 8:
                break
        W = np.zeros_like(W)
        W[:, columns], b = state.W, state.b
        now = look(problem, W, b)


def whole(problem):
    """Whether all columns make one working set."""
    return sp.issparse(problem.X) or problem.X.shape[1] <= FEW or problem.l1 == 0.0


def working_set(problem, W, V):
    """The columns in use, and of the others that violate |v_j| ≤ l1 the worst, at most as many."""
    used, v = W.any(axis=0), np.abs(V).max(axis=0)
    most = max(int(2 * W.shape[1] ** 0.5), int(used.sum()))
    worst = np.flatnonzero(~used & (v > problem.l1))
    if len(worst) > most:
        worst = worst[np.argpartition(-v[worst], most)[:most]]
    return np.sort(np.append(np.flatnonzero(used), worst))


def on_sample(problem, W, b):
    """W, b and H from every eighth row, as far as a sample can tell."""
    y, s = problem.y[::SAMPLE], problem.s[::SAMPLE]
    if len(np.unique(y)) < max(2, problem.K):
        return W, b, None
    X = np.ascontiguousarray(problem.X[::SAMPLE])
    part = problem._replace(X=X, y=y, s=s / s.sum())
    if not whole(problem):
        for _, state in zip(range(20), coordinate_descent(part, W, b), strict=False):
            if state.gap <= 1e-4:
                break
        return state.W, state.b, None
    for step, found in enumerate(newton(part, W, b)):
        if found[0].gap <= 1e-4 or step == 20:
            break
    (W, b, *_), H = found
    return W, b, H
