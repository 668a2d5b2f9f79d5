"""The HTML report of a comparison: one file, nothing fetched"""

import datetime
import re
import time
from importlib.resources import files
from itertools import pairwise

import numpy as np
from sklearn.base import clone

from mlreplica import __version__
from mlreplica.core.compile import threads as parallel

from . import figures
from .console import CommandError, duration, with_error
from .fits import listening
from .metrics import METRICS
from .models import core, pipeline_for, suitable
from .output import write_text
from .script import script
from .table import splits
from .winner import winner_of

PATIENCE = 20.0  # seconds for the importance of columns


def write_report(path, table, result, choices=None, file=None, closer=True):
    """Look closer at the winner, if there is time for that, and write what was found."""
    try:
        from jinja2 import Environment
    except ModuleNotFoundError as missing:
        raise CommandError(
            f'a report needs {missing.name}; install: pip install "mlreplica[cli]"'
        ) from None
    best = winner_of(result)
    if best is None:
        raise CommandError("no model could be fitted, so there is nothing to report.")
    cls = dict(suitable(table, [best["model"]]))[best["model"]]
    model, judge = pipeline_for(cls, table, result["seed"]), METRICS[result["metric"]]
    parts = splits(table, result["folds"], result["seed"])
    drawings, confusion = [], None
    view = Closer(table, model, parts, judge, best["training_rows"])
    if closer:
        with listening():
            confusion = view.predictions(drawings)
            view.importance(drawings, result["metric"])
            view.learning(drawings, result["metric"])
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["duration"] = duration
    environment.filters["plain"] = plain
    environment.filters["score"] = lambda value: with_error(value, None)
    template = environment.from_string(
        files("mlreplica.cli").joinpath("report.html.jinja").read_text(encoding="utf-8")
    )
    write_text(
        path,
        template.render(
            table=table,
            result=result,
            best=best,
            arrow=judge.arrow,
            scored=lambda row: with_error(row["score"], row["sd"]),
            widths=widths(result["leaderboard"]),
            others=others(result, best),
            overview=overview(table),
            drawings=drawings,
            confusion=confusion,
            parameters=parameters(core(model.steps[-1][1])[0]),
            code=script(table, result, cls, choices, file),
            version=__version__,
            today=datetime.datetime.now(tz=datetime.UTC).date(),
        ),
    )


def plain(text):
    """A sentence without what it says of the command line."""
    text = re.sub(r" \([^()]*--[^()]*\)", "", text)
    said = [part for part in re.split(r"(?<=[;:?.]) ", text) if "--" not in part]
    return " ".join(said).rstrip(" ;:.")


def others(result, best):
    """Further metrics of the winner's task: [(name, its arrow)]."""
    return [(m, METRICS[m].arrow) for m in best["metrics"] if m != result["metric"]]


class Closer:
    """The best model, looked at closer on rows that it did not learn from."""

    def __init__(self, table, model, parts, judge, rows):
        self.table, self.model, self.parts, self.judge, self.rows = table, model, parts, judge, rows

    def fitted(self, train, rows=None):
        """A copy of the model, fitted on so many of the rows."""
        few = np.random.default_rng(0).permutation(train)[: min(rows or self.rows, len(train))]
        return clone(self.model).fit(self.table.X[few], self.table.y[few])

    def predictions(self, drawings):
        """Draw the predictions out of fold; for classes, returns the matrix of confusions."""
        table = self.table
        self.models = parallel.run(self.fitted, [train for train, _ in self.parts])
        rows = np.concatenate([test for _, test in self.parts])
        tests = [(m, table.X[test]) for m, (_, test) in zip(self.models, self.parts, strict=True)]
        predicted = np.concatenate([m.predict(X) for m, X in tests])
        if table.task == "regression":
            figures.regression(drawings, table.y[rows], predicted, table.target)
            return None
        classes, proba, score = self.models[0].classes_, None, None
        if hasattr(self.model, "predict_proba"):
            score = proba = np.concatenate([m.predict_proba(X) for m, X in tests])
        elif hasattr(self.model, "decision_function"):
            score = np.concatenate([m.decision_function(X) for m, X in tests])
            score = np.column_stack([-score, score]) if score.ndim == 1 else score
        figures.classification(drawings, table.y[rows], classes, proba, score)
        counts = np.zeros((len(classes), len(classes)), dtype=int)
        np.add.at(counts, tuple(np.searchsorted(classes, v) for v in (table.y[rows], predicted)), 1)
        return {"classes": classes.tolist(), "counts": counts.tolist()}

    def importance(self, drawings, metric):
        """Shuffle each column, all of its features together, in rows not learned from."""
        model, (_, test), rng = self.models[-1], self.parts[-1], np.random.default_rng(0)
        columns = [column for column in self.table.columns if column.features]
        few = rng.permutation(test)[: 2000 if len(columns) <= 100 else 500]
        X, y, start, losses = self.table.X[few], self.table.y[few], time.perf_counter(), []
        base = self.judge.score(model, X, y)
        ends = np.cumsum([0] + [len(column.features) for column in columns])
        for _ in range(5):
            if losses and time.perf_counter() - start > PATIENCE / 2:
                break
            losses.append([])
            for first, last in pairwise(ends):
                shuffled = X.copy()
                shuffled[:, first:last] = X[rng.permutation(len(X)), first:last]
                change = base - self.judge.score(model, shuffled, y)
                losses[-1].append(self.judge.sign * change)
        names, found = [column.name for column in columns], np.array(losses)
        figures.importance(drawings, names, found.mean(axis=0), found.std(axis=0), metric)

    def learning(self, drawings, metric):
        """Scores of models that learned from fewer rows."""
        parts = self.parts[-3:]
        most = min(self.rows, *(len(train) for train, _ in parts))
        sizes = np.unique(np.geomspace(max(0.1 * most, min(50, most)), most, 5).astype(int))

        def scores(size, part):
            train, test = parts[part]
            few = np.random.default_rng(0).permutation(train)[:size]
            if self.table.task == "classification" and len(np.unique(self.table.y[few])) < len(
                np.unique(self.table.y[train])
            ):
                return np.nan, np.nan
            model = self.fitted(train, size)
            known = self.judge.score(model, self.table.X[few], self.table.y[few])
            return known, self.judge.score(model, self.table.X[test], self.table.y[test])

        tasks = [(size, k) for size in sizes for k in range(len(parts))]
        found = np.array(parallel.run(scores, *zip(*tasks, strict=True)))
        train, test = found.reshape(len(sizes), len(parts), 2).transpose(2, 0, 1)
        good = np.isfinite(train).all(axis=1)
        if good.sum() > 1:
            figures.learning(drawings, sizes[good], train[good], test[good], metric)


def widths(rows):
    """Length of each model's bar: from the worst shown score, or the baseline, to the best."""
    scores = [row["score"] for row in rows if row["score"] is not None]
    base = next((r["score"] for r in rows if r["baseline"] and r["score"] is not None), scores[-1])
    best = scores[0]
    size = lambda score: (score - base) / (best - base) if best != base else 1.0
    return {
        row["model"]: 100 * float(np.clip(size(row["score"]), 0, 1))
        for row in rows
        if row["score"] is not None
    }


def parameters(model):
    """[(name, value, whether it is the default)] of an estimator."""
    default = type(model)().get_params(deep=False)
    return [
        (name, repr(value), repr(value) == repr(default[name]))
        for name, value in model.get_params(deep=False).items()
    ]


def overview(table, bins=16, most=60):
    """Each column with its counts in bins: heights of 0 to 1, and what they are of."""
    found, j = [], 0
    for column in table.columns[:most]:
        item = {"column": column, "bars": [], "range": ""}
        found.append(item)
        if not column.features:
            continue
        x = table.X[:, j]
        j += len(column.features)
        x = x[np.isfinite(x)]
        if column.kind == "words":
            block = table.X[:, j - len(column.features) : j]
            order = np.argsort(-block.sum(axis=0), kind="stable")
            bars = block.sum(axis=0)[order][:bins]
            item["range"] = ", ".join(figures.short(column.levels[k], 14) for k in order[:3])
        elif column.kind == "category":
            counts = np.bincount(x.astype(int), minlength=len(column.levels))
            order = np.argsort(-counts, kind="stable")
            bars = counts[order][:bins]
            item["range"] = ", ".join(figures.short(column.levels[k], 14) for k in order[:3])
        else:
            bars, _ = np.histogram(x, bins=bins)
            ends = [x.min(), x.max()]
            if column.kind == "date":
                ends = [np.datetime64("1970-01-01") + int(end) for end in ends]
                item["range"] = f"{ends[0]} to {ends[1]}"
            else:
                item["range"] = f"{ends[0]:.4g} to {ends[1]:.4g}"
        item["bars"] = (bars / max(bars.max(), 1)).round(3).tolist()
    return found
