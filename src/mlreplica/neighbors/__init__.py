"""Neighbours and prototypes: search, vote, density, outliers

Read `_vote.py` first (k nearest neighbours) and `_radius.py`, then `_search.py` (fit), `_ask.py`
(query), `_given.py` (distances instead of rows) and `_graph.py`; how neighbours are found is in
`core/space/`. Then each on its own: `_lof.py` (outliers), `_kde.py` (density),
`_centroid.py`, `_lvq.py` (prototypes that learn), `_nca.py` (a metric that learns), `_trees.py`.
"""

from typing import TYPE_CHECKING

from mlreplica.core.lazy import lazy

if TYPE_CHECKING:
    from ._centroid import NearestCentroid as NearestCentroid
    from ._given import sort_graph_by_row_values as sort_graph_by_row_values
    from ._graph import KNeighborsTransformer as KNeighborsTransformer
    from ._graph import NearestNeighbors as NearestNeighbors
    from ._graph import RadiusNeighborsTransformer as RadiusNeighborsTransformer
    from ._graph import kneighbors_graph as kneighbors_graph
    from ._graph import radius_neighbors_graph as radius_neighbors_graph
    from ._kde import KernelDensity as KernelDensity
    from ._lof import LocalOutlierFactor as LocalOutlierFactor
    from ._lvq import LVQClassifier as LVQClassifier
    from ._nca import NeighborhoodComponentsAnalysis as NeighborhoodComponentsAnalysis
    from ._radius import RadiusNeighborsClassifier as RadiusNeighborsClassifier
    from ._radius import RadiusNeighborsRegressor as RadiusNeighborsRegressor
    from ._search import VALID_METRICS as VALID_METRICS
    from ._search import VALID_METRICS_SPARSE as VALID_METRICS_SPARSE
    from ._trees import BallTree as BallTree
    from ._trees import KDTree as KDTree
    from ._vote import KNeighborsClassifier as KNeighborsClassifier
    from ._vote import KNeighborsRegressor as KNeighborsRegressor

__all__, __getattr__, __dir__ = lazy(__name__)
