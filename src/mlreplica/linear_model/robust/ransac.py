r"""RANSAC: fit to a few rows drawn at random, and keep the model that most rows agree with

A row agrees with a model f if its loss is at most θ; it is an inlier then. Of all models that some
m rows determine, find the one with the largest consensus, the weight of its inliers:

    maximise over f:   C(f) = Σ_i s_i [ℓ(y_i, f(x_i)) ≤ θ]                                    (8)

Of two with the same consensus the better R² on its inliers wins. In (8) outliers do not count at
all, however many, far and alike they are. C is not smooth, so models are drawn: a trial fits f to m
random rows. If a share q of the rows are inliers of the best model, a trial draws inliers only with
probability about qᵐ, and K trials all fail with probability (1 − qᵐ)ᴷ, which is at most η from

    K = ⌈log η / log(1 − qᵐ)⌉                                                                 (9)

trials on. q is not known, but the best consensus so far bounds it from below: the search starts
with `max_trials` and (9) lowers that number with every better consensus. At the end the model is
fitted once more, to all inliers of the best trial. (Equations are numbered on from `huber.py`.)

Fischler, Bolles, Random sample consensus, Communications of the ACM 24 (1981).
"""

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.random import sample_without_replacement

from mlreplica.core.compat import _check_method_params
from mlreplica.core.linear import LinearPrediction

EPS = np.finfo(float).eps


def absolute_error(y, f):
    """|y − f|, summed over targets."""
    return np.abs(y - f) if y.ndim == 1 else np.abs(y - f).sum(axis=1)


def squared_error(y, f):
    """(y − f)², summed over targets."""
    return (y - f) ** 2 if y.ndim == 1 else ((y - f) ** 2).sum(axis=1)


LOSSES = {"absolute_error": absolute_error, "squared_error": squared_error}


def trials_needed(q, m, eta):
    """K of (9): how many draws of m rows include one of inliers only, with probability 1 − η."""
    fail, miss = max(EPS, eta), max(EPS, 1 - q**m)
    if fail == 1:
        return 0
    return math.inf if miss == 1 else math.ceil(math.log(fail) / math.log(miss))


class Consensus(NamedTuple):
    """The best consensus so far, how many trials there were, and how many skipped."""

    inliers: Any = None  # (n,) of bool
    weight: float = 0.0  # C of (8)
    score: float = -math.inf
    trials: int = 0
    skipped_no_inliers: int = 0
    skipped_invalid_data: int = 0
    skipped_invalid_model: int = 0

    @property
    def skipped(self):
        """How many trials were skipped."""
        return sum(self[4:])


class RansacProblem(NamedTuple):
    """What a trial fits, and to what."""

    model: Any
    X: Any
    y: Any
    s: Any  # weights; None: all are 1
    candidates: Any  # the rows with a weight
    loss: Any
    threshold: float  # θ
    fit_params: dict[str, Any]
    score_params: dict[str, Any]
    is_data_valid: Any
    is_model_valid: Any

    def fit(self, rows):
        """Fit the model to some rows, and return these."""
        X, y = self.X[rows], self.y[rows]
        params = _check_method_params(self.X, params=self.fit_params, indices=rows)
        self.model.fit(X, y, **params)
        return X, y

    def predictions(self):
        """f(x) of all rows; they were checked before the first trial, as linear models would."""
        if isinstance(self.model, LinearPrediction) and not sp.issparse(self.X):
            return self.X @ self.model.coef_.T + self.model.intercept_
        return self.model.predict(self.X)

    def score(self, f, rows):
        """R² on some rows, or what the model calls its score."""
        params = _check_method_params(self.X, params=self.score_params, indices=rows)
        if type(self.model).score is RegressorMixin.score:
            return r2_score(self.y[rows], f[rows], **params)
        return self.model.score(self.X[rows], self.y[rows], **params)

    def trial(self, best, rows):
        """The best consensus, or that of a model fitted to `rows` if it is better."""
        if self.is_data_valid is not None and not self.is_data_valid(self.X[rows], self.y[rows]):
            return best._replace(skipped_invalid_data=best.skipped_invalid_data + 1)
        drawn = self.fit(rows)
        if self.is_model_valid is not None and not self.is_model_valid(self.model, *drawn):
            return best._replace(skipped_invalid_model=best.skipped_invalid_model + 1)
        f = self.predictions()
        inliers = self.loss(self.y, f) <= self.threshold
        weight = np.count_nonzero(inliers) if self.s is None else float(self.s @ inliers)
        if weight < best.weight or weight == 0:
            return best._replace(skipped_no_inliers=best.skipped_no_inliers + 1)
        score = self.score(f, self.chosen(inliers))
        if weight == best.weight and score < best.score:
            return best
        return best._replace(inliers=inliers, weight=weight, score=score)

    def chosen(self, inliers):
        """Inliers with a weight."""
        return np.flatnonzero(inliers if self.s is None else inliers & (self.s > 0))


def ransac(problem, rng, m, *, max_trials, max_skips, stop_weight, stop_score, eta):
    """Yield the best consensus once per trial; end when (9) or a limit says so."""
    n, total = len(problem.candidates), problem.y.shape[0] if problem.s is None else problem.s.sum()
    best = Consensus()
    while best.trials < max_trials and best.skipped <= max_skips:
        best = best._replace(trials=best.trials + 1)
        rows = sample_without_replacement(n, m, random_state=rng)
        best = problem.trial(best, problem.candidates[rows])
        yield best
        if best.inliers is not None:
            if best.weight >= stop_weight or best.score >= stop_score:
                return
            max_trials = min(max_trials, trials_needed(best.weight / total, m, eta))
