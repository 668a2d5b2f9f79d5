r"""AdaBoost: every learner repairs what those before it got wrong

K classes; h_t(x) is the class that learner t votes for, α_t the weight of its vote:

    F_k(x) = Σ_t α_t ([h_t(x) = k] − 1/K),      predict argmax_k F_k(x)                       (1)

AdaBoost lowers the exponential loss of the votes, one learner at a time,

    J_t = Σ_i u_i exp(−F_{y_i}(x_i)),      Σ_i u_i = 1                                        (2)

with the user's weights u. The terms of J, divided by their sum, are the weights w_i under which
the next learner is fitted. Let it err with the probability

    ε_t = Σ_i w_i [h_t(x_i) ≠ y_i]                                                            (3)

A right vote multiplies a row's term by exp(−α(K−1)/K), a wrong one by exp(α/K), so

    J_t = J_{t−1} Z_t,      Z_t = (1 − ε_t) exp(−α_t (K−1)/K) + ε_t exp(α_t/K)                (4)

which is least for (η = 1; a learning rate η < 1 goes only part of the way)

    α_t = η [log((1 − ε_t)/ε_t) + log(K − 1)]                                                 (5)

and α_t > 0 as long as ε_t < 1 − 1/K: better than guessing is enough. The weights become

    w_i ← w_i exp(α_t [h_t(x_i) ≠ y_i]) / their sum                                           (6)

A row with a wrong prediction has F_{y_i} ≤ 0 if K = 2, so the training error is at most
J_t = Π 2√(ε_t(1 − ε_t)): with errors of at most ½ − γ it falls like exp(−2γ²t).

The learner by default is a stump, one split of one column. The weights change from round to round,
the order of a column's values does not: columns are sorted once, a round is one pass over them.

Freund, Schapire, A decision-theoretic generalization of on-line learning and an application to
boosting (1997); Zhu, Zou, Rosset, Hastie, Multi-class AdaBoost (2009).
"""

import warnings
from math import exp, isfinite, log
from typing import NamedTuple

import numpy as np

LEAST = float(np.finfo(np.float64).eps)  # a weight that is not 0 never falls below this


class SammeRound(NamedTuple):
    """One round: ε (3), α (5), J (2) after it, and the weights under which it was fitted."""

    error: float
    weight: float
    objective: float
    sample_weight: np.ndarray


def samme(fit_weak, w, n_classes, rate):
    """Yield a SammeRound indefinitely, or until a learner is perfect or no better than guessing.

    `fit_weak(w)` fits the next learner and says which rows it gets wrong.
    """
    absent, objective = w == 0.0, 1.0
    guess = 1.0 - 1.0 / n_classes
    while True:
        w = np.maximum(w, LEAST)
        w[absent] = 0.0
        wrong = fit_weak(w)
        error = float(np.average(wrong, weights=w))  # (3)
        if error <= 0.0:
            yield SammeRound(0.0, 1.0, objective * exp(-guess), w)
            return
        if error >= guess:
            return
        alpha = rate * (log((1.0 - error) / error) + log(n_classes - 1.0))  # (5)
        objective *= (1.0 - error) * exp(-alpha * guess) + error * exp(min(alpha / n_classes, 700))
        yield SammeRound(error, alpha, objective, w)  # (4)
        with np.errstate(over="ignore"):
            w = np.where(wrong, w * np.exp(alpha), w)  # (6)
        total = float(w.sum())
        if not isfinite(total):
            warnings.warn(
                "Sample weights have reached infinite values, causing overflow. "
                "Iterations stopped. Try lowering the learning rate.",
                stacklevel=6,
            )
            return
        w /= total
