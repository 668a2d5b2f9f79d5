"""Draws: the random numbers of trees, as scikit-learn draws them: same seed, same tree"""

from __future__ import annotations

import threading
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mlreplica.core.compile.jit import kernel
from mlreplica.core.growth.splits import lean

WORDS, LARGEST = 624, np.iinfo(np.int32).max
# How far the draws of a node have come: constant columns known before, found now, drawn of those
# known; columns drawn, and where in `features` begin those that were not constant.
KNOWN, FOUND, DRAWN, SEEN, END = range(5)
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


@lean
def begin_draws(drawing: Any, known: Any, p: Any) -> None:
    """At a node that has `known` constant columns of p."""
    drawing[KNOWN], drawing[END] = known, p
    drawing[FOUND] = drawing[DRAWN] = drawing[SEEN] = 0


@lean
def draw_column(features: Any, drawing: Any, wanted: Any, state: Any) -> Any:
    """Where in `features` the next column stands, or −1: `wanted` were drawn, not all constant.

    A shuffle of Fisher and Yates: the columns known to be constant come first, then those found to
    be, those not drawn yet, and those that have been looked at.
    """
    while drawing[END] > drawing[KNOWN] + drawing[FOUND]:
        drawn, found = drawing[DRAWN], drawing[FOUND]
        if drawing[SEEN] >= wanted and drawing[SEEN] > found + drawn:
            break
        drawing[SEEN] += 1
        j = drawn + draw(state) % (drawing[END] - found - drawn)
        if j >= drawing[KNOWN]:
            return j + found
        features[drawn], features[j] = features[j], features[drawn]
        drawing[DRAWN] += 1
    return np.int64(-1)


@lean
def put_column(features: Any, drawing: Any, j: Any, is_constant: Any) -> None:
    """Move the column at j to those found constant, or to those looked at."""
    drawing[FOUND] += is_constant
    drawing[END] -= not is_constant
    k = drawing[KNOWN] + drawing[FOUND] - 1 if is_constant else drawing[END]
    features[j], features[k] = features[k], features[j]


@lean
def keep_constants(features: Any, constant: Any, drawing: Any) -> Any:
    """Let the descendants know the columns that are constant here; return how many."""
    known, end = drawing[KNOWN], drawing[KNOWN] + drawing[FOUND]
    for j in range(known):
        features[j] = constant[j]
    for j in range(known, end):
        constant[j] = features[j]
    return end
