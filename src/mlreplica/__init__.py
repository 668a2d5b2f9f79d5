"""Classical machine learning, written to be read and built to be used.

Every chapter is a module with scikit-learn's names, imported when it is first touched:

>>> from mlreplica.linear_model import LinearRegression
"""

from importlib import import_module

__version__ = "0.1.0"

__all__ = [
    "accelerate",
    "calibration",
    "callbacks",
    "cluster",
    "compose",
    "covariance",
    "datasets",
    "decomposition",
    "discriminant_analysis",
    "ensemble",
    "feature_selection",
    "impute",
    "inspection",
    "isotonic",
    "kernel_approximation",
    "kernel_ridge",
    "kernels",
    "linear_model",
    "losses",
    "mcmc",
    "metrics",
    "mixture",
    "model_selection",
    "naive_bayes",
    "neighbors",
    "onnx_export",
    "outliers",
    "persistence",
    "pipeline",
    "plotting",
    "preprocessing",
    "sequence",
    "svm",
    "tree",
]
APART = {"scale"}  # imported by name only, as it lets the methods of all estimators take blocks
# Functions of the package itself, and where they live.
FUNCTIONS = {"load": "persistence", "save": "persistence", "to_onnx": "onnx_export"}


def __getattr__(name: str) -> object:
    if name in FUNCTIONS:
        return getattr(import_module(f"{__name__}.{FUNCTIONS[name]}"), name)
    if name in __all__ or name in APART:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *APART, *FUNCTIONS, "__version__"])
