"""Deviances, gains, the DET curve and spreads of clusters against scikit-learn's"""

import warnings

import numpy as np
import pytest
import sklearn.metrics as theirs
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

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


@pytest.mark.parametrize(
    ("name", "args", "kwargs"),
    [
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
