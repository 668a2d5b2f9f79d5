"""Huber's regression over a source: the solver of memory on a walk over blocks

The rows stay in the source. What the solver keeps per row (target, weight, residual and a few more
numbers) stays in memory, so that memory grows with the rows but not with the columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mlreplica.core.rows.moments import Moments
from mlreplica.core.rows.walk import Rows as RowsInMemory
from mlreplica.core.rows.walk import Walk, total_of

from ._blocks import Block, at, dense
from ._rows import Rows


class SourceWalk(RowsInMemory):
    """The walk over the rows of a source: sums of blocks, each taken by threads."""

    source: Rows
    count: int

    @property
    def n(self) -> int:
        """Rows."""
        return self.count

    scores, back = Walk.scores, Walk.back  # by sums

    def thinning(self) -> None:
        """No sample is at hand."""

    def sum(self, of: Callable[[Any], Any], extra: int = 0) -> Any:
        """The sum of of(block); blocks are named by their rows among all rows."""
        start = 0

        def part(block: Block) -> Any:
            first, X = start, dense(block)[0]

            def placed(piece: Any) -> Any:
                rows = slice(first + piece.rows.start, first + piece.rows.stop)
                return of(piece._replace(rows=rows))

            rows = RowsInMemory(X, self.x0, self.intercept, n_jobs=self.n_jobs)
            return rows.sum(placed, extra)

        def parts() -> Any:
            nonlocal start
            for block in self.source:
                yield at(part, block, ())
                start += block.X.shape[0]

        return total_of(parts())


def fit_huber(model: Any, rows: Rows) -> None:
    """HuberRegressor."""
    targets, weights, m = [], [], None
    for block in rows:
        X, y, s = at(dense_with_target, block, ())
        targets.append(y)
        weights.append(np.ones(len(y)) if s is None else s)
        found = Moments.of(np.asarray(X, dtype=np.float64), s)
        m = found if m is None else m + found
    if m is None or not m.n > 0.0:
        raise ValueError("no row of positive weight; there must be at least one.")
    x0 = m.mean if model.fit_intercept else np.zeros(rows.width)
    walk = SourceWalk(np.empty((0, rows.width)), x0, model.fit_intercept, n_jobs=model.n_jobs)
    walk.source, walk.count = rows, sum(map(len, targets))
    y, s = np.concatenate(targets), np.concatenate(weights)
    with walk.threads():
        model._solve(walk, y, s, lambda w, b: y - walk.scores(walk.shifted(w, b)), rows)


def dense_with_target(block: Block) -> tuple[Any, Any, Any]:
    """X, one target per row as float, and weights."""
    X, y, s = dense(block, target=True)
    if y.ndim != 1:
        raise ValueError(f"y must be one number per row, got {y.ndim} dimensions.")
    return X, y.astype(np.float64), s
