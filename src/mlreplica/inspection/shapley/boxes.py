"""Boxes: the leaves of trees, each as the set of rows that end in it

A leaf is reached by the rows x with x_j ∈ I_j for every column j that is tested on its path.
However often a column is tested, its tests leave one interval, one set of categories, and one
answer whether a missing value may pass. Of the training rows that come to a test of column j, a
share goes on towards the leaf; z_j is the product of these shares.
"""

from typing import Any, NamedTuple

import numpy as np

from mlreplica.core.compile.jit import kernel


class TreeNodes(NamedTuple):
    """A tree as arrays with one entry per node, the root first, parents before children."""

    column: Any  # −1 at a leaf
    threshold: Any  # x ≤ threshold goes left
    left: Any
    right: Any
    missing_left: Any  # whether a missing value goes left
    cover: Any  # weight of the training rows
    value: Any  # (node, output)
    table: Any  # which of the tables decides instead of the threshold, or −1
    tables: Any  # (·, codes) which codes go left; code 0: missing, c + 1: category c, last: unknown


class Boxes(NamedTuple):
    """Boxes behind each other; sides of box l are start[l] … start[l + 1] − 1."""

    start: Any
    column: Any  # of a side, and so on
    low: Any  # low < x ≤ high is inside
    high: Any
    missing: Any  # 1.0 if a missing value is inside
    table: Any  # which of the tables says what is inside, or −1
    share: Any  # z
    tables: Any  # (·, codes) uint8
    value: Any  # (box, output)


def boxes_of(trees: list[TreeNodes]) -> Boxes:
    """Return the boxes of all leaves of all trees."""
    parts = [boxes_of_tree(tree) for tree in trees]
    sides = np.concatenate([np.diff(part.start) for part in parts])
    before = np.cumsum([0] + [len(part.tables) for part in parts])
    width = max(part.tables.shape[1] for part in parts)
    moved = [
        part._replace(
            table=np.where(part.table < 0, -1, part.table + first),
            tables=np.pad(part.tables, ((0, 0), (0, width - part.tables.shape[1])), mode="edge"),
        )
        for part, first in zip(parts, before, strict=False)
    ]
    names = ("column", "low", "high", "missing", "table", "share", "tables", "value")
    joined = {name: np.concatenate([getattr(part, name) for part in moved]) for name in names}
    joined["tables"] = np.concatenate([joined["tables"], np.ones((1, width), np.uint8)])
    return Boxes(start=np.concatenate([[0], np.cumsum(sides)]), **joined)


def boxes_of_tree(tree: TreeNodes) -> Boxes:
    """Return the boxes of one tree."""
    inner, leaves = np.flatnonzero(tree.column >= 0), np.flatnonzero(tree.column < 0)
    parent = np.full(len(tree.column), -1)
    parent[tree.left[inner]] = parent[tree.right[inner]] = inner
    depth = np.zeros(len(parent), np.int64)
    for node in range(1, len(parent)):
        depth[node] = depth[parent[node]] + 1
    most, codes = int(depth[leaves].sum()), tree.tables.shape[1]
    by_table = max(1, most if (tree.table >= 0).any() else 0)
    start, made = np.zeros(len(leaves) + 1, np.int64), np.zeros(1, np.int64)
    column, table = np.full(most, -1), np.full(most, -1)
    low, high = np.full(most, -np.inf), np.full(most, np.inf)
    missing, share = np.ones(most), np.ones(most)
    tables = np.ones((by_table, codes), np.uint8)
    integers = (np.ascontiguousarray(a, np.int64) for a in (tree.column, tree.left, parent))
    climb(
        leaves, *integers, np.ascontiguousarray(tree.threshold, float),
        np.ascontiguousarray(tree.missing_left, np.int64), np.ascontiguousarray(tree.cover, float),
        np.ascontiguousarray(tree.table, np.int64), np.ascontiguousarray(tree.tables, np.uint8),
        start, column, low, high, missing, table, share, tables, made,
    )  # fmt: skip
    end = start[-1]
    sides = (a[:end] for a in (column, low, high, missing, table, share))
    return Boxes(start, *sides, tables[: made[0]], np.asarray(tree.value, float)[leaves])


@kernel
def climb(
    leaves, column, left, parent, threshold, missing_left, cover, table, tables,
    start, side, low, high, missing, side_table, share, allowed, made,
):  # fmt: skip
    """Climb from every leaf to the root and narrow the box at every test."""
    for l in range(len(leaves)):
        node, first, end = leaves[l], start[l], start[l]
        while parent[node] >= 0:
            up = parent[node]
            goes_left = node == left[up]
            e = first
            while e < end and side[e] != column[up]:
                e += 1
            if e == end:
                side[e] = column[up]
                end += 1
            share[e] *= cover[node] / cover[up] if cover[up] > 0.0 else 0.5
            if table[up] >= 0:
                if side_table[e] < 0:
                    side_table[e] = made[0]
                    made[0] += 1
                for c in range(allowed.shape[1]):
                    if (tables[table[up], c] != 0) != goes_left:
                        allowed[side_table[e], c] = 0
            else:
                if (missing_left[up] != 0) != goes_left:
                    missing[e] = 0.0
                if goes_left:
                    high[e] = min(high[e], threshold[up])
                else:
                    low[e] = max(low[e], threshold[up])
            node = up
        start[l + 1] = end
