"""Kernel ridge regression, kernel PCA and explicit features of a kernel

Quality is the relative error of the answer against a slower, safer computation: a solution
refined with residuals, all eigenvectors by LAPACK, the features by their formula.
"""

from functools import partial

import numpy as np

from benchmarks.race import Race

GAMMA, ALPHA = 0.05, 0.1


def rows(n, p, seed=0):
    return np.random.default_rng(seed).normal(size=(n, p))


def gaussian(X, Y):
    """The kernel, entry by entry from the differences."""
    from scipy.spatial.distance import cdist

    return np.exp(-GAMMA * cdist(X, Y, "sqeuclidean"))


# ------------------------------------------------------------------------------------ kernel ridge


def ridge_data(n, new=0):
    def data():
        X = rows(n, 20)
        y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rows(n, 1, 1)[:, 0]
        K = gaussian(X, X)
        G = K + ALPHA * np.eye(n)
        c = np.linalg.solve(G, y)
        c += np.linalg.solve(G, y - G @ c)
        Z = rows(new, 20, 2)
        return X, y, Z, gaussian(Z, X) @ c if new else c

    return data


def ridge(data, library, predict=False):
    """Fit, or predict with a model fitted before."""
    if library == "mlreplica":
        from mlreplica.kernel_ridge import KernelRidge
    else:
        from sklearn.kernel_ridge import KernelRidge

    X, y, Z, _ = data
    model = KernelRidge(alpha=ALPHA, kernel="rbf", gamma=GAMMA)
    if predict:
        model.fit(X, y)
        return lambda: model.predict(Z)
    return lambda: model.fit(X, y).dual_coef_


def numpy_ridge(data):
    """The textbook's lines."""
    X, y, *_ = data

    def call():
        sq = (X**2).sum(axis=1)
        K = np.exp(-GAMMA * (sq[:, None] + sq - 2 * X @ X.T))
        return np.linalg.solve(K + ALPHA * np.eye(len(K)), y)

    return call


def error(data, found):
    """‖found − reference‖ / ‖reference‖"""
    return np.linalg.norm(found - data[-1]) / np.linalg.norm(data[-1])


# -------------------------------------------------------------------------------------- kernel PCA


def digits(n=None):
    from sklearn.datasets import load_digits

    return load_digits().data[:n] / 16.0


def pca_data(make, k):
    def data():
        from scipy.linalg import eigh

        X = make()
        K = gaussian(X, X)
        K = K - K.mean(axis=0)
        K -= K.mean(axis=1)[:, None]
        n = len(K)
        values, V = eigh(K, subset_by_index=(n - k, n - 1))
        return X, k, (V * np.sqrt(values))[:, ::-1]

    return data


def pca(data, library, **options):
    if library == "mlreplica":
        from mlreplica.decomposition import KernelPCA
    else:
        from sklearn.decomposition import KernelPCA

    X, k, _ = data
    model = KernelPCA(k, kernel="rbf", gamma=GAMMA, random_state=0, **options)
    return lambda: model.fit_transform(X)


def component_error(data, Z):
    """The same for components, whose signs are free"""
    return np.linalg.norm(np.abs(Z) - np.abs(data[-1])) / np.linalg.norm(data[-1])


# ---------------------------------------------------------------------------------------- features


def feature_data(m):
    def data():
        X = rows(20_000, 20)
        return X, m, None

    return data


def sampler(data, library, name):
    if library == "mlreplica":
        from mlreplica import kernel_approximation
    else:
        from sklearn import kernel_approximation

    X, m, _ = data
    model = getattr(kernel_approximation, name)(gamma=GAMMA, n_components=m, random_state=0)
    return lambda: model.fit(X).transform(X)


def kernel_error(data, Z):
    """How far inner products of features are from the kernel, on a thousand rows: a mean"""
    X = data[0][:1000]
    return np.abs(Z[:1000] @ Z[:1000].T - gaussian(X, X)).mean()


LIBRARIES = {"mlreplica": "mlreplica", "scikit-learn": "scikit-learn"}


def race(name, what, data, contestant, quality, quality_name, others=None, **options):
    contestants = {
        peer: partial(contestant, library=library) for peer, library in LIBRARIES.items()
    }
    return Race(
        name=name,
        what=what,
        make_data=data,
        contestants=contestants | (others or {}),
        quality=quality,
        quality_name=quality_name,
        **options,
    )


RIDGE = {"quality": error, "quality_name": "relative error", "atol": 1e-8}
PCA = {"quality": component_error, "quality_name": "relative error", "atol": 1e-6}
FEATURES = {"quality": kernel_error, "quality_name": "mean |zᵀz − K|", "rtol": 1e-6}
RANDOMIZED = {
    "scikit-learn, randomized": partial(pca, library="scikit-learn", eigen_solver="randomized")
}
RACES = [
    race(
        "kernel-ridge",
        "kernel ridge, RBF, fit 3,000 × 20",
        ridge_data(3000),
        ridge,
        others={"numpy": numpy_ridge},
        readme=True,
        **RIDGE,
    ),
    race(
        "kernel-ridge-small",
        "kernel ridge, RBF, fit 200 × 20",
        ridge_data(200),
        ridge,
        others={"numpy": numpy_ridge},
        start=False,
        **RIDGE,
    ),
    race(
        "kernel-ridge-predict",
        "kernel ridge, RBF, predict 10,000 rows with 2,000",
        ridge_data(2000, 10_000),
        partial(ridge, predict=True),
        start=False,
        **RIDGE,
    ),
    race(
        "kernel-pca",
        "kernel PCA, RBF, 8 components of 3,000 × 20",
        pca_data(partial(rows, 3000, 20), 8),
        pca,
        others=RANDOMIZED,
        readme=True,
        **PCA,
    ),
    race(
        "kernel-pca-digits",
        "kernel PCA, RBF, 2 components of the digits",
        pca_data(digits, 2),
        pca,
        others=RANDOMIZED,
        start=False,
        **PCA,
    ),
    race(
        "kernel-pca-thirty",
        "kernel PCA, RBF, 30 components of 1,500 × 20",
        pca_data(partial(rows, 1500, 20), 30),
        pca,
        others=RANDOMIZED,
        start=False,
        **PCA,
    ),
    race(
        "nystroem",
        "Nyström, RBF, 200 features of 20,000 × 20",
        feature_data(200),
        partial(sampler, name="Nystroem"),
        start=False,
        **FEATURES,
    ),
    race(
        "rbf-sampler",
        "random Fourier features, 200 of 20,000 × 20",
        feature_data(200),
        partial(sampler, name="RBFSampler"),
        start=False,
        **FEATURES,
    ),
]
