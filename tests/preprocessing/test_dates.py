"""Dates: every part against Python's datetime, every kind of column, circles"""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.estimator_checks import parametrize_with_checks

import mlreplica
from mlreplica.preprocessing import DateFeatures
from mlreplica.preprocessing._dates import PARTS, PERIODS


def naive(date):
    """The parts by the standard library."""
    day_of_year = date.timetuple().tm_yday
    weekday = date.weekday()
    return [date.year, date.month, date.day, weekday, date.hour, day_of_year, weekday >= 5]


@given(st.lists(st.datetimes(), min_size=1, max_size=20))
def test_parts_agree_with_the_standard_library(dates):
    column = np.array(dates, dtype="M8[us]")[:, None]
    found = DateFeatures(parts=PARTS[:-1], cyclical=False).fit_transform(column)
    assert_array_equal(found, [naive(date) for date in dates])


def test_every_day_of_four_centuries():
    days = np.arange(np.datetime64("1890-01-01"), np.datetime64("2310-01-01"))
    found = DateFeatures(parts=PARTS[:6], cyclical=False).fit_transform(days[:, None])
    months = days.astype("M8[M]")
    assert_array_equal(found[:, 0], days.astype("M8[Y]").astype(int) + 1970)
    assert_array_equal(found[:, 1], months.astype(int) % 12 + 1)
    assert_array_equal(found[:, 2], (days - months).astype(int) + 1)
    assert_array_equal(found[:, 5], (days - days.astype("M8[Y]")).astype(int) + 1)


TIMES = ["2024-02-29T13:45:00", "1969-12-31T23:59:59", "2023-01-01T00:00:00"]
STAMPS = [dt.datetime.fromisoformat(text) for text in TIMES]
COLUMNS = {
    "numpy": np.array(TIMES, dtype="M8[s]")[:, None],
    "nanoseconds": np.array(TIMES, dtype="M8[ns]")[:, None],
    "texts": np.array(TIMES)[:, None],
    "bytes": np.array(TIMES, dtype="S")[:, None],
    "list": [[text] for text in TIMES],
    "objects": np.array(STAMPS, dtype=object)[:, None],
    "zone": np.array([s.replace(tzinfo=dt.UTC) for s in STAMPS], dtype=object)[:, None],
    "Z": np.array([text + "Z" for text in TIMES])[:, None],
    "seconds": np.array(TIMES, dtype="M8[s]").astype(np.int64)[:, None],
    "pandas": pd.DataFrame({"t": pd.to_datetime(TIMES)}),
    "pandas texts": pd.DataFrame({"t": TIMES}),
    "pandas zone": pd.DataFrame({"t": pd.to_datetime(TIMES).tz_localize("Europe/Oslo")}),
    "polars": pl.DataFrame({"t": STAMPS}),
    "polars texts": pl.DataFrame({"t": TIMES}),
    "polars zone": pl.DataFrame({"t": STAMPS}).with_columns(
        pl.col("t").dt.replace_time_zone("Asia/Tokyo")
    ),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_every_kind_of_column(kind):
    found = DateFeatures(cyclical=False).fit_transform(COLUMNS[kind])
    assert_array_equal(found[:, :-1], [naive(date) for date in STAMPS])
    elapsed = [(date - min(STAMPS)).total_seconds() / 86400 for date in STAMPS]
    assert_allclose(found[:, -1], elapsed, rtol=1e-12)


@pytest.mark.parametrize("part", PERIODS)
def test_neighbours_on_a_circle_are_equally_far(part):
    first = {"month": "2024-01", "hour": "2024-01-01T00"}.get(part, "2024-01-01")
    steps = PERIODS[part]
    times = (np.datetime64(first) + np.arange(steps)).astype("M8[s]")
    points = DateFeatures(parts=[part]).fit_transform(times[:, None])
    assert_allclose((points**2).sum(axis=1), 1.0)
    gaps = np.linalg.norm(points - np.roll(points, 1, axis=0), axis=1)
    assert_allclose(gaps, gaps[0])


def test_missing_dates_are_missing_parts():
    for X in (
        np.array([["NaT"], ["2024-01-01"]], dtype="M8[D]"),
        [[None], ["2024-01-01"]],
        [[np.nan], [0.0]],
        [[""], ["2024-01-01"]],
    ):
        found = DateFeatures().fit_transform(X)
        assert np.isnan(found[0]).all()
        assert np.isfinite(found[1]).all()


def test_elapsed_time_from_an_origin():
    dates = DateFeatures(parts=["elapsed"], origin="2024-01-01").fit([["2024-01-03"]])
    assert_array_equal(dates.transform([["2024-01-03"], ["2023-12-31"]]), [[2.0], [-1.0]])
    assert_array_equal(dates.origin_, [19723.0])


@pytest.mark.parametrize(
    ("options", "X", "message"),
    [
        ({"parts": ["moon"]}, [["2024-01-01"]], "parts must be some of"),
        ({"cyclical": ["year"]}, [["2024-01-01"]], "cyclical must be some of"),
        ({"origin": None}, [["1 May"]], "no date in ISO form"),
        ({"origin": np.datetime64("NaT")}, [["2024-01-01"]], "origin must be a date"),
        ({}, [[1e300]], "seconds since 1970"),
        ({}, [[True]], "holds no dates"),
    ],
)
def test_what_is_no_date_is_refused(options, X, message):
    with pytest.raises(ValueError, match=message):
        DateFeatures(**options).fit(X)


def test_names_frames_and_files(tmp_path):
    frame = pd.DataFrame({"sold": pd.to_datetime(TIMES), "paid": pd.to_datetime(TIMES)})
    model = DateFeatures(parts=("month", "year"), cyclical=["month"]).set_output(transform="pandas")
    out = model.fit_transform(frame)
    assert list(out.columns) == [
        f"{c}_{e}" for c in ("sold", "paid") for e in ("month_sin", "month_cos", "year")
    ]
    again = mlreplica.load(mlreplica.save(model, tmp_path / "m"))
    assert_array_equal(again.transform(frame), out)
    model.origin_ = model.origin_[:1]
    with pytest.raises(ValueError, match="origin_"):
        mlreplica.load(mlreplica.save(model, tmp_path / "m"))


@parametrize_with_checks([DateFeatures(), DateFeatures(cyclical=False)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)
