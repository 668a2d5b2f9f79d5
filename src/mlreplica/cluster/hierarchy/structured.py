"""Agglomeration along a graph: only neighbours may be joined, the nearest pair first

A heap holds the distances of all neighbouring pairs. The nearest pair of living clusters is joined,
the new cluster has the neighbours of both, and its distances to them go into the heap. Sparse
graphs make this O(n log n) joins instead of n² distances. A pair of which one is not a neighbour
keeps the distance of the other, as in scikit-learn.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np


def ward_between(size: Any, sums: Any, i: Any, j: Any) -> Any:
    """What joining i with each of j adds to the inertia."""
    d = sums[i] / size[i] - sums[j] / size[j][:, None]
    return (d * d).sum(axis=1) * size[i] * size[j] / (size[i] + size[j])


def graph_tree(graph: Any, X: Any, linkage: str, n_nodes: int) -> tuple[Any, Any, Any]:
    """Joins of rows that a graph connects, until there are `n_nodes` nodes.

    Parameters
    ----------
    graph : COO matrix (n, n)
        Symmetric, without a diagonal; its data are distances, unless the linkage is ward's.
    X : ndarray (n, p)
        For ward.

    Returns
    -------
    children, parent, heights
    """
    n = graph.shape[0]
    links: list[dict[int, float]] = [{} for _ in range(n)]
    size, parent = np.zeros(n_nodes), np.arange(n_nodes)
    size[:n] = 1.0
    pairs = graph.row > graph.col
    rows, columns, data = graph.row[pairs], graph.col[pairs], graph.data[pairs]
    if linkage == "ward":
        sums = np.zeros((n_nodes, X.shape[1]))
        sums[:n] = X
        d = X[rows] - X[columns]
        data = 0.5 * (d * d).sum(axis=1)
    heap = [(float(d), int(i), int(j)) for d, i, j in zip(data, rows, columns, strict=True)]
    for d, i, j in heap:
        links[i][j] = links[j][i] = d
    heapify(heap)
    alive = np.ones(n_nodes, dtype=bool)
    children, heights = [], []
    for k in range(n, n_nodes):
        while True:
            d, i, j = heappop(heap)
            if alive[i] and alive[j]:
                break
        children.append((j, i))
        heights.append(d)
        parent[i] = parent[j] = k
        alive[i] = alive[j] = False
        size[k] = size[i] + size[j]
        a, b = links[i], links[j]
        near = [t for t in dict.fromkeys([*a, *b]) if alive[t]]
        if linkage == "ward":
            sums[k] = sums[i] + sums[j]
            found = ward_between(size, sums, k, np.array(near, dtype=np.int64)).tolist()
        elif linkage == "complete":
            found = [max(a.get(t, -np.inf), b.get(t, -np.inf)) for t in near]
        else:
            found = [mean_of(a.get(t), b.get(t), size[i], size[j]) for t in near]
        links.append(dict(zip(near, found, strict=True)))
        for t, d in links[k].items():
            links[t][k] = d
            heappush(heap, (d, k, t))
        links[i] = links[j] = {}
    return np.array(children).reshape(-1, 2), parent, np.array(heights)


def mean_of(a: Any, b: Any, n: float, m: float) -> Any:
    """The weighted mean of two distances, or the one that is there."""
    if a is None or b is None:
        return b if a is None else a
    return (n * a + m * b) / (n + m)
