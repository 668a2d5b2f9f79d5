"""The kernels against loops that one can read, and the traps each was built for"""

import numpy as np
import pytest

from mlreplica import metrics
from mlreplica.metrics import _confusion, _regression, _residual_sums, _silhouette, _sweep

rng = np.random.default_rng(3)
N = 5000


def test_pairs_are_counted_and_weighed():
    t, p, w = rng.integers(-2, 3, N), rng.integers(-2, 3, N), rng.random(N)
    C, W = np.zeros((5, 5), int), np.zeros((5, 5))
    for a, b, c in zip(t, p, w, strict=True):
        C[a + 2, b + 2] += 1
        W[a + 2, b + 2] += c
    np.testing.assert_array_equal(_confusion.count_pairs(t, p, -2, 5, 25), C.ravel())
    count, weight = _confusion.weigh_pairs(t, p, -2, 5, w, 25)
    np.testing.assert_array_equal(count, C.ravel())
    np.testing.assert_allclose(weight, W.ravel(), rtol=1e-12)


@pytest.mark.parametrize("distinct", [1, 3, 2048, 2049])
def test_strings_are_numbered(distinct, monkeypatch):
    monkeypatch.setattr(_confusion, "LARGE", 1)
    words = np.array([f"{'x' * (i % 5)}{i}" for i in range(distinct)])
    y = words[rng.integers(0, distinct, N)]
    labels, code = _confusion.encode_strings(y)
    np.testing.assert_array_equal(labels, np.unique(y))
    np.testing.assert_array_equal(labels[code], y)


def test_empty_strings_are_labels(monkeypatch):
    monkeypatch.setattr(_confusion, "LARGE", 1)
    y, p = np.array(["", "", ""]), np.array(["", "a", "b"])
    np.testing.assert_array_equal(metrics.confusion_matrix(y, p)[0], [1, 1, 1])
    with pytest.warns(UserWarning, match="single label"):
        np.testing.assert_array_equal(metrics.confusion_matrix(y, y), [[3]])


def test_many_classes_take_no_square_of_memory():
    y = np.arange(200_000) * 3
    assert metrics.f1_score(y, y, average="macro") == 1.0
    assert metrics.adjusted_rand_score(y, y) == 1.0


@pytest.mark.parametrize("scale", [1e-320, 1e-3, 1.0, 1e300])
def test_radix_order_sorts(scale):
    s = np.concatenate([rng.normal(size=N), [0.0, -0.0, 1.0, 1.0], rng.integers(-3, 3, N)]) * scale
    order, key = np.empty((2, len(s)), np.int64), np.empty((2, len(s)), np.uint64)
    passes = _sweep.radix_order(s.view(np.int64), order[0], key[0], order[1], key[1])
    order = order[passes % 2]
    np.testing.assert_array_equal(s[order], np.sort(s)[::-1])
    np.testing.assert_array_equal(np.sort(order), np.arange(len(s)))


def test_area_counts_pairs():
    a, b = np.sort(np.round(rng.normal(size=300), 1)), np.sort(np.round(rng.normal(size=200), 1))
    pairs = sum(2 * int(u > v) + int(u == v) for u in a for v in b)
    assert _sweep.twice_area(a, b) == pairs


def test_walk_is_the_sweep_of_a_sort(monkeypatch):
    y, s = rng.random(N) < 0.3, np.round(rng.normal(size=N), 2)
    for corners in (True, False):
        small = _sweep.sweep(y, s, corners=corners)
        monkeypatch.setattr(_sweep, "LARGE", 1)
        for a, b in zip(small, _sweep.sweep(y, s, corners=corners), strict=True):
            np.testing.assert_array_equal(a, b)
        monkeypatch.undo()


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_spreads_keep_their_digits(offset):
    y, f, w = rng.normal(size=N) + offset, rng.normal(size=N) + offset, rng.random(N)
    for weight in (np.empty(0), w):
        c = weight if len(weight) else np.ones(N)
        W, m_y, S_y, m_e, S_e = _residual_sums.spreads(y, f, weight)
        e, exact = y - f, np.longdouble(y)
        mean = np.average(exact, weights=c)
        assert pytest.approx(c.sum()) == W
        assert m_y == pytest.approx(float(mean), rel=1e-14)
        assert S_y == pytest.approx(float((c * (exact - mean) ** 2).sum()), rel=1e-9)
        assert m_e == pytest.approx(np.average(e, weights=c), rel=1e-9)
        assert S_e == pytest.approx((c * (e - np.average(e, weights=c)) ** 2).sum(), rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 7, 1000, 1001])
def test_median_is_exact(n, monkeypatch):
    monkeypatch.setattr(_regression, "LARGE", 1)
    for y in (
        rng.normal(size=n),
        np.round(rng.normal(size=n)),
        np.zeros(n),
        rng.normal(size=n) ** 9,
    ):
        f = np.roll(y, 1) * 1.1
        assert _regression.median_of(y, f) == np.median(np.abs(y - f))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["mean_squared_error", "median_absolute_error", "r2_score",
                                  "max_error", "mean_absolute_percentage_error"])  # fmt: skip
def test_what_is_not_finite_is_found(name, bad, way):
    for at in (0, 50, 99):
        y, f = rng.normal(size=100), rng.normal(size=100)
        y[at] = bad
        with pytest.raises(ValueError, match="Input contains"):
            getattr(metrics, name)(y, f)
        with pytest.raises(ValueError, match="Input contains"):
            getattr(metrics, name)(f, y)


def test_distances_are_summed():
    X, code = rng.normal(size=(300, 7)), np.sort(rng.integers(0, 3, 300))
    sizes = np.bincount(code)
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    expected = np.stack([D[:, code == c].sum(axis=1) for c in range(3)], axis=1)
    starts, sums = np.append(0, np.cumsum(sizes)), np.empty((300, 3))
    _silhouette.sum_distances(np.ascontiguousarray(X.T), np.arange(300), starts, sums)
    np.testing.assert_allclose(sums, expected, rtol=1e-12)
    for width in (7, 40):
        wide = np.tile(X, 6)[:, :width]
        shuffled = rng.permutation(300)
        sums = _silhouette.cluster_distances(wide[shuffled], code[shuffled], sizes)
        D = np.sqrt(((wide[:, None] - wide) ** 2).sum(axis=2))
        expected = np.stack([D[:, code == c].sum(axis=1) for c in range(3)], axis=1)
        np.testing.assert_allclose(sums, expected[shuffled], rtol=1e-9)
