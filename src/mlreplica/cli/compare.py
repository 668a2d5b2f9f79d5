"""The leaderboard: everything that suits a table, cross-validated and put in order"""

import numpy as np

from .budget import Clock
from .checks import warnings_of
from .contest import Contest
from .fits import Folds
from .metrics import metric_for
from .models import BASELINES, note_on_target, suitable
from .table import splits


def leaderboard(
    table, metric=None, *, only=(), folds=5, seed=0, seconds=60.0, clock=None, progress=None
):
    """Compare on a table; the result is a dict of plain values, best model first.

    A clock that is given has begun before, as the budget holds for reading the file too.
    """
    metric, judge = metric_for(table.task, metric)
    parts = splits(table, folds, seed)
    clock = clock or Clock()
    with clock:
        warned = warnings_of(table, parts, metric, seed)
        contest = Contest(Folds(table, parts, judge.score, seed), clock, seconds, progress)
        baseline, cls = BASELINES[table.task]
        fits = contest.run({baseline: cls, **dict(suitable(table, only))})
    full = len(parts[-1][0])
    rows = [summary(name, name == baseline, found) for name, found in fits.items()]
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
        "warnings": warned,
        "leaderboard": rows,
    }


def split_of(table):
    """How rows are split, in words."""
    if table.time is not None:
        return f"in the order of {table.time!r}"
    if table.groups is not None:
        return "by group"
    return "stratified" if table.task == "classification" else "at random"


def summary(name, baseline, fits):
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
