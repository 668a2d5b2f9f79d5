"""Scores of a clustering, under the module name that scikit-learn gives them"""

from typing import TYPE_CHECKING

from mlreplica.core.lazy import lazy

if TYPE_CHECKING:
    from ._biclusters import consensus_score as consensus_score
    from ._cluster import adjusted_mutual_info_score as adjusted_mutual_info_score
    from ._cluster import adjusted_rand_score as adjusted_rand_score
    from ._cluster import completeness_score as completeness_score
    from ._cluster import contingency_matrix as contingency_matrix
    from ._cluster import fowlkes_mallows_score as fowlkes_mallows_score
    from ._cluster import homogeneity_completeness_v_measure as homogeneity_completeness_v_measure
    from ._cluster import homogeneity_score as homogeneity_score
    from ._cluster import mutual_info_score as mutual_info_score
    from ._cluster import normalized_mutual_info_score as normalized_mutual_info_score
    from ._cluster import pair_confusion_matrix as pair_confusion_matrix
    from ._cluster import rand_score as rand_score
    from ._cluster import v_measure_score as v_measure_score
    from ._dispersion import calinski_harabasz_score as calinski_harabasz_score
    from ._dispersion import davies_bouldin_score as davies_bouldin_score
    from ._silhouette import silhouette_samples as silhouette_samples
    from ._silhouette import silhouette_score as silhouette_score

__all__, __getattr__, __dir__ = lazy(__name__)
