"""Support vector machines"""

from ._svc import SVC, NuSVC

__all__ = ["SVC", "NuSVC"]
