"""Decision trees: shallow and deep, numbers and two classes, small data, and predictions

Quality is the error on the training rows, which the same exact tree makes the same for all; a tree
on histograms is worse there, and marked so if by more than a hundredth.
"""

import numpy as np

from benchmarks.race import Race, threads


def make(n, p, classes, missing=0.0):
    """A smooth function of a few columns, with noise; a share of X is missing."""

    def data():
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, p))
        f = X[:, 0] + np.sin(3.0 * X[:, 1]) + X[:, 2] * X[:, 3] + rng.normal(size=n)
        if missing:
            X[rng.random(X.shape) < missing] = np.nan
        return X, (f > 0.0).astype(np.int64) if classes else f

    return data


def kind(y):
    return "Classifier" if y.dtype.kind == "i" else "Regressor"


def fit(package, depth):
    """Ours or scikit-learn's: the same names."""

    def prepare(data):
        from importlib import import_module

        X, y = data
        cls = getattr(import_module(f"{package}.tree"), f"DecisionTree{kind(y)}")
        return lambda: cls(max_depth=depth, random_state=0).fit(X, y)

    return prepare


def snapml(depth):
    def prepare(data):
        import snapml

        X, y = data
        cls = getattr(snapml, f"DecisionTree{kind(y)}")
        options = {"use_histograms": False, "n_jobs": threads(), "random_state": 0}
        y = y.astype(np.float64)
        return lambda: cls(max_depth=depth, **options).fit(X, y)

    return prepare


def ydf(depth):
    def prepare(data):
        import ydf

        ydf.verbose(0)
        X, y = data
        table = {f"x{j}": X[:, j].astype(np.float32) for j in range(X.shape[1])}
        task = ydf.Task.CLASSIFICATION if y.dtype.kind == "i" else ydf.Task.REGRESSION
        learner = ydf.CartLearner(
            label="y",
            task=task,
            max_depth=-1 if depth is None else depth + 1,
            min_examples=1,
            validation_ratio=0.0,
            num_threads=threads(),
        )

        class Model:
            """Predicts as the others do."""

            def __init__(self):
                self.model = learner.train({**table, "y": y})

            def predict(self, X):
                rows = {f"x{j}": X[:, j].astype(np.float32) for j in range(X.shape[1])}
                out = self.model.predict(rows)
                return (out > 0.5).astype(int) if y.dtype.kind == "i" else out

        return Model

    return prepare


def error(data, model):
    """Mean squared error on the training rows: the share of wrong ones, for classes."""
    X, y = data
    return float(np.mean((np.asarray(model.predict(X), dtype=float) - y) ** 2))


def race(name, what, data, depth, peers=("scikit-learn", "snapml", "ydf"), **options):
    known = {"scikit-learn": fit("sklearn", depth), "snapml": snapml(depth), "ydf": ydf(depth)}
    return Race(
        name=f"decision-tree-{name}",
        what=f"decision tree, {what}",
        make_data=data,
        contestants={
            "mlreplica": fit("mlreplica", depth),
            **{peer: known[peer] for peer in peers},
        },
        quality=error,
        quality_name="training error",
        rtol=0.01,
        atol=1e-3,
        **options,
    )


def predictions(package):
    """A deep tree, asked for all its training rows."""

    def prepare(data):
        from importlib import import_module

        X, y = data
        model = import_module(f"{package}.tree").DecisionTreeClassifier
        model = model(random_state=0).fit(X, y)
        return lambda: model.predict(X)

    return prepare


RACES = [
    race("regression", "100,000 × 20, depth 8", make(100_000, 20, False), 8, readme=True),
    race("binary", "two classes, 100,000 × 20, depth 8", make(100_000, 20, True), 8, start=False),
    race("deep", "100,000 × 20, to the last row", make(100_000, 20, False), None, start=False),
    race(
        "deep-binary",
        "two classes, 100,000 × 20, to pure leaves",
        make(100_000, 20, True),
        None,
        start=False,
        readme=True,
    ),
    race(
        "missing",
        "two classes, 20,000 × 20, a tenth missing, to pure leaves",
        make(20_000, 20, True, missing=0.1),
        None,
        peers=("scikit-learn",),  # the only other that learns where missing values go
        start=False,
    ),
    race("small", "two classes, 150 × 4", make(150, 4, True), None, start=False),
    Race(
        name="decision-tree-predict",
        what="decision tree, prediction of 100,000 rows",
        make_data=make(100_000, 20, True),
        contestants={"mlreplica": predictions("mlreplica"), "scikit-learn": predictions("sklearn")},
        quality=lambda data, prediction: float(np.mean(prediction != data[1])),
        quality_name="training error",
        atol=1e-3,
        start=False,
    ),
]
