r"""Minimise a smooth convex function plus c₂‖w‖² + c₁‖w‖₁, by L-BFGS and its orthant-wise form

    F(w) = f(w) + c₂ ‖w‖² + c₁ ‖w‖₁                                                       (1)

Where w_j ≠ 0 the penalty is smooth; where w_j = 0 the slope of least size is taken, the
pseudo-gradient ◇F. A quasi-Newton step H ◇F is kept to the orthant it begins in (OWL-QN), which
weights that are zero may enter only where F falls. Andrew and Gao keep all weights to directions in
which F falls; but where weights are correlated, a good step moves some of them against their own
slope, and without it twice as many steps are needed. With c₂ > 0, F is 2c₂-strongly convex, so that

    F(w) − min F ≤ ‖◇F(w)‖² / 4c₂                                                         (2)

References
----------
Andrew, Gao: Scalable training of L1-regularized log-linear models. ICML 2007.
Liu, Nocedal: On the limited memory BFGS method. Math. Prog. 45 (1989), 503–528.
"""

from collections import deque
from itertools import count
from typing import NamedTuple

import numpy as np


class CRFState(NamedTuple):
    """What a `Trace` records once per step."""

    objective: float
    gap: float
    gradient_norm: float
    coef: np.ndarray


def pseudo_gradient(w, g, c1):
    """The subgradient of least size, where g is the gradient of the smooth part."""
    if c1 == 0:
        return g
    at_zero = np.sign(g) * np.maximum(np.abs(g) - c1, 0.0)
    return np.where(w == 0, at_zero, g + c1 * np.sign(w))


def direction(slope, memory, curvature):
    """−H·slope, with H from the last steps s and changes of gradient y, and 1/curvature before."""
    d, kept = -slope, []
    for s, y, rho in reversed(memory):
        a = rho * (s @ d)
        d -= a * y
        kept.append(a)
    d /= curvature
    if memory:
        s, y, rho = memory[-1]
        d *= 1.0 / (rho * (y @ (y / curvature)))
    for (s, y, rho), a in zip(memory, reversed(kept), strict=True):
        d += (a - rho * (y @ d)) * s
    return d


def quasi_newton(f, w, c1, c2, num_memories=6, max_linesearch=20):
    """Yield a state after every step; ends when no step gains any more.

    Parameters
    ----------
    f : callable
        Returns value and gradient of the smooth part without penalty; `f.curvature()` returns
        about its second derivatives there. Those of frequent features are thousands of times
        those of rare ones: with them, a third of the steps do.
    w : ndarray
        Where to start.
    c1, c2 : float
        Of (1).
    num_memories, max_linesearch : int
        Steps remembered, and tries per step.
    """
    memory = deque(maxlen=num_memories)

    def evaluate(w):
        value, g = f(w)
        return value + c2 * (w @ w) + c1 * np.abs(w).sum(), g + 2 * c2 * w

    value, g = evaluate(w)
    slope = pseudo_gradient(w, g, c1)
    yield state_of(value, slope, w, c2)
    for k in count():
        if not slope.any():
            return
        if k % 10 == 0:
            curvature = f.curvature() + max(2 * c2, 1e-8)
        d = direction(slope, memory, curvature)
        if c1 > 0:
            falls = d * slope < 0
            d = np.where(falls | (w != 0), d, 0.0)
            if not slope @ d < 0:
                d = np.where(falls, d, 0.0)
            orthant = np.where(w == 0, -np.sign(slope), np.sign(w))
        step = 1.0
        fall = slope @ d
        for _ in range(max_linesearch):
            new = w + step * d
            if c1 > 0:
                new = np.where(new * orthant > 0, new, 0.0)
                fall = min(slope @ (new - w) / step, 0.0)
            new_value, new_g = evaluate(new)
            if new_value <= value + 1e-4 * step * fall:
                break
            step *= 0.5
        else:
            if not memory:
                return
            memory.clear()  # begin again along the gradient
            continue
        s, y = new - w, new_g - g
        if s @ y > 1e-12 * (y @ y):
            memory.append((s, y, 1.0 / (s @ y)))
        stuck = new_value >= value
        w, value, g = new, new_value, new_g
        slope = pseudo_gradient(w, g, c1)
        yield state_of(value, slope, w, c2)
        if stuck:
            return


def state_of(value, slope, w, c2):
    """A state with its certificate (2)."""
    norm = float(np.linalg.norm(slope))
    return CRFState(float(value), norm**2 / (4 * c2) if c2 > 0 else np.inf, norm, w)


def until_settled(states, epsilon, delta, period):
    """States until the slope is small, or little was gained in a while, as CRFsuite stops."""
    past = deque(maxlen=period)
    for state in states:
        yield state
        if state.gradient_norm <= epsilon * max(1.0, np.linalg.norm(state.coef)):
            return
        if len(past) == period and past[0] - state.objective <= delta * abs(state.objective):
            return
        past.append(state.objective)
