"""HistGradientBoostingRegressor: its losses and targets"""

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from mlreplica import losses
from mlreplica.core.card import LEARNED, UNSCALED, Card
from mlreplica.core.compat import (
    Interval,
    StrOptions,
)

from .base import HistGradientBoosting
from .parameters import ATTRIBUTES, GROWTH, PARAMETERS
from .rounds import gamma

REGRESSION = {
    "squared_error": losses.squared,
    "absolute_error": losses.absolute,
    "huber": losses.huber(),
    "poisson": losses.poisson,
    "gamma": gamma,
}


class HistGradientBoostingRegressor(RegressorMixin, HistGradientBoosting):
    __doc__ = rf"""Regression by boosted trees on binned columns.

    Each round adds a tree that lowers the second-order expansion of
    :math:`\sum_i w_i L(y_i, f_i) + \sum_l (\tfrac{{\lambda}}{{2}} v_l^2 + \gamma)`, the second sum
    over its leaves and their values. Missing values go to the side that gains more.

    Parameters
    ----------
    loss : str or Loss, default="squared_error"
        "squared_error", "absolute_error", "gamma", "poisson", "quantile", "huber" (δ = 1.35), or a
        loss of `mlreplica.losses`, ours or yours. "gamma" and "poisson" predict the exponential of
        the score and take y > 0 and y ≥ 0.
    quantile : float, default=None
        Which one, for "quantile".
    {PARAMETERS}
    {GROWTH}

    Attributes
    ----------
    {ATTRIBUTES}

    Examples
    --------
    >>> from mlreplica.ensemble import HistGradientBoostingRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = HistGradientBoostingRegressor().fit(X, y)
    >>> round(model.score(X, y), 2)
    0.93

    References
    ----------
    Chen, Guestrin, XGBoost: a scalable tree boosting system (2016). Ke et al., LightGBM: a highly
    efficient gradient boosting decision tree (2017).
    """

    card = Card(
        page="histogram-boosting",
        checks="boosted",
        onnx="histogram_boosting",
        use="a class or a number from a large table of mixed columns",
        good="usually the most accurate on tables; categories, missing values, constraints",
        bad="many settings; no formula to read; cannot extrapolate",
        time="O(n p) per level and round, on bytes",
        memory="O(n p) bytes and the histograms",
        rescaling=UNSCALED,
        missing=LEARNED,
        instead="RandomForestClassifier untuned, LogisticRegression or Ridge to read the model",
    )

    _parameter_constraints: dict = {
        **HistGradientBoosting._parameter_constraints,
        "loss": [StrOptions({*REGRESSION, "quantile"}), losses.Loss],
        "quantile": [Interval(Real, 0, 1, closed="both"), None],
    }

    def __init__(
        self,
        loss: Any = "squared_error",
        *,
        quantile=None,
        learning_rate=0.1,
        max_iter=100,
        max_leaf_nodes: int | None = 31,
        max_depth=None,
        min_samples_leaf=20,
        l2_regularization=0.0,
        max_features=1.0,
        max_bins=255,
        categorical_features: Any = "from_dtype",
        monotonic_cst=None,
        interaction_cst=None,
        warm_start=False,
        early_stopping: bool | str = "auto",
        scoring: Any = "loss",
        validation_fraction: float | None = 0.1,
        n_iter_no_change=10,
        tol=1e-7,
        verbose=0,
        random_state=None,
        min_split_gain=0.0,
        growth="leaf",
        keep_candidates=False,
    ):
        self.loss = loss
        self.quantile = quantile
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_features = max_features
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.warm_start = warm_start
        self.early_stopping = early_stopping
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.min_split_gain = min_split_gain
        self.growth = growth
        self.keep_candidates = keep_candidates

    def predict(self, X):
        """Predict targets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN is a missing value.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predictions.
        """
        f = self._raw_predict(X)[:, 0]
        return self._loss.inverse_link(f)

    def staged_predict(self, X):
        """Predict targets after each round.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Yields
        ------
        y : ndarray of shape (n_samples,)
            Predictions.
        """
        for f in self._staged_raw_predict(X):
            yield self._loss.inverse_link(f[:, 0])

    def _targets(self, y):
        self.n_trees_per_iteration_ = 1
        y = y.astype(np.float64, copy=False)
        if isinstance(self.loss, str):
            if self.loss == "gamma" and not (y > 0).all():
                raise ValueError("loss='gamma' requires strictly positive y.")
            if self.loss == "poisson" and not ((y >= 0).all() and y.sum() > 0):
                raise ValueError("loss='poisson' requires non-negative y and sum(y) > 0.")
            return y
        if self.loss.target not in ("real", "count"):
            raise ValueError(f"{self.loss!r} is a loss of classes; take the classifier.")
        return self.loss.check_target(y)

    _new_targets = _targets

    def _weights(self, sample_weight, y):
        return sample_weight

    def _make_loss(self):
        if self.loss == "quantile":
            if self.quantile is None:
                raise ValueError("loss='quantile' needs quantile, a number between 0 and 1.")
            return losses.quantile(self.quantile)
        return REGRESSION[self.loss] if isinstance(self.loss, str) else self.loss
