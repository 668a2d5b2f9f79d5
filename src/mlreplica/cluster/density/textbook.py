"""DBSCAN in plain Python: slow, and with every step to be looked at

The same clusters as `regions.py`, in the same numbers; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np


class VisitState(NamedTuple):
    """What DBSCAN has done: one row taken up."""

    row: int
    near: Any  # the rows within ε, itself among them
    core: bool
    label: int  # −1 if the row is no core row of a cluster yet
    labels: Any  # of all rows so far
    waiting: tuple[int, ...]  # rows of this cluster that are still to be taken up
    action: str  # "skip", "begin", "grow" or "border"


def visit_states(X: Any, eps: float, min_samples: float, w: Any = None) -> Iterator[VisitState]:
    """Yield a state for each row that is taken up: (1)–(4) by Euclidean distances."""
    X = np.asarray(X, dtype=float)
    w = np.ones(len(X)) if w is None else w
    near = [np.flatnonzero(((X - x) ** 2).sum(axis=1) <= eps**2) for x in X]  # (1)
    core = [w[rows].sum() >= min_samples for rows in near]  # (2)
    labels, label = np.full(len(X), -1), -1
    for seed in range(len(X)):
        if labels[seed] >= 0 or not core[seed]:
            yield VisitState(seed, near[seed], core[seed], -1, labels.copy(), (), "skip")
            continue
        label += 1
        waiting, labels[seed] = [seed], label
        while waiting:
            i = waiting.pop()
            if core[i]:
                new = [j for j in near[i] if labels[j] < 0]  # (3)
                labels[new] = label
                waiting += new
            action = "begin" if i == seed else "grow" if core[i] else "border"
            yield VisitState(i, near[i], core[i], label, labels.copy(), tuple(waiting), action)
