"""k-means from given centres, by default, and in mini-batches

Quality is the inertia. From the same centres all contestants make as many passes as scikit-learn
needs to converge, but faiss, which cannot stop by itself, is told the number.
"""

import numpy as np

from benchmarks.data import Data, most
from benchmarks.race import PACKAGES, Race, located, threads


def blobs(n, p, k, spread, dtype=np.float64):
    """n rows around k centres whose distance is `spread` times the width of a cluster."""

    def make():
        rng, m = np.random.default_rng(0), min(n, most["n"])
        C = spread * rng.normal(size=(k, p))
        X = (C[rng.integers(0, k, m)] + rng.normal(size=(m, p))).astype(dtype)
        return Data(X, None, more=X[rng.choice(m, k, replace=False)].copy())

    return make


def shapes(*recipes):
    return {f"{n:,} × {p}, k = {k}, spread {s:g}": blobs(n, p, k, s) for n, p, k, s in recipes}


def given(path, **options):
    """A contestant that starts from the race's centres."""

    def prepare(data):
        make = located(path)
        k = len(data.more)
        return lambda: make(k, init=data.more, n_init=1, **options).fit(data.X)

    return prepare


def default(path, **options):
    """A contestant that draws its starts: five fits, since some need twice the passes."""

    def prepare(data):
        make, k = located(path), len(data.more)
        return lambda: [make(k, random_state=seed, **options).fit(data.X) for seed in range(5)]

    return prepare


def faiss(data):
    """Single precision, and as many passes as scikit-learn's tolerance asks for."""
    import faiss
    from sklearn.cluster import KMeans

    k, X = len(data.more), data.X.astype(np.float32)
    passes = int(KMeans(k, init=data.more, n_init=1).fit(data.X).n_iter_)
    faiss.omp_set_num_threads(threads())

    def call():
        model = faiss.Kmeans(
            X.shape[1], k, niter=passes, max_points_per_centroid=len(X), min_points_per_centroid=1
        )
        model.train(X, init_centroids=data.more.astype(np.float32))
        return model.centroids

    return call


def inertia(data, model):
    """J of the centres found, the mean if there are several fits."""
    if isinstance(model, list):
        return sum(inertia(data, one) for one in model) / len(model)
    C = getattr(model, "cluster_centers_", model)
    X = data.X[:: max(1, len(data.X) // 50_000)]
    squares = (X**2).sum(axis=1)[:, None] - 2 * X @ C.T + (C**2).sum(axis=1)
    return float(squares.min(axis=1).sum())


def race(name, what, contestants, *recipes, **options):
    options = {"rtol": 1e-3} | options
    return Race(
        name=f"kmeans-{name}",
        what=what,
        shapes=shapes(*recipes),
        contestants=contestants,
        quality=inertia,
        quality_name="inertia",
        **options,
    )


GIVEN = {name: given(f"{path}.cluster.KMeans") for name, path in PACKAGES.items()}
GIVEN["faiss-cpu"] = faiss
DEFAULT = {name: default(f"{path}.cluster.KMeans") for name, path in PACKAGES.items()}
BATCH = {
    name: default(f"{PACKAGES[name]}.cluster.MiniBatchKMeans")
    for name in ("mlreplica", "scikit-learn")
}
RACES = [
    race("tall", "k-means", GIVEN, (200_000, 20, 50, 1.0), (200_000, 20, 50, 0.3), readme=True),
    race("wide", "k-means", GIVEN, (50_000, 128, 100, 0.5), (50_000, 128, 100, 0.15)),
    race(
        "default", "five k-means by default", DEFAULT, (300_000, 10, 8, 1.0), start=True, rtol=0.2
    ),
    race("small", "five k-means by default", DEFAULT, (1000, 5, 3, 3.0), rtol=0.2),
    race("mini-batch", "five mini-batch k-means", BATCH, (200_000, 20, 50, 1.0), rtol=0.1),
]
