"""Kernels: K(X, Y) objects, their algebra and their feature maps."""

from typing import TYPE_CHECKING

from mlreplica.core.lazy import lazy

if TYPE_CHECKING:
    from mlreplica.core.formulas.kernel_algebra import Constant as Constant
    from mlreplica.core.formulas.kernel_algebra import Kernel as Kernel
    from mlreplica.core.formulas.kernel_algebra import Product as Product
    from mlreplica.core.formulas.kernel_algebra import Scaled as Scaled
    from mlreplica.core.formulas.kernel_algebra import ScaledBy as ScaledBy
    from mlreplica.core.formulas.kernel_algebra import Sum as Sum
    from mlreplica.core.formulas.kernel_algebra import resolve_gamma as resolve_gamma
    from mlreplica.core.formulas.kernels import NAMES as NAMES
    from mlreplica.core.formulas.kernels import RBF as RBF
    from mlreplica.core.formulas.kernels import Callable as Callable
    from mlreplica.core.formulas.kernels import Laplacian as Laplacian
    from mlreplica.core.formulas.kernels import Linear as Linear
    from mlreplica.core.formulas.kernels import Polynomial as Polynomial
    from mlreplica.core.formulas.kernels import Precomputed as Precomputed
    from mlreplica.core.formulas.kernels import Sigmoid as Sigmoid
    from mlreplica.core.formulas.kernels import get as get
    from mlreplica.core.formulas.kernels import squared_norms as squared_norms

__all__, __getattr__, __dir__ = lazy(__name__)
