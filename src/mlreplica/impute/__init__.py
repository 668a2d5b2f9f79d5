"""Missing values, filled in"""

from typing import TYPE_CHECKING

from mlreplica.core.lazy import lazy

if TYPE_CHECKING:
    from ._knn import KNNImputer as KNNImputer

__all__, __getattr__, __dir__ = lazy(__name__)
