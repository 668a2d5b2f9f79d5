"""Preprocessing: columns made ready for a model

Numbers: read `_columns.py` first, what all scalers share, then `_standard.py`, `_ranges.py`,
`_robust.py` (scales), `_quantile.py` and `_power.py` (shapes), `_bins.py`, `_polynomial.py` and
`_splines.py` (curves).

Categories: read `_one_hot.py` and `_ordinal.py` first, then `_categories.py`, which finds the
distinct values of a column and numbers them, and `_encoder.py`, what all encoders share; `_read.py`
reads arrays, lists and frames column by column. `_target.py` replaces categories by means of a
target, `_rare.py` joins rare ones, `_dates.py` splits dates into their parts. `_labels.py` and
`_multilabel.py` encode targets.
"""

from typing import TYPE_CHECKING

from mlreplica.core.lazy import lazy

if TYPE_CHECKING:
    from ._bins import KBinsDiscretizer as KBinsDiscretizer
    from ._dates import DateFeatures as DateFeatures
    from ._dummy import add_dummy_feature as add_dummy_feature
    from ._function import FunctionTransformer as FunctionTransformer
    from ._kernel_centerer import KernelCenterer as KernelCenterer
    from ._labels import LabelBinarizer as LabelBinarizer
    from ._labels import LabelEncoder as LabelEncoder
    from ._labels import label_binarize as label_binarize
    from ._multilabel import MultiLabelBinarizer as MultiLabelBinarizer
    from ._normalizer import Normalizer as Normalizer
    from ._normalizer import normalize as normalize
    from ._one_hot import OneHotEncoder as OneHotEncoder
    from ._ordinal import OrdinalEncoder as OrdinalEncoder
    from ._polynomial import PolynomialFeatures as PolynomialFeatures
    from ._power import PowerTransformer as PowerTransformer
    from ._power import power_transform as power_transform
    from ._quantile import QuantileTransformer as QuantileTransformer
    from ._quantile import quantile_transform as quantile_transform
    from ._ranges import MaxAbsScaler as MaxAbsScaler
    from ._ranges import MinMaxScaler as MinMaxScaler
    from ._ranges import maxabs_scale as maxabs_scale
    from ._ranges import minmax_scale as minmax_scale
    from ._rare import RareCategories as RareCategories
    from ._robust import RobustScaler as RobustScaler
    from ._robust import robust_scale as robust_scale
    from ._splines import SplineTransformer as SplineTransformer
    from ._standard import StandardScaler as StandardScaler
    from ._standard import scale as scale
    from ._target import TargetEncoder as TargetEncoder
    from ._threshold import Binarizer as Binarizer
    from ._threshold import binarize as binarize
    from ._winsorizer import Winsorizer as Winsorizer

__all__, __getattr__, __dir__ = lazy(__name__)
