"""AdaBoostRegressor: AdaBoost.R2 for numbers; the algorithm is in `r2.py`"""

import numpy as np
from sklearn.base import (
    RegressorMixin,
)

from mlreplica.core.compat import (
    StrOptions,
    _RoutingNotSupportedMixin,
    _safe_indexing,
)
from mlreplica.core.growth.tree import Packed
from mlreplica.tree import DecisionTreeRegressor

from .adaboost_classifier import AdaBoostClassifier
from .r2 import r2, weighted_median
from .weight_boosting import SEEDS, WeightBoosting


class AdaBoostRegressor(_RoutingNotSupportedMixin, RegressorMixin, WeightBoosting):
    """Boosting of regressors by resampling: AdaBoost.R2.

    Parameters
    ----------
    estimator : estimator, default=None
        The learner; by default ``DecisionTreeRegressor(max_depth=3)``. Our decision trees are grown
        on columns that are sorted once.
    n_estimators : int, default=50
        The most rounds; fewer if a learner is perfect or its mean error is ½ or more.
    learning_rate : float, default=1.0
        η: a smaller one changes the weights and the votes less.
    loss : {"linear", "square", "exponential"}, default="linear"
        What the error of a row, relative to the largest one, counts.
    random_state : int, RandomState instance or None, default=None
        Draws the rows of each round and seeds the learners.

    Attributes
    ----------
    estimator_ : estimator
        The learner that was cloned.
    estimators_ : list of regressors
        The fitted learners.
    estimator_weights_ : ndarray of shape (n_estimators,)
        The weights α of their votes; 0 for rounds that were not needed.
    estimator_errors_ : ndarray of shape (n_estimators,)
        Their errors ε under the weights of their round.
    feature_importances_ : ndarray of shape (n_features,)
        The learners' importances, weighted by their votes.
    n_iter_ : int
        How many rounds there were.
    n_features_in_ : int
        How many features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all are strings.

    See Also
    --------
    GradientBoostingRegressor : Boosting by the gradient of a loss.

    References
    ----------
    Drucker (1997), Improving regressors using boosting techniques.

    Examples
    --------
    >>> from mlreplica.datasets import load_diabetes
    >>> from mlreplica.ensemble import AdaBoostRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = AdaBoostRegressor(n_estimators=30, random_state=0).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.6
    """

    card = AdaBoostClassifier.card.but(
        onnx="adaboost_median",
        use="a number by the weighted median of weak regressors",
        good="few settings; works with any regressor that takes weights",
        bad="outliers get ever larger weights; no objective that it minimises",
        instead="GradientBoostingRegressor with a robust loss, HistGradientBoostingRegressor",
    )

    _fewest = 1

    _parameter_constraints: dict = {
        **WeightBoosting._parameter_constraints,
        "loss": [StrOptions({"linear", "square", "exponential"})],
    }

    def __init__(
        self,
        estimator=None,
        *,
        n_estimators=50,
        learning_rate=1.0,
        loss="linear",
        random_state=None,
    ):
        super().__init__(estimator=estimator, n_estimators=n_estimators)
        self.learning_rate = learning_rate
        self.loss = loss
        self.random_state = random_state

    def _validate_estimator(self):
        super()._validate_estimator(default=DecisionTreeRegressor(max_depth=3))

    def _rounds(self, X, y, w, rng, prepared):
        """The rounds; `estimators_` grows with them."""
        learner = seed = None

        def seeded():
            """The learner's seed is drawn before its rows, as cloning one draws it."""
            nonlocal learner, seed
            if prepared is None:
                learner = self._make_estimator(random_state=rng)
            else:
                seed = rng.randint(SEEDS)

        def fit_prepared(drawn):
            counts = np.bincount(drawn, minlength=len(y)).astype(np.float64)
            learner, leaf = prepared.fit(np.asarray(y, dtype=np.float64), counts, seed)
            self.estimators_.append(learner)
            return np.abs(y - learner.tree_.value[leaf, 0, 0])

        def fit_clone(drawn):
            learner.fit(_safe_indexing(X, drawn), _safe_indexing(y, drawn))
            return np.abs(y - learner.predict(X))

        fit_weak = fit_clone if prepared is None else fit_prepared
        yield from r2(seeded, fit_weak, w, self.learning_rate, self.loss, rng)

    def _pack(self, estimators):
        """All learners in one structure, if they are our trees."""
        return Packed([t.tree_ for t in estimators])

    def _predictions(self, X):
        """What every learner predicts, (n_samples, rounds)."""
        X = self._rows(X)
        if self._packed is None:
            return np.stack([learner.predict(X) for learner in self.estimators_], axis=1)
        leaves = self._packed.apply(X)
        columns = enumerate(self.estimators_)
        return np.stack([t.tree_.value[leaves[:, k], 0, 0] for k, t in columns], axis=1)

    def predict(self, X):
        """The median of the learners' predictions, by the weights of their votes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return weighted_median(self._predictions(X), self.estimator_weights_)

    def staged_predict(self, X):
        """`predict` after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Yields
        ------
        y : ndarray of shape (n_samples,)
        """
        predictions = self._predictions(X)
        for t in range(1, predictions.shape[1] + 1):
            yield weighted_median(predictions[:, :t], self.estimator_weights_)
