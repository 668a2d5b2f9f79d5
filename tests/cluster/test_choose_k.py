"""Choosing k: blobs are counted, noise has one group, and the formulas are those of the papers"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from mlreplica.cluster import DBSCAN, AgglomerativeClustering, choose_k
from mlreplica.cluster._choose_k import gap_choice, spherical_bic
from mlreplica.mixture import GaussianMixture


def blobs(k, n=25, seed=0):
    rng = np.random.default_rng(seed)
    turn = 2 * np.pi * np.arange(k) / k
    centers = 8 * np.column_stack([np.cos(turn), np.sin(turn)])
    return np.concatenate([rng.normal(size=(n, 2)) + c for c in centers])


@pytest.mark.parametrize("k", [2, 3, 5])
def test_groups_that_are_there_are_counted(k):
    found = choose_k(blobs(k), ks=range(1, 7), random_state=0)
    assert found.k == k
    assert set(found.votes.values()) == {k}
    assert found.models[k].labels_.max() == k - 1
    assert str(found).endswith(f"chosen      k = {k}")


@pytest.mark.parametrize("seed", range(2))
def test_rows_without_groups_have_one(seed):
    rng = np.random.default_rng(seed)
    for X in (rng.uniform(size=(150, 3)), rng.normal(size=(150, 3))):
        found = choose_k(X, ks=range(1, 6), criteria=("gap", "bic"), random_state=seed)
        assert found.votes["gap"] == 1
        assert found.votes["bic"] <= 2


def test_any_estimator_with_a_number():
    X = blobs(3)
    for estimator in (AgglomerativeClustering(), GaussianMixture(random_state=0)):
        assert choose_k(X, estimator, range(2, 6), ("silhouette", "bic"), random_state=0).k == 3
    mixture = choose_k(X, GaussianMixture(random_state=0), range(2, 4), ("bic",), random_state=0)
    assert_allclose(mixture.scores["bic"][1], mixture.models[3].bic(X), rtol=1e-12)


def test_the_bic_is_that_of_normals():
    X = blobs(2, 30)
    labels, means = np.repeat([0, 1], 30), np.array([X[:30].mean(axis=0), X[30:].mean(axis=0)])
    variance = ((X - means[labels]) ** 2).sum() / X.size
    density = [multivariate_normal(m, variance * np.eye(2)) for m in means]
    likelihood = sum(np.log(0.5) + density[c].logpdf(x) for x, c in zip(X, labels, strict=True))
    assert_allclose(spherical_bic(X, labels, means), -2 * likelihood + 6 * np.log(60), rtol=1e-12)


def test_the_gap_takes_the_first_that_is_nearly_best():
    ks, error = np.arange(1, 5), np.full(4, 0.1)
    assert gap_choice(ks, np.array([0.0, 0.8, 0.7, 0.9]), error) == 2
    assert gap_choice(ks, np.array([0.5, 0.55, 0.1, 0.0]), error) == 1
    assert gap_choice(ks, np.array([0.0, 1.0, 2.0, 3.0]), error) == 4


def test_the_same_seed_gives_the_same():
    X = blobs(3, 15)
    a, b = (choose_k(X, ks=range(1, 5), random_state=1) for _ in range(2))
    for name in a.scores:
        assert_allclose(a.scores[name], b.scores[name], rtol=0)


def test_wrong_calls():
    X = blobs(2, 10)
    with pytest.raises(ValueError, match="criteria must be some of"):
        choose_k(X, criteria=("elbow",))
    with pytest.raises(ValueError, match="between 1 and half of the 20 rows"):
        choose_k(X, ks=[0, 1])
    with pytest.raises(ValueError, match="neither n_clusters nor n_components"):
        choose_k(X, DBSCAN())
