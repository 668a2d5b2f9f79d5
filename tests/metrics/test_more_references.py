"""Deviances, gains, ranked labels, thresholds and spreads of clusters against scikit-learn's"""

import warnings
from itertools import combinations, permutations, product

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.metrics as theirs
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.exceptions import UndefinedMetricWarning

import mlreplica.metrics as ours

rng = np.random.default_rng(3)
N = 60
Y = rng.gamma(2.0, size=N)
F = Y * rng.uniform(0.5, 2.0, N)
TWO = rng.gamma(2.0, size=(N, 2))
W = rng.integers(0, 4, N)
OUTPUTS = ["uniform_average", "raw_values", [0.3, 0.7]]


def same(name, *args, rtol=1e-12, **kwargs):
    """Ours and theirs agree, warnings too."""
    found = []
    for module in (ours, theirs):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found.append((getattr(module, name)(*args, **kwargs), [str(w.message) for w in caught]))
    (a, told), (b, expected) = found
    for x, y in zip(a, b, strict=True) if isinstance(b, tuple) else [(a, b)]:
        assert_allclose(x, y, rtol=rtol, atol=1e-14)
        assert type(x) is type(y)
    assert told == expected


@pytest.mark.parametrize("weight", [None, W, W.astype(float), list(W)])
@pytest.mark.parametrize("way", [np.asarray, list, lambda y: y.astype(np.float32)])
def test_deviances_are_scikit_learns(weight, way):
    for power in (-1.5, 0, 1, 1.5, 2, 3):
        for name in ("mean_tweedie_deviance", "d2_tweedie_score"):
            same(name, way(Y), way(F), sample_weight=weight, power=power, rtol=2e-5)
    same("mean_poisson_deviance", way(Y), way(F), sample_weight=weight, rtol=2e-5)
    same("mean_gamma_deviance", way(Y), way(F), sample_weight=weight, rtol=2e-5)


@pytest.mark.parametrize("weight", [None, W])
@pytest.mark.parametrize("multioutput", OUTPUTS)
def test_errors_of_several_outputs_are_scikit_learns(weight, multioutput):
    f, given = np.column_stack([F, Y]), {"sample_weight": weight, "multioutput": multioutput}
    for name in ("mean_squared_log_error", "root_mean_squared_log_error"):
        same(name, TWO, f, **given)
    for alpha in (0.0, 0.3, 1.0):
        same("mean_pinball_loss", TWO, f, alpha=alpha, **given)
        same("d2_pinball_score", TWO, f, alpha=alpha, **given)
    same("d2_absolute_error_score", TWO, f, **given)


def test_errors_of_one_output_are_scikit_learns():
    for weight in (None, W, W.astype(float)):
        for name in (
            "mean_squared_log_error",
            "root_mean_squared_log_error",
            "mean_pinball_loss",
            "d2_pinball_score",
            "d2_absolute_error_score",
        ):
            same(name, Y, F, sample_weight=weight)
    for name in ("d2_pinball_score", "d2_tweedie_score"):
        same(name, [1.0], [2.0])
    same("d2_pinball_score", [1.0, 1.0], [1.0, 2.0])


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.booleans(), st.sampled_from([None, 1, 3]))
def test_gains_are_scikit_learns(seed, ties, k):
    rng = np.random.default_rng(seed)
    y, s = rng.integers(0, 4, (6, 5)), rng.normal(size=(6, 5))
    y[0] = 0
    s = np.round(s) if ties else s
    weight = rng.random(6)
    for name in ("dcg_score", "ndcg_score"):
        same(name, y, s, k=k)
        same(name, y, s, k=k, sample_weight=weight)
        if not ties:
            same(name, y, s, k=k, ignore_ties=True)
    same("dcg_score", y, s, k=k, log_base=3)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 5))
def test_top_k_is_scikit_learns(seed, k):
    rng = np.random.default_rng(seed)
    y, s, w = (
        rng.permutation(np.arange(30) % 4),
        np.round(rng.normal(size=(30, 4)), 1),
        rng.random(30),
    )
    same("top_k_accuracy_score", y, s, k=k)
    same("top_k_accuracy_score", np.array(list("abcd"))[y], s, k=k, sample_weight=w)
    same("top_k_accuracy_score", y, s, k=k, normalize=False)
    same("top_k_accuracy_score", y[y < 2], s[y < 2], k=k, labels=[0, 1, 2, 3])
    same("top_k_accuracy_score", y % 2, s[:, 0], k=k)
    same("top_k_accuracy_score", y % 2, 1 / (1 + np.exp(-s[:, 0])), k=k)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.booleans(), st.booleans())
def test_the_det_curve_is_scikit_learns(seed, weighted, drop):
    rng = np.random.default_rng(seed)
    y, s = rng.permutation(np.arange(30) % 2), np.round(rng.normal(size=30), 1)
    w = rng.integers(1, 4, 30) if weighted else None
    same("det_curve", y, s, sample_weight=w, drop_intermediate=drop)
    same("det_curve", np.array(["a", "b"])[y], s, "a", drop_intermediate=drop)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 100.0]))
def test_spreads_of_clusters_are_scikit_learns(seed, far):
    rng = np.random.default_rng(seed)
    X, labels = rng.normal(size=(40, 3)) + far, rng.permutation(np.arange(40) % 5) * 3 - 2
    for name in ("calinski_harabasz_score", "davies_bouldin_score"):
        same(name, X, labels, rtol=1e-6 if far else 1e-9)
        same(name, np.repeat(8.0 * np.eye(5), 8, axis=0), np.repeat(np.arange(5), 8))
        same(name, X.tolist(), np.array(list("abcdefghijklmnop"))[labels + 2].tolist(), rtol=1e-6)


RANKINGS = ("coverage_error", "label_ranking_average_precision_score", "label_ranking_loss")


def ranked_row(name, y, s):
    """One row of a score of ranked labels, by its definition."""
    relevant, others = np.flatnonzero(y), np.flatnonzero(1 - y)
    rank = {j: sum(s >= s[j]) for j in relevant}
    if name == "coverage_error":
        return max(rank.values(), default=0)
    if len(relevant) == 0 or len(others) == 0:
        return float(name == "label_ranking_average_precision_score")
    if name == "label_ranking_loss":
        return np.mean([s[j] <= s[k] for j in relevant for k in others])
    return np.mean([sum(s[relevant] >= s[j]) / rank[j] for j in relevant])


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.booleans(), st.integers(2, 6))
def test_ranked_labels_are_scikit_learns_and_as_defined(seed, ties, m):
    rng = np.random.default_rng(seed)
    y, s, w = rng.integers(0, 2, (8, m)), rng.normal(size=(8, m)), rng.random(8)
    y[0], y[1] = 0, 1
    s = np.round(s) if ties else s
    for name in RANKINGS:
        same(name, y, s)
        same(name, y.tolist(), s.tolist(), sample_weight=w)
        rows = [ranked_row(name, *row) for row in zip(y, s, strict=True)]
        found = getattr(ours, name)(y, s, sample_weight=w)
        assert_allclose(found, np.average(rows, weights=w), rtol=1e-13)
        if name != "coverage_error":
            same(name, sp.csr_array(y), s)
    same("label_ranking_average_precision_score", np.array([[1], [0]]), np.array([[0.2], [0.3]]))


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.booleans())
def test_counts_at_thresholds_are_scikit_learns_and_as_defined(seed, weighted):
    rng = np.random.default_rng(seed)
    y, s = rng.permutation(np.arange(30) % 2), np.round(rng.normal(size=30), 1)
    w = rng.integers(0, 4, 30).astype(float) if weighted else None
    same("confusion_matrix_at_thresholds", y, s, sample_weight=w)
    same("confusion_matrix_at_thresholds", np.array(["a", "b"])[y], s, pos_label="b")
    tns, fps, fns, tps, at = ours.confusion_matrix_at_thresholds(y, s, sample_weight=w)
    for i, threshold in enumerate(at):
        C = ours.confusion_matrix(y, s >= threshold, sample_weight=w, labels=[0, 1])
        assert_allclose([tns[i], fps[i], fns[i], tps[i]], C.ravel())
    same("metric_at_thresholds", y, s, ours.accuracy_score, sample_weight=w)
    several = {"labels": [0, 1], "average": None}
    same("metric_at_thresholds", y.tolist(), s, ours.recall_score, metric_params=several)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.integers(2, 5), st.booleans())
def test_d2_of_probabilities_is_scikit_learns_and_as_defined(seed, k, weighted):
    rng = np.random.default_rng(seed)
    y, P = rng.permutation(np.arange(20) % k), rng.dirichlet(np.ones(k), 20)
    w = rng.random(20) if weighted else None
    P[0] = np.eye(k)[0]
    for name in ("d2_log_loss_score", "d2_brier_score"):
        same(name, y, P, sample_weight=w)
        same(name, np.array(list("abcde"))[y], P.tolist(), sample_weight=w)
        if k > 2:
            same(name, y[y < k - 1], P[y < k - 1], labels=range(k))
        same(name, y % 2, P[:, 0], sample_weight=w)
        same(name, [0], [0.3])
        shares = np.tile(np.average(np.eye(k)[y], axis=0, weights=w), (20, 1))
        loss = getattr(ours, {"d2_log_loss_score": "log_loss"}.get(name, "brier_score_loss"))
        top, bottom = loss(y, P, sample_weight=w), loss(y, shares, sample_weight=w)
        assert_allclose(getattr(ours, name)(y, P, sample_weight=w), 1 - top / bottom, rtol=1e-10)
        assert_allclose(getattr(ours, name)(y, shares, sample_weight=w), 0.0, atol=1e-12)
    same("d2_brier_score", np.array(["no", "yes"])[y % 2], P[:, 0], pos_label="no")
    with pytest.warns(FutureWarning, match="y_pred"):
        assert ours.d2_log_loss_score(y, y_pred=P) == ours.d2_log_loss_score(y, P)
    with pytest.raises(ValueError, match="Cannot use both"):
        ours.d2_log_loss_score(y, P, y_pred=P)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000))
def test_pairs_and_biclusters_are_scikit_learns_and_as_defined(seed):
    rng = np.random.default_rng(seed)
    t, p = rng.integers(0, 4, 20), rng.integers(0, 4, 20)
    same("fowlkes_mallows_score", t, p)
    same("fowlkes_mallows_score", t.astype(str), p)
    same("fowlkes_mallows_score", np.arange(20), p)
    both = [(a == b, c == d) for (a, c), (b, d) in combinations(zip(t, p, strict=True), 2)]
    tp = sum(x and y for x, y in both)
    expected = tp / np.sqrt(sum(x for x, _ in both) * sum(y for _, y in both))
    assert_allclose(ours.fowlkes_mallows_score(t, p), expected)
    a, b = ((rng.random((k, 6)) < 0.6, rng.random((k, 5)) < 0.6) for k in rng.integers(1, 5, 2))
    for rows, columns in (a, b):
        rows[:, 0] = columns[:, 0] = True  # none is empty
    same("consensus_score", a, b)
    same("consensus_score", tuple(x.tolist() for x in a), b)
    cells = [[{*product(*map(np.flatnonzero, pair))} for pair in zip(*x, strict=True)]
             for x in (a, b)]  # fmt: skip
    few, many = sorted(cells, key=len)
    best = max(
        sum(len(x & y) / len(x | y) for x, y in zip(few, order, strict=False))
        for order in permutations(many)
    )
    assert_allclose(ours.consensus_score(a, b), best / max(map(len, cells)))

    def alike(rows, columns, other_rows, other_columns):
        return np.mean(rows == other_rows) * np.mean(columns == other_columns)

    same("consensus_score", a, b, similarity=alike)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.booleans())
def test_likelihood_ratios_are_scikit_learns_and_as_defined(seed, weighted):
    rng = np.random.default_rng(seed)
    y, f = rng.permutation(np.arange(20) % 2), rng.permutation(np.arange(20) % 2)
    y[:4], f[:4] = [0, 0, 1, 1], [0, 1, 0, 1]  # so that every count is above 0
    w = 0.1 + rng.random(20) if weighted else None
    same("class_likelihood_ratios", y, f, sample_weight=w)
    same("class_likelihood_ratios", np.array(["a", "b"])[y], np.array(["a", "b"])[f].tolist())
    same("class_likelihood_ratios", y, f, labels=[1, 0])
    mean = lambda x, on: np.average(x[on], weights=None if w is None else w[on])
    plus = mean(f == 1, y == 1) / mean(f == 1, y == 0)
    minus = mean(f == 0, y == 1) / mean(f == 0, y == 0)
    found = ours.class_likelihood_ratios(y, f, sample_weight=w)
    assert_allclose(found, (plus, minus))


@pytest.mark.parametrize(
    ("y", "f", "given", "expected", "told"),
    [
        ([0, 1, 1], [0, 1, 0], np.nan, (np.nan, 0.5), "ill-defined and set to `np.nan`"),
        ([0, 1, 1], [0, 1, 0], 1.0, (1.0, 0.5), "ill-defined and set to `1.0`"),
        ([0, 1], [0, 0], {"LR+": np.inf, "LR-": 0.5}, (np.inf, 1.0), "No samples were predicted"),
        ([0, 1], [1, 1], {"LR+": 2.0, "LR-": 0.5}, (1.0, 0.5), "`negative.* set to `0.5`"),
        ([0, 0], [0, 1], np.nan, (np.nan, np.nan), "No samples of the positive class"),
    ],
    ids=["no false positive", "replaced", "no positive call", "no negative call", "no positive"],
)
def test_likelihood_ratios_that_are_not_defined(y, f, given, expected, told):
    with pytest.warns(UndefinedMetricWarning, match=told):
        found = ours.class_likelihood_ratios(y, f, replace_undefined_by=given)
    assert_allclose(found, expected)


@pytest.mark.parametrize(
    ("name", "args", "kwargs"),
    [
        ("coverage_error", ([0, 1], [0.1, 0.2]), {}),
        ("coverage_error", ([[0, 1, 1]], [[0.1, 0.2]]), {}),
        ("coverage_error", ([[0, 1], [2, 1]], [[0.1, 0.2]] * 2), {}),
        ("label_ranking_loss", ([[0], [1]], [[0.1], [0.2]]), {}),
        ("label_ranking_loss", ([[0, 1]] * 3, [[0.1, 0.2]] * 2), {}),
        ("label_ranking_average_precision_score", ([[0, 1], [2, 1]], [[0.1, 0.2]] * 2), {}),
        ("confusion_matrix_at_thresholds", ([0, 1, 2], [0.1, 0.2, 0.3]), {}),
        ("metric_at_thresholds", ([0, 1], [0.1, np.nan], ours.accuracy_score), {}),
        ("d2_brier_score", ([0, 1], [0.1, 1.3]), {}),
        ("d2_log_loss_score", ([0, 0], [0.1, 0.3]), {}),
        ("d2_log_loss_score", ([0, 1, 2], [[0.1, 0.9]] * 3), {}),
        ("class_likelihood_ratios", ([0, 1, 2], [0, 1, 1]), {}),
        ("class_likelihood_ratios", ([[0, 1]], [[1, 1]]), {}),
        ("mean_squared_log_error", ([-2.0, 1.0], [1.0, 1.0]), {}),
        ("mean_tweedie_deviance", ([0.0, 1.0], [1.0, 1.0]), {"power": 2}),
        ("mean_tweedie_deviance", ([-1.0, 1.0], [1.0, 1.0]), {"power": 1}),
        ("mean_tweedie_deviance", ([1.0, 1.0], [-1.0, 1.0]), {"power": -1}),
        ("mean_tweedie_deviance", ([1.0, 1.0], [1.0, 1.0]), {"power": 0.5}),
        ("mean_tweedie_deviance", (TWO, TWO), {}),
        ("d2_tweedie_score", (TWO, TWO), {}),
        ("mean_pinball_loss", ([1.0], [1.0]), {"alpha": 2}),
        ("mean_pinball_loss", ([1.0, np.nan], [1.0, 1.0]), {}),
        ("dcg_score", ([1, 0, 1], [0.1, 0.2, 0.3]), {}),
        ("ndcg_score", ([[1], [2]], [[1], [2]]), {}),
        ("ndcg_score", ([[1, -1]], [[1, 2]]), {}),
        ("top_k_accuracy_score", ([0, 1, 2], [0.1, 0.2, 0.3]), {}),
        ("top_k_accuracy_score", ([0, 1, 2], [[0.1, 0.2]] * 3), {}),
        ("top_k_accuracy_score", ([0, 1], [[0.1, 0.2, 0.3]] * 2), {}),
        ("top_k_accuracy_score", ([0, 1, 2], [[1, 2, 3]] * 3), {"labels": [0, 2, 1]}),
        ("top_k_accuracy_score", ([0, 1, 2], [[1, 2, 3]] * 3), {"labels": [0, 1, 1]}),
        ("top_k_accuracy_score", ([0, 1, 3], [[1, 2, 3]] * 3), {"labels": [0, 1, 2]}),
        ("top_k_accuracy_score", ([0, 1, 2], [[1, 2, 3]] * 3), {"labels": [0, 1, 2, 3]}),
        ("top_k_accuracy_score", ([0.5, 1.2], [0.1, 0.2]), {}),
        ("det_curve", ([1, 1], [0.1, 0.2]), {}),
        ("det_curve", ([0, 1, 2], [0.1, 0.2, 0.3]), {}),
        ("calinski_harabasz_score", ([[0.0], [1.0]], [0, 0]), {}),
        ("davies_bouldin_score", ([[0.0], [1.0]], [0, 1]), {}),
    ],
)
def test_errors_are_scikit_learns(name, args, kwargs):
    told = []
    for module in (ours, theirs):
        with pytest.raises(ValueError, match=r".") as error:
            getattr(module, name)(*args, **kwargs)
        told.append(str(error.value))
    assert told[0] == told[1]


def test_scorers_are_there():
    score = ours.make_scorer(ours.mean_pinball_loss, greater_is_better=False, alpha=0.9)
    assert "mean_pinball_loss" in repr(score)
    assert ours.get_scorer("accuracy") is not None
    assert "r2" in ours.get_scorer_names()


def test_a_single_class_and_wrong_replacements_are_told():
    with pytest.raises(ValueError, match="name them by `labels`"):
        ours.class_likelihood_ratios([1, 1], [1, 1])
    with pytest.raises(ValueError, match="`replace_undefined_by` needs to be in the form"):
        ours.class_likelihood_ratios([1, 0], [1, 0], replace_undefined_by={"LR+": 0.5, "LR-": 0})


def test_every_public_name_of_scikit_learn_is_here():
    assert set(theirs.__all__) <= set(ours.__all__)
