"""Is a faster model as good? Losses on new rows of boosted trees, over real data sets and seeds

    python -m benchmarks.quality            # writes benchmarks/quality-boosting.json

Every model has the same settings (100 rounds, 31 leaves, learning rate 0.1, 20 rows a leaf, 255
bins) and sees the same three quarters of a set. The table holds the mean over the seeds of the loss
on the last quarter (log-loss, or root mean squared error as a part of the spread of y), and the
standard error of its difference from ours.
"""

import json
from pathlib import Path

import numpy as np

from benchmarks.races.hist_boosting import PEERS

SEEDS = 10
NAMES = ("mlreplica", "lightgbm", "xgboost", "scikit-learn")


def data_sets():
    """Bundled with scikit-learn and statsmodels: X, y and the kind of target."""
    from sklearn import datasets
    from statsmodels import datasets as more

    for name in ("breast_cancer", "wine", "digits", "diabetes"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        yield name, X, y, "number" if name == "diabetes" else len(np.unique(y))
    for name, target in (("randhie", "mdvis"), ("fair", "affairs"), ("anes96", "vote")):
        frame = getattr(more, name).load_pandas().data.astype(float)
        X, y = frame.drop(columns=target).to_numpy(), frame[target].to_numpy()
        if name == "fair":  # whether there was any
            y = (y > 0).astype(int)
        yield (
            name,
            X,
            y.astype(int) if name != "randhie" else y,
            "number" if name == "randhie" else 2,
        )


def loss(model, X, y, kind):
    """On new rows."""
    if kind == "number":
        return float(np.sqrt(np.mean((y - model.predict(X)) ** 2)) / y.std())
    p = model.predict_proba(X)
    return -float(np.log(np.maximum(p[np.arange(len(y)), y], 1e-15)).mean())


def main():
    """Fit every model to every set and keep the table."""
    import warnings

    from sklearn.model_selection import train_test_split

    warnings.simplefilter("ignore")
    table = []
    for name, X, y, kind in data_sets():
        found = {peer: [] for peer in NAMES}
        for seed in range(SEEDS):
            stratify = None if kind == "number" else y
            train, test, y_train, y_test = train_test_split(
                X, y, test_size=0.25, random_state=seed, stratify=stratify
            )
            given = {"target": kind, "categories": []}
            for peer in NAMES:
                model = PEERS[peer]((train, y_train, test, y_test, given))()
                found[peer].append(loss(model, test, y_test, kind))
        ours = np.array(found["mlreplica"])
        row = {"data": name, "rows": len(y), "columns": X.shape[1]}
        for peer, values in found.items():
            error = np.std(np.array(values) - ours, ddof=1) / np.sqrt(SEEDS)
            row[peer] = {"loss": float(np.mean(values)), "error": float(error)}
        table.append(row)
    path = Path(__file__).with_name("quality-boosting.json")
    path.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
