"""Decision trees: for classes and for numbers, grown exactly, pruned, drawn"""

from importlib import import_module

HOME = {
    "DecisionTreeClassifier": "_classifier",
    "DecisionTreeRegressor": "_regressor",
    "ExtraTreeClassifier": "_classifier",
    "ExtraTreeRegressor": "_regressor",
    "export_graphviz": "_export",
    "export_text": "_export",
    "plot_tree": "_plot",
}

__all__ = [
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
    "export_graphviz",
    "export_text",
    "plot_tree",
]


def __getattr__(name: str) -> object:
    if name in HOME:
        return getattr(import_module(f"{__name__}.{HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
