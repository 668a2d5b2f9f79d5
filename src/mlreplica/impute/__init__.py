"""Missing values, filled in

Read `_simple.py` first: one number for a column, which `_middle.py` finds. `_knn.py` asks similar
rows, `_iterative.py` the other columns, by the regression of `_evidence.py`, in the order of
`_turns.py`; `_steps.py` does its steps again on new rows. `_pool.py` combines several filled
tables, and `_indicator.py` keeps in mind where gaps were. `_imputer.py` is what imputers share.
"""

from typing import TYPE_CHECKING

from mlreplica.core.lazy import lazy

if TYPE_CHECKING:
    from ._indicator import MissingIndicator as MissingIndicator
    from ._iterative import IterativeImputer as IterativeImputer
    from ._knn import KNNImputer as KNNImputer
    from ._pool import pool_estimates as pool_estimates
    from ._simple import SimpleImputer as SimpleImputer

__all__, __getattr__, __dir__ = lazy(__name__)
