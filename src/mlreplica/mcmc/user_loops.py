"""Loops around a user's functions of random numbers, compiled together with them

A proposal or a conditional draws random numbers: `proposal(x, rng)` with a
`numpy.random.Generator`, which Numba compiles too. The loop around it is a Python function as
well, which finds the user's functions in its surroundings; the whole becomes one piece of machine
code (`core/compile/user.py`), and where that cannot be, the same loop runs as Python.

Arrays are copied number by number: for `x[:] = y` Numba compiles a message about shapes, which
takes longer than all the rest.
"""

import math

import numpy as np

from mlreplica.core.compile.jit import PURE_PYTHON
from mlreplica.core.compile.source import NotCompilableError
from mlreplica.core.compile.user import Unit, say_plain


def compile_loop(write, plain, named, sample_args):
    """A function like `plain`, compiled if that is possible, and whether it is.

    Parameters
    ----------
    write : callable
        Writes the loop into a Unit; returns further text and the name of the function.
    plain : callable
        The loop in Python.
    named : callable
        The user's function that the log names if it cannot be compiled.
    sample_args : tuple
        Arguments of a call that does nothing, with which it is compiled.
    """
    if PURE_PYTHON:
        return plain, False
    try:
        unit = Unit()
        return unit.bind(*write(unit), sample_args), True
    except NotCompilableError as error:
        say_plain(named, str(error))
        return plain, False


def hastings_loop(log_density, propose, log_q, symmetric):
    """The steps of Metropolis–Hastings (1) with a user's proposal and its density."""

    def hastings_steps(x, trial, value, counts, rng, out, stats, n, thin):
        x_value = value[0]
        for k in range(n):
            for _ in range(thin):
                y = propose(x, rng)
                y_value = log_density(y)
                log_ratio = y_value - x_value
                if not symmetric and y_value > -math.inf:  # else it is rejected whatever q is
                    log_ratio += log_q(x, y) - log_q(y, x)  # (1)
                if math.isnan(log_ratio) or y_value == math.inf:
                    for j in range(len(x)):
                        trial[j] = y[j]
                    return 1
                if log_ratio >= 0.0 or rng.random() < math.exp(log_ratio):
                    for j in range(len(x)):
                        x[j] = y[j]
                    x_value = y_value
                    counts[0] += 1
                counts[1] += 1
            if len(out) > 0:
                for j in range(len(x)):
                    out[k, j] = x[j]
                stats[k, 0] = x_value
        value[0] = x_value
        return 0

    return hastings_steps


def generator_from(state):
    """The Generator whose state eight words hold, as `keep_generator` wrote them."""
    words = [int(word) for word in state]
    rng = np.random.Generator(np.random.PCG64())
    rng.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": words[0] << 64 | words[1], "inc": words[2] << 64 | words[3]},
        "has_uint32": words[4],
        "uinteger": words[5],
    }
    return rng


def keep_generator(rng, state):
    """Write the state of a Generator into words that can be saved."""
    found, mask = rng.bit_generator.state, (1 << 64) - 1
    inner = found["state"]
    state[:6] = [
        inner["state"] >> 64, inner["state"] & mask, inner["inc"] >> 64, inner["inc"] & mask,
        found["has_uint32"], found["uinteger"],
    ]  # fmt: skip


def new_generator_words(words):
    """The words of a new Generator that is seeded with four words."""
    state = np.zeros(8, dtype=np.uint64)
    keep_generator(np.random.default_rng([int(word) for word in words]), state)
    return state
