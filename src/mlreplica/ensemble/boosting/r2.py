r"""AdaBoost.R2: boosting of regressors by resampling

Every round draws n rows with the probabilities w_i, with replacement, fits a regressor h_t to
them and looks at its errors on all rows, relative to the largest one:

    e_i = |y_i − h_t(x_i)| / max_j |y_j − h_t(x_j)|,   or e_i², or 1 − exp(−e_i)              (1)
    ε_t = Σ_i w_i e_i,      β_t = ε_t / (1 − ε_t)                                             (2)

Rows that are predicted well lose weight, the better the more, and h_t gets a vote:

    w_i ← w_i β_t^{η(1 − e_i)} / their sum,      α_t = η log(1/β_t)                           (3)

It ends when ε_t ≥ ½. The prediction is the median of the votes by weight: the least h_t(x) with

    Σ_{s: h_s(x) ≤ h_t(x)} α_s  ≥  ½ Σ_s α_s                                                  (4)

Drawing a row k times is the same as giving it the weight k, so a tree is grown on the columns that
were sorted once, with the counts as weights.

Drucker, Improving regressors using boosting techniques (1997).
"""

from math import log
from typing import NamedTuple

import numpy as np

LEAST = float(np.finfo(np.float64).eps)  # a weight that is not 0 never falls below this
SHAPES = {
    "linear": lambda e: e,
    "square": lambda e: e**2,
    "exponential": lambda e: 1.0 - np.exp(-e),
}


class R2Round(NamedTuple):
    """One round: ε (2), α (3), and the weights under which its rows were drawn."""

    error: float
    weight: float
    sample_weight: np.ndarray


def r2(begin, fit_weak, w, rate, loss, rng):
    """Yield an R2Round indefinitely, or until a regressor is perfect or too bad.

    `begin()` makes the next one, `fit_weak(drawn)` fits it to the rows that were drawn and returns
    |y − h(x)| of all rows.
    """
    absent, shape = w == 0.0, SHAPES[loss]
    rows = np.arange(len(w))
    while True:
        w = np.maximum(w, LEAST)
        w[absent] = 0.0
        begin()
        drawn = rng.choice(rows, size=len(w), replace=True, p=w)
        e = fit_weak(drawn)
        largest = e[~absent].max()
        e = shape(e / largest if largest > 0.0 else e)  # (1)
        error = float((w * e)[~absent].sum())  # (2)
        if error <= 0.0:
            yield R2Round(0.0, 1.0, w)
            return
        if error >= 0.5:
            return
        beta = error / (1.0 - error)
        yield R2Round(error, rate * log(1.0 / beta), w)
        w = np.where(absent, 0.0, w * beta ** (rate * (1.0 - e)))  # (3)
        total = w.sum()
        if not total > 0.0:
            return
        w /= total


def weighted_median(predictions, alpha):
    """(4) of every row; predictions (n, rounds)."""
    order = np.argsort(predictions, axis=1)
    upto = np.cumsum(alpha[order], axis=1)
    middle = (upto >= 0.5 * upto[:, -1:]).argmax(axis=1)
    rows = np.arange(len(predictions))
    return predictions[rows, order[rows, middle]]
