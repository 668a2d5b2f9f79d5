"""What must hold for any data: weights are repetitions, order is nothing, parts add up"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mlreplica import metrics
from mlreplica.metrics import Confusion
from mlreplica.metrics._cluster import expected_information
from mlreplica.metrics._sweep import sweep

quick = settings(deadline=None, max_examples=60)
sizes = st.integers(2, 40)
finite = st.floats(-1e3, 1e3, width=32)


@st.composite
def labelled(draw, classes=3):
    """True labels, calls, scores and whole weights of a few samples; both classes 0 and 1 occur."""
    n = draw(sizes)
    y, p, w = (draw(arrays(np.int64, n, elements=st.integers(0, classes - 1))) for _ in range(3))
    y[:2], w[:2] = (0, 1), (1, 2)
    return y, p, draw(arrays(np.float64, n, elements=finite)), w


def accuracy(y, p, s, w):
    return metrics.accuracy_score(y, p, sample_weight=w)


LABEL_SCORES = {
    "accuracy": accuracy,
    "balanced": lambda y, p, s, w: metrics.balanced_accuracy_score(y, p, sample_weight=w),
    "f1": lambda y, p, s, w: metrics.f1_score(
        y, p, average="macro", labels=[0, 1], sample_weight=w, zero_division=0
    ),
    "kappa": lambda y, p, s, w: metrics.cohen_kappa_score(
        y, p, sample_weight=w, replace_undefined_by=0.0
    ),
    "matthews": lambda y, p, s, w: metrics.matthews_corrcoef(y, p, sample_weight=w),
    "auc": lambda y, p, s, w: metrics.roc_auc_score(y > 0, s, sample_weight=w),
    "ap": lambda y, p, s, w: metrics.average_precision_score(y > 0, s, sample_weight=w),
    "log_loss": lambda y, p, s, w: metrics.log_loss(
        y > 0, 1 / (1 + np.exp(-s / 100)), sample_weight=w
    ),
    "brier": lambda y, p, s, w: metrics.brier_score_loss(
        y > 0, 1 / (1 + np.exp(-s / 100)), sample_weight=w
    ),
    "hinge": lambda y, p, s, w: metrics.hinge_loss(y > 0, s, sample_weight=w),
    "mse": lambda y, p, s, w: metrics.mean_squared_error(p * 1.0, s, sample_weight=w),
    "mae": lambda y, p, s, w: metrics.mean_absolute_error(p * 1.0, s, sample_weight=w),
    "r2": lambda y, p, s, w: metrics.r2_score(s, p * 1.0, sample_weight=w),
    "explained": lambda y, p, s, w: metrics.explained_variance_score(s, p * 1.0, sample_weight=w),
    "mape": lambda y, p, s, w: metrics.mean_absolute_percentage_error(y + 1.0, s, sample_weight=w),
}


@pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@pytest.mark.parametrize("name", LABEL_SCORES)
@quick
@given(data=labelled())
def test_weight_is_repetition_and_zero_absence(name, data):
    *columns, w = data
    score = LABEL_SCORES[name]
    weighted = score(*columns, w.astype(float))
    repeated = score(*(np.repeat(x, w) for x in columns), None)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@pytest.mark.parametrize("name", LABEL_SCORES)
@quick
@given(data=labelled(), seed=st.integers(0, 99))
def test_order_is_nothing(name, data, seed):
    order = np.random.default_rng(seed).permutation(len(data[0]))
    a, b = (LABEL_SCORES[name](*columns) for columns in (data, [x[order] for x in data]))
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@quick
@given(a=labelled(classes=4), b=labelled(classes=7))
def test_confusions_add_up(a, b):
    both = Confusion.of(*(np.concatenate([x, y]) for x, y in zip(a[:2], b[:2], strict=True)))
    parts = Confusion.of(*a[:2]) + Confusion.of(*b[:2])
    np.testing.assert_array_equal(parts.labels, both.labels)
    np.testing.assert_array_equal(parts.matrix, both.matrix)
    assert parts.accuracy() == both.accuracy()
    assert parts.f1(average="macro", zero_division=0) == both.f1(average="macro", zero_division=0)


@quick
@given(data=labelled())
def test_scores_of_a_confusion_are_the_functions(data):
    y, p, _, w = data
    confusion = Confusion.of(y, p, w)
    options = {"average": "weighted", "zero_division": 0.0}
    assert confusion.accuracy() == pytest.approx(metrics.accuracy_score(y, p, sample_weight=w))
    for name in ("precision", "recall", "f1"):
        expected = getattr(metrics, f"{name}_score")(y, p, sample_weight=w, **options)
        assert getattr(confusion, name)(**options) == pytest.approx(expected)
    np.testing.assert_array_equal(confusion.matrix.sum(axis=1), confusion.counts().true)
    assert eval(repr(confusion), {"Confusion": lambda labels, matrix: matrix}) == (
        confusion.matrix.tolist()
    )


@quick
@given(data=labelled())
def test_transposing_exchanges_precision_and_recall(data):
    y, p, _, w = data
    for average in ("micro", "macro"):
        options = {"average": average, "sample_weight": w, "zero_division": 0}
        assert metrics.precision_score(y, p, **options) == metrics.recall_score(p, y, **options)
        assert metrics.f1_score(y, p, **options) == metrics.f1_score(p, y, **options)


@quick
@given(data=labelled())
def test_area_is_the_probability_of_right_order(data):
    y, _, s, _ = data
    s = np.round(s, -1)  # many ties
    y = y > 0
    above = s[y][:, None] - s[~y]
    probability = np.mean(above > 0) + np.mean(above == 0) / 2
    assert metrics.roc_auc_score(y, s) == pytest.approx(probability, abs=1e-12)
    assert metrics.roc_auc_score(~y, s) == pytest.approx(1 - probability, abs=1e-12)
    assert metrics.roc_auc_score(y, np.exp(s / 100)) == pytest.approx(probability, abs=1e-12)


@quick
@given(data=labelled())
def test_sweep_is_the_confusion_matrix_at_each_threshold(data):
    y, _, s, w = data
    y, w = y > 0, w.astype(float)
    fps, tps, thresholds = sweep(y, s, w)
    assert np.all(np.diff(thresholds) < 0)
    np.testing.assert_array_equal(np.unique(s[w > 0])[::-1], thresholds)
    for fp, tp, threshold in zip(fps, tps, thresholds, strict=True):
        called = s >= threshold
        assert (fp, tp) == (w[called & ~y].sum(), w[called & y].sum())


@quick
@given(data=labelled(classes=4))
def test_clusterings_do_not_know_names(data):
    y, p, _, _ = data
    names = np.array([7, -3, 100, 12])
    for name in ("adjusted_rand_score", "adjusted_mutual_info_score", "v_measure_score"):
        score = getattr(metrics, name)
        assert score(y, p) == pytest.approx(score(names[y], p), abs=1e-9)
        assert score(y, p) == pytest.approx(score(p, y), abs=1e-9)
        assert score(y, y) == pytest.approx(1.0)


def test_expected_information_is_the_mean_over_permutations():
    rng = np.random.default_rng(0)
    y, p = np.repeat([0, 1, 2], [4, 5, 6]), np.repeat([0, 1], [7, 8])
    drawn = [metrics.mutual_info_score(y, rng.permutation(p)) for _ in range(4000)]
    expected = expected_information(np.bincount(y), np.bincount(p))
    assert abs(np.mean(drawn) - expected) < 4 * np.std(drawn) / np.sqrt(len(drawn))


@quick
@given(data=labelled())
def test_silhouettes_do_not_move(data):
    y, _, s, w = data
    X = np.stack([s, w * 1.0], axis=1)
    if 1 < len(set(y.tolist())) < len(y):
        a = metrics.silhouette_samples(X, y)
        assert np.all(np.abs(a) <= 1)
        turned = metrics.silhouette_samples(3.0 * X[:, ::-1] + 7.0, y)
        np.testing.assert_allclose(a, turned, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("p", [3, 40])  # few columns, and so many that distances are products
def test_silhouettes_of_rows_that_are_close_and_far_from_the_mean(p):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(2, p)) * 100.0, 200, axis=0)
    X += 1e-7 * rng.normal(size=X.shape)
    y = np.where(np.arange(400) < 200, 0, 1 + np.arange(400) % 2)  # two clusters in one place
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    expected = metrics.silhouette_samples(D, y, metric="precomputed")
    np.testing.assert_allclose(metrics.silhouette_samples(X, y), expected, rtol=1e-6, atol=1e-9)
