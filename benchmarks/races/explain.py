"""TreeSHAP: contributions to the predictions of a boosted model, path-dependent

Every contestant explains its own model of 100 trees of at most 31 leaves, fitted to the same rows;
shap explains LightGBM's. Quality is the largest difference between the sum of the contributions
and the raw score.
"""

import numpy as np

from benchmarks.data import Rows, shapes
from benchmarks.race import Race, threads

ROUNDS = 100
EXPLAINED = 2000  # rows


def ours(data):
    from mlreplica.ensemble import HistGradientBoostingRegressor
    from mlreplica.inspection import explain

    X = data.X[:EXPLAINED]
    model = HistGradientBoostingRegressor(max_iter=ROUNDS, early_stopping=False)
    model.fit(data.X, data.y)
    raw = model.predict(X)

    def call():
        found = explain(model, X)
        return found.values.sum(axis=1) + found.base_values - raw

    return call


def boosted(data):
    """LightGBM's model."""
    import lightgbm

    model = lightgbm.LGBMRegressor(n_estimators=ROUNDS, n_jobs=threads(), verbose=-1)
    return model.fit(data.X, data.y)


def lightgbm(data):
    model, X = boosted(data), data.X[:EXPLAINED]
    raw = model.predict(X)
    return lambda: model.predict(X, pred_contrib=True).sum(axis=1) - raw


def shap(data):
    import shap

    model, X = boosted(data), data.X[:EXPLAINED]
    raw, explainer = model.predict(X), shap.TreeExplainer(boosted(data))
    return lambda: explainer(X).values.sum(axis=1) + explainer.expected_value - raw


def xgboost(data):
    import xgboost

    rows, some = xgboost.DMatrix(data.X, data.y), xgboost.DMatrix(data.X[:EXPLAINED])
    options = {"tree_method": "hist", "max_leaves": 31, "max_depth": 0, "grow_policy": "lossguide"}
    options |= {"eta": 0.1, "nthread": threads()}
    model = xgboost.train(options, rows, ROUNDS)
    raw = model.predict(some, output_margin=True)
    return lambda: model.predict(some, pred_contribs=True).sum(axis=1) - raw


def difference(data, result):
    """How far at most the contributions are from adding up, of the spread of the target."""
    return float(np.abs(result).max() / np.std(data.y))


RACES = [
    Race(
        name="tree-shap",
        what="TreeSHAP, 2,000 rows, 100 trees of 31 leaves",
        shapes=shapes(Rows(20_000, 20), Rows(20_000, 100, "correlated"), Rows(5_000, 8, "few")),
        contestants={
            "mlreplica": ours,
            "lightgbm": lightgbm,
            "xgboost": xgboost,
            "shap": shap,
        },
        quality=difference,
        atol=1e-4,
        readme=True,
    )
]
