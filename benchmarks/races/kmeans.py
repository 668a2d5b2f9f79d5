"""k-means from given centres, by default, and in mini-batches; drawing first centres

Quality is the inertia. From the same centres all contestants make as many passes as scikit-learn
needs to converge, but faiss, which cannot stop by itself, is told the number. Fits by default start
from what scikit-learn's k-means++ drew, the same for all: left to themselves, scikit-learn-intelex
and we need 26.5 and 26.7 passes on average over 40 seeds, but from 10 to 107 in one, so that a few
draws would decide the race. What drawing costs is a race of its own.
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


def shapes(*recipes, make=blobs):
    return {f"{n:,} × {p}, k = {k}, spread {s:g}": make(n, p, k, s) for n, p, k, s in recipes}


def given(path, **options):
    """A contestant that starts from the race's centres."""

    def prepare(data):
        make = located(path)
        k = len(data.more)
        return lambda: make(k, init=data.more, n_init=1, **options).fit(data.X)

    return prepare


def drawn(n, p, k, spread, starts=5):
    """The same rows; five starts."""

    def make():
        data = blobs(n, p, k, spread)()
        draw = located("sklearn.cluster.kmeans_plusplus")
        return data._replace(more=[draw(data.X, k, random_state=s)[0] for s in range(starts)])

    return make


def default(path):
    """A contestant with no option but the start: five fits, since some need twice the passes."""

    def prepare(data):
        make = located(path)
        return lambda: [make(len(C), init=C).fit(data.X) for C in data.more]

    return prepare


def batches(path):
    """A contestant that draws its starts and batches: five fits."""

    def prepare(data):
        make, k = located(path), len(data.more)
        return lambda: [make(k, random_state=seed).fit(data.X) for seed in range(5)]

    return prepare


def seeding(path):
    """A contestant that draws first centres."""

    def prepare(data):
        draw, k = located(path), len(data.more)
        return lambda: draw(data.X, k, random_state=0)[0]

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


def race(name, what, contestants, *recipes, make=blobs, **options):
    options = {"rtol": 1e-3} | options
    return Race(
        name=f"kmeans-{name}",
        what=what,
        shapes=shapes(*recipes, make=make),
        contestants=contestants,
        quality=inertia,
        quality_name="inertia",
        **options,
    )


GIVEN = {name: given(f"{path}.cluster.KMeans") for name, path in PACKAGES.items()}
GIVEN["faiss-cpu"] = faiss
BOTH = "mlreplica", "scikit-learn"
DEFAULT = {name: default(f"{path}.cluster.KMeans") for name, path in PACKAGES.items()}
BATCH = {name: batches(f"{PACKAGES[name]}.cluster.MiniBatchKMeans") for name in BOTH}
SEEDING = {name: seeding(f"{PACKAGES[name]}.cluster.kmeans_plusplus") for name in BOTH}
RACES = [
    race("tall", "k-means", GIVEN, (200_000, 20, 50, 1.0), (200_000, 20, 50, 0.3), readme=True),
    race("wide", "k-means", GIVEN, (50_000, 128, 100, 0.5), (50_000, 128, 100, 0.15)),
    race("default", "five k-means", DEFAULT, (300_000, 10, 8, 1.0), make=drawn, start=True),
    race("small", "five k-means", DEFAULT, (1000, 5, 3, 3.0), make=drawn),
    race("seeding", "first centres", SEEDING, (300_000, 10, 8, 1.0), (1000, 5, 3, 3.0)),
    race("mini-batch", "five mini-batch k-means", BATCH, (200_000, 20, 50, 1.0), rtol=0.1),
]
