"""SGDRegressor: the estimator; its mathematics, equations (1) to (7), is in `epochs.py`"""

from __future__ import annotations

from typing import Any

from sklearn.base import RegressorMixin
from sklearn.utils.extmath import safe_sparse_dot

from mlreplica.core.card import Card
from mlreplica.core.compat import StrOptions, _fit_context
from mlreplica.core.formulas.losses import Loss
from mlreplica.core.linear import SparseWeights
from mlreplica.core.validation import new_rows

from .base import StochasticDescent
from .losses import FOR_NUMBERS, resolve


def on_scale(loss, f):
    """f on the scale of y."""
    return f if loss.inverse_link is None else loss.inverse_link(f)


class SGDRegressor(SparseWeights, RegressorMixin, StochasticDescent):
    """Linear regression by stochastic gradient descent, for many losses.

    Minimises ``1/n Σ c_i L(y_i, w·x_i + b) + alpha * penalty(w)`` by steps along the gradient of
    one row (or of `batch_size` rows) at a time.

    The same arguments give the same weights as scikit-learn's SGDRegressor: even the order in
    which a seed visits the rows is the same. It differs on purpose where a row has weight 0, which
    is absent here; where an epoch without penalty moved nothing, which ends the fit; in `average`
    with an L1 penalty, which here is the mean of the iterates; and in what `tol` watches: objective
    (1) with its weights and the true norm of w (so that with sparse rows or an L1 penalty it may
    stop at another epoch), and with ``early_stopping=True`` the R² of the w and b that would
    be returned, where scikit-learn leaves out the scale of w. With `average`, `partial_fit` resumes
    the intercept too; float32 is computed in float64; negative weights are refused.

    Parameters
    ----------
    loss : str or Loss, default='squared_error'
        'squared_error', 'absolute_error', 'huber', 'quantile' (the median), 'epsilon_insensitive',
        'squared_epsilon_insensitive', or 'poisson', which predicts e^f. Or a
        :class:`~mlreplica.losses.Loss`, for instance ``losses.quantile(0.9)``: a loss of your own
        is evaluated once a batch, so give it a `batch_size`.
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
    random_state : int, RandomState instance or None, default=None
        Seed of the orders and of the validation split.
    learning_rate : str, default='invscaling'
        Step η of step t: 'constant' eta0; 'optimal' 1/(α(t0 + t − 1)); 'invscaling'
        eta0/t**power_t; 'adaptive' eta0, divided by 5 whenever `n_iter_no_change` epochs brought no
        improvement; 'pa1' and 'pa2' passive-aggressive, for 'epsilon_insensitive'.
    eta0 : float, default=0.01
        First step, or the aggressiveness C of 'pa1' and 'pa2'.
    power_t : float, default=0.25
        Exponent of 'invscaling'.
    early_stopping : bool, default=False
        Whether to judge improvement by R² on held-out rows.
    validation_fraction : float, default=0.1
        How much to hold out; `fit` can be handed the rows instead.
    n_iter_no_change : int, default=5
        Epochs without improvement before `fit` stops.
    warm_start : bool, default=False
        Whether `fit` starts from the present solution.
    average : bool or int, default=False
        Whether `coef_` is the average of w over all steps, or over those from this number on.
    batch_size : int, default=1
        Rows a step; the step goes along the mean of their gradients.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : ndarray of shape (1,)
    n_iter_ : int
        Epochs run.
    t_ : float
        One more than the steps taken.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    References
    ----------
    L. Bottou, "Stochastic gradient descent tricks" (2012). B. Polyak, A. Juditsky, "Acceleration of
    stochastic approximation by averaging" (1992).

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from mlreplica.linear_model import SGDRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SGDRegressor(random_state=0).fit(scale(X), y)
    >>> model.score(scale(X), y) > 0.5
    True
    """

    card = Card(
        page="stochastic-gradient-descent",
        checks="linear",
        onnx="linear",
        scale_target=True,
        use="a number from more rows than fit in memory, or from a stream (partial_fit)",
        good="one pass costs little and can be the last; many losses and penalties",
        bad="inexact; the learning rate must suit the data and the scale of the target",
        time="O(n p) per epoch",
        memory="O(p) beside X",
        rescaling="needed: one step size serves all columns",
        instead="Ridge or Lasso whenever X fits in memory",
    )

    _parameter_constraints: dict = {
        **StochasticDescent._parameter_constraints,
        "loss": [StrOptions(set(FOR_NUMBERS)), Loss],
    }

    def __init__(
        self,
        loss: Any = "squared_error",
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
        random_state=None,
        learning_rate="invscaling",
        eta0=0.01,
        power_t=0.25,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=5,
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
        self.random_state = random_state
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.power_t = power_t
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
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
        self : SGDRegressor
        """
        self._refuse()
        X, y, c = self._check(X, y, sample_weight, reset=True)
        w, b = self._begin(1, X.shape[1], coef_init, intercept_init)
        validation = self._check_validation(X_val, y_val, sample_weight_val)
        return self._learn(X, y, c, w, b, None, validation)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, sample_weight=None):
        """Go through X, y once, from where the model stands.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self : SGDRegressor
        """
        first = not hasattr(self, "coef_")
        if first:
            self._refuse(partial=True)
        X, y, c = self._check(X, y, sample_weight, reset=first)
        start = self._begin if first else self._resume
        return self._learn(X, y, c, *start(1, X.shape[1]), 1, None)

    def predict(self, X):
        """Predict w·x + b, or what the loss makes of it: e^(w·x + b) for 'poisson'.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        X = new_rows(self, X, accept_sparse="csr")
        f = safe_sparse_dot(X, self.coef_.T, dense_output=True).ravel() + self.intercept_
        if self.loss in FOR_NUMBERS and self.loss != "poisson":
            return f
        return on_scale(resolve(self.loss, self.epsilon, self._targets), f)

    def _learn(self, X, y, c, w, b, max_iter, validation):
        """Descend on the one problem there is."""
        loss = resolve(self.loss, self.epsilon, self._targets)
        y, held_out = loss.check_target(y), None
        if self.early_stopping and validation is None:
            from sklearn.model_selection import ShuffleSplit

            held_out = self._held_out(ShuffleSplit, y, c)
            validation = X[held_out], y[held_out], c[held_out]

        def r2(_, w_0, b_0):
            from sklearn.metrics import r2_score

            X_val, y_val, c_val = validation
            return r2_score(y_val, on_scale(loss, X_val @ w_0 + b_0), sample_weight=c_val)

        judge = r2 if self.early_stopping and max_iter is None else None
        return self._descend(
            X, y[None], c[None], w, b, max_iter, loss=loss, held_out=held_out, score=judge
        )

    def _shaped(self, w, b):
        """The fitted attributes that hold w and b."""
        return {"coef_": w[0], "intercept_": b}
