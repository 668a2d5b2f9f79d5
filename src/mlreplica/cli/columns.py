"""From the columns of a table to the matrix that models see

    number      itself; what is no number is missing
    category    a code for each of at most 50 levels; rarer ones share one
    date        days since 1970, month, day, weekday, and the hour if there are hours
    time        hours since midnight
    words       where asked for: the weight of each of its most frequent words
    left out    identifiers, other text, constants, empty columns

`Columns` is the first step of a saved pipeline: it does to new rows what was done to the old ones.
"""

from dataclasses import asdict, dataclass

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from .console import listed
from .values import as_dates, as_hours, as_numbers, as_polars, as_text, count_words, pl, tidy

OTHER = "(other)"
MOST_LEVELS = 50
MOST_WORDS = 300


@dataclass(frozen=True)
class Column:
    """One column of a table, as models are to see it."""

    name: str
    kind: str  # number, category, date, time, words, left out
    why: str = ""
    missing: int = 0
    decimal: str = "."  # of numbers written as text
    date: str = ""  # the format of dates or times written as text
    levels: tuple = ()  # of a category; the words
    rarity: tuple = ()  # of each word: its inverse document frequency
    hours: bool = False  # whether a date has any

    @property
    def features(self):
        """Names of the columns of the matrix that this one becomes."""
        if self.kind == "date":
            parts = ["days", "month", "day", "weekday"] + ["hour"] * self.hours
            return [f"{self.name} ({part})" for part in parts]
        if self.kind == "words":
            return [f"{self.name}: {word}" for word in self.levels]
        return [] if self.kind == "left out" else [self.name]

    def encode(self, series, marks=()):
        """The columns of the matrix, (n, number of features), NaN where missing.

        Words are counted, times their rarity, and each row is scaled to length 1 (TF-IDF); a text
        that is missing has none.
        """
        if self.kind == "words":
            counts = count_words(tidy(series, marks), self.levels) * np.array(self.rarity)
            lengths = np.sqrt((counts * counts).sum(axis=1, keepdims=True))
            return counts / np.where(lengths > 0.0, lengths, 1.0)
        known = tidy(series, marks, self.levels)
        if self.kind == "number":
            return as_numbers(known, self.decimal).to_numpy()[:, None]
        if self.kind == "time":
            return as_hours(known, self.date).to_numpy()[:, None]
        if self.kind == "category":
            codes = dict(zip(self.levels, map(float, range(len(self.levels))), strict=True))
            found = as_text(known).replace_strict(codes, default=None, return_dtype=pl.Float64)
            if OTHER in codes:
                found = found.fill_null(codes[OTHER]).set(known.is_null(), None)
            return found.to_numpy()[:, None]
        moments = as_dates(known, self.date)
        days = moments.dt.epoch("s") / 86400.0
        parts = [days, moments.dt.month(), moments.dt.day(), moments.dt.weekday()]
        parts += [moments.dt.hour()] if self.hours else []
        return np.column_stack([part.cast(pl.Float64).to_numpy() for part in parts])


class Columns(TransformerMixin, BaseEstimator):
    """Turn a frame into the matrix that models see, column by column as planned.

    Parameters
    ----------
    columns : list of dict
        The fields of each `Column`.
    target, task : str, optional
        What the model after it predicts.
    marks : list of str, optional
        Values that mean missing.
    """

    def __init__(self, columns, target=None, task=None, marks=()):
        self.columns, self.target, self.task, self.marks = columns, target, task, marks

    @classmethod
    def of(cls, columns, target=None, task=None, marks=()):
        """From `Column` objects; only plain values are kept, so that they can be saved."""
        plain = [
            {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(column).items()}
            for column in columns
        ]
        return cls(plain, target, task, list(marks))

    @property
    def plan(self):
        """The used columns as `Column` objects."""
        lists = ("levels", "rarity")
        all_columns = [
            Column(**c | {name: tuple(c.get(name, ())) for name in lists}) for c in self.columns
        ]
        return [column for column in all_columns if column.features]

    def __sklearn_is_fitted__(self):
        return True

    def fit(self, frame, y=None):
        """Nothing to learn."""
        return self

    def transform(self, frame):
        """The matrix of a polars, pandas or Arrow frame that has these columns."""
        frame, plan = as_polars(frame), self.plan
        gone = [column.name for column in plan if column.name not in frame.columns]
        if gone:
            raise ValueError(
                f"the data lacks the column {listed(gone)} that the model learned from."
            )
        return np.column_stack([column.encode(frame[column.name], self.marks) for column in plan])

    def complaints(self, frame):
        """Sentences on values that are there and not understood, so are taken as missing."""
        for column in self.plan:
            known = tidy(frame[column.name], self.marks, column.levels)
            lost = known.is_not_null().to_numpy() & np.isnan(column.encode(known, self.marks)[:, 0])
            if not lost.any():
                continue
            odd = listed(known.filter(lost).unique(maintain_order=True).to_list(), 3)
            if column.kind != "category" and lost.sum() == known.count():
                raise ValueError(
                    f"column {column.name!r} held {column.kind}s when the model learned; "
                    f"here it holds {odd}."
                )
            what = "not seen in training" if column.kind == "category" else f"no {column.kind}"
            n = int(lost.sum())
            yield f"{n} values of {column.name!r} are {what} ({odd}): taken as missing"

    def get_feature_names_out(self, input_features=None):
        """Names of the matrix's columns."""
        return np.array([f for column in self.plan for f in column.features], dtype=object)
