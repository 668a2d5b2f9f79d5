"""Partition: how the rows and sorted keys of a node are divided, and the heap of best-first growth

Tables and arguments are those of `nodes.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .categories import goes_left
from .columns import ROW
from .splits import FEATURE, GAIN, HI, LO, MISSING_LEFT, THRESHOLD, lean, piece


@lean
def middle(a: Any, b: Any) -> Any:
    """A threshold between two values, a < b."""
    threshold = a / 2.0 + b / 2.0
    return a if threshold >= b else threshold  # neighbours among floats


@piece
def partition_rows(k: Any, X: Any, rows: Any, room: Any, node: Any, categories: Any) -> Any:
    """Order the rows of node k, left ones first; go[row] tells the side. Returns the middle."""
    _, spare, go = room
    whole, threshold = node[0][k], node[1][k, THRESHOLD]
    lo, hi, x, side = whole[LO], whole[HI], X[whole[FEATURE]], whole[MISSING_LEFT]
    a, b = lo, lo - lo
    for i in range(lo, hi):
        row = np.int64(rows[i])
        v = x[row]
        left: Any = np.int64(v <= threshold or (side == 1 and np.isnan(v)))
        if categories is not None and np.isnan(threshold):
            left = goes_left(v, categories[1][k], side)
        go[row] = left
        rows[a] = row
        spare[b] = row
        a += left
        b += 1 - left
    for i in range(b):
        rows[a + i] = spare[i]
    return a


@lean
def partition_keys(
    source: Any, goal: Any, go: Any, lo: Any, middle: Any, keep_left: bool, keep_right: bool
) -> None:
    """Split one column's keys, stably and without a branch; a child that is a leaf needs none."""
    a, b = lo, middle
    if keep_left and keep_right:
        for i in range(len(source)):
            key = source[i]
            left: Any = np.int64(go[key & ROW])
            goal[b + (a - b) * left] = key
            a += left
            b += 1 - left
    elif keep_left:  # what is not kept is overwritten by the next, or lies beyond the last
        for i in range(len(source)):
            key = source[i]
            goal[a] = key
            a += np.int64(go[key & ROW])
    else:
        b = lo + len(source) - 1
        for i in range(len(source) - 1, -1, -1):
            key = source[i]
            goal[b] = key
            b -= 1 - np.int64(go[key & ROW])


@lean
def sift_up(heap: Any, size: int, node_f: Any) -> None:
    """Restore the heap after its last entry was added: the node that gains most is first."""
    i = size - 1
    while i > 0 and node_f[heap[(i - 1) // 2], GAIN] < node_f[heap[i], GAIN]:
        heap[i], heap[(i - 1) // 2] = heap[(i - 1) // 2], heap[i]
        i = (i - 1) // 2


@lean
def sift_down(heap: Any, size: int, node_f: Any) -> None:
    """Restore the heap after its first entry was replaced by its last."""
    i = 0
    while 2 * i + 1 < size:
        j = 2 * i + 1
        if j + 1 < size and node_f[heap[j + 1], GAIN] > node_f[heap[j], GAIN]:
            j += 1
        if node_f[heap[i], GAIN] >= node_f[heap[j], GAIN]:
            return
        heap[i], heap[j] = heap[j], heap[i]
        i = j
