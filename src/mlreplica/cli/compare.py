"""The leaderboard: everything that suits a table, cross-validated and put in order"""

import numpy as np

from .budget import Clock
from .checks import warnings_of
from .contest import Contest
from .fits import Folds
from .metrics import metric_for
from .models import BASELINES, note_on_target, suitable
from .table import splits
from .winner import choose, seconds_of


class Comparison:
    """All suitable models on a table: `run` fits them, `result` says what is known so far.

    A clock that is given has begun before, as the budget holds for reading the file too.
    """

    def __init__(
        self, table, metric=None, *, only=(), folds=5, seed=0, seconds=60.0, clock=None,
        progress=None, kept=None,
    ):  # fmt: skip
        self.table, self.seed, self.clock, self.warned = table, seed, clock or Clock(), []
        self.metric, self.judge = metric_for(table.task, metric)
        self.parts = splits(table, folds, seed)
        baseline, cls = BASELINES[table.task]
        self.baseline, self.models = baseline, {baseline: cls, **dict(suitable(table, only))}
        folds = Folds(table, self.parts, self.judge, seed)
        self.contest = Contest(folds, self.clock, seconds, progress, kept)

    def run(self):
        """Fit within the budget; returns the result."""
        with self.clock:
            self.warned = warnings_of(self.table, self.parts, self.metric, self.seed)
            self.contest.run(self.models)
            return self.result()

    def result(self):
        """A dict of plain values, the models judged on most rows first, the best of them first."""
        table, full, number = self.table, self.contest.folds.full, len(self.parts)
        rows = [
            summary(name, name == self.baseline, rows, fits)
            for name, (rows, fits) in self.contest.found(self.models).items()
        ]
        for row in rows:
            remark(row, full, number)
        rows.sort(
            key=lambda r: (
                r["score"] is None,
                -r["training_rows"],
                -self.judge.sign * (r["score"] or 0.0),
                seconds_of(r),
            )
        )
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
            "metric": self.metric,
            "split": split_of(table),
            "folds": number,
            "seed": self.seed,
            "training_rows": full,
            "seconds": round(self.clock() + self.clock.compiled, 2),
            "compile_seconds": round(self.clock.compiled, 2),
            "notes": table.notes + note_on_target(self.models),
            "warnings": self.warned,
            "leaderboard": rows,
            **choose(rows, self.models, self.judge.sign),
        }


def leaderboard(table, metric=None, **options):
    """The result of comparing all suitable models on a table."""
    return Comparison(table, metric, **options).run()


def split_of(table):
    """How rows are split, in words."""
    if table.time is not None:
        return f"in the order of {table.time!r}"
    if table.groups is not None:
        return "by group"
    return "stratified" if table.task == "classification" else "at random"


def summary(name, baseline, rows, fits):
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
        "training_rows": rows,
        "tests": max((fit.tests for fit in fits), default=0),
        "blocks": list(fits[0].blocks) if fits else [],
        "metrics": {
            other: float(np.mean([fit.metrics[other] for fit in fits]))
            for other in (fits[0].metrics if fits else ())
            if all(other in fit.metrics for fit in fits)
        },
        "not_converged": sum(fit.warned for fit in fits),
        "error": error,
    }


def remark(row, full, folds):
    """Add `cut`, whether a model got less than all, and `note`, what there is to say of it."""
    said, done = [], len(row["scores"])
    row["cut"] = not row["error"] and (row["training_rows"] < full or done < folds)
    if row["cut"]:
        few = [f"{row['training_rows']:,} rows"] * (row["training_rows"] < full)
        few += [f"{done} fold{'s' * (done > 1)}"] * (done < folds)
        said.append(f"cut: {', '.join(few)}")
    if row["not_converged"]:
        said.append(f"not converged in {row['not_converged']} of {done} folds")
    row["note"] = row["error"] or "; ".join(said) or ("baseline" if row["baseline"] else "")
