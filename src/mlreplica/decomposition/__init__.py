"""Decomposition: directions along which the data spread"""

from importlib import import_module

HOME = {"KernelPCA": "_kernel_pca"}

__all__ = ["KernelPCA"]


def __getattr__(name: str) -> object:
    if name in HOME:
        return getattr(import_module(f"{__name__}.{HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
