"""k-medoids and spectral clustering: naive versions, peers, and what must not matter"""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.cluster
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from mlreplica.cluster import KMedoids, SpectralClustering, spectral_clustering
from mlreplica.cluster._spectral import cluster_qr, discretize, normalised
from mlreplica.cluster.medoids.pam import Exchanges, best_exchange, pam, spread_out
from mlreplica.neighbors import kneighbors_graph

SEEDS = st.integers(0, 999)


def table(seed, n=25, p=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)) + 3 * rng.integers(0, 3, n)[:, None]


def cost(D, w, medoids):
    return w @ D[:, medoids].min(axis=1)


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS, k=st.integers(2, 5))
def test_one_pass_tells_every_exchange(seed, k):
    X, rng = table(seed), np.random.default_rng(seed)
    D, w = cdist(X, X), rng.uniform(0.5, 2, len(X))
    s = Exchanges(D, w, rng.choice(len(X), k, replace=False))
    c = next(i for i in range(len(X)) if i not in s.medoids)
    t, change = best_exchange(D[c], w, *s.work, s.delta)
    changes = []
    for place in range(k):
        other = s.medoids.copy()
        other[place] = c
        changes.append(cost(D, w, other) - s.J)
    assert_allclose([change, s.J], [min(changes), cost(D, w, s.medoids)], rtol=1e-9, atol=1e-9)
    assert t == np.argmin(changes)


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, k=st.integers(1, 4), method=st.sampled_from(["fasterpam", "pam"]))
@example(seed=593, k=4, method="fasterpam")  # candidates in a new order each pass: one never tried
def test_no_exchange_helps_at_the_end(seed, k, method):
    X = table(seed)
    D, w = cdist(X, X), np.ones(len(X))
    model = KMedoids(k, method=method, random_state=seed).fit(X)
    medoids = model.medoid_indices_
    assert_allclose(model.inertia_, cost(D, w, medoids), rtol=1e-12)
    for t in range(k):
        for c in range(len(X)):
            other = medoids.copy()
            other[t] = c
            assert cost(D, w, other) >= model.inertia_ * (1 - 1e-9)
    assert_array_equal(model.predict(X), model.labels_)
    assert_allclose(model.transform(X), D[:, medoids], atol=1e-9)


def test_pam_never_raises_the_objective():
    X = table(0, 60)
    D, w = cdist(X, X), np.ones(60)
    J = [state.inertia for state in pam(D, w, [0, 1, 2, 3])]
    assert len(J) > 2
    assert (np.diff(J) < 0).all()


def test_the_best_of_some_starts_is_the_best_of_all():
    X = table(1, 12)
    D, w = cdist(X, X), np.ones(12)
    best = min(cost(D, w, list(rows)) for rows in combinations(range(12), 3))
    assert_allclose(KMedoids(3, n_init=20, random_state=0).fit(X).inertia_, best, rtol=1e-12)


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS)
def test_a_weight_is_a_repetition(seed):
    X, rng = table(seed), np.random.default_rng(seed)
    w = rng.integers(0, 4, len(X))
    w[:3] = 1
    rows = np.repeat(np.arange(len(X)), w)
    weighted = KMedoids(3, init="build", method="pam").fit(X, sample_weight=w)
    repeated = KMedoids(3, init="build", method="pam").fit(X[rows])
    assert_allclose(weighted.inertia_, repeated.inertia_, rtol=1e-9)
    assert (w[weighted.medoid_indices_] > 0).all()
    assert_array_equal(weighted.labels_, weighted.predict(X))


@pytest.mark.parametrize("n", [200, 600])
def test_as_good_as_the_kmedoids_package(n):
    import kmedoids

    X = table(2, n)
    theirs = [kmedoids.fasterpam(cdist(X, X), 6, random_state=r).loss for r in range(5)]
    ours = [KMedoids(6, random_state=r).fit(X).inertia_ for r in range(5)]
    assert np.mean(ours) < 1.02 * np.mean(theirs)
    assert min(ours) < 1.005 * min(theirs)


def test_distances_functions_and_sparse_rows():
    X = table(3, 40)
    D = cdist(X, X, "cityblock")
    expected = KMedoids(3, metric="manhattan", init="build", random_state=0).fit(X)
    given = KMedoids(3, metric="precomputed", init="build", random_state=0).fit(D)
    assert_allclose(given.inertia_, expected.inertia_, rtol=1e-12)
    assert_array_equal(given.predict(D[:5]), given.labels_[:5])
    stored = KMedoids(3, metric="manhattan", init="build", random_state=0).fit(sp.csr_array(X))
    assert_allclose(stored.inertia_, expected.inertia_, rtol=1e-12)
    mine = KMedoids(3, metric=lambda x, y: np.abs(x - y).sum(), init="build", random_state=0).fit(X)
    assert_allclose(mine.inertia_, expected.inertia_, rtol=1e-12)
    for metric in ("seuclidean", "mahalanobis", "cosine"):
        model = KMedoids(3, metric=metric).fit(X)
        assert_array_equal(model.predict(X), model.labels_)
    with pytest.raises(ValueError, match="estimates V from dense rows only"):
        KMedoids(3, metric="mahalanobis").fit(sp.csr_array(X))


@pytest.mark.parametrize("scale", [1e-300, 1e150, 1e300])
def test_the_range_of_the_numbers_does_not_matter(scale):
    X = table(4)
    model = KMedoids(3, init="build", random_state=0).fit(X * scale)
    assert_array_equal(model.labels_, KMedoids(3, init="build", random_state=0).fit(X).labels_)


def test_few_different_rows_and_bad_starts():
    X = np.repeat([[0.0], [1.0]], 5, axis=0)
    model = KMedoids(4, random_state=0).fit(X)
    assert model.inertia_ == 0.0
    assert len(set(spread_out(cdist(X, X), np.ones(10), 4, np.random.RandomState(0)))) == 4
    with pytest.raises(ValueError, match="n_samples=10 should be >= n_clusters=11"):
        KMedoids(11).fit(X)
    with pytest.raises(ValueError, match="must name 2 rows"):
        KMedoids(2, init=[0, 10]).fit(X)
    with pytest.raises(ValueError, match="symmetric"):
        KMedoids(2, metric="precomputed").fit(np.arange(9.0).reshape(3, 3))
    assert_array_equal(KMedoids(2, init=[0, 9], max_iter=5).fit(X).labels_, [0] * 5 + [1] * 5)


# ---------------------------------------------------------------------------------------- spectral


def rings(n=240, seed=0):
    rng = np.random.default_rng(seed)
    turn, r = rng.uniform(0, 2 * np.pi, n), np.repeat([1.0, 3.0], n // 2)
    ring = r + 0.1 * rng.normal(size=n)
    return np.column_stack([ring * np.cos(turn), ring * np.sin(turn)]), np.repeat([0, 1], n // 2)


@pytest.mark.parametrize("assign", ["kmeans", "discretize", "cluster_qr"])
@pytest.mark.parametrize("affinity", ["rbf", "nearest_neighbors"])
@pytest.mark.parametrize("n", [240, 1000])  # all eigenvectors at once; Lanczos
@pytest.mark.filterwarnings("ignore:Graph is not fully connected")
def test_rings_are_told_apart(assign, affinity, n):
    X, y = rings(n)
    options = {"assign_labels": assign, "affinity": affinity, "gamma": 8.0, "random_state": 0}
    labels = SpectralClustering(2, **options).fit(X).labels_
    theirs = sklearn.cluster.SpectralClustering(2, **options).fit(X).labels_
    assert adjusted_rand_score(labels, y) == adjusted_rand_score(theirs, y) == 1.0


@pytest.mark.parametrize("solver", ["arpack", "lobpcg"])
def test_the_cut_is_the_least_of_its_neighbours(solver):
    A = np.random.default_rng(0).uniform(size=(600, 600)) * 0.05
    A[:300, :300] += 1
    A[300:, 300:] += 1
    A = A + A.T
    labels = spectral_clustering(A, n_clusters=2, eigen_solver=solver, random_state=0)
    assert adjusted_rand_score(labels, np.repeat([0, 1], 300)) == 1.0
    assert_array_equal(
        labels, spectral_clustering(sp.csr_array(A), n_clusters=2, eigen_solver=solver,
                                    random_state=0))  # fmt: skip


def test_the_matrix_has_no_eigenvalue_above_one():
    A = np.abs(np.random.default_rng(0).normal(size=(20, 20)))
    A = A + A.T
    A[3], A[:, 3] = 0.0, 0.0  # a row without affinities
    M, root = normalised(A)
    values = np.linalg.eigvalsh(M)
    assert_allclose(values[-1], 1.0, rtol=1e-12)
    assert values[0] >= -1.0
    assert_allclose(normalised(sp.csr_array(A))[0].toarray(), M, rtol=1e-12)
    assert np.isfinite(root).all()


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS, k=st.integers(2, 5))
def test_indicators_are_found_again(seed, k):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(k), rng.integers(0, k, 40)])
    H = np.eye(k)[y] / np.sqrt(np.bincount(y))
    turned = H @ np.linalg.qr(rng.normal(size=(k, k)))[0] + 1e-3 * rng.normal(size=(len(y), k))
    assert adjusted_rand_score(cluster_qr(turned), y) == 1.0
    assert adjusted_rand_score(discretize(turned, random_state=seed), y) == 1.0


def test_equal_eigenvalues_are_all_found():
    labels = spectral_clustering(np.ones((10, 10)), n_clusters=3, random_state=0)
    assert set(labels) == {0, 1, 2}


def test_bad_input_of_spectral_clustering():
    X = rings(20)[0]
    with pytest.raises(ValueError, match="at most n_samples=20"):
        SpectralClustering(21).fit(X)
    with pytest.raises(ValueError, match="square"):
        spectral_clustering(np.ones((3, 2)))
    with pytest.warns(UserWarning, match="not fully connected"):
        SpectralClustering(2, gamma=50.0, random_state=0).fit(np.repeat(X, 2, axis=0) * 1e3)


@parametrize_with_checks([KMedoids(n_clusters=3), SpectralClustering(n_clusters=3, n_init=2)])
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_spectral_clustering_of_a_graph_that_is_not_symmetric():
    X, _ = make_blobs(random_state=0)
    graph = kneighbors_graph(X, 5, include_self=True)
    model = SpectralClustering(3, affinity="precomputed", random_state=0)
    with pytest.warns(UserWarning, match="not symmetric"):
        labels = model.fit_predict(graph)
    assert_array_equal(labels, model.fit_predict(0.5 * (graph + graph.T)))
