"""Support vector classification: kernels of radius and of degree, many classes, prediction, growth

All stop at the same tolerance with the same cache. Quality is the dual objective of problem (2) of
`svm/_smo.py`, summed over the machines and recomputed in double precision from the published
coefficients (less is better); of predictions, the share that differs from double precision's.
"""

from functools import partial
from importlib import import_module
from itertools import combinations

import numpy as np

from benchmarks.race import Race


def make(n, p=20):
    """Two classes in clusters, standardised; one label in twenty is wrong."""

    def data():
        from sklearn.datasets import make_classification
        from sklearn.preprocessing import StandardScaler

        X, y = make_classification(n, p, n_informative=p // 2, flip_y=0.05, random_state=0)
        return StandardScaler().fit_transform(X), y

    return data


def digits():
    from sklearn.datasets import load_digits

    return load_digits(return_X_y=True)


def fit(package, options, data):
    """A contestant that fits an SVC."""
    SVC = import_module(package).SVC
    return lambda: SVC(**options).fit(*data)


def dual_objective(options, data, model):
    """Σ over machines of ½ βᵀKβ − Σ|β|"""
    from sklearn.metrics.pairwise import pairwise_kernels

    X = data[0]
    gamma = options.get("gamma", 1.0 / (X.shape[1] * X.var()))
    V, coef = np.asarray(model.support_vectors_), np.asarray(model.dual_coef_)
    extra = {"degree": 3, "coef0": options["coef0"]} if options.get("kernel") == "poly" else {}
    K = pairwise_kernels(V, metric=options.get("kernel", "rbf"), gamma=gamma, **extra)
    edges = np.concatenate([[0], np.cumsum(model.n_support_)])
    total = 0.0
    for i, j in combinations(range(len(edges) - 1), 2):
        first, second = np.arange(edges[i], edges[i + 1]), np.arange(edges[j], edges[j + 1])
        both = np.concatenate([first, second])
        beta = np.concatenate([coef[j - 1, first], coef[i, second]])
        total += 0.5 * beta @ K[both[:, None], both] @ beta - np.abs(beta).sum()
    return float(total)


def race(name, what, data, thunder=False, **options):
    """Fit, with `options` for all."""
    packages = {
        "mlreplica": "mlreplica.svm",
        "scikit-learn": "sklearn.svm",
        "scikit-learn-intelex": "sklearnex.svm",
    }
    if thunder:
        packages["thundersvm-cpu"] = "thundersvm"
    return Race(
        name=f"svc-{name}",
        what=f"SVC, {what}",
        make_data=data,
        contestants={peer: partial(fit, home, options) for peer, home in packages.items()},
        quality=partial(dual_objective, options),
        quality_name="dual objective",
        rtol=1e-6,
        readme=name in ("rbf-20k-c1", "digits"),
        start=name == "rbf-5k-c1",
    )


def predict(package, rows, data):
    """A contestant: a fitted model, asked for predictions."""
    X, y = data
    model = import_module(package).SVC(gamma=0.05).fit(X[:5000], y[:5000])
    new = X[5000 : 5000 + rows].copy()
    return lambda: model.predict(new)


def errors(rows, data, predicted):
    """The share of predictions that scikit-learn would not have made, but for ties by rounding"""
    from sklearn.svm import SVC

    X, y = data
    model = SVC(gamma=0.05).fit(X[:5000], y[:5000])
    scores = model.decision_function(X[5000 : 5000 + rows])
    return float(np.mean((predicted != (scores > 0.0)) & (np.abs(scores) > 1e-2)))


def prediction(name, what, rows):
    """Predict, a model of 5,000 rows."""
    packages = ("mlreplica", "scikit-learn", "scikit-learn-intelex")
    homes = ("mlreplica.svm", "sklearn.svm", "sklearnex.svm")
    return Race(
        name=f"svc-predict{name}",
        what=f"SVC, RBF, 1,900 support vectors, 20 columns, prediction of {what}",
        make_data=make(25_000),
        contestants={
            peer: partial(predict, home, rows) for peer, home in zip(packages, homes, strict=True)
        },
        quality=partial(errors, rows),
        quality_name="share of other labels",
        atol=0.0,
        start=False,
        readme=rows > 1,
    )


RACES = [
    race("rbf-5k-c1", "RBF, 5,000 × 20, C = 1", make(5000), thunder=True, gamma=0.05, C=1.0),
    race("rbf-5k-c100", "RBF, 5,000 × 20, C = 100", make(5000), thunder=True, gamma=0.05, C=100.0),
    race("rbf-20k-c1", "RBF, 20,000 × 20, C = 1", make(20_000), gamma=0.05, C=1.0),
    race("rbf-20k-c100", "RBF, 20,000 × 20, C = 100", make(20_000), gamma=0.05, C=100.0),
    race("digits", "RBF, digits, 10 classes", digits),
    race("poly", "cubic, 5,000 × 20", make(5000), kernel="poly", gamma=0.05, coef0=1.0),
    race("rbf-2.5k", "RBF, 2,500 × 20 (growth)", make(2500), gamma=0.05, C=1.0),
    race("rbf-10k", "RBF, 10,000 × 20 (growth)", make(10_000), gamma=0.05, C=1.0),
    prediction("", "20,000 rows", 20_000),
    prediction("-one", "one row", 1),
]
