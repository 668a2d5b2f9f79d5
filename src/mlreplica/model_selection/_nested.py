r"""Nested cross-validation: how good is the winner of a search on new rows?

The score with which a setting won is the best of many noisy numbers, so part of it is luck. Nested
cross-validation hides an outer fold from the whole search: on the rows left over the search chooses
its setting and refits, and only then the hidden rows score the model. The mean of the K outer
scores belongs to the procedure "search, then fit". Its interval

    mean ± t · s · √(1/K + n_test / n_train),      t of Student's distribution with K − 1,       (4)

has the term n_test/n_train (Nadeau and Bengio) because the training sets overlap: s²/K alone is the
variance of a mean of independent numbers, which the K scores are not.

References
----------
Cawley, Talbot: On over-fitting in model selection and subsequent selection bias in performance
evaluation. JMLR 11 (2010). Nadeau, Bengio: Inference for the generalization error. Machine Learning
52 (2003).
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t as student
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import indexable

from mlreplica.core.compat import _safe_indexing


class NestedScores(NamedTuple):
    """What nested cross-validation found."""

    scores: np.ndarray  # of the outer folds
    mean: float
    interval: tuple[float, float]  # (4)
    inner_scores: np.ndarray  # with which the winners won
    optimism: float  # mean of inner scores less the mean
    params: list[dict[str, Any]]  # of the winners
    estimators: list[Any]  # the fitted searches


def nested_cross_validate(search, X, y, *, cv=5, confidence=0.95, groups=None):
    """Score a search as a whole, on rows that had no part in its choice.

    Parameters
    ----------
    search : GridSearchCV, RandomizedSearchCV or another search with `best_score_`
        With `refit`; its `scoring` scores the outer folds too.
    X : array-like of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Targets.
    cv : int, cross-validation generator or iterable, default=5
        The outer folds.
    confidence : float, default=0.95
        Of the interval (4).
    groups : array-like of shape (n_samples,), default=None
        For the outer folds, and for the search if its folds ask for groups.

    Returns
    -------
    NestedScores
        `scores`, `mean`, `interval`, `inner_scores`, `optimism`, `params`, `estimators`.

    Examples
    --------
    >>> from mlreplica.datasets import load_diabetes
    >>> from mlreplica.linear_model import Ridge
    >>> from mlreplica.model_selection import GridSearchCV, nested_cross_validate
    >>> X, y = load_diabetes(return_X_y=True)
    >>> found = nested_cross_validate(GridSearchCV(Ridge(), {"alpha": [0.01, 0.1, 1.0]}), X, y)
    >>> round(found.mean, 2), [round(end, 2) for end in found.interval]
    (0.48, [0.38, 0.58])
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be in (0, 1), got {confidence}.")
    X, y, groups = indexable(X, y, groups)
    splitter = check_cv(cv, y, classifier=is_classifier(search))
    folds = list(splitter.split(X, y, groups))
    if len(folds) < 2:
        raise ValueError(f"cv has {len(folds)} folds; an interval needs two at least.")
    models, scores = [], []
    for train, test in folds:
        told = {} if groups is None else {"groups": _safe_indexing(groups, train)}
        model = clone(search).fit(_safe_indexing(X, train), _safe_indexing(y, train), **told)
        scores.append(float(model.score(_safe_indexing(X, test), _safe_indexing(y, test))))
        models.append(model)
    scores = np.array(scores)
    inner = np.array([model.best_score_ for model in models], dtype=float)
    share = np.mean([len(test) / len(train) for train, test in folds])
    wide = student.ppf((1 + confidence) / 2, len(folds) - 1)
    wide *= scores.std(ddof=1) * np.sqrt(1 / len(folds) + share)  # (4)
    mean = float(scores.mean())
    return NestedScores(
        scores,
        mean,
        (mean - float(wide), mean + float(wide)),
        inner,
        float(inner.mean()) - mean,
        [model.best_params_ for model in models],
        models,
    )
