"""Support vector machines: with kernels, and linear ones for many rows"""

from typing import TYPE_CHECKING

from mlreplica.core.lazy import lazy

if TYPE_CHECKING:
    from ._linear_svc import LinearSVC as LinearSVC
    from ._linear_svr import LinearSVR as LinearSVR
    from ._nu_svc import NuSVC as NuSVC
    from ._one_class import OneClassSVM as OneClassSVM
    from ._smallest_c import l1_min_c as l1_min_c
    from ._svc import SVC as SVC
    from ._svr import SVR as SVR
    from ._svr import NuSVR as NuSVR

__all__, __getattr__, __dir__ = lazy(__name__)
