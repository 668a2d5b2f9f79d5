"""Find out what the columns of a table hold, and say why"""

import math
import re
from itertools import combinations

from .columns import MOST_LEVELS, MOST_WORDS, OTHER, Column
from .console import CommandError, did_you_mean, listed
from .values import (
    DATES,
    TIMES,
    as_dates,
    as_hours,
    as_numbers,
    as_text,
    pl,
    plain_numbers,
    tidy,
    words_by_row,
)

EXACT = 2.0**53  # whole numbers above are no longer told apart in float64
ENOUGH = 0.9  # of the known values must be numbers or dates for a text column to be taken so


def understand(frame, numeric=(), categorical=(), marks=(), text=()):
    """The Columns of a frame, each with the reason for what it is taken as."""
    asked = {"--numeric": numeric, "--categorical": categorical, "--text": text}
    for option, names in asked.items():
        for name in names:
            if name not in frame.columns:
                raise CommandError(
                    f"no column {name!r} for {option}; {did_you_mean(name, frame.columns)}"
                )
    for one, other in combinations(asked, 2):
        if both := set(asked[one]) & set(asked[other]):
            raise CommandError(f"{min(both)!r} cannot be both {one} and {other}.")
    columns = {series.name: tidy(series, marks) for series in frame}
    usual = decimal_mark(columns.values())
    forced = dict.fromkeys(numeric, "number") | dict.fromkeys(categorical, "category")
    forced |= dict.fromkeys(text, "words")
    return [understood(series, usual, forced.get(name)) for name, series in columns.items()]


def decimal_mark(columns):
    """The mark by which more of the text columns are numbers; the point if it makes none."""
    texts = [series.head(1000) for series in columns if series.dtype == pl.String]
    texts = [text for text in texts if plain_numbers(text) is None]
    point, comma = (sum(as_numbers(t, mark).count() for t in texts) for mark in ".,")
    return "," if comma > point else "."


def understood(series, decimal, forced=None):
    """One Column of a tidy series: what is asked for, what its type says, what its text says."""
    name, known = series.name, series.drop_nulls()
    missing = len(series) - len(known)
    out = lambda why: Column(name, "left out", why, missing)
    if series.dtype.is_nested() or series.dtype in (pl.Binary, pl.Object):
        return out(f"{str(series.dtype).lower()}, neither numbers nor categories")
    if not len(known):
        if forced:
            raise CommandError(f"column {name!r} holds no values; leave it out by --drop.")
        return out("no values")
    if forced == "category":
        return category(series, missing)
    if forced == "words":
        return words(series, missing)
    if not forced and known.n_unique() == 1 and (not missing or series.dtype != pl.String):
        return out("constant")
    if series.dtype != pl.String:
        return moment(series, missing, forced) or number(series, missing, forced)
    decimal, found = more_numbers(known, decimal)
    if found >= ENOUGH * len(known) or (forced and found):
        return number(series, missing, forced, decimal)
    if forced:
        raise CommandError(f"column {name!r} holds no numbers, but text such as {known[0]!r}.")
    if found := moment(series, missing):
        return found
    distinct, n = known.n_unique(), len(series)
    if distinct > n / 2 or distinct > max(MOST_LEVELS, n / 10):
        return out(f"text, {distinct} different values in {n} rows; --text to use its words")
    return category(series, missing)


def more_numbers(known, decimal):
    """The decimal mark by which more is a number, the given one if both are as good; how many."""
    counts = {decimal: as_numbers(known, decimal).count()}
    if counts[decimal] < len(known):
        other = "," if decimal == "." else "."
        counts[other] = as_numbers(known, other).count()
    best = max(counts, key=counts.get)
    return best, counts[best]


def number(series, missing, forced=None, decimal="."):
    """The Column of numbers, unless they only count the rows."""
    values = as_numbers(series, decimal)
    why = "decimal commas" if decimal == "," and series.str.contains(",").any() else ""
    if lost := len(series) - missing - values.count():
        odd = series.filter(series.is_not_null() & values.is_null()).unique(maintain_order=True)
        why = f"{lost} values that are no numbers taken as missing: {listed(odd.to_list(), 3)}"
    if forced is None and (what := no_quantity(series, values)):
        return Column(series.name, "left out", what, missing + lost)
    steps = values.diff().drop_nulls()
    if forced is None and not missing and len(steps) > 9 and (steps == 1).all():
        return Column(series.name, "left out", "counts the rows; --numeric to keep it")
    return Column(series.name, "number", why, missing + lost, decimal)


def no_quantity(series, values):
    """Why numbers say nothing to a model: they differ by rounding alone, or name the rows."""
    known = values.drop_nulls()
    low, high = known.min(), known.max()
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        return "constant up to rounding"
    distinct = known.n_unique()
    if max(abs(low), abs(high)) > EXACT and (known % 1 == 0).all():
        exact = series.drop_nulls().cast(pl.String).n_unique()
        if exact > 0.9 * len(known):
            return "an identifier: whole numbers of 16 digits or more; --numeric to keep it"
    named = re.search(r"(^|[^a-z])id$|I[Dd]$", series.name)
    if named and len(known) > 9 and distinct == len(known) and (known % 1 == 0).all():
        return "an identifier: named so, and different in each row; --numeric to keep it"
    return ""


def category(series, missing):
    """The Column of categories: the most frequent ones, and OTHER for the rest."""
    counts = as_text(series).drop_nulls().value_counts(sort=True, name="n")
    frequent = counts[series.name].head(MOST_LEVELS).to_list()
    levels, why = tuple(sorted(frequent)), f"{len(frequent)} levels"
    if counts.height > MOST_LEVELS:
        levels += (OTHER,)
        why = f"{counts.height} levels, the {counts.height - MOST_LEVELS} rarest as one"
    return Column(series.name, "category", why, missing, levels=levels)


def words(series, missing):
    """The Column of words: those in the most rows, but in two at least and not in all."""
    n, pairs = len(series), words_by_row(series).unique()
    counts = pairs.get_column("word").value_counts(sort=True)
    counts = counts.filter((pl.col("count") > 1) & (pl.col("count") < n)).sort(
        "count", "word", descending=[True, False]
    )
    if not counts.height:
        raise CommandError(f"column {series.name!r} has no word that some rows share.")
    kept = counts.head(MOST_WORDS).sort("word")
    rarity = [math.log((1 + n) / (1 + count)) + 1.0 for count in kept["count"]]
    why = f"{kept.height} words"
    if kept.height < counts.height:
        why = f"the {kept.height} most frequent of {counts.height} words"
    return Column(
        series.name, "words", why, missing, levels=tuple(kept["word"]), rarity=tuple(rarity)
    )


def moment(series, missing, forced=None):
    """The Column of dates or times of day; None if it holds neither."""
    name, known = series.name, series.drop_nulls()
    if series.dtype != pl.String:
        if forced or not series.dtype.is_temporal() or series.dtype == pl.Duration:
            return None
        if series.dtype == pl.Time:
            return Column(name, "time", "", missing)
        return Column(name, "date", "", missing, hours=has_hours(as_dates(known)))
    for kind, read, formats in (("date", as_dates, DATES), ("time", as_hours, TIMES)):
        if written := best_format(known, read, formats):
            hours = kind == "date" and has_hours(as_dates(known, written))
            why = f"written as {written}"
            return Column(name, kind, why, missing, date=written, hours=hours)
    return None


def best_format(known, read, formats):
    """The format by which most of a text column is read, if that is enough; "" if none is."""
    sample = known.head(200)
    fits = {written: read(sample, written).count() for written in formats}
    most = max(fits.values())
    if most < ENOUGH * len(sample):
        return ""
    counts = {w: read(known, w).count() for w in formats if fits[w] == most}
    best = max(counts, key=counts.get)
    return best if counts[best] >= ENOUGH * len(known) else ""


def has_hours(moments):
    """Whether any moment is not midnight."""
    moments = moments.drop_nulls()
    return bool((moments.dt.truncate("1d") != moments).any())
