r"""Stochastic gradient descent in its shortest form (equations of `epochs.py`)

Rows come in random order, a batch B at a time. Each batch takes one step (3) with the length (5),
its rows pull the weights towards zero (4), and averages of w and b are kept (6). The engine
(`epochs.py`) touches only the entries that a sparse row has, keeps w as scale·v so that shrinking
costs one product, and runs all rows of an epoch in one compiled loop.
"""

from __future__ import annotations

from itertools import count
from typing import NamedTuple

import numpy as np


class TextbookEpoch(NamedTuple):
    """Where the descent is after an epoch."""

    w: np.ndarray
    b: float
    mean_w: np.ndarray  # (6)
    mean_b: float


def pull(w, u, q):
    """(4): pull every weight towards zero, never past it; w and q change in place."""
    before = w.copy()
    w[:] = np.maximum(before - (u + q), 0.0) * (before > 0)
    w += np.minimum(before + (u - q), 0.0) * (before < 0)
    q += w - before


def descend(
    X, y, loss, step, *, alpha=0.0001, rho=0.0, batch=1, rate=1.0, c=None, orders=None, rng=None
):
    """Yield an epoch of steps (3) after the other, indefinitely: the caller decides when to stop.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    y : ndarray of shape (n,)
        What the loss wants: numbers, or −1 and +1.
    loss : Loss
        Of `mlreplica.losses`.
    step : callable
        η_t of (5) for t = 1, 2, …
    alpha, rho : float
        Strength of the penalty, and the share of ‖w‖₁ in it.
    batch : int
        Rows of a step.
    rate : float
        Length of b's steps over that of w's; 0 for no offset.
    c : ndarray of shape (n,), optional
        Weights of the rows; default: 1.
    orders : iterator of ndarray of int, optional
        The order of the rows in each epoch; default: permutations drawn from `rng`.
    rng : numpy.random.Generator, optional

    Yields
    ------
    TextbookEpoch
        NamedTuple ``(w, b, mean_w, mean_b)``.

    Examples
    --------
    >>> from itertools import islice
    >>> from mlreplica.losses import squared
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 3.0, 5.0])
    >>> epochs = descend(X, y, squared, lambda t: 0.1, alpha=0.0, rng=np.random.default_rng(0))
    >>> *_, last = islice(epochs, 300)
    >>> last.w.round(3), round(last.b, 3)
    (array([2.]), 1.0)
    """
    n, p = X.shape
    c = np.ones(n) if c is None else c
    rng = rng or np.random.default_rng()
    orders = (rng.permutation(n) for _ in count()) if orders is None else orders
    w, b, t = np.zeros(p), 0.0, 0
    u, q = 0.0, np.zeros(p)  # the pull of all steps so far, and what each weight has had of it
    sum_w, sum_b = np.zeros(p), 0.0
    for order in orders:
        for first in range(0, n, batch):
            B = order[first : first + batch]
            t += 1
            eta = step(t)
            g = c[B] * loss.gradient(y[B], X[B] @ w + b)
            w *= max(0.0, 1.0 - (1.0 - rho) * eta * alpha)  # (3)
            u += rho * eta * alpha
            for i, g_i in zip(B, g, strict=True):
                w -= eta / len(B) * g_i * X[i]  # (3)
                b -= rate * eta / len(B) * g_i
                if rho > 0:
                    pull(w, u, q)
            sum_w, sum_b = sum_w + w, sum_b + b  # (6)
        yield TextbookEpoch(w.copy(), float(b), sum_w / t, float(sum_b / t))
