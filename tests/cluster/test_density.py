"""DBSCAN and HDBSCAN: naive loops, scikit-learn, the hdbscan package, and what must not matter"""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.cluster
import sklearn.metrics
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from mlreplica.cluster import DBSCAN, HDBSCAN, dbscan
from mlreplica.cluster.density.textbook import visit_states

SEEDS = st.integers(0, 999)


def groups(seed, n=90, p=2):
    """Two dense groups, one of them tight, among scattered rows."""
    rng = np.random.default_rng(seed)
    third = n // 3
    parts = [rng.normal(size=(third, p)), rng.normal(size=(third, p)) * 0.3 + 3]
    return np.concatenate([*parts, rng.uniform(-4, 5, (n - 2 * third, p))])


# ------------------------------------------------------------------------------------------ DBSCAN


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS, eps=st.sampled_from([0.05, 0.3, 0.8, 3.0, 1e100]), m=st.integers(1, 8))
def test_leaves_find_what_the_textbook_finds(seed, eps, m):
    X = groups(seed)
    *_, last = visit_states(X, eps, m)
    for algorithm in ("kd_tree", "ball_tree", "brute", "auto"):
        model = DBSCAN(eps=eps, min_samples=m, algorithm=algorithm, leaf_size=8).fit(X)
        assert_array_equal(model.labels_, last.labels)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "cosine", "canberra"])
@pytest.mark.parametrize("shape", [(3000, 2), (1500, 6), (600, 30)])
def test_dbscan_is_scikit_learns(metric, shape):
    X = groups(0, *shape)
    w = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    D = sklearn.metrics.pairwise_distances(X[:200], metric=metric)
    eps = float(np.quantile(D, 0.03))
    for weights in (None, w):
        ours = DBSCAN(eps=eps, metric=metric).fit(X, sample_weight=weights)
        theirs = sklearn.cluster.DBSCAN(eps=eps, metric=metric).fit(X, sample_weight=weights)
        assert_array_equal(ours.labels_, theirs.labels_)
        assert_array_equal(ours.core_sample_indices_, theirs.core_sample_indices_)
        assert_allclose(ours.components_, theirs.components_, rtol=0)


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
def test_a_weight_is_a_repetition(seed):
    X, rng = groups(seed, 60), np.random.default_rng(seed)
    w = rng.integers(1, 4, len(X))
    rows = np.repeat(np.arange(len(X)), w)
    weighted = DBSCAN(eps=0.4).fit(X, sample_weight=w)
    repeated = DBSCAN(eps=0.4).fit(X[rows])
    assert adjusted_rand_score(weighted.labels_[rows], repeated.labels_) == 1.0
    assert_array_equal(weighted.labels_[rows] < 0, repeated.labels_ < 0)
    core = np.isin(np.arange(len(X)), weighted.core_sample_indices_)
    again = np.isin(np.arange(len(rows)), repeated.core_sample_indices_)
    assert_array_equal(core[rows], again)


def test_functions_sparse_rows_and_matrices_give_the_same():
    X = groups(3)
    expected = DBSCAN(eps=0.5).fit(X).labels_
    D = cdist(X, X)
    near = sp.csr_array(np.where(D <= 1.0, D, 0.0))
    assert_array_equal(DBSCAN(eps=0.5).fit(sp.csr_array(X)).labels_, expected)
    assert_array_equal(DBSCAN(eps=0.5, metric="precomputed").fit(D).labels_, expected)
    assert_array_equal(DBSCAN(eps=0.5, metric="precomputed").fit(near).labels_, expected)
    far = DBSCAN(eps=0.5, metric=lambda x, y: np.sqrt(((x - y) ** 2).sum())).fit(X)
    assert_array_equal(far.labels_, expected)
    assert_array_equal(dbscan(X, 0.5)[1], expected)


def test_new_rows_join_the_nearest_core_row():
    X = groups(1, 300)
    model = DBSCAN(eps=0.4).fit(X)
    core = model.core_sample_indices_
    assert_array_equal(model.predict(X[core]), model.labels_[core])
    assert_array_equal(model.predict([[99.0, 99.0]]), [-1])
    assert_array_equal(DBSCAN(eps=1e-9).fit(X).predict(X[:3]), [-1, -1, -1])
    grid = np.round(groups(5, 300), 1)  # many distances are ε but for rounding
    flat = DBSCAN(eps=0.5, min_samples=9).fit(grid)
    assert_array_equal(flat.predict(grid) < 0, flat.labels_ < 0)
    with pytest.raises(ValueError, match="needs rows"):
        DBSCAN(metric="precomputed").fit(cdist(X, X)).predict(cdist(X, X))


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_the_range_of_the_numbers_does_not_matter(scale):
    X = groups(2)
    assert_array_equal(
        DBSCAN(eps=0.4 * scale).fit(X * scale).labels_, DBSCAN(eps=0.4).fit(X).labels_
    )
    low = np.random.default_rng(0).permutation(len(X))
    assert_array_equal(HDBSCAN().fit(X[low] * scale).labels_ < 0, HDBSCAN().fit(X).labels_[low] < 0)


# ----------------------------------------------------------------------------------------- HDBSCAN


def reachable(X, m, alpha=1.0):
    """All mutual reachability distances."""
    D = cdist(X, X)
    core = np.sort(D, axis=1)[:, m - 1]
    return np.maximum(np.maximum(D / alpha, core), core[:, None])


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS, m=st.integers(1, 9), alpha=st.sampled_from([1.0, 1.3]))
def test_the_spanning_tree_is_least(seed, m, alpha):
    X = groups(seed)
    expected = np.sort(minimum_spanning_tree(reachable(X, m, alpha)).data)
    for algorithm in ("kd_tree", "ball_tree", "brute"):
        model = HDBSCAN(min_samples=m, alpha=alpha, algorithm=algorithm, leaf_size=8).fit(X)
        assert_allclose(model.single_linkage_tree_[:, 2], expected, rtol=1e-9)


@settings(max_examples=20, deadline=None)
@given(
    seed=SEEDS,
    options=st.sampled_from(
        [
            {},
            {"cluster_selection_method": "leaf"},
            {"cluster_selection_epsilon": 0.5},
            {"allow_single_cluster": True},
            {"max_cluster_size": 20},
            {"min_samples": 2, "min_cluster_size": 8},
        ]
    ),
)
def test_neither_the_order_of_rows_nor_the_search_matters(seed, options):
    X = groups(seed)
    order = np.random.default_rng(seed).permutation(len(X))
    model = HDBSCAN(**options).fit(X)
    for algorithm in ("kd_tree", "ball_tree", "brute"):
        other = HDBSCAN(algorithm=algorithm, leaf_size=8, **options).fit(X[order])
        assert adjusted_rand_score(model.labels_[order], other.labels_) == 1.0
        assert_allclose(other.probabilities_, model.probabilities_[order], rtol=1e-6, atol=1e-9)
        assert_allclose(other.outlier_scores_, model.outlier_scores_[order], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("options", [{}, {"cluster_selection_method": "leaf"}])
def test_without_equal_lengths_all_packages_agree(options):
    import hdbscan

    X = groups(4, 400)
    ours = HDBSCAN(min_cluster_size=8, min_samples=1, **options).fit(X)  # plain distances: no ties
    theirs = sklearn.cluster.HDBSCAN(8, min_samples=1, copy=True, **options).fit(X)
    assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1.0
    assert_allclose(ours.probabilities_, theirs.probabilities_, rtol=1e-9)
    mine = HDBSCAN(min_cluster_size=8, min_samples=2, **options).fit(X)
    peer = hdbscan.HDBSCAN(8, min_samples=1, approx_min_span_tree=False, **options).fit(X)
    assert adjusted_rand_score(mine.labels_, peer.labels_) > 0.99


@pytest.mark.parametrize("seed", range(4))
def test_the_hdbscan_package_agrees_but_for_equal_lengths(seed):
    import hdbscan

    X = groups(seed, 600)
    ours = HDBSCAN(min_cluster_size=15, min_samples=5).fit(X)
    peer = hdbscan.HDBSCAN(15, min_samples=4, approx_min_span_tree=False).fit(X)
    assert adjusted_rand_score(ours.labels_, peer.labels_) > 0.97
    assert np.median(np.abs(ours.outlier_scores_ - peer.outlier_scores_)) < 1e-9


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS, cut=st.floats(0.1, 2.0))
def test_a_cut_of_the_tree_is_dbscan_without_border(seed, cut):
    X = groups(seed)
    model = HDBSCAN(min_samples=5).fit(X)
    labels = model.dbscan_clustering(np.nextafter(cut, np.inf), min_cluster_size=1)
    flat = DBSCAN(eps=cut, min_samples=5).fit(X)
    core = flat.core_sample_indices_
    assert adjusted_rand_score(labels[core], flat.labels_[core]) == 1.0


def test_odd_rows_are_set_apart():
    X = groups(0)
    X[3, 0], X[5], X[7] = np.nan, np.inf, [np.inf, np.nan]
    model = HDBSCAN(store_centers="both").fit(X)
    assert_array_equal(model.labels_[[3, 5, 7]], [-3, -2, -3])
    assert np.isnan(model.probabilities_[[3, 7]]).all()
    kept = np.delete(np.arange(len(X)), [3, 5, 7])
    alone = HDBSCAN().fit(X[kept])
    assert_array_equal(model.labels_[kept], alone.labels_)
    assert model.single_linkage_tree_.shape == (len(X) - 1, 4)
    assert model.single_linkage_tree_[-1, 3] == len(X)
    assert_array_equal(model.dbscan_clustering(0.5)[[3, 5, 7]], [-3, -2, -3])
    assert_array_equal(model.dbscan_clustering(0.5)[kept], alone.dbscan_clustering(0.5))
    assert model.centroids_.shape == model.medoids_.shape == (model.labels_.max() + 1, 2)
    assert all((X[kept] == medoid).all(axis=1).any() for medoid in model.medoids_)


def test_new_rows_join_the_cluster_of_the_row_they_reach_first():
    """By definition: all mutual reachability distances, and the cuts of the tree one by one."""
    X, Q = groups(6, 200), groups(7, 60)
    for options in ({}, {"alpha": 0.7}, {"min_samples": 1}):
        model = HDBSCAN(min_cluster_size=12, **options).fit(X)
        alpha, m = options.get("alpha", 1.0), options.get("min_samples", 12)
        D = cdist(Q, X)
        core, own = np.sort(cdist(X, X), axis=1)[:, m - 1], np.sort(D, axis=1)[:, m - 1]
        reach = np.maximum(np.maximum(D / alpha, core), own[:, None])
        reach += 1e-12 * D  # the nearest of equals
        parent, child, level, _ = model.condensed_tree_.T
        row = {int(c): (int(p), x) for p, c, x in zip(parent, child, level, strict=True)}
        members = {}  # of each cluster, with those of the clusters in it
        for i in range(len(X)):
            node = i
            while node in row:
                node = row[node][0]
                members.setdefault(node, []).append(i)
        expected = []
        for y, x in zip(reach.argmin(axis=1).tolist(), reach, strict=True):
            (node, lost), mine = row[y], 1.0 / x[y]
            while node in row and row[node][1] >= min(mine, lost):
                node = row[node][0]
            inside = set(model.labels_[members[node]])  # one label: within a chosen cluster
            expected.append(inside.pop() if len(inside) == 1 else -1)
        labels, probabilities = model.approximate_predict(Q)
        assert_array_equal(labels, expected)
        assert_array_equal(model.predict(Q), labels)
        assert ((probabilities > 0) == (labels >= 0)).all()
        assert probabilities.max() <= 1.0
        assert set(labels) == {-1, *range(model.labels_.max() + 1)}


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="plain"),
        pytest.param({"cluster_selection_method": "leaf"}, id="leaf"),
        pytest.param({"cluster_selection_epsilon": 0.5, "allow_single_cluster": True}, id="eps"),
        pytest.param({"allow_single_cluster": True, "min_cluster_size": 60}, id="single"),
        pytest.param({"min_samples": 1, "min_cluster_size": 8, "alpha": 1.5}, id="alpha"),
        pytest.param({"metric": "manhattan", "algorithm": "ball_tree"}, id="manhattan"),
        pytest.param({"metric": "minkowski", "metric_params": {"p": 3}}, id="minkowski"),
        pytest.param({"metric": "cosine"}, id="cosine"),
        pytest.param({"algorithm": "brute"}, id="brute"),
    ],
)
def test_rows_of_the_tree_are_predicted_as_they_are_labelled(options):
    for X in (groups(8, 300, 3), np.repeat(groups(9, 120, 3), 3, axis=0)):  # repeated rows too
        model = HDBSCAN(**options).fit(X)
        labels, probabilities = model.approximate_predict(X)
        assert_array_equal(labels, model.labels_)
        assert_allclose(probabilities, model.probabilities_, rtol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_new_rows_are_predicted_as_by_the_hdbscan_package(seed):
    import hdbscan

    X, Q = groups(seed, 600), groups(seed + 100, 300)
    ours = HDBSCAN(min_cluster_size=15, min_samples=5).fit(X)
    peer = hdbscan.HDBSCAN(15, min_samples=4, approx_min_span_tree=False, prediction_data=True)
    peer.fit(X)
    labels, probabilities = ours.approximate_predict(Q)
    assert adjusted_rand_score(labels, hdbscan.approximate_predict(peer, Q)[0]) > 0.95
    peer.prediction_data_.core_distances = ours._core_distances  # it forgets a neighbour here
    theirs, upper = hdbscan.approximate_predict(peer, Q)
    assert adjusted_rand_score(labels, theirs) == 1.0
    assert (probabilities <= upper + 1e-12).all()  # it lets x outlive the row it hangs on
    assert np.median(np.abs(probabilities - upper)) < 1e-12


def test_odd_and_far_new_rows():
    X = groups(0)
    X[3, 0] = np.nan
    model = HDBSCAN().fit(X)
    Q = np.array([[np.nan, 0.0], [np.inf, 0.0], [1e300, -1e300], [3.0, 3.0]])
    labels, probabilities = model.approximate_predict(Q)
    assert_array_equal(labels[:3], [-3, -2, -1])
    assert labels[3] >= 0
    assert_array_equal(probabilities[:3], [np.nan, 0.0, 0.0])
    sparse = HDBSCAN().fit(sp.csr_array(groups(0)))
    assert_array_equal(sparse.predict(sp.csr_array(groups(0))), sparse.labels_)
    with pytest.raises(ValueError, match="needs rows"):
        HDBSCAN(metric="precomputed").fit(cdist(X[4:], X[4:])).predict(X)
    with pytest.raises(ValueError, match="2 features"):
        model.predict(np.ones((2, 3)))


def test_distances_given_dense_and_sparse():
    X = groups(5)
    D = cdist(X, X)
    expected = HDBSCAN().fit(X).labels_
    assert_array_equal(HDBSCAN(metric="precomputed").fit(D).labels_, expected)
    assert adjusted_rand_score(HDBSCAN(metric=lambda x, y: np.linalg.norm(x - y)).fit(X).labels_,
                               expected) == 1.0  # fmt: skip
    np.fill_diagonal(D, 1e-12)  # stored
    assert_array_equal(HDBSCAN(metric="precomputed").fit(sp.csr_array(D)).labels_, expected)
    with pytest.raises(ValueError, match="connected components"):
        HDBSCAN(metric="precomputed").fit(sp.csr_array(sp.block_diag([D[:9, :9], D[:9, :9]])))
    with pytest.raises(ValueError, match="asymmetric"):
        HDBSCAN(metric="precomputed").fit(np.triu(D))


@pytest.mark.parametrize("algorithm", ["kd_tree", "brute"])
def test_copies_of_a_row_are_at_no_distance(algorithm):
    X = np.repeat(groups(9, 150, 5) + 100.0, 3, axis=0)
    model = HDBSCAN(min_samples=2, algorithm=algorithm).fit(X)
    assert np.count_nonzero(model.single_linkage_tree_[:, 2] == 0.0) == 300


@pytest.mark.parametrize("n", [2, 5, 30])
def test_equal_rows(n):
    X = np.ones((n, 2))
    assert_array_equal(HDBSCAN(min_cluster_size=2).fit(X).labels_, np.full(n, -1))
    single = HDBSCAN(min_cluster_size=2, allow_single_cluster=True).fit(X)
    assert_array_equal(single.labels_, np.zeros(n))
    assert_array_equal(single.probabilities_, np.ones(n))
    assert_array_equal(DBSCAN(min_samples=2).fit(X).labels_, np.zeros(n))


def test_one_row_and_too_many_neighbours():
    with pytest.raises(ValueError, match="more than one sample"):
        HDBSCAN().fit([[1.0]])
    with pytest.raises(ValueError, match="at most the number of samples"):
        HDBSCAN(min_samples=9).fit(np.ones((5, 1)))
    with pytest.raises(ValueError, match="KDTree-based"):
        HDBSCAN(metric="cosine", algorithm="kd_tree").fit(groups(0))


@parametrize_with_checks([DBSCAN(), HDBSCAN()])
def test_scikit_learns_checks(estimator, check):
    check(estimator)
