r"""Trees of space: points in leaves of B, with a box or a ball around every branch

n points fill L = ⌈n/B⌉ leaves, all full but the last. A branch that holds the leaves a … b − 1 is
cut at m = ⌊(a + b)/2⌋: of its points, those with the mB − aB smallest values in one column go left,

    column = the one in which some of its points are spread most                            (1)

so the shape of the tree is known before any point is looked at. Branches are numbered in the order
in which a reader meets them: the left child of branch i is i + 1, the right one i + 2(m − a), for a
branch of k leaves has 2k − 1 branches in it. No links are stored.

A k-d tree keeps the smallest box around each branch, a ball tree a centre c (the mean) and a radius

    box:    l_j ≤ y_j ≤ u_j          d(x, y) ≥ ‖max(l − x, x − u, 0)‖                       (2)
    ball:   d(c, y) ≤ R              d(x, y) ≥ d(x, c) − R                                  (3)

Within a leaf the numbers of a column stand side by side, so that one instruction handles the same
column of several points; where the distance is a function of two rows, the rows stand in one piece.
The last leaf is filled up with points at infinity, which no query finds.

References
----------
Bentley: Multidimensional binary search trees used for associative searching. CACM 18 (1975).
Omohundro: Five balltree construction algorithms. ICSI TR-89-063 (1989).
"""

from __future__ import annotations

from math import ceil
from typing import Any, NamedTuple

import numpy as np

from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import n_threads, run
from mlreplica.core.formulas.distances import L1, L2, LINF, Array, Distance

PAD = np.iinfo(np.int64).max  # the index of a point at infinity
SAMPLE = 32  # points that show where to cut
BLOCK = 32  # points of a leaf
DEPTH = 64  # branches that wait at a time

lean = kernel(part=True, borrow=True)


class SpaceTree(NamedTuple):
    """Points in leaves, and what encloses each branch.

    `bounds` is (branches, 2, p) for boxes, (branches, 1, p) for balls, (0, 1, p) where nothing
    encloses them; `radius` is None for boxes.
    """

    points: Array  # (L · B · p,): leaf after leaf
    number: Array  # (L · B,): which row of X a point is
    first: Array  # (branches,): a
    last: Array  # (branches,): b
    bounds: Array
    radius: Any  # (branches,) or None
    block: int  # B
    n: int

    @property
    def p(self) -> int:
        """Columns."""
        return int(self.bounds.shape[2])

    @property
    def leaves(self) -> int:
        """L."""
        return len(self.number) // self.block


# ------------------------------------------------------------------------------------------ cutting


@lean
def swap_rows(X: Array, index: Array, i: int, j: int) -> None:
    """Exchange two rows and their numbers."""
    for c in range(X.shape[1]):
        X[i, c], X[j, c] = X[j, c], X[i, c]
    index[i], index[j] = index[j], index[i]


@lean
def place_rows(X: Array, index: Array, column: int, lo: int, hi: int, position: int, few: Array) -> None:  # fmt: skip  # noqa: E501
    """Rearrange rows lo … hi so that those before `position` have no larger value than the rest.

    Hoare's selection; the pivot is the value of the right rank among a few rows, which leaves a
    short range after two passes. few: room for them.
    """
    while lo < hi:
        m = hi - lo + 1
        if m > 8 * SAMPLE:
            for s in range(SAMPLE):  # sorted by insertion
                v, t = X[lo + s * (m // SAMPLE), column], s
                while t > 0 and few[t - 1] > v:
                    few[t] = few[t - 1]
                    t -= 1
                few[t] = v
            rank = (position - lo) * SAMPLE // m
            rank = max(rank, 1) if 2 * rank < SAMPLE else min(rank, SAMPLE - 2)
            pivot = few[rank]
        else:
            pivot = X[position, column]
        i, j = lo, hi
        while i <= j:
            while X[i, column] < pivot:
                i += 1
            while pivot < X[j, column]:
                j -= 1
            if i <= j:
                swap_rows(X, index, i, j)
                i += 1
                j -= 1
        if position <= j:
            hi = j
        elif position >= i:
            lo = i
        else:
            return


@lean
def widest_column(X: Array, lo: int, hi: int) -> int:
    """(1) for the rows lo … hi − 1."""
    best, column, step = -1.0, 0, max(1, (hi - lo) // SAMPLE)
    for j in range(X.shape[1]):
        low = high = X[lo, j]
        for i in range(lo + step, hi, step):
            v = X[i, j]
            low = v if v < low else low  # noqa: FURB136
            high = v if v > high else high  # noqa: FURB136
        if high - low > best:
            best, column = high - low, j
    return column


@kernel(borrow=True)
def cut(
    X: Array, index: Array, block: int, a: int, b: int, levels: int, stack: Array, few: Array
) -> None:
    """Put the rows of leaves a … b − 1 in order, `levels` deep; stack, few: room to work in."""
    top = 1
    stack[0, 0], stack[0, 1], stack[0, 2] = a, b, levels
    while top > 0:
        top -= 1
        a, b, levels = stack[top, 0], stack[top, 1], stack[top, 2]
        if b - a < 2 or levels == 0:
            continue
        m = (a + b) // 2
        lo, hi = a * block, min(b * block, len(X))
        place_rows(X, index, widest_column(X, lo, hi), lo, hi - 1, m * block, few)
        stack[top, 0], stack[top, 1], stack[top, 2] = a, m, levels - 1
        stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2] = m, b, levels - 1
        top += 2


# ---------------------------------------------------------------------------------------- enclosing


@kernel(fastmath=frozenset({"contract"}), part=True, borrow=True)
def norm_between(code: int, power: float, x: Array, y: Array) -> float:
    """The reduced distance of two rows, summed from the first column to the last."""
    r = 0.0
    if code == L2:
        for j in range(len(x)):
            t = y[j] - x[j]
            r += t * t
    elif code == L1:
        for j in range(len(x)):
            r += abs(y[j] - x[j])
    elif code == LINF:
        for j in range(len(x)):
            t = abs(y[j] - x[j])
            r = t if t > r else r  # noqa: FURB136
    else:
        for j in range(len(x)):
            r += abs(y[j] - x[j]) ** power
    return r


@lean
def root(code: int, power: float, r: float) -> Any:
    """The distance of a reduced distance."""
    if code == L2:
        return np.sqrt(r)
    return r if code in (L1, LINF) else r ** (1.0 / power)


@lean
def fill_leaf(X: Array, index: Array, leaf: int, block: int, by_rows: bool, points: Array, numbers: Array) -> None:  # fmt: skip  # noqa: E501
    """Copy the rows of a leaf to their place."""
    p, lo = X.shape[1], leaf * block
    place = points[lo * p : (lo + block) * p]
    for k in range(block):
        inside = lo + k < len(X)
        numbers[lo + k] = index[lo + k] if inside else PAD
        for j in range(p):
            v = X[lo + k, j] if inside else np.inf
            if by_rows:
                place[k * p + j] = v
            else:
                place[j * block + k] = v


@lean
def box_rows(X: Array, lo: int, hi: int, box: Array) -> None:
    """The smallest box around some rows."""
    for j in range(X.shape[1]):
        low = high = X[lo, j]
        for i in range(lo + 1, hi):
            v = X[i, j]
            low = v if v < low else low  # noqa: FURB136
            high = v if v > high else high  # noqa: FURB136
        box[0, j], box[1, j] = low, high


@lean
def box_boxes(left: Array, right: Array, box: Array) -> None:
    """The smallest box around two boxes."""
    for j in range(box.shape[1]):
        box[0, j] = min(left[0, j], right[0, j])
        box[1, j] = max(left[1, j], right[1, j])


@lean
def centre_of(X: Array, lo: int, hi: int, centre: Array) -> None:
    """The mean of some rows."""
    centre[:] = 0.0
    for i in range(lo, hi):
        for j in range(X.shape[1]):
            centre[j] += X[i, j] / (hi - lo)


def number_branches(leaves: int) -> tuple[Array, Array]:
    """Which leaves each branch holds, first … last − 1, one level of the tree after the other."""
    first, last = np.empty(2 * leaves - 1, np.int64), np.empty(2 * leaves - 1, np.int64)
    i, a, b = np.array([0]), np.array([0]), np.array([leaves])
    while len(i):
        first[i], last[i] = a, b
        more = b - a > 1
        i, a, b = i[more], a[more], b[more]
        m = (a + b) // 2
        i, a, b = np.r_[i + 1, i + 2 * (m - a)], np.r_[a, m], np.r_[m, b]
    return first, last


@kernel(borrow=True)
def enclose(
    X: Array, index: Array, block: int, start: int, stop: int, code: int, power: float, f: Any,
    points: Array, numbers: Array, first: Array, last: Array, bounds: Array, radius: Any,
) -> None:  # fmt: skip
    """Fill in the branches start … stop − 1 by (2) or (3), children before their parents."""
    for i in range(stop - 1, start - 1, -1):
        a, b = first[i], last[i]
        lo, hi = a * block, min(b * block, len(X))
        if b - a == 1:
            fill_leaf(X, index, a, block, f is not None, points, numbers)
        if radius is None:
            if b - a == 1:
                box_rows(X, lo, hi, bounds[i])
            else:
                box_boxes(bounds[i + 1], bounds[i + 2 * ((a + b) // 2 - a)], bounds[i])
        else:
            centre, far = bounds[i, 0], 0.0
            centre_of(X, lo, hi, centre)
            for k in range(lo, hi):
                if f is None:
                    far = max(far, norm_between(code, power, centre, X[k]))
                else:
                    far = max(far, f(centre, X[k]))
            radius[i] = root(code, power, far) if f is None else far


def leaves_of(X: Array, block: int, by_rows: bool) -> tuple[Array, Array]:
    """Points and numbers of leaves that hold the rows in the order of X, without branches."""
    n, p = X.shape
    size = max(1, ceil(n / block)) * block
    points, numbers = np.full((size, p), np.inf), np.full(size, PAD)
    points[:n], numbers[:n] = X, np.arange(n)
    if not by_rows:
        points = points.reshape(-1, block, p).transpose(0, 2, 1)
    return points.ravel(), numbers


# --------------------------------------------------------------------------------------------- all


def grow_tree(
    X: Array, distance: Distance, kind: str, block: int = BLOCK, n_jobs: int | None = None
) -> SpaceTree:
    """A tree of the rows of X, which `distance` has prepared.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Contiguous float64; left as it is.
    distance : Distance
        The distance that balls are measured by.
    kind : {"kd_tree", "ball_tree", "brute"}
        Boxes, balls, or nothing around the leaves.
    block : int
        Points of a leaf.
    n_jobs : int, optional
        Threads; the tree does not depend on them.
    """
    (n, p), f = X.shape, distance.address
    if kind == "brute":
        none = np.empty(0, np.int64)
        around = np.empty((0, 1, p))
        return SpaceTree(*leaves_of(X, block, f is not None), none, none, around, None, block, n)
    leaves = max(1, ceil(n / block))
    points, numbers = np.empty(leaves * block * p), np.empty(leaves * block, np.int64)
    first, last = number_branches(leaves)
    branches = len(first)
    bounds = np.empty((branches, 2 if kind == "kd_tree" else 1, p))
    radius = np.empty(branches) if kind == "ball_tree" else None
    tree = SpaceTree(points, numbers, first, last, bounds, radius, block, n)
    X, index = X.copy(), np.arange(n)
    rest = (distance.code, distance.p, f, *tree[:6])

    def order(_: int, a: int, b: int, levels: int = 1) -> None:
        cut(X, index, block, a, b, levels, np.empty((DEPTH, 3), np.int64), np.empty(SAMPLE))

    def subtree(i: int, a: int, b: int) -> None:
        order(i, a, b, DEPTH)
        enclose(X, index, block, i, i + 2 * (b - a) - 1, *rest)

    threads = n_threads(n_jobs) if n * p > 1 << 16 else 1
    levels = [[(0, 0, leaves)]]
    while threads > 1 and len(levels[-1]) < 4 * threads and leaves > 16 * len(levels[-1]):
        run(order, *zip(*levels[-1], strict=True), n_jobs=n_jobs)
        halves = [(i, a, (a + b) // 2, b) for i, a, b in levels[-1]]
        levels.append(
            [half for i, a, m, b in halves for half in ((i + 1, a, m), (i + 2 * (m - a), m, b))]
        )
    run(subtree, *zip(*levels[-1], strict=True), n_jobs=n_jobs)
    for level in levels[-2::-1]:
        run(
            lambda i, *_: enclose(X, index, block, i, i + 1, *rest),
            *zip(*level, strict=True),
            n_jobs=n_jobs,
        )
    return tree
