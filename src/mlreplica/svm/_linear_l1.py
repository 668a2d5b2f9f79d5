r"""Linear support vector machines that select: an L1 penalty and the squared hinge

    minimise over w:   P(w) = ‖w‖₁ + Σ_i c_i (1 − y_if_i)₊²,      f = Xw                      (11)

At w, rows with y_if_i < 1 have the slope R_i = −2c_iy_i(1 − y_if_i) and the curvature h_i = 2c_i,
the others none, and the change of P by a step d is

    Q(d) = Σ R_id_i' + ½ Σ h_id_i'² + ‖w + d‖₁ − ‖w‖₁,      d' = Xd                           (12)

as long as no row crosses the margin. It is the model of `core/quadratic_descent.py`,
which minimises it; rows beyond the margin get a thousandth of their curvature, lest a weight that
only they see had none. The step is halved until P falls by a hundredth of what Q promised.

Bounding L_i from below by its lines of slope −α_i, α_i ≥ 0, gives for every α with |Xᵀ(yα)| ≤ 1

    min P ≥ D(α) = Σ_i (α_i − α_i²/4c_i)                                                      (13)

of which s|R| is one for all s ≤ 1/max|XᵀR|; the best s is known, and P − D is the gap.

Chang, Hsieh, Lin, Coordinate descent method for large-scale L2-loss linear SVM (2008); Yuan, Chang,
Hsieh, Lin, A comparison of optimization methods for large-scale L1-regularized linear
classification (2010).
"""

import numpy as np
import scipy.sparse as sp

from mlreplica.core.quadratic_descent import by_column, sweeps

from ._linear import state

BEYOND = 1e-3  # of the curvature, for rows that have none


def with_bias(X, bias):
    """X and the intercept's column; CSC if sparse."""
    column = np.full((X.shape[0], 1), bias)
    if sp.issparse(X):
        return sp.hstack([sp.csc_array(X), sp.csc_array(column)], format="csc")
    return np.hstack([X, column])


def certificate(X, y, c, f, w):
    """P, the gap by (13), and R."""
    short = np.maximum(1.0 - y * f, 0.0)
    R = -2.0 * c * y * short
    loss = float(c @ short**2)
    objective = loss + float(np.abs(w).sum())
    # Σα = 2Σc·short and Σα²/4c = Σc·short² at s = 1
    largest, total = float(np.abs(X.T @ R).max()), 2.0 * float(c @ short)
    s = min(1.0 / largest if largest > 0.0 else np.inf, 0.5 * total / loss if loss > 0.0 else 0.0)
    return objective, max(objective - s * (total - s * loss), 0.0), R


def proximal_newton(X, bias, y, c):
    """Yield the State, a step on (12) apart, until rounding rules; X dense or sparse."""
    X = with_bias(X, bias)
    columns, w, f = by_column(X), np.zeros(X.shape[1]), np.zeros(len(y))
    objective, gap, R = certificate(X, y, c, f, w)
    while True:
        h = 2.0 * c * np.where(y * f < 1.0, 1.0, BEYOND)
        new = w.copy()
        sweeps(columns, h, R.copy(), new, 1.0, 0.0, False)
        d = new - w
        e = X @ d
        promised = R @ e + 0.5 * h @ e**2 + np.abs(new).sum() - np.abs(w).sum()
        a = 1.0
        while True:
            found = certificate(X, y, c, f + a * e, w + a * d)
            if found[0] <= objective + 0.01 * a * min(promised, 0.0) or a < 1e-9:
                break
            a *= 0.5
        better = found[0] < objective
        if better:
            w, f, (objective, gap, R) = w + a * d, f + a * e, found
        yield state(w, objective, gap)
        if not better:
            return
