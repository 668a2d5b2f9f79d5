"""All fits of all models within a budget of time: successive halving on growing samples

Everybody fits few rows of one fold, then four times as many, and so on. After each step a model
stays in the race while it promises more than the best has (`budget`). Once all rows can be paid
for, those in the race fit them, the most promising first, fold after fold; what is left of the
time goes to the others. If nobody promising can have all rows, all have the same fewer rows.

Judging costs time as fitting does, so small samples are judged on few rows and a step counts both.
"""

import numpy as np

from mlreplica.core.compile import threads as parallel

from .budget import GROWTH, Cost, first_rows, promise
from .fits import listening

SMALL = 20_000  # cells of a training table whose fits take no time worth foretelling
STEP = 0.25  # of the time left may go into one step
JUMP = GROWTH**2  # from a sample to all rows at most, as what they take is foretold from it
ENOUGH = 50_000  # rows judge a model well enough, if time is short
FEWEST = 3  # models stay in the race


class Contest:
    """Who fits how many rows, in which order, and who stops; `kept` holds every fit."""

    def __init__(self, folds, clock, seconds, progress=None, kept=None):
        self.folds, self.clock, self.seconds = folds, clock, seconds or np.inf
        self.progress = progress or (lambda done, total, what: None)
        self.kept = {} if kept is None else kept  # {(name, fold, rows, rows to judge by): Fit}
        self.cpu = 0.0  # seconds of all fits so far

    def run(self, models):
        """Fit {name: class}; `found` gives the result."""
        self.models, self.begin = models, self.clock()
        full, n_test = self.folds.full, self.folds.n_test
        with listening():
            if self.seconds == np.inf or full * self.folds.table.X.shape[1] <= SMALL:
                self.play([(k, m) for k in range(len(self.folds)) for m in models], full, n_test)
            else:
                self.confirm(self.halve(list(models)), min(n_test, ENOUGH))

    def found(self, models):
        """{name: (rows, Fits)} so far: each model's fits on the most rows it had."""
        fits = {name: {} for name in models}
        for (name, k, rows, _), fit in sorted(dict(self.kept).items(), key=lambda item: item[0]):
            if name in fits:
                fits[name].setdefault(rows, {})[k] = fit  # of those judged on more rows, the last
        most = {name: max(sizes, default=0) for name, sizes in fits.items()}
        return {m: (most[m], list(sizes.get(most[m], {}).values())) for m, sizes in fits.items()}

    def halve(self, racing):
        """Steps of growing samples; returns who is in the race after the last, the best first."""
        n, full = first_rows(self.folds.full), self.folds.full
        while n < full:
            self.step(self.affordable(racing, n), n)
            racing = self.promising(racing) if n > first_rows(full) else self.cheapest(racing, full)
            if n > first_rows(full) and n * JUMP >= full and self.pays(racing, full):
                break
            n *= GROWTH
        return racing

    def step(self, names, n):
        """One fold of n rows for each of these models."""
        tests = self.judged_on(n)

        def work(name):
            if (name, 0, n, tests) in self.kept:  # from an earlier run
                return
            self.progress(0, None, f"{name}, {n:,} rows")
            compiled = self.clock.compiled
            fit = self.fit(0, name, n, tests)
            loaded = n == first_rows(self.folds.full) and sum(fit.cpu) < self.left() * 0.01
            if loaded or self.clock.compiled > compiled:  # once more: its own time is wanted
                del self.kept[name, 0, n, tests]
                self.fit(0, name, n, tests)

        parallel.run(work, names)

    def judged_on(self, n):
        """How many rows judge a fit of n rows: never so few that chance decides."""
        return min(self.folds.n_test, max(4 * n, 2000), ENOUGH)

    def affordable(self, racing, n):
        """Those for whom a step of n rows is paid for; everybody may take the first."""
        if n == first_rows(self.folds.full):
            return racing
        left, chosen = STEP * self.left(), []
        for name in racing:
            needed = self.cost(name)(n, self.judged_on(n))
            if needed <= left:
                left -= needed
                chosen.append(name)
        return chosen

    def promising(self, racing):
        """Those that may still be the best, in this order; they have fitted without an error."""
        racing = [name for name in racing if self.curve(name)]
        last = {name: self.curve(name)[-1] for name in racing}
        floor = max(self.value(fit) - fit.spread for fit in last.values())
        hope = {name: self.hope(name) for name in racing}
        order = sorted(racing, key=lambda name: (-hope[name], -self.value(last[name])))
        good = [name for name in order if hope[name] + last[name].spread >= floor]
        return good if len(good) >= FEWEST else order[:FEWEST]

    def cheapest(self, racing, rows):
        """Those that could be fitted, in the order of what so many rows would take."""
        racing = [name for name in racing if self.curve(name)]
        return sorted(racing, key=lambda name: self.cost(name)(rows, rows))

    def hope(self, name):
        """What a model promises on the rows that half of the time left would allow."""
        curve = self.curve(name)
        sizes, values = [fit.rows for fit in curve], [self.value(fit) for fit in curve]
        return promise(sizes, values, self.reach(name))

    def reach(self, name):
        """The rows that half of the time left allows a model, or those it has had."""
        rows = self.cost(name).rows(self.left() / 2, self.folds.full, self.judged_on(ENOUGH))
        return max(rows, self.curve(name)[-1].rows)

    def pays(self, names, rows):
        """Whether one fold of so many rows for each takes less than half of the time left."""
        return sum(self.cost(m)(rows, self.judged_on(rows)) for m in names) < self.left() / 2

    def confirm(self, racing, tests):
        """The largest common sample for those in the race; then all others that have time."""
        if not racing:
            return
        hope = {name: self.hope(name) for name in racing}
        error = max(self.curve(racing[0])[-1].spread, 0.0)
        best = [name for name in racing if hope[name] >= hope[racing[0]] - error]
        rows = max(map(self.reach, best))
        racing = sorted(racing, key=lambda m: (m not in best, -hope[m]))
        rest = self.cheapest([m for m in self.models if m not in racing], rows)
        first = [(0, name) for name in (*racing, *rest[:1])]  # the baseline is the cheapest
        more = [(k, m) for names in (racing, rest) for k in range(len(self.folds)) for m in names]
        self.play(list(dict.fromkeys(first + more)), rows, tests)

    def play(self, tasks, rows, tests):
        """Fits of pairs (fold, model) while there is time for each; the first always has it."""
        took, total = {}, len(tasks)

        def work(place, k, name):
            self.progress(place, total, name)
            begin, known = self.clock(), self.curve(name)
            needed = self.cost(name)(rows, tests) / self.pace() if known else 0.0
            late = begin + took.get(name, needed) > self.seconds
            if name in self.failed() or (place and late):
                return
            self.fit(k, name, rows, tests)
            took[name] = self.clock() - begin

        parallel.run(work, range(total), *zip(*tasks, strict=True))

    def fit(self, k, name, rows, tests):
        """A fit on a fold, kept, its seconds counted; one that was kept before is not repeated."""
        key = name, k, rows, tests
        if key not in self.kept:
            few = tests if tests < self.folds.n_test else None  # folds may differ by a row
            self.kept[key] = self.folds.fit(k, self.models[name], rows, few)
            self.cpu += sum(self.kept[key].cpu)
        return self.kept[key]

    def failed(self):
        """Models that could not be fitted."""
        return {key[0] for key, fit in dict(self.kept).items() if fit.error}

    def curve(self, name):
        """A model's fits on the first fold, by the number of rows; none if one has failed."""
        if name in self.failed():
            return []
        fits = {key[2]: fit for key, fit in dict(self.kept).items() if key[:2] == (name, 0)}
        return [fits[rows] for rows in sorted(fits)]

    def value(self, fit):
        """Its score, the larger the better."""
        return self.folds.judge.sign * fit.score

    def cost(self, name):
        """What a model takes, in seconds of one core."""
        return Cost([(fit.rows, fit.cpu[0], fit.cpu[1] / fit.tests) for fit in self.curve(name)])

    def left(self):
        """Seconds of all cores until the budget is spent, as far as others leave them to us."""
        return max(0.95 * self.seconds - self.clock(), 0.0) * parallel.n_threads() * self.pace()

    def pace(self):
        """The share of a core's time that fits have had so far."""
        spent = max(self.clock() - self.begin, 1e-3) * parallel.n_threads()
        return float(np.clip(self.cpu / spent, 0.3, 0.9))
