"""HistGradientBoostingClassifier: its losses and targets"""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from mlreplica import losses
from mlreplica.core.compat import (
    StrOptions,
)
from mlreplica.core.compile.threads import n_threads, run, split
from mlreplica.preprocessing import LabelEncoder

from .base import HistGradientBoosting
from .parameters import ATTRIBUTES, GROWTH, PARAMETERS
from .regressor import HistGradientBoostingRegressor
from .rounds import BLOCK, SMALL


class HistGradientBoostingClassifier(ClassifierMixin, HistGradientBoosting):
    __doc__ = rf"""Classification by boosted trees on binned columns.

    Each round adds a tree (one per class, if there are more than two) that lowers the second-order
    expansion of :math:`\sum_i w_i L(y_i, f_i) + \sum_l (\tfrac{{\lambda}}{{2}} v_l^2 + \gamma)`,
    the second sum over its leaves and their values. Missing values go to the side that gains more.

    Parameters
    ----------
    loss : "log_loss" or Loss, default="log_loss"
        Or a loss of `mlreplica.losses` for labels −1 and +1, ours or yours.
    {PARAMETERS}
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, by which those of rows are multiplied.
    {GROWTH}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    {ATTRIBUTES}

    Examples
    --------
    >>> from mlreplica.ensemble import HistGradientBoostingClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> HistGradientBoostingClassifier().fit(X, y).score(X, y)
    1.0

    References
    ----------
    Chen, Guestrin, XGBoost: a scalable tree boosting system (2016). Ke et al., LightGBM: a highly
    efficient gradient boosting decision tree (2017).
    """

    card = HistGradientBoostingRegressor.card

    _parameter_constraints: dict = {
        **HistGradientBoosting._parameter_constraints,
        "loss": [StrOptions({"log_loss"}), losses.Loss],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        loss: Any = "log_loss",
        *,
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
        class_weight=None,
        min_split_gain=0.0,
        growth="leaf",
        keep_candidates=False,
    ):
        self.loss = loss
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
        self.class_weight = class_weight
        self.min_split_gain = min_split_gain
        self.growth = growth
        self.keep_candidates = keep_candidates

    def predict(self, X):
        """Predict labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN is a missing value.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels.
        """
        return self._decide(self._raw_predict(X))

    def predict_proba(self, X):
        """Predict probabilities of classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Probabilities.
        """
        return self._probabilities(self._raw_predict(X))

    def decision_function(self, X):
        """Raw scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        f : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Sums of the trees' values.
        """
        f = self._raw_predict(X)
        return f.ravel() if f.shape[1] == 1 else f

    def staged_predict(self, X):
        """Predict labels after each round.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Yields
        ------
        y : ndarray of shape (n_samples,)
            Labels.
        """
        for f in self._staged_raw_predict(X):
            yield self._decide(f)

    def staged_predict_proba(self, X):
        """Predict probabilities after each round.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Yields
        ------
        p : ndarray of shape (n_samples, n_classes)
            Probabilities.
        """
        for f in self._staged_raw_predict(X):
            yield self._probabilities(f)

    def staged_decision_function(self, X):
        """Raw scores after each round.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Yields
        ------
        f : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Sums of the trees' values.
        """
        for f in self._staged_raw_predict(X):
            yield f.ravel() if f.shape[1] == 1 else f

    def _decide(self, f):
        code = (f[:, 0] > 0).astype(int) if f.shape[1] == 1 else f.argmax(axis=1)
        return self.classes_[code]

    def _probabilities(self, f):
        if f.shape[1] > 1:
            return losses.softmax(f)
        if self._loss.inverse_link is None:
            raise AttributeError(f"{self._loss!r} says nothing about probabilities.")
        p = np.empty((len(f), 2))

        def fill(rows):
            for start in range(rows.start, rows.stop, BLOCK):
                i = slice(start, min(start + BLOCK, rows.stop))
                p[i, 1] = self._loss.inverse_link(f[i, 0])
                np.subtract(1.0, p[i, 1], out=p[i, 0])

        if len(f) < 2 * SMALL:
            fill(slice(0, len(f)))
        else:
            run(fill, split(len(f), n_threads(), least=SMALL))
        return p

    def _targets(self, y):
        check_classification_targets(y)
        self._encoder = LabelEncoder()
        code = self._encoder.fit_transform(y)
        self.classes_ = self._encoder.classes_
        k = len(self.classes_)
        self.n_trees_per_iteration_ = 1 if k <= 2 else k
        if k > 2 and not isinstance(self.loss, str):
            raise ValueError(f"{self.loss!r} is for two classes, got {k}; take 'log_loss'.")
        return self._signed(code)

    def _new_targets(self, y):
        return self._signed(self._encoder.transform(y))

    def _signed(self, code):
        """−1 and +1 for two classes, whole numbers for more."""
        two = self.n_trees_per_iteration_ == 1
        return 2.0 * (code == 1) - 1.0 if two else code.astype(np.int64)

    def _labels(self, y):
        return self.classes_[(y > 0).astype(int) if self.n_trees_per_iteration_ == 1 else y]

    def _weights(self, sample_weight, y):
        if self.class_weight is None:
            return sample_weight
        weight = compute_sample_weight(self.class_weight, self._labels(y))
        return weight if sample_weight is None else weight * sample_weight

    def _make_loss(self):
        if not isinstance(self.loss, str):
            if self.loss.target != "sign":
                raise ValueError(f"{self.loss!r} is no loss of labels -1 and +1.")
            return self.loss
        return losses.logistic if self.n_trees_per_iteration_ == 1 else losses.multinomial
