r"""Learning vector quantisation: few prototypes, moved by the rows near them

A row x belongs to the class of the nearest of some prototypes w. They learn one row at a time:

    LVQ1     the nearest w:    w ← w ± α (x − w),   + if its class is that of x, − if not    (1)
    OLVQ1    the same, with an own α for each w:    α ← α / (1 ± α)                          (2)
    LVQ2.1   the two nearest, if one is right (+), one is wrong (−) and x lies in a window
             about the border, min(d₊/d₋, d₋/d₊) > (1 − s)/(1 + s): both move as in (1)      (3)
    LVQ3     as LVQ2.1, and if both are right, both come closer by εα(x − w)                 (4)

These are rules. GLVQ minimises something, with d₊ and d₋ the squared distances to the nearest
prototype of the right class and of any other,

    E = Σ_i φ(μ(x_i)),       μ = (d₊ − d₋) / (d₊ + d₋) ∈ [−1, 1],     φ(μ) = 1 / (1 + e^(−βμ))  (5)

where μ < 0 says that x is classified right. With φ′ the slope of φ at μ the steps are

    w₊ ← w₊ + α φ′ · 4 d₋ / (d₊ + d₋)² · Λ (x − w₊)                                          (6)
    w₋ ← w₋ − α φ′ · 4 d₊ / (d₊ + d₋)² · Λ (x − w₋)

and Λ = I. GMLVQ learns the distance as well, d = (x − w)ᵀ Λ (x − w) with Λ = ΩᵀΩ, by

    Ω ← Ω − α_Ω φ′ · 4 / (d₊ + d₋)² · (d₋ Ω v₊v₊ᵀ − d₊ Ω v₋v₋ᵀ),     v = x − w                 (7)

scaled to Σ Ω² = 1 after every row. The diagonal of Λ says which columns matter.

Equal rows of a class are one row of their total weight s, which counts s times in (5). An epoch
visits it m = ⌈s⌉ times, in random order among all visits, each with the step αs/m. So a row of
weight 2 and the same row given twice lead to the same prototypes.

References
----------
Kohonen: Self-organizing maps. Springer (1995), chapter 6.
Sato, Yamada: Generalized learning vector quantization. NIPS 8 (1996).
Schneider, Biehl, Hammer: Adaptive relevance matrices in learning vector quantization. Neural
Computation 21 (2009).
"""

import numpy as np

from mlreplica.core.compile.jit import kernel

ALGORITHMS = {"lvq1": 0, "olvq1": 1, "lvq2.1": 2, "lvq3": 3, "glvq": 4, "gmlvq": 5}
piece = kernel(part=True, borrow=True)


@piece
def sq_distance(x, w):
    """‖x − w‖²"""
    s = 0.0
    for j in range(len(x)):
        s += (x[j] - w[j]) ** 2
    return s


@piece
def move(w, a, x):
    """w ← w + a (x − w)"""
    for j in range(len(w)):
        w[j] += a * (x[j] - w[j])


@piece
def rule_step(which, x, c, W, codes, alpha, s, rates, window, epsilon):
    """One row x of class c and weight s moves the prototypes by (1), (2), (3) or (4)."""
    first, second, d1, d2 = -1, -1, np.inf, np.inf
    for k in range(len(W)):
        d = sq_distance(x, W[k])
        if d < d1:
            first, second, d1, d2 = k, first, d, d1
        elif d < d2:
            second, d2 = k, d
    a = min(alpha * s, 1.0)
    if which == 0:
        move(W[first], a if codes[first] == c else -a, x)
    elif which == 1:
        a = min(rates[first] * s, 0.999)
        right = codes[first] == c
        move(W[first], a if right else -a, x)
        rates[first] = min(rates[first] / (1.0 + a if right else 1.0 - a), alpha)
    elif second >= 0:
        right1, right2 = codes[first] == c, codes[second] == c
        if right1 != right2 and np.sqrt(d1) > (1.0 - window) / (1.0 + window) * np.sqrt(d2):
            move(W[first], a if right1 else -a, x)
            move(W[second], a if right2 else -a, x)
        elif which == 3 and right1 and right2:
            move(W[first], epsilon * a, x)
            move(W[second], epsilon * a, x)


@piece
def nearest_pair(x, c, W, codes, Omega, u, best):
    """The nearest prototypes of class c and of others under Ω, and their distances.

    best (3, …): Ω(x − w) of both in its first rows; u: room for one.
    """
    right, wrong, dp, dm = -1, -1, np.inf, np.inf
    for k in range(len(W)):
        d = 0.0
        if len(Omega) == 0:
            d = sq_distance(x, W[k])
        for a in range(len(Omega)):
            s = 0.0
            for j in range(len(x)):
                s += Omega[a, j] * (x[j] - W[k, j])
            u[a] = s
            d += s * s
        side = 0 if codes[k] == c else 1
        if d < (dm if side else dp):
            if side:
                wrong, dm = k, d
            else:
                right, dp = k, d
            for a in range(len(Omega)):
                best[side, a] = u[a]
    return right, wrong, dp, dm


@piece
def add_gradient(x, W, Omega, right, wrong, dp, dm, slope, best, a_w, a_omega, GW, GO):
    """Add −a times the gradient of φ(μ(x)) to GW and GO: (6) and (7); GW may be W itself."""
    total = max(dp + dm, 1e-300)
    for side in range(2):
        k, factor = (right, dm) if side == 0 else (wrong, -dp)
        f = 4.0 * slope * (factor / total) / total
        for j in range(len(x)):
            if len(Omega) == 0:
                GW[k, j] += a_w * f * (x[j] - W[k, j])
            else:
                v, s = x[j] - W[k, j], 0.0
                for a in range(len(Omega)):
                    s += Omega[a, j] * best[side, a]
                    GO[a, j] -= a_omega * f * best[side, a] * v
                best[2, j] = s
        if len(Omega) > 0:
            for j in range(len(x)):
                GW[k, j] += a_w * f * best[2, j]


@piece
def pair_step(x, c, s, W, codes, Omega, beta, u, best, a_w, a_omega, GW, GO):
    """s φ(μ(x)) of a row of weight s; adds −a times its gradient to GW and GO."""
    right, wrong, dp, dm = nearest_pair(x, c, W, codes, Omega, u, best)
    if right < 0 or wrong < 0:
        return 0.0
    value = 1.0 / (1.0 + np.exp(-beta * (dp - dm) / max(dp + dm, 1e-300)))
    slope = s * beta * value * (1.0 - value)
    add_gradient(x, W, Omega, right, wrong, dp, dm, slope, best, a_w, a_omega, GW, GO)
    return s * value


@kernel
def cost_and_gradient(X, codes_x, s, W, codes, Omega, beta, GW, GO):
    """E of (5) with weights s; its gradient with respect to W and Ω is added to GW and GO."""
    E, q = 0.0, max(len(Omega), 1)
    u, best = np.zeros(q), np.zeros((3, max(X.shape[1], q)))
    for i in range(len(X)):
        E += pair_step(
            X[i], codes_x[i], s[i], W, codes, Omega, beta, u, best, -1.0, -1.0, GW, GO
        )  # fmt: skip
    return E


@piece
def normalise(Omega):
    """Ω divided by the root of Σ Ω²."""
    size = 0.0
    for a in range(len(Omega)):
        for j in range(Omega.shape[1]):
            size += Omega[a, j] * Omega[a, j]
    size = np.sqrt(size)
    for a in range(len(Omega)):
        for j in range(Omega.shape[1]):
            Omega[a, j] /= size


@kernel
def epoch(
    which, X, codes_x, s, order, W, codes, Omega, rates, alpha, a_omega, window, epsilon, beta
):  # fmt: skip
    """All rows in an order, each moving the prototypes once; E of (5) on the way."""
    E, q = 0.0, max(len(Omega), 1)
    u, best = np.zeros(q), np.zeros((3, max(X.shape[1], q)))
    for t in range(len(order)):
        i = order[t]
        x, c = X[i], codes_x[i]
        if which < 4:
            rule_step(which, x, c, W, codes, alpha, s[i], rates, window, epsilon)
        else:
            E += pair_step(
                x, c, s[i], W, codes, Omega, beta, u, best, alpha, a_omega, W, Omega
            )  # fmt: skip
            if len(Omega) > 0:
                normalise(Omega)
    return E
