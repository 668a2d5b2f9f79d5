"""Leaves of a growing tree: which columns one may use, its best split, and which is split next

A heap holds the leaves that can be split, in the column HEAP of the table of nodes (`grow.py`).
"""

import numpy as np

from mlreplica.core.compile.intrinsics import larger

from .histograms import BEST, GAIN, ONE, ROWS, SHARE, SPLIT, WORTH, part

# of a node, whole numbers: column (−1: leaf), code, left child (the right one is next to it), rows
# start … stop − 1 of the order, side of missing values, depth, histogram (−1: none), table; and two
# lists that happen to be as long: leaves that can be split, and numbers of unused histograms
SPLIT_ON, UP_TO, LEFT, START, END, MISSING, DEPTH, HIST, TABLE, HEAP, FREE = range(11)
FOUND = 5  # row of the scratch memory: the best split of the first child, then of the second


@part
def choose_columns(mask, child, node, active, keys, rules):
    """mask[child] ← the columns that a node may use: those of its groups, or a share of them."""
    p, n_groups = mask.shape[1], len(mask) - 2
    for j in range(p):
        mask[child, j] = n_groups == 0
    for k in range(n_groups):
        if active[node, k]:
            for j in range(p):
                mask[child, j] |= mask[2 + k, j]
    if len(keys) == 0:
        return
    allowed = 0
    for j in range(p):
        allowed += mask[child, j]
    key, wanted = keys[node % len(keys)], larger(ONE, np.int64(np.ceil(rules[SHARE] * allowed)))
    for _ in range(allowed - wanted):  # leave out the largest keys
        worst = -1
        for j in range(p):
            if mask[child, j] and (worst < 0 or key[j] > key[worst]):
                worst = j
        mask[child, worst] = 0


@part
def before(nodes, sums, by_level, a, b):
    """Whether leaf a is split before leaf b."""
    if by_level and nodes[a, DEPTH] != nodes[b, DEPTH]:
        return nodes[a, DEPTH] < nodes[b, DEPTH]
    if sums[a, BEST + GAIN] != sums[b, BEST + GAIN]:
        return sums[a, BEST + GAIN] > sums[b, BEST + GAIN]
    return a < b


@part
def push(nodes, sums, by_level, size, node):
    """Put a leaf on the heap; its new size."""
    k = size
    while k > 0 and before(nodes, sums, by_level, node, nodes[(k - 1) // 2, HEAP]):
        nodes[k, HEAP] = nodes[(k - 1) // 2, HEAP]
        k = (k - 1) // 2
    nodes[k, HEAP] = node
    return size + 1


@part
def pop(nodes, sums, by_level, size):
    """The next leaf to split; it leaves the heap."""
    first, node = nodes[0, HEAP], nodes[size - 1, HEAP]
    k = 0
    while True:
        child = 2 * k + 1
        if child >= size - 1:
            break
        if child + 1 < size - 1 and before(
            nodes, sums, by_level, nodes[child + 1, HEAP], nodes[child, HEAP]
        ):
            child += 1
        if not before(nodes, sums, by_level, nodes[child, HEAP], node):
            break
        nodes[k, HEAP] = nodes[child, HEAP]
        k = child
    nodes[k, HEAP] = node
    return first


@part
def best_block(scratch, child, this):
    """A node's best split ← that of all blocks, on the first column if several are equal."""
    this[BEST + GAIN] = 0.0
    for b in range(len(scratch) - 1):
        if scratch[b, FOUND + child, GAIN] > this[BEST + GAIN]:
            for k in range(SPLIT):
                this[BEST + k] = scratch[b, FOUND + child, k]
    return this[BEST + GAIN] > 0.0


@part
def new_node(nodes, sums, node, start, end, depth):
    """A leaf of these rows."""
    nodes[node, SPLIT_ON], nodes[node, TABLE], nodes[node, HIST] = -1, -1, -1
    nodes[node, START], nodes[node, END], nodes[node, DEPTH] = start, end, depth
    sums[node, ROWS], sums[node, WORTH] = end - start, 0.0
