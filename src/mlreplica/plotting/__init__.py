"""Plotting: displays of models, and of how they were found

Each display is made from a model (`from_estimator`) or from numbers that are there already, keeps
them, and draws them with `.plot(ax=)`, as scikit-learn's do. Colours are told apart by the
colour-blind, and whatever a colour says, a dash, a marker or a hatch says too: in grey nothing is
lost. matplotlib comes with `pip install 'mlreplica[plot]'`.
"""

from importlib import import_module

HOME = {
    "PALETTE": "_style",
    "Animation": "_animation",
    "BiasVarianceDisplay": "_curves",
    "CoefficientPathDisplay": "_paths",
    "ConvergenceDisplay": "_paths",
    "DecisionBoundaryDisplay": "_boundary",
    "ImportanceDisplay": "_models",
    "LearningCurveDisplay": "_curves",
    "MarginDisplay": "_boundary",
    "TreeDisplay": "_models",
    "ValidationCurveDisplay": "_curves",
    "style": "_style",
}

__all__ = [
    "PALETTE",
    "Animation",
    "BiasVarianceDisplay",
    "CoefficientPathDisplay",
    "ConvergenceDisplay",
    "DecisionBoundaryDisplay",
    "ImportanceDisplay",
    "LearningCurveDisplay",
    "MarginDisplay",
    "TreeDisplay",
    "ValidationCurveDisplay",
    "style",
]


def __getattr__(name: str) -> object:
    if name in HOME:
        return getattr(import_module(f"{__name__}.{HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
