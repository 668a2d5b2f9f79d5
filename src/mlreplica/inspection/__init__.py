"""Inspection: look at how a model errs, not only at how much

`DecisionBoundaryDisplay` is scikit-learn's, so that an import can be swapped. The one of
`mlreplica.plotting` is legible in grey, draws the rows and takes more than two columns.
"""

from typing import TYPE_CHECKING

from mlreplica.core.lazy import lazy

if TYPE_CHECKING:
    from sklearn.inspection import DecisionBoundaryDisplay as DecisionBoundaryDisplay

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
