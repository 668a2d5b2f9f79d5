r"""Simulated annealing: Metropolis at a falling temperature

The density ∝ e^{−f(x)/T} prefers low f, the more so the colder it is; at T → 0 all of it lies at
the minimum. A Metropolis chain at temperature T goes from x to y with probability               (1)

    min(1, e^{−(f(y) − f(x)) / T})

so it climbs out of a valley as long as T is not small against the height of the ridge. The
temperature falls geometrically, and the proposals shrink so that some 30 % are accepted:        (2)

    T_k = T_0 (T_end / T_0)^{k/n}

No finite schedule guarantees the best minimum. The last tenth of the steps goes only down, from the
best point so far; several chains are compared, and the best point wins.

References
----------
Kirkpatrick, Gelatt, Vecchi: Optimization by simulated annealing. Science 220 (1983), 671–680.
"""

import math
from typing import NamedTuple

import numpy as np

from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import run

from .density import LogDensity, evaluate, log_density
from .random import normal, seeds, uniform


@kernel(borrow=True)
def anneal_steps(target, words, x, y, best, values, scales, T0, T1, n, path):
    """n steps of (1) along the schedule (2); 1 if f is not a number. values: f(x), f(best)."""
    d, every, down = len(x), max(1, n // max(1, len(path))), n - n // 10
    for k in range(n):
        T = T0 * (T1 / T0) ** (k / n)  # (2)
        if k == down:
            values[0] = values[1]
            for j in range(d):
                x[j] = best[j]
        for j in range(d):
            y[j] = x[j] + scales[0] * scales[1 + j] * normal(words)
        value = log_density(target, y)
        if math.isnan(value):
            return 1
        chance = 1.0 if value <= values[0] else 0.0
        if value > values[0] and k < down:
            chance = math.exp((values[0] - value) / T)  # (1)
        if uniform(words) < chance:
            values[0] = value
            for j in range(d):
                x[j] = y[j]
            if value < values[1]:
                values[1] = value
                for j in range(d):
                    best[j] = x[j]
        scales[0] *= math.exp(0.05 * (chance - 0.3))
        scales[0] = min(scales[0], 1e3)
        if k % every == 0 and k // every < len(path):
            row = path[k // every]
            row[0], row[1], row[2] = T, values[0], values[1]
            for j in range(d):
                row[3 + j] = x[j]
    return 0


class Objective(LogDensity):
    """A function to minimise."""

    name, zero, raised = "objective", "return np.inf where it must not go", math.nan


class Annealed(NamedTuple):
    """The best point of all chains, and how they came there."""

    x: np.ndarray
    value: float
    ends: np.ndarray  # (n_chains, d): the best point of each chain
    values: np.ndarray  # (n_chains,): f there
    path: np.ndarray  # (n_chains, n_records, 3 + d): temperature, f(x), best f so far, x


def simulated_annealing(
    objective,
    x0,
    *,
    n_steps=20_000,
    temperature=None,
    end_temperature=None,
    scale=1.0,
    n_chains=4,
    random_state=None,
    n_jobs=None,
    n_records=200,
):
    """Minimise a function by simulated annealing (1).

    Parameters
    ----------
    objective : callable
        A function of one vector; +inf is never entered. It is compiled if it can be.
    x0 : array-like of shape (d,)
        Where all chains start.
    n_steps : int, default=20_000
        Steps per chain.
    temperature : float or None, default=None
        T_0; None takes the spread of f among 100 points around x0.
    end_temperature : float or None, default=None
        T_end; None means T_0 / 1000.
    scale : float or array-like of shape (d,), default=1.0
        First size of the steps, per coordinate.
    n_chains : int, default=4
    random_state : int, Generator, RandomState or None, default=None
    n_jobs : int or None, default=None
    n_records : int, default=200
        How many records of each chain's path to keep.

    Returns
    -------
    found : Annealed
        `x` and `value` of the best point, and the path of every chain.

    Examples
    --------
    >>> from mlreplica.mcmc import simulated_annealing
    >>> def wells(x):
    ...     return (x[0] ** 2 - 1.0) ** 2 + 0.3 * x[0]
    >>> found = simulated_annealing(wells, [1.0], random_state=0)
    >>> round(float(found.x[0]), 1)
    -1.0
    """
    x0 = np.array(x0, dtype=np.float64)
    if x0.ndim != 1 or x0.size == 0 or not np.isfinite(x0).all():
        raise ValueError("x0 must be a finite vector.")
    f = Objective(objective)
    f.set_dimension(len(x0))
    start = f.in_python(x0, place="the start ")
    if not math.isfinite(start):
        raise ValueError(f"objective is {start} at x0; start where it is finite.")
    scales = np.array(np.broadcast_to(np.asarray(scale, dtype=np.float64), x0.shape))
    children, target = seeds(random_state, n_chains), f.target()
    if temperature is None:
        rng = np.random.default_rng(children[0])
        points = x0 + scales * rng.standard_normal((100, len(x0)))
        with f.interruptible():
            around = [evaluate(target, point) for point in points]
        around = [value for value in around if math.isfinite(value)]
        temperature = max(float(np.std(around)) if around else 1.0, 1e-12)
    end = temperature * 1e-3 if end_temperature is None else end_temperature
    if not (0.0 < end <= temperature < math.inf):
        raise ValueError(f"Temperatures must satisfy 0 < {end!r} <= {temperature!r}.")

    def chain(child):
        x, best, values = x0.copy(), x0.copy(), np.array([start, start])
        words, y = child.generate_state(4, np.uint64), x0.copy()
        path = np.zeros((n_records, 3 + len(x0)))
        sizes = np.concatenate([[1.0], scales])
        bad = anneal_steps(
            f.target(), words, x, y, best, values, sizes, float(temperature), float(end), n_steps,
            path,
        )  # fmt: skip
        if bad:
            f.refuse(y, np.nan)
        return best, values[1], path

    with f.interruptible():
        ends, values, paths = zip(*run(chain, children, n_jobs=n_jobs), strict=True)
    k = int(np.argmin(values))
    return Annealed(ends[k], float(values[k]), np.array(ends), np.array(values), np.array(paths))
