r"""Slice sampling: a point under the density, uniformly

Points (x, h) that are uniform under the graph of π have x with density π. One coordinate at a time:

    a height below the density at x: log h = log π(x) − e, e exponential                         (1)
    an interval of width w placed at random around x_j, widened by w until both ends are above π (2)
    a point of it, uniformly; if it is not under the graph, the interval shrinks to it, and again
    (3)

There is nothing to tune but w, and w costs only time: a step too long shrinks, too short widens.

References
----------
Neal: Slice sampling. Annals of Statistics 31 (2003), 705–767.
"""

import math

import numpy as np

from mlreplica.core.compile.jit import kernel

from .density import evaluate, log_density
from .random import exponential, uniform
from .sampler import Sampler

MOST_STEPS = 100  # of widening, shared between the two sides by chance


@kernel(part=True, borrow=True)
def value_at(target, u, j, x):
    """log π with u_j = x."""
    keep = u[j]
    u[j] = x
    value = log_density(target, u)
    u[j] = keep
    return value


@kernel(part=True, borrow=True)
def left_at(trial, u, j, x):
    """trial ← u with u_j = x, where the density is not a number; return NaN."""
    for i in range(len(u)):
        trial[i] = u[i]
    trial[j] = x
    return math.nan


@kernel(part=True, borrow=True)
def slice_coordinate(target, words, u, trial, j, value, width, counts):
    """Renew u_j; return log π there, or NaN if a density is not a number (it is that of trial)."""
    level = value - exponential(words)  # (1)
    left = u[j] - width * uniform(words)
    right = left + width
    on_left = int(MOST_STEPS * uniform(words))
    for side in range(2):  # (2)
        for _ in range(on_left if side == 0 else MOST_STEPS - 1 - on_left):
            end = left if side == 0 else right
            found = value_at(target, u, j, end)
            counts[1] += 1
            if math.isnan(found) or found == math.inf:
                return left_at(trial, u, j, end)
            if found < level:
                break
            if side == 0:
                left -= width
            else:
                right += width
    start = u[j]
    while True:  # (3)
        x = left + (right - left) * uniform(words)
        found = value_at(target, u, j, x)
        counts[1] += 1
        if math.isnan(found) or found == math.inf:
            return left_at(trial, u, j, x)
        if found >= level:
            u[j] = x
            counts[0] += 1
            return found
        if x < start:
            left = x
        else:
            right = x
        if right - left < 1e-300:  # nothing but the point itself
            return value


@kernel(borrow=True)
def slice_steps(
    target, words, u, trial, value, counts, widths, moved, adapting, out, stats, n, thin
):
    """n draws of all coordinates in turn; 1 if a density is not a number."""
    for k in range(n):
        for _ in range(thin):
            for j in range(len(u)):
                before = u[j]
                found = slice_coordinate(target, words, u, trial, j, value[0], widths[j], counts)
                if math.isnan(found):
                    return 1
                value[0] = found
                moved[j] += abs(u[j] - before)
            if adapting:
                value[1] += 1.0
                if value[1] == value[2]:  # after 16, 32, 64 … steps
                    for j in range(len(u)):
                        if moved[j] > 0.0:
                            widths[j] = 3.0 * moved[j] / value[1]
                        moved[j] = 0.0
                    value[1], value[2] = 0.0, 2.0 * value[2]
        if len(out) > 0:
            for j in range(len(u)):
                out[k, j] = u[j]
            stats[k, 0] = value[0]
    return 0


class Slice(Sampler):
    """Slice sampling of one coordinate after the other, by stepping out and shrinking.

    Parameters
    ----------
    log_density : callable
        The logarithm of the density, up to a constant.
    width : float or array-like of shape (d,), default=1.0
        First width w of the intervals, on the unconstrained scale.
    adapt : bool, default=True
        Whether the warm-up sets w to three times the mean move.
    parameters : dict of supports or None, default=None

    Examples
    --------
    >>> from mlreplica.mcmc import Slice
    >>> draws = Slice(lambda x: -abs(x[0])).sample([0.0], 1000, random_state=0)
    >>> bool(1.2 < draws.array.std() < 1.6)
    True
    """

    chain_warmup = 500

    def __init__(self, log_density, width=1.0, *, adapt=True, parameters=None):
        self.log_density, self.width, self.adapt = log_density, width, adapt
        self.parameters = parameters
        self.density = self.make_density()

    def new_chain(self, u, words):
        """A chain at u."""
        width = np.asarray(self.width, dtype=np.float64)
        if width.shape not in ((), u.shape) or not (np.isfinite(width) & (width > 0)).all():
            raise ValueError(f"width must be positive, one number or {len(u)}, got {self.width!r}.")
        return {
            "words": words, "u": u, "trial": u.copy(),
            "value": np.array([evaluate(self.density.target(), u), 0.0, 16.0]),
            "counts": np.zeros(2, dtype=np.int64),
            "widths": np.array(np.broadcast_to(width, u.shape)), "moved": np.zeros(len(u)),
        }  # fmt: skip

    def advance(self, chain, out, stats, n, thin, step, n_warmup):
        """n draws of a chain, or n steps of its warm-up."""
        warm = out is None
        out = np.empty((0, self.layout.size)) if warm else out
        stats = np.empty((0, 1)) if warm else stats
        adapting = bool(warm and self.adapt)
        if slice_steps(self.density.target(), *chain.values(), adapting, out, stats, n, thin):
            self.refuse(chain)
