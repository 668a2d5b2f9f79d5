r"""Perceptron (Rosenblatt 1958)

    find w, b with   yᵢ(wᵀxᵢ + b) > 0   for every i,      yᵢ ∈ {−1, +1}                     (1)

The perceptron loss of a score f is ℓ(y, f) = max(0, −yf): zero on the right side, the distance to
it (times ‖w‖) on the wrong one. A stochastic subgradient step of length η on the mean of

    P(w, b) = 1/n Σᵢ cᵢ ℓ(yᵢ, wᵀxᵢ + b)                                                     (2)

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

The function `perceptron` is the algorithm as it stands here. The estimator `Perceptron`, with its
penalties, sparse rows and epochs, is stochastic gradient descent on (2): the kernel of `epochs.py`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.utils import check_array

from mlreplica.core.compile.jit import kernel
from mlreplica.core.formulas.vectors import add_scaled, dot

# ----------------------------------------------------------------------------------------- kernel


@kernel
def epoch(X, s, w, b, rate, who):
    """Visit the rows once with update (3), sᵢ = ηyᵢ; w and who change in place.

    who[:mistakes] = the rows that moved w; the visit ends when `who` is full.
    """
    mistakes = 0
    for i in range(len(X)):
        if mistakes < len(who) and s[i] * (dot(X[i], w) + b) <= 0.0:
            add_scaled(w, s[i], X[i])
            b += rate * s[i]
            who[mistakes] = i
            mistakes += 1
    return b, mistakes


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
    s, rate = learning_rate * y, float(offset)
    w, b = np.zeros(X.shape[1]), 0.0
    passes, updates, mistakes = [np.empty(0, np.int64)], 0, -1
    while mistakes != 0 and updates < max_updates:
        who = np.empty(min(len(X), max_updates - updates), dtype=np.int64)
        b, mistakes = epoch(X, s, w, b, rate, who)
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
