"""Perceptron: the estimator; its mathematics, equations (1) to (6), is in `_perceptron`"""

from __future__ import annotations

import logging
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils import compute_class_weight
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import _check_sample_weight, validate_data

from ..core.iterate import CallbackSupport, iterate
from ..core.validation import FLOATS
from ._base import LinearScores
from ._perceptron import Penalty, epochs, seeds, seeds_of_integer, shuffled

SPARSE_OFFSET_RATE = 0.01  # sparse rows: b sees every point, each weight few, so b moves slower
logger = logging.getLogger("mlreplica")


def is_plain(X, y):
    """Whether X is a finite C array of floats and y an integer a row: nothing left to validate."""
    with np.errstate(over="ignore", invalid="ignore"):
        return (
            type(X) is type(y) is np.ndarray
            and X.ndim == 2
            and X.dtype in FLOATS
            and X.flags.c_contiguous
            and X.size > 0
            and y.shape == X.shape[:1]
            and y.dtype.kind in "biu"
            and bool(np.isfinite(X.sum()))
        )


class Perceptron(CallbackSupport, LinearScores, ClassifierMixin, BaseEstimator):
    """Linear classifier that learns from its mistakes: updates (3), one against all for classes.

    The same arguments give the same model as scikit-learn's Perceptron: even the order in which
    a seed visits the points is the same. It differs in two ways. It stops as soon as an epoch
    without penalty makes no mistake, since nothing can change any more; and a row of weight 0 is
    absent, where scikit-learn lets it count in the loss and shrink the weights.

    Parameters
    ----------
    penalty : {'l2', 'l1', 'elasticnet'} or None, default=None
        Penalty on w.
    alpha : float, default=0.0001
        Strength α of the penalty, if there is one.
    l1_ratio : float, default=0.15
        Share ρ of the L1 part, for ``penalty='elasticnet'``.
    fit_intercept : bool, default=True
        Whether to learn b. On sparse X it moves at 0.01 of the rate of w.
    max_iter : int, default=1000
        The most epochs of `fit`.
    tol : float or None, default=1e-3
        An epoch improves if it lowers the mean loss (raises the validation score) by this much;
        None: run `max_iter` epochs.
    shuffle : bool, default=True
        Whether each epoch has an order of its own.
    verbose : int, default=0
        If positive, log the number of mistakes and the loss of the last epoch.
    eta0 : float, default=1.0
        Learning rate η. From a zero start, without penalty, it only scales the result.
    n_jobs : int or None, default=None
        Threads for the binary problems of more than two classes.
    random_state : int, RandomState instance or None, default=0
        Seed of the orders and of the validation split.
    early_stopping : bool, default=False
        Whether to judge improvement by the accuracy on held-out rows.
    validation_fraction : float, default=0.1
        How much to hold out; `fit` can be handed the rows instead.
    n_iter_no_change : int, default=5
        Epochs without improvement before `fit` stops.
    class_weight : dict, 'balanced' or None, default=None
        Weights of the classes; they multiply `sample_weight`.
    warm_start : bool, default=False
        Whether `fit` starts from the present solution.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    n_iter_ : int
        Epochs run; for several classes, the most any of them needed.
    t_ : float
        One more than the points visited.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    References
    ----------
    F. Rosenblatt, "The perceptron: a probabilistic model for information storage and organization
    in the brain", Psychological Review 65 (1958). A. Novikoff, "On convergence proofs on
    perceptrons", Symposium on the Mathematical Theory of Automata (1962).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from mlreplica.linear_model import Perceptron
    >>> X, y = load_digits(return_X_y=True)
    >>> round(Perceptron().fit(X, y).score(X, y), 3)
    0.939
    """

    _parameter_constraints: dict = {
        "penalty": [StrOptions({"l2", "l1", "elasticnet"}), None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "fit_intercept": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "shuffle": ["boolean"],
        "verbose": ["verbose"],
        "eta0": [Interval(Real, 0, None, closed="neither")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "warm_start": ["boolean"],
    }

    def __init__(
        self,
        *,
        penalty=None,
        alpha=0.0001,
        l1_ratio=0.15,
        fit_intercept=True,
        max_iter=1000,
        tol=1e-3,
        shuffle=True,
        verbose=0,
        eta0=1.0,
        n_jobs=None,
        random_state=0,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=5,
        class_weight=None,
        warm_start=False,
    ):
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.eta0 = eta0
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X,
        y,
        coef_init=None,
        intercept_init=None,
        sample_weight=None,
        *,
        X_val=None,
        y_val=None,
        sample_weight_val=None,
    ):
        """Learn from X, y until the loss or the validation score stops improving.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        coef_init, intercept_init : array-like, optional
            Where to start, in the shapes of `coef_` and `intercept_`; zero if not given.
        sample_weight : array-like of shape (n_samples,), optional
            cᵢ of (3): a point of weight 2 makes updates twice as long.
        X_val, y_val, sample_weight_val : array-like, optional
            Rows to judge by with ``early_stopping=True``, instead of a held-out fraction.

        Returns
        -------
        self : Perceptron
        """
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val go together: give both or neither.")
        if X_val is not None and not self.early_stopping:
            raise ValueError("X_val is only looked at with early_stopping=True.")
        X, y, c = self._check(X, y, sample_weight, reset=True)
        self.classes_, self.t_ = np.unique(y), 1.0
        if self.warm_start and hasattr(self, "coef_"):
            coef_init = self.coef_ if coef_init is None else coef_init
            intercept_init = self.intercept_ if intercept_init is None else intercept_init
        w, b = self._start(X.shape[1], coef_init, intercept_init)
        validation = None
        if X_val is not None:
            X_val, y_val, c_val = self._check(X_val, y_val, sample_weight_val, reset=False)
            validation = X_val, y_val, c_val
        advice = None if self.tol is None else "raise max_iter or tol, or scale X"
        return self._learn(X, y, c, w, b, self.max_iter, advice, validation)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Go through X, y once, from where the model stands.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like, optional
            All classes there will be; needed at the first call.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self : Perceptron
        """
        first = not hasattr(self, "classes_")
        if first and self.early_stopping:
            raise ValueError("early_stopping should be False with partial_fit")
        if first and self.class_weight == "balanced":
            raise ValueError(
                "class_weight 'balanced' is not supported for partial_fit, which never sees all "
                "the data: compute_class_weight('balanced', classes=classes, y=y) on a large "
                "sample gives weights to pass as a dict."
            )
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        X, y, c = self._check(X, y, sample_weight, reset=first)
        if first:
            self.classes_, self.t_ = unique_labels(classes), 1.0
        elif classes is not None and not np.array_equal(self.classes_, unique_labels(classes)):
            raise ValueError(
                f"`classes={classes!r}` is not the same as on last call to partial_fit, "
                f"was: {self.classes_!r}"
            )
        if unseen := sorted(set(np.unique(y).tolist()) - set(self.classes_.tolist())):
            raise ValueError(f"y has labels {unseen} that are not in classes {self.classes_}.")
        now = (None, None) if not hasattr(self, "coef_") else (self.coef_, self.intercept_)
        return self._learn(X, y, c, *self._start(X.shape[1], *now), 1, None, None)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check(self, X, y, sample_weight, reset):
        """X (float64 or float32; dense C or CSR), y and the weights, as validated."""
        if reset and is_plain(X, y):
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
        else:
            X, y = validate_data(
                self,
                X,
                y,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                order="C",
                accept_large_sparse=False,
                reset=reset,
            )
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

    def _start(self, p, coef, intercept):
        """The starting w (problems, p) and b (problems,), as float64 copies."""
        classes = len(self.classes_)
        if classes < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {classes} class"
            )
        problems = 1 if classes == 2 else classes
        w = np.zeros((problems, p)) if coef is None else np.array(coef, dtype=np.float64, order="C")
        b = np.zeros(problems) if intercept is None else np.array(intercept, dtype=np.float64)
        if w.size != problems * p or (problems > 1 and w.shape != (problems, p)):
            raise ValueError(f"coef_init must have shape {(problems, p)}, got {w.shape}.")
        if b.size != problems or b.ndim > 1:
            raise ValueError(f"intercept_init must have shape {(problems,)}, got {b.shape}.")
        return w.reshape(problems, p), b.reshape(problems)

    def _learn(self, X, y, c, w, b, max_iter, advice, validation):
        """Run at most max_iter epochs from (w, b) and publish the last."""
        n = X.shape[0]
        dtype, sparse, problems = X.dtype, sp.issparse(X), len(w)
        X = X.astype(np.float64, copy=False)
        class_weight = np.ones(len(self.classes_))
        if self.class_weight is not None:
            class_weight = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        positive = self.classes_[-problems:]  # two classes: the second against the first
        if self.early_stopping and validation is None:
            held_out = self._held_out(y if problems > 1 else y == positive[0], c)
            validation = X[held_out], y[held_out], c[held_out]
            c = np.where(held_out, 0.0, c)  # weight 0 = absent
        s = np.empty((problems, n))  # sᵢ = ηcᵢyᵢ
        for k in range(problems):
            other = class_weight[0] if problems == 1 else 1.0
            s[k] = np.where(y == positive[k], class_weight[k - problems], -other) * (self.eta0 * c)

        def accuracy(k, w_k, b_k):
            X_val, y_val, c_val = validation
            right = (X_val @ w_k + b_k > 0) == (y_val == positive[k])
            return np.average(right, weights=c_val)

        ratio = {None: 0.0, "l2": 0.0, "l1": 1.0, "elasticnet": self.l1_ratio}[self.penalty]
        alpha = 0.0 if self.penalty is None else self.alpha
        solver = epochs(
            X,
            s,
            w,
            b,
            eta=self.eta0,
            rate=(SPARSE_OFFSET_RATE if sparse else 1.0) * self.fit_intercept,
            penalty=Penalty(l2=alpha * (1.0 - ratio), l1=alpha * ratio),
            orders=self._orders(n, problems) if self.shuffle else None,
            tol=-np.inf if self.tol is None else self.tol,
            patience=self.n_iter_no_change,
            score=accuracy if self.early_stopping else None,
            n_jobs=self.n_jobs,
        )
        state = iterate(
            self,
            solver,
            max_iter=max_iter,
            advice=advice,
            publish=lambda e: {"coef_": e.w.copy(), "intercept_": e.b.copy(), "t_": self.t_},
            X=X,
            y=y,
        )
        if self.verbose:
            logger.info("epoch %d: %d mistakes, loss %g", self.n_iter_, state.mistakes, state.loss)
        self.coef_, self.intercept_ = w.astype(dtype, copy=False), b.astype(dtype, copy=False)
        self.t_ += self.n_iter_ * n
        return self

    def _orders(self, n, problems):
        """For each problem the permutation of the rows between two epochs."""
        fixed = isinstance(self.random_state, Integral)
        draw = seeds_of_integer if fixed else seeds
        return [shuffled(n, seed) for seed in draw(self.random_state, problems)]

    def _held_out(self, y, c):
        """Mask of a stratified fraction of the rows, for early stopping."""
        from sklearn.model_selection import StratifiedShuffleSplit

        split = StratifiedShuffleSplit(
            test_size=self.validation_fraction, random_state=self.random_state
        )
        _, rows = next(split.split(np.zeros((len(y), 1)), y))
        if not c[rows].any():
            raise ValueError(
                "The sample weights for validation set are all zero, consider using a different "
                "random state."
            )
        held_out = np.zeros(len(y), dtype=bool)
        held_out[rows] = True
        return held_out
