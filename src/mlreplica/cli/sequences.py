"""Models of sequences: a table with a column that names the sequence, or a CoNLL file"""

import time
from itertools import groupby
from pathlib import Path

import numpy as np
from sklearn.pipeline import Pipeline, make_pipeline

from mlreplica import sequence as chapter
from mlreplica.core.card import card_of

from .console import CommandError, did_you_mean
from .data import check_file, decode, read_frame
from .model import first_line
from .show import grid_of, line, plain
from .values import as_numbers, pl, tidy


def sequence_model(name):
    """The class of a model of sequences, whatever the case of its name; None if it is none."""
    things = [getattr(chapter, title) for title in chapter.__all__]
    found = [card_of(thing) for thing in things if isinstance(thing, type)]
    known = {c.name.lower(): c.estimator for c in found if c and c.task == "labelling"}
    return known.get(name.lower())


def read_conll(path, encoding=None, least=2):
    """Sentences of rows of words: a token per line, an empty line between sentences.

    Remarks begin with # and stand before the first word of a sentence; later on # is a word.
    """
    check_file(Path(path))
    text, *_ = decode(Path(path).read_bytes(), path, encoding)
    kept = [[]]
    for row in text.splitlines():
        remark = row.startswith("#") and not kept[-1]
        if not remark and not row.startswith("-DOCSTART-"):
            kept.append(row.split())
    sentences = [list(rows) for filled, rows in groupby(kept, key=bool) if filled]
    widths = {len(row) for rows in sentences for row in rows}
    if len(widths) != 1 or min(widths) < least:
        raise CommandError(f"{path}: every line needs a word, perhaps more columns, and a label.")
    return sentences


def fit_labels(cls, path, settings, encoding=None):
    """A field for the last column of a CoNLL file, behind the attributes of its words."""
    from mlreplica.sequence import WordFeatures

    sentences = read_conll(path, encoding)
    y = [[row[-1] for row in rows] for rows in sentences]
    X = [[tuple(row[:-1]) for row in rows] for rows in sentences]
    model = make_pipeline(WordFeatures(), cls(**settings)).fit(X, y)
    return model, {"sequences": len(X), "rows": sum(map(len, X))}


def check_columns(frame, names, path):
    """A CommandError unless the frame has these columns; None asks for none."""
    for name in names:
        if name is not None and name not in frame.columns:
            raise CommandError(
                f"{path} has no column {name!r}; {did_you_mean(name, frame.columns)}"
            )


def lengths_of(frame, name, path):
    """Rows of each sequence in turn, told apart by the column `name`; one sequence without."""
    ids = np.zeros(frame.height) if name is None else frame[name].to_numpy()
    starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
    if len(set(ids[starts].tolist())) < len(starts):
        raise CommandError(f"rows of one {name!r} must stand together; sort {path} by it first.")
    return np.diff(np.append(starts, len(ids)))


def fit_series(cls, path, name, target, settings, seed, encoding=None):
    """A hidden Markov model of the numbers in a table; `name` is the column of the sequence."""
    frame, _ = read_frame(path, encoding)
    check_columns(frame, (name, target), path)
    numbers = {c: as_numbers(tidy(frame[c])) for c in frame.columns if c not in (name, target)}
    whole = {c: s for c, s in numbers.items() if s.count() and s.count() >= tidy(frame[c]).count()}
    if not whole:
        raise CommandError(f"{path} has no column of numbers.")
    rows, lengths = pl.DataFrame(whole).cast(pl.Float64), lengths_of(frame, name, path)
    y = None if target is None else as_numbers(tidy(frame[target])).fill_null(-1).to_numpy()
    model = cls(**{"random_state": seed} | settings).fit(rows, y, lengths)
    said = {"sequences": len(lengths), "rows": frame.height, "features": rows.columns}
    return model, said | {"log_likelihood": model.score(rows, None, lengths)}


def fit(cls, path, sequence, target, settings, seed, encoding=None):
    """The fitted model, and what there is to say of it."""
    start = time.perf_counter()
    try:
        if cls.__name__ == "CRF":
            model, said = fit_labels(cls, path, settings, encoding)
        else:
            model, said = fit_series(cls, path, sequence, target, settings, seed, encoding)
    except (ValueError, TypeError) as error:
        raise CommandError(f"{cls.__name__} could not be fitted: {first_line(error)}") from None
    seconds = round(time.perf_counter() - start, 3)
    return model, {"model": cls.__name__, "parameters": settings, **said, "seconds": seconds}


# ------------------------------------------------------------------------------------ kept models


def read_words(model, path, encoding=None):
    """Sentences of a CoNLL file as the field learned them, and their labels if they are there."""
    sentences, width = read_conll(path, encoding, least=1), model.steps[0][1].n_columns_
    given = len(sentences[0][0])
    if given not in (width, width + 1):
        raise CommandError(
            f"{path} has {given} columns; the model learned from {width} and a label."
        )
    X = [[tuple(row[:width]) for row in rows] for rows in sentences]
    return X, [[row[-1] for row in rows] for rows in sentences] if given > width else None


def read_series(model, path, sequence, encoding=None):
    """The columns that a hidden Markov model learned from, and the rows of each sequence."""
    frame, _ = read_frame(path, encoding)
    check_columns(frame, (sequence, *model.feature_names_in_), path)
    rows = {c: as_numbers(tidy(frame[c])) for c in model.feature_names_in_.tolist()}
    return frame, pl.DataFrame(rows).cast(pl.Float64), lengths_of(frame, sequence, path)


def predict(model, path, sequence, encoding=None):
    """A frame of predictions, and {metric, score, rows} if the file has labels."""
    try:
        if isinstance(model, Pipeline):
            X, y = read_words(model, path, encoding)
            found = [label for labels in model.predict(X) for label in labels]
            marginals = [
                m
                for item in model.steps[-1][1].predict_marginals(model[:-1].transform(X))
                for m in item
            ]
            rows = {
                "sentence": [s for s, words in enumerate(X) for _ in words],
                "word": [row[0] for words in X for row in words],
                "prediction": found,
                "probability": [m[label] for m, label in zip(marginals, found, strict=True)],
            }
            score = (
                None
                if y is None
                else {"metric": "accuracy", "score": model.score(X, y), "rows": len(found)}
            )
            return pl.DataFrame(rows), score
        frame, rows, lengths = read_series(model, path, sequence, encoding)
        found = {"prediction": model.predict(rows, lengths)}
        shares = model.predict_proba(rows, lengths).T
        found |= {f"P({k})": share for k, share in enumerate(shares)}
        return frame.with_columns(pl.DataFrame(found)), None
    except (ValueError, TypeError) as error:
        raise CommandError(first_line(error)) from None


def explain(model, path, row, sequence, encoding=None):
    """Why the rows of a file have their labels or states: {row, prediction, terms} of each."""
    try:
        if isinstance(model, Pipeline):
            X = read_words(model, path, encoding)[0]
            items, field = model[:-1].transform(X), model.steps[-1][1]
            found = [
                {
                    "prediction": item["label"],
                    "terms": {"transition": item["transition"]} | item["attributes"],
                }
                for x in items
                for item in field.explain(x)
            ]
        else:
            _, rows, lengths = read_series(model, path, sequence, encoding)
            terms = {name: value.tolist() for name, value in model.explain(rows, lengths).items()}
            kept = ("transition", "emission", "probability", "other", "evidence")
            found = [
                {"prediction": state, "terms": {name: terms[name][t] for name in kept}}
                for t, state in enumerate(terms["state"])
            ]
    except (ValueError, TypeError) as error:
        raise CommandError(first_line(error)) from None
    if row is not None and not -len(found) <= row < len(found):
        raise CommandError(f"no row {row}: {path} has the rows 0 to {len(found) - 1}.")
    chosen = range(len(found)) if row is None else [row % len(found)]
    return [{"row": t} | found[t] for t in chosen]


def show_terms(found, console, most=8):
    """Print the terms of each row, the largest first."""
    grid = grid_of("row", "prediction", "terms", right=("row",))
    for item in found[:200]:
        terms = [f"{name} {value:+.3g}" for name, value in list(item["terms"].items())[:most]]
        grid.add_row(str(item["row"]), plain(str(item["prediction"])), plain(", ".join(terms)))
    console.print(grid)
    if len(found) > 200:
        line(console, f"… and {len(found) - 200} more; --row chooses one, --json shows all", "dim")
