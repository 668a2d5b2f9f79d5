"""Plotting: displays of models, and of how they were found

Each display is made from a model (`from_estimator`) or from numbers that are there already, keeps
them, and draws them with `.plot(ax=)`, as scikit-learn's do. Colours are told apart by the
colour-blind, and whatever a colour says, a dash, a marker or a hatch says too: in grey nothing is
lost. matplotlib comes with `pip install 'mlreplica[plot]'`.
"""

from typing import TYPE_CHECKING

from mlreplica.core.lazy import lazy

if TYPE_CHECKING:
    from ._animation import Animation as Animation
    from ._boundary import DecisionBoundaryDisplay as DecisionBoundaryDisplay
    from ._boundary import MarginDisplay as MarginDisplay
    from ._clusters import ChooseKDisplay as ChooseKDisplay
    from ._clusters import ClusterDisplay as ClusterDisplay
    from ._clusters import DendrogramDisplay as DendrogramDisplay
    from ._contributions import BeeswarmDisplay as BeeswarmDisplay
    from ._contributions import ContributionDependenceDisplay as ContributionDependenceDisplay
    from ._contributions import WaterfallDisplay as WaterfallDisplay
    from ._curves import BiasVarianceDisplay as BiasVarianceDisplay
    from ._curves import LearningCurveDisplay as LearningCurveDisplay
    from ._curves import ValidationCurveDisplay as ValidationCurveDisplay
    from ._models import ImportanceDisplay as ImportanceDisplay
    from ._models import TreeDisplay as TreeDisplay
    from ._neighbours import NeighboursDisplay as NeighboursDisplay
    from ._paths import CoefficientPathDisplay as CoefficientPathDisplay
    from ._paths import ConvergenceDisplay as ConvergenceDisplay
    from ._projections import BiplotDisplay as BiplotDisplay
    from ._projections import CovarianceEllipseDisplay as CovarianceEllipseDisplay
    from ._projections import ScreeDisplay as ScreeDisplay
    from ._style import PALETTE as PALETTE
    from ._style import style as style

__all__, __getattr__, __dir__ = lazy(__name__)
