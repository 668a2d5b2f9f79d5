r"""Stochastic gradient descent for linear models (Robbins and Monro 1951)

    minimise over w, b:   P(w, b) = 1/n Σᵢ cᵢ L(yᵢ, wᵀxᵢ + b) + α((1 − ρ)/2 ‖w‖² + ρ‖w‖₁)   (1)

With gᵢ = ∂L/∂f at fᵢ = wᵀxᵢ + b, the mean over a few random rows B is the gradient of the loss
in expectation, at the price of |B| rows instead of n:                                       (2)

    E[ 1/|B| Σ_{i∈B} cᵢ gᵢ xᵢ ] = 1/n Σᵢ cᵢ gᵢ xᵢ

One step t: first the squared penalty shrinks w, then the loss moves it,                     (3)

    w ← max(0, 1 − (1 − ρ)η_t α) w,      w ← w − η_t/|B| Σ cᵢ gᵢ xᵢ,      b ← b − η_t/|B| Σ cᵢ gᵢ

and the absolute penalty pulls each weight towards zero, never past it. u is the pull of all
steps so far, q_j what weight j has had of it; a weight catches up when a row needs it       (4)

    w_j > 0:  w_j ← max(0, w_j − (u + q_j)),        u = Σ_t ρ η_t α
    w_j < 0:  w_j ← min(0, w_j + (u − q_j)),        q_j ← q_j + (change of w_j)

(Tsuruoka, Tsujii and Ananiadou 2009). The steps must shrink, yet have an infinite sum:      (5)

    constant, adaptive: η₀      invscaling: η₀/t^power      optimal: 1/(α(t₀ + t − 1))

Or w is averaged over the steps (Polyak and Juditsky 1992). With w = scale·v, so that shrinking
costs one product, the sum of all w so far is kept as s + A·v:                               (6)

    A = Σ_t scale_t,      a change of v by δ comes with   s ← s − A δ,      mean = (s + A v)/steps

The passive-aggressive steps (Crammer et al. 2006) are as long as the loss ℓ asks for        (7)

    pa1: η = min(η₀, ℓ/‖x‖²)      pa2: η = ℓ/(‖x‖² + 1/(2η₀))
"""

from __future__ import annotations

import functools
import math
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from ..core.jit import kernel
from ..core.parallel import run
from ..core.prefetch import hint
from ._penalty import Penalty
from ._sgd_losses import parameter_of, slope

AHEAD = 6  # rows between asking for one and using it
NUMBERS, INDICES = np.uint64(8), np.uint64(16)  # of 8 and 4 bytes, in a line of the cache
CACHE = 1 << 16  # numbers that stay near the processor, so that asking ahead is wasted
BLOCK = 8192  # rows of which the loss is computed at a time
VISITS = 1 << 14  # rows that unwatched epochs visit in one call of the kernel
LARGEST = 1e12  # of |g|: keeps a step finite
MAX_INT = np.iinfo(np.int32).max
NONE = np.empty(0)


# ---------------------------------------------------------------------------------------- kernels


@kernel
def pull(r, u, q, inverse):
    """(4) for one weight r of v = w/scale, inverse = 1/scale; as |q| ≤ u, a term or both are 0."""
    down, up = r - (u + q) * inverse, r + (u - q) * inverse
    down = down if down > 0.0 else 0.0  # noqa: FURB136  max and min would keep the loop scalar
    up = up if up < 0.0 else 0.0  # noqa: FURB136
    return down + up


@kernel
def descend(
    data, indices, begin, end, y, c, x_sq, g, scores, batch, eta, code, a, cap, half,
    w, b, rate, l2, l1, u, q, s, s_b, k,
):  # fmt: skip
    """Steps (3) over the rows data[begin[t]:end[t]], t = 0 … m − 1, in batches; w changes in place.

    Dense rows have no `indices`: None. Neither has q without l1 > 0, nor s without an average:
    Numba leaves out what None would need, and so compiles only the steps that are asked for. begin
    and end are unsigned, so that no index can be negative and no loop checks. g[t] = −cₜ·∂L/∂f is
    written, or read if code < 0: a loss of the user's own. `scores`, if not empty, receives f as
    each row met it, and ‖w‖² and ‖w‖₁ are summed over the steps. s is the sum of w over the steps
    with k > 0 (6), s_b that of b. Returns b, u, s_b and the two sums. Costs 4 operations a number,
    no allocation.
    """
    v, scale, inverse, A, m, p = w, 1.0, 1.0, 0.0, len(begin), np.uint64(len(w))
    watched = len(scores) > 0
    square, absolute, sum_square, sum_absolute = 0.0, 0.0, 0.0, 0.0
    for j in range(p):
        square += v[j] * v[j]
        absolute += abs(v[j])
    ahead = AHEAD if data.size > CACHE else m
    first, number, f, size = 0, 0, 0.0, 0.0
    while first < m:
        last, step = min(first + batch, m), eta[number]
        for t in range(first, last):
            if t + ahead < m:
                for i in range(begin[t + ahead], end[t + ahead], NUMBERS):
                    hint(data, i)
                if indices is not None:
                    for i in range(begin[t + ahead], end[t + ahead], INDICES):
                        hint(indices, i)
            f, size = 0.0, 0.0  # vᵀx and ‖x‖²
            if indices is None:
                size = x_sq[t] if len(x_sq) > 0 else 0.0
                for j in range(p):
                    f += data[begin[t] + j] * v[j]
            else:
                for i in range(begin[t], end[t]):
                    f += data[i] * v[indices[i]]
                    size += data[i] * data[i]
            score = scale * f + b
            if watched:
                scores[t] = score
            if code >= 0:
                g_t = min(max(slope(code, y[t], score, a), -LARGEST), LARGEST)
                if cap > 0.0 and g_t != 0.0:  # (7)
                    loss = a - y[t] * score if code == 2 else abs(y[t] - score) - a
                    g_t *= min(cap, loss / (step * size + half))
                g[t] = -c[t] * g_t
        sum_square += scale * scale * square
        sum_absolute += scale * absolute
        if l2 > 0.0:
            scale *= max(0.0, 1.0 - step * l2)
            if scale < 1e-9:
                for j in range(p):
                    if s is not None:
                        s[j] += A * v[j]
                    v[j] *= scale
                square, absolute = square * scale * scale, absolute * scale
                A, scale = 0.0, 1.0
            inverse = 1.0 / scale
        u += step * l1
        step /= last - first
        for t in range(first, last):
            if g[t] == 0.0 and l1 == 0.0:
                continue
            b += rate * step * g[t]
            d = step * inverse * g[t]
            if q is None:
                if indices is None:
                    for j in range(p):
                        v[j] += d * data[begin[t] + j]
                    if s is not None:
                        for j in range(p):
                            s[j] -= A * d * data[begin[t] + j]
                else:
                    for i in range(begin[t], end[t]):
                        v[indices[i]] += d * data[i]
                        if s is not None:
                            s[indices[i]] -= A * d * data[i]
                if watched and l2 > 0.0:
                    square += d * (2.0 * f + d * size)  # ‖v + d x‖²
            elif indices is None:
                square, absolute = 0.0, 0.0
                for j in range(p):
                    if s is not None:
                        s[j] += A * v[j]
                    r = v[j] + d * data[begin[t] + j]
                    v_new = pull(r, u, q[j], inverse)
                    v[j] = v_new
                    q[j] += scale * (v_new - r)
                    square += v_new * v_new
                    absolute += abs(v_new)
                    if s is not None:
                        s[j] -= A * v_new
            else:
                for i in range(begin[t], end[t]):
                    j = indices[i]
                    v_old = v[j]
                    r = v_old + d * data[i]
                    v_new = pull(r, u, q[j], inverse)
                    v[j] = v_new
                    q[j] += scale * (v_new - r)
                    square += v_new * v_new - v_old * v_old
                    absolute += abs(v_new) - abs(v_old)
                    if s is not None:
                        s[j] -= A * (v_new - v_old)
        k += 1.0
        if k > 0.0:
            A += scale
            s_b += b
        first, number = last, number + 1
    for j in range(p):
        if s is not None:
            s[j] += A * v[j]
        w[j] = scale * v[j]
    return b, u, s_b, sum_square, sum_absolute


@kernel
def descend_often(
    times, data, indices, begin, end, y, c, x_sq, g, scores, batch, eta, code, a, cap, half,
    w, b, rate, l2, l1, u, q, s, s_b, k,
):  # fmt: skip
    """`descend` for several epochs of equally many rows, one after the other in begin, end, y …"""
    m, square, absolute = len(begin) // times, 0.0, 0.0
    for e in range(times):
        i, j = e * m, (e + 1) * m
        b, u, s_b, square, absolute = descend(
            data, indices, begin[i:j], end[i:j], y[i:j], c[i:j], x_sq[i:j], g[i:j], scores[i:j],
            batch, eta[i:], code, a, cap, half, w, b, rate, l2, l1, u, q, s, s_b, k + i,
        )  # fmt: skip
    return b, u, s_b, square, absolute


@kernel
def one_by_one(
    times, data, indices, begin, end, y, c, x_sq, g, scores, eta, code, a, cap, half, v, b, rate, l2
):
    """Steps (3) for one row at a time, without l1 and average: what most fits are; see `descend`.

    They are so many epochs of equally many rows; v = w at the end of each. Returns b and the sum of
    ‖w‖² over the steps. The hinges are decided by a branch, twice as fast as a call of `slope`.
    """
    scale, inverse, m, p = 1.0, 1.0, len(begin), np.uint64(len(v))
    watched, normed = len(scores) > 0, len(x_sq) > 0
    square, sum_square, rest, every = 0.0, 0.0, 0, m // times
    for j in range(p):
        square += v[j] * v[j]
    ahead = AHEAD if data.size > CACHE else m
    for t in range(m):
        if t + ahead < m:
            for i in range(begin[t + ahead], end[t + ahead], NUMBERS):
                hint(data, i)
            if indices is not None:
                for i in range(begin[t + ahead], end[t + ahead], INDICES):
                    hint(indices, i)
        first, last, step = begin[t], end[t], eta[t]
        f, size = 0.0, x_sq[t] if normed else 0.0  # vᵀx and ‖x‖²
        if indices is None:
            for j in range(p):
                f += data[first + j] * v[j]
        else:
            for i in range(first, last):
                f += data[i] * v[indices[i]]
            if watched or cap > 0.0:
                for i in range(first, last):
                    size += data[i] * data[i]
        score = scale * f + b
        if watched:
            scores[t] = score
        if code <= 2:
            g_t = -y[t] if y[t] * score <= a else 0.0
        else:
            g_t = min(max(slope(code, y[t], score, a), -LARGEST), LARGEST)
        if cap > 0.0 and g_t != 0.0:  # (7)
            loss = a - y[t] * score if code == 2 else abs(y[t] - score) - a
            g_t *= min(cap, loss / (step * size + half))
        g_t *= -c[t]
        g[t] = g_t
        sum_square += scale * scale * square
        if l2 > 0.0:
            scale *= max(0.0, 1.0 - step * l2)
            if scale < 1e-9:
                for j in range(p):
                    v[j] *= scale
                square, scale = square * scale * scale, 1.0
            inverse = 1.0 / scale
        if g_t != 0.0:
            b += rate * step * g_t
            d = step * inverse * g_t
            if indices is None:
                for j in range(p):
                    v[j] += d * data[first + j]
            else:
                for i in range(first, last):
                    v[indices[i]] += d * data[i]
            square += d * (2.0 * f + d * size)  # ‖v + d x‖²
        rest += 1
        if rest == every:
            for j in range(p):
                v[j] *= scale
            square, scale, inverse, rest = square * scale * scale, 1.0, 1.0, 0
    return b, sum_square


@kernel
def shuffled(order, seed):
    """Fisher and Yates's permutation in place, from the xorshift generator of scikit-learn."""
    n = len(order)
    for i in range(n - 1):
        seed ^= (seed << 13) & 0xFFFFFFFF
        seed ^= seed >> 17
        seed ^= (seed << 5) & 0xFFFFFFFF
        j = i + (seed & 0x7FFFFFFF) % (n - i)
        order[i], order[j] = order[j], order[i]
    return order


def seeds(random_state, problems, data_first):
    """The seeds that scikit-learn draws for the shuffles of its problems; its data take one too."""
    rng = check_random_state(random_state)
    each = [rng]
    if problems > 1:
        each = [np.random.RandomState(seed) for seed in rng.randint(MAX_INT, size=problems)]
    if data_first:
        for rng in each:
            rng.randint(1, MAX_INT)
    return [max(1, int(rng.randint(MAX_INT))) for rng in each]


seeds_of_integer = functools.lru_cache(seeds)  # to seed a generator costs as much as five epochs


# ----------------------------------------------------------------------------------------- solver


class Schedule(NamedTuple):
    """The lengths η_t of the steps: (5), and for the passive-aggressive ones (7) the η₀ in them."""

    kind: str = "constant"
    eta0: float = 1.0
    power: float = 0.5
    alpha: float = 0.0
    t0: float = 0.0

    def __call__(self, t, steps):
        """η of the steps t, t + 1 …"""
        if self.kind == "optimal":
            return 1.0 / (self.alpha * (self.t0 - 1.0 + np.arange(t, t + steps)))
        if self.kind == "invscaling":
            t = np.arange(t, t + steps)
            # a power costs 17 ns, a root 1; the fourth root is SGDRegressor's default
            return self.eta0 / (np.sqrt(np.sqrt(t)) if self.power == 0.25 else t**self.power)
        return np.full(steps, self.eta0)

    @property
    def passive(self):
        """cap and half of `descend`: η/η₀ = min(cap, ℓ/(η₀‖x‖² + half))."""
        return {"pa1": (1.0, 0.0), "pa2": (math.inf, 0.5)}.get(self.kind, (0.0, 0.0))


def first_step(loss, alpha):
    """t₀ of the optimal schedule, so that the first η moves a typical w by its own size (Bottou)"""
    typical = math.sqrt(1.0 / math.sqrt(alpha))
    return max(1.0, float(loss.gradient(1.0, -typical))) / (typical * alpha)


class Epoch(NamedTuple):
    """Where the descent stands after an epoch."""

    w: np.ndarray  # (problems, p): one problem for numbers and two classes, else one a class
    b: np.ndarray  # (problems,)
    moves: int  # rows with a gradient, in all problems
    loss: float  # mean loss, each row under the weights it met; summed over the problems
    objective: float  # (1) likewise


class Means(NamedTuple):
    """The averages (6) of w and b from step `start` on; `start` = 0: none."""

    w: np.ndarray
    b: np.ndarray
    start: int


def epochs(
    X, y, c, w, b, means, *, loss, schedule, penalty, rate, seeds, batch=1, t=1.0, held_out=None,
    tol=-math.inf, patience=5, score=None, watched=True, most=1, n_jobs=None,
):  # fmt: skip
    """Yield an `Epoch` until every problem has either come to rest or ceased to improve.

    Row k of y, c, w and b is one problem; seeds[k], if there are seeds, permutes its rows between
    epochs, and rows of weight 0 are absent. What improves is objective (1), or score(k, w, b). A
    problem is at rest after an epoch without a gradient or a penalty: nothing can move it again.
    Where nobody looks at w between epochs, several of the `most` to come may run before a yield.
    """
    problems, p = w.shape
    data, indices, starts, ends = csr_parts(X)
    rows = [np.flatnonzero(c_k) if c_k.min() == 0.0 else np.arange(c.shape[1]) for c_k in c]
    orders = seeds and [
        shuffled(np.arange(len(i)), seed) for i, seed in zip(rows, seeds, strict=True)
    ]
    t = np.full(problems, t)
    # ‖xᵢ‖² of every row; with sparse rows the kernel waits for v anyway and computes it by the way
    needs_norms = schedule.passive[0] > 0.0 or (watched and penalty.l2 > 0.0)
    needs_norms = needs_norms and indices is None
    x_sq = np.einsum("ij,ij->i", X, X) if needs_norms else NONE
    a = float(parameter_of(loss))
    ones = (c == 1.0).all()
    averaged, u = means.start > 0, np.zeros(problems)
    q = np.zeros((problems, p)) if penalty.l1 > 0.0 else [None] * problems
    best, stale, slower = [math.inf] * problems, [0] * problems, [1.0] * problems
    moves, losses, values = [[0]] * problems, [0.0] * problems, [0.0] * problems
    passive = schedule.passive
    at_rest_ends = penalty == Penalty() and not averaged
    threaded = problems > 1 and y.size * p > 1e6  # a small epoch ends before a thread starts
    alone = watched or score is not None or batch > 1 or loss.code < 0
    plain = batch == 1 and penalty.l1 == 0.0 and not averaged and loss.code >= 0

    def current(k=slice(None)):
        """w and b, or their averages once these have begun."""
        begun = averaged and t[k].min() > means.start
        return (means.w[k], means.b[k]) if begun else (w[k], b[k])

    def visit(k):
        """Some epochs of problem k; False if the last of them was its last."""
        visits = []
        for _ in range(together):
            if orders:
                rows[k] = rows[k].take(orders[k])
            visits.append(rows[k] if held_out is None else rows[k][~held_out[rows[k]]])
        i = visits[0] if together == 1 else np.concatenate(visits)
        m, done = len(i), max(0.0, t[k] - means.start)
        y_k, c_k = y[k].take(i), np.ones(m) if ones else c[k].take(i)
        begin, norms = starts.take(i), x_sq.take(i) if needs_norms else NONE
        end = begin + np.uint64(p) if indices is None else ends.take(i)
        eta = schedule(t[k], -(-m // batch))
        if slower[k] < 1.0:
            eta *= slower[k]
        g, scores = np.empty(m), np.empty(m if watched else 0)
        s, s_b = means.w[k] if averaged else None, means.b[k] * done
        if averaged:
            s *= done
        square, absolute = 0.0, 0.0
        own = loss.code < 0  # a loss of the user's own: Python computes g, batch after batch
        if plain:
            b[k], square = one_by_one(
                together, data, indices, begin, end, y_k, c_k, norms, g, scores, eta, loss.code, a,
                *passive, w[k], b[k], rate, penalty.l2,
            )  # fmt: skip
        for first in range(0, m, batch) if own else () if plain else (0,):
            now = slice(first, first + batch) if own else slice(0, m)
            if own:
                f = X[i[now]] @ w[k] + b[k]
                g[now] = -c_k[now] * np.clip(loss.gradient(y_k[now], f), -LARGEST, LARGEST)
            b[k], u[k], s_b, *norms_met = descend_often(
                together, data, indices, begin[now], end[now], y_k[now], c_k[now], norms[now],
                g[now], scores[now], batch, eta[first // batch :], loss.code, a, *passive,
                w[k], b[k], rate, penalty.l2, penalty.l1, u[k], q[k], s, s_b,
                t[k] + first // batch - means.start if averaged else -math.inf,
            )  # fmt: skip
            square, absolute = square + norms_met[0], absolute + norms_met[1]
        t[k] += len(eta)
        if averaged:
            done = max(1.0, t[k] - means.start)
            s /= done
            means.b[k] = s_b / done
        if not (np.isfinite(w[k]).all() and math.isfinite(b[k])):
            raise ValueError(
                f"Floating-point under-/overflow occurred at epoch #{number}: w or b is not "
                "finite. Scaling input data with StandardScaler or MinMaxScaler might help."
            )
        moves[k] = np.count_nonzero(g.reshape(together, -1), axis=1).tolist()
        if watched:
            losses[k] = total(loss, y_k, scores, c_k) / max(m, 1)
            if batch > 1:
                square, absolute = len(eta) * (w[k] @ w[k]), len(eta) * np.abs(w[k]).sum()
            price = penalty(absolute, square) / max(len(eta), 1)
            values[k] = losses[k] + price * (passive[0] == 0.0)
        value = values[k] if score is None else -score(k, *current(k))
        stale[k] = stale[k] + 1 if value > best[k] - tol else 0
        best[k] = min(best[k], value)
        if at_rest_ends and 0 in moves[k]:
            moves[k] = moves[k][: moves[k].index(0) + 1]
            return False
        if stale[k] < patience:
            return True
        shrinks = schedule.kind == "adaptive" and schedule.eta0 * slower[k] > 1e-6
        stale[k], slower[k] = 0, slower[k] / 5
        return shrinks

    active, number = list(range(problems)), 0
    while active:
        together = 1 if alone else max(1, min(VISITS // c.shape[1], most - number))
        number += together
        goes_on = run(visit, active, n_jobs=n_jobs) if threaded else [visit(k) for k in active]
        nan = 0.0 if watched else math.nan
        for moved in zip_longest(*(moves[k] for k in active), fillvalue=0):
            yield Epoch(*current(), sum(moved), sum(losses) + nan, sum(values) + nan)
        active = [k for k, on in zip(active, goes_on, strict=True) if on]


def total(loss, y, f, c):
    """Σ cᵢ L(yᵢ, fᵢ), by blocks that stay in the cache."""
    blocks = [slice(k, k + BLOCK) for k in range(0, len(y), BLOCK)]
    return sum(float(c[k] @ loss.value(y[k], f[k])) for k in blocks)


def csr_parts(X):
    """data, indices, begin and end of each row; dense rows have every column: no indices."""
    if sp.issparse(X):
        bounds, indices = X.indptr.astype(np.uint64), X.indices.astype(np.int32, copy=False)
        return X.data, indices.view(np.uint32), bounds[:-1], bounds[1:]
    bounds = np.arange(len(X) + 1, dtype=np.uint64) * np.uint64(X.shape[1])
    return X.ravel(), None, bounds[:-1], bounds[1:]
