"""Decomposition: directions along which the data spread

Read `_svd.py` first: every matrix as rotate, stretch, rotate; then its solvers in the order that it
names. `_pca.py` is the same for centred rows, `_incremental_pca.py` for rows that come in batches,
`_truncated_svd.py` for sparse rows, `_nmf.py` for parts that only add. `_kernel_pca.py` looks for
curved directions.
"""

from typing import TYPE_CHECKING

from mlreplica.core.lazy import lazy

if TYPE_CHECKING:
    from ._incremental_pca import IncrementalPCA as IncrementalPCA
    from ._kernel_pca import KernelPCA as KernelPCA
    from ._nmf import NMF as NMF
    from ._nmf import non_negative_factorization as non_negative_factorization
    from ._pca import PCA as PCA
    from ._svd import SVD as SVD
    from ._svd import svd as svd
    from ._truncated_svd import TruncatedSVD as TruncatedSVD

__all__, __getattr__, __dir__ = lazy(__name__)
