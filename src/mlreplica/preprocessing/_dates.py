r"""Dates as columns: calendar parts, circles, elapsed time

A date is a day number D, counted from 1970-01-01, and a time of day. Its weekday is
(D + 3) mod 7, from Monday. Year, month and day follow from D by whole-number division in a
calendar that begins in March, so that the leap day is the last day of a year of 400-year eras
of 146,097 days each.

December is next to January, 23 h next to 0 h: as numbers they are far apart. A part t that repeats
after P steps lies on a circle,                                                               (6)

    (sin 2πt/P, cos 2πt/P),

where the distance of two values depends only on the steps between them, the shorter way round.
"""

from functools import cache
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.compat import _check_feature_names_in, _fit_context
from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import n_threads, run, split

from ._categories import Coded, coded, is_nan
from ._read import read_columns

PARTS = "year", "month", "day", "weekday", "hour", "day_of_year", "is_weekend", "elapsed"
PERIODS = {"month": 12, "day": 31, "weekday": 7, "hour": 24, "day_of_year": 366}  # P of (6)
FIRST = {"month": 1, "day": 1, "day_of_year": 1}  # the value at t = 0
DAY = 86_400_000_000  # microseconds
LATEST = 9e12  # seconds from 1970 that a date can be: some 285,000 years


@kernel
def calendar_parts(time, out):
    """Write year, month, day, weekday, hour, day of year, weekend of each time (µs from 1970)."""
    for i in range(len(time)):
        D = time[i] // DAY
        z = D + 719468  # days from 0000-03-01
        era = z // 146097
        e = z - era * 146097
        y = (e - e // 1460 + e // 36524 - e // 146096) // 365  # year of the era
        d = e - (365 * y + y // 4 - y // 100)  # day of the year from March
        m = (5 * d + 2) // 153  # month from March
        month = m + 3 if m < 10 else m - 9
        year = y + era * 400 + (1 if m >= 10 else 0)
        leap = 1 if (year % 4 == 0 and year % 100 != 0) or year % 400 == 0 else 0
        weekday = (D + 3) % 7
        out[i, 0] = year
        out[i, 1] = month
        out[i, 2] = d - (153 * m + 2) // 5 + 1
        out[i, 3] = weekday
        out[i, 4] = (time[i] - D * DAY) // 3_600_000_000
        out[i, 5] = d + 60 + leap if m < 10 else d - 305
        out[i, 6] = 1 if weekday >= 5 else 0


@cache
def circle(part):
    """(6) for every value of a part, by its number."""
    P = PERIODS[part]
    angle = 2 * np.pi * (np.arange(P + 1) - FIRST.get(part, 0)) / P
    return np.stack([np.sin(angle), np.cos(angle)], axis=1)


class DateFeatures(TransformerMixin, BaseEstimator):
    """Replace dates by their calendar parts, by points on circles (6), and by elapsed time.

    Dates are NumPy's, pandas' or polars' dates and times, Python's, texts in ISO form as
    "2024-02-29" or "2024-02-29T13:45", or numbers: seconds since 1970. A time zone is left out:
    the parts are those that a clock there shows.

    Parameters
    ----------
    parts : sequence of str, default=("year", "month", "day", "weekday", "hour", "day_of_year",
        "is_weekend", "elapsed")
        Which parts: month, day and day of the year count from 1, weekday from 0 for Monday;
        "elapsed" is in days.
    cyclical : bool or sequence of str, default=True
        Which parts are points on a circle, two columns each, instead of a number: True means all
        that repeat.
    origin : date or None, default=None
        From when elapsed time counts; None takes the earliest date of each column.

    Attributes
    ----------
    origin_ : ndarray of shape (n_features_in_,)
        From when elapsed time counts, in days since 1970.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.

    Examples
    --------
    >>> from mlreplica.preprocessing import DateFeatures
    >>> dates = DateFeatures(parts=("year", "month", "weekday", "elapsed"), cyclical=False)
    >>> dates.fit_transform([["2024-02-28"], ["2024-03-01"]])
    array([[2.024e+03, 2.000e+00, 2.000e+00, 0.000e+00],
           [2.024e+03, 3.000e+00, 4.000e+00, 2.000e+00]])
    >>> DateFeatures(parts=["month"]).fit([["2024-02-28"]]).get_feature_names_out(["sold"])
    array(['sold_month_sin', 'sold_month_cos'], dtype=object)
    """

    card = Card(
        page="encoding",
        checks="dates",
        input="rows",
        use="columns of dates and times",
        good="neighbouring dates stay neighbours; any kind of date; one pass",
        bad="knows no holidays; the circle of months takes them for equally long",
        time="O(n p)",
        memory="O(n p)",
        rescaling="needed for the year and elapsed time; circles have unit radius",
        missing="accepted: all parts of a missing date are NaN",
        instead="a spline over the day of the year, for a smooth season",
    )
    _parameter_constraints: dict = {
        "parts": ["array-like", tuple],
        "cyclical": ["boolean", "array-like", tuple],
        "origin": "no_validation",
    }

    def __init__(self, parts: Any = PARTS, *, cyclical: Any = True, origin=None):
        self.parts = parts
        self.cyclical = cyclical
        self.origin = origin

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Find the earliest date of each column.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Dates.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        self : DateFeatures
        """
        self._plan()
        times = [microseconds(column) for column in read_columns(self, X, reset=True)[0]]
        if self.origin is None:
            begin = [time[~gap].min() if not gap.all() else 0 for time, gap in times]
        else:
            given, gap = microseconds(np.array([self.origin], dtype=object))
            if gap.any():
                raise ValueError(f"origin must be a date, got {self.origin!r}.")
            begin = [given[0]] * len(times)
        self.origin_ = np.array(begin, dtype=np.float64) / DAY
        return self

    def _plan(self):
        """(part, whether it is a circle), in order."""
        unknown = [part for part in self.parts if part not in PARTS]
        if unknown or len(self.parts) == 0:
            raise ValueError(f"parts must be some of {PARTS}, got {list(self.parts)}.")
        if isinstance(self.cyclical, bool | np.bool_):
            circles = set(PERIODS) if self.cyclical else set()
        else:
            circles = set(self.cyclical)
            if not circles <= set(PERIODS):
                raise ValueError(f"cyclical must be some of {tuple(PERIODS)}, got {circles}.")
        return [(part, part in circles) for part in self.parts]

    def transform(self, X):
        """Return the parts of dates.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Dates.

        Returns
        -------
        X_out : ndarray of shape (n_samples, n_new_columns)
        """
        check_is_fitted(self)
        plan = self._plan()
        width = sum(1 + is_circle for _, is_circle in plan)
        columns, n = read_columns(self, X, reset=False)
        out = np.empty((n, width * len(columns)))
        for j, column in enumerate(columns):
            self._write(column, self.origin_[j], plan, out[:, j * width : (j + 1) * width])
        return out

    def _write(self, column, origin, plan, out):
        """The parts of one column."""
        time, gap = microseconds(column)
        whole = np.empty((len(time), 7), np.int64)
        run(
            lambda rows: calendar_parts(time[rows], whole[rows]),
            split(len(time), n_threads(), least=1 << 15),
        )
        at = 0
        for part, is_circle in plan:
            if part == "elapsed":
                out[:, at] = time / DAY - origin
            elif is_circle:
                out[:, at : at + 2] = circle(part)[whole[:, PARTS.index(part)]]
            else:
                out[:, at] = whole[:, PARTS.index(part)]
            at += 1 + is_circle
        if gap.any():
            out[gap] = np.nan

    def get_feature_names_out(self, input_features=None):
        """Return the names of the new columns.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the columns of X.

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self)
        ends = []
        for part, is_circle in self._plan():
            ends += [f"{part}_sin", f"{part}_cos"] if is_circle else [part]
        given = _check_feature_names_in(self, input_features)
        return np.array([f"{name}_{end}" for name in given for end in ends], dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags


def microseconds(column):
    """Times of a column in microseconds since 1970, 0 for a missing one, and which are missing."""
    if isinstance(column, Coded) or column.dtype.kind in "OUS":
        codes, values = coded(column)
        time = np.array([as_date(value) for value in values.tolist()], dtype="M8[us]")[codes]
    elif column.dtype.kind == "M":
        time = column.astype("M8[us]")
    elif column.dtype.kind in "iuf":
        seconds = column.astype(np.float64)
        gap = np.isnan(seconds)
        if (np.abs(seconds[~gap]) > LATEST).any():
            raise ValueError(
                "Numbers are seconds since 1970, and some are too large; convert the column to "
                "dates, for instance by astype('datetime64[ms]')."
            )
        return (np.where(gap, 0.0, seconds) * 1e6).astype(np.int64), gap
    else:
        raise ValueError(f"A column of dtype {column.dtype} holds no dates.")
    gap = np.isnat(time)
    return np.where(gap, 0, time.view(np.int64)), gap


def as_date(value):
    """A date for NumPy: without a time zone, None if it is missing."""
    if isinstance(value, bytes):
        value = value.decode()
    if isinstance(value, str):
        value = value.strip().removesuffix("Z")
        try:
            return np.datetime64(value or "NaT", "us")
        except ValueError:
            raise ValueError(
                f"{value!r} is no date in ISO form, as 2024-02-29 or 2024-02-29T13:45."
            ) from None
    if value is None or is_nan(value):
        return None
    if isinstance(value, int | float):
        return np.datetime64(int(value * 1e6), "us")
    return value.replace(tzinfo=None) if getattr(value, "tzinfo", None) else value
