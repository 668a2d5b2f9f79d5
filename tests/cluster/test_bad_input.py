"""Bad input of every estimator of clusters and mixtures: the right answer or a clear error"""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from mlreplica.cluster import (
    DBSCAN,
    HDBSCAN,
    AgglomerativeClustering,
    BisectingKMeans,
    FeatureAgglomeration,
    KMeans,
    KMedoids,
    MiniBatchKMeans,
    SpectralClustering,
)
from mlreplica.mixture import BayesianGaussianMixture, GaussianMixture

SEED = {"random_state": 0}
CENTRES = {
    **{f"KMeans {a}": KMeans(algorithm=a, **SEED) for a in ("auto", "elkan", "macqueen")},
    "MiniBatchKMeans": MiniBatchKMeans(**SEED),
    "BisectingKMeans": BisectingKMeans(**SEED),
}
MEDOIDS = {"KMedoids": KMedoids(**SEED)}
TREES = {
    kind: AgglomerativeClustering(linkage=kind)
    for kind in ("ward", "complete", "average", "single")
}
CUTS = {
    "rbf": SpectralClustering(gamma=0.1, **SEED),
    "near": SpectralClustering(affinity="nearest_neighbors", n_neighbors=9, **SEED),
}
MIXTURES = {
    **{
        kind: GaussianMixture(covariance_type=kind, **SEED)
        for kind in ("full", "tied", "diag", "spherical")
    },
    "Bayesian": BayesianGaussianMixture(**SEED),
}
DENSITY = {"DBSCAN": DBSCAN(eps=3.0), "HDBSCAN": HDBSCAN()}
COUNTED = CENTRES | MEDOIDS | TREES | CUTS | MIXTURES  # those that are told k
ALL = COUNTED | DENSITY

y = np.repeat([0, 1], 20)
X = np.random.default_rng(0).normal(size=(40, 2)) + 20.0 * y[:, None]


def labels(name, X, k=2, quiet=True, **options):
    """Labels of the rows of X by the estimator of this name."""
    model = ALL[name]
    model = type(model)(**model.get_params())  # a plain copy
    if name in COUNTED:
        number = "n_clusters" if "n_clusters" in model.get_params() else "n_components"
        model.set_params(**{number: k})
    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore")
        model.fit(X, **options)
    return model.labels_ if hasattr(model, "labels_") else model.predict(X)


def weighted(name):
    return "sample_weight" in inspect.signature(ALL[name].fit).parameters


@pytest.mark.parametrize("name", COUNTED)
def test_more_clusters_than_rows(name):
    with pytest.raises(ValueError, match=r"n_samples|more clusters than samples"):
        labels(name, X[:5], 9)


@pytest.mark.parametrize("name", COUNTED)
def test_more_clusters_than_different_rows(name):
    Z = np.repeat([[0.0, 1.0], [9.0, 9.0]], 10, axis=0)
    found = labels(name, Z, 4)
    if name != "Bayesian":  # whose prior may leave one component
        assert not set(found[:10]) & set(found[10:])  # different rows are told apart
    if name in CENTRES or name in MIXTURES:
        with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(2\)"):
            labels(name, Z, 4, quiet=False)


@pytest.mark.parametrize("name", ALL)
def test_one_row(name):
    if name in CENTRES or name in MEDOIDS or name == "DBSCAN":
        assert labels(name, X[:1], 1) == (-1 if name == "DBSCAN" else 0)
    else:
        with pytest.raises(ValueError, match=r"1 sample|n_samples=1"):
            labels(name, X[:1], 1)
    if name in COUNTED:
        with pytest.raises(ValueError, match=r"1 sample|n_samples=1"):
            labels(name, X[:1], 2)


@pytest.mark.parametrize("name", ALL)
def test_constant_columns(name):
    assert adjusted_rand_score(labels(name, np.c_[np.full(40, 7.0), X, np.zeros(40)]), y) == 1.0
    assert len(labels(name, np.ones((40, 3)))) == 40


@pytest.mark.parametrize("name", [name for name in ALL if weighted(name)])
def test_weights_of_zero(name):
    with pytest.raises(ValueError, match="at least one non-zero"):
        labels(name, X, sample_weight=np.zeros(40))
    far = np.r_[X, [[1e4, -1e4], [-1e4, 1e4]]]  # rows of no weight that would be clusters
    found = labels(name, far, sample_weight=np.r_[np.ones(40), 0.0, 0.0])
    assert adjusted_rand_score(found[:40], y) == 1.0


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_not_finite(name, value):
    Z = np.r_[X, [[value, 0.0]]]
    if name == "HDBSCAN":
        found = labels(name, Z)
        assert found[40] == (-3 if np.isnan(value) else -2)
        assert adjusted_rand_score(found[:40], y) == 1.0
    else:
        with pytest.raises(ValueError, match="NaN" if np.isnan(value) else "infinity"):
            labels(name, Z)


@pytest.mark.parametrize("name", ALL)
def test_huge_numbers(name):
    huge = X / np.abs(X).max() * 1e300
    if name in MIXTURES:
        with pytest.raises(ValueError, match="scale X"):
            labels(name, huge)
    elif name == "rbf":
        with pytest.warns(UserWarning, match="40 components"):  # no row is near another one
            labels(name, huge, quiet=False)
    elif name == "DBSCAN":
        assert (labels(name, huge) == -1).all()
        assert adjusted_rand_score(DBSCAN(eps=1.5e299).fit(huge).labels_, y) == 1.0
    else:
        assert adjusted_rand_score(labels(name, huge), y) == 1.0


def test_affinities_that_overflow_are_refused():
    with pytest.raises(ValueError, match="Affinities of X overflow; scale X"):
        SpectralClustering(2, affinity="poly").fit(X * 1e150)


def test_a_row_far_from_all_others_is_a_component():
    Z = np.r_[X[:20], [[1e3, 1e3]]]
    with pytest.warns(UserWarning, match="2 components"):
        found = SpectralClustering(2, gamma=0.1, random_state=0).fit(Z).labels_
    assert found[20] not in found[:20]


def test_columns_of_bad_input():
    pool = FeatureAgglomeration(2)
    with pytest.raises(ValueError, match="more clusters than samples"):
        FeatureAgglomeration(3).fit(X)
    with pytest.raises(ValueError, match="NaN"):
        pool.fit(np.where(X > 20, np.nan, X))
    for Z in (X[:1], np.ones((40, 3)), X / np.abs(X).max() * 1e300):
        assert pool.fit_transform(Z).shape == (len(Z), 2)
