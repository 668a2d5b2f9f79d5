"""Trees, products and scans find the same neighbours as the naive search"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from mlreplica.core.formulas.distances import NAMES, distance_named
from mlreplica.core.space import NeighbourIndex
from mlreplica.core.space.density import log_sums
from mlreplica.core.space.products import ProductSearch
from mlreplica.core.space.textbook import sum_states, walk_states
from mlreplica.core.space.tree import PAD

ALGORITHMS = ["kd_tree", "ball_tree", "brute"]


def naive(X, Q, k, p=2.0, own=None):
    """Distances and indices in the order (2) of the walk, from all differences."""
    T = np.abs(Q[:, None, :] - X[None])
    r = T.max(axis=2) if p == np.inf else sum(T[:, :, j] ** p for j in range(T.shape[2]))
    if own is not None:
        r[np.arange(len(Q)), own] = np.inf
    N = np.argsort(r, axis=1, kind="stable")[:, :k]
    r = np.take_along_axis(r, N, axis=1)
    return r if p == np.inf else r ** (1.0 / p), N


grids = st.tuples(st.integers(0, 10_000), st.integers(1, 150), st.integers(1, 5), st.integers(1, 6))


@settings(deadline=None, max_examples=60)
@given(
    grid=grids,
    power=st.sampled_from([0, 0, 0, 996, -996]),
    norm=st.sampled_from([1.0, 2.0, np.inf]),
)
def test_all_algorithms_find_the_exact_neighbours_of_whole_numbers(grid, power, norm):
    """Whole numbers have exact distances: equal points and ties must come in order of index."""
    seed, n, p, width = grid
    rng = np.random.default_rng(seed)
    X, Q = (rng.integers(0, width, size=(m, p)).astype(float) for m in (n, 40))
    k = int(rng.integers(1, n + 1))
    X[0, 0] = 1.0  # the unit of length is that of the rows
    scale = 2.0**power
    D, N = naive(X, Q, k, norm)
    for algorithm in ALGORITHMS:
        index = NeighbourIndex(X * scale, distance_named("minkowski", norm), algorithm, leaf_size=8)
        d, i = index.nearest(Q * scale, k)
        assert_array_equal(i, N, err_msg=algorithm)
        assert_allclose(d / scale, D, rtol=1e-14, err_msg=algorithm)
        start, d, i = index.within(Q * scale, 1.0 * scale)
        full, order = naive(X, Q, n, norm)
        for q in range(len(Q)):
            found = np.sort(i[start[q] : start[q + 1]])
            assert_array_equal(found, np.sort(order[q][full[q] <= 1.0]), err_msg=algorithm)


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000), p=st.integers(1, 40), spread=st.sampled_from([1.0, 1e-3, 1e-9]))
def test_products_lose_no_neighbour(seed, p, spread):
    """Groups far apart, tight or not: what single precision cannot tell is measured again."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, p)) * spread + rng.integers(0, 4, size=(600, 1)) * 100.0
    own = np.arange(len(X))
    D, N = np.empty((600, 5)), np.empty((600, 5), np.int64)
    undone = ProductSearch(X).nearest(X, own, D, N, 1)
    d, i = NeighbourIndex(X, "euclidean", "kd_tree").nearest(X, 5, own)
    done = np.setdiff1d(own, undone)
    assert_array_equal(N[done], i[done])
    assert_array_equal(np.sqrt(D[done]), d[done])
    assert len(undone) == 0 or spread < 1.0
    assert_array_equal(NeighbourIndex(X, "euclidean", "brute").nearest(X, 5, own)[1], i)


@pytest.mark.parametrize("name", NAMES)
def test_every_distance_agrees_with_scipy(name):
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(90, 2)), rng.normal(size=(7, 2))
    options = {"seuclidean": {"V": [0.5, 2.0]}, "mahalanobis": {"VI": [[2.0, 0.5], [0.5, 1.0]]}}
    if name in ("minkowski", "p"):
        options[name] = {"p": 3.0, "w": [0.3, 2.0]}
    if name not in ("euclidean", "haversine", "nan_euclidean"):
        X, Q = np.column_stack([X, X > 0, -X]), np.column_stack([Q, Q > 0, -Q])
        if name in options:
            X, Q = X[:, :2], Q[:, :2]
    known = {"l1": "cityblock", "manhattan": "cityblock", "l2": "euclidean", "p": "minkowski",
             "infinity": "chebyshev", "nan_euclidean": "euclidean", "matching": "hamming",
             "sokalmichener": "rogerstanimoto"}  # fmt: skip
    distance = distance_named(name, parameters=options.get(name), X=X)
    truths = (
        "jaccard",
        "dice",
        "rogerstanimoto",
        "sokalmichener",
        "russellrao",
        "sokalsneath",
        "yule",
    )
    if name in (*truths, "matching"):
        X, Q = X > 0, Q > 0
    if name == "haversine":
        a = np.sin((Q[:, None] - X) / 2) ** 2
        full = np.cos(Q[:, None, 0]) * np.cos(X[:, 0]) * a[:, :, 1] + a[:, :, 0]
        full = 2 * np.arcsin(np.sqrt(full))
    else:
        full = cdist(Q, X, known.get(name, name), **options.get(name, {}))
    for algorithm in ALGORITHMS if name != "nan_euclidean" else ["brute"]:
        if algorithm == "kd_tree" and distance.f is not None:
            continue
        index = NeighbourIndex(X, distance, algorithm, leaf_size=8)
        d, i = index.nearest(Q, 6)
        assert_allclose(d, np.sort(full, axis=1)[:, :6], rtol=1e-10, atol=1e-12)
        assert_allclose(d, np.take_along_axis(full, i, axis=1), rtol=1e-10, atol=1e-12)
        radius = np.median(full)
        start, d, i = index.within(Q, radius * (1 + 1e-12))
        assert_array_equal(np.diff(start), (full <= radius * (1 + 1e-12)).sum(axis=1))


def test_queries_may_lie_beyond_the_squares_of_numbers():
    X = np.array([[0.0], [1.0], [2.0]])
    for algorithm in ALGORITHMS:
        d, i = NeighbourIndex(X, "euclidean", algorithm).nearest([[1e200], [-1e200]], 1)
        assert_array_equal(d, [[1e200], [1e200]])
    d, i = NeighbourIndex(X * 1e300, "euclidean", "kd_tree").nearest([[1.9e300]], 2)
    assert_array_equal(i, [[2, 1]])
    assert_allclose(d, [[1e299, 9e299]])


def test_a_function_is_compiled_or_called_by_python():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    expected = NeighbourIndex(X, "manhattan", "brute").nearest(X[:9], 4)
    for f in (lambda x, y: np.abs(x - y).sum(), lambda x, y: sum(map(abs, (x - y).tolist()))):
        index = NeighbourIndex(X, f, "ball_tree")
        d, i = index.nearest(X[:9], 4)
        assert_array_equal(i, expected[1])
        assert_allclose(d, expected[0], rtol=1e-14, atol=1e-15)
        assert_array_equal(np.diff(index.within(X[:9], 1.0)[0]),
                           (np.abs(X[:9, None] - X).sum(axis=2) <= 1.0).sum(axis=1))  # fmt: skip


def weighted_sum(x, y, w, power=1.0):
    s = 0.0
    for j in range(len(x)):
        s += w[j] * abs(x[j] - y[j]) ** power
    return s


def test_a_function_with_parameters_is_compiled_too():
    X = np.random.default_rng(0).normal(size=(60, 3))
    w = np.array([1.0, 2.0, 0.5])
    expected = NeighbourIndex(X * w, "manhattan", "brute").nearest(X[:9] * w, 4)
    distance = distance_named(weighted_sum, parameters={"w": w})
    assert not distance.python
    assert distance_named(weighted_sum, parameters={"w": w.copy()}).f is distance.f  # kept
    d, i = NeighbourIndex(X, distance, "ball_tree").nearest(X[:9], 4)
    assert_array_equal(i, expected[1])
    assert_allclose(d, expected[0], rtol=1e-14, atol=1e-15)
    assert distance_named(weighted_sum, parameters={"w": w.tolist()}).python
    with pytest.raises(TypeError, match="unexpected keyword"):
        distance_named(weighted_sum, parameters={"q": 1.0}).f(X[0], X[1])


@pytest.mark.parametrize("name", ["sqeuclidean", "seuclidean", "mahalanobis"])
@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_squares_and_variances_of_rows_of_any_size(name, size):
    X = np.random.default_rng(0).normal(size=(100, 3))
    expected = NeighbourIndex(X, name, "brute").nearest(X, 4)
    with np.errstate(over="ignore"):
        d, i = NeighbourIndex(X * size, name, "brute").nearest(X * size, 4)
    assert_array_equal(i, expected[1])
    if name != "sqeuclidean":
        assert_allclose(d, expected[0], rtol=1e-9, atol=1e-12)


def test_parameters_must_fit_the_rows():
    X = np.column_stack([np.arange(9.0), np.ones(9)])
    for name, options in (("minkowski", {"w": [1.0] * 3}), ("seuclidean", {"V": [1.0] * 3}),
                        ("mahalanobis", {"VI": np.eye(3)})):  # fmt: skip
        with pytest.raises(ValueError, match="3 columns; the rows have 2"):
            NeighbourIndex(X, distance_named(name, parameters=options))
    with pytest.raises(ValueError, match="column 1 has no usable variance"):
        distance_named("seuclidean", X=X)
    with pytest.raises(np.linalg.LinAlgError, match="give VI"):
        distance_named("mahalanobis", X=X)


def test_nothing_is_within_a_negative_radius():
    X = np.random.default_rng(0).normal(size=(30, 2))
    for p in (1.0, 2.0, 3.0, np.inf):
        for algorithm in ALGORITHMS:
            index = NeighbourIndex(X, distance_named("minkowski", p), algorithm)
            assert_array_equal(index.within(X, -1.0)[0], 0)


def test_trees_refuse_a_function_that_is_not_symmetric():
    X = np.arange(12.0).reshape(6, 2)
    with pytest.raises(ValueError, match="not symmetric"):
        NeighbourIndex(X, lambda x, y: x[0] - 2 * y[0], "ball_tree")


def test_a_function_may_have_the_name_of_a_distance():
    X = np.random.default_rng(0).normal(size=(40, 2)) * [1.0, 5.0]

    def cosine(x, y):
        return abs(x[0] - y[0])

    def hamming(x, y):
        return x[0] - 2 * y[0]

    expected = NeighbourIndex(X[:, :1], "manhattan", "brute").nearest(X[:, :1], 3)
    for algorithm in ("brute", "ball_tree"):
        found = NeighbourIndex(X, cosine, algorithm).nearest(X, 3)
        assert_array_equal(found[1], expected[1])
        assert_allclose(found[0], expected[0], rtol=1e-14)
    with pytest.raises(ValueError, match="not symmetric"):
        NeighbourIndex(X, hamming, "ball_tree")


def test_a_function_without_triangle_inequality_is_searched_whole():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    index = NeighbourIndex(X, lambda x, y: ((x - y) ** 2).sum(), "ball_tree")
    assert not index.distance.triangle
    assert_array_equal(index.nearest(X, 5)[1], NeighbourIndex(X).nearest(X, 5)[1])


def test_a_full_buffer_is_continued():
    """Twice as many neighbours as a buffer holds, for one query and for many."""
    X = np.zeros((70_000, 1))
    start, _, i = NeighbourIndex(X, "euclidean", "kd_tree").within([[0.0], [5.0], [0.0]], 1.0)
    assert_array_equal(start, [0, 70_000, 70_000, 140_000])
    assert_array_equal(np.sort(i[:70_000]), np.arange(70_000))


def test_the_tree_holds_every_point_once_and_encloses_it():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    for kind in ("kd_tree", "ball_tree"):
        tree = NeighbourIndex(X, "euclidean", kind).tree(kind)
        assert_array_equal(np.sort(tree.number[tree.number != PAD]), np.arange(3000))
        for i in range(len(tree.first)):
            rows = tree.number[tree.first[i] * tree.block : tree.last[i] * tree.block]
            inside = X[rows[rows != PAD]]
            if kind == "kd_tree":
                assert_array_equal(tree.bounds[i], [inside.min(axis=0), inside.max(axis=0)])
            else:
                far = np.sqrt(((inside - tree.bounds[i, 0]) ** 2).sum(axis=1)).max()
                assert_allclose(tree.radius[i], far, rtol=1e-12)


def test_auto_measures():
    rng = np.random.default_rng(0)
    assert NeighbourIndex(rng.normal(size=(5000, 2))).algorithm == "kd_tree"
    assert NeighbourIndex(rng.normal(size=(5000, 40))).algorithm == "brute"
    surface = rng.normal(size=(5000, 2)) @ rng.normal(size=(2, 40))
    assert NeighbourIndex(surface).algorithm == "kd_tree"


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 1000), k=st.integers(1, 6))
def test_the_textbook_walk_looks_at_the_leaves_that_the_compiled_one_does(seed, k):
    rng = np.random.default_rng(seed)
    X, x = rng.normal(size=(120, 2)), rng.normal(size=2)
    index = NeighbourIndex(X, "euclidean", "kd_tree", leaf_size=8)
    states = list(walk_states(index.tree("kd_tree"), X, x, k))
    assert_array_equal(states[-1].nearest, index.nearest(x[None], k)[1][0])
    assert sum(state.action == "measure" for state in states) == index.measured


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 1000), rtol=st.sampled_from([0.0, 1e-3, 0.3]))
def test_the_textbook_sum_is_the_compiled_one(seed, rtol):
    rng = np.random.default_rng(seed)
    X, x = rng.normal(size=(120, 2)), rng.normal(size=2)
    index = NeighbourIndex(X, "euclidean", "kd_tree", leaf_size=8)
    *_, last = sum_states(index.tree("kd_tree"), X, x, 0.7, rtol=rtol)
    exact = np.exp(-0.5 * ((X - x) ** 2).sum(axis=1) / 0.49).sum()
    assert abs(last.total - exact) <= (rtol + 1e-12) * exact
    assert_allclose(last.total, np.exp(log_sums(index, x[None], "gaussian", 0.7, rtol=rtol)[0]))
