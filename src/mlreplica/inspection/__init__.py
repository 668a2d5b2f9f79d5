"""Inspection: look at how a model errs, not only at how much"""

from importlib import import_module

HOME = {"BiasVariance": "_bias_variance", "bias_variance": "_bias_variance"}

__all__ = ["BiasVariance", "bias_variance"]


def __getattr__(name: str) -> object:
    if name in HOME:
        return getattr(import_module(f"{__name__}.{HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
