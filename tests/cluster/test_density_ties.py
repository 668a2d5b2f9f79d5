"""HDBSCAN where distances are equal, and agreement with the hdbscan package where none are"""

import hdbscan
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from sklearn.metrics import adjusted_rand_score

from mlreplica.cluster import HDBSCAN


def rows(n, seed=0, k=12):
    """Two thirds of the rows in k groups of different density, the others scattered."""
    rng = np.random.default_rng(seed)
    third = n // 3
    which = rng.integers(0, k, n - third)
    C, width = 4 * rng.normal(size=(k, 2)), rng.uniform(0.2, 1.0, k)
    X = C[which] + width[which, None] * rng.normal(size=(n - third, 2))
    return rng.permutation(np.concatenate([X, rng.uniform(-9, 9, (third, 2))]))


def naive(X, m, s, leaf):
    """Clusters as sets of rows: all edges of the same length are removed at the same time.

    Campello, Moulavi, Sander (2013), algorithm 1, from the whole matrix of distances, without a
    spanning tree.
    """
    D = cdist(X, X)
    core = np.sort(D, axis=1)[:, m - 1]
    D = np.maximum(np.maximum(D, core), core[:, None])

    def chosen(cluster, birth, root=False):
        """Stability of the best choice in a cluster, and the choice."""
        stability, members = 0.0, cluster
        while True:
            part = D[np.ix_(members, members)]
            height = least_height(part)  # the largest edge of a spanning tree
            count, which = connected_components(part < height * (1 - 1e-12), directed=False)
            parts = [members[which == c] for c in range(count)]
            large = [p for p in parts if len(p) >= s]
            gone = len(members) - (len(large[0]) if len(large) == 1 else 0)
            stability += gone * (1 / height - birth)
            if len(large) != 1:
                break
            members = large[0]
        below = [chosen(p, 1 / height) for p in large]
        worth = sum(value for value, _ in below)
        if below and (root or leaf or worth > stability):
            return worth, [c for _, found in below for c in found]
        return stability, [] if root else [frozenset(cluster.tolist())]

    return set(chosen(np.arange(len(X)), 0.0, root=True)[1])


def least_height(D):
    """The least distance at which all rows hang together."""
    near, seen, height = D[0].copy(), np.zeros(len(D), bool), 0.0
    seen[0] = True
    for _ in range(len(D) - 1):
        i = np.where(seen, np.inf, near).argmin()
        height, seen[i] = max(height, near[i]), True
        near = np.minimum(near, D[i])
    return height


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 999),
    cells=st.sampled_from([6, 12, 30, 10**9]),  # on a coarse grid most distances have many equals
    m=st.integers(2, 6),
    s=st.integers(3, 9),
    method=st.sampled_from(["eom", "leaf"]),
)
def test_equal_lengths_are_removed_at_the_same_time(seed, cells, m, s, method):
    X = rows(90, seed, k=4)
    X = np.unique(np.round(X / 18 * cells), axis=0)  # equal rows would have λ = ∞
    expected = naive(X, m, s, method == "leaf")
    for algorithm in ("kd_tree", "brute"):
        model = HDBSCAN(s, m, cluster_selection_method=method, algorithm=algorithm).fit(X)
        found = [np.flatnonzero(model.labels_ == c) for c in range(model.labels_.max() + 1)]
        assert {frozenset(members.tolist()) for members in found} == expected


@pytest.mark.parametrize("n", [200, 2_000, 8_000])
@pytest.mark.parametrize("s", [5, 25, 60])
@pytest.mark.parametrize("method", ["eom", "leaf"])
def test_without_equal_lengths_the_hdbscan_package_agrees(n, s, method):
    X = rows(n)
    options = {"alpha": 1e-3, "cluster_selection_method": method}  # d/α is above all c(x): no ties
    ours = HDBSCAN(s, 5, **options).fit(X)
    peer = hdbscan.HDBSCAN(s, min_samples=4, algorithm="prims_kdtree", **options).fit(X)
    heights = ours.single_linkage_tree_[:, 2]
    assert (np.diff(heights) > 1e-12 * heights[1:]).all()
    assert_array_equal(ours.labels_ < 0, peer.labels_ < 0)
    assert adjusted_rand_score(ours.labels_, peer.labels_) == 1.0
    assert_allclose(ours.probabilities_, peer.probabilities_, rtol=1e-9)
    assert_allclose(ours.outlier_scores_, peer.outlier_scores_, rtol=1e-9, atol=1e-12)
