"""A budget of time, shared fairly

Each model is first timed on few rows, then on four times as many, as long as that is cheap. From
its last two times follow its power law t = a nᵇ and so what all rows would take. Everyone gets the
same share; who needs less leaves the rest to the others; who needs more gets fewer rows.
"""

import time
from contextlib import ExitStack

import numpy as np

from mlreplica.core.compile.events import record_compilations

GROWTH = 4  # from one timing to the next


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


def share(needs, total):
    """The largest share s with Σ min(need, s) ≤ total: the level to which water would rise."""
    needs, left = np.sort(needs), float(total)
    for k, need in enumerate(needs):
        equal = left / (len(needs) - k)
        if need > equal:
            return equal
        left -= need
    return np.inf
