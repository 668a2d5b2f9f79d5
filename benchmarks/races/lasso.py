"""Lasso and elastic net: single fits, paths of a hundred α, and cross-validation

Quality is the objective; of a path, the sum of the objectives over the path. Every peer runs at the
tolerances with which it comes within 1e-6 of the best, where there are some. An intercept is fitted
by all; where a library's path function has none, centring is part of the timed call. `more` is α,
or the α of a path, and the share of L1.

Paths over many columns are held on smaller data of the same shape, so that a run of every peer ends
within ten seconds. Left out is who needs more even there: celer on deep paths over words. celer's
cross-validation cannot be made with scikit-learn 1.9.
"""

import numpy as np

from benchmarks.data import Rows, shapes
from benchmarks.race import BOTH, Race, located, same, threads


def penalised(depth, ratio, path):
    """α = depth·α_max, or a hundred down to it; sparse X in columns, as every library wants it."""

    def then(data):
        X, y = data.X.tocsc() if hasattr(data.X, "tocsc") else data.X, data.y
        alpha_max = np.abs(X.T @ (y - y.mean())).max() / len(y) / ratio
        alphas = alpha_max * (np.geomspace(1, depth, 100) if path else np.array([depth]))
        return data._replace(X=X, more=(alphas, ratio))

    return then


def total(data, result):
    """The sum of the objectives."""
    X, y, *_, (alphas, ratio) = data
    P = 0.0
    for w, b, alpha in zip(np.transpose(result[0]), result[1], alphas, strict=True):
        r = y - X @ w - b
        P += r @ r / (2 * len(y)) + alpha * (ratio * np.abs(w).sum() + (1 - ratio) / 2 * (w @ w))
    return P


def fit(path, **options):
    """A contestant for one α."""

    def prepare(data):
        X, y, *_, (alphas, ratio) = data
        given = options | ({} if path == "skglm.Lasso" else {"l1_ratio": ratio})
        model = located(path)(alpha=alphas[0], **given)

        def call():
            model.fit(X, y)
            return model.coef_[:, None], [model.intercept_]

        return call

    return prepare


def path(name, *before, **options):
    """A path function without an intercept: dense X is centred first, as part of the call."""

    def prepare(data):
        import scipy.sparse as sp

        X, y, *_, (alphas, ratio) = data
        function = located(name)

        def call():
            x_mean, y_mean = np.asarray(X.mean(axis=0)).ravel(), y.mean()
            A, offset = X, {}
            if sp.issparse(X):
                offset = {"X_offset": x_mean, "X_scale": np.ones_like(x_mean)}
            else:
                A = np.subtract(X, x_mean, order="F")
            given = {"l1_ratio": ratio, "alphas": alphas, **offset, **options}
            coefs = function(A, y - y_mean, *before, **given)[1]
            return coefs, y_mean - x_mean @ coefs

        return call

    return prepare


def adelie(tol):
    """One α or a path; it wants dense X in columns."""

    def prepare(data):
        import adelie
        import scipy.sparse as sp

        X, y, *_, (alphas, ratio) = data
        n = threads()

        def call():
            state = adelie.grpnet(
                adelie.matrix.sparse(X, n_threads=n) if sp.issparse(X) else np.asfortranarray(X),
                adelie.glm.gaussian(y),
                alpha=ratio,
                lmda_path=alphas,
                early_exit=False,
                tol=tol,
                n_threads=n,
                progress_bar=False,
            )
            return state.betas.toarray().T, state.intercepts

        return call

    return prepare


def fit_race(name, what, rows, depth, ratio=1.0, **options):
    """Single fits."""
    net = "linear_model.ElasticNet"
    theirs = {"tol": 1e-4, "max_iter": 100_000}
    peers = {
        "mlreplica": fit(f"mlreplica.{net}"),
        "scikit-learn": fit(f"sklearn.{net}", **theirs),
        "scikit-learn, Gram": fit(f"sklearn.{net}", precompute=True, **theirs),
        "celer": fit("celer.ElasticNet", tol=1e-4),
        "skglm": fit("skglm.Lasso" if ratio == 1 else "skglm.ElasticNet", tol=1e-4),
        "adelie": adelie(1e-8),
    }
    if any(shape.p > 2000 for shape in rows):
        del peers["scikit-learn, Gram"]
    return Race(
        name=f"lasso-{name}",
        what=what,
        shapes=shapes(*rows, then=penalised(depth, ratio, path=False)),
        contestants=peers,
        quality=total,
        **options,
    )


def path_race(name, what, rows, depth, ratio=1.0, ours=1e-6, adelies=(1e-8,), without=(), **more):
    """Paths."""
    enet, fine = "linear_model.enet_path", {"tol": 1e-6, "max_iter": 100_000, "copy_X": False}
    peers = {
        "mlreplica": path(f"mlreplica.{enet}", tol=ours),
        "scikit-learn": path(f"sklearn.{enet}", **fine),
        "scikit-learn, Gram": path(f"sklearn.{enet}", precompute=True, **fine),
        "celer": path("celer.celer_path", "lasso", tol=1e-6, prune=1, max_iter=100),
    } | {f"adelie, {tol:g}": adelie(tol) for tol in adelies}
    if any(shape.p > 1000 for shape in rows):
        del peers["scikit-learn, Gram"]
    return Race(
        name=f"lasso-path-{name}",
        what=f"{'lasso' if ratio == 1 else 'elastic-net'} path to {what}",
        shapes=shapes(*rows, then=penalised(depth, ratio, path=True)),
        contestants={who: f for who, f in peers.items() if who not in without},
        quality=total,
        quality_name="sum of objectives",
        **more,
    )


TALL = [
    Rows(20_000, 200, "offset", informative=40, noise=0.3),
    Rows(100_000, 60, "skewed", informative=10, noise=0.5),
    Rows(5000, 500, "correlated", informative=40, noise=0.3),
]
WIDE = [
    Rows(500, 10_000, informative=50, noise=0.3),
    Rows(2000, 4000, "offset", informative=100, noise=0.3),
]
CORRELATED = [Rows(1000, 5000, "correlated", informative=100, noise=0.3)]
TEXT = [Rows(20_000, 50_000, "words", informative=5000), Rows(5000, 10_000, "words")]
SHORT = [Rows(250, 2500, informative=25, noise=0.3), Rows(600, 1500, "few", informative=50)]
SLOW = ("scikit-learn", "celer")
FINE = {"adelies": (1e-8, 1e-10)}

RACES = [
    fit_race("tall", "lasso", TALL, 0.05, start=True, readme=True),
    fit_race("wide", "lasso", WIDE, 0.05, readme=True),
    fit_race("correlated", "lasso", CORRELATED, 0.05),
    fit_race("text", "lasso", TEXT, 0.02, readme=True),
    fit_race("net-tall", "elastic net", TALL, 0.05, 0.5),
    fit_race("net-wide", "elastic net", WIDE, 0.05, 0.5),
    path_race("tall", "1e-2", TALL, 1e-2),
    path_race("tall-deep", "1e-3", TALL, 1e-3, readme=True),
    path_race("wide", "1e-2", SHORT, 1e-2, **FINE),
    path_race("wide-deep", "1e-3", SHORT, 1e-3, readme=True, **FINE),
    path_race("net", "1e-2", [TALL[0], SHORT[1]], 1e-2, 0.5, **FINE),
    path_race("correlated-deep", "1e-3", CORRELATED, 1e-3, without=SLOW, **FINE),
    path_race("text", "1e-2", TEXT[1:], 1e-2, readme=True),
    path_race(
        "text-deep",
        "1e-3",
        [Rows(1000, 2000, "words"), Rows(3000, 1500, "words")],
        1e-3,
        ours=1e-3,
        adelies=(1e-7, 1e-9),
        without=("celer",),
    ),
    path_race("text-deep-large", "1e-3", TEXT[1:], 1e-3, ours=1e-3, adelies=(1e-7,), without=SLOW),
    Race(
        name="lasso-cv",
        what="lasso, five folds × 100 α",
        shapes=shapes(Rows(5000, 300, informative=40), Rows(300, 600, "offset", informative=20)),
        contestants=same("linear_model.LassoCV", BOTH, cv=5, n_jobs=threads(), alphas=100),
        quality=lambda data, model: float(model.mse_path_.mean(axis=-1).min()),
        quality_name="mean squared error",
        rtol=1e-3,
        readme=True,
    ),
]
