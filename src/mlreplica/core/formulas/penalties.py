"""Penalties: α₁‖w‖₁ + α₂/2 ‖w‖², and the soft threshold, which minimises a square beside it"""

from typing import Any, NamedTuple

import numpy as np

from mlreplica.core.compile.jit import formula


class Penalty(NamedTuple):
    """α₁‖w‖₁ + α₂/2 ‖w‖² by its two factors."""

    l1: float = 0.0
    l2: float = 0.0

    def __call__(self, absolute: Any, square: Any) -> Any:
        """The penalty of a w with these ‖w‖₁ and ‖w‖²."""
        return self.l1 * absolute + 0.5 * self.l2 * square


def penalty_of(name: str | None, alpha: float, l1_ratio: float) -> Penalty:
    """The Penalty of its name and α(ρ‖w‖₁ + (1 − ρ)/2 ‖w‖²)."""
    if name not in (None, "l1", "l2", "elasticnet"):
        raise ValueError(f"penalty must be None, 'l1', 'l2' or 'elasticnet', got {name!r}.")
    if name is None:
        return Penalty()
    if not 0 <= alpha < np.inf:
        raise ValueError(f"alpha must be >= 0 and finite, got {alpha}; use penalty=None for none.")
    if not 0 <= l1_ratio <= 1:
        raise ValueError(f"l1_ratio must lie between 0 and 1, got {l1_ratio}.")
    share = {"l1": 1.0, "l2": 0.0, "elasticnet": l1_ratio}[name]
    return Penalty(float(alpha * share), float(alpha * (1 - share)))


@formula
def soft_threshold(z: Any, u: Any) -> Any:
    """S(z, u), the minimiser v of ½(v − z)² + u|v|: z moves by u towards zero, never past it."""
    return np.sign(z) * np.maximum(np.abs(z) - u, 0.0)


@formula
def positive_threshold(z: Any, u: Any) -> Any:
    """The same over v ≥ 0."""
    return np.maximum(z - u, 0.0)
