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
hundred worst violators, to compute their rows by one matrix product, to take thousands of steps
(7) inside the block and then to correct f once, by the rows of those β that changed.

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

from mlreplica.core.jit import kernel
from mlreplica.core.parallel import one_blas_thread

from ._rows import gather

BLOCK = 512  # variables in a working set
TAU = 1e-12  # stands for an η that is not positive: the step then goes to the end of the box
ROUNDING = 1e-14  # of an entry of f, as a part of the terms that it is the sum of
BARRED = 1e300  # added to f_k where β_k must not move: it is never chosen
LOW = np.int64(4095)  # the bits of a float that hold its index in a search: 4096 a block
LARGEST = np.int64(0x7FFFFFFFFFFFFFFF)
LARGEST = np.int64(0x7FFFFFFFFFFFFFFF)


class Problem(NamedTuple):
    """Equation (3): N variables over the n rows of K, variable k belonging to row `row[k]`.

    With `group`, Σβ is kept within each group separately. The sums themselves are those of the
    β that a solver starts from.
    """

    q: np.ndarray  # (N,)
    low: np.ndarray  # (N,)
    high: np.ndarray  # (N,), may be inf
    row: np.ndarray  # (N,) of int64
    group: np.ndarray  # (N,) of int64: 0, or 0 and 1


class State(NamedTuple):
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
    """A `Problem` from arrays; one variable a row and one group unless said."""
    N = len(q)
    arrays = (np.ascontiguousarray(np.broadcast_to(a, N), dtype=float) for a in (q, low, high))
    row = np.arange(N) if row is None else np.asarray(row, dtype=np.int64)
    group = np.zeros(N, dtype=np.int64) if group is None else np.asarray(group, dtype=np.int64)
    return Problem(*arrays, row, group)


@kernel
def smallest(bits, start, stop):
    """The index in [start, stop) of the smallest of some floats, given by their bits.

    Bits of floats, those of negative ones turned round, are ordered as integers are, and a minimum
    of integers compiles to SIMD, one of floats does not. The index takes the lowest bits.
    """
    best = LARGEST
    for k in range(start, stop):
        ordered = bits[k] ^ ((bits[k] >> 63) & LARGEST)
        best = min(best, (ordered & ~LOW) | k)
    return best & LOW


@kernel
def largest(bits, start, stop):
    """The index in [start, stop) of the largest of some floats ≥ 0, given by their bits."""
    best = np.int64(0)
    for k in range(start, stop):
        best = max(best, (bits[k] & ~LOW) | k)
    return best & LOW


@kernel
def solve_block(K, low, high, beta, f, edges, tol, part, most):
    """Take at most `most` steps (7) on pairs (9), until the violation of (5) is small.

    Small is tol, or `part` times what it was at first. beta and f change in place; group g is the
    variables from edges[g] to edges[g + 1]. Returns the number of steps.
    """
    m = len(f)
    up, down, diag, key, gain = np.empty(m), np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    key_bits, gain_bits = key.view(np.int64), gain.view(np.int64)
    for k in range(m):
        diag[k] = K[k, k]
        up[k] = 0.0 if beta[k] < high[k] else BARRED
        down[k] = 0.0 if beta[k] > low[k] else BARRED
    i, j, t = 0, 0, 0.0
    for step in range(most + 1):
        K_i, K_j = K[i], K[j]
        for k in range(m):
            f[k] += t * K_i[k] - t * K_j[k]  # (8), of the step before
            key[k] = f[k] + up[k]
        worst = 0.0
        for g in range(len(edges) - 1):
            start, stop = edges[g], edges[g + 1]
            u = smallest(key_bits, start, stop)
            f_u, K_u, K_uu = f[u], K[u], diag[u]
            for k in range(start, stop):
                d = f[k] - down[k] - f_u
                d = d if d > 0.0 else 0.0  # noqa: FURB136
                eta = K_uu + diag[k] - 2.0 * K_u[k]  # (6)
                eta = eta if eta > TAU else TAU  # noqa: FURB136
                key[k] = d
                gain[k] = d * d / eta
            top = key[largest(key_bits, start, stop)] if up[u] == 0.0 else 0.0
            if top > worst:
                i, j, worst = u, largest(gain_bits, start, stop), top
        if step == 0:
            tol = max(tol, part * worst)
        if worst <= tol or step == most:
            return step
        t = (f[j] - f[i]) / max(diag[i] + diag[j] - 2.0 * K[i, j], TAU)
        t = min(t, high[i] - beta[i], beta[j] - low[j])  # (7)
        beta[i] = high[i] if t == high[i] - beta[i] else beta[i] + t
        beta[j] = low[j] if t == beta[j] - low[j] else beta[j] - t
        for k in (i, j):
            up[k] = 0.0 if beta[k] < high[k] else BARRED
            down[k] = 0.0 if beta[k] > low[k] else BARRED
    return most


def frontier(P, beta, f):
    """The violation of (5), the worst of all groups, and every group's b."""
    worst, b = 0.0, []
    can_grow, can_shrink = beta < P.high, beta > P.low
    for g in range(int(P.group.max(initial=0)) + 1):
        mine = P.group == g
        below = f[mine & can_shrink].max(initial=-np.inf)
        above = f[mine & can_grow].min(initial=np.inf)
        worst = max(worst, below - above)
        free = f[mine & can_grow & can_shrink]
        if len(free):
            b.append(-float(free.mean()))
        elif np.isfinite(below) and np.isfinite(above):
            b.append(-0.5 * float(below + above))
        else:
            b.append(-float(below if np.isfinite(below) else above if np.isfinite(above) else 0.0))
    return float(worst), np.array(b)


def report(P, beta, f, pairs, active, longest):
    """A `State` at β: objectives and the gap (10), which bounds both.

    `longest` is the largest K_ii.
    """
    violation, b = frontier(P, beta, f)
    h = f + b[P.group]
    with np.errstate(invalid="ignore"):
        least = np.where(h < 0.0, h * P.high, np.where(h > 0.0, h * P.low, 0.0))
    gap = max(float(h @ beta - least.sum()), 0.0)
    dual = -0.5 * float(beta @ (f + P.q))
    floor = ROUNDING * (longest * float(np.abs(beta).sum()) + float(np.abs(P.q).max(initial=0.0)))
    return State(beta, f, b, dual + gap, dual, gap, violation, floor, pairs, active)


def choose(P, beta, f, old, size):
    """A working set: the newer half of the old one, and the worst violators of (5) from each side.

    Returns indices sorted by group, and where in them the groups begin and end.
    """
    groups = int(P.group.max(initial=0)) + 1
    if len(f) <= size:
        return by_group(P, np.arange(len(f)), groups)
    old = old[len(old) - min(len(old), size // 2) :]
    up = np.where(beta < P.high, f, np.inf)
    down = np.where(beta > P.low, -f, np.inf)
    up[old] = down[old] = np.inf
    share = max(1, (size - len(old)) // (2 * groups))
    new = []
    for g in range(groups):
        for side in (up, down):
            worth = side if groups == 1 else np.where(P.group == g, side, np.inf)
            if share < len(worth):
                best = np.argpartition(worth, share)[:share]
            else:
                best = np.arange(len(worth))
            best = best[worth[best] < np.inf]
            up[best] = down[best] = np.inf
            new.append(best)
    return by_group(P, np.concatenate([old, *new]), groups)


def by_group(P, chosen, groups):
    """Indices sorted by group, and where in them the groups begin and end."""
    if groups == 1:
        return chosen, np.array([0, len(chosen)])
    order = np.argsort(P.group[chosen], kind="stable")
    return chosen[order], np.searchsorted(P.group[chosen[order]], np.arange(groups + 1))


def smo(rows, P, beta=None, *, tol=1e-3, max_pairs=None, shrinking=True):
    """Solve (3); yield a `State` after every block, with f exact in the last one.

    Ends when the violation of (5), computed anew in double precision, is at most tol; when
    `max_pairs` steps are taken; or when steps no longer lower D (rounding).

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
    """
    N = len(P.q)
    beta = np.zeros(N) if beta is None else beta.copy()
    most = max(10**7, 100 * N) if max_pairs is None else max_pairs
    G = rows.times(np.bincount(P.row, beta, rows.n))
    pairs, stalls, chosen = 0, 0, np.empty(0, dtype=np.int64)
    size, longest = min(N, BLOCK, len(rows.kept)), float(np.abs(rows.diag).max(initial=0.0))
    state = report(P, beta, G[P.row] + P.q, pairs, N, longest)
    yield state
    while state.violation > max(tol, state.floor) and pairs < most and stalls < 10:
        chosen, edges = choose(P, beta, state.f, chosen, size)
        which, place = np.unique(P.row[chosen], return_inverse=True)
        with one_blas_thread():
            slots = rows.fetch(which)
            K = np.empty((len(chosen), len(chosen)), rows.dtype)
            gather(rows.kept, slots[place], P.row[chosen], K)
            b, f = beta[chosen], state.f[chosen]
            whole = len(chosen) == N
            tight, part = (tol, 0.0) if whole else (0.5 * tol, 0.1)
            took = solve_block(
                K, P.low[chosen], P.high[chosen], b, f, edges, tight, part, most - pairs
            )
            pairs += took
            d = np.bincount(place, b - beta[chosen], len(which))
            rows.add(G, slots[d != 0.0], d[d != 0.0])
        beta = beta.copy()
        beta[chosen] = b
        new = report(P, beta, G[P.row] + P.q, pairs, N, longest)
        if new.violation <= tol or took == 0:
            G = rows.times(np.bincount(P.row, beta, rows.n))
            new = report(P, beta, G[P.row] + P.q, pairs, N, longest)
        stalls = stalls + 1 if new.dual <= state.dual else 0
        state = new
        yield state
