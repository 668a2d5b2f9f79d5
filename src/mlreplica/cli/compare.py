"""Cross-validate everything that suits a table"""

import time
import warnings
from typing import NamedTuple

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.table import Table as RichTable
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from mlreplica import metrics
from mlreplica.cli.console import Problem, progress_bar
from mlreplica.discovery import all_estimators


class Metric(NamedTuple):
    """How to judge a fitted model: score(model, X, y)."""

    task: str
    score: object
    best: object  # max or min


def by_prediction(function, **options):
    """Judge what `predict` says."""
    return lambda model, X, y: function(y, model.predict(X), **options)


def by_probability(model, X, y):
    """Log-loss of `predict_proba`."""
    return metrics.log_loss(y, model.predict_proba(X), labels=model.classes_)


def by_ranking(model, X, y):
    """Area under the ROC curve; for several classes, the mean of each against the rest."""
    if len(model.classes_) > 2:
        return metrics.roc_auc_score(y, model.predict_proba(X), multi_class="ovr")
    if hasattr(model, "decision_function"):
        return metrics.roc_auc_score(y, model.decision_function(X))
    return metrics.roc_auc_score(y, model.predict_proba(X)[:, 1])


METRICS = {
    "accuracy": Metric("classification", by_prediction(metrics.accuracy_score), max),
    "balanced_accuracy": Metric(
        "classification", by_prediction(metrics.balanced_accuracy_score), max
    ),
    "f1": Metric("classification", by_prediction(metrics.f1_score, average="macro"), max),
    "log_loss": Metric("classification", by_probability, min),
    "roc_auc": Metric("classification", by_ranking, max),
    "r2": Metric("regression", by_prediction(metrics.r2_score), max),
    "rmse": Metric("regression", by_prediction(metrics.root_mean_squared_error), min),
    "mae": Metric("regression", by_prediction(metrics.mean_absolute_error), min),
}
DEFAULT = {"classification": "accuracy", "regression": "r2"}
KIND = {"classification": "classifier", "regression": "regressor"}
BASELINES = {
    "classification": [("majority class", DummyClassifier)],
    "regression": [("mean", DummyRegressor)],
}


def leaderboard(table, task=None, metric=None, *, folds=5, seed=0, console):
    """Compare on a table; the result is a dict of plain values, best model first."""
    notes = list(table.notes)
    if task is None:
        task, why = guess_task(table)
        notes.append(f"{task}, since {why} (--task to change)")
    task, metric = str(task), str(metric or DEFAULT[task])
    if METRICS[metric].task != task:
        fit = [name for name, m in METRICS.items() if m.task == task]
        raise Problem(f"--metric {metric} is not for {task}; use {', '.join(fit)}.")
    y = check_target(table, task, folds)
    models = [(name, cls, True) for name, cls in BASELINES[task]]
    models += [(name, cls, False) for name, cls in all_estimators(KIND[task])]
    runs = cross_validate(table, y, models, task, METRICS[metric].score, folds, seed, console)
    rows = [summary(*run) for run in runs]
    sign = -1 if METRICS[metric].best is max else 1
    rows.sort(key=lambda row: (row["score"] is None, sign * (row["score"] or 0.0)))
    n, p = table.X.shape
    return {
        "data": table.name,
        "rows": n,
        "columns": p,
        "target": table.target,
        "task": task,
        "metric": metric,
        "folds": folds,
        "seed": seed,
        "notes": notes,
        "leaderboard": rows,
    }


def guess_task(table):
    """The task that a target suggests, and why."""
    if table.y.dtype.kind not in "iuf":
        return "classification", f"{table.target!r} holds text"
    distinct = len(np.unique(table.y))
    if distinct <= 20 and np.all(table.y == np.round(table.y)):
        return "classification", f"{table.target!r} holds {distinct} distinct whole numbers"
    return "regression", f"{table.target!r} holds {distinct} distinct numbers"


def check_target(table, task, folds):
    """The target, ready for the task, or the Problem with it."""
    values, counts = np.unique(table.y, return_counts=True)
    if len(values) < 2:
        raise Problem(f"the target {table.target!r} is constant ({values[0]}): nothing to learn.")
    if task == "classification":
        if counts.min() < folds:
            rare = values[counts.argmin()]
            raise Problem(
                f"class {str(rare)!r} of {table.target!r} has {counts.min()} rows, too few for "
                f"{folds} folds; lower --folds, leave the class out, or use --task regression."
            )
        return table.y if table.y.dtype.kind in "iU" else table.y.astype(str)
    if table.y.dtype.kind not in "iuf":
        raise Problem(f"the target {table.target!r} holds text; --task regression needs numbers.")
    if not np.isfinite(table.y).all():
        raise Problem(f"the target {table.target!r} holds infinite values.")
    if len(table.y) < 2 * folds:
        raise Problem(f"{len(table.y)} rows are too few for {folds} folds; lower --folds.")
    return table.y.astype(np.float64)


def preprocessing(table):
    """Numbers: median for missing ones, then mean 0 and variance 1. Categories: one column each."""
    numbers = make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()
    )
    one_hot = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=50, sparse_output=False
    )
    return ColumnTransformer(
        [
            ("numbers", numbers, np.flatnonzero(~table.categorical)),
            ("categories", one_hot, np.flatnonzero(table.categorical)),
        ]
    )


class Fold(NamedTuple):
    """One fit of one model."""

    score: float | None
    seconds: float
    certificate: float | None
    warned: bool
    error: str


def cross_validate(table, y, models, task, score, folds, seed, console):
    """[(name, is a baseline, its Folds)] of all models, on the same folds."""
    splitter = StratifiedKFold if task == "classification" else KFold
    parts = splitter(folds, shuffle=True, random_state=seed).split(table.X, y)
    found = {name: [] for name, _, _ in models}
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    with progress_bar(console, *columns, TimeElapsedColumn()) as bar:
        task_id = bar.add_task("", total=folds * len(models))
        for train, test in parts:
            prepare = preprocessing(table)
            X_train, X_test = (
                prepare.fit_transform(table.X[train]),
                prepare.transform(table.X[test]),
            )
            for name, cls, _ in models:
                bar.update(task_id, description=name)
                fold = fit_one(cls, seed, (X_train, y[train]), (X_test, y[test]), score)
                found[name].append(fold)
                bar.advance(task_id)
    return [(name, baseline, found[name]) for name, _, baseline in models]


def fit_one(cls, seed, train, test, score):
    """Fit and judge one model; a model that cannot is a row with the reason, not the end."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        try:
            model = cls()
            if "random_state" in model.get_params():
                model.set_params(random_state=seed)
            model.fit(*train)
            seconds = time.perf_counter() - start
            value = float(score(model, *test))
        except (ValueError, TypeError, AttributeError, ArithmeticError) as error:
            return Fold(None, time.perf_counter() - start, None, False, str(error).split("\n")[0])
    warned = any(issubclass(w.category, ConvergenceWarning) for w in caught)
    certificate = getattr(model, "certificate_", None)
    return Fold(
        value, seconds, None if certificate is None else float(np.max(certificate)), warned, ""
    )


def summary(name, baseline, folds):
    """A model's row; the certificate is the largest of the folds, the time their median."""
    scores = [fold.score for fold in folds]
    errors = [fold.error for fold in folds if fold.error]
    warned = sum(fold.warned for fold in folds)
    certificates = [fold.certificate for fold in folds if fold.certificate is not None]
    note = "baseline" if baseline else ""
    if warned:
        note = f"not converged in {warned} of {len(folds)} folds"
    if errors:
        note = errors[0]
    return {
        "model": name,
        "baseline": baseline,
        "score": None if errors else float(np.mean(scores)),
        "sd": None if errors else float(np.std(scores, ddof=1)),
        "scores": scores,
        "fit_seconds": float(np.median([fold.seconds for fold in folds])),
        "certificate": max(certificates, default=None),
        "note": note,
    }


def show(result, console):
    """Print a leaderboard."""
    for note in result["notes"]:
        console.print(note, style="dim", highlight=False, markup=False, soft_wrap=True)
    console.print(
        f"{result['data']}: {result['rows']} rows, {result['columns']} columns, "
        f"{result['task']}, {result['folds']} folds",
        style="bold",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    grid = RichTable(box=SIMPLE_HEAD, pad_edge=False)
    grid.add_column("model")
    arrow = "↑" if METRICS[result["metric"]].best is max else "↓"
    grid.add_column(f"{result['metric']} {arrow}", justify="right")
    grid.add_column("fit", justify="right")
    certified = any(row["certificate"] is not None for row in result["leaderboard"])
    if certified:
        grid.add_column("certificate", justify="right")
    grid.add_column("")
    for row in result["leaderboard"]:
        score = "–" if row["score"] is None else with_error(row["score"], row["sd"])
        cells = [row["model"], score, duration(row["fit_seconds"])]
        if certified:
            cells.append("" if row["certificate"] is None else f"{row['certificate']:.1e}")
        grid.add_row(*cells, row["note"], style="dim" if row["baseline"] else "")
    console.print(grid)


def with_error(value, sd):
    """A number and its spread with the same decimals, four significant digits at least."""
    size = max(abs(value), sd, 1e-12)
    decimals = max(0, 4 if size < 1 else 3 - int(np.log10(size)))
    return f"{value:.{decimals}f} ± {sd:.{decimals}f}"


def duration(seconds):
    """Seconds with a unit that fits."""
    for unit, scale in (("s", 1.0), ("ms", 1e3)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"
