"""Logistic regression: the estimator; its mathematics is in `objective.py` and beside it"""

from __future__ import annotations

import math
import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.compat import (
    Hidden,
    Interval,
    StrOptions,
    _fit_context,
)
from mlreplica.core.iterate import CallbackSupport
from mlreplica.core.linear import LinearScores
from mlreplica.core.validation import FLOATS, ValidatedOnce, distinct, is_plain, validate_data

from .training import SOLVERS, LogisticData, check_solver, row_weights, solve


class LogisticRegression(
    CallbackSupport, LinearScores, ClassifierMixin, ValidatedOnce, BaseEstimator
):
    r"""Logistic regression of two or more classes, with an L1, L2, elastic-net or no penalty.

    Minimises :math:`\frac1S \sum_i s_i L(y_i, Wx_i + b) + \frac{1}{CS} \bigl(\rho \|W\|_1 +
    \frac{1-\rho}{2} \|W\|^2\bigr)` over W and b, where L is the negative logarithm of the
    probability given to the right class, :math:`s_i` the weight of row i, S the sum of
    the weights and ρ = `l1_ratio`. That is scikit-learn's objective divided by C S; both have
    the same minimum.

    Parameters
    ----------
    penalty : {"l1", "l2", "elasticnet", None}, default="l2"
        Deprecated, as in scikit-learn 1.8: say it by `l1_ratio` and `C`.
    C : float, default=1.0
        Inverse strength of the penalty; ``np.inf`` means none.
    l1_ratio : float, default=0.0
        ρ: 0 is an L2 penalty, 1 an L1 penalty.
    dual : bool, default=False
        Accepted for "liblinear" and of no consequence: the minimum is the same.
    tol : float, default=1e-4
        The solvers of smooth problems stop when Newton's decrement (the distance from the minimum
        in units of the curvature: the objective is too high by half its square) and the certificate
        are at most `tol`; "cd" when the certificate is at most tol²/2; "sag" and "saga" then too,
        or, as in scikit-learn, when no weight moved in an epoch by more than `tol` times the
        largest: `certificate_` tells how near the minimum that was.
    fit_intercept : bool, default=True
        Fit b, which no penalty sees (but see "liblinear"); otherwise b = 0.
    intercept_scaling : float, default=1
        Only for "liblinear", which penalises b/`intercept_scaling` like a weight.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes; they multiply `sample_weight`.
    random_state : int, RandomState instance or None, default=None
        The order of rows in "sag" and "saga".
    solver : str, default="lbfgs"
        - "lbfgs": for L2 or no penalty, what is fastest at hand: Newton's method if Hessians are
          cheap; otherwise L-BFGS that starts from the fit of a sample of rows and takes its
          Hessian as the first guess; plain L-BFGS if there are thousands of weights.
        - "newton-cholesky": Newton's method, with the whole Hessian, as long as it fits.
        - "newton-cg": Newton's method by conjugate gradients.
        - "cd": proximal Newton steps by coordinate descent on working sets, for every penalty.
        - "liblinear": the objective of that library, b penalised; solved as "cd" or "lbfgs".
        - "sag", "saga": stochastic average gradients, for every penalty ("sag": L2 or none).
        - "gd": gradient descent with the step 1/L, to learn from.
    max_iter : int, default=100
        The most iterations of the solver.
    verbose : int, default=0
        Above 0, write a line per iteration on standard output.
    warm_start : bool, default=False
        Whether `fit` starts from the present solution.
    n_jobs : int, default=None
        Threads; None means all.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        W. Of two classes, the second one's.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        b.
    n_iter_ : ndarray of shape (1,)
        Iterations of the solver.
    certificate_ : float
        An upper bound on the distance of the objective above from its minimum.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    Notes
    -----
    Without a penalty and with classes that a hyperplane separates there is no minimum: the weights
    would grow indefinitely. `fit` sees that and says so in a `ConvergenceWarning`.

    A class whose rows all have weight 0 is one of `classes_` nevertheless. With an intercept that
    is not penalised the objective is best as its b goes to −∞; `fit` leaves it weights of zero and
    a score of −20, and counts in `certificate_` what that costs. If only one class has weight, all
    of W is zero. Without such an intercept the minimum is found as always.

    References
    ----------
    J. Berkson, "Application of the logistic function to bio-assay", Journal of the American
    Statistical Association 39 (1944). J. Nocedal, "Updating quasi-Newton matrices with limited
    storage", Mathematics of Computation 35 (1980). F. Bach, "Self-concordant analysis for
    logistic regression", Electronic Journal of Statistics 4 (2010).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mlreplica.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression().fit(X, y)
    >>> model.predict(X[:2]), model.predict_proba(X[:2]).round(3)
    (array([0, 0]), array([[0.982, 0.018, 0.   ],
           [0.971, 0.029, 0.   ]]))
    >>> round(model.score(X, y), 3), model.certificate_ < 1e-8
    (0.973, True)
    """

    card = Card(
        page="logistic-regression",
        checks="linear",
        onnx="logistic",
        use="a class, with its probability, from columns or words",
        good="calibrated probabilities; weights are log odds; a certificate bounds its error",
        bad="only straight borders between classes",
        time="O(n p) per iteration; O(n p²) per Newton step",
        memory="O(n p)",
        instead="LinearSVC for a margin, HistGradientBoostingClassifier for curved borders",
    )

    _parameter_constraints: dict = {
        "penalty": [
            StrOptions({"l1", "l2", "elasticnet"}),
            None,
            Hidden(StrOptions({"deprecated"})),
        ],
        "C": [Interval(Real, 0, None, closed="right")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both"), None],
        "dual": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "random_state": ["random_state"],
        "solver": [StrOptions(set(SOLVERS))],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        penalty: Any = "deprecated",
        *,
        C=1.0,
        l1_ratio: float | None = 0.0,
        dual=False,
        tol=1e-4,
        fit_intercept=True,
        intercept_scaling: float = 1,
        class_weight=None,
        random_state=None,
        solver="lbfgs",
        max_iter=100,
        verbose=0,
        warm_start=False,
        n_jobs=None,
    ):
        self.penalty = penalty
        self.C = C
        self.l1_ratio = l1_ratio
        self.dual = dual
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit W and b.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            The class of each row.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights s ≥ 0: a weight of 2 stands for two equal rows, 0 for none.

        Returns
        -------
        self : LogisticRegression
        """
        C, ratio = self._penalty()
        X, y, codes = self._training_set(X, y, FLOATS)
        s = row_weights(X, y, self.classes_, codes, sample_weight, self.class_weight)
        data = LogisticData(X, codes, s, len(self.classes_), self)
        start = None
        if self.warm_start and hasattr(self, "coef_"):
            start = np.asarray(self.coef_), np.asarray(self.intercept_)
            if not all(np.isfinite(x).all() for x in start):
                raise ValueError(
                    "Floating-point under-/overflow: coef_ or intercept_, from which "
                    "warm_start=True starts, is not finite."
                )
        W, b, self.certificate_ = solve(self, data, C, ratio, start)
        dtype = np.float64 if self.solver == "liblinear" else X.dtype
        self.coef_, self.intercept_ = W.astype(dtype), b.astype(dtype)
        return self

    _varied = frozenset({"C"})  # a search fits them together

    def _fit_settings(self, fold, settings):
        """Yield (k, self, fold) for every C, from the least; a fit starts where the last ended."""
        Cs = [setting.get("C", self.C) for setting in settings]
        finite = all(isinstance(C, Real) and 0 < C < math.inf for C in Cs)
        stochastic = self.solver in ("sag", "saga")  # they stop short of the minimum
        if not finite or stochastic or self.warm_start or self.penalty != "deprecated":
            return None
        return self._path(fold, Cs)

    def _path(self, fold, Cs):
        self._validate_params()
        X, y, codes = self._training_set(fold.X_train, fold.y_train, FLOATS)
        s = fold.fit_params.get("sample_weight")
        s = row_weights(X, y, self.classes_, codes, s, self.class_weight)
        data = LogisticData(X, codes, s, len(self.classes_), self)
        dtype, start = np.float64 if self.solver == "liblinear" else X.dtype, None
        for k in sorted(range(len(Cs)), key=Cs.__getitem__):
            self.C = Cs[k]
            W, b, self.certificate_ = solve(self, data, *self._penalty(), start)
            start = W, b
            self.coef_, self.intercept_ = W.astype(dtype), b.astype(dtype)
            yield k, self, fold

    def _training_set(self, X, y, dtype):
        """X, y and the number of each row's class; sets `classes_`."""
        if is_plain(X, y, "iu") and X.dtype == np.float64:
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
        else:
            X, y = validate_data(
                self,
                X,
                y,
                accept_sparse="csr",
                dtype=dtype,
                order="C",
                accept_large_sparse=self.solver not in ("liblinear", "sag", "saga"),
            )
            check_classification_targets(y)
        if self.solver == "liblinear" and X.max() > 1e30:
            raise ValueError(
                "Using the 'liblinear' solver while X contains a maximum value > 1e30 results in "
                "a frozen fit. Please choose another solver or rescale the input X."
            )
        self.classes_, codes = distinct(y)
        if len(self.classes_) > 2 and self.solver == "liblinear":
            raise ValueError(
                "The 'liblinear' solver does not support multiclass classification"
                " (n_classes >= 3). Either use another solver or wrap the "
                "estimator in a OneVsRestClassifier to keep applying a "
                "one-versus-rest scheme. Only binary classification is supported. The type of the "
                "target is multiclass."
            )
        if len(self.classes_) < 2:
            raise ValueError(
                "This solver needs samples of at least 2 classes in the data, but the data "
                f"contains only one class: {self.classes_[0]!r}"
            )
        return X, y, codes

    def _penalty(self):
        """C and ρ, from the old parameter `penalty` too, and whether the solver can take them."""
        C, ratio = self.C, self.l1_ratio
        if self.penalty != "deprecated":
            warnings.warn(
                "'penalty' was deprecated in version 1.8 and will be removed in 1.10. To avoid "
                "this warning, leave 'penalty' set to its default value and use 'l1_ratio' or 'C' "
                "instead. Use l1_ratio=0 instead of penalty='l2', l1_ratio=1 instead of "
                "penalty='l1', l1_ratio set to a float between 0 and 1 instead of "
                "penalty='elasticnet', and C=np.inf instead of penalty=None.",
                FutureWarning,
                stacklevel=3,
            )
            C, ratio = self._old_penalty()
        elif ratio is None:
            warnings.warn(
                "'l1_ratio=None' was deprecated in version 1.8 and will trigger an error in 1.10. "
                "Use 0<=l1_ratio<=1 instead.",
                FutureWarning,
                stacklevel=3,
            )
            ratio = 0.0
        if math.isinf(C):
            ratio = 0.0
        check_solver(self.solver, {0.0: "l2", 1.0: "l1"}.get(ratio, "elasticnet"), C, self.dual)
        return C, ratio

    def _old_penalty(self):
        """C and ρ as `penalty` has them."""
        if self.penalty == "elasticnet":
            if self.l1_ratio is None:
                raise ValueError("l1_ratio must be specified when penalty is elasticnet.")
            return self.C, self.l1_ratio
        if self.l1_ratio is not None and 0 < self.l1_ratio < 1:
            warnings.warn(
                "l1_ratio parameter is only used when penalty is 'elasticnet'. Got "
                f"(penalty={self.penalty})",
                stacklevel=4,
            )
        if self.penalty is None:
            if self.C != 1.0:
                warnings.warn(
                    "Setting penalty=None will ignore the C and l1_ratio parameters", stacklevel=4
                )
            return np.inf, 0.0
        ratio = float(self.penalty == "l1")
        if self.l1_ratio != ratio:
            warnings.warn(
                f"Inconsistent values: penalty={self.penalty} with l1_ratio={self.l1_ratio}. "
                "penalty is deprecated. Please use l1_ratio only.",
                stacklevel=4,
            )
        return self.C, ratio

    def predict_proba(self, X):
        """Probabilities of the classes, in the order of `classes_`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            p = np.empty((len(scores), 2), dtype=scores.dtype)
            expit(scores, out=p[:, 1])
            expit(-scores, out=p[:, 0])
            return p
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=1, keepdims=True)
        return scores

    def predict_log_proba(self, X):
        """Logarithms of `predict_proba`, exact also where a probability is too small to be one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        log_p : ndarray of shape (n_samples, n_classes)
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return -np.logaddexp(0.0, np.column_stack([scores, -scores]), dtype=scores.dtype)
        scores -= scores.max(axis=1, keepdims=True)
        scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
        return scores

    def summary(self, X, y, sample_weight=None, *, level=0.95):
        """Standard errors, z, p, confidence intervals and measures of fit, given the training rows.

        Parameters
        ----------
        X, y, sample_weight
            What the model was fitted on, without a penalty; none of it is kept in the model.
            Weights are counts: 2 stands for two equal rows.
        level : float, default=0.95
            Coverage of the confidence intervals.

        Returns
        -------
        summary : LogisticSummary
            A table that prints in a terminal and shows as HTML in a notebook.
        """
        from .summary import summarize_logistic

        check_is_fitted(self)
        return summarize_logistic(self, X, y, sample_weight=sample_weight, level=level)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = self.solver != "liblinear"
        return tags
