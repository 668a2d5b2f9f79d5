r"""Gradient descent, proximal and with momentum

For P = F + α₁‖w‖₁ of `objective.py`, equations (1) to (3). A step of length η from a point u is

    v = prox(u − η∇F(u)),      prox(a) = soft(a, ηα₁) in w, a in b                              (5)

and without an L1 penalty it is v = u − η∇F(u). Since ∇F changes at most L times as fast as its
argument, F lies below a parabola of curvature 1/η ≥ L at u:

    F(v) ≤ F(u) + ∇F(u)ᵀ(v − u) + ‖v − u‖² / 2η                                                 (4)

so that η ≤ 1/L makes P fall by ‖v − u‖²/2η at least, and (1/L steps, from v₀, towards any v*)

    P(v_k) − P* ≤ L‖v₀ − v*‖² / 2k    and    P(v_k) − P* ≤ (1 − μ/L)ᵏ (P(v₀) − P*)              (6)

the second where F is strongly convex with the modulus μ and there is no L1 penalty. A constant
step beyond 2/L climbs: along the steepest direction of a parabola the error is multiplied by
1 − ηL < −1. Backtracking needs no L: it halves η until (4) holds, which for α₁ = 0 is Armijo's
condition F(v) ≤ F(u) − η/2 ‖∇F(u)‖². The exact step along −∇F = −G of least squares is

    η = GᵀG / Gᵀ∇²F G                                                                           (7)

One η for all directions is too short for the flat ones. Where H of (3) is at hand, a step in its
metric, v = u − M⁻¹∇F(u) with M = κH + α₂I (in w), divides each direction by its own curvature: (4)
holds with ½(v − u)ᵀM(v − u) for its last term, and in (6) L and μ are those of M^−½ ∇²F M^−½.

Momentum remembers where it came from. Polyak's heavy ball rolls on, v = prox(w − η∇F(w) + β(w −
w_old)); Nesterov's method looks ahead first and takes its step (5) from

    u = w + (t − 1)/t₊ (w − w_old),      t₊ = (1 + √(1 + 4t²)) / 2,                              (8)

starting with t = 0, and then P(v_k) − P* ≤ 2L‖v₀ − v*‖² / (k + 1)². As soon as it rolls uphill,
(u − v)ᵀ(v − w) > 0 (in a metric, ∇F(u)ᵀ(v − w) > 0), a restart with t = 1 forgets the past
(O'Donoghue & Candès 2015).
"""

from __future__ import annotations

import math
import warnings
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve
from sklearn.exceptions import ConvergenceWarning

from mlreplica.core.formulas.penalties import penalty_of

from .objective import Quadratic, objective_of

STEPS = ("1/L", "1/H", "backtracking", "exact")


class Step(NamedTuple):
    """Where gradient descent is after a step."""

    w: np.ndarray
    b: float | np.ndarray
    objective: float  # P of (1)
    step: float  # η; 0 at the start
    gradient_norm: float  # largest entry of (u − v)/η in the step that led here; inf at the start


class Descent(NamedTuple):
    """What `gradient_descent` and `stochastic_gradient_descent` found."""

    w: np.ndarray
    b: float | np.ndarray
    n_iter: int
    objective: float
    certificate: float  # upper bound on objective − minimum; inf where no bound is known
    gradient_norm: float
    converged: bool
    history: tuple[NamedTuple, ...] | None


def descend(objective, v, eta, *, search=None, momentum=None, restart=True):
    """Yield (v, P, η, gradient norm) indefinitely, one step (5) apart.

    `search` is None (η stays), "1/H", "backtracking" or "exact"; `momentum` None, β or "nesterov".
    """
    w_old, w, t = v, v, 0.0
    a_old = a = objective.image(v)  # linear in v, so that looking ahead costs no product with X
    nesterov, metric = momentum == "nesterov", None
    if search == "1/H":
        metric = cho_factor(objective.majorant)
    yield w, objective.value(a, w) + objective.price(w), 0.0, np.inf
    while True:
        u, a_u, beta = w, a, 0.0 if momentum is None or nesterov else momentum
        if nesterov:
            t_old, t = t, (1 + math.sqrt(1 + 4 * t * t)) / 2
            ahead = (t_old - 1) / t
            u, a_u = w + ahead * (w - w_old), a + ahead * (a - a_old)  # (8)
        G = objective.gradient(a_u, u)
        if search == "exact":
            bend = objective.bend(G)
            eta = float((G * G).sum()) / bend if bend > 0 else 0.0  # (7)
        elif search == "backtracking" and not nesterov:
            eta *= 2  # Nesterov's bound wants steps that only shrink
        F_u = objective.value(a_u, u) if search == "backtracking" else 0.0
        while True:
            move = eta * G if metric is None else cho_solve(metric, G)
            v = objective.threshold(u - move + beta * (w - w_old), eta)  # (5)
            a_v = objective.image(v)
            d, F_v = v - u, objective.value(a_v, v)
            if search != "backtracking" or below_parabola(F_u, F_v, G, d, eta):
                break
            eta /= 2
        if nesterov and restart and ((u - v if metric is None else G) * (v - w)).sum() > 0:
            t = 1.0
        w_old, a_old, w, a = w, a, v, a_v
        norm = float(np.abs(d if metric is None else G).max(initial=0.0))
        norm = norm / eta if eta > 0 else 0.0
        yield w, F_v + objective.price(w), eta, norm


def below_parabola(F_u, F_v, G, d, eta):
    """Condition (4), up to the rounding of F."""
    rounding = 8 * np.finfo(float).eps * abs(F_u)
    return F_v <= F_u + (G * d).sum() + (d * d).sum() / (2 * eta) + rounding or eta < 1e-300


def first_step(objective, step, momentum):
    """η to begin with, and β of the heavy ball if it is to be found."""
    loss = objective.loss
    if step in ("1/L", "1/H", "backtracking") and not loss.differentiable:
        raise ValueError(
            f"{loss.name} has kinks, so no step is short enough for step={step!r}; give a number, "
            "or use stochastic_gradient_descent with a falling schedule."
        )
    if step == "exact" and not (objective.quadratic and not objective.penalty.l1):
        raise ValueError("step='exact' is for squared_error without an L1 penalty.")
    if step == "backtracking":
        scale = (objective.X.power(2) if sp.issparse(objective.X) else objective.X**2).sum(axis=1)
        return 1 / (objective.share @ (np.asarray(scale).ravel() + 1.0)), momentum
    if step == "exact":
        return 0.0, momentum
    if step in ("1/L", "1/H"):
        if not math.isfinite(objective.smoothness):
            raise ValueError(
                f"{loss.name} has no largest curvature, so no L; use step='backtracking'."
            )
        if step == "1/H":
            if objective.penalty.l1 or objective.gram is None:
                raise ValueError("step='1/H' is for dense X of few columns without an L1 penalty.")
            return 1.0, momentum
        if momentum == "heavy_ball":
            if not objective.mu > 0:
                raise ValueError("momentum='heavy_ball' needs strong convexity; give β itself.")
            L, mu = math.sqrt(objective.smoothness), math.sqrt(objective.mu)
            return 4 / (L + mu) ** 2, ((L - mu) / (L + mu)) ** 2
        return 1 / objective.smoothness if objective.smoothness > 0 else 1.0, momentum
    return float(step), momentum


def gradient_descent(
    X,
    y,
    loss="squared_error",
    *,
    penalty=None,
    alpha=0.0001,
    l1_ratio=0.15,
    step="1/L",
    momentum=None,
    restart=True,
    fit_intercept=True,
    sample_weight=None,
    start=None,
    max_iter=10_000,
    tol=1e-6,
    callback=None,
    history=False,
):
    """Make a loss and a penalty small by gradient descent.

    Minimises ``mean(loss(y, X @ w + b)) + alpha * (l1_ratio * |w|_1 + (1 - l1_ratio) / 2 * |w|²)``
    from w = 0 and the best constant b. The L1 part is handled by a proximal step.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, p)
    y : array-like of shape (n,)
        What the loss wants: numbers, counts, labels −1 and +1, or classes 0 … k−1.
    loss : str or Loss, default="squared_error"
        A name or an object of `mlreplica.losses`, also your own.
    penalty : {None, "l1", "l2", "elasticnet"}, default=None
    alpha, l1_ratio : float, default=0.0001, 0.15
        Strength of the penalty, and the share of L1 in "elasticnet".
    step : float or {"1/L", "1/H", "backtracking", "exact"}, default="1/L"
        A constant step; one over the largest curvature; one over the largest curvature of each
        direction (dense X of at most 1000 columns, no L1; one step solves squared_error); a step
        that is halved until P falls enough, and doubled again after; or the best step along the
        gradient (squared_error without L1).
    momentum : None, float, "heavy_ball" or "nesterov", default=None
        A number in [0, 1) is the heavy ball's β. "heavy_ball" takes the best step and β of a
        parabola with the extreme curvatures of P (with ``step="1/L"``).
    restart : bool, default=True
        Whether Nesterov's momentum starts anew when it leads uphill.
    fit_intercept : bool, default=True
    sample_weight : array-like of shape (n,), optional
    start : tuple (w, b), optional
        Where to begin.
    max_iter : int, default=10_000
    tol : float, default=1e-6
        End when no entry of the gradient (of the proximal step's displacement over η, with an L1
        penalty) is larger.
    callback : callable, optional
        Called with every `Step`; a true answer ends the descent.
    history : bool, default=False
        Whether to return every `Step`, the start included.

    Returns
    -------
    Descent
        NamedTuple ``(w, b, n_iter, objective, certificate, gradient_norm, converged, history)``.
        `certificate` bounds ``objective`` − minimum; it is finite for squared_error and for every
        loss with an L2 penalty (several classes: without intercept).

    Raises
    ------
    ValueError
        Also if the objective grows without end, because a constant step is longer than 2/L.

    Examples
    --------
    >>> from mlreplica.linear_model import gradient_descent
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 5.0, 7.0]
    >>> found = gradient_descent(X, y, momentum="nesterov")
    >>> found.w.round(4), round(found.b, 4), found.converged, found.certificate < 1e-9
    (array([2.]), 1.0, True, True)
    """
    rows = objective_of(
        X, y, loss, penalty_of(penalty, alpha, l1_ratio), fit_intercept, sample_weight, ("csr",)
    )
    check_options(step, momentum, max_iter, tol)
    lean = rows.quadratic and rows.gram is not None and rows.n >= rows.p  # one pass, then p² a step
    objective = Quadratic(rows) if lean else rows
    eta, beta = first_step(objective, step, momentum)
    v = rows.start() if start is None else packed(rows, start)
    states = descend(
        objective,
        v,
        eta,
        search=step if step in ("1/H", "backtracking", "exact") else None,
        momentum=beta,
        restart=restart,
    )
    first, kept, stopped = None, [], False
    with np.errstate(over="ignore", invalid="ignore"):
        for n_iter, (v, value, eta, norm) in enumerate(states):
            first = value if first is None else first
            if not value <= 1e10 * (abs(first) + 1):
                raise ValueError(too_far(objective, n_iter, eta))
            if history or callback:
                state = Step(*unpacked(rows, v), float(value), float(eta), norm)
                kept.append(state)
                stopped = bool(callback and callback(state))
            if norm <= tol or n_iter >= max_iter or stopped:
                break
    if norm > tol and not stopped:
        warnings.warn(
            f"gradient {norm:.1e} > {tol:.1e} after {n_iter} steps; raise max_iter, scale X, "
            "or use momentum='nesterov'.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return result(rows, v, n_iter, norm, norm <= tol, tuple(kept) if history else None)


def check_options(step, momentum, max_iter, tol):
    """Refuse what makes no sense, and say what does."""
    number = isinstance(step, int | float | np.number) and not isinstance(step, bool)
    if not (number and 0 < step < np.inf) and step not in STEPS:
        raise ValueError(f"step must be > 0 or one of {', '.join(STEPS)}, got {step!r}.")
    ball = isinstance(momentum, int | float | np.number) and not isinstance(momentum, bool)
    if not (ball and 0 <= momentum < 1) and momentum not in (None, "heavy_ball", "nesterov"):
        raise ValueError(
            f"momentum must be None, 'heavy_ball', 'nesterov' or in [0, 1), got {momentum!r}."
        )
    if momentum == "heavy_ball" and step != "1/L":
        raise ValueError("momentum='heavy_ball' finds its own step; leave step='1/L' or give β.")
    if step == "exact" and momentum is not None:
        raise ValueError("step='exact' is for descent without momentum.")
    if step in ("1/H", "backtracking") and ball:
        raise ValueError("the heavy ball may climb, which this step forbids; use 'nesterov'.")
    if not (isinstance(max_iter, int | np.integer) and max_iter >= 0):
        raise ValueError(f"max_iter must be an integer >= 0, got {max_iter!r}.")
    if not tol >= 0:
        raise ValueError(f"tol must be >= 0, got {tol!r}.")


def too_far(objective, n_iter, eta):
    """What to say when P has left for infinity."""
    L = objective.smoothness
    if not math.isfinite(L):
        return f"diverged after {n_iter} steps of {eta:.3g}; use step='backtracking'."
    return (
        f"diverged after {n_iter} steps of {eta:.3g}: a constant step must be shorter than "
        f"2/L = {2 / L:.6g}; use step='1/L' or 'backtracking', or scale X."
    )


def packed(rows, start):
    """(w, b) in one array."""
    w, b = start
    shape = rows.start().shape
    v = np.empty(shape)
    if np.shape(w) != (rows.p, *shape[1:]):
        raise ValueError(f"start must hold w of shape {(rows.p, *shape[1:])}, got {np.shape(w)}.")
    v[: rows.p] = w
    if rows.intercept:
        v[rows.p] = b
    return v


def unpacked(rows, v):
    """w and b out of one array."""
    b = v[rows.p] if rows.intercept else 0.0 * v.sum(axis=0)
    return v[: rows.p].copy(), float(b) if np.ndim(b) == 0 else b.copy()


def result(rows, v, n_iter, norm, converged, history):
    """The Descent at v, with P and the certificate taken from the rows."""
    P = float(rows.value(rows.image(v), v) + rows.price(v))
    bound = rows.certificate(v)
    return Descent(*unpacked(rows, v), n_iter, P, bound, norm, bool(converged), history)
