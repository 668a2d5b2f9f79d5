r"""Voting: models of different kinds answer together

M models f_m with weights a_m ≥ 0. Numbers are averaged,

    f(x) = Σ_m a_m f_m(x) / Σ_m a_m                                                           (1)

and so are probabilities (soft voting). Where models answer with a class alone, each has a_m votes:

    f(x) = argmax_k Σ_m a_m [f_m(x) = k],   the first of several such k                       (2)

Errors of the members that are independent and of the same variance σ² average to a variance of
σ²/M; errors with correlation ρ leave ρσ² + (1 − ρ)σ²/M, so members should err differently.

The classes are scikit-learn's: fitting members is administration. Ours fit them on threads,
because these kernels release the GIL, and count the votes (2) for all rows at once.
"""

import numpy as np
from joblib import parallel_config
from sklearn import ensemble
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import Card
from mlreplica.tree import DecisionTreeClassifier, DecisionTreeRegressor


class VotingClassifier(ensemble.VotingClassifier):
    """Majority of the votes of several classifiers, or the mean of their probabilities.

    scikit-learn's class, on which it stands; members are fitted on threads and votes are counted
    for all rows at once.

    Parameters
    ----------
    estimators : list of (str, estimator)
        The members by name; "drop" in the place of one leaves it out.
    voting : {"hard", "soft"}, default="hard"
        Count votes (2), or average probabilities (1).
    weights : array-like of shape (n_classifiers,), default=None
        Weights of the members; None for equal ones.
    n_jobs : int, default=None
        How many members are fitted at once, on threads; None for one after the other.
    flatten_transform : bool, default=True
        Whether `transform` puts the probabilities of all members in one row each.
    verbose : bool, default=False
        Print the time that each member took.

    Attributes
    ----------
    estimators_ : list of classifiers
        The fitted members, without those dropped.
    named_estimators_ : Bunch
        The same by name.
    le_ : LabelEncoder
        What turns classes into 0, 1, …, as the members see them.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if a member has them.

    Examples
    --------
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.ensemble import VotingClassifier
    >>> from mlreplica.linear_model import LogisticRegression, RidgeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> vote = VotingClassifier([("lr", LogisticRegression()), ("ridge", RidgeClassifier())])
    >>> vote.fit(X, y).predict(X[::50])
    array([0, 1, 2])
    """

    card = Card(
        page="ensembles-compared",
        checks="members",
        onnx="voting",
        input="members",
        cheap=lambda: {"estimators": [("tree", DecisionTreeClassifier(max_depth=1))]},
        use="one answer from models of different kinds",
        good="averages errors that differ between the members",
        bad="bad members count as much as good ones unless they are given weights",
        time="the fits of all members",
        memory="all members",
        rescaling="as the members need",
        missing="as the members do",
        instead="Stacking to learn the weights",
    )

    def fit(self, X, y, **fit_params):
        """Fit the members.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to learn from.
        y : array-like of shape (n_samples,)
            Their classes.
        **fit_params : dict
            `sample_weight`; with metadata routing, whatever the members ask for.

        Returns
        -------
        VotingClassifier
            The fitted classifier.
        """
        assert_all_finite(y, input_name="y")
        with parallel_config(prefer="threads"):
            return super().fit(X, y, **fit_params)

    def predict(self, X):
        """Predict the class that wins.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            A class a row.
        """
        check_is_fitted(self)
        scores = self.predict_proba(X) if self.voting == "soft" else self._votes(X)
        return self.classes_[scores.argmax(axis=1)]

    def _votes(self, X):
        """Σ_m a_m [f_m(x) = k] of (2), shape (n, K)."""
        answers, weights = self._predict(X), self._weights_not_none  # (n, M)
        weights = np.ones(answers.shape[1]) if weights is None else weights
        votes, rows = np.zeros((len(answers), len(self.classes_))), np.arange(len(answers))
        for answer, weight in zip(answers.T, weights, strict=True):
            votes[rows, answer] += weight
        return votes


class VotingRegressor(ensemble.VotingRegressor):
    """Mean (1) of the predictions of several regressors.

    scikit-learn's class, on which it stands; members are fitted on threads.

    Parameters
    ----------
    estimators : list of (str, estimator)
        The members by name; "drop" in the place of one leaves it out.
    weights : array-like of shape (n_regressors,), default=None
        Weights of the members; None for equal ones.
    n_jobs : int, default=None
        How many members are fitted at once, on threads; None for one after the other.
    verbose : bool, default=False
        Print the time that each member took.

    Attributes
    ----------
    estimators_ : list of regressors
        The fitted members, without those dropped.
    named_estimators_ : Bunch
        The same by name.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if a member has them.

    Examples
    --------
    >>> from mlreplica.datasets import load_diabetes
    >>> from mlreplica.ensemble import VotingRegressor
    >>> from mlreplica.linear_model import Lasso, Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> VotingRegressor([("ridge", Ridge()), ("lasso", Lasso())]).fit(X, y).predict(X[:1]).round(1)
    array([181.9])
    """

    card = VotingClassifier.card.but(
        cheap=lambda: {"estimators": [("tree", DecisionTreeRegressor(max_depth=1))]},
    )

    def fit(self, X, y, **fit_params):
        """Fit the members.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to learn from.
        y : array-like of shape (n_samples,)
            Their targets.
        **fit_params : dict
            `sample_weight`; with metadata routing, whatever the members ask for.

        Returns
        -------
        VotingRegressor
            The fitted regressor.
        """
        with parallel_config(prefer="threads"):
            return super().fit(X, y, **fit_params)
