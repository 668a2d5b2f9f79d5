r"""Perceptron (Rosenblatt 1958)

    find w, b with   yᵢ(wᵀxᵢ + b) > 0   for every i,      yᵢ ∈ {−1, +1}                     (1)

The perceptron loss of a score f is ℓ(y, f) = max(0, −yf): zero on the right side, the distance to
it (times ‖w‖) on the wrong one. A stochastic subgradient step of length η on the mean of

    P(w, b) = Σᵢ cᵢ ℓ(yᵢ, wᵀxᵢ + b) / Σᵢ cᵢ                                                 (2)

moves only when point i is wrong or on the boundary, yᵢ(wᵀxᵢ + b) ≤ 0, and then to

    w ← w + η cᵢ yᵢ xᵢ,      b ← b + η cᵢ yᵢ                                                (3)

If some unit vector u has yᵢ uᵀxᵢ ≥ γ > 0 and ‖xᵢ‖ ≤ R for all i (the offset as a column of ones),
then from w = 0 with all cᵢ = 1 the number of updates (3) is at most                         (4)

    (R / γ)²

whatever the order of the points and the dimension (Novikoff 1962). With a penalty, objective (2)
gains α((1 − ρ)/2 ‖w‖² + ρ‖w‖₁): every visited point first shrinks w by the factor          (5)

    w ← max(0, 1 − (1 − ρ)ηα) w

and afterwards each weight of that point is pulled towards zero, never past it, by the L1 pull ρηα
of every step so far that it has not had yet (Tsuruoka, Tsujii & Ananiadou 2009).            (6)
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array, check_random_state

from ..core.blas import add_scaled, dot
from ..core.jit import kernel
from ..core.parallel import run
from ..core.prefetch import prefetch

AHEAD = 4  # rows between asking for one and using it
CACHE = 1 << 16  # numbers that stay near the processor, so that asking ahead is wasted
MAX_INT = np.iinfo(np.int32).max


# ---------------------------------------------------------------------------------------- kernels


@kernel
def epoch(X, s, w, b, rate, order, who):
    """Visit the rows in `order` once with update (3), sᵢ = ηcᵢyᵢ; w and who change in place.

    Row i is absent if sᵢ = 0. who[:mistakes] = the rows that moved w, at most len(who) of them.
    """
    mistakes, loss, ahead = 0, 0.0, AHEAD if X.size > CACHE else len(order)
    for t in range(len(order)):
        i = order[t]
        if t + ahead < len(order):
            prefetch(X[order[t + ahead]])
        if s[i] != 0.0 and mistakes < len(who):
            margin = s[i] * (dot(X[i], w) + b)
            if margin <= 0.0:
                add_scaled(w, s[i], X[i])
                b += rate * s[i]
                loss -= margin
                who[mistakes] = i
                mistakes += 1
    return b, mistakes, loss


@kernel
def penalised_epoch(data, indices, indptr, s, w, b, rate, order, shrink, pull, u, q):
    """`epoch` for rows of a CSR matrix (no `indices`: dense rows), with (5) and (6).

    w = scale·v, so that (5) costs one product. u is the L1 pull of all steps so far, q[j] what
    feature j has had of it. Also returns ‖w‖² and ‖w‖₁ summed over the visits.
    """
    mistakes, loss, scale, v = 0, 0.0, 1.0, w
    square, absolute = dot(v, v), np.abs(v).sum()  # of v, kept up to date
    sum_square, sum_absolute = 0.0, 0.0
    dense, free = len(indices) == 0, shrink == 1.0 and pull == 0.0
    for t in range(len(order)):
        i = order[t]
        if t + AHEAD < len(order):
            later = order[t + AHEAD]
            prefetch(data[indptr[later] : indptr[later + 1]])
            prefetch(indices[indptr[later] : indptr[later + 1]])
        if s[i] == 0.0:
            continue
        x, at = data[indptr[i] : indptr[i + 1]], indices[indptr[i] : indptr[i + 1]]
        f = 0.0
        if dense:
            f = dot(x, v)
        else:
            for k in range(len(x)):
                f += x[k] * v[at[k]]
        margin = s[i] * (scale * f + b)
        sum_square += scale * scale * square
        sum_absolute += scale * absolute
        scale *= shrink  # (5)
        if scale < 1e-9:
            for j in range(len(v)):
                v[j] *= scale
            square, absolute, scale = square * scale * scale, absolute * scale, 1.0
        if margin <= 0.0:
            step = s[i] / scale
            if free:
                for k in range(len(x)):  # (3)
                    v[at[k]] += step * x[k]
            elif dense:
                add_scaled(v, step, x)
                square, absolute = dot(v, v), np.abs(v).sum()
            else:
                for k in range(len(x)):
                    j = at[k]
                    v_old = v[j]
                    v[j] += step * x[k]
                    square += v[j] * v[j] - v_old * v_old
                    absolute += abs(v[j]) - abs(v_old)
            b += rate * s[i]
            loss -= margin
            mistakes += 1
        if pull > 0.0:
            u += pull
            for k in range(len(x)):  # (6)
                j = k if dense else at[k]
                v_old = v[j]
                if v_old > 0.0:
                    v[j] = max(0.0, v_old - (u + q[j]) / scale)
                elif v_old < 0.0:
                    v[j] = min(0.0, v_old + (u - q[j]) / scale)
                q[j] += scale * (v[j] - v_old)
                square += v[j] * v[j] - v_old * v_old
                absolute += abs(v[j]) - abs(v_old)
    for j in range(len(v)):
        w[j] = scale * v[j]
    return b, mistakes, loss, u, sum_square, sum_absolute


@kernel
def shuffled(n, seed):
    """Fisher and Yates's permutation of range(n), from the xorshift generator of scikit-learn."""
    order = np.arange(n)
    for i in range(n - 1):
        seed ^= (seed << 13) & 0xFFFFFFFF
        seed ^= seed >> 17
        seed ^= (seed << 5) & 0xFFFFFFFF
        j = i + (seed & 0x7FFFFFFF) % (n - i)
        order[i], order[j] = order[j], order[i]
    return order


def seeds(random_state, problems):
    """The seeds that scikit-learn draws for the shuffles of its binary problems."""
    rng = check_random_state(random_state)
    each = [rng]
    if problems > 1:
        each = [np.random.RandomState(seed) for seed in rng.randint(MAX_INT, size=problems)]
    for rng in each:
        rng.randint(1, MAX_INT)  # its data set takes one first
    return [max(1, int(rng.randint(MAX_INT))) for rng in each]


seeds_of_integer = functools.lru_cache(seeds)  # to seed a generator costs as much as five epochs


# ----------------------------------------------------------------------------------------- solver


class Epoch(NamedTuple):
    """Where the perceptron stands after an epoch."""

    w: np.ndarray  # (problems, p): one binary problem for two classes, else one a class
    b: np.ndarray  # (problems,)
    mistakes: int  # updates made in this epoch, in all problems
    loss: float  # loss (2), each point under the weights it met; summed over the problems


class Penalty(NamedTuple):
    """α((1 − ρ)/2 ‖w‖² + ρ‖w‖₁) by its two factors."""

    l2: float = 0.0  # α(1 − ρ)
    l1: float = 0.0  # αρ


def epochs(X, s, w, b, *, eta, rate, penalty, orders, tol, patience, score, n_jobs):
    """Yield an `Epoch` until every problem has either come to rest or ceased to improve.

    Row k of s, w and b is one binary problem; `orders` permutes the rows between its epochs.
    A problem is at rest after an epoch without a mistake or a penalty: nothing can move it again.
    """
    problems, n = s.shape
    row = [np.arange(n) for _ in range(problems)]
    mistakes, loss = np.zeros(problems, dtype=np.int64), np.zeros(problems)
    best, stale = [np.inf] * problems, [0] * problems
    weight = np.maximum(np.abs(s).sum(axis=1) / eta, np.finfo(float).tiny)
    visits = np.maximum(np.count_nonzero(s, axis=1), 1)
    u, q = np.zeros(problems), np.zeros_like(w)
    who = np.empty((problems, n), dtype=np.int64)
    free = penalty == Penalty()
    lean = free and not sp.issparse(X)
    rows = None if lean else csr_parts(X)
    # a small epoch is over before a thread has started
    threaded = problems > 1 and s.size * X.shape[1] > 1e6

    def visit(k):
        """One epoch of problem k; False if it was the last."""
        if orders is not None:
            row[k] = row[k][orders[k]]
        price = 0.0
        if lean:
            b[k], mistakes[k], total = epoch(X, s[k], w[k], b[k], rate, row[k], who[k])
        else:
            shrink, pull = max(0.0, 1.0 - eta * penalty.l2), eta * penalty.l1
            b[k], mistakes[k], total, u[k], square, absolute = penalised_epoch(
                *rows, s[k], w[k], b[k], rate, row[k], shrink, pull, u[k], q[k]
            )
            price = (penalty.l2 / 2 * square + penalty.l1 * absolute) / visits[k]
        if not math.isfinite(w[k].sum() + b[k]):
            raise ValueError(
                "Floating-point under-/overflow occurred: w or b is not finite. Scaling input data "
                "with StandardScaler or MinMaxScaler might help."
            )
        loss[k] = total / eta / weight[k]
        value = loss[k] + price if score is None else -score(k, w[k], b[k])
        stale[k] = stale[k] + 1 if value > best[k] - tol else 0
        best[k] = min(best[k], value)
        return stale[k] < patience and not (free and mistakes[k] == 0)

    active = list(range(problems))
    while active:
        goes_on = run(visit, active, n_jobs=n_jobs) if threaded else [visit(k) for k in active]
        yield Epoch(w, b, int(mistakes[active].sum()), float(loss.sum()))
        active = [k for k, on in zip(active, goes_on, strict=True) if on]


def csr_parts(X):
    """data, indices, indptr of a CSR matrix; a dense one needs no indices: it has every column."""
    if sp.issparse(X):
        return X.data, X.indices.astype(np.uint32), X.indptr.astype(np.int64)
    return X.ravel(), np.empty(0, np.uint32), np.arange(len(X) + 1) * X.shape[1]


# --------------------------------------------------------------------------------- plain function


class Update(NamedTuple):
    """One application of (3): the mistaken row and the parameters before and after."""

    row: int
    w_before: np.ndarray
    b_before: float
    w: np.ndarray
    b: float


class Separation(NamedTuple):
    """What `perceptron` found."""

    w: np.ndarray
    b: float
    updates: int
    converged: bool  # every row on its right side: y(wᵀx + b) > 0
    history: tuple[Update, ...] | None


def perceptron(X, y, *, offset=True, learning_rate=1.0, max_updates=100_000, history=False):
    """Rosenblatt's perceptron: correct one mistake at a time until there is none.

    Starts at w = 0, b = 0, goes through the rows in their order again and again, and adds
    ``learning_rate * y[i] * X[i]`` to w (and ``learning_rate * y[i]`` to b) whenever
    ``y[i] * (w @ X[i] + b) <= 0``. Ends when all rows are right, or after `max_updates` updates.

    Parameters
    ----------
    X : array-like of shape (n, p)
    y : array-like of shape (n,)
        Labels, −1 or +1.
    offset : bool, default=True
        Whether to learn b; else the boundary passes through the origin.
    learning_rate : float, default=1.0
        From a zero start it scales w and b and changes no prediction.
    max_updates : int, default=100_000
        The most updates; needed when no line separates the classes.
    history : bool, default=False
        Whether to return every update, with w and b before and after it.

    Returns
    -------
    Separation
        NamedTuple ``(w, b, updates, converged, history)``.

    Examples
    --------
    >>> from mlreplica.linear_model import perceptron
    >>> found = perceptron([[2.0, 1.0], [1.0, 3.0], [-1.0, -2.0], [-2.0, 1.0]], [1, 1, -1, -1])
    >>> found.w, found.b, found.updates, found.converged
    (array([2., 1.]), 1.0, 1, True)
    """
    X = check_array(X, dtype=np.float64, order="C")
    y = np.asarray(y, dtype=np.float64)
    if y.shape != (len(X),) or not np.isin(y, (-1.0, 1.0)).all():
        raise ValueError(f"y must hold one label for each of the {len(X)} rows, each -1 or +1.")
    if not learning_rate > 0:
        raise ValueError(f"learning_rate must be > 0, got {learning_rate}.")
    if max_updates < 0:
        raise ValueError(f"max_updates must be >= 0, got {max_updates}.")
    s, rate, order = learning_rate * y, float(offset), np.arange(len(X))
    w, b = np.zeros(X.shape[1]), 0.0
    passes, updates, mistakes = [np.empty(0, np.int64)], 0, -1
    while mistakes != 0 and updates < max_updates:
        who = np.empty(min(len(X), max_updates - updates), dtype=np.int64)
        b, mistakes, _ = epoch(X, s, w, b, rate, order, who)
        updates += mistakes
        passes.append(who[:mistakes])
    converged = mistakes == 0 or bool((y * (X @ w + b) > 0).all())
    steps = retrace(X, s, rate, np.concatenate(passes)) if history else None
    return Separation(w, b, updates, converged, steps)


def retrace(X, s, rate, who):
    """The updates at rows `who`, from a zero start."""
    w = np.cumsum(np.vstack([np.zeros(X.shape[1]), s[who, None] * X[who]]), axis=0)
    b = np.cumsum(np.append(0.0, rate * s[who]))
    return tuple(
        Update(int(i), w[k], float(b[k]), w[k + 1], float(b[k + 1])) for k, i in enumerate(who)
    )
