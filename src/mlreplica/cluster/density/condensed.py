r"""Condensed tree: of all the branches of a dendrogram, those that are clusters

Read the tree of joins from the top, where λ = 1/distance grows from 0. When a cluster falls apart,

    several parts have s rows or more: as many new clusters are born                         (4)
    one part has:                      it is the old cluster, which has lost a few rows
    none has:                          the cluster ends

Joins at the same distance happen at once, so a cluster may fall into many parts; the result does
not depend on the order of the rows. What remains is a small tree. A cluster C that is born at λ_C
and loses row x at λ_x is worth

    stability(C) = Σ_{x ∈ C} (λ_x − λ_C),                                                    (5)

its excess of mass: rows times the range of densities in which they stay together. Among C and its
descendants, either C is chosen or the best choice among its children:

    worth(C) = max( stability(C), Σ worth(child) ),                                          (6)

from the bottom up; no chosen cluster lies in another one. A row belongs to the chosen cluster that
lost it, directly or through a descendant, with the probability λ_x / max λ in C, at most 1. Its
outlier score (GLOSH) compares it with the densest row of the cluster that lost it:

    outlier(x) = 1 − λ_x / max { λ_y : y lost by that cluster or a descendant }               (7)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mlreplica.core.compile.jit import kernel
from mlreplica.core.formulas.distances import Array

TIE = 1e-12  # joins whose heights differ by less, relatively, happen at once


class CondensedTree(NamedTuple):
    """Rows and clusters that clusters lose; clusters are numbered n, n + 1, …, n the root."""

    parent: Array
    child: Array  # a row if < n, else a cluster
    level: Array  # λ
    size: Array  # rows in the child

    def matrix(self) -> Array:
        """The four as columns."""
        return np.column_stack([column.astype(float) for column in self])


@kernel
def sizes_of(children: Array, size: Array) -> None:
    """The number of rows below each join."""
    n = len(children) + 1
    for k in range(n - 1):
        size[k] = 0
        for side in range(2):
            child = children[k, side]
            size[k] += 1 if child < n else size[child - n]


@kernel
def lose(node: int, cluster: int, level: float, children: Array, stack: Array, at: int,
         parent: Array, child: Array, levels: Array, size: Array) -> int:  # fmt: skip
    """Append all rows below `node` as lost by `cluster`; where the next goes."""
    n, top = len(children) + 1, 1
    stack[0] = node
    while top > 0:
        top -= 1
        i = stack[top]
        if i < n:
            parent[at], child[at], levels[at], size[at] = cluster, i, level, 1
            at += 1
        else:
            stack[top], stack[top + 1] = children[i - n, 1], children[i - n, 0]
            top += 2
    return at


@kernel
def parts_of(node: int, children: Array, heights: Array, stack: Array, parts: Array) -> int:
    """What falls apart at the height of a join: joins at the same height count as one; how many."""
    n, top, count = len(children) + 1, 1, 0
    limit = heights[node] * (1.0 - TIE)
    stack[0] = node + n
    while top > 0:
        top -= 1
        i = stack[top]
        if i < n or (heights[i - n] < limit and i != node + n):
            parts[count] = i
            count += 1
        else:
            stack[top], stack[top + 1] = children[i - n, 1], children[i - n, 0]
            top += 2
    return count


@kernel
def condense_rows(
    children: Array, heights: Array, below: Array, least: int, queue: Array, name: Array,
    stack: Array, parts: Array, parent: Array, child: Array, levels: Array, size: Array,
) -> int:  # fmt: skip
    """(4), level by level from the root; how many lines were written."""
    n, at, clusters = len(children) + 1, 0, 1
    queue[0], head, tail = n - 2, 0, 1
    name[n - 2] = n
    while head < tail:
        node = queue[head]
        head += 1
        cluster, level = name[node], 1.0 / heights[node] if heights[node] > 0.0 else np.inf
        count, large = parts_of(node, children, heights, stack, parts), 0
        for t in range(count):
            large += parts[t] >= n and below[parts[t] - n] >= least
        for t in range(count):
            part = parts[t]
            if part < n or below[part - n] < least:
                at = lose(part, cluster, level, children, stack, at, parent, child, levels, size)
                continue
            name[part - n] = cluster
            if large > 1:
                name[part - n] = child[at] = n + clusters
                parent[at], levels[at], size[at] = cluster, level, below[part - n]
                at += 1
                clusters += 1
            queue[tail] = part - n
            tail += 1
    return at


def condense(children: Array, heights: Array, least: int) -> CondensedTree:
    """The condensed tree of a tree of joins, clusters having at least `least` >= 2 rows."""
    joins = len(children)
    below, work = np.empty(joins, np.int64), [np.empty(2 * joins + 2, np.int64) for _ in range(4)]
    sizes_of(children, below)
    lines = [np.empty(2 * joins + 2, np.int64) for _ in range(3)]
    parent, child, size = lines
    levels = np.empty(len(parent))
    used = condense_rows(
        children, heights, below, least, *work, parent, child, levels, size
    )  # fmt: skip
    return CondensedTree(parent[:used], child[:used], levels[:used], size[:used])


class Selection(NamedTuple):
    """What is chosen in a condensed tree."""

    labels: Array
    probabilities: Array
    outlier_scores: Array
    stability: Array  # (5) of the chosen clusters
    label_of: Array  # the label of each cluster of the tree; −1 outside all chosen ones


def births(tree: CondensedTree, n: int) -> tuple[Array, Array, Array]:
    """Parent (−1 for the root), λ at birth and rows of each cluster; parents come first."""
    inner = tree.child >= n
    clusters = 1 + int(np.count_nonzero(inner))
    up, birth, size = np.full(clusters, -1), np.zeros(clusters), np.full(clusters, n)
    born = tree.child[inner] - n
    up[born], birth[born], size[born] = tree.parent[inner] - n, tree.level[inner], tree.size[inner]
    return up, birth, size


def choose_clusters(
    tree: CondensedTree,
    n: int,
    method: str = "eom",
    allow_single: bool = False,
    eps: float = 0.0,
    largest: int | None = None,
) -> Selection:
    """Labels, probabilities and outlier scores by (5)–(7).

    method "leaf" chooses the clusters without children; clusters that are born at a distance below
    `eps` are replaced by the ancestor that is not; those of more than `largest` rows are divided.
    """
    up, birth, size = births(tree, n)
    clusters, owner = len(up), tree.parent - n
    with np.errstate(invalid="ignore"):
        gain = np.where(tree.level == birth[owner], 0.0, tree.level - birth[owner]) * tree.size
    stability = np.bincount(owner, gain, minlength=clusters)
    if method == "eom":
        chosen = excess_of_mass(
            up, stability, size, allow_single, n if largest is None else largest
        )
    else:
        chosen = np.ones(clusters, bool)
        chosen[up[1:]] = False
        chosen[0] = False
    if eps > 0.0 and clusters > 1 and not chosen[0]:
        chosen = raise_to(np.flatnonzero(chosen), up, birth, eps, allow_single)
    return label_rows(tree, n, chosen, up, stability, eps)


def excess_of_mass(up: Array, stability: Array, size: Array, single: bool, largest: int) -> Array:
    """(6): which clusters are chosen."""
    worth, below = stability.copy(), np.zeros(len(up))
    chosen = np.ones(len(up), bool)
    for c in range(len(up) - 1, -1, -1):
        if below[c] > worth[c] or size[c] > largest or (c == 0 and not single):
            chosen[c], worth[c] = False, below[c]
        if c:
            below[up[c]] += worth[c]
    taken = np.zeros(len(up), bool)  # it or an ancestor is chosen
    for c in range(len(up)):
        inside = c > 0 and taken[up[c]]
        chosen[c] &= not inside
        taken[c] = inside or chosen[c]
    return chosen


def raise_to(found: Array, up: Array, birth: Array, eps: float, single: bool) -> Array:
    """Replace clusters that are born below the distance eps by an ancestor that is not."""
    kept, raised = np.zeros(len(up), bool), np.zeros(len(up), bool)
    for start in found:
        c = int(start)
        if 1.0 / birth[c] >= eps:
            kept[c] = True
            continue
        while up[c] > 0 and 1.0 / birth[up[c]] <= eps:
            c = up[c]
        raised[up[c] if up[c] > 0 or single else c] = True
    inside = np.zeros(len(up), bool)
    for c in range(1, len(up)):  # parents come before their children
        inside[c] = inside[up[c]] or raised[up[c]]
    return kept | (raised & ~inside)


def label_rows(
    tree: CondensedTree,
    n: int,
    chosen: Array,
    up: Array,
    stability: Array,
    eps: float,
) -> Selection:
    """Labels of rows when the clusters are chosen, with probabilities and (7)."""
    of = np.full(len(up), -1)
    for c in range(len(up)):
        of[c] = c if chosen[c] else (of[up[c]] if c else -1)
    row = tree.child < n
    who, level, owner = tree.child[row], tree.level[row], tree.parent[row] - n
    mine, first = of[owner], np.full(len(up), n)  # clusters are numbered by their first row
    np.minimum.at(first, mine[mine >= 0], who[mine >= 0])
    order = np.flatnonzero(chosen)[np.argsort(first[chosen], kind="stable")]
    number = np.empty(len(up), np.int64)
    number[order] = np.arange(len(order))
    label_of, deaths = np.where(of >= 0, number[of], -1), last_levels(tree, n)
    labels, probabilities, scores = np.full(n, -1), np.zeros(n), np.zeros(n)
    labels[who], probabilities[who] = members(owner, level, label_of, deaths, eps)
    with np.errstate(invalid="ignore", divide="ignore"):
        for c in range(len(up) - 1, 0, -1):
            deaths[up[c]] = max(deaths[up[c]], deaths[c])
        last = deaths[owner]
        scores[who] = np.where(np.isfinite(last), 1.0 - level / last, 1.0)
    scores[who[np.isinf(level) | (deaths[owner] == 0.0)]] = 0.0
    return Selection(labels, probabilities, scores, stability[order], label_of)


def last_levels(tree: CondensedTree, n: int) -> Array:
    """The largest λ at which each cluster loses something."""
    last = np.zeros(int(tree.parent.max()) - n + 1)
    np.maximum.at(last, tree.parent - n, tree.level)
    return last


def members(
    owner: Array, level: Array, label_of: Array, deaths: Array, eps: float
) -> tuple[Array, Array]:
    """Labels and probabilities of rows that the clusters `owner` lose at `level`."""
    labels = label_of[owner]
    if label_of[0] >= 0:  # the root is a cluster: of those that last longest, or beyond ε
        least = 1.0 / eps if eps > 0.0 else deaths[0]
        labels = np.where(level < least * (1.0 - TIE), -1, labels)
    _, chosen, number = np.unique(label_of, return_index=True, return_inverse=True)
    peak = deaths[chosen[number[owner]]]  # a chosen cluster comes before all that lie in it
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.minimum(level, peak) / peak
    share[np.isinf(level) | (peak == 0.0)] = 1.0
    return labels, np.where(labels >= 0, share, 0.0)


def labels_at(children: Array, heights: Array, cut: float, least: int) -> Array:
    """Labels when joins at or above `cut` are undone; −1 in groups of fewer than `least` rows."""
    n = len(children) + 1
    top = np.arange(2 * n - 1)
    for k in range(n - 2, -1, -1):  # parents before their children
        if heights[k] < cut:
            top[children[k]] = top[n + k]
    group, size = np.unique(top[:n], return_inverse=True, return_counts=True)[1:]
    number = np.where(size >= least, np.cumsum(size >= least) - 1, -1)
    return number[group]
