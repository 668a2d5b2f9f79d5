"""Write the files of this folder: models saved by a release, to be read by all later ones

    python tests/persistence/saved/write.py

They were written by version 0.1.0, before its modules moved into folders of their own. A file that
later code cannot read is a broken promise: mend the reader, never write these files anew.
"""

import json
from pathlib import Path

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mlreplica
from mlreplica.ensemble import (
    AdaBoostClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestRegressor,
)
from mlreplica.kernel_ridge import KernelRidge
from mlreplica.linear_model import Lasso, LogisticRegression, Perceptron, RidgeCV, SGDClassifier
from mlreplica.svm import SVC, LinearSVR
from mlreplica.tree import DecisionTreeClassifier

HERE = Path(__file__).parent

MODELS = [
    Lasso(alpha=0.1),
    RidgeCV(),
    LogisticRegression(),
    Perceptron(random_state=0),
    SGDClassifier(random_state=0),
    SVC(probability=True, random_state=0),
    LinearSVR(random_state=0),
    KernelRidge(kernel="rbf"),
    DecisionTreeClassifier(max_depth=3, random_state=0),
    RandomForestRegressor(n_estimators=3, max_depth=3, random_state=0),
    BaggingRegressor(n_estimators=2, random_state=0),
    AdaBoostClassifier(n_estimators=3, random_state=0),
    GradientBoostingClassifier(n_estimators=3, random_state=0),
    HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5),
    IsolationForest(n_estimators=3, random_state=0),
    make_pipeline(StandardScaler(), LogisticRegression()),
]


def data():
    """Rows, classes and numbers."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3)).round(3)
    number = (X[:, 0] - 2 * X[:, 1]).round(3)
    return X, number, (number > 0).astype(int)


if __name__ == "__main__":
    X, number, label = data()
    answers = {}
    for model in MODELS:
        name = type(model).__name__
        regresses = name.endswith(("Regressor", "SVR", "KernelRidge", "RidgeCV", "Lasso"))
        model.fit(X, number if regresses else label)
        mlreplica.save(model, HERE / f"{name}.skops")
        answers[name] = np.asarray(model.predict(X[:10]), dtype=float).tolist()
    (HERE / "answers.json").write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")
