"""Random numbers inside kernels: one stream of its own for every chain

A stream is four 64-bit words, the state of xoshiro256++, which NumPy's SeedSequence fills; so
chains are independent and do not depend on the threads they run on. Normal numbers come from the
ziggurat of 256 layers: a layer, a point in it, and in 99 of 100 cases the point lies below the
density.

References
----------
Blackman, Vigna: Scrambled linear pseudorandom number generators. ACM TOMS 47 (2021).
Marsaglia, Tsang: The ziggurat method for generating random variables. J. Stat. Softw. 5 (2000);
in the form of Doornik: An improved ziggurat method to generate normal random samples (2005).
Marsaglia, Tsang: A simple method for generating gamma variables. ACM TOMS 26 (2000).
"""

import math

import numpy as np

from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.words import (
    as_int,
    rotate,
    shift_left,
    shift_right,
    wrapping_add,
)

R, V = 3.6541528853610088, 0.00492867323399  # where the tail begins, area of a layer
UNIT = 2.0**-53


def ziggurat():
    """The right ends of the layers, and what part of each lies wholly below the density."""
    ends = [V / math.exp(-0.5 * R * R), R]
    while len(ends) < 256:
        x = ends[-1]
        ends.append(math.sqrt(-2.0 * math.log(V / x + math.exp(-0.5 * x * x))))
    ends = np.array([*ends, 0.0])
    return ends, ends[1:] / ends[:-1]


ENDS, INNER = ziggurat()


def seeds(random_state, n):
    """n independent SeedSequences from a seed, a Generator, a RandomState or None."""
    if isinstance(random_state, np.random.SeedSequence):
        return random_state.spawn(n)
    if isinstance(random_state, np.random.Generator):
        random_state = int(random_state.integers(2**63))
    elif isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31 - 1))
    try:
        return np.random.SeedSequence(random_state).spawn(n)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "random_state must be an integer >= 0, a Generator, a RandomState or None, "
            f"got {random_state!r}."
        ) from error


@kernel(part=True, borrow=True)
def next_word(s):
    """64 random bits; the state s changes."""
    s0, s1 = s[0], s[1]
    s2, s3 = s[2] ^ s0, s[3] ^ s1
    found = wrapping_add(rotate(wrapping_add(s0, s[3]), 23), s0)
    s[0], s[1] = s0 ^ s3, s1 ^ s2
    s[2], s[3] = s2 ^ shift_left(s1, 17), rotate(s3, 45)
    return found


@kernel(part=True, borrow=True)
def uniform(s):
    """A number of [0, 1) with 53 random bits."""
    return as_int(shift_right(next_word(s), 11)) * UNIT


@kernel(part=True, borrow=True)
def exponential(s):
    """A number of density e^−x on x ≥ 0."""
    return -math.log(1.0 - uniform(s))


@kernel(part=True, borrow=True)
def normal(s):
    """A number of the standard normal distribution."""
    while True:
        word = next_word(s)
        i = as_int(word & np.uint64(255))
        u = as_int(shift_right(word, 11)) * (2.0 * UNIT) - 1.0
        x = u * ENDS[i]
        if abs(u) < INNER[i]:
            return x
        if i == 0:  # the tail beyond R
            y = -1.0
            while 2.0 * y < x * x:
                x, y = exponential(s) / R, exponential(s)
            return R + x if u > 0.0 else -R - x
        high = math.exp(-0.5 * (ENDS[i] * ENDS[i] - x * x))
        low = math.exp(-0.5 * (ENDS[i + 1] * ENDS[i + 1] - x * x))
        if high + uniform(s) * (low - high) < 1.0:
            return x


@kernel(part=True, borrow=True)
def gamma(s, shape):
    """A number of the gamma distribution of this shape and scale 1."""
    boost = 1.0
    if shape < 1.0:
        boost, shape = (1.0 - uniform(s)) ** (1.0 / shape), shape + 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(s)
        v = 1.0 + c * x
        if v > 0.0:
            v = v * v * v
            if math.log(1.0 - uniform(s)) < 0.5 * x * x + d - d * v + d * math.log(v):
                return boost * d * v
