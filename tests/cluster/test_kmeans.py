"""k-means: every algorithm finds what the naive loop finds, and J never rises"""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.cluster
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import (
    check_sample_weight_equivalence_on_dense_data,
    check_sample_weight_equivalence_on_sparse_data,
    parametrize_with_checks,
)

from mlreplica.callbacks import Trace
from mlreplica.cluster import (
    BisectingKMeans,
    KMeans,
    MiniBatchKMeans,
    k_means,
    kmeans_plusplus,
)
from mlreplica.cluster.kmeans.distinct import distinct_rows, has_ties, row_keys
from mlreplica.cluster.kmeans.lloyd import ROUNDED
from mlreplica.cluster.kmeans.mini_batch import draw_by_weight, first_above
from mlreplica.cluster.kmeans.points import Points

SAME = ("auto", "lloyd", "hamerly", "elkan")


def blobs(seed, n=300, p=3, k=5, spread=2.0):
    """Rows around k centres, and k rows to start from."""
    rng = np.random.default_rng(seed)
    X = spread * rng.normal(size=(k, p))[rng.integers(0, k, n)] + rng.normal(size=(n, p))
    return X, X[rng.choice(n, k, replace=False)]


def naive(X, C, w=None, passes=300):
    """Lloyd's loop; labels, centres, J after each pass. Empty clusters get the farthest rows."""
    w = np.ones(len(X)) if w is None else w
    labels, objectives = None, []
    for _ in range(passes):
        D = ((X[:, None] - C) ** 2).sum(axis=2)
        old, labels = labels, D.argmin(axis=1)
        owner, far = labels.copy(), np.argsort(-D.min(axis=1))
        for c, i in zip(np.setdiff1d(range(len(C)), labels), far, strict=False):
            owner[i] = c
        C = np.array([np.average(X[owner == c], 0, w[owner == c]) for c in range(len(C))])
        objectives.append(w @ ((X - C[labels]) ** 2).sum(axis=1))
        if old is not None and (old == labels).all():
            break
    return labels, C, objectives


@pytest.mark.parametrize("algorithm", SAME)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000), p=st.sampled_from([1, 2, 5, 45]), k=st.integers(1, 9))
def test_same_partition_as_the_naive_loop(algorithm, seed, p, k):
    X, C = blobs(seed, p=p, k=k, n=200)
    labels, centers, objectives = naive(X + 50, C + 50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KMeans(k, init=C + 50, n_init=1, tol=0, algorithm=algorithm).fit(X + 50)
    assert_array_equal(model.labels_, labels)
    assert_allclose(model.cluster_centers_, centers, rtol=1e-10)
    assert_allclose(model.inertia_, objectives[-1], rtol=1e-10)
    assert model.n_iter_ == len(objectives)


@pytest.mark.parametrize("algorithm", [*SAME, "macqueen"])
def test_objective_never_rises_and_is_exact_in_every_pass(algorithm):
    X, C = blobs(3, n=2000, p=4, k=12)
    trace = Trace()
    KMeans(12, init=C, tol=0, algorithm=algorithm).set_callbacks(trace).fit(X)
    J = np.array([state["inertia"] for state in trace.states])
    assert (np.diff(J) <= 1e-12 * J[0]).all()
    assert len(J) > 5
    if algorithm != "macqueen":
        assert_allclose(J, naive(X, C)[2], rtol=1e-12)


def test_macqueen_ends_where_lloyd_has_nothing_to_do():
    X, C = blobs(5, n=500, p=2, k=6)
    model = KMeans(6, init=C, tol=0, algorithm="macqueen").fit(X)
    again = KMeans(6, init=model.cluster_centers_, tol=0, algorithm="lloyd").fit(X)
    assert_array_equal(again.labels_, model.labels_)
    assert again.n_iter_ <= 2


@pytest.mark.parametrize("algorithm", [*SAME, "macqueen"])
def test_weight_is_repetition_and_zero_is_absence(algorithm):
    X, C = blobs(7)
    w = np.random.default_rng(0).integers(0, 4, len(X))
    model = KMeans(5, init=C, tol=0, algorithm=algorithm).fit(X, sample_weight=w)
    repeated = KMeans(5, init=C, tol=0, algorithm=algorithm).fit(np.repeat(X, w, axis=0))
    assert_allclose(model.inertia_, repeated.inertia_, rtol=1e-10)
    assert_allclose(model.cluster_centers_, repeated.cluster_centers_, rtol=1e-10)
    assert_array_equal(np.repeat(model.labels_, w), repeated.labels_)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_a_row_of_no_weight_does_not_change_when_to_stop(kind):
    X, C = blobs(7, n=1000, k=12)
    far = np.r_[X, [[1e4, 0.0, 0.0]]]
    w = np.r_[np.ones(len(X)), 0.0]
    model = KMeans(12, init=C).fit(kind(X))
    weighted = KMeans(12, init=C).fit(kind(far), sample_weight=w)
    assert weighted.n_iter_ == model.n_iter_ > 5
    assert_allclose(weighted.cluster_centers_, model.cluster_centers_, rtol=1e-9)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csr_matrix])
def test_one_cluster_is_the_weighted_mean(kind):
    X, _ = blobs(7)
    w = np.random.default_rng(0).integers(0, 4, len(X))
    for estimator in (KMeans, BisectingKMeans):
        model = estimator(1).fit(kind(X), sample_weight=w)
        mean = np.average(X, axis=0, weights=w)
        assert_allclose(model.cluster_centers_, mean[None], rtol=1e-9)
        assert_allclose(model.inertia_, w @ ((X - mean) ** 2).sum(axis=1), rtol=1e-9)


def test_draws_of_weighted_rows_are_distributed_as_those_of_repeated_ones():
    X, w = np.array([[0.0], [1.0], [3.0], [7.0]]), np.array([1, 4, 0, 2])
    m, counts = 4000, []
    for rows, weights in ((X, w), (np.repeat(X, w, axis=0), None)):
        random, count = np.random.RandomState(0), np.zeros((8, 8))
        for _ in range(m):
            C, _ = kmeans_plusplus(
                rows, 2, sample_weight=weights, random_state=random, n_local_trials=1
            )
            count[int(C[0, 0]), int(C[1, 0])] += 1
        counts.append(count / m)
    P = np.zeros((8, 8))
    for i in (0, 1, 3):
        share = w * (X[:, 0] - X[i, 0]) ** 2
        P[int(X[i, 0]), X[:, 0].astype(int)] = w[i] / w.sum() * share / share.sum()
    for count in counts:
        assert_allclose(count, P, rtol=0, atol=5 * 0.5 / np.sqrt(m))  # five standard deviations
        assert (count[P == 0] == 0).all()


@pytest.mark.parametrize("algorithm", SAME)  # macqueen's answer depends on the order of rows
@pytest.mark.parametrize(
    "check",
    [check_sample_weight_equivalence_on_dense_data, check_sample_weight_equivalence_on_sparse_data],
)
def test_scikit_learns_checks_of_weights_hold_where_nothing_is_drawn(check, algorithm):
    C = np.random.default_rng(0).random((3, 30))  # the check's rows have 30 columns
    check("KMeans", KMeans(3, init=C, algorithm=algorithm))


def test_rows_in_doubt_are_settled_in_double_precision():
    rng = np.random.default_rng(0)
    C = np.repeat([[1000.0, 0.0], [-1000.0, 0.0]], 2, axis=0) + rng.normal(size=(4, 2)) * 1e-5
    X = C[rng.integers(0, 4, 500)] + 1e-6 * rng.normal(size=(500, 2))
    points = Points(X, centred=False)
    near, gap = np.empty(500, np.int32), np.empty(500, np.float32)
    points.nearest(points.table(C), points.all, near, gap)
    squares = ((X[:, None] - C) ** 2).sum(axis=2)
    assert_array_equal(near, squares.argmin(axis=1))
    assert points.dtype is np.float64  # single precision is given up


@pytest.mark.parametrize("p", [1, 6, 130])
def test_gaps_are_bounds(p):
    X, C = blobs(11, n=1000, p=p, k=7)
    distances = np.sort(np.sqrt(((X[:, None] - C) ** 2).sum(axis=2)), axis=1)
    for rows in (X, sp.csr_array(X)):
        points, drift = Points(rows), np.arange(7.0)
        near, gap = np.empty(1000, np.int32), np.empty(1000, np.float32)
        points.nearest(points.table(C - points.shift), points.all, near, gap, drift)
        slack = ROUNDED * np.abs(gap)
        found = gap - drift[near]
        assert (found - slack <= distances[:, 1] - distances[:, 0]).all()
        sq, C_sq = ((X - points.shift) ** 2).sum(axis=1), ((C - points.shift) ** 2).sum(axis=1)
        e = 4 * (p + 5) * np.finfo(points.dtype).eps * (sq + C_sq.max())  # (11), with room
        closest = np.sqrt(distances[:, 1] ** 2 - e) - np.sqrt(distances[:, 0] ** 2 + e)
        assert (found >= closest - 2 * slack).all()


@pytest.mark.parametrize("k", [5, 6, 7, 8])
def test_few_rows_are_in_doubt_for_any_number_of_centres(k, monkeypatch):
    doubtful = []
    monkeypatch.setattr(
        "mlreplica.cluster.kmeans.points.compare", lambda X, rows, *_: doubtful.extend(rows)
    )
    X, C = blobs(3, n=2000, p=6, k=k)
    points = Points(X)
    near, gap = np.empty(2000, np.int32), np.empty(2000, np.float32)
    points.nearest(points.table(C - points.shift), points.all, near, gap)
    assert len(doubtful) < 10
    assert points.dtype is np.float32


@pytest.mark.parametrize("p", [3, 60])
def test_sparse_and_single_precision_agree_with_dense(p):
    X, C = blobs(2, p=p)
    X, C = np.where(X > 0.3, X, 0.0), np.where(C > 0.3, C, 0.0)
    dense = KMeans(5, init=C).fit(X)
    sparse = KMeans(5, init=C).fit(sp.csr_array(X))
    single = KMeans(5, init=C).fit(X.astype(np.float32))
    assert_array_equal(sparse.labels_, dense.labels_)
    assert_allclose(sparse.cluster_centers_, dense.cluster_centers_, rtol=1e-9, atol=1e-12)
    assert_array_equal(sparse.predict(sp.csr_array(X)), dense.labels_)
    assert single.cluster_centers_.dtype == np.float32
    assert_allclose(single.inertia_, dense.inertia_, rtol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_same_seed_as_scikit_learn(seed):
    X, _ = blobs(seed, n=800, p=4, k=6)
    centers, rows = kmeans_plusplus(X, 6, random_state=seed)
    assert_array_equal(rows, sklearn.cluster.kmeans_plusplus(X, 6, random_state=seed)[1])
    assert_array_equal(centers, X[rows])
    for name in ("KMeans", "MiniBatchKMeans", "BisectingKMeans"):
        for init in ("k-means++", "random"):
            options = {"n_clusters": 6, "random_state": seed, "init": init, "n_init": 2}
            ours = globals()[name](**options).fit(X)
            theirs = getattr(sklearn.cluster, name)(**options).fit(X)
            assert_array_equal(ours.labels_, theirs.labels_)
            assert_allclose(ours.inertia_, theirs.inertia_, rtol=1e-9)
            assert_array_equal(ours.predict(X[::-1]), theirs.predict(X[::-1]))


def test_an_empty_cluster_gets_the_farthest_row():
    X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0]])
    model = KMeans(3, init=[[0.0], [11.0], [500.0]]).fit(X)
    assert len(np.unique(model.labels_)) == 3
    assert (
        model.inertia_ == sklearn.cluster.KMeans(3, init=[[0.0], [11.0], [500.0]]).fit(X).inertia_
    )


def test_rows_of_no_weight_mend_no_cluster():
    X, w = np.array([[0.0], [1.0], [900.0]]), [1.0, 1.0, 0.0]
    model = KMeans(2, init=[[0.0], [-50.0]]).fit(X, sample_weight=w)
    assert_allclose(np.sort(model.cluster_centers_.ravel()), [0.0, 1.0])


def test_fewer_distinct_rows_than_clusters_is_said():
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(2\)"):
        model = KMeans(3, random_state=0).fit([[0.0], [0.0], [1.0], [1.0]])
    assert model.inertia_ == 0.0


@pytest.mark.parametrize("size", [1e300, 1e-300, 1e30])
@pytest.mark.parametrize("estimator", [KMeans, BisectingKMeans])
def test_huge_and_tiny_numbers(size, estimator):
    X, _ = blobs(1, spread=9.0, k=2)
    X -= X.min()
    plain = estimator(2, random_state=0).fit(X)
    model = estimator(2, random_state=0).fit(X * (size / X.max()))
    assert len(set(zip(plain.labels_, model.labels_, strict=True))) == 2
    assert_array_equal(model.predict(X * (size / X.max())), model.labels_)


def test_bad_input_is_refused_with_reasons():
    X, C = blobs(0)
    for bad, match in (
        ({"n_clusters": 301}, "n_samples=300 should be >= n_clusters=301"),
        ({"init": C[:2]}, "does not match the number of clusters"),
        ({"init": C[:, :2]}, "does not match the number of features"),
        ({"algorithm": "full"}, "algorithm"),
    ):
        with pytest.raises(ValueError, match=match):
            KMeans(**{"n_clusters": 5} | bad).fit(X)
    with pytest.raises(ValueError, match="at least one non-zero"):
        KMeans(2).fit(X, sample_weight=np.zeros(300))
    with pytest.raises(ValueError, match="NaN"):
        KMeans(2).fit(np.where(X > 1, np.nan, X))
    assert KMeans(1).fit([[3.0, 4.0]]).inertia_ == 0.0
    assert k_means(np.ones((9, 2)), 1)[2] == 0.0


def test_many_parts_and_an_offset_change_nothing():
    X, C = blobs(9, n=40_000, p=32, k=5)
    C *= 2
    labels, _, objectives = naive(X + 1e6, C + 1e6)
    model = KMeans(5, init=C + 1e6, tol=0).fit(X + 1e6)
    assert len(Points(X).parts()) > 1
    assert_array_equal(model.labels_, labels)
    assert_allclose(model.inertia_, objectives[-1], rtol=1e-9)


def test_mini_batches_come_close_and_learn_from_a_stream():
    X, _ = blobs(4, n=5000, p=4, k=6, spread=6.0)
    best = KMeans(6, n_init=3, random_state=0).fit(X).inertia_
    batch = MiniBatchKMeans(6, random_state=0, n_init=5).fit(X)
    assert best <= batch.inertia_ * (1 + 1e-12) <= 1.1 * best
    stream = MiniBatchKMeans(6, random_state=0)
    for rows in np.array_split(X, 20):
        stream.partial_fit(rows)
    assert stream.n_steps_ == 20
    assert -stream.score(X) < 2 * best


@pytest.mark.parametrize("model", [KMeans, MiniBatchKMeans, BisectingKMeans])
@pytest.mark.parametrize("init", ["k-means++", "random"])
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000), sparse=st.booleans())
def test_a_weight_is_a_repetition_in_random_starts_too(model, init, seed, sparse):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3)) * (rng.random((40, 3)) < 0.8)
    w = rng.integers(0, 4, 40)
    order, fit = rng.permutation(40), model(4, init=init, n_init=2, random_state=seed)
    weighted, repeated = X[order], np.repeat(X, w, axis=0)
    if sparse:
        weighted, repeated = sp.csr_array(weighted), sp.csr_array(repeated)
    centers = fit.fit(weighted, sample_weight=w[order]).cluster_centers_
    assert_allclose(fit.fit(repeated).cluster_centers_, centers, rtol=1e-9, atol=1e-9)
    centers = fit.fit(weighted, sample_weight=0.1 * w[order]).cluster_centers_
    assert_allclose(fit.fit(repeated).cluster_centers_, centers, rtol=1e-9, atol=1e-9)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000), p=st.sampled_from([1, 3, 20]), levels=st.integers(1, 40))
def test_distinct_rows_are_those_that_numpy_finds(seed, p, levels):
    rng = np.random.default_rng(seed)
    X, w = rng.integers(-levels, levels, (50, p)) / 3, rng.integers(0, 3, 50).astype(float)
    X[X == 0] *= rng.choice([-1.0, 1.0], np.count_nonzero(X == 0))  # 0 and −0 are equal
    unique, group = np.unique(X[w > 0], axis=0, return_inverse=True)
    total = np.bincount(group.ravel(), w[w > 0])
    for rows in (X, sp.csr_array(X), X.astype(np.float32)):
        found, W = distinct_rows(rows, w)
        order = np.lexsort(X[found].T[::-1])
        assert_array_equal(X[found][order], unique)
        assert_array_equal(W[order], total)
    assert_array_equal(row_keys(X), row_keys(sp.csr_array(X)))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000), n=st.sampled_from([1, 2, 7, 64, 1000]), levels=st.integers(1, 9))
@example(seed=488, n=7, levels=2)
def test_ties_are_those_that_sorting_finds(seed, n, levels):
    keys = np.random.default_rng(seed).integers(0, levels**6, n).astype(np.uint64)  # 0, too
    assert has_ties(keys) == (len(np.unique(keys)) < n)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000), n=st.sampled_from([1, 2, 7, 64, 1000]), uneven=st.integers(0, 9))
def test_rows_are_drawn_where_the_running_sum_of_weights_is_reached(seed, n, uneven):
    rng = np.random.default_rng(seed)
    W = np.exp(uneven * rng.normal(size=n))
    ends = np.cumsum(W) / W.sum()
    ends[-1] = 1.0
    u = np.r_[0.0, ends[ends < 1.0], rng.random(99)]
    at = np.empty(len(u), np.int64)
    draw_by_weight(u, ends, first_above(ends), at)
    assert_array_equal(at, np.searchsorted(ends, u, side="right"))


@pytest.mark.parametrize("model", [KMeans, MiniBatchKMeans, BisectingKMeans])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_a_function_may_find_the_first_centres(model, kind):
    X, _ = blobs(6, spread=9.0)
    seen = []

    def first(rows, k, random_state):
        seen.append((k, rows.shape[1], isinstance(random_state, np.random.RandomState)))
        return (rows.toarray() if sp.issparse(rows) else rows)[:: rows.shape[0] // k][:k]

    fit = model(4, init=first, n_init=1, random_state=0).fit(kind(X))
    assert set(seen) == {(2 if model is BisectingKMeans else 4, 3, True)}
    assert_array_equal(fit.predict(kind(X)), fit.labels_)
    with pytest.raises(ValueError, match="does not match the number of clusters"):
        model(4, init=lambda rows, k, random_state: np.zeros((9, 3))).fit(kind(X))


def test_rows_that_weigh_the_same_are_drawn_as_they_stand():
    X, _ = blobs(1)
    assert distinct_rows(X, np.full(300, 0.3)) is None
    assert distinct_rows(np.c_[np.zeros(300), X], np.ones(300)) is None
    rows, W = distinct_rows(np.repeat(X, 3, axis=0), np.ones(900))
    assert_array_equal(rows, np.arange(0, 900, 3))
    assert_array_equal(W, 3.0)


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_fewer_distinct_rows_than_centres(init):
    X = np.repeat([[0.0], [5.0], [9.0]], 4, axis=0)
    for model in (KMeans, MiniBatchKMeans):
        with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(3\)"):
            found = model(5, init=init, random_state=0).fit(X)
        assert found.inertia_ == 0.0


@parametrize_with_checks([KMeans(2), MiniBatchKMeans(2), BisectingKMeans(2)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)
