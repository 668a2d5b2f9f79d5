"""Some rows of a source: a uniform sample, from which fits start, and rows by their numbers"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ._blocks import Block, dense
from ._rows import Rows

SAMPLE = 1 << 16  # rows from which a start is made
OTHER = "the source yields other rows than in its first walk; it must yield the same each time."


class Sample(NamedTuple):
    """The rows of least key, `SAMPLE` of them at most: a uniform draw, whatever the blocks."""

    key: Any  # (m,)
    order: Any  # (m, 2): number of the block and of the row in it
    X: Any
    s: Any
    y: Any  # the targets, or the keys if there are none

    @classmethod
    def of(cls, block: Block, seed: int = 0) -> Sample:
        """From a block; the seed and its number determine the keys."""
        X, y, s = dense(block)
        m = len(X)
        key = np.random.default_rng([seed, block.number]).random(m)
        order = np.column_stack([np.full(m, block.number), np.arange(m)])
        s = np.ones(m) if s is None else s
        return cls(key, order, X, s, key if y is None else y).least()

    def least(self) -> Sample:
        """Without the rows of large keys, if there are too many."""
        if len(self.key) <= SAMPLE:
            return self
        few = np.argpartition(self.key, SAMPLE)[:SAMPLE]
        return Sample(*(a[few] for a in self))

    def __add__(self, other: Any) -> Sample:
        return Sample(*(np.concatenate(pair) for pair in zip(self, other, strict=True))).least()

    def rows(self) -> tuple[Any, Any, Any]:
        """X, weights and targets, in the order of the source."""
        order = np.lexsort(self.order.T[::-1])
        X = np.ascontiguousarray(self.X[order], dtype=np.float64)
        return X, self.s[order], self.y[order]


def numbered(rows: Rows) -> tuple[dict[int, int], int, bool]:
    """The number of the first row of each block, how many there are, whether they have weights."""
    first, n, weighted = {}, 0, False
    for number, size, heavy in present(rows.map(size_of)):
        first[number], n, weighted = n, n + size, heavy
    return first, n, weighted


def size_of(block: Block) -> tuple[int, int, bool]:
    """Number and size of a block, and whether it has weights."""
    return block.number, block.X.shape[0], block.s is not None


def taken(rows: Rows, first: dict[int, int], which: Any, work: Any = None) -> Any:
    """The rows of these numbers, in their order; `work`, if any, turns those of a block to numbers.

    `first` tells the number of the first row of each block.
    """
    order, at = np.argsort(which, kind="stable"), 0
    out = np.empty((len(which), rows.width or 0))
    for few in present(rows.map(chosen, first, which[order], work)):
        out[order[at : at + len(few)]] = few
        at += len(few)
    if at != len(which):
        raise ValueError(OTHER)
    return out


def chosen(block: Block, first: dict[int, int], wanted: Any, work: Any) -> Any:
    """The rows of a block whose numbers are wanted; None if none is."""
    start = first.get(block.number, wanted[-1] + 1)
    a, b = np.searchsorted(wanted, [start, start + block.X.shape[0]])
    if a == b:
        return None
    X, _, _ = dense(block._replace(X=block.X[wanted[a:b] - start]), gaps=True)
    return X if work is None else work(X)


def present(found: Any) -> Any:
    """What blocks that have rows gave."""
    return (one for one in found if one is not None)
