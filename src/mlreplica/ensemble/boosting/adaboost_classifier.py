"""AdaBoostClassifier: AdaBoost for any number of classes; the algorithm is in `samme.py`"""

import numpy as np
from sklearn.base import (
    ClassifierMixin,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    has_fit_parameter,
)

from mlreplica.core.card import Card
from mlreplica.core.compat import (
    _RoutingNotSupportedMixin,
)
from mlreplica.core.formulas.loss_formulas import softmax
from mlreplica.core.growth.tree import Packed
from mlreplica.core.validation import distinct
from mlreplica.tree import DecisionTreeClassifier

from .samme import samme
from .weight_boosting import SEEDS, WeightBoosting


class AdaBoostClassifier(_RoutingNotSupportedMixin, ClassifierMixin, WeightBoosting):
    r"""Boosting of classifiers by weights: AdaBoost for any number of classes (SAMME).

    Lowers :math:`\sum_i u_i \exp(-F_{y_i}(x_i))` for the votes
    :math:`F_k(x) = \sum_t \alpha_t ([h_t(x) = k] - 1/K)`, one learner at a time.

    Parameters
    ----------
    estimator : estimator, default=None
        The learner, which must take `sample_weight`; by default a stump,
        ``DecisionTreeClassifier(max_depth=1)``. Our decision trees are grown on columns that
        are sorted once.
    n_estimators : int, default=50
        The most rounds; fewer if a learner is perfect, or no better than guessing.
    learning_rate : float, default=1.0
        η: the part of the best step that every learner's vote goes.
    random_state : int, RandomState instance or None, default=None
        Seeds the learners.

    Attributes
    ----------
    estimator_ : estimator
        The learner that was cloned.
    estimators_ : list of classifiers
        The fitted learners.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_classes_ : int
        How many.
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
    GradientBoostingClassifier : Boosting by the gradient of a loss.
    mlreplica.inspection.boosting_margins : Why it keeps improving after zero training error.

    References
    ----------
    Freund, Schapire (1997), A decision-theoretic generalization of on-line learning and an
    application to boosting. Zhu, Zou, Rosset, Hastie (2009), Multi-class AdaBoost.

    Examples
    --------
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.ensemble import AdaBoostClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> AdaBoostClassifier(n_estimators=20, random_state=0).fit(X, y).score(X, y)
    0.98
    """

    card = Card(
        page="adaboost",
        checks="members",
        onnx="adaboost_votes",
        use="a class by the vote of stumps or other weak classifiers",
        good="one setting; margins keep growing after the training error is 0",
        bad="wrong labels get ever larger weights; probabilities are poor",
        time="one fit of the member per round",
        memory="all members",
        rescaling="as the members need; not for trees",
        instead="GradientBoostingClassifier for other losses, HistGradientBoostingClassifier",
    )

    _fewest = 0  # learners that are kept however bad they are

    def __init__(self, estimator=None, *, n_estimators=50, learning_rate=1.0, random_state=None):
        super().__init__(estimator=estimator, n_estimators=n_estimators)
        self.learning_rate = learning_rate
        self.random_state = random_state

    def _validate_estimator(self):
        super()._validate_estimator(default=DecisionTreeClassifier(max_depth=1))
        if not has_fit_parameter(self.estimator_, "sample_weight"):
            raise ValueError(f"{type(self.estimator).__name__} doesn't support sample_weight.")

    def _rounds(self, X, y, w, rng, prepared):
        """The rounds; `estimators_` grows with them."""
        check_classification_targets(y)
        self.classes_, codes = distinct(y)
        self.n_classes_ = len(self.classes_)
        codes = codes.astype(np.int32)

        def fit_prepared(w):
            learner, leaf = prepared.fit(codes, w, rng.randint(SEEDS), self.classes_)
            self.estimators_.append(learner)
            return votes(learner)[leaf] != codes

        def fit_clone(w):
            learner = self._make_estimator(random_state=rng)
            learner.fit(X, y, sample_weight=w)
            return learner.predict(X) != y

        fit_weak = fit_clone if prepared is None else fit_prepared
        rounds = 0
        for state in samme(fit_weak, w, self.n_classes_, self.learning_rate):
            rounds += 1
            yield state
        if rounds == 0:
            raise ValueError(
                "BaseClassifier in AdaBoostClassifier ensemble is worse than random, "
                "ensemble can not be fit."
            )

    def _pack(self, estimators):
        """All learners' votes α [h = k] in one structure, if they are our trees."""
        K, alpha = self.n_classes_, self.estimator_weights_
        tables = [a * np.eye(K)[votes(t)] for a, t in zip(alpha, estimators, strict=False)]
        return Packed([t.tree_ for t in estimators], tables)

    def _shares(self, X):
        """α_t [h_t(x) = k] of every learner in turn."""
        classes = self.classes_[:, None]
        for learner, alpha in zip(self.estimators_, self.estimator_weights_, strict=False):
            yield np.where((learner.predict(X) == classes).T, alpha, 0.0), alpha

    def _decision(self, shares, total):
        """Votes for and against each class, or for the second of two less those for the first."""
        K = self.n_classes_
        if K == 1:
            return np.zeros((len(shares), 1))
        if K == 2:
            return 2.0 * (shares[:, 1] - shares[:, 0]) / total
        return (shares - (total - shares) / (K - 1)) / total

    def decision_function(self, X):
        """The votes for each class less those against it, over the sum of all votes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        score : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes twice the share of votes for the second less that for the first.
        """
        X, total = self._rows(X), self.estimator_weights_.sum()
        if self._packed is not None:
            return self._decision(self._packed.sums(X), total)
        return self._decision(sum(shares for shares, _ in self._shares(X)), total)

    def staged_decision_function(self, X):
        """`decision_function` after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Yields
        ------
        score : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        X, votes, total = self._rows(X), 0.0, 0.0
        for shares, alpha in self._shares(X):
            votes, total = votes + shares, total + alpha
            yield self._decision(votes, total)

    def _label(self, decision):
        """Classes from the decision."""
        best = decision > 0.0 if decision.ndim == 1 else decision.argmax(axis=1)
        return self.classes_.take(best, axis=0)

    def _probability(self, decision):
        """Probabilities from the decision, by the link of the exponential loss."""
        if decision.ndim == 1:
            decision = np.stack([-decision, decision], axis=1) / 2.0
        else:
            decision = decision / max(self.n_classes_ - 1, 1)
        return softmax(decision)

    def predict(self, X):
        """The class with the most votes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return self._label(self.decision_function(X))

    def staged_predict(self, X):
        """`predict` after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Yields
        ------
        y : ndarray of shape (n_samples,)
        """
        for decision in self.staged_decision_function(X):
            yield self._label(decision)

    def predict_proba(self, X):
        """Probabilities of the classes: the softmax of the decision over K − 1.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
        """
        return self._probability(self.decision_function(X))

    def staged_predict_proba(self, X):
        """`predict_proba` after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Yields
        ------
        p : ndarray of shape (n_samples, n_classes)
        """
        for decision in self.staged_decision_function(X):
            yield self._probability(decision)

    def predict_log_proba(self, X):
        """Logarithms of `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
        """
        return np.log(self.predict_proba(X))


def votes(learner):
    """The class, by number, for which each leaf of a tree votes."""
    return learner.tree_.value[:, 0].argmax(axis=1)
