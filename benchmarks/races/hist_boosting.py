"""Histogram gradient boosting: fits of all sizes and targets, gaps and categories, and prediction

All contestants grow 100 trees (50 of 100,000 × 100, 20 of a million rows, 20 for each of ten
classes) of at most 31 leaves with learning rate 0.1, at least 20 rows a leaf and 255 bins. Quality
is the loss on rows that nobody has seen: the log-loss, or half the mean squared error. CatBoost
grows symmetric trees of depth 5 (32 leaves), snapml and ydf trees of depth 5: their own kind of the
same size. ydf, an order of magnitude behind, stays away from the two largest sets.
"""

from functools import partial

import numpy as np

from benchmarks.race import Race, threads

TEST = 20_000


def make(n, p, target, gaps=0.0, categories=0, seed=0, rounds=100):
    """Columns of which a fifth matter, alone and in pairs; `target`: "number", 2 or 10 classes."""

    def data():
        rng = np.random.default_rng(seed)
        m = n + min(n, TEST)
        X = rng.normal(size=(m, p))
        for j in range(categories):
            X[:, p - 1 - j] = rng.integers(0, 40, size=m)
        effect = rng.normal(size=(categories, 40))
        k = 1 if target in ("number", 2) else target
        F = np.zeros((m, k))
        for c in range(k):
            for a, b in rng.integers(0, max(4, p // 5), size=(6, 2)):
                F[:, c] += rng.normal() * np.sin(2 * X[:, a]) * X[:, b] + rng.normal() * X[:, a]
        for j in range(categories):
            F[:, 0] += effect[j, X[:, p - 1 - j].astype(int)]
        if target == "number":
            y = F[:, 0] + rng.normal(size=m)
        elif target == 2:
            y = (F[:, 0] + rng.logistic(size=m) > 0).astype(int)
        else:
            y = (F + rng.gumbel(size=F.shape)).argmax(axis=1)
        if gaps:
            X[:, : p - categories][rng.random((m, p - categories)) < gaps] = np.nan
        given = {"target": target, "categories": list(range(p - categories, p))}
        return X[:n], y[:n], X[n:], y[n:], given | {"rounds": rounds, "rows": 20, "penalty": 0.0}

    return data


def ours(data, module="mlreplica.ensemble"):
    from importlib import import_module

    X, y, _, _, given = data
    kind = "Regressor" if given["target"] == "number" else "Classifier"
    Model = getattr(import_module(module), f"HistGradientBoosting{kind}")
    return lambda: Model(
        max_iter=given["rounds"],
        min_samples_leaf=given["rows"],
        l2_regularization=given["penalty"],
        early_stopping=False,
        categorical_features=given["categories"] or None,
        random_state=0,
    ).fit(X, y)


def lightgbm(data, quantised=False):
    import lightgbm

    X, y, _, _, given = data
    Model = lightgbm.LGBMRegressor if given["target"] == "number" else lightgbm.LGBMClassifier
    options = {
        "n_estimators": given["rounds"],
        "num_leaves": 31,
        "min_child_samples": given["rows"],
        "reg_lambda": given["penalty"],
        "max_bin": 255,
        "min_data_in_bin": 1,
        "n_jobs": threads(),
        "use_quantized_grad": quantised,
        "verbose": -1,
    }
    fit = {"categorical_feature": given["categories"]} if given["categories"] else {}
    return lambda: Model(**options).fit(X, y, **fit)


def xgboost(data):
    import xgboost

    X, y, _, _, given = data
    Model = xgboost.XGBRegressor if given["target"] == "number" else xgboost.XGBClassifier
    by_rows = given["target"] == "number" and given["rows"] > 1  # the weight of a row is 1
    options = {
        "n_estimators": given["rounds"],
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "max_leaves": 31,
        "max_depth": 0,
        "learning_rate": 0.1,
        "min_child_weight": given["rows"] if by_rows else 1e-3,
        "reg_lambda": given["penalty"],
        "max_bin": 255,
        "n_jobs": threads(),
    }
    if given["categories"]:
        options["feature_types"] = [
            "c" if j in given["categories"] else "q" for j in range(X.shape[1])
        ]
        options["enable_categorical"] = True
    return lambda: Model(**options).fit(X, y)


def catboost(data):
    import catboost

    X, y, _, _, given = data
    Model = catboost.CatBoostClassifier
    if given["target"] == "number":
        Model = catboost.CatBoostRegressor
    options = {
        "iterations": given["rounds"],
        "depth": 5,
        "learning_rate": 0.1,
        "thread_count": threads(),
        "boosting_type": "Plain",
        "bootstrap_type": "No",
        "border_count": 254,
        "verbose": False,
        "allow_writing_files": False,
    }
    return lambda: Model(**options).fit(X, y)


def snapml(data):
    import snapml

    X, y, _, _, given = data
    Model = snapml.BoostingMachineClassifier
    if given["target"] == "number":
        Model = snapml.BoostingMachineRegressor
    options = {
        "num_round": given["rounds"],
        "learning_rate": 0.1,
        "min_max_depth": 5,
        "max_max_depth": 5,
        "hist_nbins": 255,
        "n_jobs": threads(),
    }
    X, y = X.astype(np.float32), y.astype(np.float32)
    return lambda: Model(**options).fit(X, y)


class Ydf:
    """ydf's learner behind fit and predict."""

    def __init__(self, data):
        import ydf

        ydf.verbose(0)
        X, y, _, _, given = data
        self.number, self.categories = given["target"] == "number", given["categories"]
        self.table = self.frame(X).assign(y=y)
        names = self.table.columns[self.categories]
        self.learner = ydf.GradientBoostedTreesLearner(
            label="y",
            task=ydf.Task.REGRESSION if self.number else ydf.Task.CLASSIFICATION,
            features=[(name, ydf.Semantic.CATEGORICAL) for name in names],
            include_all_columns=True,
            num_trees=given["rounds"],
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


def probabilities(model, X):
    """Of each class; LightGBM warns of arrays without names."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.predict_proba(X)


def test_loss(data, model):
    """Half the mean squared error, or the log-loss."""
    *_, X, y, given = data
    if type(model).__module__.startswith("snapml"):
        X = X.astype(np.float32)
    if given["target"] == "number":
        return 0.5 * float(np.mean((y - np.ravel(model.predict(X))) ** 2))
    p = probabilities(model, X)
    return -float(np.log(np.maximum(p[np.arange(len(y)), y], 1e-15)).mean())


PEERS = {
    "mlreplica": ours,
    "lightgbm": lightgbm,
    "lightgbm, quantised": partial(lightgbm, quantised=True),
    "xgboost": xgboost,
    "scikit-learn": partial(ours, module="sklearn.ensemble"),
    "catboost": catboost,
    "snapml": snapml,
    "ydf": Ydf,
}


def race(name, what, data, without=(), rtol=0.015, **options):
    """Fit: whose loss is worse by more than 1.5 % is no peer."""
    return Race(
        name=f"hist-boosting-{name}",
        what=f"histogram gradient boosting, {what}",
        make_data=data,
        contestants={peer: fit for peer, fit in PEERS.items() if peer not in without},
        quality=test_loss,
        quality_name="loss on new rows",
        rtol=rtol,
        **options,
    )


def predicts(peer, n):
    """A contestant: a fitted model, asked for n rows."""

    def prepare(data):
        X, y, X_new, y_new, given = data
        model = PEERS[peer]((X[:50_000], y[:50_000], X_new, y_new, given))()
        rows = X[:n].astype(np.float32) if peer == "snapml" else X[:n]
        return lambda: (model, probabilities(model, rows))

    return prepare


def prediction(name, what, data, n):
    return Race(
        name=f"hist-boosting-{name}",
        what=f"histogram gradient boosting, prediction of {what} by 100 trees",
        make_data=data,
        contestants={peer: predicts(peer, n) for peer in PEERS},
        quality=lambda data, found: test_loss(data, found[0]),
        quality_name="loss on new rows",
        rtol=0.015,
        start=False,
        readme=True,
    )


NO_CATEGORIES = ("catboost", "snapml")

RACES = [
    race(
        "1m",
        "1,000,000 × 28, two classes",
        make(1_000_000, 28, 2, rounds=20),
        without=("ydf",),
        start=False,
        readme=True,
    ),
    race(
        "100k",
        "100,000 × 100, regression",
        make(100_000, 100, "number", rounds=50),
        without=("ydf",),
        start=False,
        readme=True,
    ),
    race("20k", "20,000 × 20, two classes", make(20_000, 20, 2), readme=True),
    race(
        "classes",
        "20,000 × 20, ten classes",
        make(20_000, 20, 10, rounds=20),
        start=False,
        readme=True,
    ),
    race(
        "missing",
        "100,000 × 28, two classes, 10 % missing",
        make(100_000, 28, 2, gaps=0.1),
        without=("snapml",),  # NaN makes it write behind its memory
        start=False,
        readme=True,
    ),
    race(
        "categories",
        "100,000 × 28, 5 of them categorical, two classes",
        make(100_000, 28, 2, categories=5),
        without=NO_CATEGORIES,
        start=False,
        readme=True,
    ),
    race(
        "small",
        "150 × 4, two classes",
        make(150, 4, 2),
        without=NO_CATEGORIES,
        rtol=0.2,  # 150 new rows do not tell more
        start=False,
    ),
    prediction("predict", "200,000 × 28", make(200_000, 28, 2), 200_000),
    prediction("one-row", "one row of 20", make(20_000, 20, 2), 1),
    prediction("ten-rows", "ten rows of 20", make(20_000, 20, 2), 10),
]
