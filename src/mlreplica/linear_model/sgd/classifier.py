"""SGDClassifier: the estimator; its mathematics, equations (1) to (7), is in `epochs.py`"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from mlreplica.core.card import Card
from mlreplica.core.compat import StrOptions, _fit_context
from mlreplica.core.formulas.losses import Loss
from mlreplica.core.linear import LinearScores

from .base import StochasticClassifier
from .losses import FOR_CLASSES, resolve

WITH_PROBABILITIES = {"log_loss", "logistic", "modified_huber", "exponential"}


def has_probabilities(model):
    """Whether the score of the loss stands for a probability."""
    loss = model.loss
    if isinstance(loss, Loss):
        known = loss.target == "sign" and loss.inverse_link is not None
    else:
        known = loss in WITH_PROBABILITIES
    if not known:
        raise AttributeError(f"probability estimates are not available for loss={loss!r}")
    return True


class SGDClassifier(LinearScores, ClassifierMixin, StochasticClassifier):
    """Linear classifier by stochastic gradient descent: SVM, logistic regression and others.

    Minimises ``1/n Σ c_i L(y_i, w·x_i + b) + alpha * penalty(w)`` by steps along the gradient of
    one row (or of `batch_size` rows) at a time; for several classes, each against all others.

    The same arguments give the same weights as scikit-learn's SGDClassifier: even the order in
    which a seed visits the rows is the same. It differs on purpose where a row has weight 0, which
    is absent here; where an epoch without penalty moved nothing, which ends the fit; in `average`
    with an L1 penalty, which here is the mean of the iterates; and in what `tol` watches: objective
    (1) with its weights and the true norm of w (so that with sparse rows or an L1 penalty it may
    stop at another epoch), and with ``early_stopping=True`` the accuracy of the w and b that would
    be returned, where scikit-learn leaves out the scale of w. With `average`, `partial_fit` resumes
    the intercept too; float32 is computed in float64; negative weights are refused.

    Parameters
    ----------
    loss : str or Loss, default='hinge'
        'hinge' (linear SVM), 'log_loss' or 'logistic' (logistic regression), 'modified_huber',
        'squared_hinge', 'perceptron', 'exponential', or a loss for numbers with y = −1 and +1:
        'squared_error', 'absolute_error', 'huber', 'quantile', 'epsilon_insensitive',
        'squared_epsilon_insensitive'. Or a :class:`~mlreplica.losses.Loss`: a loss of your own is
        evaluated once a batch, so give it a `batch_size`.
    penalty : {'l2', 'l1', 'elasticnet'} or None, default='l2'
        Penalty on w.
    alpha : float, default=0.0001
        Strength α of the penalty; also sets the step of ``learning_rate='optimal'``.
    l1_ratio : float or None, default=0.15
        Share ρ of the L1 part, for ``penalty='elasticnet'``.
    fit_intercept : bool, default=True
        Whether to learn b. On sparse X it moves at 0.01 of the rate of w.
    max_iter : int, default=1000
        The most epochs of `fit`.
    tol : float or None, default=1e-3
        An epoch improves if it lowers the objective (raises the validation score) by this much;
        None: run `max_iter` epochs.
    shuffle : bool, default=True
        Whether each epoch has an order of its own.
    verbose : int, default=0
        Above 0, write a line per epoch on standard output.
    epsilon : float, default=0.1
        Parameter of 'huber' and of the epsilon-insensitive losses.
    n_jobs : int or None, default=None
        Threads for the binary problems of more than two classes.
    random_state : int, RandomState instance or None, default=None
        Seed of the orders and of the validation split.
    learning_rate : str, default='optimal'
        Step η of step t: 'constant' eta0; 'optimal' 1/(α(t0 + t − 1)); 'invscaling'
        eta0/t**power_t; 'adaptive' eta0, divided by 5 whenever `n_iter_no_change` epochs brought no
        improvement; 'pa1' and 'pa2' passive-aggressive, for the hinge.
    eta0 : float, default=0.01
        First step, or the aggressiveness C of 'pa1' and 'pa2'.
    power_t : float, default=0.5
        Exponent of 'invscaling'.
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
    average : bool or int, default=False
        Whether `coef_` is the average of w over all steps, or over those from this number on.
    batch_size : int, default=1
        Rows a step; the step goes along the mean of their gradients.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    n_iter_ : int
        Epochs run; for several classes, the most any of them needed.
    t_ : float
        One more than the steps taken.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    References
    ----------
    L. Bottou, "Stochastic gradient descent tricks" (2012). Y. Tsuruoka, J. Tsujii, S. Ananiadou,
    "Stochastic gradient descent training for L1-regularized log-linear models with cumulative
    penalty" (2009). B. Polyak, A. Juditsky, "Acceleration of stochastic approximation by averaging"
    (1992). K. Crammer et al., "Online passive-aggressive algorithms" (2006).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from mlreplica.linear_model import SGDClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SGDClassifier(loss="log_loss", random_state=0).fit(scale(X), y)
    >>> model.score(scale(X), y) > 0.97
    True
    """

    card = Card(
        page="stochastic-gradient-descent",
        checks="linear",
        onnx="linear",
        use="a class from more rows than fit in memory, or from a stream (partial_fit)",
        good="one pass costs little and can be the last; many losses and penalties",
        bad="inexact; the learning rate must suit the data",
        time="O(n p) per epoch",
        memory="O(p) beside X",
        rescaling="needed: one step size serves all columns",
        instead="LogisticRegression or LinearSVC whenever X fits in memory",
    )

    _parameter_constraints: dict = {
        **StochasticClassifier._parameter_constraints,
        "loss": [StrOptions(set(FOR_CLASSES)), Loss],
    }

    def __init__(
        self,
        loss: Any = "hinge",
        *,
        penalty: str | None = "l2",
        alpha=0.0001,
        l1_ratio: float | None = 0.15,
        fit_intercept=True,
        max_iter=1000,
        tol: float | None = 1e-3,
        shuffle=True,
        verbose=0,
        epsilon=0.1,
        n_jobs=None,
        random_state=None,
        learning_rate="optimal",
        eta0=0.01,
        power_t=0.5,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=5,
        class_weight=None,
        warm_start=False,
        average: int = False,
        batch_size=1,
    ):
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.epsilon = epsilon
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.power_t = power_t
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.average = average
        self.batch_size = batch_size

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
        """Learn from X, y until the objective or the validation score stops improving.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        coef_init, intercept_init : array-like, optional
            Where to start, in the shapes of `coef_` and `intercept_`; zero if not given.
        sample_weight : array-like of shape (n_samples,), optional
            c_i of (1): a row of weight 2 makes steps twice as long.
        X_val, y_val, sample_weight_val : array-like, optional
            Rows to judge by with ``early_stopping=True``, instead of a held-out fraction.

        Returns
        -------
        self : SGDClassifier
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
        self : SGDClassifier
        """
        return self._partial_fit(X, y, classes, sample_weight)

    @available_if(has_probabilities)
    def predict_proba(self, X):
        """Probability of each class, where the loss gives one.

        For two classes the inverse link of the loss: 1/(1 + e^−f) for 'log_loss', 1/(1 + e^−2f)
        for 'exponential', (1 + f)/2 within [0, 1] for 'modified_huber'. For more, each class has
        this probability against the rest, and they are scaled to sum to one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
        """
        p = resolve(self.loss, self.epsilon, self._targets).inverse_link(self.decision_function(X))
        if p.ndim == 1:
            return np.column_stack([1.0 - p, p])
        p[p.sum(axis=1) == 0.0] = 1.0  # no class will have it: all the same
        return p / p.sum(axis=1, keepdims=True)

    @available_if(has_probabilities)
    def predict_log_proba(self, X):
        """Logarithm of `predict_proba`, −inf where a probability is 0.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        log_p : ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
