"""Singular values, PCA, NMF, discriminants, naive Bayes and robust covariance

Quality of a singular value decomposition is what it leaves of the matrix; of a projection, the
share of the variance that it leaves out; of a classifier, its mean log loss on the training rows;
of robust covariance, the log determinant of the subset.
"""

from functools import partial

import numpy as np

from benchmarks.data import Data, Rows, most, shapes
from benchmarks.race import BOTH, Race, ask, fit, located, same


def decaying(n, p, rank, offset=0.0):
    """Rows whose variances fall like 1/j², and some noise."""

    def make():
        rows, columns = min(n, most["n"]), min(p, most["p"])
        rng = np.random.default_rng(0)
        k = min(rank, rows, columns)
        T = rng.normal(size=(rows, k)) / np.arange(1.0, k + 1)
        X = T @ rng.normal(size=(k, columns)) + 0.01 * rng.normal(size=(rows, columns))
        return Data(X + offset)

    return make


def words(n, p):
    return Rows(n, p, "words", classes=2)


def left_out(data, model):
    """1 − the share of the variance along the components, measured anew."""
    X, V = data.X, model.components_
    if X.shape[0] * X.shape[1] > 1 << 22:
        X = X[:: X.shape[0] * X.shape[1] // (1 << 22)]
    Z = X - X.mean(axis=0)
    return 1.0 - ((Z @ V.T) ** 2).sum() / (Z**2).sum()


def sparse_error(data, model):
    """‖X − X V Vᵀ‖²/‖X‖² of rows that are not centred."""
    V = np.linalg.qr(model.components_.T)[0]
    T = data.X @ V
    return 1.0 - (T**2).sum() / data.X.multiply(data.X).sum()


def log_loss(data, model):
    P = model.predict_proba(data.X)
    code = np.searchsorted(model.classes_, data.y)
    return -np.mean(np.log(np.maximum(P[np.arange(len(code)), code], 1e-300)))


def determinant(data, model):
    return np.linalg.slogdet(model.raw_covariance_)[1]


def nmf_objective(data, model):
    return model.reconstruction_err_**2 / 2


def rebuilt(data, found):
    """‖A − UΣVᵀ‖/‖A‖ of the triplets found."""
    U, s, Vt = found
    return np.linalg.norm(data.X - (U[:, : len(s)] * s) @ Vt[: len(s)]) / np.linalg.norm(data.X)


def svd(path, **options):
    """A function of a matrix that returns U, s, Vᵀ."""
    return lambda data: partial(located(path), data.X, **options)


def cut(path, k, **options):
    """The first k of all triplets."""

    def prepare(data):
        whole = located(path)

        def call():
            U, s, Vt = whole(data.X, full_matrices=False, **options)
            return U[:, :k], s[:k], Vt[:k]

        return call

    return prepare


def whole(kind):
    """All triplets by LAPACK's two algorithms, divide and conquer unless another is named."""
    given = {"full_matrices": kind == "full"}
    return {
        "mlreplica": svd("mlreplica.decomposition.svd", kind=kind),
        "numpy": svd("numpy.linalg.svd", **given),
        "scipy": svd("scipy.linalg.svd", **given),
        "scipy, gesvd": svd("scipy.linalg.svd", lapack_driver="gesvd", **given),
    }


def nothing(data, result):
    """One row: the answer was compared in the tests."""
    return 0.0


def counts(n, p, classes):
    def make():
        rng = np.random.default_rng(0)
        rows = min(n, most["n"])
        y = rng.integers(0, classes, size=rows)
        rate = rng.gamma(1.0, size=(classes, min(p, most["p"])))
        return Data(rng.poisson(rate[y]).astype(float), y)

    return make


def contaminated(n, p):
    def make():
        rng = np.random.default_rng(0)
        X = rng.normal(size=(min(n, most["n"]), min(p, most["p"])))
        X[: len(X) // 5] += 10
        return Data(X)

    return make


def parts(n, p, k):
    def make():
        rng = np.random.default_rng(0)
        W = rng.exponential(size=(min(n, most["n"]), k))
        return Data(W @ rng.exponential(size=(k, min(p, most["p"]))))

    return make


def nmf(path):
    """The same start for all, as many sweeps."""

    def prepare(data):
        rng = np.random.default_rng(1)
        (n, p), k = data.X.shape, 10
        W, H = rng.exponential(size=(n, k)), rng.exponential(size=(k, p))
        model = located(path)(k, init="custom", tol=0, max_iter=50)

        def call():
            import warnings

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit_transform(data.X, W=W.copy(), H=H.copy())
            return model

        return call

    return prepare


def peers(name, solvers, **options):
    """Ours, and every solver of scikit-learn."""
    found = {"mlreplica": fit(f"mlreplica.{name}", **options)}
    for solver in solvers:
        found[f"scikit-learn, {solver}"] = fit(f"sklearn.{name}", svd_solver=solver, **options)
    return found


TALL = peers("decomposition.PCA", ["auto", "full"], n_components=10) | {
    "scikit-learn-intelex": fit("sklearnex.decomposition.PCA", n_components=10)
}
SQUARE = peers("decomposition.PCA", ["randomized", "arpack"], n_components=50, random_state=0) | {
    "scikit-learn-intelex": fit("sklearnex.decomposition.PCA", n_components=50)
}
WIDE = peers("decomposition.PCA", ["auto", "full", "arpack"], n_components=20, random_state=0)
LDA = {"mlreplica": fit("mlreplica.discriminant_analysis.LinearDiscriminantAnalysis")} | {
    f"scikit-learn, {solver}": fit(
        "sklearn.discriminant_analysis.LinearDiscriminantAnalysis", solver=solver
    )
    for solver in ("svd", "lsqr", "eigen")
}
TEXT = {
    "mlreplica": fit("mlreplica.decomposition.TruncatedSVD", n_components=20, random_state=0),
    "scikit-learn, randomized": fit(
        "sklearn.decomposition.TruncatedSVD", n_components=20, random_state=0
    ),
    "scikit-learn, arpack": fit(
        "sklearn.decomposition.TruncatedSVD", n_components=20, algorithm="arpack", random_state=0
    ),
}

FIRST = {
    "mlreplica": svd(
        "mlreplica.decomposition.svd",
        kind="truncated",
        solver="lanczos",
        n_components=20,
        random_state=0,
    ),
    "numpy": cut("numpy.linalg.svd", 20),
    "scipy": cut("scipy.linalg.svd", 20),
    "scipy, arpack": svd("scipy.sparse.linalg.svds", k=20, solver="arpack"),
    "scipy, propack": svd("scipy.sparse.linalg.svds", k=20, solver="propack"),
    "scikit-learn, randomized": svd(
        "sklearn.utils.extmath.randomized_svd", n_components=20, random_state=0
    ),
}

decomposition = partial(Race, quality=rebuilt, quality_name="relative error", atol=1e-12)
projection = partial(Race, quality=left_out, quality_name="variance left out")
classifier = partial(Race, quality=log_loss, quality_name="log loss", rtol=1e-3)

RACES = [
    decomposition(
        name="svd-full",
        what="singular value decomposition, full",
        shapes={"1,000 × 200": decaying(1000, 200, 60), "400 × 400": decaying(400, 400, 60)},
        contestants=whole("full"),
    ),
    decomposition(
        name="svd-compact",
        what="singular value decomposition, compact",
        shapes={
            "5,000 × 200": decaying(5000, 200, 60),
            "500 × 500": decaying(500, 500, 60),
        },
        contestants=whole("compact"),
    ),
    decomposition(
        name="svd-truncated",
        what="singular value decomposition, 20 triplets",
        shapes={
            "3,000 × 1,000": decaying(3000, 1000, 100),
            "500 × 20,000": decaying(500, 20_000, 100),
        },
        contestants=FIRST,
        rtol=1e-4,
    ),
    projection(
        name="pca-tall",
        what="PCA, 10 components",
        shapes={
            "1,000,000 × 50": decaying(1_000_000, 50, 30),
            "100,000 × 100, offset": decaying(100_000, 100, 60, 100.0),
        },
        contestants=TALL,
        rtol=1e-4,
        readme=True,
    ),
    projection(
        name="pca-square",
        what="PCA, 50 components",
        shapes={"3,000 × 3,000": decaying(3000, 3000, 300)},
        contestants=SQUARE,
        rtol=1e-3,
        readme=True,
    ),
    projection(
        name="pca-wide",
        what="PCA, 20 components",
        shapes={"500 × 20,000": decaying(500, 20_000, 100)},
        contestants=WIDE,
        rtol=1e-3,
    ),
    projection(
        name="pca-small",
        what="PCA",
        shapes=shapes("iris", "digits"),
        contestants=same("decomposition.PCA", n_components=2),
        rtol=1e-6,
        start=True,
    ),
    Race(
        name="pca-one-row",
        what="PCA, components of one row",
        shapes=shapes("iris"),
        contestants=same(
            "decomposition.PCA", BOTH, ask, method="transform", rows=1, n_components=2
        ),
        quality=nothing,
    ),
    projection(
        name="pca-incremental",
        what="incremental PCA, 20 components",
        shapes={"50,000 × 100": decaying(50_000, 100, 60)},
        contestants=same("decomposition.IncrementalPCA", BOTH, n_components=20),
        rtol=1e-4,
    ),
    Race(
        name="truncated-svd",
        what="truncated SVD of words, 20 components",
        shapes=shapes(words(50_000, 20_000)),
        contestants=TEXT,
        quality=sparse_error,
        quality_name="share left out",
        rtol=1e-3,
        readme=True,
    ),
    Race(
        name="nmf",
        what="NMF, 10 parts, 50 sweeps",
        shapes={"5,000 × 200": parts(5000, 200, 15)},
        contestants={
            "mlreplica": nmf("mlreplica.decomposition.NMF"),
            "scikit-learn": nmf("sklearn.decomposition.NMF"),
        },
        quality=nmf_objective,
        rtol=1e-3,
    ),
    classifier(
        name="lda",
        what="linear discriminant analysis",
        shapes=shapes(Rows(200_000, 40, classes=5), Rows(2_000, 300, classes=3), "iris"),
        contestants=LDA,
        readme=True,
    ),
    classifier(
        name="qda",
        what="quadratic discriminant analysis",
        shapes=shapes(Rows(200_000, 40, classes=5), "iris"),
        contestants=same("discriminant_analysis.QuadraticDiscriminantAnalysis", BOTH),
    ),
    classifier(
        name="naive-bayes-gaussian",
        what="Gaussian naive Bayes",
        shapes=shapes(Rows(500_000, 30, classes=3), "iris"),
        contestants=same("naive_bayes.GaussianNB", BOTH),
    ),
    classifier(
        name="naive-bayes-counts",
        what="multinomial naive Bayes",
        shapes={"200,000 × 50": counts(200_000, 50, 5)} | shapes(words(50_000, 20_000)),
        contestants=same("naive_bayes.MultinomialNB", BOTH),
    ),
    Race(
        name="robust-covariance",
        what="minimum covariance determinant",
        shapes={"20,000 × 5": contaminated(20_000, 5), "300 × 4": contaminated(300, 4)},
        contestants=same("covariance.MinCovDet", BOTH, random_state=0),
        quality=determinant,
        quality_name="log determinant",
        rtol=1e-2,
        atol=5e-2,
    ),
]
