"""Bagging, random forests and extra trees: fits, predictions, one row

Quality is the error on new rows (share of wrong classes, mean squared error); forests are random,
so a few percent are equal.
"""

from functools import partial
from importlib import import_module

import numpy as np

from benchmarks.race import Race, threads


def make(n, kind, p=20):
    """A function of six of the columns, bent and with noise; and 20,000 new rows."""

    def data():
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n + 20_000, p))
        f = 2 * np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 1.5 * np.abs(X[:, 3]) + 0.7 * X[:, 4]
        f -= 1.5 * (X[:, 5] > 0.5)
        if kind == "Classifier":
            y = (f - 1 + 0.5 * rng.logistic(size=len(f)) > 0).astype(np.int64)
        else:
            y = f + 0.5 * rng.normal(size=len(f))
        return X[:n], y[:n], X[n:], y[n:]

    return data


def digits():
    """Pictures of digits, a third of them new."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    new = np.arange(len(X)) % 3 == 0
    return X[~new], y[~new], X[new], y[new]


def iris():
    """150 flowers."""
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    return X, y, X, y


def fit(package, data, name, trees, **options):
    """A contestant: fit."""
    cls = getattr(import_module(f"{package}.ensemble"), name)
    X, y, *_ = data
    return lambda: cls(n_estimators=trees, random_state=0, n_jobs=threads(), **options).fit(X, y)


def snapml(data, name, trees):
    import snapml

    X, y, *_ = data
    options = {"max_features": None} if name.endswith("Regressor") else {}
    cls = getattr(snapml, name)
    return lambda: cls(n_estimators=trees, random_state=0, n_jobs=threads(), **options).fit(X, y)


class Ydf:
    """ydf's forest behind fit and predict."""

    def __init__(self, data, name, trees):
        import pandas as pd
        import ydf

        ydf.verbose(0)
        X, y, *_ = data
        self.names = [f"f{j}" for j in range(X.shape[1])]
        self.table = pd.DataFrame(X, columns=self.names).assign(y=y)
        self.regression = name.endswith("Regressor")
        self.learner = ydf.RandomForestLearner(
            label="y",
            task=ydf.Task.REGRESSION if self.regression else ydf.Task.CLASSIFICATION,
            num_trees=trees,
            num_threads=threads(),
            max_depth=-1,
            min_examples=1,
            winner_take_all=False,
            compute_oob_performances=False,
            num_candidate_attributes=X.shape[1] if self.regression else 0,
        )

    def __call__(self):
        self.model = self.learner.train(self.table)
        return self

    def predict(self, X):
        import pandas as pd

        found = self.model.predict(pd.DataFrame(X, columns=self.names))
        if self.regression:
            return found
        return found > 0.5 if found.ndim == 1 else found.argmax(axis=1)


def error(data, model):
    """On new rows."""
    _, _, X, y = data
    found = model.predict(X)
    if y.dtype.kind == "i":
        return float(np.mean(found != y))
    return float(np.mean((found - y) ** 2))


def race(name, what, data, cls, trees, peers, **options):
    """Fits of one forest."""
    known = {
        "mlreplica": partial(fit, "mlreplica", name=cls, trees=trees),
        "scikit-learn": partial(fit, "sklearn", name=cls, trees=trees),
        "scikit-learn-intelex": partial(fit, "sklearnex", name=cls, trees=trees),
        "snapml": partial(snapml, name=cls, trees=trees),
        "ydf": partial(Ydf, name=cls, trees=trees),
    }
    return Race(
        name=f"forest-{name}",
        what=what,
        make_data=data,
        contestants={peer: known[peer] for peer in ("mlreplica", *peers)},
        quality=error,
        quality_name="error on new rows",
        rtol=0.06,
        atol=0.01,
        **options,
    )


def answers(package, data, rows, trees):
    """A contestant: a fitted forest, asked for predictions."""
    cls = import_module(f"{package}.ensemble").RandomForestClassifier
    X, y, new, _ = data
    model = cls(trees, random_state=0, n_jobs=threads()).fit(X, y)
    asked = new[:rows].copy()
    return lambda: model.predict_proba(asked)


def disagreement(data, shares):
    """Share of wrong classes among the rows asked for."""
    return float(np.mean(shares.argmax(axis=1) != data[3][: len(shares)]))


def prediction(name, what, rows, trees, packages, **options):
    """Predictions of one forest."""
    return Race(
        name=f"forest-{name}",
        what=what,
        make_data=make(20_000, "Classifier"),
        contestants={
            peer: partial(answers, package, rows=rows, trees=trees)
            for peer, package in packages.items()
        },
        quality=disagreement,
        quality_name="error on new rows",
        rtol=0.06,
        atol=0.01,
        start=False,
        **options,
    )


PEERS = ("scikit-learn", "scikit-learn-intelex", "snapml", "ydf")
PACKAGES = {
    "mlreplica": "mlreplica",
    "scikit-learn": "sklearn",
    "scikit-learn-intelex": "sklearnex",
}

RACES = [
    race(
        "binary",
        "random forest, 20 trees, 100,000 × 20, two classes",
        make(100_000, "Classifier"),
        "RandomForestClassifier",
        20,
        PEERS,
        start=False,
        readme=True,
    ),
    race(
        "regression",
        "random forest, 4 trees, 100,000 × 20, regression",
        make(100_000, "Regressor"),
        "RandomForestRegressor",
        4,
        PEERS[:3],
        start=False,
        readme=True,
    ),
    race(
        "binary-20k",
        "random forest, 50 trees, 20,000 × 20, two classes",
        make(20_000, "Classifier"),
        "RandomForestClassifier",
        50,
        PEERS[:3],
        start=False,
    ),
    race(
        "digits",
        "random forest, 100 trees, digits",
        digits,
        "RandomForestClassifier",
        100,
        PEERS[:3],
        start=False,
    ),
    race(
        "small",
        "random forest, 100 trees, 150 × 4",
        iris,
        "RandomForestClassifier",
        100,
        PEERS[:2],
        readme=True,
    ),
    race(
        "extra-trees",
        "extra trees, 50 trees, 20,000 × 20, two classes",
        make(20_000, "Classifier"),
        "ExtraTreesClassifier",
        50,
        PEERS[:2],
        start=False,
    ),
    race(
        "bagging",
        "bagging, 10 trees, 20,000 × 20, two classes",
        make(20_000, "Classifier"),
        "BaggingClassifier",
        10,
        PEERS[:1],
        start=False,
    ),
    prediction("predict", "random forest of 100, 20,000 rows", 20_000, 100, PACKAGES),
    prediction("one-row", "random forest of 100, one row", 1, 100, PACKAGES, readme=True),
]
