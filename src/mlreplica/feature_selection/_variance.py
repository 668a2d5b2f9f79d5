r"""Variance threshold: columns that hardly change cannot tell rows apart

    keep column j if   v_j = 1/n Σ_i (x_ij − m_j)²  >  t

It looks at no target, so it selects nothing by luck. Rounding gives a constant column a variance
near, but not at, zero; for t = 0 its range decides.
"""

from numbers import Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.compat import Interval, _fit_context
from mlreplica.core.rows.classes import ClassMoments
from mlreplica.core.validation import ValidatedOnce, is_plain_array, validate_data

from ._selector import SelectorMixin


class VarianceThreshold(SelectorMixin, ValidatedOnce, BaseEstimator):
    """Keep the columns whose variance exceeds a threshold.

    Parameters
    ----------
    threshold : float, default=0
        t. With 0, only columns that are constant are removed.

    Attributes
    ----------
    variances_ : ndarray of shape (n_features,)
        Variance of each column; at most its range if `threshold` is 0.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.

    Examples
    --------
    >>> from mlreplica.feature_selection import VarianceThreshold
    >>> VarianceThreshold().fit_transform([[0, 2, 0, 3], [0, 1, 4, 3], [0, 1, 1, 3]])
    array([[2, 0],
           [1, 4],
           [1, 1]])
    """

    card = Card(
        page="feature-selection",
        checks="selected",
        input="rows",
        use="columns that are constant, or nearly so",
        good="needs no target; one pass",
        bad="a column of large variance need not be informative",
        time="O(n p)",
        memory="O(p)",
        rescaling="changes the result: variances depend on the units of the columns",
        missing="accepted: they are left out",
        instead="SelectKBest, which looks at the target",
    )
    _parameter_constraints: dict = {"threshold": [Interval(Real, 0, None, closed="left")]}

    def __init__(self, threshold=0.0):
        self.threshold = threshold

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Learn the variances.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        self : VarianceThreshold
        """
        if plain := is_plain_array(X):
            self.n_features_in_ = X.shape[1]
            vars(self).pop("feature_names_in_", None)
        else:
            X = validate_data(
                self,
                X,
                accept_sparse=("csr", "csc"),
                dtype=np.float64,
                ensure_all_finite="allow-nan",
            )
            plain = not sp.issparse(X) and not np.isnan(X).any()
        if plain:
            moments = ClassMoments.of(X, np.zeros(len(X), dtype=np.int64), 1)
            self.variances_ = moments.squares[0] / len(X)
        elif sp.issparse(X):
            self.variances_ = mean_variance_axis(X, axis=0)[1]
            if self.threshold == 0:
                low, high = min_max_axis(X, axis=0)
                self.variances_ = np.fmin(self.variances_, high - low)
        else:
            self.variances_ = nan_variances(X)
        if np.all(~np.isfinite(self.variances_) | (self.variances_ <= self.threshold)):
            few = " (X contains only one sample)" if X.shape[0] == 1 else ""
            raise ValueError(
                f"No feature in X meets the variance threshold {self.threshold:.5f}{few}"
            )
        return self

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.variances_ > self.threshold


def nan_variances(X):
    """Variances about a value of each column, so that constant columns have exactly 0."""
    there = ~np.isnan(X)
    n = there.sum(axis=0)
    origin = X[there.argmax(axis=0), np.arange(X.shape[1])]
    D = np.where(there, X - origin, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        d = D.sum(axis=0) / n
        return np.maximum(np.einsum("ij,ij->j", D, D) / n - d * d, 0.0)
