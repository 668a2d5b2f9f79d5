r"""Calibration curves: from a classifier's scores to probabilities

Let f_k(x) be the score of class k. Platt's sigmoid, one per class,

    p_k = 1/(1 + exp(A_k f_k + B_k))                                                         (3)

is in `core/formulas/platt.py`. The isotonic curve, one per class,

    p_k = g_k(f_k),      g_k the best curve that never falls                                 (4)

is in `isotonic.py`. For more than two classes, both are divided by Σ_k p_k. The temperature T = 1/β
is one number for all classes,

    p = softmax(β f),      minimise over β:   L(β) = −Σ_i w_i log p_{y_i}(x_i)               (6)

L is convex: its slope is Σ_i w_i (E_p[f] − f_{y_i}) and its curvature Σ_i w_i Var_p[f] ≥ 0.
Newton's method finds the root of the slope inside a bracket, which halves where Newton would leave
it. If no root exists, because every row is right, β stops at e¹⁰.

Platt, Probabilistic outputs for support vector machines (1999); Zadrozny, Elkan, Transforming
classifier scores into accurate multiclass probability estimates (2002); Guo, Pleiss, Sun,
Weinberger, On calibration of modern neural networks (2017).
"""

import numpy as np
from scipy.special import logsumexp, softmax
from sklearn.base import BaseEstimator

from mlreplica.core.formulas.platt import fit_sigmoid, sigmoid

LOG_BETA = 10.0  # |log β| is at most this


class Sigmoid(BaseEstimator):
    """The curve (3) of one class."""

    def fit(self, f, y, w=None):
        """Fit A and B to scores f of rows that are of the class (y = 1) or not (y = 0)."""
        scale = max(np.abs(f).max(), np.finfo(float).tiny)  # Newton meets scores in [−1, 1]
        total = float(len(f) if w is None else w.sum())
        A, self.b_ = fit_sigmoid(f / scale, 2.0 * y - 1.0, w, tol=1e-10 * max(total, 1.0))
        self.a_ = A / scale
        return self

    def predict(self, f):
        """The probability of each score."""
        return sigmoid(f, self.a_, self.b_)


class Temperature(BaseEstimator):
    """The inverse temperature (6) of all classes."""

    def fit(self, f, y, w=None):
        """Fit β to scores f, one column per class, of rows whose columns are y."""
        f = f - f.max(axis=1, keepdims=True)  # softmax is unchanged
        w = np.ones(len(f)) if w is None else w
        right = f[np.arange(len(f)), y]
        low, high = -LOG_BETA, LOG_BETA
        if slope(f, right, w, np.exp(low))[0] >= 0.0:
            self.beta_ = np.exp(low)
            return self
        if slope(f, right, w, np.exp(high))[0] <= 0.0:
            self.beta_ = np.exp(high)
            return self
        u = 0.0  # log β, between low and high
        for _ in range(200):
            beta = np.exp(u)
            first, second = slope(f, right, w, beta)
            low, high = (u, high) if first < 0.0 else (low, u)
            new = beta - first / second if second > 0.0 else 0.0
            new = np.log(new) if new > 0.0 else low
            new = new if low < new < high else (low + high) / 2.0
            if abs(new - u) <= 1e-13:
                break
            u = new
        self.beta_ = np.exp(u)
        return self

    def predict(self, f):
        """The probabilities of each row of scores."""
        return softmax(self.beta_ * f, axis=1)


def slope(f, right, w, beta):
    """The first and second derivative of (6)."""
    p = np.exp(beta * f - logsumexp(beta * f, axis=1, keepdims=True))
    mean = np.einsum("ik,ik->i", p, f)
    variance = np.einsum("ik,ik->i", p, (f - mean[:, None]) ** 2)
    return float(w @ (mean - right)), float(w @ variance)
