"""Draws: the random numbers of trees, as scikit-learn draws them: same seed, same tree"""

from __future__ import annotations

import threading
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .jit import kernel
from .splits import lean

WORDS, LARGEST = 624, np.iinfo(np.int32).max
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


def draws(seeds: Any, n: int, m: int) -> tuple[Any, Any]:
    """What RandomState(seed) of NumPy draws: m numbers below n, and one below LARGEST instead.

    (seeds, m) int32 and (seeds,) int64.
    """
    rows, own = np.empty((len(seeds), m), np.int32), np.empty(len(seeds), np.int64)
    twist(np.asarray(seeds, np.int64), n, rows, own, np.empty(WORDS, np.int64))
    return rows, own


@kernel(borrow=True)
def twist(seeds: Any, n: int, rows: Any, own: Any, key: Any) -> None:
    """`draws` by the Mersenne twister of Matsumoto and Nishimura (1998); key: its state."""
    mask = 1
    while mask < n:
        mask *= 2
    mask -= 1
    for t in range(len(seeds)):
        word: Any = seeds[t]
        for i in range(WORDS):
            key[i] = word
            word = (1812433253 * (word ^ (word >> 30)) + i + 1) & 0xFFFFFFFF
        i, drawn, own[t] = 0, 0, -1
        while drawn < rows.shape[1] or own[t] < 0:
            following = i + 1 if i + 1 < WORDS else 0
            word = (key[i] & 0x80000000) | (key[following] & 0x7FFFFFFF)
            word = (word >> 1) ^ (-(word & 1) & 0x9908B0DF)
            word ^= key[i + 397 if i + 397 < WORDS else i + 397 - WORDS]
            key[i], i = word, following
            word ^= word >> 11
            word ^= (word << 7) & 0x9D2C5680
            word ^= (word << 15) & 0xEFC60000
            word ^= word >> 18
            if own[t] < 0 and word & LARGEST < LARGEST:
                own[t] = word & LARGEST
            if drawn < rows.shape[1]:
                rows[t, drawn] = word & mask
                drawn += word & mask < n


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
