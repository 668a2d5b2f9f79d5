r"""Choosing k: four questions about every number of clusters, and one that may say "none"

J_k is the inertia of the best clustering into k groups. It falls with every k, so its size says
nothing; each criterion asks for something that does not always grow.

**Silhouette.** With a(i) the mean distance of row i to its own group, b(i) to the nearest other,

    s_k = mean of (b(i) − a(i)) / max(a(i), b(i)),        largest is best                    (1)

**BIC.** Groups as spherical normals of one variance σ² = J_k/(n p), with d = k p + k parameters:

    BIC_k = n p log(2πe σ²) − 2 Σ_c n_c log(n_c / n) + d log n,      least is best            (2)

where constant columns are not counted in p (a mixture's own `bic` where the estimator has one).

**Gap.** Compare with rows that have no groups: uniform in the smallest box around the rows along
the columns' axes or the principal ones. Let R reference sets have log-inertias of mean m_k and
deviation δ_k:

    gap_k = m_k − log J_k,     e_k = δ_k √(1 + 1/R),
    choose the least k with  gap_k ≥ gap_b − 2 e_b,    b where the gap is largest            (3)

(The paper compares k with k + 1 only, and stops early where groups lie in pairs.) If rows have no
groups, J_k falls as it does for the reference, and (3) says k = 1.

**Stability.** Cluster two random halves of the rows, extend both to all rows by the nearest mean,
and compare the labels:

    t_k = mean adjusted Rand index over pairs of halves,    largest is best                  (4)

among those k for which t_k ≥ 0.75 and exceeds the mean of the reference sets by two standard errors
of the difference: a square, too, is cut into four quite stably. If no k is left, the vote is 1. The
choice is the number with most votes, the smallest of those with equally many.

References
----------
Rousseeuw: Silhouettes. J. Computational and Applied Mathematics 20 (1987), 53–65.
Pelleg, Moore: X-means. ICML (2000).
Tibshirani, Walther, Hastie: Estimating the number of clusters via the gap statistic. JRSS B 63
(2001), 411–423.
Ben-Hur, Elisseeff, Guyon: A stability based method for discovering structure in clustered data.
PSB (2002), 6–17.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from operator import index
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_array, check_random_state, get_tags

from .kmeans.centres import nearest_centres
from .kmeans.estimator import KMeans

CRITERIA = "silhouette", "bic", "gap", "stability"
STABLE = 0.75  # the least agreement of two halves that counts as structure
MOST = 2000  # rows on which silhouettes are measured
SMALL = 1e-280  # an inertia below which digits are lost


@dataclass(frozen=True)
class ChosenK:
    """The number of clusters that criteria choose, and what they were chosen by.

    Attributes
    ----------
    k : int
        The number with most votes.
    votes : dict
        The number that each criterion chooses.
    ks : ndarray
        The numbers that were tried.
    scores, errors : dict of ndarrays
        What each criterion says of each k, NaN where it says nothing, and its spread.
    models : dict
        The estimator fitted to all rows, for each k.
    """

    k: int
    votes: dict[str, int]
    ks: Any
    scores: dict[str, Any]
    errors: dict[str, Any]
    models: dict[int, Any] = field(repr=False)

    def __str__(self) -> str:
        """One line per criterion."""
        said = [f"{name:<11} k = {k}" for name, k in self.votes.items()]
        return "\n".join([*said, f"chosen      k = {self.k}"])


def labels_and_means(model: Any, X: Any) -> tuple[Any, Any]:
    """Labels 0, 1, … of the rows, and the mean of each group."""
    labels = model.predict(X) if not hasattr(model, "labels_") else model.labels_
    labels = np.unique(labels, return_inverse=True)[1]
    sums = np.zeros((labels.max() + 1, X.shape[1]))
    np.add.at(sums, labels, X)
    return labels, sums / np.bincount(labels)[:, None]


def inertia(X: Any, labels: Any, means: Any) -> float:
    """J_k, never 0."""
    return max(float(((X - means[labels]) ** 2).sum()), np.finfo(float).tiny)


def spherical_bic(X: Any, labels: Any, means: Any) -> float:
    """(2), p being the number of columns that are not constant."""
    n, p, k = len(X), max(int(np.count_nonzero(np.ptp(X, axis=0))), 1), len(means)
    size = np.bincount(labels)
    variance = inertia(X, labels, means) / (n * p)
    mixing = -2.0 * float(size @ np.log(size / n))
    return n * p * np.log(2 * np.pi * np.e * variance) + mixing + (k * p + k) * np.log(n)


def tightest_axes(X: Any) -> Any:
    """The columns' own axes or the principal ones: those whose box around X is the smaller."""
    own = np.eye(X.shape[1])
    principal = np.linalg.svd(X - X.mean(axis=0), full_matrices=True)[2]
    volume = lambda axes: np.log(np.maximum(np.ptp(X @ axes.T, axis=0), 1e-300)).sum()
    return own if volume(own) <= volume(principal) else principal


def reference(X: Any, axes: Any, random: Any) -> Any:
    """Uniform rows in the box of X along some axes."""
    Z = X @ axes.T
    return random.uniform(Z.min(axis=0), Z.max(axis=0), Z.shape) @ axes


def gap_choice(ks: Any, gap: Any, error: Any) -> int:
    """The k of (3)."""
    b = int(np.argmax(gap))
    return int(ks[np.argmax(gap >= gap[b] - 2.0 * error[b])])


def agreement(fit: Any, X: Any, random: Any) -> float:
    """One term of (4)."""
    from mlreplica.metrics import adjusted_rand_score

    found = []
    for _ in range(2):
        rows = random.permutation(len(X))[: max(len(X) // 2, 2)]
        found.append(nearest_centres(X, labels_and_means(fit(X[rows]), X[rows])[1]))
    return float(adjusted_rand_score(*found))


def checked_question(X: Any, estimator: Any, ks: Any, criteria: Any) -> tuple[Any, Any, str]:
    """X, the numbers to try in their order, and the parameter of the estimator that takes them."""
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        raise ValueError(f"estimator must be an object such as KMeans(), got {estimator!r}.")
    known = estimator.get_params()
    name = "n_clusters" if "n_clusters" in known else "n_components"
    if name not in known:
        raise ValueError(f"{type(estimator).__name__} has neither n_clusters nor n_components.")
    if get_tags(estimator).input_tags.pairwise:
        raise ValueError(
            "choose_k takes means of rows and draws new ones: X must not be distances."
        )
    X = check_array(X, dtype=np.float64, ensure_min_samples=4)
    with np.errstate(over="ignore"):
        wide = float(np.ptp(X, axis=0).max())
    if wide > 0 and not SMALL < wide * wide * X.size < np.inf:
        raise ValueError(f"X spreads over {wide:.0e}, whose square is no float; scale X.")
    try:
        ks = np.unique([index(k) for k in ks])
    except TypeError:
        raise ValueError(f"ks must be whole numbers, such as range(1, 11), got {ks!r}.") from None
    if len(ks) == 0 or ks[0] < 1 or ks[-1] > len(X) // 2:
        raise ValueError(f"ks must be between 1 and half of the {len(X)} rows, got {ks.tolist()}.")
    if not criteria or not set(criteria) <= set(CRITERIA):
        raise ValueError(f"criteria must be some of {CRITERIA}, got {criteria}.")
    return X, ks, name


def choose_k(
    X: Any,
    estimator: Any = None,
    ks: Any = range(1, 11),
    criteria: Any = CRITERIA,
    *,
    n_references: int = 10,
    n_resamples: int = 10,
    random_state: Any = None,
) -> ChosenK:
    """How many clusters there are, by the votes of several criteria.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    estimator : clusterer or mixture, default=None
        With `n_clusters` or `n_components`; None is `KMeans(n_init=3)`.
    ks : iterable of int, default=range(1, 11)
        The numbers to try.
    criteria : str or sequence of str, default=("silhouette", "bic", "gap", "stability")
    n_references : int, default=10
        Reference sets of the gap statistic.
    n_resamples : int, default=10
        Pairs of halves of the stability.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    ChosenK

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 9])
    >>> print(choose_k(X, ks=range(1, 6), random_state=0))
    silhouette  k = 2
    bic         k = 2
    gap         k = 2
    stability   k = 2
    chosen      k = 2
    """
    base = KMeans(n_init=3) if estimator is None else estimator
    criteria = (criteria,) if isinstance(criteria, str) else tuple(criteria)
    X, ks, name = checked_question(X, base, ks, criteria)
    if min(n_references, n_resamples) < 1:
        raise ValueError(
            f"n_references and n_resamples must be >= 1, got {n_references} and {n_resamples}."
        )
    random = check_random_state(random_state)

    def fit(k: int, rows: Any) -> Any:
        seeded = {"random_state": random.randint(2**31 - 1)} if seeds else {}
        return clone(base).set_params(**{name: int(k)}, **seeded).fit(rows)

    seeds = "random_state" in base.get_params()
    models = {int(k): fit(k, X) for k in ks}
    groups = {k: labels_and_means(model, X) for k, model in models.items()}
    scores = {c: np.full(len(ks), np.nan) for c in criteria}
    errors = {c: np.zeros(len(ks)) for c in criteria}
    axes = tightest_axes(X)
    needed = {"gap", "stability"} & set(criteria)
    empty = [reference(X, axes, random) for _ in range(n_references if needed else 0)]
    chance = np.full(len(ks), np.nan)
    few = random.permutation(len(X))[:MOST]
    for i, k in enumerate(models):
        labels, means = groups[k]
        if "silhouette" in scores and len(means) > 1 and len(np.unique(labels[few])) > 1:
            from mlreplica.metrics import silhouette_score

            scores["silhouette"][i] = silhouette_score(X[few], labels[few])
        if "bic" in scores:
            own = hasattr(models[k], "bic")
            scores["bic"][i] = models[k].bic(X) if own else spherical_bic(X, labels, means)
        if "gap" in scores:
            logs = [np.log(inertia(Z, *labels_and_means(fit(k, Z), Z))) for Z in empty]
            scores["gap"][i] = np.mean(logs) - np.log(inertia(X, labels, means))
            errors["gap"][i] = np.std(logs) * np.sqrt(1 + 1 / len(empty))
        if "stability" in scores and len(means) > 1:
            again = lambda rows, k=k: fit(k, rows)
            found = [agreement(again, X, random) for _ in range(n_resamples)]
            scores["stability"][i] = np.mean(found)
            errors["stability"][i] = np.std(found) / np.sqrt(len(found))
            if scores["stability"][i] < STABLE:
                continue
            lucky = [agreement(again, Z, random) for Z in empty]
            spread = np.hypot(errors["stability"][i], np.std(lucky) / np.sqrt(len(lucky)))
            chance[i] = np.mean(lucky) + 2.0 * spread
    votes = {c: vote(c, ks, scores[c], errors[c], chance) for c in criteria}
    counted = Counter(votes.values())
    k = min(counted, key=lambda number: (-counted[number], number))
    return ChosenK(k, votes, ks, scores, errors, models)


def vote(criterion: str, ks: Any, score: Any, error: Any, chance: Any) -> int:
    """The number that a criterion chooses; `chance` is the stability of rows without groups."""
    if criterion == "gap":
        return gap_choice(ks, score, error)
    known = np.where(np.isnan(score), -np.inf, -score if criterion == "bic" else score)
    if criterion == "stability":
        known[~(score >= np.fmax(chance, STABLE))] = -np.inf
    return int(ks[known.argmax()]) if np.isfinite(known).any() else 1
