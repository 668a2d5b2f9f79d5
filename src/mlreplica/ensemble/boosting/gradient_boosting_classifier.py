"""GradientBoostingClassifier: its losses and targets; the algorithm is in `stages.py`"""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.utils.multiclass import check_classification_targets

from mlreplica.core.card import UNSCALED, Card
from mlreplica.core.compat import (
    HasMethods,
    StrOptions,
)
from mlreplica.core.formulas import losses
from mlreplica.core.validation import distinct

from .gradient_base import EPS, GradientBoosting
from .stages import StageObjective


class GradientBoostingClassifier(ClassifierMixin, GradientBoosting):
    r"""Gradient boosting of trees for classification, with exact splits.

    Each stage fits a tree (K trees for K > 2 classes) to the gradient of the loss and moves the
    scores of its leaves by a Newton step, times `learning_rate`.

    Parameters
    ----------
    loss : {"log_loss", "exponential"} or Loss, default="log_loss"
        log_loss makes probabilities; exponential (two classes) is what AdaBoost lowers. Also a loss
        of your own, :class:`mlreplica.losses.Loss`, with target "sign" or "class".
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
        Where boosting starts: an estimator with `predict_proba`, 0, or the classes' shares.
    random_state : int, RandomState instance or None, default=None
        Draws rows, columns and the validation rows.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        How many columns, drawn at random, each node tries.
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
    estimators_ : ndarray of DecisionTreeRegressor of shape (n_estimators_, K or 1)
        The trees; their values are γ, without `learning_rate`.
    n_estimators_ : int
        Stages that were fitted.
    n_iter_ : int
        The same.
    init_ : estimator or "zero"
        Where boosting started.
    train_score_ : ndarray of shape (n_estimators_,)
        Loss of the rows trained on, after each stage (log_loss of two classes: the deviance).
    validation_score_ : ndarray of shape (n_estimators_,)
        Loss of the validation rows; only if there are some.
    oob_improvement_, oob_scores_ : ndarray of shape (n_estimators_,)
        The loss of the rows that each stage did not draw (`oob_scores_`), and by how much it is
        below that of the stage before, whose rows were others; only if `subsample` < 1.
    oob_score_ : float
        The last of them.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_classes_ : int
        How many.
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
    HistGradientBoostingClassifier : The faster choice from some ten thousand rows on.
    AdaBoostClassifier : Boosting by weights.

    References
    ----------
    Friedman (2001), Greedy function approximation: a gradient boosting machine.

    Examples
    --------
    >>> from mlreplica.datasets import load_breast_cancer
    >>> from mlreplica.ensemble import GradientBoostingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GradientBoostingClassifier(n_estimators=50, random_state=0).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.94
    """

    card = Card(
        page="gradient-boosting",
        checks="members",
        onnx="gradient_boosting",
        use="a class or a number from a table of up to some 10,000 rows, by any loss",
        good="exact splits; accurate; staged predictions; many losses",
        bad="rounds follow each other; slow for many rows; overfits without a small learning rate",
        time="O(n p) per level and round, after one sort",
        memory="O(n p) and all nodes",
        rescaling=UNSCALED,
        instead="HistGradientBoostingClassifier for many rows, RandomForestClassifier untuned",
    )

    _parameter_constraints: dict = {
        **GradientBoosting._parameter_constraints,
        "loss": [StrOptions({"log_loss", "exponential"}), losses.Loss],
        "init": [StrOptions({"zero"}), None, HasMethods(["fit", "predict_proba"])],
    }

    def __init__(
        self,
        *,
        loss: Any = "log_loss",
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
        self.verbose = verbose
        self.max_leaf_nodes = max_leaf_nodes
        self.warm_start = warm_start
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.ccp_alpha = ccp_alpha

    def _encode(self, y, w):
        """y as codes 0 … K − 1 (K > 2) or −1 and +1."""
        check_classification_targets(y)
        self.classes_, codes = distinct(y)
        self.n_classes_ = len(self.classes_)
        present = np.bincount(codes, w) if w is not None else np.bincount(codes)
        if (n := int(np.count_nonzero(present))) < 2:
            raise ValueError(
                f"y contains {n} class after sample_weight trimmed classes with zero weights, "
                "while a minimum of 2 classes are required."
            )
        return codes if self.n_classes_ > 2 else 2.0 * codes - 1.0

    def _encode_more(self, y):
        """y of validation rows likewise; all their classes must have been seen."""
        codes = np.searchsorted(self.classes_, y)
        codes = np.minimum(codes, len(self.classes_) - 1)
        if (unseen := np.flatnonzero(self.classes_[codes] != y)).size:
            raise ValueError(f"y_val has a class that y has not: {y[unseen[0]]!r}.")
        return codes if self.n_classes_ > 2 else 2.0 * codes - 1.0

    def _make_objective(self):
        K = self.n_classes_
        wanted = "class" if K > 2 else "sign"
        if isinstance(self.loss, losses.Loss):
            if self.loss.target != wanted:
                raise ValueError(
                    f"{self.loss.name} has the target {self.loss.target!r}; for {K} classes it "
                    f"must be {wanted!r}."
                )
            return StageObjective(self.loss, K if K > 2 else 1)
        if K == 2:
            log_loss = self.loss == "log_loss"
            loss = losses.logistic if log_loss else losses.exponential
            return StageObjective(loss, factor=2.0 if log_loss else 1.0)
        if self.loss == "exponential":
            raise ValueError(
                "loss='exponential' is only suitable for a binary classification problem, you "
                f"have n_classes={K}. Please use loss='log_loss' instead."
            )
        return StageObjective(losses.multinomial, K)

    def _default_init(self, y, w):
        return DummyClassifier(strategy="prior")

    def _init_target(self, y):
        """What `init` is fitted to: 0 … K − 1."""
        return (y > 0.0).astype(np.float64) if self.n_classes_ == 2 else y.astype(np.float64)

    def _init_scores(self, X):
        """The scores that give the probabilities of `init_`."""
        p = np.clip(self.init_.predict_proba(X).astype(np.float64), EPS, 1.0 - EPS)
        if self.n_classes_ > 2:
            return np.log(p) - np.log(p).mean(axis=1, keepdims=True)
        log_odds = np.log(p[:, 1:]) - np.log1p(-p[:, 1:])
        return 0.5 * log_odds if self._objective.loss is losses.exponential else log_odds

    def decision_function(self, X):
        """The scores f.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        score : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        X = self._new_rows(X)
        f = self._raw(X)
        return f[:, 0] if f.shape[1] == 1 else f

    def staged_decision_function(self, X):
        """The scores after each stage.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Yields
        ------
        score : ndarray of shape (n_samples, 1 or n_classes)
        """
        yield from self._staged_raw(X)

    def _label(self, f):
        """Classes from the scores (n, 1 or K)."""
        codes = (f[:, 0] >= 0.0).astype(np.intp) if f.shape[1] == 1 else f.argmax(axis=1)
        return self.classes_[codes]

    def _probability(self, f):
        """Probabilities from the scores (n, 1 or K)."""
        link = self._objective.loss.inverse_link
        if link is None:
            raise AttributeError(f"loss={self.loss!r} does not support predict_proba")
        if f.shape[1] > 1:
            return link(f)
        p = link(f[:, 0])
        return np.stack([link(-f[:, 0]) if self._symmetric() else 1.0 - p, p], axis=1)

    def _symmetric(self):
        """Whether 1 − p(f) = p(−f), which keeps the digits of small probabilities."""
        return not isinstance(self.loss, losses.Loss)

    def predict(self, X):
        """The class with the largest score.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return self._label(self._raw(self._new_rows(X)))

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
            yield self._label(f)

    def predict_proba(self, X):
        """Probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
        """
        return self._probability(self._raw(self._new_rows(X)))

    def predict_log_proba(self, X):
        """Their logarithms.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
        """
        return np.log(self.predict_proba(X))

    def staged_predict_proba(self, X):
        """`predict_proba` after each stage.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Yields
        ------
        p : ndarray of shape (n_samples, n_classes)
        """
        for f in self._staged_raw(X):
            yield self._probability(f)
