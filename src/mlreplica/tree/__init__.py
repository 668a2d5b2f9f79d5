"""Decision trees: for classes and for numbers, grown exactly, pruned, drawn"""

from typing import TYPE_CHECKING

from mlreplica.core.lazy import lazy

if TYPE_CHECKING:
    from ._classifier import DecisionTreeClassifier as DecisionTreeClassifier
    from ._classifier import ExtraTreeClassifier as ExtraTreeClassifier
    from ._export import export_graphviz as export_graphviz
    from ._export import export_text as export_text
    from ._plot import plot_tree as plot_tree
    from ._regressor import DecisionTreeRegressor as DecisionTreeRegressor
    from ._regressor import ExtraTreeRegressor as ExtraTreeRegressor

__all__, __getattr__, __dir__ = lazy(__name__)
