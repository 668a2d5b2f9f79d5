"""Clusters of other kinds, and mixtures: dense regions, trees, medoids, cuts, EM

Quality is what each method minimises, or how far its labels are from those of scikit-learn.
"""

import numpy as np

from benchmarks.data import Data, most
from benchmarks.race import PACKAGES, Race, located, threads


def groups(n, p, k=12, noise=0.1, spread=4.0):
    """n rows, most of them in k groups, the others scattered."""

    def make():
        rng, m = np.random.default_rng(0), min(n, most["n"])
        scattered = int(noise * m)
        C = spread * rng.normal(size=(k, p))
        X = C[rng.integers(0, k, m - scattered)] + rng.normal(size=(m - scattered, p))
        wide = rng.uniform(X.min(), X.max(), (scattered, p))
        X = rng.permutation(np.concatenate([X, wide]))
        return Data(X, None, more=rng.choice(m, min(50, m // 4), replace=False))

    return make


def shapes(*recipes, **options):
    return {f"{n:,} × {p}": groups(n, p, **options) for n, p in recipes}


def called(path, **options):
    """A contestant that makes an estimator and fits it."""

    def prepare(data):
        make = located(path)
        return lambda: make(**options).fit(data.X)

    return prepare


def labelled(data, model):
    """Minus the share of rows in clusters; the same for equal labels."""
    return -float(np.mean(np.asarray(model.labels_) >= 0))


def dbscan(eps):
    found = {
        name: called(f"{path}.cluster.DBSCAN", eps=eps, n_jobs=2) for name, path in PACKAGES.items()
    }
    return found | {"mlreplica": called("mlreplica.cluster.DBSCAN", eps=eps)}


HDBSCAN = {
    "mlreplica": called("mlreplica.cluster.HDBSCAN", min_cluster_size=25, min_samples=5),
    "hdbscan": called("hdbscan.HDBSCAN", min_cluster_size=25, min_samples=4, core_dist_n_jobs=2),
    "scikit-learn": called(
        "sklearn.cluster.HDBSCAN", min_cluster_size=25, min_samples=5, n_jobs=2, copy=True
    ),
}


def last_height(data, tree):
    """The height of the last join."""
    heights = getattr(tree, "distances_", None)
    return float(heights[-1] if heights is not None else tree[-1, 2])


def fastcluster(function, **options):
    def prepare(data):
        join = located(f"fastcluster.{function}")
        return lambda: join(data.X, **options)

    return prepare


def ward(package):
    return called(f"{PACKAGES[package]}.cluster.AgglomerativeClustering", compute_distances=True)


WARD = {
    "mlreplica": ward("mlreplica"),
    "scikit-learn": ward("scikit-learn"),
    "fastcluster": fastcluster("linkage", method="ward"),
    "fastcluster, rows": fastcluster("linkage_vector", method="ward"),
}


def distances_of(data):
    return located("scipy.spatial.distance.cdist")(data.X, data.X)


def our_medoids(data):
    make, D = located("mlreplica.cluster.KMedoids"), distances_of(data)
    options = {"metric": "precomputed", "init": data.more, "random_state": 0}
    return lambda: make(len(data.more), **options).fit(D)


def their_medoids(data):
    search, D = located("kmedoids.fasterpam"), distances_of(data)
    return lambda: search(D, data.more.copy(), random_state=0, n_cpu=threads())


def medoid_cost(data, found):
    medoids = getattr(found, "medoid_indices_", None)
    medoids = np.asarray(found.medoids if medoids is None else medoids)
    return float(distances_of(data)[:, medoids].min(axis=1).sum())


def cut(package, **options):
    path = f"{PACKAGES[package]}.cluster.SpectralClustering"
    return called(path, n_clusters=6, random_state=0, **options)


def within_inertia(data, model):
    """The inertia of the groups found."""
    labels = np.unique(model.labels_, return_inverse=True)[1]
    sums = np.zeros((labels.max() + 1, data.X.shape[1]))
    np.add.at(sums, labels, data.X)
    means = sums / np.bincount(labels)[:, None]
    return float(((data.X - means[labels]) ** 2).sum())


def em(package, kind):
    """Twenty steps of EM from given means."""

    def prepare(data):
        make = located(f"{PACKAGES[package]}.mixture.GaussianMixture")
        options = {"covariance_type": kind, "max_iter": 20, "tol": 0.0, "random_state": 0}
        start = {"means_init": data.X[data.more[:8]], "init_params": "random_from_data"}
        return lambda: make(8, **options, **start).fit(data.X)

    return prepare


def minus_bound(data, model):
    return -float(model.lower_bound_)


OURS = "mlreplica", "scikit-learn"
RACES = [
    Race(
        name="dbscan",
        what="DBSCAN",
        shapes=shapes((100_000, 2), noise=0.2),
        contestants=dbscan(0.05),
        quality=labelled,
        rtol=1e-9,
        readme=True,
    ),
    Race(
        name="dbscan-many",
        what="DBSCAN",
        shapes=shapes((50_000, 5)),
        contestants=dbscan(0.7),
        quality=labelled,
        rtol=1e-9,
    ),
    Race(
        name="hdbscan",
        what="HDBSCAN",
        shapes=shapes((20_000, 2), (10_000, 5)),
        contestants=HDBSCAN,
        quality=labelled,
        rtol=0.03,
        readme=True,
    ),
    Race(
        name="ward",
        what="Ward's tree",
        shapes=shapes((10_000, 20), noise=0.0),
        contestants=WARD,
        quality=last_height,
        rtol=1e-9,
    ),
    Race(
        name="k-medoids",
        what="k-medoids",
        shapes=shapes((4_000, 10)),
        contestants={"mlreplica": our_medoids, "kmedoids": their_medoids},
        quality=medoid_cost,
        rtol=0.01,
    ),
    Race(
        name="spectral",
        what="spectral clustering",
        shapes=shapes((2_000, 10), k=6, noise=0.0),
        contestants={name: cut(name, gamma=0.02) for name in OURS},
        quality=within_inertia,
        rtol=0.02,
    ),
    *(
        Race(
            name=f"mixture-{kind}",
            what=f"EM, {kind} covariances",
            shapes=shapes((50_000, 10), k=8, noise=0.0),
            contestants={name: em(name, kind) for name in OURS},
            quality=minus_bound,
            rtol=1e-6,
            readme=kind == "full",
        )
        for kind in ("full", "diag")
    ),
]
