r"""Logistic regression by Newton's method on sums

The objective is a sum of losses over the rows. Its value, gradient and Hessian at V are sums too,

    P(V) = Σ_blocks P_b(V),    ∇P = Σ_blocks ∇P_b,    H = Σ_blocks H_b,                      (1)

and small: one walk per step finds all three, and no number per row is ever kept. The solver is that
of memory, `linear_model/logistic/smooth.py`, on (1); so is the certificate, whose ρ is a maximum
over blocks.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.multiclass import check_classification_targets

from mlreplica.core.rows.moments import Moments
from mlreplica.core.rows.walk import Sums
from mlreplica.linear_model.logistic.objective import (
    LogisticObjective,
    LogisticPoint,
    LogisticProblem,
    contrasts,
    inverse_root_of,
)
from mlreplica.linear_model.logistic.smooth import MOST
from mlreplica.linear_model.logistic.training import LogisticData, solve

from ._blocks import Block, dense
from ._rows import Rows
from ._sample import Sample


class Most(NamedTuple):
    """The larger of two numbers is their sum."""

    value: float

    def __add__(self, other: Any) -> Most:
        return max(self, other)


class Tally(NamedTuple):
    """Weights and numbers of rows of each class, by the class."""

    weight: dict[Any, float]
    count: dict[Any, int]

    def __add__(self, other: Any) -> Tally:
        return Tally(
            *(
                {k: a.get(k, 0) + b.get(k, 0) for k in a | b}
                for a, b in zip(self, other, strict=True)
            )
        )


def classes_of(block: Block) -> Sums:
    """The Tally of the classes, the moments of X, and a Sample."""
    X, y, s = dense(block, target=True)
    if y.ndim != 1:
        raise ValueError(f"y must be one class per row, got {y.ndim} dimensions.")
    check_classification_targets(y)
    found, code = np.unique(y, return_inverse=True)
    sums = np.bincount(code, s).tolist(), np.bincount(code).tolist()
    tally = Tally(*(dict(zip(found.tolist(), values, strict=True)) for values in sums))
    m = Moments.of(np.asarray(X, dtype=np.float64), s)
    return Sums((tally, m, Sample.of(block)))


class Coding(NamedTuple):
    """How a block becomes a LogisticProblem without a penalty."""

    classes: Any
    by_class: Any  # weight of each class
    total: float
    x0: Any
    intercept: bool
    K: int

    def problem(self, block: Block) -> Any:
        """The objective of the block's rows of positive weight; None if there is none."""
        X, y, s = dense(block, target=True)
        code = np.searchsorted(self.classes, y)
        weight = self.by_class[code] if s is None else s * self.by_class[code]
        X = np.asarray(X, dtype=np.float64) - self.x0
        if not weight.all():
            X, code, weight = X[weight > 0], code[weight > 0], weight[weight > 0]
        if not len(X):
            return None
        y = 2.0 * code - 1.0 if self.K == 1 else code.astype(np.int64)
        problem = LogisticProblem(X, y, weight / self.total, 0.0, 0.0, self.intercept, self.K)
        objective = LogisticObjective(problem)
        objective.few = False  # H is summed, not inverted block by block
        return objective


def value_and_derivatives(block: Block, coding: Coding, V: Any) -> Any:
    """P, ∇P and H of the block at V."""
    objective = coding.problem(block)
    if objective is None:
        return None
    point = objective.at(V)
    return Sums((point.P, point.g, objective.hessian(point)))


def reach(block: Block, coding: Coding, factor: Any) -> Any:
    """ρ over the rows of the block."""
    objective = coding.problem(block)
    return None if objective is None else Most(float(objective.rho(factor)))


def lag(block: Block, coding: Coding, V: Any) -> Any:
    """How far a row of the block lags behind the border of its class, at most."""
    objective = coding.problem(block)
    return None if objective is None else Most(-objective.margin(objective.at(V).F))


class StreamedObjective(LogisticObjective):
    """P as a function of V, by a walk over the source; the scores of a point are named by its V."""

    in_memory = sparse = few = False

    def __init__(self, problem: StreamedProblem) -> None:
        X, _, _, _, self.l2, self.intercept, self.K, _ = problem
        self.rows, self.coding, (self.n, self.p) = X.rows, X.coding, X.shape
        self.U = contrasts(self.K)
        self.shape = self.U.shape[1], self.p + self.intercept

    def at(self, V: Any, factor: Any = None) -> LogisticPoint:
        """The LogisticPoint at V, with its Hessian."""
        P, g, H = self.rows.sum(value_and_derivatives, self.coding, V)
        P = P + self.l2 / 2 * float((V[:, : self.p] ** 2).sum())
        g = g + self.ridge() * V
        H = H + np.diag(self.ridge().ravel())
        root = inverse_root_of(H) if np.isfinite(H.sum()) else None
        return LogisticPoint(V, P, g, V, 0.0, H, root)

    def rho(self, factor: Any) -> float:
        """ρ over all rows."""
        factor.rho = factor.rho or self.rows.sum(reach, self.coding, factor).value
        return factor.rho

    def margin(self, F: Any) -> float:
        """The least lead of a row's own class over the others."""
        return -self.rows.sum(lag, self.coding, F).value


class Source(NamedTuple):
    """What stands for X in a problem."""

    rows: Rows
    coding: Coding
    shape: tuple[int, int]


class StreamedProblem(LogisticProblem):
    """(1) over the rows of a source."""

    __slots__ = ()

    def objective(self) -> StreamedObjective:
        """P as a function."""
        return StreamedObjective(self)


class StreamedData(LogisticData):
    """Classes, weights and origin of the rows of a source."""

    def __init__(self, rows: Rows, model: Any, coding: Coding, n: int) -> None:
        self.n_features, self.n_classes = rows.width, len(coding.classes)
        self.scaling, self.intercept, self.x0 = 0.0, coding.intercept, coding.x0
        self.present, self.K, self.total = np.arange(self.n_classes), coding.K, coding.total
        self.X, self.y = Source(rows, coding, (n, rows.width)), None

    def problem(self, C: float, ratio: float, n_jobs: Any = None) -> StreamedProblem:
        """(1) for this C."""
        l2 = 1.0 / (C * self.total)
        return StreamedProblem(self.X, None, None, 0.0, l2, self.intercept, self.K, n_jobs)


def fit_logistic(model: Any, rows: Rows) -> None:
    """LogisticRegression without an L1 penalty."""
    C, ratio = model._penalty()
    if ratio or model.solver == "liblinear":
        raise ValueError(
            "an L1 penalty and solver='liblinear' need all rows in memory; use l1_ratio=0, or "
            "SGDClassifier(loss='log_loss', penalty='elasticnet')."
        )
    tally, m, sample = rows.sum(classes_of)
    classes = sorted(tally.weight)
    if len(classes) < 2:
        raise ValueError(f"samples of at least 2 classes are needed, there is only {classes[0]!r}.")
    weight = np.array([tally.weight[k] for k in classes])
    if not weight.all():
        raise ValueError(f"class {classes[weight.argmin()]!r} has no row of positive weight.")
    by_class = class_weights(model.class_weight, classes, weight)
    n, K = sum(tally.count.values()), 1 if len(classes) == 2 else len(classes)
    size = (rows.width + model.fit_intercept) * max(1, K - 1)
    if size > MOST:
        raise ValueError(f"{size} weights need a Hessian too large; use SGDClassifier.")
    if n < rows.width:
        X, y, s, *_ = rows.gathered()
        model.fit(X, y, s)
        return
    x0 = m.mean if model.fit_intercept else np.zeros(rows.width)
    total = float(weight @ by_class)
    coding = Coding(np.array(classes), by_class, total, x0, model.fit_intercept, K)
    start = None
    if model.warm_start and hasattr(model, "coef_"):
        start = np.asarray(model.coef_), np.asarray(model.intercept_)
    elif n > len(sample.key):
        start = fit_of_sample(model, sample, weight.sum(), len(classes))
    data = StreamedData(rows, model, coding, n)
    model.classes_ = coding.classes
    model.coef_, model.intercept_, model.certificate_ = solve(model, data, C, 0.0, start)


def fit_of_sample(model: Any, sample: Sample, weight: float, K: int) -> Any:
    """W and b of a few rows, from which two or three steps remain; None if they miss a class."""
    X, s, y = sample.rows()
    if len(np.unique(y[s > 0.0])) < K:
        return None
    few = clone(model).set_params(C=model.C * weight / s.sum(), warm_start=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit of all rows says what is to be said
        few.fit(X, y, s)
    return few.coef_, few.intercept_


def class_weights(given: Any, classes: Any, weight: Any) -> Any:
    """The factor of each class."""
    if given is None:
        return np.ones(len(classes))
    if given == "balanced":
        return weight.sum() / (len(classes) * weight)
    return np.array([given.get(k, 1.0) for k in classes])
