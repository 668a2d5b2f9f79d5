r"""Regions: the components of dense points, leaf by leaf

The points stand in the leaves of a tree of space (`core/space/tree.py`), B in each. No lists of
neighbours are made; what a query would find is looked at and forgotten, so memory is O(n). A leaf
asks once for the leaves that may hold a point within ε of one of its own,

    near(A) = { B : the boxes of A and B are at most ε apart }                               (5)

and each of its points looks at those only. Counting stops at `min_samples`. Core points that are
within ε of each other are united in a forest: first those of one leaf, then those of two. If all
core points of A are in one component, and all of B's too, then

    one pair within ε joins A and B, and no pair is needed where they are joined already     (6)

so that in dense regions most pairs of leaves cost two steps. Threads take ranges of leaves, each
with a forest of its own; the forests are united at the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import n_threads, run, split
from mlreplica.core.formulas.distances import L1, L2, LINF, Array
from mlreplica.core.space.index import NeighbourIndex
from mlreplica.core.space.tree import lean, norm_between, root
from mlreplica.core.space.walk import (
    DEPTH,
    LOOSE,
    SLACK,
    STRICT,
    branch_distance,
    measure_leaf,
)

NOISE = -1


@kernel(fastmath=STRICT, part=True, borrow=True)
def box_gap(code: int, power: float, one: Array, other: Array) -> float:
    """The reduced distance of two boxes."""
    r = 0.0
    for j in range(one.shape[1]):
        t, u = one[0, j] - other[1, j], other[0, j] - one[1, j]
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
def branch_gap(code: int, power: float, f: Any, bounds: Array, radius: Any, i: int, k: int) -> Any:
    """No point of branch i is nearer to a point of branch k than this, reduced."""
    if radius is None:
        return box_gap(code, power, bounds[i], bounds[k])
    reach = radius[i] + radius[k]
    if f is None:
        d = root(code, power, norm_between(code, power, bounds[i, 0], bounds[k, 0]))
        d = max(0.0, d - reach - SLACK * (d + reach))
        if code == L2:
            return d * d
        return d if code in (L1, LINF) else d**power
    d = f(bounds[i, 0], bounds[k, 0])
    return max(0.0, d - reach - LOOSE * (abs(d) + reach))


@lean
def near_leaves(
    code: int, power: float, f: Any, first: Array, last: Array, bounds: Array, radius: Any,
    i: int, far: float, waiting: Array, near: Array,
) -> int:  # fmt: skip
    """Write down near(i), (5), in their order; how many. Without branches all leaves are near."""
    if len(first) == 0:
        for k in range(len(near)):
            near[k] = k
        return len(near)
    found, top = 0, 1
    waiting[0] = 0
    while top > 0:
        top -= 1
        k = waiting[top]
        if branch_gap(code, power, f, bounds, radius, i, k) > far:
            continue
        a, b = first[k], last[k]
        if b - a == 1:
            near[found] = k
            found += 1
        else:
            waiting[top] = k + 2 * ((a + b) // 2 - a)
            waiting[top + 1] = k + 1
            top += 2
    return found


@lean
def look(
    code: int, power: float, f: Any, points: Array, index: Array, first: Array, bounds: Array,
    radius: Any, x: Array, k: int, far: float, r: Array,
) -> int:  # fmt: skip
    """Measure x to the points of the leaf at branch k; the leaf, or −1 if it is too far."""
    if len(first) == 0:
        leaf = k
    else:
        if branch_distance(code, power, f, x, bounds, radius, k) > far:
            return -1
        leaf = first[k]
    measure_leaf(code, power, f, x, points, index, leaf, r)
    return leaf


@kernel
def count_near(
    points: Array, index: Array, first: Array, last: Array, bounds: Array, radius: Any, block: int,
    code: int, power: float, f: Any, X: Array, far: float, branch: Array, start: int, stop: int,
    w: Array, enough: float, near: Array, core: Array,
) -> None:  # fmt: skip
    """core[q] = whether the weights within ε of point q sum to `enough`; w is empty for ones."""
    r, waiting, n = np.empty(block), np.empty(DEPTH, np.int64), len(X)
    for a in range(start, stop):
        found = near_leaves(
            code, power, f, first, last, bounds, radius, branch[a], far, waiting, near
        )
        for q in range(a * block, min((a + 1) * block, n)):
            total = 0.0
            for t in range(-1, found):  # its own leaf comes first: most counts end there
                k = branch[a] if t < 0 else near[t]
                if t >= 0 and k == branch[a]:
                    continue
                b = look(code, power, f, points, index, first, bounds, radius, X[q], k, far, r)
                if b < 0:
                    continue
                if len(w) == 0:
                    inside = 0
                    for s in range(block):
                        inside += r[s] <= far
                    total += inside
                    if total >= enough:
                        break
                else:
                    for s in range(min(block, n - b * block)):
                        if r[s] <= far:
                            total += w[b * block + s]
            core[q] = total >= enough


@lean
def top_of(forest: Array, q: int) -> int:
    """The root of q; the way to it is halved."""
    while forest[q] != q:
        forest[q] = forest[forest[q]]
        q = forest[q]
    return q


@lean
def unite(forest: Array, q: int, s: int) -> None:
    """Put q and s in one component, whose root is the smaller of both."""
    q, s = top_of(forest, q), top_of(forest, s)
    if q < s:
        forest[s] = q
    else:
        forest[q] = s


@kernel
def unite_inside(
    points: Array, index: Array, first: Array, last: Array, bounds: Array, radius: Any, block: int,
    code: int, power: float, f: Any, X: Array, far: float, branch: Array, start: int, stop: int,
    core: Array, forest: Array, whole: Array,
) -> None:  # fmt: skip
    """Unite core points of the same leaf; whole[a] = one of them if all are in one component.

    It is −1 if they are not, −2 if there is no core point.
    """
    r, n = np.empty(block), len(X)
    for a in range(start, stop):
        lo, hi = a * block, min((a + 1) * block, n)
        for q in range(lo, hi):
            if not core[q]:
                continue
            measure_leaf(code, power, f, X[q], points, index, a, r)
            for s in range(lo, q):
                if r[s - lo] <= far and core[s]:
                    unite(forest, q, s)
        whole[a] = -2
        for q in range(lo, hi):
            if core[q]:
                if whole[a] == -2:
                    whole[a] = q
                elif whole[a] >= 0 and top_of(forest, q) != top_of(forest, whole[a]):
                    whole[a] = -1


@kernel
def unite_leaves(
    points: Array, index: Array, first: Array, last: Array, bounds: Array, radius: Any, block: int,
    code: int, power: float, f: Any, X: Array, far: float, branch: Array, start: int, stop: int,
    core: Array, whole: Array, near: Array, forest: Array,
) -> None:  # fmt: skip
    """Unite core points of the leaves start … stop − 1 with those of leaves before them, by (6)."""
    r, waiting, n = np.empty(block), np.empty(DEPTH, np.int64), len(X)
    for a in range(start, stop):
        if whole[a] == -2:
            continue
        found = near_leaves(
            code, power, f, first, last, bounds, radius, branch[a], far, waiting, near
        )
        for t in range(found):
            k = near[t]
            b = k if len(first) == 0 else first[k]
            if b >= a or whole[b] == -2:
                continue
            both = whole[a] >= 0 and whole[b] >= 0
            if both and top_of(forest, whole[a]) == top_of(forest, whole[b]):
                continue
            joined = False
            for q in range(a * block, min((a + 1) * block, n)):
                if not core[q]:
                    continue
                if look(code, power, f, points, index, first, bounds, radius, X[q], k, far, r) < 0:
                    continue
                for s in range(block):
                    if r[s] <= far and core[b * block + s]:
                        unite(forest, q, b * block + s)
                        joined = True
                        if both:
                            break
                if both and joined:
                    break


@kernel
def merge_forest(other: Array, forest: Array) -> None:
    """Unite in `forest` what is united in another."""
    for q in range(len(forest)):
        if other[q] != q:
            unite(forest, q, other[q])


@kernel
def label_border(
    points: Array, index: Array, first: Array, last: Array, bounds: Array, radius: Any, block: int,
    code: int, power: float, f: Any, X: Array, far: float, branch: Array, start: int, stop: int,
    core: Array, near: Array, labels: Array,
) -> None:  # fmt: skip
    """A point that is not core gets the least label of the core points within ε, if there are."""
    r, waiting, n = np.empty(block), np.empty(DEPTH, np.int64), len(X)
    for a in range(start, stop):
        lo, hi, found = a * block, min((a + 1) * block, n), -1
        for q in range(lo, hi):
            if core[q]:
                continue
            if found < 0:
                found = near_leaves(
                    code, power, f, first, last, bounds, radius, branch[a], far, waiting, near
                )
            for t in range(found):
                k = near[t]
                b = look(code, power, f, points, index, first, bounds, radius, X[q], k, far, r)
                for s in range(block if b >= 0 else 0):
                    if r[s] <= far and core[b * block + s]:
                        label = labels[b * block + s]
                        if labels[q] < 0 or label < labels[q]:
                            labels[q] = label


@kernel
def name_components(forest: Array, core: Array, number: Array, order: Array, labels: Array) -> int:
    """Labels 0, 1, … of the core points, in the order of the least row of each component.

    `order` lists the points by row, `number` has n places to work in.
    """
    count = 0
    number[:] = NOISE
    for t in range(len(order)):
        q = order[t]
        if core[q]:
            top = top_of(forest, q)
            if number[top] < 0:
                number[top] = count
                count += 1
            labels[q] = number[top]
    return count


def dense_regions(
    index: NeighbourIndex, eps: float, w: Any, min_samples: float, n_jobs: int | None = None
) -> tuple[Array, Array]:
    """Labels and core points of the rows of an index, by (1)–(3) of DBSCAN.

    Returns
    -------
    labels, core : ndarrays of shape (n,)
        Components are numbered by their first core row; a border row has the least number.
    """
    distance, tree = index.distance, index.tree(index.algorithm, n_jobs)
    n, leaves = tree.n, tree.leaves
    rows = tree.number[:n]
    # The points that fill up a leaf are at infinity.
    far = min(float(index.reduced(eps)), np.finfo(float).max)
    branch = np.arange(leaves)
    if len(tree.first):
        single = np.flatnonzero(tree.last - tree.first == 1)
        branch[tree.first[single]] = single
    known = distance.code, distance.p, distance.address
    rest = (*tree[:7], *known, np.ascontiguousarray(index.Z[rows]), far, branch)
    core, labels, forest = np.empty(n, bool), np.full(n, NOISE), np.arange(n)
    whole, weights = np.empty(leaves, np.int64), np.empty(0) if w is None else w[rows]

    def each(work: Any, parts: list[slice]) -> None:
        run(lambda part: work(part.start, part.stop), parts, n_jobs=n_jobs)

    def room() -> Array:
        return np.empty(leaves, np.int64)

    parts = split(leaves, 8 * n_threads(n_jobs), least=4)
    each(lambda a, b: count_near(*rest, a, b, weights, min_samples, room(), core), parts)
    each(lambda a, b: unite_inside(*rest, a, b, core, forest, whole), parts)
    few = split(leaves, n_threads(n_jobs), least=64)
    forests = [forest.copy() for _ in few]
    run(
        lambda part, own: unite_leaves(
            *rest, part.start, part.stop, core, whole, room(), own
        ),
        few, forests, n_jobs=n_jobs,
    )  # fmt: skip
    for other in forests:
        merge_forest(other, forest)
    name_components(forest, core, np.empty(n, np.int64), np.argsort(rows), labels)
    each(lambda a, b: label_border(*rest, a, b, core, room(), labels), parts)
    found, dense = np.empty(n, np.int64), np.empty(n, bool)
    found[rows], dense[rows] = labels, core
    return found, dense
