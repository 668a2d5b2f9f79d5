"""Choosing a model: scikit-learn's splitters and scores, and a search that shares work

All public names of `sklearn.model_selection` are here, so that an import can be swapped; not its
experimental searches by halving. Two are our own, `GridSearchCV` and `RandomizedSearchCV`: the same
results, faster. Read `_search.py` (the loop
over folds and settings), `_settings.py` (how estimators share work among settings), then
`_nested.py` (an honest score for the winner of a search).
"""

from typing import TYPE_CHECKING

from mlreplica.core.lazy import lazy

if TYPE_CHECKING:
    from sklearn.model_selection import BaseCrossValidator as BaseCrossValidator
    from sklearn.model_selection import BaseShuffleSplit as BaseShuffleSplit
    from sklearn.model_selection import FixedThresholdClassifier as FixedThresholdClassifier
    from sklearn.model_selection import GroupKFold as GroupKFold
    from sklearn.model_selection import GroupShuffleSplit as GroupShuffleSplit
    from sklearn.model_selection import KFold as KFold
    from sklearn.model_selection import LearningCurveDisplay as LearningCurveDisplay
    from sklearn.model_selection import LeaveOneGroupOut as LeaveOneGroupOut
    from sklearn.model_selection import LeaveOneOut as LeaveOneOut
    from sklearn.model_selection import LeavePGroupsOut as LeavePGroupsOut
    from sklearn.model_selection import LeavePOut as LeavePOut
    from sklearn.model_selection import ParameterGrid as ParameterGrid
    from sklearn.model_selection import ParameterSampler as ParameterSampler
    from sklearn.model_selection import PredefinedSplit as PredefinedSplit
    from sklearn.model_selection import RepeatedKFold as RepeatedKFold
    from sklearn.model_selection import RepeatedStratifiedKFold as RepeatedStratifiedKFold
    from sklearn.model_selection import ShuffleSplit as ShuffleSplit
    from sklearn.model_selection import StratifiedGroupKFold as StratifiedGroupKFold
    from sklearn.model_selection import StratifiedKFold as StratifiedKFold
    from sklearn.model_selection import StratifiedShuffleSplit as StratifiedShuffleSplit
    from sklearn.model_selection import TimeSeriesSplit as TimeSeriesSplit
    from sklearn.model_selection import TunedThresholdClassifierCV as TunedThresholdClassifierCV
    from sklearn.model_selection import ValidationCurveDisplay as ValidationCurveDisplay
    from sklearn.model_selection import check_cv as check_cv
    from sklearn.model_selection import cross_val_predict as cross_val_predict
    from sklearn.model_selection import cross_val_score as cross_val_score
    from sklearn.model_selection import cross_validate as cross_validate
    from sklearn.model_selection import learning_curve as learning_curve
    from sklearn.model_selection import permutation_test_score as permutation_test_score
    from sklearn.model_selection import train_test_split as train_test_split
    from sklearn.model_selection import validation_curve as validation_curve

    from ._nested import nested_cross_validate as nested_cross_validate
    from ._search import GridSearchCV as GridSearchCV
    from ._search import RandomizedSearchCV as RandomizedSearchCV

__all__, __getattr__, __dir__ = lazy(__name__)
