"""What the columns of a table hold, and the matrix that models see

    number      itself; what is no number is missing
    category    a code for each of at most 50 levels; rarer ones share one
    date        days since 1970, month, day, weekday, and the hour if there are hours
    left out    identifiers, free text, constants, empty columns

`Columns` is the first step of a saved pipeline: it does to new rows what was done to the old ones.
"""

from dataclasses import asdict, dataclass

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from mlreplica.cli.console import Problem, did_you_mean, listed

MISSING = ["", "-", "?", ".", "na", "n/a", "#n/a", "nan", "null", "none", "nil", "missing"]
OTHER = "(other)"
MOST_LEVELS = 50
DATES = [
    "%Y-%m-%d", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.fZ",
    "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M", "%Y/%m/%d", "%Y/%m/%d %H:%M:%S", "%d.%m.%Y",
    "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%d/%m/%Y", "%d/%m/%Y %H:%M", "%d/%m/%Y %H:%M:%S",
    "%m/%d/%Y", "%m/%d/%Y %H:%M", "%m/%d/%Y %H:%M:%S", "%d-%m-%Y", "%d %b %Y",
]  # fmt: skip
ENOUGH = 0.9  # of the known values must be numbers or dates for a text column to be taken so


@dataclass(frozen=True)
class Column:
    """One column of a table, as models are to see it."""

    name: str
    kind: str  # number, category, date, left out
    why: str = ""
    missing: int = 0
    decimal: str = "."  # of numbers written as text
    date: str = ""  # the format of dates written as text
    levels: tuple = ()  # of a category
    hours: bool = False  # whether a date has any

    @property
    def features(self):
        """Names of the columns of the matrix that this one becomes."""
        if self.kind == "date":
            parts = ["days", "month", "day", "weekday"] + ["hour"] * self.hours
            return [f"{self.name} ({part})" for part in parts]
        return [] if self.kind == "left out" else [self.name]

    def encode(self, series):
        """The columns of the matrix, (n, number of features), NaN where missing."""
        known = tidy(series)
        if self.kind == "number":
            return as_numbers(known, self.decimal).to_numpy()[:, None]
        if self.kind == "category":
            codes = dict(zip(self.levels, map(float, range(len(self.levels))), strict=True))
            found = as_text(known).replace_strict(codes, default=None, return_dtype=float_type())
            if OTHER in codes:
                found = found.fill_null(codes[OTHER]).set(known.is_null(), None)
            return found.to_numpy()[:, None]
        moments = as_dates(known, self.date)
        days = moments.dt.epoch("s") / 86400.0
        parts = [days, moments.dt.month(), moments.dt.day(), moments.dt.weekday()]
        parts += [moments.dt.hour()] if self.hours else []
        return np.column_stack([part.cast(float_type()).to_numpy() for part in parts])


def float_type():
    """The type of every column of the matrix."""
    import polars as pl

    return pl.Float64


def tidy(series):
    """The column with null for all that means missing; text without blanks around it."""
    import polars as pl

    if series.dtype in (pl.Categorical, pl.Enum, pl.Boolean, pl.Null):
        series = series.cast(pl.String)
    if series.dtype == pl.String:
        series = series.str.strip_chars()
        return series.set(series.str.to_lowercase().is_in(MISSING), None)
    if series.dtype.is_float():
        return series.set(~series.is_finite(), None)
    return series


def as_text(series):
    """Levels of a category; 3.0 is the level 3."""
    import polars as pl

    if series.dtype.is_float() and (series.drop_nulls() % 1 == 0).all():
        series = series.cast(pl.Int64, strict=False)
    return series.cast(pl.String)


def as_numbers(series, decimal="."):
    """Numbers, null for what is none; text may have thousands apart, %, € …"""
    import polars as pl

    if series.dtype.is_temporal():
        return as_dates(series, "").dt.epoch("s") / 86400.0
    if series.dtype != pl.String:
        return series.cast(pl.Float64, strict=False)
    apart = "," if decimal == "." else "."
    text = series.str.replace_all(r"[\s'’%€$£]", "")
    grouped = text.str.contains(rf"^[-+]?\d{{1,3}}([{apart}]\d{{3}})+([{decimal}]\d*)?$")
    text = text.zip_with(~grouped.fill_null(False), text.str.replace_all(apart, "", literal=True))
    if decimal == ",":
        text = text.set(text.str.contains(".", literal=True), None)
        text = text.str.replace(",", ".", literal=True)
    numbers = text.cast(pl.Float64, strict=False)
    return numbers.set(~numbers.is_finite(), None)


def as_dates(series, date):
    """Moments, null for what is none."""
    import polars as pl

    if series.dtype == pl.String:
        return series.str.to_datetime(date or DATES[0], strict=False, time_unit="us")
    return series.cast(pl.Datetime("us"), strict=False)


def understand(frame, numeric=(), categorical=()):
    """The Columns of a frame, each with the reason for what it is taken as."""
    for option, names in (("--numeric", numeric), ("--categorical", categorical)):
        for name in names:
            if name not in frame.columns:
                raise Problem(
                    f"no column {name!r} for {option}; {did_you_mean(name, frame.columns)}"
                )
    if both := set(numeric) & set(categorical):
        raise Problem(f"{min(both)!r} cannot be both --numeric and --categorical.")
    columns = {series.name: tidy(series) for series in frame}
    usual = decimal_mark(columns.values())
    forced = dict.fromkeys(numeric, "number") | dict.fromkeys(categorical, "category")
    return [understood(series, usual, forced.get(name)) for name, series in columns.items()]


def decimal_mark(columns):
    """The mark by which more of the text columns are numbers; the point if it makes none."""
    import polars as pl

    texts = [series.head(1000) for series in columns if series.dtype == pl.String]
    point, comma = (sum(as_numbers(t, mark).count() for t in texts) for mark in ".,")
    return "," if comma > point else "."


def understood(series, decimal, forced=None):
    """One Column of a tidy series."""
    import polars as pl

    name, n, known = series.name, len(series), series.drop_nulls()
    missing, distinct = n - len(known), known.n_unique()
    out = lambda why: Column(name, "left out", why, missing)
    if series.dtype.is_nested() or series.dtype in (pl.Binary, pl.Object):
        return out(f"{str(series.dtype).lower()}, neither numbers nor categories")
    if not len(known):
        if forced:
            raise Problem(f"column {name!r} holds no values; leave it out by --drop.")
        return out("no values")
    if forced is None and distinct == 1 and (not missing or series.dtype != pl.String):
        return out("constant")
    if series.dtype != pl.String:
        if forced is None and series.dtype.is_temporal() and series.dtype not in (
            pl.Duration, pl.Time
        ):  # fmt: skip
            return Column(name, "date", "", missing, hours=has_hours(as_dates(known, "")))
        if forced != "category":
            return number(series, missing, forced)
        return category(series, missing)
    if forced != "category":
        other = "," if decimal == "." else "."
        counts = {mark: as_numbers(known, mark).count() for mark in (decimal, other)}
        decimal = max(counts, key=counts.get)
        if counts[decimal] >= ENOUGH * len(known) or (forced and counts[decimal]):
            return number(series, missing, forced, decimal)
        if forced:
            raise Problem(f"column {name!r} holds no numbers, but text such as {known[0]!r}.")
        date, hours = date_format(known)
        if date:
            return Column(name, "date", f"written as {date}", missing, date=date, hours=hours)
        if distinct > n / 2 or distinct > max(MOST_LEVELS, n / 10):
            return out(f"text, {distinct} different values in {n} rows")
    return category(series, missing)


def number(series, missing, forced=None, decimal="."):
    """The Column of numbers, unless they only count the rows."""
    values = as_numbers(series, decimal)
    why = "decimal commas" if decimal == "," else ""
    if lost := len(series) - missing - values.count():
        odd = series.filter(series.is_not_null() & values.is_null()).unique(maintain_order=True)
        why = f"{lost} values that are no numbers taken as missing: {listed(odd.to_list(), 3)}"
    steps = values.diff().drop_nulls()
    if forced is None and not missing and len(steps) > 9 and (steps == 1).all():
        return Column(series.name, "left out", "counts the rows; --numeric to keep it")
    return Column(series.name, "number", why, missing + lost, decimal)


def category(series, missing):
    """The Column of categories: the most frequent ones, and OTHER for the rest."""
    counts = as_text(series).drop_nulls().value_counts(sort=True, name="n")
    frequent = counts[series.name].head(MOST_LEVELS).to_list()
    levels, why = tuple(sorted(frequent)), f"{len(frequent)} levels"
    if counts.height > MOST_LEVELS:
        levels += (OTHER,)
        why = f"{counts.height} levels, the {counts.height - MOST_LEVELS} rarest as one"
    return Column(series.name, "category", why, missing, levels=levels)


def date_format(known):
    """The format by which text is dates, and whether they have hours; "" if none is."""
    sample = known.head(200)
    fits = {date: as_dates(sample, date).count() for date in DATES}
    best = max(fits, key=fits.get)
    if fits[best] < ENOUGH * len(sample):
        return "", False
    rivals = [date for date in DATES if fits[date] == fits[best]]
    best = max(rivals, key=lambda date: as_dates(known, date).count())
    moments = as_dates(known, best)
    return (best, has_hours(moments)) if moments.count() >= ENOUGH * len(known) else ("", False)


def has_hours(moments):
    """Whether any moment is not midnight."""
    moments = moments.drop_nulls()
    return bool((moments.dt.truncate("1d") != moments).any())


class Columns(TransformerMixin, BaseEstimator):
    """Turn a frame into the matrix that models see, column by column as planned.

    Parameters
    ----------
    columns : list of dict
        The fields of each `Column`.
    target, task : str, optional
        What the model after it predicts.
    """

    def __init__(self, columns, target=None, task=None):
        self.columns, self.target, self.task = columns, target, task

    @classmethod
    def of(cls, columns, target=None, task=None):
        """From `Column` objects; only plain values are kept, so that they can be saved."""
        plain = [asdict(column) | {"levels": list(column.levels)} for column in columns]
        return cls(plain, target, task)

    @property
    def plan(self):
        """The used columns as `Column` objects."""
        all_columns = [Column(**c | {"levels": tuple(c["levels"])}) for c in self.columns]
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
        return np.column_stack([column.encode(frame[column.name]) for column in plan])

    def complaints(self, frame):
        """Sentences on values that are there and not understood, so are taken as missing."""
        for column in self.plan:
            known = tidy(frame[column.name])
            lost = known.is_not_null().to_numpy() & np.isnan(
                column.encode(frame[column.name])[:, 0]
            )
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


def as_polars(frame):
    """Any frame as polars."""
    import polars as pl

    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, dict):
        return pl.DataFrame(frame)
    return pl.from_pandas(frame) if hasattr(frame, "iloc") else pl.from_arrow(frame)
