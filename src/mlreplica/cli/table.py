"""A table to learn from: the matrix, the target, and how to split the rows"""

from typing import NamedTuple

import numpy as np

from .columns import Column, Columns
from .console import CommandError, did_you_mean, listed
from .data import read_frame
from .understand import understand
from .values import as_numbers, as_text, tidy


class Choices(NamedTuple):
    """What the user overrides."""

    target: str | None = None
    task: str | None = None
    drop: tuple = ()
    numeric: tuple = ()
    categorical: tuple = ()
    groups: str | None = None
    time: str | None = None
    encoding: str | None = None
    distinct: bool = False
    missing: tuple = ()
    text: tuple = ()
    header: bool | None = None


class Table(NamedTuple):
    """What learning needs to know of its data."""

    name: str
    frame: object  # polars, rows as in X; None for a shipped set
    columns: list  # of Column, also those left out
    X: np.ndarray  # (n, p) float64; categories are codes; NaN where missing
    features: list  # names of the columns of X
    categorical: np.ndarray  # (p,) bool
    y: np.ndarray  # text or whole numbers for classification, float64 for regression
    target: str
    task: str
    groups: np.ndarray | None  # rows of one group stay together
    time: str | None  # rows are in the order of this column
    notes: list
    marks: tuple = ()  # values that mean missing

    @property
    def encoder(self):
        """The transformer of a frame into X."""
        return Columns.of(self.columns, self.target, self.task, self.marks)


def read_shipped(name, task=None):
    """A shipped set; its classes go by their names."""
    from mlreplica import datasets

    bunch = getattr(datasets, f"load_{name}")()
    y, notes = bunch.target, []
    if "target_names" in bunch and y.dtype.kind == "i":
        y = np.asarray(bunch.target_names)[y].astype(str)
    features = [str(f) for f in bunch.feature_names]
    y, task = settle(y, "target", task, notes)
    return Table(
        name,
        None,
        [Column(feature, "number") for feature in features],
        np.ascontiguousarray(bunch.data, dtype=np.float64),
        features,
        np.zeros(len(features), dtype=bool),
        y,
        "target",
        task,
        None,
        None,
        notes,
    )


def read_file(path, choices=None):
    """A file as a table; the target is the last column unless named."""
    choices = choices or Choices()
    frame, notes = read_frame(path, choices.encoding, choices.header)
    for name in choices.drop:
        if name not in frame.columns:
            raise CommandError(f"no column {name!r} to drop; {did_you_mean(name, frame.columns)}")
    frame = frame.drop(list(choices.drop))
    target = choices.target
    if target is None and frame.width:
        target = frame.columns[-1]
        notes.append(f"target: {target!r}, the last column (--target to change)")
    for option, name in (
        ("--target", target),
        ("--groups", choices.groups),
        ("--time", choices.time),
    ):
        if name is not None and name not in frame.columns:
            hint = did_you_mean(name, frame.columns)
            raise CommandError(f"no column {name!r} for {option} in {path}; {hint}")
    if target in (choices.groups, choices.time):
        raise CommandError(f"the target {target!r} cannot be the groups or the time too.")
    if frame.width < 2:
        raise CommandError(f"{path} has no column besides the target {target!r}.")
    frame, y, task = with_target(frame, target, choices, notes)
    if choices.time:
        frame, order = in_time(frame, choices.time)
        y = y[order]
    held = [target] + [choices.groups] * (choices.groups is not None)
    columns = understand(
        frame.drop(held), choices.numeric, choices.categorical, choices.missing, choices.text
    )
    used = [column for column in columns if column.features]
    if not used:
        reasons = "; ".join(f"{column.name!r}: {column.why}" for column in columns[:3])
        raise CommandError(
            f"{path} has no usable column besides the target {target!r} ({reasons})."
        )
    return Table(
        str(path.name),
        frame,
        columns,
        Columns.of(columns, marks=choices.missing).transform(frame),
        [feature for column in used for feature in column.features],
        np.array([c.kind == "category" for c in used for _ in c.features]),
        y,
        target,
        task,
        as_text(frame[choices.groups]).fill_null("").to_numpy() if choices.groups else None,
        choices.time,
        notes,
        choices.missing,
    )


def with_target(frame, target, choices, notes):
    """The rows that have a target, the target, and the task."""
    known = tidy(frame[target], choices.missing).is_not_null()
    if missing := frame.height - int(known.sum()):
        notes.append(f"{missing} rows without a target left out")
        frame = frame.filter(known)
    if frame.height == 0:
        raise CommandError(f"the target {target!r} holds no values.")
    if choices.distinct:
        before, frame = frame.height, frame.unique(maintain_order=True)
        notes.append(f"{before - frame.height} rows that are copies left out")
    (column,) = understand(frame.select(target))
    if column.kind == "date":
        raise CommandError(f"the target {target!r} holds dates; give another --target.")
    if column.why.startswith("list") or column.why.startswith("struct"):
        raise CommandError(f"the target {target!r} holds {column.why}.")
    known = tidy(frame[target], choices.missing)
    numbers = as_numbers(known, column.decimal) if not known.dtype.is_nested() else known
    if numbers.count() == len(known) and choices.task != "classification":
        y = numbers.to_numpy()
    elif choices.task == "regression":
        odd = known.filter(numbers.is_null())
        raise CommandError(
            f"the target {target!r} holds text ({listed(odd.unique(), 3)}); "
            "--task regression needs numbers."
        )
    else:
        y = as_text(known).to_numpy().astype(str)
    return frame, *settle(y, target, choices.task, notes)


def settle(y, target, task, notes):
    """The target as the task needs it, and the task, guessed if not given."""
    values = np.unique(y)
    if len(values) < 2:
        raise CommandError(f"the target {target!r} is constant ({values[0]}): nothing to learn.")
    if task is None:
        whole = y.dtype.kind in "iuf" and bool(np.all(y == np.round(y)))
        if y.dtype.kind not in "iuf":
            task, why = "classification", f"{target!r} holds text"
        elif whole and len(values) <= 20 and len(values) <= len(y) / 3:
            task, why = "classification", f"{target!r} holds {len(values)} distinct whole numbers"
        else:
            task, why = "regression", f"{target!r} holds {len(values)} distinct numbers"
        notes.append(f"{task}, since {why} (--task to change)")
    if task == "regression":
        return y.astype(np.float64), "regression"
    if len(values) > max(20, len(y) / 3):
        raise CommandError(
            f"the target {target!r} holds {len(values)} distinct values in {len(y)} rows: too many "
            "for classes; use --task regression if they are numbers, or another --target."
        )
    whole = y.dtype.kind in "iuf" and bool(np.all(y == np.round(y)))
    return (y.astype(np.int64) if whole else y.astype(str)), "classification"


def in_time(frame, name):
    """The rows in the order of a column of dates or numbers, and that order."""
    (column,) = understand(frame.select(name))
    if column.kind == "left out" and "counts the rows" in column.why:
        (column,) = understand(frame.select(name), numeric=[name])
    if column.kind not in ("number", "date"):
        raise CommandError(
            f"--time {name!r} holds neither dates nor numbers; it is a {column.kind}."
        )
    moments = column.encode(frame[name])[:, 0]
    if np.isnan(moments).any():
        raise CommandError(f"--time {name!r} lacks {int(np.isnan(moments).sum())} values.")
    order = np.argsort(moments, kind="stable")
    return frame[order], order


def splits(table, folds, seed):
    """[(train, test)] of row numbers: stratified, by group or in time, as the table asks."""
    from sklearn.model_selection import (
        GroupKFold,
        KFold,
        StratifiedGroupKFold,
        StratifiedKFold,
        TimeSeriesSplit,
    )

    n, classes = len(table.y), table.task == "classification"
    if classes:
        values, counts = np.unique(table.y, return_counts=True)
        if counts.min() < folds:
            raise CommandError(
                f"class {str(values[counts.argmin()])!r} of {table.target!r} has {counts.min()} "
                f"rows, too few for {folds} folds; lower --folds, or merge or remove the class."
            )
    elif n < 2 * folds:
        raise CommandError(f"{n} rows are too few for {folds} folds; lower --folds.")
    if table.time is not None:
        return check_parts(table, TimeSeriesSplit(folds).split(table.X))
    if table.groups is not None:
        distinct = len(np.unique(table.groups))
        if distinct < folds:
            raise CommandError(f"{distinct} groups are too few for {folds} folds; lower --folds.")
        cls = StratifiedGroupKFold if classes else GroupKFold
        parts = cls(folds, shuffle=True, random_state=seed).split(table.X, table.y, table.groups)
        return check_parts(table, parts)
    cls = StratifiedKFold if classes else KFold
    return list(cls(folds, shuffle=True, random_state=seed).split(table.X, table.y))


def check_parts(table, parts):
    """The parts, if every class that is asked for was there to be learned."""
    parts = list(parts)
    if table.task == "classification":
        for train, _ in parts:
            if len(np.unique(table.y[train])) < len(np.unique(table.y)):
                raise CommandError(
                    "a fold's training rows lack a class that the table has; lower --folds, or "
                    "leave out --time or --groups."
                )
    return parts
