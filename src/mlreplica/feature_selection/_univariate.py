"""Univariate selection: score every column by itself, then keep the k best, or a percentage

`_error_rates.py` keeps columns by their p-values instead.
"""

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.compat import Interval, StrOptions, _fit_context
from mlreplica.core.validation import is_plain, validate_data

from ._scores import f_classif
from ._selector import SelectorMixin

CARD = Card(
    page="feature-selection",
    checks="selected",
    task="transformation",
    data=lambda: (np.arange(60.0).reshape(20, 3) % 7, np.arange(20) % 2),
    use="many columns of which few matter, each by itself",
    good="one pass over the data; p-values with known error rates",
    bad="sees no columns that matter only together; keeps copies of one column",
    time="O(n p) for F and χ²; O(n log n) per column for mutual information",
    memory="O(p)",
    rescaling="not needed, except for χ²",
    instead="SelectFromModel, which looks at columns together",
)

SCORE = """score_func : callable, default=f_classif
        (X, y) → scores, or scores and p-values, of all columns."""
FOUND = """scores_ : ndarray of shape (n_features,)
        Scores of the columns.
    pvalues_ : ndarray of shape (n_features,) or None
        p-values, if the score function returns them.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them."""


def numbers_of(scores):
    """Scores as floats, with NaN below all others."""
    scores = np.array(scores, dtype=np.float64)
    scores[np.isnan(scores)] = np.finfo(scores.dtype).min
    return scores


class UnivariateSelector(SelectorMixin, BaseEstimator):
    """Fits the scores; a subclass says which of them are kept."""

    _parameter_constraints: dict = {"score_func": [callable]}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Score the columns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or None
            The target; None if the score function needs none.

        Returns
        -------
        self : object
        """
        if is_plain(X, y, "iuf"):
            self.n_features_in_ = X.shape[1]
            vars(self).pop("feature_names_in_", None)
        elif y is None:
            X = validate_data(self, X, accept_sparse=["csr", "csc"])
        else:
            X, y = validate_data(self, X, y, accept_sparse=["csr", "csc"], multi_output=True)
        self._warn_of_parameters(X)
        found = self.score_func(X, y)
        scores, p_values = found if isinstance(found, list | tuple) else (found, None)
        self.scores_ = np.asarray(scores)
        self.pvalues_ = None if p_values is None else np.asarray(p_values)
        return self

    def _warn_of_parameters(self, X):
        """Warn if a parameter does not suit X."""


class SelectPercentile(UnivariateSelector):
    __doc__ = f"""Keep a percentage of the columns, those with the highest scores.

    Parameters
    ----------
    {SCORE}
    percentile : int, default=10
        Percentage of columns to keep.

    Attributes
    ----------
    {FOUND}

    Examples
    --------
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.feature_selection import SelectPercentile
    >>> X, y = load_iris(return_X_y=True)
    >>> SelectPercentile(percentile=50).fit(X, y).get_support()
    array([False, False,  True,  True])
    """

    card = CARD
    _parameter_constraints: dict = {
        **UnivariateSelector._parameter_constraints,
        "percentile": [Interval(Real, 0, 100, closed="both")],
    }

    def __init__(self, score_func: Any = f_classif, *, percentile: float = 10):
        self.score_func = score_func
        self.percentile = percentile

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags

    def _get_support_mask(self):
        check_is_fitted(self)
        p = len(self.scores_)
        if self.percentile in (0, 100):
            return np.full(p, self.percentile == 100)
        scores = numbers_of(self.scores_)
        threshold = np.percentile(scores, 100 - self.percentile)
        mask = scores > threshold
        ties = np.flatnonzero(scores == threshold)
        mask[ties[: max(int(p * self.percentile / 100) - mask.sum(), 0)]] = True
        return mask


class SelectKBest(UnivariateSelector):
    __doc__ = f"""Keep the k columns with the highest scores.

    Parameters
    ----------
    {SCORE}
    k : int or "all", default=10
        How many columns to keep.

    Attributes
    ----------
    {FOUND}

    Examples
    --------
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.feature_selection import SelectKBest, mutual_info_classif
    >>> X, y = load_iris(return_X_y=True)
    >>> SelectKBest(mutual_info_classif, k=2).fit_transform(X, y).shape
    (150, 2)
    """

    card = CARD.but(cheap=lambda: {"k": 2})
    _parameter_constraints: dict = {
        **UnivariateSelector._parameter_constraints,
        "k": [StrOptions({"all"}), Interval(Integral, 0, None, closed="left")],
    }

    def __init__(self, score_func: Any = f_classif, *, k: int | str = 10):
        self.score_func = score_func
        self.k = k

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags

    def _warn_of_parameters(self, X):
        if not isinstance(self.k, str) and self.k > X.shape[1]:
            warnings.warn(
                f"k={self.k} is greater than n_features={X.shape[1]}. All the features will be "
                "returned.",
                stacklevel=4,
            )

    def _get_support_mask(self):
        check_is_fitted(self)
        p = len(self.scores_)
        k = p if isinstance(self.k, str) else min(self.k, p)
        mask = np.zeros(p, dtype=bool)
        mask[np.argsort(numbers_of(self.scores_), kind="stable")[p - k :]] = True
        return mask
