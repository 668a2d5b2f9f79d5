"""Support vector machines: with kernels, and linear ones for many rows"""

from importlib import import_module

HOME = {
    "LinearSVC": "_linear_svc",
    "LinearSVR": "_linear_svr",
    "NuSVC": "_svc",
    "NuSVR": "_svr",
    "OneClassSVM": "_one_class",
    "SVC": "_svc",
    "SVR": "_svr",
}

__all__ = [
    "SVC",
    "SVR",
    "LinearSVC",
    "LinearSVR",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
]


def __getattr__(name: str) -> object:
    if name in HOME:
        return getattr(import_module(f"{__name__}.{HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
