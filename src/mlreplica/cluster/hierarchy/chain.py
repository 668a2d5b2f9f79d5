r"""Agglomeration: join the two nearest clusters, again and again

The distance between two clusters A and B is, for the four linkages,

    single     min ‖a − b‖          complete   max ‖a − b‖          average   mean of ‖a − b‖
    ward       √(2 |A||B| / (|A| + |B|)) ‖ā − b̄‖,     ā, b̄ the means,                          (1)

where ward's square, halved, is what the join adds to the inertia of k-means. When A and B are
joined, the distance of the new cluster to C follows from those of A and B:

    complete   max(d_AC, d_BC)          average   (|A| d_AC + |B| d_BC) / (|A| + |B|)          (2)

All four are reducible: d(A ∪ B, C) ≥ min(d_AC, d_BC) where A and B are nearest neighbours of each
other. So such pairs may be joined in any order. A **chain** starts anywhere and goes from a cluster
to its nearest one. Distances fall along it, so it ends in a pair of mutual nearest neighbours,
which is joined:

    chain: A₁ → A₂ = nn(A₁) → … → A_m,   nn(A_m) = A_{m−1}:   join A_{m−1} and A_m            (3)

and the rest of the chain stays valid. That is O(n²) distances in all. Ward needs only the means, so
no matrix. For single linkage the joins are the edges of a minimum spanning tree in order of length,

    Prim: add the row nearest to the tree, n times,                                            (4)

with one distance per row to keep.

Müllner, Modern hierarchical, agglomerative clustering algorithms (2011).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlreplica.core.compile.jit import SAFE, kernel

LANES = 64  # clusters side by side in SIMD registers
FINITE = SAFE | {"nnan"}  # rows have been checked


@kernel(fastmath=FINITE)
def nearest_mean(M, size, slots, slot, centre, d, best, y):
    """The cluster nearest to the one at `slot` by (1), or y if none is nearer than √best.

    M[k, :, l] is the mean at slot LANES k + l, its columns a multiple of 4; `d` is room for LANES
    distances. Returns the squared distance, too.
    """
    p, a = M.shape[1], size[slot]
    for j in range(p):
        centre[j] = M[slot // LANES, j, slot % LANES]
    for first in range(0, slots, LANES):
        block, b = M[first // LANES], size[first : first + LANES]
        for lane in range(LANES):
            d[lane] = 0.0
        for j in range(0, p, 4):
            c0, c1, c2, c3 = centre[j], centre[j + 1], centre[j + 2], centre[j + 3]
            x0, x1, x2, x3 = block[j], block[j + 1], block[j + 2], block[j + 3]
            for lane in range(LANES):
                d0, d1, d2, d3 = x0[lane] - c0, x1[lane] - c1, x2[lane] - c2, x3[lane] - c3
                d[lane] += d0 * d0 + d1 * d1 + d2 * d2 + d3 * d3
        least = np.inf
        for lane in range(LANES):
            r = d[lane] * (2.0 * a * b[lane] / (a + b[lane]))
            d[lane] = r if b[lane] > 0.0 else np.inf
            least = min(least, d[lane])
        if least < best:
            for lane in range(LANES):
                if d[lane] < best and first + lane != slot:
                    best, y = d[lane], first + lane
    return y, best


@kernel
def squeeze(M, size, name, chain, length, slots):
    """Move living clusters to the front; return how many there are."""
    kept = 0
    for i in range(slots):
        if size[i] > 0.0:
            for j in range(M.shape[1]):
                M[kept // LANES, j, kept % LANES] = M[i // LANES, j, i % LANES]
            size[kept], name[kept] = size[i], name[i]
            for t in range(length):
                if chain[t] == i:
                    chain[t] = kept
            kept += 1
    for i in range(kept, slots):
        size[i] = 0.0
    return kept


@kernel
def ward_chain(M, size, name, chain, link, centre, d, merges, heights):
    """(3) with means, as `nearest_mean` reads them: joins in the order in which they are found.

    link[t] is the squared distance from chain[t − 1] to chain[t]. Slots of joined clusters are
    squeezed out when a quarter of them are dead, so that scans shrink.
    """
    slots = len(merges) + 1
    alive, length = slots, 0
    link[0] = np.inf
    for k in range(len(merges)):
        if 4 * alive < 3 * slots:
            slots = squeeze(M, size, name, chain, length, slots)
        if length == 0:
            i = 0
            while size[i] == 0.0:
                i += 1
            chain[0], length = i, 1
        while True:
            x, last = chain[length - 1], chain[length - 2] if length > 1 else -1
            y, best = nearest_mean(M, size, slots, x, centre, d, link[length - 1], last)
            if y == last:
                break
            chain[length], link[length] = y, best
            length += 1
        length -= 2
        if x > y:
            x, y = y, x
        merges[k, 0], merges[k, 1] = name[x], name[y]
        heights[k] = np.sqrt(best)
        a, b = size[x], size[y]
        mean_x, mean_y = M[x // LANES], M[y // LANES]
        for j in range(M.shape[1]):
            v = a * mean_x[j, x % LANES] + b * mean_y[j, y % LANES]
            mean_y[j, y % LANES] = v / (a + b)
        size[y] += size[x]
        size[x] = 0.0
        alive -= 1


@kernel
def nearest(out, size, n, slot, best, y):
    """The nearest living cluster, or y if none is nearer than `best`; and its distance."""
    for i in range(n):
        if out[i] < best and size[i] > 0 and i != slot:
            best, y = out[i], i
    return y, best


@kernel
def matrix_chain(D, size, chain, average, merges, heights):
    """(3) with a symmetric matrix of distances, which is overwritten by (2)."""
    n, length = len(D), 0
    for k in range(n - 1):
        if length == 0:
            i = 0
            while size[i] == 0:
                i += 1
            chain[0], length = i, 1
        while True:
            x = chain[length - 1]
            y, best = -1, np.inf
            if length > 1:
                y = chain[length - 2]
                best = D[x, y]
            y, best = nearest(D[x], size, n, x, best, y)
            if length > 1 and y == chain[length - 2]:
                break
            chain[length] = y
            length += 1
        length -= 2
        if x > y:
            x, y = y, x
        merges[k, 0], merges[k, 1], heights[k] = x, y, best
        a, b = np.float64(size[x]), np.float64(size[y])
        for i in range(n):
            if size[i] > 0 and i not in (x, y):
                mean = (a * D[x, i] + b * D[y, i]) / (a + b)
                D[y, i] = D[i, y] = mean if average else max(D[x, i], D[y, i])
        size[y] += size[x]
        size[x] = 0


@kernel
def prim_matrix(D, reach, source, merges, heights):
    """(4) with a matrix of distances."""
    n, current = len(D), 0
    for i in range(n):
        reach[i], source[i] = np.inf, 0
    reach[0] = -1.0  # in the tree
    for k in range(n - 1):
        best, nearest_row = np.inf, -1
        for i in range(n):
            if reach[i] >= 0.0:
                if D[current, i] < reach[i]:
                    reach[i], source[i] = D[current, i], current
                if reach[i] < best or nearest_row < 0:
                    best, nearest_row = reach[i], i
        merges[k, 0], merges[k, 1], heights[k] = source[nearest_row], nearest_row, best
        current, reach[nearest_row] = nearest_row, -1.0


@kernel
def prim_rows(XT, reach, source, out, merges, heights):
    """(4) with Euclidean distances computed when they are needed; XT is (p, n)."""
    p, n = XT.shape
    current = 0
    for i in range(n):
        reach[i], source[i] = np.inf, 0
    reach[0] = -1.0
    for k in range(n - 1):
        for i in range(n):
            out[i] = 0.0
        for j in range(p):
            x, c = XT[j], XT[j, current]
            for i in range(n):
                d = x[i] - c
                out[i] += d * d
        best, nearest_row = np.inf, -1
        for i in range(n):
            if reach[i] >= 0.0:
                if out[i] < reach[i]:
                    reach[i], source[i] = out[i], current
                if reach[i] < best or nearest_row < 0:
                    best, nearest_row = reach[i], i
        merges[k, 0], merges[k, 1], heights[k] = source[nearest_row], nearest_row, np.sqrt(best)
        current, reach[nearest_row] = nearest_row, -1.0


@kernel
def name_joins(merges, heads, children):
    """Name clusters by the number of their join: rows are 0 … n − 1, join k makes n + k.

    `merges` names a row of either side, in order of height; `heads` is a forest of rows and joins.
    """
    n = len(merges) + 1
    for k in range(n - 1):
        a, b = merges[k, 0], merges[k, 1]
        while heads[a] >= 0:
            a = heads[a]
        while heads[b] >= 0:
            b = heads[b]
        for side in range(2):  # shorten the ways that were walked
            t, top = merges[k, side], a if side == 0 else b
            while heads[t] >= 0:
                following = heads[t]
                heads[t] = top
                t = following
        heads[a] = heads[b] = n + k
        children[k, 0], children[k, 1] = min(a, b), max(a, b)


def in_order(merges: Any, heights: Any) -> tuple[Any, Any]:
    """Children (n − 1, 2) as scikit-learn and SciPy name them, and heights that never fall."""
    order = np.argsort(heights, kind="stable")
    children, n = np.empty_like(merges), len(merges) + 1
    name_joins(merges[order], np.full(2 * n - 1, -1), children)
    return children, heights[order]


def ward(X: Any) -> tuple[Any, Any]:
    """The tree of rows (n, p) by Ward's linkage."""
    n, p = X.shape
    blocks, width = -(-n // LANES), p + -p % 4
    rows = np.zeros((blocks * LANES, width))
    np.subtract(X, X.mean(axis=0, dtype=np.float64), out=rows[:n, :p])
    M = np.ascontiguousarray(rows.reshape(blocks, LANES, width).transpose(0, 2, 1))
    size, name = np.zeros(blocks * LANES), np.arange(n)
    size[:n] = 1.0
    chain, link = np.zeros(n + 1, np.int64), np.empty(n + 1)
    merges, heights = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    ward_chain(M, size, name, chain, link, np.empty(width), np.empty(LANES), merges, heights)
    return in_order(merges, heights)


def by_matrix(D: Any, linkage: str) -> tuple[Any, Any]:
    """The tree of a symmetric matrix of distances, which is overwritten."""
    n = len(D)
    merges, heights = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    if linkage == "single":
        prim_matrix(D, np.empty(n), np.empty(n, np.int64), merges, heights)
    else:
        size, chain = np.ones(n, np.int64), np.zeros(n + 1, np.int64)
        matrix_chain(D, size, chain, linkage == "average", merges, heights)
    return in_order(merges, heights)


def single(X: Any) -> tuple[Any, Any]:
    """The tree of rows by single linkage and Euclidean distances, without their matrix."""
    XT = np.ascontiguousarray(X.T, dtype=np.float64)
    n = XT.shape[1]
    merges, heights = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    prim_rows(XT, np.empty(n), np.empty(n, np.int64), np.empty(n), merges, heights)
    return in_order(merges, heights)
