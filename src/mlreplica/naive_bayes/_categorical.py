r"""Categorical naive Bayes: a table of counts for every column

Column j has the categories 0, …, c_j − 1. With N_kjt the rows of class k that have category t,

    p(x_j = t | k) = (N_kjt + α) / (n_k + α c_j)                                           (7)
"""

from numbers import Integral, Real

import numpy as np
from sklearn.utils.validation import check_non_negative

from mlreplica.core.compat import Interval
from mlreplica.core.validation import FLOATS, new_rows, validate_data

from ._discrete import DiscreteNB
from ._posterior import CARD


class CategoricalNB(DiscreteNB):
    """Naive Bayes for categories 0, 1, 2, …: (1) with (7).

    Parameters
    ----------
    alpha : float, default=1.0
        Smoothing: how many times more often each category counts as seen.
    force_alpha : bool, default=True
        Use α as it is; False raises it to 1e-10.
    fit_prior : bool, default=True
        Take the shares of the classes for their priors; False: equal priors.
    class_prior : array-like of shape (n_classes,), default=None
        The priors.
    min_categories : int, array-like of shape (n_features,) or None, default=None
        How many categories each column has at least.

    Attributes
    ----------
    category_count_, feature_log_prob_ : list of ndarray of shape (n_classes, n_categories)
        N and log p of (7), for each column.
    n_categories_ : ndarray of shape (n_features,)
        c.
    class_count_, class_log_prior_ : ndarray of shape (n_classes,)
        Rows of each class, and log π.
    classes_ : ndarray of shape (n_classes,)
        Names of the classes.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> from mlreplica.naive_bayes import CategoricalNB
    >>> X, y = [[0, 2], [1, 1], [0, 0]], ["a", "b", "a"]
    >>> CategoricalNB().fit(X, y).predict([[0, 1]])
    array(['a'], dtype='<U1')
    """

    card = CARD.but(by_name=True)
    _parameter_constraints = DiscreteNB._parameter_constraints | {
        "min_categories": [None, "array-like", Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        alpha=1.0,
        force_alpha=True,
        fit_prior=True,
        class_prior=None,
        min_categories=None,
    ):
        super().__init__(alpha, fit_prior, class_prior, force_alpha)
        self.min_categories = min_categories

    def _training(self, X, y, sample_weight, first):
        X, y, s = super()._training(X, y, sample_weight, first)
        return categories(X), y, s

    def _checked(self, X, y, first):
        return validate_data(self, X, y, dtype="int", reset=first)

    def _rows(self, X):
        if type(X) is np.ndarray and X.dtype in FLOATS:
            return categories(new_rows(self, X))
        if (
            type(X) is np.ndarray
            and X.dtype == np.int64
            and X.ndim == 2
            and X.size > 0
            and X.shape[1] == self.n_features_in_
            and "feature_names_in_" not in vars(self)
        ):
            return categories(X)
        return categories(validate_data(self, X, dtype="int", reset=False))

    def _levels(self, X):
        """c: what is seen, and at least what the user says."""
        seen = X.max(axis=0) + 1
        if self.min_categories is None:
            return seen
        least = np.array(self.min_categories)
        if not np.issubdtype(least.dtype, np.signedinteger):
            raise ValueError(
                f"'min_categories' should have integral type. Got {least.dtype} instead."
            )
        if least.ndim and least.shape != seen.shape:
            raise ValueError(
                f"'min_categories' should have shape ({len(seen)},) when an array-like is "
                f"provided. Got {least.shape} instead."
            )
        return np.maximum(seen, least, dtype=np.int64)

    def _count(self, X, code, s, first):
        K, levels = len(self.classes_), self._levels(X)
        if not first:
            levels = np.maximum(levels, self.n_categories_)
        n = np.bincount(code, weights=s, minlength=K).astype(np.float64)
        self.n_categories_ = levels
        self.class_count_ = n if first else self.class_count_ + n
        found = []
        for j, c in enumerate(levels):
            N = np.bincount(code * c + X[:, j], weights=s, minlength=K * c).reshape(K, c)
            N = N.astype(np.float64)
            if not first:
                before = self.category_count_[j]
                N[:, : before.shape[1]] += before
            found.append(N)
        self.category_count_ = found
        self._finish()

    def _probabilities(self, alpha):
        """log of (7)"""
        smooth = [N + alpha for N in self.category_count_]
        self.feature_log_prob_ = [np.log(N) - np.log(N.sum(axis=1, keepdims=True)) for N in smooth]

    def _scores(self, X):
        """J of (1)"""
        most = X.max(axis=0) if len(X) > 1 else X[0]
        for j in np.flatnonzero(most >= self.n_categories_):
            raise IndexError(
                f"index {most[j]} is out of bounds: column {j} had {self.n_categories_[j]} "
                "categories in fit; raise min_categories."
            )
        J = self.class_log_prior_
        if len(X) == 1:  # of views
            for logs, t in zip(self.feature_log_prob_, X[0], strict=True):
                J = J + logs[:, t]
            return J[None]
        for j, logs in enumerate(self.feature_log_prob_):
            J = J + logs.T[X[:, j]]
        return J

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.sparse = False
        return tags


def categories(X):
    """X as numbers of categories, none below 0."""
    X = X.astype(np.int64, copy=False)
    if X.min() < 0:
        check_non_negative(X, "CategoricalNB (input X)")
    return X
