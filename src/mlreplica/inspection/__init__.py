"""Inspection: look at how a model errs, not only at how much"""

from importlib import import_module

HOME = {
    "BiasVariance": "_bias_variance",
    "BoostingMargins": "_margins",
    "KernelCheck": "_kernel",
    "PartialDependenceDisplay": "_dependence",
    "bias_variance": "_bias_variance",
    "boosting_margins": "_margins",
    "check_kernel": "_kernel",
    "partial_dependence": "_dependence",
    "permutation_importance": "_dependence",
}

__all__ = [
    "BiasVariance",
    "BoostingMargins",
    "KernelCheck",
    "PartialDependenceDisplay",
    "bias_variance",
    "boosting_margins",
    "check_kernel",
    "partial_dependence",
    "permutation_importance",
]


def __getattr__(name: str) -> object:
    if name in HOME:
        return getattr(import_module(f"{__name__}.{HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
