"""Fits of models on the folds of a table, each timed, judged and listened to"""

import threading
import time
import warnings
from contextlib import contextmanager
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .metrics import METRICS
from .models import core, model_for, needs, preparation

BLOCKS = 10  # parts of the rows to judge by, whose scores say how sure the score is


class Fit(NamedTuple):
    """One fit of one model."""

    score: float | None
    fit_seconds: float
    predict_seconds: float
    rows: int
    cpu: tuple  # of this thread, in fit and predict: what others do on the machine is not in it
    certificate: float | None = None
    warned: bool = False
    error: str = ""
    tests: int = 0  # rows it was judged on
    blocks: tuple = ()  # scores on parts of these, as many rows each
    metrics: dict = {}  # all the metrics of the task that the model allows

    @property
    def spread(self):
        """The standard error of the score, by its blocks."""
        return float(np.std(self.blocks) / np.sqrt(max(len(self.blocks) - 1, 1)))


class Answers:
    """What a model says of some rows; every method is asked once, and gives the rows wanted."""

    def __init__(self, model, X):
        self.model, self.X, self.said, self.cpu = model, X, {}, 0.0

    def __getattr__(self, name):
        method = getattr(self.model, name)
        if not callable(method):
            return method
        if name not in self.said:
            begin = time.thread_time()
            self.said[name] = method(self.X)
            self.cpu += time.thread_time() - begin
        return lambda rows: self.said[name][rows]


def scored(metric, answers, rows, y):
    """A further score; None where the model, or these rows, do not allow it."""
    try:
        value = float(metric.score(answers, rows, y))
    except (ValueError, TypeError, AttributeError, ArithmeticError):
        return None
    return value if np.isfinite(value) else None


class Folds:
    """The folds of a table, each prepared once as a model needs it; safe to fit on from threads."""

    def __init__(self, table, parts, judge, seed):
        self.table, self.judge, self.seed = table, judge, seed
        shuffled = np.random.default_rng(seed).permutation  # the first few speak for the rest
        self.parts = [(train, shuffled(test)) for train, test in parts]
        self.full, self.n_test = (len(rows) for rows in parts[-1])  # the last in time learns most
        self.metrics = {name: m for name, m in METRICS.items() if m.task == table.task}
        self.prepared, self.lock = {}, threading.Lock()

    def __len__(self):
        return len(self.parts)

    def fit(self, k, cls, rows=None, tests=None):
        """Fit and judge one model on fold k; one that cannot is a Fit with the reason."""
        X_train, X_test, order = self.fold(k, needs(cls))
        train, test = self.parts[k]
        y_train, y_test = self.table.y[train], self.table.y[test]
        if rows is not None and rows < len(train):
            X_train, y_train = X_train[order[:rows]], y_train[order[:rows]]
        X_test, y_test = X_test[:tests], y_test[:tests]
        thread.heard, times = [], [now()]
        try:
            model = model_for(cls, self.table, self.seed).fit(X_train, y_train)
            times.append(now())
            answers = Answers(model, X_test)
            value = float(self.judge.score(answers, slice(None), y_test))
        except (ValueError, TypeError, AttributeError, ArithmeticError, MemoryError) as error:
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            wall, _ = now() - times[0]
            return Fit(None, wall, 0.0, len(y_train), (0.0, 0.0), error=reason)
        times.append(now())
        others = {name: scored(m, answers, slice(None), y_test) for name, m in self.metrics.items()}
        edges = np.linspace(0, len(y_test), BLOCKS + 1).astype(int)
        parts = [slice(*ends) for ends in pairwise(edges)] * (len(y_test) >= 20 * BLOCKS)
        blocks = (scored(self.judge, answers, part, y_test[part]) for part in parts)
        wall, cpu = np.diff(times, axis=0).T.tolist()
        cpu[1] = answers.cpu
        certificate = getattr(core(model)[0], "certificate_", None)
        return Fit(
            value,
            *wall,
            len(y_train),
            tuple(cpu),
            None if certificate is None else float(np.max(certificate)),
            ConvergenceWarning in thread.heard,
            "",
            len(y_test),
            tuple(block for block in blocks if block is not None),
            {name: other for name, other in others.items() if other is not None},
        )

    def fold(self, k, need):
        """Fold k prepared as a model needs it, and the order in which rows are taken if few are."""
        with self.lock:
            if (k, need) not in self.prepared:
                for old in [key for key in self.prepared if 0 <= key[0] < k - 1]:
                    del self.prepared[old]  # threads are at most one fold apart
                train, test = self.parts[k]
                X_train, X_test = self.table.X[train], self.table.X[test]
                prepare = preparation(need, self.table)
                if prepare is not None:
                    X_train, X_test = prepare.fit_transform(X_train), prepare.transform(X_test)
                self.prepared[k, need] = X_train, X_test, self.order(train)
            return self.prepared[k, need]

    def order(self, train):
        """Rows in random order, five of each class in front; in time, the latest first."""
        if self.table.time is not None:
            return np.arange(len(train))[::-1]
        order = np.random.default_rng(self.seed).permutation(len(train))
        if self.table.task == "regression":
            return order
        y = self.table.y[train][order]
        first = np.concatenate([np.flatnonzero(y == value)[:5] for value in np.unique(y)])
        return np.concatenate([order[first], np.delete(order, first)])


thread = threading.local()  # heard: the warnings of the fit that this thread is at


def now():
    """The time on the wall, and that of this thread on its core."""
    return np.array([time.perf_counter(), time.thread_time()])


@contextmanager
def listening():
    """Warnings are heard by the thread that they come from, and not printed; gives this one's."""

    def hear(message, category, *_, **__):
        getattr(thread, "heard", []).append(category)

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("always")
        warnings.showwarning = hear
        thread.heard = []
        yield thread.heard
