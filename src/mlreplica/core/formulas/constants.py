"""Best constants: the one score f that, given to every row, has the least mean loss

It is where boosting starts and what a model without features predicts. It solves
(equations (1) to (10) are in `losses.py`)

    Σ_i w_i ∂L(y_i, f)/∂f = 0                                            (11)

by hand below for each loss that allows it, and by bisection for every other: the left
side of (11) grows with f if L is convex. All take y and its weights w > 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log, log1p
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]

TINY = float(np.finfo(float).eps)  # a share or a mean of 0 counts as this much: f stays finite


def bisection(gradient: Callable[..., Any], y: Array, w: Array) -> float:
    """Midpoint of the interval on which the mean of a convex loss has slope 0."""

    def slope(f: float) -> float:
        terms = w * gradient(y, np.full(len(y), f))
        total = float(terms.sum())
        return total if abs(total) > 4.0 * TINY * np.abs(terms).sum() else 0.0

    def edge(beyond: Callable[[float], bool]) -> float:
        low, high = -1.0, 1.0
        while beyond(low) and low > -(2.0**100):
            low *= 2.0
        while not beyond(high) and high < 2.0**100:
            high *= 2.0
        while high - low > TINY * (abs(low) + abs(high)) + 1e-300:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if beyond(middle) else (middle, high)
        return 0.5 * (low + high)

    return 0.5 * (edge(lambda f: slope(f) >= 0.0) + edge(lambda f: slope(f) > 0.0))


def share(y: Array, w: Array) -> float:
    """The weighted share of y = +1, kept away from 0 and 1"""
    return float(np.clip(np.average(y > 0.0, weights=w), TINY, 1.0 - TINY))


def log_odds(y: Array, w: Array) -> float:
    """log p/(1 − p) for the share p of y = +1"""
    return log(share(y, w)) - log1p(-share(y, w))


@dataclass(frozen=True)
class Quantile:
    """The midpoint of all weighted q-quantiles"""

    q: float

    def __call__(self, y: Array, w: Array) -> float:
        order = np.argsort(y)
        y, upto = y[order], np.cumsum(w[order])
        level = self.q * upto[-1]
        first, last = np.searchsorted(upto, level), np.searchsorted(upto, level, side="right")
        return float(0.5 * (y[first] + y[min(last, len(y) - 1)]))


def mean(y: Array, w: Array) -> float:
    """Σ w y / Σ w"""
    return float(np.average(y, weights=w))


def log_mean(y: Array, w: Array) -> float:
    """The logarithm of the mean"""
    return log(max(mean(y, w), TINY))


def majority(y: Array, w: Array) -> float:
    """The heavier sign; 0 between equals"""
    return float(np.sign(w @ y))


def majority_or_plus(y: Array, w: Array) -> float:
    """The heavier sign; +1 between equals, since the 0–1 loss counts f = 0 as wrong"""
    return majority(y, w) or 1.0


def origin(y: Array, w: Array) -> float:
    """0, where the perceptron loss of a constant is 0"""
    return 0.0


def half_log_odds(y: Array, w: Array) -> float:
    """Half of the log-odds"""
    return 0.5 * log_odds(y, w)


def log_shares(y: Array, w: Array) -> Array:
    """The logarithm of every class's share, less their mean: (10) ignores a common shift"""
    shares = np.log(np.maximum(np.bincount(y, w) / w.sum(), TINY))
    return np.asarray(shares - shares.mean())
