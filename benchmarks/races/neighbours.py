"""Neighbours: searches in few and many dimensions, trees, outliers, densities, gaps, prototypes

Quality of a search is the mean distance found; of the others, a distance from exact answers.
"""

import numpy as np

from benchmarks.data import Rows, shapes
from benchmarks.race import BOTH, PACKAGES, Race, ask, fit, located, same, threads


def searched(k, package, **options):
    """A contestant: the k nearest of the rows themselves, by an estimator."""

    def prepare(data):
        make = located(f"{PACKAGES[package]}.neighbors.NearestNeighbors")
        model = make(n_neighbors=k, n_jobs=threads(), **options).fit(data.X)
        return lambda: model.kneighbors(data.X)

    return prepare


def searches(k):
    """Every library's exact search for k neighbours."""

    def scipy(data):
        tree = located("scipy.spatial.cKDTree")(data.X)
        return lambda: tree.query(data.X, k=k, workers=threads())

    def pykdtree(data):
        tree = located("pykdtree.kdtree.KDTree")(data.X)
        return lambda: tree.query(data.X, k=k)

    def faiss(data):
        library = located("faiss.IndexFlatL2")
        located("faiss.omp_set_num_threads")(threads())
        X = data.X.astype(np.float32)
        index = library(X.shape[1])
        index.add(X)

        def search():
            squares, found = index.search(X, k)
            return np.sqrt(np.maximum(squares, 0.0)), found

        return search

    found = {"mlreplica": searched(k, "mlreplica"), "scikit-learn": searched(k, "scikit-learn")}
    found["scikit-learn-intelex"] = searched(k, "scikit-learn-intelex", algorithm="brute")
    return found | {"faiss-cpu": faiss}, {"scipy": scipy, "pykdtree": pykdtree}


def mean_distance(data, found):
    """The mean distance to the neighbours found, measured anew."""
    rows = np.arange(0, len(data.X), max(1, len(data.X) // 500))
    near = np.asarray(found[1])[rows]
    return float(np.mean(np.sqrt(((data.X[near] - data.X[rows, None]) ** 2).sum(axis=2))))


def built(path, **options):
    def prepare(data):
        make = located(path)
        return lambda: make(data.X, **options)

    return prepare


def nothing(data, found):
    return 0.0


def within(package, radius):
    """A contestant: all rows within a radius of each row."""

    def prepare(data):
        make = located(f"{PACKAGES[package]}.neighbors.NearestNeighbors")
        model = make(radius=radius, n_jobs=threads()).fit(data.X)
        return lambda: model.radius_neighbors(data.X, return_distance=False)

    return prepare


def scipy_within(radius):
    def prepare(data):
        tree = located("scipy.spatial.cKDTree")(data.X)
        return lambda: tree.query_ball_point(data.X, radius, workers=threads())

    return prepare


def minus_count(data, found):
    return -float(sum(len(a) for a in found))


def canberra_like(x, y):
    """A function of a user."""
    s = 0.0
    for j in range(len(x)):
        s += abs(x[j] - y[j]) / (1.0 + abs(x[j]) + abs(y[j]))
    return s


def minus_outliers(data, model):
    return float(np.mean(model.negative_outlier_factor_))


def log_density(data, found):
    return -float(np.mean(found))


def filled(package):
    def prepare(data):
        make = located(f"{PACKAGES[package]}.impute.KNNImputer")
        return lambda: make().fit_transform(data.X)

    return prepare


def mean_square(data, found):
    return float(np.mean(np.asarray(found) ** 2))


def errors(data, model):
    return float(np.mean(model.predict(data.X) != data.y))


def revive_sklvq():
    """Give sklvq the names that scikit-learn has since changed; its loops stay as they are."""
    from sklearn.base import BaseEstimator
    from sklearn.utils.validation import check_array, validate_data
    from sklvq.models import _base

    def renamed(function):
        return lambda *args, force_all_finite=True, **options: function(
            *args, ensure_all_finite=force_all_finite, **options
        )

    BaseEstimator._validate_data = renamed(validate_data)
    _base.check_array = renamed(check_array)


def revive_sklearn_lvq():
    """Give sklearn-lvq what SciPy and NumPy have since dropped: a matrix as a start, `np.math`."""
    import math

    from scipy.optimize import minimize
    from sklearn_lvq import glvq

    np.math = math
    glvq.minimize = lambda *args, x0, **options: minimize(*args, x0=np.ravel(x0), **options)


REVIVED = {"sklvq": revive_sklvq, "sklearn_lvq": revive_sklearn_lvq}


def peer_of_lvq(path):
    def prepare(data):
        make = located(path)
        REVIVED[path.split(".")[0]]()
        return lambda: make(random_state=0).fit(data.X, data.y)

    return prepare


def one_row(package):
    def prepare(data):
        make = located(f"{PACKAGES[package]}.neighbors.KNeighborsClassifier")
        model, row = make().fit(data.X, data.y), data.X[:1].copy()

        def ask_many():
            for _ in range(200):
                found = model.predict(row)
            return found

        return ask_many

    return prepare


EXACT, TREES = searches(10)
SETTINGS = {"quality": mean_distance, "quality_name": "mean distance", "rtol": 1e-5}
RACES = [
    Race(
        name="neighbours-low",
        what="10 nearest neighbours",
        shapes=shapes(Rows(100_000, 3)),
        contestants={
            "mlreplica": EXACT["mlreplica"],
            "scikit-learn": EXACT["scikit-learn"],
            **TREES,
        },
        readme=True,
        **SETTINGS,
    ),
    Race(
        name="neighbours-middle",
        what="10 nearest neighbours",
        shapes=shapes(Rows(50_000, 20)),
        contestants=EXACT,
        readme=True,
        **SETTINGS,
    ),
    Race(
        name="neighbours-high",
        what="50 nearest neighbours",
        shapes=shapes(Rows(20_000, 128)),
        contestants=searches(50)[0],
        readme=True,
        **SETTINGS,
    ),
    Race(
        name="neighbours-radius",
        what="all neighbours within 0.15",
        shapes=shapes(Rows(50_000, 3)),
        contestants={
            "mlreplica": within("mlreplica", 0.15),
            "scikit-learn": within("scikit-learn", 0.15),
            "scipy": scipy_within(0.15),
        },
        quality=minus_count,
    ),
    Race(
        name="neighbours-build",
        what="build a k-d tree",
        shapes=shapes(Rows(1_000_000, 3)),
        contestants={
            "mlreplica": built("mlreplica.neighbors.KDTree"),
            "scikit-learn": built("sklearn.neighbors.KDTree"),
            "scipy": built("scipy.spatial.cKDTree", balanced_tree=False, compact_nodes=False),
            "pykdtree": built("pykdtree.kdtree.KDTree"),
        },
        quality=nothing,
    ),
    Race(
        name="neighbours-own-metric",
        what="neighbours by a user's function",
        shapes=shapes(Rows(2000, 5)),
        contestants={
            name: searched(5, name, metric=canberra_like, algorithm="brute") for name in BOTH
        },
        quality=lambda data, found: float(np.mean(found[0])),
    ),
    Race(
        name="neighbours-one-row",
        what="classify one row, 200 times",
        shapes=shapes(Rows(10_000, 5, classes=3)),
        contestants={name: one_row(name) for name in BOTH},
        quality=nothing,
    ),
    Race(
        name="local-outlier-factor",
        what="local outlier factor",
        shapes=shapes(Rows(20_000, 5)),
        contestants=same("neighbors.LocalOutlierFactor", n_jobs=threads()),
        quality=minus_outliers,
        quality_name="mean factor",
        rtol=1e-5,
    ),
    Race(
        name="kernel-density",
        what="kernel density of 2000 rows",
        shapes=shapes(Rows(20_000, 2, new=2000)),
        contestants=same(
            "neighbors.KernelDensity", BOTH, how=ask, method="score_samples", bandwidth=0.2
        ),
        quality=log_density,
        rtol=1e-6,
    ),
    Race(
        name="knn-imputer",
        what="fill gaps",
        shapes=shapes(Rows(5000, 20, missing=0.1), Rows(20_000, 20, missing=0.1)),
        contestants={name: filled(name) for name in BOTH},
        quality=mean_square,
    ),
    Race(
        name="lvq",
        what="GLVQ",
        shapes=shapes(Rows(1000, 10, classes=3, noise=0.3)),
        contestants={
            "mlreplica": fit("mlreplica.neighbors.LVQClassifier", random_state=0),
            "sklvq": peer_of_lvq("sklvq.GLVQ"),
            "sklearn-lvq": peer_of_lvq("sklearn_lvq.GlvqModel"),
        },
        quality=errors,
        quality_name="error",
        atol=0.02,
    ),
]
