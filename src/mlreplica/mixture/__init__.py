"""Mixtures: densities that are sums of Gaussian bells

Read `em.py` first (the two steps, and the kernels of the first), then `starts.py` (moments to start
from), `base.py` (the loop), `gaussian.py` (the estimator), `missing.py` (rows with gaps) and
`bayesian.py` (priors).
"""

from typing import TYPE_CHECKING

from mlreplica.core.lazy import lazy

if TYPE_CHECKING:
    from .bayesian import BayesianGaussianMixture as BayesianGaussianMixture
    from .gaussian import GaussianMixture as GaussianMixture

__all__, __getattr__, __dir__ = lazy(__name__)
