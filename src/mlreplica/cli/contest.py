"""All fits of all models within a budget of time

Everybody is timed on few rows, gets the rows that its fair share of the time allows, and then fits
fold after fold; who needs longer than foretold stops after the folds it has. What is left in the
end goes to those who had to do with few rows, by what their own fits have taken meanwhile.
"""

import numpy as np

from mlreplica.core.compile import threads as parallel

from .budget import GROWTH, Cost, first_rows, share
from .fits import listening

SMALL = 20_000  # cells of a training table whose fits take no time worth foretelling
TIMING = 0.06  # of the budget may go into finding out what fits take
LOADING = 5  # times its share of that: more than loading kernels takes, so the model itself
AGAIN = 3  # rounds at most in which those with few rows get more


class Contest:
    """The rules: who fits how many rows, in which order, and who stops."""

    def __init__(self, folds, clock, seconds, progress=None):
        self.folds, self.clock, self.seconds = folds, clock, seconds or np.inf
        self.progress = progress or (lambda done, total, what: None)
        self.rows, self.needed = {}, {}  # of those that were timed
        self.cpu = 0.0  # seconds of all fits so far

    def run(self, models):
        """{name: its Fits} of {name: class}."""
        self.fits, self.total = {name: {} for name in models}, len(self.folds) * len(models)
        self.begin = self.clock()
        with listening():
            costs = self.timings(models)
            self.play(models, self.allot(costs))
            for _ in range(AGAIN):
                cut = {name: rows for name, rows in self.rows.items() if rows < self.folds.full}
                if not cut or self.clock() > 0.7 * self.seconds:
                    break
                costs = {name: self.learned(name, costs[name]) for name in cut}
                self.again(models, cut, costs)
        return {name: [fits[k] for k in sorted(fits)] for name, fits in self.fits.items()}

    def again(self, models, cut, costs):
        """Once more for those who can now have many more rows than they had, if time is enough."""
        cap, before = self.allot(costs), dict(self.fits)
        more = {name: models[name] for name, rows in cut.items() if self.rows[name] > 1.3 * rows}
        self.fits |= {name: {} for name in more}
        self.play(more, cap)
        for name in more:
            if len(self.fits[name]) < len(before[name]):  # fewer folds than it had: as it was
                self.fits[name], self.rows[name] = before[name], cut[name]

    def learned(self, name, cost):
        """The Cost of a model that has fitted more rows than it was timed on."""
        seen = [fit for fit in self.fits[name].values() if not fit.error]
        if not seen or seen[0].rows <= cost.timings[-1][0]:
            return cost
        fit, predict = np.median([fit.cpu for fit in seen], axis=0)
        return Cost([*cost.timings, (seen[0].rows, fit, predict / self.folds.n_test)])

    def timings(self, models):
        """{name: Cost}, by fits on few rows, then more; nothing if the table is small."""
        full, first = self.folds.full, first_rows(self.folds.full)
        if self.seconds == np.inf or full * self.folds.table.X.shape[1] <= SMALL:
            return {}
        patience = TIMING * self.seconds * parallel.n_threads() / len(models)

        def time_one(name, cls):
            self.progress(0, self.total, f"timing {name}")
            timings, n, compiled = [], first, self.clock.compiled
            # one timing says nothing of how a model grows: a second may cost more
            while n < full and (
                not timings or Cost(timings)(n, n) < patience * (4 if len(timings) == 1 else 1)
            ):
                fit = self.fit(-1, cls, n, test_rows=n)
                dear = sum(fit.cpu) > LOADING * patience and self.clock.compiled == compiled
                if not timings and not dear:
                    fit = self.fit(-1, cls, n, test_rows=n)  # the first has loaded, or compiled
                if fit.error:
                    return None
                timings.append((n, fit.cpu[0], fit.cpu[1] / min(n, self.folds.n_test)))
                n *= GROWTH
            return Cost(timings)

        found = parallel.run(time_one, models.keys(), models.values())
        return {name: cost for name, cost in zip(models, found, strict=True) if cost}

    def allot(self, costs):
        """Choose the rows of each model by what is left of the time; returns the share."""
        if not costs:
            return np.inf
        full, n_test, number = self.folds.full, self.folds.n_test, len(self.folds)
        self.needed = {name: number * cost(full, n_test) for name, cost in costs.items()}
        left, threads = max(0.95 * self.seconds - self.clock(), 0.0), parallel.n_threads()
        spent = max(self.clock() - self.begin, 1e-3)
        pace = self.cpu / (spent * threads)  # what others on the machine leave us
        cap = share(list(self.needed.values()), left * threads * min(max(pace, 0.1), 0.9))
        self.rows = {name: cost.rows(cap / number, full, n_test) for name, cost in costs.items()}
        return cap

    def play(self, models, cap):
        """All folds of some models, fold after fold, the dearest first; who is late stops."""
        if not models:
            return
        used, took = dict.fromkeys(models, 0.0), dict.fromkeys(models, 0.0)
        tasks = [(k, name, cls) for k in range(len(self.folds)) for name, cls in models.items()]
        tasks.sort(key=lambda task: (task[0], -self.needed.get(task[1], 0.0)))

        def work(k, name, cls):
            fits = self.fits[name]
            self.progress(sum(map(len, self.fits.values())), self.total, name)
            begin = self.clock()
            late = used[name] > 1.5 * cap or begin + took[name] > self.seconds
            if fits and (late or any(fit.error for fit in list(fits.values()))):
                return
            fit = self.fit(k, cls, self.rows.get(name))
            took[name] = self.clock() - begin
            used[name] += sum(fit.cpu)
            fits[k] = fit

        parallel.run(work, *zip(*tasks, strict=True))

    def fit(self, *args, **options):
        """A fit on a fold, its seconds counted."""
        fit = self.folds.fit(*args, **options)
        self.cpu += sum(fit.cpu)
        return fit
