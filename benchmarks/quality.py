"""Is a faster model as good? Losses on new rows of boosted trees, over real data sets and seeds

    python -m benchmarks.quality            # writes benchmarks/quality-boosting.json

Every model has the same settings (100 rounds, 31 leaves, learning rate 0.1, 20 rows a leaf, 255
bins) and sees the same three quarters of a set, or 20,000 rows that a seed has made. The table
holds the mean over the seeds of the loss on other rows (log-loss, or root mean squared error as a
part of the spread of y), and the standard error of its difference from ours.
"""

import json
from pathlib import Path

import numpy as np

from benchmarks.races.hist_boosting import PEERS, make

SEEDS = 10
NAMES = ("mlreplica", "lightgbm", "lightgbm, quantised", "xgboost", "scikit-learn")


def divided(X, y, kind):
    """A function of the seed: three quarters of the rows to learn from, the others to judge by."""
    from sklearn.model_selection import train_test_split

    def data(seed):
        stratify = None if kind == "number" else y
        train, test, y_train, y_test = train_test_split(
            X, y, test_size=0.25, random_state=seed, stratify=stratify
        )
        return train, y_train, test, y_test, {"target": kind, "categories": []}

    return data


def data_sets():
    """Bundled with scikit-learn and statsmodels, and made: a name and a function of the seed."""
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
    for kind in (2, "number"):
        yield f"made, {kind}", lambda seed, kind=kind: make(20_000, 20, kind, seed=seed)()


def loss(model, X, y, kind):
    """On new rows."""
    if kind == "number":
        return float(np.sqrt(np.mean((y - model.predict(X)) ** 2)) / y.std())
    p = model.predict_proba(X)
    return -float(np.log(np.maximum(p[np.arange(len(y)), y], 1e-15)).mean())


def main():
    """Fit every model to every set and keep the table."""
    import warnings

    warnings.simplefilter("ignore")
    table = []
    for name, data_of in data_sets():
        found = {peer: [] for peer in NAMES}
        for seed in range(SEEDS):
            data = data_of(seed)
            train, _, test, y_test, given = data
            for peer in NAMES:
                found[peer].append(loss(PEERS[peer](data)(), test, y_test, given["target"]))
        ours = np.array(found["mlreplica"])
        row = {"data": name, "rows": len(train) + len(test), "columns": train.shape[1]}
        for peer, values in found.items():
            error = np.std(np.array(values) - ours, ddof=1) / np.sqrt(SEEDS)
            row[peer] = {"loss": float(np.mean(values)), "error": float(error)}
        table.append(row)
    path = Path(__file__).with_name("quality-boosting.json")
    path.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
