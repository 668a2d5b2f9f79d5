r"""Walk: a query visits the branches of a tree that may hold a near point, the nearest first

For a query x and the k nearest points found so far, w the reduced distance of the k-th of them:

    1  stack ← the whole tree, with the least distance that any point in it can have
    2  take the branch on top; if its least distance > w, it holds no neighbour: next
    3  if it is a leaf: measure all its points, and keep the k nearest seen
    4  else: put both halves on the stack, the nearer one on top                            (4)

Points are ordered by distance, then by index, so that equal distances have one answer:

    (r, i) before (s, j)   if   r < s,  or r = s and i < j                                  (5)

A branch at exactly the distance w is visited, for it may hold a smaller index. The bounds hold for
rounded numbers, too: the distance of a box is rounded as those of its points are, and that of a
ball is lowered by more than rounding can raise it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlreplica.core.compile.jit import kernel
from mlreplica.core.formulas.distances import L1, L2, LINF, Array

from .tree import DEPTH, PAD, lean, norm_between, root

STRICT = frozenset({"contract"})
SLACK, LOOSE = 1e-13, 1e-7  # what rounding may add to a norm, and to any other distance
strict = kernel(fastmath=STRICT, part=True, borrow=True)


@strict
def leaf_distances(code: int, power: float, x: Array, points: Array, leaf: int, r: Array) -> None:
    """r_k = reduced distance of x to point k of a leaf, all at a time."""
    p, block = len(x), len(r)
    base = leaf * block * p
    r[:] = 0.0
    for j in range(p):
        x_j, y = x[j], points[base + j * block : base + (j + 1) * block]
        if code == L2:
            for k in range(block):
                t = y[k] - x_j
                r[k] += t * t
        elif code == L1:
            for k in range(block):
                r[k] += abs(y[k] - x_j)
        elif code == LINF:
            for k in range(block):
                t = abs(y[k] - x_j)
                r[k] = t if t > r[k] else r[k]  # noqa: FURB136
        else:
            for k in range(block):
                r[k] += abs(y[k] - x_j) ** power


@lean
def row_distances(f: Any, x: Array, points: Array, index: Array, leaf: int, r: Array) -> None:
    """The same by a function of two rows; NaN counts as infinity."""
    p, block = len(x), len(r)
    for k in range(block):
        at = leaf * block + k
        d = np.inf
        if index[at] != PAD:
            d = f(x, points[at * p : (at + 1) * p])
        r[k] = np.inf if np.isnan(d) else d


@strict
def box_distance(code: int, power: float, x: Array, box: Array) -> float:
    """The reduced distance of x to a box: (2)."""
    r = 0.0
    low, high = box[0], box[1]
    for j in range(len(x)):
        t, u = low[j] - x[j], x[j] - high[j]
        t = u if u > t else t  # noqa: FURB136
        t = t if t > 0.0 else 0.0  # noqa: FURB136
        if code == L2:
            r += t * t
        elif code == L1:
            r += t
        elif code == LINF:
            r = t if t > r else r  # noqa: FURB136
        else:
            r += t**power
    return r


@lean
def ball_distance(code: int, power: float, f: Any, x: Array, centre: Array, radius: float) -> Any:
    """The reduced distance of x to a ball: (3)."""
    if f is None:
        d = root(code, power, norm_between(code, power, x, centre))
        d = max(0.0, d - radius - SLACK * (d + radius))
        if code == L2:
            return d * d
        return d if code in (L1, LINF) else d**power
    d = f(x, centre)
    return max(0.0, d - radius - LOOSE * (abs(d) + radius))


@lean
def branch_distance(code: int, power: float, f: Any, x: Array, bounds: Array, radius: Any, i: int) -> Any:  # fmt: skip  # noqa: E501
    """No point of branch i is nearer to x than this."""
    if radius is None:
        return box_distance(code, power, x, bounds[i])
    return ball_distance(code, power, f, x, bounds[i, 0], radius[i])


# ----------------------------------------------------------------------------- the k nearest so far
# Few are kept as a sorted list, many as a heap, whose root is the last in order.

SHORT = 32


@lean
def last_place(d: Array) -> int:
    """Where the last of the k nearest stands."""
    return 0 if len(d) > SHORT else len(d) - 1


@lean
def before(r: float, i: int, s: float, j: int) -> bool:
    """(5)"""
    return r < s or (r == s and i < j)


@lean
def sink(d: Array, n: Array, size: int, r: float, i: int) -> None:
    """Put (r, i) in the place of the last of a heap of `size`, whose root is the last in order."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        other = child + 1
        if other < size and before(d[child], n[child], d[other], n[other]):
            child = other
        if not before(r, i, d[child], n[child]):
            break
        d[at], n[at] = d[child], n[child]
        at = child
    d[at], n[at] = r, i


@lean
def insert(d: Array, n: Array, r: float, i: int) -> None:
    """Put (r, i) into a sorted list, from which the last one drops out."""
    at = len(d) - 1
    while at > 0 and before(r, i, d[at - 1], n[at - 1]):
        d[at], n[at] = d[at - 1], n[at - 1]
        at -= 1
    d[at], n[at] = r, i


@lean
def sort_heap(d: Array, n: Array) -> None:
    """Sort a heap in the order (5); a short list is sorted already."""
    for size in range(len(d) - 1 if len(d) > SHORT else 0, 0, -1):
        r, i = d[size], n[size]
        d[size], n[size] = d[0], n[0]
        sink(d, n, size, r, i)


@lean
def keep_nearest(r: Array, index: Array, leaf: int, own: int, d: Array, n: Array) -> None:
    """Put the points of a leaf among the nearest that belong there; `own` is left out."""
    block, size = len(r), len(d)
    end = last_place(d)
    worst = d[end]
    for k in range(block):
        if r[k] <= worst:
            i = index[leaf * block + k]
            if i != own and before(r[k], i, worst, n[end]):
                if size > SHORT:
                    sink(d, n, size, r[k], i)
                else:
                    insert(d, n, r[k], i)
                worst = d[end]


# --------------------------------------------------------------------------------------- the walks


@lean
def measure_leaf(code: int, power: float, f: Any, x: Array, points: Array, index: Array, leaf: int, r: Array) -> None:  # fmt: skip  # noqa: E501
    """The reduced distances of x to the points of a leaf."""
    if f is None:
        leaf_distances(code, power, x, points, leaf, r)
    else:
        row_distances(f, x, points, index, leaf, r)


@kernel(borrow=True)
def nearest_of_all(
    points: Array, index: Array, code: int, power: float, f: Any, Q: Array, own: Array, r: Array,
    D: Array, N: Array,
) -> None:  # fmt: skip
    """Fill row i of D and N with the nearest points of Q[i], without the point own[i].

    All points are measured; r: room for those of a leaf.
    """
    for q in range(len(Q)):
        d, n = D[q], N[q]
        d[:] = np.inf
        n[:] = PAD
        for leaf in range(len(index) // len(r)):
            measure_leaf(code, power, f, Q[q], points, index, leaf, r)
            keep_nearest(r, index, leaf, own[q], d, n)
        sort_heap(d, n)


@kernel(borrow=True)
def nearest(
    points: Array, index: Array, first: Array, last: Array, bounds: Array, radius: Any,
    code: int, power: float, f: Any, Q: Array, own: Array, r: Array, waiting: Array, least: Array,
    D: Array, N: Array,
) -> int:  # fmt: skip
    """The same by the walk (4); waiting, least: room for the branches that wait.

    Returns how many leaves were measured.
    """
    measured = 0
    for q in range(len(Q)):
        x, d, n, mine = Q[q], D[q], N[q], own[q]
        end = last_place(d)
        d[:] = np.inf
        n[:] = PAD
        waiting[0], least[0], top = 0, 0.0, 1
        while top > 0:
            top -= 1
            if least[top] > d[end]:
                continue
            i = waiting[top]
            a, b = first[i], last[i]
            while b - a > 1:
                m = (a + b) // 2
                left, right = i + 1, i + 2 * (m - a)
                u = branch_distance(code, power, f, x, bounds, radius, left)
                v = branch_distance(code, power, f, x, bounds, radius, right)
                if u <= v:
                    waiting[top], least[top] = right, v
                    top += v <= d[end]
                    i, b = left, m
                else:
                    waiting[top], least[top] = left, u
                    top += u <= d[end]
                    i, a, u = right, m, v
                if u > d[end]:
                    b = a  # neither half is near enough
                    break
            if b - a == 1:
                measured += 1
                measure_leaf(code, power, f, x, points, index, a, r)
                keep_nearest(r, index, a, mine, d, n)
        sort_heap(d, n)
    return measured


@kernel
def within(
    points: Array, index: Array, first: Array, last: Array, bounds: Array, radius: Any, block: int,
    code: int, power: float, f: Any, Q: Array, own: Array, limit: Array, start: int, ends: Array,
    D: Array, N: Array,
) -> int:  # fmt: skip
    """Append to D and N the points within limit[i] of Q[i], for i = start, …; ends[i]: up to where.

    Returns the first query that D had no room for, or len(Q).
    """
    r, waiting = np.empty(block), np.empty(DEPTH, np.int64)
    used = 0
    for q in range(start, len(Q)):
        x, far, mine, top, here = Q[q], limit[q], own[q], 1, used
        waiting[0] = 0
        leaf, leaves = 0, len(index) // block if len(first) == 0 else 0
        while top > 0 or leaf < leaves:
            if leaves:
                a, leaf, top = leaf, leaf + 1, 0
            else:
                top -= 1
                i = waiting[top]
                if branch_distance(code, power, f, x, bounds, radius, i) > far:
                    continue
                a, b = first[i], last[i]
                if b - a > 1:
                    waiting[top] = i + 2 * ((a + b) // 2 - a)
                    waiting[top + 1] = i + 1
                    top += 2
                    continue
            measure_leaf(code, power, f, x, points, index, a, r)
            if here + block > len(D):
                return q
            for k in range(block):
                D[here], N[here] = r[k], index[a * block + k]
                here += r[k] <= far and N[here] != mine and N[here] != PAD
        used = here
        ends[q] = used
    return len(Q)
