"""Histogram gradient boosting: fits of all sizes and targets, gaps and categories, and prediction

All contestants grow 100 trees of at most 31 leaves with learning rate 0.1, at least 20 rows a leaf
and 255 bins. Quality is the loss on rows that nobody has seen: the log-loss, or half the mean
squared error. CatBoost grows symmetric trees of depth 5 (32 leaves), snapml and ydf trees of depth
5: their own kind of the same size. ydf, an order of magnitude behind, stays away from large sets.
"""

import numpy as np

from benchmarks.data import Rows, shapes
from benchmarks.race import Race, located, threads

GIVEN = {"categories": [], "rounds": 100, "rows": 20, "penalty": 0.0}


def given(**more):
    """Add the settings; `kind` is how the class of an estimator ends."""

    def then(data):
        kind = "Regressor" if data.y.dtype.kind == "f" else "Classifier"
        return data._replace(more=GIVEN | more | {"kind": kind})

    return then


def hist(package):
    """Ours and scikit-learn's: the same names."""

    def prepare(data):
        g = data.more
        Model = located(f"{package}.ensemble.HistGradientBoosting{g['kind']}")
        return lambda: Model(
            max_iter=g["rounds"],
            min_samples_leaf=g["rows"],
            l2_regularization=g["penalty"],
            early_stopping=False,
            categorical_features=g["categories"] or None,
            random_state=0,
        ).fit(data.X, data.y)

    return prepare


def lightgbm(**more):
    def prepare(data):
        g = data.more
        Model = located(f"lightgbm.LGBM{g['kind']}")
        options = {
            "n_estimators": g["rounds"],
            "num_leaves": 31,
            "min_child_samples": g["rows"],
            "reg_lambda": g["penalty"],
            "max_bin": 255,
            "min_data_in_bin": 1,
            "n_jobs": threads(),
            "verbose": -1,
        }
        fit = {"categorical_feature": g["categories"]} if g["categories"] else {}
        return lambda: Model(**options, **more).fit(data.X, data.y, **fit)

    return prepare


def xgboost(data):
    g = data.more
    Model = located(f"xgboost.XGB{g['kind']}")
    by_rows = g["kind"] == "Regressor" and g["rows"] > 1  # the weight of a row is 1
    options = {
        "n_estimators": g["rounds"],
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "max_leaves": 31,
        "max_depth": 0,
        "learning_rate": 0.1,
        "min_child_weight": g["rows"] if by_rows else 1e-3,
        "reg_lambda": g["penalty"],
        "max_bin": 255,
        "n_jobs": threads(),
    }
    if g["categories"]:
        types = ["c" if j in g["categories"] else "q" for j in range(data.X.shape[1])]
        options |= {"feature_types": types, "enable_categorical": True}
    return lambda: Model(**options).fit(data.X, data.y)


def catboost(data):
    g = data.more
    Model = located(f"catboost.CatBoost{g['kind']}")
    options = {
        "iterations": g["rounds"],
        "depth": 5,
        "learning_rate": 0.1,
        "thread_count": threads(),
        "boosting_type": "Plain",
        "bootstrap_type": "No",
        "border_count": 254,
        "verbose": False,
        "allow_writing_files": False,
    }
    return lambda: Model(**options).fit(data.X, data.y)


def snapml(data):
    g = data.more
    Model = located(f"snapml.BoostingMachine{g['kind']}")
    options = {"num_round": g["rounds"], "learning_rate": 0.1, "hist_nbins": 255}
    options |= {"min_max_depth": 5, "max_max_depth": 5, "n_jobs": threads()}
    X, y = data.X.astype(np.float32), data.y.astype(np.float32)
    return lambda: Model(**options).fit(X, y)


class Ydf:
    """ydf's learner behind fit and predict."""

    def __init__(self, data):
        import ydf

        ydf.verbose(0)
        g = data.more
        self.number, self.categories = g["kind"] == "Regressor", g["categories"]
        self.table = self.frame(data.X).assign(y=data.y)
        names = self.table.columns[self.categories]
        self.learner = ydf.GradientBoostedTreesLearner(
            label="y",
            task=ydf.Task.REGRESSION if self.number else ydf.Task.CLASSIFICATION,
            features=[(name, ydf.Semantic.CATEGORICAL) for name in names],
            include_all_columns=True,
            num_trees=g["rounds"],
            shrinkage=0.1,
            max_depth=6,  # counted in nodes
            min_examples=20,
            use_hessian_gain=True,
            discretize_numerical_columns=True,
            num_discretized_numerical_bins=255,
            validation_ratio=0.0,
            early_stopping="NONE",
            num_threads=threads(),
        )

    def frame(self, X):
        """The table that ydf takes: categories are whole numbers."""
        import pandas as pd

        table = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
        return table.astype({table.columns[j]: int for j in self.categories})

    def __call__(self):
        self.model = self.learner.train(self.table)
        return self

    def predict(self, X):
        return self.model.predict(self.frame(X))

    def predict_proba(self, X):
        p = self.predict(X)
        return p if p.ndim == 2 else np.column_stack([1.0 - p, p])


def test_loss(data, model):
    """Half the mean squared error, or the log-loss."""
    X, y = data.X_new, data.y_new
    if type(model).__module__.startswith("snapml"):
        X = X.astype(np.float32)
    if data.more["kind"] == "Regressor":
        return 0.5 * float(np.mean((y - np.ravel(model.predict(X))) ** 2))
    p = model.predict_proba(X)[np.arange(len(y)), y]
    return -float(np.log(np.maximum(p, 1e-15)).mean())


PEERS = {
    "mlreplica": hist("mlreplica"),
    "lightgbm": lightgbm(),
    "lightgbm, quantised": lightgbm(use_quantized_grad=True),
    "xgboost": xgboost,
    "scikit-learn": hist("sklearn"),
    "catboost": catboost,
    "snapml": snapml,
    "ydf": Ydf,
}


def race(name, what, rows, without=(), rtol=0.015, more=None, **options):
    """Fit: whose loss is worse by more than 1.5 % is no peer."""
    return Race(
        name=f"hist-boosting-{name}",
        what=f"histogram gradient boosting, {what}",
        shapes=shapes(*rows, then=given(**more or {})),
        contestants={peer: fit for peer, fit in PEERS.items() if peer not in without},
        quality=test_loss,
        quality_name="loss on new rows",
        rtol=rtol,
        **options,
    )


def predicts(peer, n):
    """A contestant: a fitted model, asked for n rows."""

    def prepare(data):
        model = PEERS[peer](data._replace(X=data.X[:50_000], y=data.y[:50_000]))()
        rows = data.X[:n].astype(np.float32) if peer == "snapml" else data.X[:n].copy()
        return lambda: (model, model.predict_proba(rows))

    return prepare


def prediction(name, what, n, *rows):
    return Race(
        name=f"hist-boosting-{name}",
        what=f"histogram gradient boosting of 100 trees, prediction of {what}",
        shapes=shapes(*rows, then=given()),
        contestants={peer: predicts(peer, n) for peer in PEERS},
        quality=lambda data, found: test_loss(data, found[0]),
        quality_name="loss on new rows",
        rtol=0.015,
        readme=True,
    )


def rows(n, p, classes=0, kind="normal", **more):
    return Rows(n, p, kind, classes=classes, bent=True, new=min(n, 20_000), **more)


SMALL = rows(20_000, 20, 2), rows(5000, 60, 2, "few")
RACES = [
    race("1m", "two classes", [rows(1_000_000, 28, 2)], without=("ydf",), readme=True),
    race(
        "100k",
        "regression",
        [rows(100_000, 100), rows(200_000, 30, 0, "few"), rows(50_000, 60, 0, "skewed")],
        without=("ydf",),
        readme=True,
    ),
    race(
        "20k",
        "two classes",
        [rows(20_000, 20, 2), rows(50_000, 40, 2, "few", rare=0.05), rows(6000, 30, 2, "skewed")],
        start=True,
        readme=True,
    ),
    race(
        "classes",
        "classes",
        [rows(20_000, 20, 10), rows(10_000, 40, 5, "few"), rows(20_000, 20, 4, rare=0.1)],
        readme=True,
    ),
    race(
        "missing",
        "two classes",
        [rows(100_000, 28, 2, missing=0.1), rows(30_000, 50, 2, "few", missing=0.4)],
        without=("snapml",),  # NaN makes it write behind its memory
        readme=True,
    ),
    race(
        "categories",
        "two classes",
        [rows(100_000, 28, 2, categories=5)],
        without=("catboost", "snapml"),
        more={"categories": list(range(23, 28))},
        readme=True,
    ),
    race(
        "small",
        "two classes",
        [rows(150, 4, 2), rows(1000, 10, 2, "skewed")],
        without=("catboost", "snapml"),
        rtol=0.2,  # 150 new rows do not tell more
    ),
    prediction("predict", "all rows", None, rows(200_000, 28, 2), rows(50_000, 60, 2, "few")),
    prediction("one-row", "one row", 1, *SMALL),
    prediction("ten-rows", "ten rows", 10, *SMALL),
]
