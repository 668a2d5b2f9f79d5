"""Columns made fit for a model: categories and dates as numbers

Read `_one_hot.py` and `_ordinal.py` first, then `_categories.py`, which finds the distinct values
of a column and numbers them, and `_encoder.py`, what all encoders share; `_read.py` reads
arrays, lists and frames column by column. `_target.py` replaces categories by means of a target,
`_rare.py` joins rare ones, `_dates.py` splits dates into their parts. `_labels.py` and
`_multilabel.py` encode targets.
"""

from typing import TYPE_CHECKING

from mlreplica.core.lazy import lazy

if TYPE_CHECKING:
    from ._dates import DateFeatures as DateFeatures
    from ._labels import LabelBinarizer as LabelBinarizer
    from ._labels import LabelEncoder as LabelEncoder
    from ._labels import label_binarize as label_binarize
    from ._multilabel import MultiLabelBinarizer as MultiLabelBinarizer
    from ._one_hot import OneHotEncoder as OneHotEncoder
    from ._ordinal import OrdinalEncoder as OrdinalEncoder
    from ._rare import RareCategories as RareCategories
    from ._target import TargetEncoder as TargetEncoder

__all__, __getattr__, __dir__ = lazy(__name__)
