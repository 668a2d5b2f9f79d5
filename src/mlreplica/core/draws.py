"""Draws: the random numbers of trees, as scikit-learn draws them: same seed, same tree"""

from __future__ import annotations

from typing import Any

import numpy as np

from .splits import lean


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
