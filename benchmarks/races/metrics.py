"""Metrics: of a hundred samples the checks are the price, of a million the data

The quality of a score is its distance from scikit-learn's, taken as exact.
"""

import numpy as np

from benchmarks.data import Data
from benchmarks.race import BOTH, Race, located, same

SIZES = {"100": (100, 1500), "1M": (1_000_000, 50_000), "10000": (10_000, 2000)}
LABELS = [
    "accuracy_score",
    "balanced_accuracy_score",
    "confusion_matrix",
    "precision_score",
    "recall_score",
    "f1_score",
    "classification_report",
]
CURVES = ["roc_curve", "roc_auc_score", "precision_recall_curve", "average_precision_score"]
NUMBERS = [
    "mean_squared_error",
    "root_mean_squared_error",
    "mean_absolute_error",
    "median_absolute_error",
    "r2_score",
    "mean_absolute_percentage_error",
    "explained_variance_score",
]
CLUSTERS = [
    "adjusted_rand_score",
    "mutual_info_score",
    "normalized_mutual_info_score",
    "adjusted_mutual_info_score",
    "fowlkes_mallows_score",
]
RANKINGS = ["coverage_error", "label_ranking_average_precision_score", "label_ranking_loss"]


def two_classes(n):
    """Labels and scores that overlap."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    return y, rng.normal(size=n) + y


def called(n):
    """Two classes and a call that is right four times in five."""
    y, _ = two_classes(n)
    rng = np.random.default_rng(1)
    return y, np.where(rng.random(n) < 0.8, y, 1 - y)


def probable(n):
    """Two classes and the probability of the second."""
    y, s = two_classes(n)
    return y, 1 / (1 + np.exp(-s))


def five_classes(n):
    """Five classes and a call that is right four times in five."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, n)
    return y, np.where(rng.random(n) < 0.8, y, rng.integers(0, 5, n))


def named(n):
    """The same five classes by name."""
    names = np.array(["ant", "bee", "cat", "dog", "elephant"])
    return tuple(names[y] for y in five_classes(n))


def five_probabilities(n):
    """Five classes and a distribution over them."""
    return five_classes(n)[0], np.random.default_rng(2).dirichlet(np.ones(5), n)


def numbers(n):
    """Numbers and predictions of them."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=n) + 3
    return y, y + 0.3 * rng.normal(size=n)


def clusters(n):
    """Points in five dimensions and their clusters."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 5, n)
    return rng.normal(size=(n, 5)) + rng.normal(size=(5, 5))[labels], labels


def ranked_labels(n):
    """Five labels for each sample and scores that rank them."""
    rng = np.random.default_rng(0)
    relevant = rng.integers(0, 2, (n, 5))
    return relevant, rng.normal(size=(n, 5)) + relevant


def score(path, **options):
    """A contestant: one function on the data."""

    def prepare(data):
        call = located(path)
        return lambda: call(data.X, data.y, **options)

    return prepare


def distance(function, options):
    """Largest difference from scikit-learn's result."""

    def quality(data, result):
        exact = located(f"sklearn.metrics.{function}")(data.X, data.y, **options)
        if isinstance(exact, str):
            return float(exact != result)
        pairs = zip(exact, result, strict=True) if isinstance(exact, tuple) else [(exact, result)]
        differences = (np.subtract(a, b) for a, b in pairs)
        return max(
            float(np.max(np.abs(d[np.isfinite(d)]))) for d in map(np.atleast_1d, differences)
        )

    return quality


def race(function, make, size, what="", start=False, readme=False, **options):
    """One function on one kind of data, of two sizes."""
    kind = f"-{what.replace(' ', '-')}" if what else ""
    return Race(
        name=f"metrics-{function.replace('_', '-')}{kind}-{size}",
        what=f"{function}{', ' if what else ''}{what}",
        shapes={f"n = {n:,}": lambda n=n: Data(*make(n)) for n in SIZES[size]},
        contestants=same(f"metrics.{function}", BOTH, how=score, **options),
        quality=distance(function, options),
        quality_name="distance from scikit-learn",
        rtol=0.0,
        start=start,
        readme=readme,
        share=0.2,
    )


RACES = [
    entry
    for size in ("100", "1M")
    for entry in [
        *(race(name, called, size, start=size == "100" and name == "f1_score",
               readme=name == "f1_score")
          for name in LABELS),
        *(race(name, five_classes, size, "five classes",
               **({"average": "macro"} if name in LABELS[3:6] else {})) for name in LABELS),
        race("accuracy_score", named, size, "names"),
        race("f1_score", named, size, "names", average="macro"),
        *(race(name, two_classes, size, start=size == "100" and name == "roc_auc_score",
               readme=name == "roc_auc_score") for name in CURVES),
        *(race("roc_auc_score", five_probabilities, size, kind, multi_class=kind)
          for kind in ("ovr", "ovo")),
        *(race(name, probable, size) for name in ("log_loss", "brier_score_loss")),
        *(race(name, five_probabilities, size, "five classes")
          for name in ("log_loss", "brier_score_loss", "hinge_loss", "d2_log_loss_score",
                       "d2_brier_score")),
        race("class_likelihood_ratios", called, size),
        race("confusion_matrix_at_thresholds", two_classes, size),
        race("hinge_loss", two_classes, size),
        *(race(name, numbers, size, readme=name == "r2_score") for name in NUMBERS),
        *(race(name, five_classes, size) for name in CLUSTERS),
    ]
] + [
    race(*of, size)
    for size in ("100", "10000")
    for of in [("silhouette_score", clusters), *((name, ranked_labels) for name in RANKINGS)]
]  # fmt: skip
