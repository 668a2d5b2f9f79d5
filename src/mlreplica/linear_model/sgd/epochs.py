r"""Stochastic gradient descent for linear models (Robbins and Monro 1951)

    minimise over w, b:   P(w, b) = 1/n Σᵢ cᵢ L(yᵢ, wᵀxᵢ + b) + α((1 − ρ)/2 ‖w‖² + ρ‖w‖₁)   (1)

With gᵢ = ∂L/∂f at fᵢ = wᵀxᵢ + b, the mean over a few random rows B is the gradient of the loss
in expectation, at the cost of |B| rows instead of n:                                        (2)

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

from mlreplica.core.compile.threads import run

from .losses import parameter_of
from .steps import LARGEST, descend, shuffled

BLOCK = 8192  # rows of which the loss is computed at a time
VISITS = 1 << 14  # rows that unwatched epochs visit in one call of the kernel
MAX_INT = np.iinfo(np.int32).max
NONE = np.empty(0)


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


class SGDEpoch(NamedTuple):
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


class Patience:
    """How long a problem has not improved, and what the adaptive schedule has made of it."""

    def __init__(self, schedule, tol, patience):
        self.schedule, self.tol, self.patience = schedule, tol, patience
        self.best, self.stale, self.slower = math.inf, 0, 1.0

    def goes_on(self, value):
        """Whether there is another epoch after one of this value; it may have shorter steps."""
        self.stale = self.stale + 1 if value > self.best - self.tol else 0
        self.best = min(self.best, value)
        if self.stale < self.patience:
            return True
        shrinks = self.schedule.kind == "adaptive" and self.schedule.eta0 * self.slower > 1e-6
        self.stale, self.slower = 0, self.slower / 5
        return shrinks


class Visits(NamedTuple):
    """Rows in the order of their visits, as `descend` takes them."""

    rows: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    y: np.ndarray
    c: np.ndarray
    x_sq: np.ndarray
    g: np.ndarray
    scores: np.ndarray


class SGD:
    """Several problems on the same rows, and their epochs.

    Row k of y, c, w and b is one problem; seeds[k], if there are seeds, permutes its rows between
    epochs, and rows of weight 0 are absent. What improves is objective (1), or score(k, w, b).
    Where nobody looks at w between epochs, several of the `most` to come may run before a yield.
    """

    def __init__(
        self, X, y, c, w, b, means, *, loss, schedule, penalty, rate, seeds, batch=1, t=1.0,
        held_out=None, tol=-math.inf, patience=5, score=None, watched=True, most=1, n_jobs=None,
    ):  # fmt: skip
        problems, p = w.shape
        self.X, self.y, self.c, self.w, self.b, self.means = X, y, c, w, b, means
        self.loss, self.schedule, self.penalty, self.rate = loss, schedule, penalty, rate
        self.batch, self.held_out, self.score, self.watched = batch, held_out, score, watched
        self.most, self.n_jobs = most, n_jobs
        self.data, self.indices, self.starts, self.ends = csr_parts(X)
        self.rows = [np.flatnonzero(k) if k.min() == 0.0 else np.arange(len(k)) for k in c]
        self.orders = seeds and [
            shuffled(np.arange(len(i)), seed) for i, seed in zip(self.rows, seeds, strict=True)
        ]
        self.t, self.u, self.averaged = np.full(problems, t), np.zeros(problems), means.start > 0
        self.q = np.zeros((problems, p)) if penalty.l1 > 0.0 else [None] * problems
        # ‖xᵢ‖²; with sparse rows the kernel waits for v anyway and computes it by the way
        normed = schedule.passive[0] > 0.0 or (watched and penalty.l2 > 0.0)
        self.x_sq = np.einsum("ij,ij->i", X, X) if normed and self.indices is None else NONE
        self.ones, self.own = (c == 1.0).all(), loss.code < 0
        self.parameter, self.passive = float(parameter_of(loss)), schedule.passive
        self.waits = [Patience(schedule, tol, patience) for _ in range(problems)]
        self.moves = [[0]] * problems
        self.losses, self.values = [0.0] * problems, [0.0] * problems

    def current(self, k=slice(None)):
        """w and b, or their averages once these have begun."""
        begun = self.averaged and self.t[k].min() > self.means.start
        return (self.means.w[k], self.means.b[k]) if begun else (self.w[k], self.b[k])

    def visits(self, k, together):
        """The rows of the next epochs of problem k."""
        found, rows = [], self.rows
        for _ in range(together):
            if self.orders:
                rows[k] = rows[k].take(self.orders[k])
            out = self.held_out
            found.append(rows[k] if out is None else rows[k][~out[rows[k]]])
        i = found[0] if together == 1 else np.concatenate(found)
        begin = self.starts.take(i)
        end = begin + np.uint64(self.w.shape[1]) if self.indices is None else self.ends.take(i)
        c = np.ones(len(i)) if self.ones else self.c[k].take(i)
        x_sq = self.x_sq.take(i) if len(self.x_sq) else NONE
        g, scores = np.empty(len(i)), np.empty(len(i) if self.watched else 0)
        return Visits(i, begin, end, self.y[k].take(i), c, x_sq, g, scores)

    def steps(self, k, visits, eta, together):
        """Run `descend` over the visits; the sums of ‖w‖² and ‖w‖₁ over the steps."""
        t, means, penalty, square, absolute = self.t, self.means, self.penalty, 0.0, 0.0
        done = max(0.0, t[k] - means.start)
        s, s_b = means.w[k] if self.averaged else None, means.b[k] * done
        if self.averaged:
            s *= done
        for number, now in self.parts(k, visits) if self.own else ((0, visits),):
            self.b[k], self.u[k], s_b, more, more_absolute = descend(
                together, self.data, self.indices, *now[1:], self.batch if self.batch > 1 else None,
                eta[number:], self.loss.code, self.parameter, *self.passive, self.w[k], self.b[k],
                self.rate, penalty.l2, penalty.l1, self.u[k], self.q[k], s, s_b,
                t[k] + number - means.start,
            )  # fmt: skip
            square, absolute = square + more, absolute + more_absolute
        t[k] += len(eta)
        if self.averaged:
            done = max(1.0, t[k] - means.start)
            s /= done
            means.b[k] = s_b / done
        return square, absolute

    def parts(self, k, visits):
        """Batch after batch, with g of a loss of the user's own, which Python computes."""
        for start in range(0, len(visits.rows), self.batch):
            now = Visits(*(a[start : start + self.batch] for a in visits))
            g = self.loss.gradient(now.y, self.X[now.rows] @ self.w[k] + self.b[k])
            now.g[:] = -now.c * np.clip(g, -LARGEST, LARGEST)
            yield start // self.batch, now._replace(c=None)

    def visit(self, k, together, number):
        """Some epochs of problem k, the last of this number; False if it was its last."""
        w, batch, visits = self.w[k], self.batch, self.visits(k, together)
        m = len(visits.rows)
        eta = self.schedule(self.t[k], -(-m // batch))
        if self.waits[k].slower < 1.0:
            eta *= self.waits[k].slower
        square, absolute = self.steps(k, visits, eta, together)
        if not (np.isfinite(w).all() and math.isfinite(self.b[k])):
            raise ValueError(
                f"Floating-point under-/overflow occurred at epoch #{number}: w or b is not "
                "finite. Scaling input data with StandardScaler or MinMaxScaler might help."
            )
        moves = np.count_nonzero(visits.g.reshape(together, -1), axis=1).tolist()
        if self.watched:
            self.losses[k] = total(self.loss, visits.y, visits.scores, visits.c) / max(m, 1)
            if batch > 1:
                square, absolute = len(eta) * (w @ w), len(eta) * np.abs(w).sum()
            price = self.penalty(absolute, square) / max(len(eta), 1)
            self.values[k] = self.losses[k] + price * (self.passive[0] == 0.0)
        value = self.values[k] if self.score is None else -self.score(k, *self.current(k))
        rests = not any(self.penalty) and not self.averaged and 0 in moves
        self.moves[k] = moves[: moves.index(0) + 1] if rests else moves
        return not rests and self.waits[k].goes_on(value)

    def epochs(self):
        """Yield an `SGDEpoch` until every problem has either come to rest or ceased to improve.

        A problem is at rest after an epoch without a gradient or a penalty: nothing can move it.
        """
        (problems, n), number, active = self.c.shape, 0, list(range(len(self.c)))
        threaded = problems > 1 and self.y.size * self.w.shape[1] > 1e6  # a thread takes long
        alone = self.watched or self.score is not None or self.batch > 1 or self.own
        nan = 0.0 if self.watched else math.nan
        while active:
            together = 1 if alone else max(1, min(VISITS // n, self.most - number))
            number += together
            visit = functools.partial(self.visit, together=together, number=number)
            goes_on = run(visit, active, n_jobs=self.n_jobs) if threaded else map(visit, active)
            goes_on = list(goes_on)
            for moved in zip_longest(*(self.moves[k] for k in active), fillvalue=0):
                losses, values = sum(self.losses) + nan, sum(self.values) + nan
                yield SGDEpoch(*self.current(), sum(moved), losses, values)
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
