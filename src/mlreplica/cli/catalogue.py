"""All models: what each is for, in one line, and its page in the book"""

import re

from mlreplica.cli.models import KIND
from mlreplica.discovery import all_estimators

PAGES = {
    "AdaBoost": "adaboost",
    "Bagging": "bagging",
    "DecisionTreeClassifier": "decision-tree",
    "DecisionTreeRegressor": "regression-tree",
    "ElasticNet": "elastic-net",
    "ExtraTree": "random-forest",
    "GradientBoosting": "gradient-boosting",
    "HistGradientBoosting": "histogram-boosting",
    "Huber": "huber-regression",
    "IsolationForest": "isolation-forest",
    "KernelPCA": "kernel-pca",
    "KernelRidge": "kernel-regression",
    "Lasso": "lasso",
    "LinearRegression": "linear-regression",
    "LinearSV": "linear-svm",
    "LogisticRegression": "logistic-regression",
    "NuSVC": "soft-margin",
    "NuSVR": "svr",
    "Nystroem": "feature-maps",
    "OneClassSVM": "maximum-margin",
    "Perceptron": "perceptron",
    "Poisson": "poisson-regression",
    "Quantile": "quantile-regression",
    "RBFSampler": "feature-maps",
    "RandomForest": "random-forest",
    "Ridge": "ridge",
    "SGD": "stochastic-gradient-descent",
    "SVC": "soft-margin",
    "SVR": "svr",
}  # by the beginning of the name


def catalogue():
    """[{model, module, task, summary, page}], by name."""
    kinds = {name: task for task, kind in KIND.items() for name, _ in all_estimators(kind)}
    return [
        {
            "model": name,
            "module": ".".join(p for p in cls.__module__.split(".") if not p.startswith("_")),
            "task": kinds.get(name, "other"),
            "summary": summary(cls),
            "page": page_of(name),
        }
        for name, cls in all_estimators()
    ]


def summary(cls):
    """The first line of a docstring, without its references to equations."""
    first = (cls.__doc__ or "").strip().partition("\n")[0]
    return re.sub(r"[:,]? ?\(\d\)", "", first).rstrip(" .:").replace("`", "")


def page_of(name):
    """The page of the book whose algorithm a model is."""
    return next((page for start, page in PAGES.items() if name.startswith(start)), None)
