r"""Sequential minimal optimisation: the dual of every support vector machine, two variables a time

The soft-margin classifier with labels s_i = ±1

    minimise over w, b:   P = ½‖w‖² + Σ_i c_i max(0, 1 − s_i(wᵀφ(x_i) + b))                  (1)

has the dual problem, with Q_ij = s_i s_j K(x_i, x_j) and p = −1,

    minimise over α:   D = ½ αᵀQα + pᵀα,      0 ≤ α_i ≤ c_i,      sᵀα = δ                    (2)

where δ = 0. Regression and one-class machines are (2) with other p, s and δ. In terms of
β_i = s_i α_i, q_i = s_i p_i all signs disappear:

    minimise over β:   D = ½ βᵀKβ + qᵀβ,      l_i ≤ β_i ≤ u_i,      Σ_i β_i = δ              (3)

with [l_i, u_i] = [0, c_i] or [−c_i, 0]. Let f be the gradient,

    f = Kβ + q                                                                               (4)

If β_i grows by t > 0 and β_j shrinks by t, the sum stays and D falls at first by t(f_j − f_i). So
β is optimal if and only if no such pair gains anything:

    max { f_j : β_j > l_j }  ≤  min { f_i : β_i < u_i }                                      (5)

The difference of both sides, if positive, is the violation that `tol` bounds, and −b lies
between them. Along the pair, D(t) = D(0) − t(f_j − f_i) + ½ t²η is a parabola,

    η = K_ii + K_jj − 2K_ij = ‖φ(x_i) − φ(x_j)‖²                                             (6)

so the best step is where its slope is 0 or where the box ends:

    t = min( (f_j − f_i)/η,  u_i − β_i,  β_j − l_j )                                         (7)

after which f ← f + t(K_·i − K_·j).                                                          (8)

Which pair? i violates (5) most, and j gains most together with i by the parabola (second order):

    i = argmin { f_i : β_i < u_i },      j = argmax { (f_j − f_i)²/η : β_j > l_j, f_j > f_i }   (9)

A step on all n variables needs two rows of K. It is far cheaper to choose a block of the few
hundred worst violators, to compute K among them by one matrix product, to take thousands of steps
(7) inside the block and then to correct f once, by the whole rows of those β that changed.

How far is the minimum? For any b, and so for the one above, the primal problem's value less −D is

    gap = Σ_i [ (f_i + b) β_i − min_{l_i ≤ v ≤ u_i} (f_i + b) v ]  ≥  P(w) − P(w*)           (10)

Machines with ν have two groups of variables, each with a sum, hence a b, of its own; both variables
of a pair are then of the same group.

Platt, Fast training of support vector machines using sequential minimal optimization (1998); Fan,
Chen, Lin, Working set selection using second order information for training SVM (2005); Joachims,
Making large-scale SVM learning practical (1998).
"""

from typing import NamedTuple

import numpy as np

from mlreplica.core.compile.intrinsics import INDEX_MASK, LARGEST_INT64, order_key
from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import one_blas_thread

BLOCK, LARGE_BLOCK = 512, 1024  # variables in a working set, of few rows and of many
PART = 0.1  # of its first violation that a block is solved to
MOST = 50_000  # steps in one block
CLOSE = 0.1  # of tol that few variables are solved to, where steps are cheap
SETTLED = 3  # blocks that a variable rests at its bound before it is set aside
PATIENCE = 5  # exact computations of f that find no progress before the solver gives up
TAU = 1e-12  # stands for an η that is not positive: the step then goes to the end of the box
ROUNDING = 1e-14  # of an entry of f, as a part of the terms that it is the sum of
BARRED = 1e300  # added to f_k where β_k must not move: it is never chosen


class SMOProblem(NamedTuple):
    """Equation (3): N variables over the n rows of K, variable k belonging to row `row[k]`.

    With `group`, Σβ is kept within each group separately. The sums themselves are those of the
    β that a solver starts from.
    """

    q: np.ndarray  # (N,)
    low: np.ndarray  # (N,)
    high: np.ndarray  # (N,), may be inf
    row: np.ndarray  # (N,) of int64
    group: np.ndarray  # (N,) of int64: 0, or 0 and 1
    groups: int  # how many there are


class SMOState(NamedTuple):
    """Where the solver is."""

    beta: np.ndarray  # (N,)
    f: np.ndarray  # (N,), equation (4)
    b: np.ndarray  # one number a group
    objective: float  # P = gap − D
    dual: float  # −D, never above the minimum of P
    gap: float  # (10)
    violation: float  # of (5)
    floor: float  # what rounding may do to it
    pairs: int  # steps (7) so far
    active: int  # variables that have not been set aside


def problem(q, low, high, row=None, group=None):
    """An `SMOProblem` from arrays; one variable a row and one group unless said."""
    N = len(q)
    arrays = (np.ascontiguousarray(a, dtype=float) for a in (q, low, high))
    row = np.arange(N) if row is None else np.asarray(row, dtype=np.int64)
    group = np.zeros(N, dtype=np.int64) if group is None else np.asarray(group, dtype=np.int64)
    return SMOProblem(*arrays, row, group, int(group.max(initial=0)) + 1)


@kernel
def most_violating(f, up, K_i, K_j, t):
    """Update (8) after the last step, and the i of (9), in one pass."""
    best = LARGEST_INT64
    for k in range(len(f)):
        f_k = f[k] + t * (K_i[k] - K_j[k])
        f[k] = f_k
        best = min(best, order_key(f_k + up[k], k))
    return best & INDEX_MASK


@kernel
def best_partner(f, down, K_i, diag, i):
    """The j of (9), and by how much i violates (5) together with the worst of all."""
    f_i, K_ii = f[i], diag[i]
    best, worst = np.int64(0), np.int64(0)
    for k in range(len(f)):
        d = f[k] - down[k] - f_i
        d = d if d > 0.0 else 0.0  # noqa: FURB136
        eta = K_ii + diag[k] - 2.0 * K_i[k]  # (6)
        eta = eta if eta > TAU else TAU  # noqa: FURB136
        best = max(best, order_key(d * d / eta, k))
        worst = max(worst, order_key(d, k))
    j = worst & INDEX_MASK
    return best & INDEX_MASK, f[j] - down[j] - f_i  # negative if nobody violates (5) with i


@kernel
def collect(K, k, kept, slots, places):
    """Row k of the block's K out of a row of the whole one, when it is first asked for."""
    if slots[k] >= 0:
        row = kept[slots[k]]
        for c in range(len(places)):
            K[k, c] = row[places[c]]
        slots[k] = -1


@kernel
def solve_block(K, kept, slots, places, diag, low, high, beta, f, edges, tol, part, most):
    """Take at most `most` steps (7) on pairs (9), until the violation of (5) is small.

    Small is tol, or `part` times what it was at first. Row k of K is there if slots[k] < 0, else it
    is kept[slots[k], places]. K, slots, beta and f change in place; group g is the variables from
    edges[g] to edges[g + 1]. Returns the number of steps.
    """
    m = len(f)
    up, down = np.empty(m), np.empty(m)
    for k in range(m):
        up[k] = 0.0 if beta[k] < high[k] else BARRED
        down[k] = 0.0 if beta[k] > low[k] else BARRED
    i, j, t = 0, 0, 0.0
    collect(K, 0, kept, slots, places)
    for step in range(most + 1):
        u, v, worst = 0, 0, 0.0
        for g in range(len(edges) - 1):
            a, b = edges[g], edges[g + 1]
            first = most_violating(f[a:b], up[a:b], K[i, a:b], K[j, a:b], t)
            if a < b and up[a + first] == 0.0:
                collect(K, a + first, kept, slots, places)
                K_u = K[a + first, a:b]
                mate, violation = best_partner(f[a:b], down[a:b], K_u, diag[a:b], first)
                if violation > worst:
                    u, v, worst = a + first, a + mate, violation
        if step == 0:
            tol = max(tol, part * worst)
        if worst <= tol or step == most:
            return step
        i, j = u, v
        collect(K, j, kept, slots, places)
        t = (f[j] - f[i]) / max(diag[i] + diag[j] - 2.0 * K[i, j], TAU)
        t = min(t, high[i] - beta[i], beta[j] - low[j])  # (7)
        beta[i] = high[i] if t == high[i] - beta[i] else beta[i] + t
        beta[j] = low[j] if t == beta[j] - low[j] else beta[j] - t
        for k in (i, j):
            up[k] = 0.0 if beta[k] < high[k] else BARRED
            down[k] = 0.0 if beta[k] > low[k] else BARRED
    return most


@kernel
def frontier(beta, f, low, high, group, sides):
    """Row g of `sides`: both sides of (5) in group g, Σ f over 0 < α < c, and their number."""
    for g in range(len(sides)):
        sides[g, 0], sides[g, 1], sides[g, 2], sides[g, 3] = -np.inf, np.inf, 0.0, 0.0
    for k in range(len(f)):
        g, f_k = group[k], f[k]
        shrinks, grows = beta[k] > low[k], beta[k] < high[k]
        if shrinks and f_k > sides[g, 0]:
            sides[g, 0] = f_k
        if grows and f_k < sides[g, 1]:
            sides[g, 1] = f_k
        if shrinks and grows:
            sides[g, 2] += f_k
            sides[g, 3] += 1.0


@kernel
def gap_and_dual(beta, f, q, low, high, group, b):
    """(10) and −D"""
    gap, dual = 0.0, 0.0
    for k in range(len(f)):
        h = f[k] + b[group[k]]
        gap += h * beta[k]
        if h < 0.0:
            gap -= h * high[k]
        elif h > 0.0:
            gap -= h * low[k]
        dual -= 0.5 * beta[k] * (f[k] + q[k])
    return gap, dual


def violation_and_b(P, beta, f):
    """The violation of (5), the worst of all groups, every group's b, and both sides of (5)."""
    sides = np.empty((P.groups, 4))
    frontier(beta, f, P.low, P.high, P.group, sides)
    return max(0.0, float((sides[:, 0] - sides[:, 1]).max())), offsets(sides), sides


def offsets(sides):
    """b of every group: from the rows on the margin, or from the middle of what (5) allows."""
    b = []
    for below, above, total, count in sides:
        if count:
            b.append(-total / count)
        else:
            ends = [end for end in (below, above) if np.isfinite(end)]
            b.append(-sum(ends) / max(len(ends), 1))
    return np.array(b)


def report(P, beta, G, pairs, active, longest):
    """An `SMOState` at β, from G = Kβ; `longest` is the largest K_ii."""
    f = G[P.row] + P.q
    violation, b, _ = violation_and_b(P, beta, f)
    gap, dual = gap_and_dual(beta, f, P.q, P.low, P.high, P.group, b)
    gap = max(gap, 0.0)
    floor = ROUNDING * (longest * float(np.abs(beta).sum()) + float(np.abs(P.q).max(initial=0.0)))
    return SMOState(beta.copy(), f, b, dual + gap, dual, gap, violation, floor, pairs, active)


def choose(P, beta, f, old, size):
    """A working set: the newer half of the old one, and the worst violators of (5) from each side.

    Returns indices sorted by group, and where in them the groups begin and end.
    """
    if len(f) <= size:
        return by_group(P, np.arange(len(f)))
    old = old[len(old) - min(len(old), size // 2) :]
    up = np.where(beta < P.high, f, np.inf)
    down = np.where(beta > P.low, -f, np.inf)
    up[old] = down[old] = np.inf
    share = max(1, (size - len(old)) // (2 * P.groups))
    new = []
    for g in range(P.groups):
        for side in (up, down):
            worth = side if P.groups == 1 else np.where(P.group == g, side, np.inf)
            best = np.argpartition(worth, share)[:share]
            best = best[worth[best] < np.inf]
            up[best] = down[best] = np.inf
            new.append(best)
    return by_group(P, np.concatenate([old, *new]))


def by_group(P, chosen):
    """Indices sorted by group, and where in them the groups begin and end."""
    if P.groups == 1:
        return chosen, np.array([0, len(chosen)])
    order = np.argsort(P.group[chosen], kind="stable")
    return chosen[order], np.searchsorted(P.group[chosen[order]], np.arange(P.groups + 1))


def settled(P, beta, f, sides):
    """Variables at a bound that no pair would move: the other side of (5) has none to gain with."""
    below, above = sides[P.group, 0], sides[P.group, 1]
    return ((beta <= P.low) & (f > below)) | ((beta >= P.high) & (f < above))


def smo(rows, P, beta=None, *, tol=1e-3, max_pairs=None, shrinking=True, watched=True):
    """Solve (3); yield an `SMOState` after every block, and last one whose f is exact.

    A problem of a single block yields one after 1, 2, 3, … pairs, at intervals that grow.

    Ends when the violation of (5), computed anew in double precision, is at most tol; when
    `max_pairs` steps are taken; or when steps no longer lower the violation (rounding). While
    variables are set aside, their f is old, the dual that of the last exact f, the gap inf.

    Parameters
    ----------
    rows : Rows
        The Gram matrix.
    P : Problem
        The dual.
    beta : array of shape (N,), default=None
        Where to start, within the box; its sums are kept. None: 0.
    tol : float
        Of the violation.
    max_pairs : int, default=None
        The most steps; None: max(10⁷, 100 N).
    shrinking : bool
        Set variables aside that have come to rest at a bound.
    watched : bool
        Whether anybody looks at states before the last; if not, they are left out.
    """
    N, longest = len(P.q), float(np.abs(rows.diag).max(initial=0.0))
    beta = np.zeros(N) if beta is None else beta.copy()
    budget = max(10**7, 100 * N) if max_pairs is None else max_pairs
    G = rows.times(np.bincount(P.row, beta, rows.n)) if beta.any() else np.zeros(rows.n)
    pairs, least, best, fruitless = 0, np.inf, -np.inf, 0
    if watched:
        yield report(P, beta, G, pairs, N, longest)
    small = N <= LARGE_BLOCK and rows.dtype == np.float64
    while True:
        left, took = budget - pairs, 0
        share = min(left, 1 + pairs // 8) if watched and small else left  # ever longer: few states
        for took, active in (one_block if small else blocks)(
            rows, P, beta, G, tol, share, shrinking
        ):
            pairs += took
            if watched and not small:
                state = report(P, beta, G, pairs, active, longest)
                yield state if active == N else state._replace(objective=np.inf, gap=np.inf)
        if not small:
            G = rows.times(np.bincount(P.row, beta, rows.n))
        state = report(P, beta, G, pairs, N, longest)
        yield state
        cut = took == share < left  # the block goes on: watched or not, the end is the same
        gained = state.violation < 0.9 * least or state.dual > best + 1e-12 * abs(best)
        fruitless = 0 if gained or cut else fruitless + 1
        least, best = min(least, state.violation), max(best, state.dual)
        done = state.violation <= max(tol, state.floor) and not cut
        if done or pairs >= budget or fruitless == PATIENCE:
            return


def one_block(rows, P, beta, G, tol, budget, shrinking):
    """Solve few variables all at once, in double precision; beta and G change in place."""
    chosen, edges = by_group(P, np.arange(len(beta)))
    kept, at, new = rows.matrix(), P.row[chosen], beta[chosen]
    took = solve_block(
        np.empty((len(at), len(at))), kept, at.copy(), at, rows.diag[at], P.low[chosen],
        P.high[chosen], new, (G[P.row] + P.q)[chosen], edges, CLOSE * tol, 0.0, min(budget, MOST),
    )  # fmt: skip
    d = np.bincount(at, new - beta[chosen], rows.n)
    which = np.flatnonzero(d)
    rows.add(G, which, d[which])
    beta[chosen] = new
    yield took, len(beta)


def blocks(rows, P, beta, G, tol, budget, shrinking):
    """Solve block after block until (5) holds within tol, f being what single precision makes it.

    beta changes in place, and G as long as no variable is set aside. Yields the steps taken and
    how many variables are active.
    """
    if len(rows.columns) < rows.n:
        rows.restrict(None)
    active, p, b, g = np.arange(len(beta)), P, beta, G
    chosen, rest = np.empty(0, dtype=np.int64), np.zeros(len(beta), dtype=np.int64)
    size = min(LARGE_BLOCK, max(BLOCK, rows.n // 16), len(rows.kept))
    while budget > 0:
        f = g[p.row] + p.q
        violation, _, sides = violation_and_b(p, b, f)
        if violation <= tol:
            return
        if shrinking and len(b) > 4 * BLOCK:
            rest = np.where(settled(p, b, f, sides), rest + 1, 0)
            keep = np.flatnonzero(rest < SETTLED)
            if len(keep) < 0.75 * len(b):
                columns, row = np.unique(p.row[keep], return_inverse=True)
                if len(columns) < 0.75 * len(rows.columns):  # moves all rows that are kept
                    rows.drop(columns)
                    g = g[columns]
                else:
                    row = p.row[keep]
                place = np.full(len(b), -1)
                place[keep] = np.arange(len(keep))
                chosen = place[chosen]
                chosen = chosen[chosen >= 0]
                arrays = (a[keep] for a in (p.q, p.low, p.high))
                p = SMOProblem(*arrays, row, p.group[keep], p.groups)
                active, b, f, rest = active[keep], b[keep], f[keep], rest[keep]
        chosen, edges = choose(p, b, f, chosen, size)
        places, new = p.row[chosen], b[chosen]
        indices = rows.columns[places]
        with one_blas_thread():
            K, slots = rows.square(indices)
            took = solve_block(
                K, rows.kept, slots, places, rows.diag[indices], p.low[chosen], p.high[chosen],
                new, f[chosen], edges, 0.5 * tol, 0.0 if len(chosen) == len(b) else PART,
                min(budget, MOST),
            )  # fmt: skip
            d = np.bincount(places, new - b[chosen], len(rows.columns))
            which = np.flatnonzero(d)
            rows.add(g, rows.fetch(rows.columns[which]), d[which])
        budget -= took
        b[chosen] = new
        beta[active] = b
        yield took, len(active)
        if took == 0:
            return
