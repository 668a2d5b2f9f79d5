"""Outliers, one column at a time: z-scores and fences

Read `_columns.py` first (what both share: a deviation for every entry, the largest of a row), then
`_z_score.py` (mean and standard deviation, or median and MAD) and `_iqr.py` (Tukey's fences). What
looks at all columns together is where its method is: `covariance.EllipticEnvelope`,
`ensemble.IsolationForest`, `neighbors.LocalOutlierFactor`, `svm.OneClassSVM`.
"""

from typing import TYPE_CHECKING

from mlreplica.core.lazy import lazy

if TYPE_CHECKING:
    from ._iqr import IQR as IQR
    from ._z_score import ZScore as ZScore

__all__, __getattr__, __dir__ = lazy(__name__)
