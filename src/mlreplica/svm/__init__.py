"""Support vector machines: with kernels, and linear ones for many rows"""

from importlib import import_module

HOME = {
    "LinearSVC": "_linear_svc",
    "LinearSVR": "_linear_svr",
    "NuSVC": "_svc",
    "SVC": "_svc",
}

__all__ = [
    "LinearSVC",
    "LinearSVR",
    "NuSVC",
    "SVC",
]


def __getattr__(name: str) -> object:
    if name in HOME:
        return getattr(import_module(f"{__name__}.{HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
