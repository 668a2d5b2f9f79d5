"""Distances and kernels between rows: scikit-learn's names, no digit lost

Read `_distances.py` (all pairs, and pairs row by row), then `_blocks.py` (all pairs, a part of
them at a time) and `_kernels.py`. The loops are in `core/space/matrix.py` and `core/formulas/`.
"""

from typing import TYPE_CHECKING

from sklearn.metrics.pairwise import check_paired_arrays as check_paired_arrays
from sklearn.metrics.pairwise import check_pairwise_arrays as check_pairwise_arrays

from mlreplica.core.lazy import lazy

if TYPE_CHECKING:
    from ._blocks import pairwise_distances_argmin as pairwise_distances_argmin
    from ._blocks import pairwise_distances_argmin_min as pairwise_distances_argmin_min
    from ._blocks import pairwise_distances_chunked as pairwise_distances_chunked
    from ._distances import PAIRED_DISTANCES as PAIRED_DISTANCES
    from ._distances import PAIRWISE_BOOLEAN_FUNCTIONS as PAIRWISE_BOOLEAN_FUNCTIONS
    from ._distances import PAIRWISE_DISTANCE_FUNCTIONS as PAIRWISE_DISTANCE_FUNCTIONS
    from ._distances import cosine_distances as cosine_distances
    from ._distances import distance_metrics as distance_metrics
    from ._distances import euclidean_distances as euclidean_distances
    from ._distances import haversine_distances as haversine_distances
    from ._distances import manhattan_distances as manhattan_distances
    from ._distances import nan_euclidean_distances as nan_euclidean_distances
    from ._distances import paired_cosine_distances as paired_cosine_distances
    from ._distances import paired_distances as paired_distances
    from ._distances import paired_euclidean_distances as paired_euclidean_distances
    from ._distances import paired_manhattan_distances as paired_manhattan_distances
    from ._distances import pairwise_distances as pairwise_distances
    from ._kernels import PAIRWISE_KERNEL_FUNCTIONS as PAIRWISE_KERNEL_FUNCTIONS
    from ._kernels import additive_chi2_kernel as additive_chi2_kernel
    from ._kernels import chi2_kernel as chi2_kernel
    from ._kernels import cosine_similarity as cosine_similarity
    from ._kernels import kernel_metrics as kernel_metrics
    from ._kernels import laplacian_kernel as laplacian_kernel
    from ._kernels import linear_kernel as linear_kernel
    from ._kernels import pairwise_kernels as pairwise_kernels
    from ._kernels import polynomial_kernel as polynomial_kernel
    from ._kernels import rbf_kernel as rbf_kernel
    from ._kernels import sigmoid_kernel as sigmoid_kernel

__all__, __getattr__, __dir__ = lazy(__name__)
