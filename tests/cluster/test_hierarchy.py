"""Agglomeration: SciPy's trees, scikit-learn's labels, and what every tree of joins satisfies"""

import numpy as np
import pytest
import sklearn.cluster
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist, squareform
from sklearn.neighbors import kneighbors_graph
from sklearn.utils.estimator_checks import parametrize_with_checks

from mlreplica.cluster import (
    AgglomerativeClustering,
    FeatureAgglomeration,
    linkage_tree,
    ward_tree,
)

LINKAGES = ("ward", "complete", "average", "single")


def tree(X, kind, **options):
    """Children and heights."""
    if kind == "ward":
        found = ward_tree(X, return_distance=True, **options)
    else:
        found = linkage_tree(X, linkage=kind, return_distance=True, **options)
    return found[0], found[4]


def naive(X, kind):
    """Heights of joins, by comparing all clusters after every join."""
    between = {
        "ward": lambda a, b: (
            np.sqrt(2 * len(a) * len(b) / (len(a) + len(b)))
            * np.linalg.norm(a.mean(axis=0) - b.mean(axis=0))
        ),
        "complete": lambda a, b: np.linalg.norm(a[:, None] - b, axis=2).max(),
        "average": lambda a, b: np.linalg.norm(a[:, None] - b, axis=2).mean(),
        "single": lambda a, b: np.linalg.norm(a[:, None] - b, axis=2).min(),
    }[kind]
    clusters, heights = [x[None] for x in X], []
    while len(clusters) > 1:
        pairs = [(i, j) for i in range(len(clusters)) for j in range(i)]
        values = [between(clusters[i], clusters[j]) for i, j in pairs]
        i, j = pairs[int(np.argmin(values))]
        heights.append(min(values))
        clusters[j] = np.concatenate([clusters[j], clusters.pop(i)])
    return heights


@pytest.mark.parametrize("kind", LINKAGES)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 999), n=st.integers(2, 14), p=st.integers(1, 4))
def test_heights_are_those_of_the_naive_loop(kind, seed, n, p):
    X = np.random.default_rng(seed).normal(size=(n, p))
    assert_allclose(tree(X, kind)[1], naive(X, kind), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", LINKAGES)
@pytest.mark.parametrize("n", [2, 65, 300])
def test_same_tree_as_scipy(kind, n):
    X = np.random.default_rng(n).normal(size=(n, 3)) + 100
    children, heights = tree(X, kind)
    Z = linkage(X, kind)
    assert_array_equal(children, Z[:, :2])
    assert_allclose(heights, Z[:, 2], rtol=1e-9)
    assert (np.diff(heights) >= 0).all()
    assert_array_equal(np.sort(children.ravel()), np.arange(2 * n - 2))


@pytest.mark.parametrize("kind", LINKAGES)
@pytest.mark.parametrize("whole", [True, False])
def test_same_labels_as_scikit_learn_along_a_graph(kind, whole):
    X = np.random.default_rng(0).normal(size=(120, 3))
    options = {"connectivity": kneighbors_graph(X, 10, include_self=False), "linkage": kind}
    options |= {"compute_full_tree": whole, "n_clusters": 5, "compute_distances": True}
    ours = AgglomerativeClustering(**options).fit(X)
    theirs = sklearn.cluster.AgglomerativeClustering(**options).fit(X)
    assert_array_equal(ours.labels_, theirs.labels_)
    assert_allclose(ours.distances_, theirs.distances_, rtol=1e-9)


def test_a_graph_in_pieces_is_completed_and_said():
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    graph = np.kron(np.eye(2), np.ones((2, 2)))
    with pytest.warns(UserWarning, match="connected components of the connectivity matrix is 2"):
        model = AgglomerativeClustering(2, connectivity=graph).fit(X)
    assert model.labels_[0] == model.labels_[1] != model.labels_[2] == model.labels_[3]


@pytest.mark.parametrize("kind", ["complete", "average", "single"])
def test_any_distance(kind):
    X = np.random.default_rng(3).normal(size=(40, 3))
    D = squareform(pdist(X, "cityblock"))
    two = lambda x, y: np.abs(x - y).sum()
    for metric, rows in (("manhattan", X), ("precomputed", D), (lambda _: D, X), (two, X)):
        _, heights = tree(rows, kind, affinity=metric)
        assert_allclose(heights, linkage(X, kind, metric="cityblock")[:, 2], rtol=1e-10)


def test_a_threshold_cuts_where_joins_are_higher():
    X = np.random.default_rng(1).normal(size=(60, 2))
    for threshold in (0.0, 0.5, 2.0, 100.0):
        model = AgglomerativeClustering(None, distance_threshold=threshold).fit(X)
        assert model.n_clusters_ == (model.distances_ >= threshold).sum() + 1
        assert len(np.unique(model.labels_)) == model.n_clusters_


def test_equal_rows_join_at_height_zero():
    for kind in LINKAGES:
        _, heights = tree(np.repeat([[0.0, 1.0], [5.0, 5.0]], 4, axis=0), kind)
        assert_allclose(heights[:6], 0.0, atol=1e-12)
        assert heights[6] > 1


def test_columns_are_pooled_and_spread_again():
    X = np.random.default_rng(0).normal(size=(20, 3))[:, [0, 0, 1, 2, 2]]
    model = FeatureAgglomeration(3).fit(X)
    assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-12)
    peaks = FeatureAgglomeration(3, pooling_func=np.max).fit(X)
    assert_allclose(peaks.transform(X), model.transform(X))


def test_bad_input_is_refused_with_reasons():
    X = np.zeros((5, 2))
    for options, match in (
        ({"n_clusters": 2, "distance_threshold": 1.0}, "Exactly one of"),
        ({"metric": "l1"}, "Ward can only work"),
        ({"n_clusters": 6}, "more clusters than samples"),
        ({"metric": "cosine", "linkage": "average"}, "zero vectors"),
        ({"metric": "precomputed", "linkage": "single"}, "should be square"),
        ({"connectivity": np.ones((3, 3))}, "Wrong shape"),
    ):
        with pytest.raises(ValueError, match=match):
            AgglomerativeClustering(**options).fit(X)


@parametrize_with_checks([AgglomerativeClustering(), FeatureAgglomeration()])
def test_scikit_learns_checks(estimator, check):
    check(estimator)
