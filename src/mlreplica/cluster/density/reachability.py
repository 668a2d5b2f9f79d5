r"""Reachability: a spanning tree of all rows, by distances that keep away from thin places

With c(x), the distance of x to its m-th nearest row (itself the first), the mutual reachability
distance of two rows is

    d_m(x, y) = max( c(x), c(y), d(x, y)/α )                                                 (1)

A row in a thin place is far from everything. Which rows hang together at a distance ε is told by a
minimum spanning tree of (1): cut the edges longer than ε. **Borůvka** grows it from n trees of one
row: in every round each tree T finds its shortest edge out,

    e(T) = argmin { d_m(x, y) : x ∈ T, y ∉ T },                                              (2)

and all these edges are added, unless they close a cycle (where lengths are equal). Trees double
in size, so there are at most log₂ n rounds. The search (2) of a row x walks down a tree of space
and leaves out a branch

    that lies in T, or where max( d(x, branch)/α, least c of the branch, c(x) ) ≥ the best yet   (3)

Since T only grows, what (2) was for x is a lower bound from then on; a row whose bound is no better
than the best edge of T yet does not search at all. The m nearest rows, which c(x) needs anyway,
give every round a good best edge to begin with. Where trees of space do not help, **Prim**: add
the row nearest to one tree, n times, in O(n² p) time and O(n) memory.

References
----------
Borůvka: O jistém problému minimálním (1926).
March, Ram, Gray: Fast Euclidean minimum spanning tree. KDD (2010).
McInnes, Healy: Accelerated hierarchical density based clustering. ICDM workshops (2017).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from mlreplica.cluster.hierarchy.chain import prim_matrix
from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import n_threads, run, split
from mlreplica.core.formulas.distances import Array
from mlreplica.core.space.index import NeighbourIndex
from mlreplica.core.space.tree import norm_between
from mlreplica.core.space.walk import DEPTH, branch_distance, measure_leaf

from .regions import top_of, unite


@kernel
def near_distances(code: int, power: float, f: Any, X: Array, N: Array, D: Array) -> None:
    """D[q, t] = reduced distance of point q to its t-th neighbour."""
    for q in range(len(N)):
        for t in range(N.shape[1]):
            if f is None:
                D[q, t] = norm_between(code, power, X[q], X[N[q, t]])
            else:
                D[q, t] = f(X[q], X[N[q, t]])


@kernel
def seed_edges(
    N: Array, D: Array, core: Array, scale: float, component: Array, best: Array, source: Array,
    target: Array,
) -> None:  # fmt: skip
    """The shortest edge out of each component among those to near neighbours."""
    best[:] = np.inf
    for q in range(len(N)):
        c = component[q]
        if core[q] >= best[c]:
            continue
        for t in range(N.shape[1]):
            j = N[q, t]
            if component[j] != c:
                m = max(core[q], core[j], D[q, t] / scale)
                if m < best[c]:
                    best[c], source[c], target[c] = m, q, j


@kernel
def nearest_outside(
    points: Array, index: Array, first: Array, last: Array, bounds: Array, radius: Any, block: int,
    code: int, power: float, f: Any, X: Array, scale: float, core: Array, least_core: Array,
    component: Array, of_branch: Array, floor: Array, start: int, stop: int, best: Array,
    source: Array, target: Array,
) -> None:  # fmt: skip
    """(2) for the points start … stop − 1: improve best, source and target of their components."""
    r, waiting, least = np.empty(block), np.empty(DEPTH, np.int64), np.empty(DEPTH)
    n = len(X)
    for q in range(start, stop):
        c = component[q]
        if core[q] >= best[c] or floor[q] >= best[c]:
            continue
        x, worst, found = X[q], best[c], -1
        waiting[0], least[0], top = 0, 0.0, 1
        while top > 0:
            top -= 1
            i = waiting[top]
            if least[top] >= worst:
                continue
            a, b = first[i], last[i]
            while b - a > 1:  # (3)
                m = (a + b) // 2
                left, right = i + 1, i + 2 * (m - a)
                u = v = np.inf
                if of_branch[left] != c:
                    u = branch_distance(code, power, f, x, bounds, radius, left) / scale
                    u = max(u, least_core[left])
                if of_branch[right] != c:
                    v = branch_distance(code, power, f, x, bounds, radius, right) / scale
                    v = max(v, least_core[right])
                if u <= v:
                    waiting[top], least[top] = right, v
                    top += v < worst
                    i, b = left, m
                else:
                    waiting[top], least[top] = left, u
                    top += u < worst
                    i, a, u = right, m, v
                if u >= worst:
                    b = a
                    break
            if b - a != 1:
                continue
            measure_leaf(code, power, f, x, points, index, a, r)
            for s in range(min(block, n - a * block)):
                t = a * block + s
                if r[s] / scale < worst and component[t] != c:
                    m = max(core[q], core[t], r[s] / scale)
                    if m < worst:
                        worst, found = m, t
            if worst <= core[q]:
                break  # nothing is nearer than c(x)
        floor[q] = worst
        if found >= 0:
            best[c], source[c], target[c] = worst, q, found


@kernel
def keep_best(best: Array, source: Array, target: Array, b: Array, s: Array, t: Array) -> None:
    """Take over the edges of another part that are shorter."""
    for c in range(len(best)):
        if b[c] < best[c]:
            best[c], source[c], target[c] = b[c], s[c], t[c]


@kernel
def join_components(
    best: Array, source: Array, target: Array, forest: Array, component: Array, edges: Array,
    lengths: Array, k: int,
) -> int:  # fmt: skip
    """Add the best edges that close no cycle after the first k; how many there are now."""
    n = len(forest)
    for c in range(n):
        if component[c] == c and best[c] < np.inf:
            q, s = top_of(forest, source[c]), top_of(forest, target[c])
            if q != s:
                unite(forest, q, s)
                edges[k, 0], edges[k, 1], lengths[k] = source[c], target[c], best[c]
                k += 1
    for q in range(n):
        component[q] = top_of(forest, q)
    return k


@kernel
def least_of_branches(first: Array, last: Array, block: int, core: Array, out: Array) -> None:
    """The least core distance in each branch."""
    for i in range(len(first) - 1, -1, -1):
        a, b = first[i], last[i]
        if b - a == 1:
            out[i] = core[a * block : min(b * block, len(core))].min()
        else:
            out[i] = min(out[i + 1], out[i + 2 * ((a + b) // 2 - a)])


@kernel
def components_of_branches(first: Array, last: Array, block: int, of: Array, out: Array) -> None:
    """The component that all points of a branch are in, or −1."""
    for i in range(len(first) - 1, -1, -1):
        a, b = first[i], last[i]
        if b - a == 1:
            out[i] = of[a * block]
            for q in range(a * block + 1, min(b * block, len(of))):
                if of[q] != out[i]:
                    out[i] = -1
        else:
            left, right = out[i + 1], out[i + 2 * ((a + b) // 2 - a)]
            out[i] = left if left == right else -1


@kernel
def prim_reach(
    XT: Array, core: Array, scale: float, reach: Array, source: Array, out: Array, edges: Array,
    lengths: Array,
) -> None:  # fmt: skip
    """The spanning tree of (1) by Prim, squared Euclidean distances made when needed; XT (p, n)."""
    p, n = XT.shape
    current = 0
    reach[:] = np.inf
    source[:] = 0
    reach[0] = -1.0  # in the tree
    for k in range(n - 1):
        out[:] = 0.0
        for j in range(p):
            x, c = XT[j], XT[j, current]
            for i in range(n):
                d = x[i] - c
                out[i] += d * d
        best, nearest, own = np.inf, -1, core[current]
        for i in range(n):
            if reach[i] >= 0.0:
                m = max(out[i] / scale, core[i], own)
                if m < reach[i]:
                    reach[i], source[i] = m, current
                if reach[i] < best or nearest < 0:
                    best, nearest = reach[i], i
        edges[k, 0], edges[k, 1], lengths[k] = source[nearest], nearest, best
        current, reach[nearest] = nearest, -1.0


def boruvka(index: NeighbourIndex, N: Array, alpha: float, n_jobs: int | None = None) -> Any:
    """Yield the edges (n − 1, 2), their lengths, and how many are found, once per round.

    N (n, m) are the nearest rows of each row; the last one tells its core distance.
    """
    distance, tree = index.distance, index.tree(index.algorithm, n_jobs)
    rows, known = tree.number[: tree.n], (distance.code, distance.p, distance.address)
    n, scale = tree.n, float(distance.reduce(np.float64(alpha)))
    place = np.empty(n, np.int64)
    place[rows] = np.arange(n)
    X, N = np.ascontiguousarray(index.Z[rows]), np.ascontiguousarray(place[N[rows]])
    D = np.empty(N.shape)
    near_distances(*known, X, N, D)
    core = D[:, -1].copy()
    branches = tree.first, tree.last, tree.block
    least_core, of_branch = np.empty(len(tree.first)), np.empty(len(tree.first), np.int64)
    least_of_branches(*branches, core, least_core)
    component, forest, floor = np.arange(n), np.arange(n), np.zeros(n)
    edges, lengths, k = np.empty((n - 1, 2), np.int64), np.empty(n - 1), 0
    rest = (*tree[:7], *known, X, scale, core, least_core, component, of_branch, floor)
    parts = split(n, 2 * n_threads(n_jobs), least=512)
    best = [(np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64)) for _ in parts]
    while k < n - 1:
        components_of_branches(*branches, component, of_branch)
        seed_edges(N, D, core, scale, component, *best[0])
        for one in best[1:]:
            for mine, first in zip(one, best[0], strict=True):
                mine[:] = first
        run(
            lambda part, one: nearest_outside(*rest, part.start, part.stop, *one),
            parts,
            best,
            n_jobs=n_jobs,
        )
        for other in best[1:]:
            keep_best(*best[0], *other)
        k = join_components(*best[0], forest, component, edges, lengths, k)
        yield rows[edges[:k]], index.finished(lengths[:k].copy()), component[place]


def spanning_tree(index: NeighbourIndex, m: int, alpha: float, n_jobs: int | None = None) -> Any:
    """A minimum spanning tree of (1) for the rows of an index: edges (n − 1, 2), lengths, and c."""
    n = len(index.Z)
    D, N = index.nearest(index.Z * index.unit if index.unit != 1.0 else index.Z, m, None, n_jobs)
    if index.algorithm != "brute":
        for found in boruvka(index, N, alpha, n_jobs):
            edges, lengths, _ = found
        return edges, lengths, D[:, -1].copy()
    edges, lengths = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    core, source = (D[:, -1] / index.unit) ** 2, np.empty(n, np.int64)
    work = np.empty(n), source, np.empty(n)
    prim_reach(np.ascontiguousarray(index.Z.T), core, alpha * alpha, *work, edges, lengths)
    return edges, np.sqrt(lengths) * index.unit, D[:, -1].copy()


def matrix_tree(D: Array, m: int, alpha: float) -> tuple[Array, Array, Array]:
    """Edges, lengths and core distances of the spanning tree of a matrix of distances."""
    core = np.partition(D, m - 1, axis=1)[:, m - 1]
    D = np.ascontiguousarray(np.maximum(np.maximum(D / alpha, core), core[:, None]))
    n = len(D)
    edges, lengths = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    prim_matrix(D, np.empty(n), np.empty(n, np.int64), edges, lengths)
    if np.isinf(lengths).any():
        warnings.warn(
            "The minimum spanning tree contains edge weights with value infinity. Potentially, you "
            "are missing too many distances in the initial distance matrix for the given "
            "neighborhood size.",
            UserWarning,
            stacklevel=4,
        )
    return edges, lengths, core


def stored_tree(D: Any, m: int, alpha: float, max_distance: float) -> tuple[Array, Array, Array]:
    """The same for a sparse matrix of some distances, which must connect all rows."""
    D, n = sp.csr_array(D), D.shape[0]
    count = np.diff(D.indptr)
    if (count < m).any():
        raise ValueError(
            f"There exists points with fewer than {m} neighbors. Ensure your distance matrix has "
            f"non-zero values for at least `min_sample`={m} neighbors for each points (i.e. K-nn "
            "graph), or specify a `max_distance` in `metric_params` to use when distances are "
            "missing."
        )
    rows = np.split(D.data, D.indptr[1:-1])
    core = np.array([np.partition(row, m - 1)[m - 1] for row in rows])
    row = np.repeat(np.arange(n), count)
    reach = np.maximum(np.maximum(D.data / alpha, core[row]), core[D.indices])
    if max_distance > 0:
        reach[~np.isfinite(reach)] = max_distance
    D = sp.csr_array((reach, D.indices, D.indptr), D.shape)
    pieces = connected_components(D, directed=False, return_labels=False)
    if pieces > 1:
        raise ValueError(
            f"Sparse mutual reachability matrix has {pieces} connected components. HDBSCAN cannot "
            "be performed on a disconnected graph. Ensure that the sparse distance matrix has only "
            "one connected component."
        )
    tree = sp.coo_array(minimum_spanning_tree(D))
    return np.column_stack([tree.row, tree.col]).astype(np.int64), tree.data, core
