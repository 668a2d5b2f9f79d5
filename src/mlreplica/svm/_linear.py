r"""Linear support vector machines: four losses as one problem, and its duality gap

Each loss of a score f_i = x_iᵀw is a line or a parabola that bends at a tube of half-width ε round
its target t_i. All are the largest of many lines and parabolas in the residual r_i = t_i − f_i:

    minimise over w:   P(w) = ½‖w‖² + Σ_i L_i(r_i),                                           (1)
    L_i(r) = max { βr − ε|β| − ½λ_iβ² :  l_i ≤ β ≤ u_i }

    hinge            C max(0, 1 − y f)       t = y, ε = 0, λ = 0,    [0, C] or [−C, 0] by y
    squared hinge    C max(0, 1 − y f)²      t = y, ε = 0, λ = 1/2C, [0, ∞] or [−∞, 0] by y   (2)
    ε-insensitive    C max(0, |r| − ε)       t = y, λ = 0,           [−C, C]
    its square       C max(0, |r| − ε)²      t = y, λ = 1/2C,        [−∞, ∞]

The β that is best in (1) is the loss's slope, with S(r, ε) = sign(r) (|r| − ε)₊

    β_i(r) = S(r, ε)/λ_i,  not below l_i and not above u_i  (λ_i = 0: u_i, 0 or l_i by sign)  (3)

Any other β in the box makes the sum in (1) smaller, and then the best w is Xᵀβ. Hence for all β

    P(w) ≥ min P ≥ D(β) = Σ_i (t_iβ_i − ε|β_i| − ½λ_iβ_i²) − ½‖Xᵀβ‖²                          (4)

and the distance between the two ends, with t_i = r_i + x_iᵀw, is a sum of terms none of which
is negative, so that it is known to the last digit however small it is:

    gap = P(w) − D(β) = ½‖w − Xᵀβ‖² + Σ_i [L_i(r_i) − (β_ir_i − ε|β_i| − ½λ_iβ_i²)]           (5)

P bends at least as ½‖w‖² does, so ½‖w − w*‖² ≤ gap: where gap ≤ tol² P the weights are right
within tol √2P, and no ‖w*‖ is larger than √2P. That is the meaning of `tol` here.

The intercept is the weight of one more column, equal to `intercept_scaling`, as in LIBLINEAR.

Vapnik, The Nature of Statistical Learning Theory (1995); Fan, Chang, Hsieh, Wang, Lin, LIBLINEAR: a
library for large linear classification (2008).
"""

from typing import NamedTuple

import numpy as np

from mlreplica.core.compile.jit import kernel

FINEST = 1e-7  # a smaller tol is this one: rounding leaves 1e-14 P of the gap


class LinearSVMProblem(NamedTuple):
    """Equation (1)."""

    X: np.ndarray  # (n, p), C-contiguous, or a CSR matrix
    bias: float  # the value of the intercept's column; 0: none
    t: np.ndarray  # (n,)
    low: np.ndarray  # (n,)
    high: np.ndarray  # (n,)
    lam: np.ndarray  # (n,): all zero or all positive
    eps: float

    def scores(self, w):
        """Xw; w has a last entry for the intercept."""
        return self.X @ w[:-1] + self.bias * w[-1]

    def weights(self, beta):
        """Xᵀβ"""
        return np.append(self.X.T @ beta, self.bias * beta.sum())


class LinearSVMState(NamedTuple):
    """Where a solver is."""

    w: np.ndarray  # (p + 1,) or (K, p + 1): last the weight of the intercept's column
    objective: float
    gap: float  # (5)
    error: float  # √(gap / P)


def state(w, objective, gap):
    """A State."""
    return LinearSVMState(
        w, objective, gap, float(np.sqrt(gap / objective)) if objective > 0.0 else 0.0
    )


def classification(X, bias, y, c, squared):
    """(2) for labels y = ±1 and costs c."""
    inside = np.full(len(y), np.inf) if squared else c
    low, high = np.where(y > 0.0, 0.0, -inside), np.where(y > 0.0, inside, 0.0)
    return LinearSVMProblem(X, bias, y, low, high, 0.5 / c if squared else np.zeros(len(y)), 0.0)


def regression(X, bias, y, c, eps, squared):
    """(2) for targets y and costs c."""
    inside = np.full(len(y), np.inf) if squared else c
    return LinearSVMProblem(
        X, bias, y, -inside, inside, 0.5 / c if squared else np.zeros(len(y)), eps
    )


@kernel
def shrunk(r, eps):
    """S(r, ε)"""
    return max(r - eps, 0.0) + min(r + eps, 0.0)


@kernel
def slope(r, low, high, lam, eps):
    """(3)"""
    v = shrunk(r, eps)
    if lam > 0.0:
        return min(max(v / lam, low), high)
    return high if v > 0.0 else low if v < 0.0 else 0.0


@kernel
def excess(r, b, low, high, lam, eps):
    """L(r), and its part of (5)."""
    s = slope(r, low, high, lam, eps)
    loss = s * r - eps * abs(s) - 0.5 * lam * s * s
    return loss, max(loss - (b * r - eps * abs(b) - 0.5 * lam * b * b), 0.0)


def together(solvers):
    """Several problems at once, one step of each a time; those that are done wait for the rest."""
    states, running = [None] * len(solvers), list(range(len(solvers)))
    while running:
        left = []
        for k in running:
            new = next(solvers[k], None)
            if new is not None:
                states[k] = new
                left.append(k)
        running = left
        if running:
            yield LinearSVMState(
                np.array([s.w for s in states]),
                sum(s.objective for s in states),
                sum(s.gap for s in states),
                max(s.error for s in states),
            )


def until(solver, tol):
    """The states of one of several problems, to the first that is good enough."""
    for now in solver:
        yield now
        if now.error <= tol:
            return
