"""From checked rows to weights: the data of a logistic regression and the choice of a solver"""

from __future__ import annotations

import math
import warnings

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, compute_class_weight

from mlreplica.core.compat import (
    _check_sample_weight,
)
from mlreplica.core.compile.threads import one_blas_thread
from mlreplica.core.iterate import iterate

from .objective import LogisticProblem, LogisticState
from .smooth import certificate, separable, smooth

SOLVERS = ("lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga", "cd", "gd")
SELECT = ("liblinear", "saga", "cd")  # the solvers that know an L1 penalty
FAR = 1e3  # a mean this many standard deviations from zero costs too many digits: centre X
ABSENT = -20.0  # the score of a class that has no row
SMALL = 1 << 22  # entries up to which a sparse X is made dense: that is faster
UNKNOWN = 0.5  # a certificate above this share of P proves no minimum: P itself is one
COMPLAINT = dict.fromkeys(SOLVERS, "{} iterations did not suffice") | {  # scikit-learn's words
    "lbfgs": "lbfgs failed to converge",
    "liblinear": "Liblinear failed to converge, increase the number of iterations.",
    "newton-cg": "newton-cg failed to converge",
    "newton-cholesky": "Newton solver did not converge after {} iterations.",
    "sag": "The max_iter was reached which means the coef_ did not converge",
    "saga": "The max_iter was reached which means the coef_ did not converge",
}


def check_solver(solver, penalty, C, dual):
    """Refuse what a solver of this name cannot do."""
    if solver not in SELECT and penalty != "l2":
        raise ValueError(
            f"Solver {solver} supports only 'l2' or None penalties, got {penalty} penalty."
        )
    if solver != "liblinear" and dual:
        raise ValueError(f"Solver {solver} supports only dual=False, got dual={dual}")
    if solver == "liblinear" and penalty == "elasticnet":
        raise ValueError(f"Only 'saga' solver supports elasticnet penalty, got solver={solver}.")
    if solver == "liblinear" and math.isinf(C):
        raise ValueError(
            "C=np.inf as well as penalty=None is not supported for the liblinear solver"
        )


def row_weights(X, y, classes, codes, sample_weight, class_weight):
    """s, or None if all rows weigh the same."""
    if sample_weight is None and class_weight is None:
        return None
    s = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if class_weight is not None:
        by_class = compute_class_weight(class_weight, classes=classes, y=y, sample_weight=s)
        s = s * by_class[codes]
    if not s.any():
        raise ValueError("All sample weights are zero: no row is left to fit.")
    return s


class LogisticData:
    """The rows as solvers take them: float64, without those of weight 0, centred where it pays.

    With a free intercept a class without a row (of positive weight) is no part of the problem: its
    b would go to −∞. Its weights become zero and its score is low.
    """

    def __init__(self, X, codes, s, n_classes, model):
        self.n_features, self.n_classes = X.shape[1], n_classes
        if s is not None and not s.all():
            X, codes, s = X[s > 0], codes[s > 0], s[s > 0]
        self.scaling = model.intercept_scaling if model.solver == "liblinear" else 0.0
        self.intercept = model.fit_intercept
        self.present = np.arange(n_classes)
        if self.intercept and not self.scaling:
            self.present = np.flatnonzero(np.bincount(codes, minlength=n_classes))
            if len(self.present) < n_classes:
                codes = np.searchsorted(self.present, codes)
        self.K = 1 if len(self.present) <= 2 else len(self.present)
        n = X.shape[0]
        self.total = float(n if s is None else s.sum())
        self.s = np.full(n, 1.0 / n) if s is None else s / self.total
        self.y = 2.0 * codes - 1.0 if self.K == 1 else codes.astype(np.int64, copy=False)
        self.x0 = None
        X = X.astype(np.float64, copy=False)
        if sp.issparse(X) and X.shape[0] * X.shape[1] <= SMALL:
            X = X.toarray()
        if self.intercept and self.scaling:
            column = np.full((n, 1), float(self.scaling))
            X = sp.hstack([X, column], format="csr") if sp.issparse(X) else np.hstack([X, column])
        elif self.intercept and not sp.issparse(X):
            few = X[:: max(1, n // 100)]
            mean, std = few.mean(axis=0), few.std(axis=0)
            stochastic = model.solver in ("sag", "saga")  # their step is as long as rows are short
            if stochastic or (np.abs(mean) > FAR * std).any():
                self.x0 = mean
                X = X - mean
        self.X = X

    def problem(self, C, ratio, n_jobs=None):
        """(1) for this C and ρ."""
        strength = 1.0 / (C * self.total)
        return LogisticProblem(
            self.X,
            self.y,
            self.s,
            ratio * strength,
            (1.0 - ratio) * strength,
            self.intercept and not self.scaling,
            self.K,
            n_jobs,
        )

    def inside(self, W, b):
        """W and b as the solvers have them; zeros if these have another shape."""
        if W.shape != (self.K, self.n_features) or len(self.present) < self.n_classes:
            W, b = np.zeros((self.K, self.n_features)), np.zeros(self.K)
        W = np.ascontiguousarray(W, dtype=np.float64)
        b = np.array(b, dtype=np.float64) if self.intercept else np.zeros(self.K)
        if self.intercept and self.scaling:
            return np.column_stack([W, b / self.scaling]), np.zeros(self.K)
        return (W, b) if self.x0 is None else (W, b + W @ self.x0)

    def outside(self, W, b):
        """W and b as users have them."""
        if self.intercept and self.scaling:
            W, b = W[:, :-1], W[:, -1] * self.scaling
        elif self.x0 is not None:
            b = b - W @ self.x0
        if len(self.present) == self.n_classes:
            return W, b
        if len(self.present) == 1:  # it is certain
            W, b = np.zeros((1, W.shape[1])), np.zeros(1)
            if self.n_classes == 2:
                return W, np.where(self.present == 1, -ABSENT, ABSENT)
        elif self.K == 1:
            W, b = np.vstack([-W, W]) / 2, np.append(-b, b) / 2
        all_W, all_b = np.zeros((self.n_classes, W.shape[1])), np.full(self.n_classes, ABSENT)
        all_W[self.present], all_b[self.present] = W, b
        return all_W, all_b

    def cost_of_absent(self, W, b):
        """What classes without a row add to the loss, as their score is not −∞."""
        absent = self.n_classes - len(self.present)
        if absent == 0:
            return 0.0
        f = self.X @ W.T + b
        scores = np.hstack([-f, f]) / 2 if len(self.present) == 2 else f
        return float(self.s @ np.log1p(absent * np.exp(ABSENT - logsumexp(scores, axis=1))))


def least(solver, ratio):
    """What rounding leaves of a certificate: with L1 and in "cd" a difference, else a square."""
    return 1e-13 if ratio > 0 else 1e-15 if solver == "cd" else 2e-17


def once_more(states, rounding):
    """The states up to the first whose gap is but rounding, and one more: it squares the error."""
    for state in states:
        if state.gap <= rounding:
            yield state._replace(gap=math.nextafter(rounding, 1.0))
            yield next(states)
            return
        yield state


def solve(model, data, C, ratio, start):
    """W, b and the certificate by the solver that `model` names; sets its `n_iter_`."""
    if len(data.present) == 1:
        W, b = data.inside(np.zeros(0), np.zeros(0))
        model.n_iter_ = np.zeros(1, dtype=np.int32)
        if math.isinf(C):
            warnings.warn(
                "Only one class has rows of positive weight, so that without a penalty any W is as "
                "good as another: it is zero. Use C < inf.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return *data.outside(W, b), data.cost_of_absent(W, b)
    problem = data.problem(C, ratio, model.n_jobs)
    W, b = data.inside(*(start or (np.zeros(0), np.zeros(0))))
    watch, first, tol = "gap", 0, max(model.tol * model.tol / 2, least(model.solver, ratio))
    smooth_solver = ratio == 0 and model.solver not in ("sag", "saga", "cd")
    if model.max_iter == 0 and not smooth_solver:
        states = iter([LogisticState(W, b, np.inf, np.inf)])
    elif model.solver in ("sag", "saga"):
        from .saga import saga

        states = saga(problem, W, b, check_random_state(model.random_state))
        watch, tol = "residual", model.tol
    elif not smooth_solver:
        from .proximal_newton import coordinate_descent

        states = coordinate_descent(problem, W, b)
        if model.tol**2 / 2 < tol:
            states = once_more(states, tol)
    else:
        states = smooth(problem, W, b, "lbfgs" if model.solver == "liblinear" else model.solver)
        watch, first, tol = "residual", 1, model.tol  # the first state is the start

    def attributes(state):
        W, b = data.outside(state.W, state.b)
        bound = float(state.gap) + data.cost_of_absent(state.W, state.b)
        return {"coef_": W, "intercept_": b, "certificate_": bound}

    with one_blas_thread():
        state = iterate(
            model,
            states,
            max_iter=model.max_iter + first,
            tol=tol,
            watch=watch,
            unit="iterations",
            advice=None,
            publish=attributes,
            X=data.X,
            y=data.y,
        )
    steps = model.n_iter_ - first
    model.n_iter_ = np.array([steps], dtype=np.int32)
    gap = float(state.gap)
    if math.isinf(C) and gap > UNKNOWN * state.objective:
        gap = float(certificate(problem, state.W, state.b))
        if gap > UNKNOWN * state.objective and separable(problem, state.W, state.b):
            warnings.warn(
                "A hyperplane separates the classes (all rows lie on the right side or on it), so "
                "that without a penalty larger weights are always better: there is no solution, "
                f"and these weights are where iteration {steps} left them. Use C < inf.",
                ConvergenceWarning,
                stacklevel=3,
            )
            return *data.outside(state.W, state.b), gap + data.cost_of_absent(state.W, state.b)
    if steps >= model.max_iter and getattr(state, watch) > tol:
        warnings.warn(
            f"{COMPLAINT[model.solver].format(steps)} ({watch} {getattr(state, watch):.1e} > "
            f"{tol:.1e} after {steps} iterations). Increase the number of iterations, or "
            "scale the columns of X.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return *data.outside(state.W, state.b), gap + data.cost_of_absent(state.W, state.b)
