"""Checks: what the attributes of a model must satisfy before compiled loops see them

Kernels do not look whether a position is in range or two arrays fit together; `fit` makes them so.
A file need not have come from `fit`. Each check is a table of such facts for one family of models,
with p the number of columns of X, which every fitted model knows. `family` has the register; the
checks stand in `lines`, `trees`, `rows`, `projections`, `sequences` and `columns`.
"""

from mlreplica.core.card import card_of

from .._container import require
from .._types import PRIVATE
from . import columns as columns
from . import lines as lines
from . import projections as projections
from . import rows as rows
from . import sequences as sequences
from . import trees as trees
from .family import FAMILIES

__all__ = ["FAMILIES", "check"]


def check(kind, state):
    """Raise ValueError if the attributes cannot be those of a fitted (or a new) estimator.

    The card of an estimator names its checks; a file of an estimator without checks is refused.
    """
    require(all(isinstance(name, str) for name in state), f"an attribute of {kind.__name__}")
    if (
        kind in PRIVATE.values()
        or kind.__module__.startswith("sklearn.")
        or kind.__name__ == "Columns"
    ):
        return
    checks = getattr(card_of(kind), "checks", None)
    if checks is None:
        raise ValueError(
            f"{kind.__name__} has no checks of its file on its card, so the file is not loaded."
        )
    names, family = FAMILIES[checks] if isinstance(checks, str) else ((), checks)
    if any(name.endswith("_") or name in names for name in state):  # fitted
        try:
            require(all(name in state for name in names), f"a model without {' or '.join(names)}")
            family(state)
        except ValueError as error:
            raise ValueError(f"{kind.__name__}: {error}") from None
