"""Is a faster model as good? Losses on new rows of boosted trees and forests, over sets and seeds

    python -m benchmarks.quality --tables FOLDER     # writes benchmarks/quality.json
    python -m benchmarks.quality --only wine --model boosting   # the others stay as they are

Every boosting has the same settings: 100 rounds, 31 leaves, learning rate 0.1, λ = 1, a curvature
of 0.001 or more in a leaf (the only limit that all libraries have) and 255 bins; categories are
numbers, and nobody stops early. Every forest has 100 trees as they come. All see the same three
quarters of a set (of 5,000 of its rows, if it is larger) and are judged by the others. The table
holds the mean over ten seeds of the loss (boosting: log-loss; forests, whose leaves may be sure and
wrong: the squared error of the probabilities; root mean squared error as a part of the spread of y
where that is a number), its difference from ours, and the standard error of that.

The sets are bundled with scikit-learn and statsmodels; of a folder, those that are in it of
`diamonds.csv`, `bank-full.csv` (Moro et al.), `seoul-bike.csv` and `taxis.csv`.
"""

import argparse
import json
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.data import Data
from benchmarks.race import located, threads
from benchmarks.races.hist_boosting import PEERS, given

SEEDS, ROWS = 10, 5_000
SETTINGS = {"rows": 1, "penalty": 1.0}
# the column to predict, those that tell it or nothing, and the letters of a file
TABLES = {
    "diamonds": ("price", [], "utf-8"),
    "bank-full": ("y", [], "utf-8"),
    "seoul-bike": ("Rented Bike Count", ["Row", "Date"], "latin-1"),
    "taxis": ("fare", ["pickup", "dropoff", "tip", "tolls", "total"], "utf-8"),
}
PATH = Path(__file__).with_name("quality.json")
BOOSTING = ("mlreplica", "lightgbm", "lightgbm, quantised", "xgboost", "scikit-learn")


def forest(data, package):
    """A contestant: the random forest of a package."""
    Model = located(f"{package}.ensemble.RandomForest{data.more['kind']}")
    return lambda: Model(random_state=0, n_jobs=threads()).fit(data.X, data.y)


MODELS = {
    "boosting": {peer: PEERS[peer] for peer in BOOSTING},
    "forest": {
        "mlreplica": partial(forest, package="mlreplica"),
        "scikit-learn": partial(forest, package="sklearn"),
    },
}


def divided(X, y, kind):
    """A function of the seed: three quarters of the rows to learn from, the others to judge by."""
    from sklearn.model_selection import train_test_split

    def data(seed):
        few = np.random.default_rng(seed).permutation(len(X))[:ROWS]
        stratify = None if kind == "number" else y[few]
        train, test, y_train, y_test = train_test_split(
            X[few], y[few], test_size=0.25, random_state=seed, stratify=stratify
        )
        y_train = y_train.astype(float) if kind == "number" else y_train
        return given(**SETTINGS, target=kind)(Data(train, y_train, test, y_test))

    return data


def data_sets(folder):
    """A name and a function of the seed."""
    import pandas as pd
    from sklearn import datasets
    from statsmodels import datasets as more

    for name in ("breast_cancer", "wine", "digits", "diabetes"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        yield name, divided(X, y, "number" if name == "diabetes" else len(np.unique(y)))
    for name, target in (("randhie", "mdvis"), ("fair", "affairs"), ("anes96", "vote")):
        frame = getattr(more, name).load_pandas().data.astype(float)
        X, y = frame.drop(columns=target).to_numpy(), frame[target].to_numpy()
        kind = "number" if name == "randhie" else 2
        yield name, divided(X, y if kind == "number" else (y > 0).astype(int), kind)
    for name, (target, without, encoding) in TABLES.items():
        if folder is None or not (path := Path(folder) / f"{name}.csv").exists():
            continue
        frame = pd.read_csv(path, encoding=encoding).drop(columns=without)
        for column in frame.select_dtypes(exclude="number"):
            frame[column] = frame[column].astype("category").cat.codes
        X, y = frame.drop(columns=target).to_numpy(float), frame[target].to_numpy()
        yield name, divided(X, y, 2 if name == "bank-full" else "number")


def loss(model, X, y, target, name):
    """On new rows."""
    if target == "number":
        return float(np.sqrt(np.mean((y - model.predict(X)) ** 2)) / y.std())
    p = model.predict_proba(X)
    if name == "forest":
        return float(np.mean((p - np.eye(p.shape[1])[y]) ** 2))
    return -float(np.log(np.maximum(p[np.arange(len(y)), y], 1e-15)).mean())


def compared(name, data_of):
    """One row of the table: the losses of all models of a kind on one data set."""
    found = {peer: [] for peer in MODELS[name]}
    for seed in range(SEEDS):
        data = data_of(seed)
        train, _, test, y_test, settings = data
        for peer, prepare in MODELS[name].items():
            model = prepare(data)()
            found[peer].append(loss(model, test, y_test, settings["target"], name))
    row = {"model": name, "target": settings["target"], "columns": train.shape[1]}
    row["rows"] = len(train) + len(test)
    for peer, values in found.items():
        behind = np.array(values) - np.array(found["mlreplica"])
        error = np.std(behind, ddof=1) / np.sqrt(SEEDS)
        row[peer] = {
            "loss": float(np.mean(values)), "behind": float(behind.mean()), "error": float(error)
        }  # fmt: skip
    return row


def main():
    """Fit every model to every set and keep the table, row by row."""
    import warnings

    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality")
    parser.add_argument("--tables", help="folder of csv files")
    parser.add_argument("--only", action="append", help="sets with this name")
    parser.add_argument("--model", choices=[*MODELS], help="of this kind only")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    table = json.loads(PATH.read_text(encoding="utf-8"))
    for data, of in data_sets(args.tables):
        for name in MODELS:
            if (args.only and data not in args.only) or args.model not in (None, name):
                continue
            table = [row for row in table if (row["data"], row["model"]) != (data, name)]
            table.append({"data": data} | compared(name, of))
            table.sort(key=lambda row: (row["model"], row["target"] == "number"))
            PATH.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
