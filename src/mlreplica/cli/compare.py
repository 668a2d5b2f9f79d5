"""Cross-validate everything that suits a table"""

import threading
import time
import warnings
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mlreplica.cli.budget import FIRST, GROWTH, Clock, Cost, share
from mlreplica.cli.checks import warnings_of
from mlreplica.cli.metrics import metric_for
from mlreplica.cli.models import (
    BASELINES,
    core,
    model_for,
    needs,
    note_on_target,
    preparation,
    suitable,
)
from mlreplica.cli.table import splits
from mlreplica.core import parallel


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


def leaderboard(table, metric=None, *, only=(), folds=5, seed=0, seconds=60.0, progress=None):
    """Compare on a table; the result is a dict of plain values, best model first."""
    metric, judge = metric_for(table.task, metric)
    parts = splits(table, folds, seed)
    with Clock() as clock:
        contest = Contest(table, parts, judge.score, seed, clock, seconds, progress)
        baseline, cls = BASELINES[table.task]
        fits = contest.run([(baseline, cls), *suitable(table, only)])
    rows = [summary(name, name == baseline, found, len(parts)) for name, found in fits.items()]
    full = len(parts[-1][0])
    for row in rows:
        remark(row, full, len(parts))
    rows.sort(key=lambda row: (row["score"] is None, -judge.sign * (row["score"] or 0.0)))
    return {
        "data": table.name,
        "rows": table.X.shape[0],
        "columns": [
            {"name": c.name, "kind": c.kind, "missing": c.missing, "note": c.why}
            for c in table.columns
        ],
        "features": table.X.shape[1],
        "target": table.target,
        "task": table.task,
        "metric": metric,
        "split": split_of(table),
        "folds": folds,
        "seed": seed,
        "training_rows": full,
        "seconds": round(clock(), 2),
        "notes": table.notes + note_on_target(fits),
        "warnings": warnings_of(table, parts, metric, seed),
        "leaderboard": rows,
    }


def split_of(table):
    """How rows are split, in words."""
    if table.time is not None:
        return f"in the order of {table.time!r}"
    if table.groups is not None:
        return "by group"
    return "stratified" if table.task == "classification" else "at random"


class Contest:
    """All fits of all models, on threads, within a budget."""

    def __init__(self, table, parts, score, seed, clock, seconds, progress=None):
        self.table, self.parts, self.score, self.seed = table, parts, score, seed
        self.clock, self.seconds = clock, seconds or np.inf
        self.progress = progress or (lambda done, total, what: None)
        self.prepared, self.lock = {}, threading.Lock()
        self.full = len(parts[-1][0])  # rows to learn from
        self.rows, self.needed = {}, {}  # of those that were timed
        self.cpu = 0.0  # seconds of all fits so far

    def run(self, models):
        """{name: its Fits}; who was cut is fitted again on more rows if much time is left."""
        self.fits, self.total = {name: {} for name, _ in models}, len(self.parts) * len(models)
        with listening():
            costs = self.timings(models)
            self.play(dict(models), self.allot(costs))
            cut = {name: rows for name, rows in self.rows.items() if rows < self.full}
            if cut and self.clock() < 0.7 * self.seconds:
                cap = self.allot({name: costs[name] for name in cut})
                more = {
                    n: cls for n, cls in models if self.rows.get(n, 0) > 1.3 * cut.get(n, np.inf)
                }
                self.fits |= {name: {} for name in more}
                self.play(more, cap)
        return {name: [fits[k] for k in sorted(fits)] for name, fits in self.fits.items()}

    def timings(self, models):
        """{name: Cost}, by fits on few rows, then more; nothing if the table is small."""
        n_test = len(self.parts[-1][1])
        if self.seconds == np.inf or self.full <= FIRST * GROWTH:
            return {}
        patience = 0.06 * self.seconds * parallel.n_threads() / len(models)

        def time_one(name, cls):
            self.progress(0, self.total, f"timing {name}")
            self.one(-1, cls, FIRST)  # loads or compiles what is needed; not timed
            timings, n = [], FIRST
            while n < self.full and (not timings or Cost(timings)(n, n) < patience):
                fit = self.one(-1, cls, n, test_rows=n)
                if fit.error:
                    return None
                timings.append((n, fit.cpu[0], fit.cpu[1] / min(n, n_test)))
                n *= GROWTH
            return Cost(timings)

        found = parallel.run(time_one, *zip(*models, strict=True))
        return {name: cost for (name, _), cost in zip(models, found, strict=True) if cost}

    def allot(self, costs):
        """Choose the rows of each model by what is left of the time; returns the share."""
        if not costs:
            return np.inf
        folds, n_test = len(self.parts), len(self.parts[-1][1])
        needed = [folds * cost(self.full, n_test) for cost in costs.values()]
        left, threads = max(0.95 * self.seconds - self.clock(), 0.0), parallel.n_threads()
        pace = self.cpu / (self.clock() * threads)  # what others on the machine leave us
        cap = share(needed, left * threads * min(max(pace, 0.1), 0.9))
        self.rows = {n: cost.rows(cap / folds, self.full, n_test) for n, cost in costs.items()}
        self.needed = dict(zip(costs, needed, strict=True))
        return cap

    def play(self, models, cap):
        """All folds of some models, fold after fold, the dearest first; who is late stops."""
        if not models:
            return
        used, took = dict.fromkeys(models, 0.0), dict.fromkeys(models, 0.0)
        tasks = [(k, name, cls) for k in range(len(self.parts)) for name, cls in models.items()]
        tasks.sort(key=lambda task: (task[0], -self.needed.get(task[1], 0.0)))

        def work(k, name, cls):
            fits = self.fits[name]
            self.progress(sum(map(len, self.fits.values())), self.total, name)
            begin = self.clock()
            late = used[name] > 1.5 * cap or begin + took[name] > self.seconds
            if fits and (late or any(fit.error for fit in list(fits.values()))):
                return
            fit = self.one(k, cls, self.rows.get(name))
            took[name] = self.clock() - begin
            used[name] += sum(fit.cpu)
            fits[k] = fit

        parallel.run(work, *zip(*tasks, strict=True))

    def one(self, k, cls, rows=None, test_rows=None):
        """Fit and judge one model on fold k; one that cannot is a Fit with the reason."""
        X_train, X_test, order = self.fold(k, needs(cls))
        train, test = self.parts[k]
        y_train, y_test = self.table.y[train], self.table.y[test]
        if rows is not None and rows < len(train):
            X_train, y_train = X_train[order[:rows]], y_train[order[:rows]]
        X_test, y_test = X_test[:test_rows], y_test[:test_rows]
        thread.heard, times = [], [now()]
        try:
            model = model_for(cls, self.table, self.seed).fit(X_train, y_train)
            times.append(now())
            value = float(self.score(model, X_test, y_test))
        except (ValueError, TypeError, AttributeError, ArithmeticError, MemoryError) as error:
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            return Fit(None, *(now() - times[0])[:1], 0.0, len(y_train), (0.0, 0.0), error=reason)
        (wall, cpu), certificate = (
            np.diff([*times, now()], axis=0).T,
            getattr(core(model)[0], "certificate_", None),
        )
        self.cpu += float(cpu.sum())
        return Fit(
            value,
            *wall.tolist(),
            len(y_train),
            tuple(cpu.tolist()),
            None if certificate is None else float(np.max(certificate)),
            ConvergenceWarning in thread.heard,
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


def summary(name, baseline, fits, folds):
    """A model's row; the certificate is the largest of the folds, times are their medians."""
    scores = [fit.score for fit in fits if fit.score is not None]
    error = next((fit.error for fit in fits if fit.error), "" if fits else "no time was left")
    certificates = [fit.certificate for fit in fits if fit.certificate is not None]
    median = lambda values: float(np.median(values)) if values else None
    return {
        "model": name,
        "baseline": baseline,
        "score": None if error else float(np.mean(scores)),
        "sd": None if error or len(scores) < 2 else float(np.std(scores, ddof=1)),
        "scores": scores,
        "fit_seconds": median([fit.fit_seconds for fit in fits]),
        "predict_seconds": median([fit.predict_seconds for fit in fits if not fit.error]),
        "certificate": max(certificates, default=None),
        "rows": max((fit.rows for fit in fits), default=0),
        "not_converged": sum(fit.warned for fit in fits),
        "error": error,
    }


def remark(row, full, folds):
    """Add `cut`, whether a model got less than all, and `note`, what there is to say of it."""
    said, done = [], len(row["scores"])
    row["cut"] = not row["error"] and (row["rows"] < full or done < folds)
    if row["cut"]:
        few = [f"{row['rows']:,} rows"] * (row["rows"] < full)
        few += [f"{done} fold{'s' * (done > 1)}"] * (done < folds)
        said.append(f"cut: {', '.join(few)}")
    if row["not_converged"]:
        said.append(f"not converged in {row['not_converged']} of {done} folds")
    row["note"] = row["error"] or "; ".join(said) or ("baseline" if row["baseline"] else "")
