"""AdaBoostClassifier and AdaBoostRegressor: boosting by weights, with any learner

The algorithms are in `samme.py` (classes, equations (1) to (7)) and `r2.py` (numbers). A learner
that is one of our decision trees is grown on columns that were sorted once; any other is
cloned and fitted as it is.
"""

from numbers import Integral, Real

import numpy as np
from sklearn.base import (
    ClassifierMixin,
    RegressorMixin,
    is_classifier,
    is_regressor,
)
from sklearn.ensemble import BaseEnsemble
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_is_fitted,
    has_fit_parameter,
    validate_data,
)

from mlreplica.core.card import Card
from mlreplica.core.compat import (
    HasMethods,
    Interval,
    StrOptions,
    _check_sample_weight,
    _fit_context,
    _raise_for_unsupported_routing,
    _RoutingNotSupportedMixin,
    _safe_indexing,
)
from mlreplica.core.formulas.loss_formulas import softmax
from mlreplica.core.growth.tree import Packed
from mlreplica.core.iterate import CallbackSupport, iterate
from mlreplica.core.validation import distinct
from mlreplica.ensemble._prepared import prepare
from mlreplica.metrics import accuracy_score, r2_score
from mlreplica.tree import DecisionTreeClassifier, DecisionTreeRegressor

from .r2 import r2, weighted_median
from .samme import samme

SEEDS = 2**31 - 1  # learners are seeded by numbers below this


class WeightBoosting(CallbackSupport, BaseEnsemble):
    """Base of both: reading the input, the rounds, importances and staged scores."""

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def _rows(self, X):
        """New rows, as the learners take them."""
        check_is_fitted(self)
        return validate_data(
            self, X, accept_sparse=["csr", "csc"], allow_nd=True, dtype=None, reset=False
        )

    @_fit_context(prefer_skip_nested_validation=False)  # the learner checks its own parameters
    def fit(self, X, y, sample_weight=None):
        """Boost.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows before the first round; all the same by default.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        _raise_for_unsupported_routing(self, "fit", sample_weight=sample_weight)
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse=["csr", "csc"],
            allow_nd=True,
            dtype=None,
            y_numeric=is_regressor(self),
        )
        w = _check_sample_weight(
            sample_weight, X, dtype=np.float64, copy=True, ensure_non_negative=True
        )
        w /= w.sum()
        self._validate_estimator()
        self.estimators_ = []
        self.estimator_weights_ = np.zeros(self.n_estimators)
        self.estimator_errors_ = np.ones(self.n_estimators)
        self._packed = None
        prepared = prepare(self.estimator_, X)
        rounds = self._rounds(X, y, w, check_random_state(self.random_state), prepared)
        iterate(
            self,
            self._kept(rounds),
            max_iter=self.n_estimators,
            advice=None,
            unit="rounds",
            publish=self._published,
            X=X,
            y=y,
        )
        if prepared is not None:
            self._packed = self._pack(self.estimators_)
        return self

    def _kept(self, rounds):
        """The rounds as they come, written down; a learner too bad for a round is dropped."""
        t = 0
        try:
            for state in rounds:
                self.estimator_weights_[t], self.estimator_errors_[t] = state.weight, state.error
                t += 1
                yield state
        finally:  # also after an interrupt: its round is not complete
            del self.estimators_[max(t, self._fewest) :]

    def _published(self, state):
        """The fitted attributes after the rounds so far."""
        names = ("estimators_", "estimator_weights_", "estimator_errors_", "estimator_")
        names += ("classes_", "n_classes_") if is_classifier(self) else ()
        return {name: getattr(self, name) for name in names}

    def staged_score(self, X, y, sample_weight=None):
        """Accuracy or R² after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None

        Yields
        ------
        score : float
        """
        score = accuracy_score if is_classifier(self) else r2_score
        for y_pred in self.staged_predict(X):
            yield score(y, y_pred, sample_weight=sample_weight)

    @property
    def feature_importances_(self):
        """Importances of the learners, weighted by their votes."""
        if not getattr(self, "estimators_", None):
            raise ValueError("Estimator not fitted, call `fit` before `feature_importances_`.")
        try:
            rows = [learner.feature_importances_ for learner in self.estimators_]
        except AttributeError as error:
            raise AttributeError(
                "Unable to compute feature importances since estimator does not have a "
                "feature_importances_ attribute"
            ) from error
        return self.estimator_weights_[: len(rows)] @ rows / self.estimator_weights_.sum()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


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
            return learner.fit(X, y, sample_weight=w).predict(X) != y

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
