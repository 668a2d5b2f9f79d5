r"""Index: the points of a problem, and the fastest exact way to find neighbours among them

Which way is fastest depends on the points: in few dimensions, or where points lie near a surface
of few dimensions, a tree leaves out nearly all of them; in many, it measures them all, and slower
than products would. `auto` measures it: it grows the tree, asks it for the neighbours of some
points, and counts the leaves it had to look at. With B points in a leaf and p columns, a query
takes about

    tree       leaves · (B p · 0.33 + 300) ns                                                (1)
    products   n · (p · 0.05 + 1.1) ns                                                       (2)
    all        n · (p · 0.5 + 1.6) ns        (where products do not give the distance)       (3)

on the machine where the numbers were fitted (2 to 128 columns, 20,000 rows); only their ratios
matter.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from mlreplica.core.compile.threads import n_threads, run, split
from mlreplica.core.formulas.distances import (
    LP,
    Array,
    Distance,
    distance_named,
    power_of_two,
    tree_distance,
)

from .products import ProductSearch
from .tree import BLOCK, DEPTH, SpaceTree, grow_tree
from .walk import nearest, nearest_of_all, within

ROOM = 1 << 16  # neighbours within a radius that one buffer holds at first
PROBES = 48  # queries by which `auto` measures a tree
FEW = 512  # points among which any way is fast
MANY = 32  # queries from which products and threads pay
NOBODY = np.full(MANY, -1)  # for few queries, none of which is one of the rows
LARGE, SMALL = 1e100, 1e-100  # numbers whose powers may overflow or vanish


class NeighbourIndex:
    """Rows, ready to be searched by one distance.

    Parameters
    ----------
    X : array of shape (n, p)
        The rows.
    distance : Distance, str or callable, default="euclidean"
        How far two rows are apart.
    algorithm : {"auto", "kd_tree", "ball_tree", "brute"}, default="auto"
        All find the same neighbours, in the same order.
    leaf_size : int, default=30
        About so many points in a leaf of a tree.
    n_jobs : int, optional
        Threads; None for all.
    unit : float, optional
        A power of two in which distances are measured; by default one that suits the rows.

    Attributes
    ----------
    algorithm : str
        The one chosen.
    measured : int
        Leaves that the last search by a tree looked at.
    """

    def __init__(
        self,
        X: Any,
        distance: Any = "euclidean",
        algorithm: str = "auto",
        *,
        leaf_size: int = 30,
        n_jobs: int | None = None,
        unit: float | None = None,
    ) -> None:
        X = np.asarray(X)
        distance = distance_named(distance, X=X)
        if algorithm == "ball_tree" or (algorithm == "auto" and distance.f is not None):
            distance = tree_distance(distance, X)
        self.distance, self.measured = distance, 0
        self.block = min(max(8, -(-leaf_size // 8) * 8), 8 * BLOCK)
        self.Z = distance.prepare(X)
        self.unit = unit_of(distance, self.Z) if unit is None else unit
        if self.unit != 1.0:
            self.Z = self.Z / self.unit
        self.trees: dict[str, SpaceTree] = {}
        self.algorithm = self._measured(n_jobs) if algorithm == "auto" else algorithm
        if self.algorithm != "brute" and not distance.python:
            self.tree(self.algorithm, n_jobs)

    def tree(self, kind: str, n_jobs: int | None = None) -> SpaceTree:
        """The tree of a kind, grown when it is first asked for."""
        if kind != "kd_tree" and not self.distance.triangle:
            kind = "brute"  # no ball may be left out
        if kind not in self.trees:
            self.trees[kind] = grow_tree(self.Z, self.distance, kind, self.block, n_jobs)
        return self.trees[kind]

    @cached_property
    def products(self) -> ProductSearch:
        """The rows as products search them."""
        return ProductSearch(self.Z)

    def _measured(self, n_jobs: int | None) -> str:
        """The algorithm that takes least by (1)–(3)."""
        n, p = self.Z.shape
        kind = "kd_tree" if self.distance.f is None else "ball_tree"
        if n < FEW or not self.distance.triangle or self.distance.python:
            return "brute"
        leaves, probes = self.tree(kind, n_jobs).leaves, np.arange(0, n, -(-n // PROBES))
        self._walk(self.Z[probes], 6, np.full(len(probes), -1), kind, 1)
        visited = self.measured / len(probes)
        tree = visited * (self.block * p * 0.33 + 300.0)
        brute = n * (p * 0.05 + 1.1 if self.distance.euclidean else p * 0.5 + 1.6)
        if tree < brute and visited < 0.9 * leaves:
            return kind
        self.trees.clear()
        return "brute"

    def _queries(self, Q: Any) -> Array:
        """Queries as the trees take them."""
        Q = self.distance.prepare(Q)
        return Q if self.unit == 1.0 else np.asarray(Q / self.unit)

    def _walk(
        self, Q: Array, k: int, own: Array, kind: str, n_jobs: int | None
    ) -> tuple[Array, Array]:
        """Reduced distances and indices of the k nearest, by a tree."""
        m, tree, known = len(Q), self.tree(kind), self.distance
        D, N = np.empty((m, k)), np.empty((m, k), np.int64)
        if m < MANY:
            self.measured = walk_tree(tree, known, Q, own, D, N)
            return D, N

        def part(rows: slice) -> int:
            return walk_tree(tree, known, Q[rows], own[rows], D[rows], N[rows])

        parts = split(m, 8 * n_threads(n_jobs), least=16)
        self.measured = sum(run(part, parts, n_jobs=n_jobs))
        return D, N

    def nearest(
        self, Q: Any, k: int, own: Any = None, n_jobs: int | None = None
    ) -> tuple[Array, Array]:
        """The k nearest rows of each query: distances and indices, (m, k), nearest first.

        Equal distances are ordered by index. `own` (m,): a row that is not counted for each query,
        as a query that is one of the rows is not its own neighbour; −1 for none.
        """
        Q = self._queries(Q)
        m, n = len(Q), len(self.Z)
        own = nobody(m) if own is None else own
        if self.distance.python:
            return self._nearest_by_python(Q, k, own)
        if self.algorithm == "brute" and self.distance.euclidean and m >= MANY and 8 * k < n > FEW:
            D, N = np.empty((m, k)), np.empty((m, k), np.int64)
            undone = self.products.nearest(Q, own, D, N, n_jobs)
            if len(undone):
                D[undone], N[undone] = self._walk(Q[undone], k, own[undone], "kd_tree", n_jobs)
        else:
            D, N = self._walk(Q, k, own, self.algorithm, n_jobs)
        if self.distance.degree and m:
            far = D[0, -1] if m == 1 else D[:, -1].max()
            if not far < np.inf and (unit := power_of_two(float(np.abs(Q).max()))) > 1.0:
                return self._nearest_of_far(Q, k, own, unit, n_jobs)
        return self.finished(D), N

    def _nearest_of_far(
        self, Q: Array, k: int, own: Array, unit: float, n_jobs: int | None
    ) -> tuple[Array, Array]:
        """Distances and indices for queries whose distances have no squares, in larger units."""
        plain = replace(self.distance, scale=None, turn=None)
        D, N = NeighbourIndex(self.Z, plain, "brute", unit=unit).nearest(Q, k, own, n_jobs)
        return self._in_units_of_rows(D), N

    def _nearest_by_python(self, Q: Array, k: int, own: Array) -> tuple[Array, Array]:
        """The nearest rows by a function that only Python can call."""
        D, N = np.empty((len(Q), k)), np.empty((len(Q), k), np.int64)
        for i, x in enumerate(Q):
            d = np.array([self.distance.f(x, z) for z in self.Z], dtype=float)
            order = np.argsort(np.where(np.isnan(d), np.inf, d), kind="stable")
            N[i] = order[order != own[i]][:k]
            D[i] = d[N[i]]
        return D, N

    def _within_by_python(self, Q: Array, radius: Array, own: Array) -> tuple[Array, Array, Array]:
        """The rows within a radius by a function that only Python can call."""
        start, found = np.zeros(len(Q) + 1, np.int64), [(np.empty(0), np.empty(0, np.int64))]
        for i, x in enumerate(Q):
            d = np.array([self.distance.f(x, z) for z in self.Z], dtype=float)
            near = np.flatnonzero((d <= radius[i]) & (np.arange(len(d)) != own[i]))
            found.append((d[near], near))
            start[i + 1] = start[i] + len(near)
        D, N = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        return start, D, N

    def finished(self, D: Array) -> Array:
        """The distances of reduced distances, in the units of the rows."""
        return self._in_units_of_rows(self.distance.finish(D))

    def _in_units_of_rows(self, D: Array) -> Array:
        """Distances times the unit; squared ones twice."""
        if self.unit != 1.0:
            with np.errstate(over="ignore", under="ignore"):
                for _ in range(self.distance.degree):
                    np.multiply(D, self.unit, out=D)
        return D

    def reduced(self, d: Any) -> Any:
        """The reduced distance, in the units of the index, of a distance between rows."""
        with np.errstate(over="ignore", under="ignore"):
            d = np.asarray(d, dtype=float)
            for _ in range(self.distance.degree):
                d = d / self.unit
            return self.distance.reduce(d)

    def within(
        self, Q: Any, radius: Any, own: Any = None, n_jobs: int | None = None
    ) -> tuple[Array, Array, Array]:
        """The rows within a radius of each query, in no order.

        `radius` is a number, or one for each query.

        Returns
        -------
        start, distances, indices
            The neighbours of query i stand at start[i] … start[i + 1] − 1 of both.
        """
        Q = self._queries(Q)
        m, known = len(Q), self.distance
        own = nobody(m) if own is None else own
        limit = np.empty(m)
        limit[:] = self.reduced(radius)
        if known.python:
            return self._within_by_python(Q, limit, own)
        rest = (*self.tree(self.algorithm)[:7], known.code, known.p, known.address)
        ends = np.empty(m, np.int64)

        def part(rows: slice) -> list[tuple[Array, Array]]:
            found, at, before, room = [], 0, 0, ROOM if m >= MANY else ROOM // 64
            query, stop = (Q[rows], own[rows], limit[rows]), ends[rows]
            while at < len(stop):
                D, N = np.empty(room), np.empty(room, np.int64)
                done = int(within(*rest, *query, at, stop, D, N))
                if done == at:
                    room *= 2  # not even one query has room
                    continue
                used = int(stop[done - 1])
                found.append((D[:used], N[:used]))
                stop[at:done] += before
                at, before = done, before + used
            return found

        parts = [slice(0, m)] if m < MANY else split(m, 8 * n_threads(n_jobs), least=16)
        pieces = [part(parts[0])] if m < MANY else run(part, parts, n_jobs=n_jobs)
        start = np.zeros(m + 1, np.int64)
        for rows in parts:
            start[rows.start + 1 : rows.stop + 1] = ends[rows] + start[rows.start]
        found = [arrays for piece in pieces for arrays in piece] or [(np.empty(0), NOBODY[:0])]
        D, N = found[0] if len(found) == 1 else map(np.concatenate, zip(*found, strict=True))
        return start, self.finished(D), N


def walk_tree(tree: SpaceTree, known: Distance, Q: Array, own: Array, D: Array, N: Array) -> int:
    """Fill D and N with the nearest points of each query; returns how many leaves were measured."""
    formula, r = (known.code, known.p, known.address), np.empty(tree.block)
    if not len(tree.first):
        nearest_of_all(*tree[:2], *formula, Q, own, r, D, N)
        return tree.leaves * len(Q)
    waiting, least = np.empty(DEPTH, np.int64), np.empty(DEPTH)
    return int(nearest(*tree[:6], *formula, Q, own, r, waiting, least, D, N))


def nobody(m: int) -> Array:
    """m queries, none of which is one of the rows."""
    return NOBODY[:m] if m <= MANY else np.full(m, -1)


def unit_of(distance: Distance, Z: Array) -> float:
    """A power of two by which numbers are divided whose powers would overflow or vanish."""
    most = float(np.abs(Z).max(initial=0.0)) if distance.degree else 0.0
    safe = SMALL < most < LARGE and distance.code != LP
    return 1.0 if safe or most == 0.0 else power_of_two(most)
