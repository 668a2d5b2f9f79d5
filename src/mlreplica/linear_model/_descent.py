r"""Least squares step by step: gradient descent, stochastic gradient descent, non-negative weights

With centred rows A (n, p), c (n, q) and S = Σ s_i, as in `_least_squares`,

    P(w) = ‖A w − c‖² / 2S,      ∇P(w) = Aᵀ(A w − c) / S = H w − Aᵀc / S,      H = AᵀA / S.  (1)

Gradient descent walks downhill with the step 1/L, L the largest eigenvalue of H:

    w ← w − ∇P(w) / L,           P(w) − P(w*) falls by 1 − μ/L or better a step.             (2)

Stochastic gradient descent takes one row i at a time in place of all,

    w ← w − η [ a_i (a_iᵀw − t_i) + g ],                                                     (3)

plainly with t = c and g = 0 in the first epoch. It would then dance round w* for ever, because
single rows disagree there. Each later epoch starts from w̃, where the whole gradient is known, and
takes t = A w̃ and g = ∇P(w̃): the mean of (3) is the same, but its noise vanishes with w − w*.

How far is the minimum? H has no eigenvalue between 0 and μ > 0, and w ≥ l may be asked for, so

    P(w) − P(w*) ≤ Σ_j max over v ≥ l_j of −G_j (v − w_j) − μ/2 (v − w_j)²,     G = ∇P(w),   (4)

which is ‖G‖² / 2μ without bounds (l = −∞). If w ≥ 0 is asked for and columns are dependent, μ = 0.

Robbins, Monro, A stochastic approximation method (1951); Johnson, Zhang, Accelerating stochastic
gradient descent using predictive variance reduction (2013); Lawson, Hanson, Solving Least Squares
Problems (1974), chapter 23.
"""

from typing import NamedTuple

import numpy as np

from mlreplica.core.blas import add_scaled, dot
from mlreplica.core.jit import kernel


class State(NamedTuple):
    """Where a walk is: weights (p, q), intercepts (q,), P, and the bound (4) on P(w) − P(w*)."""

    w: np.ndarray
    b: np.ndarray
    objective: float
    gap: float


class Problem(NamedTuple):
    """Centred rows with columns scaled by d, so that w = d·v; S; the extreme eigenvalues of H."""

    A: np.ndarray  # (n, p)
    c: np.ndarray  # (n, q)
    S: float
    mu: float
    L: float
    d: np.ndarray  # (p, 1)
    x_mean: np.ndarray  # of the columns before scaling
    y_mean: np.ndarray
    rest: float = 0.0  # what P is more than (1): if A, c are a triangle, what it left out

    def gradient(self, v):
        """∇P of (1), and the residual A v − c on the way."""
        r = self.A @ v - self.c
        return self.A.T @ r / self.S, r

    def state(self, v, G, r, lower=-np.inf):
        """The State at v, in the user's coordinates."""
        w = self.d * v
        P = self.rest + float((r * r).sum() / (2 * self.S))
        return State(w, self.y_mean - self.x_mean @ w, P, gap(v, G, self.mu, lower))


def gap(w, G, mu, lower=-np.inf):
    """The bound (4)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        step = np.maximum(np.where(G == 0, 0.0, -G / mu), lower - w)
        return float(-(G * step + mu / 2 * np.where(np.isinf(step), 0.0, step) ** 2).sum())


def extremes(A, S):
    """μ and L of (2): the smallest eigenvalue of H that is not rounding, and the largest."""
    G = A @ A.T if len(A) < A.shape[1] else A.T @ A
    values = np.linalg.eigvalsh(G / S)
    L = values[-1]
    return float(values[values > 1e-13 * len(G) * L].min(initial=L)), float(L)


def gradient_descent(problem, step):
    """Yield the State for ever, one step (2) apart."""
    v = np.zeros((problem.A.shape[1], problem.c.shape[1]))
    while True:
        G, r = problem.gradient(v)
        yield problem.state(v, G, r)
        v -= step * G


@kernel
def epoch(A, t, g, w, eta, order):
    """Update (3) once for every row in `order`; w changes in place."""
    for i in order:
        a_i = A[i]
        e = dot(a_i, w) - t[i]
        add_scaled(w, -eta * e, a_i)
        add_scaled(w, -eta, g)


def stochastic_gradient_descent(problem, step, rng):
    """Yield the State for ever, one epoch of (3) apart."""
    A, c, S, *_ = problem
    n, p = A.shape
    v = np.zeros((p, c.shape[1]))
    t, g = c, np.zeros_like(v)
    while True:
        for k in range(c.shape[1]):
            v_k, t_k = v[:, k].copy(), t[:, k].copy()
            # a_i a_iᵀ has the mean H·S/n, so the step is longer by n/S and g shorter
            epoch(A, t_k, g[:, k] * (S / n), v_k, step * (n / S), rng.permutation(n))
            v[:, k] = v_k
        g, r = problem.gradient(v)
        t = r + c  # A v
        yield problem.state(v, g, r)


def non_negative(problem):
    """Yield the State after every change of the set of positive weights; end at the minimum.

    All weights outside the set `free` are zero. The one along which P falls fastest enters. Then
    the least-squares weights of the set are approached until one of them meets zero and leaves,
    as often as needed. P falls with every entry, so no set comes twice: an end is certain.
    """
    A, c, *_ = problem
    v = np.zeros((A.shape[1], c.shape[1]))
    for k in range(c.shape[1]):
        w, free = v[:, k], np.zeros(len(v), dtype=bool)
        barred = free.copy()  # dependent on the set, so that they would not become positive
        least = 1e-14 * np.linalg.norm(c[:, k])  # rounding of a gradient; columns have length one
        while True:
            G, r = problem.gradient(v)
            yield problem.state(v, G, r, lower=0.0)
            downhill = np.where(free | barred, 0.0, -A.T @ r[:, k])
            j = int(downhill.argmax())
            if downhill[j] <= least:
                break
            free[j] = True
            while ((best := best_on(A, c[:, k], free))[free] <= 0).any():
                out = np.flatnonzero(free & (best <= 0))
                share = w[out] / (w[out] - best[out] + 1e-300)
                w += share.min() * (best - w)
                free[out[share == share.min()]] = False
                w[~free] = 0.0
            w[:] = best
            if free[j]:
                barred[:] = False
            else:
                barred[j] = True


def best_on(A, c, free):
    """Least-squares weights on the columns in `free`, zero elsewhere."""
    w = np.zeros(A.shape[1])
    w[free] = np.linalg.lstsq(A[:, free], c)[0]
    return w
