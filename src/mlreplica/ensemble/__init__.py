"""Ensembles: many models that answer together"""

from importlib import import_module

HOME = {
    "AdaBoostClassifier": "_adaboost",
    "AdaBoostRegressor": "_adaboost",
    "BaggingClassifier": "_bagging",
    "BaggingRegressor": "_bagging",
    "ExtraTreesClassifier": "_forests",
    "ExtraTreesRegressor": "_forests",
    "GradientBoostingClassifier": "_gradient_boosting",
    "GradientBoostingRegressor": "_gradient_boosting",
    "RandomForestClassifier": "_forests",
    "RandomForestRegressor": "_forests",
    "HistGradientBoostingClassifier": "_hist_gradient_boosting",
    "HistGradientBoostingRegressor": "_hist_gradient_boosting",
    "IsolationForest": "_isolation_forest",
    "StackingClassifier": "_stacking",
    "StackingRegressor": "_stacking",
    "VotingClassifier": "_voting",
    "VotingRegressor": "_voting",
}

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
    "IsolationForest",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "StackingClassifier",
    "StackingRegressor",
    "VotingClassifier",
    "VotingRegressor",
]


def __getattr__(name: str) -> object:
    if name in HOME:
        return getattr(import_module(f"{__name__}.{HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
