r"""Logistic regression by SAGA: stochastic gradients whose noise vanishes

Letters as in `proximal_newton.py`. One row i alone gives a gradient for every weight, n s_i ρ_i x_i
with ρ_i = q_i − Y_i. Over a random i its mean is the gradient g = Σ s_i ρ_i x_i, but each is far
from g, even at the minimum, so that plain stochastic descent must shorten its steps without
end. SAGA keeps the last ρ_i of each row, ρ̄_i, and the gradient ḡ = Σ s_i ρ̄_i x_i that these make,
and walks along

    w ← prox(w − η [n s_i (ρ_i − ρ̄_i) x_i + ḡ]),                                              (10)
    then   ḡ ← ḡ + s_i (ρ_i − ρ̄_i) x_i   and   ρ̄_i ← ρ_i,   with

    prox(v) = S(v, η l1) / (1 + η l2),     S(v, t) = sign(v) (|v| − t)₊                        (11)

The mean over i of the bracket is still g, and its variance is that of n s_i (ρ_i − ρ̄_i) x_i: as w
settles, ρ̄_i comes to equal ρ_i, and the noise goes to zero. With the constant step

    η = 1 / 3L,     L = max_i n s_i κ (‖x_i‖² + γ),     κ = 1/4 (two classes) or 1/2           (12)

or 1/2(L + n l2) if that is longer and l2 > 0, the distance to the minimum shrinks by a constant
factor an epoch if P is strongly convex. b is the weight of a column √γ over √γ, so that its steps
are γη; γ = max ‖x_i‖²/4 (0 without b) makes them long at little cost to η.

On sparse rows only weights with x_ij ≠ 0 are touched. All others would have moved too, by m times
(10) with the same ḡ_j; they catch up when next seen. As long as w_j keeps its sign σ, with
τ = 1/(1 + η l2), m moves at once are

    w_j ← τᵐ w_j − η (ḡ_j + σ l1) (τ + τ² + … + τᵐ)                                            (13)

and where the sign would change, bisection finds the last move before it.

Schmidt, Le Roux, Bach, Minimizing finite sums with the stochastic average gradient (2017; SAG);
Defazio, Bach, Lacoste-Julien, SAGA: a fast incremental gradient method (2014).
"""

import numpy as np
import scipy.sparse as sp

from mlreplica.core.compile.jit import kernel
from mlreplica.core.formulas.loss_formulas import logistic_slopes
from mlreplica.core.formulas.penalties import soft_threshold
from mlreplica.core.formulas.vectors import dot

from .objective import LogisticState
from .proximal_newton import ROUNDING, certificate, look, sums


@kernel
def errors(f, y, rho):
    """ρ = q − Y of one row from its scores f: y = ±1, or the class if there are several."""
    if len(f) == 1:
        rho[0] = logistic_slopes(y, f[0], np.exp(-abs(f[0])))[0]
        return
    top, total = f.max(), 0.0
    for k in range(len(f)):
        rho[k] = np.exp(f[k] - top)
        total += rho[k]
    for k in range(len(f)):
        rho[k] /= total
    rho[int(y)] -= 1.0


@kernel
def dense_epoch(X, y, weight, memory, w, b, G, r, eta, l1, l2, gamma, order):
    """(10) for every row in `order`; memory (n, K) holds ρ̄, G and r the ḡ of w (K, p) and b."""
    n, p = X.shape
    f, rho, tau = np.empty(len(w)), np.empty(len(w)), 1.0 / (1.0 + eta * l2)
    for i in order:
        for k in range(len(w)):
            f[k] = dot(X[i], w[k]) + b[k]
        errors(f, y[i], rho)
        for k in range(len(w)):
            d = weight[i] * (rho[k] - memory[i, k])
            memory[i, k] = rho[k]
            b[k] -= gamma * eta * (d + r[k])
            r[k] += d / n
            for j in range(p):
                w[k, j] = tau * soft_threshold(w[k, j] - eta * (d * X[i, j] + G[k, j]), eta * l1)
                G[k, j] += d / n * X[i, j]


@kernel
def moved(w, g, m, eta, l1, tau, power, total):
    """w after m moves (13) with the same ḡ; power[m] = τᵐ, total[m] = η(τ + … + τᵐ)."""
    while m > 0:
        a = g + l1 if w > 0.0 or (w == 0.0 and g < -l1) else g - l1
        if w == 0.0:
            return -a * total[m] if abs(g) > l1 else 0.0
        new = power[m] * w - a * total[m]
        if new * w > 0.0:
            return new
        low, high = 0, m  # the sign is kept after `low` moves, not after `high`
        while high - low > 1:
            middle = (low + high) // 2
            if (power[middle] * w - a * total[middle]) * w > 0.0:
                low = middle
            else:
                high = middle
        w = power[low] * w - a * total[low]
        w = tau * soft_threshold(w - eta * g, eta * l1)
        m -= low + 1
    return w


@kernel
def sparse_epoch(start, columns, data, y, weight, memory, w, b, G, r, eta, l1, l2, gamma, order):
    """The same on CSR rows, with lazy weights; here w and G are (p, K)."""
    n, (p, K) = len(y), w.shape
    f, rho, tau = np.empty(K), np.empty(K), 1.0 / (1.0 + eta * l2)
    power, total, seen = np.ones(n + 1), np.zeros(n + 1), np.zeros(p, dtype=np.int64)
    for m in range(n):
        power[m + 1] = tau * power[m]
        total[m + 1] = total[m] + eta * power[m + 1]
    for t in range(n):
        i = order[t]
        f[:] = b
        for e in range(start[i], start[i + 1]):
            j = columns[e]
            for k in range(K):
                w[j, k] = moved(w[j, k], G[j, k], t - seen[j], eta, l1, tau, power, total)
                f[k] += data[e] * w[j, k]
            seen[j] = t + 1
        errors(f, y[i], rho)
        for k in range(K):
            d = weight[i] * (rho[k] - memory[i, k])
            memory[i, k] = rho[k]
            b[k] -= gamma * eta * (d + r[k])
            r[k] += d / n
            rho[k] = d
        for e in range(start[i], start[i + 1]):
            j = columns[e]
            for k in range(K):
                w[j, k] = tau * soft_threshold(
                    w[j, k] - eta * (rho[k] * data[e] + G[j, k]), eta * l1
                )
                G[j, k] += rho[k] / n * data[e]
    for j in range(p):
        for k in range(K):
            w[j, k] = moved(w[j, k], G[j, k], n - seen[j], eta, l1, tau, power, total)


def saga(problem, W, b, rng, step=None):
    """Yield the LogisticState indefinitely, one epoch apart, each in a new order; also as "sag"."""
    sparse, n, K = sp.issparse(problem.X), len(problem.y), problem.K
    X = problem.X.tocsr() if sparse else np.ascontiguousarray(problem.X)
    problem = problem._replace(X=X.tocsc() if sparse else X)
    y, weight, known = problem.y.astype(float), n * problem.s, sums(problem)
    squares = np.ravel(X.power(2).sum(axis=1) if sparse else np.einsum("ij,ij->i", X, X))
    gamma = problem.intercept * (float(squares.max()) / 4.0 or 1.0)
    if step is None:
        L = (0.25 if K == 1 else 0.5) * max(float((weight * (squares + gamma)).max()), 1e-300)
        step = 1.0 / min(3.0 * L, 2.0 * (L + n * problem.l2) if problem.l2 > 0.0 else np.inf)
    now, b = look(problem, W, b), b.copy()
    memory = np.ascontiguousarray((now.R / problem.s).T)
    rest = step, problem.l1, problem.l2, gamma
    if sparse:
        triple = X.indptr.astype(np.uint64), X.indices.astype(np.uint32), X.data
    while True:
        # ḡ anew from the memory: rounding does not add up over epochs
        G, r, order = mean_gradient(X, memory, problem.s), problem.s @ memory, rng.permutation(n)
        old = W, b.copy()
        if sparse:
            w, G = W.T.copy(), np.ascontiguousarray(G.T)
            sparse_epoch(*triple, y, weight, memory, w, b, G, r, *rest, order)
            W = np.ascontiguousarray(w.T)
        else:
            W = W.copy()
            dense_epoch(X, y, weight, memory, W, b, G, r, *rest, order)
        now = look(problem, W, b)
        gap = certificate(problem, known, now)
        step_b, size = np.abs(b - old[1]).max(), max(np.abs(W).max(), np.abs(b).max(), 1e-300)
        change = max(np.abs(W - old[0]).max(), step_b) / size
        proved = max(gap, ROUNDING * now.objective)  # a gap of nothing but rounding proves no more
        yield LogisticState(
            W, b.copy(), now.objective, gap, min(float(change), (2.0 * proved) ** 0.5)
        )


def mean_gradient(X, memory, s):
    """ḡ = Σ s_i ρ̄_i x_i, (K, p)"""
    return np.ascontiguousarray((X.T @ (s[:, None] * memory)).T)
