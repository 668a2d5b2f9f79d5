"""GradientBoostingRegressor: its losses and targets; the algorithm is in `stages.py`"""

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.dummy import DummyRegressor

from mlreplica.core.compat import (
    Interval,
    StrOptions,
)
from mlreplica.core.formulas import losses

from .gradient_base import EPS, GradientBoosting
from .gradient_boosting_classifier import GradientBoostingClassifier
from .stages import StageObjective


class GradientBoostingRegressor(RegressorMixin, GradientBoosting):
    r"""Gradient boosting of trees for regression, with exact splits.

    Each stage fits a tree to the gradient of the loss and gives its leaves the values that lower
    the loss most, times `learning_rate`.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "huber", "quantile"} or Loss, default="squared_error"
        huber: squared up to the `alpha`-quantile of the residuals, linear beyond; quantile: what
        the `alpha`-quantile minimises. Also a loss of your own, :class:`mlreplica.losses.Loss`.
    learning_rate : float, default=0.1
        ν: the part of its step that each tree goes.
    n_estimators : int, default=100
        Stages.
    subsample : float, default=1.0
        The part of the rows, drawn at random, that each stage is fitted to.
    criterion : default="deprecated"
        Of no effect, as in scikit-learn.
    min_samples_split : int or float, default=2
        Rows (or the part of all rows) that a node must have to be split.
    min_samples_leaf : int or float, default=1
        Rows that each side of a split must have.
    min_weight_fraction_leaf : float, default=0.0
        The part of all weight that each side of a split must have.
    max_depth : int or None, default=3
        Of the trees.
    min_impurity_decrease : float, default=0.0
        What a split must gain.
    init : estimator, "zero" or None, default=None
        Where boosting starts: an estimator, 0, or the mean, median or quantile.
    random_state : int, RandomState instance or None, default=None
        Draws rows, columns and the validation rows.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        How many columns, drawn at random, each node tries.
    alpha : float, default=0.9
        The quantile of "huber" and "quantile".
    verbose : int, default=0
        1: a line on standard output now and then; 2: for every stage.
    max_leaf_nodes : int or None, default=None
        The most leaves; then the split with the largest gain comes first.
    warm_start : bool, default=False
        Go on from the last fit; only stages that are missing are added.
    validation_fraction : float, default=0.1
        The part of the rows set aside if `n_iter_no_change` is given.
    n_iter_no_change : int or None, default=None
        Stop when the loss of the validation rows is not better than in one of the last so many
        stages.
    tol : float, default=1e-4
        What counts as better.
    ccp_alpha : float, default=0.0
        Of the pruning of each tree.

    Attributes
    ----------
    estimators_ : ndarray of DecisionTreeRegressor of shape (n_estimators_, 1)
        The trees; their values are γ, without `learning_rate`.
    n_estimators_ : int
        Stages that were fitted.
    n_iter_ : int
        The same.
    init_ : estimator or "zero"
        Where boosting started.
    train_score_ : ndarray of shape (n_estimators_,)
        Loss of the rows trained on, after each stage (squared_error: the mean of r²).
    validation_score_ : ndarray of shape (n_estimators_,)
        Loss of the validation rows; only if there are some.
    oob_improvement_, oob_scores_ : ndarray of shape (n_estimators_,)
        The loss of the rows that each stage did not draw (`oob_scores_`), and by how much it is
        below that of the stage before, whose rows were others; only if `subsample` < 1.
    oob_score_ : float
        The last of them.
    max_features_ : int
        Columns that each node tried.
    feature_importances_ : ndarray of shape (n_features,)
        Sum of all gains of each feature, over the sum of all.
    n_features_in_ : int
        How many features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all are strings.

    See Also
    --------
    HistGradientBoostingRegressor : The faster choice from some ten thousand rows on.

    References
    ----------
    Friedman (2001), Greedy function approximation: a gradient boosting machine.

    Examples
    --------
    >>> from mlreplica.datasets import load_diabetes
    >>> from mlreplica.ensemble import GradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor(n_estimators=50, max_depth=1).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.37
    """

    card = GradientBoostingClassifier.card

    _parameter_constraints: dict = {
        **GradientBoosting._parameter_constraints,
        "loss": [
            StrOptions({"squared_error", "absolute_error", "huber", "quantile"}),
            losses.Loss,
        ],
        "alpha": [Interval(Real, 0.0, 1.0, closed="neither")],
    }

    def __init__(
        self,
        *,
        loss: Any = "squared_error",
        learning_rate=0.1,
        n_estimators=100,
        subsample=1.0,
        criterion: Any = "deprecated",
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf=0.0,
        max_depth: int | None = 3,
        min_impurity_decrease=0.0,
        init=None,
        random_state=None,
        max_features=None,
        alpha=0.9,
        verbose=0,
        max_leaf_nodes=None,
        warm_start=False,
        validation_fraction=0.1,
        n_iter_no_change=None,
        tol=1e-4,
        ccp_alpha=0.0,
    ):
        self.loss = loss
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.subsample = subsample
        self.criterion = criterion
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_depth = max_depth
        self.min_impurity_decrease = min_impurity_decrease
        self.init = init
        self.random_state = random_state
        self.max_features = max_features
        self.alpha = alpha
        self.verbose = verbose
        self.max_leaf_nodes = max_leaf_nodes
        self.warm_start = warm_start
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.ccp_alpha = ccp_alpha

    def _encode(self, y, w):
        """y as numbers the loss can take."""
        y = y.astype(np.float64, copy=False)
        if not isinstance(self.loss, losses.Loss):
            return y
        if self.loss.target not in ("real", "count"):
            raise ValueError(f"{self.loss.name} is a loss for classes, not for numbers.")
        return self.loss.check_target(y)

    def _encode_more(self, y):
        return self._encode(y, None)

    def _make_objective(self):
        if isinstance(self.loss, losses.Loss):
            return StageObjective(self.loss)
        if self.loss == "huber":
            return StageObjective("huber", alpha=self.alpha)
        if self.loss == "quantile":
            return StageObjective(losses.quantile(self.alpha))
        squared = self.loss == "squared_error"
        return StageObjective(losses.get(self.loss), factor=2.0 if squared else 1.0)

    def _default_init(self, y, w):
        if isinstance(self.loss, losses.Loss):
            constant = self._answer(np.reshape(self.loss.best_constant(y, w), (1, 1)))
            return DummyRegressor(strategy="constant", constant=constant)
        if self.loss == "squared_error":
            return DummyRegressor(strategy="mean")
        q = self.alpha if self.loss == "quantile" else 0.5
        return DummyRegressor(strategy="quantile", quantile=q)

    def _init_target(self, y):
        return y

    def _init_scores(self, X):
        """The predictions of `init_`, on the scale of the scores."""
        y = self.init_.predict(X).astype(np.float64).reshape(-1, 1)
        if getattr(self.loss, "target", "real") == "count":
            return np.log(np.maximum(y, EPS))  # counts have the mean e^f
        return y

    def _answer(self, f):
        """Predictions from the scores."""
        own = isinstance(self.loss, losses.Loss) and self.loss.inverse_link is not None
        return self.loss.inverse_link(f[:, 0]) if own else f[:, 0]

    def predict(self, X):
        """Predict.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return self._answer(self._raw(self._new_rows(X)))

    def staged_predict(self, X):
        """`predict` after each stage.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Yields
        ------
        y : ndarray of shape (n_samples,)
        """
        for f in self._staged_raw(X):
            yield self._answer(f)

    def apply(self, X):
        """The leaf of every row in every tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_estimators)
        """
        return super().apply(X)[:, :, 0]
