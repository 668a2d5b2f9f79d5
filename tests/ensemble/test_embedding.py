"""Random trees as an embedding: (4), the naive one-hot of leaves, scikit-learn's trees, weights"""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.ensemble
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.estimator_checks import parametrize_with_checks

import mlreplica
from mlreplica.datasets import toy
from mlreplica.ensemble import RandomTreesEmbedding
from mlreplica.linear_model import RidgeClassifier


def rows(seed=0, n=60, p=3):
    return np.random.default_rng(seed).normal(size=(n, p))


@settings(max_examples=20)
@given(seed=st.integers(0, 1000), depth=st.integers(1, 6))
def test_one_leaf_per_tree(seed, depth):
    X = rows(seed)
    model = RandomTreesEmbedding(7, max_depth=depth, random_state=seed)
    phi = model.fit_transform(X)
    assert phi.shape == (60, len(model.get_feature_names_out()))
    assert_array_equal(phi.sum(axis=1), 7)
    assert (phi.sum(axis=0) > 0).all()  # every leaf has a row
    assert phi.shape[1] <= 7 * 2**depth
    assert phi.has_sorted_indices


@settings(max_examples=20)
@given(seed=st.integers(0, 1000), scale=st.floats(1e-9, 1e9))
def test_units_do_not_matter(seed, scale):
    X, powers = rows(seed), 2.0 ** np.round(np.log2(scale))
    one, two = (
        RandomTreesEmbedding(5, random_state=seed).fit_transform(Z) for Z in (X, X * powers)
    )
    assert (one != two).nnz == 0


@settings(max_examples=20)
@given(seed=st.integers(0, 1000))
def test_weights_are_repeated_rows_whatever_their_order(seed):
    rng, X = np.random.default_rng(seed), rows(seed, n=25)
    s = rng.integers(0, 4, size=25)
    order = rng.permutation(25)
    options = {"n_estimators": 4, "max_depth": None, "random_state": seed}
    weighted = RandomTreesEmbedding(**options).fit(X[order], sample_weight=s[order])
    repeated = RandomTreesEmbedding(**options).fit(np.repeat(X, s, axis=0))
    assert_array_equal(weighted.apply(X), repeated.apply(X))


@pytest.mark.parametrize("sparse", [True, False])
def test_the_naive_one_hot_code_of_the_leaves(sparse):
    X, new = rows(), rows(1)
    model = RandomTreesEmbedding(5, random_state=0, sparse_output=sparse).fit(X)
    leaves, columns = model.apply(new), []
    for t, found in enumerate(model.apply(X).T):
        columns += [(leaves[:, t] == leaf).astype(float) for leaf in np.unique(found)]
    phi = model.transform(new)
    assert sp.issparse(phi) == sparse
    assert_array_equal(phi.toarray() if sparse else phi, np.column_stack(columns))
    encoded = model.one_hot_encoder_.transform(leaves)
    assert_array_equal(encoded.toarray() if sparse else encoded, np.column_stack(columns))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_depth": None},
        {"min_samples_leaf": 5},
        {"min_weight_fraction_leaf": 0.1},
    ],
    ids=str,
)
def test_the_trees_are_scikit_learns(options):
    X = rows(2, n=200).astype(np.float32).astype(float)
    made = {"n_estimators": 10, "random_state": 3, **options}
    ours = RandomTreesEmbedding(**made).fit(X)
    theirs = sklearn.ensemble.RandomTreesEmbedding(**made).fit(X)
    assert_array_equal(ours.transform(X).toarray(), theirs.transform(X).toarray())
    assert_array_equal(ours.get_feature_names_out(), theirs.get_feature_names_out())
    assert type(ours.transform(X)) is type(theirs.transform(X))


def test_warm_start_missing_values_sparse_rows_and_files(tmp_path):
    X = rows(3)
    model = RandomTreesEmbedding(3, warm_start=True, random_state=0).fit(X)
    first = model.transform(X).toarray()
    both = model.set_params(n_estimators=5).fit(X).transform(X).toarray()
    assert_array_equal(both[:, : first.shape[1]], first)
    again = mlreplica.load(mlreplica.save(model, tmp_path / "m.skops"))
    assert_array_equal(again.transform(X).toarray(), both)
    assert_array_equal(again.transform(sp.csr_array(X)).toarray(), both)
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.3, np.nan, X)
    assert_array_equal(RandomTreesEmbedding(4).fit_transform(holes).sum(axis=1), 4)


def test_a_linear_model_on_boxes_sees_what_a_line_cannot():
    X, y, _ = toy("circles", 300, noise=0.05, random_state=0)
    phi = RandomTreesEmbedding(50, random_state=0).fit_transform(X)
    assert RidgeClassifier().fit(phi, y).score(phi, y) > 0.98
    assert RidgeClassifier().fit(X, y).score(X, y) < 0.7
    near = (phi[:1] @ phi.T).toarray()[0] / 50
    assert_allclose(near[0], 1.0)
    far = np.argmax(np.linalg.norm(X - X[0], axis=1))
    assert near[far] < 0.5


@parametrize_with_checks([RandomTreesEmbedding(n_estimators=5)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)
