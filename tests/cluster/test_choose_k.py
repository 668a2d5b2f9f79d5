"""Choosing k: blobs are counted, noise has one group, and the formulas are those of the papers"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from mlreplica.cluster import DBSCAN, AgglomerativeClustering, KMeans, KMedoids, choose_k
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


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
@pytest.mark.parametrize("estimator", [None, GaussianMixture(random_state=0)], ids=str)
def test_more_clusters_than_different_rows(estimator):
    X = np.repeat([[0.0, 1.0], [9.0, 9.0], [4.0, 4.0]], 10, axis=0)
    found = choose_k(X, estimator, range(1, 7), random_state=0)
    assert set(found.votes.values()) == {3}
    equal = choose_k(np.ones((30, 2)), estimator, range(1, 4), random_state=0)
    assert {c: k for c, k in equal.votes.items() if c != "bic"} == {
        "silhouette": 1, "gap": 1, "stability": 1,
    }  # fmt: skip
    assert equal.k == 1


def test_constant_columns_change_nothing():
    X = blobs(2, 20)
    flat = np.c_[np.full(40, 7.0), X, np.zeros((40, 2))]
    plain, more = (choose_k(Z, ks=range(1, 5), random_state=0) for Z in (X, flat))
    assert more.votes == plain.votes == dict.fromkeys(plain.votes, 2)
    assert_allclose(more.scores["bic"], plain.scores["bic"], rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-130, 1e150])
def test_the_unit_of_the_rows_does_not_matter(scale):
    X = blobs(3, 15)
    assert choose_k(X * scale, ks=range(1, 5), random_state=0).k == 3


def test_one_criterion_and_unordered_numbers():
    X = blobs(2, 20)
    found = choose_k(X, ks=[3, 1, np.int64(2), 2], criteria="gap", random_state=0)
    assert found.votes == {"gap": 2}
    assert_allclose(found.ks, [1, 2, 3], rtol=0)


X = blobs(2, 10)


@pytest.mark.parametrize(
    ("message", "call"),
    [
        pytest.param("criteria must be some of", {"criteria": ("elbow",)}, id="criterion"),
        pytest.param("criteria must be some of", {"criteria": ()}, id="no criterion"),
        pytest.param("between 1 and half of the 20 rows", {"ks": [0, 1]}, id="none"),
        pytest.param("between 1 and half of the 20 rows", {"ks": [2, 30]}, id="more than rows"),
        pytest.param("between 1 and half of the 20 rows", {"ks": []}, id="no numbers"),
        pytest.param("whole numbers", {"ks": [1.5, 2.5]}, id="fractions"),
        pytest.param("whole numbers", {"ks": ["a"]}, id="text"),
        pytest.param("whole numbers", {"ks": 3}, id="one number"),
        pytest.param("neither n_clusters", {"estimator": DBSCAN()}, id="no k"),
        pytest.param("such as KMeans", {"estimator": KMeans}, id="class"),
        pytest.param("such as KMeans", {"estimator": "kmeans"}, id="name"),
        pytest.param("not be distances", {"estimator": KMedoids(metric="precomputed")}, id="D"),
        pytest.param("n_references and n_resamples must", {"n_references": 0}, id="references"),
        pytest.param("n_references and n_resamples must", {"n_resamples": 0}, id="resamples"),
        pytest.param("minimum of 4", {"X": X[:1]}, id="one row"),
        pytest.param("NaN", {"X": np.where(X > 5, np.nan, X)}, id="missing"),
        pytest.param("infinity", {"X": np.where(X > 5, np.inf, X)}, id="infinite"),
        pytest.param("scale X", {"X": X * 1e300}, id="huge"),
        pytest.param("scale X", {"X": X * 1e-300}, id="tiny"),
    ],
)
def test_wrong_calls(message, call):
    with pytest.raises(ValueError, match=message):
        choose_k(**{"X": X} | call)
