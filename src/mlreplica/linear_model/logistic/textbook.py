r"""Logistic regression of two classes in its shortest form (equations of `objective.py`)

Newton's method: probabilities (2), gradient (3), Hessian (4), the step (5) of `smooth.py`, halved
until P falls, and the bound (9) that says how far the minimum can be. Columns x̃ end with a 1 for
the offset. The engines do the same in blocks of rows on threads, for several classes, sparse and
wide X, or with an approximation of (4).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mlreplica.core.formulas.losses import logistic

from .objective import gap


class NewtonState(NamedTuple):
    """Where Newton's method is."""

    w: np.ndarray  # (p,)
    b: float
    objective: float  # P of (1)
    gap: float  # (9): an upper bound on P − min P


def newton(X, y, l2, s=None):
    """Yield a state per step (5), indefinitely: the caller decides when to stop.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    y : ndarray of shape (n,)
        Labels −1 and +1.
    l2 : float
        Positive; 1/(C n) in scikit-learn's terms.
    s : ndarray of shape (n,), optional
        Weights that sum to one; default: 1/n.

    Yields
    ------
    NewtonState
        NamedTuple ``(w, b, objective, gap)``.

    Examples
    --------
    >>> from itertools import islice
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([-1.0, 1.0, -1.0, 1.0])
    >>> *_, last = islice(newton(X, y, l2=0.1), 8)
    >>> last.w.round(4), last.gap < 1e-12
    (array([0.6367]), True)
    """
    n, p = X.shape
    s = np.full(n, 1 / n) if s is None else s
    Xt = np.column_stack([X, np.ones(n)])  # rows x̃
    ridge, v = np.append(np.full(p, l2), 0.0), np.zeros(p + 1)

    def objective(v):
        return s @ logistic.value(y, Xt @ v) + ridge @ v**2 / 2  # (1)

    while True:
        f = Xt @ v
        g = Xt.T @ (s * logistic.gradient(y, f)) + ridge * v  # (3)
        H = Xt.T @ ((s * logistic.hessian(y, f))[:, None] * Xt) + np.diag(ridge)  # (4)
        d = np.linalg.solve(H, -g)
        decrement = np.sqrt(max(-g @ d, 0.0))  # λ
        rho = np.sqrt(np.einsum("ij,ji->i", Xt, np.linalg.solve(H, Xt.T)).max())
        P = objective(v)
        yield NewtonState(v[:p], float(v[p]), float(P), float(gap(P, decrement, rho)))  # (9)
        t = 1.0
        while objective(v + t * d) > P - 1e-4 * t * decrement**2 and t > 1e-10:
            t /= 2
        v = v + t * d  # (5)
