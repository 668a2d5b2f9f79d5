"""Rows from a file: blocks read ahead, against loading the whole file first

Boosting meets XGBoost's external memory and LightGBM's sequences, which read it by blocks, too.

Quality is the mean loss over all rows. scikit-learn and the array in memory first load the .npy
file of 300 MB that the blocks come from.
"""

import atexit
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.data import Rows, shapes
from benchmarks.race import Race, located, threads


def in_files(data):
    """`more`: a folder with X.npy and y.npy; Data keeps the arrays for the quality."""
    folder = tempfile.mkdtemp(prefix="mlreplica-scale-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    np.save(f"{folder}/X.npy", data.X)
    np.save(f"{folder}/y.npy", data.y)
    return data._replace(more=folder)


def by_blocks(path, **options):
    def prepare(data):
        from mlreplica.scale import Rows as Source

        make, folder = located(path), Path(in_files(data).more)
        return lambda: make(**options).fit(Source.from_npy(folder / "X.npy", folder / "y.npy"))

    return prepare


def loaded(path, **options):
    def prepare(data):
        make, folder = located(path), in_files(data).more
        return lambda: make(**options).fit(np.load(f"{folder}/X.npy"), np.load(f"{folder}/y.npy"))

    return prepare


def contestants(name, **options):
    ours = f"mlreplica.{name}"
    return {
        "mlreplica": by_blocks(ours, **options),
        "mlreplica, loaded": loaded(ours, **options),
        "scikit-learn, loaded": loaded(f"sklearn.{name}", **options),
    }


ROUNDS, LEAVES, RATE, BLOCK = 50, 31, 0.1, 100_000


def xgboost(data):
    import xgboost as xgb

    folder = in_files(data).more
    options = {
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "max_leaves": LEAVES,
        "max_depth": 0,
        "learning_rate": RATE,
        "min_child_weight": 20,
        "reg_lambda": 0,
        "max_bin": 256,
        "nthread": threads(),
    }

    class Blocks(xgb.DataIter):
        def __init__(self):
            self.X, self.y = np.load(f"{folder}/X.npy", mmap_mode="r"), np.load(f"{folder}/y.npy")
            self.at = 0
            super().__init__(cache_prefix=f"{folder}/cache")

        def next(self, input_data):
            rows = slice(self.at, self.at + BLOCK)
            if self.at < len(self.y):
                input_data(data=np.array(self.X[rows]), label=self.y[rows])
            self.at += BLOCK
            return rows.start < len(self.y)

        def reset(self):
            self.at = 0

    def fit():
        rows = xgb.ExtMemQuantileDMatrix(Blocks(), max_bin=256, nthread=threads())
        booster = xgb.train(options, rows, ROUNDS)
        return Predictor(lambda X: booster.predict(xgb.DMatrix(X)))

    return fit


def lightgbm(data):
    import lightgbm as lgb

    folder = in_files(data).more
    options = {
        "objective": "regression",
        "num_leaves": LEAVES,
        "learning_rate": RATE,
        "min_data_in_leaf": 20,
        "max_bin": 255,
        "num_threads": threads(),
        "verbosity": -1,
    }

    class Blocks(lgb.Sequence):
        batch_size = BLOCK

        def __init__(self):
            self.X = np.load(f"{folder}/X.npy", mmap_mode="r")

        def __getitem__(self, rows):
            return np.array(self.X[rows])

        def __len__(self):
            return len(self.X)

    def fit():
        rows = lgb.Dataset([Blocks()], label=np.load(f"{folder}/y.npy"), params=options)
        return Predictor(lgb.train(options, rows, ROUNDS).predict)

    return fit


class Predictor(NamedTuple):
    """A model for the quality."""

    predict: Callable


def boosting():
    path = "ensemble.HistGradientBoostingRegressor"
    options = {"max_iter": ROUNDS, "early_stopping": False}
    return contestants(path, **options) | {
        "xgboost, external memory": xgboost,
        "lightgbm, sequence": lightgbm,
    }


def squared_error(data, model):
    return float(np.mean((model.predict(data.X) - data.y) ** 2))


def log_loss(data, model):
    f = (2 * data.y - 1) * model.decision_function(data.X)
    return float(np.mean(np.logaddexp(0.0, -f)))


def left_out(data, model):
    return 1.0 - float(model.explained_variance_ratio_.sum())


RACES = [
    Race(
        name="scale-least-squares",
        what="Least squares from a file",
        shapes=shapes(Rows(1_000_000, 40)),
        contestants=contestants("linear_model.LinearRegression"),
        quality=squared_error,
        quality_name="mean squared error",
    ),
    Race(
        name="scale-logistic",
        what="Logistic regression from a file",
        shapes=shapes(Rows(1_000_000, 40, classes=2)),
        contestants=contestants("linear_model.LogisticRegression", tol=1e-6),
        quality=log_loss,
        quality_name="log loss",
    ),
    Race(
        name="scale-pca",
        what="Principal components from a file",
        shapes=shapes(Rows(1_000_000, 40)),
        contestants=contestants("decomposition.PCA", n_components=10),
        quality=left_out,
        quality_name="variance left out",
    ),
    Race(
        name="scale-boosting",
        what="Histogram boosting from a file",
        shapes=shapes(Rows(1_000_000, 40)),
        contestants=boosting(),
        quality=squared_error,
        quality_name="mean squared error",
        rtol=0.02,  # bins and rules of leaves differ
    ),
]
