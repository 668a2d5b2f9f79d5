"""Draws: the random numbers of trees, as scikit-learn draws them: same seed, same tree"""

from __future__ import annotations

import threading
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .splits import lean

_thread = threading.local()


def seeded(random_state: Any) -> Any:
    """NumPy's generator; for a number one that the thread has, as a new one takes 100 times longer.

    Not to be kept: the next call seeds it anew.
    """
    if not isinstance(random_state, Integral):
        return check_random_state(random_state)
    if not hasattr(_thread, "generator"):
        _thread.generator = np.random.RandomState()
    _thread.generator.seed(random_state)
    return _thread.generator


@lean
def draw(state: Any) -> Any:
    """The next of 2³¹ whole numbers by Marsaglia's xorshift of 32 bits."""
    s = state[0]
    if s == 0:
        s += 1
    s ^= (s << 13) & 0xFFFFFFFF
    s ^= s >> 17
    s ^= (s << 5) & 0xFFFFFFFF
    state[0] = s
    return s & 0x7FFFFFFF


@lean
def draw_between(state: Any, least: float, most: float) -> Any:
    """A random number from `least` to below `most`."""
    number = np.float64(draw(state))
    threshold = (most - least) * number / 2147483647.0 + least
    if not np.isfinite(threshold):  # too large a product
        share = number / 2147483647.0
        threshold = least * (1.0 - share) + most * share
    return least if threshold >= most else threshold
