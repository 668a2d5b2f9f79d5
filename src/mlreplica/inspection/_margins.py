r"""Margins of boosting: how sure of its answers a majority of learners is

Learner t has the weight α_t and votes for the class h_t(x). The margin of a row is the share of
the votes for its class y less the largest share that another class has:

    m_T(x, y) = Σ_t α_t ([h_t(x) = y] − [h_t(x) = k]) / Σ_t α_t,     k the best other class      (8)

It lies between −1 and 1, and the prediction is right if it is positive. For two classes and the
votes of AdaBoost (equations (1) to (6) in `ensemble/boosting/samme.py`), the share of training rows
with a margin of at most θ is bounded by what AdaBoost lowers,

    P(m_T ≤ θ)  ≤  exp(θ A_T/2) J_T,     A_T = Σ_t α_t,   J_T = Π_t Z_t                        (9)

because m ≤ θ says 1 ≤ exp(½(θA − mA)), whose mean is exp(θA/2) J. With η = 1 the right side is
Π_t 2 √(ε_t^{1−θ} (1 − ε_t)^{1+θ}): it falls with every round whose ε_t is far enough below ½, also
when the training error, the case θ = 0, is zero already.

The test error is bounded by the same share and a term that does not grow with the rounds: for
learners of VC dimension d, for every θ > 0 and with high probability over the n rows,

    P_test(m ≤ 0)  ≤  P_train(m ≤ θ) + O(√(d log²(n/d) / (n θ²)))                             (10)

Schapire, Freund, Bartlett, Lee, Boosting the margin (1998).
"""

from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted


@dataclass(frozen=True, eq=False)
class BoostingMargins:
    """The margins of rows after each round of boosting.

    Attributes
    ----------
    margins : ndarray of shape (rounds, n_samples)
        The margin (8) of every row.
    objectives : ndarray of shape (rounds,) or None
        J_T of (9); for two classes only.
    votes : ndarray of shape (rounds,)
        A_T of (9): the sum of the weights of all votes so far.
    """

    margins: np.ndarray
    objectives: np.ndarray | None
    votes: np.ndarray

    @property
    def errors(self):
        """The share of rows that are wrong after each round: those whose margin is not positive."""
        return self.share(0.0)

    @property
    def smallest(self):
        """The least margin after each round."""
        return self.margins.min(axis=1)

    def share(self, theta):
        """The share of rows with a margin of at most theta, after each round.

        Parameters
        ----------
        theta : float
            Between −1 and 1.

        Returns
        -------
        share : ndarray of shape (rounds,)
        """
        return (self.margins <= theta + 1e-12).mean(axis=1)

    def bound(self, theta):
        """What (9) says that this share of the training rows is at most.

        Parameters
        ----------
        theta : float
            Between −1 and 1.

        Returns
        -------
        bound : ndarray of shape (rounds,)
        """
        if self.objectives is None:
            raise ValueError("the bound is known for two classes only.")
        return np.exp(0.5 * theta * self.votes) * self.objectives

    def distribution(self, rounds=-1):
        """The margins after some round in ascending order, and the share of rows up to each.

        Parameters
        ----------
        rounds : int, default=-1
            Counted from 1; −1 for the last.

        Returns
        -------
        margin, share : ndarrays of shape (n_samples,)
        """
        margin = np.sort(self.margins[rounds - 1 if rounds > 0 else rounds])
        return margin, np.arange(1, len(margin) + 1) / len(margin)


def boosting_margins(model, X, y):
    """Margins of rows under an AdaBoost model, after each of its rounds.

    Parameters
    ----------
    model : AdaBoostClassifier
        Fitted; ours or scikit-learn's.
    X : array-like of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Their classes. The bound is about the rows that the model was fitted to.

    Returns
    -------
    BoostingMargins

    Examples
    --------
    >>> from mlreplica.datasets import load_breast_cancer
    >>> from mlreplica.ensemble import AdaBoostClassifier
    >>> from mlreplica.inspection import boosting_margins
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = boosting_margins(
    ...     AdaBoostClassifier(n_estimators=100, random_state=0).fit(X, y), X, y
    ... )
    >>> bool((found.share(0.1) <= found.bound(0.1)).all())
    True
    """
    check_is_fitted(model)
    if not (hasattr(model, "estimator_weights_") and hasattr(model, "classes_")):
        raise TypeError(
            f"boosting_margins needs an AdaBoostClassifier, got {type(model).__name__}."
        )
    y = np.asarray(y)
    codes = np.searchsorted(model.classes_, y)
    codes = np.minimum(codes, len(model.classes_) - 1)
    if (model.classes_[codes] != y).any():
        raise ValueError("y has a class that the model was not fitted to.")
    n, rounds = len(y), len(model.estimators_)
    alpha = model.estimator_weights_[:rounds]
    own = codes[:, None] == np.arange(len(model.classes_))
    shares, margins = np.zeros(own.shape), np.empty((rounds, n))
    votes = np.cumsum(alpha)
    for t, learner in enumerate(model.estimators_):
        shares += alpha[t] * (np.asarray(learner.predict(X))[:, None] == model.classes_)
        rest = np.where(own, -np.inf, shares).max(axis=1) if own.shape[1] > 1 else 0.0
        margins[t] = (shares[own] - rest) / votes[t]
    objectives = None
    if len(model.classes_) == 2:
        error = model.estimator_errors_[:rounds]
        factors = (1.0 - error) * np.exp(-0.5 * alpha) + error * np.exp(0.5 * alpha)
        objectives = np.cumprod(factors)
    return BoostingMargins(margins, objectives, votes)
