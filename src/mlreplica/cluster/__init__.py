"""Clusters: groups of rows that lie close together, found without labels

Read `kmeans/` first (centres) and `medoids/` (rows as centres), then `hierarchy/` (merges),
`density/` (dense regions), `_spectral.py` (few cuts in a graph) and `_choose_k.py` (how many).
"""

from typing import TYPE_CHECKING

from mlreplica.core.lazy import lazy

if TYPE_CHECKING:
    from ._choose_k import ChosenK as ChosenK
    from ._choose_k import choose_k as choose_k
    from ._spectral import SpectralClustering as SpectralClustering
    from ._spectral import spectral_clustering as spectral_clustering
    from .density.dbscan import DBSCAN as DBSCAN
    from .density.dbscan import dbscan as dbscan
    from .density.hdbscan import HDBSCAN as HDBSCAN
    from .hierarchy.estimator import AgglomerativeClustering as AgglomerativeClustering
    from .hierarchy.estimator import FeatureAgglomeration as FeatureAgglomeration
    from .hierarchy.trees import linkage_tree as linkage_tree
    from .hierarchy.trees import ward_tree as ward_tree
    from .kmeans.bisecting import BisectingKMeans as BisectingKMeans
    from .kmeans.estimator import KMeans as KMeans
    from .kmeans.estimator import k_means as k_means
    from .kmeans.mini_batch import MiniBatchKMeans as MiniBatchKMeans
    from .kmeans.seeding import kmeans_plusplus as kmeans_plusplus
    from .medoids.estimator import KMedoids as KMedoids

__all__, __getattr__, __dir__ = lazy(__name__)
