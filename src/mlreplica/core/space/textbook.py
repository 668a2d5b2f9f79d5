"""The walks of a query in plain Python: slow, and with every step to be looked at

`walk_states` takes the steps of the compiled `walk.nearest`, `sum_states` those of `density.sums`,
for Euclidean distances and boxes; a test holds each pair together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .tree import PAD, SpaceTree


class WalkState(NamedTuple):
    """What a query has done: one branch taken from the stack."""

    branch: int
    least: float  # the least distance of any point in the branch
    worst: float  # the distance of the k-th nearest point so far
    action: str  # "rule out", "open" or "measure"
    nearest: tuple[int, ...]  # the nearest points so far
    waiting: tuple[int, ...]  # branches on the stack


def box_distance(x: Any, box: Any) -> float:
    """The distance of a point to a box: (2)."""
    return float(np.sqrt((np.maximum(np.maximum(box[0] - x, x - box[1]), 0.0) ** 2).sum()))


def walk_states(tree: SpaceTree, X: Any, x: Any, k: int) -> Iterator[WalkState]:
    """Yield a state for each branch that a query for the k nearest rows of X takes up: (4)."""
    stack: list[tuple[int, float]] = [(0, box_distance(x, tree.bounds[0]))]
    kept: list[tuple[float, int]] = []
    while stack:
        i, least = stack.pop()
        worst = kept[-1][0] if len(kept) == k else np.inf
        a, b = int(tree.first[i]), int(tree.last[i])
        if least > worst:
            action = "rule out"
        elif b - a > 1:
            action, m = "open", (a + b) // 2
            halves = [(h, box_distance(x, tree.bounds[h])) for h in (i + 1, i + 2 * (m - a))]
            nearer, farther = halves if halves[0][1] <= halves[1][1] else halves[::-1]
            stack += [farther, nearer]
        else:
            action = "measure"
            rows = [int(r) for r in tree.number[a * tree.block : b * tree.block] if r != PAD]
            kept = sorted(kept + [(float(np.sqrt(((X[r] - x) ** 2).sum())), r) for r in rows])[:k]
            worst = kept[-1][0] if len(kept) == k else np.inf
        nearest = tuple(r for _, r in kept)
        yield WalkState(i, least, worst, action, nearest, tuple(h for h, _ in stack))


class SumState(NamedTuple):
    """What a kernel sum has done: one branch taken from the stack."""

    branch: int
    low: float  # bounds on the sum over the points of the branch
    high: float
    action: str  # "middle", "add" or "open"
    total: float  # the sum so far
    waiting: tuple[int, ...]  # branches on the stack


def sum_states(
    tree: SpaceTree, X: Any, x: Any, h: float, atol: float = 0.0, rtol: float = 0.0
) -> Iterator[SumState]:
    """Yield a state for each branch that Σ exp(−‖x − x_i‖²/2h²) takes up, within atol and rtol."""

    def bump(d: float) -> float:
        return float(np.exp(-0.5 * (d / h) ** 2))

    stack, total = [0], 0.0
    distances = np.sqrt(((X - x) ** 2).sum(axis=1))
    nearest = float(distances.min())  # no row of any branch is nearer
    while stack:
        i = stack.pop()
        a, b = int(tree.first[i]), int(tree.last[i])
        W = min(b * tree.block, tree.n) - a * tree.block
        corner = np.maximum(np.abs(tree.bounds[i, 0] - x), np.abs(tree.bounds[i, 1] - x))
        high = W * bump(max(box_distance(x, tree.bounds[i]), nearest))
        low = W * bump(float(np.sqrt((corner**2).sum())))
        sure = max(0.0, total - atol) / (1.0 + rtol)  # the sum so far less its own error
        allowed = W / tree.n * (atol + 0.5 * rtol * sure)
        low = 0.0 if 0.5 * high <= allowed else low
        if 0.5 * (high - low) <= allowed + 0.5 * rtol * low:
            action = "middle"
            total += 0.5 * (high + low)
        elif b - a > 1:
            action, m = "open", (a + b) // 2
            halves = [i + 1, i + 2 * (m - a)]
            stack += sorted(halves, key=lambda half: -box_distance(x, tree.bounds[half]))
        else:
            action = "add"
            rows = [int(r) for r in tree.number[a * tree.block : b * tree.block] if r != PAD]
            total += sum(bump(distances[r]) for r in rows)
        yield SumState(i, low, high, action, total, tuple(stack))
