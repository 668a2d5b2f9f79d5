"""Votes, outliers, densities, prototypes: properties, naive versions, references, checks"""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import neighbors as reference
from sklearn.datasets import load_iris
from sklearn.impute import KNNImputer as ReferenceImputer
from sklearn.metrics import pairwise_distances as reference_distances
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.utils.estimator_checks import parametrize_with_checks

from mlreplica import neighbors
from mlreplica.impute import KNNImputer
from mlreplica.metrics import pairwise
from mlreplica.neighbors import LVQClassifier
from mlreplica.neighbors._lvq_steps import ALGORITHMS, cost_and_gradient, epoch
from mlreplica.neighbors._nca import agreement

X_IRIS, Y_IRIS = load_iris(return_X_y=True)
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda d: np.exp(-d)])
@pytest.mark.parametrize("algorithm", ["auto", "kd_tree", "ball_tree", "brute"])
def test_votes_agree_with_scikit_learn(weights, algorithm):
    X, y = RNG.normal(size=(120, 3)), RNG.integers(0, 3, size=(120, 2))
    Q = np.vstack([RNG.normal(size=(20, 3)), X[:3]])
    for name, target in (("KNeighborsClassifier", y), ("KNeighborsRegressor", y * 1.5)):
        for t in (target, target[:, 0]):
            ours = getattr(neighbors, name)(7, weights=weights, algorithm=algorithm).fit(X, t)
            theirs = getattr(reference, name)(7, weights=weights).fit(X, t)
            assert_allclose(ours.predict(Q), theirs.predict(Q), rtol=1e-12)
            assert_allclose(ours.predict(None), theirs.predict(None), rtol=1e-12)
    if callable(weights):  # of an array of arrays
        return
    for name, target in (("RadiusNeighborsClassifier", y), ("RadiusNeighborsRegressor", y * 1.5)):
        ours = getattr(neighbors, name)(2.5, weights=weights, algorithm=algorithm).fit(X, target)
        theirs = getattr(reference, name)(2.5, weights=weights).fit(X, target)
        assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-12)


def test_leave_one_out_takes_one_pass():
    model = neighbors.KNeighborsClassifier(5).fit(X_IRIS, Y_IRIS)
    slow = cross_val_predict(model, X_IRIS, Y_IRIS, cv=LeaveOneOut())
    assert_array_equal(model.loo_predict_, slow)


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 1000), n=st.integers(6, 60), k=st.integers(1, 5))
def test_lof_is_what_its_equations_say(seed, n, k):
    X = np.random.default_rng(seed).integers(0, 5, size=(n, 2)) + 0.0
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    np.fill_diagonal(D, np.inf)
    N = np.argsort(D, axis=1, kind="stable")[:, :k]
    near = np.take_along_axis(D, N, axis=1)
    lrd = 1 / (np.maximum(near, near[N, -1]).mean(axis=1) + 1e-10)
    model = neighbors.LocalOutlierFactor(k, novelty=True).fit(X)
    assert_allclose(-model.negative_outlier_factor_, lrd[N].mean(axis=1) / lrd, rtol=1e-9)


def test_lof_judges_new_rows_as_scikit_learn_does():
    X = RNG.normal(size=(300, 2))
    Q = RNG.normal(size=(50, 2)) * 3
    ours = neighbors.LocalOutlierFactor(novelty=True, contamination=0.1).fit(X)
    theirs = reference.LocalOutlierFactor(novelty=True, contamination=0.1).fit(X)
    assert_allclose(ours.score_samples(Q), theirs.score_samples(Q), rtol=1e-9)
    assert_array_equal(ours.predict(Q), theirs.predict(Q))


KERNELS = ["gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"]


def test_kernel_density_by_a_function_asks_for_it_in_fit():
    with pytest.raises(ValueError, match="needs metric_params"):
        neighbors.KernelDensity(metric="pyfunc").fit(np.zeros((5, 2)))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("atol", [0.0, 1e-3])
@pytest.mark.parametrize("rtol", [0.0, 0.1])
def test_density_is_within_its_tolerance(kernel, atol, rtol):
    rng = np.random.default_rng(1)
    X, Q, w = rng.normal(size=(400, 2)), rng.normal(size=(60, 2)) * 2, rng.random(400)
    d = np.sqrt(((Q[:, None] - X) ** 2).sum(axis=2)) / 0.7
    K = {"gaussian": np.exp(-d * d / 2), "tophat": d < 1, "epanechnikov": (1 - d * d) * (d < 1),
         "exponential": np.exp(-d), "linear": (1 - d) * (d < 1),
         "cosine": np.cos(np.pi * d / 2) * (d < 1)}[kernel]  # fmt: skip
    truth = K @ w / w.sum()
    unit = reference.KernelDensity(bandwidth=0.7, kernel=kernel).fit(np.zeros((1, 2)))
    at_zero = {"gaussian": 1.0, "exponential": 1.0}.get(kernel, 1.0)
    truth *= np.exp(unit.score_samples(np.zeros((1, 2)))[0]) / at_zero
    model = neighbors.KernelDensity(bandwidth=0.7, kernel=kernel, atol=atol, rtol=rtol)
    for algorithm in ("kd_tree", "ball_tree"):
        found = np.exp(model.set_params(algorithm=algorithm).fit(X, None, w).score_samples(Q))
        assert (np.abs(found - truth) <= atol + rtol * truth + 1e-12 * truth.max()).all()


def test_density_far_from_all_rows_has_a_logarithm():
    X = RNG.normal(size=(50, 2))
    Q = np.array([[1e3, 0.0], [0.0, -1e5]])
    ours = neighbors.KernelDensity(bandwidth=0.1).fit(X).score_samples(Q)
    theirs = reference.KernelDensity(bandwidth=0.1).fit(X).score_samples(Q)
    assert_allclose(ours, theirs, rtol=1e-12)


def test_density_weights_count_rows():
    X = RNG.normal(size=(40, 2))
    w = RNG.integers(0, 3, size=40)
    weighted = neighbors.KernelDensity(kernel="linear").fit(X, sample_weight=w)
    repeated = neighbors.KernelDensity(kernel="linear").fit(np.repeat(X, w, axis=0))
    assert_allclose(weighted.score_samples(X), repeated.score_samples(X), rtol=1e-12)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_imputer_agrees_with_scikit_learn(weights):
    X = RNG.normal(size=(150, 6)) @ RNG.normal(size=(6, 6))
    X[RNG.random(X.shape) < 0.2] = np.nan
    X[:, 5] = np.nan
    X[0] = np.nan
    X[0, 0] = 1.0
    for options in ({}, {"add_indicator": True}, {"keep_empty_features": True}):
        ours = KNNImputer(weights=weights, **options).fit(X[:100])
        theirs = ReferenceImputer(weights=weights, **options).fit(X[:100])
        assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-9)


@pytest.mark.parametrize("shrink", [None, 0.5])
def test_centroids_agree_with_scikit_learn(shrink):
    for metric in ("euclidean", "manhattan"):
        options = {"metric": metric, "shrink_threshold": shrink}
        ours = neighbors.NearestCentroid(**options).fit(X_IRIS, Y_IRIS)
        theirs = reference.NearestCentroid(**options).fit(X_IRIS, Y_IRIS)
        assert_allclose(ours.centroids_, theirs.centroids_, rtol=1e-12)
        assert_array_equal(ours.predict(X_IRIS), theirs.predict(X_IRIS))


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 1000), learned=st.booleans())
def test_gradients_of_glvq_agree_with_finite_differences(seed, learned):
    rng = np.random.default_rng(seed)
    X, y, s = rng.normal(size=(15, 3)), rng.integers(0, 2, 15), rng.random(15)
    W, codes = rng.normal(size=(4, 3)), np.array([0, 0, 1, 1])
    Omega = rng.normal(size=(3, 3)) if learned else np.empty((0, 1))

    def cost(W, Omega):
        return cost_and_gradient(X, y, s, W, codes, Omega, 2.0, np.zeros((4, 3)), np.zeros((3, 3)))

    GW, GO = np.zeros((4, 3)), np.zeros((3, 3))
    cost_and_gradient(X, y, s, W, codes, Omega, 2.0, GW, GO)
    h = 1e-6
    for A, G in ((W, GW), (Omega, GO)) if learned else ((W, GW),):
        for index in np.ndindex(A.shape):
            kept = A[index]
            A[index] = kept + h
            up = cost(W, Omega)
            A[index] = kept - h
            down = cost(W, Omega)
            A[index] = kept
            assert_allclose(G[index], (up - down) / (2 * h), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("each", [1, 2])
def test_lvq_learns_iris_in_any_unit(algorithm, each):
    model = LVQClassifier(algorithm, prototypes_per_class=each, random_state=0)
    assert model.fit(X_IRIS, Y_IRIS).score(X_IRIS, Y_IRIS) > 0.93
    scaled = LVQClassifier(algorithm, prototypes_per_class=each, random_state=0)
    scaled.fit(X_IRIS * 1e200, Y_IRIS)
    assert_array_equal(scaled.predict(X_IRIS * 1e200), model.predict(X_IRIS))
    assert_allclose(np.trace(model.lambda_), 1.0 if algorithm == "gmlvq" else 4.0)


def test_lvq1_moves_one_prototype_by_its_rule():
    X, y = np.array([[0.0], [4.0], [3.0]]), np.array([0, 1, 0])
    model = LVQClassifier(
        "lvq1", learning_rate=0.5, schedule="constant", max_iter=1, random_state=0
    )
    model.fit(X, y)
    order = np.random.RandomState(0)
    W = np.array([1.5, 4.0])
    for i in order.permutation(np.argsort(X[:, 0])):  # rows are sorted before the draw
        k = np.abs(X[i, 0] - W).argmin()
        W[k] += (0.5 if k == y[i] else -0.5) * (X[i, 0] - W[k])
    assert_allclose(model.prototypes_[:, 0], W, rtol=1e-12)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_lvq_leaves_out_rows_of_weight_0(algorithm):
    rng = np.random.default_rng(0)
    keep = rng.random(150) < 0.7
    model = LVQClassifier(algorithm, prototypes_per_class=2, max_iter=3, random_state=0)
    some = model.fit(X_IRIS[keep], Y_IRIS[keep]).prototypes_
    assert_array_equal(model.fit(X_IRIS, Y_IRIS, sample_weight=keep * 1.0).prototypes_, some)
    with pytest.raises(ValueError, match="at least one non-zero"):
        model.fit(X_IRIS, Y_IRIS, sample_weight=np.zeros(150))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_lvq_weight_2_is_repetition_in_any_order(algorithm):
    rng = np.random.default_rng(0)
    s = rng.integers(0, 4, 150)
    often = rng.permutation(np.repeat(np.arange(150), s))
    model = LVQClassifier(algorithm, prototypes_per_class=2, max_iter=3, random_state=0)
    weighted = model.fit(X_IRIS, Y_IRIS, sample_weight=s).prototypes_
    assert_array_equal(model.fit(X_IRIS[often], Y_IRIS[often]).prototypes_, weighted)


def test_lvq_many_equal_rows_take_small_steps():
    X, y = np.repeat([[0.0], [10.0], [12.0]], 1000, axis=0), np.repeat([0, 1, 1], 1000)
    model = LVQClassifier("lvq1", max_iter=1, schedule="constant", random_state=0).fit(X, y)
    assert abs(model.prototypes_[1, 0] - 11.0) < 0.9  # not at the row that came last


def test_lvq_cost_counts_a_row_of_weight_2_twice():
    rng = np.random.default_rng(0)
    s = rng.integers(0, 3, 150)
    model = LVQClassifier("gmlvq", random_state=0).fit(X_IRIS, Y_IRIS, sample_weight=s)
    twice = np.repeat(np.arange(150), s)
    weighted = model.cost(X_IRIS, Y_IRIS, sample_weight=s)
    for found, expected in zip(weighted, model.cost(X_IRIS[twice], Y_IRIS[twice]), strict=True):
        assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_olvq1_weight_2_is_two_visits():
    X, y = np.array([[0.0], [4.0], [1.0]]), np.array([0, 1, 0])
    s, W, rates = np.array([1.0, 1.0, 2.0]), np.array([[0.5], [4.0]]), np.array([0.2, 0.2])
    rest = (np.empty((0, 1)), rates, 0.2, 0.0, 0.3, 0.3, 2.0)
    epoch(1, X, y, s, np.array([2]), W, np.arange(2), *rest)
    assert_allclose(1 / rates[0], 1 / 0.2 + 2.0, rtol=1e-12)  # as after two visits
    assert_allclose(W[0, 0], 0.5 + 0.4 * 0.5, rtol=1e-12)


def test_lvq_learns_from_parts():
    model = LVQClassifier("glvq", schedule="constant", random_state=0)
    rng = np.random.default_rng(0)
    for _ in range(10):
        rows = rng.permutation(150)[:60]
        model.partial_fit(X_IRIS[rows], Y_IRIS[rows], classes=[0, 1, 2])
    assert model.n_iter_ == 10
    assert model.score(X_IRIS, Y_IRIS) > 0.9
    with pytest.raises(ValueError, match="not in the first call"):
        model.partial_fit(X_IRIS[:2], [7, 7])


def test_gradient_of_nca_agrees_with_finite_differences():
    rng = np.random.default_rng(0)
    X, codes, L = rng.normal(size=(20, 3)), rng.integers(0, 3, 20), rng.normal(size=(2, 3))
    _, G = agreement(L, X, codes)
    for index in np.ndindex(L.shape):
        E = np.zeros_like(L)
        E[index] = 1e-6
        slope = (agreement(L + E, X, codes)[0] - agreement(L - E, X, codes)[0]) / 2e-6
        assert_allclose(G[index], slope, rtol=1e-5, atol=1e-7)


def test_euclidean_distances_keep_their_digits():
    """Two rows 1e-7 apart at 1e3: the product alone would keep one digit."""
    X = np.array([[1000.0, 1000.0], [1000.0, 1000.0 + 1e-7]])
    true = X[1, 1] - X[0, 1]
    assert_allclose(pairwise.euclidean_distances(X)[0, 1], true, rtol=1e-14)


def test_matching_compares_numbers_not_truths():
    """SciPy and scikit-learn take it for another name of hamming."""
    X = np.array([[1.0, 2.0, 0.0], [1.0, 3.0, 0.0]])
    found = pairwise.pairwise_distances(X, metric="matching")
    assert_allclose(found, reference_distances(X, metric="matching"), rtol=1e-15)
    assert_allclose(found[0, 1], 1 / 3, rtol=1e-15)


def test_given_distances_must_fit_and_a_sphere_has_two_columns():
    D = reference_distances(X_IRIS[:20])
    search = neighbors.NearestNeighbors(n_neighbors=3, metric="precomputed").fit(D)
    with pytest.raises(ValueError, match=r"Got \(2, 4\) for 20 indexed"):
        search.kneighbors(X_IRIS[:2])
    with pytest.raises(ValueError, match="only valid in 2 dimensions"):
        neighbors.BallTree(X_IRIS[:9, :3], metric="haversine")
    brute = neighbors.NearestNeighbors(metric="haversine", algorithm="brute").fit(X_IRIS[:9, :3])
    with pytest.raises(ValueError, match="only valid in 2 dimensions"):
        brute.kneighbors()


def test_a_function_of_sparse_rows_gets_sparse_rows():
    def overlap(x, y):
        return -(x @ y.T).sum()

    S = sp.csr_array(np.eye(4) + np.eye(4, k=1))
    search = neighbors.NearestNeighbors(n_neighbors=2, metric=overlap).fit(S)
    assert_array_equal(search.kneighbors(S[:2], return_distance=False), [[0, 1], [1, 0]])


def test_one_row_needs_no_more_than_a_query():
    model = neighbors.KNeighborsClassifier().fit(X_IRIS, Y_IRIS)
    assert_array_equal(np.concatenate([model.predict(x[None]) for x in X_IRIS[::10]]),
                       model.predict(X_IRIS[::10]))  # fmt: skip


@pytest.mark.parametrize("name", ["KDTree", "BallTree"])
def test_trees_answer_as_scikit_learns(name):
    X, Q = RNG.normal(size=(200, 3)), RNG.normal(size=(15, 3))
    ours, theirs = (getattr(m, name)(X, leaf_size=10) for m in (neighbors, reference))
    ours = pickle.loads(pickle.dumps(ours))
    for a, b in zip(ours.query(Q, k=4), theirs.query(Q, k=4), strict=True):
        assert_allclose(a, b, rtol=1e-12)
    assert_array_equal(ours.query_radius(Q, 1.0, count_only=True),
                       theirs.query_radius(Q, 1.0, count_only=True))  # fmt: skip
    for a, b in zip(ours.query_radius(Q, 1.0), theirs.query_radius(Q, 1.0), strict=True):
        assert_array_equal(np.sort(a), np.sort(b))
    r = np.linspace(0, 3, 7)
    assert_array_equal(ours.two_point_correlation(Q, r), theirs.two_point_correlation(Q, r))
    assert_allclose(ours.kernel_density(Q, 0.5), theirs.kernel_density(Q, 0.5), rtol=1e-7)


def test_a_look_at_a_model_does_not_search():
    """`dir` and the HTML of a notebook ask for every attribute that `dir` lists."""
    model = neighbors.RadiusNeighborsClassifier(radius=1e-9).fit(X_IRIS, Y_IRIS)
    with pytest.raises(ValueError, match="No neighbors found"):
        _ = model.loo_predict_
    assert "loo_predict_" not in dir(model)
    assert "predict_proba" in dir(model)
    assert "RadiusNeighborsClassifier" in model._repr_html_()


def test_dense_rows_answer_sparse_queries():
    X, Q = RNG.normal(size=(40, 6)), sp.random(9, 6, 0.4, format="csr", random_state=0)
    for metric in ("euclidean", "manhattan", "cosine"):
        search = neighbors.NearestNeighbors(metric=metric, algorithm="brute", radius=2.0).fit(X)
        for a, b in zip(search.kneighbors(Q), search.kneighbors(Q.toarray()), strict=True):
            assert_allclose(a, b, rtol=1e-12)
        near = search.radius_neighbors(Q, return_distance=False)
        for a, b in zip(near, search.radius_neighbors(Q.toarray())[1], strict=True):
            assert_array_equal(np.sort(a), np.sort(b))


def test_sparse_rows_have_a_nearest_row_by_any_name():
    A, B = (sp.random(m, 6, 0.4, format="csr", random_state=m) for m in (20, 7))
    found = pairwise.pairwise_distances_argmin_min(A, B, metric="chebyshev")
    dense = pairwise.pairwise_distances_argmin_min(A.toarray(), B.toarray(), metric="chebyshev")
    assert_array_equal(found[0], dense[0])
    assert_allclose(found[1], dense[1], rtol=1e-14)


@pytest.mark.parametrize("name", ["KDTree", "BallTree"])
def test_trees_refuse_what_has_no_answer(name):
    tree = getattr(neighbors, name)(X_IRIS)
    with pytest.raises(ValueError, match="NaN"):
        tree.query([[np.nan, 0.0, 0.0, 0.0]])
    with pytest.raises(ValueError, match="k must be >= 1"):
        tree.query(X_IRIS[:2], k=0)
    with pytest.raises(ValueError, match="r must be a number"):
        tree.query_radius(X_IRIS[:2], [1.0, 1.0, 1.0])
    assert_array_equal(tree.query_radius(X_IRIS[:2], -1.0, count_only=True), [0, 0])
    assert [len(a) for a in tree.query_radius(X_IRIS[:2], -1.0)] == [0, 0]


def test_priors_are_as_many_as_classes():
    with pytest.raises(ValueError, match="each of 3 classes"):
        neighbors.NearestCentroid(priors=[0.5, 0.5]).fit(X_IRIS, Y_IRIS)


def test_imputer_fills_float32_without_a_warning():
    X = np.array([[1.0, np.nan], [1.0, 2.0], [5.0, 9.0]], dtype=np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        filled = KNNImputer(n_neighbors=1).fit_transform(X)
    assert filled.dtype == np.float32
    assert filled[0, 1] == 2.0


@pytest.mark.filterwarnings("ignore:Duplicate values are leading")
@parametrize_with_checks(
    [
        neighbors.KNeighborsClassifier(),
        neighbors.KNeighborsRegressor(),
        neighbors.RadiusNeighborsClassifier(outlier_label="most_frequent"),
        neighbors.RadiusNeighborsRegressor(radius=3.0),
        neighbors.NearestNeighbors(),
        neighbors.KNeighborsTransformer(),
        neighbors.RadiusNeighborsTransformer(),
        neighbors.LocalOutlierFactor(5),
        neighbors.LocalOutlierFactor(5, novelty=True),
        neighbors.KernelDensity(),
        neighbors.NearestCentroid(),
        neighbors.LVQClassifier(),
        neighbors.NeighborhoodComponentsAnalysis(max_iter=5),
        KNNImputer(),
    ],
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
