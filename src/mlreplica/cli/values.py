"""Values as people write them: numbers, dates, times of day, and what means missing"""

import re

import numpy as np

try:
    import polars as pl
except ModuleNotFoundError:  # shipped sets need none, and `read_frame` says what to install
    pl = None

MISSING = ["", "-", "?", ".", "na", "n/a", "#n/a", "nan", "null", "none", "nil", "missing"]
DATES = [
    "%Y-%m-%d", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.fZ",
    "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M", "%Y/%m/%d", "%Y/%m/%d %H:%M:%S", "%d.%m.%Y",
    "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%d/%m/%Y", "%d/%m/%Y %H:%M", "%d/%m/%Y %H:%M:%S",
    "%m/%d/%Y", "%m/%d/%Y %H:%M", "%m/%d/%Y %H:%M:%S", "%d-%m-%Y", "%d %b %Y",
]  # fmt: skip
TIMES = ["%H:%M:%S%.f", "%H:%M", "%H.%M.%S"]
HOUR = 3.6e12  # in polars' nanoseconds


def tidy(series, marks=(), levels=()):
    """The column with null for all that means missing; text without blanks around it.

    `marks` are further values that mean it. "-" does, unless it is one of the `levels` or stands
    beside "+"; so does text of nothing but commas and semicolons, left over by an export.
    """
    if series.dtype in (pl.Categorical, pl.Enum, pl.Boolean, pl.Null):
        series = series.cast(pl.String)
    if series.dtype == pl.String:
        if not marks and plain_numbers(series) is not None:
            return series
        series = series.str.strip_chars()
        gone = series.str.to_lowercase().is_in(MISSING) | series.str.contains("^[,;]+$")
        if "-" in levels or (series == "+").any():
            gone &= series != "-"
        for mark in marks:  # -200 is also written -200.0 or -200,00
            gone |= series.str.contains(rf"^{re.escape(mark)}([.,]0+)?$")
        return series.set(gone, None)
    if series.dtype.is_numeric():
        gone = ~series.is_finite()
        for mark in pl.Series(marks, dtype=pl.String).cast(pl.Float64, strict=False).drop_nulls():
            gone |= series == mark
        return series.set(gone, None)
    return series


def plain_numbers(series):
    """The numbers of text that holds nothing else, which is seen fast; else None."""
    numbers = series.cast(pl.Float64, strict=False)
    return numbers if numbers.is_finite().sum() == series.count() else None


def as_text(series):
    """Levels of a category; 3.0 is the level 3."""
    if series.dtype.is_float() and (series.drop_nulls() % 1 == 0).all():
        series = series.cast(pl.Int64, strict=False)
    return series.cast(pl.String)


def as_numbers(series, decimal="."):
    """Numbers, null for what is none; text may have thousands apart, %, € …"""
    if series.dtype.is_temporal():
        return as_dates(series).dt.epoch("s") / 86400.0
    if series.dtype != pl.String:
        return series.cast(pl.Float64, strict=False)
    if decimal == "." and (numbers := plain_numbers(series)) is not None:
        return numbers
    apart = "," if decimal == "." else "."
    text = series.str.replace_all(r"[\s'’%€$£]", "")
    grouped = text.str.contains(rf"^[-+]?\d{{1,3}}([{apart}]\d{{3}})+([{decimal}]\d*)?$")
    text = text.zip_with(~grouped.fill_null(False), text.str.replace_all(apart, "", literal=True))
    if decimal == ",":
        text = text.set(text.str.contains(".", literal=True), None)
        text = text.str.replace(",", ".", literal=True)
    numbers = text.cast(pl.Float64, strict=False)
    return numbers.set(~numbers.is_finite(), None)


def as_dates(series, written=""):
    """Moments, null for what is none."""
    if series.dtype == pl.String:
        return series.str.to_datetime(written or DATES[0], strict=False, time_unit="us")
    return series.cast(pl.Datetime("us"), strict=False)


def as_hours(series, written=""):
    """Times of day in hours since midnight, null for what is none."""
    if series.dtype == pl.String:
        series = series.str.to_time(written or TIMES[0], strict=False)
    return series.cast(pl.Time, strict=False).cast(pl.Int64) / HOUR


def as_polars(frame):
    """Any frame as polars."""
    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, dict):
        return pl.DataFrame(frame)
    return pl.from_pandas(frame) if hasattr(frame, "iloc") else pl.from_arrow(frame)


def words_by_row(series):
    """A frame of the words of a text column, in lower case, each with the number of its row."""
    words = as_text(series).str.to_lowercase().str.extract_all(r"\w\w+")
    frame = pl.DataFrame({"row": pl.arange(len(series), eager=True), "word": words})
    return frame.explode("word").drop_nulls()


def count_words(series, vocabulary):
    """How often each word occurs in each row, (n, words)."""
    places = dict(zip(vocabulary, range(len(vocabulary)), strict=True))
    found = words_by_row(series).with_columns(
        pl.col("word").replace_strict(places, default=None, return_dtype=pl.Int64)
    )
    found = found.drop_nulls()
    at = found["row"].to_numpy() * len(places) + found["word"].to_numpy()
    return np.bincount(at, minlength=len(series) * len(places)).reshape(-1, len(places))
