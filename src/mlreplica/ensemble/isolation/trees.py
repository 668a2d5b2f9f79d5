r"""Isolation trees: how few random cuts set a point apart

A tree takes ψ rows and cuts them at random: a column, and in it a threshold between its least and
its largest value, until a row is alone, rows are equal or the tree is ⌈log₂ ψ⌉ deep. A point far
from the others is alone after few cuts. Its path in one tree is

    h(x) = depth of its leaf + c(rows in that leaf)                                           (1)

where c(m) is what a tree of m rows would still add on average. A random cut of m distinct numbers
falls into each of the m − 1 gaps about equally, as in a binary search tree of random order, so

    c(m) = 2 H(m − 1) − 2 (m − 1)/m,       H(k) = 1 + ½ + … + 1/k ≈ ln k + 0.5772             (2)

with c(2) = 1 and c(1) = 0.

Trees lie level by level in arrays, the two children of a node side by side. A leaf is its own
child, and no x is above its threshold ∞: so a walk is `depth` equal steps without a branch

    node ← child(node) + [x_f(node) > θ(node)]                                                (5)

and 64 rows walk at a time, so that the processor waits for none of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mlreplica.core.compile.jit import formula, kernel

STEP = np.uint64(0x9E3779B97F4A7C15)
HALF = np.uint64(0xFFFFFFFF)
TOGETHER = 64  # rows that walk at a time
FEATURE = (1 << 31) - 1  # bits of a link: child << 32 | missing goes right << 31 | feature


class Forest(NamedTuple):
    """Trees one after the other; children are counted from the root of their tree."""

    threshold: Any  # of a node, float64; ∞: a leaf
    link: Any  # of a node, int64
    path: Any  # of a leaf, float64: h of (1)
    count: Any  # of a node, int32: rows in it
    size: Any  # of a tree, int64: nodes
    depth: Any  # of a tree, int64


def together(forests: Any) -> Forest:
    """The trees of several forests."""
    if len(forests) == 1:
        return forests[0]
    return Forest(*(np.concatenate(arrays) for arrays in zip(*forests, strict=True)))


def average_path(m: Any) -> Any:
    """c(m) of (2)."""
    m = np.asarray(m, dtype=np.float64)
    k = np.maximum(m - 1.0, 1.0)
    return np.where(m > 2, 2.0 * (np.log(k) + np.euler_gamma) - 2.0 * k / np.maximum(m, 1), m == 2)


@formula
def splitmix(s: Any) -> Any:
    """64 random bits from the state s of a counter (SplitMix64)."""
    s = (s ^ (s >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    s = (s ^ (s >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return s ^ (s >> np.uint64(31))


lean = kernel(part=True, borrow=True)


@lean
def below(z: Any, m: int) -> Any:
    """A whole number below m < 2³² from 64 random bits."""
    return ((z >> np.uint64(32)) * np.uint64(m)) >> np.uint64(32)


@lean
def has(seen: Any, r: Any) -> Any:
    """Whether bit r is 1."""
    return (seen[r >> np.uint64(6)] >> (r & np.uint64(63))) & np.uint64(1) == np.uint64(1)


@lean
def put(seen: Any, r: Any) -> None:
    """Make bit r a 1."""
    seen[r >> np.uint64(6)] |= np.uint64(1) << (r & np.uint64(63))


@lean
def forget(seen: Any, rows: Any) -> None:
    """Make the bits of these rows, and others, 0."""
    for i in range(len(rows)):
        seen[rows[i] >> 6] = 0


@lean
def stream(seed: Any) -> Any:
    """The state from which the random numbers of a seed follow, `STEP` by `STEP`."""
    return splitmix(np.uint64(seed) * STEP + STEP)


@kernel(borrow=True)
def draw(seeds: Any, n: int, replace: bool, drawn: Any, seen: Any) -> None:
    """Fill row t of `drawn` with numbers below n; `seen`: a bit for each of them, all 0.

    Without replacement a number is drawn until it is new; of more than half of n it is the others,
    those left out, that are drawn: two draws for a number at most, on average.
    """
    m = drawn.shape[1]
    others = not replace and 2 * m > n
    wanted = n - m if others else m
    for t in range(len(seeds)):
        rows, s = drawn[t], stream(seeds[t])
        for i in range(wanted):  # first all, as most will be new
            s += STEP
            rows[i] = below(splitmix(s), n)
        for i in range(0 if replace else wanted):
            r = np.uint64(rows[i])
            while has(seen, r):
                s += STEP
                r = below(splitmix(s), n)
            put(seen, r)
            rows[i] = r
        if others:
            k = 0
            for r in range(n):
                if not has(seen, np.uint64(r)):
                    rows[k] = r
                    k += 1
            seen[:] = 0
        elif not replace:
            forget(seen, rows)


@lean
def points(drawn: Any, p: Any, replace: bool, seen: Any, rows: Any) -> Any:
    """Where in X the rows drawn begin; return how many, as a row drawn twice is one point."""
    k = 0
    for i in range(len(drawn)):
        r = np.uint64(drawn[i])
        rows[k] = r * p
        if replace:
            k += not has(seen, r)
            put(seen, r)
        else:
            k += 1
    if replace:
        forget(seen, drawn)
    return k


@kernel(fastmath=frozenset(), part=True, borrow=True)
def span(X: Any, rows: Any, lo: int, hi: int, f: Any, x: Any) -> Any:
    """x_i ← X[rows_i + f], lo ≤ i < hi: the least and the largest number, and whether NaN is there.

    Here and below an unsigned i spares the question whether it counts from the end.
    """
    low, high, missing = np.inf, -np.inf, 0
    for i in range(lo, hi):
        v = X[rows[np.uint64(i)] + f]
        x[np.uint64(i)] = v
        low = v if v < low else low  # noqa: FURB136  NaN changes neither
        high = v if v > high else high  # noqa: FURB136
        missing |= np.isnan(v)
    return low, high, missing != 0


@lean
def count_below(x: Any, lo: int, hi: int, cut: float) -> Any:
    """How many x_i, lo ≤ i < hi, are not above the cut."""
    k = 0
    for i in range(lo, hi):
        k += x[np.uint64(i)] <= cut
    return k


@lean
def partition(x: Any, lo: int, hi: int, cut: float, here: Any, there: Any) -> Any:
    """Move rows with x_i ≤ cut to the front of lo … hi, others to the back; where these begin."""
    left, last = np.uint64(lo), np.uint64(hi - 1)
    for i in range(lo, hi):
        row = here[np.uint64(i)]
        there[left] = there[last] = row
        above = np.uint64(x[np.uint64(i)] > cut)
        left += np.uint64(1) - above
        last -= above
    return np.int64(left)


@kernel(borrow=True)
def isolate(
    X: Any, n: int, seeds: Any, known: bool, replace: bool, max_depth: int, c: Any,
    drawn: Any, drawn_columns: Any, nodes: Any, trees: Any, memory: Any,
) -> None:  # fmt: skip
    """Grow a tree on the rows and columns drawn for each seed; rows that are not `known` are drawn.

    X: n rows, one after the other. nodes, trees: the arrays of a `Forest`, to be filled.
    memory = (rows, x, columns, queue, seen): where in X the rows of this level and of the next
    begin, (2, m); their values in the column of their node, (m,); the columns, (columns a tree,);
    nodes that may be cut, their number, and their rows from, to, (2m, 3); a bit for each of the n
    rows, all 0.
    """
    size, depths = trees
    rows, x, columns, queue, seen = memory
    n_columns, first, p = drawn_columns.shape[1], 0, np.uint64(len(X) // n)
    if not known:
        draw(seeds, n, replace, drawn, seen)
    for t in range(len(seeds)):
        s = stream(~seeds[t])
        for j in range(n_columns):
            columns[j] = drawn_columns[t, j]
        here, there = rows[0], rows[1]
        m = points(drawn[t], p, replace, seen, here)
        threshold, link = nodes[0][first:], nodes[1][first:]
        path, count = nodes[2][first:], nodes[3][first:]
        threshold[0], link[0], path[0], count[0] = np.inf, 0, c[m], m
        queue[0, 0], queue[0, 1], queue[0, 2] = 0, 0, m
        made, depth, begin, queued = 1, 0, 0, np.int64(m > 1)
        while begin < queued and depth < max_depth:
            end = queued
            for q in range(begin, end):
                node, lo, hi = queue[q, 0], queue[q, 1], queue[q, 2]
                # a column with two values at least, each as likely as the others
                z, low, high, missing, f, tried = s, 0.0, 0.0, False, columns[0], 0
                while tried < n_columns:
                    s += STEP
                    z = splitmix(s)
                    k = tried + np.int64(below(z, n_columns - tried))
                    f = columns[k]
                    low, high, missing = span(X, here, lo, hi, f, x)
                    if low < high:
                        break
                    columns[k], columns[tried] = columns[tried], f
                    tried += 1
                if tried == n_columns:
                    continue
                u = np.float64(z & HALF) * 2.0**-32  # the half of z that did not draw the column
                cut = low * (1.0 - u) + high * u
                if not cut < high:  # rounded up, or ∞ − ∞
                    cut = low
                right = bool(z & np.uint64(1))  # where missing values go
                if missing:
                    for i in range(lo, hi):
                        if x[i] != x[i]:
                            x[i] = np.inf if right else -np.inf
                if depth + 1 < max_depth:
                    middle = partition(x, lo, hi, cut, here, there)
                else:
                    middle = lo + count_below(x, lo, hi, cut)
                if not missing:
                    right = lo + hi > 2 * middle  # with the many, as nothing was learned
                threshold[node] = cut
                link[node] = (made << 32) | (np.int64(right) << 31) | np.int64(f)
                for side in range(2):  # a child is a leaf until it is cut itself
                    start, stop = (middle, hi) if side else (lo, middle)
                    threshold[made], link[made] = np.inf, made << 32
                    path[made], count[made] = depth + 1 + c[stop - start], stop - start
                    queue[queued, 0], queue[queued, 1], queue[queued, 2] = made, start, stop
                    queued += stop - start > 1
                    made += 1
            depth, begin, here, there = depth + 1, end, there, here
        size[t], depths[t] = made, depth
        first += made


@kernel
def add_paths(
    X: Any, threshold: Any, link: Any, path: Any, size: Any, depths: Any, missing: bool, h: Any
) -> None:
    """Add to h_i the paths (1) of row i in all trees; `missing`: there may be NaN."""
    at = np.empty(TOGETHER, np.uint64)
    half, feature, one = np.uint64(32), np.uint64(FEATURE), np.uint64(1)
    for lo in range(0, len(X), TOGETHER):
        rows = X[lo : lo + TOGETHER]
        first = 0
        for t in range(len(size)):
            cut, go, length = threshold[first:], link[first:], path[first:]
            first += size[t]
            at[:] = 0
            for _ in range(depths[t]):
                if missing:
                    for i in range(len(rows)):
                        to = np.uint64(go[at[i]])
                        x = rows[i, to & feature]
                        side = (to >> np.uint64(31)) & one == one
                        right = (x > cut[at[i]]) | (np.isnan(x) & side)
                        at[i] = (to >> half) + np.uint64(right)
                else:
                    for i in range(len(rows)):
                        to = np.uint64(go[at[i]])
                        at[i] = (to >> half) + np.uint64(rows[i, to & feature] > cut[at[i]])
            for i in range(len(rows)):
                h[lo + i] += length[at[i]]
