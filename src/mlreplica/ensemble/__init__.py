"""Ensembles: many models that answer together"""

from typing import TYPE_CHECKING

from mlreplica.core.lazy import lazy

if TYPE_CHECKING:
    from ._bagging import BaggingClassifier as BaggingClassifier
    from ._bagging import BaggingRegressor as BaggingRegressor
    from ._stacking import StackingClassifier as StackingClassifier
    from ._stacking import StackingRegressor as StackingRegressor
    from ._voting import VotingClassifier as VotingClassifier
    from ._voting import VotingRegressor as VotingRegressor
    from .boosting.adaboost_classifier import AdaBoostClassifier as AdaBoostClassifier
    from .boosting.adaboost_regressor import AdaBoostRegressor as AdaBoostRegressor
    from .boosting.gradient_boosting_classifier import (
        GradientBoostingClassifier as GradientBoostingClassifier,
    )
    from .boosting.gradient_boosting_regressor import (
        GradientBoostingRegressor as GradientBoostingRegressor,
    )
    from .forest.embedding import RandomTreesEmbedding as RandomTreesEmbedding
    from .forest.estimators import ExtraTreesClassifier as ExtraTreesClassifier
    from .forest.estimators import ExtraTreesRegressor as ExtraTreesRegressor
    from .forest.estimators import RandomForestClassifier as RandomForestClassifier
    from .forest.estimators import RandomForestRegressor as RandomForestRegressor
    from .histogram.classifier import (
        HistGradientBoostingClassifier as HistGradientBoostingClassifier,
    )
    from .histogram.regressor import HistGradientBoostingRegressor as HistGradientBoostingRegressor
    from .isolation.forest import IsolationForest as IsolationForest

__all__, __getattr__, __dir__ = lazy(__name__)
