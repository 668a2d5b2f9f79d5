"""Preprocessing: columns made ready for a model

Read `_columns` first, what all scalers share, then `_standard`.
"""

from typing import TYPE_CHECKING

from mlreplica.core.lazy import lazy

if TYPE_CHECKING:
    from ._bins import KBinsDiscretizer as KBinsDiscretizer
    from ._dummy import add_dummy_feature as add_dummy_feature
    from ._function import FunctionTransformer as FunctionTransformer
    from ._kernel_centerer import KernelCenterer as KernelCenterer
    from ._normalizer import Normalizer as Normalizer
    from ._normalizer import normalize as normalize
    from ._polynomial import PolynomialFeatures as PolynomialFeatures
    from ._power import PowerTransformer as PowerTransformer
    from ._power import power_transform as power_transform
    from ._quantile import QuantileTransformer as QuantileTransformer
    from ._quantile import quantile_transform as quantile_transform
    from ._ranges import MaxAbsScaler as MaxAbsScaler
    from ._ranges import MinMaxScaler as MinMaxScaler
    from ._ranges import maxabs_scale as maxabs_scale
    from ._ranges import minmax_scale as minmax_scale
    from ._robust import RobustScaler as RobustScaler
    from ._robust import robust_scale as robust_scale
    from ._splines import SplineTransformer as SplineTransformer
    from ._standard import StandardScaler as StandardScaler
    from ._standard import scale as scale
    from ._threshold import Binarizer as Binarizer
    from ._threshold import binarize as binarize
    from ._winsorizer import Winsorizer as Winsorizer

__all__, __getattr__, __dir__ = lazy(__name__)
