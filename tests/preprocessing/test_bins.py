"""Bins: every value in its interval, centres that no round moves, trees that use y"""

import numpy as np
import pytest
import sklearn.preprocessing as theirs
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import mlreplica.preprocessing as ours
from mlreplica.preprocessing._bins import centres_on_a_line
from mlreplica.preprocessing._order import column_quantiles
from mlreplica.preprocessing._search import by_blocks, interval_codes, padded


@given(seed=st.integers(0, 10_000), m=st.integers(0, 40), n=st.integers(1, 200))
def test_intervals_agree_with_searchsorted(seed, m, n):
    rng = np.random.default_rng(seed)
    cuts = [np.sort(rng.integers(-9, 9, rng.integers(0, m + 1))).astype(float) for _ in range(3)]
    X = rng.integers(-10, 10, (n, 3)).astype(float)
    expected = [np.searchsorted(c, x, side="right") for c, x in zip(cuts, X.T, strict=True)]
    assert_array_equal(by_blocks(interval_codes, X, padded(cuts)), np.transpose(expected))


@given(seed=st.integers(0, 10_000), n=st.integers(1, 3000), weighted=st.booleans())
def test_quantiles_agree_with_numpy(seed, n, weighted):
    rng = np.random.default_rng(seed)
    X, q = np.round(rng.normal(size=(n, 2)), 2), [0.0, 0.1, 0.25, 0.5, 0.77, 1.0]
    w = rng.integers(0, 4, n) if weighted else np.ones(n, dtype=int)
    if not w.any():
        return
    for method in ("linear", "averaged_inverted_cdf"):
        found = column_quantiles(X, q, w.astype(float) if weighted else None, method=method)
        assert_allclose(found, np.quantile(np.repeat(X, w, axis=0), q, axis=0, method=method))


@given(seed=st.integers(0, 10_000), k=st.integers(2, 6))
def test_centres_are_a_fixed_point_of_k_means(seed, k):
    x = np.random.default_rng(seed).normal(size=200)
    c = centres_on_a_line(x, None, np.linspace(x.min(), x.max(), k))
    nearest = np.abs(x[:, None] - c).argmin(axis=1)
    assert_allclose([x[nearest == j].mean() for j in range(k)], c, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("encode", ["onehot", "onehot-dense", "ordinal"])
@pytest.mark.parametrize("n_bins", [3, 30, [2, 5, 9]])
def test_agrees_with_scikit_learn(strategy, encode, n_bins):
    X = np.random.default_rng(0).gamma(2.0, size=(500, 3))
    options = {"n_bins": n_bins, "encode": encode, "strategy": strategy}
    mine, reference = (m.KBinsDiscretizer(**options).fit(X) for m in (ours, theirs))
    Z, expected = mine.transform(X), reference.transform(X)
    dense = (lambda A: A.toarray()) if encode == "onehot" else np.asarray
    assert_array_equal(dense(Z), dense(expected))
    assert_allclose(mine.inverse_transform(Z), reference.inverse_transform(expected))
    assert_array_equal(mine.get_feature_names_out(), reference.get_feature_names_out())


def test_a_tree_cuts_where_y_changes():
    x = np.linspace(0, 1, 200)[:, None]
    y = (x[:, 0] > 0.3) & (x[:, 0] < 0.8)
    model = ours.KBinsDiscretizer(3, encode="ordinal", strategy="tree").fit(x, y)
    assert_allclose(model.bin_edges_[0], [0, 0.3, 0.8, 1], atol=0.01)
    smooth = ours.KBinsDiscretizer(4, encode="ordinal", strategy="tree").fit(x, np.sin(5 * x[:, 0]))
    assert smooth.n_bins_[0] == 4
    with pytest.raises(ValueError, match="needs y"):
        model.fit(x)
