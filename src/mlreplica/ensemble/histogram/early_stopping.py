"""Early stopping: scores after every round, until they no longer rise"""

from typing import NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.utils import resample

from mlreplica.core.compile.threads import n_threads, run, split

from .binning import codes_of
from .predict import add_coded
from .rounds import SMALL

SCORED = 10_000  # rows of the training set that a scorer sees


class BinnedRows(NamedTuple):
    """A set of rows with targets and weights (None: all 1)."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None


def mean_loss(loss, y, f, weight):
    """The (weighted) mean of the loss, block by block on all threads."""
    f = f if loss.target == "class" else f[:, 0]

    def total(rows):
        values = loss.value(y[rows], f[rows])
        return values.sum() if weight is None else values @ weight[rows]

    parts = split(len(y), max(n_threads(), len(y) // SMALL), least=1)
    return float(sum(run(total, parts))) / (len(y) if weight is None else weight.sum())


def watch_scores(model, booster, bins, train, valid):
    """Return a function that appends the scores of both sets and says whether to stop."""
    f_valid = None
    if valid is not None:
        codes = codes_of(valid.X, bins)
        f_valid = np.repeat(model._baseline_prediction, len(valid.y), axis=0)
        if model._predictors:
            f_valid = model._raw(np.ascontiguousarray(valid.X, dtype=float))
    if model.scoring == "loss":

        def score_train():
            return -mean_loss(model._loss, train.y, booster.f, train.weight)

        def score_valid():
            return -mean_loss(model._loss, valid.y, f_valid, valid.weight)
    else:
        scorer = check_scoring(model, model.scoring)
        known = isinstance(model.scoring, str) and model.scoring in get_scorer_names()
        rows = np.arange(len(train.y))
        if len(rows) > SCORED:
            stratify = train.y if is_classifier(model) else None
            rows = resample(
                rows, n_samples=SCORED, replace=False, random_state=model._seed,
                stratify=stratify,
            )  # fmt: skip
        weight = None if train.weight is None else train.weight[rows]
        few = BinnedRows(np.ascontiguousarray(train.X[rows], dtype=float), train.y[rows], weight)
        if valid is not None:
            valid = valid._replace(X=np.ascontiguousarray(valid.X, dtype=float))

        def score(data, f):
            options = {} if data.weight is None else {"sample_weight": data.weight}
            model._given_scores = (data.X, f if known else None)
            try:
                return scorer(model, data.X, model._labels(data.y), **options)
            finally:
                del model._given_scores

        def score_train():
            return score(few, booster.f[rows])

        def score_valid():
            return score(valid, f_valid)

    seen = len(model._predictors)

    def step():
        nonlocal seen
        if f_valid is not None and len(model._predictors) > seen:
            add_coded(codes, model._predictors[-1], f_valid)
            seen += 1
        model.train_score_.append(score_train())
        if valid is None:
            return should_stop(model.train_score_, model.n_iter_no_change, model.tol)
        model.validation_score_.append(score_valid())
        return should_stop(model.validation_score_, model.n_iter_no_change, model.tol)

    return step


def should_stop(scores, wait, tol):
    """True if none of the last scores is better than the one before them."""
    if len(scores) <= wait:
        return False
    return not any(score > scores[-wait - 1] + tol for score in scores[-wait:])
