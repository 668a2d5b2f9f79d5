"""Covariance: how columns vary together, from few rows or with outliers among them

Read `_empirical.py` first: the estimate of largest likelihood, and distances measured by it. Then
`_shrunk.py` for few rows, `_robust.py` for rows with outliers and `_envelope.py` to find these.
"""

from typing import TYPE_CHECKING

from mlreplica.core.lazy import lazy

if TYPE_CHECKING:
    from ._empirical import EmpiricalCovariance as EmpiricalCovariance
    from ._empirical import empirical_covariance as empirical_covariance
    from ._empirical import log_likelihood as log_likelihood
    from ._envelope import EllipticEnvelope as EllipticEnvelope
    from ._robust import MinCovDet as MinCovDet
    from ._robust import fast_mcd as fast_mcd
    from ._shrunk import OAS as OAS
    from ._shrunk import LedoitWolf as LedoitWolf
    from ._shrunk import ShrunkCovariance as ShrunkCovariance
    from ._shrunk import ledoit_wolf as ledoit_wolf
    from ._shrunk import ledoit_wolf_shrinkage as ledoit_wolf_shrinkage
    from ._shrunk import oas as oas
    from ._shrunk import shrunk_covariance as shrunk_covariance

__all__, __getattr__, __dir__ = lazy(__name__)
