"""Tree: what has been grown, and the way of a row through it

`Tree` has scikit-learn's arrays, one entry a node, node 0 the root, parents before children:

    children_left, children_right   −1 at a leaf
    feature, threshold              a row goes left if X[row, feature] ≤ threshold; −2 at a leaf
    missing_go_to_left              where a row without that value goes
    categories                      (node, word) bits of the categories that go left, where the
                                    threshold is NaN; None if no column is categorical
    value                           (node, output, class or 1): class shares, or means
    impurity, n_node_samples, weighted_n_node_samples

`Packed(trees)` is any number of trees made for prediction. A node takes 16 bytes, its threshold and
one integer, left child << 32 | feature, and the right child stands beside the left one, so that a
step is `left + (x > threshold)`, without a branch. A leaf is its own left child and has threshold
∞. A step waits for memory, so 64 walks go on at once, of 64 rows through one tree or of a few rows
through 64 trees; those that have arrived are dropped. Some thousand rows go through a tree before
the next one is read: it stays in the cache as long as it is used.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import scipy.sparse as sp

from mlreplica.core.compile.intrinsics import smaller
from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import n_threads, run, split

from .categories import BIT, WORD, goes_left

LANES = 64
BLOCK = 4096  # rows that go through one tree after the other while both are in the cache
U = np.uint64
FEATURE = U(0x7FFFFFFF)  # the bits of a link that hold the feature
MISSING_RIGHT = U(0x80000000)  # the one that sends missing values right
CHILD = U(32)  # and how far above them the left child stands
LEAF, UNDEFINED = -1, -2


class Tree:
    """A binary tree of thresholds; see the arrays above."""

    def __init__(
        self,
        n_features: int,
        n_classes: Any,
        children_left: Any,
        children_right: Any,
        feature: Any,
        threshold: Any,
        impurity: Any,
        n_node_samples: Any,
        weighted_n_node_samples: Any,
        missing_go_to_left: Any,
        value: Any,
        categories: Any = None,
    ) -> None:
        self.n_features = n_features
        self.n_classes = np.atleast_1d(np.asarray(n_classes, dtype=np.intp))
        self.children_left, self.children_right = children_left, children_right
        self.feature, self.threshold, self.impurity = feature, threshold, impurity
        self.n_node_samples = n_node_samples
        self.weighted_n_node_samples = weighted_n_node_samples
        self.missing_go_to_left = missing_go_to_left
        self.value, self.categories = value, categories

    @property
    def node_count(self) -> int:
        return len(self.feature)

    capacity = node_count

    @property
    def n_outputs(self) -> int:
        return len(self.n_classes)

    @property
    def max_n_classes(self) -> int:
        return int(self.n_classes.max())

    @property
    def n_leaves(self) -> int:
        return int((self.children_left == LEAF).sum())

    @functools.cached_property
    def depths(self) -> Any:
        """The depth of every node: the root has 0."""
        depths = np.zeros(self.node_count, np.int64)
        add_depths(self.children_left, self.children_right, depths)
        return depths

    @property
    def max_depth(self) -> int:
        return int(self.depths.max())

    @functools.cached_property
    def packed(self) -> Packed:
        """This tree alone, made for prediction."""
        return Packed([self])

    def goes_left(self, node: int, x: Any) -> Any:
        """Which of the values x of the node's feature go left, (len(x),) bool."""
        missing = np.isnan(x)
        left = x <= self.threshold[node]
        if np.isnan(self.threshold[node]):
            left = np.isin(x, self.categories_left(node))
        return np.where(missing, bool(self.missing_go_to_left[node]), left)

    def categories_left(self, node: int) -> Any:
        """The categories that go left at a node, ascending."""
        c = np.arange(self.categories.shape[1] << WORD)
        words = self.categories[node, c >> WORD]
        return c[(words >> (c & BIT).astype(U)) & U(1) == 1]

    def apply(self, X: Any) -> Any:
        """The leaf of every row."""
        return self.packed.apply(X)[:, 0]

    def predict(self, X: Any) -> Any:
        """The value of every row's leaf: (n, max classes), with an axis of outputs if several."""
        out = self.value.take(self.apply(X), axis=0, mode="clip")
        return out.reshape(len(out), self.max_n_classes) if self.n_outputs == 1 else out

    def decision_path(self, X: Any) -> sp.csr_matrix:
        """A CSR matrix (n, node_count) of ones where a row comes by."""
        leaves, depths = self.apply(X), self.depths
        indptr = np.concatenate([[0], np.cumsum(depths[leaves] + 1)])
        indices = np.empty(indptr[-1], np.int64)
        parents = np.full(self.node_count, -1)
        inner = np.flatnonzero(self.children_left != LEAF)
        parents[self.children_left[inner]] = parents[self.children_right[inner]] = inner
        at, place = leaves.copy(), indptr[1:] - 1
        rows = np.arange(len(leaves))
        while len(rows):  # all rows climb one step at a time: as many steps as the tree is deep
            indices[place[rows]] = at[rows]
            place[rows] -= 1
            at[rows] = parents[at[rows]]
            rows = rows[at[rows] >= 0]
        ones = np.ones(len(indices), dtype=np.intp)
        shape = (len(leaves), self.node_count)
        path = sp.csr_matrix((ones, indices, indptr), shape=shape)
        path.sort_indices()
        return path

    def compute_feature_importances(self, normalize: bool = True) -> Any:
        """How much every feature lowered the impurity, by weight; they sum to 1 if normalised."""
        weighted = self.weighted_n_node_samples * self.impurity
        k = np.flatnonzero(self.children_left != LEAF)
        fall = weighted[k] - weighted[self.children_left[k]] - weighted[self.children_right[k]]
        total = np.bincount(self.feature[k], weights=fall, minlength=self.n_features).astype(float)
        total /= self.weighted_n_node_samples[0]
        if normalize and total.sum() > 0.0:
            total /= total.sum()
        return total

    def partial_dependence(self, grid: Any, features: Any) -> Any:
        """The mean prediction at every row of `grid`, values of `features`, by Friedman's walk.

        A split on another feature sends the row both ways, by the weights of training rows.
        """
        out = np.zeros(len(grid))
        where = {int(f): j for j, f in enumerate(features)}
        stack = [(0, np.ones(len(grid)))]
        while stack:
            node, share = stack.pop()
            left, right = self.children_left[node], self.children_right[node]
            if left == LEAF:
                out += share * self.value[node, 0, 0]
                continue
            f = int(self.feature[node])
            if f in where:
                to_left = self.goes_left(node, grid[:, where[f]]).astype(float)
            else:
                to_left = np.full(
                    len(grid),
                    self.weighted_n_node_samples[left] / self.weighted_n_node_samples[node],
                )
            stack += [(left, share * to_left), (right, share * (1.0 - to_left))]
        return out

    def compute_partial_dependence(self, X: Any, target_features: Any, out: Any) -> None:
        """`partial_dependence`, added to `out`: how scikit-learn's ensembles ask for it."""
        out += self.partial_dependence(np.asarray(X, dtype=np.float64), target_features)

    def __getstate__(self) -> dict[str, Any]:
        lazy = ("packed", "depths")
        return {name: value for name, value in vars(self).items() if name not in lazy}


class Packed:
    """Trees made for prediction: rows go through all of them.

    Parameters
    ----------
    trees : list of Tree
    values : list of ndarray (node_count, width), optional
        What a leaf adds to the sum; the trees' own values by default.
    """

    def __init__(self, trees: list[Any], values: list[Any] | None = None) -> None:
        sizes = np.array([t.node_count for t in trees])
        self.roots = np.concatenate([[0], np.cumsum(sizes)])
        total = int(self.roots[-1])
        self.nodes = np.empty((total, 2))
        self.links = self.nodes.view(np.int64)
        self.ids = np.empty(total, np.int32)  # the node's number in its tree
        for t, tree in enumerate(trees):
            part = slice(self.roots[t], self.roots[t + 1])
            pack_tree(
                tree.children_left,
                tree.children_right,
                tree.feature,
                tree.threshold,
                tree.missing_go_to_left,
                self.roots[t],
                self.nodes[part],
                self.links[part],
                self.ids[part],
            )
        tables = [t.value for t in trees] if values is None else values
        self.width = tables[0][0].size
        self.values = np.empty((total, self.width))
        for t, table in enumerate(tables):
            part = slice(self.roots[t], self.roots[t + 1])
            self.values[part] = table.reshape(-1, self.width)[self.ids[part]]
        words = [0 if t.categories is None else t.categories.shape[1] for t in trees]
        self.sets = None
        if max(words) > 0:
            self.sets = np.zeros((total, max(words)), U)
            for t, tree in enumerate(trees):
                part = slice(self.roots[t], self.roots[t + 1])
                if words[t]:
                    self.sets[part, : words[t]] = tree.categories[self.ids[part]]

    def apply(self, X: Any, n_jobs: int | None = None) -> Any:
        """The leaf of every row in every tree, (n, trees)."""
        X = ready(X)
        out = np.empty((len(X), len(self.roots) - 1), np.int64)

        def walk(rows: slice) -> None:
            nodes = self.roots, self.nodes, self.links, self.sets
            apply_rows(X[rows], *nodes, self.ids, np.empty((3, LANES), U), out[rows])

        run(walk, self._parts(X, n_jobs), n_jobs=n_jobs)
        return out

    def sums(self, X: Any, n_jobs: int | None = None) -> Any:
        """The sum of the values of a row's leaves, (n, width)."""
        X = ready(X)
        out = np.zeros((len(X), self.width))

        def walk(rows: slice) -> None:
            nodes = self.roots, self.nodes, self.links, self.sets
            sum_rows(X[rows], *nodes, self.values, np.empty((3, LANES), U), out[rows])

        run(walk, self._parts(X, n_jobs), n_jobs=n_jobs)
        return out

    def _parts(self, X: Any, n_jobs: int | None) -> list[slice]:
        steps = 8 * (len(self.roots) - 1)
        return split(len(X), n_threads(n_jobs), least=1 + (1 << 16) // steps)


def ready(X: Any) -> Any:
    """X dense, float64, in C order."""
    if hasattr(X, "toarray"):
        X = X.toarray()
    return np.ascontiguousarray(X, dtype=np.float64)


@kernel(borrow=True)
def add_depths(left: Any, right: Any, depth: Any) -> None:
    """Children are one deeper than their parents, who come before them."""
    for k in range(len(left)):
        if left[k] >= 0:
            depth[left[k]] = depth[right[k]] = depth[k] + 1


@kernel(borrow=True)
def pack_tree(
    left: Any, right: Any, feature: Any, threshold: Any, missing_left: Any, start: int,
    nodes: Any, links: Any, ids: Any,
) -> None:  # fmt: skip
    """Breadth first, brothers side by side; `start` is where the tree begins among all nodes."""
    ids[0] = 0
    placed = 1
    for k in range(len(left)):
        node = ids[k]
        if left[node] >= 0:
            links[k, 1] = ((start + placed) << 32) | feature[node]
            if not missing_left[node]:
                links[k, 1] |= np.int64(MISSING_RIGHT)
            nodes[k, 0] = threshold[node]
            ids[placed], ids[placed + 1] = left[node], right[node]
            placed += 2
        else:
            links[k, 1] = (start + k) << 32
            nodes[k, 0] = np.inf


@kernel(part=True, borrow=True)
def any_missing(X: Any) -> bool:
    """Whether there is a NaN."""
    missing = 0
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            missing += X[i, j] != X[i, j]
    return missing > 0


@kernel(part=True, borrow=True)
def walk_lanes(
    X: Any, row: Any, at: Any, lanes: int, nodes: Any, links: Any, sets: Any, active: Any,
    missing: bool,
) -> None:  # fmt: skip
    """Take `lanes` walks, of rows row[l] from nodes at[l], to their leaves.

    Numbers are unsigned, as an index below 0 would have to be looked for. X has NaN if `missing`;
    `sets` is None if no tree has categories.
    """
    for l in range(lanes):
        active[l] = l
    left_over = U(lanes)
    while left_over > U(0):
        kept = U(0)
        if sets is not None:
            for j in range(left_over):
                l = active[j]
                k = at[l]
                link = U(links[k, 1])
                x, missing_right = X[row[l], link & FEATURE], (link & MISSING_RIGHT) != U(0)
                right = (x > nodes[k, 0]) | (np.isnan(x) & missing_right)
                if np.isnan(nodes[k, 0]):
                    right = goes_left(x, sets[k], not missing_right) == 0
                k_next = (link >> CHILD) + U(right)
                at[l] = k_next
                active[kept] = l
                kept += U(k_next != k)
        elif missing:
            for j in range(left_over):
                l = active[j]
                k = at[l]
                link = U(links[k, 1])
                x = X[row[l], link & FEATURE]
                right = (x > nodes[k, 0]) | (np.isnan(x) & ((link & MISSING_RIGHT) != U(0)))
                k_next = (link >> CHILD) + U(right)
                at[l] = k_next
                active[kept] = l
                kept += U(k_next != k)
        else:
            for j in range(left_over):
                l = active[j]
                k = at[l]
                link = U(links[k, 1])
                k_next = (link >> CHILD) + U(X[row[l], link & FEATURE] > nodes[k, 0])
                at[l] = k_next
                active[kept] = l
                kept += U(k_next != k)
        left_over = kept


@kernel(borrow=True)
def apply_rows(
    X: Any, roots: Any, nodes: Any, links: Any, sets: Any, ids: Any, walks: Any, out: Any
) -> None:
    """The leaf of every row in every tree; walks: memory for the walks."""
    n, trees = out.shape
    row, at, active = walks[0], walks[1], walks[2]
    for start in range(0, n, BLOCK):
        stop = smaller(start + BLOCK, n)
        missing = any_missing(X[start:stop])
        for t in range(trees):
            for first in range(start, stop, LANES):
                lanes = smaller(LANES, stop - first)
                for l in range(lanes):
                    row[l], at[l] = first + l, roots[t]
                walk_lanes(X, row, at, lanes, nodes, links, sets, active, missing)
                for l in range(lanes):
                    out[row[l], t] = ids[at[l]]


@kernel(borrow=True)
def sum_rows(
    X: Any, roots: Any, nodes: Any, links: Any, sets: Any, values: Any, walks: Any, out: Any
) -> None:
    """Add the values of a row's leaves to its sums; few rows go through many trees at once."""
    n, trees = len(out), len(roots) - 1
    row, at, active = walks[0], walks[1], walks[2]
    if n < LANES // 2:
        missing = any_missing(X)
        for i in range(n):
            for first in range(0, trees, LANES):
                lanes = smaller(LANES, trees - first)
                for l in range(lanes):
                    row[l], at[l] = i, roots[first + l]
                walk_lanes(X, row, at, lanes, nodes, links, sets, active, missing)
                add_values(row, at, lanes, values, out)
        return
    for start in range(0, n, BLOCK):
        stop = smaller(start + BLOCK, n)
        missing = any_missing(X[start:stop])
        for t in range(trees):
            for first in range(start, stop, LANES):
                lanes = smaller(LANES, stop - first)
                for l in range(lanes):
                    row[l], at[l] = first + l, roots[t]
                walk_lanes(X, row, at, lanes, nodes, links, sets, active, missing)
                add_values(row, at, lanes, values, out)


@kernel(part=True, borrow=True)
def add_values(row: Any, at: Any, lanes: int, values: Any, out: Any) -> None:
    """out[row[l]] += values[at[l]] for every lane."""
    width = out.shape[1]
    if width == 1:
        for l in range(lanes):
            out[row[l], 0] += values[at[l], 0]
    else:
        for l in range(lanes):
            for k in range(width):
                out[row[l], k] += values[at[l], k]
