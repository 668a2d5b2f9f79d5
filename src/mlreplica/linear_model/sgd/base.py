"""What the estimators by stochastic gradient descent share; the mathematics is in `epochs.py`"""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets, unique_labels

from mlreplica.core.compat import (
    Interval,
    StrOptions,
    _check_sample_weight,
)
from mlreplica.core.formulas.penalties import Penalty
from mlreplica.core.iterate import CallbackSupport, iterate
from mlreplica.core.validation import (
    FLOATS,
    ValidatedOnce,
    distinct,
    is_plain,
    refuse_overflow,
    validate_data,
)

from .epochs import SGD, Means, Schedule, first_step, seeds, seeds_of_integer, total
from .losses import resolve

SPARSE_OFFSET_RATE = 0.01  # sparse rows: b sees every point, each weight few, so b moves slower
PASSIVE = {"pa1", "pa2"}
ADVICE = (  # and scikit-learn's words, for whoever filters by them
    "raise max_iter or tol, or scale X. Maximum number of iteration reached before convergence. "
    "Consider increasing max_iter to improve the fit"
)


class StochasticDescent(CallbackSupport, ValidatedOnce, BaseEstimator):
    """Validation, start, descent and result; the subclasses say what y means."""

    _parameter_constraints: dict = {
        "penalty": [StrOptions({"l2", "l1", "elasticnet"}), None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both"), None],
        "fit_intercept": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "shuffle": ["boolean"],
        "verbose": ["verbose"],
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "learning_rate": [
            StrOptions({"constant", "optimal", "invscaling", "adaptive", "pa1", "pa2"})
        ],
        "eta0": [Interval(Real, 0, None, closed="neither")],
        "power_t": [Interval(Real, None, None, closed="neither")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "average": [Interval(Integral, 0, None, closed="neither"), "boolean"],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
    }
    # what a subclass without these parameters has for them
    average, batch_size, epsilon, learning_rate, power_t = False, 1, 0.1, "constant", 0.5
    _targets, _passive_loss, _data_seed_first = ("real", "count"), "epsilon_insensitive", False
    _plain_y = "biuf"  # kinds of numbers that need no look at the targets

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _refuse(self, partial=False):
        """Errors about parameters that do not go together."""
        if partial and self.early_stopping:
            raise ValueError("early_stopping should be False with partial_fit")
        if self.learning_rate == "optimal" and self.alpha == 0:
            raise ValueError(
                "alpha must be > 0 since learning_rate is 'optimal'. alpha is used to compute the "
                "optimal learning rate."
            )
        if self.learning_rate in PASSIVE and self.loss != self._passive_loss:
            raise ValueError(
                f"Learning rate '{self.learning_rate}' only works with loss '{self._passive_loss}'."
            )
        if self.penalty == "elasticnet" and self.l1_ratio is None:
            raise ValueError("l1_ratio must be set when penalty is 'elasticnet'")

    def _check(self, X, y, sample_weight, reset):
        """X (float64 or float32; dense C or CSR), y and the weights, as validated."""
        if reset and is_plain(X, y, self._plain_y):
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
        else:
            X, y = validate_data(
                self, X, y, accept_sparse="csr", dtype=FLOATS, order="C", accept_large_sparse=False,
                reset=reset,
            )  # fmt: skip
            if is_classifier(self) and y.dtype.kind not in "biu":
                check_classification_targets(y)
        if sample_weight is None:
            return X, y, np.ones(len(y))
        c = _check_sample_weight(
            sample_weight,
            X,
            dtype=np.float64,
            allow_all_zero_weights=self.early_stopping,  # the split has a message of its own
            ensure_non_negative=True,
        )
        return X, y, c

    def _check_validation(self, X_val, y_val, sample_weight_val):
        """The rows to judge by that `fit` was handed, or None."""
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val go together: give both or neither.")
        if X_val is None:
            return None
        if not self.early_stopping:
            raise ValueError("X_val is only looked at with early_stopping=True.")
        return self._check(X_val, y_val, sample_weight_val, reset=False)

    def _start(self, problems, p, coef, intercept):
        """The starting w (problems, p) and b (problems,), as float64 copies."""
        coef = coef.toarray() if sp.issparse(coef) else coef
        w = np.zeros((problems, p)) if coef is None else np.array(coef, dtype=np.float64, order="C")
        b = np.zeros(problems) if intercept is None else np.array(intercept, dtype=np.float64)
        if w.size != problems * p or (problems > 1 and w.shape != (problems, p)):
            raise ValueError(
                "Provided coef_init does not match dataset: "
                f"coef_init must have shape {(problems, p)}, got {w.shape}."
            )
        if b.size != problems or b.ndim > 1:
            raise ValueError(
                "Provided intercept_init does not match dataset: "
                f"intercept_init must have shape {(problems,)}, got {b.shape}."
            )
        return w.reshape(problems, p), b.reshape(problems)

    def _begin(self, problems, p, coef=None, intercept=None):
        """Forget the past: w, b, their averages and the count of steps."""
        if self.warm_start and hasattr(self, "coef_"):
            coef = self.coef_ if coef is None else coef
            intercept = self.intercept_ if intercept is None else intercept
        for name in (
            "_standard_coef",
            "_standard_intercept",
            "_average_coef",
            "_average_intercept",
        ):
            self.__dict__.pop(name, None)
        self.t_ = 1.0
        return self._start(problems, p, coef, intercept)

    def _resume(self, problems, p):
        """w and b where the last call of `partial_fit` or `fit` left them."""
        if hasattr(self, "_standard_coef"):
            return self._start(problems, p, self._standard_coef, self._standard_intercept)
        return self._start(
            problems, p, getattr(self, "coef_", None), getattr(self, "intercept_", None)
        )

    def _descend(self, X, y, c, w, b, max_iter, *, loss, held_out=None, score=None, n_jobs=None):
        """Run at most max_iter epochs from (w, b) and publish the last; `score` judges a model."""
        dtype, sparse, problems = X.dtype, sp.issparse(X), len(w)
        fitting = max_iter is None
        limited = fitting and self.tol is not None
        most = self.max_iter if fitting else max_iter
        means = self._means(w)
        ratio = {None: 0.0, "l2": 0.0, "l1": 1.0, "elasticnet": self.l1_ratio}[self.penalty]
        alpha = 0.0 if self.penalty is None else float(self.alpha)
        tol = -np.inf if self.tol is None else self.tol
        t0 = first_step(loss, self.alpha) if self.learning_rate == "optimal" else 0.0
        solver = SGD(
            X.astype(np.float64, copy=False),
            y,
            c,
            w,
            b,
            means,
            loss=loss,
            schedule=Schedule(
                self.learning_rate, float(self.eta0), float(self.power_t), float(self.alpha), t0
            ),
            penalty=Penalty(l2=alpha * (1.0 - ratio), l1=alpha * ratio),
            rate=(SPARSE_OFFSET_RATE if sparse else 1.0) * self.fit_intercept,
            seeds=self._seeds(problems) if self.shuffle else [],
            batch=self.batch_size,
            t=self.t_,
            held_out=held_out,
            tol=tol,
            patience=self.n_iter_no_change,
            score=score,
            watched=bool(
                (score is None and limited) or self.verbose or getattr(self, "_skl_callbacks", None)
            ),
            most=most,
            n_jobs=n_jobs,
        )
        state = iterate(
            self,
            self._states(solver.epochs()),
            max_iter=most,
            advice=ADVICE if limited else None,
            publish=lambda e: self._shaped(e.w.copy(), e.b.copy()) | {"t_": self.t_},
            X=X,
            y=y,
        )
        if limited and not is_classifier(self) and state.objective > 0.0:
            zero = total(loss, y[0], np.zeros(len(y[0])), c[0]) / np.count_nonzero(c)
            if state.objective > 2.0 * zero:
                warnings.warn(
                    f"The objective rose from {zero:.2g} at w = 0 to {state.objective:.2g} in the "
                    "last epoch: scale X or lower eta0.",
                    ConvergenceWarning,
                    stacklevel=3,
                )
        size = np.abs(state.w).sum(axis=1)
        if dtype == np.float32 or size.max(initial=0.0) > 1e100:
            most = size * max(float(X.max()), -float(X.min())) + np.abs(state.b)
            refuse_overflow(self, scores=most.astype(dtype))
        self.t_ += self.n_iter_ * -(-X.shape[0] // self.batch_size)
        if means.start > 0:
            self._standard_coef, self._standard_intercept = w, b
            self._average_coef, self._average_intercept = means.w, means.b
        for name, value in self._shaped(state.w, state.b).items():
            setattr(self, name, value.astype(dtype, copy=means.start > 0))
        if fitting and self.power_t < 0:
            warnings.warn(
                "Negative values for `power_t` are deprecated in version 1.8 and will raise an "
                "error in 1.10. Use values in the range [0.0, inf) instead.",
                FutureWarning,
                stacklevel=3,
            )
        return self

    def _means(self, w):
        """The averages so far, as they stand."""
        start = int(self.average)
        if start and getattr(self, "_average_coef", None) is not None:
            return Means(self._average_coef.copy(), self._average_intercept.copy(), start)
        return Means(np.zeros(w.shape if start else (len(w), 0)), np.zeros(len(w)), start)

    def _states(self, solver):
        """The solver's states as callbacks see them."""
        return solver

    def _seeds(self, problems):
        """A seed for each problem, as scikit-learn draws it."""
        draw = seeds_of_integer if isinstance(self.random_state, Integral) else seeds
        return draw(self.random_state, problems, self._data_seed_first)

    def _held_out(self, splitter, y, c):
        """Mask of a fraction of the rows, for early stopping."""
        split = splitter(test_size=self.validation_fraction, random_state=self.random_state)
        _, rows = next(split.split(np.zeros((len(y), 1)), y))
        if not c[rows].any():
            raise ValueError(
                "The sample weights for validation set are all zero, consider using a different "
                "random state."
            )
        held_out = np.zeros(len(y), dtype=bool)
        held_out[rows] = True
        return held_out


class StochasticClassifier(StochasticDescent):
    """y is one of several classes: a binary problem for two of them, one against all for more."""

    _parameter_constraints: dict = {
        **StochasticDescent._parameter_constraints,
        "n_jobs": [Integral, None],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }
    _targets, _passive_loss, _data_seed_first = ("sign", "real"), "hinge", True
    _plain_y = "biu"

    def _fit(self, X, y, coef_init, intercept_init, sample_weight, validation):
        """`fit`, its arguments in order."""
        self._refuse()
        X, y, c = self._check(X, y, sample_weight, reset=True)
        self.classes_ = distinct(y)[0]
        w, b = self._begin(self._problems(), X.shape[1], coef_init, intercept_init)
        validation = self._check_validation(*validation)
        return self._learn(X, y, c, w, b, None, validation)

    def _partial_fit(self, X, y, classes, sample_weight):
        """`partial_fit`, its arguments in order."""
        first = not hasattr(self, "classes_")
        if first:
            self._refuse(partial=True)
            if self.class_weight == "balanced":
                raise ValueError(
                    "class_weight 'balanced' is not supported for partial_fit. In order to use "
                    "'balanced' weights, use compute_class_weight('balanced', classes=classes, "
                    "y=y). In place of y you can use a large enough sample of the full training "
                    "set target to properly estimate the class frequency distributions. Pass the "
                    "resulting weights as the class_weight parameter."
                )
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit.")
        X, y, c = self._check(X, y, sample_weight, reset=first)
        if first:
            self.classes_ = unique_labels(classes)
        elif classes is not None and not np.array_equal(self.classes_, unique_labels(classes)):
            raise ValueError(
                f"`classes={classes!r}` is not the same as on last call to partial_fit, "
                f"was: {self.classes_!r}"
            )
        if unseen := sorted(set(distinct(y)[0].tolist()) - set(self.classes_.tolist())):
            raise ValueError(f"y has labels {unseen} that are not in classes {self.classes_}.")
        start = self._begin if first else self._resume
        return self._learn(X, y, c, *start(self._problems(), X.shape[1]), 1, None)

    def _problems(self):
        """How many binary problems there are."""
        if (classes := len(self.classes_)) < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {classes} class"
            )
        return 1 if classes == 2 else classes

    def _learn(self, X, y, c, w, b, max_iter, validation):
        """Descend on the binary problems."""
        problems, held_out = len(w), None
        class_weight = np.ones(len(self.classes_))
        if self.class_weight is not None:
            class_weight = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        positive = self.classes_[-problems:]  # two classes: the second against the first
        if self.early_stopping and validation is None:
            from sklearn.model_selection import StratifiedShuffleSplit

            held_out = self._held_out(StratifiedShuffleSplit, y, c)
            validation = X[held_out], y[held_out], c[held_out]
        is_k = y == positive[:, None]
        c = np.broadcast_to(c, is_k.shape)
        if self.class_weight is not None:
            other = class_weight[0] if problems == 1 else 1.0
            c = c * np.where(is_k, class_weight[-problems:, None], other)

        def accuracy(k, w_k, b_k):
            X_val, y_val, c_val = validation
            right = (X_val @ w_k + b_k > 0) == (y_val == positive[k])
            return np.average(right, weights=c_val)

        return self._descend(
            X,
            np.where(is_k, 1.0, -1.0),
            c,
            w,
            b,
            max_iter,
            loss=resolve(self.loss, self.epsilon, self._targets),
            held_out=held_out,
            score=accuracy if self.early_stopping and max_iter is None else None,
            n_jobs=self.n_jobs,
        )

    def _shaped(self, w, b):
        """The fitted attributes that hold w and b."""
        return {"coef_": w, "intercept_": b}
