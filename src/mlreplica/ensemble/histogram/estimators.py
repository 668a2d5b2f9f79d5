r"""Histogram gradient boosting: the two estimators

Rows are binned once (`binning.py`), then rounds of second-order boosting (`rounds.py`) add
trees (`grow.py`, `histograms.py`) until there are enough or a score on validation rows stops
rising (`base.py`).
"""

from numbers import Real

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from mlreplica import losses
from mlreplica.core.card import LEARNED, UNSCALED, Card
from mlreplica.core.compat import (
    Interval,
    StrOptions,
)
from mlreplica.core.compile.threads import n_threads, run, split
from mlreplica.preprocessing import LabelEncoder

from .base import HistGradientBoosting
from .rounds import BLOCK, SMALL, gamma

REGRESSION = {
    "squared_error": losses.squared,
    "absolute_error": losses.absolute,
    "huber": losses.huber(),
    "poisson": losses.poisson,
    "gamma": gamma,
}


PARAMETERS = """\
learning_rate : float, default=0.1
        η: the part of each tree's step that is taken.
    max_iter : int, default=100
        The most rounds.
    max_leaf_nodes : int or None, default=31
        The most leaves of a tree.
    max_depth : int or None, default=None
        The most splits between the root and a leaf.
    min_samples_leaf : int, default=20
        The fewest rows of a leaf. While splits are searched, rows are estimated by their share of
        the curvature; the leaves that result are counted.
    l2_regularization : float, default=0.0
        λ: the penalty on large leaf values.
    max_features : float, default=1.0
        The share of columns, drawn anew for every node, among which a split is searched.
    max_bins : int, default=255
        The most values of a column to tell apart; one more bin is for missing values.
    categorical_features : array-like of {bool, int, str} or "from_dtype", default="from_dtype"
        Columns without an order: a mask, numbers or names; by default those of a data frame whose
        type says so. At most `max_bins` categories each; unknown ones count as missing.
    monotonic_cst : array-like of int or dict, default=None
        1, 0 or −1 for each column (or by name): the prediction may only rise, do anything, fall.
    interaction_cst : {"pairwise", "no_interactions"} or sequence of sets of int, default=None
        Sets of columns that may meet in a branch of a tree.
    warm_start : bool, default=False
        Add rounds to the model of the last fit.
    early_stopping : "auto" or bool, default="auto"
        Stop when the score no longer rises; "auto" means for more than 10,000 rows.
    scoring : str, callable or None, default="loss"
        What should rise; "loss" is the negative loss.
    validation_fraction : int, float or None, default=0.1
        Rows (or their share) kept for the score; None scores the training rows.
    n_iter_no_change : int, default=10
        How many rounds without a better score to wait.
    tol : float, default=1e-7
        What counts as better.
    verbose : int, default=0
        Positive: report to the logger "mlreplica".
    random_state : int, RandomState instance or None, default=None
        Chooses validation rows, the rows that thresholds come from, and columns."""
GROWTH = """\
min_split_gain : float, default=0.0
        γ: the penalty per leaf. A split must lower the objective by more.
    growth : {"leaf", "depth"}, default="leaf"
        Split next the leaf that gains most, or the highest one.
    keep_candidates : bool, default=False
        Let the states that a `Trace` sees hold the gain of every possible split of every node."""
ATTRIBUTES = """\
do_early_stopping_ : bool
        Whether scores decided when to stop.
    n_iter_ : int
        Rounds.
    n_trees_per_iteration_ : int
        Trees a round.
    train_score_, validation_score_ : ndarray of shape (n_iter_ + 1,)
        Scores before the first round and after each, if stopping early.
    is_categorical_ : ndarray of bool of shape (n_features,) or None
        Which columns are categorical.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any."""


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
        loss="squared_error",
        *,
        quantile=None,
        learning_rate=0.1,
        max_iter=100,
        max_leaf_nodes=31,
        max_depth=None,
        min_samples_leaf=20,
        l2_regularization=0.0,
        max_features=1.0,
        max_bins=255,
        categorical_features="from_dtype",
        monotonic_cst=None,
        interaction_cst=None,
        warm_start=False,
        early_stopping="auto",
        scoring="loss",
        validation_fraction=0.1,
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
        loss="log_loss",
        *,
        learning_rate=0.1,
        max_iter=100,
        max_leaf_nodes=31,
        max_depth=None,
        min_samples_leaf=20,
        l2_regularization=0.0,
        max_features=1.0,
        max_bins=255,
        categorical_features="from_dtype",
        monotonic_cst=None,
        interaction_cst=None,
        warm_start=False,
        early_stopping="auto",
        scoring="loss",
        validation_fraction=0.1,
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
