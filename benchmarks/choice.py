"""Which model when: eight models on many tables, as they come, unscaled and with gaps

    python -m benchmarks.choice [NAME ...]                            # benchmarks/choice.json

The tables are those that scikit-learn and statsmodels ship, and generated ones whose shape is
known; at most 400 rows of each. Every model has its defaults. Its score is the mean over five folds
of accuracy or R². It is measured three times: on standardised columns, on columns whose units
differ by powers of ten, and with a tenth of the entries missing (medians fill them for models that
refuse them). Seconds are processor time of a fit and its predictions, on one thread. The page
`book/which-model-when.md` reads the file.
"""

import argparse
import json
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).with_name("choice.json")
MOST, FOLDS = 400, 5
SMALL = {"max_iter": 1000}


def models(task):
    """{name: estimator}"""
    from mlreplica import (
        discriminant_analysis,
        ensemble,
        linear_model,
        naive_bayes,
        neighbors,
        svm,
        tree,
    )

    if task == "classification":
        found = [
            linear_model.LogisticRegression(**SMALL),
            discriminant_analysis.LinearDiscriminantAnalysis(),
            naive_bayes.GaussianNB(),
            neighbors.KNeighborsClassifier(),
            svm.SVC(),
            tree.DecisionTreeClassifier(random_state=0),
            ensemble.RandomForestClassifier(random_state=0),
            ensemble.HistGradientBoostingClassifier(random_state=0),
        ]
    else:
        found = [
            linear_model.Ridge(),
            linear_model.LassoCV(),
            linear_model.HuberRegressor(**SMALL),
            neighbors.KNeighborsRegressor(),
            svm.SVR(),
            tree.DecisionTreeRegressor(random_state=0),
            ensemble.RandomForestRegressor(random_state=0),
            ensemble.HistGradientBoostingRegressor(random_state=0),
        ]
    return {type(model).__name__: model for model in found}


def shipped():
    """Yield (name, task, X, y) of real tables."""
    import statsmodels.api as sm

    from mlreplica import datasets

    for name in ("iris", "wine", "breast_cancer", "digits"):
        yield name, "classification", *getattr(datasets, f"load_{name}")(return_X_y=True)
    yield "diabetes", "regression", *datasets.load_diabetes(return_X_y=True)
    kept = {
        "cancer": "cancer", "ccard": "AVGEXP", "engel": "foodexp", "fair": "affairs",
        "randhie": "mdvis", "star98": "NABOVE", "statecrime": "murder", "strikes": "duration",
        "heart": "survival", "macrodata": "realgdp",
    }  # fmt: skip
    for name, target in kept.items():
        frame = getattr(sm.datasets, name).load_pandas().data.select_dtypes("number").dropna()
        drop = [target] + ["NBELOW"] * (name == "star98")  # which holds the target
        yield name, "regression", frame.drop(columns=drop).to_numpy(float), frame[target].to_numpy()
    for name, target in {"anes96": "vote", "fair": "affairs", "modechoice": "choice"}.items():
        frame = getattr(sm.datasets, name).load_pandas().data.select_dtypes("number").dropna()
        y = (frame[target].to_numpy() > 0).astype(int)
        yield f"{name} classes", "classification", frame.drop(columns=[target]).to_numpy(float), y


def generated():
    """Yield (name, task, X, y) of tables whose shape is known."""
    from sklearn import datasets as made

    rng, n = np.random.default_rng(0), MOST
    yield "moons", "classification", *made.make_moons(n, noise=0.3, random_state=0)
    circles = made.make_circles(n, noise=0.15, factor=0.5, random_state=0)
    yield "circles", "classification", *circles
    rings = made.make_gaussian_quantiles(n_samples=n, n_features=5, n_classes=3, random_state=0)
    yield "rings", "classification", *rings
    yield "hastie", "classification", *made.make_hastie_10_2(n, random_state=0)
    X = rng.normal(size=(n, 10))
    score = X[:, :3] @ [1.5, -1.0, 0.5] + rng.logistic(size=n)
    yield "linear border", "classification", X, (score > 0).astype(int)
    wide = {"n_features": 200, "n_informative": 10, "n_redundant": 0, "random_state": 0}
    yield "wide classes", "classification", *made.make_classification(150, **wide)
    noisy = made.make_classification(n, 20, n_informative=6, flip_y=0.2, random_state=1)
    yield "noisy labels", "classification", *noisy
    X = rng.integers(0, 2, (n, 8)).astype(float)
    yield "parity of three", "classification", X, X[:, :3].sum(axis=1).astype(int) % 2
    for k, make in enumerate((made.make_friedman1, made.make_friedman2, made.make_friedman3), 1):
        X, y = make(n_samples=n, random_state=0)
        yield f"friedman {k}", "regression", X, y + 0.2 * y.std() * rng.normal(size=n)
    yield "linear", "regression", *made.make_regression(n, 10, noise=40.0, random_state=0)
    sparse = made.make_regression(100, 300, n_informative=5, noise=5.0, random_state=0)
    yield "wide, few columns matter", "regression", *sparse
    X = rng.normal(size=(n, 5))
    line = X @ [2.0, -1.0, 0.5, 0.0, 0.0]
    yield "heavy tails", "regression", X, line + rng.standard_t(1.5, size=n)
    X = rng.uniform(-1, 1, (n, 2))
    yield "sine", "regression", X, np.sin(5 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=n)
    steps = np.floor(3 * X[:, 0]) * np.sign(X[:, 1]) + 0.3 * rng.normal(size=n)
    yield "steps", "regression", X, steps
    yield "product", "regression", X, X[:, 0] * X[:, 1] + 0.05 * rng.normal(size=n)


def tables():
    """All tables, with at most 400 rows each."""
    for name, task, X, y in (*shipped(), *generated()):
        rows = np.random.default_rng(0).permutation(len(y))[:MOST]
        yield name, task, np.ascontiguousarray(X[rows], dtype=float), np.asarray(y)[rows]


def measured(model, X, y, task, scale, folds):
    """Mean and standard deviation of the scores over the folds, and seconds of a fold."""
    from sklearn.base import clone
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.utils import get_tags

    steps = [StandardScaler()] if scale else []
    if np.isnan(X).any() and not get_tags(model).input_tags.allow_nan:
        steps.insert(0, SimpleImputer(strategy="median", keep_empty_features=True))
    whole = make_pipeline(*steps, model)
    if task == "regression":
        whole = TransformedTargetRegressor(whole, transformer=StandardScaler())
    scores, seconds = [], 0.0
    for train, test in folds:
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores.append(clone(whole).fit(X[train], y[train]).score(X[test], y[test]))
        seconds += time.process_time() - start
    return [round(float(np.mean(scores)), 4), round(float(np.std(scores)), 4), seconds / len(folds)]


def race(name, task, X, y):
    """One table: the scores of all models."""
    from sklearn.model_selection import KFold, StratifiedKFold

    kind = StratifiedKFold if task == "classification" else KFold
    folds = list(kind(FOLDS, shuffle=True, random_state=0).split(X, y))
    rng = np.random.default_rng(1)
    units = 10.0 ** rng.uniform(-3, 3, X.shape[1])
    gaps = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    found = {}
    for title, model in models(task).items():
        scaled, spread, seconds = measured(model, X, y, task, True, folds)
        raw = measured(model, X * units, y, task, False, folds)
        with_gaps = measured(model, gaps, y, task, True, folds)
        found[title] = {
            "score": scaled, "spread": spread, "seconds": round(seconds, 5),
            "unscaled": raw[0], "gaps": with_gaps[0],
        }  # fmt: skip
    return {"task": task, "rows": len(y), "columns": X.shape[1], "models": found}


def main():
    """Measure the tables named, or all; keep what was found before of the others."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    given = parser.parse_args()
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name, task, X, y in tables():
        if given.names and name not in given.names:
            continue
        found[name] = race(name, task, X, y)
        best = max(found[name]["models"], key=lambda m: found[name]["models"][m]["score"])
        score = found[name]["models"][best]["score"]
        sys.stdout.write(f"{name}: {best} {score}\n")
        RESULTS.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(threads, "1")
    main()
