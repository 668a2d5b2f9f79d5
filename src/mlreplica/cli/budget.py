"""A budget of time: what a fit will take, and what more rows will gain

The last two times of a model give its power law t = a nᵇ, and so what more rows would take. Its
last two scores give what more rows can gain: every further step of four times as many rows gains
at most LASTING of the step before, so

    promise = score + gain · Σ LASTINGᵏ,  k = 1, …, number of steps
"""

import time
from contextlib import ExitStack

import numpy as np

from mlreplica.core.compile.events import record_compilations

GROWTH = 4  # of the rows from one step to the next
LASTING = 0.8  # a power law n^-b of the error has 4^-b; this is b = 0.16, which few models exceed


def first_rows(n):
    """Rows of the first timing, of n in all."""
    return min(n, max(50, min(500, n // 8)))


class Clock:
    """Seconds since the start without those in which kernels were compiled: that happens once."""

    def __init__(self):
        self.start, self.record, self.listening = time.perf_counter(), None, ExitStack()

    def __enter__(self):
        self.record = self.listening.enter_context(record_compilations())
        return self

    def __exit__(self, *_):
        self.listening.close()

    def __call__(self):
        """The seconds."""
        return time.perf_counter() - self.start - self.compiled

    @property
    def compiled(self):
        """Seconds that went into compiling."""
        return self.record.seconds if self.record else 0.0


class PowerLaw:
    """t = a nᵇ through the last two points; b within reason, as times are noisy."""

    def __init__(self, sizes, seconds):
        self.n, self.t = sizes[-1], max(seconds[-1], 1e-6)
        self.b = 1.0
        if len(sizes) > 1:
            ratio = self.t / max(seconds[-2], 1e-6)
            self.b = float(np.clip(np.log(ratio) / np.log(sizes[-1] / sizes[-2]), 0.5, 3.0))

    def __call__(self, n):
        """Seconds for n rows."""
        return self.t * (n / self.n) ** self.b


class Cost:
    """What a model takes, from its timings (rows, fit seconds, predict seconds a row)."""

    def __init__(self, timings):
        self.timings = timings
        sizes, fits, predicts = zip(*timings, strict=True)
        self.fit, self.predict = PowerLaw(sizes, fits), PowerLaw(sizes, predicts)

    def __call__(self, n_train, n_test):
        """Seconds to fit and predict so many rows."""
        return self.fit(n_train) + n_test * self.predict(n_train)

    def rows(self, seconds, n_train, n_test):
        """The most training rows, at least the first few, that stay within the seconds."""
        if self(n_train, n_test) <= seconds:
            return n_train
        sizes = np.unique(np.geomspace(first_rows(n_train), n_train, 60).astype(int))
        within = [int(n) for n in sizes if self(n, n_test) <= seconds]
        return within[-1] if within else int(sizes[0])


def promise(sizes, scores, reach):
    """The score to hope for at `reach` rows, from those at the last two sizes."""
    if len(scores) < 2:
        return scores[-1]
    steps = lambda small, large: np.log(large / small) / np.log(GROWTH)
    gain = max(scores[-1] - scores[-2], 0.0) / steps(sizes[-2], sizes[-1])
    ahead = max(steps(sizes[-1], reach), 0.0)
    return scores[-1] + gain * LASTING * (1.0 - LASTING**ahead) / (1.0 - LASTING)
