"""Boosting: AdaBoost with stumps, and gradient boosting with exact splits

Quality is the loss on the training rows, which boosting lowers: the share of errors for AdaBoost,
the mean squared error or the logarithmic loss for gradient boosting. All take the same depth,
rounds and learning rate and no penalty. Exact splits give nearly the same trees, whichever library
finds them, so a loss within two per cent is the same quality.
"""

import numpy as np

from benchmarks.race import Race, threads

DEPTH, RATE = 3, 0.1


def numbers(n, p):
    """A curve, an interaction and noise."""

    def data():
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, p))
        y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)
        return X, y

    return data


def classes(n, p, k=2):
    """Quantiles of the same."""

    def data():
        X, y = numbers(n, p)()
        return X, np.searchsorted(np.quantile(y, np.arange(1, k) / k), y)

    return data


def iris():
    from sklearn.datasets import load_iris

    return load_iris(return_X_y=True)


def of(package, name, **options):
    """A contestant with scikit-learn's interface."""

    def prepare(data):
        from importlib import import_module

        make = getattr(import_module(f"{package}.ensemble"), name)
        return lambda: make(random_state=0, **options).fit(*data)

    return prepare


def xgboost(name, rounds):
    """Exact, depth-wise, without its penalties."""

    def prepare(data):
        import xgboost

        X, y = data
        make = getattr(xgboost, f"XGB{name}")
        options = {"tree_method": "exact", "reg_lambda": 0.0, "min_child_weight": 0.0}
        options |= {"max_depth": DEPTH, "learning_rate": RATE, "n_jobs": threads()}
        return lambda: make(n_estimators=rounds, **options).fit(X, y)

    return prepare


def snapml(name, rounds):
    """Without histograms; it reads float32 only."""

    def prepare(data):
        import snapml

        X, y = np.asarray(data[0], dtype=np.float32), data[1]
        make = getattr(snapml, f"BoostingMachine{name}")
        options = {"min_max_depth": DEPTH, "max_max_depth": DEPTH, "use_histograms": False}
        options |= {"learning_rate": RATE, "n_jobs": threads(), "lambda_l2": 0.0}
        return lambda: make(num_round=rounds, **options).fit(X, y)

    return prepare


def error(data, model):
    X, y = data
    return float(np.mean(model.predict(X) != y))


def squared(data, model):
    X, y = data
    return float(np.mean((model.predict(np.asarray(X, dtype=np.float32)) - y) ** 2))


def log_loss(data, model):
    X, y = data
    p = model.predict_proba(np.asarray(X, dtype=np.float32))[np.arange(len(y)), y]
    return float(-np.mean(np.log(np.maximum(p, 1e-15))))


def ada(name, what, data, **options):
    make = {"n_estimators": 50}
    peers = {"mlreplica": "mlreplica", "scikit-learn": "sklearn"}
    return Race(
        name=f"adaboost-{name}",
        what=f"AdaBoost, 50 stumps, {what}",
        make_data=data,
        contestants={k: of(v, "AdaBoostClassifier", **make) for k, v in peers.items()},
        quality=error,
        quality_name="training error",
        rtol=0.02,
        **options,
    )


def gradient(name, what, data, kind, rounds, without=(), **options):
    make = {"n_estimators": rounds, "max_depth": DEPTH, "learning_rate": RATE}
    peers = {
        "mlreplica": of("mlreplica", f"GradientBoosting{kind}", **make),
        "scikit-learn": of("sklearn", f"GradientBoosting{kind}", **make),
        "xgboost, exact": xgboost(kind, rounds),
        "snapml, exact": snapml(kind, rounds),
    }
    return Race(
        name=f"gradient-boosting-{name}",
        what=f"gradient boosting, {rounds} trees of depth {DEPTH}, {what}",
        make_data=data,
        contestants={peer: fit for peer, fit in peers.items() if peer not in without},
        quality=squared if kind == "Regressor" else log_loss,
        quality_name="training loss",
        rtol=0.02,
        **options,
    )


def r2():
    peers = {"mlreplica": "mlreplica", "scikit-learn": "sklearn"}
    return Race(
        name="adaboost-r2",
        what="AdaBoost.R2, 20 trees of depth 3, 10,000 × 20",
        make_data=numbers(10_000, 20),
        contestants={k: of(v, "AdaBoostRegressor", n_estimators=20) for k, v in peers.items()},
        quality=squared,
        quality_name="training loss",
        rtol=0.05,
        start=False,
    )


RACES = [
    ada("10k", "10,000 × 20", classes(10_000, 20), readme=True),
    ada("100k", "100,000 × 10", classes(100_000, 10), start=False),
    ada("iris", "iris (150 × 4)", iris, start=False),
    r2(),
    gradient("10k", "10,000 × 20", numbers(10_000, 20), "Regressor", 100, readme=True),
    gradient("100k", "100,000 × 10", numbers(100_000, 10), "Regressor", 20, start=False),
    gradient("classes", "two classes, 10,000 × 20", classes(10_000, 20), "Classifier", 50),
    gradient(
        "iris", "iris (150 × 4)", iris, "Classifier", 50, without=("snapml, exact",), start=False
    ),
]
