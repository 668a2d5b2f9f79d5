"""Search of settings: twenty values of one parameter in five folds, then a fit to all rows

scikit-learn's search runs over its own models, and over ours: the second shows what sharing work
among settings saves. Quality is the error with which the best setting won.
"""

import numpy as np

from benchmarks.data import Rows, shapes
from benchmarks.race import Race, located


def search(tool, package, model, grid):
    """A contestant: the search of one package over a model of one."""

    def prepare(data):
        kind, estimator = (
            located(f"{tool}.model_selection.GridSearchCV"),
            located(f"{package}.{model}"),
        )
        return lambda: kind(estimator(), grid, cv=5).fit(data.X, data.y)

    return prepare


def error(data, found):
    return 1 - found.best_score_


def race(name, what, sizes, model, grid, **tolerance):
    return Race(
        name=f"search-{name}",
        what=f"search of 20 settings of {what}",
        shapes=sizes,
        contestants={
            "mlreplica": search("mlreplica", "mlreplica", model, grid),
            "scikit-learn": search("sklearn", "sklearn", model, grid),
            "scikit-learn, models of mlreplica": search("sklearn", "mlreplica", model, grid),
        },
        quality=error,
        quality_name="error of the winner in the folds",
        **tolerance,
    )


RACES = [
    race(
        "ridge",
        "ridge regression",
        shapes("diabetes", Rows(20_000, 50)),
        "linear_model.Ridge",
        {"alpha": list(np.logspace(-4, 2, 20))},
        rtol=1e-6,
    ),
    race(
        "logistic",
        "logistic regression",
        shapes("breast_cancer", Rows(20_000, 50, classes=2)),
        "linear_model.LogisticRegression",
        {"C": list(np.logspace(-3, 1, 20))},
        rtol=0.01,
    ),
    race(
        "svc",
        "support vector machines",
        shapes("breast_cancer", Rows(2_000, 20, classes=2)),
        "svm.SVC",
        {"C": list(np.logspace(-2, 2, 20))},
        rtol=0.01,
    ),
    race(
        "boosting",
        "histogram boosting",
        shapes("breast_cancer", Rows(5_000, 20, classes=2)),
        "ensemble.HistGradientBoostingClassifier",
        {"max_iter": [20, 40, 60, 80, 100], "learning_rate": [0.03, 0.1, 0.2, 0.3]},
        rtol=0.1,
    ),
]
