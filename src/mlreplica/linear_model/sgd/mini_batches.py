r"""Stochastic gradient descent, a mini-batch at a time

For P = F + α₁‖w‖₁ of `objective.py`, equations (1) to (5). A batch B of m rows, drawn without
regard to their order, estimates the gradient (2) without bias,

    G_B(w) = (1/m) Σ_{i ∈ B} c̄ᵢ gᵢ x̃ᵢ + α₂ (w, 0),      E[G_B] = ∇F,      c̄ᵢ = n cᵢ / S         (11)

and the t-th step, t = 0, 1 …, is the proximal one with it:

    w ← soft(w − η_t G_B(w), η_t α₁),      b ← b − η_t G_B(b)                                   (12)

The estimate is not zero at the minimum, so a constant η dances round it at a distance of order
√η. Robbins and Monro let η fall, neither too fast (Σ η = ∞) nor too slowly (Σ η² < ∞). With k =
t / (steps an epoch), η_t is

    constant  η     1/t  η / (1 + k)     1/sqrt(t)  η / √(1 + k)     optimal  η / (1 + ηα₂t)    (13)

the last of which tends to 1/(α₂t), the best for strong convexity. Polyak and Ruppert keep the
steps long and return the mean of the iterates, in which the dance cancels:

    w̄ ← w̄ + (w − w̄) / s                                                                       (14)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from mlreplica.core.compile.jit import kernel
from mlreplica.core.formulas.loss_formulas import gradient_at
from mlreplica.core.formulas.penalties import penalty_of
from mlreplica.core.formulas.vectors import add_scaled, dot

from .gradient_descent import STEPS, check_options, result, unpacked
from .objective import objective_of

SCHEDULES = ("constant", "1/t", "1/sqrt(t)", "optimal")


class MiniBatchEpoch(NamedTuple):
    """Where stochastic gradient descent is after an epoch."""

    w: np.ndarray  # their mean, if averaged
    b: float | np.ndarray
    objective: float  # P of (1)
    step: float  # the last η; 0 at the start
    gradient_norm: float  # largest entry of the proximal gradient of P here


@kernel
def epoch(X, y, c, code, parameter, v, rate, order, m, etas, l1, l2, mean, seen):
    """Steps (12) through the rows in `order`, m at a time; v and mean change in place.

    v = (w, b), b last and moved at `rate` 0 or 1. seen < 0: no mean yet; else it counts (14).
    """
    p = X.shape[1]
    w, G = v[:p], np.empty(p)
    for k in range(len(etas)):
        batch = order[k * m : (k + 1) * m]
        slope = 0.0
        G[:] = 0.0
        for i in batch:
            g = c[i] * gradient_at(code, y[i], dot(X[i], w) + v[p], parameter)
            add_scaled(G, g, X[i])
            slope += g
        eta = etas[k]
        scale, shrink, pull = eta / len(batch), 1.0 - eta * l2, eta * l1
        for j in range(p):
            z = shrink * w[j] - scale * G[j]
            w[j] = z - min(max(z, -pull), pull)
        v[p] -= rate * scale * slope
        if seen >= 0:
            seen += 1
            for j in range(p + 1):
                mean[j] += (v[j] - mean[j]) / seen
    return seen


def epoch_of_arrays(objective, v, order, m, etas, mean, seen):
    """`epoch` for a loss that only takes arrays: the user's own, or that of several classes."""
    X, y, c, p = objective.X, objective.y, objective.share * objective.n, objective.p
    l1, l2 = objective.penalty
    w = v[:p]
    for k, eta in enumerate(etas):
        batch = order[k * m : (k + 1) * m]
        g, _ = objective.loss.derivatives(y[batch], X[batch] @ w + v[p], c[batch] / len(batch))
        z = (1.0 - eta * l2) * w - eta * (X[batch].T @ g)
        w[:] = z - np.clip(z, -eta * l1, eta * l1)
        v[p] -= objective.intercept * eta * g.sum(axis=0)
        if seen >= 0:
            seen += 1
            mean += (v - mean) / seen
    return seen


def lengths(schedule, eta, t, steps, l2):
    """η of the next `steps` steps after t, by (13)."""
    t = np.arange(t, t + steps)
    if schedule == "constant":
        return np.full(steps, eta)
    if schedule == "optimal":
        return eta / (1 + eta * l2 * t)
    return eta / (1 + t / steps) ** (1.0 if schedule == "1/t" else 0.5)


def epochs(objective, v, eta, *, schedule, m, average, shuffle, rng):
    """Yield (v or its mean, the last η) indefinitely, one epoch apart; v ends with b, even 0."""
    rows = objective
    n, steps = rows.n, -(-rows.n // m)
    order, mean, seen, done = np.arange(n), v.copy(), -1, 0
    c, loss = rows.share * n, rows.loss
    while True:
        if average is not False and seen < 0 and done >= (0 if average is True else average):
            seen = 0
        etas = lengths(schedule, eta, done * steps, steps, rows.penalty.l2)
        if shuffle:
            order = rng.permutation(n)
        if loss.code >= 0:
            seen = epoch(
                rows.X, rows.y, c, loss.code, loss.parameter, v, float(rows.intercept), order, m,
                etas, rows.penalty.l1, rows.penalty.l2, mean, seen,
            )  # fmt: skip
        else:
            seen = epoch_of_arrays(rows, v, order, m, etas, mean, seen)
        done += 1
        yield (mean if seen > 0 else v), float(etas[-1])


def stochastic_gradient_descent(
    X,
    y,
    loss="squared_error",
    *,
    penalty=None,
    alpha=0.0001,
    l1_ratio=0.15,
    step="1/L",
    schedule="constant",
    batch_size=1,
    average=False,
    fit_intercept=True,
    sample_weight=None,
    shuffle=True,
    random_state=None,
    max_iter=100,
    tol=None,
    callback=None,
    history=False,
):
    """Make a loss and a penalty small by stochastic gradient descent.

    Minimises what `gradient_descent` minimises, but takes a step after every `batch_size` rows.

    Parameters
    ----------
    X : array-like of shape (n, p)
    y : array-like of shape (n,)
        What the loss wants: numbers, counts, labels −1 and +1, or classes 0 … k−1.
    loss : str or Loss, default="squared_error"
        A name or an object of `mlreplica.losses`, also your own.
    penalty : {None, "l1", "l2", "elasticnet"}, default=None
    alpha, l1_ratio : float, default=0.0001, 0.15
        Strength of the penalty, and the share of L1 in "elasticnet".
    step : float or "1/L", default="1/L"
        The first step η; "1/L" takes one over the largest curvature of a single row.
    schedule : {"constant", "1/t", "1/sqrt(t)", "optimal"}, default="constant"
        How η falls: see equation (13); "optimal" needs an L2 penalty.
    batch_size : int, default=1
        Rows a step; all of them make it gradient descent.
    average : bool or int, default=False
        Whether to return the mean of the iterates, of those after so many epochs if a number.
    fit_intercept : bool, default=True
    sample_weight : array-like of shape (n,), optional
    shuffle : bool, default=True
        Whether every epoch takes the rows in a new random order.
    random_state : int, RandomState or None, default=None
        The source of the orders.
    max_iter : int, default=100
        Epochs.
    tol : float, optional
        End when no entry of the whole gradient is larger; costs a pass through X an epoch.
    callback : callable, optional
        Called with every `MiniBatchEpoch`; a true answer ends the descent.
    history : bool, default=False
        Whether to return every `MiniBatchEpoch`, the start included.

    Returns
    -------
    Descent
        NamedTuple ``(w, b, n_iter, objective, certificate, gradient_norm, converged, history)``,
        as of `gradient_descent`.

    Examples
    --------
    >>> from mlreplica.linear_model import stochastic_gradient_descent
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 5.0, 7.0]
    >>> found = stochastic_gradient_descent(X, y, random_state=0, max_iter=200)
    >>> found.w.round(3), round(found.b, 3)
    (array([2.]), 1.0)
    """
    rows = objective_of(
        X, y, loss, penalty_of(penalty, alpha, l1_ratio), fit_intercept, sample_weight
    )
    check_options(step if step not in STEPS[1:] else None, None, max_iter, tol or 0)
    if schedule not in SCHEDULES:
        raise ValueError(f"schedule must be one of {', '.join(SCHEDULES)}, got {schedule!r}.")
    if schedule == "optimal" and not rows.penalty.l2:
        raise ValueError("schedule='optimal' needs an L2 penalty: it tends to 1 / (alpha t).")
    if not (isinstance(batch_size, int | np.integer) and batch_size >= 1):
        raise ValueError(f"batch_size must be an integer >= 1, got {batch_size!r}.")
    if average is not True and average is not False and not average >= 0:
        raise ValueError(f"average must be True, False or a number of epochs, got {average!r}.")
    eta = row_step(rows) if step == "1/L" else float(step)
    v = rows.start()
    if not rows.intercept:
        v = np.concatenate([v, np.zeros((1, *v.shape[1:]))])
    states = epochs(
        rows, v, eta, schedule=schedule, m=min(int(batch_size), rows.n), average=average,
        shuffle=shuffle, rng=check_random_state(random_state),
    )  # fmt: skip
    watched = history or callback is not None or tol is not None
    kept = [look(rows, v, 0.0)] if history else []
    n_iter, norm, stopped = 0, np.inf, False
    while n_iter < max_iter and not stopped and not (tol is not None and norm <= tol):
        v, eta = next(states)
        n_iter += 1
        if not np.isfinite(v).all():
            raise ValueError(
                f"diverged in epoch {n_iter} with steps of {eta:.3g}: single rows ask for less "
                f"than 2/L = {2 * row_step(rows):.3g}; use step='1/L', or scale X."
            )
        if watched:
            state = look(rows, v, eta)
            norm = state.gradient_norm
            if history:
                kept.append(state)
            stopped = bool(callback and callback(state))
    norm = look(rows, v, eta).gradient_norm
    converged = tol is not None and norm <= tol
    v = v if rows.intercept else v[:-1]
    return result(rows, v, n_iter, norm, converged, tuple(kept) if history else None)


def row_step(rows):
    """1/L of the steepest single row: κ maxᵢ c̄ᵢ‖x̃ᵢ‖² + α₂; without a largest curvature, κ = 1."""
    squares = np.einsum("ij,ij->i", rows.X, rows.X) + rows.intercept
    curvature = rows.loss.curvature if np.isfinite(rows.loss.curvature) else 1.0
    return 1 / max(curvature * (rows.n * rows.share * squares).max() + rows.penalty.l2, 1e-300)


def look(rows, v, eta):
    """The MiniBatchEpoch at v: one pass through X."""
    v = v if rows.intercept else v[:-1]
    f = rows.image(v)
    G = rows.gradient(f, v)
    d = rows.threshold(v - G, 1.0) - v
    P = float(rows.value(f, v) + rows.price(v))
    return MiniBatchEpoch(*unpacked(rows, v), P, eta, float(np.abs(d).max(initial=0.0)))
