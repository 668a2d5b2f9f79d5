"""Kernel ridge regression, kernel PCA and explicit features of a kernel

Quality is the relative error of the answer against a slower, safer computation: a solution
refined with residuals, all eigenvectors by LAPACK, the features by their formula. `more` is it.
"""

import numpy as np

from benchmarks.data import Rows, shapes
from benchmarks.race import BOTH, Race, located, same

GAMMA, ALPHA = 0.05, 0.1


def gaussian(X, Y):
    """The kernel, entry by entry from the differences."""
    from scipy.spatial.distance import cdist

    return np.exp(-GAMMA * cdist(X, Y, "sqeuclidean"))


def with_solution(data):
    G = gaussian(data.X, data.X) + ALPHA * np.eye(len(data.X))
    c = np.linalg.solve(G, data.y)
    c += np.linalg.solve(G, data.y - G @ c)
    return data._replace(more=c if data.X_new is None else gaussian(data.X_new, data.X) @ c)


def ridge(path, **options):
    """Fit, or predict new rows with a model fitted before."""

    def prepare(data):
        model = located(path)(alpha=ALPHA, kernel="rbf", gamma=GAMMA)
        if data.X_new is None:
            return lambda: model.fit(data.X, data.y).dual_coef_
        model.fit(data.X, data.y)
        return lambda: model.predict(data.X_new)

    return prepare


def numpy_ridge(data):
    """The textbook's lines."""
    X, y, *_ = data

    def call():
        sq = (X**2).sum(axis=1)
        K = np.exp(-GAMMA * (sq[:, None] + sq - 2 * X @ X.T))
        return np.linalg.solve(K + ALPHA * np.eye(len(K)), y)

    return call


def error(data, found):
    """‖found − reference‖ / ‖reference‖; a component's sign is free"""
    if found.ndim == 2:
        found = found * np.sign((found * data.more).sum(axis=0))
    return np.linalg.norm(found - data.more) / np.linalg.norm(data.more)


def with_components(k):
    def then(data):
        from scipy.linalg import eigh

        X = data.X / 16.0 if data.X.max() == 16 else data.X
        K = gaussian(X, X)
        K = K - K.mean(axis=0)
        K -= K.mean(axis=1)[:, None]
        values, V = eigh(K, subset_by_index=(len(K) - k, len(K) - 1))
        return data._replace(X=X, more=(V * np.sqrt(values))[:, ::-1])

    return then


def transformed(path, **options):
    def prepare(data):
        model = located(path)(gamma=GAMMA, random_state=0, **options)
        return lambda: model.fit_transform(data.X)

    return prepare


def kernel_error(data, Z):
    """How far inner products of features are from the kernel, on a thousand rows: a mean"""
    X = data.X[:1000]
    return np.abs(Z[:1000] @ Z[:1000].T - gaussian(X, X)).mean()


def race(name, what, rows, then, peers, **options):
    given = {"quality": error, "quality_name": "relative error", "atol": 1e-8} | options
    return Race(name=name, what=what, shapes=shapes(*rows, then=then), contestants=peers, **given)


def pca(name, k, *rows, **options):
    given = {"n_components": k, "kernel": "rbf"}
    peers = same("decomposition.KernelPCA", BOTH, how=transformed, **given)
    peers["scikit-learn, randomized"] = transformed(
        "sklearn.decomposition.KernelPCA", eigen_solver="randomized", **given
    )
    what = f"kernel PCA, RBF, {k} components"
    return race(name, what, rows, with_components(k), peers, **{"atol": 1e-6} | options)


def features(name, what, cls):
    peers = same(f"kernel_approximation.{cls}", BOTH, how=transformed, n_components=200)
    given = {"quality": kernel_error, "quality_name": "mean |zᵀz − K|", "atol": 0.0, "rtol": 1e-2}
    rows = [Rows(20_000, 20), Rows(3000, 60)]
    return race(name, f"{what}, 200 features", rows, None, peers, **given)


RIDGE = same("kernel_ridge.KernelRidge", BOTH, how=ridge)
NUMPY = RIDGE | {"numpy": numpy_ridge}
LARGE, SMALL = [Rows(3000, 20), Rows(1200, 60, "few")], [Rows(200, 20), Rows(500, 8)]
NEW = [Rows(2000, 20, new=10_000), Rows(1000, 60, new=5000)]
RACES = [
    race("kernel-ridge", "kernel ridge, RBF", LARGE, with_solution, NUMPY, start=True, readme=True),
    race("kernel-ridge-small", "kernel ridge, RBF", SMALL, with_solution, NUMPY),
    race("kernel-ridge-predict", "kernel ridge, RBF, new rows", NEW, with_solution, RIDGE),
    pca("kernel-pca", 8, Rows(3000, 20), Rows(1500, 40, "correlated"), start=True, readme=True),
    pca("kernel-pca-digits", 2, "digits"),
    pca("kernel-pca-thirty", 30, Rows(1500, 20), Rows(800, 10, "few")),
    features("nystroem", "Nyström, RBF", "Nystroem"),
    features("rbf-sampler", "random Fourier features", "RBFSampler"),
]
