"""Inspection: look at how a model errs, not only at how much"""

from importlib import import_module

HOME = {
    "BiasVariance": "_bias_variance",
    "KernelCheck": "_kernel",
    "bias_variance": "_bias_variance",
    "check_kernel": "_kernel",
}

__all__ = ["BiasVariance", "KernelCheck", "bias_variance", "check_kernel"]


def __getattr__(name: str) -> object:
    if name in HOME:
        return getattr(import_module(f"{__name__}.{HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
