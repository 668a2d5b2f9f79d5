"""Fit one model, keep it in a file, and use it on new rows"""

import ast
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline

from mlreplica.core.card import card_of
from mlreplica.discovery import all_estimators

from .columns import Columns
from .console import CommandError, did_you_mean
from .data import check_file, read_frame
from .fits import listening
from .metrics import DEFAULT, METRICS
from .models import core, note_on_target, pipeline_for
from .values import as_numbers, as_text, tidy


def find_model(name):
    """The class of a name, whatever its case, and the tasks it is for."""
    known = {model.lower(): cls for task in DEFAULT for model, cls in all_estimators(task)}
    if name.lower() not in known:
        names = [cls.__name__ for cls in known.values()]
        raise CommandError(f"no model {name!r}; {did_you_mean(name, names)} See: mlreplica models")
    cls = known[name.lower()]
    return cls, [card_of(cls).task]


def settings_of(cls, given):
    """{parameter: value} of words like `alpha=0.1`; what is no Python value is text."""
    names, found = list(cls().get_params()), {}
    for word in given:
        name, sign, value = word.partition("=")
        if not sign:
            raise CommandError(f"--set takes NAME=VALUE, as in --set {names[0]}=1; got {word!r}.")
        if name not in names:
            raise CommandError(
                f"{cls.__name__} has no parameter {name!r}; {did_you_mean(name, names)}"
            )
        try:
            found[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            found[name] = value
    return found


def fit(table, cls, seed=0, settings=None):
    """The fitted pipeline from frame to prediction, and what there is to say of it."""
    steps = pipeline_for(cls, table, seed, **(settings or {})).steps
    model = Pipeline([("columns", table.encoder), *steps])
    start = time.perf_counter()
    try:
        with listening() as heard:
            model.fit(table.frame, table.y)
    except (ValueError, TypeError, MemoryError) as error:
        raise CommandError(f"{cls.__name__} could not be fitted: {first_line(error)}") from None
    certificate = getattr(core(model.steps[-1][1])[0], "certificate_", None)
    return model, {
        "model": cls.__name__,
        "parameters": settings or {},
        "data": table.name,
        "rows": len(table.y),
        "features": table.X.shape[1],
        "target": table.target,
        "task": table.task,
        "seconds": round(time.perf_counter() - start, 3),
        "certificate": None if certificate is None else float(np.max(certificate)),
        "not_converged": ConvergenceWarning in heard,
        "notes": table.notes + left_out(table.columns) + note_on_target([cls.__name__]),
    }


def left_out(columns, most=6):
    """A sentence on each column that the model does not see."""
    gone = [f"{c.name!r} left out: {c.why}" for c in columns if not c.features]
    rest = len(gone) - most
    return gone[:most] + [f"{rest} more columns left out"] * (rest > 0)


def first_line(error):
    """An error in one line."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def labels_sequences(model):
    """Whether a loaded model labels sequences, perhaps behind attributes of words."""
    card = card_of(type(model.steps[-1][1] if isinstance(model, Pipeline) else model))
    return card is not None and card.task == "labelling"


def load_model(path):
    """A pipeline, or a model of sequences, that `fit` has saved."""
    import mlreplica

    check_file(Path(path))
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            model = mlreplica.load(path)
    except (ValueError, OSError) as error:
        raise CommandError(first_line(error)) from None
    for warning in said:
        sys.stderr.write(f"mlreplica: {warning.message}\n")
    table = isinstance(model, Pipeline) and isinstance(model.steps[0][1], Columns)
    if not table and not labels_sequences(model):
        raise CommandError(
            f"{path} holds a {type(model).__name__} without the columns it learned from; "
            "use `mlreplica fit`, or load it in Python by mlreplica.load."
        )
    return model


def read_rows(model, path, encoding=None, header=None):
    """New rows, their matrix, and notes on what was not as in training."""
    frame, _ = read_frame(path, encoding, header)
    encoder = model.steps[0][1]
    names = {column.name for column in encoder.plan}
    for name in sorted(names - set(frame.columns)):
        raise CommandError(
            f"{path} lacks the column {name!r} that the model learned from; "
            f"{did_you_mean(name, frame.columns)}"
        )
    try:
        X, notes = encoder.transform(frame), list(encoder.complaints(frame))
    except ValueError as error:
        raise CommandError(first_line(error)) from None
    return frame, X, notes


def predict(model, X):
    """{column: values}: the prediction, and the probability of each class where there is one."""
    rest = model[1:]
    found = {"prediction": rest.predict(X)}
    if hasattr(rest, "predict_proba"):
        proba = rest.predict_proba(X)
        found |= {f"P({c})": p for c, p in zip(rest.classes_, proba.T, strict=True)}
    return found


def truth(model, frame):
    """The target, where the rows have it: (which rows, its values); None if they have none."""
    encoder = model.steps[0][1]
    if encoder.target not in frame.columns:
        return None
    levels = [str(c) for c in getattr(model, "classes_", ())]
    series = tidy(frame[encoder.target], encoder.marks, levels)
    if encoder.task == "classification":
        text = as_text(series)
        rows = text.is_not_null().to_numpy()
        y = text.drop_nulls().to_numpy().astype(str)
        classes = {str(c): c for c in model.classes_}
        known = np.isin(y, list(classes))
        rows[np.flatnonzero(rows)[~known]] = False
        y = np.array([classes[v] for v in y[known]])
    else:
        numbers = max((as_numbers(series, mark) for mark in ".,"), key=lambda s: s.count())
        rows, y = numbers.is_not_null().to_numpy(), numbers.drop_nulls().to_numpy()
    return (rows, y) if len(y) else None


def judged(model, frame, X):
    """{metric, score, rows} on the rows whose target is known; None if none is."""
    found = truth(model, frame)
    if found is None:
        return None
    rows, y = found
    metric = DEFAULT[model.steps[0][1].task]
    score = float(METRICS[metric].score(model[1:], X[rows], y))
    return {"metric": metric, "score": score, "rows": len(y)}


def write_rows(path, frame):
    """Write a frame in the format that the name says."""
    suffix = Path(path).suffix.lower()
    writers = {
        ".csv": frame.write_csv,
        ".tsv": lambda to: frame.write_csv(to, separator="\t"),
        ".parquet": frame.write_parquet,
        ".arrow": frame.write_ipc,
        ".feather": frame.write_ipc,
        ".jsonl": frame.write_ndjson,
        ".ndjson": frame.write_ndjson,
    }
    if suffix not in writers:
        raise CommandError(f"cannot write {path}: the name must end in {', '.join(writers)}.")
    try:
        writers[suffix](path)
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror or error}.") from None
