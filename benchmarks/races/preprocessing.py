"""Preprocessing of numbers: learn from a table and transform it, and one row at a time"""

import numpy as np

from benchmarks.data import Rows, shapes
from benchmarks.race import BOTH, PACKAGES, Race, located

LARGE = shapes(Rows(500_000, 10, "skewed"), Rows(50_000, 100, "offset"), Rows(20_000, 20, "few"))
MIDDLE = shapes(Rows(100_000, 10, "skewed"), Rows(10_000, 50), Rows(20_000, 20, "few"))
POWERS = shapes(Rows(50_000, 10, "skewed"), Rows(5_000, 40))


def both(name, rows=None, **options):
    """Fit and transform, ours and scikit-learn's; with `rows`, only transform so many."""

    def contestant(package):
        def prepare(data):
            make = located(f"{PACKAGES[package]}.preprocessing.{name}")
            if rows is None:
                return lambda: make(**options).fit(data.X).transform(data.X)
            model, X = make(**options).fit(data.X), data.X[:rows].copy()
            return lambda: model.transform(X)

        return prepare

    return {package: contestant(package) for package in BOTH}


def numpy_standard(data):
    X = data.X

    def call():
        return (X - X.mean(axis=0)) / X.std(axis=0)

    return call


def polars_standard(data):
    import polars as pl

    frame = pl.DataFrame(data.X)
    z = (pl.all() - pl.all().mean()) / pl.all().std(ddof=0)
    return lambda: frame.select(z)


def off_standard(data, Z):
    """How far means are from 0 and deviations from 1, of columns that vary."""
    Z = np.asarray(Z, dtype=float)
    if len(Z) == 1:
        return 0.0
    return float(np.abs(Z.mean(axis=0)).max() + np.abs(Z.std(axis=0) - 1).max())


def off_range(data, Z):
    """How far the extremes are from 0 and 1."""
    return float(np.abs(Z.min(axis=0)).max() + np.abs(Z.max(axis=0) - 1).max())


def off_median(data, Z):
    """How far medians are from 0 and distances of quartiles from 1."""
    low, middle, high = np.quantile(Z, [0.25, 0.5, 0.75], axis=0)
    return float(np.abs(middle).max() + np.abs(high - low - 1).max())


def off_uniform(data, Z):
    """How far the columns are from uniform: the mean distance of sorted ranks."""
    return float(np.abs(np.sort(Z, axis=0) - np.linspace(0, 1, len(Z))[:, None]).mean())


def minus_likelihood(data, Z):
    """Departure of the skewness from 0: the power is meant to take it away."""
    return float(np.abs((Z**3).mean(axis=0)).mean())


def off_bins(data, Z):
    """How unequal the bins are filled."""
    counts = np.asarray(Z.sum(axis=0)).ravel()
    return float(counts.std() / counts.mean())


def off_splines(data, Z):
    """How far the splines of all columns are from summing to 1 each."""
    return float(np.abs(Z.sum(axis=1) - data.X.shape[1]).max())


def off_products(data, Z):
    """How far the last product is from the square of the last column."""
    return float(np.abs(Z[:, -1] - data.X[:, -1] ** 2).max())


STANDARD = both("StandardScaler") | {"numpy": numpy_standard, "polars": polars_standard}
RACES = [
    Race(
        name="standard-scaler",
        what="standardise columns",
        shapes=LARGE,
        contestants=STANDARD,
        quality=off_standard,
        quality_name="deviation",
        atol=1e-6,
        start=True,
        readme=True,
    ),
    Race(
        name="standard-scaler-row",
        what="standardise one row",
        shapes=shapes(Rows(150, 4), Rows(1_000, 50)),
        contestants=both("StandardScaler", rows=1),
        quality=off_standard,
        quality_name="deviation",
    ),
    Race(
        name="standard-scaler-small",
        what="standardise a small table",
        shapes=shapes(Rows(150, 4), Rows(500, 10, "skewed")),
        contestants=both("StandardScaler"),
        quality=off_standard,
        quality_name="deviation",
        atol=1e-6,
    ),
    Race(
        name="min-max-scaler",
        what="scale columns to a range",
        shapes=LARGE,
        contestants=both("MinMaxScaler"),
        quality=off_range,
        quality_name="deviation",
        atol=1e-6,
    ),
    Race(
        name="robust-scaler",
        what="scale by quartiles",
        shapes=MIDDLE,
        contestants=both("RobustScaler"),
        quality=off_median,
        quality_name="deviation",
        rtol=1e-3,
        atol=1e-6,
    ),
    Race(
        name="quantile-transformer",
        what="make columns uniform",
        shapes=MIDDLE,
        contestants=both("QuantileTransformer", random_state=0),
        quality=off_uniform,
        quality_name="distance from uniform",
        rtol=0.5,
        atol=0.01,
    ),
    Race(
        name="power-transformer",
        what="make columns normal (Yeo–Johnson)",
        shapes=POWERS,
        contestants=both("PowerTransformer"),
        quality=minus_likelihood,
        quality_name="skewness",
        rtol=1e-3,
        atol=1e-4,
    ),
    Race(
        name="k-bins",
        what="cut columns into bins",
        shapes=MIDDLE,
        contestants=both("KBinsDiscretizer", n_bins=10, random_state=0),
        quality=off_bins,
        quality_name="unequal bins",
        rtol=1e-2,
        atol=1e-2,
    ),
    Race(
        name="polynomial-features",
        what="products of two columns",
        shapes=shapes(Rows(50_000, 20), Rows(20_000, 50), Rows(100_000, 5)),
        contestants=both("PolynomialFeatures"),
        quality=off_products,
        quality_name="error",
    ),
    Race(
        name="splines",
        what="cubic splines of columns",
        shapes=shapes(Rows(50_000, 10, "skewed"), Rows(10_000, 40), Rows(100_000, 3)),
        contestants=both("SplineTransformer", n_knots=8),
        quality=off_splines,
        quality_name="error",
    ),
]
