"""Selection and imputation: univariate scores, mutual information, gaps filled in several ways

Every contestant computes the same numbers; quality is their mean square, or the mean of scores.
"""

from importlib import import_module

import numpy as np

from benchmarks.data import Rows, shapes
from benchmarks.race import BOTH, PACKAGES, Race, located

SMALL = Rows(150, 4)


def scored(function, package, **options):
    """A contestant: a score of every column."""

    def prepare(data):
        score = located(f"{PACKAGES[package]}.feature_selection.{function}")
        return lambda: score(data.X, data.y, **options)

    return prepare


def selected(package):
    """A contestant: the ten best columns of the rows."""

    def prepare(data):
        make = located(f"{PACKAGES[package]}.feature_selection.SelectKBest")
        k = min(10, data.X.shape[1] - 1)
        return lambda: make(k=k).fit(data.X, data.y).transform(data.X)

    return prepare


def imputer(name, package, options):
    """The imputer; scikit-learn wants to be told that an iterative one is meant."""
    if package != "mlreplica" and name == "IterativeImputer":
        import_module("sklearn.experimental.enable_iterative_imputer")
    return located(f"{PACKAGES[package]}.impute.{name}")(**options)


def filled(name, package, **options):
    """A contestant: learn and fill."""

    def prepare(data):
        model = imputer(name, package, options)
        return lambda: model.fit_transform(data.X)

    return prepare


def filled_row(name, package, **options):
    """A contestant: one row, by a fitted imputer."""

    def prepare(data):
        model = imputer(name, package, options).fit(data.X)
        row = data.X[np.isnan(data.X).any(axis=1)][:1].copy()
        return lambda: model.transform(row)

    return prepare


def mean_square(data, found):
    found = np.asarray(found[0] if isinstance(found, tuple) else found, dtype=np.float64)
    return float(np.mean(found**2))


def scores(name, what, function, *rows, **options):
    return Race(
        name=name,
        what=what,
        shapes=shapes(*rows),
        contestants={package: scored(function, package, **options) for package in BOTH},
        quality=mean_square,
        quality_name="mean square of the scores",
        rtol=1e-5,
    )


def gaps(name, what, imputer_name, *rows, how=filled, **options):
    return Race(
        name=name,
        what=what,
        shapes=shapes(*rows),
        contestants={package: how(imputer_name, package, **options) for package in BOTH},
        quality=mean_square,
        quality_name="mean square of the values",
        rtol=1e-5,
    )


HOLES = Rows(10_000, 20, missing=0.1), Rows(1000, 10, "skewed", missing=0.2)
FEW_HOLES = Rows(150, 4, missing=0.1)
CLASSES = Rows(100_000, 20, classes=3), Rows(5000, 200, "offset", classes=2)
NUMBERS = Rows(100_000, 20), Rows(5000, 200, "offset")
RACES = [
    scores("f-classif", "analysis of variance", "f_classif", *CLASSES, Rows(150, 4, classes=3)),
    scores("f-regression", "F tests of a regression", "f_regression", *NUMBERS, SMALL),
    scores(
        "mutual-information-numbers",
        "mutual information with a number",
        "mutual_info_regression",
        Rows(10_000, 6, bent=True),
        Rows(2000, 10, "few"),
        SMALL,
        random_state=0,
    ),
    scores(
        "mutual-information-classes",
        "mutual information with a class",
        "mutual_info_classif",
        Rows(10_000, 5, classes=3),
        Rows(2000, 10, "few", classes=2),
        Rows(150, 4, classes=3),
        random_state=0,
    ),
    Race(
        name="select-k-best",
        what="keep the best columns",
        shapes=shapes(Rows(20_000, 50, classes=2), Rows(150, 4, classes=3)),
        contestants={package: selected(package) for package in BOTH},
        quality=mean_square,
        quality_name="mean square of the values",
    ),
    gaps("impute-mean", "fill gaps with means", "SimpleImputer", *HOLES, FEW_HOLES),
    gaps(
        "impute-median",
        "fill gaps with medians",
        "SimpleImputer",
        *HOLES,
        FEW_HOLES,
        strategy="median",
    ),
    gaps(
        "impute-iterative",
        "fill gaps by regressions",
        "IterativeImputer",
        *HOLES,
        FEW_HOLES,
        max_iter=5,
        random_state=0,
    ),
    gaps("impute-one-row", "fill one row", "SimpleImputer", FEW_HOLES, how=filled_row),
    gaps(
        "impute-one-row-iterative",
        "fill one row by regressions",
        "IterativeImputer",
        FEW_HOLES,
        how=filled_row,
        max_iter=5,
        random_state=0,
    ),
]
