"""Perceptron: the estimator; its mathematics, equations (1) to (6), is in `perceptron.py`"""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import ClassifierMixin

from mlreplica.core.card import Card
from mlreplica.core.compat import Interval, _fit_context
from mlreplica.core.linear import LinearScores

from .base import StochasticClassifier


class Mistakes(NamedTuple):
    """Where the perceptron stands after an epoch."""

    w: np.ndarray  # (problems, p): one binary problem for two classes, else one a class
    b: np.ndarray  # (problems,)
    mistakes: int  # updates made in this epoch, in all problems
    loss: float  # loss (2), each point under the weights it met; summed over the problems


class Perceptron(LinearScores, ClassifierMixin, StochasticClassifier):
    """Linear classifier that learns from its mistakes: updates (3), one against all for classes.

    The same arguments give the same model as scikit-learn's Perceptron: even the order in which
    a seed visits the points is the same. It differs in four ways. It stops as soon as an epoch
    without penalty makes no mistake, since nothing can change any more; a row of weight 0 is
    absent, where scikit-learn lets it count in the loss and shrink the weights, and a negative
    weight is refused; `tol` watches the true objective, so that with a penalty on sparse rows or an
    L1 penalty it may stop at another epoch; float32 is computed in float64.

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
        Above 0, write a line per epoch on standard output.
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

    card = Card(
        page="perceptron",
        checks="linear",
        onnx="linear",
        use="two classes that a straight border separates; the first algorithm to study",
        good="learns from its mistakes alone; a proved number of them if the classes are separable",
        bad="no probabilities; never settles if the classes overlap",
        time="O(n p) per epoch",
        memory="O(p) beside X",
        rescaling="helps: long rows move the border most",
        instead="LogisticRegression for probabilities, LinearSVC for the widest margin",
    )

    _parameter_constraints: dict = {
        name: constraint
        for name, constraint in StochasticClassifier._parameter_constraints.items()
        if name not in {"average", "batch_size", "epsilon", "learning_rate", "power_t"}
    } | {"l1_ratio": [Interval(Real, 0, 1, closed="both")]}
    loss = "perceptron"

    def __init__(
        self,
        *,
        penalty=None,
        alpha=0.0001,
        l1_ratio=0.15,
        fit_intercept=True,
        max_iter=1000,
        tol: float | None = 1e-3,
        shuffle=True,
        verbose=0,
        eta0=1.0,
        n_jobs=None,
        random_state: Any = 0,
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
        validation = (X_val, y_val, sample_weight_val)
        return self._fit(X, y, coef_init, intercept_init, sample_weight, validation)

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
        return self._partial_fit(X, y, classes, sample_weight)

    def _states(self, solver):
        """What moves a perceptron is a mistake."""
        return (Mistakes(e.w, e.b, e.moves, e.loss) for e in solver)
