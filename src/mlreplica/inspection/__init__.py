"""Inspection: look at how a model errs, not only at how much"""

from typing import TYPE_CHECKING

from mlreplica.core.lazy import lazy

if TYPE_CHECKING:
    from ._bias_variance import BiasVariance as BiasVariance
    from ._bias_variance import bias_variance as bias_variance
    from ._dependence import PartialDependenceDisplay as PartialDependenceDisplay
    from ._dependence import partial_dependence as partial_dependence
    from ._dependence import permutation_importance as permutation_importance
    from ._kernel import KernelCheck as KernelCheck
    from ._kernel import check_kernel as check_kernel
    from ._margins import BoostingMargins as BoostingMargins
    from ._margins import boosting_margins as boosting_margins
    from .shapley.explain import Explanation as Explanation
    from .shapley.explain import explain as explain

__all__, __getattr__, __dir__ = lazy(__name__)
