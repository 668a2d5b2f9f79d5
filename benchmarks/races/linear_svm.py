"""Linear support vector machines: dense and tall, words, several classes, and regression

Quality is LIBLINEAR's objective over C n, computed from the coefficients, the intercept's penalty
included. LIBLINEAR and snapml run at two tolerances each: the looser one that still reaches the
objective counts. snapml has the hinge only.
"""

import numpy as np

from benchmarks.race import Race, threads
from benchmarks.races.logistic_l1 import text


def dense(n, p, C, classes=2):
    """Correlated columns, and classes that overlap."""

    def data():
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, p)) + 0.3 * rng.normal(size=(n, 1))
        f = X @ rng.normal(size=(p, classes)) + 3.0 * rng.normal(size=(n, classes))
        return X, f.argmax(axis=1), C

    return data


def words(n, p, C):
    def data():
        X, y, *_ = text(n, p, C)()
        return X, (y > 0).astype(int), C

    return data


def numbers(n, p, C):
    """The same columns, and a target with heavy tails."""

    def data():
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, p)) + 0.3 * rng.normal(size=(n, 1))
        return X, X @ rng.normal(size=p) + rng.standard_t(3, size=n), C

    return data


def digits(C):
    """Ten classes that can be separated, half of the entries 0."""

    def data():
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        return X / 16.0, y, C

    return data


def found(model):
    """Weights with the intercept last, a row a machine."""
    return np.column_stack([np.atleast_2d(model.coef_), np.ravel(model.intercept_)])


def objective(loss, epsilon=0.0):
    def quality(data, W):
        X, y, C = data
        total = 0.0
        for k, w in enumerate(W):
            f = X @ w[:-1] + w[-1]
            if "hinge" in loss:
                short = 1.0 - np.where(y == (k if len(W) > 1 else 1), 1.0, -1.0) * f
            else:
                short = np.abs(y - f) - epsilon
            short = np.maximum(short, 0.0)
            total += 0.5 * w @ w + C * (short**2 if loss.startswith("squared") else short).sum()
        return total / (C * len(y))

    return quality


def joint_objective(data, W):
    """Crammer and Singer's: a row is counted once, with its worst class."""
    X, y, C = data
    f, of = X @ W[:, :-1].T + W[:, -1], np.arange(len(y))
    ahead = f - f[of, y][:, None] + 1.0
    ahead[of, y] = 0.0
    return 0.5 * np.vdot(W, W) / (C * len(y)) + ahead.max(axis=1).mean()


def ours(loss, tol=1e-3, **options):
    def prepare(data):
        from mlreplica.svm import LinearSVC, LinearSVR

        X, y, C = data
        cls = LinearSVC if "hinge" in loss else LinearSVR
        model = cls(loss=loss, C=C, tol=tol, random_state=0, **options)
        return lambda: found(model.fit(X, y))

    return prepare


def liblinear(loss, tol, dual, **options):
    def prepare(data):
        import warnings

        from sklearn.svm import LinearSVC, LinearSVR

        warnings.filterwarnings("ignore", "Liblinear failed to converge")
        X, y, C = data
        cls = LinearSVC if "hinge" in loss else LinearSVR
        model = cls(loss=loss, C=C, tol=tol, dual=dual, max_iter=2000, random_state=0, **options)
        return lambda: found(model.fit(X, y))

    return prepare


def snapml(tol):
    def prepare(data):
        from snapml import SupportVectorMachine

        X, y, C = data
        model = SupportVectorMachine(
            regularizer=1.0 / C, tol=tol, max_iter=2000, n_jobs=threads(), fit_intercept=True
        )
        return lambda: found(model.fit(X, np.where(y > 0, 1.0, -1.0)))

    return prepare


def race(name, what, make_data, loss, peers, **options):
    """Everybody at equal objective."""
    given = {key: options.pop(key) for key in ("epsilon", "multi_class") if key in options}
    joint = given.get("multi_class") == "crammer_singer"
    return Race(
        name=f"linear-svm-{name}",
        what=f"linear SVM, {what}",
        make_data=make_data,
        contestants={"mlreplica": ours(loss, **given), **peers},
        quality=joint_objective if joint else objective(loss, **given),
        quality_name="objective",
        rtol=2e-6,
        **options,
    )


def dual(loss, *tols, **options):
    return {f"scikit-learn, dual {t:g}": liblinear(loss, t, True, **options) for t in tols}


def primal(loss, *tols, **options):
    return {f"scikit-learn, primal {t:g}": liblinear(loss, t, False, **options) for t in tols}


RACES = [
    race(
        "tall",
        "squared hinge, 50,000 × 50",
        dense(50_000, 50, 1.0),
        "squared_hinge",
        primal("squared_hinge", 1e-3, 1e-4),
        readme=True,
    ),
    race(
        "hinge",
        "hinge, 20,000 × 50",
        dense(20_000, 50, 1.0),
        "hinge",
        dual("hinge", 1e-4) | {"snapml, 1e-4": snapml(1e-4)},
        start=False,
        readme=True,
    ),
    race(
        "words",
        "hinge, 50,000 × 100,000 with 50 words a row",
        words(50_000, 100_000, 1.0),
        "hinge",
        dual("hinge", 3e-5) | {"snapml, 1e-4": snapml(1e-4)},
        start=False,
        readme=True,
    ),
    race(
        "words-squared",
        "squared hinge, 50,000 × 100,000 with 50 words a row",
        words(50_000, 100_000, 1.0),
        "squared_hinge",
        dual("squared_hinge", 1e-2) | primal("squared_hinge", 1e-3),
        start=False,
    ),
    race(
        "classes",
        "squared hinge, five classes, 20,000 × 50",
        dense(20_000, 50, 1.0, classes=5),
        "squared_hinge",
        primal("squared_hinge", 1e-3, 1e-4),
        start=False,
    ),
    race(
        "joint",
        "Crammer and Singer, digits",
        digits(1.0),
        "hinge",
        dual("hinge", 1e-5, 1e-6, multi_class="crammer_singer"),
        multi_class="crammer_singer",
        start=False,
    ),
    race(
        "regression",
        "ε-insensitive, 20,000 × 50",
        numbers(20_000, 50, 0.1),
        "epsilon_insensitive",
        dual("epsilon_insensitive", 1e-5, 1e-6, epsilon=0.5),
        epsilon=0.5,
        start=False,
    ),
]
