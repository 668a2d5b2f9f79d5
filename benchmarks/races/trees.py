"""Decision trees, forests of them, leaves as columns: fits, predictions, one row

Quality of a tree is the error on the training rows, which the same exact tree makes the same for
all; a tree on histograms is worse there, and marked so if by more than a hundredth. Quality of a
forest is the error on new rows; forests are random, so a few percent are equal.
"""

import numpy as np

from benchmarks.data import Data, Rows, known, shapes
from benchmarks.race import BOTH, Race, ask, located, same, threads


def snapml(name, **options):
    """Its trees take labels as floating-point numbers."""

    def prepare(data):
        X, y = data.X, data.y.astype(np.float64) if name.startswith("Decision") else data.y
        cls = located(f"snapml.{name}")
        return lambda: cls(n_jobs=threads(), random_state=0, **options).fit(X, y)

    return prepare


def ydf(learner, classes, **options):
    """Its model behind `predict`."""

    def table(X):
        return {f"x{j}": X[:, j].astype(np.float32) for j in range(X.shape[1])}

    def prepare(data):
        import ydf

        ydf.verbose(0)
        task = ydf.Task.CLASSIFICATION if classes else ydf.Task.REGRESSION
        given = {"label": "y", "min_examples": 1, "num_threads": threads(), **options}
        made = getattr(ydf, learner)(task=task, **given)
        rows = {**table(data.X), "y": data.y}

        class Model:
            def __init__(self):
                self.model = made.train(rows)

            def predict(self, X):
                out = self.model.predict(table(X))
                if not classes:
                    return out
                return (out > 0.5).astype(int) if out.ndim == 1 else out.argmax(axis=1)

        return Model

    return prepare


def error(data, model):
    """Mean squared error, or the share of wrong ones; on new rows if there are some."""
    X, y = (data.X, data.y) if data.X_new is None else (data.X_new, data.y_new)
    found = np.asarray(model.predict(X), dtype=float)
    return float(np.mean(found != y) if y.dtype.kind == "i" else np.mean((found - y) ** 2))


def wrong(data, found):
    """Share of wrong classes among the rows asked for."""
    y = (data.y if data.y_new is None else data.y_new)[: len(found)]
    return float(np.mean((found.argmax(axis=1) if found.ndim == 2 else found) != y))


def tree(name, what, depth, classes, rows, peers=("snapml", "ydf"), **options):
    cls = f"DecisionTree{'Classifier' if classes else 'Regressor'}"
    deep = -1 if depth is None else depth + 1
    more = {
        "snapml": snapml(cls, max_depth=depth, use_histograms=False),
        "ydf": ydf("CartLearner", classes, max_depth=deep, validation_ratio=0.0),
    }
    return Race(
        name=f"decision-tree-{name}",
        what=f"decision tree, {what}",
        shapes=shapes(*rows),
        contestants=same(f"tree.{cls}", BOTH, max_depth=depth, random_state=0)
        | {peer: more[peer] for peer in peers},
        quality=error,
        quality_name="training error",
        rtol=0.01,
        atol=1e-3,
        **options,
    )


def half(name):
    """A known set, every second row new."""
    X, y, *_ = known(name)
    return Data(X[::2], y[::2], X[1::2], y[1::2])


def forest(name, what, cls, trees, rows, packages, others=(), **options):
    classes = cls.endswith("Classifier")
    all_columns = {} if classes else {"max_features": None}
    more = {
        "snapml": snapml(cls, n_estimators=trees, **all_columns),
        "ydf": ydf(
            "RandomForestLearner",
            classes,
            num_trees=trees,
            max_depth=-1,
            winner_take_all=False,
            compute_oob_performances=False,
            num_candidate_attributes=0 if classes else -1,
            num_candidate_attributes_ratio=None if classes else 1.0,
        ),
    }
    given = {"n_estimators": trees, "random_state": 0, "n_jobs": threads()}
    return Race(
        name=f"forest-{name}",
        what=f"{what}, {trees} trees",
        shapes=rows,
        contestants=same(f"ensemble.{cls}", packages, **given)
        | {peer: more[peer] for peer in others},
        quality=error,
        quality_name="error on new rows",
        rtol=0.06,
        atol=0.01,
        **options,
    )


def forest_asked(name, what, rows, **options):
    given = {"n_estimators": 100, "random_state": 0, "n_jobs": threads()}
    path, method = "ensemble.RandomForestClassifier", "predict_proba"
    return Race(
        name=f"forest-{name}",
        what=f"random forest of 100, {what}",
        shapes=shapes(bent(20_000, 20, 2), bent(5000, 50, 2, "few")),
        contestants=same(path, how=ask, method=method, rows=rows, **given),
        quality=wrong,
        quality_name="error on new rows",
        rtol=0.06,
        atol=0.01 if rows > 1 else 1.0,
        **options,
    )


def embedding(name, *rows, **options):
    """Leaves as columns; the draws are the same for both, so the numbers of columns are."""

    def prepare(package):
        def contestant(data):
            cls = located(f"{package}.ensemble.RandomTreesEmbedding")
            return lambda: cls(random_state=0, n_jobs=threads()).fit_transform(data.X)

        return contestant

    return Race(
        name=f"trees-embedding-{name}",
        what="leaves of 100 random trees as columns",
        shapes=shapes(*rows),
        contestants={"mlreplica": prepare("mlreplica"), "scikit-learn": prepare("sklearn")},
        quality=lambda data, phi: abs(phi.sum() / len(data.X) - 100),
        quality_name="leaves per row, off 100",
        **options,
    )


def bent(n, p, classes, kind="normal", new=20_000, **more):
    return Rows(n, p, kind, classes=classes, bent=True, noise=0.5, new=new, **more)


def plain(*given, **more):
    return bent(*given, new=0, **more)


NUMBERS = [plain(100_000, 20, 0), plain(30_000, 20, 0, "few"), plain(20_000, 60, 0, "skewed")]
TWO = [plain(100_000, 20, 2), plain(30_000, 20, 2, "few"), plain(20_000, 60, 2, rare=0.05)]
SMALL = [plain(150, 4, 2), "iris", "breast_cancer"]
FEW = bent(30_000, 40, 2, "few", rare=0.1)
EXTRA, ALL, INTEL = ("snapml", "ydf"), (*BOTH, "scikit-learn-intelex"), ("scikit-learn-intelex",)
RF, RFR = "RandomForestClassifier", "RandomForestRegressor"
MIDDLE = shapes(bent(20_000, 20, 2), bent(5000, 60, 5, "skewed"))
RACES = [
    tree("regression", "depth 8", 8, False, NUMBERS, start=True, readme=True),
    tree("binary", "two classes, depth 8", 8, True, TWO),
    tree("deep", "to the last row", None, False, NUMBERS),
    tree("deep-binary", "two classes, to pure leaves", None, True, TWO, readme=True),
    tree(
        "missing",
        "two classes, to pure leaves",
        None,
        True,
        [plain(20_000, 20, 2, missing=0.1), plain(5000, 40, 2, "few", missing=0.3)],
        peers=(),  # scikit-learn is the only other that learns where missing values go
    ),
    tree("small", "classes, to pure leaves", None, True, SMALL),
    Race(
        name="decision-tree-predict",
        what="decision tree, prediction of its rows",
        shapes=shapes(plain(100_000, 20, 2), plain(10_000, 60, 2, "few")),
        contestants=same("tree.DecisionTreeClassifier", BOTH, how=ask, random_state=0),
        quality=wrong,
        quality_name="training error",
        atol=1e-3,
    ),
    forest(
        "binary",
        "random forest",
        RF,
        20,
        shapes(bent(100_000, 20, 2), FEW),
        ALL,
        EXTRA,
        readme=True,
    ),
    forest(
        "regression",
        "random forest",
        RFR,
        4,
        shapes(bent(100_000, 20, 0), bent(20_000, 40, 0, "few")),
        ALL,
        EXTRA[:1],
        readme=True,
    ),
    forest("binary-20k", "random forest", RF, 50, MIDDLE, ALL, EXTRA[:1]),
    forest("digits", "random forest", RF, 100, {"digits": lambda: half("digits")}, ALL, EXTRA[:1]),
    forest(
        "small",
        "random forest",
        RF,
        100,
        {"iris": lambda: half("iris"), "wine": lambda: half("wine")},
        ALL,
        start=True,
        readme=True,
    ),
    forest("extra-trees", "extra trees", "ExtraTreesClassifier", 50, MIDDLE, ALL),
    forest("bagging", "bagging", "BaggingClassifier", 10, MIDDLE, BOTH),
    embedding("small", "iris", plain(1000, 10, 0), start=True),
    embedding("tall", plain(50_000, 20, 0), plain(10_000, 60, 0, "skewed"), readme=True),
    forest_asked("predict", "20,000 rows", 20_000),
    forest_asked("one-row", "one row", 1, readme=True),
]
