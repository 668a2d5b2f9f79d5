"""Feature selection: which columns carry information, and how sure one can be

Read `_scores.py` (one column at a time, straight relations), `_mutual_information.py` (any
relation), `_univariate.py` and `_error_rates.py` (which scores and p-values are kept), then the
wrappers `_from_model.py`, `_rfe.py` and `_sequential.py`. `_stability.py` and `_knockoffs.py`
bound how many are wrong.
"""

from typing import TYPE_CHECKING

from mlreplica.core.lazy import lazy

if TYPE_CHECKING:
    from ._error_rates import SelectFdr as SelectFdr
    from ._error_rates import SelectFpr as SelectFpr
    from ._error_rates import SelectFwe as SelectFwe
    from ._from_model import SelectFromModel as SelectFromModel
    from ._generic import GenericUnivariateSelect as GenericUnivariateSelect
    from ._knockoffs import KnockoffSelector as KnockoffSelector
    from ._mutual_information import mutual_info_classif as mutual_info_classif
    from ._mutual_information import mutual_info_regression as mutual_info_regression
    from ._rfe import RFE as RFE
    from ._rfe_cv import RFECV as RFECV
    from ._scores import chi2 as chi2
    from ._scores import f_classif as f_classif
    from ._scores import f_oneway as f_oneway
    from ._scores import f_regression as f_regression
    from ._scores import r_regression as r_regression
    from ._selector import SelectorMixin as SelectorMixin
    from ._sequential import SequentialFeatureSelector as SequentialFeatureSelector
    from ._stability import StabilitySelection as StabilitySelection
    from ._univariate import SelectKBest as SelectKBest
    from ._univariate import SelectPercentile as SelectPercentile
    from ._variance import VarianceThreshold as VarianceThreshold

__all__, __getattr__, __dir__ = lazy(__name__)
